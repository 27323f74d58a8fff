import pytest

from fourhands.workbench.files.diff import CHARACTERS, LARGEST, LINES, unified


def test_a_changed_line_is_shown_with_its_surroundings() -> None:
    assert unified("a.txt", b"one\ntwo\nthree\n", b"one\n2\nthree\n").splitlines() == [
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "+2",
        " three",
    ]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (None, b"x\n", "--- /dev/null"),
        (b"x\n", None, "+++ /dev/null"),
        (b"x", b"x\n", "-x\n\\ No newline at end of file\n+x\n"),
        (b"", b"x\n", "@@ -0,0 +1 @@\n+x\n"),
        (b"a\0b", b"a\0c!", "is binary: 3 bytes, then 4 bytes"),
        (b"text\n", b"\0", "is binary"),
        (b"x" * (LARGEST + 1), None, "too large to be compared: 200001 bytes, then no file"),
        ("äöü\n".encode("latin-1"), b"aou\n", "+aou"),
    ],
)
def test_what_is_no_ordinary_change_says_so(old: bytes | None, new: bytes | None, part: str) -> None:
    assert part in unified("a", old, new)


def test_nothing_changed_is_empty() -> None:
    assert unified("a", b"x\n", b"x\n").strip() == ""


def test_a_long_difference_is_cut_and_says_how_much_is_missing() -> None:
    old = "".join(f"line {n}\n" for n in range(1000)).encode()
    new = "".join(f"LINE {n}\n" for n in range(1000)).encode()
    lines = unified("a", old, new).splitlines()
    assert len(lines) == LINES + 1
    assert lines[-1] == "… 1803 more lines"


def test_long_lines_are_cut_too() -> None:
    text = unified("a", b"x" * 100_000, b"y" * 100_000)
    assert CHARACTERS < len(text) < CHARACTERS + 100
    assert text.splitlines()[-1] == "… 1 more lines"
