import pytest

from fourhands.core.errors import BadArgument, LimitReached
from fourhands.workbench.layout.editors import Range, check_path, check_range, make_highlight


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "\udc80", None, 7])
def test_a_path_that_cannot_be_one_is_refused(path):
    with pytest.raises(BadArgument, match="path"):
        check_path(path)


@pytest.mark.parametrize(
    ("numbers", "blamed"),
    [
        ((0, 1, None, None), "startLine"),
        ((1, -1, None, None), "endLine"),
        ((5, 4, None, None), "endLine 4 is before startLine 5"),
        ((1, 1, 0, None), "startColumn"),
        ((1, 2, None, 0), "endColumn"),
        ((3, 3, 9, 8), "endColumn 8 is before startColumn 9"),
        ((True, 1, None, None), "startLine"),
        ((1, 2**40, None, None), "endLine"),
    ],
)
def test_a_range_that_is_none_is_refused_by_name(numbers, blamed):
    start, end, first, last = numbers
    with pytest.raises(BadArgument, match=blamed):
        check_range(Range(start_line=start, end_line=end, start_column=first, end_column=last))


def test_columns_of_different_lines_are_not_compared():
    value = Range(start_line=1, end_line=2, start_column=50, end_column=3)
    assert check_range(value) is value


def test_a_highlight_needs_ranges_but_not_too_many():
    with pytest.raises(BadArgument, match="at least one range"):
        make_highlight("h", "a.py", [], "agent", None, None, 10)
    with pytest.raises(LimitReached, match="11 ranges"):
        make_highlight("h", "a.py", [Range(start_line=1, end_line=1)] * 11, "agent", None, None, 10)


@pytest.mark.parametrize(("name", "color", "label"), [("", None, None), ("h", "blueish!", None), ("h", None, "a\nb")])
def test_a_highlight_with_a_bad_part_is_refused(name, color, label):
    with pytest.raises(BadArgument):
        make_highlight(name, "a.py", [Range(start_line=1, end_line=1)], "agent", color, label, 10)
