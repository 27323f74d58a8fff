import itertools
import json
import logging
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kit import blocks

from fourhands.agents.blocks.interceptor import Intercepted, Interceptor, InterceptorLimits
from fourhands.core.errors import BadArgument


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def run(*chunks: str) -> tuple[str, list[dict[str, Any]]]:
    interceptor = Interceptor()
    return join([*map(interceptor.feed, chunks), interceptor.close()])


def join(pieces: list[Intercepted]) -> tuple[str, list[dict[str, Any]]]:
    return "".join(p.visible for p in pieces), [c for p in pieces for c in p.commands]


X = {"cmd": "x", "args": {}}
BLOCK = '%%OS{"cmd":"x","args":{}}%%'

# Text, what is seen of it (None: all of it), what runs.
MATRIX: dict[str, tuple[str, str | None, list[dict[str, Any]]]] = {
    "clean single block": (f"text {BLOCK} more text", "text  more text", [X]),
    "malformed JSON": ("a %%OS{not json}%% b", "a  b", []),
    "unclosed block": ('a %%OS{"cmd":"x"', "a ", []),
    "nested braces": (
        '%%OS{"cmd":"x","args":{"data":"{}"}}%%',
        "",
        [{"cmd": "x", "args": {"data": "{}"}}],
    ),
    "several blocks": (f"a {BLOCK} b {BLOCK} c", "a  b  c", [X, X]),
    "no blocks": ("plain response text", "plain response text", []),
    "percent signs that start nothing": ("100%% increase", "100%% increase", []),
    "back to back": (BLOCK + BLOCK, "", [X, X]),
    "unicode": ('%%OS{"cmd":"x","t":"日本 \\u00e9 😀"}%%é', "é", [{"cmd": "x", "t": "日本 é 😀"}]),
    "end mark in a string": ('%%OS{"cmd":"x","t":"}%%"}%%.', ".", [{"cmd": "x", "t": "}%%"}]),
    "escaped quote": (r'%%OS{"cmd":"x","t":"\"}%%\\"}%%.', ".", [{"cmd": "x", "t": '"}%%\\'}]),
    "three percent signs": ("%%%OS{}%% and on", "%%%OS{}%% and on", []),
    "four percent signs": ("%%%%OS{", "%%%%OS{", []),
    "a third sign behind a block": (BLOCK + "% off", "% off", [X]),
    "signs of a block do not count": (BLOCK + BLOCK + "%", "%", [X, X]),
    "three signs behind a block": (BLOCK + "%" + BLOCK, "%" + BLOCK, [X]),
    "no end mark": (f"%%OS{{}} and {BLOCK}!", " and !", [X]),
    "half an end mark": (f"%%OS{{}}% and {BLOCK}!", "% and !", [X]),
    "marker behind a malformed block": ("%%OS{1}x" + BLOCK, "x", [X]),
    "a marker's signs end the block before": ("%%OS{1}" + BLOCK, BLOCK[2:], []),
    "a part of a marker at the end": ("50%%OS", "50%%OS", []),
    "one sign at the end": ("50%", "50%", []),
    "wrong case": ("%%os{}%%", "%%os{}%%", []),
    "unclosed, then text and a block": ('%%OS{"a}%% seen ' + BLOCK + " too", " seen  too", [X]),
    "unclosed, then an unclosed one": ("%%OS{{}%% one %%OS{{}%% two %%OS{", " one  two ", []),
    "the end mark misses its second sign": ("a%%OS{}%", "a", []),
    "in inline code": (f"see `{BLOCK}` here", f"see `{BLOCK}` here", []),
    "in a span with two backquotes": (f"``a ` {BLOCK}`` {BLOCK}", f"``a ` {BLOCK}`` ", [X]),
    "a span ends with its line": (f"`a\n{BLOCK}", "`a\n", [X]),
    "an escaped backquote opens nothing": (f"\\`{BLOCK}`", "\\``", [X]),
    "an escaped backslash does not escape": (f"\\\\`{BLOCK}`", f"\\\\`{BLOCK}`", []),
    "backquotes in a block are data": ('%%OS{"cmd":"`"}%%' + BLOCK + "`", "`", [{"cmd": "`"}, X]),
    "in a fence": (f"```\n{BLOCK}\n```\n{BLOCK}", f"```\n{BLOCK}\n```\n", [X]),
    "in a fence with tildes": (f"~~~ a`b\n{BLOCK}\n```\n~~~\n{BLOCK}", f"~~~ a`b\n{BLOCK}\n```\n~~~\n", [X]),
    "a longer fence": (f"````\n```\n{BLOCK}\n`````\r\n{BLOCK}", f"````\n```\n{BLOCK}\n`````\r\n", [X]),
    "a fence that never closes": (f"```\n{BLOCK}\n", f"```\n{BLOCK}\n", []),
    "in the line of a fence": (f"~~~ {BLOCK}\n~~~\n", f"~~~ {BLOCK}\n~~~\n", []),
    "a quoted fence": (f"> ```\n> {BLOCK}\n> ```\n{BLOCK}", f"> ```\n> {BLOCK}\n> ```\n", [X]),
    "a fence in a list": (f"- ```\n  {BLOCK}\n  ```\n{BLOCK}", f"- ```\n  {BLOCK}\n  ```\n", [X]),
    "a fence in a numbered list": (f"10. ~~~\n    {BLOCK}\n    ~~~\n{BLOCK}", f"10. ~~~\n    {BLOCK}\n    ~~~\n", [X]),
    "a closing line too far in": (f"```\n    ```\n{BLOCK}", f"```\n    ```\n{BLOCK}", []),
    "a closing line three columns in": (f"```\n   ```\n{BLOCK}", "```\n   ```\n", [X]),
    "a closing line with words": (f"```\n``` a\n{BLOCK}", f"```\n``` a\n{BLOCK}", []),
    "a quoted line does not close an unquoted fence": (f"```\n> ```\n{BLOCK}", f"```\n> ```\n{BLOCK}", []),
    "three backquotes twice in a line": (f"```a``` {BLOCK}\n{BLOCK}", "```a``` \n", [X, X]),
    "a backquote in the line of a fence": (f"```a `b\n{BLOCK}\n\n{BLOCK}", f"```a `b\n{BLOCK}\n\n", [X]),
    "a rest that ends with half an end mark": ("%%OS{{}%% a %%OS{}%", " a ", []),
    "a rest with an escaped quote": ('%%OS{{}%% a%%OS{"cmd":"\\"}"}%%b', " ab", [{"cmd": '"}'}]),
    "a mark without a blank is no list": (f"-```\n{BLOCK}\n\n{BLOCK}", f"-```\n{BLOCK}\n\n", [X]),
    "three backquotes in mid-line": (f"see ```\n{BLOCK}\n```\n{BLOCK}", f"see ```\n{BLOCK}\n```\n", [X]),
    "three backquotes in mid-line, unclosed": (f"a ```\n{BLOCK}\n \r\n{BLOCK}", f"a ```\n{BLOCK}\n \r\n", [X]),
    "fewer signs do not close it": (f"a ```` `` ``` {BLOCK}\n````` {BLOCK}", f"a ```` `` ``` {BLOCK}\n````` ", [X]),
    "a fence behind a block is none": (f"{BLOCK}```\n{BLOCK}\n\n{BLOCK}", f"```\n{BLOCK}\n\n", [X, X]),
    "three backquotes behind an escaped one": (f"\\````\n{BLOCK}\n\n{BLOCK}", f"\\````\n{BLOCK}\n\n", [X]),
    "a lone CR does not end a paragraph": (f"a ```\n\r{BLOCK}", f"a ```\n\r{BLOCK}", []),
    "a line starts in a dropped piece": ("%%OS{\n", "", []),
    "indented at the start": (f"    {BLOCK}\n{BLOCK}", f"    {BLOCK}\n", [X]),
    "indented behind a blank line": (f"a\n \n\t{BLOCK}\n    {BLOCK}\n\n    {BLOCK}", None, []),
    "indented behind an empty line with CR": (f"a\r\n\r\n    {BLOCK}", None, []),
    "three columns are not enough": (f"\n   {BLOCK}", "\n   ", [X]),
    "indented in a paragraph": (f"a\n    {BLOCK}", "a\n    ", [X]),
    "text behind indented code": (f"    a `b\n{BLOCK}\n    {BLOCK}", "    a `b\n\n    ", [X, X]),
    "the paragraph of an item": (f"- a\n\n    {BLOCK}", "- a\n\n    ", [X]),
    "the paragraph of a numbered item": (f"10. a\n\n    {BLOCK}", "10. a\n\n    ", [X]),
    "the paragraph of an inner item": (f"- a\n  - b\n\n    {BLOCK}\n", "- a\n  - b\n\n    \n", [X]),
    "in an item's line": (f"1. {BLOCK}\n   {BLOCK}\n", "1. \n   \n", [X, X]),
    "behind an item": (f"- a\n{BLOCK}", "- a\n", [X]),
    "code in an item": (f"- a\n\n      {BLOCK}\n  {BLOCK}", f"- a\n\n      {BLOCK}\n  ", [X]),
    "code in an item's first line": (f"-     {BLOCK}", None, []),
    "code behind a list": (f"- a\n\nb\n\n    {BLOCK}", None, []),
    "a sentence that begins with a number is no list": (f"a\n7. b\n\n    {BLOCK}", None, []),
    "a second item is one": (f"1. a\n2. b\n\n    {BLOCK}", "1. a\n2. b\n\n    ", [X]),
    "code in a quotation": (f"> a\n>\n>     {BLOCK}\n> {BLOCK}", f"> a\n>\n>     {BLOCK}\n> ", [X]),
    "the start of a quotation": (f"a\n>     {BLOCK}", None, []),
    "a paragraph in a quotation": (f">    {BLOCK}", ">    ", [X]),
    "a paragraph of a quotation that goes on": (f"> a\n    {BLOCK}", "> a\n    ", [X]),
    "a list in a quotation is left with it": (f"> - a\n\n    {BLOCK}", None, []),
    "a fence in indented code": (f"    ```\n{BLOCK}\n    ```\n{BLOCK}", f"    ```\n{BLOCK}\n    ```\n", [X]),
    "no fence in indented code": (f"    ``` `\n{BLOCK}", "    ``` `\n", [X]),
    "a block of several lines": (
        f'- a\n\n  %%OS{{\n"cmd":"x",\n\n    "args":{{}}}}%%\n    {BLOCK}',
        "- a\n\n  \n    ",
        [X, X],
    ),
    "part of a marker in indented code": ("    %%OS", None, []),
    "a tab counts up to its stop": (f"```\n\t```\n{BLOCK}", f"```\n\t```\n{BLOCK}", []),
}


