"""The answer of a chat model's endpoint, read as pieces: text, thoughts, and the reason of its end.

Streamed or in one piece, of OpenAI's form or Anthropic's, however well it keeps to it. What is not understood is passed
over; an answer of which nothing is understood is an error that shows its beginning, since then the address is wrong
more often than the model.
"""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal, TypeAlias

import httpx
import msgspec

from fourhands.agents.briefing.shorten import one_line
from fourhands.agents.models.dialects.payload import lenient
from fourhands.agents.models.dialects.sse import SseParser, data_of
from fourhands.core.errors import Unavailable

MOST_BODY = 32 * 1024 * 1024
MOST_REFUSAL = 64 * 1024
EXCERPT = 200

DeltaKind: TypeAlias = Literal["text", "thought", "stop"]
Delta: TypeAlias = tuple[DeltaKind, str]

log = logging.getLogger(__name__)

# OpenAI's words for why an answer ends, in ACP's, which are nearly Anthropic's.
_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "end_turn"}


async def pieces(response: httpx.Response, kind: str) -> AsyncIterator[Delta]:
    """Read an answer of an interface, "openai" or "anthropic"."""
    read = _anthropic if kind == "anthropic" else _openai
    content_type = response.headers.get("content-type", "").split(";")[0].strip().lower()
    understood = False
    if content_type == "application/json":  # some servers do not stream, whatever they are asked for
        body = await _body(response)
        found = read(_decoded(body))
        understood, start = found is not None, body
        for piece in found or ():
            yield _sound(piece)
    else:
        start = b""
        async for lines, chunk in _events(response):
            start = start or chunk
            data = data_of(lines)
            if data is None or data.strip() in (b"", b"[DONE]"):
                continue
            if (found := read(_decoded(data))) is None:
                log.warning("an event of the model cannot be read: %r", data[:EXCERPT])
                continue
            understood = True
            for piece in found:
                yield _sound(piece)
    if not understood:
        shown = one_line(start.decode("utf-8", "replace"), EXCERPT) or "nothing"
        raise Unavailable(
            f"unexpected response from the model endpoint ({content_type or 'no type'}): {shown}",
            hint="check the address: most end with /v1; anthropic:URL#MODEL is for Anthropic's interface",
        )


async def _events(response: httpx.Response) -> AsyncIterator[tuple[list[bytes], bytes]]:
    """Yield the events of a stream as their lines, each with the newest chunk; the last may lack its empty line."""
    events, chunk = SseParser(MOST_BODY), b""
    async for chunk in response.aiter_bytes():
        yield [], chunk
        for lines in events.feed(chunk):
            yield lines, chunk
    yield events.close(), chunk


async def refusal(response: httpx.Response) -> str:
    """Return the text of a refusal: its message where it has one, else its beginning."""
    detail = b""
    async for chunk in response.aiter_bytes():
        detail += chunk
        if len(detail) > MOST_REFUSAL:
            break
    problem = _decoded(detail)
    return _words(problem.get("error", problem) if isinstance(problem, dict) else detail.decode("utf-8", "replace"))


async def _body(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MOST_BODY:
            raise Unavailable(f"the model's answer is larger than {MOST_BODY} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return lenient(data)


def _openai(message: Any) -> list[Delta] | None:
    """Return the pieces of one message, streamed or whole; None if it is not of this interface."""
    if not isinstance(message, dict):
        return None
    if message.get("error"):
        raise Unavailable(f"the model reports an error: {_words(message['error'])}")
    choices = message.get("choices")
    if not isinstance(choices, list):
        return None
    return [piece for choice in choices for piece in _choice(choice)]


def _choice(choice: Any) -> Iterator[Delta]:
    if not isinstance(choice, dict) or choice.get("index"):  # another one than the first was not asked for
        return
    said = choice.get("delta") or choice.get("message")
    if isinstance(said, dict):
        for name in ("reasoning_content", "reasoning", "content"):
            if text := _content(said.get(name)):
                yield ("text" if name == "content" else "thought"), text
    if isinstance(reason := choice.get("finish_reason"), str) and reason:
        yield "stop", _REASONS.get(reason, reason[:100])


def _content(content: Any) -> str:
    """Return a text, or the parts of a list that are text."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _anthropic(message: Any) -> list[Delta] | None:
    """Return the pieces of one event or message; None if it is not of this interface."""
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return None
    if message["type"] == "error":
        raise Unavailable(f"the model reports an error: {_words(message.get('error'))}")
    content = message.get("content")
    blocks = content if isinstance(content, list) else [message.get("content_block"), message.get("delta")]
    found: list[Delta] = []
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind in ("text", "text_delta") and isinstance(text := block.get("text"), str):
            found.append(("text", text))
        elif kind in ("thinking", "thinking_delta") and isinstance(text := block.get("thinking"), str):
            found.append(("thought", text))
        elif "stop_reason" in block and isinstance(reason := block["stop_reason"], str) and reason:
            found.append(("stop", reason[:100]))
    if isinstance(reason := message.get("stop_reason"), str) and reason:  # of an answer in one piece
        found.append(("stop", reason[:100]))
    return found


def _sound(piece: Delta) -> Delta:
    """Replace the halves of surrogate pairs in a piece, which cannot be encoded."""
    kind, text = piece
    return kind, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not text.isascii() else text


def _words(problem: Any) -> str:
    message = problem.get("message") if isinstance(problem, dict) else None
    return one_line(message if isinstance(message, str) and message else str(problem), 500)
