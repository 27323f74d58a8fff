"""The commands as instructions list them: all in full while there is room, else the least used in a line each.

What an agent may not use is not listed, nor what is announced from outside, which has its own place. The text is kept
until the registry or the choice of shortened ones changes.
"""

from collections.abc import Mapping

from fourhands.agents.briefing.budget import BYTES_PER_TOKEN, fit, tokens
from fourhands.commands.help import HELP, block, explain, line
from fourhands.core.registry import Command, Registry

_HEADING = 40  # bytes for a category's heading and the blank lines around it


class CommandList:
    """The list of one registry's commands."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._version = ""
        self._commands: list[Command] = []
        self._full: dict[str, str] = {}
        self._brief: dict[str, str] = {}
        self._needed = 0  # bytes, to list all of them in full
        self._text: tuple[object, str] | None = None

    def text(self, room: int, used: Mapping[str, int]) -> str:
        """List the commands in at most `room` tokens; `used` counts how often each one has been used."""
        self._refresh()
        short = self._shortened(room, used)
        key = (self._version, room, short)
        if self._text is None or self._text[0] != key:
            self._text = (key, self._compose(room, short))
        return self._text[1]

    def _refresh(self) -> None:
        version = self._registry.version
        if version != self._version:
            mine = [command for command in self._registry if "agent" in command.actors]
            self._commands = [command for command in mine if not command.announced]
            self._full = {command.id: explain(command) for command in self._commands}
            self._brief = {command.id: line(command) for command in self._commands}
            headings = _HEADING * len({command.category for command in self._commands})
            about = len(_about(len(self._commands)).encode())
            self._needed = headings + about + sum(len(text.encode()) + 2 for text in self._full.values())
            self._version = version

    def _shortened(self, room: int, used: Mapping[str, int]) -> frozenset[str]:
        """Choose which commands get one line only: the least used, and of those the longest, until the rest fits."""
        spare = room * BYTES_PER_TOKEN - self._needed
        if spare >= 0:
            return frozenset()
        short: set[str] = set()
        order = sorted(self._full, key=lambda id: (used.get(id, 0), -len(self._full[id]), id))
        for id in order:
            if spare >= 0:
                break
            if id == HELP:
                continue  # it is what explains the others
            spare += len(self._full[id].encode()) - len(self._brief[id].encode())
            short.add(id)
        return frozenset(short)

    def _compose(self, room: int, short: frozenset[str]) -> str:
        if not self._commands:
            return "None."
        parts = [_about(len(short))] if short and HELP in self._full else []
        for category in sorted({command.category for command in self._commands}):
            mine = [command.id for command in self._commands if command.category == category]
            parts.append(f"### {category}")
            parts += [self._full[id] for id in mine if id not in short]
            briefs = [self._brief[id] for id in mine if id in short]
            parts += ["\n".join(briefs)] if briefs else []
        text = "\n\n".join(parts)
        if tokens(text) <= room:
            return text
        # Even a line each is too much: what stands behind is found by asking.
        return "\n".join(
            fit(text.split("\n"), room, lambda count: f"… and more: {block(HELP, {})} lists all commands.")
        )


def _about(count: int) -> str:
    example = block(HELP, {"command": "ID"})
    return f"{count} commands are given in one line each (optional arguments have a ?). Explained in full by {example}"
