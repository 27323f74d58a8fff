import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.core.errors import BadArgument
from fourhands.workbench.layout.validation import choice, encodable, percent, plain, shown, whole, words


@pytest.mark.parametrize("value", [0, -1, 2**31, True, 1.0, "1", None, math.inf])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(BadArgument, match="line must be a whole number"):
        whole("line", value)


@pytest.mark.parametrize("value", [0, -5, 100.1, math.nan, math.inf, True, "50", None])
def test_what_is_no_percentage_is_refused(value):
    with pytest.raises(BadArgument, match="width must be a percentage"):
        percent("width", value)


@pytest.mark.parametrize(
    "value", ["", "  ", "a\nb", "a\0", "\x1b[31m", "\x9b", "a\u2028b", "x" * 21, "\ud800", None, 3]
)
def test_what_is_no_line_of_words_is_refused(value):
    with pytest.raises(BadArgument, match="title"):
        words("title", value, 20)


def test_good_values_pass_unchanged():
    assert words("title", "naïve — 終", 20) == "naïve — 終"
    assert (whole("line", 1), percent("width", 100), encodable("text", "a\nb\0")) == (1, 100.0, "a\nb\0")


def test_a_wrong_word_gets_the_accepted_ones_and_the_nearest():
    with pytest.raises(BadArgument, match=r"did you mean 'left'\? side is one of: left, right"):
        choice("side", "Lefd", ["left", "right"])
    with pytest.raises(BadArgument, match="no side None"):
        choice("side", None, ["left", "right"])


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_can_be_made_a_title(text):
    assert words("title", plain(text, 30), 30)


def test_huge_values_are_shown_short():
    assert len(shown("x" * 10**6)) == 80
