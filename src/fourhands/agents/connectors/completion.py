"""One request to a chat model's endpoint over HTTP, and its answer as deltas in the dialect of the endpoint.

An answer of which nothing is understood is an error that shows its beginning, since then the address is wrong more
often than the model. An answer that ends without saying so was cut off, and is never taken for complete.
"""

from collections.abc import AsyncGenerator, AsyncIterator

import httpx

from fourhands.agents.connectors.endpoint import Endpoint
from fourhands.agents.connectors.refusals import Busy, CutOff, Refused, hint_of, is_busy, overloaded, too_long, wait_of
from fourhands.agents.models.dialects import ChatDialect, payload
from fourhands.agents.models.dialects.deltas import Delta, Reported, error_kind, error_text
from fourhands.agents.models.history import ModelRequest
from fourhands.core.errors import LimitReached, Unavailable

MOST_REFUSAL = 64 * 1024
"""Bytes of a refusal that are read for its message."""


async def spoken(client: httpx.AsyncClient, endpoint: Endpoint, request: ModelRequest) -> AsyncGenerator[Delta, None]:
    """Ask a model once and yield its answer as it comes."""
    dialect = endpoint.dialect
    headers = {"content-type": "application/json", **dialect.headers(endpoint.key)}
    content = bytes(payload.encode(dialect.body(request)))
    async with client.stream("POST", address(endpoint, dialect), headers=headers, content=content) as response:
        if response.status_code >= 400:
            await _refused(response)
        async for delta in deltas(response, dialect):
            yield delta


def address(endpoint: Endpoint, dialect: ChatDialect) -> str:
    """Return the address of an endpoint's requests; for Anthropic's interface one may be given with its /v1 or not."""
    url = endpoint.url.rstrip("/")
    return url.removesuffix("/v1") + dialect.path if dialect.path.startswith("/v1/") else url + dialect.path


async def deltas(response: httpx.Response, dialect: ChatDialect) -> AsyncIterator[Delta]:
    """Read an answer, streamed or in one piece. Raises `Unavailable` if it is an error or cannot be read."""
    content_type = response.headers.get("content-type", "").split(";")[0].strip().lower()
    reader = dialect.reader(content_type)
    try:
        async for chunk in response.aiter_bytes():
            for delta in reader.feed(chunk):
                yield delta
        for delta in reader.close():
            yield delta
    except Reported as error:
        if overloaded(error.kind):
            raise Busy(error.message) from error
        said = f"{error.kind} {error.message}"
        if too_long(0, said):
            raise Refused(error.message, "", 0, said) from error
        raise
    except LimitReached as error:
        raise Unavailable(f"the model's answer cannot be read: {error.message}") from error
    if not reader.understood:
        raise Unavailable(
            f"unexpected response from the model endpoint ({content_type or 'no type'}): "
            f"{reader.excerpt() or 'nothing'}",
            hint="check the address: most end with /v1; anthropic:URL#MODEL is for Anthropic's interface",
        )
    if not reader.ended:
        raise CutOff("the connection ended before the answer did, without a reason for its end")


async def _refused(response: httpx.Response) -> None:
    status, detail, said = response.status_code, *await refusal(response)
    if is_busy(status, said):
        raise Busy(f"status {status}: {detail}", wait_of(response.headers))
    raise Refused(f"the model refused with status {status}: {detail}", hint_of(status, said), status, said)


async def refusal(response: httpx.Response) -> tuple[str, str]:
    """Return the text of a refusal (its message where it has one, else its beginning), and all it says of itself."""
    detail = b""
    async for chunk in response.aiter_bytes():
        detail += chunk
        if len(detail) > MOST_REFUSAL:
            break
    problem = payload.decode(detail)
    whole = detail.decode("utf-8", "replace")
    inner = problem.get("error", problem) if isinstance(problem, dict) else whole
    return error_text(inner), f"{error_kind(inner)} {whole}"
