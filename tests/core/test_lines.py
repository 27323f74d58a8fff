import itertools
import tracemalloc
from typing import AnyStr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.core.lines import LineSplitter, Overlong


def lines_of(pieces: list[AnyStr], limit: int, ends: int = 4) -> list[AnyStr | Overlong[AnyStr]]:
    splitter: LineSplitter[AnyStr] = LineSplitter(limit, ends=ends)
    lines: list[AnyStr | Overlong[AnyStr]] = []
    for piece in pieces:
        lines += splitter.feed(piece)
    if (last := splitter.close()) is not None:
        lines.append(last)
    return lines


def cut(data: AnyStr, places: list[int]) -> list[AnyStr]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def test_lines_come_without_their_newlines_and_the_last_one_with_the_end_of_the_stream() -> None:
    splitter: LineSplitter[bytes] = LineSplitter(100)
    assert splitter.feed(b"one\n\ntwo\r\nthr") == [b"one", b"", b"two\r"]
    assert splitter.unfinished == 3
    assert splitter.feed(b"") == []
    assert splitter.feed(b"ee") == []
    assert splitter.close() == b"three"
    assert splitter.close() is None
    assert splitter.unfinished == 0


def test_text_is_split_at_newlines_only() -> None:
    splitter: LineSplitter[str] = LineSplitter(100)
    assert splitter.feed("a\u2028b\x85c\rd\x0c\ne") == ["a\u2028b\x85c\rd\x0c"]
    assert splitter.close() == "e"


def test_a_line_of_the_limit_is_kept_and_one_beyond_it_is_reported() -> None:
    assert lines_of([b"12345678\n123456789\nok\n"], 8) == [b"12345678", Overlong(9, b"1234", b"6789"), b"ok"]


def test_an_overlong_line_that_never_ends_is_reported_at_the_end_of_the_stream() -> None:
    assert lines_of(["abc", "def", "ghi"], 5) == [Overlong(9, "abcd", "fghi")]


def test_an_overlong_line_takes_no_memory_beyond_its_ends() -> None:
    splitter: LineSplitter[bytes] = LineSplitter(1 << 16)
    piece = b"x" * (1 << 16)
    tracemalloc.start()
    try:
        for _ in range(500):
            splitter.feed(piece)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert splitter.unfinished == 500 << 16


@pytest.mark.parametrize("kind", ["text", "bytes"])
@given(text=st.text(st.sampled_from("ab\n\r\u2028é")), places=st.lists(st.integers(0, 500)), limit=st.integers(0, 12))
def test_any_cut_of_a_stream_gives_the_same_lines(kind: str, text: str, places: list[int], limit: int) -> None:
    if kind == "text":
        whole, pieces = lines_of([text], limit), lines_of(cut(text, places), limit)
        assert pieces == whole
        parts = text.split("\n")
        expected = parts if parts[-1] else parts[:-1]
        assert whole == [part if len(part) <= limit else Overlong(len(part), part[:4], part[-4:]) for part in expected]
    else:
        data = text.encode()
        assert lines_of(cut(data, places), limit) == lines_of([data], limit)
