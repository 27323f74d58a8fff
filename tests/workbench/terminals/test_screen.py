import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourhands.core.errors import BadArgument, Unavailable
from fourhands.workbench.terminals.screen import LiveScreen, Screen, rows_without

GOLDEN = Path(__file__).parents[2] / "golden" / "screen"
RECORDINGS = sorted(GOLDEN.glob("*.vt"))
SIZES = {"less_long": (40, 12)}


def played(recording: Path) -> LiveScreen:
    screen = LiveScreen(*SIZES.get(recording.stem, (80, 24)))
    screen.feed(recording.read_bytes())
    return screen


def shown(data: bytes, cols: int = 80, rows: int = 24) -> Screen:
    screen = LiveScreen(cols, rows)
    screen.feed(data)
    return screen.snapshot()


# ---- what is shown ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_recordings_look_as_they_should(recording: Path) -> None:
    screen = played(recording).snapshot()
    cursor = f"{screen.cursor[0]},{screen.cursor[1]}{' alternate' if screen.alternate else ''}"
    seen = "\n".join([cursor, *screen.rows]) + "\n"
    assert seen == recording.with_suffix(".txt").read_text()


def test_wide_characters_take_two_columns() -> None:
    assert shown("漢字x\r\n".encode() + b"y").rows[:2] == ["漢字x", "y"]
    assert shown("漢字x".encode()).cursor == (5, 0)
    # One that does not fit goes to the next row.
    assert shown("ab漢".encode(), 3, 2).rows == ["ab", "漢"]


def test_alternate_screen_is_flagged_and_left() -> None:
    screen = LiveScreen(20, 3)
    screen.feed(b"before\x1b[?1049h\x1b[Hfull")
    assert screen.snapshot().alternate
    assert screen.snapshot().rows[0] == "full"
    screen.feed(b"\x1b[?1049l")
    assert (screen.snapshot().alternate, screen.snapshot().rows[0]) == (False, "before")


def test_resize_reflows_and_counts_as_change_of_every_row() -> None:
    screen = LiveScreen(20, 4)
    screen.feed(b"0123456789abcdef")
    before = screen.snapshot()
    screen.resize(10, 4)
    after = screen.snapshot()
    assert (after.size, after.rows[:2]) == ((10, 4), ["0123456789", "abcdef"])
    assert len(after.changed_since(before.revision)) == 4
    screen.resize(20, 4)
    assert screen.snapshot().rows[0] == "0123456789abcdef"


def test_a_screen_that_grows_shows_what_has_left_it_whatever_was_printed_before() -> None:
    for count in range(350, 650, 10):  # the emulator drops its scrollback by a few hundred lines at a time
        screen = LiveScreen(120, 10)
        screen.feed(b"".join(b"line %d\r\n" % n for n in range(count)) + b"$")
        screen.resize(120, 90)
        assert screen.snapshot().rows == [*(f"line {n}" for n in range(count - 89, count)), "$"]


def test_title_is_kept() -> None:
    screen = LiveScreen(20, 3)
    assert screen.title == ""
    screen.feed("\x1b]0;über\x07".encode())
    assert screen.title == "über"


# ---- what agents may not see --------------------------------------------------------------------------------------


def test_what_goes_on_in_the_next_row_is_cleaned_as_a_whole_and_the_rows_stay() -> None:
    def clean(lines: list[str]) -> list[str]:
        return [line.replace("secret", "***") for line in lines]

    assert rows_without(["a secret", "b"], 10, clean) == ["a ***", "b"]
    assert rows_without(["plain row.", "next", ""], 10, clean) == ["plain row.", "next", ""]
    assert rows_without(["it is: sec", "ret, so", "b"], 10, clean) == ["it is: ***, so", "", "b"]
    assert rows_without(["a secret |", "| table  |", "b"], 10, clean) == ["a *** |", "| table  |", "b"]


# ---- revisions ----------------------------------------------------------------------------------------------------


