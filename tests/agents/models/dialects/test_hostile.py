"""Answers of servers that keep to no interface, or mean harm: no marker is shown, and nothing runs twice."""

import itertools
import json
from typing import Any

import pytest

from fourhands.agents.models.dialects import DIALECTS, DialectLimits, payload
from fourhands.core.errors import LimitReached

SSE = "text/event-stream"
JSON = "application/json"
BLOCK = '%%OS{"cmd":"x","args":{}}%%'
X = {"cmd": "x", "args": {}}


def run(name: str, data: bytes, kind: str = SSE, *cuts: int) -> tuple[bytes, list[dict[str, Any]]]:
    answer = DIALECTS[name].filter(kind)
    places = [0, *cuts, len(data)]
    given = [*(answer.feed(data[a:b]) for a, b in itertools.pairwise(places)), answer.close()]
    return b"".join(part.data for part in given), [taken.command for part in given for taken in part.commands]


def event(message: object, ending: str = "\n") -> bytes:
    return f"data: {json.dumps(message)}{ending}{ending}".encode()


def chunk(content: object, index: int = 0, **more: object) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": index, "delta": {"content": content}, **more}]}


def texts(data: bytes) -> str:
    """What a client shows that reads the events of a chat as the standard says."""
    shown = ""
    for one in data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [line.partition(b":")[2].removeprefix(b" ") for line in one.split(b"\n") if line.startswith(b"data:")]
        told = payload.lenient(b"\n".join(lines))
        for choice in told["choices"] if isinstance(told, dict) else ():
            shown += choice["delta"].get("content") or ""
    return shown


