"""Operations on a pane tree: each function takes a layout and returns a new one, or refuses.

Nothing here is changed in place, so the layout before a change is its undo. Room that a closed pane leaves goes to
the neighbour before it, the same one that a pane opened there would have taken it from.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from fourhands.core.errors import BadArgument, LimitReached
from fourhands.workbench.layout.geometry import COMFORT, LEAST, WHOLE, apportion, fit, percentages, tenths
from fourhands.workbench.layout.panes import (
    EVERYWHERE,
    Box,
    Direction,
    Layout,
    Node,
    Pane,
    PaneMatch,
    Side,
    Split,
    Tab,
    find_split,
    inside,
    panes,
)
from fourhands.workbench.layout.validation import percent, shown

NewId: TypeAlias = Callable[[str], str]

TOWARDS: dict[Side, tuple[Direction, bool]] = {
    "left": ("vertical", False),
    "right": ("vertical", True),
    "top": ("horizontal", False),
    "bottom": ("horizontal", True),
}


def add(layout: Layout, tab: Tab, target: Pane | None, side: Side, focus: bool, new_id: NewId) -> Layout:
    """Open a tab in the target pane, behind its front tab (side center), or in a new pane on one side of it.

    Without `focus` neither the pane in use nor a pane's front tab changes.
    """
    if target is None or layout.root is None:
        pane = Pane(id=new_id("pane"), tabs=(tab,), active_tab=tab.id)
        return Layout(root=pane, active_pane=pane.id)
    if side == "center":
        grown = _join(target, (tab,), None, tab.id if focus else target.active_tab)
        root = _swap(layout.root, target.id, grown)
    else:
        grown = Pane(id=new_id("pane"), tabs=(tab,), active_tab=tab.id)
        root = _beside(layout.root, EVERYWHERE, target.id, grown, side, new_id)
    return Layout(root=root, active_pane=grown.id if focus else layout.active_pane)


def remove(layout: Layout, tab_ids: Collection[str]) -> Layout:
    """Close tabs; panes and splits left empty go with them."""
    root, active = layout.root, layout.active_pane
    for pane in tuple(panes(root)):
        kept = tuple(tab for tab in pane.tabs if tab.id not in tab_ids)
        if len(kept) == len(pane.tabs) or root is None:
            continue
        if kept:
            root = _swap(root, pane.id, _without(pane, kept))
            continue
        if pane.id == active:
            active = _neighbour(root, pane.id)
        root = _drop(root, pane.id)
    return Layout(root=root, active_pane=active)


def focus(layout: Layout, place: PaneMatch) -> Layout:
    """Make a pane the one in use and, if a tab is named, bring that to its front."""
    if place.tab is not None:
        layout = _with(layout, replace(place.pane, active_tab=place.tab.id))
    return replace(layout, active_pane=place.pane.id)


def edit_tabs(layout: Layout, pane: Pane, change: Callable[[Tab], Tab]) -> Layout:
    """Replace the tabs of a pane, one by one, by what `change` makes of them."""
    return _with(layout, replace(pane, tabs=tuple(map(change, pane.tabs))))


def move(layout: Layout, place: PaneMatch, target: Pane, side: Side, index: int | None, new_id: NewId) -> Layout:
    """Move a pane, or one tab of it, to a side of the target pane or (center) among its tabs, and use it there."""
    pane, tab = place
    alone = tab is None or len(pane.tabs) == 1
    if pane.id == target.id and alone:
        if side == "center":
            return focus(layout, place)
        raise BadArgument(
            f"pane {pane.id} cannot be moved beside itself", hint="name another pane as target, or one of its tabs"
        )
    root = layout.root
    if tab is None or alone:
        moved, root = pane, root and _drop(root, pane.id)
    else:
        moved = Pane(id=pane.id, tabs=(tab,), active_tab=tab.id)
        rest = _without(pane, tuple(t for t in pane.tabs if t.id != tab.id))
        root = root and _swap(root, pane.id, rest)
        target = rest if target.id == pane.id else target
        if side != "center":
            moved = replace(moved, id=new_id("pane"))
    if root is None:  # a lone pane was answered above
        raise BadArgument(f"pane {target.id} is not in this layout")
    if side == "center":
        moved = _join(target, moved.tabs, index, moved.active_tab)
        root = _swap(root, target.id, moved)
    else:
        root = _beside(root, EVERYWHERE, target.id, moved, side, new_id)
    return Layout(root=root, active_pane=moved.id)


def split_off(layout: Layout, place: PaneMatch, side: Side, new_id: NewId) -> Layout:
    """Move an open tab to where a new pane on that side of the pane in use would have it.

    What has a pane of its own there already, or is all that is open, is only used.
    """
    pane, root = place.pane, layout.root
    alone, target = len(pane.tabs) == 1, layout.active_pane
    if alone and (not isinstance(root, Split) or _lies(root, pane.id, side)):
        return focus(layout, place)
    if alone and target == pane.id and root is not None:
        target = _neighbour(root, pane.id)
    return move(layout, place, next(p for p in panes(root) if p.id == target), side, None, new_id)


def set_sizes(layout: Layout, split_id: str, sizes: Sequence[float]) -> Layout:
    """Resize the children of a split: brought to a sum of 100, none below what its panes need."""
    split, box = find_split(layout, split_id)
    if len(sizes) != len(split.children):
        raise BadArgument(
            f"split {split_id} takes {len(split.children)} sizes, not {shown(sizes)}",
            hint=f"one percentage for each child; now {list(split.sizes)}",
        )
    wanted = [percent("size", size) for size in sizes]
    shares = fit(WHOLE, wanted, _floors(split.children, split.direction, box))
    return _with(layout, replace(split, sizes=percentages(shares)))


def resize(layout: Layout, pane: Pane, width: float | None, height: float | None) -> Layout:
    """Resize a pane to this part of the workbench, as far as its neighbours can give way."""
    if width is None and height is None:
        raise BadArgument("neither width nor height is given", hint="give one or both, in percent of the workbench")
    if width is not None:
        layout = _stretch(layout, pane, "vertical", "width", width)
    if height is not None:
        layout = _stretch(layout, pane, "horizontal", "height", height)
    return layout


def _stretch(layout: Layout, pane: Pane, direction: Direction, word: str, value: float) -> Layout:
    wanted = percent(word, value)
    found = None
    node, box = layout.root, EVERYWHERE
    while isinstance(node, Split):
        at = _index(node, pane.id)
        if node.direction == direction:
            found = (node, at, box)  # the innermost one decides: it has the nearest neighbours
        box = inside(node, box)[at]
        node = node.children[at]
    if found is None:
        across, other = ("wide", "height") if word == "width" else ("high", "width")
        can = "nothing else is open" if isinstance(layout.root, Pane) else f"its {other} may be changed"
        raise BadArgument(
            f"pane {pane.id} is as {across} as the workbench: there is nothing beside it to give or take {word}",
            hint=f"{can}; pane.open with splitDirection {direction} first makes a neighbour",
        )
    split, at, box = found
    floors = _floors(split.children, direction, box)
    if sum(floors) >= WHOLE:
        floors = apportion(WHOLE, floors)
    most = WHOLE - sum(floors) + floors[at]
    share = min(max(round(wanted * 100 * WHOLE / box.along(direction)), floors[at]), most)
    shares = tenths(split.sizes)
    others = fit(WHOLE - share, shares[:at] + shares[at + 1 :], floors[:at] + floors[at + 1 :])
    return _with(layout, replace(split, sizes=percentages([*others[:at], share, *others[at:]])))


def _with(layout: Layout, new: Node) -> Layout:
    """Put a pane or split in the place of the one with its id."""
    return replace(layout, root=layout.root and _swap(layout.root, new.id, new))


def _floors(children: Sequence[Node], direction: Direction, box: Box) -> list[int]:
    """Return the smallest share, in tenths, that leaves every pane inside each child its least size."""
    extent = box.along(direction)
    return [-(-_least(child, direction) * WHOLE // extent) for child in children]


def _least(node: Node, direction: Direction) -> int:
    if isinstance(node, Pane):
        return LEAST
    needs = [_least(child, direction) for child in node.children]
    if node.direction != direction:
        return max(needs)
    return max(-(-need * WHOLE // share) for need, share in zip(needs, tenths(node.sizes), strict=True))


def _index(split: Split, node_id: str) -> int:
    return next(i for i, child in enumerate(split.children) if _has(child, node_id))


def _lies(split: Split, pane_id: str, side: Side) -> bool:
    """Return True if a pane lies on this side of a neighbour in the split that holds it."""
    at = _index(split, pane_id)
    child = split.children[at]
    if isinstance(child, Split):
        return _lies(child, pane_id, side)
    direction, behind = TOWARDS[side]
    return split.direction == direction and (at > 0 if behind else at < len(split.children) - 1)


def _has(node: Node, node_id: str) -> bool:
    return node.id == node_id or (isinstance(node, Split) and any(_has(child, node_id) for child in node.children))


def _swap(node: Node, node_id: str, new: Node) -> Node:
    """Put `new` in the place of one pane or split; all that is not above it is shared with the old tree."""
    if node.id == node_id:
        return new
    if isinstance(node, Pane):
        return node
    for at, child in enumerate(node.children):
        swapped = _swap(child, node_id, new)
        if swapped is not child:
            return replace(node, children=(*node.children[:at], swapped, *node.children[at + 1 :]))
    return node


def _join(pane: Pane, more: tuple[Tab, ...], index: int | None, front: str) -> Pane:
    if index is None:
        index = 1 + next(i for i, tab in enumerate(pane.tabs) if tab.id == pane.active_tab)
    return replace(pane, tabs=(*pane.tabs[:index], *more, *pane.tabs[index:]), active_tab=front)


def _without(pane: Pane, kept: tuple[Tab, ...]) -> Pane:
    """Leave a pane only some of its tabs; if the front one goes, the next one to its right comes forward."""
    ids = [tab.id for tab in kept]
    if pane.active_tab in ids:
        return replace(pane, tabs=kept)
    order = [tab.id for tab in pane.tabs]
    at = order.index(pane.active_tab)
    front = next((tab_id for tab_id in order[at:] if tab_id in ids), ids[-1])
    return replace(pane, tabs=kept, active_tab=front)


def _beside(node: Node, box: Box, target: str, new: Pane, side: Side, new_id: NewId) -> Node:
    """Put a pane on one side of the target: into the split it is in if that has the direction, else into a new one."""
    direction, behind = TOWARDS[side]
    if isinstance(node, Pane):
        if box.along(direction) < 2 * LEAST:
            raise _no_room(target, direction)
        pair = (node, new) if behind else (new, node)
        return Split(id=new_id("split"), direction=direction, sizes=(50.0, 50.0), children=pair)
    at = _index(node, target)
    child = node.children[at]
    if child.id != target or node.direction != direction:
        grown = _beside(child, inside(node, box)[at], target, new, side, new_id)
        return replace(node, children=(*node.children[:at], grown, *node.children[at + 1 :]))
    place = at + behind
    children = (*node.children[:place], new, *node.children[place:])
    shares = tenths(node.sizes)
    half = shares[at] // 2
    if box.along(direction) * half >= COMFORT * WHOLE:
        shares[at] -= half
        shares.insert(place, half)
    else:
        floors = _floors(children, direction, box)
        if sum(floors) > WHOLE:
            raise _no_room(target, direction)
        shares = fit(WHOLE, [1] * len(children), floors)
    return replace(node, sizes=percentages(shares), children=children)


def _no_room(pane: str, direction: Direction) -> LimitReached:
    word = "wide" if direction == "vertical" else "high"
    return LimitReached(
        f"no room to split pane {pane}: a pane is at least {LEAST / 100:g} % of the workbench {word}",
        hint="open it as a tab (no splitDirection), split another pane, or close some",
    )


def _drop(node: Node, pane_id: str) -> Node | None:
    """Take a pane out; a split left with one child gives its place to that child."""
    if isinstance(node, Pane):
        return None if node.id == pane_id else node
    at = _index(node, pane_id)
    shares = tenths(node.sizes)
    left = _drop(node.children[at], pane_id)
    if left is None:
        children = node.children[:at] + node.children[at + 1 :]
        if len(children) == 1:
            return children[0]
        freed = shares.pop(at)
        shares[max(at - 1, 0)] += freed
    elif isinstance(left, Split) and left.direction == node.direction:
        children = (*node.children[:at], *left.children, *node.children[at + 1 :])
        inner = [share * shares[at] for share in tenths(left.sizes)]
        outer = [share * WHOLE for share in shares]
        shares = apportion(WHOLE, [*outer[:at], *inner, *outer[at + 1 :]])
    else:
        children = (*node.children[:at], left, *node.children[at + 1 :])
    return replace(node, sizes=percentages(shares), children=children)


def _neighbour(root: Node, pane_id: str) -> str | None:
    """Name the pane that takes over when one closes: the one that gets its room, or the nearest in it."""
    if isinstance(root, Pane):
        return None
    at = _index(root, pane_id)
    child = root.children[at]
    if isinstance(child, Split):
        return _neighbour(child, pane_id)
    heir = root.children[at - 1] if at else root.children[1]
    inner = [pane.id for pane in panes(heir)]
    return inner[-1] if at else inner[0]
