"""Consent that outlives the server."""

import asyncio
import logging
from pathlib import Path

import pytest
from tests.kit.person import PERSON
from tests.kit.workbench import open_app

from fourhands.app.wiring import App
from fourhands.core.consent import Arrival
from fourhands.core.errors import Unavailable
from fourhands.core.question import Answer
from fourhands.workbench.records.consent import FileConsentStore


async def test_it_is_there_after_a_restart_with_its_scopes_and_forgotten_on_request(tmp_path: Path):
    file = tmp_path / "consent.json"
    before = FileConsentStore(file)
    await before.remember("Ada", frozenset({"see", "run"}))
    assert file.stat().st_mode & 0o777 == 0o600
    later = FileConsentStore(file)
    assert later.remembered("Ada") == {"see", "run"}
    assert later.remembered("Bob") == frozenset()
    await later.forget("Ada")
    await later.forget("Bob")
    assert FileConsentStore(file).remembered("Ada") == frozenset()


@pytest.mark.parametrize("content", [b"[", b'["Ada"]', b'{"Ada": ["everything"]}', b'{"Ada": true}', b"\xff", b""])
def test_a_file_that_cannot_be_read_grants_nothing(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture):
    file = tmp_path / "consent.json"
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert FileConsentStore(file).remembered("Ada") == frozenset()
    assert "asked for again" in caplog.text


def full_disk(file: Path) -> Path:
    """Make every write of the file fail, until what is returned is removed."""
    hurdle = file.with_suffix(".new")
    hurdle.mkdir()
    return hurdle


async def test_what_could_not_be_stored_is_told_of_holds_until_a_restart_and_is_stored_with_the_next(tmp_path: Path):
    file = tmp_path / "consent.json"
    store = FileConsentStore(file)
    await store.remember("Ada", frozenset({"see", "run"}))
    hurdle = full_disk(file)
    with pytest.raises(Unavailable, match="cannot store remembered permissions: ") as failed:
        await store.forget("Ada")
    assert "try again" in failed.value.hint
    assert store.remembered("Ada") == frozenset()
    assert FileConsentStore(file).remembered("Ada") == {"see", "run"}
    with pytest.raises(Unavailable):
        await store.forget("Ada")  # nothing changes by it, and yet it is not stored
    hurdle.rmdir()
    await store.forget("Ada")
    assert FileConsentStore(file).remembered("Ada") == frozenset()


async def test_where_nothing_was_remembered_nothing_is_stored(tmp_path: Path):
    file = tmp_path / "consent.json"
    full_disk(file)
    await FileConsentStore(file).forget("Ada")
    assert not file.exists()


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("openspace.agent.consent", {"allow": False}),
        ("openspace.agent.consent", {"allow": True, "scopes": ["see"]}),
        ("openspace.agent.stop", {"kill": True}),
    ],
)
async def test_the_call_of_a_person_fails_when_what_it_revokes_could_not_be_stored(
    command: str, args: dict[str, object]
) -> None:
    async with open_app() as app:
        ada = app.bench.begin_session("Ada", "test")
        ada.arrival = Arrival("Ada")
        await remembered(app, ada.actor.id)
        hurdle = full_disk(Path(app.places.state) / "consent.json")
        args = {"sessionId": ada.id, **args}
        failed = await app.call(command, args, actor=PERSON)
        assert (failed.success, failed.code) == (False, "unavailable")
        assert failed.error.startswith("cannot store remembered permissions: ")
        assert "run" not in app.gate.consent.scopes(ada.id, "Ada")  # it counts all the same
        hurdle.rmdir()
        assert (await app.call(command, args, actor=PERSON)).success
        assert "run" not in FileConsentStore(Path(app.places.state) / "consent.json").remembered("Ada")


async def test_an_agent_allowed_for_good_works_also_where_that_could_not_be_stored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_app() as app:
        ada = app.bench.begin_session("Ada", "test")
        ada.arrival = Arrival("Ada")
        full_disk(Path(app.places.state) / "consent.json")
        await remembered(app, ada.actor.id)
        assert app.gate.consent.state(ada.id, "Ada") == "granted"
    assert "cannot store remembered permissions" in caplog.text


async def remembered(app: App, session: str) -> None:
    """Let an agent ask for consent, and give it for good."""
    leave = app.questions.attend()
    with app.events.subscribe(["question.asked"]) as asked:
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(app.call("openspace.pane.list", actor=app.bench.sessions.get(session).actor))
            question = (await anext(asked)).data["id"]
            app.questions.answer(str(question), Answer(choice="always"), PERSON)
        assert looking.result().success
    leave()
