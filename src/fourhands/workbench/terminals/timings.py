"""Seconds of a terminal's life, as arguments."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TerminalTimings:
    """Seconds that one terminal waits for its shell."""

    slow_start_s: float = 3.0
    """Without a prompt, until a shell is said to be slow to start."""

    redraw_s: float = 0.15
    """After a new size, until the prompt is drawn again."""

    moment_s: float = 0.25
    """For a shell that is about to finish something, before it counts as busy."""

    prompt_s: float = 10.0
    """For a prompt that is sure to come, since a command has just ended."""


@dataclass(frozen=True, slots=True)
class SpareTimings:
    """Seconds of a spare shell."""

    refill_s: float = 0.1
    """After a shell was asked for, until the next spare one is started: its user has seen the first by then."""

    prompt_s: float = 5.0
    """For a spare shell's first prompt: read now, it need not be read when the shell is asked for."""

    finish_s: float = 120.0
    """For an unwanted spare shell to finish its start-up files before it is ended."""