def case(name: str) -> tuple[str, str, list[dict[str, Any]]]:
    text, visible, commands = MATRIX[name]
    return text, text if visible is None else visible, commands


@pytest.mark.parametrize("name", MATRIX)
def test_matrix_in_one_piece_and_cut_anywhere(name):
    text, visible, commands = case(name)
    assert run(text) == (visible, commands)
    assert blocks.read(text) == (visible, commands), "the reference disagrees"
    for cut in range(len(text) + 1):
        assert run(text[:cut], text[cut:]) == (visible, commands), cut
    assert run(*text) == (visible, commands)


@pytest.mark.parametrize("name", [name for name, (text, *_) in MATRIX.items() if len(text) < 60])
def test_matrix_cut_into_three(name):
    text, visible, commands = case(name)
    for a, b in itertools.combinations(range(len(text) + 1), 2):
        assert run(text[:a], text[a:b], text[b:]) == (visible, commands), (a, b)


FRAGMENTS = [
    *["%", "%%", "%%%", "%%O", "%%OS", "%%OS{", "O", "S{", "{", "}", "}%", "}%%", "}%%%"],
    *['"', "\\", '\\"', '{"cmd":"x"}', '"cmd":"y"', BLOCK, '%%OS{"cmd":"}%%"}%%', "%%OS{{}%%", '%%OS{"}%%'],
    *["`", "``", "```", "````", "~", "~~", "~~~", "~~~~", "```\n", "\n```\n", "~~~\n", "\n~~~ \n", "\n> ```\n"],
    *[
        "\n\n",
        "\n    ",
        "\n\n    ",
        "\n\n\t",
        "\n\n  ",
        "\n- ",
        "\n  - ",
        "\n1. ",
        "\n2. ",
        "\n> ",
        "\n>\n",
        "\n>     ",
    ],
    *["\n", "\r\n", "\r", " ", "    ", "\t", ">", "> ", "- ", "-", "*", "1. ", "12", ".", ")", "a", "word ", "é", "😀"],
]
CLOSING = st.sampled_from(["", "\n", "\n```\n", "}%%", BLOCK])
TEXTS = st.builds(lambda parts, last: "".join(parts) + last, st.lists(st.sampled_from(FRAGMENTS), max_size=25), CLOSING)


