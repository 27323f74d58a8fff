"""Commands on agents, and what an agent may not do or see by commands that both may call."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.person import let_in
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Actor, Result


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        Path(app.bench.root, "mine").mkdir()
        Path(app.bench.root, "a.txt").write_text("a\n")
        yield app


async def ask(app: App, command: str, actor: Actor | None = None, /, **args: object) -> Result:
    return await app.call(f"openspace.{command}", args, actor=actor)


async def test_an_agent_changes_its_own_settings_only(app: App) -> None:
    ada, bob = let_in(app, "ada"), let_in(app, "bob")
    refused = await ask(app, "agent.configure", ada.actor, sessionId=bob.id, cropOutput=2000)
    assert (refused.code, "its own" in refused.error) == ("bad-argument", True)
    assert bob.state.crop_output is None
    assert (await ask(app, "agent.configure", ada.actor, sessionId=ada.id, cropOutput=2000)).success
    assert ada.state.crop_output == 2000


async def test_an_agent_cannot_choose_its_isolation(app: App) -> None:
    ada = let_in(app, "ada")
    refused = await ask(app, "agent.configure", ada.actor, provider="bubblewrap")
    assert (refused.code, "isolation" in refused.error) == ("bad-argument", True)
    assert ada.state.provider is None


async def test_an_agents_reset_leaves_what_the_person_chose(app: App) -> None:
    ada = let_in(app, "ada")
    assert (await ask(app, "agent.configure", sessionId="ada", cwd="mine", cropOutput=2000)).success
    assert (await ask(app, "agent.configure", ada.actor, reset=True)).success
    assert (ada.state.cwd, ada.state.crop_output) == ("mine", None)
    assert (await ask(app, "agent.configure", sessionId="ada", reset=True)).success
    assert ada.state.cwd is None


async def test_stop_leaves_consent_and_kill_revokes_it(app: App) -> None:
    ada = let_in(app, "ada")
    assert (await ask(app, "agent.stop", sessionId="ada")).success
    assert app.gate.consent.state(ada.id) == "granted"
    assert (await ask(app, "agent.stop", sessionId="ada", kill=True)).success
    assert app.gate.consent.state(ada.id) != "granted"


async def test_an_agent_clears_its_own_highlights_only(app: App) -> None:
    ada = let_in(app, "ada")
    for actor in (None, ada.actor):
        marked = await ask(app, "editor.highlight", actor, path="a.txt", ranges=[{"startLine": 1, "endLine": 1}])
        assert marked.success
    assert (await ask(app, "editor.clear_highlights", ada.actor)).success
    assert [mark.owner for mark in app.bench.state.highlights()] == ["person"]


async def test_only_what_agents_do_is_listed_for_undo(app: App) -> None:
    ada = let_in(app, "ada")
    assert (await ask(app, "editor.open", path="a.txt")).success
    assert app.bench.undo.actions() == ()
    assert (await ask(app, "pane.close", ada.actor, paneId="a.txt")).success
    assert [action.actor for action in app.bench.undo.actions()] == [ada.id]


async def test_an_agents_snapshot_has_neither_the_persons_drafts_nor_the_place(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # the program is named by its place then
    ada = let_in(app, "ada")
    assert (await ask(app, "editor.open", path="a.txt")).success
    assert (await ask(app, "editor.set_draft", path="a.txt", text="not saved")).success
    seen = await ask(app, "workbench.snapshot", ada.actor)
    assert (seen.data["workspace"], seen.data["program"]) == (".", "fourhands")
    assert "not saved" not in repr(seen.data)
    mine = await ask(app, "workbench.snapshot")
    assert (mine.data["workspace"], "not saved" in repr(mine.data)) == (app.bench.root, True)
    assert mine.data["program"] != "fourhands"


async def test_a_binary_file_is_given_up_to_a_limit_and_in_pieces_beyond(app: App) -> None:
    Path(app.bench.root, "big.bin").write_bytes(b"\0" * (1024 * 1024 + 1))
    whole = await ask(app, "file.read", path="big.bin", binary=True)
    assert (whole.code, "in pieces" in whole.hint) == ("bad-argument", True)
    first = await ask(app, "file.read", path="big.bin", binary=True, offset=0)
    assert (first.success, first.data["next"]) == (True, 1024 * 1024)
