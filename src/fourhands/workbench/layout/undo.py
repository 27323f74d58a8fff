"""Agents' actions, newest last, and their inverses: one list for layout, highlights and files alike.

An action brings its own inverse and, if it has one, the way forward again; both raise `Conflict` when the same thing
has changed since. An action or undo that fails in any way leaves the list as it was. What cannot be undone
is listed too, and says so.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import Struct

from fourhands.core.errors import Conflict, NotFound
from fourhands.workbench.layout.revisioned import Revisioned
from fourhands.workbench.layout.snapshot import Transition

InvertStep: TypeAlias = Callable[[], Awaitable[None]]

FINAL = "cannot be undone"


class Action(Struct, frozen=True, kw_only=True, rename="camel"):
    """One action as it is listed: done, undone (it may be done again), or final with the reason."""

    call_id: str
    description: str
    actor: str
    status: Literal["done", "undone", "final"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The action that was undone or redone, and the newer actions that were left alone because they are final."""

    action: Action
    passed: tuple[Action, ...] = ()


@dataclass(slots=True, eq=False)
class _Entry:
    call_id: str
    description: str
    actor: str
    inverse: InvertStep | None
    redo: InvertStep | None
    reason: str
    undone: bool = False

    def shown(self) -> Action:
        status: Literal["done", "undone", "final"] = "undone" if self.undone else "done" if self.inverse else "final"
        return Action(
            call_id=self.call_id,
            description=self.description,
            actor=self.actor,
            status=status,
            reason=self.reason if status == "final" else None,
        )


class UndoStack:
    """The last actions of all agents in one workbench. One undo or redo runs at a time; others wait for it."""

    def __init__(self, limit: int = 200) -> None:
        self._limit = limit
        self._entries: list[_Entry] = []
        self._undone: list[_Entry] = []  # in the order they were undone; redo takes the last
        self._turning = asyncio.Lock()

    def push(
        self,
        call_id: str,
        description: str,
        *,
        actor: str = "",
        inverse: InvertStep | None = None,
        redo: InvertStep | None = None,
        reason: str = FINAL,
    ) -> Action:
        """Add what was just done. What is undone at that moment can no longer be redone and leaves the list."""
        self._entries = [entry for entry in self._entries if not entry.undone]
        self._undone.clear()
        self._entries.append(_Entry(call_id, description, actor, inverse, redo, reason))
        del self._entries[: -self._limit]
        return self._entries[-1].shown()

    def actions(self) -> tuple[Action, ...]:
        """List the actions, newest first."""
        return tuple(entry.shown() for entry in reversed(self._entries))

    async def undo(self, call_id: str | None = None) -> UndoResult:
        """Take back the newest action that can be, or the one of this call."""
        async with self._turning:
            entry, passed = self._last() if call_id is None else (self._find(call_id), ())
            if entry.inverse is None:
                raise Conflict(f"{entry.description!r} {FINAL}", hint=entry.reason if entry.reason != FINAL else "")
            if entry.undone:
                raise Conflict(f"{entry.description!r} is undone already", hint="redo does it again")
            await entry.inverse()
            entry.undone = True
            if entry in self._entries:
                self._undone.append(entry)
            return UndoResult(entry.shown(), passed)

    async def redo(self) -> UndoResult:
        """Redo the action that was undone last."""
        async with self._turning:
            if not self._undone:
                raise NotFound("there is nothing to redo", hint="redo follows an undo, before anything new is done")
            entry = self._undone[-1]
            if entry.redo is None:
                raise Conflict(f"{entry.description!r} cannot be done again by redo", hint="ask for it anew")
            await entry.redo()
            entry.undone = False
            if entry in self._undone:
                self._undone.remove(entry)
            return UndoResult(entry.shown())

    def _last(self) -> tuple[_Entry, tuple[Action, ...]]:
        passed: list[Action] = []
        for entry in reversed(self._entries):
            if entry.inverse is not None and not entry.undone:
                return entry, tuple(passed)
            if not entry.undone:
                passed.append(entry.shown())
        there = "; ".join(f"{action.description}: {action.reason}" for action in passed[:3])
        raise NotFound("there is nothing to undo", hint=there or "no agent has done anything yet")

    def _find(self, call_id: str) -> _Entry:
        known = {entry.call_id: entry for entry in self._entries}
        if call_id not in known:
            raise NotFound.of("action", call_id, known)
        return known[call_id]


def turn(store: Revisioned, step: Transition) -> InvertStep:
    """Make the inverse of a step; called again it is the redo, and so on in turns."""

    async def swap() -> None:
        nonlocal step
        step = store.undo(step)

    return swap
