"""The client of Anthropic's messages: requests with tools, answers as deltas.

Text, thoughts and tool calls are blocks of a content, each streamed apart by its index. Results of tools stand in the
user's next message, first of all. Prompt caching is asked for at two places: behind the system text, which stays as it
is for a session, and at the end, which the next request continues.
"""

import json
from typing import Any

from fourhands.agents.models.dialects import payload
from fourhands.agents.models.dialects.deltas import CallPiece, Delta, Stop, Text, Thought, Used, count, reported
from fourhands.agents.models.history import NO_TEXT, HistoryMessage, ModelRequest

PATH = "/v1/messages"
VERSION = "2023-06-01"

_CACHED = {"cache_control": {"type": "ephemeral"}}


def headers(key: str) -> dict[str, str]:
    """Return the headers that name the key and the version of the interface."""
    return {"x-api-key": key, "anthropic-version": VERSION}


def body(request: ModelRequest) -> dict[str, object]:
    """Return the body of a request."""
    made: dict[str, object] = {"model": request.model}
    if request.system:  # an empty text is refused
        made["system"] = [{"type": "text", "text": request.system, **_CACHED}]
    if request.tools:
        made["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
    return made | {"messages": _messages(request.messages), "stream": True, "max_tokens": request.max_tokens}


def _messages(history: list[HistoryMessage]) -> list[dict[str, object]]:
    """Return the messages; results are the user's to Anthropic, and neighbours of one role become one."""
    made: list[tuple[str, list[dict[str, object]]]] = []
    for message in history:
        role = "assistant" if message["role"] == "assistant" else "user"
        parts = _parts(message)
        if made and made[-1][0] == role:
            made[-1][1].extend(parts)
        else:
            made.append((role, parts))
    if made:
        made[-1][1][-1] |= _CACHED
    return [{"role": role, "content": parts} for role, parts in made]


def _parts(message: HistoryMessage) -> list[dict[str, object]]:
    content = message["content"]
    if message["role"] == "tool":
        result: dict[str, object] = {"type": "tool_result", "tool_use_id": message.get("call", "")}
        result["content"] = content or NO_TEXT
        return [result | {"is_error": True} if message.get("failed") else result]
    calls = message.get("calls", [])
    parts: list[dict[str, object]] = []
    if content.strip() or not calls:  # an empty text is refused
        parts.append({"type": "text", "text": content if content.strip() else NO_TEXT})
    for call in calls:
        given = payload.decode(call["arguments"].encode("utf-8", "replace"))
        parts.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": given or {}})
    return parts


def deltas(message: Any) -> list[Delta] | None:
    """Return the deltas of one event or of a whole message; None if it is neither.

    Raises `Reported` for an error that the model reports.
    """
    if not isinstance(message, dict) or not isinstance(kind := message.get("type"), str):
        return None
    if kind == "error":
        raise reported(message.get("error"))
    content = message.get("content")
    place = message.get("index")
    at = place if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < 1_000_000 else None
    if isinstance(content, list):
        found = [delta for number, part in enumerate(content) for delta in _block(part, number)]
    else:
        found = [delta for name in ("content_block", "delta") for delta in _block(message.get(name), at)]
    started = message.get("message")
    for holder in (started, message):
        if isinstance(holder, dict) and isinstance(usage := holder.get("usage"), dict):
            found.append(_used(usage))
    for holder in (message.get("delta"), message):  # of a stream, and of an answer in one piece
        if isinstance(holder, dict) and isinstance(reason := holder.get("stop_reason"), str) and reason:
            found.append(Stop("max_tokens" if reason == "model_context_window_exceeded" else reason[:100]))
    return found


def _block(block: Any, place: int | None) -> list[Delta]:
    if not isinstance(block, dict):
        return []
    kind = block.get("type")
    if kind in ("text", "text_delta") and isinstance(text := block.get("text"), str):
        return [Text(text)]
    if kind in ("thinking", "thinking_delta") and isinstance(text := block.get("thinking"), str):
        return [Thought(text)]
    if kind == "input_json_delta" and isinstance(text := block.get("partial_json"), str):
        return [CallPiece(text=text, place=place)]
    if kind == "tool_use":
        given = block.get("input")
        text = json.dumps(given, default=str) if given not in (None, {}) else ""
        return [CallPiece(text=text, place=place, id=_word(block.get("id")), name=_word(block.get("name")))]
    return []


def _word(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


def _used(usage: dict[str, Any]) -> Used:
    """Return what was used; what was read from a cache, or written to it, is not in Anthropic's own count of input."""
    fresh, cached = count(usage.get("input_tokens")), count(usage.get("cache_read_input_tokens"))
    made = count(usage.get("cache_creation_input_tokens"))
    read = None if fresh is None else fresh + (cached or 0) + (made or 0)
    return Used(read=read, written=count(usage.get("output_tokens")), cached=cached)
