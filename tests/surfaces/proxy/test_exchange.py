"""The proxy between agents and their models: real clients, a real server, a scripted model."""

import asyncio
import contextlib
import gzip
import itertools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest
from tests.kit import dialects as wire
from tests.kit import story
from tests.kit.model import Answer, Request, Tool
from tests.kit.stage import KEY, Stage, person_token, stage
from tests.kit.story import block, cut

from fourhands.agents.models.dialects import DialectLimits
from fourhands.agents.models.pool import UpstreamLimits
from fourhands.agents.models.upstream import Upstream, Upstreams
from fourhands.core.event import Event
from fourhands.settings import UpstreamSettings
from fourhands.surfaces.proxy.app import Proxy, ProxyLimits

ASK: Any = [{"role": "user", "content": "go"}]
LIST = '%%OS{"cmd":"openspace.terminal.list","args":{}}%%'
GEMINI = "/v1beta/models/fake:"


Talk = Callable[[Stage], Awaitable[str]]


async def chat_stream(s: Stage) -> str:
    async with s.openai() as client:
        stream = await client.chat.completions.create(model="fake", messages=ASK, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


async def chat_whole(s: Stage) -> str:
    async with s.openai() as client:
        done = await client.chat.completions.create(model="fake", messages=ASK)
        return done.choices[0].message.content or ""


async def responses_stream(s: Stage) -> str:
    async with s.openai() as client, client.responses.stream(model="fake", input="go") as stream:
        text = "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])
        assert (await stream.get_final_response()).output_text == text
        return text


async def responses_whole(s: Stage) -> str:
    async with s.openai() as client:
        return (await client.responses.create(model="fake", input="go")).output_text


async def anthropic_stream(s: Stage) -> str:
    async with s.anthropic() as client, client.messages.stream(model="fake", max_tokens=9, messages=ASK) as stream:
        text = "".join([piece async for piece in stream.text_stream])
        assert await stream.get_final_text() == text
        return text


async def anthropic_whole(s: Stage) -> str:
    async with s.anthropic() as client:
        done = await client.messages.create(model="fake", max_tokens=9, messages=ASK)
        return "".join(part.text for part in done.content if part.type == "text")


async def gemini(s: Stage, verb: str) -> str:
    async with s.raw() as client:
        answer = await client.post(GEMINI + verb, json={"contents": [{"parts": [{"text": "go"}]}]})
        assert answer.status_code == 200
        messages = [answer.json()] if verb == "generateContent" else wire.messages_of(answer.content)
        return wire.text_of("gemini", messages)


TALKS: dict[str, Talk] = {
    "chat, streamed": chat_stream,
    "chat": chat_whole,
    "responses, streamed": responses_stream,
    "responses": responses_whole,
    "anthropic, streamed": anthropic_stream,
    "anthropic": anthropic_whole,
    "gemini, events": lambda s: gemini(s, "streamGenerateContent?alt=sse"),
    "gemini, array": lambda s: gemini(s, "streamGenerateContent"),
    "gemini": lambda s: gemini(s, "generateContent"),
}


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_every_dialect_runs_the_blocks_and_shows_none():
    script = [Answer(cut(f"Looking {LIST}now."), id=str(number)) for number in range(len(TALKS))]
    patient = ProxyLimits(settle_s=40.0)  # each request is to tell of the one before
    async with stage(script, limits=patient) as s:
        for name, talk in TALKS.items():
            assert await talk(s) == "Looking now.", name
        assert await s.ran() == ["openspace.terminal.list"] * len(TALKS)
        for request in s.model.requests:
            assert request.says("# Fourhands workbench"), request.dialect
            assert not request.says(s.token)
            assert s.token not in json.dumps(request.headers)
            assert KEY in json.dumps(request.headers)
        # All ask the same: each is the first turn made again, and tells what came of all answers before.
        for count, request in enumerate(s.model.requests):
            told = [number for number in range(1, len(TALKS) + 1) if request.says(f"#{number} openspace.terminal.list")]
            assert told == list(range(1, count + 1))


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["chat, streamed", "anthropic, streamed", "responses", "gemini, events"])
async def test_the_story_of_an_agent_that_learns_of_its_mistake(name):
    async with stage(story.story) as s:
        story.prepare(s.root)
        said = ""
        for _ in range(3):
            said += await TALKS[name](s)
            await s.journal()
        await story.check(s.app, s.session, said)
        assert [request.says(story.SEEN) for request in s.model.requests] == [False, True, True]
        assert s.model.requests[2].says("openspace.editor.open")


