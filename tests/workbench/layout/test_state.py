import pytest

from fourhands.core.errors import Ambiguous, BadArgument, Conflict, LimitReached, NotFound
from fourhands.workbench.layout.editors import Range
from fourhands.workbench.layout.panes import Split
from fourhands.workbench.layout.snapshot import StateChange, StateLimits
from fourhands.workbench.layout.state import WorkbenchState

LINES = [Range(start_line=1, end_line=3)]


@pytest.fixture
def changes() -> list[StateChange]:
    return []


@pytest.fixture
def state(changes) -> WorkbenchState:
    return WorkbenchState(changes.append)


# Revisions and changes


def test_each_change_has_one_revision_and_is_told_once(state, changes):
    state.open_editor("a.py", owner="person")
    state.open("terminal", "term_1", owner="agent", split_direction="vertical")
    state.highlight("a.py", LINES, owner="agent")
    assert [(change.rev, change.kind) for change in changes] == [
        (1, "editor.opened"),
        (2, "pane.opened"),
        (3, "highlight.set"),
    ]
    assert [change.layout is not None for change in changes] == [True, True, False]


def test_what_changes_nothing_is_not_told(state, changes):
    state.open_editor("a.py", owner="person")
    for step in (state.focus("a.py"), state.open_editor("a.py", owner="person"), state.clear_highlights()):
        assert step.change is None
    assert (state.rev, len(changes)) == (1, 1)


def test_a_listener_sees_the_new_state():
    seen: list[int] = []
    bench = WorkbenchState(lambda change: seen.append(len(bench.editors())))
    bench.open_editor("a.py", owner="person")
    assert seen == [1]


def test_a_drag_of_an_old_layout_is_refused(state):
    state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="person", split_direction="vertical")
    split = state.layout.root
    assert isinstance(split, Split)
    old = state.rev
    state.resize("a.py", width=30)
    for act in (
        lambda: state.set_sizes(split.id, [60, 40], old),
        lambda: state.move("a.py", "b.py", "center", old),
        lambda: state.move("a.py", "b.py", "center", state.rev + 1),
    ):
        with pytest.raises(Conflict, match="the panes have changed since revision"):
            act()
    state.set_sizes(split.id, [60, 40], state.rev)
    with pytest.raises(BadArgument, match="baseRev"):
        state.set_sizes(split.id, [60, 40], -1)


def test_changes_that_are_not_about_panes_do_not_spoil_a_drag(state):
    state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="person", split_direction="vertical")
    base = state.rev
    state.highlight("a.py", LINES, owner="agent")
    state.focus("a.py")
    state.open("terminal", "term_1", owner="agent")
    state.move("b.py", "a.py", "left", base)


# Editors


def test_opening_what_is_open_focuses_it(state):
    first = state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="agent", split_direction="vertical")
    again = state.open("editor", "a.py", owner="agent", split_direction="horizontal")
    assert (again.id, again.pane_id) == (first.id, first.pane_id)
    assert len(state.panes()) == 2
    assert state.pane("a.py").active
    assert state.editor("a.py").owner == "person"


def test_a_line_is_revealed_again_and_again(state):
    state.open_editor("a.py", owner="agent", line=42)
    assert (state.editor("a.py").line, state.editor("a.py").reveal) == (42, 1)
    state.reveal("a.py", 42)
    state.open_editor("a.py", owner="agent", line=42, column=7)
    editor = state.editor("a.py")
    assert (editor.line, editor.column, editor.reveal) == (42, 7, 3)
    state.open_editor("a.py", owner="agent")
    assert state.editor("a.py").reveal == 3


def test_reveal_brings_the_tab_forward_only_if_asked(state):
    state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="person")
    state.reveal("a.py", 3)
    assert state.panes()[0].content == "b.py"
    step = state.reveal("a.py", 3, focus=True)
    assert state.panes()[0].content == "a.py"
    assert step.pane_id == state.panes()[0].id


def test_editors_answer_to_path_id_and_a_unique_title(state):
    step = state.open_editor("src/a.py", owner="person")
    state.open_editor("src/b.py", owner="person")
    state.open_editor("lib/b.py", owner="person")
    assert state.editor("src/a.py") == state.editor(step.id) == state.editor("a.py")
    with pytest.raises(Ambiguous, match=r"lib/b.py, src/b.py"):
        state.close_editor("b.py")
    with pytest.raises(NotFound, match=r"did you mean 'src/a.py'"):
        state.reveal("src/aa.py", 1)


