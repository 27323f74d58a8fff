"""Providers that give streams: what is theirs beyond the contract, and how they are registered."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

import pytest
from tests.kit.cloud import Cloud
from tests.kit.isolation import Yard, new_yard, until
from tests.kit.person import let_in
from tests.kit.workbench import open_app

from fourhands import Isolation, Launch, Stream, Terminals
from fourhands.core.errors import BadArgument, Conflict, NotFound
from fourhands.providers import bridge
from fourhands.providers.local import Local
from fourhands.providers.stream import Streamed
from fourhands.workbench.terminals.shell.tracker import ELSEWHERE
from fourhands.workbench.terminals.terminal import Terminal

pytestmark = pytest.mark.timeout(60)

LOST = "the connection to this program is lost: the server that held it has gone"


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
async def terminals(yard: Yard, cloud: Cloud) -> AsyncIterator[Terminals]:
    async with yard.terminals({}) as made:
        made.providers.register("cloud", cloud)
        yield made


async def end_of(terminal: Terminal) -> tuple[int | None, str]:
    await terminal.wait(exit=True, deadline_s=40)
    assert terminal.exit is not None
    return terminal.exit.code, "\n".join(terminal.lines())


async def test_a_stream_that_is_refused_says_why(terminals: Terminals, cloud: Cloud) -> None:
    cloud.broken = "out of machines"
    code, said = await end_of(await terminals.create(argv=["cat"], provider="cloud"))
    assert (code, said) == (125, "fourhands: out of machines (wait for better weather)")
    done = await terminals.execute("cat", provider="cloud")
    assert (done.ok, done.exit_code, done.code) == (False, None, "unavailable")
    assert done.error == "out of machines (wait for better weather)"
    cloud.broken = ""
    assert (await terminals.execute("echo", ["again"], provider="cloud")).stdout == "again\n"


async def test_a_stream_that_breaks_ends_its_own_terminal_and_no_other(terminals: Terminals, cloud: Cloud) -> None:
    made: list[Terminal] = []
    for _ in range(2):
        made.append(await terminals.create(argv=["sh", "-c", "echo on; cat"], provider="cloud"))
        await made[-1].wait(pattern="on", position=0, deadline_s=40)
    broken, other = made
    cloud.opened[0].fail(ValueError("half a message"))
    code, said = await end_of(broken)
    assert (code, "the stream of cloud broke: ValueError('half a message')" in said) == (125, True)
    await other.type("still here\n")
    assert (await other.wait(pattern="here\\s+still here", position=0, deadline_s=40)).reason == "pattern"
    await until(lambda: cloud.opened[0].closed == 1)


async def test_a_program_of_its_own_with_the_same_exit_code_is_none_of_ours(terminals: Terminals) -> None:
    done = await terminals.run_script("exit 125", provider="cloud")
    assert (done.exit_code, done.code) == (125, None)


async def test_an_end_of_the_server_ends_the_stream_with_its_reason(yard: Yard, cloud: Cloud) -> None:
    async with yard.terminals({}, keep=True) as before:
        before.providers.register("cloud", cloud)
        terminal = await before.create(argv=["sh", "-c", "echo on; cat"], title="far", provider="cloud")
        await terminal.wait(pattern="on", position=0, deadline_s=40)
    assert (cloud.opened[0].closed, cloud.cleaned) == (1, 1)
    async with yard.terminals({}) as after:
        code, said = await end_of(after.get("far"))
        assert (code, said) == (125, f"on\nfourhands: {LOST}")


CRASHING = """
import asyncio, os, sys
from tests.kit.cloud import Cloud
from fourhands import Terminals
from fourhands.host.paths import WorkspaceDirs

async def main():
    terminals = Terminals(sys.argv[1], places=WorkspaceDirs.of(sys.argv[1], os.environ), keep=True)
    await terminals.__aenter__()
    terminals.providers.register("cloud", Cloud())
    terminal = await terminals.create(argv=["sh", "-c", "echo on; exec cat"], title="far", provider="cloud")
    await terminal.wait(pattern="on", position=0, deadline_s=40)
    os._exit(9)