EVENT = b'{"choices":[{"delta":{"content":"aBLOCK"}}]}'
ESCAPED = json.dumps(BLOCK)[1:-1].encode()
FORMS = {
    "no space": b"data:EVENT\n\n",
    "mark of byte order": b"\xef\xbb\xbfdata: EVENT\n\n",
    "CRLF": b"data: EVENT\r\n\r\n",
    "CR": b"data: EVENT\r\r",
    "mixed": b"event: x\r\ndata: EVENT\n\r\n",
    "several lines": b"data: EVENT\n\n".replace(b"EVENT", EVENT.replace(b"[{", b"\ndata: [{\ndata:")),
    "comments": b": hi\ndata: EVENT\n: there\nid: 7\n\n",
    "only an event": b"event: ping\n\ndata: EVENT\n\n",
    "no empty line": b"data: EVENT",
    "escapes": b"data: EVENT\n\n".replace(b"EVENT", EVENT.replace(b"BLOCK", b"\\u0025%\\u004fS\\u007b" + ESCAPED[5:])),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_an_event_is_read_wherever_it_is_cut(form: str) -> None:
    data = FORMS[form].replace(b"EVENT", EVENT).replace(b"BLOCK", ESCAPED)
    clean, commands = run("chat", data)
    assert (texts(clean), commands) == ("a", [X])
    assert b"%%OS" not in clean
    for cut in range(len(data)):
        assert run("chat", data, SSE, cut) == (clean, commands)


def test_bytes_that_are_no_text_hide_no_block_and_pass_otherwise() -> None:
    raw = event(chunk("HERE")).replace(b"HERE", b"\xff %s \xe2\x82" % ESCAPED)
    clean, commands = run("chat", raw)
    assert (texts(clean), commands) == ("\ufffd  \ufffd", [X])
    halves = event(chunk("HERE")).replace(b"HERE", b"\xe2\x82") + event(chunk("HERE")).replace(b"HERE", b"\xac")
    assert run("chat", halves) == (halves, []), "half a character is passed on as it came"


def test_a_marker_may_be_cut_over_parts_and_is_not_over_choices() -> None:
    parts = [{"type": "text", "text": BLOCK[:9]}, {"type": "image"}, {"type": "text", "text": BLOCK[9:] + "b"}]
    for place, kind in (("delta", SSE), ("message", JSON)):
        message = {"choices": [{"index": 0, place: {"content": parts}}]}
        raw = event(message) if kind == SSE else json.dumps(message).encode()
        clean, commands = run("chat", raw, kind)
        assert commands == [X], place
        assert b"%%" not in clean
        assert b'"b"' in clean
    split = event(chunk(BLOCK[:9], 0)) + event(chunk(BLOCK[9:], 1)) + event(chunk("", 0, finish_reason="stop"))
    clean, commands = run("chat", split)
    assert commands == []
    assert texts(clean) == BLOCK[9:]
    held = {"choices": [{"message": {"content": [{"type": "text", "text": "5%"}, {"type": "text", "text": "%O"}]}}]}
    clean, commands = run("chat", json.dumps(held).encode(), JSON)
    assert "".join(part["text"] for part in json.loads(clean)["choices"][0]["message"]["content"]) == "5%%O"


def test_tool_calls_between_pieces_of_a_block_stay_where_they_are() -> None:
    call = {"tool_calls": [{"index": 0, "function": {"arguments": json.dumps({"text": BLOCK})}}]}
    tool = event({"choices": [{"index": 0, "delta": call}]})
    clean, commands = run("chat", event(chunk("a" + BLOCK[:7])) + tool + event(chunk(BLOCK[7:] + "b")))
    assert (texts(clean), commands) == ("ab", [X])
    assert tool in clean


def test_log_probabilities_spell_no_block() -> None:
    spelled = {"content": [{"token": "%%", "logprob": 0}, {"token": "OS{", "logprob": 0}]}
    clean, commands = run("chat", event(chunk("a" + BLOCK, logprobs=spelled)) + event(chunk("z", logprobs=spelled)))
    assert commands == [X]
    assert clean.count(b"OS{") == 1, "those of a text that did not change stay"
    body = {"choices": [{"index": 0, "message": {"content": BLOCK}, "logprobs": spelled}]}
    assert b"OS{" not in run("chat", json.dumps(body).encode(), JSON)[0]


def response(kind: str, **more: object) -> bytes:
    return event({"type": f"response.{kind}", **more})


def message_item(*said: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": one} for one in said]}


@pytest.mark.parametrize("shift", [0, 1, 5])
def test_a_response_that_counts_its_items_differently_at_its_end_runs_nothing_twice(shift: int) -> None:
    said = f"a{BLOCK}b"
    stream = response("output_text.delta", output_index=shift, content_index=0, delta=said)
    stream += response("output_text.done", output_index=shift, content_index=0, text=said)
    stream += response("output_item.done", output_index=7, item=message_item(said))
    stream += response("completed", response={"id": "r", "output": [message_item(said)], "output_text": said})
    clean, commands = run("responses", stream)
    assert commands == [X]
    assert b"%%OS" not in clean
    assert clean.count(b'"ab"') == 5


def test_a_response_that_tells_more_at_its_end_than_it_streamed_runs_none_of_it() -> None:
    stream = response("output_text.delta", output_index=0, content_index=0, delta="hello")
    stream += response("completed", response={"output": [message_item("hello"), message_item(f"more {BLOCK}")]})
    clean, commands = run("responses", stream)
    assert commands == []
    assert b"%%OS" not in clean
    assert b'"more "' in clean


def test_texts_without_end_are_refused() -> None:
    answer = DIALECTS["responses"].filter(SSE, limits=DialectLimits(texts=10))
    with pytest.raises(LimitReached, match="more than 10 texts"):
        answer.feed(b"".join(response("output_text.done", output_index=i, text=f"t{i}") for i in range(20)))


def test_text_at_the_start_of_a_block_of_anthropic_is_part_of_it() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": f"a{BLOCK[:6]}"}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{BLOCK[6:]}b"}}
    clean, commands = run("anthropic", event(start) + event(delta) + event({"type": "content_block_stop", "index": 0}))
    assert commands == [X]
    found = [json.loads(line[6:]) for line in clean.split(b"\n") if line]
    assert [found[0]["content_block"]["text"], found[1]["delta"]["text"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chat", {"choices": [{"delta": {"reasoning_content": BLOCK, "tool_calls": [{"x": BLOCK}]}}]}),
        ("chat", {"choices": [{"message": {"role": "tool", "tool_calls": BLOCK}}], "system_fingerprint": BLOCK}),
        ("responses", {"type": "response.reasoning_summary_text.delta", "delta": BLOCK}),
        ("responses", {"type": "response.function_call_arguments.delta", "delta": BLOCK}),
        ("responses", {"type": "response.output_item.done", "item": {"type": "function_call", "arguments": BLOCK}}),
        ("responses", {"type": "response.created", "response": {"instructions": BLOCK, "output": []}}),
        (
            "responses",
            {"type": "response.completed", "response": {"output": [{**message_item(BLOCK), "role": "user"}]}},
        ),
        ("anthropic", {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": BLOCK}}),
        ("anthropic", {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": BLOCK}}),
        ("anthropic", {"type": "content_block_start", "content_block": {"type": "tool_result", "content": BLOCK}}),
        ("anthropic", {"type": "content_block_delta", "delta": {"type": "citations_delta", "text": BLOCK}}),
        ("anthropic", {"type": "content_block_start", "content_block": {"type": "thinking", "text": BLOCK}}),
        ("anthropic", {"type": "message", "content": [{"type": "thinking", "text": BLOCK}]}),
        ("anthropic", {"type": "error", "error": {"message": BLOCK}}),
        ("chat", {"choices": [{"delta": {"content": [{"type": "thinking", "text": BLOCK}]}}]}),
        ("chat", {"choices": [{"message": {"content": [{"type": "thinking", "text": BLOCK}]}}]}),
        ("responses", {"type": "response.content_part.done", "part": {"type": "reasoning_text", "text": BLOCK}}),
        ("gemini", {"candidates": [{"content": {"parts": [{"functionCall": {"args": {"a": BLOCK}}}]}}]}),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": BLOCK, "thought": True}]}}]}),
        ("gemini", {"candidates": [{"content": {"parts": [{"functionResponse": {"response": BLOCK}}]}}]}),
    ],
)
def test_what_is_not_the_assistants_own_words_passes_and_never_runs(name: str, message: dict[str, Any]) -> None:
    raw = event(message)
    assert run(name, raw) == (raw, [])
    body = json.dumps(message).encode()
    assert run(name, body, JSON) == (body, [])


def test_the_first_id_of_an_answer_is_its_id() -> None:
    answer = DIALECTS["chat"].filter(SSE)
    given = answer.feed(event({**chunk(BLOCK), "id": "one"}) + event({**chunk(BLOCK), "id": "two"}))
    assert [(taken.message_id, taken.ordinal) for taken in given.commands] == [("one", 0), ("one", 1)]


def test_what_was_held_back_comes_before_the_last_event_of_a_stream() -> None:
    clean, commands = run("chat", event(chunk("a %%O")) + b"data: [DONE]\n\n")
    told = [line[6:] for line in clean.split(b"\n") if line]
    assert [json.loads(data)["choices"][0]["delta"]["content"] for data in told[:-1]] == ["a ", "%%O"]
    assert told[-1] == b"[DONE]"
    assert commands == []


def test_the_parts_of_gemini_are_one_text() -> None:
    parts = [
        {"text": f"a{BLOCK[:8]}"},
        {"text": BLOCK[8:]},
        {"text": "b"},
        {"functionCall": {"name": "f"}},
        {"text": "c"},
    ]
    for kind in (SSE, JSON):
        message = {"candidates": [{"index": 0, "content": {"parts": parts}, "finishReason": "STOP"}]}
        clean, commands = run("gemini", event(message) if kind == SSE else json.dumps(message).encode(), kind)
        assert commands == [X]
        found = json.loads(clean.removeprefix(b"data: "))["candidates"][0]["content"]["parts"]
        assert found == [{"text": "a"}, {"text": "b"}, {"functionCall": {"name": "f"}}, {"text": "c"}]
