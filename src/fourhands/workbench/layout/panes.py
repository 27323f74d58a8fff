"""The pane tree: tabs in panes, panes in splits, and where each one lies.

All are frozen values; `layout` makes new trees out of old ones. A valid tree has no empty pane, no split with
fewer than two children, no split directly inside one of the same direction, and sizes that sum to exactly 100.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from msgspec import Struct

from fourhands.core.errors import BadArgument, NotFound, Unsupported
from fourhands.core.ids import is_id
from fourhands.workbench.layout.geometry import AREA, WHOLE, cut, tenths
from fourhands.workbench.layout.validation import choice, shown

PaneType: TypeAlias = Literal["editor", "terminal", "presentation", "whiteboard"]
Direction: TypeAlias = Literal["vertical", "horizontal"]
Side: TypeAlias = Literal["left", "right", "top", "bottom", "center"]

LATER = ("presentation", "whiteboard")
DEEPEST = 64  # room ends long before; saved trees of unknown origin must not exhaust the stack


class Tab(Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing shown in a pane: a file by its path, a terminal by its id."""

    id: str
    type: PaneType
    content: str
    title: str
    owner: str
    pinned: bool = False


class Pane(Struct, frozen=True, kw_only=True, rename="camel", tag="pane", tag_field="kind"):
    """A place with tabs, one of them in front."""

    id: str
    tabs: tuple[Tab, ...]
    active_tab: str


class Split(Struct, frozen=True, kw_only=True, rename="camel", tag="split", tag_field="kind"):
    """Panes beside each other (vertical) or one below the other (horizontal), with their sizes in percent."""

    id: str
    direction: Direction
    sizes: tuple[float, ...]
    children: tuple["Pane | Split", ...]


Node: TypeAlias = Pane | Split


