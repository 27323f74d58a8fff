"""The answer to a client's `initialize`, given before the SDK is loaded: that takes longer than the rest of a start.

It is the SDK's answer, word for word. The SDK is given the request all the same, and what it says to it is dropped. So
only requests of a form that it accepts for certain are answered here; every other first message waits for it.
"""

from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from fourhands import __version__
from fourhands.surfaces.mcp.kept_tasks import UTILITY_VERSION

NAME, TITLE = "fourhands", "Fourhands"

WELCOME = (
    "A workbench that a person and you drive together: the same terminals, editors, panes and files. "
    "The person sees what you do. Read the resource fourhands://instructions for what is open now."
)

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol that begin with `initialize`."""

CAPABILITIES: dict[str, object] = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}
TASKS: dict[str, object] = {"tasks": {"cancel": {}, "list": {}, "requests": {"tools": {"call": {}}}}}


# Scalars: how deep what lies within may be, and how large a number, is for the SDK to say.
_Options = dict[str, dict[str, bool | float | str | None]]
_Id = Annotated[int, Meta(ge=-(2**53), le=2**53)] | str


class _Strict(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a request that has no other members than these."""


class _Roots(_Strict, frozen=True):
    list_changed: bool = False


class _Capabilities(_Strict, frozen=True):
    roots: _Roots | None = None
    sampling: _Options | None = None
    elicitation: _Options | None = None
    experimental: _Options | None = None


class _Info(_Strict, frozen=True):
    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None


class _Params(_Strict, frozen=True):
    protocol_version: str
    capabilities: _Capabilities
    client_info: _Info


class _Initialize(_Strict, frozen=True):
    jsonrpc: Literal["2.0"]
    id: _Id
    method: Literal["initialize"]
    params: _Params


class Greeting(NamedTuple):
    """An answer, and the id of its request."""

    id: int | str
    answer: str


def greet(message: str | bytes) -> Greeting | None:
    """Return the answer to a client's first message; None if that is the SDK's to answer."""
    try:
        asked = msgspec.json.decode(message, type=_Initialize)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if asked.params.protocol_version not in VERSIONS:
        return None
    result = {
        "capabilities": CAPABILITIES | (TASKS if asked.params.protocol_version == UTILITY_VERSION else {}),
        "instructions": WELCOME,
        "protocolVersion": asked.params.protocol_version,
        "serverInfo": {"name": NAME, "title": TITLE, "version": __version__},
    }
    return Greeting(asked.id, msgspec.json.encode({"jsonrpc": "2.0", "id": asked.id, "result": result}).decode())
