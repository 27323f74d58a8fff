import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit import blocks
from tests.kit import dialects as wire
from tests.kit.dialects import Answer, Tool

from fourhands.agents.models.dialects import DIALECTS, DialectLimits, Filtered
from fourhands.core.errors import LimitReached

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"
X = {"cmd": "x", "args": {}}
BLOCK = '%%OS{"cmd":"x","args":{}}%%'
NAMES = list(DIALECTS)
STREAMS = [*((name, SSE) for name in NAMES), ("gemini", JSON)]


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def run(name: str, chunks: list[bytes], kind: str = SSE) -> tuple[bytes, list[dict[str, Any]]]:
    answer = DIALECTS[name].filter(kind)
    given_ = [*map(answer.feed, chunks), answer.close()]
    taken = [t for part in given_ for t in part.commands]
    assert [t.ordinal for t in taken] == list(range(len(taken)))
    return b"".join(part.data for part in given_), [t.command for t in taken]


def encoded(name: str, kind: str, answer: Answer) -> bytes:
    return b"".join(wire.stream(name, answer, {"stream_options": {"include_usage": True}}, array=kind == JSON))


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


def usage(messages: list[dict[str, Any]]) -> list[object]:
    return [m[k] for m in messages for k in ("usage", "usageMetadata") if m.get(k)]


FULL = Answer(
    text=["Let me see. %", '%OS{"cmd":"x"', ',"args":{}}%', "% Done: 100", "%%", " and ", "5%"],
    thinking="I could write " + BLOCK,
    tools=[Tool("bash", {"command": "echo '" + BLOCK + "'"})],
)
SHOWN = "Let me see.  Done: 100%% and 5%"


@pytest.mark.parametrize(("name", "kind"), STREAMS)
def test_a_streamed_answer_loses_its_blocks_and_nothing_else(name, kind):
    data = encoded(name, kind, FULL)
    clean, commands = run(name, [data], kind)
    assert commands == [X]
    before, after = wire.messages_of(data), wire.messages_of(clean)
    assert wire.text_of(name, after) == SHOWN
    # Thinking and tool calls keep their blocks: they are not the agent's words.
    kept = [text for message in after for text in strings(message) if "%%OS{" in text]
    assert kept
    assert all("echo" in text or text.startswith(("I could write", " '%%OS{", "%%OS{")) for text in kept)
    assert after[-1] == before[-1] or name == "responses"
    assert json.dumps(before).count("tokens") == json.dumps(after).count("tokens") or name == "gemini"


def test_every_telling_of_a_text_in_a_response_is_clean():
    clean, commands = run("responses", [encoded("responses", SSE, FULL)])
    events = {m["type"]: m for m in wire.messages_of(clean)}
    assert commands == [X]
    assert events["response.output_text.done"]["text"] == SHOWN
    assert events["response.content_part.done"]["part"]["text"] == SHOWN
    done = [m["item"] for m in wire.messages_of(clean) if m["type"] == "response.output_item.done"]
    assert [i["content"][0]["text"] for i in done if i["type"] == "message"] == [SHOWN]
    output = events["response.completed"]["response"]["output"]
    assert output[1]["content"][0]["text"] == SHOWN
    assert json.loads(output[2]["arguments"]) == FULL.tools[0].input
    assert events["response.completed"]["response"]["usage"]["total_tokens"] == 18


@pytest.mark.parametrize(("name", "kind"), STREAMS)
def test_a_stream_without_a_marker_is_byte_identical(name, kind):
    answer = Answer(
        text=["100", "%%", " `a", "` ```", "\n%", "O é😀", ""], thinking=BLOCK, tools=[Tool("t", {"a": 1.10})]
    )
    data = encoded(name, kind, answer)
    clean, commands = run(name, [data], kind)
    assert commands == []
    assert wire.text_of(name, wire.messages_of(clean)) == answer.whole
    plain = encoded(name, kind, Answer(text=["no ", "sign ", "of it\n```\n", BLOCK, "\n```\n"], thinking=BLOCK))
    for size in (1, 7, len(plain)):
        assert run(name, [plain[i : i + size] for i in range(0, len(plain), size)], kind) == (plain, [])


