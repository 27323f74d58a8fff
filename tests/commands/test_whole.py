"""Commands that do several things do all of them or nothing: at limits, in faults, and when their caller goes away."""

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.kit.hosts import asked, listed, stopped
from tests.kit.server import until
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.errors import LimitReached
from fourhands.settings import Settings, TerminalSettings
from fourhands.workbench.files.replacement import REPLACING
from fourhands.workbench.layout.panes import tabs
from fourhands.workbench.layout.state import WorkbenchState

STARTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("openspace.terminal.create", {}),
    ("openspace.terminal.exec", {"command": "sleep", "args": ["1000"]}),
    ("openspace.tool.terminal_start", {"command": "sleep 1000", "stdin": "x\n"}),
)


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as opened:
        yield opened


def agent(app: App) -> Actor:
    session = app.bench.begin_session("Ada", "test")
    app.gate.consent.grant(session.id)
    app.gate.settings = msgspec.structs.replace(app.gate.settings, unknown_s=0.01)
    app.bench.settings = msgspec.structs.replace(
        app.bench.settings, safety=msgspec.structs.replace(app.bench.settings.safety, safe_commands=("sleep",))
    )
    return session.actor


async def on_the_host(app: App) -> list[Any]:
    """The terminals that the host itself knows."""
    return [one for one in await listed(app.places) if one.get("exit") is None]


def fill(app: App) -> None:
    """Open files until no tab has room."""
    root = Path(app.bench.root)
    while True:
        name = f"{len(list(tabs(app.bench.state.layout.root)))}.txt"
        (root / name).touch()
        try:
            app.bench.state.open_editor(name, owner="person")
        except LimitReached:
            return


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[None]:
    """This process can open nothing more."""
    free = os.dup(0)
    os.close(free)
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


@pytest.mark.timeout(60)
async def test_at_the_limit_of_tabs_nothing_is_started(app: App) -> None:
    fill(app)
    for command, args in STARTS:
        for _ in range(2):
            result = await app.call(command, args)
            assert result.code == "limit", (command, result)
    assert app.terminals.list() == []
    assert await on_the_host(app) == []
    app.bench.state.close("0.txt")
    assert (await app.call(*STARTS[0])).success
    assert len(await on_the_host(app)) == 1


async def test_two_at_once_do_not_share_the_last_place(app: App) -> None:
    fill(app)
    app.bench.state.close("0.txt")
    done = await asyncio.gather(*(app.call(*STARTS[1]) for _ in range(3)))
    assert sorted(result.code for result in done) == ["", "limit", "limit"]
    assert len(await on_the_host(app)) == len(app.terminals.list()) == 1
    app.terminals.max_terminals = 2
    app.bench.state.close("1.txt")
    app.bench.state.close("2.txt")
    done = await asyncio.gather(*(app.call(*STARTS[1]) for _ in range(3)))
    assert sorted(result.code for result in done) == ["", "limit", "limit"]
    assert len(await on_the_host(app)) == len(app.terminals.list()) == 2


async def test_there_are_tabs_for_all_terminals_that_there_may_be(app: App) -> None:
    app.terminals.max_terminals = 5000
    app.bench.fit_tabs()
    assert app.bench.state.limits.tabs >= 5000
    async with open_app(Settings(terminal=TerminalSettings(max_terminals=1000))) as other:
        assert other.bench.state.limits.tabs >= 1000


async def test_where_no_pane_has_room_a_terminal_is_a_tab(app: App) -> None:
    Path(app.bench.root, "a.txt").touch()
    app.bench.state.open_editor("a.txt", owner="person")
    app.bench.state.limits = type(app.bench.state.limits)(panes=1)
    result = await app.call(*STARTS[0])
    assert result.success, result
    assert len(app.bench.state.panes()) == 1


