# ruff: noqa: E501 - tables of what is printed
"""What a newcomer is shown is the screen: cut anywhere, restored, and continued in the page's own terminal."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scripts import widths
from tests.kit.npm_agents import missing
from tests.kit.recordings import Recording, recordings

from fourhands.workbench.terminals.emulator import Ghostty
from fourhands.workbench.terminals.screen import MOST_HELD, LiveScreen, settled

ROOT = Path(__file__).parents[3]
SCREENS = sorted((ROOT / "tests" / "golden" / "screen").glob("*.vt"))

# Each is one thing that a terminal can be asked for, with something before and behind it that would show a mistake.
WRITTEN = {
    "insert mode": b"one two three\r\x1b[4hzero \x1b[4lX\x1b[4h\xe6\xbc\xa2\xe5\xad\x97\x1b[4l end",
    "insert at the margin": b"x" * 78 + b"\r\x1b[4habcd\x1b[4l",
    "insert and delete lines": b"1\r\n2\r\n3\r\n4\x1b[2;1H\x1b[2Lnew\x1b[M\x1b[Bx",
    "insert and delete characters": b"abcdefgh\x1b[1;3H\x1b[2@12\x1b[3P.\x1b[1;1H\x1b[44m\x1b[2@",
    "graphics set": b"\x1b(0lqqk\r\nx  x\r\nmqqj\x1b(Bplain\x1b)0\x0eqq\x0fqq",
    "second set and back": b"\x1b)0a\x0eb\x0fc\x1b*0\x1b+Ad\x1b(A#\x1b(B#",
    "origin mode": b"\x1b[5;15r\x1b[?6h\x1b[2;3Hin\x1b[99;99Hcorner\x1b[?6l\x1b[2;3Hout",
    "scrolling region": b"\x1b[3;6r" + b"\r\n".join(b"row %d" % n for n in range(12)) + b"\x1b[r\x1b[20;1Hlow",
    "reverse index": b"top\x1b[1;1H\x1bMabove\x1b[2;5r\x1b[2;1H\x1bM\x1bMx\x1bD\x1bE",
    "waiting to wrap": b"a" * 80 + b"\x1b[31m\x1b[1m" + b"b" * 80 + b"\x1b[0mc",
    "waiting to wrap at the bottom": b"\n" * 30 + b"z" * 80 + b"\x1b[m\x1b[7m" + b"y" * 5,
    "no wrapping": b"\x1b[?7l" + b"0123456789" * 9 + b"\x1b[?7h\r\nnext",
    "wide at the margin": b"a" * 79 + "漢字".encode() + b"\r\n" + "漢".encode() * 41,
    "wide overwritten": "漢字漢字\r\x1b[Cx\x1b[1;4Hy\x1b[1;7H\x1b[K".encode(),
    "wide erased in half": "漢字漢字\x1b[1;2H\x1b[X\x1b[1;5H\x1b[1K".encode(),
    "combining on a blank": " \u0301x a\u0308\u0323b  \u0327\u0327 end".encode(),
    "combining behind a sequence": "e\x1b[1m\u0301f\x1b[m\u0301\x1b]0;t\x07\u0323g".encode(),
    "combining at the margin": b"m" * 79 + "e\u0301\u0323e\u0301".encode(),
    "emoji": "👍🏽 👩‍👩‍👧 🇩🇪 ❤️ 🫠🥲 ☺︎ x".encode(),
    "repeated": b"ab\x1b[5bc\x1b[31m-\x1b[20b\r\n" + "漢\x1b[3bx".encode(),
    "repeated behind a sequence": "aaa漢漢👍\x1b[H\x1b[1K\x1b[3bx\x1b[2b\x1b[2by\r\x1b[4bz".encode(),
    "saved cursor": b"one\x1b[1;32m\x1b7two\x1b[10;10H\x1b[0mthree\x1b8four\x1b[s\x1b[5;5Hfive\x1b[usix",
    "saved with a set": b"\x1b(0\x1b7\x1b(Bqq\x1b8qq\x1b(B\x1b[20;1H\x1b8qq",
    "saved behind the margin": b"s" * 80 + b"\x1b7\x1b[5;5Hx\x1b8y",
    "other screen": b"first\x1b[31m\x1b[?1049h\x1b[2J\x1b[Hsecond\x1b[?25l\x1b[7mrev\x1b[0m\x1b[?1049lthird",
    "other screen by 47": b"first\r\nx\x1b[?47hsecond\x1b[5;5Hthere\x1b[?47lback",
    "other screen by 1047": b"\x1b[3;3H\x1b7\x1b[8;8Hfirst\x1b[?1047hsecond\x1b[?1047lback\x1b8saved",
    "other screen twice": b"\x1b[44ma\x1b[?1049hb\x1b7\x1b[?1049l\x1b[0mc\x1b[?1049hd\x1b[3;3H\x1b8e\x1b[?1049lf",
    "tab stops": b"\t1\t2\r\n\x1b[3g\x1b[5G\x1bH\x1b[11G\x1bH\r\ta\tb\x1b[2Zd\x1b[5G\x1b[0g\r\te",
    "erased in colour": b"x" * 60
    + b"\x1b[45m\x1b[1;20H\x1b[K\x1b[3;3H\x1b[10X\x1b[5;1H\x1b[2K\x1b[10;1H\x1b[J\x1b[0mz",
    "erased above": b"a\r\nb\r\nc\r\nd\x1b[3;1H\x1b[48;2;9;9;9m\x1b[1Jx\x1b[2Jy",
    "every style": b"".join(b"\x1b[%dm%d \x1b[0m" % (n, n) for n in (1, 2, 3, 4, 5, 7, 8, 9, 21, 53)),
    "underlines": b"".join(b"\x1b[4:%dm%d\x1b[58:2::%d:0:9ml\x1b[58;5;%dmp\x1b[0m" % (n, n, n, n) for n in range(6)),
    "colours": b"".join(b"\x1b[38;5;%d;48;2;%d;%d;%dmx" % (n, n, 255 - n, n) for n in range(0, 256, 7)),
    "bright colours": b"".join(b"\x1b[%d;%dmx" % (90 + n, 107 - n) for n in range(8)) + b"\x1b[39;49mx",
    "links": b"\x1b]8;;http://a.example/\x1b\\one\x1b]8;;\x1b\\ two \x1b]8;id=x;http://b.example/?q=1\x07three \x1b[1mbold",
    "palette": b"\x1b]4;1;rgb:10/20/30\x07\x1b[31mred\x1b]11;#001122\x1b\\\x1b]10;#aabbcc\x07x\x1b]104;1\x07y",
    "protected": b'\x1b[1"qkept\x1b[0"q gone\x1b[?2K\x1b[1"qmore',
    "title": "\x1b]0;a title\x07text\x1b]2;another — title\x1b\\more".encode(),
    "cursor shapes": b"a\x1b[5 qb\x1b[4 qc\x1b[2 qd\x1b[0 qe\x1b[3 q",
    "modes": b"\x1b[?1h\x1b=\x1b[?2004h\x1b[?1000h\x1b[?1006hx\x1b[?1000l\x1b[?1002h\x1b[?1004h\x1b[?25ly\x1b[?1l\x1b>\x1b[20h\nz",
    "reset": b"\x1b[31m\x1b[4h\x1b[3;5r\x1b[?6hx\x1b[!py\x1b[7mz\x1bcafter",
    "strings": b"a\x1bP1$rignored\x1b\\b\x1b_app\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e\x1b]52;c;aGk=\x07f\x1b]1337;x=y\x1b\\g",
    "broken sequences": b"a\x1b[3\x18b\x1b]0;x\x1ac\x1b[1;\x1b[31md\x1b(\x1b[me\x1b]2;t\x1b[1mf\x1b[3\n1mg",
    "broken characters": b"a\xffb\xc3(c\xe2\x82d\xf0\x9f\x91e\x80f\xe6\xbc\xa2g",
    "control characters": b"a\x00b\x07c\x0bd\x0ce\x08f\x7fg\x05h\x0e\x0fi",
    "moved about": b"".join(b"\x1b[%d;%dH%c" % (n % 24 + 1, n * 7 % 80 + 1, 65 + n % 26) for n in range(60)),
    "relative moves": b"a\x1b[5Cb\x1b[3Bc\x1b[2Ad\x1b[4De\x1b[6Ef\x1b[2Fg\x1b[10`h\x1b[5di\x1b[2aj\x1b[ek",
    "set and other characters": "\x1b(0q漢q\x1b[3b👍\x1b[2bé\x1b(Bq\x1b)0\x0e漢q\x0f".encode(),
    "second set and other characters": "\x1b(B\x1b)0漢q\x1b[K字\x0e漢q\x1b[K字\x0f漢q\x1b7\x0eq\x1b8漢".encode(),
    "set of a saved cursor": b"\x1b(0\x1b7\x1b(B\x0e\x1b8qq\x1b(Bqq",
    "shift of a saved cursor": b"\x1b7\x0eqq\x1b8qq\x1b[?1049hqq\x1b[?1049lqq\x1b)0qq",
    "origin mode of a saved cursor": b"\x1b[2;9r\x1b[?6h\x1b[3;3Hin\x1b7\x1b[?6l\x1b8out\x1b7\x1b[?6h\x1b8in\x1b[H0",
    "region of each screen": b"\x1b[2;4r\x1b[4;1H1\n2\n3\x1b[?1049h\x1b[9;1Ha\nb\x1b[3;5r\x1b[5;1Hc\nd\x1b[?1049l4\n5\n6",
    "other screen again": b"\x1b[?1049hfirst\x1b[31m\x1b[?1049hstill\x1b[?1049lback",
    "other screen from the margin": b"x" * 80 + b"\x1b[?1049h" + b"y" * 78 + b"\x1b[?1049lz",
    "other screen in colour": b"\x1b[44m\x1b[?1049h\x1b[0m\x1b[1J\x1b[2;2Hx",
    "erased behind the margin": b"below\r\n" * 3
    + b"\x1b[H"
    + b"x" * 80
    + b"\x1b[44m\x1b[Jy\x1b[H"
    + b"x" * 80
    + b"\x1b[Zz",
    "up from behind the margin": b"\r\n" + b"x" * 80 + b"\x1bMy\x1b[H" + b"x" * 80 + b"\x1bMz",
    "lines behind the margin": b"\x1b[2;4r" + b"x" * 80 + b"\x1b[My\x1b[H" + b"x" * 80 + b"\x1b[2Lz",
    "repeated behind a shift": b"x" * 80 + b"\x0f\x1b[3b" + b"y" * 80,
    "repeated behind the cut": b"a" * 8 + b"b\x1b[5b" + b"c" * 8,
    "line erased behind the margin": b"x" * 80 + b"\x1b[K\x1b[44m\x1b[K" + b"y" * 80,
    "repeated in insert mode": b"abc\r\x1b[4hxyz\x1b[3b\x1b[80Gq\x1b[2b",
    "many lines": b"".join(b"\x1b[3%dmline %d\x1b[0m\r\n" % (n % 8, n) for n in range(200)),
    "cleared scrollback": b"\r\n" * 40 + b"old\x1b[H\x1b[2J\x1b[3Jnew\r\n" + b"x\r\n" * 30,
}

# Where the page's terminal and the emulator read the same output differently; restoring cannot make them agree.
READ_DIFFERENTLY = {
    "apt": (r"normal saved: ", "xterm.js moves a saved cursor up when lines scroll away, others leave it on its row"),
    "curses_scroll": (
        r"alt lines \d+: \"\" became",
        "xterm.js scrolls down (CSI T) lines without the pen's background",
    ),
}


MIXED = (20, 6)  # columns and rows
PARTS = [
    *(
        b"a b \r \n \r\n \t \b \xe6\xbc\xa2 e\xcc\x81 \xf0\x9f\x91\x8d \x1bM \x1bD \x1b7 \x1b8 \x1b(0 \x1b(B \x0e \x0f"
    ).split(b" "),
    *(
        b"\x1b[" + each
        for each in b"H 3;5H 2C 2D A B K 1K 2K J 1J X 3X P 2P @ L M S 4h 4l 31m 44m 1;7m 0m r 2;4r 3b Z".split(b" ")
    ),
    *(b"\x1b[?" + each for each in b"7l 7h 6h 6l 25l 25h 1049h 1049l 2004h".split(b" ")),
    b"word ",
    b"longer words",
    b"0123456789" * 2,
]


# What the two read differently by themselves, or what no program does, as patterns that a mixture must not have.
INCOMPARABLE = {
    rb"\x1b\[\?7l.*[\x80-\xff]": "without wrapping, xterm.js drops a wide character in the last column and joins a combining "
    "one to the character there; others print the one and join the other to the character before",
    rb"(?=.*\x1b\[\?6h).*\x1b\[2;4r.*\x1b\[(?:2C|2D|A|B)": "in origin mode xterm.js adds the region's first row to a relative "
    "move once more",
    rb"\x1b\(0.*\x1b(?:8|\[\?1049l).*[\x0e\x0f]": "xterm.js uses the set of a cursor taken back only until the next shift, "
    "others have one set for a level",
    rb"\xcc\x81\x1b\[3b": "xterm.js repeats a character with those that have joined it, others the last one alone",
    rb"\xe6\xbc\xa2.*\x1b\[@|\xf0\x9f\x91\x8d.*\x1b\[@": "xterm.js leaves half of a wide character into which blanks are inserted",
    rb"\x1b\[\?1049h.*(?:\x1b7|\x1b\[\?1049h).*\x1b\[\?1049l.*\x1b\[\?1049h": "a cursor saved on the alternate screen outlives "
    "it; what is restored on the other screen leaves it out, for no program takes back what another has saved",
}
# Behind the last column xterm.js leaves the cursor there, and the column blank; others cannot be brought into that state.
BLANKS_LAST_COLUMN = (b"\x1b[1K", b"\x1b[2K", b"\x1b[1J", b"\x1b[S")
SAVES = (b"\x1b7", b"\x1b[?1049h")


def comparable(parts: list[bytes]) -> bool:
    """Return False if the two terminals read the parts differently, so that restoring cannot make them agree."""
    cols, rows = MIXED
    emulator, saved, coloured = Ghostty(cols, rows), False, False
    for part in parts:
        coloured = coloured or part == b"\x1b[44m"
        if emulator.behind_last_column and (part in BLANKS_LAST_COLUMN or (coloured and part == b"\x1b[?1049h")):
            return False
        # xterm.js moves a saved cursor up when lines scroll away, others leave it on its row.
        if saved and emulator.state()[0][1] == rows - 1 and not part.startswith(b"\x1b["):
            return False
        saved = saved or part in SAVES
        emulator.feed(part)
    whole = b"".join(parts)
    return not any(re.search(pattern, whole, re.DOTALL) for pattern in INCOMPARABLE)


def all_recordings() -> list[Recording]:
    sizes = {"less_long": (40, 12)}
    found = [Recording(f"{path.stem}, by hand", path.read_bytes(), *sizes.get(path.stem, (80, 24))) for path in SCREENS]
    return [*recordings(), *found, *(Recording(name, data) for name, data in WRITTEN.items())]


class Page:
    """Asks it one question at a time."""

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions = questions
        self._answers = answers

    def differences(self, recording: Recording, places: list[int], most_held: int = MOST_HELD) -> list[str]:
        """What is different when somebody comes at each of the places."""
        cuts, live, at = [], LiveScreen(recording.cols, recording.rows, most_held=most_held), 0
        for place in places:
            live.feed(recording.data[at:place])
            at = place
            cuts.append({"screen": live.restore().decode(), "rest": place - live.held})
        question = {"cols": recording.cols, "rows": recording.rows, "cuts": cuts}
        self._questions.write(json.dumps({**question, "whole": base64.b64encode(recording.data).decode()}) + "\n")
        self._questions.flush()
        found = json.loads(self._answers.readline())
        return [f"cut at {each['cut']}, {each['when']}, {what}" for each in found for what in each["what"]]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """The page's terminal, in Node."""
    if shutil.which("node") is None or not (ROOT / "web" / "node_modules" / "@xterm" / "headless").is_dir():
        missing("the page's packages are not there: make web")
    command = ["node", str(ROOT / "tests" / "kit" / "xterm.mjs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Page(process.stdin, process.stdout)
        process.stdin.close()


def evenly(length: int, count: int) -> list[int]:
    return sorted({(n + 1) * length // count for n in range(count)})


def check(page: Page, recording: Recording, cuts: list[int]) -> None:
    found = page.differences(recording, cuts)
    pattern, _reason = READ_DIFFERENTLY.get(recording.name, (None, ""))
    assert [what for what in found if pattern is None or not re.search(pattern, what)] == []


# ---- the page's terminal --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recording", all_recordings(), ids=lambda recording: recording.name)
def test_cut_anywhere_and_restored_it_goes_on_as_if_it_had_not_been(page: Page, recording: Recording) -> None:
    check(page, recording, evenly(len(recording.data), 12))


@pytest.mark.soak
@pytest.mark.parametrize("recording", all_recordings(), ids=lambda recording: recording.name)
def test_cut_at_64_places_and_restored_it_goes_on_as_if_it_had_not_been(page: Page, recording: Recording) -> None:
    check(page, recording, evenly(len(recording.data), 64))


@pytest.mark.parametrize("name", WRITTEN)
def test_cut_at_neighbouring_bytes_it_goes_on_too(page: Page, name: str) -> None:
    data = WRITTEN[name]
    begin = max(0, len(data) // 2 - 8)
    check(page, Recording(name, data), list(range(begin, min(len(data), begin + 16))))


def test_there_are_recordings_enough() -> None:
    assert len(all_recordings()) >= 100
    assert len(READ_DIFFERENTLY) <= 2


def check_mixture(page: Page, data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=30))
    assume(comparable(parts))
    whole = b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    assert page.differences(Recording("mixture", whole, *MIXED), [cut]) == []


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_mixture_goes_on_as_if_uncut(page: Page, data: st.DataObject) -> None:
    check_mixture(page, data)


@pytest.mark.soak
@settings(max_examples=2000, deadline=None)
@given(st.data())
def test_any_of_many_mixtures_goes_on_as_if_uncut(page: Page, data: st.DataObject) -> None:
    check_mixture(page, data)


def test_the_page_counts_columns_as_the_emulator_does() -> None:
    assert widths.OUT.read_text() == widths.text(), "stale: python -m scripts.widths"


# ---- where it is cut ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "held"),
    [
        (b"hello \x1b[3", 3),
        (b"hello \x1b", 1),
        (b"hello \x1b(", 2),
        (b"hello \x1b]0;title", 9),
        (b"hello \x1b]0;title\x1b", 10),
        (b"hello \x1bP1$r\x1b", 6),
        (b"hello \xe6\xbc", 2),
        (b"hello \xf0\x9f\x91", 3),
        (b"hello \x1b]0;t\xc3", 6),
        (b"hello \x1b]8;;http://a\x1b\\", 0),
        (b"hello \x1b[31m", 0),
        (b"hello \x1b[3\n1m", 0),
        (b"hello \x1b[3\x18", 0),
        (b"hello \xff\xfe", 0),
    ],
)
def test_what_is_not_complete_is_held_back(output: bytes, held: int) -> None:
    screen = LiveScreen(20, 3)
    screen.feed(output)
    assert screen.held == held
    assert screen.snapshot().rows[0] == ("hello")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([b"\x1b", b"[", b"]", b"P", b"\x1b\\"]),
            st.text("az09;?(\\\a\0\x18").map(str.encode),
        )
    )
)
def test_what_is_not_held_back_leaves_the_emulator_between_two_sequences(parts: list[bytes]) -> None:
    emulator, rest = Ghostty(10, 3), b""
    for part in parts:
        rest += part
        end = settled(rest)
        emulator.feed(rest[:end])
        rest = rest[end:]
        assert emulator.between_sequences