async def test_tools_thinking_and_usage_pass_unharmed():
    full = Answer(
        ["Hel", f"lo {LIST}"], thinking=f"hm {LIST}", tools=[Tool("bash", {"command": f"echo '{LIST}'"})], tokens=(3, 4)
    )
    async with stage([full] * 4) as s, s.openai() as gpt, s.anthropic() as claude:
        async with claude.messages.stream(model="fake", max_tokens=9, messages=ASK) as stream:
            message = await stream.get_final_message()
        thinking, text, tool = message.content
        assert (thinking.type, text.type, tool.type) == ("thinking", "text", "tool_use")
        assert thinking.thinking == f"hm {LIST}"  # type: ignore[union-attr]  # its type is checked above
        assert tool.input == {"command": f"echo '{LIST}'"}  # type: ignore[union-attr]  # as well
        assert (message.usage.output_tokens, message.stop_reason) == (4, "tool_use")
        done = await gpt.chat.completions.create(model="fake", messages=ASK)
        assert done.choices[0].message.content == "Hello "
        call: Any = done.choices[0].message.tool_calls[0]  # type: ignore[index]  # there is one
        assert json.loads(call.function.arguments) == {"command": f"echo '{LIST}'"}
        assert done.usage
        assert done.usage.total_tokens == 7
        assert await s.ran() == ["openspace.terminal.list"] * 2


async def test_blocks_elsewhere_than_in_the_agents_own_words_never_run():
    harmless = Answer(f"See:\n```\n{LIST}\n```\nand `{LIST}` too.", thinking=LIST, tools=[Tool("read", {"path": LIST})])
    history: Any = [
        {"role": "user", "content": f"please {LIST}"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        ]},
        {"role": "tool", "tool_call_id": "c", "content": f"file says {LIST}"},
    ]  # fmt: skip
    async with stage([harmless] * 2) as s, s.openai() as client:
        done = await client.chat.completions.create(model="fake", messages=history)
        assert done.choices[0].message.content == harmless.text
        stream = await client.chat.completions.create(model="fake", messages=history, stream=True)
        assert "".join([c.choices[0].delta.content or "" async for c in stream]) == harmless.text
        assert s.model.requests[0].says(f"file says {json.dumps(LIST)[1:-1]}")
        assert await s.journal() == []


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_ten_thousand_blocks_in_one_answer_are_ten_commands_and_one_refusal(caplog):
    async with stage([Answer(cut(LIST * 10_000, 4000))]) as s:
        with caplog.at_level(logging.WARNING):
            assert await chat_stream(s) == ""
            journal = await s.journal()
        assert [bool(entry.result and entry.result.success) for entry in journal] == [True] * 10 + [False]
        assert "9989 further blocks" in caplog.text


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_a_block_of_a_megabyte_is_one_command():
    text = "x" * 1_000_000
    async with stage([Answer(cut("a" + block("terminal.send", terminalId="none", text=text) + "b", 50_000))]) as s:
        assert await chat_stream(s) == "ab"
        (entry,) = await s.journal()
        assert entry.call.command == "openspace.terminal.send"


async def test_an_answer_that_is_cut_off_breaks_off_and_its_complete_blocks_run():
    script = [Answer([f"one {LIST}", "two %%OS{", "three"], cut=3), Answer("lost", cut=0)]
    async with stage(script) as s, s.openai() as client:
        seen: list[str] = []

        async def read() -> None:
            stream = await client.chat.completions.create(model="fake", messages=ASK, stream=True)
            while chunk := await anext(aiter(stream)):
                seen.append(chunk.choices[0].delta.content or "")

        with pytest.raises((openai.APIError, httpx.RemoteProtocolError)):
            await read()
        assert "".join(seen) == "one two "
        assert await s.ran() == ["openspace.terminal.list"]
        with pytest.raises(
            openai.InternalServerError, match="Fourhands: the model's server closed the connection during"
        ):
            await client.chat.completions.create(model="fake", messages=ASK)


