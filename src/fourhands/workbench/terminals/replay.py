"""A terminal from its past to its present, for a page that has just been opened: scrollback, authors, then the screen.

The past is what the program printed, cut where an author began to type, so that each author's rows are known. It was
printed at whatever sizes the terminal had; therefore the present screen follows by itself and is exact.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from fourhands.host.log import LogReader
from fourhands.workbench.terminals.authorship import AuthorSpan
from fourhands.workbench.terminals.output import read_range

PAST = 512 * 1024
"""Bytes of the past that a page is given; more than its scrollback of ordinary lines is worth waiting for."""

_OTHER_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)([hl])")


class ReplaySegment(Struct, frozen=True, kw_only=True, rename="camel"):
    """Some output, and who began to type just before it."""

    text: str
    ink: AuthorSpan | None = None


def past(
    log: LogReader, end: int, marks: Sequence[AuthorSpan], *, full_screen: bool = False, limit: int = PAST
) -> list[ReplaySegment]:
    """Return the last `limit` bytes printed before a position, in pieces.

    `full_screen` says that a program shows the other screen at that position, which has no scrollback.
    """
    begin = max(log.floor, end - limit)
    chunk = read_range(log, begin, end)
    start, data = chunk.start, chunk.data
    if start > 0:
        cut = _first_whole_line(data, full_screen)
        start, data = start + cut, data[cut:]
    inks = [ink for ink in marks if start < ink.position < end]
    # The first rows follow the typing of the last author before this part.
    before = [ink for ink in marks if ink.position <= start][-1:]
    pieces = []
    edges = [start, *(ink.position for ink in inks), end]
    for ink, low, high in zip([*before, *inks] if before else [None, *inks], edges, edges[1:], strict=False):
        pieces.append(ReplaySegment(text=data[low - start : high - start].decode("utf-8", "replace"), ink=ink))
    return pieces


def _first_whole_line(data: bytes, full_screen: bool) -> int:
    """Return where a part that begins anywhere can be shown: behind a line's end, outside full-screen programs."""
    switch = _OTHER_SCREEN.search(data)
    if switch is None:
        return len(data) if full_screen else data.find(b"\n") + 1
    return switch.end() if switch[1] == b"l" else data.find(b"\n", 0, switch.start()) + 1