@st.composite
def cut_texts(draw):
    text = draw(TEXTS)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    return [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]


@settings(max_examples=600, deadline=None)
@given(cut_texts())
def test_any_cut_of_any_text_gives_what_the_rules_say(chunks):
    assert run(*chunks) == blocks.read("".join(chunks))


@settings(max_examples=400, deadline=None)
@given(cut_texts(), st.data())
def test_pauses_and_the_size_limit_fall_where_the_rules_say(chunks, data):
    clock = Clock()
    limit = data.draw(st.sampled_from([10, 17, 40, 1 << 23]))
    interceptor = Interceptor(now=clock, limits=InterceptorLimits(held=limit))
    pieces, pauses, position = [], set(), 0
    for chunk in chunks:
        if data.draw(st.booleans()):
            clock.time += 5
            pauses.add(position)
            if data.draw(st.booleans()):
                pieces.append(interceptor.tick())
        else:
            clock.time += 4.9 if not chunk else 0
            pieces.append(interceptor.tick()) if chunk else None
        if chunk:
            pieces.append(interceptor.feed(chunk))
            position += len(chunk)
            clock.time = round(clock.time)
    pieces.append(interceptor.close())
    pauses.discard(0)
    assert join(pieces) == blocks.read("".join(chunks), pauses, limit)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=10))
