import math

import pytest
from msgspec.structs import replace

from fourhands.core.errors import BadArgument, LimitReached
from fourhands.workbench.layout.panes import Layout, Pane, Split
from fourhands.workbench.layout.snapshot import StateLimits
from fourhands.workbench.layout.state import WorkbenchState


def made(*steps: tuple[str, str | None]) -> WorkbenchState:
    """A workbench with these files, each opened with its split direction beside the one before."""
    state = WorkbenchState()
    for path, split in steps:
        state.open("editor", path, owner="person", split_direction=split)  # type: ignore[arg-type]
    return state


def drawn(state: WorkbenchState) -> object:
    """The tree as nested lists: panes are the letters of their tabs, splits their direction and sizes."""

    def draw(node: Pane | Split | None) -> object:
        if isinstance(node, Split):
            return (node.direction[0], list(node.sizes), [draw(child) for child in node.children])
        return node and "".join(tab.content for tab in node.tabs)

    return draw(state.layout.root)


def widths(state: WorkbenchState) -> list[float]:
    return [info.geometry.width for info in state.panes()]


def test_vertical_opens_to_the_right_and_horizontal_below():
    assert drawn(made(("a", None), ("b", "vertical"))) == ("v", [50, 50], ["a", "b"])
    assert drawn(made(("a", None), ("b", "horizontal"))) == ("h", [50, 50], ["a", "b"])


def test_without_direction_a_tab_opens_beside_the_front_one():
    state = made(("a", None), ("b", None))
    state.focus("a")
    state.open("editor", "c", owner="person")
    assert drawn(state) == "acb"
    assert state.panes()[0].content == "c"


def test_splits_of_one_direction_are_one_split():
    state = made(("a", None), ("b", "vertical"), ("c", "vertical"), ("d", "horizontal"))
    assert drawn(state) == ("v", [50, 25, 25], ["a", "b", ("h", [50, 50], ["c", "d"])])


def test_room_that_runs_short_is_shared_evenly():
    state = made(("a", None), *((letter, "vertical") for letter in "bcdefgh"))
    assert min(widths(state)) >= 10
    assert sum(widths(state)) == 100


def test_a_split_without_room_is_refused_with_a_way_out():
    state = made(("a", None))
    for n in range(24):
        state.open("editor", f"f{n}", owner="agent", split_direction="vertical")
    assert widths(state) == [4.0] * 25
    with pytest.raises(LimitReached, match=r"no room to split pane .*open it as a tab"):
        state.open("editor", "z", owner="agent", split_direction="vertical")
    state.open("editor", "z", owner="agent")
    state.open("editor", "y", owner="agent", split_direction="horizontal")
    with pytest.raises(LimitReached, match="wide"):
        state.open("editor", "x", owner="agent", split_direction="vertical")


def test_closing_gives_the_room_back_to_whom_it_came_from():
    state = made(("a", None), ("c", "vertical"))
    state.focus("a")
    state.open("editor", "b", owner="agent", split_direction="vertical")
    assert drawn(state) == ("v", [25, 25, 50], ["a", "b", "c"])
    state.close("b")
    assert drawn(state) == ("v", [50, 50], ["a", "c"])
    assert state.pane("a").active


def test_empty_splits_collapse_and_the_same_direction_is_flattened():
    state = made(("a", None), ("b", "vertical"), ("c", "horizontal"), ("d", "vertical"))
    assert drawn(state) == ("v", [50, 50], ["a", ("h", [50, 50], ["b", ("v", [50, 50], ["c", "d"])])])
    split_id = split_of(state)
    state.resize("c", width=20)
    state.close("b")
    assert drawn(state) == ("v", [50, 20, 30], ["a", "c", "d"])
    assert split_of(state) == split_id
    state.close("a")
    state.close("c")
    assert drawn(state) == "d"
    state.close("d")
    assert state.layout == Layout()


def test_flattening_keeps_every_pane_where_it_was():
    state = made(("a", None), ("b", "vertical"), ("c", "horizontal"), ("d", "vertical"))
    state.resize("a", width=70)
    state.resize("c", width=12)
    before = [(info.content, info.geometry.x) for info in state.panes() if info.content in "acd"]
    state.close("b")
    assert drawn(state) == ("v", [70, 12, 18], ["a", "c", "d"])
    assert [(info.content, info.geometry.x) for info in state.panes()] == before


def test_closing_the_pane_in_use_goes_to_its_neighbour():
    state = made(("a", None), ("b", "vertical"), ("c", "vertical"))
    state.close("c")
    assert state.pane("b").active
    state.focus("a")
    state.close("a")
    assert state.pane("b").active


def test_closing_the_front_tab_brings_the_next_forward():
    state = made(("a", None), ("b", None), ("c", None))
    state.focus("b")
    state.close("b")
    assert state.panes()[0].content == "c"
    state.close("c")
    assert state.panes()[0].content == "a"


