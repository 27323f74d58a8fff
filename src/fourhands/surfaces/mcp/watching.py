"""Sees when a resource that somebody watches has changed, and says so at most once a second."""

import contextlib
from collections.abc import Callable

from fourhands.agents.briefing.hub import PUBLISHED
from fourhands.core.event import Dispose, Event
from fourhands.core.registry import Registry
from fourhands.core.timing import Throttle
from fourhands.surfaces.mcp.resources import INSTRUCTIONS, reading
from fourhands.workbench.workbench import Workbench

INTERVAL_S = 1.0

_FILE = "openspace.file.read"
_TERMINAL = "openspace.terminal.read_output"


class Watching:
    """Resources by URI, each watched once however many want to know; `changed` is called with its URI."""

    def __init__(self, bench: Workbench, changed: Callable[[str], None]) -> None:
        self._bench = bench
        self._changed = changed
        self._watches: dict[str, tuple[int, Dispose]] = {}

    def add(self, uri: str) -> Dispose:
        """Watch a resource until the returned function is called; `NotFound` where there is none of that URI."""
        count, stop = self._watches.get(uri) or (0, self._watch(uri))
        self._watches[uri] = (count + 1, stop)
        dropped = False

        def drop() -> None:
            nonlocal dropped
            if dropped:
                return
            dropped = True
            count, stop = self._watches[uri]
            if count > 1:
                self._watches[uri] = (count - 1, stop)
            else:
                del self._watches[uri]
                stop()

        return drop

    def _watch(self, uri: str) -> Dispose:
        throttle = Throttle(lambda: self._changed(uri), INTERVAL_S)
        happens = _what_changes(self._bench.registry, uri)
        with contextlib.ExitStack() as stack:
            stack.callback(throttle.cancel)
            stack.callback(
                self._bench.events.published.subscribe(lambda event: throttle.request() if happens(event) else None)
            )
            if uri != INSTRUCTIONS:
                command, args = reading(self._bench.registry, uri)
                if command == _TERMINAL:
                    # A title may mean another terminal to each who watches: each of them is listened to.
                    for terminal in self._bench.terminals.named(str(args["terminalId"])):
                        stack.callback(terminal.listen(throttle.request))
            return stack.pop_all().close


def _what_changes(registry: Registry, uri: str) -> Callable[[Event], bool]:
    """Whether an event changes a resource; what a plugin's command reads changes unseen."""
    if uri == INSTRUCTIONS:
        return lambda event: event.kind == PUBLISHED or event.kind.startswith("terminal.")
    command, args = reading(registry, uri)
    if command == _FILE:
        return lambda event: event.kind == "file.changed" and event.data.get("path") == args["path"]
    return lambda event: False
