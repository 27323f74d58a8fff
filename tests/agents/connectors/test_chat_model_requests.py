"""What a chat model's endpoint refuses, and how the next request is another: waits, contexts, options, prices."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.kit.chatting import Interface, Watched, ask, start
from tests.kit.dialects import Answer, Tool
from tests.kit.model import Model, Request
from tests.kit.workbench import open_app

from fourhands.agents.connectors.conversation import LEFT_OUT, answered, characters, fit, smaller
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.agents.connectors.refusals import context_limit, is_busy, knows_no_tools, too_long, wait_of
from fourhands.agents.connectors.traits import KEEP_S, KnownEndpoints
from fourhands.agents.models.history import HistoryMessage
from fourhands.app.connectors import register_all
from fourhands.settings import AgentSettings, Settings
from fourhands.settings.models import ModelPrice

READ = "openspace_file_read"


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    async with open_app() as app, contextlib.AsyncExitStack() as stack:
        Path(app.bench.root, "long.txt").write_text("".join(f"this is line {number}\n" for number in range(400)))
        yield Watched(app, stack)


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WAITS: list[tuple[dict[str, str], float | None]] = [
    ({}, None),
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after": "Fri, 02 Jan 2026 03:04:17 GMT"}, 12.0),
    ({"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, 0.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "-5"}, None),
    ({"retry-after": "9" * 400}, 1e100),
    ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
    ({"x-ratelimit-reset-requests": "1m2.5s"}, 62.5),
    ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
    (
        {
            "x-ratelimit-reset-requests": "6m0s",
            "x-ratelimit-remaining-requests": "10",
            "x-ratelimit-reset-tokens": "3s",
            "x-ratelimit-remaining-tokens": "0",
        },
        3.0,
    ),
    ({"anthropic-ratelimit-requests-reset": "2026-01-02T03:04:35Z"}, 30.0),
    ({"retry-after": "2", "anthropic-ratelimit-requests-reset": "2026-01-02T03:04:35Z"}, 2.0),
]


def test_the_wait_that_an_endpoint_asks_for_is_read_in_every_form() -> None:
    assert [wait_of(headers, NOW) for headers, _ in WAITS] == [wanted for _, wanted in WAITS]


# Status, words, whether it is too long, and the limit that they tell.
TOO_LONG: list[tuple[int, str, int | None]] = [
    (
        400,
        "invalid_request_error context_length_exceeded This model's maximum context length is 8192 tokens. However, "
        "your messages resulted in 9000 tokens.",
        8192,
    ),
    (400, "prompt is too long: 210000 tokens > 200000 maximum", 200_000),
    (400, "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, decrease input length", 200_000),
    (400, "the request exceeds the available context size (4096 tokens), try increasing it", 4096),
    (400, '{"error":{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}', 4096),
    (500, "the request exceeds the available context size. try increasing the context size", None),
    (400, "This model's maximum context length is 32,768 tokens. However, you requested 40000 tokens", 32_768),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000", 4097),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
    (400, "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
    (400, "the model is loaded with context length of only 4096 tokens, which is not enough", 4096),
    (413, "Payload Too Large", None),
    (429, "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 50000.", None),
]
OTHERS = [
    (400, "messages.1: tool_use ids were found without tool_result blocks"),
    (429, "Rate limit reached for requests"),
    (401, "invalid key"),
    (404, "model not found"),
    (400, "max_tokens is too large: 9000. This model supports at most 4096 completion tokens"),
]


def test_a_context_that_is_too_small_is_understood_in_the_words_of_many_servers() -> None:
    assert [(said, context_limit(said)) for status, said, _ in TOO_LONG if too_long(status, said)] == [
        (said, limit) for _, said, limit in TOO_LONG
    ]
    assert [said for status, said in OTHERS if too_long(status, said)] == []
    assert [said for status, said, _ in TOO_LONG if is_busy(status, said)] == []
    assert not knows_no_tools(400, "messages.1: `tool_use_id` has no `tool_use`")
    assert not is_busy(429, "insufficient_quota You exceeded your current quota")


async def test_waits_are_those_that_the_endpoint_asks_for_else_they_grow_and_their_number_is_bounded(
    watched: Watched,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    script = [
        Answer(status=429, headers={"retry-after": "7"}),
        Answer(status=529),
        Answer(status=500),
        Answer("at last"),
    ]
    async with Model(script, default=Answer(status=503)) as model:
        chat = await start(watched, model, sleep=sleep)
        await ask(chat, "go")
        assert watched.said() == "at last"
        assert waits == [7.0, 1.0, 2.0]
        await ask(chat, "again")
        assert waits[3:] == [0.5, 1.0, 2.0, 4.0]
        assert "cannot be reached" in str(watched.of("agent.failed")[-1]["error"])
        assert [turn["role"] for turn in chat.history] == ["user", "assistant"], "the message counts as not said"


async def test_an_overloaded_model_that_says_so_in_its_answer_is_asked_again(watched: Watched) -> None:
    busy = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    async with Model([Answer(raw=busy), Answer("here")]) as model:
        chat = await start(watched, model, "anthropic")
        await ask(chat, "go")
    assert watched.said() == "here"


async def test_what_no_wait_can_change_is_told_at_once(watched: Watched) -> None:
    async with Model([Answer(status=429, error="You exceeded your current quota")]) as model:
        chat = await start(watched, model)
        await ask(chat, "go")
        assert len(model.requests) == 1
    assert "billing" in str(watched.of("agent.failed")[-1]["hint"])


async def test_stop_ends_a_wait_at_once(watched: Watched) -> None:
    async with Model([Answer(status=429, headers={"retry-after": "100"}), Answer("here")]) as model:
        chat = await start(watched, model, sleep=asyncio.sleep)
        await chat.prompt("go")
        await watched.until("agent.noted")
        await watched.app.call("openspace.agent.stop", {"sessionId": chat.session.id})
        await chat.idle()
        assert watched.of("agent.finished")[-1]["stopReason"] == "cancelled"
        await ask(chat, "now?")
    assert watched.said() == "here"


def reading(number: int, answer: str = "") -> Answer:
    return Answer(answer, tools=[Tool(READ, {"path": "long.txt"}, f"read{number}")])


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("words", ["maximum context length is 7000 tokens", "prompt is too long"])
async def test_a_conversation_that_is_too_long_is_made_smaller_and_told_to_model_and_person(
    watched: Watched, kind: Interface, words: str
) -> None:
    answers = iter([reading(1), Answer("one"), reading(2), Answer("two"), reading(3), Answer("three"), Answer("four")])

    def script(request: Request) -> Answer:
        size = sum(len(str(turn["content"])) for turn in request.turns)
        return Answer(status=400, error=words) if size > 18_000 else next(answers)

    async with Model(script) as model:
        chat = await start(watched, model, kind)
        for text in ("first", "second", "third", "fourth"):
            await ask(chat, text)
        assert watched.of("agent.failed") == []
        assert watched.said() == "onetwothreefour"
        assert all(request.unanswered == [] for request in model.requests)
        last = model.requests[-1]
        assert "characters left out here" in last.results["read1"]
        assert "this is line 200" in last.results["read3"], "the newest is whole"
        assert last.says("first"), "results give way before messages"
    notes = [str(data["text"]) for data in watched.of("agent.noted")]
    assert any("older results were shortened" in note for note in notes)


async def test_a_conversation_that_never_fits_is_given_up(watched: Watched) -> None:
    async with Model([], default=Answer(status=400, error="prompt is too long")) as model:
        chat = await start(watched, model)
        chat.history = [{"role": role, "content": role * 3000} for role in ("user", "assistant") * 6]
        await ask(chat, "go")
        assert 1 < len(model.requests) <= 5
        assert "too long" in str(watched.of("agent.failed")[-1]["error"])


async def test_options_that_an_endpoint_does_not_know_are_left_out_once_and_for_all(
    watched: Watched, tmp_path: Path
) -> None:
    def script(request: Request) -> Answer:
        if "stream_options" in request.body:
            return Answer(status=400, error="extra field not permitted: stream_options")
        if "max_tokens" in request.body:
            return Answer(status=400, error="'max_tokens' is not supported, use 'max_completion_tokens' instead")
        return Answer("ok")

    now = 1000.0
    known = KnownEndpoints(tmp_path / "e.json", now=lambda: now)
    async with Model(script) as model:
        chat = await start(watched, model, known=known)
        await ask(chat, "go")
        assert len(model.requests) == 3
        await known.close()
        again = await start(watched, model, known=KnownEndpoints(tmp_path / "e.json", now=lambda: now))
        await ask(again, "go")
        assert len(model.requests) == 4
        assert model.requests[-1].body["max_completion_tokens"] == 4096
    later = KnownEndpoints(tmp_path / "e.json", now=lambda: now + KEEP_S + 1)
    assert later.of(chat.endpoint.name).usage, "a lesson is kept for a while only"
    for content in (b"nonsense", b"[]", b"\xff", b'{"x": 5}'):
        (tmp_path / "e.json").write_bytes(content)
        assert KnownEndpoints(tmp_path / "e.json").of("x").tools


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_what_a_model_uses_is_told_with_each_answer_and_summed_for_the_session(
    watched: Watched, kind: Interface
) -> None:
    async with Model([reading(1), Answer("done", tokens=(1000, 20)), Answer("more")]) as model:
        chat = await start(watched, model, kind, price=ModelPrice(input=2.0, output=10.0))
        await ask(chat, "go")
        await ask(chat, "more")
    told = watched.of("agent.usage")
    assert [(data["inputTokens"], data["outputTokens"]) for data in told] == [(11, 7), (1000, 20), (11, 7)]
    assert told[1]["cost"] == pytest.approx(0.0022)
    listed = await watched.app.call("openspace.agent.list")
    agents: Any = listed.data["agents"]
    total = agents[0]["usage"]
    assert (total["requests"], total["inputTokens"], total["outputTokens"]) == (3, 1022, 34)
    assert total["cost"] == pytest.approx(0.0022 + 2 * 92e-6)
    assert told[-1]["total"] == total
    usage: Any = watched.of("agent.finished")[0]["usage"]
    assert usage == {"inputTokens": 1011, "outputTokens": 27, "cachedTokens": 0}, "of all rounds of the turn"


USED = {
    "openai": (
        b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,'
        b'"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":80},"cost":0.5}}\n\n'
    ),
    "anthropic": (
        b'data: {"type":"message_start","message":{"usage":{"input_tokens":15,"cache_read_input_tokens":80,'
        b'"cache_creation_input_tokens":5,"output_tokens":1}}}\n\n'
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n'
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":10}}\n\n'
    ),
}


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_tokens_from_a_cache_and_a_cost_that_the_endpoint_tells_are_counted(
    watched: Watched, kind: Interface
) -> None:
    wrong = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":"many",'
    wrong += b'"completion_tokens":-1,"prompt_tokens_details":[],"cost":true}}\n\n'
    async with Model([Answer(raw=USED[kind])]) as model:
        chat = await start(watched, model, kind, price=ModelPrice(input=1.0, output=10.0, cached=0.1))
        await ask(chat, "go")
    [told] = watched.of("agent.usage")
    assert (told["inputTokens"], told["cachedTokens"], told["outputTokens"]) == (100, 80, 10)
    assert told["cost"] == pytest.approx(0.5 if kind == "openai" else (20 + 8 + 100) / 1e6)
    async with Model([Answer(raw=wrong)]) as model:
        chat = await start(watched, model)
        await ask(chat, "go")
    assert len(watched.of("agent.usage")) == 1, "numbers that are none are no usage"


async def test_a_line_without_an_end_is_one_error_and_the_session_lives(watched: Watched) -> None:
    async with Model([Answer(raw=b"data: " + b"x" * (33 << 20)), Answer("good")]) as model:
        chat = await start(watched, model)
        await ask(chat, "one")
        assert "larger than" in str(watched.of("agent.failed")[-1]["error"])
        await ask(chat, "two")
    assert watched.said() == "good"


async def test_a_model_is_asked_as_the_settings_say() -> None:
    price = ModelPrice(input=1_000_000.0, output=0.0, cached=0.0)
    chosen = AgentSettings(mode="blocks", max_tokens=77, context_tokens=2000, price=price)
    settings = Settings(agents={"http": AgentSettings(mode="tools", max_tokens=5000), "fake": chosen})
    async with open_app(settings) as app, Model([Answer(raw=USED["openai"].replace(b',"cost":0.5', b""))]) as model:
        wiring = LaunchContext(briefing=lambda id, tools=False: "I", issue_token=str, url="http://127.0.0.1:1", env={})
        launcher = Launcher(app.bench, app.tasks, wiring)
        register_all(launcher)
        session = await launcher.start(f"{model.url}/v1#fake")
        chat: Any = launcher.connectors[session.id]
        chat.history = [{"role": role, "content": f"{at} " * 1000} for at in range(8) for role in ("user", "assistant")]
        await ask(chat, "go")
        request = model.requests[-1]
        assert "tools" not in request.body
        assert request.body["max_tokens"] == 77
        assert sum(len(turn["content"]) for turn in request.turns) < 2000 * 3.5
        assert session.usage is not None
        assert session.usage.cost == 20.0


def turns(*messages: str) -> list[HistoryMessage]:
    """A conversation, a letter each: u(ser), a(ssistant), c(alls) of the assistant, t(ool result)."""
    made: list[HistoryMessage] = []
    for at, message in enumerate(messages):
        letter, content = message[0], message[1:] or "x" * 100
        if letter == "t":
            made.append({"role": "tool", "content": content, "call": f"c{at - 1}"})
        elif letter == "c":
            made.append(
                {"role": "assistant", "content": "", "calls": [{"id": f"c{at}", "name": "t", "arguments": "{}"}]}
            )
        else:
            made.append({"role": "user" if letter == "u" else "assistant", "content": content})
    return made


def test_what_is_left_of_a_conversation_is_whole_whatever_the_budget() -> None:
    long = "t" + "y" * 5000
    history = turns("u", "c", long, "a", "u", "c", long, "c", long, "c", long, "a", "u", "c", long, "c", long)
    for budget in range(100, characters(history) + 200, 97):
        for kept in (fit(history, budget), smaller(history, budget).messages):
            assert kept[0]["role"] == "user"
            assert answered(kept) == kept, "no call without a result, no result without a call"
            assert kept[-1]["role"] == "tool"
        if budget > 3000:
            assert characters(smaller(history, budget).messages) <= budget
    tiny = smaller(history, 4000)
    assert tiny.left_out
    assert tiny.messages[0]["content"].startswith(LEFT_OUT)
    assert smaller(tiny.messages, 3500).messages[0]["content"].count(LEFT_OUT) == 1


def test_a_stored_conversation_is_mended_where_calls_and_results_do_not_match() -> None:
    odd: list[HistoryMessage] = [
        {"role": "tool", "content": "of nothing", "call": "z"},
        *turns("u", "c"),
        {"role": "user", "content": "hello"},
        {"role": "tool", "content": "late", "call": "c1"},
    ]
    assert [message["role"] for message in answered(odd)] == ["user", "assistant", "tool", "user"]
