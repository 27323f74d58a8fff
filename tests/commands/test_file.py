"""Undo of what an agent wrote, through every door that a person has."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.agree import DOORS
from tests.support.bench import open_app
from tests.support.person import let_in
from tests.support.served import serve_app

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
