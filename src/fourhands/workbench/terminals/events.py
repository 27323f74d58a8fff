"""The events of terminals."""

from fourhands.core.event import EventData
from fourhands.workbench.terminals.info import TerminalInfo


class TerminalEvent(EventData, frozen=True, kw_only=True):
    """The base of events that describe a terminal as it is now."""

    terminal: TerminalInfo


class TerminalOpened(TerminalEvent, frozen=True, kw_only=True):
    """A terminal was created."""

    event = "terminal.created"


class TerminalChanged(TerminalEvent, frozen=True, kw_only=True):
    """A terminal's title, shell, directory or lease is another, or a command has finished in it."""

    event = "terminal.changed"


class TerminalResized(TerminalEvent, frozen=True, kw_only=True):
    """A terminal has another size."""

    event = "terminal.resized"


class TerminalPaused(TerminalEvent, frozen=True, kw_only=True):
    """A terminal's output waits: its log cannot be written, because the disk is full or for another reason."""

    event = "terminal.paused"


class TerminalResumed(TerminalEvent, frozen=True, kw_only=True):
    """A terminal's output flows again."""

    event = "terminal.resumed"


class TerminalExited(TerminalEvent, frozen=True, kw_only=True):
    """A terminal's main process has ended; its output can still be read."""

    event = "terminal.exited"


class TerminalClosed(EventData, frozen=True, kw_only=True):
    """A terminal was closed, and is gone."""

    event = "terminal.closed"
    terminal_id: str
    title: str


TERMINAL_EVENTS: dict[str, type[TerminalEvent]] = {
    "created": TerminalOpened,
    "changed": TerminalChanged,
    "resized": TerminalResized,
    "paused": TerminalPaused,
    "resumed": TerminalResumed,
    "exited": TerminalExited,
}
"""The event of each change that a terminal reports."""
