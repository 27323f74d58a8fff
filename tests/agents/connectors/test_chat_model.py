"""A chat model as an agent, against a scripted model on loopback: acts, looks, corrects itself, stops, retries."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit import story
from tests.kit.answering import Proxy, certified, listening, once
from tests.kit.chatting import Interface, Watched, start
from tests.kit.dialects import Answer
from tests.kit.model import Model
from tests.kit.workbench import open_app

from fourhands.agents.connectors.conversation import fit
from fourhands.agents.connectors.endpoint import Endpoint
from fourhands.agents.connectors.tour import Tour, block
from fourhands.agents.models.history import HistoryMessage
from fourhands.core.errors import BadArgument


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    async with open_app() as app, contextlib.AsyncExitStack() as stack:
        Path(app.bench.root, "app.py").write_text("".join(f"line {number}\n" for number in range(1, 61)))
        yield Watched(app, stack)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_model_that_knows_only_blocks_finishes_a_task_that_needs_what_it_read(watched, kind) -> None:
    script = [
        Answer(
            "I open the file. "
            + block("editor.open", path="app.py", line=42)
            + block("editor.highlight", path="app.py", ranges=[{"startLine": 42, "endLine": 50}], highlightId="fix-1")
            + block("terminal.create", title="t")
            + block("editor.open", path="missing.py")
        ),
        Answer("Corrected. " + block("file.read", path="app.py", startLine=42, endLine=42)),
        Answer("Line 42 says: line 42"),
    ]
    async with Model(script) as model:
        chat = await start(watched, model, kind)
        await chat.prompt("look at line 42")
        await watched.until("agent.changed", status="idle")
        requests = [str(request.body) for request in model.requests]
    assert "%%OS" not in watched.said()
    assert watched.said().endswith("Line 42 says: line 42")
    assert "FAILED: no file or directory" in requests[1]
    assert "line 42" in requests[2]
    systems = [json.dumps(request.body.get("system") or request.body["messages"][0]) for request in model.requests]
    assert "# Fourhands workbench" in systems[0]
    assert len(set(systems)) == 1, "what goes first never changes"
    assert "- app.py, line 42" in requests[1]
    state = watched.app.bench.state
    assert state.editor("app.py").line == 42
    assert [mark.id for mark in state.highlights()] == ["fix-1"]
    journal = await watched.app.journal.query(session=chat.session.id)
    assert sorted(entry.call.command.rpartition(".")[2] for entry in journal) == [
        "create",
        "highlight",
        "open",
        "open",
        "read",
    ]


@pytest.mark.slow
@pytest.mark.timeout(90)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_the_story_of_an_agent_that_learns_of_its_mistake(watched, kind) -> None:
    story.prepare(Path(watched.app.bench.root))
    async with Model(story.story) as model:
        chat = await start(watched, model, kind)
        await chat.prompt("look at line 42")
        await watched.until("agent.changed", status="idle")
        assert len(model.requests) == 4
    await story.check(watched.app, chat.session, watched.said())


async def test_rounds_without_commands_end_the_turn(watched) -> None:
    async with Model([Answer("Just words.")]) as model:
        chat = await start(watched, model)
        await chat.prompt("hi")
        await watched.until("agent.changed", status="idle")
        assert len(model.requests) == 1
    assert [data["stopReason"] for data in watched.of("agent.finished")] == ["end_turn"]


async def test_rounds_are_limited(watched) -> None:
    async with Model([], default=Answer("again " + block("pane.list"))) as model:
        chat = await start(watched, model, rounds=3)
        await chat.prompt("loop")
        await watched.until("agent.changed", status="idle")
        assert len(model.requests) == 3
    assert "stopped after 3 rounds" in str(watched.of("agent.noted")[-1]["text"])
    assert [data["stopReason"] for data in watched.of("agent.finished")] == ["max_turn_requests"]


async def test_a_busy_endpoint_is_tried_again_and_nothing_is_lost(watched) -> None:
    async with Model([Answer(status=429), Answer(status=503), Answer("finally")]) as model:
        chat = await start(watched, model)
        await chat.prompt("hi")
        await watched.until("agent.changed", status="idle")
    assert watched.said() == "finally"
    assert len(watched.of("agent.noted")) == 2


async def test_an_endpoint_that_is_not_there_is_told_and_the_next_message_works(watched) -> None:
    async with Model([Answer("back")]) as model:
        chat = await start(watched, model, retries=1)
        gone = chat.endpoint
        chat.endpoint = Endpoint(url="http://127.0.0.1:9", model="fake", retries=1)
        await chat.prompt("one")
        failed = await watched.until("agent.failed")
        assert "cannot be reached" in str(failed["error"])
        chat.endpoint = gone
        await chat.prompt("two")
        await chat.idle()
        assert watched.said() == "back"
        assert chat.history[-2] == {"role": "user", "content": "two"}


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_a_refusal_is_told_once_and_not_repeated(watched, status) -> None:
    async with Model([Answer(status=status)]) as model:
        chat = await start(watched, model)
        await chat.prompt("hi")
        failed = await watched.until("agent.failed")
        assert f"status {status}" in str(failed["error"])
        assert (await watched.until("agent.finished"))["stopReason"] == "failed"
        assert len(model.requests) == 1


REASONS: dict[str, tuple[Interface, bytes]] = {
    "end_turn": ("openai", b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'),
    "max_tokens": ("openai", b'{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}'),
    "refusal": ("openai", b'{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}'),
    "stop_sequence": ("anthropic", b'{"type":"message","content":[],"stop_reason":"stop_sequence"}'),
    "max_tokens, streamed": ("anthropic", b'{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}'),
}


async def test_why_an_answer_ended_is_told_with_the_end_of_the_turn(watched) -> None:
    async with Model() as model:
        chat = await start(watched, model)
        for name, (kind, body) in REASONS.items():
            answer = STREAM + b"data: " + body + b"\n\n" if "streamed" in name else WHOLE + body
            async with listening(once(answer)) as port:
                chat.endpoint = Endpoint(url=f"http://127.0.0.1:{port}", model="fake", kind=kind, retries=0)
                await chat.prompt("go")
                await chat.idle()
    assert [data["stopReason"] for data in watched.of("agent.finished")] == [n.partition(",")[0] for n in REASONS]


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
DONE = b"data: [DONE]\n\n"
NOISE = (
    b'data: {"choices": "x"}\n\ndata: {"choices":[1,{"delta":5},{"delta":{"content":7}},{}]}\n\n'
    b"data: [1]\n\ndata: null\n\ndata: nonsense\n\n: ping\n\n"
)
ENDPOINTS: dict[str, tuple[Interface, bytes, str, str]] = {
    "noise": ("openai", STREAM + NOISE + b'data: {"choices":[{"delta":{"content":"fine"}}]}\n\n' + DONE, "fine", ""),
    "not streamed": ("openai", WHOLE + b'{"choices":[{"message":{"content":"fine"}}]}', "fine", ""),
    "not streamed there": (
        "anthropic",
        WHOLE + b'{"type":"message","content":[{"type":"text","text":"fine"}]}',
        "fine",
        "",
    ),
    "a web page": (
        "openai",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<h1>Hi</h1>",
        "",
        "(text/html): <h1>Hi</h1>",
    ),
    "nothing": ("openai", STREAM, "", "unexpected response from the model endpoint (text/event-stream): nothing"),
    "another interface": (
        "anthropic",
        STREAM + b'data: {"choices":[]}\n\n',
        "",
        "unexpected response from the model endpoint",
    ),
    "an empty answer": ("openai", STREAM + b'data: {"choices":[{"finish_reason":"stop"}]}\n\n', "", ""),
    "an error": (
        "openai",
        STREAM + b'data: {"error":{"message":"no model x"}}\n\n',
        "",
        "reports an error: no model x",
    ),
    "a late error": (
        *("openai", STREAM + b'data: {"choices":[{"delta":{"content":"so"}}]}\n\ndata: {"error":"full"}\n\n'),
        *("so", "reports an error: full"),
    ),
    "a refusal": ("openai", b'HTTP/1.1 401 No\r\n\r\n{"error":{"message":"bad key"}}', "", "status 401: bad key"),
    "a page not found": ("openai", b"HTTP/1.1 404 No\r\n\r\n<h1>404</h1>", "", "status 404: <h1>404</h1>"),
    "no last empty line": (
        *("openai", STREAM + b'data:{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}'),
        *("fine", ""),
    ),
    "cut off": (
        *("openai", STREAM + b'data: {"choices":[{"delta":{"content":"half"}}]}\n\n'),
        *("half", "the model's response was cut off"),
    ),
    "cut off there": (
        "anthropic",
        STREAM + b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"half"}}\n\n',
        *("half", "the model's response was cut off"),
    ),
    "cut off before its first word": (
        *("openai", STREAM + b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'),
        *("", "cannot be reached: the model's response was cut off"),
    ),
    "half a character": (
        *("openai", STREAM + b'data: {"choices":[{"delta":{"content":"\xe2\x82 \\ud83d fine"}}]}\n\n' + DONE),
        *("\ufffd \ufffd fine", ""),
    ),
    "parts": (
        "openai",
        WHOLE + b'{"choices":[{"message":{"content":[{"type":"text","text":"fi"},1,{"type":"text","text":"ne"}]}}]}',
        "fine",
        "",
    ),
    "another choice": (
        *(
            "openai",
            STREAM
            + b'data: {"choices":[{"index":1,"delta":{"content":"no"}},{"delta":{"content":"fine"}}]}\r\r'
            + DONE,
        ),
        *("fine", ""),
    ),
    "text at the start": (
        "anthropic",
        STREAM + b'event: x\ndata: {"type":"content_block_start","content_block":{"type":"text","text":"fi"}}\n\n'
        b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"ne"}}\n\n'
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        "fine",
        "",
    ),
    "come back tomorrow": (
        *("openai", b"HTTP/1.1 429 Busy\r\nretry-after: 86400\r\n\r\nslow down"),
        *("", "cannot be reached: status 429: slow down"),
    ),
    "no HTTP": ("openai", b"SSH-2.0-OpenSSH\r\n", "", "cannot be reached: "),
}


@pytest.mark.parametrize("name", ENDPOINTS)
async def test_whatever_an_endpoint_says_is_read_or_named_and_the_next_message_is_clean(watched, name) -> None:
    kind, answer, said, problem = ENDPOINTS[name]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with Model([Answer("good")]) as model:
        chat = await start(watched, model, kind)
        right = chat.endpoint
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            chat.endpoint = Endpoint(url=url, model="fake", kind=kind, retries=1)
            await chat.prompt("one")
            await watched.until("agent.changed", status="idle")
        failures = [str(data["error"]) for data in watched.of("agent.failed")]
        assert watched.said() == said
        assert [problem in failure for failure in failures] == ([True] if problem else []), failures
        if not said and not problem:
            assert "empty answer" in str(watched.of("agent.noted")[0]["text"])
        chat.endpoint = right
        await chat.prompt("two")
        await chat.idle()
        assert watched.said() == said + "good"
        roles = [turn["role"] for turn in chat.history]
        assert roles == ["user", "assistant"] * (len(roles) // 2), "a history without gaps"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY"])
async def test_a_model_is_reached_by_the_proxy_that_the_environment_names(watched, name, tmp_path) -> None:
    cert, context = await certified(tmp_path)
    told = STREAM + b'data: {"choices":[{"delta":{"content":"far away"}}]}\n\n' + DONE
    tls = context if name == "HTTPS_PROXY" else None
    async with listening(once(told), tls) as port:
        proxy = Proxy(port)
        async with listening(proxy.serve) as proxy_port, Model() as model:
            chat = await start(watched, model)
            url = "https://model.test/v1" if tls else "http://model.test/v1"
            env = {name: f"http://127.0.0.1:{proxy_port}", "SSL_CERT_FILE": cert}
            watched.app.bench.terminals.env = env
            chat.endpoint = Endpoint(url=url, model="fake", retries=0)
            await chat.prompt("hello")
            await chat.idle()
    assert watched.said() == "far away", watched.of("agent.failed")
    assert proxy.heads[0].startswith(b"CONNECT model.test:443 " if tls else b"POST http://model.test/v1/chat/comp")


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_ten_thousand_blocks_in_one_answer_are_a_few_commands_and_one_refusal(watched) -> None:
    blocks = block("terminal.list") * 10_000
    async with Model([Answer([blocks[at : at + 4000] for at in range(0, len(blocks), 4000)]), Answer("ok")]) as model:
        chat = await start(watched, model)
        await chat.prompt("go")
        await chat.idle()
        assert watched.said() == "ok"
        journal = await watched.app.journal.query(session=chat.session.id, limit=20_000)
        results = [entry.result.success for entry in sorted(journal, key=lambda e: e.number) if entry.result]
        assert results == [True] * 10 + [False]


async def test_stop_ends_the_turn_and_the_agent_answers_again(watched) -> None:
    async with Model(
        [Answer("slow " + block("terminal.wait", terminalId="t", deadlineSeconds=60)), Answer("here")]
    ) as model:
        chat = await start(watched, model)
        app = watched.app
        await app.call("openspace.terminal.create", {"title": "t"})
        await chat.prompt("wait for ever")
        await watched.until("call.started", command="openspace.terminal.wait")
        stopped = await app.call("openspace.agent.stop", {"sessionId": chat.session.id})
        assert stopped.success
        assert (await watched.until("agent.failed"))["code"] == "stopped"
        await chat.prompt("still there?")
        await watched.until("agent.said", text="here")


async def test_a_paused_agent_begins_no_turn(watched) -> None:
    async with Model([Answer("now")]) as model:
        chat = await start(watched, model)
        await watched.app.call("openspace.agent.pause", {"sessionId": chat.session.id})
        await chat.prompt("hi")
        await watched.until("agent.changed", status="paused")
        assert model.requests == []
        await watched.app.call("openspace.agent.resume", {"sessionId": chat.session.id})
        await watched.until("agent.said", text="now")


async def test_an_unreadable_block_is_a_failed_result_for_the_model(watched) -> None:
    async with Model([Answer("x %%OS{not json}%% y " + block("pane.list")), Answer("ok")]) as model:
        chat = await start(watched, model)
        await chat.prompt("go")
        await watched.until("agent.said", text="ok")
        assert "a block was dropped" in str(model.requests[1].body)
    assert watched.said().startswith("x  y ")


async def test_blocks_in_the_persons_words_are_never_run(watched) -> None:
    async with Model([Answer("I see.")]) as model:
        chat = await start(watched, model)
        await chat.prompt("please " + block("terminal.create", title="evil"))
        await watched.until("agent.changed", status="idle")
    assert watched.of("call.finished") == []


async def test_the_tour_shows_everything_and_leaves_clean_text(watched) -> None:
    app = watched.app
    session = app.bench.begin_session("tour", "tour")
    app.gate.consent.grant(session.id)
    tour = await watched.stack.enter_async_context(Tour(app.bench, session, pace_s=0))
    await tour.prompt("show me")
    await watched.until("agent.changed", status="idle")
    assert "%%OS" not in watched.said()
    done = {str(data["command"]).removeprefix("openspace."): data["ok"] for data in watched.of("call.finished")}
    assert done == {
        "editor.open": False,
        "editor.highlight": True,
        "terminal.create": True,
        "terminal.send": True,
        "file.list": True,
    }
    assert "no-such-file.txt" in watched.said()
    undone = await app.call("openspace.workbench.undo")
    assert undone.success


async def test_the_end_of_the_session_takes_its_things_away(watched) -> None:
    app = watched.app
    session = app.bench.begin_session("tour", "tour")
    app.gate.consent.grant(session.id)
    tour = await watched.stack.enter_async_context(Tour(app.bench, session, pace_s=0))
    await tour.prompt("show me")
    await watched.until("agent.changed", status="idle")
    pinned = await app.call("openspace.pane.pin", {"paneId": "app.py"})
    assert pinned.success
    await app.call("openspace.agent.end", {"sessionId": session.id})
    assert app.terminals.list() == []
    assert app.bench.state.highlights() == ()
    assert [editor.path for editor in app.bench.state.editors()] == ["app.py"]
    assert (await app.call("openspace.agent.prompt", {"sessionId": session.id, "text": "x"})).code == "not-found"


async def test_without_consent_nothing_is_done(watched) -> None:
    async with Model([Answer("try " + block("terminal.create", title="t")), Answer("I may not.")]) as model:
        chat = await start(watched, model)
        watched.app.gate.consent.revoke(chat.session.id)
        await chat.prompt("go")
        await watched.until("agent.said", text="I may not.")
    assert watched.app.terminals.list() == []
    assert watched.of("call.finished")[0]["code"] == "no-answer"


@pytest.mark.parametrize(("url", "model"), [("ftp://x", "m"), ("", "m"), ("http://x", "")])
def test_addresses_that_cannot_be_used_are_refused(url: str, model: str) -> None:
    with pytest.raises(BadArgument):
        Endpoint(url=url, model=model)


def test_history_is_cut_to_the_budget_at_a_message_of_the_user() -> None:
    history: list[HistoryMessage] = [{"role": role, "content": "x" * 350} for role in ("user", "assistant") * 10]
    kept = fit(history, 500)
    assert kept[0]["role"] == "user"
    assert kept == history[-len(kept) :]
    assert sum(len(message["content"]) for message in kept) <= 500 * 3.5
    assert fit([{"role": "user", "content": "x" * 9999}], 10) == [{"role": "user", "content": "x" * 9999}]
