import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.core.text import one_line, quote, truncate, truncate_middle

ANY = st.text(st.characters())  # with control characters and halves of surrogate pairs


@pytest.mark.parametrize(
    ("limit", "short"), [(6, "abcdef"), (7, "abcdef"), (5, "abcd…"), (2, "a…"), (1, "…"), (0, ""), (-1, "")]
)
def test_truncated_text_ends_with_an_ellipsis(limit: int, short: str) -> None:
    assert truncate("abcdef", limit) == short


def test_both_ends_of_a_text_stay() -> None:
    assert truncate_middle("0123456789", 10) == "0123456789"
    assert truncate_middle("0123456789", 4) == "01…89"
    assert truncate_middle("0123456789", 5, " … ", head=0.8) == "0123 … 9"
    assert truncate_middle("0123456789", 0, "[10]") == "[10]"
    assert truncate_middle("0123456789", -5, "[10]") == "[10]"


@given(ANY, st.integers(0, 20), st.floats(0, 1))
def test_exactly_the_limit_is_kept_of_a_long_text(text: str, limit: int, head: float) -> None:
    short = truncate_middle(text, limit, "\n", head=head)
    if len(text) <= limit:
        assert short == text
    else:
        assert len(short) == limit + 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("  two\n\twords ", "two words"),
        ("\x1b[31mred\x07", "?[31mred?"),
        ("a\u202eb\ud800", "a?b?"),
        ("12345678901", "123456789…"),
        ("1234567890", "1234567890"),
        ("", ""),
    ],
)
def test_a_text_becomes_one_printable_line(text: str, line: str) -> None:
    assert one_line(text, 10) == line


def test_the_sign_for_what_does_not_print_can_be_chosen() -> None:
    assert one_line("a\0b", 10, unprintable="\N{REPLACEMENT CHARACTER}") == "a\N{REPLACEMENT CHARACTER}b"


@given(ANY, st.integers(1, 30))
def test_one_line_is_printable_and_short_whatever_came(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


def test_a_value_is_quoted_as_python_writes_it() -> None:
    assert quote("it's\n") == '"it\'s\\n"'
    assert quote(7) == "7"


@given(ANY, st.integers(3, 40))
def test_a_quoted_value_is_never_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(quote(text, limit)) <= limit
    assert "\n" not in quote(text, limit)


def test_a_long_value_keeps_both_ends() -> None:
    assert quote("a" * 500 + "b" * 500, 10) == "'aaaaa…bb'"


def test_a_value_that_cannot_be_written_is_named_by_its_type() -> None:
    endless: list[object] = []
    for _ in range(100_000):
        endless = [endless]
    assert quote(endless) == "<list>"
    assert quote(10**10_000) == "<int>"
