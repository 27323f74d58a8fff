"""Edits of exact text: what they find, what they leave, and what they say where they find nothing or too much."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.core.errors import FourhandsError
from fourhands.workbench.files.edit import MOST_MATCHES, TextEdit, apply
from fourhands.workbench.files.near import nearest

CODE = "def f(x):\n    return x + 1\n\n\ndef g(name):\n    print(f'hello {name}')\n    return None\n"


HELLO = "    print(f'hello {name}')"


def made(text, *edits, most=10**7):
    return apply("a.py", text, [TextEdit(old=old, new=new, all=bool(rest)) for old, new, *rest in edits], most=most)


def refused(text, *edits, most=10**7):
    with pytest.raises(FourhandsError) as caught:
        made(text, *edits, most=most)
    return caught.value


@pytest.mark.parametrize(
    ("text", "edits", "after", "lines"),
    [
        ("one\ntwo\n", [("two", "2")], "one\n2\n", [[(2, 2)]]),
        ("one\ntwo\n", [("one\n", "")], "two\n", [[(1, 1)]]),
        # each sees what the earlier ones have left, and lines are those of the end
        ("one\ntwo\n", [("two", "2\n2b"), ("one\n", "a\nb\nc\n")], "a\nb\nc\n2\n2b\n", [[(4, 5)], [(1, 3)]]),
        ("one\n", [("one", "two"), ("two", "three")], "three\n", [[(1, 1)], [(1, 1)]]),
        ("a b a b a\n", [("a", "A", "all")], "A b A b A\n", [[(1, 1)] * 3]),
        ("aaa", [("aa", "b", "all")], "ba", [[(1, 1)]]),
        ("a\n", [("a", "aa", "all")], "aa\n", [[(1, 1)]]),
        ("", [("", "new\n")], "new\n", [[(1, 1)]]),
        # line ends are the file's own
        ("one\r\ntwo\r\n", [("one\ntwo", "1\n2")], "1\r\n2\r\n", [[(1, 2)]]),
        ("one\r\ntwo\r\n", [("one", "1\n1b")], "1\r\n1b\r\ntwo\r\n", [[(1, 2)]]),
        ("one\r\ntwo\r\n", [("\n", "\n\n", "all")], "one\r\n\r\ntwo\r\n\r\n", [[(1, 2), (3, 4)]]),
        ("one\r\ntwo\r\n", [("\ntwo", "\n2")], "one\r\n2\r\n", [[(1, 2)]]),
        ("one\ntwo\n", [("one\r\ntwo", "1\r\n2")], "1\n2\n", [[(1, 2)]]),
        ("a\r\nb\nc\r\nd\n", [("b\n", "B\nB\n"), ("c\n", "C\nC\n")], "a\r\nB\nB\nC\r\nC\r\nd\n", [[(2, 3)], [(4, 5)]]),
        ("no end", [("no", "one\r\n")], "one\r\n end", [[(1, 1)]]),
        ("tab\tÄ€😀\n", [("Ä€😀", "x")], "tab\tx\n", [[(1, 1)]]),
    ],
)
def test_edits_exchange_exactly_what_they_name(text, edits, after, lines):
    done = made(text, *edits)
    assert done.text == after
    assert [[(one.start_line, one.end_line) for one in edit.ranges] for edit in done.replaced] == lines


@pytest.mark.parametrize(
    ("text", "edits", "code", "words"),
    [
        ("x y x\nx\n", [("x", "z")], "many-matches", "found 3 times in 'a.py', in lines 1, 1, 2"),
        ("aaa", [("aa", "b")], "many-matches", "found 2 times"),
        ("x\n" * 30, [("x", "z")], "many-matches", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more"),
        ("x\n" * 3000, [("x", "z")], "many-matches", "found 1000 times or more"),
        ("x\n", [("", "z")], "bad-argument", "edits[0] has an empty old text"),
        ("x\n", [("x", "x")], "bad-argument", "edits[0] changes nothing"),
        ("x\r\n", [("x\n", "x\r\n")], "bad-argument", "edits[0] changes nothing"),
        ("one two", [("two", "2"), ("two", "3")], "no-match", "before the earlier edits of this call"),
        ("x", [("x", "y" * 100)], "too-large", "100 characters"),
        ("x" * (MOST_MATCHES + 1), [("x", "", "all")], "too-large", "more than 100000 times"),
        (CODE, [("entirely\ndifferent", "z")], "no-match", "nothing in the file is like it"),
        ("", [("x", "z")], "no-match", "nothing in the file is like it"),
    ],
)
def test_what_cannot_be_done_says_why(text, edits, code, words):
    error = refused(text, *edits, most=50 if code == "too-large" and len(text) == 1 else 10**7)
    assert error.code == code
    assert words in str(error)


@pytest.mark.parametrize(
    ("old", "words", "line", "found"),
    [
        ("def f(x):\n\treturn x + 1\n", "it differs only in blanks from lines 1 to 2", 2, "    return x + 1"),
        ("return  x  +  1", "it differs only in blanks from line 2", 2, "    return x + 1"),
        ("Print(f‘hello {name}’)", "blanks, capitals or special characters from line 6", 6, HELLO),
        ("    return x + 2\n", "it is nearly line 2", 2, "    return x + 1"),
        ("def g(nome):\n    print(f'hello {name}')\n", "it is nearly lines 5 to 6", 5, "def g(name):"),
        ("def g(name):\n    # a line more\n    print(f'hello {name}')\n    return None\n", "nearly", 6, HELLO),
        ("    return None\n\n", "it differs only in blanks", 8, ""),
    ],
)  # fmt: skip
def test_what_is_nearly_there_is_shown_as_it_is(old, words, line, found):
    error = refused(CODE, (old, "z"))
    assert error.code == "no-match"
    assert words in error.hint
    assert (error.data["line"], error.data["found"]) == (line, found)


def test_looking_for_what_is_near_takes_no_longer_than_reading_and_answers_in_a_few_lines():
    big = "".join(f"    line {n} has words like alpha{n % 97} and beta{n % 13}\n" for n in range(20_000))
    long = ("x" * 5000 + "\n") * 200
    start = time.process_time()
    for text, old in (
        (big, "".join(f"    line {n} has WORDS like alfa{n % 97} and beta{n % 17}\n" for n in range(7000, 7300))),
        (big, "nothing of the kind " * 100),
        (long, "y" + "x" * 4000),
    ):
        near = nearest(text, old)
        assert near is None or len(near.words) < 600
    assert time.process_time() - start < 8


PIECES = st.text(alphabet="ab\r\n", max_size=12)


@given(before=PIECES, old=st.text(alphabet="ab\n", min_size=1, max_size=3), new=st.text(alphabet="abc\n", max_size=3))
def test_in_plain_text_it_is_what_replacing_is(before, old, new):
    text = before.replace("\r", "")
    if old == new or old not in text:
        return
    assert made(text, (old, new, "all")).text == text.replace(old, new)
    if sum(text.startswith(old, at) for at in range(len(text))) == 1:
        assert made(text, (old, new)).text == text.replace(old, new)


@given(text=PIECES, old=st.text(alphabet="ab\n", min_size=1, max_size=3), new=st.text(alphabet="c\n", max_size=3))
def test_in_any_line_ends_it_is_the_same_as_in_plain_ones(text, old, new):
    plain = text.replace("\r\n", "\n")
    if "\r" in plain or old not in plain or old == new:
        return
    done = made(text, (old, new, "all"))
    assert done.text.replace("\r\n", "\n") == plain.replace(old, new)
    assert done.replaced == made(plain, (old, new, "all")).replaced
