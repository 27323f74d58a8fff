"""The watcher of a terminal's changes that no call caused: of its shell, of a secret prompt, of its size.

No caller polls: output wakes this up, and a moment later it reads the state once and reports a difference. While it
waits it is not woken, and during a flood it does not read: the program runs, and its marks are read when it is over.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from fourhands.workbench.terminals.terminal import Terminal

LOOK_S = 0.05
"""Seconds after output until it looks; what comes and goes in between is one change, or none."""

FLOOD = 256 * 1024
"""Bytes since the last look that make it wait on."""

FLOOD_S = 0.25

ONCE_MORE_S = 0.5
"""Seconds after the last look until the next: a program asks for a password before it switches the echo off."""


Observed = TypeVar("Observed")


class Watcher(Generic[Observed]):
    """Follows one terminal until its program ends or it is closed.

    The `facts` of what `see` returns are compared, and the very same is told, as `first` was: the program goes on
    meanwhile, and what is looked at a second time for telling can tell of a change that is then told again.
    """

    def __init__(
        self,
        terminal: Terminal,
        first: Observed,
        *,
        see: Callable[[], Observed],
        facts: Callable[[Observed], object],
        tell: Callable[[Observed], None],
    ) -> None:
        self._terminal = terminal
        self._see = see
        self._facts = facts
        self._tell = tell
        self._told = facts(first)
        self._head = terminal.log.head
        self._looks = 0
        self._more = False
        self._stop = terminal.listen(self._woken)

    def _woken(self) -> None:
        self._stop()
        if not self._terminal.exited:
            self._terminal.later(LOOK_S, self._look)

    def _look(self) -> None:
        terminal = self._terminal
        if terminal.exited:
            return  # told by itself, with all that can be known
        grown, self._head = terminal.log.head - self._head, terminal.log.head
        if grown > FLOOD:
            terminal.later(FLOOD_S, self._look)
            return
        self._stop = terminal.listen(self._woken)  # before the look, or what comes during it would be missed
        self._looks += 1
        self._compare()
        if not self._more:
            self._more = True
            self._look_once_more()

    def _look_once_more(self) -> None:
        looks = self._looks

        def last() -> None:
            if self._looks != looks:  # there was more to see since: that has a last look of its own
                self._look_once_more()
                return
            self._more = False
            if not self._terminal.exited and self._terminal.log.head == self._head:
                self._compare()

        self._terminal.later(ONCE_MORE_S, last)

    def _compare(self) -> None:
        self._terminal.look_at_size()
        seen = self._see()
        facts = self._facts(seen)
        if facts != self._told:
            self._told = facts
            self._tell(seen)