@example(["100%", "%", " O", "S{", "`"])
def test_text_without_a_marker_passes_unchanged(chunks):
    text = "".join(chunks)
    if "%%OS{" not in text:
        assert run(*chunks) == (text, [])


def test_only_a_part_of_a_marker_is_held_back():
    interceptor = Interceptor()
    for chunk in [
        "> - ",
        "1",
        ". ",
        "```",
        "py",
        "\n```\n",
        "\\",
        "`",
        "~",
        "~~",
        "\n~~~\n",
        "~~~\n",
        "%%%",
        "x",
        "%%OSX",
        " ```\n",
        "%%OS{",
        "\n\n",
        "    ",
        "%%OS{",
        "\n",
    ]:
        assert interceptor.feed(chunk).visible == chunk
    assert [interceptor.feed(c).visible for c in "a%%OSx"] == ["a", "", "", "", "", "%%OSx"]


def test_a_plain_chunk_comes_back_as_the_same_object():
    interceptor = Interceptor()
    text = "plain words " * 3
    assert interceptor.feed(text).visible is not None
    assert interceptor.feed(text).visible is text


def test_five_seconds_without_an_end_drop_the_block_and_text_goes_on(caplog):
    clock = Clock()
    interceptor = Interceptor(now=clock)
    assert interceptor.feed('text %%OS{"cmd":"x"').visible == "text "
    clock.time += 4.9
    assert interceptor.tick() == Intercepted()
    clock.time += 0.1
    with caplog.at_level(logging.WARNING):
        piece = interceptor.tick()
    assert (piece.visible, piece.commands) == ("", [])
    assert piece.dropped[0].reason == "no end for 5 s"
    assert "no end for 5 s" in caplog.text
    assert interceptor.feed(f"}}%% late {BLOCK}").visible == "}%% late "


