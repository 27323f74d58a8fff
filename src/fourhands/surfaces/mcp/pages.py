"""Long lists in pages: a client asks for the next one with the cursor of the last."""

from collections.abc import Sequence
from typing import TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams

PAGE = 250
"""Entries at once: more than most workbenches have, since some clients never ask for a second page."""

_PREFIX = "from-"
_T = TypeVar("_T")


def page(items: Sequence[_T], params: PaginatedRequestParams | None) -> tuple[list[_T], str | None]:
    """The page that is asked for, and the cursor of the next one if there is more."""
    start = _start(params.cursor if params is not None else None)
    end = start + PAGE
    return list(items[start:end]), f"{_PREFIX}{end}" if end < len(items) else None


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    number = cursor.removeprefix(_PREFIX)
    if number == cursor or not (number.isascii() and number.isdigit()) or len(number) > 9:
        raise MCPError(INVALID_PARAMS, f"{cursor[:100]!r} is no cursor of this server; begin without one")
    return int(number)
