"""The journey of an agent that knows only blocks: it acts, looks, fails, learns of it in its next turn, and corrects.

The script is a model's; `check` asserts what must be true afterwards, however the model was reached.
"""

import json
from pathlib import Path

from tests.kit.dialects import Answer
from tests.kit.model import Request

from fourhands.app import App
from fourhands.workbench.sessions import Session

FILE = "main.py"
SEEN = "99 main.py"
"""What the command prints, and nothing in the model's own words says."""

SAID = (
    "Line 42 it is. And a terminal.\n",
    "Now the other file. ",
    "There is none, so I open the right one. ",
    "Done.",
)

STEPS = (
    *("editor.open", "editor.highlight", "terminal.create", "terminal.send", "terminal.wait", "terminal.read_output"),
    *("editor.open", "editor.open"),
)


def block(command: str, **args: object) -> str:
    """A command as a model writes it."""
    return "%%OS" + json.dumps({"cmd": f"openspace.{command}", "args": args}) + "%%"


def cut(text: str, size: int = 7) -> list[str]:
    """A text in small pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def prepare(root: Path) -> None:
    """The file that it works on."""
    (root / FILE).write_text("".join(f"line {number}\n" for number in range(1, 100)))


def story(request: Request) -> Answer:
    """What the model says, by what it has been told."""
    if request.says(SAID[2].strip()):
        return Answer(cut(SAID[3]))
    if request.says("missing.py") and request.says("FAILED"):
        return Answer(cut(SAID[2] + block("editor.open", path=FILE)))
    if request.says(SEEN):
        return Answer(cut(SAID[1] + block("editor.open", path="missing.py")))
    text = (
        "Line 42 it is. "
        + block("editor.open", path=FILE, line=42)
        + block("editor.highlight", path=FILE, ranges=[{"startLine": 42, "endLine": 50}], highlightId="here")
        + "And a terminal.\n"
        + block("terminal.create", title="check")
        + block("terminal.send", terminalId="check", text=f"wc -l {FILE}\n")
        + block("terminal.wait", terminalId="check", finished=True, deadlineSeconds=60)
        + block("terminal.read_output", terminalId="check", lines=5)
    )
    return Answer(cut(text, 11))


async def check(app: App, session: Session, said: str) -> None:
    """The journal and the state show every step, and the visible text no block."""
    entries = sorted(await app.journal.query(session=session.id, limit=100), key=lambda entry: entry.number)
    steps = [(entry.call.command.removeprefix("openspace."), entry.result) for entry in entries]
    assert tuple(name for name, _ in steps) == STEPS
    assert [bool(result and result.success) for _, result in steps] == [True] * 6 + [False, True]
    assert entries[0].call.args == {"path": FILE, "line": 42}
    assert entries[6].call.args == {"path": "missing.py"}
    assert app.bench.terminal("check").owner == session.id
    assert SEEN in app.terminals.get("check").lines(20)
    (mark,) = app.bench.state.highlights()
    assert [(place.start_line, place.end_line) for place in mark.ranges] == [(42, 50)]
    assert [editor.path for editor in app.bench.state.editors()] == [FILE]
    assert "%%OS" not in said
    assert said in ("".join(SAID), "".join(SAID[:3]))
