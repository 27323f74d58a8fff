"""The tools of a workbench for an agent loop in another program: what a model does wrong is a result, and is asked."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter
from tests.kit.program import Server, new_home
from tests.kit.server import Served, serve_app, until
from tests.kit.workbench import quick, temporary_places
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from fourhands import Answer, Question, Toolset
from fourhands.core.call import Actor, Scope
from fourhands.core.errors import BadArgument, BadCwd, NotFound, Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.discovery import held

CORE = [
    *("bash", "edit", "read", "search", "show"),
    *("terminal_continue", "terminal_list", "terminal_start", "terminal_stop", "write"),
]
ALL: tuple[Scope, ...] = ("see", "arrange", "write", "run")
DANGEROUS = {"command": "rm -rf gone"}


@pytest.fixture
def places() -> Any:
    with temporary_places() as places:
        yield places


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve_app() as served:
        yield served


def here(places: WorkspaceDirs, **options: Any) -> Toolset:
    """A toolset with a workbench in this process."""
    return Toolset(places.workspace, **{"allow": ALL, "settings": quick(), "places": places, **options})


async def test_the_core_set_runs_reads_writes_and_edits_in_a_workbench_of_its_own(places: WorkspaceDirs) -> None:
    async with here(places, name="my-agent") as tools:
        assert [one["name"] for one in tools.schemas()] == CORE
        assert (tools.allowed, tools.withheld) == (ALL, "")
        done = await tools.call("bash", {"command": "echo hi; exit 3"})
        assert (done.ok, done.text, done.data["exitCode"]) == (True, "hi\nexit 3", 3)
        assert (await tools.call("write", '{"path": "a.txt", "content": "one\\ntwo\\n"}')).ok
        edit = {"path": "a.txt", "edits": [{"old": "two", "new": "three"}]}
        assert (await tools.call("edit", edit)).ok
        assert "three" in str(await tools.call("read", {"path": "a.txt"}))
        assert Path(places.workspace, "a.txt").read_text() == "one\nthree\n"
        assert (await tools.call("terminal_list")).ok
        assert (await tools.call("terminal_list", "")).ok
    assert not held(places.state), "the workbench ends with the last that uses it"


async def test_what_a_model_does_wrong_is_a_result_that_says_what(places: WorkspaceDirs) -> None:
    wrong: list[tuple[str, Any, str]] = [
        ("bahs", {}, "no tool 'bahs'\ncode: not-found\nhint: did you mean 'bash'?"),
        ("openspace_agent_list", {}, "no tool 'openspace_agent_list'"),  # there, but not in the set
        ("", {}, "no tool ''"),
        ("bash", {}, "missing argument command"),
        ("bash", {"command": 5}, "argument 'command' must be text"),
        ("bash", {"command": "true", "colour": "red"}, "colour"),
        ("bash", {"command": ""}, "argument 'command' must be text"),
        ("bash", "{bad", "the arguments are not JSON"),
        ("bash", "[1]", "the arguments are a list, not an object"),
        ("bash", '"true"', "the arguments are a text, not an object"),
        ("bash", "7", "the arguments are a number, not an object"),
        ("bash", "null", "the arguments are null, not an object"),
        ("bash", "[" * 100_000, "the arguments are not JSON"),
        ("bash", {"command": "\ud800"}, "the arguments cannot be sent"),
        ("write", {"path": "big", "content": "x" * 2_000_000}, "at most 1,047,552 can be sent"),
        ("read", {"path": "/etc/shadow"}, "error: "),
    ]
    async with here(places) as tools:
        for name, args, words in wrong:
            done = await tools.call(name, args)
            assert (done.ok, words in done.text) == (False, True), (name, done.text)
            assert done.data["code"]
        assert (await tools.call("bash", {"command": "echo fine"})).ok


async def test_what_the_program_does_wrong_raises(places: WorkspaceDirs) -> None:
    made: list[tuple[dict[str, Any], str]] = [
        ({"allow": "run"}, "allow is a sequence of texts"),
        ({"allow": ("rum",)}, "did you mean 'run'"),
        ({"tools": "core"}, "tools is a sequence of texts"),
        ({"tools": ("",)}, "a tool has an empty name"),
        ({"ask": "maybe"}, "give a function"),
        ({"name": " x"}, "not a valid name"),
        ({"keep": True, "name": ""}, "--keep needs --name"),
    ]
    for options, words in made:
        with pytest.raises(BadArgument, match=words):
            here(places, **options)
    with pytest.raises(NotFound, match="did you mean 'bash'"):
        async with here(places, tools=("core", "bahs")):
            pass
    with pytest.raises(BadCwd):
        async with Toolset("/nonexistent/place"):
            pass
    tools = here(places)
    with pytest.raises(Unavailable, match=r"is not open \(use it inside"):
        await tools.call("bash")
    async with tools:
        for name, args in (("bash", [1]), ("bash", {"command": object()}), (7, {})):
            with pytest.raises(BadArgument):
                await tools.call(name, args)  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="is closed"):
        tools.schemas()
    with pytest.raises(Unavailable, match="used before"):
        await tools.__aenter__()


async def test_several_calls_run_at_once_and_one_that_is_given_up_ends_alone(places: WorkspaceDirs) -> None:
    async with here(places) as tools:
        one, two = (Path(places.workspace, name) for name in ("one", "two"))
        for fifo in (one, two):
            os.mkfifo(fifo)
        kept, gone = (
            asyncio.ensure_future(tools.call("bash", {"command": f"cat {fifo.name}"}))  # noqa: TID251 - as programs do
            for fifo in (one, two)
        )
        end = await asyncio.to_thread(os.open, two, os.O_WRONLY)  # there is a reader: it runs
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        with contextlib.suppress(BrokenPipeError):
            while os.write(end, b"x"):  # until its reader has gone
                assert (await tools.call("bash", {"command": "true"})).ok  # side by side with the other
        os.close(end)
        await asyncio.to_thread(one.write_text, "through\n")
        assert (await kept).text == "through\nexit 0"


async def test_the_program_decides_what_needs_approval(places: WorkspaceDirs) -> None:
    asked: list[Question] = []
    answers: list[Any] = [
        "deny",
        Answer(choice="deny", reason="not today"),
        Answer(choice="edit", text="echo kept"),
        "once",
    ]

    async def ask(question: Question) -> Any:
        asked.append(question)
        if isinstance(given := answers.pop(0), Exception):
            raise given
        return given

    Path(places.workspace, "gone").mkdir()
    async with here(places, ask=ask) as tools:
        refused = await tools.call("bash", DANGEROUS)
        assert (refused.ok, refused.data["code"]) == (False, "denied")
        assert "not today" in (await tools.call("bash", DANGEROUS)).text
        assert (await tools.call("bash", DANGEROUS)).text == "kept\nexit 0"
        assert Path(places.workspace, "gone").exists()
        assert (await tools.call("bash", DANGEROUS)).ok
        assert not Path(places.workspace, "gone").exists()
        assert [one.kind for one in asked] == ["confirmation"] * 4
        assert asked[0].shown == "rm -rf gone"
        for mistake, error in (
            ("always", "ask\\(\\) answered 'always'"),
            (None, "ask\\(\\) answered None"),
            ("edit", "'edit' alone"),
            (ZeroDivisionError("mine"), "mine"),
        ):
            answers.append(mistake)
            with pytest.raises((BadArgument, ZeroDivisionError), match=error):
                await tools.call("bash", DANGEROUS)
        assert (await tools.call("bash", {"command": "true"})).ok


async def test_what_is_not_allowed_is_asked_for_and_refused_where_no_one_is_asked(places: WorkspaceDirs) -> None:
    async with here(
        places, allow=("see",), ask=lambda question: "session" if question.kind == "consent" else "deny"
    ) as tools:
        assert tools.allowed == ("see",)
        assert (await tools.call("bash", {"command": "echo asked"})).ok
    for ask, words in (("never", "no one is asked in this session"), ("page", "no one is available to approve this")):
        async with here(places, allow=(), ask=ask) as tools:
            refused = await tools.call("bash", {"command": "true"})
            assert not refused.ok
            assert words in refused.text
        async with here(places, ask=ask) as tools:
            assert words in (await tools.call("bash", DANGEROUS)).text


async def test_it_joins_the_workbench_that_runs_as_an_agent_of_its_own(served: Served) -> None:
    bench = served.app.bench
    async with (
        Toolset(bench.root, name="one", allow=ALL, places=served.places) as one,
        Toolset(bench.root, name="two", allow=("see",), places=served.places) as two,
    ):
        assert {session.id: session.name for session in bench.sessions} == {one.session: "one", two.session: "two"}
        assert two.allowed == ("see",)
        await one.call("terminal_start", {"command": "cat"})
        assert [terminal.owner for terminal in served.app.terminals.list()] == [one.session]
        assert "by a program's Toolset, configured as one" in bench.sessions.get(one.session).arrival.words
        recorded = await served.app.journal.query(command="openspace.agent.consent")
        assert {entry.verdict.choice for entry in recorded} == {"configured"}
        await bench.end_session(two.session)
        told = await two.call("terminal_list")
        assert "the person has ended this agent's session" in told.text
        assert (await one.call("terminal_list")).ok
    await until(lambda: not list(bench.sessions))


async def test_an_agents_own_token_opens_no_toolset(served: Served) -> None:
    session = served.app.bench.begin_session("other", "mcp")
    token = served.running.tokens.issue(Actor.agent(session.id, "other"))
    where = served.running.address.url.replace("http", "ws", 1) + "/toolset"
    with pytest.raises(InvalidStatus) as refused:
        async with connect(where, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None):
            pass
    assert b"agents may not use this endpoint" in (refused.value.response.body or b"")


async def test_a_joined_workbench_gives_no_more_than_its_loose_agents_have(served: Served) -> None:
    other = served.app.bench.begin_session("other", "mcp")  # its programs run without a sandbox, and it may do nothing
    async with Toolset(served.app.bench.root, name="one", allow=ALL, places=served.places) as tools:
        assert tools.allowed == ()
        assert f"{other.name} may not do all of that" in tools.withheld


async def test_two_of_one_program_share_its_workbench_until_the_last_has_gone(places: WorkspaceDirs) -> None:
    first, second = here(places, name="one"), here(places, name="two")
    await asyncio.gather(first.__aenter__(), second.__aenter__())
    await first.__aexit__(None, None, None)
    assert (await second.call("bash", {"command": "echo still"})).text == "still\nexit 0"
    await second.__aexit__(None, None, None)
    assert not held(places.state)


async def test_a_workbench_that_dies_in_the_middle_of_a_call_says_so() -> None:
    async with new_home() as home, Server(home) as server:  # noqa: SIM117 - the server ends first
        async with Toolset(home.work, allow=ALL, places=home.places) as tools:
            os.mkfifo(home.work / "fifo")
            call = asyncio.ensure_future(tools.call("bash", {"command": "cat fifo"}))  # noqa: TID251 - as a program does
            end = await asyncio.to_thread(os.open, home.work / "fifo", os.O_WRONLY)  # there is a reader: it runs
            os.kill(server.process.pid, signal.SIGKILL)
            done = await call
            os.close(end)
            assert (done.ok, done.data["code"]) == (False, "unavailable")
            assert "the workbench ended while this ran" in done.text
            with pytest.raises(Unavailable, match="the workbench of this Toolset has ended"):
                await tools.call("terminal_list")


async def test_the_tools_are_as_each_model_takes_them(places: WorkspaceDirs) -> None:
    async with here(places, tools=("bash", "openspace_file_list")) as tools:
        assert [one["name"] for one in tools.schemas()] == ["bash", "openspace_file_list"]
        TypeAdapter(list[ChatCompletionFunctionToolParam]).validate_python(tools.openai())
        TypeAdapter(list[FunctionToolParam]).validate_python(tools.openai(responses=True))
        TypeAdapter(list[ToolParam]).validate_python(tools.anthropic())