@pytest.mark.parametrize(("name", "kind"), STREAMS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_bytes_cut_anywhere_come_out_the_same(name, kind, size):
    data = encoded(name, kind, FULL)
    assert run(name, [data[i : i + size] for i in range(0, len(data), size)], kind) == run(name, [data], kind)


@pytest.mark.parametrize("ending", [b"\r\n", b"\r", b"\n"])
def test_a_line_ending_cut_in_two_belongs_to_its_event(ending):
    data = b"".join(wire.stream("chat", Answer(text=["a%", "%", BLOCK[2:], "b"]))[1:5]).replace(b"\n", ending)
    whole = run("chat", [data])
    assert whole[1] == [X]
    assert whole[0].count(ending) == 2 * len(whole[0].split(b"data: ")[1:])
    for cut in range(len(data)):
        assert run("chat", [data[:cut], data[cut:]]) == whole


PIECES = st.lists(
    st.sampled_from(
        [BLOCK, "%", "%%", "%%OS", "%%OS{", "{", "}", "}%%", '"', "\\", "`", "```\n", "\n", "~~~", "a", "é", "😀", " "]
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(STREAMS), PIECES, st.data())
def test_any_answer_cut_anywhere_shows_what_the_rules_say(stream, pieces, data):
    name, kind = stream
    answer = Answer(text=pieces, thinking="%%OS{" if len(pieces) % 2 else "")
    raw = encoded(name, kind, answer)
    if data.draw(st.booleans()):
        raw = raw.replace(b"\r\n", b"\n") if kind == SSE else raw
        raw = raw.replace(b"\n", data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))) if kind == SSE else raw
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=10)))
    clean, commands = run(name, [raw[a:b] for a, b in itertools.pairwise([0, *cuts, len(raw)])], kind)
    assert (clean, commands) == run(name, [raw], kind)
    visible, expected = blocks.read(answer.whole)
    assert commands == expected
    messages = wire.messages_of(clean.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if kind == SSE else clean)
    assert wire.text_of(name, messages) == visible
    if visible == answer.whole and "%" not in answer.whole:
        assert clean == raw


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_body_loses_its_blocks_and_nothing_else(name):
    data = wire.body(name, FULL)
    clean, commands = run(name, [data[:50], data[50:]], JSON)
    assert commands == [X]
    before, after = json.loads(data), json.loads(clean)
    said = "".join(t for t in strings(after) if "echo" not in t and "I could" not in t)
    assert SHOWN.replace(" ", "") in said.replace(" ", "")
    assert "%%OS{" not in said
    assert {k: v for k, v in after.items() if "usage" in k} == {k: v for k, v in before.items() if "usage" in k}
    plain = wire.body(name, Answer(text="100%% of `" + BLOCK + "`", thinking=BLOCK))
    assert run(name, [plain], JSON) == (plain, [])


def test_every_other_byte_of_a_changed_event_stays():
    odd = (
        b'{"id":"c","x": 1.50 ,"big":123456789012345678901234567890,"choices":[{"index":0, "delta":{"content":"a%s"},'
        b'"finish_reason":null,"logprobs":{"content":[]}}]}'
    )
    event = b": hi\nid: 7\ndata: " + odd.replace(b"%s", json.dumps(BLOCK)[1:-1].encode()) + b"\nretry: 3\n\n"
    clean, commands = run("chat", [event])
    assert commands == [X]
    assert clean.startswith(b": hi\nid: 7\ndata: ")
    assert clean.endswith(b"\nretry: 3\n\n")
    assert b"1.50" in clean
    assert b"123456789012345678901234567890" in clean
    assert b'"logprobs":null' in clean
    assert b'"content":"a"' in clean


