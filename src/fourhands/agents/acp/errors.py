"""Our errors as ACP's: a JSON-RPC number for programs that look no further, and `data.code` that tells them apart."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from fourhands.agents.acp.jsonrpc import CANCELLED, INTERNAL_ERROR, INVALID_PARAMS, RpcError
from fourhands.core.call import Result
from fourhands.core.errors import FourhandsError, NotFound

NOT_FOUND: Final = -32002
AUTH_REQUIRED: Final = -32000

_NUMBERS = {
    "bad-argument": INVALID_PARAMS,
    "bad-path": INVALID_PARAMS,
    "not-regular": INVALID_PARAMS,
    "bad-cwd": INVALID_PARAMS,
    "bad-env": INVALID_PARAMS,
    "outside-workspace": INVALID_PARAMS,
    "not-found": NOT_FOUND,
    "unknown-session": NOT_FOUND,
    "cancelled": CANCELLED,
}

_P = TypeVar("_P", bound=Struct)


class UnknownSession(NotFound):
    """No session of that id is open on this connection."""

    code = "unknown-session"


def rpc_error(error: FourhandsError) -> RpcError:
    """Convert an error of ours to its form on the wire."""
    return _error(error.code, str(error), error.hint, error.data)


def rpc_failure(result: Result) -> RpcError:
    """Convert the result of a failed call to an error on the wire."""
    text = f"{result.error} ({result.hint})" if result.hint else result.error
    return _error(result.code, text, result.hint, result.data)


def _error(code: str, text: str, hint: str, more: Mapping[str, object]) -> RpcError:
    """`problem` tells apart what has one code: a working directory that is missing, no directory, or outside."""
    found = {"code": code, "hint": hint, "problem": more.get("problem")}
    data = {name: value for name, value in found.items() if value}
    return RpcError(_NUMBERS.get(code, INTERNAL_ERROR), text, data)


def decode_params(params: dict[str, Any], type: type[_P]) -> _P:
    """Decode the params of a request. Unknown members are ignored: newer programs send more of them."""
    try:
        return msgspec.convert(params, type)
    except (msgspec.ValidationError, OverflowError) as error:
        raise RpcError(INVALID_PARAMS, f"bad params: {error}", {"code": "bad-argument"}) from None