def test_only_changed_rows_are_told() -> None:
    screen = LiveScreen(20, 5)
    screen.feed(b"one\r\ntwo\r\nthree")
    first = screen.snapshot()
    assert first.changed_since(0) == [(0, "one"), (1, "two"), (2, "three")]
    screen.feed(b"\x1b[2;1HTWO")
    second = screen.snapshot()
    assert second.changed_since(first.revision) == [(1, "TWO")]
    assert second.changed_since(second.revision) == []
    assert [index for index, _ in second.changed_since(0)] == [0, 1, 2]
    assert second.text == "one\nTWO\nthree"


def test_snapshot_is_the_same_object_until_something_changes() -> None:
    screen = LiveScreen(20, 5)
    screen.feed(b"text")
    first = screen.snapshot()
    assert screen.snapshot() is first
    screen.feed(b"")
    screen.feed(b"\x1b[0m")
    screen.resize(20, 5)
    assert screen.snapshot() is first
    screen.feed(b"\x1b[3;3H")
    assert screen.snapshot().revision == first.revision + 1


# ---- bytes cut anywhere -------------------------------------------------------------------------------------------

CUT = (GOLDEN / "vim_edit.vt").read_bytes() + (GOLDEN / "wide.vt").read_bytes()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, len(CUT)), max_size=40))
def test_any_cutting_gives_the_same_screen(cuts: list[int]) -> None:
    screen = LiveScreen(80, 24)
    for start, end in pairwise([0, *sorted(cuts), len(CUT)]):
        screen.feed(CUT[start:end])
    whole = LiveScreen(80, 24)
    whole.feed(CUT)
    assert screen.snapshot().rows == whole.snapshot().rows
    assert screen.restore() == whole.restore()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400), st.integers(1, 200), st.integers(1, 60))
def test_garbage_neither_fails_nor_breaks_the_form(data: bytes, cols: int, rows: int) -> None:
    screen = LiveScreen(40, 10)
    screen.feed(data + b"\x1b\\\x18")
    screen.resize(cols, rows)
    screen.feed(data)
    seen = screen.snapshot()
    assert len(seen.rows) == rows
    assert seen.size == (cols, rows)
    assert screen.restore()


# ---- restoring ----------------------------------------------------------------------------------------------------

QUERY = re.compile(
    rb"\x1b\[[>=?]?[\d;]*c|\x1b\[\??[\d;]*n|\x1b\[[\d;?]*\$p|\x1b\[>[\d;]*q|\x1b\[[\d;]*t|\x1b\[\?[\d;]*u|\x1b[ZP]|\x05|\x1b\]\d+;[^\x07\x1b]*\?"
)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_restored_screen_is_the_same(recording: Path) -> None:
    screen = played(recording)
    data = screen.restore()
    assert not QUERY.search(data)
    fresh = LiveScreen(*screen.snapshot().size)
    fresh.feed(data)
    for name in ("rows", "cursor", "alternate"):
        assert getattr(fresh.snapshot(), name) == getattr(screen.snapshot(), name)
    # Colours, modes, tab stops, region: what is restored restores to the same bytes, and looking changes nothing.
    assert fresh.restore() == data
    assert screen.restore() == data
    assert fresh.title == screen.title


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_restored_screen_goes_on_like_the_original(recording: Path) -> None:
    screen = played(recording)
    fresh = LiveScreen(*screen.snapshot().size)
    fresh.feed(screen.restore())
    for more in (b"next", b"\ttab", b"\r\n\r\nlow", b"\x1b[?1049l", b"after", b"\n" * 30 + b"end"):
        screen.feed(more)
        fresh.feed(more)
        assert fresh.snapshot().rows == screen.snapshot().rows
        assert fresh.snapshot().cursor == screen.snapshot().cursor


@pytest.mark.parametrize(
    "mode",
    [
        "?1h",
        "?5h",
        "?7l",
        "?25l",
        "?1000h",
        "?1002h",
        "?1003h",
        "?1004h",
        "?1006h",
        "?2004h",
        "4h",
        "20h",
        "?6h",
        "3;7r",
    ],
)
def test_modes_are_restored(mode: str) -> None:
    screen = LiveScreen(20, 10)
    screen.feed(b"text\x1b[" + mode.encode())
    data = screen.restore()
    assert f"\x1b[{mode}".encode() in data
    fresh = LiveScreen(20, 10)
    fresh.feed(data)
    assert fresh.restore() == data


