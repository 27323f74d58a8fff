"""The state and its revision: what can be looked at, and the one way by which it changes.

A change is a whole new `StateTables` put in the place of the old one; the revision rises by one and `on_change` is
called once, after the new state stands. What changes nothing is no change.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from fourhands.core.errors import Ambiguous, Conflict, LimitReached, NotFound
from fourhands.core.ids import new_id as fresh_id
from fourhands.workbench.layout.editors import Draft, Editor, Highlight
from fourhands.workbench.layout.panes import Layout, PaneInfo, Rank, arrangement, find, find_pane, listing, panes, tabs
from fourhands.workbench.layout.rebase import revert
from fourhands.workbench.layout.snapshot import (
    ChangeKind,
    Snapshot,
    StateChange,
    StateLimits,
    StateTables,
    Transition,
    difference,
    pack,
    unpack,
)
from fourhands.workbench.layout.validation import encodable, shown, whole


class Revisioned:
    """The state of one workbench. Raises `BadSnapshot` if what was saved cannot be used."""

    def __init__(
        self,
        on_change: Callable[[StateChange], None] = lambda change: None,
        *,
        saved: Snapshot | None = None,
        limits: StateLimits | None = None,
        new_id: Callable[[str], str] = fresh_id,
    ) -> None:
        self.limits = limits or StateLimits()
        self._on_change = on_change
        self._new_id = new_id
        self._rev = saved.rev if saved else 0
        self._model = unpack(saved) if saved else StateTables()
        self._arranged = self._rev  # the last revision at which panes or sizes changed
        self._held = 0  # places for tabs that are promised and not yet used

    @property
    def rev(self) -> int:
        """Count of changes so far."""
        return self._rev

    @property
    def layout(self) -> Layout:
        """The pane tree as it is now."""
        return self._model.layout

    def snapshot(self, *, drafts: bool = True) -> Snapshot:
        """Return everything as one value; without drafts it is fit to be shown, not to be saved."""
        return pack(self._rev, self._model, drafts)

    def panes(self) -> tuple[PaneInfo, ...]:
        """List the panes: tabs, front tab, and geometry in percent of the workbench."""
        return listing(self.layout)

    def pane(self, name: str) -> PaneInfo:
        """Describe one pane."""
        wanted = find_pane(self.layout, encodable("paneId", name)).id
        return next(info for info in self.panes() if info.id == wanted)

    def locate(self, name: str, rank: Rank) -> str:
        """Return the id of the pane or tab that a name means, where several answer to it by this rank."""
        pane, tab = find(self.layout, encodable("paneId", name), rank)
        return pane.id if tab is None else tab.id

    def editors(self) -> tuple[Editor, ...]:
        """List the open editors."""
        return tuple(self._model.editors.values())

    def editor(self, name: str) -> Editor:
        """Find an open editor by its path, id, or a title that only one has."""
        known = self._model.editors
        name = encodable("path", name)
        if name in known:
            return known[name]
        found = [e for e in known.values() if name in (e.id, PurePosixPath(e.path).name)]
        if len(found) == 1:
            return found[0]
        if found:
            paths = sorted(editor.path for editor in found)
            raise Ambiguous(f"{name!r} names {len(found)} editors", hint=f"use one of: {', '.join(paths[:20])}")
        raise NotFound.of("open editor", name if len(name) <= 200 else shown(name), known)

    def draft(self, path: str) -> Draft | None:
        """Return the unsaved text of a file, if there is any."""
        return self._model.drafts.get(path)

    def highlights(self, path: str | None = None) -> tuple[Highlight, ...]:
        """List the highlights, of one file or all."""
        return tuple(mark for mark in self._model.highlights.values() if path in (None, mark.path))

    def undo(self, step: Transition) -> Transition:
        """Take one step back, keeping what happened since, or raise `Conflict`; undoing the answer is redo."""
        return self._put("workbench.reverted", step.id, step.pane_id, revert(self._model, step.before, step.after))

    def _fresh(self, base_rev: int | None) -> None:
        if base_rev is None:
            return
        whole("baseRev", base_rev, least=0)
        if not self._arranged <= base_rev <= self._rev:
            raise Conflict(
                f"the panes have changed since revision {base_rev}: they are of revision {self._arranged}",
                hint="look at the layout again, then repeat",
                rev=self._rev,
            )

    @contextlib.contextmanager
    def holding(self) -> Iterator[Callable[[], None]]:
        """Hold a place for one tab; what is given back, and called right before the tab is opened, frees it.

        Call it before starting something that a tab will show: afterwards it would run unseen.
        """
        self._room(more_tabs=1)
        held = True
        self._held += 1

        def free() -> None:
            nonlocal held
            if held:
                held = False
                self._held -= 1

        try:
            yield free
        finally:
            free()

    def has_room_for_a_pane(self) -> bool:
        """Return True if one more pane may be opened."""
        return len(list(panes(self.layout.root))) < self.limits.panes

    def _room(self, more_panes: int = 0, more_tabs: int = 0) -> None:
        all_panes, all_tabs = len(list(panes(self.layout.root))), len(list(tabs(self.layout.root)))
        if all_panes + more_panes > self.limits.panes or all_tabs + self._held + more_tabs > self.limits.tabs:
            raise LimitReached(
                f"{all_panes} panes and {all_tabs} tabs are open",
                hint=f"at most {self.limits.panes} panes and {self.limits.tabs} tabs: close some first",
            )

    def _commit(
        self,
        kind: ChangeKind,
        subject: str,
        *,
        pane_id: str | None = None,
        layout: Layout | None = None,
        editors: dict[str, Editor] | None = None,
        drafts: dict[str, Draft] | None = None,
        highlights: dict[str, Highlight] | None = None,
    ) -> Transition:
        now = self._model
        after = StateTables(
            layout=now.layout if layout is None else layout,
            editors=now.editors if editors is None else editors,
            drafts=now.drafts if drafts is None else drafts,
            highlights=now.highlights if highlights is None else highlights,
        )
        return self._put(kind, subject, pane_id, after)

    def _put(self, kind: ChangeKind, subject: str, pane_id: str | None, after: StateTables) -> Transition:
        before = self._model
        change = difference(self._rev + 1, kind, subject, before, after)
        if change is None:
            return Transition(id=subject, pane_id=pane_id, change=None, before=before, after=before)
        self._model, self._rev = after, change.rev
        if change.layout is not None and arrangement(before.layout.root) != arrangement(after.layout.root):
            self._arranged = change.rev
        self._on_change(change)
        return Transition(id=subject, pane_id=pane_id, change=change, before=before, after=after)
