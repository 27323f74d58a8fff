"""Random sequences of operations keep the state valid, undoable, and told truly by its changes."""

from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from fourhands.core.errors import BadArgument, Conflict, FourhandsError, LimitReached
from fourhands.workbench.layout.editors import Range
from fourhands.workbench.layout.geometry import AREA, tenths
from fourhands.workbench.layout.panes import Pane, Split, check_layout, panes, tabs, walk
from fourhands.workbench.layout.snapshot import Snapshot, StateChange, StateLimits, Transition, decode, encode
from fourhands.workbench.layout.state import WorkbenchState

OWNERS = st.sampled_from(["person", "agent-1", "agent-2"])
PATHS = st.sampled_from([f"src/{name}.py" for name in "abcdefgh"] + ["a.py", "x\ny"])
NUMBERS = st.integers(0, 10**6)
PERCENT = st.floats(0.001, 100)


def applied(seen: Snapshot, change: StateChange) -> Snapshot:
    """What a page does with a change."""
    editors = {e.path: e for e in seen.editors} | {e.path: e for e in change.editors}
    marks = {m.id: m for m in seen.highlights} | {m.id: m for m in change.highlights}
    return Snapshot(
        rev=change.rev,
        layout=seen.layout if change.layout is None else change.layout,
        editors=tuple(editors[k] for k in sorted(editors) if k not in change.closed_editors),
        highlights=tuple(marks[k] for k in sorted(marks) if k not in change.cleared_highlights),
    )


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        numbers = count(1)
        self.changes: list[StateChange] = []
        self.state = WorkbenchState(
            self.changes.append,
            limits=StateLimits(panes=12, tabs=20, highlights=6),
            new_id=lambda kind: f"{kind}_{next(numbers):04}",
        )
        self.page = self.state.snapshot(drafts=False)

    def pick(self, number: int) -> str:
        """Any pane or tab, by id or content."""
        names = [name for pane, tab in tabs(self.state.layout.root) for name in (pane.id, tab.id, tab.content)]
        return names[number % len(names)]

    def told(self) -> None:
        for change in self.changes:
            assert change.rev == self.page.rev + 1
            self.page = applied(self.page, change)
        self.changes.clear()
        assert self.page == self.state.snapshot(drafts=False)

    def bare(self) -> Snapshot:
        return replace(self.state.snapshot(), rev=0)

    def do(self, act, *args, **kwargs) -> None:
        before, rev = self.bare(), self.state.rev
        try:
            step = act(*args, **kwargs)
        except (BadArgument, Conflict, LimitReached):
            assert (self.bare(), self.state.rev) == (before, rev)
            return
        step = step if isinstance(step, Transition) else step.step
        after = self.bare()
        assert (step.change is None) == (before == after)
        assert len(self.changes) == self.state.rev - rev == int(step.change is not None)
        back = self.state.undo(step)
        assert self.bare() == before
        self.state.undo(back)
        assert self.bare() == after
        self.told()

    @rule(path=PATHS, owner=OWNERS, split=st.sampled_from([None, "vertical", "horizontal"]), focus=st.booleans())
    def open_editor(self, path, owner, split, focus):
        self.do(self.state.open, "editor", path, owner=owner, split_direction=split, focus=focus)

    @rule(n=st.integers(1, 9), owner=OWNERS, split=st.sampled_from([None, "vertical", "horizontal"]))
    def open_terminal(self, n, owner, split):
        self.do(self.state.open, "terminal", f"term_{n}", owner=owner, split_direction=split, title=f"shell {n}")

    @precondition(lambda self: self.state.layout.root)
    @rule(path=PATHS, owner=OWNERS, at=NUMBERS, line=st.integers(1, 99))
    def open_beside(self, path, owner, at, line):
        beside = self.pick(at)
        self.do(self.state.open_editor, path, owner=owner, line=line, beside=beside, split_direction="vertical")

    @precondition(lambda self: self.state.layout.root)
    @rule(at=NUMBERS, discard=st.booleans())
    def close(self, at, discard):
        self.do(self.state.close, self.pick(at), discard=discard)

    @precondition(lambda self: self.state.layout.root)
    @rule(at=NUMBERS)
    def focus(self, at):
        self.do(self.state.focus, self.pick(at))

    @precondition(lambda self: self.state.layout.root)
    @rule(at=NUMBERS, width=st.none() | PERCENT, height=st.none() | PERCENT)
    def resize(self, at, width, height):
        self.do(self.state.resize, self.pick(at), width, height)

    @precondition(lambda self: self.state.layout.root)
    @rule(
        at=NUMBERS, to=NUMBERS, side=st.sampled_from(["left", "right", "top", "bottom", "center"]), focus=st.booleans()
    )
    def move(self, at, to, side, focus):
        self.do(self.state.move, self.pick(at), self.pick(to), side, self.state.rev, focus=focus)

    @precondition(lambda self: isinstance(self.state.layout.root, Split))
    @rule(data=st.data())
    def set_sizes(self, data):
        splits = [node for node, _ in walk(self.state.layout.root) if isinstance(node, Split)]
        split = data.draw(st.sampled_from(splits))
        n = len(split.children)
        self.do(self.state.set_sizes, split.id, data.draw(st.lists(PERCENT, min_size=n, max_size=n)), self.state.rev)

    @precondition(lambda self: self.state.layout.root)
    @rule(at=NUMBERS, pinned=st.booleans())
    def pin(self, at, pinned):
        self.do(self.state.pin, self.pick(at), pinned)

    @precondition(lambda self: self.state.editors())
    @rule(at=NUMBERS, text=st.text(max_size=5), what=st.sampled_from(["draft", "reveal", "save", "version", "close"]))
    def edit(self, at, text, what):
        path = self.state.editors()[at % len(self.state.editors())].path
        match what:
            case "draft":
                self.do(self.state.set_draft, path, text, "v1")
            case "reveal":
                self.do(self.state.reveal, path, at + 1, focus=bool(at % 2))
            case "save":
                self.do(self.state.saved, path, "v2")
            case "version":
                self.do(self.state.set_version, path, f"v{at}")
            case "close":
                self.do(self.state.close_editor, path)

    @rule(path=PATHS, owner=OWNERS, line=st.integers(-1, 50), name=st.sampled_from([None, "fix-1", "fix-2"]))
    def highlight(self, path, owner, line, name):
        ranges = [Range(start_line=line, end_line=line + 3)]
        self.do(self.state.highlight, path, ranges, owner=owner, highlight_id=name, color="Gold")

    @rule(owner=OWNERS, what=st.sampled_from(["escape", "all", "mine"]))
    def clear(self, owner, what):
        if what == "escape":
            self.do(self.state.escape, owner)
        else:
            self.do(self.state.clear_highlights, owner if what == "mine" else None)

    @rule(owner=OWNERS)
    def end_session(self, owner):
        self.do(self.state.end_session, owner)

    @invariant()
    def the_tree_is_valid(self):
        layout = self.state.layout
        check_layout(layout)
        assert (layout.active_pane is None) == (layout.root is None)
        for node, _ in walk(layout.root):
            if isinstance(node, Split):
                assert sum(tenths(node.sizes)) == 1000
                assert all(size == round(size, 1) for size in node.sizes)

    @invariant()
    def panes_tile_the_area(self):
        boxes = [box for node, box in walk(self.state.layout.root) if isinstance(node, Pane)]
        assert sum((b.right - b.left) * (b.bottom - b.top) for b in boxes) == (AREA**2 if boxes else 0)
        for i, a in enumerate(boxes):
            assert min(a.right - a.left, a.bottom - a.top) >= 350  # the least size but for rounding
            for b in boxes[:i]:
                assert a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top

    @invariant()
    def everything_belongs_together(self):
        shown = {tab.content for _, tab in tabs(self.state.layout.root) if tab.type == "editor"}
        assert {editor.path for editor in self.state.editors()} == shown
        assert all(editor.dirty == (self.state.draft(editor.path) is not None) for editor in self.state.editors())
        assert len(list(panes(self.state.layout.root))) <= 12

    @invariant()
    def encoding_is_lossless(self):
        snapshot = self.state.snapshot()
        assert decode(encode(snapshot)) == snapshot
        assert WorkbenchState(saved=snapshot).snapshot() == snapshot


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)


class Late(Machine):
    """Undo of a step that others have followed: it may be refused, and never leaves an invalid state."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Transition] = []

    def do(self, act, *args, **kwargs) -> None:
        try:
            step = act(*args, **kwargs)
        except FourhandsError:
            return
        self.steps.append(step if isinstance(step, Transition) else step.step)
        self.told()

    @precondition(lambda self: self.steps)
    @rule(at=NUMBERS)
    def undo_late(self, at):
        before = self.bare()
        drafts = {draft.path for draft in self.state.snapshot().drafts}
        step = self.steps.pop(-1 - at % min(4, len(self.steps)))
        try:
            back = self.state.undo(step)
        except Conflict:
            assert self.bare() == before
            return
        lost = drafts - {draft.path for draft in self.state.snapshot().drafts}
        assert lost <= set(step.after.drafts)
        self.told()
        self.state.undo(back)
        assert self.bare() == before
        self.told()


TestLate = Late.TestCase
TestLate.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
