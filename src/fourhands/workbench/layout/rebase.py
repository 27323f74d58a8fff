"""Taking one change back when others have happened since.

If nothing has changed, the state before the change comes back exactly. Otherwise only what the change itself did is
taken back, and where that very thing has changed since, it is refused: no later work is lost.
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from fourhands.core.errors import Conflict
from fourhands.workbench.layout.editors import Editor
from fourhands.workbench.layout.operations import add, remove
from fourhands.workbench.layout.panes import Layout, Node, Pane, Split, Tab, find_content, panes, tabs, walk
from fourhands.workbench.layout.snapshot import StateTables

_T = TypeVar("_T")


def revert(now: StateTables, before: StateTables, after: StateTables) -> StateTables:
    """Return the state `now` without what led from `before` to `after`."""
    if now == after:
        return before
    layout = revert_layout(now.layout, before.layout, after.layout)
    shown = {tab.content for _, tab in tabs(layout.root) if tab.type == "editor"}
    for path in now.drafts.keys() - after.drafts.keys() - shown:
        raise Conflict(f"{path} has unsaved text by now", hint="save or discard it first", path=path)
    drafts = _table("unsaved text", now.drafts, before.drafts, after.drafts)
    drafts = {path: draft for path, draft in drafts.items() if path in shown}
    editors = {path: _editor(path, now, before, after) for path in shown}
    return StateTables(
        layout=layout,
        editors={path: replace(editor, dirty=path in drafts) for path, editor in editors.items()},
        drafts=drafts,
        highlights=_table("highlight", now.highlights, before.highlights, after.highlights),
    )


def revert_layout(now: Layout, before: Layout, after: Layout) -> Layout:
    """Return the layout `now` without what led from `before` to `after`."""
    if now == after:
        return before
    if before == after:
        return now
    if _still(now.root) == _still(after.root):  # only the focus moved since: it stays where the person put it
        return _focused(before, now)
    if _still(before.root) == _still(after.root):  # only the focus moved then: it has moved on
        return now
    had, has = _tabs(before), _tabs(after)
    if had.keys() < has.keys():
        return remove(now, has.keys() - had.keys())
    if has.keys() < had.keys():
        return _reopen(now, before, had.keys() - has.keys())
    if _shape(before.root) == _shape(after.root):
        return _edits(now, before, after)
    raise Conflict("the panes have been arranged anew since", hint="move them back by hand")


def _table(kind: str, now: Mapping[str, _T], before: Mapping[str, _T], after: Mapping[str, _T]) -> dict[str, _T]:
    result = dict(now)
    for key in before.keys() | after.keys():
        old, new, current = before.get(key), after.get(key), now.get(key)
        if old == new or current == old:
            continue
        if current != new:
            raise Conflict(f"{kind} {key} has been changed since", key=key)
        if old is None:
            del result[key]
        else:
            result[key] = old
    return result


def _editor(path: str, now: StateTables, before: StateTables, after: StateTables) -> Editor:
    old, new, current = before.editors.get(path), after.editors.get(path), now.editors.get(path)
    if current is None:  # a closed one comes back as it was
        return before.editors[path]
    if old is None or new is None or old == new:
        return current
    if (current.line, current.column) != (new.line, new.column):
        raise Conflict(f"{path} has been scrolled since", path=path)
    version = old.version if current.version == new.version else current.version
    return replace(current, line=old.line, column=old.column, reveal=old.reveal, version=version)


def _tabs(layout: Layout) -> dict[str, Tab]:
    return {tab.id: tab for _, tab in tabs(layout.root)}


def _still(node: Node | None) -> object:
    """Return all of a tree but its front tabs."""
    if isinstance(node, Pane):
        return node.id, node.tabs
    return node and (node.id, node.direction, node.sizes, tuple(map(_still, node.children)))


def _shape(node: Node | None) -> object:
    """Return the arrangement of a tree: neither sizes nor titles, pins and front tabs."""
    if isinstance(node, Pane):
        return node.id, tuple(tab.id for tab in node.tabs)
    return node and (node.id, node.direction, tuple(map(_shape, node.children)))


def _focused(layout: Layout, like: Layout) -> Layout:
    fronts = {pane.active_tab for pane in panes(like.root)}

    def front(node: Node) -> Node:
        if isinstance(node, Split):
            return replace(node, children=tuple(map(front, node.children)))
        return replace(node, active_tab=next((t.id for t in node.tabs if t.id in fronts), node.active_tab))

    root = layout.root and front(layout.root)
    there = {pane.id for pane in panes(root)}
    return Layout(root=root, active_pane=like.active_pane if like.active_pane in there else layout.active_pane)


def _reopen(now: Layout, before: Layout, tab_ids: set[str]) -> Layout:
    """Put tabs back into their panes, or into the one in use where their pane is gone."""
    for home, tab in tabs(before.root):
        if tab.id in tab_ids and find_content(now, tab.type, tab.content) is None:
            there = {pane.id: pane for pane in panes(now.root)}
            target = there.get(home.id) or there.get(now.active_pane or "")
            now = add(now, tab, target, "center", False, {"pane": home.id}.__getitem__)
    return now


def _edits(now: Layout, before: Layout, after: Layout) -> Layout:
    """Take back sizes, titles and pins, each where it is still as the change left it."""
    old = {node.id: node for node, _ in walk(before.root)}
    new = {node.id: node for node, _ in walk(after.root)}
    old_tabs, new_tabs = _tabs(before), _tabs(after)

    def tab_back(tab: Tab) -> Tab:
        was, became = old_tabs.get(tab.id), new_tabs.get(tab.id)
        if was is None or was == became:
            return tab
        if tab != became:
            raise Conflict(f"tab {tab.title!r} has been changed since")
        return was

    def back(node: Node) -> Node:
        if isinstance(node, Pane):
            return replace(node, tabs=tuple(map(tab_back, node.tabs)))
        was, became = old.get(node.id), new.get(node.id)
        sizes = node.sizes
        if isinstance(was, Split) and isinstance(became, Split) and was.sizes != became.sizes:
            if [c.id for c in node.children] != [c.id for c in became.children] or node.sizes != became.sizes:
                raise Conflict(f"split {node.id} has been arranged or resized since")
            sizes = was.sizes
        return replace(node, sizes=sizes, children=tuple(map(back, node.children)))

    return replace(now, root=now.root and back(now.root))