def test_the_pause_is_noticed_without_a_tick():
    clock = Clock()
    interceptor = Interceptor(now=clock)
    interceptor.feed('%%OS{"cmd":"x"')
    assert interceptor.waiting
    clock.time += 5
    assert interceptor.feed("}%% seen").visible == "}%% seen"


def test_a_slow_block_that_keeps_coming_is_complete():
    clock = Clock()
    interceptor = Interceptor(now=clock)
    pieces = []
    for sign in BLOCK:
        clock.time += 4
        pieces += [interceptor.tick(), interceptor.feed(sign)]
    assert join(pieces) == ("", [X])


def test_a_pause_in_text_code_or_a_part_of_a_marker_changes_nothing():
    clock = Clock()
    interceptor = Interceptor(now=clock)
    pieces = []
    for chunk in ["text ", "%%O", 'S{"cmd":"x"}%% `a', "b` ```"]:
        pieces.append(interceptor.feed(chunk))
        clock.time += 60
        pieces.append(interceptor.tick())
    assert join([*pieces, interceptor.close()]) == ("text  `ab` ```", [{"cmd": "x"}])


def test_after_a_pause_the_rest_is_read_and_nothing_stays_open():
    clock = Clock()
    interceptor = Interceptor(now=clock)
    interceptor.feed('%%OS{"a}%% one `%%OS{` ' + BLOCK + " two %%OS{")
    clock.time += 5
    piece = interceptor.tick()
    assert (piece.visible, piece.commands) == (" one `%%OS{`  two ", [X])
    assert len(piece.dropped) == 2
    assert not interceptor.waiting
    assert interceptor.feed("}%%.").visible == "}%%."


@pytest.mark.parametrize(
    ("held", "code"),
    [("%%OS{\n", True), ("%%OS{\n ", False), ("\n%%OS{{}%%", False), ("%%OS{\n\n", True)],
)
def test_a_line_starts_behind_a_dropped_piece_only_if_that_ended_with_a_newline(held, code):
    clock = Clock()
    interceptor = Interceptor(now=clock)
    interceptor.feed(held)
    clock.time += 5
    piece = interceptor.feed(f"```\na\n\n{BLOCK}")
    assert piece.commands == ([] if code else [X])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{not json}", "not strict JSON"),
        ('{"cmd":NaN}', "NaN is not JSON"),
        ('{"cmd":"x","n":-Infinity}', "-Infinity is not JSON"),
        ('{"cmd":"x","n":1e999}', "too large"),
        ('{"cmd":"x","n":' + "9" * 5000 + "}", "not strict JSON"),
        ('{"cmd":"a\nb"}', "control character"),
        ('{"cmd":"x",}', "not strict JSON"),
        ("{'cmd':'x'}", "not strict JSON"),
        ("{}", "cmd"),
        ('{"cmd":" \\t"}', "cmd"),
        ('{"cmd":1}', "cmd"),
        ('{"args":{}}', "cmd"),
        ('{"cmd":"x","a":' + "[" * 128 + "]" * 128 + "}", "nested"),
        ('{"cmd":"x","a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
    ],
)
def test_a_block_that_is_no_command_is_dropped_with_its_reason(content, reason, caplog):
    piece = Interceptor().feed(f"a%%OS{content}%%b")
    assert (piece.visible, piece.commands) == ("ab", [])
    assert reason in piece.dropped[0].reason
    assert len(piece.dropped[0].excerpt) <= 120
    assert reason in caplog.text


def test_every_member_of_a_command_is_kept_and_the_last_of_two_wins():
    nested = "[" * 127 + "]" * 127
    piece = Interceptor().feed('%%OS{"cmd":"x","a":1,"a":2,"id":"[[[{{{","deep":' + nested + "}%%")
    assert piece.commands == [{"cmd": "x", "a": 2, "id": "[[[{{{", "deep": json.loads(nested)}]


