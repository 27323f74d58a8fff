"""The whole workbench state as one value: what is saved, what a page asks for, and what a change says.

A `StateChange` holds whole new values, never differences, so a page applies it by replacing what it names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.core.event import EventData
from fourhands.workbench.layout.editors import Draft, Editor, Highlight, check_editors, check_path, make_highlight
from fourhands.workbench.layout.panes import Layout, Tab, check_layout, openable, tabs
from fourhands.workbench.layout.validation import LARGEST, encodable, whole, words

FORMAT = 1

ChangeKind = Literal[
    "editor.changed",
    "editor.closed",
    "editor.opened",
    "editor.revealed",
    "editor.saved",
    "highlight.cleared",
    "highlight.set",
    "pane.closed",
    "pane.focused",
    "pane.moved",
    "pane.opened",
    "pane.pinned",
    "pane.resized",
    "pane.retitled",
    "pane.unpinned",
    "session.cleaned",
    "workbench.reverted",
]
"""The kinds of event that are changes of the state."""

_T = TypeVar("_T")


class BadSnapshot(BadArgument):
    """Saved state cannot be used; the caller starts with an empty workbench and keeps the file for a look."""

    code = "bad-snapshot"


@dataclass(frozen=True, slots=True)
class StateLimits:
    """Limits of one workbench; room on the screen usually ends earlier."""

    panes: int = 64
    tabs: int = 256
    highlights: int = 1000
    ranges: int = 1000
    draft_chars: int = 8 << 20
    all_draft_chars: int = 64 << 20


class Snapshot(Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything at one revision."""

    format: int = FORMAT
    rev: int = 0
    layout: Layout = Layout()
    editors: tuple[Editor, ...] = ()
    drafts: tuple[Draft, ...] = ()
    highlights: tuple[Highlight, ...] = ()


class StateChange(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """A change of the state: the whole new values of what differs at this revision; the rest is as it was.

    Unsaved text may be large and is private to the person: only its paths are named.
    """

    rev: int
    kind: ChangeKind
    subject: str
    layout: Layout | None = None
    editors: tuple[Editor, ...] = ()
    closed_editors: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    highlights: tuple[Highlight, ...] = ()
    cleared_highlights: tuple[str, ...] = ()

    def event_kind(self) -> str:
        """Return the kind of change, which is the kind of its event."""
        return self.kind


@dataclass(frozen=True, slots=True)
class StateTables:
    """The state without its revision; the tables are replaced, never changed in place."""

    layout: Layout = field(default_factory=Layout)
    editors: Mapping[str, Editor] = field(default_factory=dict)  # by path
    drafts: Mapping[str, Draft] = field(default_factory=dict)  # by path
    highlights: Mapping[str, Highlight] = field(default_factory=dict)  # by id


@dataclass(frozen=True, slots=True)
class Transition:
    """The outcome of one operation: the id it was about, its change (None: nothing was different), and its undo."""

    id: str
    pane_id: str | None
    change: StateChange | None
    before: StateTables
    after: StateTables

    @property
    def closed(self) -> tuple[Tab, ...]:
        """Return the tabs that are gone; the caller ends the terminals among them."""
        left = {tab.id for _, tab in tabs(self.after.layout.root)}
        return tuple(tab for _, tab in tabs(self.before.layout.root) if tab.id not in left)


def difference(rev: int, kind: ChangeKind, subject: str, before: StateTables, after: StateTables) -> StateChange | None:
    """Return what is different, or None."""
    editors, closed = _compare(before.editors, after.editors)
    highlights, cleared = _compare(before.highlights, after.highlights)
    drafts, dropped = _compare(before.drafts, after.drafts)
    layout = None if before.layout == after.layout else after.layout
    if layout is None and not (editors or closed or highlights or cleared or drafts or dropped):
        return None
    return StateChange(
        rev=rev,
        kind=kind,
        subject=subject,
        layout=layout,
        editors=tuple(editors.values()),
        closed_editors=tuple(closed),
        drafts=(*drafts, *dropped),
        highlights=tuple(highlights.values()),
        cleared_highlights=tuple(cleared),
    )


def pack(rev: int, model: StateTables, drafts: bool = True) -> Snapshot:
    """Make a snapshot; tables are in the order of their keys, so equal states give equal snapshots."""
    return Snapshot(
        rev=rev,
        layout=model.layout,
        editors=tuple(_sorted(model.editors)),
        drafts=tuple(_sorted(model.drafts)) if drafts else (),
        highlights=tuple(_sorted(model.highlights)),
    )


def unpack(saved: Snapshot) -> StateTables:
    """Check a snapshot through and make it the state, or raise `BadSnapshot`."""
    try:
        if saved.format != FORMAT:
            raise BadArgument(f"it has format {saved.format}", hint=f"this version reads format {FORMAT}")
        whole("rev", saved.rev, least=0)
        check_layout(saved.layout)
        shown = [tab for _, tab in tabs(saved.layout.root)]
        for tab in shown:
            openable(tab.type)
            check_path(tab.content)
            words("title", tab.title, 200)
        check_editors(saved.editors, saved.drafts, {tab.content for tab in shown if tab.type == "editor"})
        for draft in saved.drafts:
            encodable("draft", draft.text)
        for mark in saved.highlights:
            make_highlight(mark.id, mark.path, mark.ranges, mark.owner, mark.color, mark.label, LARGEST)
        if len({mark.id for mark in saved.highlights}) != len(saved.highlights):
            raise BadArgument("two highlights have the same id")
    except FourhandsError as error:
        raise BadSnapshot(f"the saved workbench cannot be used: {error.message}", hint=error.hint) from error
    return StateTables(
        layout=saved.layout,
        editors={editor.path: editor for editor in saved.editors},
        drafts={draft.path: draft for draft in saved.drafts},
        highlights={mark.id: mark for mark in saved.highlights},
    )


def encode(snapshot: Snapshot) -> bytes:
    """Turn a snapshot into JSON."""
    return msgspec.json.encode(snapshot)


def decode(data: bytes) -> Snapshot:
    """Read a snapshot from JSON, checked through, or raise `BadSnapshot`."""
    try:
        snapshot = msgspec.json.decode(data, type=Snapshot)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BadSnapshot(f"the saved workbench cannot be read: {error}") from error
    unpack(snapshot)
    return snapshot


def _compare(before: Mapping[str, _T], after: Mapping[str, _T]) -> tuple[dict[str, _T], list[str]]:
    if before is after:
        return {}, []
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return changed, [key for key in before if key not in after]


def _sorted(table: Mapping[str, _T]) -> Iterator[_T]:
    return (table[key] for key in sorted(table))
