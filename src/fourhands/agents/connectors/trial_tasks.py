"""Twenty small tasks for a model that has been given the instructions, and what blocks would be right for each.

They are asked of a scratch workspace (`Scratch`): what a task names is there. A task is right if every block could be
read, named a command that agents have, had arguments of the right form, and if the wanted ones came in their order.
Further commands that only read do no harm, except where none is wanted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fourhands.agents.briefing.feedback import render
from fourhands.agents.models.history import HistoryMessage
from fourhands.commands.help import block
from fourhands.core.registry import Registry
from fourhands.workbench.sessions import CommandResult

TaskCheck = Callable[[object, "Scratch"], bool]

FILES = {
    "README.md": "# Demo\n\nA small service.\n",
    "src/app.py": "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(1, 30)),
    "src/store.py": "class Store:\n    pass\n",
    "src/auth.py": "def validate_token(token):\n    return bool(token)\n",
}
TERMINALS = ("build", "server")
OPEN = "README.md"


@dataclass(frozen=True, slots=True)
class Scratch:
    """The place that the tasks are about: what a model is told of it, and by which names things are known there."""

    instructions: str
    registry: Registry
    aliases: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class ExpectedBlock:
    """One block: any of these commands, with these arguments; a value, or a function that says whether one fits."""

    commands: tuple[str, ...]
    args: Mapping[str, "object | TaskCheck"] = field(default_factory=dict)

    def problem(self, command: Mapping[str, Any], here: Scratch) -> str:
        """Return what is wrong with a block's arguments; nothing if they fit."""
        given = command.get("args", {})
        for name, wanted in self.args.items():
            value = given.get(name)
            if not (wanted(value, here) if callable(wanted) else value == wanted):
                return f"{name} is {value!r}"
        return ""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to ask; `before` is what was said until then, `shows` what the person must see in the answer."""

    name: str
    text: str
    wanted: tuple[ExpectedBlock, ...] = ()
    also: tuple[str, ...] = ()  # commands that change something and are no mistake here
    before: Callable[[Registry], Sequence[HistoryMessage]] | None = None
    shows: str = ""

    def messages(self, registry: Registry) -> list[HistoryMessage]:
        """Return the conversation that ends with the task."""
        earlier = list(self.before(registry)) if self.before is not None else []
        return [*earlier, {"role": "user", "content": self.text}] if self.text else earlier


def one(command: str, **args: "object | TaskCheck") -> ExpectedBlock:
    """Want this command; several are separated by `|`."""
    return ExpectedBlock(tuple(f"openspace.{name}" for name in command.split("|")), args)


def path(wanted: str) -> TaskCheck:
    """Accept this path, with or without a leading `./`."""
    return lambda value, here: isinstance(value, str) and value.removeprefix("./") == wanted


def named(wanted: str) -> TaskCheck:
    """Something by its title, path or id."""
    return lambda value, here: value == wanted or value in here.aliases.get(wanted, frozenset())


def like(pattern: str) -> TaskCheck:
    """Accept a text that matches the whole pattern."""
    return lambda value, here: isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None


def _mistake(registry: Registry) -> list[HistoryMessage]:
    """Return a turn with a failed command, and the report of it that the model got."""
    wrong: dict[str, object] = {"path": "src/ap.py", "line": 9}
    result = CommandResult(
        number=1,
        command_id="openspace.editor.open",
        args=wrong,
        success=False,
        error="no file or directory 'src/ap.py' (did you mean 'src/app.py'? there: app.py, auth.py, store.py)",
        timestamp=0.0,
    )
    return [
        {"role": "user", "content": "Show me line 9 of the file with the functions f1 to f29."},
        {"role": "assistant", "content": f"I open it.\n\n{block('openspace.editor.open', wrong)}\n"},
        {"role": "user", "content": render([result], registry, lambda id, text: None)},
    ]


def _ranges(value: object, here: Scratch) -> bool:
    return isinstance(value, list) and [(r.get("startLine"), r.get("endLine")) for r in value] == [(3, 5)]


def _in_time(value: object, here: Scratch) -> bool:
    return value is None or (isinstance(value, int | float) and value >= 100)


def _if_given(fits: TaskCheck) -> TaskCheck:
    return lambda value, here: value is None or fits(value, here)


def _holds(word: str) -> TaskCheck:
    return lambda value, here: value is None or word in str(value)


TASKS = (
    Task(
        "open at a line",
        "Show me line 42 of src/app.py.",
        (one("editor.open|editor.scroll_to", path=path("src/app.py"), line=42),),
    ),
    Task(
        "highlight",
        "Mark lines 3 to 5 of src/auth.py for me.",
        (one("editor.highlight", path=path("src/auth.py"), ranges=_ranges),),
        also=("openspace.editor.open",),
    ),
    Task(
        "terminal and command",
        "Open a new terminal called tests and run `npm test` in it.",
        (one("terminal.create", title="tests"), one("terminal.send", terminalId="tests", text="npm test\n")),
    ),
    Task(
        "read output",
        "What are the last 20 lines in the terminal build?",
        (one("terminal.read_output", terminalId=named("build"), lines=20),),
    ),
    Task(
        "split",
        "Show src/store.py in a new pane to the right of what is open now.",
        (one("pane.open", type="editor", contentId=path("src/store.py"), splitDirection="vertical"),),
    ),
    Task(
        "list panes",
        "Which panes are there right now, and how large is each? Look it up, do not guess.",
        (one("pane.list|workbench.snapshot"),),
    ),
    Task(
        "resize",
        "Make the pane with README.md 70 percent wide.",
        (one("pane.resize", paneId=named("README.md"), width=70),),
    ),
    Task(
        "write a file",
        "Create the file notes/todo.md with a single line: buy milk",
        (one("file.write", path=path("notes/todo.md"), content=like(r"buy milk\n?")),),
        also=("openspace.editor.open",),
    ),
    Task(
        "change a file",
        "The file src/store.py has exactly these two lines:\n\nclass Store:\n    pass\n\n"
        "Rename the class to Shelf, in the file.",
        (one("file.write|file.edit", path=path("src/store.py"), content=_holds("class Shelf:\n    pass")),),
        also=("openspace.editor.open",),
    ),
    Task(
        "search",
        "Where is validate_token used in the workspace?",
        (one("file.search", query=like(r".*validate_token.*")),),
    ),
    Task(
        "close",
        "Close the editor of README.md.",
        (one("editor.close|pane.close", path=_if_given(path("README.md")), paneId=_if_given(named("README.md"))),),
    ),
    Task(
        "correct a mistake",
        "",
        (one("editor.open|editor.scroll_to", path=path("src/app.py"), line=9),),
        before=_mistake,
    ),
    Task(
        "explain only",
        "Show me in a code fence how a block that opens README.md is written. Only explain it, open nothing.",
        shows="%%OS",
    ),
    Task("nothing to do", "Thank you, that is all for now. Have a nice day!"),
    Task(
        "two in order",
        "First open src/auth.py, then close the terminal server.",
        (one("editor.open", path=path("src/auth.py")), one("terminal.close", terminalId=named("server"))),
    ),
    Task(
        "a title as id",
        "Press Ctrl-C in the terminal server.",
        (one("terminal.interrupt|terminal.send", terminalId=named("server"), text=_holds("\x03")),),
    ),
    Task(
        "letters of the world",
        "Create the file grüße.txt with this single line: Schöne Grüße 👋 aus Köln",
        (one("file.write", path=path("grüße.txt"), content=like(r"Schöne Grüße 👋 aus Köln\n?")),),
        also=("openspace.editor.open",),
    ),
    Task(
        "quotes and backslashes",
        'Type exactly this line into the terminal build, and press Enter:\n\nprintf "%s\\n" \'a "b"\'',
        (one("terminal.send", terminalId=named("build"), text='printf "%s\\n" \'a "b"\'\n'),),
    ),
    Task(
        "wait",
        "Wait until the command in the terminal build has finished, for at most two minutes.",
        (one("terminal.wait", terminalId=named("build"), finished=True, deadlineSeconds=_in_time),),
    ),
    Task(
        "read some lines",
        "What do lines 10 to 20 of src/app.py say?",
        (one("file.read|editor.read_file", path=path("src/app.py"), startLine=10, endLine=20),),
    ),
)
