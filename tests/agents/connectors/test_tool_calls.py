"""A chat model that acts by its endpoint's own tool calls, in both dialects, against a scripted model on loopback."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.chatting import Interface, Watched, ask, start
from tests.kit.dialects import Answer, Tool
from tests.kit.model import Model, Request
from tests.kit.workbench import open_app

from fourhands.agents.connectors.tool_calls import MOST
from fourhands.agents.connectors.traits import KnownEndpoints
from fourhands.commands.help import block

READ, WRITE, SEARCH = "openspace_file_read", "openspace_file_write", "openspace_file_search"
BOTH = pytest.mark.parametrize("kind", ["openai", "anthropic"])


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    async with open_app() as app, contextlib.AsyncExitStack() as stack:
        Path(app.bench.root, "app.py").write_text("".join(f"line {number}\n" for number in range(1, 61)))
        yield Watched(app, stack)


def calling(*tools: tuple[str, dict[str, Any]], text: str = "", **more: Any) -> Answer:
    """An answer that calls tools, each with an id of its own."""
    made = [Tool(name, args, f"call_{name}_{number}") for number, (name, args) in enumerate(tools)]
    return Answer(text, tools=made, **more)


def check_story(requests: list[Request]) -> None:
    """Check that every request continues the one before it: same system text, same tools, same beginning."""
    for earlier, later in itertools.pairwise(requests):
        assert earlier.system == later.system
        assert earlier.body.get("tools") == later.body.get("tools")
        assert later.turns[: len(earlier.turns)] == earlier.turns
        assert len(later.turns) > len(earlier.turns)
    for request in requests:
        assert request.unanswered == []


@BOTH
@pytest.mark.parametrize("unstreamed", [False, True], ids=["streamed", "in one piece"])
async def test_a_turn_of_five_rounds_acts_by_tools_and_every_request_continues_the_one_before(
    watched: Watched, kind: Interface, unstreamed: bool
) -> None:
    script = [
        calling((READ, {"path": "app.py"}), text="I look. ", thinking="hm"),
        calling((WRITE, {"path": "new.txt", "content": "one\n%%\u2060OS{ two\n"})),
        calling(("bash", {"command": "cat new.txt && echo $((6*7))"}), (SEARCH, {"query": "line 42"})),
        calling((READ, {"path": "missing.py"})),
        Answer("Done."),
        Answer("You are welcome."),
    ]
    for answer in script:
        answer.unstreamed = unstreamed
    async with Model(script) as model:
        chat = await start(watched, model, kind)
        await ask(chat, "look at line 42")
        await ask(chat, "thanks")
        requests = model.requests
    assert watched.of("agent.failed") == []
    assert len(requests) == 6
    check_story(requests)
    names = [one["function"]["name"] if kind == "openai" else one["name"] for one in requests[0].body["tools"]]
    assert names[:1] == ["bash"]
    assert "openspace_pane_list" not in names
    said = list(requests[-1].results.values())
    assert "line 42" in said[0]
    assert any("42" in text and "one" in text for text in said)
    assert any("no file or directory" in text for text in said)
    assert watched.said() == "I look. Done.You are welcome."
    assert Path(watched.app.bench.root, "new.txt").read_text() == "one\n%%OS{ two\n", "markers are mended in arguments"
    journal = await watched.app.journal.query(session=chat.session.id)
    assert {entry.call.origin for entry in journal} == {"model"}
    assert [data["stopReason"] for data in watched.of("agent.finished")] == ["end_turn", "end_turn"]
    assert not chat.session.untold, "results are told where they were asked for, and not again"
    undone = await watched.app.call("openspace.workbench.undo")
    assert undone.success
    assert not Path(watched.app.bench.root, "new.txt").exists()


@BOTH
async def test_calls_of_one_answer_run_in_order_and_too_many_are_answered_unrun(
    watched: Watched, kind: Interface
) -> None:
    wanted = MOST + 4
    writes = [(WRITE, {"path": f"f{number}.txt", "content": f"{number}"}) for number in range(wanted)]
    async with Model([calling(*writes), Answer("ok")]) as model:
        chat = await start(watched, model, kind)
        await ask(chat, "go")
        results = model.requests[-1].results
        assert model.requests[-1].unanswered == []
    assert list(results) == [f"call_{WRITE}_{number}" for number in range(wanted)]
    assert sum("not run" in text for text in results.values()) == wanted - MOST
    assert all("not run" in text and "limit" not in text[:3] for text in list(results.values())[MOST:])
    root = Path(watched.app.bench.root)
    assert sorted(int(file.stem[1:]) for file in root.glob("f*.txt")) == list(range(MOST))
    journal = [entry for entry in await watched.app.journal.query(session=chat.session.id) if entry.result]
    done = [entry for entry in journal if entry.result is not None and entry.result.success]
    ran = [entry.call.args["path"] for entry in sorted(done, key=lambda one: one.number)]
    assert ran == [f"f{number}.txt" for number in range(MOST)]
    assert len(journal) == MOST + 1, "one refusal is written down"


def chat_calls(*pieces: object, finish: str | None = "tool_calls") -> bytes:
    """The stream of an answer with these pieces of tool calls, one a chunk."""
    chunks: list[object] = [{"choices": [{"index": 0, "delta": {"tool_calls": piece}}]} for piece in pieces]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def piece(text: object, name: str | None = SEARCH, **more: object) -> list[object]:
    return [{**more, "function": {"arguments": text, **({"name": name} if name else {})}}]


FINE = '{"query": "line 42"}'
CHAOS: dict[str, tuple[bytes, list[str]]] = {
    # what the endpoint streams, and what each result has in it
    "no index": (chat_calls(piece(FINE, id="a"), piece(FINE, id="b")), ["app.py", "app.py"]),
    "always the same index": (chat_calls(piece(FINE, id="a", index=0), piece(FINE, id="b", index=0)), ["app.py"] * 2),
    "no id": (chat_calls(piece(FINE, index=0), piece(FINE, index=1)), ["app.py"] * 2),
    "the same id twice": (
        chat_calls(piece(FINE, id="a", index=0), piece(" ", None, id="a", index=0)),
        ["app.py"],
    ),
    "the name in each piece": (
        chat_calls(piece(FINE[:5], id="a", index=0), piece(FINE[5:], id="a", index=0)),
        ["app.py"],
    ),
    "neither index nor id behind the first": (
        chat_calls(piece(FINE[:5], id="a"), piece(FINE[5:], None)),
        ["app.py"],
    ),
    "pieces of two calls in turn": (
        chat_calls(
            piece(FINE[:5], id="a", index=0),
            piece(FINE[:7], id="b", index=1),
            piece(FINE[5:], None, index=0),
            piece(FINE[7:], None, index=1),
        ),
        ["app.py"] * 2,
    ),
    "an object for its text": (chat_calls(piece({"query": "line 42"}, id="a", index=0)), ["app.py"]),
    "a text in a text": (chat_calls(piece(json.dumps(FINE), id="a", index=0)), ["app.py"]),
    "an index of the wrong type": (chat_calls(piece(FINE, id="a", index="x")), ["app.py"]),
    "an index beyond everything": (chat_calls(piece(FINE, id="a", index=10**12)), ["app.py"]),
    "no arguments at all": (chat_calls(piece("", "terminal_list", id="a", index=0)), ["terminal"]),
    "null for arguments": (chat_calls(piece(None, "terminal_list", id="a", index=0)), ["terminal"]),
    "not JSON": (chat_calls(piece("query=line 42", id="a", index=0)), ["the arguments are no JSON"]),
    "half JSON": (chat_calls(piece(FINE[:-4], id="a", index=0)), ["cut off in the middle"]),
    "a list": (chat_calls(piece("[1]", id="a", index=0)), ["must be an object, not list"]),
    "a number that is none": (chat_calls(piece('{"query": NaN}', id="a", index=0)), ["no JSON"]),
    "half a character": (chat_calls(piece('{"query": "\\ud800 line"}', id="a", index=0)), [""]),
    "nested too deep": (chat_calls(piece("[" * 100_000, id="a", index=0)), ["no JSON"]),
    "a wrong type": (chat_calls(piece('{"query": 5}', id="a", index=0)), ["query"]),
    "an unknown argument": (chat_calls(piece('{"quary": "x"}', id="a", index=0)), ["quary"]),
    "an unknown tool": (chat_calls(piece(FINE, "openspace_file_serch", id="a", index=0)), ["search"]),
    "no name": (chat_calls(piece(FINE, None, id="a", index=0)), ["not run"]),
    "a command of the person's": (chat_calls(piece("{}", "openspace.agent.stop", id="a", index=0)), ["error"]),
    "calls that are none": (chat_calls([1, "x", None], piece(FINE, id="a", index=0)), ["app.py"]),
    "another reason of the end": (chat_calls(piece(FINE, id="a", index=0), finish="eos"), ["app.py"]),
}


async def test_however_calls_are_counted_and_written_each_has_one_result_and_the_session_lives(
    watched: Watched,
) -> None:
    problems = []
    script = [step for raw, _ in CHAOS.values() for step in (Answer(raw=raw), Answer("next"))]
    async with Model(script) as model:
        chat = await start(watched, model, mode="tools")
        for name, (_, wanted) in CHAOS.items():
            before = set(model.requests[-1].results) if model.requests else set()
            await ask(chat, name)
            last = model.requests[-1]
            told = [text for id, text in last.results.items() if id not in before]
            if len(told) != len(wanted) or not all(has in text for has, text in zip(wanted, told, strict=False)):
                problems.append((name, told))
            if last.unanswered:
                problems.append((name, last.unanswered))
    assert problems == []
    assert watched.said() == "next" * len(CHAOS)
    assert watched.of("agent.failed") == []


async def test_an_answer_of_ten_thousand_calls_is_bounded_and_told(watched: Watched) -> None:
    many = [piece("{}", "terminal_list", id=f"c{number}", index=number)[0] for number in range(10_000)]
    async with Model([Answer(raw=chat_calls(many)), Answer("ok")]) as model:
        chat = await start(watched, model)
        await ask(chat, "go")
        assert len(model.requests[-1].results) == 64
        assert model.requests[-1].unanswered == []
    assert "9936 tool calls" in str(watched.of("agent.noted")[-1]["text"])
    assert len(await watched.app.journal.query(session=chat.session.id)) == MOST + 1


LOOK = block("openspace.file.read", {"path": "app.py"})
REFUSALS = {
    "ollama": (400, "registry.example/llama3 does not support tools"),
    "vllm": (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    "llama.cpp": (500, "tools param requires --jinja flag"),
    "openrouter": (404, "No endpoints found that support tool use"),
    "strict": (422, "Unrecognized request argument supplied: tools"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_an_endpoint_without_tools_is_told_once_and_served_by_blocks(
    watched: Watched, name: str, tmp_path
) -> None:
    status, error = REFUSALS[name]

    def script(request: Request) -> Answer:
        if "tools" in request.body:
            return Answer(status=status, error=error)
        return (
            Answer("ok")
            if "line 42" in request.last
            else Answer("I read. " + block("openspace.file.read", {"path": "app.py"}))
        )

    known = KnownEndpoints(tmp_path / "endpoints.json")
    async with Model(script) as model:
        chat = await start(watched, model, known=known)
        await ask(chat, "look")
        await ask(chat, "once more")
        assert sum("tools" in request.body for request in model.requests) == 1
        assert watched.said().startswith("I read. ok")
        second = await start(watched, model, known=known)
        await ask(second, "look")
        await known.close()
        third = await start(watched, model, known=KnownEndpoints(tmp_path / "endpoints.json"))
        await ask(third, "look")
        assert sum("tools" in request.body for request in model.requests) == 1, "it is remembered"
        notes = [str(data["text"]) for data in watched.of("agent.noted")]
        assert sum("does not take tool calls" in note for note in notes) == 1
        insisting = await start(watched, model, mode="tools")
        await ask(insisting, "look")
        assert error in str(watched.of("agent.failed")[-1]["error"])


async def test_calls_that_come_as_text_mean_that_the_endpoint_ignores_tools(watched: Watched) -> None:
    spelled = '<tool_call>{"name": "read", "arguments": {"path": "app.py"}}</tool_call>'
    script = [Answer(spelled), Answer(LOOK), Answer("I see.")]
    async with Model(script) as model:
        chat = await start(watched, model)
        await ask(chat, "look")
        assert ["tools" in request.body for request in model.requests] == [True, False, False]
        assert "did not run" in model.requests[1].last
        assert "line 42" in model.requests[2].last
    assert watched.said().endswith("I see.")


async def test_a_person_chooses_blocks_or_tools_and_the_conversation_goes_on(watched: Watched) -> None:
    script = [calling((READ, {"path": "app.py", "startLine": 42, "endLine": 42})), Answer("42."), Answer("Still.")]
    async with Model([*script, Answer("Again.")]) as model:
        chat = await start(watched, model)
        await ask(chat, "look")
        for mode, has in (("blocks", False), ("tools", True)):
            done = await watched.app.call("openspace.agent.configure", {"sessionId": chat.session.id, "mode": mode})
            assert done.success
            await ask(chat, "and now?")
            assert ("tools" in model.requests[-1].body) is has
            assert model.requests[-1].says("line 42"), "what a tool returned is there in either form"
        roles = [message["role"] for message in model.requests[-2].body["messages"]]
        assert "tool" not in roles
        assert model.requests[-1].unanswered == []


@BOTH
async def test_stop_in_the_middle_of_calls_drops_the_rest_and_the_next_message_is_answered(
    watched: Watched, kind: Interface
) -> None:
    calls = [("bash", {"command": "sleep 60"}), (WRITE, {"path": "late.txt", "content": "x"})]
    async with Model([calling(*calls, text="I wait. "), Answer("here")]) as model:
        chat = await start(watched, model, kind)
        await chat.prompt("go")
        await watched.until("call.started", command="openspace.tool.bash")
        assert (await watched.app.call("openspace.agent.stop", {"sessionId": chat.session.id})).success
        await chat.idle()
        assert watched.of("agent.finished")[-1]["stopReason"] == "cancelled"
        assert [data["code"] for data in watched.of("agent.failed")] == ["stopped"]
        await ask(chat, "still there?")
        assert len(model.requests) == 2
        assert model.requests[-1].unanswered == []
        assert all("stop" in text for text in model.requests[-1].results.values())
    assert watched.said() == "I wait. here"
    assert not Path(watched.app.bench.root, "late.txt").exists()


async def test_without_consent_a_call_is_answered_with_the_reason(watched: Watched) -> None:
    async with Model([calling((WRITE, {"path": "x", "content": ""})), Answer("I may not.")]) as model:
        chat = await start(watched, model)
        watched.app.gate.consent.revoke(chat.session.id)
        await ask(chat, "go")
        assert "no-answer" in model.requests[-1].results[f"call_{WRITE}_0"]
    assert watched.said() == "I may not."
    assert not Path(watched.app.bench.root, "x").exists()


@pytest.mark.parametrize(("finish", "note"), [("length", "limit of 4096 tokens"), ("content_filter", "declined")])
@BOTH
async def test_calls_of_an_answer_that_was_cut_or_declined_end_the_turn(
    watched: Watched, kind: Interface, finish: str, note: str
) -> None:
    async with Model([calling((READ, {"path": "app.py"}), finish=finish), Answer("I go on.")]) as model:
        chat = await start(watched, model, kind)
        await ask(chat, "go")
        assert len(model.requests) == 1
        assert note in str(watched.of("agent.noted")[-1]["text"])
        reason = {"length": "max_tokens", "content_filter": "refusal"}[finish]
        assert watched.of("agent.finished")[-1]["stopReason"] == reason
        await ask(chat, "continue")
        assert model.requests[-1].unanswered == []
        text = model.requests[-1].results[f"call_{READ}_0"]
        assert ("line 42" in text) is (finish == "length"), "what came whole has run; what was declined has not"
    assert watched.said() == "I go on."


async def test_a_cut_answer_runs_no_call_of_it(watched: Watched) -> None:
    raw = b'data: {"choices":[{"delta":{"content":"I write."}}]}\n\n'
    raw += chat_calls(piece('{"path": "x", "content": ""}', WRITE, id="a", index=0), finish=None)
    async with Model([Answer(raw=raw), Answer("again")]) as model:
        chat = await start(watched, model)
        await ask(chat, "go")
        assert "was cut off" in str(watched.of("agent.failed")[-1]["error"])
        await ask(chat, "continue")
        assert model.requests[-1].turns[1]["content"] == "I write."
        assert model.requests[-1].unanswered == []
    assert not Path(watched.app.bench.root, "x").exists()


async def test_rounds_of_tool_calls_are_limited(watched: Watched) -> None:
    async with Model([], default=calling(("terminal_list", {}))) as model:
        chat = await start(watched, model, rounds=3)
        await ask(chat, "loop")
        assert len(model.requests) == 3
        assert "last round" in model.requests[-1].last
        assert model.requests[-1].unanswered == []
    assert [data["stopReason"] for data in watched.of("agent.finished")] == ["max_turn_requests"]


async def test_pause_holds_the_calls_of_an_answer(watched: Watched) -> None:
    paused = asyncio.Event()

    async def before(number: int) -> None:
        if number == 0:
            await watched.app.call("openspace.agent.pause", {"sessionId": chat.session.id})
            paused.set()

    async with Model([calling((WRITE, {"path": "x", "content": ""}), before=before), Answer("ok")]) as model:
        chat = await start(watched, model)
        await chat.prompt("go")
        await paused.wait()
        await watched.until("agent.said", done=True)
        assert not Path(watched.app.bench.root, "x").exists()
        await watched.app.call("openspace.agent.resume", {"sessionId": chat.session.id})
        await chat.idle()
    assert Path(watched.app.bench.root, "x").exists()
