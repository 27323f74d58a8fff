"""`fourhands acp --agent NAME` as the process that an editor starts, with the official SDK's client."""

import asyncio
import contextlib
import json
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import acp
import pytest
from tests.kit.dialects import Answer
from tests.kit.editor import Editor
from tests.kit.model import Model
from tests.kit.program import MAIN, Home, Server, new_home

from fourhands.core.tasks import Tasks

pytestmark = pytest.mark.timeout(120)


@asynccontextmanager
async def editing(home: Home, *args: str) -> AsyncIterator[tuple[Editor, Process]]:
    """An editor and the process that it has started."""
    process = await asyncio.create_subprocess_exec(
        *MAIN,
        "acp",
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=home.env,
        cwd=home.root,
        limit=1 << 24,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    editor = Editor()
    editor.connection = acp.connect_to_agent(editor, process.stdin, process.stdout)  # type: ignore[arg-type]
    try:
        yield editor, process
    finally:
        await editor.connection.close()
        process.stdin.close()
        async with asyncio.timeout(40):
            await process.wait()


async def unanswered(editor: Editor, session: str) -> None:
    with contextlib.suppress(ConnectionError, acp.RequestError):
        await editor.prompt(session, "and this?")


async def test_a_session_survives_the_kill_of_editor_and_process() -> None:
    """Without a directory: the workspace is the first session's. Then a kill in mid-prompt, and one that loads it."""
    hung, going = asyncio.Event(), asyncio.Event()

    async def hang(_: int) -> None:
        hung.set()
        await going.wait()

    script = [Answer("First."), Answer("Never said.", before=hang), Answer("Third.")]
    async with Model(script) as model, new_home() as home:
        spec = f"{model.url}/v1#scripted"
        async with editing(home, "--agent", spec) as (editor, process):
            await editor.begin()
            with pytest.raises(acp.RequestError, match="no directory"):
                await editor.new("/no/such/place")
            session = await editor.new(str(home.work))
            assert await editor.prompt(session, "remember me") == "end_turn"
            async with Tasks() as tasks:
                tasks.start(unanswered(editor, session), "a prompt in the middle of which all is killed")
                async with asyncio.timeout(40):
                    await hung.wait()
                process.send_signal(signal.SIGKILL)
            going.set()
        async with editing(home, "--agent", spec) as (editor, process):
            await editor.begin()
            await editor.connection.load_session(cwd=str(home.work), session_id=session, mcp_servers=[])
            assert editor.text("user_message_chunk").startswith("remember me")
            assert "First." in editor.text()
            assert await editor.prompt(session, "what was it?") == "end_turn"
            assert "Third." in editor.text()
        assert process.returncode == 0
        assert "remember me" in json.dumps(model.requests[-1].body)


async def test_a_running_workbench_is_joined_and_goes_on() -> None:
    async with new_home() as home, Server(home, "--agent", "tour") as server:
        for _ in range(2):
            async with editing(home, "--agent", "tour", str(home.work)) as (editor, process):
                await editor.begin()
                session = await editor.new(str(home.work))
            agents = (await home.call("agent.list"))["agents"]
            assert session in [one["id"] for one in agents]
            assert process.returncode == 0
        assert server is not None


async def test_an_agent_that_no_one_knows_is_refused_before_anything_starts() -> None:
    async with new_home() as home:
        process = await asyncio.create_subprocess_exec(
            *MAIN, "acp", "--agent", "claud", stderr=asyncio.subprocess.PIPE, env=home.env, cwd=home.work
        )
        said = (await process.communicate())[1].decode()
    assert process.returncode == 1
    assert "no agent 'claud'" in said
    assert "did you mean 'claude'" in said
