"""What keys leave on a shell's line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourhands.workbench.terminals.shell.input_line import (
    EMPTY,
    PASTE_BEGIN,
    PASTE_END,
    InputLine,
    leave,
    only_takes_away,
    open_ended,
    typed,
)

keys = st.text(
    alphabet=st.sampled_from([*"ab 'é", "\n", "\r", "\t", "\x03", "\x15", "\x7f", "\x1b", "\x12"]), max_size=20
)
marked = st.lists(st.one_of(keys, st.sampled_from([PASTE_BEGIN, PASTE_END])), max_size=6).map("".join)


def test_enter_submits_by_line_feed_and_by_carriage_return() -> None:
    done = typed(InputLine("l"), "s\rpwd\nrest")
    assert done.lines == ("ls", "pwd")
    assert done.line == InputLine("rest")


def test_interrupt_and_kill_line_take_the_line_away() -> None:
    assert typed(InputLine("rm -rf /"), "\x03ls\n").lines == ("ls",)
    assert typed(InputLine("rm -rf /"), "\x15ls\n").lines == ("ls",)
    assert only_takes_away("\x03\x15")
    assert not only_takes_away("\x03\n")
    assert not only_takes_away("")


def test_a_paste_is_text_where_the_shell_takes_pastes() -> None:
    pasted = f"{PASTE_BEGIN}a\nb\rc\td{PASTE_END}"
    done = typed(EMPTY, pasted)
    assert (done.lines, done.line.text, done.completed, done.hidden) == ((), "a\nb\nc\td", False, "")
    other = typed(EMPTY, pasted, pastes=False)
    assert other.hidden == "U+001B"
    assert "b" in other.lines


def test_a_paste_may_come_in_pieces() -> None:
    first = typed(EMPTY, f"{PASTE_BEGIN}echo 1\n")
    assert first.lines == ()
    assert first.line.pasting
    second = typed(first.line, f"echo 2{PASTE_END}\n")
    assert second.lines == ("echo 1\necho 2",)


def test_control_keys_hide_the_line_until_it_is_gone_for_sure() -> None:
    hidden = typed(EMPTY, "\x12rm").line  # history search
    assert typed(hidden, "x").hidden == "U+0012"
    assert typed(hidden, "\n").hidden == "U+0012"  # the line that is submitted is the unknown one
    assert typed(hidden, "\x15ls\n").hidden == "U+0012"  # the cursor may stand anywhere
    assert typed(hidden, "\x03ls\n").hidden == ""
    assert typed(typed(hidden, "\n").line, "ls\n").hidden == ""


def test_control_keys_inside_a_paste_hide_it_too() -> None:
    assert typed(EMPTY, f"{PASTE_BEGIN}a\x03b{PASTE_END}").hidden == "U+0003"


def test_tab_may_complete_the_line() -> None:
    done = typed(EMPTY, "ls bu\t\n")
    assert done.completed
    assert not done.line.completed
    assert typed(EMPTY, "ls bu\t\x7f").hidden == "U+007F"  # who knows how much it completed


def test_backspace_takes_a_character() -> None:
    assert typed(InputLine("rmx"), "\x7f\b").line.text == "r"
    assert typed(EMPTY, "\x7fls\n").lines == ("ls",)
    assert typed(InputLine("e\u0301"), "\x7f").hidden  # one character or two?


@settings(max_examples=300)
@given(st.data(), marked)
def test_any_split_of_the_keys_gives_the_same_lines(data: st.DataObject, text: str) -> None:
    at = data.draw(st.integers(0, len(text)))
    whole = typed(EMPTY, text)
    first = typed(EMPTY, text[:at])
    second = typed(first.line, text[at:])
    if "\x1b" in (first.line.hidden, second.hidden) or whole.hidden or second.hidden or first.hidden:
        # A mark that was cut in two is a control key: never better judged than the whole.
        assert second.hidden or first.hidden or not whole.line.hidden
        return
    assert (*first.lines, *second.lines) == whole.lines
    assert second.line == whole.line


@settings(max_examples=300)
@given(marked)
def test_no_text_is_lost_without_a_word(text: str) -> None:
    done = typed(EMPTY, text)
    plain = [sign for sign in text if sign.isalpha()]
    kept = "".join([*done.lines, done.line.text])
    if not {"\x03", "\x15", "\x7f"} & set(text) and not done.hidden:
        assert [sign for sign in kept if sign.isalpha()] == plain


@pytest.mark.parametrize(
    ("text", "lines", "rest"),
    [
        ("y\n", ("y",), ""),
        ("rm -rf", (), "rm -rf"),
        ("\x1b:wq\r", (":wq",), ""),
        ("abc\x03x", (), "x"),
        ("a\tb", (), "a\tb"),
    ],
)
def test_keys_for_a_program_as_a_shell_would_get_them(text: str, lines: tuple[str, ...], rest: str) -> None:
    left, line = leave(EMPTY, text)
    assert (left, line.text) == (lines, rest)
    assert line.completed is bool(rest)


@pytest.mark.parametrize(
    "text", ["echo '", 'echo "', "cat <<E", "ls |", "if true; then", "echo \\", "rm -rf 'a", "(ls"]
)
def test_open_ended_lines(text: str) -> None:
    assert open_ended(text)


@pytest.mark.parametrize("text", ["", "ls", "echo 'a b'", "rm -rf x", "cat <<E\nE"])
def test_lines_that_are_whole(text: str) -> None:
    assert not open_ended(text)