@pytest.mark.parametrize("line", [0, -3, 1.5, "4", True])
def test_a_bad_line_opens_nothing(state, line):
    with pytest.raises(BadArgument, match="line"):
        state.open_editor("a.py", owner="agent", line=line)
    assert (state.rev, state.panes()) == (0, ())
    state.open_editor("a.py", owner="agent")
    with pytest.raises(BadArgument, match="line"):
        state.reveal("a.py", line)


@pytest.mark.parametrize("path", ["", "a\0", "\udcff", None, "x" * 9999])
def test_a_bad_path_opens_nothing(state, path):
    with pytest.raises(BadArgument, match="path"):
        state.open("editor", path, owner="agent")
    assert state.rev == 0


def test_a_file_with_an_odd_name_gets_a_plain_title(state):
    state.open_editor("src/a\nb\x1b.py", owner="person")
    assert state.panes()[0].title == "a\ufffdb\ufffd.py"


def test_versions_follow_the_file(state):
    state.open_editor("a.py", owner="person", version="v1")
    state.set_version("a.py", "v2")
    assert state.editor("a.py").version == "v2"
    state.open_editor("a.py", owner="person", version="v3")
    assert state.editor("a.py").version == "v3"


# Unsaved text


def test_unsaved_text_is_held_until_it_is_saved(state, changes):
    state.open_editor("a.py", owner="person", version="v1")
    state.set_draft("a.py", "mine", "v1")
    state.set_version("a.py", "v2")
    draft = state.draft("a.py")
    assert draft is not None
    assert (draft.text, draft.base_version, state.editor("a.py").dirty) == ("mine", "v1", True)
    assert changes[1].drafts == ("a.py",)
    state.saved("a.py", "v3")
    assert (state.draft("a.py"), state.editor("a.py").dirty, state.editor("a.py").version) == (None, False, "v3")


def test_unsaved_text_keeps_its_editor_open(state):
    state.open_editor("a.py", owner="agent")
    state.set_draft("a.py", "mine", None)
    for act in (lambda: state.close("a.py"), lambda: state.close_editor("a.py")):
        with pytest.raises(Conflict, match=r"a.py has unsaved text"):
            act()
    state.close_editor("a.py", discard=True)
    assert (state.editors(), state.draft("a.py"), state.panes()) == ((), None, ())


def test_too_much_unsaved_text_is_refused():
    state = WorkbenchState(limits=StateLimits(draft_chars=10, all_draft_chars=15))
    state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="person")
    state.set_draft("a.py", "x" * 10, None)
    with pytest.raises(LimitReached, match="at most 10 in one file"):
        state.set_draft("a.py", "x" * 11, None)
    with pytest.raises(LimitReached, match="15 in all"):
        state.set_draft("b.py", "x" * 6, None)
    with pytest.raises(BadArgument, match="text"):
        state.set_draft("a.py", "\ud800", None)
    with pytest.raises(NotFound):
        state.set_draft("c.py", "", None)


# Highlights


def test_highlights_live_side_by_side_and_the_same_id_replaces(state):
    first = state.highlight("a.py", LINES, owner="agent", color="GOLD", label="look")
    state.highlight("a.py", LINES, owner="agent", highlight_id="fix-1", color="#0f0")
    state.highlight("b.py", LINES, owner="agent", highlight_id="fix-1")
    assert first.id.startswith("highlight_")
    assert {(mark.id, mark.path, mark.color) for mark in state.highlights()} == {
        (first.id, "a.py", "gold"),
        ("fix-1", "b.py", None),
    }
    assert [mark.label for mark in state.highlights("a.py")] == ["look"]


def test_a_highlight_is_cleared_by_its_id(state):
    state.highlight("a.py", LINES, owner="agent", highlight_id="fix-1")
    with pytest.raises(NotFound, match="did you mean 'fix-1'"):
        state.clear_highlight("fix-2")
    state.clear_highlight("fix-1")
    assert state.highlights() == ()


def test_escape_clears_mine_then_all(state):
    state.highlight("a.py", LINES, owner="person")
    state.highlight("a.py", LINES, owner="agent")
    state.escape("person")
    assert [mark.owner for mark in state.highlights()] == ["agent"]
    state.escape("person")
    assert state.highlights() == ()


