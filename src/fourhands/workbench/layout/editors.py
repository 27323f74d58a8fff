"""Open editors, the person's unsaved text in them, and the highlights laid over them.

Values only; `state` owns the tables. Paths are those of the workspace, already made plain by the caller, so that one
file has one path.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from fourhands.core.errors import BadArgument, LimitReached
from fourhands.workbench.layout.colour import colour
from fourhands.workbench.layout.validation import encodable, shown, whole, words


class Editor(Struct, frozen=True, kw_only=True, rename="camel"):
    """One open file. When `reveal` differs from what the page saw last, it scrolls to line and column again."""

    id: str
    path: str
    owner: str
    line: int = 1
    column: int = 1
    reveal: int = 0
    version: str | None = None
    dirty: bool = False


class Draft(Struct, frozen=True, kw_only=True, rename="camel"):
    """Text that a person typed and has not saved, and the version of the file that it started from."""

    path: str
    text: str
    base_version: str | None = None


class Range(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Lines, and columns if it is not whole lines; all count from 1, the ends are included."""

    start_line: int
    end_line: int
    start_column: int | None = None
    end_column: int | None = None


class Highlight(Struct, frozen=True, kw_only=True, rename="camel"):
    """Ranges of one file in one colour (the owner's own, if none is given), until they are cleared."""

    id: str
    path: str
    ranges: tuple[Range, ...]
    owner: str
    color: str | None = None
    label: str | None = None


def check_path(path: object) -> str:
    """Check a path as far as this module can: text, not empty, not endless, no NUL."""
    text = encodable("path", path)
    if not text or len(text) > 4096 or "\0" in text:
        raise BadArgument(f"path {shown(text)} is empty, has a NUL, or is longer than 4096 characters")
    return text


def check_range(value: Range) -> Range:
    """Refuse a range that is not one: below 1, or with its end before its start."""
    start, end = whole("startLine", value.start_line), whole("endLine", value.end_line)
    if end < start:
        raise BadArgument(f"endLine {end} is before startLine {start}", hint="lines count from 1, both ends included")
    first = 1 if value.start_column is None else whole("startColumn", value.start_column)
    if value.end_column is not None and whole("endColumn", value.end_column) < first and start == end:
        raise BadArgument(f"endColumn {value.end_column} is before startColumn {first} in line {start}")
    return value


def make_highlight(
    highlight_id: str,
    path: str,
    ranges: Iterable[Range],
    owner: str,
    color: str | None,
    label: str | None,
    most_ranges: int,
) -> Highlight:
    """Make a highlight out of checked parts."""
    checked = tuple(check_range(value) for value in ranges)
    if not checked:
        raise BadArgument("a highlight needs at least one range", hint='ranges like {"startLine": 1, "endLine": 2}')
    if len(checked) > most_ranges:
        raise LimitReached(f"{len(checked)} ranges in one highlight", hint=f"at most {most_ranges}; use several")
    return Highlight(
        id=words("highlightId", highlight_id, 200),
        path=check_path(path),
        ranges=checked,
        owner=owner,
        color=None if color is None else colour(color),
        label=None if label is None else words("label", label, 200),
    )


def check_editors(editors: Sequence[Editor], drafts: Sequence[Draft], shown_paths: set[str]) -> None:
    """Refuse saved editors that do not belong to the tabs, or drafts that do not belong to the editors."""
    paths = {check_path(editor.path) for editor in editors}
    if len(paths) != len(editors) or paths != shown_paths:
        raise BadArgument("the editors are not those that the panes show")
    if len({editor.id for editor in editors}) != len(editors):
        raise BadArgument("two editors have the same id")
    unsaved = {draft.path for draft in drafts}
    if len(unsaved) != len(drafts) or unsaved != {editor.path for editor in editors if editor.dirty}:
        raise BadArgument("the drafts are not those of the changed editors")
    for editor in editors:
        whole("line", editor.line)
        whole("column", editor.column)
        whole("reveal", editor.reveal, least=0)