def test_halves_of_a_character_in_a_block_become_one():
    interceptor = Interceptor()
    interceptor.feed('%%OS{"cmd":"x","t":"\ud83d')
    assert interceptor.feed('\ude00"}%%').commands == [{"cmd": "x", "t": "😀"}]


def test_ten_thousand_blocks_come_in_order():
    text = "".join(f'{n} %%OS{{"cmd":"x","n":{n}}}%%\n' for n in range(10_000))
    for size in (len(text), 97):
        visible, commands = run(*(text[i : i + size] for i in range(0, len(text), size)))
        assert [c["n"] for c in commands] == list(range(10_000))
        assert visible == "".join(f"{n} \n" for n in range(10_000))


@pytest.mark.parametrize("size", [64, 4096, 2_000_000])
def test_a_block_of_a_megabyte_is_normal(size):
    value = {"cmd": "x", "text": 'line "quoted" }%% \n' * 50_000}
    text = f"a%%OS{json.dumps(value)}%%b"
    assert run(*(text[i : i + size] for i in range(0, len(text), size))) == ("ab", [value])


def test_the_size_limit_is_eight_mebibytes_of_utf8():
    most = 8 * 1024 * 1024
    for fill in ("x", "é", "😀"):
        head, tail = '%%OS{"cmd":"x","t":"', '"}%'
        room = most - len(head) - len(tail)
        count = room // len(fill.encode())
        text = head + "x" * (room - count * len(fill.encode())) + fill * count + tail
        assert len(text.encode()) == most
        visible, commands = run(text + "%", "ok")
        assert (visible, len(commands)) == ("ok", 1)
        visible, commands = run(text[:-3] + "x" + text[-3:] + "%ok")
        assert (visible, len(commands)) == ("%ok", 0)


@pytest.mark.parametrize("budget", [{"repeats": 3}, {"repeated": 40}], ids=["times", "characters"])
def test_beyond_the_budget_of_repeats_everything_held_is_dropped(budget):
    interceptor = Interceptor(limits=InterceptorLimits(held=30, **budget))
    pieces = [interceptor.feed("%%OS{{}%% " * 30)]
    assert any("too often" in d.reason for d in pieces[0].dropped)
    visible, commands = join([*pieces, interceptor.close()])
    assert commands == []
    assert "%%OS{" not in visible


@pytest.mark.parametrize(
    "unit",
    [
        "%%OS{{}%%",
        '%%OS{"}%%',
        "%%OS{",
        "`",
        "``` `\n",
        "`a``",
        "%",
        "%%OS{}",
        ">",
        "- ",
        '%%OS{\\"}%%{',
        "\\",
        "~",
        "1",
        "\n\n    a",
        "- a\n> ",
    ],
)
def test_hostile_text_ends_soon_and_shows_no_marker(unit, caplog):
    caplog.set_level(logging.CRITICAL)
    whole = unit * (200_000 // len(unit))
    for size in (len(whole), 1009, 3):
        text = whole if size > 3 else whole[:60_000]  # each piece has its price
        visible, commands = run(*(text[i : i + size] for i in range(0, len(text), size)))
        assert commands == []
        assert "%%OS{" not in visible


def test_close_makes_ready_for_a_new_stream():
    interceptor = Interceptor()
    interceptor.feed("```\n%%OS{")
    assert interceptor.close().visible == ""
    assert interceptor.close() == Intercepted()
    assert interceptor.feed(BLOCK).commands == [X]


@pytest.mark.parametrize("value", [None, b"text", 3, ["text"]])
def test_what_is_not_text_is_refused(value):
    with pytest.raises(BadArgument, match=type(value).__name__):
        Interceptor().feed(value)


def test_what_is_taken_is_logged_for_debugging(caplog):
    with caplog.at_level(logging.DEBUG):
        Interceptor().feed(BLOCK)
    assert "took the command 'x'" in caplog.text
