"""What stands beside a text in an answer: it stays when the text was all block, and is not told twice.

Usage is what people pay for; the end of an answer and a tool call are what an agent waits for. Log probabilities spell
the text once more, so they go where a block was taken out.
"""

import json
from typing import Any

import pytest

from fourhands.agents.models.dialects import DIALECTS

SSE = "text/event-stream"
JSON = "application/json"
BLOCK = '%%OS{"cmd":"x","args":{}}%%'
USAGE = {"prompt_tokens": 11, "completion_tokens": 7}
CALL = [{"index": 0, "id": "call_1", "function": {"name": "bash", "arguments": "{}"}}]
SPELT = {"content": [{"token": BLOCK, "logprob": -0.1}]}


def events(name: str, *messages: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """The messages that come out of a stream of these, and the number of commands taken."""
    answer = DIALECTS[name].filter(SSE)
    given = [*(answer.feed(f"data: {json.dumps(message)}\n\n".encode()) for message in messages), answer.close()]
    lines = b"".join(part.data for part in given).decode().splitlines()
    told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    return told, sum(len(part.commands) for part in given)


def chat(content: str | None, *, finish: str | None = None, delta: dict[str, Any] | None = None, **more: Any) -> Any:
    said = {"content": content} if content is not None else {}
    choice = {"index": 0, "delta": {**said, **(delta or {})}, "finish_reason": finish}
    return {"id": "c", "choices": [choice], **more}


def gemini(text: str, *, finish: str = "", **more: Any) -> Any:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}
    return {"responseId": "r", "candidates": [{**candidate, **({"finishReason": finish} if finish else {})}], **more}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chat", chat(BLOCK, usage=USAGE)),
        ("gemini", gemini(BLOCK, usageMetadata={"totalTokenCount": 18})),
        ("gemini", gemini(BLOCK, promptFeedback={"blockReason": "OTHER"})),
        ("chat", chat(BLOCK, finish="stop")),
        ("gemini", gemini(BLOCK, finish="STOP")),
        ("chat", chat(BLOCK, delta={"tool_calls": CALL})),
        ("chat", chat(BLOCK, delta={"role": "assistant"})),
    ],
    ids=["usage", "usageMetadata", "promptFeedback", "the end", "Gemini's end", "a tool call", "the role"],
)
def test_what_stands_beside_a_text_that_is_all_block_is_passed_on(name: str, message: dict[str, Any]) -> None:
    told, commands = events(name, message)
    assert commands == 1
    (kept,) = told
    assert BLOCK not in json.dumps(kept)
    if name == "chat":
        assert kept.get("usage") == message.get("usage")
        (given,), (left,) = message["choices"], kept["choices"]
        assert left["finish_reason"] == given["finish_reason"]
        assert left["delta"] == {**given["delta"], "content": ""}
    else:
        for member in ("usageMetadata", "promptFeedback"):
            assert kept.get(member) == message.get(member)
        assert kept["candidates"][0].get("finishReason") == message["candidates"][0].get("finishReason")


@pytest.mark.parametrize(
    ("name", "message"), [("chat", chat(BLOCK)), ("gemini", gemini(BLOCK))], ids=["chat", "gemini"]
)
def test_a_message_of_which_nothing_is_left_is_dropped(name: str, message: dict[str, Any]) -> None:
    assert events(name, message) == ([], 1)


def test_usage_is_told_once_also_where_text_was_held_back() -> None:
    told, _ = events("chat", chat("a %%O", usage=USAGE, obfuscation="xyz"), chat(None, finish="stop"))
    assert [message.get("usage") for message in told] == [USAGE, None, None]
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in told) == "a %%O"
    assert [("obfuscation" in message) for message in told] == [True, False, False]
    used = {"totalTokenCount": 18}
    told, _ = events("gemini", gemini("a %%O", usageMetadata=used, promptFeedback={}), {"candidates": []})
    assert [message.get("usageMetadata") for message in told].count(used) == 1
    assert [message.get("promptFeedback") for message in told].count({}) == 1
    assert "%%O" in json.dumps(told[-1])


def test_log_probabilities_of_a_text_with_a_block_go() -> None:
    whole = gemini(f"a{BLOCK}b")
    whole["candidates"][0]["logprobsResult"] = {"chosenCandidates": [{"token": BLOCK}]}
    for kind in (SSE, JSON):
        answer = DIALECTS["gemini"].filter(kind)
        data = json.dumps(whole).encode()
        given = answer.feed(b"data: " + data + b"\n\n" if kind == SSE else data).data + answer.close().data
        assert b"cmd" not in given
        assert b'"ab"' in given
    done = {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": f"a{BLOCK}b"}
    told, commands = events("responses", {**done, "logprobs": [{"token": BLOCK}]})
    assert commands == 1
    assert told[-1] == {**done, "text": "ab", "logprobs": []}


def test_text_that_was_held_back_comes_with_nothing_that_belongs_to_another_text() -> None:
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a %%O"}
    told, _ = events(
        "responses",
        {**delta, "obfuscation": "xyz", "logprobs": [{"token": "a"}]},
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "a %%O"},
    )
    held = [message for message in told if message["type"] == delta["type"]][1:]
    assert [(message["delta"], message["logprobs"]) for message in held] == [("%%O", [])]
    assert "obfuscation" not in held[0]
