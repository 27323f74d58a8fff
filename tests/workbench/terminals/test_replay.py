"""A terminal's past in pieces."""

from dataclasses import dataclass
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from fourhands.host.log import Chunk, LogReader
from fourhands.workbench.terminals.authorship import AuthorKind, AuthorSpan
from fourhands.workbench.terminals.replay import past


@dataclass
class Log:
    """Output of which the first bytes are gone."""

    data: bytes
    floor: int = 0

    @property
    def head(self) -> int:
        return len(self.data)

    def read(self, position: int, limit: int) -> Chunk:
        start = max(position, self.floor)
        return Chunk(start, self.data[start : start + limit])


def ink(position: int, kind: AuthorKind = "person") -> AuthorSpan:
    return AuthorSpan(position, kind, kind, 1.0)


def shown(log: Log, marks: list[AuthorSpan], limit: int = 1000, *, full_screen: bool = False) -> list[tuple[str, str]]:
    on_disk = cast(LogReader, log)  # it reads like one
    pieces = past(on_disk, log.head, marks, full_screen=full_screen, limit=limit)
    return [(piece.text, piece.ink.kind if piece.ink else "") for piece in pieces]


def test_the_past_is_cut_where_somebody_began_to_type() -> None:
    log = Log(b"$ ls\r\nfile\r\n$ pwd\r\n/\r\n$ ")
    assert shown(log, []) == [("$ ls\r\nfile\r\n$ pwd\r\n/\r\n$ ", "")]
    assert shown(log, [ink(2), ink(14, "agent")]) == [
        ("$ ", ""),
        ("ls\r\nfile\r\n$ ", "person"),
        ("pwd\r\n/\r\n$ ", "agent"),
    ]


def test_a_part_begins_behind_a_line_with_the_author_of_before() -> None:
    log = Log(b"one\r\ntwo\r\nthree\r\n", floor=2)
    assert shown(log, [ink(0, "agent")]) == [("two\r\nthree\r\n", "agent")]
    assert shown(log, [ink(0), ink(10, "agent")], limit=15) == [("two\r\n", "person"), ("three\r\n", "agent")]


def test_a_part_does_not_begin_inside_a_full_screen_program() -> None:
    log = Log(b"$ vi\r\n\x1b[?1049h~\r\n~\r\n~\x1b[?1049l$ ls\r\n")
    assert shown(log, [], limit=20) == [("$ ls\r\n", "")]
    inside = Log(b"$ vi\r\n\x1b[?1049h~\r\n~\r\n~")
    assert "".join(text for text, _ in shown(inside, [], limit=4, full_screen=True)) == ""


@given(st.binary(max_size=60), st.sets(st.integers(0, 70)), st.integers(0, 60), st.integers(1, 80))
def test_no_letter_is_lost_or_doubled_whoever_typed_where(
    data: bytes, positions: set[int], floor: int, limit: int
) -> None:
    data = bytes(letter % 100 + 10 for letter in data)
    log = Log(data, min(floor, len(data)))
    text = "".join(piece for piece, _ in shown(log, [ink(position) for position in sorted(positions)], limit))
    assert data.decode().endswith(text)
    if log.floor == 0 and limit >= len(data):
        assert text == data.decode()