def test_synchronised_output_and_reports_are_not_restored() -> None:
    screen = LiveScreen(20, 10)
    screen.feed(b"\x1b[?2026h\x1b[?2048h\x1b[?2031htext")
    assert not re.search(rb"2026|2048|2031", screen.restore())


def test_title_with_controls_is_restored_harmlessly() -> None:
    screen = LiveScreen(20, 3)
    screen.feed("\x1b]2;a\u009bcb\x07".encode())
    assert "\u009b".encode() not in screen.restore()


def test_restoring_in_the_middle_of_a_sequence_changes_nothing() -> None:
    screen, same = LiveScreen(20, 3), LiveScreen(20, 3)
    for each in (screen, same):
        each.feed(b"one\x1b[?1049htwo\x1b[3")
    assert b"two" in screen.restore()
    for each in (screen, same):
        each.feed(b"1mred")
    assert screen.restore() == same.restore()


# ---- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cols", "rows"), [(0, 24), (80, 0), (-1, 5), (1001, 5), (80, 10**9), (True, 5), ("80", 24), (8.0, 3)]
)
def test_nonsense_sizes_are_refused(cols: int, rows: int) -> None:
    with pytest.raises(BadArgument, match="no size of a terminal"):
        LiveScreen(cols, rows)
    screen = LiveScreen(10, 5)
    with pytest.raises(BadArgument, match="no size of a terminal"):
        screen.resize(cols, rows)
    assert screen.snapshot().size == (10, 5)


def test_pictures_are_not_read_from_files(tmp_path: Path) -> None:
    import base64

    path = tmp_path / "tty-graphics-protocol-secret"
    path.write_bytes(b"\0" * 300)
    screen = LiveScreen(20, 3)
    screen.feed(b"\x1b_Ga=T,f=24,s=10,v=10,t=t;" + base64.b64encode(bytes(path)) + b"\x1b\\ok")
    assert path.exists()
    assert screen.snapshot().rows[0] == "ok"


def test_missing_library_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['pyghostty'] = None\n"
        "from fourhands.workbench.terminals.screen import LiveScreen\n"
        "from fourhands.core.errors import Unavailable\n"
        "try: LiveScreen(80, 24)\n"
        "except Unavailable as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pyghostty" in done.stdout
    assert Unavailable.code == "unavailable"


# ---- real programs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "ready", "keys"),
    [
        (["htop", "-d", "100"], b"PID", b"\x1b[B"),
        (["vim", "-Nu", "NONE", "-i", "NONE", "-n", "file"], b"file", b"ihello\x1b"),
        (["less", "file"], b"row 20", b" "),
    ],
)
def test_programs_of_today_are_shown_and_restored(tmp_path: Path, argv: list[str], ready: bytes, keys: bytes) -> None:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    (tmp_path / "file").write_text("".join(f"row {number}\n" for number in range(100)))
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "LINES": "24",
        "COLUMNS": "80",
    }
    master, slave = pty.openpty()
    child = subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=tmp_path, start_new_session=True
    )
    os.close(slave)
    screen, raw, typed = LiveScreen(80, 24), b"", False
    end = time.monotonic() + 40
    try:
        while time.monotonic() < end and select.select([master], [], [], 0.5 if typed else 40)[0]:
            data = os.read(master, 65536)
            raw += data
            screen.feed(data)
            if ready in raw and not typed:
                os.write(master, keys)
                typed = True
    finally:
        child.kill()
        child.wait()
        os.close(master)
    assert screen.snapshot().alternate
    fresh = LiveScreen(80, 24)
    fresh.feed(screen.restore())
    assert fresh.snapshot().rows == screen.snapshot().rows
    assert fresh.restore() == screen.restore()