@pytest.mark.parametrize(("command", "args"), STARTS)
async def test_what_cannot_be_shown_does_not_run_on(app: App, command: str, args: dict[str, object]) -> None:
    def broken(kind: str) -> str:
        raise RuntimeError("a fault of ours")

    app.bench.state = WorkbenchState(new_id=broken)
    assert (await app.call(command, args)).code == "internal"
    assert app.terminals.list() == []
    assert await on_the_host(app) == []


@pytest.mark.parametrize(("command", "args"), STARTS)
async def test_a_caller_who_goes_away_during_the_start_leaves_nothing_running(
    app: App, command: str, args: dict[str, object]
) -> None:
    with stopped(app.terminals.host_pid):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(app.call(command, args))
            await asked(app.places)
            call.cancel()
    assert app.terminals.list() == []
    async with asyncio.timeout(20):
        while await on_the_host(app):
            pass
    assert not list(tabs(app.bench.state.layout.root))
    assert (await app.call(*STARTS[0])).success


async def test_an_answer_that_cannot_be_taken_in_ends_what_it_tells_of(app: App) -> None:
    with stopped(host := app.terminals.host_pid):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(app.call(*STARTS[1]))
            await asked(app.places)
            with no_descriptor_left():
                os.kill(host, signal.SIGCONT)
                result = await call
    assert not result.success
    assert "too many open files" in result.error
    async with asyncio.timeout(20):
        while await on_the_host(app):
            pass


async def test_a_program_that_ends_before_it_is_typed_to_is_answered_with_what_it_printed(app: App) -> None:
    result = await app.call("openspace.tool.terminal_start", {"command": "echo over", "stdin": "late\n"})
    assert result.success, result
    assert "over" in str(result.data["output"])


async def test_a_terminal_without_a_tab_can_be_renamed(app: App) -> None:
    made = (await app.call(*STARTS[0])).data
    app.bench.state.close(str(made["terminalId"]))
    result = await app.call("openspace.terminal.rename", {"terminalId": made["terminalId"], "title": "build"})
    assert result.success, result
    assert app.bench.terminal("build").title == "build"
    result = await app.call("openspace.terminal.rename", {"terminalId": made["terminalId"], "title": "a\nb"})
    assert result.code == "bad-argument"
    assert app.bench.terminal("build").title == "build"


async def test_showing_a_terminal_can_be_undone(app: App) -> None:
    made = (await app.call(*STARTS[0])).data
    app.bench.state.close(str(made["terminalId"]))
    shown = await app.call("openspace.terminal.show", {"terminalId": made["terminalId"]}, actor=agent(app))
    assert shown.success, shown
    assert (await app.call("openspace.workbench.undo")).success
    assert not list(tabs(app.bench.state.layout.root))


async def test_an_editor_whose_highlight_has_no_room_is_not_opened(app: App) -> None:
    Path(app.bench.root, "a.txt").touch()
    app.bench.state.limits = type(app.bench.state.limits)(highlights=0)
    result = await app.call("openspace.editor.open", {"path": "a.txt", "highlight": True})
    assert result.code == "limit"
    assert not app.bench.state.editors()


async def test_a_write_whose_caller_goes_away_is_whole_and_can_be_undone(app: App) -> None:
    file = Path(app.bench.root, "a.txt")
    file.write_text("old")
    app.bench.state.open_editor("a.txt", owner="person", version="then")
    ada = agent(app)
    async with asyncio.TaskGroup() as group:
        with REPLACING:  # as another write holds it
            call = group.create_task(app.call("openspace.file.write", {"path": "a.txt", "content": "new"}, actor=ada))
            await until(lambda: list(file.parent.glob(".fourhands-*.tmp")))
            call.cancel()
            await asyncio.sleep(0)
            call.cancel()  # twice: the second one must not get through either
    assert call.cancelled()
    assert file.read_text() == "new"
    assert app.bench.state.editor("a.txt").version == app.bench.files(ada).version("a.txt")
    assert (await app.call("openspace.workbench.undo")).success
    assert file.read_text() == "old"
    await until(lambda: app.bench.writes.since() is not None)
