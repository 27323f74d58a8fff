import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fourhands.agents.briefing.shorten import clean, one_line, shorten

NOTE = re.compile(r"\n?\[… (\d+) of (\d+) characters left out, in lines (\d+) to (\d+) of (\d+)(?:; how)? …\]\n")
texts = st.text(alphabet=st.sampled_from("ab\n é😀\ud83d\ude00"), max_size=600)


@settings(max_examples=200, deadline=None)
@given(texts, st.integers(0, 500), st.integers(1, 1000), st.sampled_from(["", "how"]))
@example("a" * 600, 200, 1, "")
@example("a\n" + "b" * 598, 300, 99, "how")
def test_a_shortened_text_keeps_its_limit_and_says_exactly_what_is_missing(text, limit, first_line, how):
    short = shorten(text, limit, first_line=first_line, how=how)
    whole = clean(text)
    assert len(short) <= limit
    short.encode()  # no half of a character
    if len(whole) <= limit:
        assert short == whole
        return
    found = NOTE.search(short)
    if found is None:
        assert short in (f"[{len(whole)} characters left out]", "…", "")
        return
    left, total, first, last, of = map(int, found.groups())
    tail = short[found.end() :]
    head = short[: found.start()]
    if found[0].startswith("\n") and len(head) + 1 + left + len(tail) == total:
        head += "\n"  # the line end before the note is the text's own
    assert total == len(whole)
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head) + left + len(tail) == total
    gap = whole[len(head) : len(whole) - len(tail)]
    assert first == first_line + head.count("\n")
    assert last == first + gap.count("\n") - gap.endswith("\n")
    assert of == first_line + whole.count("\n") - whole.endswith("\n")


def test_cuts_are_made_between_lines_where_there_are_some():
    text = "".join(f"line {number}\n" for number in range(1, 1001))
    short = shorten(text, 400)
    before, _, after = short.partition("[…")
    assert before.endswith("\n")
    assert all(line in text for line in before.splitlines())
    assert after.endswith("line 1000\n")
    assert len(after.split("\n", 1)[1]) > len(before), "the end has more room than the beginning"


def test_halves_of_surrogate_pairs_are_joined_or_replaced():
    assert clean("\ud83d\ude00") == "😀"
    assert clean("a\ud83db") == "a\ufffdb"
    assert clean("plain") == "plain"


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200), st.integers(1, 60))
def test_one_line_is_one_line_within_its_limit(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert "`" not in line


def test_one_line_takes_away_what_could_pass_for_structure():
    assert one_line("a\n## Examples\n```x\u202e\x1b[31m", 80) == "a ## Examples '''x [31m"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
