"""How a model's answer looks on the wire in each of the four dialects, as the messages of a stream or as one body."""

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]


@dataclass
class Tool:
    """A call of one of the agent's own tools."""

    name: str
    input: JSON = field(default_factory=dict)
    id: str = "call_1"
    namespace: str = ""  # of its name; responses only


@dataclass
class Answer:
    """What the scripted model says to one request."""

    text: str | list[str] = ""  # a list is streamed piece by piece
    thinking: str = ""
    tools: list[Tool] = field(default_factory=list)
    finish: str = "stop"  # or "length"
    status: int = 200  # anything else is an error of that status
    error: str = ""  # its message; with status 200: an error in the middle of the stream, behind the text
    headers: dict[str, str] = field(default_factory=dict)  # further headers of the response
    chunk: int | None = None  # write so many bytes at a time
    cut: int | None = None  # break the connection after so many messages of the stream
    before: Callable[[int], Awaitable[None]] | None = None  # awaited before each message of the stream
    id: str = "1"
    model: str = "fake"
    tokens: tuple[int, int] = (11, 7)  # in, out
    unstreamed: bool = False  # answer in one piece, whatever is asked for
    raw: bytes | None = None  # send just this
    content_type: str = "text/event-stream"  # of what is raw

    @property
    def pieces(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) and self.text else list(self.text)

    @property
    def whole(self) -> str:
        return "".join(self.pieces)


def stream(dialect: str, answer: Answer, request: JSON | None = None, *, array: bool = False) -> list[bytes]:
    """Return the messages of a streamed answer."""
    if dialect == "gemini":
        return _gemini_stream(answer, array=array)
    return {"chat": _chat_stream, "responses": _responses_stream, "anthropic": _anthropic_stream}[dialect](
        answer, request or {}
    )


def body(dialect: str, answer: Answer) -> bytes:
    """Return a whole answer."""
    made = {"chat": _chat_body, "responses": _response, "anthropic": _anthropic_body, "gemini": _gemini_body}
    return json.dumps(made[dialect](answer)).encode()


def error(dialect: str, status: int, message: str) -> bytes:
    """Return the body of an error."""
    if dialect == "anthropic":
        kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    if dialect == "gemini":
        return json.dumps({"error": {"code": status, "message": message, "status": "UNAVAILABLE"}}).encode()
    return json.dumps({"error": {"message": message, "type": "server_error", "param": None, "code": None}}).encode()


def text_of(dialect: str, messages: Iterable[JSON]) -> str:
    """Return the visible text in the messages of a stream, as a client would put it together."""
    out: list[str] = []
    for message in messages:
        if dialect == "chat":
            out += [choice["delta"].get("content") or "" for choice in message.get("choices", [])]
        elif dialect == "responses" and message["type"] == "response.output_text.delta":
            out.append(message["delta"])
        elif dialect == "anthropic" and message.get("delta", {}).get("type") == "text_delta":
            out.append(message["delta"]["text"])
        elif dialect == "gemini":
            for candidate in message.get("candidates", []):
                parts = candidate.get("content", {}).get("parts", [])
                out += [part["text"] for part in parts if "text" in part and not part.get("thought")]
    return "".join(out)


def messages_of(data: bytes) -> list[JSON]:
    """Return the JSON messages in a stream of events, or the elements of an array."""
    if data.lstrip().startswith(b"["):
        return list(json.loads(data))
    events = data.replace(b"\r\n", b"\n").split(b"\n\n")
    found = [line[6:] for event in events for line in event.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in found if line != b"[DONE]"]


def _event(value: JSON, name: str = "") -> bytes:
    lead = f"event: {name}\n" if name else ""
    return f"{lead}data: {json.dumps(value)}\n\n".encode()


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


# --- chat completions ---


def _chat_usage(answer: Answer) -> JSON:
    a, b = answer.tokens
    return {"prompt_tokens": a, "completion_tokens": b, "total_tokens": a + b}