def test_choices_of_a_chat_are_texts_of_their_own_and_only_the_first_commands():
    def chunk(*deltas):
        choices = [{"index": i, "delta": {"content": t}, "finish_reason": f} for i, t, f in deltas]
        return f"data: {json.dumps({'id': 'c', 'choices': choices})}\n\n".encode()

    a, b = BLOCK[:9], BLOCK[9:]
    data = chunk((0, "zero " + a, None)) + chunk((1, "one " + a, None), (0, b + "%", None))
    data += chunk((1, b + "!", "stop")) + chunk((0, "", "stop"))
    clean, commands = run("chat", [data + b"data: [DONE]\n\n"])
    assert commands == [X]
    texts = {0: "", 1: ""}
    for message in wire.messages_of(clean):
        for choice in message["choices"]:
            texts[choice["index"]] += choice["delta"]["content"]
    assert texts == {0: "zero %", 1: "one !"}
    assert clean.endswith(b"data: [DONE]\n\n")


def test_content_in_parts_is_read_too():
    part = {"type": "text", "text": "a" + BLOCK}
    other = {"type": "thinking", "thinking": BLOCK}
    body = json.dumps({"choices": [{"message": {"content": [part, other, 3]}}]}).encode()
    clean, commands = run("chat", [body], JSON)
    assert commands == [X]
    assert json.loads(clean)["choices"][0]["message"]["content"] == [{"type": "text", "text": "a"}, other, 3]


@pytest.mark.parametrize(("name", "kind"), STREAMS)
def test_a_stalled_block_is_given_up_by_a_tick(name, kind):
    clock = Clock()
    answer = DIALECTS[name].filter(kind, clock)
    messages = wire.stream(name, Answer(text=["a ", '%%OS{"}%% rest', " b"]), array=kind == JSON)
    split = next(i for i, m in enumerate(messages) if b"rest" in m) + 1
    parts = [answer.feed(m) for m in messages[:split]]
    assert answer.waiting
    clock.time += 5
    parts.append(answer.tick())
    assert b" rest" in parts[-1].data
    assert parts[-1].dropped[0].reason == "no end for 5 s"
    parts += [answer.feed(m) for m in messages[split:]]
    parts.append(answer.close())
    data = b"".join(p.data for p in parts)
    assert wire.text_of(name, wire.messages_of(data)) == "a  rest b"
    assert b"%%OS" not in data


@pytest.mark.parametrize(("name", "kind"), STREAMS)
def test_a_stream_that_breaks_off_gives_out_what_is_text(name, kind):
    messages = wire.stream(name, Answer(text=["a ", BLOCK, " 100%", " end"]), array=kind == JSON)
    split = next(i for i, m in enumerate(messages) if b"100%" in m) + 1
    clean, commands = run(name, messages[:split], kind)
    assert commands == [X]
    found = wire.messages_of(clean + (b"]" if kind == JSON else b""))
    assert wire.text_of(name, found) == "a  100%"
    # and in the middle of a message:
    clean, commands = run(name, [*messages[:split], messages[split][:30]], kind)
    assert commands == [X]
    assert clean.endswith(messages[split][:30])


@pytest.mark.parametrize("name", NAMES)
def test_the_last_event_may_lack_its_empty_line(name):
    data = b"".join(wire.stream(name, Answer(text=["a ", BLOCK, "5%"]))).rstrip()
    clean, commands = run(name, [data])
    assert commands == [X]
    assert wire.text_of(name, wire.messages_of(clean)) == "a 5%"


def test_a_whole_event_without_its_empty_line_is_ended_before_ours():
    event = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"5%"},"finish_reason":null,"x":1}]}'
    clean, _ = run("chat", [b'data: {"id":"c","choices":[]}\n\n' + event.replace(b"5%", b"x5%")])
    assert wire.text_of("chat", wire.messages_of(clean)) == "x5%"


@pytest.mark.parametrize("name", NAMES)
def test_errors_comments_and_unknown_events_pass(name):
    data = (
        b': keep-alive\n\n\n\nevent: ping\ndata: {"type": "ping"}\n\nretry: 10\n\ndata\n\n'
        b'event: odd\ndata: {"type":"odd",\ndata: "text":"%%OS{"}\n\ndata: [1, 2]\n\ndata: not json\n\n'
        + b'data: {"error": {"message": "overloaded %%OS{"}}\n\n'
        + b"".join(wire.stream(name, Answer(text=["hello"], error="broken")))
    )
    assert run(name, [data]) == (data, [])


