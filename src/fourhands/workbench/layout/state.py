"""The one owner of the workbench state: panes, editors, unsaved text and highlights, with one revision.

Pure and synchronous. Every operation either raises and changes nothing, or makes at most one change: the revision rises
by one and `on_change` is called once, after the new state stands. The `Transition` it gives back is enough to undo it.
Names of panes and tabs are ids, contents or titles alike. Who is asking is the caller's to judge.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from msgspec.structs import replace

from fourhands.core.errors import Conflict, LimitReached, NotFound
from fourhands.workbench.layout import operations as tree
from fourhands.workbench.layout.editors import Draft, Editor, Highlight, Range, check_path, make_highlight
from fourhands.workbench.layout.panes import (
    Direction,
    Layout,
    Pane,
    PaneMatch,
    Side,
    Tab,
    find,
    find_content,
    find_pane,
    openable,
    panes,
    tabs,
)
from fourhands.workbench.layout.revisioned import Revisioned
from fourhands.workbench.layout.snapshot import ChangeKind, Transition
from fourhands.workbench.layout.validation import choice, encodable, plain, shown, whole, words

SPLITS: dict[str, Side] = {"vertical": "right", "horizontal": "bottom"}
SIDES: tuple[Side, ...] = ("left", "right", "top", "bottom", "center")


@dataclass(frozen=True, slots=True)
class Removed:
    """The end of a session: what it removed; `kept` are the paths of editors with a person's unsaved text."""

    step: Transition
    terminals: tuple[str, ...]
    editors: tuple[str, ...]
    highlights: tuple[str, ...]
    kept: tuple[str, ...]