def _chat_stream(answer: Answer, request: JSON) -> list[bytes]:
    base = {"id": f"chatcmpl-{answer.id}", "object": "chat.completion.chunk", "created": 1, "model": answer.model}

    def chunk(delta: JSON, finish: str | None = None) -> bytes:
        return _event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    out = [chunk({"role": "assistant", "content": ""})]
    out += [chunk({"reasoning_content": answer.thinking})] if answer.thinking else []
    out += [chunk({"content": piece}) for piece in answer.pieces]
    if answer.error:
        return [*out, _event(json.loads(error("chat", 500, answer.error)))]
    for index, tool in enumerate(answer.tools):
        head = {"name": tool.name, "arguments": ""}
        out.append(chunk({"tool_calls": [{"index": index, "id": tool.id, "type": "function", "function": head}]}))
        for half in _halves(json.dumps(tool.input)):
            out.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": half}}]}))
    out.append(chunk({}, "tool_calls" if answer.tools and answer.finish == "stop" else answer.finish))
    if (request.get("stream_options") or {}).get("include_usage"):
        out.append(_event({**base, "choices": [], "usage": _chat_usage(answer)}))
    return [*out, b"data: [DONE]\n\n"]


def _chat_body(answer: Answer) -> JSON:
    message: JSON = {"role": "assistant", "content": answer.whole or None}
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    if answer.tools:
        message["tool_calls"] = [
            {"id": t.id, "type": "function", "function": {"name": t.name, "arguments": json.dumps(t.input)}}
            for t in answer.tools
        ]
    finish = "tool_calls" if answer.tools and answer.finish == "stop" else answer.finish
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": "chat.completion",
        "created": 1,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _chat_usage(answer),
    }


# --- responses ---


def _output(answer: Answer) -> list[JSON]:
    items: list[JSON] = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        items.append({"type": "reasoning", "id": f"rs_{answer.id}", "summary": summary})
    if answer.pieces:
        content = [{"type": "output_text", "text": answer.whole, "annotations": [], "logprobs": []}]
        items.append(
            {
                "type": "message",
                "id": f"msg_{answer.id}",
                "status": "completed",
                "role": "assistant",
                "content": content,
            }
        )
    items += [
        {
            "type": "function_call",
            "id": f"fc_{tool.id}",
            "call_id": tool.id,
            "name": tool.name,
            "arguments": json.dumps(tool.input),
            "status": "completed",
            **({"namespace": tool.namespace} if tool.namespace else {}),
        }
        for tool in answer.tools
    ]
    return items


def _response(answer: Answer, *, started: bool = False) -> JSON:
    a, b = answer.tokens
    status = "in_progress" if started else "completed" if answer.finish == "stop" else "incomplete"
    usage = {
        "input_tokens": a,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": b,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": a + b,
    }
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "model": answer.model,
        "output": [] if started else _output(answer),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": None if started else usage,
    }


def _responses_stream(answer: Answer, request: JSON) -> list[bytes]:
    out: list[bytes] = []

    def say(kind: str, **more: Any) -> None:
        out.append(_event({"type": kind, "sequence_number": len(out), **more}, kind))

    say("response.created", response=_response(answer, started=True))
    say("response.in_progress", response=_response(answer, started=True))
    for index, item in enumerate(_output(answer)):
        at = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            say("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []})
            part = item["content"][0]
            say("response.content_part.added", **at, content_index=0, part={**part, "text": ""})
            for piece in answer.pieces:
                say("response.output_text.delta", **at, content_index=0, delta=piece, logprobs=[])
            if answer.error:
                say("error", code="server_error", message=answer.error, param=None)
                return out
            say("response.output_text.done", **at, content_index=0, text=part["text"], logprobs=[])
            say("response.content_part.done", **at, content_index=0, part=part)
        elif item["type"] == "function_call":
            say("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            for half in _halves(item["arguments"]):
                say("response.function_call_arguments.delta", **at, delta=half)
            say("response.function_call_arguments.done", **at, name=item["name"], arguments=item["arguments"])
        else:
            say("response.output_item.added", output_index=index, item={**item, "summary": []})
        say("response.output_item.done", output_index=index, item=item)
    final = _response(answer)
    say(f"response.{final['status']}", response=final)
    return out


# --- Anthropic messages ---


def _blocks(answer: Answer) -> list[JSON]:
    blocks: list[JSON] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "c2ln"})
    if answer.pieces:
        blocks.append({"type": "text", "text": answer.whole})
    return blocks + [{"type": "tool_use", "id": t.id, "name": t.name, "input": t.input} for t in answer.tools]