def test_all_of_one_owner_or_file_are_cleared(state):
    for path in ("a.py", "b.py"):
        for owner in ("x", "y"):
            state.highlight(path, LINES, owner=owner)
    state.clear_highlights("x", "a.py")
    assert len(state.highlights()) == 3
    state.clear_highlights("y")
    assert [(mark.owner, mark.path) for mark in state.highlights()] == [("x", "b.py")]


def test_a_bad_highlight_changes_nothing(state):
    for bad in ({"color": "blurple"}, {"highlight_id": ""}, {"label": "\n"}):
        with pytest.raises(BadArgument):
            state.highlight("a.py", LINES, owner="agent", **bad)
    assert state.rev == 0


# Limits, pins, sessions


def test_limits_are_kept_and_named():
    state = WorkbenchState(limits=StateLimits(panes=2, tabs=3, highlights=1))
    state.open("terminal", "1", owner="agent")
    state.open("terminal", "2", owner="agent", split_direction="vertical")
    with pytest.raises(LimitReached, match="at most 2 panes and 3 tabs"):
        state.open("terminal", "3", owner="agent", split_direction="vertical")
    state.open("terminal", "3", owner="agent")
    with pytest.raises(LimitReached):
        state.open("terminal", "4", owner="agent")
    with pytest.raises(LimitReached):
        state.move("3", "1", "left")
    state.open("terminal", "1", owner="agent")
    state.highlight("a.py", LINES, owner="agent", highlight_id="h")
    state.highlight("a.py", LINES, owner="agent", highlight_id="h")
    with pytest.raises(LimitReached, match="1 highlights"):
        state.highlight("a.py", LINES, owner="agent")


def test_the_end_of_a_session_takes_what_it_made_and_gives_it_back(state, changes):
    state.open_editor("mine.py", owner="person")
    state.open_editor("theirs.py", owner="agent")
    state.open_editor("typed.py", owner="agent")
    state.open("terminal", "term_1", owner="agent", split_direction="vertical")
    state.open("terminal", "term_2", owner="agent", split_direction="vertical")
    state.pin("term_2")
    state.set_draft("typed.py", "by the person", None)
    state.highlight("mine.py", LINES, owner="agent", highlight_id="h")
    state.highlight("mine.py", LINES, owner="person", highlight_id="k")
    count = len(changes)
    removed = state.end_session("agent")
    assert removed.terminals == ("term_1",)
    assert removed.editors == ("theirs.py",)
    assert removed.highlights == ("h",)
    assert removed.kept == ("typed.py",)
    assert len(changes) == count + 1
    assert [tab.content for info in state.panes() for tab in info.tabs] == ["mine.py", "typed.py", "term_2"]
    assert state.end_session("agent").step.change is None


def test_pins_hold_for_a_tab_or_a_whole_pane(state):
    state.open("terminal", "term_1", owner="agent")
    state.open("terminal", "term_2", owner="agent")
    state.pin(state.panes()[0].id)
    assert [tab.pinned for tab in state.panes()[0].tabs] == [True, True]
    state.pin("term_1", False)
    assert [tab.pinned for tab in state.panes()[0].tabs] == [False, True]


def test_a_tab_gets_a_new_title(state):
    state.open("terminal", "term_1", owner="agent", title="build")
    state.retitle("build", "test")
    state.retitle(state.panes()[0].id, "test-runner")
    assert state.pane("test-runner").content == "term_1"
    with pytest.raises(BadArgument, match="title"):
        state.retitle("term_1", "\x1b]0;evil\x07")


def test_ids_are_their_kind_and_a_ulid(state):
    step = state.open_editor("a.py", owner="person")
    state.open_editor("b.py", owner="person", split_direction="vertical")
    assert step.id.startswith("editor_")
    assert len(step.id) == len("editor_") + 26
    assert step.pane_id is not None
    assert step.pane_id.startswith("pane_")
    assert state.layout.root is not None
    assert state.layout.root.id.startswith("split_")


@pytest.mark.parametrize("bad", [{"split_direction": "diagonal"}, {"title": ""}, {"owner": ""}, {"beside": 5}])
def test_bad_arguments_of_open_change_nothing(state, bad):
    with pytest.raises(BadArgument):
        state.open("terminal", "term_1", **{"owner": "agent", **bad})
    assert state.rev == 0