def test_a_sequence_longer_than_can_be_held_is_passed_over(page: Page) -> None:
    for begin, end in (
        (b"\x1b]52;c;", b"\x07"),
        (b"\x1bPq", b"\x1b\\"),
        (b"\x1b_G", b"\x1b\\"),
        (b"\x1b]0;", b"\x1b\\"),
    ):
        bell = b"" if begin.startswith(b"\x1b]") else b"\x07"  # which ends no other string
        whole = b"before" + begin + b"A" * 260 + bell + b"A" * 40 + end + b"after"
        found = page.differences(Recording("long", whole), [150, 200, 290], most_held=100)
        assert [what for what in found if "title" not in what] == []
        screen = LiveScreen(80, 24, most_held=100)
        screen.feed(whole[:200])
        assert screen.held == 0


def test_a_line_that_goes_on_in_the_next_is_unfolded_with_the_window() -> None:
    text = "".join(f"{n:03} " for n in range(30)).encode()
    for data in (
        text,
        text + b"\r\nshort\r\n" + text,
        "漢字".encode() * 21 + b"x",
        text + b"\x1b[1;20H\x1b[K",
        b"x" * 19 + "漢".encode(),
    ):
        screen, fresh = LiveScreen(20, 24), LiveScreen(20, 24)
        screen.feed(data)
        fresh.feed(screen.restore())
        for each in (screen, fresh):
            each.resize(60, 24)
        assert fresh.snapshot().rows == screen.snapshot().rows
