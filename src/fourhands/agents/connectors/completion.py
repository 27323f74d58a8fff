"""The answer of a chat model's endpoint over HTTP, read as deltas in the dialect of the endpoint.

An answer of which nothing is understood is an error that shows its beginning, since then the address is wrong more
often than the model.
"""

from collections.abc import AsyncIterator

import httpx

from fourhands.agents.models.dialects import ChatDialect, payload
from fourhands.agents.models.dialects.deltas import Delta, error_text
from fourhands.core.errors import Unavailable

MOST_REFUSAL = 64 * 1024
"""Bytes of a refusal that are read for its message."""


async def deltas(response: httpx.Response, dialect: ChatDialect) -> AsyncIterator[Delta]:
    """Read an answer, streamed or in one piece. Raises `Unavailable` if it is an error or cannot be read."""
    content_type = response.headers.get("content-type", "").split(";")[0].strip().lower()
    reader = dialect.reader(content_type)
    async for chunk in response.aiter_bytes():
        for delta in reader.feed(chunk):
            yield delta
    for delta in reader.close():
        yield delta
    if not reader.understood:
        raise Unavailable(
            f"unexpected response from the model endpoint ({content_type or 'no type'}): "
            f"{reader.excerpt() or 'nothing'}",
            hint="check the address: most end with /v1; anthropic:URL#MODEL is for Anthropic's interface",
        )


async def refusal(response: httpx.Response) -> str:
    """Return the text of a refusal: its message where it has one, else its beginning."""
    detail = b""
    async for chunk in response.aiter_bytes():
        detail += chunk
        if len(detail) > MOST_REFUSAL:
            break
    problem = payload.decode(detail)
    return error_text(problem.get("error", problem) if isinstance(problem, dict) else detail.decode("utf-8", "replace"))
