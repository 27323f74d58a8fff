"""The client of OpenAI's chat completions: requests with tools, answers as deltas.

Text stands in `choices[0].delta.content` (streamed) or `.message.content`; thoughts beside it as `reasoning_content` or
`reasoning`; tool calls as pieces in `tool_calls`. What was used stands in a message that may have no choices.
"""

import json
from collections.abc import Iterator
from typing import Any

from fourhands.agents.models.dialects.deltas import CallPiece, Delta, Stop, Text, Thought, Used, count, reported
from fourhands.agents.models.history import HistoryMessage, ModelRequest

PATH = "/chat/completions"

# The reasons for which an answer ends, in ACP's words, which are nearly Anthropic's.
_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
}
_MOST_COST = 1e9


def headers(key: str) -> dict[str, str]:
    """Return the headers that name the key."""
    return {"authorization": f"Bearer {key}"} if key else {}


def body(request: ModelRequest) -> dict[str, object]:
    """Return the body of a request."""
    messages = [{"role": "system", "content": request.system}, *map(_message, request.messages)]
    made: dict[str, object] = {"model": request.model, "messages": messages, "stream": True}
    if request.tools:
        made["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
    if request.usage:
        made["stream_options"] = {"include_usage": True}
    made["max_completion_tokens" if request.newer_limit else "max_tokens"] = request.max_tokens
    return made


def _message(message: HistoryMessage) -> dict[str, object]:
    role, content = message["role"], message["content"]
    if role == "tool":
        return {"role": role, "tool_call_id": message.get("call", ""), "content": content}
    calls = message.get("calls")
    if not calls:
        return {"role": role, "content": content}
    told = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in calls
    ]
    return {"role": role, "content": content or None, "tool_calls": told}


def deltas(message: Any) -> list[Delta] | None:
    """Return the deltas of one chunk or of a whole completion; None if it is neither.

    Raises `Reported` for an error that the model reports.
    """
    if not isinstance(message, dict):
        return None
    if message.get("error"):
        raise reported(message["error"])
    choices = message.get("choices")
    if not isinstance(choices, list):
        return None
    found = [delta for choice in choices for delta in _choice(choice)]
    if isinstance(usage := message.get("usage"), dict):
        found.append(_used(usage))
    return found


def _choice(choice: Any) -> Iterator[Delta]:
    if not isinstance(choice, dict) or choice.get("index"):  # only the first was asked for
        return
    spoken = choice.get("delta") or choice.get("message")
    if isinstance(spoken, dict):
        for name in ("reasoning_content", "reasoning"):
            if text := _content(spoken.get(name)):
                yield Thought(text)
                break  # some servers say it under both names
        for name in ("content", "refusal"):
            if text := _content(spoken.get(name)):
                yield Text(text)
        calls = spoken.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield _piece(call)
    if isinstance(reason := choice.get("finish_reason"), str) and reason:
        yield Stop(_REASONS.get(reason, reason[:100]))


def _piece(call: dict[str, Any]) -> CallPiece:
    function = call.get("function")
    told = function if isinstance(function, dict) else {}
    arguments = told.get("arguments")
    # Some servers give the object itself, not its text.
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments, default=str)
    place = call.get("index")
    return CallPiece(
        text=text,
        place=place if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < 1_000_000 else None,
        id=_word(call.get("id")),
        name=_word(told.get("name")),
    )


def _word(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


def _used(usage: dict[str, Any]) -> Used:
    details = usage.get("prompt_tokens_details")
    cached = count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = count(usage.get("prompt_cache_hit_tokens"))
    cost = usage.get("cost")
    told = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < _MOST_COST
    return Used(
        read=count(usage.get("prompt_tokens")),
        written=count(usage.get("completion_tokens")),
        cached=cached,
        cost=float(cost) if told and isinstance(cost, int | float) else None,
    )


def _content(content: Any) -> str:
    """Return a text, or the parts of a list that are text."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
