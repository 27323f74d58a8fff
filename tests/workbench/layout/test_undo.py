import asyncio

import pytest

from fourhands.core.errors import Conflict, NotFound
from fourhands.workbench.layout.editors import Range
from fourhands.workbench.layout.state import WorkbenchState
from fourhands.workbench.layout.undo import UndoStack, turn


class Light:
    """A thing to switch on and off, with a person who may hold on to it."""

    def __init__(self) -> None:
        self.on = True
        self.held = False

    async def set_off(self) -> None:
        if self.held:
            raise Conflict("the person holds it")
        self.on = False

    async def set_on(self) -> None:
        self.on = True


def stack_with(light: Light, *, redo: bool = True) -> UndoStack:
    stack = UndoStack()
    stack.push("call-1", "light on", actor="agent", inverse=light.set_off, redo=light.set_on if redo else None)
    return stack


async def test_undo_then_redo_restores():
    light = Light()
    stack = stack_with(light)
    turned = await stack.undo()
    assert (light.on, turned.action.status, turned.passed) == (False, "undone", ())
    assert (await stack.redo()).action.status == "done"
    assert light.on
    await stack.undo("call-1")
    assert not light.on


async def test_final_actions_are_listed_and_passed_over():
    light = Light()
    stack = stack_with(light)
    stack.push("call-2", "typed into build", reason="what ran has run")
    assert [(a.call_id, a.status, a.reason) for a in stack.actions()] == [
        ("call-2", "final", "what ran has run"),
        ("call-1", "done", None),
    ]
    turned = await stack.undo()
    assert turned.action.call_id == "call-1"
    assert [action.call_id for action in turned.passed] == ["call-2"]


async def test_naming_a_final_action_is_refused_with_its_reason():
    stack = UndoStack()
    stack.push("call-2", "typed into build", reason="what ran has run")
    with pytest.raises(Conflict, match=r"cannot be undone.*what ran has run"):
        await stack.undo("call-2")
    with pytest.raises(NotFound, match="typed into build"):
        await stack.undo()


async def test_a_refused_undo_leaves_the_stack_unchanged():
    light = Light()
    stack = stack_with(light)
    light.held = True
    before = stack.actions()
    with pytest.raises(Conflict, match="the person holds it"):
        await stack.undo()
    assert (stack.actions(), light.on) == (before, True)
    light.held = False
    assert (await stack.undo()).action.call_id == "call-1"


async def test_a_refused_redo_leaves_the_stack_unchanged():
    async def fails() -> None:
        raise OSError("disk full")

    stack = UndoStack()
    stack.push("call-1", "write", inverse=Light().set_off, redo=fails)
    await stack.undo()
    with pytest.raises(OSError, match="disk full"):
        await stack.redo()
    assert stack.actions()[0].status == "undone"


async def test_nothing_to_undo_or_redo_says_so():
    stack = UndoStack()
    with pytest.raises(NotFound, match="nothing to undo"):
        await stack.undo()
    with pytest.raises(NotFound, match="nothing to redo"):
        await stack.redo()
    with pytest.raises(NotFound, match="call-9"):
        await stack.undo("call-9")


async def test_what_has_no_way_forward_cannot_be_redone():
    stack = stack_with(Light(), redo=False)
    await stack.undo()
    with pytest.raises(Conflict, match="cannot be done again"):
        await stack.redo()
    with pytest.raises(Conflict, match="undone already"):
        await stack.undo("call-1")


async def test_a_new_action_ends_redo():
    stack = stack_with(Light())
    await stack.undo()
    stack.push("call-2", "something else")
    assert [action.call_id for action in stack.actions()] == ["call-2"]
    with pytest.raises(NotFound):
        await stack.redo()


async def test_several_undos_are_redone_in_turn():
    lights = [Light(), Light(), Light()]
    stack = UndoStack()
    for n, light in enumerate(lights):
        stack.push(f"call-{n}", "on", inverse=light.set_off, redo=light.set_on)
    assert [(await stack.undo()).action.call_id for _ in lights] == ["call-2", "call-1", "call-0"]
    assert [(await stack.redo()).action.call_id for _ in lights] == ["call-0", "call-1", "call-2"]
    assert all(light.on for light in lights)


async def test_the_oldest_leave_a_full_stack():
    stack = UndoStack(limit=3)
    for n in range(10):
        stack.push(f"call-{n}", "x")
    assert [action.call_id for action in stack.actions()] == ["call-9", "call-8", "call-7"]


async def test_two_undos_at_once_take_two_actions():
    started, gate = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    def slow(name: str):
        async def inverse() -> None:
            started.set()
            await gate.wait()
            done.append(name)

        return inverse

    stack = UndoStack()
    stack.push("call-1", "one", inverse=slow("one"))
    stack.push("call-2", "two", inverse=slow("two"))
    async with asyncio.timeout(40), asyncio.TaskGroup() as group:
        group.create_task(stack.undo())
        group.create_task(stack.undo())
        await started.wait()
        gate.set()
    assert done == ["two", "one"]


async def test_an_action_that_comes_during_an_undo_is_kept():
    async def inverse() -> None:
        stack.push("call-2", "meanwhile")

    stack = UndoStack(limit=1)
    stack.push("call-1", "one", inverse=inverse)
    await stack.undo()
    assert [action.call_id for action in stack.actions()] == ["call-2"]
    with pytest.raises(NotFound):
        await stack.redo()


async def test_steps_of_the_state_turn_back_and_forth():
    state = WorkbenchState()
    step = state.highlight("a.py", [Range(start_line=1, end_line=2)], owner="agent", highlight_id="h")
    swap = turn(state, step)
    stack = UndoStack()
    stack.push("call-1", "highlight h", inverse=swap, redo=swap)
    for _ in range(3):
        await stack.undo()
        assert state.highlights() == ()
        await stack.redo()
        assert [mark.id for mark in state.highlights()] == ["h"]
    state.highlight("a.py", [Range(start_line=5, end_line=5)], owner="person", highlight_id="h")
    with pytest.raises(Conflict, match="changed since"):
        await stack.undo()
    assert stack.actions()[0].status == "done"
