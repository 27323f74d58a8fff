"""The left edge of markdown lines: which quotations and list items are open, and which lines are indented code.

A line that is indented by four columns or more is code where no paragraph can go on in it: behind a blank line, at the
start, behind another such line, or where a quotation or a list item has just begun. It is counted from where the
content of the innermost list item or quotation begins. `Margin` is told what stands in the head of each line, in order
and by column; it never sees the text.
"""

from bisect import bisect_left, bisect_right

CODE_INDENT = 4
MOST_ITEMS = 100  # nested list items that are followed; deeper ones are as if they were not there

# What a line is. Plain numbers, because they are compared for every line.
_BLANK = 0
_TEXT = 1
_CODE = 2
_FENCE = 3


class Margin:
    """Follows the containers of one text, line by line."""

    __slots__ = (
        "_before",
        "_before_depth",
        "_depth",
        "_fixed",
        "_from",
        "_items",
        "_kind",
        "_lazy",
        "_mark",
        "_opened",
    )

    _mark: int

    def __init__(self) -> None:
        self._items: list[tuple[int, int]] = []  # of each open item: the quotations around it, where its content begins
        self._before = _BLANK
        self._before_depth = 0  # quotations around the line before, or around the paragraph that it went on with
        self._begin()

    @property
    def code(self) -> bool:
        """True if this line is indented code."""
        return self._kind == _CODE

    @property
    def text_line(self) -> bool:
        """True if this line is one of text, so that a next one that begins with a letter changes nothing."""
        return self._kind == _TEXT

    def quote(self, column: int) -> None:
        """Take a quotation mark in the head of the line."""
        if not self._fits(column):
            return
        if self._mark >= 0:
            self._push(column)
        else:
            matched = bisect_right(self._items, (self._depth, column))
            if matched < len(self._items) and self._items[matched][0] == self._depth:
                del self._items[matched:]
                self._opened = True
        self._depth += 1
        self._from = column + 2  # one blank behind the mark belongs to it

    def mark(self, column: int, end: int, *, interrupts: bool) -> None:
        """Take a list mark in the head, followed by a blank; only some list marks may interrupt a paragraph."""
        if not self._fits(column):
            return
        if self._mark >= 0:
            self._push(column)
        else:
            whole = bisect_right(self._items, (self._depth, column)) == len(self._items)
            goes_on = whole and not self._opened and self._depth == self._before_depth and self._before == _TEXT
            if goes_on and not interrupts:
                self._fix(column)
                return
            self._drop(column)
        self._mark = self._from = end + 1
        self._opened = True

    def text(self, column: int) -> bool:
        """End the head of the line, at the first other character. Return True if the line is indented code."""
        if not self._fixed:
            self._fix(column)
        return self._kind == _CODE

    def fence(self) -> None:
        """Note that the line opens a fence, after which no paragraph continues."""
        self._kind = _FENCE

    def end(self) -> None:
        """End the line, and begin the next."""
        if self._kind == _BLANK:
            if self._mark >= 0:
                self._push(self._mark)
            else:
                del self._items[bisect_left(self._items, (self._depth + 1, 0)) :]
        self._before = self._kind
        if not self._lazy:
            self._before_depth = self._depth
        self._begin()

    def skip(self, *, blank: bool) -> None:
        """Lines were taken out of the text, and a new one begins; say whether the last of them was blank."""
        self._begin()
        self._kind = _BLANK if blank else _TEXT
        self.end()

    def _begin(self) -> None:
        self._kind = _BLANK
        self._depth = 0
        self._from = 0  # the column from which indentation counts, as far as this line's own marks say
        self._mark = -1  # where the content of a list mark begins at the earliest, until it is known where it does
        self._fixed = False  # no further container begins in this line
        self._lazy = False
        self._opened = False  # a container begins in this line, that is known

    def _is_opened(self) -> bool:
        return self._opened or self._depth > self._before_depth

    def _indent(self, column: int) -> int:
        matched = bisect_right(self._items, (self._depth, column))
        base = self._from
        if matched and self._items[matched - 1][0] == self._depth:
            base = max(base, self._items[matched - 1][1])
        return column - base

    def _fits(self, column: int) -> bool:
        """Return True if a container may begin here; what is indented too far for one is text or code."""
        if not self._fixed and self._indent(column) >= CODE_INDENT:
            self._fix(column)
        return not self._fixed

    def _fix(self, column: int) -> None:
        """Take the content that stands here: close the items that it is outside of, and find its kind."""
        self._fixed = True
        far = self._indent(column) >= CODE_INDENT
        if self._mark >= 0:
            self._kind = _CODE if far else _TEXT
            self._push(self._mark if far else column)
            return
        opened = self._is_opened()
        if far and (opened or self._before in (_BLANK, _CODE)):
            self._kind = _CODE
        else:
            self._kind = _TEXT
            if self._before == _TEXT and not opened:
                self._lazy = True  # the paragraph goes on, wherever its next line begins
                return
        self._drop(column)

    def _drop(self, column: int) -> None:
        del self._items[bisect_right(self._items, (self._depth, column)) :]

    def _push(self, column: int) -> None:
        self._mark = -1
        if len(self._items) < MOST_ITEMS:
            self._items.append((self._depth, column))
