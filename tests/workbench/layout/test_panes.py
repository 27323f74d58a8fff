import pytest

from fourhands.core.errors import BadArgument, NotFound, Unavailable
from fourhands.core.ids import new_id
from fourhands.workbench.layout.panes import Rank, find, find_pane, find_split, openable
from fourhands.workbench.layout.state import WorkbenchState


@pytest.fixture
def state() -> WorkbenchState:
    state = WorkbenchState()
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


def content(state: WorkbenchState, name: str, rank: Rank = lambda tab: ()) -> str:
    """What the tab shows that a name means."""
    tab = find(state.layout, name, rank).tab
    assert tab is not None
    return tab.content


def test_of_several_with_one_title_the_likeliest_is_meant(state):
    state.close("app.py")
    assert content(state, "app.py") == "src/app.py"  # lib/app.py is behind another tab
    state.focus("lib/app.py")
    assert content(state, "app.py") == "lib/app.py"  # both can be seen: this one is in the pane in use
    state.open("editor", "src/app.py", owner="person")
    state.open("terminal", "term_2", owner="agent", title="other")
    assert content(state, "app.py") == "lib/app.py"  # neither is in the pane in use: the newer
    assert (
        content(state, "app.py", lambda tab: (tab.content == "src/app.py",)) == "src/app.py"
    )  # what the asker has made is meant before what can be seen
    assert find_pane(state.layout, "app.py") == find(state.layout, "app.py").pane


def test_a_path_counts_before_a_terminals_title_and_that_before_a_files(state):
    state.open("editor", "build", owner="person")
    assert content(state, "build") == "build"
    state.open("editor", "src/term", owner="person")
    state.open("terminal", "term_2", owner="agent", title="term")
    assert content(state, "term") == "term_2"


def test_an_id_counts_before_titles_and_what_looks_like_one_is_no_title(state):
    pane = find(state.layout, "term_1").pane.id
    state.open("editor", f"src/{pane}", owner="person")
    assert find(state.layout, pane).pane.id == pane
    state.open("editor", f"src/{new_id('term')}", owner="person")
    with pytest.raises(NotFound):
        find(state.layout, state.editors()[-1].path.removeprefix("src/"))


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
        WorkbenchState().open(kind, "x", owner="agent")


@pytest.mark.parametrize("kind", ["Editor", "shell", "", None, 1])
def test_an_unknown_type_is_refused_with_the_known_ones(kind):
    with pytest.raises(BadArgument, match="editor, terminal, presentation, whiteboard"):
        openable(kind)
