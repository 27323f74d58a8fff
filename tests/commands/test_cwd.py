"""An agent's working directory: where its programs start, whichever command starts them."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.person import let_in
from tests.kit.workbench import open_app, temporary_places

from fourhands.agents.briefing.instructions import Instructions
from fourhands.app import App
from fourhands.core.call import Actor, Result
from fourhands.settings import SafetySettings, Settings

EASY = Settings(safety=SafetySettings(safe_commands=("pwd", "bash", "sh")))
SCRIPT: dict[str, object] = {"command": "pwd"}
PROGRAM: dict[str, object] = {"command": "pwd", "args": ["-P"]}
STARTS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("tool.bash", SCRIPT, ""),
    ("tool.execute_command", PROGRAM, "workingDirectory"),
    ("tool.run_script", {"script": "pwd\n"}, "workingDirectory"),
    ("tool.terminal_start", SCRIPT, ""),
    ("terminal.exec", PROGRAM, "cwd"),
    ("terminal.create", {}, "cwd"),
)


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app(EASY) as app:
        for name in ("mine", "other"):
            Path(app.bench.root, name).mkdir()
        yield app


async def ask(app: App, command: str, actor: Actor | None = None, /, **args: object) -> Result:
    return await app.call(f"openspace.{command}", args, actor=actor)


async def place(app: App, command: str, actor: Actor | None, /, **args: object) -> str:
    """Where a program runs, relative to the workspace."""
    result = await ask(app, command, actor, **args)
    assert result.success, result
    if command == "terminal.create":
        return app.bench.describe(app.terminals.get(str(result.data["terminalId"]))).cwd
    if command == "terminal.exec":
        one = app.terminals.get(str(result.data["terminalId"]))
        await one.wait(exit=True)
        return app.bench.relative(one.lines(1)[0])
    return app.bench.relative(str(result.data["output"]).strip())


async def test_each_start_begins_in_the_agents_directory_unless_it_names_another(app: App) -> None:
    session, stranger = let_in(app, "ada", settle_interval=40.0, max_interval=60.0), let_in(app, "bob")
    chosen = await ask(app, "agent.configure", sessionId="ada", cwd="mine/../mine")
    assert chosen.success
    assert [one.state.cwd for one in app.bench.sessions] == ["mine", None]
    for command, args, argument in STARTS:
        assert await place(app, command, session.actor, **args) == "mine", command
        if argument:  # relative to the workspace, as all paths
            assert await place(app, command, session.actor, **args, **{argument: "other"}) == "other", command
            assert await place(app, command, session.actor, **args, **{argument: "."}) == ".", command
    assert await place(app, "terminal.create", None) == "."  # the person's own
    assert await place(app, "tool.bash", stranger.actor, **SCRIPT) == "."
    written = await ask(app, "file.write", session.actor, path="a.txt", content="a")
    assert written.success
    assert Path(app.bench.root, "a.txt").exists()
    assert "Your programs start in: mine; paths of files" in told(app, session.id)
    await ask(app, "agent.configure", sessionId="ada", cwd=".")
    assert session.state.cwd is None
    assert await place(app, "tool.bash", session.actor, **SCRIPT) == "."


def told(app: App, session: str) -> str:
    """What its model is told."""
    return Instructions(app.bench).text(session)


async def test_a_directory_that_has_vanished_is_an_error_and_never_another_one(app: App) -> None:
    session = let_in(app, "ada")
    await ask(app, "agent.configure", sessionId="ada", cwd="mine")
    shutil.rmtree(Path(app.bench.root, "mine"))
    for command, args, _ in STARTS:
        result = await ask(app, command, session.actor, **args)
        assert (result.code, "'mine' does not exist" in result.error) == ("bad-cwd", True), (command, result)
        assert "agent.configure" in result.hint
    assert app.terminals.list() == []
    assert "mine (it does not exist)" in told(app, session.id)
    assert await place(app, "tool.execute_command", session.actor, **PROGRAM, workingDirectory="other") == "other"


@pytest.mark.parametrize("cwd", ["nowhere", "..", "/etc", "a.txt", " ", "", "\0", "mine/link"])
async def test_a_directory_that_will_not_do_is_refused_when_it_is_chosen(app: App, cwd: str) -> None:
    session = let_in(app, "ada")
    Path(app.bench.root, "a.txt").touch()
    Path(app.bench.root, "mine/link").symlink_to("/tmp")
    assert (await ask(app, "agent.configure", sessionId="ada", cwd=cwd)).code == "bad-cwd"
    assert session.state.cwd is None


async def test_only_the_person_chooses_it(app: App) -> None:
    session = let_in(app, "ada")
    refused = await ask(app, "agent.configure", session.actor, cwd="mine")
    assert (refused.code, "the person's choice" in refused.error) == ("bad-argument", True)
    assert session.state.cwd is None


async def test_it_survives_a_restart() -> None:
    with temporary_places() as places:
        Path(places.workspace, "mine").mkdir()
        async with App(places.workspace, EASY, places=places) as app:
            id = app.bench.begin_session("ada", "test", cwd="mine").id
        async with open_app(EASY, places) as app:
            back = app.bench.begin_session("ada", "test")
            assert (back.id, back.state.cwd) == (id, "mine")