def test_a_pane_is_closed_with_all_its_tabs():
    state = made(("a", None), ("b", None), ("c", "vertical"))
    step = state.close(state.pane("a").id)
    assert [tab.content for tab in step.closed] == ["a", "b"]
    assert drawn(state) == "c"


def test_resize_is_in_percent_of_the_workbench():
    state = made(("a", None), ("b", "vertical"), ("c", "horizontal"), ("d", "vertical"))
    state.resize("c", width=12.5, height=30)
    assert (state.pane("c").geometry.width, state.pane("c").geometry.height) == (12.5, 30)
    assert state.pane("d").geometry.width == 37.5
    state.resize("b", width=80)
    assert (state.pane("a").geometry.width, state.pane("b").geometry.width) == (20, 80)


def test_resize_stops_at_what_the_neighbours_need():
    state = made(("a", None), ("b", "vertical"), ("c", "vertical"))
    state.resize("a", width=100)
    assert widths(state) == [92, 4, 4]
    state.resize("a", width=0.01)
    assert widths(state) == [4, 48, 48]


def test_panes_that_came_too_narrow_can_still_be_resized():
    narrow = WorkbenchState()
    for n in range(25):
        narrow.open("editor", f"f{n}", owner="person", split_direction="vertical" if n else None)
    root = narrow.layout.root
    assert isinstance(root, Split)
    shares = (*[2.0] * 24, 52.0)
    state = WorkbenchState(
        saved=replace(narrow.snapshot(), layout=replace(narrow.layout, root=replace(root, sizes=shares)))
    )
    state.resize("f0", width=90)
    assert widths(state) == [4.0] * 25


def test_resize_leaves_room_for_panes_within_the_neighbour():
    state = made(("a", None), ("b", "vertical"), ("c", "horizontal"), ("d", "vertical"))
    state.resize("c", width=10)
    state.resize("a", width=100)
    assert min(widths(state)) >= 3.9


def test_nothing_to_resize_against_says_what_is_possible():
    state = made(("a", None))
    with pytest.raises(BadArgument, match=r"as wide as the workbench.*nothing else is open"):
        state.resize("a", width=50)
    state.open("editor", "b", owner="person", split_direction="vertical")
    with pytest.raises(BadArgument, match=r"as high as the workbench.*its width may be changed"):
        state.resize("a", height=50)
    with pytest.raises(BadArgument, match="neither width nor height"):
        state.resize("a")


@pytest.mark.parametrize("value", [0, -1, 101, math.nan, math.inf, "50", True])
def test_resize_refuses_what_is_no_percentage(value):
    state = made(("a", None), ("b", "vertical"))
    with pytest.raises(BadArgument, match="width must be a percentage"):
        state.resize("a", width=value)


def test_half_a_bad_resize_changes_nothing():
    state = made(("a", None), ("b", "vertical"))
    rev = state.rev
    with pytest.raises(BadArgument):
        state.resize("a", width=30, height=30)
    assert (state.rev, widths(state)) == (rev, [50, 50])


def split_of(state: WorkbenchState) -> str:
    assert isinstance(state.layout.root, Split)
    return state.layout.root.id


def test_sizes_are_brought_to_a_hundred_with_one_decimal():
    state = made(("a", None), ("b", "vertical"), ("c", "vertical"))
    state.set_sizes(split_of(state), [33.333, 33.333, 33.333])
    assert drawn(state) == ("v", [33.4, 33.3, 33.3], ["a", "b", "c"])
    state.set_sizes(split_of(state), [99.8, 0.1, 0.1])
    assert widths(state) == [92, 4, 4]


@pytest.mark.parametrize("sizes", [[], [50], [50, 25, 25], [0, 100], [-1, 101], [math.nan, 50], ["50", "50"]])
def test_wrong_sizes_are_refused(sizes):
    state = made(("a", None), ("b", "vertical"))
    with pytest.raises(BadArgument, match="size"):
        state.set_sizes(split_of(state), sizes)


@pytest.mark.parametrize(
    ("side", "tree"),
    [
        ("left", ("v", [25, 25, 50], ["c", "a", "b"])),
        ("right", ("v", [25, 25, 50], ["a", "c", "b"])),
        ("top", ("v", [50, 50], [("h", [50, 50], ["c", "a"]), "b"])),
        ("bottom", ("v", [50, 50], [("h", [50, 50], ["a", "c"]), "b"])),
        ("center", ("v", [50, 50], ["ac", "b"])),
    ],
)
def test_a_pane_moves_to_any_side_and_keeps_its_id(side, tree):
    state = made(("a", None), ("b", "vertical"), ("c", "vertical"))
    pane = state.pane("c")
    state.move(pane.id, "a", side)
    assert drawn(state) == tree
    assert state.pane("c").active
    assert (state.pane("c").id == pane.id) == (side != "center")


