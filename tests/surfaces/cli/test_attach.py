"""A person at an attached command line is one more person at the workbench: agents wait for their half-typed line."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator

import msgspec
import pexpect
import pytest
import pytest_asyncio
from tests.kit.agree import agreeable_person, run_cli
from tests.kit.hostile import DOORS, Puppet, Stage
from tests.kit.hostile.acp import AcpDoors
from tests.kit.program import MAIN, new_home
from tests.kit.server import LIMIT_S, serve_app, until

from fourhands.settings import Settings, UpstreamSettings
from fourhands.surfaces.cli.attach import split_keys
from fourhands.surfaces.discovery import find_server
from fourhands.workbench.terminals.terminal import Terminal

pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.slow,
    pytest.mark.timeout(180),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with Puppet() as model:
        remote = UpstreamSettings(url=model.url, connect_s=40.0)
        settings = msgspec.structs.replace(Settings(), upstreams=dict.fromkeys(("openai",), remote))
        async with serve_app(settings) as served:
            yield Stage(served, model)


@contextlib.asynccontextmanager
async def attached(stage: Stage, terminal: Terminal) -> AsyncIterator[pexpect.spawn]:
    """`fourhands terminal attach` in a terminal of its own."""
    words = [*MAIN[1:], "terminal", "attach", terminal.id, "--workspace", stage.served.places.workspace]
    env = {**os.environ, **stage.served.env}
    child = pexpect.spawn(MAIN[0], words, env=env, dimensions=(30, 90), timeout=LIMIT_S)
    try:
        await asyncio.to_thread(child.expect, "[#$] ")
        yield child
    finally:
        await asyncio.to_thread(child.close)


async def test_no_agents_line_is_appended_to_a_half_typed_one(stage: Stage) -> None:
    precious = stage.root / "precious.txt"
    precious.write_text("irreplaceable\n")
    made = await stage.person("terminal.create", title="shared", shellPath="/bin/bash")
    terminal = stage.app.terminals.get(str(made["terminalId"]))
    await terminal.wait_for_prompt(LIMIT_S)
    lease = stage.app.bench.lease(terminal)
    async with attached(stage, terminal) as child, contextlib.AsyncExitStack() as stack:
        await asyncio.to_thread(child.send, "rm -v precious.txt ")
        await asyncio.to_thread(child.expect, "precious.txt ")
        await until(lambda: lease.info().half_typed)
        stack.enter_context(agreeable_person(stage.app))
        doors = [await stack.enter_async_context(DOORS[name](stage)) for name in DOORS]
        typing = [door for door in doors if not isinstance(door, AcpDoors)]
        for door in doors:
            if isinstance(door, AcpDoors):  # it has no way to type; what looks like one is refused
                answer = await door.ask("openspace.terminal.send", terminalId=terminal.id, text="ls\n")
                assert "code" in answer, answer
        asked = [
            stage.app.tasks.start(door.call("terminal.send", terminalId=terminal.id, text="ls\n"), door.name)
            for door in typing
        ]
        await until(lambda: lease.waiting == len(typing))
        assert not any(task.done() for task in asked)
        assert terminal.lines(1)[0].endswith("rm -v precious.txt")  # blanks at the end are no text
        await asyncio.to_thread(child.send, "\x15echo mi''ne\r")
        await asyncio.to_thread(child.expect, "mine\r\n")
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait(asked)
        await asyncio.to_thread(child.send, "\x1d")
        await asyncio.to_thread(child.expect, pexpect.EOF)
    assert precious.exists()
    said = "\n".join(terminal.lines(200))
    assert "removed" not in said
    assert "precious.txt ls" not in said
    await terminal.close()


async def test_what_is_done_from_a_command_line_is_in_the_journal(stage: Stage) -> None:
    async def cli(*words: str) -> str:
        where = ["--workspace", stage.served.places.workspace]
        done = await asyncio.to_thread(run_cli, ["terminal", *words, *where], stage.served.env)
        assert done.exit_code == 0, done.output
        return str(done.stdout)

    assert await cli("run", "echo o''ne; true", "--keep", "--title", "seen") == "one\n"
    found = json.loads(await cli("list", "--json"))
    assert [(one["title"], one["state"]) for one in found if one["title"] == "seen"] == [("seen", "prompt")]
    assert await cli("run", "printf two", "-t", "seen") == "two"
    terminal = stage.app.terminals.get("seen")
    person = stage.app.bench.authors(terminal)
    assert [span.kind for span in person] == ["person"] * len(person) != []
    start = json.loads(await cli("read", "seen", "--json"))["position"]
    await cli("run", "printf three", "-t", "seen")
    direct = terminal.since(start)
    read = json.loads(await cli("read", "seen", "--since", str(start), "--json"))
    assert (read["text"], read["start"], read["gap"]) == (direct.text, direct.start, None)
    await cli("kill", "seen")
    entries = await stage.app.bench.journal.query(command="openspace.terminal.")
    made = [entry.call.command.rpartition(".")[2] for entry in entries]
    assert made.count("run") == 3
    assert {"create", "run", "close"} <= set(made)


async def test_attach_starts_a_server_that_stays() -> None:
    async with new_home() as home:
        assert find_server(home.places.state) is None

        def attach() -> None:
            words = [*MAIN[1:], "terminal", "attach"]
            child = pexpect.spawn(MAIN[0], words, cwd=str(home.work), env=home.env, timeout=LIMIT_S)
            try:
                child.expect("[#$] ")
                child.send("\x1d")
                child.expect("Detached; still running")
                child.expect(pexpect.EOF)
            finally:
                child.close()
            assert child.exitstatus == 0

        await asyncio.to_thread(attach)
        assert find_server(home.places.state) is not None
        _, out, _ = await home.run("terminal", "list", "--json")
        assert len(json.loads(out)) == 1


async def test_a_line_run_without_a_server_is_on_a_host_of_its_own() -> None:
    async with new_home() as home:
        code, out, _ = await home.run("terminal", "run", "echo alone; exit 3")
        assert (code, out) == (3, "alone\n")
        assert not os.path.exists(home.places.socket)
        _, out, _ = await home.run("terminal", "list", "--json")
        assert json.loads(out) == []


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (b"ls\r", [b"ls\r"]),
        (b"\x1b[24;80R", ["\x1b[24;80R"]),
        (b"a\x1b[?62;22cb", [b"a", "\x1b[?62;22c", b"b"]),
        (b"\x1b]11;rgb:00/00/00\x1b\\", ["\x1b]11;rgb:00/00/00\x1b\\"]),
        (b"\x1b[I\x1b[A", ["\x1b[I", b"\x1b[A"]),
        (b"\x1b[1;2R", [b"\x1b[1;2R"]),  # F3 with Shift
    ],
)
async def test_answers_of_the_persons_terminal_are_no_typing(data: bytes, pieces: list[bytes | str]) -> None:
    told = [piece if isinstance(piece, bytes) else json.loads(piece)["data"] for piece in split_keys(data)]
    assert told == pieces