class WorkbenchState(Revisioned):
    """The state of one workbench, and all that can be done to it."""

    # Panes

    def open(
        self,
        type: str,
        content: str,
        *,
        owner: str,
        split_direction: Direction | None = None,
        title: str | None = None,
        beside: str | None = None,
        focus: bool = True,
    ) -> Transition:
        """Show a file or terminal: as a tab beside the front one, or in a new pane to the right (vertical) or below.

        What is already open is only brought forward or, if it is to be split, moved to where a new one would be; if it
        is there already, or all that is open, nothing moves. `beside` names another pane than the one in use. Without
        `focus` it opens in the background and nothing moves that a person may be looking at.
        """
        if openable(type) == "editor":
            return self.open_editor(
                content, owner=owner, split_direction=split_direction, beside=beside, title=title, focus=focus
            )
        layout, pane = self._shown("terminal", content, owner, split_direction, title, beside, focus)
        moved = split_direction is not None and find_content(self.layout, type, content) is not None
        kind: ChangeKind = "pane.moved" if moved else "pane.opened"
        return self._commit(kind, pane, pane_id=pane, layout=layout)

    def close(self, name: str, *, discard: bool = False) -> Transition:
        """Close a pane with all its tabs, or one tab if that is what the name means.

        Unsaved text is in the way unless `discard` says that it may go.
        """
        place = self._find(name)
        gone = place.pane.tabs if place.tab is None else (place.tab,)
        return self._close("pane.closed", place.pane.id, place.pane, gone, discard)

    def focus(self, name: str) -> Transition:
        """Make a pane the one in use; a tab's name brings the tab forward too."""
        place = self._find(name)
        layout = tree.focus(self.layout, place)
        return self._commit("pane.focused", place.pane.id, pane_id=place.pane.id, layout=layout)

    def resize(self, name: str, width: float | None = None, height: float | None = None) -> Transition:
        """Resize a pane to this part of the workbench in percent, as far as its neighbours can give way."""
        pane = find_pane(self.layout, encodable("paneId", name))
        layout = tree.resize(self.layout, pane, width, height)
        return self._commit("pane.resized", pane.id, pane_id=pane.id, layout=layout)

    def set_sizes(self, split: str, sizes: Sequence[float], base_rev: int | None = None) -> Transition:
        """Resize a split's children, as a drag of its sash ends; refused if the panes have changed since `base_rev`."""
        self._fresh(base_rev)
        return self._commit("pane.resized", split, layout=tree.set_sizes(self.layout, split, sizes))

    def move(
        self,
        name: str,
        target: str,
        side: Side,
        base_rev: int | None = None,
        *,
        index: int | None = None,
        focus: bool = True,
    ) -> Transition:
        """Move a pane or tab to a side of another pane, or among its tabs (center, at `index` if given)."""
        self._fresh(base_rev)
        choice("side", side, SIDES)
        if index is not None:
            whole("index", index, least=0)
        place = self._find(name)
        goal = find_pane(self.layout, encodable("target", target))
        if side != "center" and place.tab is not None and len(place.pane.tabs) > 1:
            self._room(more_panes=1)
        layout = tree.move(self.layout, place, goal, side, index, self._new_id)
        moved = layout.active_pane or goal.id
        if not focus and any(pane.id == self.layout.active_pane for pane in panes(layout.root)):
            layout = replace(layout, active_pane=self.layout.active_pane)
        return self._commit("pane.moved", moved, pane_id=moved, layout=layout)

    def pin(self, name: str, pinned: bool = True) -> Transition:
        """Keep a tab, or all tabs of a pane, when the session that opened it ends; or no longer."""
        kind: ChangeKind = "pane.pinned" if pinned else "pane.unpinned"
        return self._edit_tabs(kind, self._find(name), lambda tab: replace(tab, pinned=pinned))

    def retitle(self, name: str, title: str) -> Transition:
        """Rename a tab."""
        place, title = self._find(name), words("title", title, 200)
        if place.tab is None:
            place = PaneMatch(place.pane, next(t for t in place.pane.tabs if t.id == place.pane.active_tab))
        return self._edit_tabs("pane.retitled", place, lambda tab: replace(tab, title=title))

    # Editors

    def open_editor(
        self,
        path: str,
        *,
        owner: str,
        line: int | None = None,
        column: int | None = None,
        version: str | None = None,
        split_direction: Direction | None = None,
        title: str | None = None,
        beside: str | None = None,
        above: bool = False,
        focus: bool = True,
    ) -> Transition:
        """Open a file, or bring it forward if it is open; a line or column is scrolled to.

        `above` opens it in a new pane over the one that it would else share.
        """
        path, version = check_path(path), _version(version)
        line = line if line is None else whole("line", line)
        column = column if column is None else whole("column", column)
        layout, pane = self._shown("editor", path, owner, split_direction, title, beside, focus, above=above)
        editor = self._model.editors.get(path)
        if editor is None:
            editor = Editor(id=self._new_id("editor"), path=path, owner=owner, version=version)
        elif version is not None:
            editor = replace(editor, version=version)
        if line is not None or column is not None:
            editor = replace(editor, line=line or editor.line, column=column or 1, reveal=editor.reveal + 1)
        editors = {**self._model.editors, path: editor}
        return self._commit("editor.opened", editor.id, pane_id=pane, layout=layout, editors=editors)

    def reveal(self, path: str, line: int, column: int | None = None, *, focus: bool = False) -> Transition:
        """Scroll an open editor to a line, once more even if it was the same."""
        editor = self.editor(path)
        line, column = whole("line", line), whole("column", 1 if column is None else column)
        place = find_content(self.layout, "editor", editor.path)
        editor = replace(editor, line=line, column=column, reveal=editor.reveal + 1)
        return self._commit(
            "editor.revealed",
            editor.id,
            pane_id=place.pane.id if place else None,
            layout=tree.focus(self.layout, place) if focus and place else None,
            editors={**self._model.editors, editor.path: editor},
        )

    def close_editor(self, path: str, *, discard: bool = False) -> Transition:
        """Close a file; its unsaved text is in the way unless `discard` says that it may go."""
        editor = self.editor(path)
        place = find_content(self.layout, "editor", editor.path)
        pane, tab = place or (None, None)
        return self._close("editor.closed", editor.id, pane, (tab,) if tab else (), discard)

    def set_version(self, path: str, version: str | None) -> Transition:
        """Record that a file has another version now; unsaved text stays with the version it started from."""
        editor = self.editor(path)
        return self._set_editor("editor.changed", replace(editor, version=_version(version)), self.draft(editor.path))

    def set_draft(self, path: str, text: str, base_version: str | None) -> Transition:
        """Hold a person's unsaved text, whatever has become of the file meanwhile."""
        editor = self.editor(path)
        text = encodable("text", text)
        others = sum(len(draft.text) for key, draft in self._model.drafts.items() if key != editor.path)
        if len(text) > self.limits.draft_chars or others + len(text) > self.limits.all_draft_chars:
            raise LimitReached(
                f"{len(text)} characters of unsaved text in {editor.path} are too many",
                hint=f"at most {self.limits.draft_chars} in one file, {self.limits.all_draft_chars} in all: save first",
            )
        draft = Draft(path=editor.path, text=text, base_version=_version(base_version))
        return self._set_editor("editor.changed", replace(editor, dirty=True), draft)

    def saved(self, path: str, version: str | None) -> Transition:
        """Record that the text is in the file now, which has this version; or, after a discard, was given up."""
        return self._set_editor(
            "editor.saved", replace(self.editor(path), dirty=False, version=_version(version)), None
        )

    # Highlights

    def highlight(
        self,
        path: str,
        ranges: Iterable[Range],
        *,
        owner: str,
        highlight_id: str | None = None,
        color: str | None = None,
        label: str | None = None,
    ) -> Transition:
        """Lay a highlight over a file; one with the same id is replaced."""
        name = self._new_id("highlight") if highlight_id is None else highlight_id
        mark = make_highlight(name, path, ranges, words("owner", owner, 200), color, label, self.limits.ranges)
        marks = {**self._model.highlights, mark.id: mark}
        if len(marks) > self.limits.highlights:
            raise LimitReached(f"there are {len(marks) - 1} highlights", hint="clear some first")
        return self._commit("highlight.set", mark.id, highlights=marks)

    def clear_highlight(self, highlight_id: str) -> Transition:
        """Take one highlight away."""
        name = encodable("highlightId", highlight_id)
        if name not in self._model.highlights:
            raise NotFound.of("highlight", name if len(name) <= 200 else shown(name), self._model.highlights)
        return self._clear(name, lambda mark: mark.id == name)

    def clear_highlights(self, owner: str | None = None, path: str | None = None) -> Transition:
        """Take away all highlights: everyone's or one owner's, everywhere or in one file."""
        return self._clear(owner or "all", lambda mark: owner in (None, mark.owner) and path in (None, mark.path))

    def escape(self, owner: str) -> Transition:
        """Do what the Escape key does: clear one's own highlights, or everyone's if there are none of one's own."""
        mine = any(mark.owner == owner for mark in self._model.highlights.values())
        return self.clear_highlights(owner if mine else None)

    # Sessions

    def end_session(self, owner: str) -> Removed:
        """Take away what a session made and no one pinned; a person's unsaved text is never taken."""
        theirs = [tab for _, tab in tabs(self.layout.root) if tab.owner == owner and not tab.pinned]
        gone = [tab for tab in theirs if not (tab.type == "editor" and tab.content in self._model.drafts)]
        closed = {tab.content for tab in gone if tab.type == "editor"}
        marks = {key: mark for key, mark in self._model.highlights.items() if mark.owner != owner}
        step = self._commit(
            "session.cleaned",
            owner,
            layout=tree.remove(self.layout, {tab.id for tab in gone}),
            editors={path: editor for path, editor in self._model.editors.items() if path not in closed},
            highlights=marks,
        )
        return Removed(
            step=step,
            terminals=tuple(tab.content for tab in gone if tab.type == "terminal"),
            editors=tuple(sorted(closed)),
            highlights=tuple(key for key in step.before.highlights if key not in marks),
            kept=tuple(tab.content for tab in theirs if tab not in gone),
        )

    # Inside

    def _find(self, name: str) -> PaneMatch:
        return find(self.layout, encodable("paneId", name))

    def _shown(
        self,
        kind: str,
        content: str,
        owner: str,
        direction: str | None,
        title: str | None,
        beside: str | None,
        focus: bool,
        *,
        above: bool = False,
    ) -> tuple[Layout, str]:
        """Return the layout in which this is open, and the id of its pane."""
        content = check_path(content)
        if direction is not None:
            choice("splitDirection", direction, SPLITS)
        name = words("title", title, 200) if title is not None else None
        place = find_content(self.layout, kind, content)
        if place is not None and place.tab is not None and direction is not None:
            self._room(more_panes=int(len(place.pane.tabs) > 1))
            layout = tree.split_off(self.layout, place, SPLITS[direction], self._new_id)
            return layout, find(layout, place.tab.id).pane.id
        if place is not None:
            return (tree.focus(self.layout, place) if focus else self.layout), place.pane.id
        self._room(more_panes=int(above or direction is not None or self.layout.root is None), more_tabs=1)
        target = self.layout.active_pane if beside is None else encodable("beside", beside)
        tab = Tab(
            id=self._new_id("tab"),
            type=openable(kind),
            content=content,
            title=name or plain(PurePosixPath(content).name or content, 200),
            owner=words("owner", owner, 200),
        )
        layout = tree.add(
            self.layout,
            tab,
            None if target is None else find_pane(self.layout, target),
            "top" if above else "center" if direction is None else SPLITS[direction],
            focus,
            self._new_id,
        )
        return layout, find(layout, tab.id).pane.id

    def _close(
        self, kind: ChangeKind, subject: str, pane: Pane | None, gone: tuple[Tab, ...], discard: bool
    ) -> Transition:
        paths = {tab.content for tab in gone if tab.type == "editor"}
        unsaved = sorted(paths & self._model.drafts.keys())
        if unsaved and not discard:
            raise Conflict(
                f"{', '.join(unsaved[:5])} {'has' if len(unsaved) == 1 else 'have'} unsaved text",
                hint="it is saved or discarded first, which is for the person to do",
                paths=unsaved,
            )
        return self._commit(
            kind,
            subject,
            pane_id=pane.id if pane else None,
            layout=tree.remove(self.layout, {tab.id for tab in gone}),
            editors={path: editor for path, editor in self._model.editors.items() if path not in paths},
            drafts={path: draft for path, draft in self._model.drafts.items() if path not in paths},
        )

    def _edit_tabs(self, kind: ChangeKind, place: PaneMatch, change: Callable[[Tab], Tab]) -> Transition:
        def edit(tab: Tab) -> Tab:
            return change(tab) if place.tab in (None, tab) else tab

        layout = tree.edit_tabs(self.layout, place.pane, edit)
        return self._commit(kind, place.pane.id, pane_id=place.pane.id, layout=layout)

    def _set_editor(self, kind: ChangeKind, editor: Editor, draft: Draft | None) -> Transition:
        drafts = {path: kept for path, kept in self._model.drafts.items() if path != editor.path}
        if draft is not None:
            drafts[editor.path] = draft
        return self._commit(kind, editor.id, editors={**self._model.editors, editor.path: editor}, drafts=drafts)

    def _clear(self, subject: str, gone: Callable[[Highlight], bool]) -> Transition:
        kept = {key: mark for key, mark in self._model.highlights.items() if not gone(mark)}
        return self._commit("highlight.cleared", subject, highlights=kept)


def _version(value: str | None) -> str | None:
    return None if value is None else words("version", value, 200)