def test_a_tab_moves_alone():
    state = made(("a", None), ("b", None), ("c", "vertical"))
    state.move("a", "c", "center", index=0)
    assert drawn(state) == ("v", [50, 50], ["b", "ac"])
    state.move("a", "c", "bottom")
    assert drawn(state) == ("v", [50, 50], ["b", ("h", [50, 50], ["c", "a"])])


def test_the_last_tab_takes_its_pane_along():
    state = made(("a", None), ("b", "vertical"))
    state.move("a", "b", "center")
    assert drawn(state) == "ba"


def test_tabs_change_their_order_in_their_own_pane():
    state = made(("a", None), ("b", None), ("c", None))
    state.move("c", "a", "center", index=0)
    assert drawn(state) == "cab"


def test_a_tab_splits_off_its_own_pane():
    state = made(("a", None), ("b", None))
    state.move("a", "a", "left")
    assert drawn(state) == ("v", [50, 50], ["a", "b"])


def test_a_pane_cannot_be_moved_beside_itself():
    state = made(("a", None), ("b", "vertical"))
    with pytest.raises(BadArgument, match="beside itself"):
        state.move("a", "a", "left")
    state.move("a", "a", "center")
    assert state.pane("a").active


def test_a_move_without_focus_leaves_the_pane_in_use():
    state = made(("a", None), ("b", "vertical"), ("c", "vertical"))
    state.move("a", "b", "bottom", focus=False)
    assert state.pane("c").active


@pytest.mark.parametrize(("side", "index"), [("up", None), ("", None), ("center", -1), ("center", "0")])
def test_a_move_to_nowhere_is_refused(side, index):
    state = made(("a", None), ("b", "vertical"))
    with pytest.raises(BadArgument):
        state.move("a", "b", side, index=index)


def test_opening_without_focus_moves_nothing_that_is_looked_at():
    state = made(("a", None))
    state.open("editor", "b", owner="agent", focus=False)
    assert state.panes()[0].content == "a"
    step = state.open("editor", "c", owner="agent", focus=False, split_direction="vertical")
    assert state.pane("a").active
    assert step.pane_id == state.pane("c").id
    assert state.open("editor", "b", owner="agent", focus=False).change is None


def test_another_pane_than_the_one_in_use_can_be_named():
    state = made(("a", None), ("b", "vertical"))
    state.open("terminal", "term_1", owner="agent", beside="a", split_direction="horizontal")
    assert drawn(state) == ("v", [50, 50], [("h", [50, 50], ["a", "term_1"]), "b"])


@pytest.mark.parametrize(
    ("steps", "used", "what", "tree"),
    [
        # Among other tabs: beside the pane in use, which may be its own.
        ((("a", None), ("b", None)), "b", ("b", "vertical"), ("v", [50, 50], ["a", "b"])),
        (
            (("a", None), ("b", None), ("c", "vertical")),
            "c",
            ("a", "horizontal"),
            ("v", [50, 50], ["b", ("h", [50, 50], ["c", "a"])]),
        ),
        # Alone in its pane: beside the one in use, else beside its neighbour; or it stays, if it is there already.
        ((("a", None), ("b", "horizontal")), "b", ("b", "vertical"), ("v", [50, 50], ["a", "b"])),
        ((("a", None), ("b", "horizontal")), "a", ("b", "vertical"), ("v", [50, 50], ["a", "b"])),
        ((("a", None), ("b", "vertical")), "b", ("a", "vertical"), ("v", [50, 50], ["b", "a"])),
        ((("a", None), ("b", "vertical")), "a", ("b", "vertical"), ("v", [50, 50], ["a", "b"])),
        ((("a", None),), "a", ("a", "vertical"), "a"),
    ],
)
def test_what_is_open_is_moved_to_where_a_new_pane_would_be(steps, used, what, tree):
    state = made(*steps)
    state.focus(used)
    before = state.layout
    step = state.open("editor", what[0], owner="person", split_direction=what[1])
    assert drawn(state) == tree
    assert state.pane(what[0]).active
    assert step.pane_id == state.pane(what[0]).id
    state.undo(step)
    assert state.layout == before


def test_a_terminal_that_is_open_is_split_off_too():
    state = made(("a", None))
    state.open("terminal", "term_1", owner="agent", title="build")
    step = state.open("terminal", "term_1", owner="agent", split_direction="vertical")
    assert step.change is not None
    assert step.change.kind == "pane.moved"
    assert drawn(state) == ("v", [50, 50], ["a", "term_1"])
    assert state.open("terminal", "term_1", owner="agent", split_direction="vertical").change is None
    state.limits = StateLimits(panes=2)
    state.open("editor", "b", owner="person")
    with pytest.raises(LimitReached, match="at most 2 panes"):
        state.open("terminal", "term_1", owner="agent", split_direction="horizontal")
