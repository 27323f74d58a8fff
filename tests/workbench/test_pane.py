import pytest

from fourhands.core.errors import Ambiguous, BadArgument, NotFound, Unavailable
from fourhands.workbench.pane import find, find_pane, find_split, openable
from fourhands.workbench.state import State


@pytest.fixture
def state() -> State:
    state = State()
    state.open("editor", "app.py", owner="person")
    state.open("editor", "src/app.py", owner="person")
    state.open("editor", "lib/app.py", owner="person", split_direction="vertical")
    state.open("editor", "lib/one.py", owner="person")
    state.open("terminal", "term_1", owner="agent", title="build", split_direction="horizontal")
    return state


def test_ids_contents_and_titles_name_the_same_place(state):
    place = find(state.layout, "term_1")
    assert place.tab is not None
    assert find(state.layout, "build") == find(state.layout, place.tab.id) == place
    assert find(state.layout, place.pane.id) == (place.pane, None)
    assert find(state.layout, "one.py").tab == find(state.layout, "lib/one.py").tab


def test_a_path_counts_before_the_titles_of_other_files(state):
    tab = find(state.layout, "app.py").tab
    assert tab is not None
    assert tab.content == "app.py"


def test_a_title_of_several_is_ambiguous_and_the_ids_are_named(state):
    state.close("app.py")
    with pytest.raises(Ambiguous, match=r"'app.py' names 2 things") as caught:
        find(state.layout, "app.py")
    ids = [tab.id for info in state.panes() for tab in info.tabs if tab.title == "app.py"]
    assert len(ids) == 2
    assert all(tab_id in caught.value.hint for tab_id in ids)
    with pytest.raises(Ambiguous, match="pane_"):
        find_pane(state.layout, "app.py")


def test_a_terminals_title_that_is_also_a_path_is_ambiguous(state):
    state.open("editor", "build", owner="person")
    with pytest.raises(Ambiguous, match=r"terminal term_1.*editor build"):
        state.close("build")


def test_several_names_in_one_pane_still_name_the_pane(state):
    state.open("terminal", "term_2", owner="agent", title="build")
    assert state.pane("build").id == state.pane("term_1").id


def test_an_unknown_name_gets_the_nearest(state):
    with pytest.raises(NotFound, match=r"did you mean 'lib/one.py'"):
        state.focus("lib/on.py")
    with pytest.raises(NotFound) as caught:
        state.focus("x" * 10**6)
    assert len(caught.value.message) < 200
    with pytest.raises(BadArgument, match="paneId must be text"):
        state.focus(None)
    with pytest.raises(NotFound, match="no split"):
        find_split(state.layout, "split_x")


def test_the_listing_has_tabs_front_and_geometry(state):
    left, right, below = state.panes()
    assert [tab.content for tab in left.tabs] == ["app.py", "src/app.py"]
    assert (left.type, left.content, left.title, left.active) == ("editor", "src/app.py", "app.py", False)
    assert (left.geometry.x, left.geometry.y, left.geometry.width, left.geometry.height) == (0, 0, 50, 100)
    assert (right.geometry.x, right.geometry.y, right.geometry.width, right.geometry.height) == (50, 0, 50, 50)
    assert (below.geometry.x, below.geometry.y, below.geometry.width, below.geometry.height) == (50, 50, 50, 50)
    assert (below.type, below.content, below.active, below.active_tab) == ("terminal", "term_1", True, below.tabs[0].id)


@pytest.mark.parametrize("kind", ["presentation", "whiteboard"])
def test_types_that_come_later_say_so(kind):
    with pytest.raises(Unavailable, match="come later"):
        openable(kind)
    with pytest.raises(Unavailable, match="editor, terminal"):
        State().open(kind, "x", owner="agent")


@pytest.mark.parametrize("kind", ["Editor", "shell", "", None, 1])
def test_an_unknown_type_is_refused_with_the_known_ones(kind):
    with pytest.raises(BadArgument, match="editor, terminal, presentation, whiteboard"):
        openable(kind)
