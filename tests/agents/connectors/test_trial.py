"""The instructions tried with a model: which answers are right, which wrong and why, and what trouble comes to."""

import os
from typing import Any

import pytest
from tests.kit.answering import listening, once
from tests.kit.model import Answer, Model, Request, text_of

from fourhands.agents.connectors.endpoint import Endpoint
from fourhands.agents.connectors.trial import Judged, Trial, judge, shown
from fourhands.agents.connectors.trial_tasks import TASKS, Scratch, Task
from fourhands.app import CONTRIBUTIONS
from fourhands.commands.help import block
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.core.registry import Registry


def do(command: str, **args: object) -> str:
    return block(f"openspace.{command}", args)


RIGHT: dict[str, str] = {
    "open at a line": "Here: " + do("editor.open", path="src/app.py", line=42),
    "highlight": do("editor.open", path="src/auth.py")
    + do("editor.highlight", path="src/auth.py", ranges=[{"startLine": 3, "endLine": 5}]),
    "terminal and command": do("terminal.create", title="tests")
    + do("terminal.send", terminalId="tests", text="npm test\n")
    + do("terminal.wait", terminalId="tests", finished=True),
    "read output": do("terminal.read_output", terminalId="build", lines=20),
    "split": do("pane.open", type="editor", contentId="./src/store.py", splitDirection="vertical"),
    "list panes": do("pane.list"),
    "resize": do("pane.resize", paneId="pane_1", width=70),
    "write a file": do("file.write", path="notes/todo.md", content="buy milk\n"),
    "change a file": do("file.write", path="src/store.py", content="class Shelf:\n    pass\n"),
    "search": do("file.search", query="validate_token"),
    "close": do("editor.close", path="README.md"),
    "correct a mistake": "Sorry. " + do("editor.open", path="src/app.py", line=9),
    "explain only": "So:\n\n```\n" + do("editor.open", path="README.md") + "\n```\n",
    "nothing to do": "You are welcome.",
    "two in order": do("editor.open", path="src/auth.py") + do("terminal.close", terminalId="server"),
    "a title as id": do("terminal.interrupt", terminalId="term_server"),
    "letters of the world": do("file.write", path="grüße.txt", content="Schöne Grüße 👋 aus Köln"),
    "quotes and backslashes": do("terminal.send", terminalId="build", text='printf "%s\\n" \'a "b"\'\n'),
    "wait": do("terminal.wait", terminalId="build", finished=True, deadlineSeconds=120),
    "read some lines": do("file.read", path="src/app.py", startLine=10, endLine=20),
}

WRONG: list[tuple[str, str, str]] = [
    ("open at a line", "I cannot do that.", "no block with openspace.editor.open"),
    ("open at a line", "", "no block with"),
    ("open at a line", do("editor.open", path="src/app.py", line=41), "line is 41"),
    ("open at a line", do("editor.opn", path="src/app.py", line=42), "no command 'openspace.editor.opn'"),
    ("open at a line", do("editor.open", path="src/app.py", line="42"), "argument 'line' must be"),
    ("open at a line", do("editor.open", path="src/app.py", line=42, extra=1), 'no argument "extra"'),
    ("open at a line", do("editor.save", path="src/app.py"), "openspace.editor.save is not for agents"),
    ("open at a line", '%%OS{"cmd": "openspace.editor.open", "args": [1]}%%', "args is to be an object"),
    ("open at a line", '%%OS{"cmd": "openspace.editor.open", "args": {"path": 1,}}%%', "a block cannot be read"),
    ("open at a line", '%%OS{"cmd": "openspace.editor.open"', "a block cannot be read"),
    ("open at a line", "```\n" + RIGHT["open at a line"] + "\n```", "no block with"),
    ("open at a line", RIGHT["open at a line"] + do("terminal.close", terminalId="build"), "is not wanted here"),
    ("terminal and command", do("terminal.create", title="tests"), "no block with openspace.terminal.send"),
    ("terminal and command", RIGHT["terminal and command"].replace("\\n", ""), "text is 'npm test'"),
    ("two in order", do("terminal.close", terminalId="server") + do("editor.open", path="src/auth.py"), "not wanted"),
    ("close", do("editor.close", path="src/app.py"), "path is 'src/app.py'"),
    ("close", do("pane.close", paneId="build"), "paneId is 'build'"),
    ("resize", do("pane.resize", paneId="build", width=70), "paneId is 'build'"),
    ("explain only", do("editor.open", path="README.md"), "%%OS is to be seen in the answer"),
    ("explain only", RIGHT["explain only"] + do("pane.list"), "is not wanted here"),
    ("nothing to do", do("pane.list"), "openspace.pane.list is not wanted here"),
    ("letters of the world", do("file.write", path="grüße.txt", content="Schone Grusse"), "content is"),
    ("change a file", do("file.write", path="src/store.py", content="class Store:\n    pass\n"), "content is"),
]


