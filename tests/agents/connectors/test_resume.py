"""What agents need to go on after a restart of the server."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.dialects import Answer, Tool
from tests.kit.loopfiles import opened_on_this_thread
from tests.kit.model import Model
from tests.kit.program import Server, new_home
from tests.kit.workbench import open_app

from fourhands.agents.connectors.base import FORGOTTEN, GOES_ON
from fourhands.agents.connectors.chat_model import ChatModel
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.agents.connectors.resume import ResumeFile, ResumeFiles
from fourhands.agents.connectors.transcript import Transcripts
from fourhands.agents.models.history import HistoryMessage
from fourhands.app import App
from fourhands.app.connectors import register_all
from fourhands.core.errors import Unavailable
from fourhands.workbench.sessions import CommandResult, Session, Sessions

LIST = '%%OS{"cmd":"openspace.terminal.list","args":{}}%%'


def session(id: str = "s1") -> Session:
    return Sessions().add("bot", "http", id=id)


def result(number: int, **data: object) -> CommandResult:
    return CommandResult(number=number, command_id="openspace.x.y", args=data, success=True)


def turns(*texts: str) -> list[HistoryMessage]:
    return [{"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(texts)]


async def keep(memory: ResumeFile, **state: Any) -> None:
    """Store a state and wait until it is."""
    memory.keep(**state)
    await memory.close()


async def test_what_is_kept_is_taken_up_once_by_an_agent_of_the_same_words(tmp_path: Path) -> None:
    memories = ResumeFiles(tmp_path / "agents")
    first, second = memories.of(session("s1"), "a#m"), memories.of(session("s2"), "a#m")
    assert first.before is None
    await keep(first, history=turns("one", "1"), untold=[result(3, path="x")], remote="r")
    await keep(second, history=turns("two", "2"))
    assert [file.stat().st_mode & 0o777 for file in (tmp_path / "agents").iterdir()] == [0o600, 0o600]
    assert (tmp_path / "agents").stat().st_mode & 0o777 == 0o700

    later = ResumeFiles(tmp_path / "agents")
    assert later.of(session("s9"), "b#m").before is None
    own = later.of(session("s1"), "a#m").before
    assert own is not None
    assert (own.history, own.untold, own.remote) == (turns("one", "1"), [result(3, path="x")], "r")
    other = later.of(session("s9"), "a#m")
    assert other.before is not None
    assert other.before.history == turns("two", "2")
    assert later.of(session("s10"), "a#m").before is None
    await keep(other, history=turns("two", "2", "3", "4"))
    again = ResumeFiles(tmp_path / "agents").of(session("s9"), "a#m").before
    assert again is not None
    assert len(again.history) == 4
    other.forget()
    await other.close()
    assert len(list((tmp_path / "agents").iterdir())) == 1


async def test_whatever_was_said_and_done_can_be_kept(tmp_path: Path) -> None:
    odd = result(1, half="\ud800", large=10**30, deep=[[[]]], nan=float("inf"), thing=object())
    memory = ResumeFiles(tmp_path).of(session(), "a")
    await keep(memory, history=turns("half \ud800 pair", "\0\x7f\u2028"), untold=[odd])
    before = ResumeFiles(tmp_path).of(session(), "a").before
    assert before is not None
    assert before.history == turns("half \ud800 pair", "\0\x7f\u2028")
    assert before.untold[0].args["large"] == 10**30


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[]", b'{"session": 1}', b"\xff", b"[" * 100_000])
async def test_a_file_that_cannot_be_read_is_passed_over(content: bytes, tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "x.json").write_bytes(content)
    memory = ResumeFiles(tmp_path).of(session(), "a")
    assert memory.before is None
    assert "cannot read the state" in caplog.text
    await keep(memory, history=turns("one", "1"))
    assert ResumeFiles(tmp_path).of(session(), "a").before is not None


async def test_only_the_last_agents_are_remembered(tmp_path: Path) -> None:
    for number in range(5):
        await keep(ResumeFiles(tmp_path).of(session(), f"a{number}"), remote="r")
        for file in tmp_path.iterdir():
            os.utime(file, (number, file.stat().st_mtime - 100))  # the older the earlier
    ResumeFiles(tmp_path, most=3)
    assert len(list(tmp_path.iterdir())) == 3
    assert ResumeFiles(tmp_path).of(session(), "a4").before is not None
    assert ResumeFiles(tmp_path).of(session(), "a1").before is None


async def test_a_place_that_cannot_be_written_harms_nothing(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "file").touch()
    await keep(ResumeFiles(tmp_path / "file").of(session(), "a"), remote="r")
    assert "cannot save" in caplog.text


async def test_nothing_is_written_on_the_event_loop(tmp_path: Path) -> None:
    memory = ResumeFiles(tmp_path).of(session(), "a")
    with opened_on_this_thread() as opened:
        await keep(memory, remote="r")
        memory.forget()
        await memory.close()
    assert opened == {}


class Run:
    """One run of the server over the same state: sessions begin anew, what is on the disk stays."""

    def __init__(self, app: App, model: Model) -> None:
        self.app = app
        self.chats = Transcripts(app.bench, Path(app.places.state) / "chats.json", save_s=0)
        wiring = LaunchContext(
            briefing=lambda id, *, tools=False: "I", issue_token=lambda session: "t", url="http://127.0.0.1:1", env={}
        )
        self.connections = Launcher(app.bench, app.tasks, wiring)
        register_all(self.connections)
        self.spec = f"{model.url}/v1#fake"

    async def start(self) -> ChatModel:
        session = await self.connections.start(self.spec)
        self.app.gate.consent.grant(session.id)
        conversation = self.connections.connectors[session.id]
        assert isinstance(conversation, ChatModel)
        return conversation

    async def kill(self, agent: ChatModel) -> None:
        """What kill -9 leaves: nothing was ended, nothing is written any more."""
        if agent.memory is not None:
            await agent.memory.close()
        agent.memory = None
        await self.chats.close()
        self.connections.close()
        self.app.bench.sessions.remove(agent.session.id)

    def notes(self, agent: ChatModel) -> list[object]:
        told: Any = self.chats.told()
        return [one.data["text"] for one in told["chats"][agent.session.id] if one.kind == "agent.noted"]


@contextlib.asynccontextmanager
async def served(*answers: Answer) -> AsyncIterator[tuple[App, Model]]:
    async with open_app() as app, Model(answers) as model:
        yield app, model


async def ask(agent: ChatModel, text: str) -> None:
    await agent.prompt(text)
    await agent.idle()


async def test_a_model_is_sent_the_earlier_turns_after_a_restart() -> None:
    async with served(Answer("It is blue."), Answer("Blue."), Answer("Still blue.")) as (app, model):
        run = Run(app, model)
        agent = await run.start()
        await ask(agent, "The sky?")
        await run.kill(agent)
        for count, said in ((1, "Blue."), (2, "Still blue.")):
            run = Run(app, model)
            agent = await run.start()
            assert run.notes(agent) == [GOES_ON] * count
            await ask(agent, "And now?")
            sent = model.requests[-1].body["messages"]
            assert sent[1:3] == turns("The sky?", "It is blue.")
            assert (len(sent), agent.history[-1]["content"]) == (2 + 2 * count, said)
            await run.kill(agent)


async def test_results_that_were_not_told_are_told_once_after_a_restart() -> None:
    async with served(Answer("First."), Answer("Second."), Answer("Third.")) as (app, model):
        run = Run(app, model)
        agent = await run.start()
        await ask(agent, "One?")
        agent.runner.run([{"cmd": "openspace.terminal.list"}], "late")  # of an answer that nobody waits for
        await agent.runner.finished()
        await run.kill(agent)
        run = Run(app, model)
        agent = await run.start()
        await ask(agent, "Two?")
        assert "openspace.terminal.list" in model.requests[-1].body["messages"][-1]["content"]
        await run.kill(agent)
        run = Run(app, model)
        agent = await run.start()
        assert not agent.session.untold
        await ask(agent, "Three?")
        told = [turn["content"].count("openspace.terminal.list") for turn in model.requests[-1].body["messages"][1:]]
        assert sum(told) == 1


async def test_a_tool_call_that_a_crash_interrupted_has_a_result_after_the_restart() -> None:
    calls = [
        Tool("openspace_file_write", {"path": "a.txt", "content": "a"}, "one"),
        Tool("bash", {"command": "cat"}, "two"),
    ]
    async with served(Answer("I try.", tools=calls), Answer("I look first.")) as (app, model):
        run = Run(app, model)
        agent = await run.start()
        running = asyncio.Event()
        app.events.published.subscribe(
            lambda event: running.set() if event.kind == "call.started" and "bash" in str(event.data) else None
        )
        await agent.prompt("Do it.")
        await running.wait()
        await run.kill(agent)
        second = await Run(app, model).start()
        assert [turn["role"] for turn in second.history] == ["user", "assistant", "tool", "tool"]
        agent.cancel()
        app.gate.stop(agent.session.id)
        await agent.idle()
        await ask(second, "Go on.")
        results = model.requests[-1].results
        assert list(results) == ["one", "two"]
        assert "not finished" in results["two"]
        assert "not finished" not in results["one"]
        assert second.history[-1]["content"] == "I look first."


async def test_what_was_not_answered_counts_as_not_said_after_a_restart() -> None:
    blocked, held = asyncio.Event(), asyncio.Event()

    async def hold(number: int) -> None:
        blocked.set()
        await held.wait()

    # The second round does not come to its answer.
    answers = (Answer(f"Look. {LIST}"), Answer("Seen.", before=hold), Answer("Again."))
    async with served(*answers) as (app, model):
        run = Run(app, model)
        agent = await run.start()
        await agent.prompt("What is there?")
        await blocked.wait()
        await run.kill(agent)
        after = Run(app, model)
        second = await after.start()
        assert [turn["role"] for turn in second.history] == ["user", "assistant"]
        assert [one.command_id for one in second.session.untold] == ["openspace.terminal.list"]
        agent.cancel()
        await agent.idle()
        held.set()
        await ask(second, "Go on.")
        last = model.requests[-1].body["messages"][-1]["content"]
        assert last.endswith("Go on.")
        assert "openspace.terminal.list" in last


@pytest.mark.parametrize("how", ["reset", "ended"])
async def test_a_new_chat_and_the_end_of_an_agent_are_forgotten(how: str) -> None:
    async with served() as (app, model):
        run = Run(app, model)
        agent = await run.start()
        await ask(agent, "One?")
        if how == "reset":
            await app.bench.reset_session(agent.session.id)
            await ask(agent, "Two?")
            assert [turn["content"] for turn in model.requests[-1].body["messages"][1:]] == ["Two?"]
            await app.bench.reset_session(agent.session.id)
        else:
            await app.bench.end_session(agent.session.id)
        await run.kill(agent)
        run = Run(app, model)
        agent = await run.start()
        assert agent.history == []
        assert GOES_ON not in run.notes(agent)


async def test_an_agent_without_a_memory_says_so() -> None:
    async with served(Answer("Yes.")) as (app, model):
        run = Run(app, model)
        agent = await run.start()
        await ask(agent, "One?")
        assert agent.memory is not None
        agent.memory.forget()
        await run.kill(agent)
        run = Run(app, model)
        assert run.notes(await run.start()) == [FORGOTTEN]


async def test_what_is_remembered_is_bounded_by_the_budget() -> None:
    async with served() as (app, model):
        run = Run(app, model)
        agent = await run.start()
        agent.history = turns(*(letter * 100_000 for letter in "abcdefgh"))
        agent.keep()
        await run.kill(agent)
        agent = await Run(app, model).start()
        assert [turn["content"][0] for turn in agent.history] == ["g", "h"]


async def test_an_agent_that_could_not_be_started_again_is_remembered_still() -> None:
    async with served(Answer("Yes.")) as (app, model):
        run = Run(app, model)
        agent = await run.start()
        await ask(agent, "One?")
        await run.kill(agent)
        run = Run(app, model)
        made = run.connections.kinds["http"]

        def failing(*args: Any) -> Any:
            made(*args)
            raise Unavailable("not today")

        run.connections.kinds["http"] = failing
        with pytest.raises(Unavailable):
            await run.start()
        assert len((await Run(app, model).start()).history) == 2


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_kill_9_between_two_turns_leaves_a_model_that_remembers() -> None:
    async with new_home() as home, Model([Answer("My name is Ada."), Answer("Ada, still.")]) as model:
        agent = ("--agent", f"{model.url}/v1#fake")
        async with Server(home, *agent) as server:
            await prompt(home, "Who are you?", "My name is Ada.")
            server.process.kill()
            await server.rest()
        async with Server(home, *agent):
            await prompt(home, "And now?", "Ada, still.")
    assert model.requests[-1].body["messages"][1:] == turns("Who are you?", "My name is Ada.", "And now?")


async def prompt(home: Any, text: str, answer: str) -> None:
    """Say something to the only agent and wait for its answer in the chat that is kept."""
    listed = await home.call("agent.list")
    session = listed["agents"][0]["id"]
    assert (await home.call("agent.prompt", {"sessionId": session, "text": text}))["success"]
    async with home.client() as client:
        while answer not in (await client.get("/openspace/chats")).text:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
        while (await home.call("agent.list"))["agents"][0]["status"] != "idle":  # noqa: ASYNC110 - the same
            await asyncio.sleep(0.05)
