"""Pieces of large files: the same lines and characters as the whole has, whatever is cut where."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.system import System

from fourhands.core.errors import BadArgument, Conflict
from fourhands.safety.paths.errors import FileTooLarge
from fourhands.workbench.files.excerpt import read_lines
from fourhands.workbench.files.replacement import ABSENT, version_of
from fourhands.workbench.files.workspace import FileSettings, Workspace

TEXT = "one\nzwei äöü\n\nfour 😀 and more\nfive"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("pieces")


def lines_of(text, first, last):
    return "\n".join(text.split("\n")[first - 1 : last])


@given(
    text=st.text(alphabet="aä😀\n", max_size=60),
    chunk=st.integers(1, 9),
    first=st.integers(1, 12),
    count=st.none() | st.integers(0, 12),
)
def test_lines_are_those_of_the_whole_file(root, text, chunk, first, count):
    data = text.encode()
    (root / "lines").write_bytes(data)
    last = None if count is None else first + count
    with open(root / "lines", "rb") as file:
        piece = read_lines(file.fileno(), "lines", "lines", first, last, 1000, chunk_bytes=chunk)
    assert piece == Workspace(root).read_lines("lines", first, last)
    assert piece.text == lines_of(text, first, last)
    assert (piece.version, piece.size) == (version_of(data), len(data))
    assert piece.lines == len(text.split("\n")) - text.endswith("\n") - (not text)
    assert data[piece.offset : piece.end].decode() == piece.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-32-be", "latin-1"])
@pytest.mark.parametrize("limit", [1, 5, 7, 1000])
def test_pieces_in_bytes_make_up_the_whole_text(root, encoding, limit):
    files = Workspace(root)
    text = TEXT if encoding != "latin-1" else "Grüße äöü\xff"
    files.write_text("bytes", text, encoding=encoding)
    data = (root / "bytes").read_bytes()
    offset, pieces = 0, list[str]()
    while True:
        piece = files.read_piece("bytes", offset, limit)
        assert piece.version == version_of(data)
        pieces.append(piece.text or "")
        if piece.end == piece.size:
            break
        assert piece.end > offset
        offset = piece.end
    assert "".join(pieces) == text


def test_a_piece_begins_with_a_whole_character(root):
    (root / "a").write_bytes("a😀b".encode())
    piece = Workspace(root).read_piece("a", 2, 10)
    assert (piece.text, piece.offset, piece.end) == ("b", 5, 6)


def test_what_cannot_be_read_says_what_can(root):
    files = Workspace(root, settings=FileSettings(read_limit_bytes=20))
    (root / "long").write_text("x" * 30 + "\nshort\n")
    assert files.read_lines("long", 2, 2).text == "short"
    with pytest.raises(FileTooLarge, match="lines 1 to the end") as caught:
        files.read_lines("long", 1, None)
    assert "fewer lines" in caught.value.hint
    with pytest.raises(FileTooLarge, match="at most 20"):
        files.read_piece("long", 0, 21)
    with pytest.raises(BadArgument, match="past the end") as bad:
        files.read_piece("long", 99, 1)
    assert "37 bytes" in bad.value.hint
    (root / "binary").write_bytes(b"\0" * 30)
    with pytest.raises(BadArgument, match="binary"):
        files.read_lines("binary", 1, 2)
    assert files.read_piece("binary", 3, 4).text is None
    (root / "wide").write_bytes("😀".encode())
    assert files.read_piece("wide", 0, 1).text == "😀"  # never nothing: it would be asked for again and again


def test_a_file_beyond_all_limits_is_refused_at_once(root):
    limits = FileSettings(pieces_limit_bytes=10)
    (root / "huge").write_text("x" * 11)
    for read in (lambda files: files.read_lines("huge", 1, 1), lambda files: files.read_piece("huge", 0, 1)):
        with pytest.raises(FileTooLarge, match="11 bytes"):
            read(Workspace(root, settings=limits))


def test_a_splice_keeps_the_beginning_and_is_one_step(root):
    files = Workspace(root, settings=FileSettings(write_limit_bytes=20))
    made = files.splice("s", b"one")
    assert (made.created, made.kept) == (True, 0)
    os.chmod(root / "s", 0o640)
    more = files.splice("s", b"two", expected_version=made.version)
    assert ((root / "s").read_bytes(), more.kept, more.version) == (b"onetwo", 3, version_of(b"onetwo"))
    assert (root / "s").stat().st_mode & 0o777 == 0o640
    back = files.splice("s", b"", keep=more.kept, expected_version=more.version)
    assert ((root / "s").read_bytes(), back.version) == (b"one", made.version)
    for expected in (more.version, ABSENT):
        with pytest.raises(Conflict, match="expected"):
            files.splice("s", b"x", expected_version=expected)
    with pytest.raises(FileTooLarge, match="23 bytes"):
        files.splice("s", b"x" * 20)
    assert [name for name in os.listdir(root) if name.startswith(".fourhands")] == []
    assert (root / "s").read_bytes() == b"one"


def test_what_changes_while_it_is_copied_is_not_overwritten(root):
    (root / "race").write_bytes(b"one")

    def meanwhile(fd):
        os.fsync(fd)
        (root / "race").write_bytes(b"somebody else's")

    with pytest.raises(Conflict, match="has changed"):
        Workspace(root, system=System(fsync=meanwhile)).splice("race", b"two")
    assert (root / "race").read_bytes() == b"somebody else's"
