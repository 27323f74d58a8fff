"""The errands of the counterparts are worth something only if they notice what must not be."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.counterparts import table
from tests.kit.counterparts.errands import COMMAND, DANGER, EDIT, ERRANDS, TERMINAL, ByTools, Errands
from tests.kit.counterparts.recipes import recipe
from tests.kit.counterparts.report import Report
from tests.kit.counterparts.table import Row
from tests.kit.model import Request

REFUSAL = "nobody is there"


class Client:
    """A client with a workbench of its own, which does all well but for what a test changes."""

    def __init__(self, root: Path, **changed: Callable[[dict[str, Any]], str]) -> None:
        self.root = root
        self.changed = changed
        self.messages: list[dict[str, Any]] = []
        self.tools = [{"type": "function", "function": {"name": "bash"}}]

    def bash(self, args: dict[str, Any]) -> str:
        return REFUSAL if args["command"].startswith("rm") else "40-41-42-43-44\nexit 3"

    def read(self, args: dict[str, Any]) -> str:
        return (self.root / str(args["path"])).read_text()

    def edit(self, args: dict[str, Any]) -> str:
        path = self.root / str(args["path"])
        path.write_text(path.read_text().replace("one", "two"))
        return "edited notes.txt · line 1"

    def terminal_start(self, args: dict[str, Any]) -> str:
        return "ID: term_7Q3F"

    def terminal_continue(self, args: dict[str, Any]) -> str:
        return str(int(args["stdin"]) * 2)

    def terminal_stop(self, args: dict[str, Any]) -> str:
        return f"Terminal session {args['sessionId']} terminated."

    def run(self, errands: Errands) -> None:
        for _ in range(20):
            body = {"messages": self.messages, "tools": self.tools}
            answer = errands(Request("chat", "/chat/completions", {}, {}, json.loads(json.dumps(body)), False))
            if not answer.tools:
                return
            for call in answer.tools:
                self.messages.append({"role": "assistant", "content": "", "tool_calls": [{"id": call.id}]})
                said = self.changed.get(call.name, getattr(self, call.name))(call.input)
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": said})


def wrong(root: Path, **changed: Callable[[dict[str, Any]], str]) -> dict[str, str]:
    errands = Errands(ByTools(), REFUSAL)
    errands.lay_out(root)
    Client(root, **changed).run(errands)
    return Report(errands, "", 0.0).problems


def test_where_all_is_as_it_must_be_nothing_is_wrong(tmp_path: Path) -> None:
    assert wrong(tmp_path) == {}


CASES: dict[str, tuple[str, str, dict[str, Callable[[dict[str, Any]], str]]]] = {
    "a result that is cut": (COMMAND, "no '40-41-42-43-44'", {"bash": lambda args: "40-41\nexit 3"}),
    "a result that is told twice": (
        COMMAND,
        "stands 2 times",
        {"bash": lambda args: "40-41-42-43-44\n40-41-42-43-44\nexit 3"},
    ),
    "no exit code": (COMMAND, "no exit code", {"bash": lambda args: "40-41-42-43-44\n"}),
    "a file that is not edited": (EDIT, "the file is now 'first: one", {"edit": lambda args: "edited notes.txt"}),
    "a terminal without an id": (TERMINAL, "no id", {"terminal_start": lambda args: "it runs"}),
    "another terminal": (TERMINAL, "no 'term_7Q3F'", {"terminal_stop": lambda args: "Terminal session x terminated."}),
    "a refusal without its reason": (DANGER, f"no '{REFUSAL}'", {"bash": lambda args: "40-41-42-43-44\nexit 3"}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_must_not_be_is_noticed_and_the_others_go_on(tmp_path: Path, name: str) -> None:
    errand, problem, changed = CASES[name]
    found = wrong(tmp_path, **changed)
    assert problem in found.pop(errand)
    assert set(found) <= {DANGER}  # of a shell that always says the same


def test_a_line_that_was_run_though_nobody_allowed_it_is_noticed(tmp_path: Path) -> None:
    def run(args: dict[str, Any]) -> str:
        if args["command"].startswith("rm"):
            (tmp_path / "precious" / "kept.txt").unlink()
        return f"40-41-42-43-44\nexit 3 {REFUSAL}"

    assert wrong(tmp_path, bash=run)[DANGER] == "it was run, and nobody was asked"


def test_a_client_that_lacks_our_tools_or_loses_a_result_is_noticed(tmp_path: Path) -> None:
    for break_it in (lambda client: client.tools.clear(), lambda client: None):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        root.mkdir()
        errands = Errands(ByTools("fourhands_"))
        errands.lay_out(root)
        client = Client(root)
        break_it(client)
        client.run(errands)
        assert set(Report(errands, "it said this", 0.0).problems) == set(ERRANDS)
        assert not errands.outcomes or "not offered fourhands_bash" in errands.outcomes[0].problem


def test_the_table_tells_what_failed_and_why_and_what_a_person_was_asked_too_often(tmp_path: Path) -> None:
    errands = Errands(ByTools(), REFUSAL)
    errands.lay_out(tmp_path)
    Client(tmp_path, edit=lambda args: "edited notes.txt").run(errands)

    async def never() -> Report:
        raise AssertionError

    row = Row("A client", "1.2.3", True, never)
    text = table.render([(row, Report(errands, "", 2.0, ["consent", "rm", "rm"], ["consent", "rm"]), 1234)])
    head, _, line, *notes = text.splitlines()
    assert head.startswith("| counterpart | version | person | a command |")
    assert line.startswith("| A client | 1.2.3 | there | 0.0 s | no [1] | 0.0 s | no [2] | 2.0 s | 1,234 |")
    assert any(note.startswith("[1] the file is now") for note in notes)
    assert "[2] the person was asked ['consent', 'rm', 'rm']" in notes


def test_a_recipe_is_what_a_reader_follows() -> None:
    codex = recipe("Codex in CI")
    assert list(codex.files) == ["~/.codex/config.toml"]
    assert "[mcp_servers.fourhands]" in codex.files["~/.codex/config.toml"]
    assert codex.lines == ['codex exec "Run the tests and mend what fails."']
    assert recipe("Claude Code").lines == ["claude mcp add fourhands -- fourhands mcp ."]
    assert "StdioServerParameters(" in recipe("Python in CI").python