class Layout(Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole tree and the pane in use; both are absent when nothing is open."""

    root: Node | None = None
    active_pane: str | None = None


class Geometry(Struct, frozen=True, kw_only=True):
    """A rectangle in percent of the workbench area."""

    x: float
    y: float
    width: float
    height: float


class PaneInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A pane as it is listed; type, content and title are those of the tab in front."""

    id: str
    type: PaneType
    content: str
    title: str
    tabs: tuple[Tab, ...]
    active_tab: str
    active: bool
    geometry: Geometry


class Box(NamedTuple):
    """A rectangle by its edges, in whole hundredths of a percent."""

    left: int
    top: int
    right: int
    bottom: int

    def along(self, direction: Direction) -> int:
        """Return the length that a split of this direction divides."""
        return self.right - self.left if direction == "vertical" else self.bottom - self.top


Rank: TypeAlias = Callable[[Tab], tuple[bool, ...]]
"""Ranks the tabs that answer to a name; the greatest is meant."""


class PaneMatch(NamedTuple):
    """The match of a name: a tab and its pane, or a pane as a whole."""

    pane: Pane
    tab: Tab | None


EVERYWHERE = Box(0, 0, AREA, AREA)


def walk(node: Node | None, box: Box = EVERYWHERE) -> Iterator[tuple[Node, Box]]:
    """Yield every split and pane with its rectangle, parents first, in reading order."""
    if node is None:
        return
    yield node, box
    if isinstance(node, Split):
        for child, inner in zip(node.children, inside(node, box), strict=True):
            yield from walk(child, inner)


def inside(split: Split, box: Box) -> list[Box]:
    """Return the rectangles of a split's children."""
    if split.direction == "vertical":
        return [box._replace(left=a, right=b) for a, b in cut(box.left, box.right, split.sizes)]
    return [box._replace(top=a, bottom=b) for a, b in cut(box.top, box.bottom, split.sizes)]


def panes(node: Node | None) -> Iterator[Pane]:
    """Yield every pane in reading order."""
    if isinstance(node, Pane):
        yield node
    elif node is not None:
        for child in node.children:
            yield from panes(child)


def tabs(node: Node | None) -> Iterator[tuple[Pane, Tab]]:
    """Yield every tab with its pane in reading order."""
    for pane in panes(node):
        for tab in pane.tabs:
            yield pane, tab


def listing(layout: Layout) -> tuple[PaneInfo, ...]:
    """List the panes with their tabs and geometry."""
    found = []
    for node, box in walk(layout.root):
        if isinstance(node, Pane):
            front = next(tab for tab in node.tabs if tab.id == node.active_tab)
            found.append(
                PaneInfo(
                    id=node.id,
                    type=front.type,
                    content=front.content,
                    title=front.title,
                    tabs=node.tabs,
                    active_tab=node.active_tab,
                    active=node.id == layout.active_pane,
                    geometry=Geometry(
                        x=box.left / 100,
                        y=box.top / 100,
                        width=(box.right - box.left) / 100,
                        height=(box.bottom - box.top) / 100,
                    ),
                )
            )
    return tuple(found)


def find(layout: Layout, name: str, rank: Rank = lambda tab: ()) -> PaneMatch:
    """Find a pane or tab by its id, else a tab by what it shows, else by its title.

    What it shows is as good as an id: `build` is the file of that path, although a terminal has that title, and
    `app.py` the one at the top, although `src/app.py` has that title too. A terminal's title is a name that someone
    gave it and counts before a file's, which is its last path part. Of several with one title the one of the highest
    `rank` is meant; of these one that can be seen, first of all in the pane in use, then the newest.
    """

    def likely(place: PaneMatch) -> tuple[object, ...]:
        pane, tab = place
        return () if tab is None else (rank(tab), pane.active_tab == tab.id, pane.id == layout.active_pane, tab.id)

    for found in _named(layout, name):
        if found:
            return max(found, key=likely)
    raise NotFound.of("pane", name if len(name) <= 200 else shown(name), _names(layout))


def find_pane(layout: Layout, name: str) -> Pane:
    """Find a pane by its id, or by the id, content or title of any of its tabs."""
    return find(layout, name).pane


def find_content(layout: Layout, kind: str, content: str) -> PaneMatch | None:
    """Find the tab that shows exactly this, if it is open."""
    return next((PaneMatch(p, t) for p, t in tabs(layout.root) if t.content == content and t.type == kind), None)


def find_split(layout: Layout, split_id: str) -> tuple[Split, Box]:
    """Find a split and its rectangle by its id."""
    known = {node.id: (node, box) for node, box in walk(layout.root) if isinstance(node, Split)}
    if split_id not in known:
        raise NotFound.of("split", split_id if len(split_id) <= 200 else shown(split_id), known)
    return known[split_id]


def openable(kind: object) -> PaneType:
    """Check a pane type: known, and already there."""
    known = choice("type", kind, get_args(PaneType))
    if known in LATER:
        raise Unsupported(f"{known} panes come later", hint="types that open now: editor, terminal")
    return cast(PaneType, known)


def arrangement(node: Node | None) -> object:
    """Return what a drag aims at, the splits, sizes and panes, without what is in the panes."""
    if node is None or isinstance(node, Pane):
        return node and node.id
    return node.id, node.direction, node.sizes, tuple(map(arrangement, node.children))


def check_layout(layout: Layout) -> None:
    """Refuse a tree that is not valid, with the first thing that is wrong with it."""
    seen: set[str] = set()
    there: set[str | None] = set()
    shown_already: set[tuple[str, str]] = set()
    for node, box in walk_checked(layout.root):
        _once(seen, node.id)
        if box.right <= box.left or box.bottom <= box.top:
            raise BadArgument(f"{node.id} has no room")
        if isinstance(node, Pane):
            there.add(node.id)
            if node.active_tab not in {tab.id for tab in node.tabs}:
                raise BadArgument(f"pane {node.id} has no tab {shown(node.active_tab)} to show")
            for tab in node.tabs:
                _once(seen, tab.id)
                if (tab.type, tab.content) in shown_already:
                    raise BadArgument(f"{tab.type} {shown(tab.content)} is open twice")
                shown_already.add((tab.type, tab.content))
    if layout.active_pane not in (there or {None}):
        raise BadArgument(f"active pane {shown(layout.active_pane)} does not exist")


def walk_checked(node: Node | None) -> Iterator[tuple[Node, Box]]:
    """Walk a tree of unknown origin: each split is checked before its children are placed by its sizes."""
    waiting = [(node, EVERYWHERE, 0)] if node is not None else []
    while waiting:
        current, box, depth = waiting.pop()
        if depth > DEEPEST:
            raise BadArgument(f"splits are nested more than {DEEPEST} deep")
        yield current, box
        if isinstance(current, Split):
            if len(current.children) < 2 or len(current.sizes) != len(current.children):
                raise BadArgument(
                    f"split {current.id} has {len(current.children)} children and {len(current.sizes)} sizes"
                )
            if not all(0.1 <= size <= 99.9 and size == round(size, 1) for size in current.sizes) or (
                sum(tenths(current.sizes)) != WHOLE
            ):
                raise BadArgument(f"sizes {shown(current.sizes)} of split {current.id} do not sum to 100 in tenths")
            if any(isinstance(c, Split) and c.direction == current.direction for c in current.children):
                raise BadArgument(f"split {current.id} holds a split of its own direction")
            waiting += [(c, inner, depth + 1) for c, inner in zip(current.children, inside(current, box), strict=True)]


def _once(seen: set[str], name: str) -> None:
    if not name or name in seen:
        raise BadArgument(f"id {shown(name)} is empty or used twice")
    seen.add(name)


def _named(layout: Layout, name: str) -> tuple[list[PaneMatch], ...]:
    """Return the places that answer to a name, the surest first: by id, by content, by a given title, by a file's."""
    ids: list[PaneMatch] = []
    contents: list[PaneMatch] = []
    titles: list[PaneMatch] = []
    files: list[PaneMatch] = []
    for pane, tab in tabs(layout.root):
        if pane.id == name:
            return ([PaneMatch(pane, None)],)
        if tab.id == name:
            ids.append(PaneMatch(pane, tab))
        elif tab.content == name:
            contents.append(PaneMatch(pane, tab))
        elif tab.title == name and not is_id(name):
            (files if tab.type == "editor" else titles).append(PaneMatch(pane, tab))
    return ids, contents, titles, files


def _names(layout: Layout) -> list[str]:
    return [pane.id for pane in panes(layout.root)] + [tab.content for _, tab in tabs(layout.root)]
