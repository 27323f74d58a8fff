"""Bodies of HTTP requests and responses: JSON in, JSON out, and the status for an error's code."""

from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from fourhands.core.call import Result
from fourhands.core.errors import BadArgument, FourhandsError

STATUS = {
    "ambiguous": 409,
    "bad-argument": 400,
    "cancelled": 499,
    "conflict": 409,
    "denied": 403,
    "failed-outside": 502,
    "internal": 500,
    "limit": 429,
    "no-answer": 503,
    "not-found": 404,
    "stopped": 409,
    "timeout": 504,
    "unavailable": 503,
    "unsupported": 501,
}
"""HTTP's word for an error code; the code itself is in the body."""


class Json(Response):
    """JSON by msgspec."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode."""
        return msgspec.json.encode(content, enc_hook=repr)


def status_of(code: str) -> int:
    """Return the status for an error's code: its own, or that of the kind of error it belongs to."""
    return STATUS.get(code) or _inherited(code, FourhandsError, 400) or 400


def _inherited(code: str, kind: type[FourhandsError], status: int) -> int | None:
    status = STATUS.get(kind.code, status)
    if kind.code == code:
        return status
    found = (_inherited(code, narrower, status) for narrower in kind.__subclasses__())
    return next((one for one in found if one is not None), None)


def answer(result: Result) -> Response:
    """Return a result as a response."""
    return Json(result.to_wire(), 200 if result.success else status_of(result.code))


async def read_json(request: Request) -> dict[str, object]:
    """Return the body as an object; an empty body is an empty object."""
    try:
        body = await request.body()
    except ClientDisconnect:
        raise BadArgument("the body is too large or was not sent to its end") from None
    if not body.strip():
        return {}
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadArgument(f"the body is not JSON: {error}", hint="send an object with the arguments") from error
    if not isinstance(value, dict):
        raise BadArgument(f"the body must be an object with the arguments, not {type(value).__name__}")
    return value