async def test_the_end_of_each_answer_is_told_but_not_of_one_on_the_side_or_of_a_connectors_turn():
    script = [Answer("one"), Answer("two", cut=1), Answer("a title"), Answer("three")]
    async with stage(script) as s, s.openai() as client:
        told: list[tuple[object, object]] = []

        def note(event: Event) -> None:
            if event.kind == "agent.finished":
                told.append((event.data["session"], event.data["stopReason"]))

        s.app.events.published.subscribe(note)
        tools: Any = [{"type": "function", "function": {"name": "x", "parameters": {}}}]
        await client.chat.completions.create(model="fake", messages=ASK, tools=tools)
        with pytest.raises(openai.InternalServerError):
            await client.chat.completions.create(model="fake", messages=ASK, tools=tools)
        await client.chat.completions.create(model="fake", messages=ASK)  # without its tools: for a title
        assert told == [(s.session.id, "end_turn"), (s.session.id, "failed")]

        async def prompt(text: str) -> str:
            """A connector's, which tells of its turns itself."""
            return text

        s.app.bench.prompters[s.session.id] = prompt
        await client.chat.completions.create(model="fake", messages=ASK, tools=tools)
        assert len(told) == 2


async def test_when_the_client_goes_away_the_request_ends_and_complete_blocks_run():
    gone = asyncio.Event()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for event in wire.stream("chat", Answer(["hi ", f"{LIST} %%OS{{"]))[:3]:
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await reader.read()
        gone.set()

    async with raw_server(upstream) as url, stage(upstream=url) as s, s.openai() as client:
        stream = aiter(await client.chat.completions.create(model="fake", messages=ASK, stream=True))
        for expected in ("", "hi ", " "):
            assert (await anext(stream)).choices[0].delta.content == expected
        await stream.aclose()  # type: ignore[attr-defined]  # an async generator
        await client.close()
        async with asyncio.timeout(40):
            await gone.wait()
        assert await s.ran() == ["openspace.terminal.list"]


async def test_a_client_that_goes_away_before_the_answer_leaves_the_results_to_be_told():
    asked = asyncio.Event()

    def script(request: Request) -> Answer:
        async def never(number: int) -> None:
            asked.set()
            await asyncio.Event().wait()

        return Answer(LIST) if len(s.model.requests) == 1 else Answer("", before=never)

    async with stage(script) as s:
        await chat_whole(s)
        await s.journal()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(chat_whole(s))
            await asked.wait()
            assert not s.session.untold
            waiting.cancel()
        async with asyncio.timeout(40):
            while not s.session.untold:  # noqa: ASYNC110 - the server notices when the connection is closed
                await asyncio.sleep(0.01)
        assert [result.command_id for result in s.session.untold] == ["openspace.terminal.list"]


async def test_connections_to_the_models_server_are_given_back_whatever_happens():
    hold = asyncio.Event()

    async def before(number: int) -> None:
        if number == 2:
            await hold.wait()

    def script(request: Request) -> Answer:
        return Answer("slow", before=before) if request.says("go-away") else Answer("quick")

    async with stage(script, limits=ProxyLimits(upstream=UpstreamLimits(most=2))) as s, s.raw() as client:
        for _ in range(3):
            body = {"messages": [{"role": "user", "content": "go-away"}], "stream": True}
            async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                await anext(answer.aiter_raw())
            for stream in (True, False):
                done = await client.post("/v1/chat/completions", json={"messages": [], "stream": stream})
                assert done.status_code == 200, done.text
            assert (await client.get("/v1/models")).status_code == 200
        hold.set()