def test_unreadable_json_with_a_block_is_shown_without_it_and_runs_nothing():
    filter_ = DIALECTS["chat"].filter(SSE)
    given_ = filter_.feed(b'data: {"choices": oops %%OS{"cmd":"x"}%% }\n\ndata: {"a": \\u0025%OS{ \n\n')
    assert given_.data == b'data: {"choices": oops  }\n\n'
    assert given_.commands == []
    assert len(given_.dropped) == 2
    clean, commands = run("chat", [b"<html>%%OS{}%%</html>"], JSON)
    assert (clean, commands) == (b"<html></html>", [])
    clean, commands = run("gemini", [b"[{oops %%OS{}%% }", b',{"candidates":[]}]'], JSON)
    assert (clean, commands) == (b'[{oops  },{"candidates":[]}]', [])


def test_half_a_character_is_no_reason_to_give_up():
    def chunk(text):
        return b'data: {"id":"c","p":NaN,"choices":[{"index":0,"delta":{"content":"' + text + b'"}}]}\n\n'

    data = chunk(b'%%OS{\\"cmd\\":\\"x\\",\\"t\\":\\"\\ud83d') + chunk(b'\\ude00\\"}%%\\ud83d') + chunk(b"\\ude00")
    clean, commands = run("chat", [data])
    assert commands == [{"cmd": "x", "t": "😀"}]
    assert wire.text_of("chat", wire.messages_of(clean)) == "\ud83d\ude00"


def test_half_a_character_beside_a_block_keeps_its_event():
    delta = b'{"type":"text_delta","x":[1.10],"text":"%%OS{}%%\\ud83d"}'
    data = b'data: {"type":"content_block_delta","index":0,"delta":' + delta + b"}\n\n"
    clean, commands = run("anthropic", [data])
    assert commands == []
    assert wire.messages_of(clean)[0]["delta"] == {"type": "text_delta", "x": [1.1], "text": "\ud83d"}


def test_text_in_the_chunk_that_ends_a_choice_is_complete():
    choice = {"index": 0, "delta": {"content": "a" + BLOCK + "5%"}, "finish_reason": "stop"}
    clean, commands = run("chat", [f"data: {json.dumps({'choices': [choice]})}\n\n".encode()])
    assert commands == [X]
    assert wire.messages_of(clean) == [{"choices": [{**choice, "delta": {"content": "a5%"}}]}]


def test_a_response_told_only_at_its_end_still_runs_its_commands_once():
    events = wire.stream("responses", Answer(text=["a ", BLOCK, " b"]))
    told = b"".join(e for e in events if b"output_text.delta" not in e)
    clean, commands = run("responses", [told])
    assert commands == [X]
    assert b"%%OS" not in clean
    last = events[-1].replace(b'"output":', b'"output_text": "a %s b", "output":' % json.dumps(BLOCK)[1:-1].encode())
    clean, commands = run("responses", [last])
    assert commands == [X]
    assert wire.messages_of(clean)[0]["response"]["output_text"] == "a  b"


def test_a_response_that_tells_another_text_than_it_streamed_runs_nothing_more():
    events = wire.stream("responses", Answer(text=["a ", BLOCK]))
    last = events[-1].replace(b'"a ', b'"b ')
    clean, commands = run("responses", [*events[:-1], last])
    assert commands == [X]
    assert wire.messages_of(clean)[-1]["response"]["output"][0]["content"][0]["text"] == "b "


@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("chat", '"finish_reason": "stop"'),
        ("responses", "response.output_text.done"),
        ("anthropic", "content_block_stop"),
    ],
)
def test_held_text_comes_before_the_end_of_its_text(name, over):
    clean, _ = run(name, [encoded(name, SSE, Answer(text=["100", "%"]))])
    events = clean.replace(b"\r\n", b"\n").decode().split("\n\n")
    end = next(i for i, event in enumerate(events) if over in event)
    assert '"%"' in events[end - 1]