asyncio.run(main())
"""


async def test_a_crash_of_the_server_ends_the_stream_with_its_reason(yard: Yard) -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CRASHING, str(yard.workspace), env={**yard.env, "PYTHONPATH": root}
    )
    assert await child.wait() == 9
    async with yard.terminals({}) as after:
        code, said = await end_of(after.get("far"))
        assert (code, said.endswith(f"fourhands: {LOST}")) == (125, True)


async def test_closing_a_terminal_gives_up_a_stream_that_never_comes(terminals: Terminals) -> None:
    asked, given_up = asyncio.Event(), asyncio.Event()

    class Slow(Cloud):
        async def open(self, launch: Launch, size: tuple[int, int] | None) -> Stream:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                given_up.set()
            raise AssertionError

    terminals.providers.register("slow", Slow())
    terminal = await terminals.create(argv=["cat"], provider="slow")
    async with asyncio.timeout(40):
        await asked.wait()
        await terminal.close()
        await given_up.wait()


async def test_strangers_at_the_socket_get_nothing(terminals: Terminals, cloud: Cloud) -> None:
    await terminals.provider("cloud")
    provider = terminals.providers["cloud"]
    assert isinstance(provider, Streamed)
    assert os.stat(os.path.dirname(provider.path)).st_mode & 0o777 == 0o700
    for words in (
        b"",
        b"h",
        bridge.frame(b"h", b"guessed"),
        bridge.frame(b"i", b"x"),
        b"h\xff\xff\xff\xff",
        b"\0" * 99,
    ):
        reader, writer = await asyncio.open_unix_connection(provider.path)
        writer.write(words)
        writer.write_eof()
        async with asyncio.timeout(40):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
    assert cloud.opened == []


async def test_a_shell_that_does_not_see_our_files_is_a_plain_one(terminals: Terminals, cloud: Cloud) -> None:
    marked = await terminals.create(shell="bash", provider="cloud")
    cloud.shares_files = False
    plain = await terminals.create(shell="bash", provider="cloud")
    assert (marked.marked, plain.marked) == (True, False)
    await plain.type("echo $((40 + 2))\n")
    assert (await plain.wait(pattern="^42", position=0, deadline_s=40)).reason == "pattern"


def test_the_bridge_is_known_to_hand_keys_on() -> None:
    assert bridge.NAME in ELSEWHERE


async def test_a_provider_is_registered_while_all_runs_and_chosen_for_an_agent() -> None:
    async with open_app() as app:
        ada = let_in(app, "ada")
        unknown = await app.call("openspace.agent.configure", {"sessionId": "ada", "provider": "my-provider"})
        assert (unknown.code, "auto, bubblewrap, container, landlock, local" in unknown.hint) == ("not-found", True)
        app.providers.register("my-provider", Cloud())
        chosen = await app.call("openspace.agent.configure", {"sessionId": "ada", "provider": "my-provider"})
        assert chosen.data["effective"]["provider"] == "my-provider"  # type: ignore[index]
        active = app.providers.require(app.bench.agent_settings(ada).provider)
        assert (active.name, active.isolation) == ("my-provider", Isolation.CONTAINER)
        ran = await app.call("openspace.tool.bash", {"command": "echo from afar"}, actor=ada.actor)
        assert (ran.data["output"], ran.isolation) == ("from afar\n", "container")
        told = await app.call("openspace.tool.terminal_start", {"command": "echo lasting; exit 3"}, actor=ada.actor)
        output, id = str(told.data["output"]), told.data["sessionId"]
        async with asyncio.timeout(40):
            while told.data["exitCode"] is None:
                told = await app.call("openspace.tool.terminal_continue", {"sessionId": id}, actor=ada.actor)
                output += str(told.data["output"])
        assert (output, told.data["exitCode"]) == ("lasting\n", 3)
        with pytest.raises(NotFound, match="no provider 'my-provder'"):
            app.providers.require("my-provder")


def test_what_cannot_be_registered_is_refused_with_its_reason(terminals_free: Terminals) -> None:
    providers = terminals_free.providers
    providers.register("own", Local())
    assert providers["own"].name == "own"
    for name, provider, error, words in [
        ("local", Local(), Conflict, "provider 'local' exists already"),
        ("own", Cloud(), Conflict, "provider 'own' exists already"),
        ("a b", Local(), BadArgument, "letters, digits"),
        ("", Local(), BadArgument, "letters, digits"),
        (5, Local(), BadArgument, "letters, digits"),
        ("none", None, BadArgument, "it lacks isolation, shells, probe"),
        ("kind", Cloud, BadArgument, "it is a class"),
    ]:
        with pytest.raises(error, match=words):
            providers.register(name, provider)  # type: ignore[arg-type]
    assert set(providers) == {"auto", "local", "bubblewrap", "landlock", "container", "own"}


@pytest.fixture
def terminals_free(tmp_path: object) -> Terminals:
    return Terminals(str(tmp_path))
