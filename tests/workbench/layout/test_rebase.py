import pytest

from fourhands.core.errors import Conflict
from fourhands.workbench.layout.editors import Range
from fourhands.workbench.layout.panes import tabs
from fourhands.workbench.layout.state import WorkbenchState


@pytest.fixture
def state() -> WorkbenchState:
    state = WorkbenchState()
    state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="person", split_direction="vertical")
    return state


def open_now(state: WorkbenchState) -> list[str]:
    return [tab.content for _, tab in tabs(state.layout.root)]


def test_an_open_is_taken_back_after_the_person_looked_elsewhere(state):
    step = state.open_editor("c.py", owner="agent")
    state.focus("a.py")
    state.undo(step)
    assert open_now(state) == ["a.py", "b.py"]
    assert state.pane("a.py").active


def test_an_open_is_taken_back_after_more_was_opened(state):
    step = state.open_editor("c.py", owner="agent", split_direction="vertical")
    state.open_editor("d.py", owner="person", split_direction="horizontal")
    state.undo(step)
    assert open_now(state) == ["a.py", "b.py", "d.py"]


def test_an_open_stays_if_the_person_typed_into_it(state):
    step = state.open_editor("c.py", owner="agent")
    state.set_draft("c.py", "mine", None)
    with pytest.raises(Conflict, match=r"c.py has unsaved text by now"):
        state.undo(step)
    assert state.draft("c.py") is not None


def test_what_is_gone_already_needs_no_undo(state):
    step = state.open_editor("c.py", owner="agent")
    state.close("c.py")
    assert state.undo(step).change is None


def test_a_closed_file_comes_back_into_its_pane_with_its_place(state):
    state.open_editor("c.py", owner="person", line=77)
    pane = state.pane("c.py").id
    step = state.close("c.py")
    state.open_editor("d.py", owner="person", beside="a.py")
    state.undo(step)
    assert state.pane("c.py").id == pane
    assert state.editor("c.py").line == 77
    assert state.pane("d.py").active


def test_a_closed_pane_comes_back_as_a_tab_when_its_place_is_gone(state):
    step = state.close("b.py")
    state.open_editor("c.py", owner="person", split_direction="horizontal")
    state.undo(step)
    assert state.pane("b.py").id == state.pane("c.py").id


def test_a_closed_file_comes_back_to_an_empty_workbench():
    state = WorkbenchState()
    state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="person")
    step = state.close("a.py")
    state.close("b.py")
    state.undo(step)
    assert open_now(state) == ["a.py"]


def test_what_was_opened_again_is_not_opened_twice(state):
    step = state.close("b.py")
    state.open_editor("b.py", owner="person")
    state.undo(step)
    assert open_now(state) == ["a.py", "b.py"]


def test_a_resize_is_taken_back_although_a_tab_was_opened(state):
    step = state.resize("a.py", width=20)
    state.open_editor("c.py", owner="person")
    state.undo(step)
    assert state.pane("a.py").geometry.width == 50
    assert open_now(state) == ["a.py", "b.py", "c.py"]


def test_a_resize_is_not_taken_back_over_another(state):
    step = state.resize("a.py", width=20)
    state.resize("a.py", width=30)
    with pytest.raises(Conflict, match="arranged or resized since"):
        state.undo(step)
    assert state.pane("a.py").geometry.width == 30


def test_a_pin_is_taken_back_unless_the_tab_was_changed(state):
    step = state.pin("a.py")
    state.open_editor("c.py", owner="person")
    state.undo(step)
    assert not state.pane("a.py").tabs[0].pinned
    step = state.pin("a.py")
    state.retitle("a.py", "main")
    state.close("c.py")
    with pytest.raises(Conflict, match="'main' has been changed since"):
        state.undo(step)


def test_a_move_is_not_taken_back_when_panes_were_arranged_since(state):
    step = state.move("b.py", "a.py", "top")
    state.open_editor("c.py", owner="person", split_direction="vertical")
    with pytest.raises(Conflict, match="arranged anew since"):
        state.undo(step)


def test_a_focus_is_taken_back_only_if_nobody_moved_it_since(state):
    step = state.focus("a.py")
    state.open_editor("c.py", owner="person")
    state.undo(step)
    assert state.pane("c.py").active


def test_a_reveal_is_taken_back_unless_scrolled_since(state):
    state.reveal("a.py", 5)
    step = state.reveal("a.py", 50)
    state.set_version("a.py", "v2")
    state.undo(step)
    assert (state.editor("a.py").line, state.editor("a.py").version) == (5, "v2")
    step = state.reveal("a.py", 60)
    state.reveal("a.py", 61)
    with pytest.raises(Conflict, match="scrolled since"):
        state.undo(step)


def test_each_highlight_is_taken_back_by_itself(state):
    one = state.highlight("a.py", [Range(start_line=1, end_line=1)], owner="agent", highlight_id="one")
    state.highlight("a.py", [Range(start_line=2, end_line=2)], owner="agent", highlight_id="two")
    back = state.undo(one)
    assert [mark.id for mark in state.highlights()] == ["two"]
    state.undo(back)
    assert {mark.id for mark in state.highlights()} == {"one", "two"}
    replaced = state.highlight("b.py", [Range(start_line=3, end_line=3)], owner="agent", highlight_id="two")
    state.clear_highlight("one")
    state.undo(replaced)
    assert [(mark.id, mark.path) for mark in state.highlights()] == [("two", "a.py")]


def test_the_end_of_a_session_can_be_taken_back_later(state):
    state.open_editor("c.py", owner="agent")
    state.open("terminal", "term_1", owner="agent", split_direction="horizontal")
    removed = state.end_session("agent")
    state.open_editor("d.py", owner="person")
    state.undo(removed.step)
    assert set(open_now(state)) == {"a.py", "b.py", "c.py", "d.py", "term_1"}