def test_held_text_comes_before_a_function_call_of_gemini():
    answer = Answer(text=["100%"], tools=[Tool("t")])
    clean, _ = run("gemini", [encoded("gemini", SSE, answer)])
    parts = [p for m in wire.messages_of(clean) for p in m["candidates"][0]["content"]["parts"]]
    assert [p.get("text", "call") for p in parts] == ["100", "%", "call", ""]


def test_elements_of_an_array_that_lose_all_text_leave_a_sound_array():
    def element(text, **more):
        return json.dumps({"candidates": [{"content": {"parts": [{"text": text}]}, "index": 0, **more}]}).encode()

    for texts in itertools.product(["%", "%O", BLOCK, "a"], repeat=3):
        data = b"[" + b",\r\n".join([*map(element, texts), element("", finishReason="STOP")]) + b"]\n"
        for size in (1, 5, len(data)):
            clean, commands = run("gemini", [data[i : i + size] for i in range(0, len(data), size)], JSON)
            visible, expected = blocks.read("".join(texts))
            assert wire.text_of("gemini", wire.messages_of(clean)) == visible
            assert commands == expected


def test_an_array_whose_first_element_waits_stays_sound():
    def element(text):
        return json.dumps({"candidates": [{"content": {"parts": [{"text": text}]}}]}).encode()

    clock = Clock()
    waiting = DIALECTS["gemini"].filter(JSON, clock)
    parts = [waiting.feed(b"[ " + element('%%OS{"}%% rest'))]
    clock.time += 5
    parts += [waiting.tick(), waiting.feed(b"\n, " + element("a") + b"]"), waiting.close()]
    data = b"".join(p.data for p in parts)
    assert wire.text_of("gemini", wire.messages_of(data)) == " resta"
    clean, _ = run("gemini", [b"[" + element("%"), b"]"], JSON)
    assert wire.text_of("gemini", wire.messages_of(clean)) == "%"
    clean, _ = run("gemini", [b"[" + element("%") + b"," + element('%OS{"}%% b') + b"," + element("%") + b"]"], JSON)
    assert wire.text_of("gemini", wire.messages_of(clean)) == " b%"


def test_ten_thousand_blocks_keep_their_order_and_message():
    pieces = [f'%%OS{{"cmd":"x","n":{n}}}%%' for n in range(10_000)]
    answer = DIALECTS["anthropic"].filter(SSE)
    taken = answer.feed(b"".join(wire.stream("anthropic", Answer(text=pieces, id="9")))).commands
    assert [t.command["n"] for t in taken] == list(range(10_000))
    assert {t.message_id for t in taken} == {"msg_9"}
    assert len({t.ordinal for t in taken}) == 10_000


def test_too_much_is_refused_clearly():
    limits = DialectLimits(texts=3, event=100, body=101, gap=102)
    for name, kind, data, size in [
        ("chat", SSE, b"data: " + b"x" * 200, 100),
        ("chat", SSE, b"data: x\n" * 20, 100),
        ("chat", JSON, b"x" * 200, 101),
        ("gemini", JSON, b'[{"' + b"x" * 200, 100),
        ("gemini", JSON, b" " * 200, 102),
    ]:
        with pytest.raises(LimitReached, match=f"{size} bytes"):
            DIALECTS[name].filter(kind, limits=limits).feed(data)
    delta = 'data: {"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"a"}}\n\n'
    with pytest.raises(LimitReached, match="3 texts"):
        DIALECTS["anthropic"].filter(SSE, limits=limits).feed("".join(delta % n for n in range(5)).encode())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"choices":3,"candidates":"x","content":{},"output":[1]}',
        b'{"choices":[null,{"delta":[]},{"index":"x","delta":{"content":7}}],"candidates":[1,{"content":{"parts":[3]}}]}',
        b'{"type":"content_block_delta","delta":null}',
        b'{"type":"response.output_text.delta"}',
        b'{"type":"response.output_text.done"}',
        b'{"type":"response.completed","response":null}',
        b"[" * 5000,
        b'{"a":' * 5000,
        b"\xff\xfe",
    ],
)
def test_answers_of_any_shape_pass(name, data):
    assert run(name, [data], JSON) == (data, [])
    event = b"data: " + data + b"\n\n"
    assert run(name, [event]) == (event, [])


