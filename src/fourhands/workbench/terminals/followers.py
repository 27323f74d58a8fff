"""Subscriptions to all terminals at once: those that are there, and those to come, from their first byte on."""

from collections.abc import Callable, Iterable

from fourhands.core.event import Dispose
from fourhands.workbench.terminals.terminal import Terminal

Subscribe = Callable[[Terminal, bool], Dispose]
"""Subscribes to one terminal, given whether it is a new one; returns what ends that."""


class Followers:
    """The followers of all terminals; the owner of the terminals tells of each that comes and goes."""

    def __init__(self) -> None:
        self._all: list[tuple[Subscribe, dict[str, Dispose]]] = []

    def add(self, subscribe: Subscribe, present: Iterable[Terminal]) -> Dispose:
        """Follow the present terminals and all that come; returns what ends it."""
        follower = subscribe, {terminal.id: subscribe(terminal, False) for terminal in present}
        self._all.append(follower)

        def stop() -> None:
            if follower in self._all:
                self._all.remove(follower)
            for end in follower[1].values():
                end()
            follower[1].clear()

        return stop

    def came(self, terminal: Terminal) -> None:
        """There is one more."""
        for subscribe, ends in list(self._all):
            if terminal.id not in ends:
                ends[terminal.id] = subscribe(terminal, True)

    def went(self, terminal: Terminal) -> None:
        """One is no more; what it said last has been handed over."""
        for _, ends in self._all:
            ends.pop(terminal.id, lambda: None)()
