"""Undo of what an agent wrote, through every door that a person has."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.agree import DOORS
from tests.kit.person import let_in
from tests.kit.server import serve_app
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Result

UNDO, REDO = "openspace.workbench.undo", "openspace.workbench.redo"
PERSONAL = ("python", "http", "socket", "command line")


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        yield app


async def _write(app: App, text: str, path: str = "notes.txt") -> Result:
    args: dict[str, object] = {"path": path, "content": text}
    done = await app.call("openspace.file.write", args, actor=let_in(app).actor)
    assert done.success, done
    return done


@pytest.mark.slow
@pytest.mark.timeout(60)
async def test_a_refused_undo_shows_through_every_door_what_would_be_lost() -> None:
    async with serve_app() as served:
        path = Path(served.places.workspace, "notes.txt")
        path.write_text("first\n")
        await _write(served.app, "first\nagent\n")
        path.write_text("first\nagent\nperson\n")
        answers = []
        for name in PERSONAL:
            async with DOORS[name](served) as call:
                answers.append(await call(UNDO, {}))
        assert path.read_text() == "first\nagent\nperson\n"
        assert answers == answers[:1] * len(PERSONAL)
        assert answers[0]["code"] == "conflict"
        assert answers[0]["error"] == "notes.txt has been changed since"
        lines = answers[0]["data"]["diff"].splitlines()
        assert [line for line in lines if line.startswith(("+", "-"))] == [
            "--- a/notes.txt",
            "+++ b/notes.txt",
            "+person",
        ]


async def test_undo_and_redo_of_a_write(app: App) -> None:
    path = Path(app.bench.root, "notes.txt")
    await _write(app, "agent\n")
    assert (await app.call(UNDO)).success
    assert not path.exists()
    assert (await app.call(REDO)).success
    assert path.read_text() == "agent\n"
    assert (await app.call(UNDO)).success
    path.write_text("person\n")
    refused = await app.call(REDO)
    assert (refused.code, refused.error) == ("conflict", "notes.txt has been changed since")
    assert "+person" in str(refused.data["diff"])
    assert "--- /dev/null" in str(refused.data["diff"])
    path.unlink()
    assert (await app.call(REDO)).success
    path.unlink()
    refused = await app.call(UNDO)
    assert (refused.code, refused.error) == ("conflict", "notes.txt has been deleted since")
    assert "-agent" in str(refused.data["diff"])


async def test_what_would_be_lost_is_shown_in_a_bounded_form(app: App) -> None:
    path = Path(app.bench.root, "notes.txt")
    await _write(app, "agent\n")
    path.write_text("line\n" * 30_000)
    refused = await app.call(UNDO)
    assert len(str(refused.data["diff"])) < 30_000
    path.write_bytes(bytes(range(256)) * 10)
    assert str((await app.call(UNDO)).data["diff"]) == "notes.txt is binary: 6 bytes, then 2560 bytes\n"


EDIT, WRITE, READ = "openspace.file.edit", "openspace.file.write", "openspace.file.read"


async def test_an_edit_changes_the_bytes_it_names_and_can_be_undone_and_redone(app: App) -> None:
    session = let_in(app)
    agent = session.actor
    path = Path(app.bench.root, "src/notes.txt")
    path.parent.mkdir()
    for before, edits, after in (
        (b"one\ntwo\n", [("two", "2")], b"one\n2\n"),
        (b"\xef\xbb\xbfone\r\ntwo\r\n", [("one\n", "1\n1\n")], b"\xef\xbb\xbf1\r\n1\r\ntwo\r\n"),
        ("one\ntwo".encode("utf-16"), [("two", "€")], "one\n€".encode("utf-16")),
        (b"gr\xfc\xdfe\n", [("grüße", "Grüße")], b"Gr\xfc\xdfe\n"),
        (None, [("", "new\n"), ("new", "newer")], b"newer\n"),
        (b"", [("", "new\n")], b"new\n"),
    ):
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        session.seen.clear()
        done = await app.call(EDIT, {"path": "src/notes.txt", "edits": _edits(edits)}, actor=agent)
        assert done.success, done
        assert path.read_bytes() == after
        assert done.data["created"] is (before is None)
        assert done.data["replaced"] == len(edits)
        assert (await app.call(UNDO)).success
        assert (path.read_bytes() if path.exists() else None) == before
        assert (await app.call(REDO)).success
        assert path.read_bytes() == after


async def test_edits_are_made_all_or_none_and_on_nothing_that_has_changed_since(app: App) -> None:
    agent = let_in(app).actor
    path = Path(app.bench.root, "a.txt")
    path.write_text("one\ntwo\n")
    Path(app.bench.root, "binary").write_bytes(b"\0\1\2")
    Path(app.bench.root, ".env").write_text("KEY=1\n")

    async def code(name: str, *edits: tuple[str, str], **more: object) -> str:
        return (await app.call(EDIT, {"path": name, "edits": _edits(edits), **more}, actor=agent)).code

    assert await code("a.txt", ("one", "1"), ("three", "3")) == "no-match"
    assert await code("a.txt", ("o", "0")) == "many-matches"
    assert await code("a.txt") == "bad-argument"
    assert await code("a.txt", *[("one", "1")] * 101) == "bad-argument"
    assert await code("a.txt", ("one", "1"), expectedVersion="other") == "conflict"
    assert await code("a.txt", ("one", "1"), expectedVersion="absent") == "conflict"
    assert await code("none.txt", ("one", "1")) == "not-found"
    assert await code("none.txt", ("", "1"), expectedVersion="other") == "not-found"
    assert await code("binary", ("\1", "1")) == "bad-argument"
    assert await code(".env", ("KEY", "1")) == "denied-path"
    assert await code(".git/config", ("", "1")) == "denied-path"
    assert await code("../out", ("", "1")) == "outside-workspace"
    assert path.read_text() == "one\ntwo\n"
    read = await app.call(READ, {"path": "a.txt"}, actor=agent)
    path.write_text("one\ntwo\nthree\n")
    assert await code("a.txt", ("one", "1")) == "conflict"
    assert await code("a.txt", ("one", "1"), expectedVersion=read.data["version"]) == "conflict"
    assert path.read_text() == "one\ntwo\nthree\n"
    await app.call(READ, {"path": "a.txt"}, actor=agent)
    assert await code("a.txt", ("one", "1")) == ""
    assert await code("a.txt", ("two", "2")) == ""  # what it wrote itself it knows
    assert path.read_text() == "1\n2\nthree\n"


async def test_an_edit_is_among_the_changes_and_leaves_unsaved_text_to_its_person(app: App) -> None:
    agent = let_in(app).actor
    path = Path(app.bench.root, "a.txt")
    path.write_text("one\ntwo\n")
    assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
    (editor,) = app.bench.state.editors()
    draft_args: dict[str, object] = {"path": "a.txt", "text": "mine", "baseVersion": editor.version}
    assert (await app.call("openspace.editor.set_draft", draft_args)).success
    for edits in ([("one", "1")], [("two", "2")]):
        assert (await app.call(EDIT, {"path": "a.txt", "edits": _edits(edits)}, actor=agent)).success
    change = await _change(app)
    assert (change["before"], change["after"]) == ("one\ntwo\n", "1\n2\n")
    assert (await app.call("openspace.editor.save", {"path": "a.txt"})).code == "conflict"
    draft = app.bench.state.draft("a.txt")
    assert draft is not None
    assert draft.text == "mine"
    assert (await app.call("openspace.change.revert", {"path": "a.txt"})).success
    assert path.read_text() == "one\ntwo\n"


async def test_a_large_file_is_written_and_read_in_pieces(app: App) -> None:
    agent = let_in(app).actor
    path = Path(app.bench.root, "big.txt")
    piece = "".join(f"{n} äöü {'x' * 60}\n" for n in range(10_000))
    count = 16  # more than is read at once
    version = "absent"
    for _ in range(count):
        args: dict[str, object] = {"path": "big.txt", "content": piece, "append": True, "expectedVersion": version}
        done = await app.call(WRITE, args, actor=agent)
        assert done.success, done
        version = str(done.data["version"])
    assert path.read_text() == piece * count
    stale = await app.call(WRITE, {**args, "expectedVersion": "absent"}, actor=agent)
    assert stale.code == "conflict"
    whole = await app.call(READ, {"path": "big.txt"}, actor=agent)
    assert whole.code == "too-large"
    assert "offset and limit" in whole.hint
    lines = await app.call(READ, {"path": "big.txt", "startLine": 150_000, "endLine": 150_001}, actor=agent)
    assert lines.data["content"] == "\n".join((piece * count).split("\n")[149_999:150_001])
    assert (lines.data["lines"], lines.data["version"]) == (count * 10_000, version)
    first = await app.call(READ, {"path": "big.txt", "offset": 0, "limit": 1001}, actor=agent)
    second = await app.call(READ, {"path": "big.txt", "offset": first.data["next"], "limit": 1000}, actor=agent)
    assert (str(first.data["content"]) + str(second.data["content"])) in piece
    both = await app.call(READ, {"path": "big.txt", "offset": 0, "startLine": 1}, actor=agent)
    assert both.code == "bad-argument"
    change = await _change(app)
    assert (change["path"], change["shown"]) == ("big.txt", False)
    assert (await app.call(UNDO)).success
    assert path.read_text() == piece * (count - 1)
    assert (await app.call(REDO)).success
    assert path.read_text() == piece * count
    for _ in range(count):
        assert (await app.call(UNDO)).success
    assert not path.exists()


async def test_what_is_added_stays_in_the_file_s_encoding_and_is_not_taken_from_under_somebody(app: App) -> None:
    agent = let_in(app).actor
    path = Path(app.bench.root, "a.txt")
    path.write_bytes("one\n".encode("utf-16"))
    added = {"path": "a.txt", "content": "zwölf\n", "append": True}
    assert (await app.call(WRITE, added, actor=agent)).success
    assert path.read_bytes().decode("utf-16") == "one\nzwölf\n"
    change = await _change(app)
    assert (change["before"], change["after"]) == ("one\n", "one\nzwölf\n")
    assert (await app.call("openspace.change.keep", {"path": "a.txt"})).success
    assert (await app.call(WRITE, added, actor=agent)).success
    change = await _change(app)
    assert (change["added"], change["removed"]) == (1, 0)
    path.write_text("mine\n")
    assert (await app.call(UNDO)).code == "conflict"
    assert (await app.call(WRITE, added, actor=agent)).code == "conflict"
    assert path.read_text() == "mine\n"
    Path(app.bench.root, "binary").write_bytes(b"\0\1")
    assert (await app.call(WRITE, {**added, "path": "binary"}, actor=agent)).code == "bad-argument"


async def _change(app: App) -> dict[str, Any]:
    """The one file that agents have changed."""
    listed: Any = (await app.call("openspace.change.list")).data["changes"]
    (change,) = listed
    return dict(change)


def _edits(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"old": old, "new": new} for old, new in pairs]
