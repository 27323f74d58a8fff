"""A client with a conversation of its own in any of the four dialects, as real ones keep it: without our additions.

Like them it trims what it shows, leaves out answers of which nothing is to be seen, and may write content in parts.
"""

import asyncio
import copy
import re
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.kit import dialects as wire

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/fake:generateContent",
}
MEMBER = {"chat": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}
SYSTEM = "You are a client's agent.\nBe brief."
JSON = dict[str, Any]


@dataclass
class Talker:
    """One conversation."""

    dialect: str
    http: httpx.AsyncClient
    parts: bool = False  # content in parts, also of the model's answers
    tools: bool = True
    stream: bool = False
    history: list[JSON] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)  # of the last answer

    async def ask(self, text: str) -> str:
        """Say something, or go on with the results of the tools that were called; return the answer that is shown."""
        self.history += self._results() if self.calls else [self._user(text)]
        return await self.again()

    async def again(self) -> str:
        """Send the history as it stands, and add the answer."""
        answer = await self.http.post(self._path(), json=self.body())
        assert answer.status_code == 200, answer.text
        if self.stream:
            text, self.calls = wire.text_of(self.dialect, wire.messages_of(answer.content)), []
        else:
            text, self.calls = _heard(self.dialect, answer.json())
        self.history += self._said(text.strip())
        return text

    def fork(self) -> "Talker":
        """Another conversation that goes on from here."""
        return Talker(self.dialect, self.http, self.parts, self.tools, self.stream, copy.deepcopy(self.history))

    def undo(self) -> None:
        """Take the last answer away."""
        while self.history and self._is_models(self.history[-1]):
            self.history.pop()
        self.calls = []

    def edit(self, text: str) -> None:
        """Write the last message of the person anew, and drop what came after it."""
        self.undo()
        self.history[-1] = self._user(text)

    def body(self) -> JSON:
        """The request."""
        body: JSON = {MEMBER[self.dialect]: self.history}
        if self.dialect == "gemini":
            body["systemInstruction"] = {"parts": [{"text": SYSTEM}]}
        elif self.dialect == "responses":
            body |= {"model": "fake", "instructions": SYSTEM, "store": False}
        elif self.dialect == "anthropic":
            cached = {"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}
            body |= {"model": "fake", "max_tokens": 9, "system": [cached]}
        else:
            body = {"model": "fake", "messages": [{"role": "system", "content": SYSTEM}, *self.history]}
        if self.stream and self.dialect != "gemini":
            body["stream"] = True
        return body | ({"tools": [{"type": "function", "name": "own"}]} if self.tools else {})

    def _path(self) -> str:
        path = PATHS[self.dialect]
        if self.stream and self.dialect == "gemini":
            return path.replace("generateContent", "streamGenerateContent?alt=sse")
        return path

    def _user(self, text: str) -> JSON:
        if self.dialect == "gemini":
            return {"role": "user", "parts": [{"text": text}]}
        kind = "input_text" if self.dialect == "responses" else "text"
        return {"role": "user", "content": [{"type": kind, "text": text}] if self.parts else text}

    def _results(self) -> list[JSON]:
        calls, self.calls = self.calls, []
        if self.dialect == "chat":
            return [{"role": "tool", "tool_call_id": id, "content": f"done {id}"} for id in calls]
        if self.dialect == "responses":
            return [{"type": "function_call_output", "call_id": id, "output": f"done {id}"} for id in calls]
        if self.dialect == "anthropic":
            found = [{"type": "tool_result", "tool_use_id": id, "content": f"done {id}"} for id in calls]
            return [{"role": "user", "content": found}]
        made = [{"functionResponse": {"name": "own", "response": {"done": id}}} for id in calls]
        return [{"role": "user", "parts": made}]

    def _said(self, text: str) -> list[JSON]:
        if not text and not self.calls:
            return []
        if self.dialect == "chat":
            parts: Any = [{"type": "text", "text": text}] if self.parts and text else text or None
            made: JSON = {"role": "assistant", "content": parts}
            if self.calls:
                one: JSON = {"type": "function", "function": {"name": "own", "arguments": "{}"}}
                made["tool_calls"] = [{"id": id, **one} for id in self.calls]
            return [made]
        if self.dialect == "responses":
            items: list[JSON] = [{"type": "message", "role": "assistant", "content": []}] if text else []
            if text:
                items[0]["content"] = [{"type": "output_text", "text": text, "annotations": []}]
            return items + [
                {"type": "function_call", "call_id": id, "name": "own", "arguments": "{}"} for id in self.calls
            ]
        if self.dialect == "anthropic":
            blocks: list[JSON] = [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "tool_use", "id": id, "name": "own", "input": {}} for id in self.calls]
            return [{"role": "assistant", "content": text if not self.parts and not self.calls else blocks}]
        parts = [{"text": text}] if text else []
        parts += [{"functionCall": {"name": "own", "args": {}}} for id in self.calls]
        return [{"role": "model", "parts": parts}]

    def _is_models(self, message: JSON) -> bool:
        return message.get("role") in ("assistant", "model") or message.get("type") == "function_call"


def view(body: JSON) -> list[JSON]:
    """The conversation that a model was sent, without the marks of caches."""
    found = body.get("messages") or body.get("input") or body.get("contents") or []
    return [message for message in found if message.get("role") not in ("system", "developer")]


def words(value: Any) -> str:
    """All texts of a request's conversation, in their order."""
    if isinstance(value, str):
        return value + "\n"
    if isinstance(value, dict):
        return "".join(words(value.get(name)) for name in ("content", "parts", "text", "output"))
    return "".join(map(words, value)) if isinstance(value, list) else ""


def numbers(text: str) -> list[int]:
    """The numbers of the results that are told, in their order."""
    return [int(found) for found in re.findall(r"^#(\d+) ", text, re.MULTILINE)]


def system(body: JSON) -> Any:
    """The system prompt that a model was sent."""
    own = [body.get(name) for name in ("system", "instructions", "systemInstruction")]
    return own + [one for one in body.get("messages", []) if one.get("role") == "system"]


async def together(*talks: Any) -> list[Any]:
    """Several requests at once."""
    return list(await asyncio.gather(*talks))


def _heard(dialect: str, answer: JSON) -> tuple[str, list[str]]:
    if dialect == "chat":
        message = answer["choices"][0]["message"]
        return message["content"] or "", [call["id"] for call in message.get("tool_calls") or []]
    if dialect == "responses":
        items = answer["output"]
        texts = [part["text"] for item in items if item["type"] == "message" for part in item["content"]]
        return "".join(texts), [item["call_id"] for item in items if item["type"] == "function_call"]
    blocks = answer["content"] if dialect == "anthropic" else answer["candidates"][0]["content"]["parts"]
    calls = [
        block.get("id") or block["functionCall"]["id"] for block in blocks if block.keys() & {"functionCall", "input"}
    ]
    return "".join(block.get("text", "") for block in blocks), calls