def _anthropic_stop(answer: Answer) -> str:
    return (
        "tool_use"
        if answer.tools and answer.finish == "stop"
        else {
            "stop": "end_turn",
            "length": "max_tokens",
            "content_filter": "refusal",
        }.get(answer.finish, "end_turn")
    )


def _anthropic_body(answer: Answer) -> JSON:
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": _blocks(answer),
        "stop_reason": _anthropic_stop(answer),
        "stop_sequence": None,
        "usage": {"input_tokens": answer.tokens[0], "output_tokens": answer.tokens[1]},
    }


def _anthropic_stream(answer: Answer, request: JSON) -> list[bytes]:
    out: list[bytes] = []

    def say(kind: str, **more: Any) -> None:
        out.append(_event({"type": kind, **more}, kind))

    start = {**_anthropic_body(answer), "content": [], "stop_reason": None}
    start["usage"] = {"input_tokens": answer.tokens[0], "output_tokens": 1}
    say("message_start", message=start)
    say("ping")
    for index, block in enumerate(_blocks(answer)):
        opening: JSON
        deltas: list[JSON]
        if block["type"] == "text":
            opening = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in answer.pieces]
        elif block["type"] == "thinking":
            opening = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": answer.thinking},
                {"type": "signature_delta", "signature": "c2ln"},
            ]
        else:
            opening = {**block, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": half} for half in _halves(json.dumps(block["input"]))
            ]
        say("content_block_start", index=index, content_block=opening)
        for delta in deltas:
            say("content_block_delta", index=index, delta=delta)
        if answer.error and block["type"] == "text":
            say("error", error={"type": "overloaded_error", "message": answer.error})
            return out
        say("content_block_stop", index=index)
    stop = {"stop_reason": _anthropic_stop(answer), "stop_sequence": None}
    say("message_delta", delta=stop, usage={"output_tokens": answer.tokens[1]})
    say("message_stop")
    return out


# --- Gemini ---


def _gemini_message(answer: Answer, parts: list[JSON], finish: str | None) -> JSON:
    candidate: JSON = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    a, b = answer.tokens
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": a, "candidatesTokenCount": b, "totalTokenCount": a + b},
        "modelVersion": answer.model,
        "responseId": f"gem_{answer.id}",
    }


def _gemini_parts(answer: Answer) -> list[JSON]:
    parts: list[JSON] = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
    parts += [{"text": piece} for piece in answer.pieces]
    return parts + [{"functionCall": {"name": t.name, "args": t.input, "id": t.id}} for t in answer.tools]


def _gemini_finish(answer: Answer) -> str:
    return {"stop": "STOP", "length": "MAX_TOKENS"}.get(answer.finish, "STOP")


def _gemini_body(answer: Answer) -> JSON:
    return _gemini_message(answer, _gemini_parts(answer), _gemini_finish(answer))


def _gemini_stream(answer: Answer, *, array: bool) -> list[bytes]:
    messages = [_gemini_message(answer, [part], None) for part in _gemini_parts(answer)]
    if answer.error:
        messages.append(json.loads(error("gemini", 503, answer.error)))
    else:
        messages.append(_gemini_message(answer, [{"text": ""}], _gemini_finish(answer)))
    if not array:
        return [f"data: {json.dumps(message)}\r\n\r\n".encode() for message in messages]
    texts = [json.dumps(message, indent=2).encode() for message in messages]
    return [b"[" + texts[0], *(b",\r\n" + text for text in texts[1:]), b"]"]
