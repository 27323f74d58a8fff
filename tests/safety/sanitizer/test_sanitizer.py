"""Sanitizing terminal output: safety-policy.md S."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.table import table
from tests.safety.sanitizer.reference import reference

from fourhands.core.errors import BadArgument
from fourhands.safety.sanitizer.row import LONGEST
from fourhands.safety.sanitizer.sanitizer import DEFAULT_LIMITS, Sanitizer, SanitizerLimits, sanitize

SMALL = SanitizerLimits(pending=4, row=7)

PIECES = [
    *("\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x1b(B", "\x1b(", "\x1bD", "\x1bE", "\x1bN", "\x1b#8", "\x1b% G"),
    *("\x9b", "\x9d", "\x9c", "\x90", "\x84", "\x85", "\x8e", "\x80"),
    *("\r", "\n", "\r\n", "\b", "\t", "\x07", "\x00", "\x18", "\x1a", "\x0b", "\x0c", "\x7f", "\u2028"),
    *(
        "m",
        "8m",
        "0m",
        "\x1b[8m",
        "\x1b[m",
        "\x1b[28m",
        "\x1b[38;5;8m",
        "\x1b[48;2;8;8;8m",
        "\x1b[1;31m",
        "\x1b[38:5:8m",
    ),
    *("\x1b[38;5;38;5;8m", "\x1b[08m", "\x1b[38;8m", "\x1b[>8m", "\x1b[8 m", "\x1b[8;m", "\x1b[38m", "\x1b[58;5m"),
    *(
        "\x1b[K",
        "\x1b[1K",
        "\x1b[2K",
        "\x1b[C",
        "\x1b[3C",
        "\x1b[D",
        "\x1b[2D",
        "\x1b[4G",
        "\x1b[2`",
        "\x1b[P",
        "\x1b[2P",
    ),
    *(
        "\x1b[@",
        "\x1b[3@",
        "\x1b[X",
        "\x1b[2X",
        "\x1b[?2X",
        "\x1b[5;3H",
        "\x1b[2J",
        "\x1b[A",
        "\x1b[?25l",
        "\x1b[5000C",
    ),
    *("\x1b[1\n2C", "\x1b[3\tm", "\x1b[\x7f2C", "\x1b[2", ";", "3"),
    *("a", "b", " ", "  ", "abc ", "é", "漢", "x y", "\ud800", "\ufffd"),
    *("\u0301", "\u200d", "\u200c", "\ufe0f", "\ufe0e", "👩", "👧", "❤", "↔", "👩\u200d👧", "\u180b", "ि"),
    *("\u202e", "\u2066", "\u200b", "\ufeff", "\u00ad", "\U000e0041", "\U000e0100", "\ufff9", "\u00a0", "\u2800"),
]
noise = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
raw_bytes = st.lists(
    st.one_of(st.sampled_from(PIECES).map(lambda piece: piece.encode(errors="surrogatepass")), st.binary(max_size=3)),
    max_size=20,
).map(b"".join)
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u00ad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def cut(data, places, limits=DEFAULT_LIMITS):
    """Feed data in pieces that end at the given places."""
    sanitizer = Sanitizer(limits)
    out, last = [], 0
    for place in sorted({place % (len(data) + 1) for place in places}):
        out.append(sanitizer.feed(data[last:place]))
        last = place
    return "".join([*out, sanitizer.feed(data[last:]), sanitizer.close()])


@settings(max_examples=800, deadline=None)
@given(noise)
def test_the_rules_written_down_one_by_one_give_the_same(data):
    assert sanitize(data) == reference(data)


@settings(max_examples=400, deadline=None)
@given(raw_bytes)
def test_bytes_give_the_same_as_the_rules(data):
    assert sanitize(data) == reference(data)


@settings(max_examples=400, deadline=None)
@given(raw_bytes, st.lists(st.integers(0, 500), max_size=8))
def test_any_cut_of_bytes_gives_the_same(data, places):
    assert cut(data, places) == sanitize(data)


@settings(max_examples=300, deadline=None)
@given(noise)
def test_character_by_character_gives_the_same(data):
    assert cut(data, range(len(data))) == sanitize(data)


@settings(max_examples=300, deadline=None)
@given(noise)
def test_nothing_that_deceives_or_controls_comes_through(data):
    assert not FORBIDDEN.search(sanitize(data))


@settings(max_examples=300, deadline=None)
@given(noise)
def test_the_result_sanitized_again_is_the_same(data):
    once = sanitize(data)
    assert sanitize(once) == once


@settings(max_examples=500, deadline=None)
@given(noise, st.lists(st.integers(0, 300), max_size=8))
def test_any_cut_gives_the_same_where_lines_are_too_long_to_hold(data, places):
    whole = sanitize(data, SMALL)
    assert cut(data, places, SMALL) == whole
    assert not FORBIDDEN.search(whole)
    assert sanitize(whole, SMALL) == whole


def test_a_joiner_that_joins_nothing_goes_from_a_line_too_long_to_hold_too():
    assert sanitize("é👩\u200d👧\u200d;;;;;;", SMALL) == "é👩\u200d👧;;;;;;"
    assert sanitize("\u200d" * 20 + "a", SMALL) == "a"


def test_a_line_too_long_to_hold_appears_whole():
    assert sanitize("0123456789 abcdefghij   \n", SMALL) == "0123456789 abcdefghij\n"
    assert sanitize("é" * 50, SMALL) == "é" * 50
    assert sanitize("x" + " " * 40 + "y", SMALL) == "x" + " " * 40 + "y"
    assert sanitize("x" + " " * 40 + "\n", SMALL) == "x\n"
    assert sanitize("123456👩\u200d👧x", SMALL) == "123456👩\u200d👧x"


def test_the_parts_already_given_of_a_long_line_stay():
    assert sanitize("0123456789\rX", SMALL) == "012345X789"
    assert sanitize("abc\r0123456789\bX", SMALL) == "012345678X"
    assert sanitize("é漢\r\x1b[9C0123456789", SMALL) == "é漢    0123456789"


@table(
    ("data", "seen"),
    [
        (b"", ""),
        (b"plain", "plain"),
        (b"\x1b[1;31mred\x1b[0m\n", "red\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"10%\r20%\r100%\n", "100%\n"),
        (b"long text\rshort\n", "shorttext\n"),
        (b"long text\r\x1b[Kshort\n", "short\n"),
        (b"ab\b\bX", "Xb"),
        (b"\b\bX", "X"),
        (b"abcdef\r\x1b[2P", "cdef"),
        (b"abc\r\x1b[2@", "  abc"),
        (b"abcdef\r\x1b[2X", "  cdef"),
        (b"abcdef\x1b[3D\x1b[1K", "    ef"),
        (b"abc\x1b[2Kd", "   d"),
        (b"\x1b[99999Cx", " " * 4096 + "x"),
        (b"\x1b[" + b"0" * 300 + b"5Cx", "x"),
        (b"\x1b[0Cx", " x"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdata\x07more\x1b\\text", "text"),
        (b"\x1b]0;never\nending", ""),
        (b"\x1b]0;t\x1b[31mred", "red"),
        (b"\x1b]0;t\x18text", "text"),
        (b"a\x1bDb\x1bEc", "a\nb\nc"),
        (b"a\x0bb\x0cc", "a\nb\nc"),
        ("a\u2028b\u2029c\u0085d\u0084e", "a\nb\nc\nd\ne"),
        (b"\x1b(0lqk\x1b(B", "lqk"),
        (b"\x1bNx\x1bOy\x1b7\x1b8\x1b=", "xy"),
        (b"x\x1b", "x"),
        (b"\x1b\x1b[31mred", "red"),
        ("\x1bé\x1b(é", "éé"),
        (b"\x1b[3\x182C", "2C"),
        ("\x1b[3é", "é"),
        (b"\x1b[3\x1b[31mx", "x"),
        (b"\x9b31m\xff", "\ufffd31m\ufffd"),
        (b"\xe2\x82", "\ufffd"),
        ("\ud800x\udfff", "\ufffdx\ufffd"),
        (b"pass: \x1b[8mhunter2\x1b[0m!", "pass:        !"),
        (b"\x1b[8mone\ntwo\x1b[28mx", "\n   x"),
        (b"\x1b[38;5;8mgrey\x1b[48;2;8;8;8mback", "greyback"),
        ("\x1b[8mhe\u0301é👩\u200d👧|\x1b[m.", "      ."),
        ("e\u0301\bX", "X"),
        ("👩\u200d👧\u200d👦\bX", "X"),
        ("❤\ufe0f\ufe0e\bX", "X"),
        ("❤\ufe0f\ufe0e!", "❤\ufe0f!"),
        ("\u0301a", "\u0301a"),
        ("a\u200db é\u200dx é\u200dé é\u200d", "ab éx é\u200dé é"),
        ("é\u200d\u200c\u200dé", "é\u200dé"),
        ("user\u202etxt.exe\u2066 \ufeffx\u200by\U000e0041", "usertxt.exe xy"),
        ("a\u00a0\u2800", "a\u00a0\u2800"),
        (b"tab\tstays \t  \n", "tab\tstays \t\n"),
        (b"a \x1b[0m \r\nb  ", "a\nb"),
        (b"\n\n", "\n\n"),
        (bytearray(b"b\x1b[0m"), "b"),
        (memoryview(b"b\x1b[0m"), "b"),
    ],
)
def test_what_a_person_sees(data, seen):
    assert sanitize(data) == seen


def test_marks_beyond_what_one_cell_can_hold_stay_text():
    assert sanitize("e\r" + "e" + "\u0301" * 1000) == "e" + "\u0301" * 1000


def test_lines_are_given_when_their_end_is_there():
    sanitizer = Sanitizer()
    assert sanitizer.feed(b"one") == ""
    assert sanitizer.feed(b"\ntwo\n\x1b[3") == "one\ntwo\n"
    assert sanitizer.feed(b"1mthree") == ""
    assert sanitizer.close() == "three"


def test_a_closed_sanitizer_starts_anew():
    sanitizer = Sanitizer()
    sanitizer.feed(b"\x1b[8mhidden\n\x1b]0;open\xe2")
    sanitizer.close()
    assert sanitizer.feed(b"seen\n") == "seen\n"


def test_text_after_half_a_character_of_bytes():
    sanitizer = Sanitizer()
    assert sanitizer.feed(b"\xe2\x82") + sanitizer.feed("x\n") == "\ufffdx\n"


@pytest.mark.parametrize("data", [None, 7, ["a"]])
def test_other_types_are_refused(data):
    with pytest.raises(BadArgument, match=type(data).__name__):
        sanitize(data)


@pytest.mark.parametrize(
    ("start", "filling"),
    [
        (b"", b"x y "),
        (b"\x1b]0;", b"never\n"),
        (b"\x1b[", b"1;"),
        (b"\x1b", b"("),
        (b"a\r", b"b"),
        (b"\xc3\xa9\r", "e\u0301".encode()),
        (b"abc\r", b"\x1b[4096@"),
        (b"", b"\x1b[4096C"),
        (b"", b"\r\x1b[2K\xe2\x9d\xa4\xef\xb8\x8f 10%"),
    ],
)
def test_memory_stays_bounded_without_a_line_end(start, filling):
    sanitizer = Sanitizer()
    sanitizer.feed(start)
    chunk = filling * (8192 // len(filling))
    for _ in range(100):
        sanitizer.feed(chunk)
    assert sanitizer.held <= 2 * LONGEST