async def test_two_agents_at_once_are_kept_apart():
    barrier = asyncio.Barrier(2)

    def script(request: Request) -> Answer:
        async def together(number: int) -> None:
            if number == 1:
                await barrier.wait()

        mine = "mine" if request.says("go-mine") else "yours"
        return Answer(cut(f"{mine} {block('terminal.create', title=mine)}!"), before=together, id="same")

    async def talk(token: str, word: str) -> str:
        async with s.openai(token) as client:
            said: Any = [{"role": "user", "content": f"go-{word}"}]
            stream = await client.chat.completions.create(model="fake", messages=said, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async with stage(script) as s:
        other, token = s.begin("other")
        both = await asyncio.gather(talk(s.token, "mine"), talk(token, "yours"))
        assert list(both) == ["mine !", "yours !"]
        for session, title in ((s.session, "mine"), (other, "yours")):
            (entry,) = await s.journal(session)
            assert entry.call.args == {"title": title}


async def test_a_stalled_block_is_given_up_after_five_seconds_and_the_text_goes_on():
    clock = itertools.count()  # each look at it is a second later
    go_on = asyncio.Event()

    async def before(number: int) -> None:
        if number == 2:
            await go_on.wait()

    async with stage([Answer(['a %%OS{"cmd":"x"', "}%% b"], before=before)]) as s:
        proxy = Proxy(s.app.bench, s.server.hub, s.app.tasks, now=lambda: next(clock), limits=ProxyLimits(tick_s=0.01))
        sent: list[bytes] = []

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        async def dropped() -> None:
            with s.app.events.subscribe(["call.finished"]) as events:
                assert (await anext(events)).data["code"] == "bad-block"
            go_on.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(dropped())
            await asyncio.sleep(0)
            await proxy(_scope(s, "/v1/chat/completions"), _receive(b'{"messages":[],"stream":true}'), send)
        proxy.upstreams.close()
        assert wire.text_of("chat", wire.messages_of(b"".join(sent))) == "a }%% b"


async def test_a_stopped_agent_runs_nothing_more_of_its_answer():
    stopped = asyncio.Event()

    async def before(number: int) -> None:
        if number == 2:
            await stopped.wait()

    async with stage([Answer([LIST, f"{LIST}end"], before=before)]) as s:
        async with asyncio.TaskGroup() as group:
            talk = group.create_task(chat_stream(s))
            with s.app.events.subscribe(["call.finished"]) as events:
                await anext(events)
            await s.app.call("openspace.agent.stop", {"sessionId": s.session.id})
            stopped.set()
        assert talk.result() == "end"
        assert await s.ran() == ["openspace.terminal.list"]


async def test_a_request_on_the_side_gets_no_instructions_and_commands_nothing():
    tools: Any = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    async with stage([Answer(LIST), Answer(f"Title {LIST}"), Answer("ok")]) as s, s.openai() as client:
        await client.chat.completions.create(model="fake", messages=ASK, tools=tools)
        await s.journal()
        title = await client.chat.completions.create(model="fake", messages=ASK)
        assert title.choices[0].message.content == "Title "
        await client.chat.completions.create(model="fake", messages=ASK, tools=tools)
        assert await s.ran() == ["openspace.terminal.list"]
        assert [request.says("# Fourhands workbench") for request in s.model.requests] == [True, False, True]
        assert s.model.requests[2].says("#1 openspace.terminal.list")


async def test_a_refusal_of_the_models_server_is_passed_on_and_the_results_are_told_later():
    busy = Answer(status=429, error="slow down", headers={"retry-after": "7", "x-ratelimit-remaining": "0"})
    async with stage([Answer(LIST), busy, Answer("fine")]) as s, s.anthropic() as client:
        await anthropic_whole(s)
        await s.journal()
        with pytest.raises(anthropic.RateLimitError, match="slow down") as caught:
            await client.messages.create(model="fake", max_tokens=9, messages=ASK)
        headers = caught.value.response.headers
        assert (headers["retry-after"], headers["x-ratelimit-remaining"]) == ("7", "0")
        assert "x-fourhands" not in headers
        assert json.loads(caught.value.response.content) == json.loads(wire.error("anthropic", 429, "slow down"))
        assert await anthropic_whole(s) == "fine"
        told = [request.says("#1 openspace.terminal.list") for request in s.model.requests]
        assert told == [False, True, True]


@pytest.mark.parametrize("name", ["chat", "anthropic", "gemini"])
async def test_errors_of_ours_are_marked_and_have_the_dialects_form(name):
    paths = {"chat": "/v1/chat/completions", "anthropic": "/v1/messages", "gemini": GEMINI + "generateContent"}
    async with stage(upstream="http://127.0.0.1:9") as s, s.raw() as client, s.raw(person_token(s.server)) as person:
        down = await client.post(paths[name], json={"messages": []})
        assert (down.status_code, down.headers["x-fourhands"]) == (502, "proxy")
        error = down.json()["error"]
        assert error["type"] == "fourhands_proxy_error"
        assert "cannot be reached" in error["message"]
        refused = await person.post(paths[name], json={"messages": []})
        assert (refused.status_code, refused.headers["x-fourhands"]) == (403, "proxy")
        assert "not an agent's token" in refused.json()["error"]["message"]
        if name == "anthropic":
            assert refused.json()["type"] == "error"
        if name == "gemini":
            assert refused.json()["error"]["status"] == "PERMISSION_DENIED"
        stranger = await client.post(paths[name], json={}, headers={"x-goog-api-key": "wrong"})
        assert stranger.status_code in (401, 403)  # the door's own answer
        s.app.bench.sessions.remove(s.session.id)
        ended = await client.post(paths[name], json={})
        assert (ended.status_code, ended.headers["x-fourhands"]) == (401, "proxy")


async def test_a_server_that_fails_again_and_again_is_left_alone_for_a_while():
    async with stage([Answer(status=503, error="down")] * 5) as s, s.openai() as client:
        for _ in range(5):
            with pytest.raises(openai.InternalServerError, match="down"):
                await client.chat.completions.create(model="fake", messages=ASK)
        with pytest.raises(openai.InternalServerError, match=r"failed again and again.*status 503") as caught:
            await client.chat.completions.create(model="fake", messages=ASK)
        assert caught.value.response.headers["x-fourhands"] == "proxy"
        assert int(caught.value.response.headers["retry-after"]) in range(1, 16)
        assert len(s.model.requests) == 5


@pytest.mark.parametrize(
    ("problem", "status", "text"),
    [
        (TimeoutError(), 504, "does not answer in time"),
        (ConnectionError("reset"), 502, "cannot be reached: reset"),
        (RuntimeError("a bug"), 500, "the proxy failed"),
    ],
)
async def test_a_server_that_is_slow_or_a_failure_of_ours_is_said_so(problem, status, text):
    class Failing(Upstream):
        async def send(self, *request: object) -> Any:
            raise problem

    class Failures(Upstreams):
        def find(self, family: str, dialect: str = "") -> Upstream:
            return Failing(family, family, UpstreamSettings(url="http://127.0.0.1:9"), {})

    async with stage() as s:
        proxy = Proxy(s.app.bench, s.server.hub, s.app.tasks)
        proxy.upstreams = Failures({}, {})
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await proxy(_scope(s, "/v1/messages"), _receive(b'{"messages":[]}'), send)
        assert (sent[0]["status"], dict(sent[0]["headers"])[b"x-fourhands"]) == (status, b"proxy")
        assert text in json.loads(sent[1]["body"])["error"]["message"]


async def test_what_is_not_a_models_answer_passes_untouched():
    async with stage() as s, s.openai() as gpt, s.anthropic() as claude, s.raw() as client:
        assert [model.id async for model in gpt.models.list()] == ["fake"]
        assert (await claude.messages.count_tokens(model="fake", messages=ASK)).input_tokens == 11
        assert (await client.post(GEMINI + "countTokens?key=x", json={})).json() == {"totalTokens": 11}
        lost = await client.get("/v1/nothing", params={"a": "b"})
        assert (lost.status_code, "nothing at" in lost.text) == (404, True)
        assert "x-fourhands" not in lost.headers
        assert (await client.get("/v1/%2e%2e/admin")).status_code == 400
        assert s.model.others == [
            *("GET /v1/models", "POST /v1/messages/count_tokens", "POST /v1beta/models/fake:countTokens"),
            "GET /v1/nothing",
        ]
        assert s.model.requests == []


async def test_nonsense_goes_on_to_the_server_and_compressed_requests_are_refused():
    async with stage() as s, s.raw() as client:
        assert (await client.post("/v1/messages", content=b"\xff not json")).status_code == 404
        squeezed = await client.post("/v1/messages", content=b"x", headers={"content-encoding": "gzip"})
        assert (squeezed.status_code, squeezed.headers["x-fourhands"]) == (415, "proxy")
        odd = await client.post("/v1/chat/completions", content=b'{"messages":[{"role":"user","content":"\\ud800"}]}')
        assert odd.status_code == 200
        assert s.model.requests[0].body["messages"][-1]["content"] == "\ud800"


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_in_gzip_is_read_though_it_was_not_asked_for(stream):
    said = Answer(f"one {LIST}two")
    body = b"".join(wire.stream("chat", said)) if stream else wire.body("chat", said)
    kind = b"text/event-stream" if stream else b"application/json"
    heads: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        heads.append(request)
        data = gzip.compress(body)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nset-cookie: a=b\r\nx-request-id: r1\r\n")
        writer.write(b"content-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (kind, len(data), data))

    async with raw_server(upstream) as url, stage(upstream=url) as s, s.raw() as client:
        answer = await client.post("/v1/chat/completions", json={"messages": [], "stream": stream})
        assert "content-encoding" not in answer.headers
        assert "set-cookie" not in answer.headers
        assert answer.headers["x-request-id"] == "r1"
        if stream:
            assert wire.text_of("chat", wire.messages_of(answer.content)) == "one two"
        else:
            assert answer.json()["choices"][0]["message"]["content"] == "one two"
        assert b"accept-encoding: identity" in heads[0].lower()
        assert await s.ran() == ["openspace.terminal.list"]


async def test_an_answer_in_an_unknown_encoding_is_not_guessed_at():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\ncontent-length: 1\r\n\r\nx")

    async with raw_server(upstream) as url, stage(upstream=url) as s, s.raw() as client:
        answer = await client.post("/v1/chat/completions", json={"messages": []})
        assert (answer.status_code, "'zstd'" in answer.json()["error"]["message"]) == (502, True)


async def test_a_hostile_server_harms_nobody_and_the_next_request_is_served():
    limits = ProxyLimits(dialect=DialectLimits(body=1_000_000))
    flood = gzip.compress(bytes(20_000_000))
    whole = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    event = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
    chunk = b"%x\r\n%s\r\n" % (len(event), event)
    fine = whole + b"content-length: 2\r\n\r\n{}"
    cases: list[tuple[bytes, int | None]] = [
        (whole + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s" % (len(flood), flood), 502),
        (whole + b"content-length: 5\r\n\r\n{}", 502),
        (whole + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}", 502),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 70_000, 502),
        (stream + chunk + b"zz\r\n", None),
        (stream + chunk, None),
    ]
    answers: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(answers.pop(0))

    async with raw_server(upstream) as url, stage(upstream=url, limits=limits) as s, s.raw() as client:
        for answer, status in cases:
            answers[:] = [answer, fine]
            body = {"messages": [], "stream": status is None}
            if status is None:
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.post("/v1/chat/completions", json=body)
            else:
                got = await client.post("/v1/chat/completions", json=body)
                assert (got.status_code, got.headers.get("x-fourhands")) == (status, "proxy")
            assert (await client.post("/v1/chat/completions", json=body)).content == b"{}"


async def test_a_redirect_is_an_answer_and_is_not_followed():
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:9/steal\r\ncontent-length: 0\r\n\r\n")

    async with raw_server(upstream) as url, stage(upstream=url) as s, s.raw() as client:
        answer = await client.post("/v1/messages", json={"messages": []})
        assert (answer.status_code, answer.headers["location"]) == (307, "http://127.0.0.1:9/steal")


async def test_the_first_bytes_do_not_wait_for_the_rest_and_arrays_are_not_compressed():
    more = asyncio.Event()

    async def before(number: int) -> None:
        if number == 1:
            await more.wait()

    async with (
        stage([Answer(["first", "second"], before=before)]) as s,
        s.raw() as client,
        client.stream("POST", GEMINI + "streamGenerateContent", json={"contents": []}) as answer,
    ):
        pieces = answer.aiter_raw()
        assert b"first" in await anext(pieces)
        more.set()
        assert b"second" in b"".join([piece async for piece in pieces])
        assert "content-encoding" not in answer.headers


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw_server(handler: Handler) -> AsyncIterator[str]:
    """A server that answers one request per connection with whatever bytes the handler writes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0)
        await reader.readexactly(length)
        await handler(reader, writer, head)
        with contextlib.suppress(OSError):
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _scope(s: Stage, path: str) -> dict[str, Any]:
    principal = s.server.tokens.check(s.token)
    return {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"content-type", b"application/json")], "state": {"principal": principal},
    }  # fmt: skip


def _receive(content: bytes) -> Callable[[], Awaitable[dict[str, Any]]]:
    given = False

    async def receive() -> dict[str, Any]:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": content}

    return receive