TEXT = "<fourhands-workbench>\nDo so.\n</fourhands-workbench>"
PART = {"type": "text", "text": "Own."}
ITEM = {"type": "message", "role": "developer"}


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("chat", {"messages": []}, {"messages": [{"role": "system", "content": TEXT}]}),
        (
            "chat",
            {"model": "m", "messages": [{"role": "system", "content": "Own."}, {"role": "user", "content": "hi"}]},
            {
                "model": "m",
                "messages": [{"role": "system", "content": "Own.\n\n" + TEXT}, {"role": "user", "content": "hi"}],
            },
        ),
        (
            "chat",
            {"messages": [{"role": "developer", "content": [{"type": "text", "text": "Own."}]}]},
            {
                "messages": [
                    {"role": "developer", "content": [{"type": "text", "text": "Own."}, {"type": "text", "text": TEXT}]}
                ]
            },
        ),
        ("chat", {"messages": "odd"}, {"messages": "odd"}),
        ("responses", {"input": "hi"}, {"input": "hi", "instructions": TEXT}),
        ("responses", {"instructions": "Own."}, {"instructions": "Own.\n\n" + TEXT}),
        (
            "responses",
            {"instructions": []},
            {
                "instructions": [
                    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": TEXT}]}
                ]
            },
        ),
        ("anthropic", {"max_tokens": 3}, {"max_tokens": 3, "system": TEXT}),
        ("anthropic", {"system": "Own."}, {"system": "Own.\n\n" + TEXT}),
        (
            "anthropic",
            {"system": [{"type": "text", "text": "Own.", "cache_control": {"type": "ephemeral"}}]},
            {
                "system": [
                    {"type": "text", "text": "Own.", "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": TEXT},
                ]
            },
        ),
        ("gemini", {"contents": []}, {"contents": [], "systemInstruction": {"parts": [{"text": TEXT}]}}),
        (
            "gemini",
            {"systemInstruction": {"role": "user", "parts": [{"text": "Own."}]}},
            {"systemInstruction": {"role": "user", "parts": [{"text": "Own."}, {"text": TEXT}]}},
        ),
        (
            "gemini",
            {"system_instruction": {"parts": {"text": "Own."}}},
            {"system_instruction": {"parts": [{"text": "Own."}, {"text": TEXT}]}},
        ),
        ("gemini", {"systemInstruction": "Own."}, {"systemInstruction": {"parts": [{"text": "Own."}, {"text": TEXT}]}}),
    ],
)
def test_instructions_go_behind_the_agents_own_prompt(name, body, expected):
    before = json.dumps(body)
    assert DIALECTS[name].instruct(body, " Do so.\n") == expected
    assert json.dumps(body) == before
    assert DIALECTS[name].instruct(body, "") == body


def test_texts_that_we_emptied_leave_the_history_of_anthropic():
    turn = [{"type": "text", "text": ""}, {"type": "tool_use", "id": "t", "name": "n", "input": {}}]
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": ""}]},
            {"role": "assistant", "content": turn},
            {"role": "assistant", "content": turn[:1]},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": "words"},
        ]
    }
    done = "(commands sent)"
    assert [m["content"] for m in DIALECTS["anthropic"].instruct(body, "")["messages"]] == [
        [{"type": "text", "text": ""}],
        turn[1:],
        [{"type": "text", "text": done}],
        done,
        "words",
    ]


def test_an_empty_feed_gives_nothing():
    for name, kind in STREAMS:
        assert DIALECTS[name].filter(kind).feed(b"") == Filtered()
        assert DIALECTS[name].filter(kind).close() == Filtered()