@pytest.fixture(scope="module")
def here() -> Scratch:
    registry = Registry()
    for contribution in CONTRIBUTIONS:
        registry.include(contribution)
    aliases = {"README.md": frozenset({"pane_1", "tab_1"}), "server": frozenset({"term_server"})}
    return Scratch("# System Instructions", registry, aliases)


def test_there_are_twenty_tasks_and_each_has_an_answer_that_is_right(here: Scratch):
    assert [task.name for task in TASKS] == list(RIGHT)
    assert len(TASKS) == 20
    for task in TASKS:
        judged = judge(task, RIGHT[task.name], here)
        assert (judged.right, judged.reason) == (True, ""), task.name


def test_wrong_answers_are_wrong_for_a_reason_that_is_said(here: Scratch):
    tasks = {task.name: task for task in TASKS}
    for name, answer, reason in WRONG:
        judged = judge(tasks[name], answer, here)
        assert not judged.right, (name, answer)
        assert reason in judged.reason, (name, answer)


def task_of(request: Request) -> Task:
    """Which task a request asks."""
    said = request.last
    return next((task for task in TASKS if task.text == said), TASKS[11])


async def run(here: Scratch, endpoint: Endpoint, **options: Any) -> list[Judged]:
    async def at_once(seconds: float) -> None:
        return None

    trial = Trial(endpoint, here, os.environ, sleep=at_once, **options)
    return [judged async for judged in trial.run()]


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_model_that_understands_gets_all_right_and_is_told_the_instructions(here: Scratch, kind: Any):
    async with Model(lambda request: Answer(RIGHT[task_of(request).name], thinking="hm %%OS{")) as model:
        url = model.url if kind == "anthropic" else f"{model.url}/v1"
        judged = await run(here, Endpoint(url=url, model="fake", kind=kind, key="k"))
        assert [one.reason for one in judged] == [""] * 20
        assert all(request.says("# System Instructions") for request in model.requests)
        mistake = model.requests[11].body["messages"]
        assert [message["role"] for message in mistake if message["role"] != "system"] == ["user", "assistant", "user"]
        assert "did you mean 'src/app.py'" in text_of(mistake[-1])


async def test_trouble_in_the_middle_costs_a_task_and_a_busy_endpoint_is_asked_again(here: Scratch):
    script = [
        Answer(RIGHT["open at a line"]),
        Answer(status=429),
        Answer(status=503),
        Answer(RIGHT["highlight"]),
        Answer(status=400, error="too long"),
        Answer("never", error="overloaded"),
    ]
    async with Model(script) as model:
        judged = await run(here, Endpoint(url=f"{model.url}/v1", model="fake"), tasks=TASKS[:4])
    assert [one.right for one in judged] == [True, True, False, False]
    assert "no answer: the model refused with status 400: too long" in judged[2].reason
    assert "overloaded" in judged[3].reason


async def test_an_endpoint_that_is_down_refuses_the_key_or_is_none_ends_it(here: Scratch):
    with pytest.raises(Unavailable, match="cannot be reached"):
        await run(here, Endpoint(url="http://127.0.0.1:9/v1", model="fake"))
    async with Model([Answer(RIGHT["open at a line"]), Answer(status=401, error="bad key")]) as model:
        with pytest.raises(Unavailable, match="status 401: bad key"):
            await run(here, Endpoint(url=f"{model.url}/v1", model="fake"))
        assert len(model.requests) == 2
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<h1>Hi</h1>"
    async with listening(once(page)) as port:
        with pytest.raises(Unavailable, match="unexpected response from the model endpoint"):
            await run(here, Endpoint(url=f"http://127.0.0.1:{port}", model="fake"))


def test_the_key_is_found_where_it_is_named_and_an_address_is_shown_without_secrets():
    env = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "MINE": "m"}
    assert Endpoint.of("https://host/v1#x", env).key == "o"
    assert Endpoint.of("anthropic:https://host#x", env).key == "a"
    assert Endpoint.of("anthropic:https://host#x", env | {"FOURHANDS_MODEL_KEY": "f"}).key == "f"
    assert Endpoint.of("https://host/v1#x", env, "MINE").key == "m"
    with pytest.raises(BadArgument, match="YOURS is not set"):
        Endpoint.of("https://host/v1#x", env, "YOURS")
    for wrong in ("host#x", "https://host", "", "#"):
        with pytest.raises(BadArgument):
            Endpoint.of(wrong, env)
    assert shown(Endpoint(url="https://me:secret@host/v1?key=secret", model="x")) == "https://host/v1"
