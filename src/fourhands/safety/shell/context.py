"""The context of one program's classification, besides its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fourhands.safety.shell.levels import Finding
from fourhands.safety.shell.options import Tool
from fourhands.safety.shell.verdict import ClassifierRules


class Classifier(Protocol):
    """The classifier of whole commands, for programs that run other commands."""

    cwd: str
    rules: ClassifierRules
    downloads: set[str]

    def enter(self, directory: str) -> Finding:
        """Follow a change of directory."""
        ...

    def script(self, text: str, what: str) -> Finding:
        """Classify a text that a shell will run; text that is not static is dangerous."""
        ...

    def argv(self, argv: list[str], context: "CommandContext") -> Finding:
        """Classify a command by its resolved arguments."""
        ...

    def plain(self, tool: Tool, argv: list[str], context: "CommandContext") -> Finding:
        """Classify arguments by a table entry alone."""
        ...

    def secret(self, argv: list[str]) -> str:
        """Return the first argument that names a secret file, or nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Stdin:
    """A command's input: `nothing` special, a static `text` (with `source`), or `data` that is unknown here."""

    kind: str = "nothing"
    text: str = ""
    source: str = ""


_NOTHING = Stdin()


@dataclass(slots=True)
class CommandContext:
    """The surroundings of one command."""

    classifier: Classifier
    stdin: Stdin = _NOTHING
    bait: str = ""  # a secret name among the arguments of the commands whose output this one reads
    narrow: bool = False  # those commands list no secret names
    from_network: bool = False  # one of those commands fetched its output from the network


ProgramHandler = Callable[[list[str], CommandContext], Finding]
