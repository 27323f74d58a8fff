"""The prompt that an agent's keys would meet."""

from dataclasses import dataclass
from typing import Literal

from fourhands.safety.input import PromptSeen, Reader
from fourhands.workbench.terminals.handle import is_shell_name
from fourhands.workbench.terminals.shell.input_line import InputLine
from fourhands.workbench.terminals.shell.tracker import BECOMES_ANOTHER, ELSEWHERE

NO_READER = Reader("")
PromptKind = Literal["prompt", "incomplete", "shell", "program"]
"""A prompt, the prompt for the rest of a command, a shell without marks, or a program that is no shell."""


@dataclass(frozen=True, slots=True)
class PromptState:
    """The line and the program that an agent's keys would meet.

    `before` are submitted lines of a command that may still want its rest; `settled` says whether it is certain that
    it does. `group` is the foreground process group, by which a program is told from the next one of its name.

    Of a program: `reader` says how it takes what is typed, `prompt` whether its own prompt stands there, `keys` are
    agents' keys behind the last Enter, `statement` the lines of what its prompt wants the rest of. `ended`: an agent
    has typed what may end it.
    """

    place: PromptKind
    line: InputLine
    before: tuple[str, ...] = ()
    settled: bool = True
    pastes: bool = False
    program: str = ""
    group: int = 0
    reader: Reader = NO_READER
    prompt: PromptSeen = ""
    keys: str = ""
    statement: tuple[str, ...] = ()
    ended: bool = False


def leads_to_a_shell(program: str) -> bool:
    """Return True if what is typed into a program is read by a shell: its own, or one behind it."""
    return is_shell_name(program) or program in ELSEWHERE or program in BECOMES_ANOTHER
