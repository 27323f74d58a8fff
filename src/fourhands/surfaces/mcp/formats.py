"""Values of the workbench in the forms of MCP: JSON, content, messages, pages of a list.

A command that has more to show than data returns a `content` that is a list in MCP's own form; a prompt's returns
`messages`. Everything else is data.
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ContentBlock, PaginatedRequestParams, PromptMessage
from pydantic import TypeAdapter, ValidationError

from fourhands.core.errors import FourhandsError

_BLOCKS: TypeAdapter[list[ContentBlock]] = TypeAdapter(list[ContentBlock])
_MESSAGES: TypeAdapter[list[PromptMessage]] = TypeAdapter(list[PromptMessage])
_PREFIX = "from-"
_T = TypeVar("_T")


def json_text(value: object) -> str:
    """Return a value as JSON text; what has no JSON form appears as its `repr`."""
    return msgspec.json.encode(value, enc_hook=repr).decode()


def plain(value: dict[str, object]) -> dict[str, object]:
    """Return the object with JSON's own types only."""
    return msgspec.json.decode(json_text(value), type=dict[str, object])


def blocks(value: object) -> list[ContentBlock] | None:
    """Return a `content` in MCP's form; None if it is other data."""
    if not isinstance(value, list) or not value:
        return None
    try:
        return _BLOCKS.validate_python(value)
    except ValidationError:
        return None


def messages(value: object) -> list[PromptMessage]:
    """Return the `messages` of a prompt."""
    try:
        return _MESSAGES.validate_python(value)
    except ValidationError as error:
        raise FourhandsError(f"the prompt's command returned no messages of MCP's form: {error}") from error


def page(items: Sequence[_T], params: PaginatedRequestParams | None, size: int) -> tuple[list[_T], str | None]:
    """Return one page of a list, and the cursor of the next page if there is one."""
    start = _start(params.cursor if params is not None else None)
    end = start + size
    return list(items[start:end]), f"{_PREFIX}{end}" if end < len(items) else None


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    number = cursor.removeprefix(_PREFIX)
    if number == cursor or not (number.isascii() and number.isdigit()) or len(number) > 9:
        raise MCPError(INVALID_PARAMS, f"{cursor[:100]!r} is not a cursor of this server; begin without one")
    return int(number)
