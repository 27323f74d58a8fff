"""Editors that send what no SDK would: `fourhands acp --agent` says what is wrong, and serves the next request."""

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.kit.acp_stage import FAKE
from tests.kit.dialects import Answer
from tests.kit.model import Model, Request
from tests.kit.server import serve_app

from fourhands.app.launching import agent_source, launching
from fourhands.surfaces.acp_agent.connection import AgentConnection, AgentSource

pytestmark = [pytest.mark.timeout(90), pytest.mark.asyncio(loop_scope="module")]

LIMIT_S = 40
Message = dict[str, Any]


class Raw:
    """A connection of bare lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.updates: list[Message] = []

    def send(self, *messages: object) -> None:
        for one in messages:
            line = one if isinstance(one, bytes) else json.dumps(one).encode()
            self.writer.write(line + b"\n")

    async def answer(self) -> Message:
        """The next message that is no update."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                message: Message = json.loads(await self.reader.readline())
                if message.get("method") != "session/update":
                    return message
                self.updates.append(message)

    async def ask(self, method: str, params: object, id: object = 1, **more: object) -> Message:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params, **more})
        return await self.answer()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[AgentSource, Model]]:
    def script(request: Request) -> Answer:
        return Answer(f"{len(str(request.body['messages'][-1]['content']))} characters")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_LOG", str(tmp_path_factory.mktemp("fake") / "log"))
        async with Model(script) as model, serve_app() as served:
            with launching(served.app, served.running):
                yield agent_source(served.app, served.running), model


@contextlib.asynccontextmanager
async def raw(world: tuple[AgentSource, Model], spec: str = "") -> AsyncIterator[Raw]:
    source, model = world
    ours, theirs = socket.socketpair()
    streams = await asyncio.open_connection(sock=ours)
    serving = source.tasks.start(
        AgentConnection(source, spec or f"{model.url}/v1#scripted", *streams).run(), "an odd editor"
    )
    reader, writer = await asyncio.open_connection(sock=theirs, limit=1 << 26)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait([serving])


async def begun(editor: Raw, root: str, **more: object) -> str:
    hello = await editor.ask("initialize", {"protocolVersion": 1, **more})
    assert hello["result"]["protocolVersion"] == 1
    new = await editor.ask("session/new", {"cwd": root, "mcpServers": []}, "two")
    assert new["id"] == "two"
    session: str = new["result"]["sessionId"]
    return session


async def test_unknown_members_and_capabilities_of_any_type_are_passed_over(world: tuple[AgentSource, Model]) -> None:
    root = world[0].bench.root
    odd: list[Message] = [
        {"clientCapabilities": None, "clientInfo": None},
        {"clientCapabilities": [], "clientInfo": "zed"},
        {"clientCapabilities": {"fs": 1, "elicitation": [], "terminal": "yes"}, "clientInfo": {"name": 7}},
        {"clientCapabilities": {"elicitation": {"form": 0, "url": False, "voice": {}}}, "_meta": {"a": [1]}},
        {"clientInfo": {"name": "x\u001b[31m" * 1000, "version": None}, "fromTheFuture": {"deep": [[[]]]}},
    ]
    for more in odd:
        async with raw(world) as editor:
            session = await begun(editor, root, **more)
            prompt = [{"type": "text", "text": "hi", "annotations": {"audience": ["user"]}, "new": 1}]
            params = {"sessionId": session, "prompt": prompt, "_meta": None, "fromTheFuture": True}
            assert (await editor.ask("session/prompt", params))["result"] == {"stopReason": "end_turn"}
            assert (await editor.ask("session/close", {"sessionId": session, "x": 1}))["result"] == {}


async def test_lines_that_are_no_requests_are_answered_with_errors_and_harm_nothing(
    world: tuple[AgentSource, Model],
) -> None:
    async with raw(world) as editor:
        session = await begun(editor, world[0].bench.root)
        cases: list[tuple[object, object, int]] = [
            ([{"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {}}], None, -32600),
            ([], None, -32600),
            (b"{not json", None, -32700),
            (b"\xff\xfe", None, -32700),
            (b"[" * 100_000, None, -32700),
            (7, None, -32600),
            ({"id": 6}, 6, -32600),
            ({"id": [1], "method": "session/list"}, None, -32600),
            ({"id": 8, "method": "session/prompt", "params": [session]}, 8, -32602),
            ({"id": 9, "method": "fs/read_text_file", "params": {}}, 9, -32601),
        ]
        for sent, id, code in cases:
            editor.send(sent)
            answer = await editor.answer()
            assert (answer["id"], answer["error"]["code"]) == (id, code), (sent, answer)
        # What needs no answer gets none.
        editor.send(
            {"method": "session/cancel", "params": {"sessionId": "nope"}},
            {"method": "session/cancel", "params": [1]},
            {"method": "from/the_future"},
            {"id": 12345, "result": {}},
            {"method": "$/cancel_request", "params": {"requestId": {}}},
            b"",
        )
        listed = await editor.ask("session/list", {"cwd": 7}, 3)
        assert session in [one["sessionId"] for one in listed["result"]["sessions"]]


async def test_a_huge_prompt_arrives_whole_and_one_beyond_the_limit_is_refused(
    world: tuple[AgentSource, Model],
) -> None:
    async with raw(world, f"acp {sys.executable} {FAKE}") as editor:
        session = await begun(editor, world[0].bench.root)

        def prompt(*blocks: Message) -> Message:
            return {"sessionId": session, "prompt": list(blocks)}

        huge = {"type": "text", "text": "ü" * 4_000_000}
        assert (await editor.ask("session/prompt", prompt(huge)))["result"] == {"stopReason": "end_turn"}
        said = "".join(one["params"]["update"].get("content", {}).get("text", "") for one in editor.updates)
        assert said == "heard: " + "ü" * 4_000_000  # by the agent, and back
        many = await editor.ask("session/prompt", prompt(*[{"type": "text", "text": "x"}] * 1001))
        assert "at most 1000 content blocks, not 1001" in many["error"]["message"]
        editor.send(b'{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"x":"' + b"x" * (65 << 20) + b'"}}')
        answer = await editor.answer()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        assert "too long" in answer["error"]["message"]
        small = {"type": "text", "text": "still there?"}
        assert (await editor.ask("session/prompt", prompt(small)))["result"] == {"stopReason": "end_turn"}


async def test_the_same_id_twice_and_many_at_once(world: tuple[AgentSource, Model]) -> None:
    async with raw(world) as editor:
        session = await begun(editor, world[0].bench.root)
        text = [{"type": "text", "text": "hi"}]
        ask = {"id": 7, "method": "session/prompt", "params": {"sessionId": session, "prompt": text}}
        editor.send(ask, ask)
        answers = [await editor.answer(), await editor.answer()]
        assert sorted("error" in one for one in answers) == [False, True]
        assert "under way already" in next(one for one in answers if "error" in one)["error"]["message"]
        editor.send(*({**ask, "id": n} for n in range(100, 140)))
        answers = [await editor.answer() for _ in range(40)]
        assert {one["id"] for one in answers} == set(range(100, 140))
        refused = [one["error"]["message"] for one in answers if "error" in one]
        assert refused
        assert all("messages wait" in words for words in refused)  # the rest had its turn
