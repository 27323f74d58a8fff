"""What a title means to whoever uses it: terminals, panes and agents by name, through the gate."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.kit.person import Person, let_in
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Actor, Result
from fourhands.core.ids import short_id
from fourhands.workbench.layout.panes import find


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        yield app


async def ask(app: App, command: str, actor: Actor | None = None, **args: object) -> Result:
    """A call that works."""
    result = await app.call(f"openspace.{command}", args, actor=actor)
    assert result.success, result
    return result


async def test_everybody_means_their_own_terminal_by_a_title(app: App) -> None:
    ada, bob = let_in(app, "ada"), let_in(app, "bob")
    mine = {}
    for who in (None, ada.actor, bob.actor):
        made = (await ask(app, "terminal.create", who, title="test-runner")).data
        assert (made["title"], made["note"]) == ("test-runner", "")
        mine[who] = made["terminalId"]
    for who, id in mine.items():
        await ask(app, "terminal.rename", who, terminalId="test-runner", title="renamed")
        assert app.terminals.get(str(id)).title == "renamed"
        await ask(app, "pane.focus", who, paneId="renamed")
        pane = find(app.bench.state.layout, str(app.bench.state.layout.active_pane)).pane
        assert next(tab.content for tab in pane.tabs if tab.id == pane.active_tab) == id
        await ask(app, "terminal.interrupt", who, terminalId="renamed")
        await ask(app, "tool.terminal_stop", who, sessionId="renamed")
        assert id not in [terminal.id for terminal in app.terminals.list()]


async def test_the_short_form_of_an_id_means_that_terminal_everywhere_and_is_nobodys_title(app: App) -> None:
    ada, bob = let_in(app, "ada").actor, let_in(app, "bob").actor
    id = str((await ask(app, "terminal.create", ada, title="build")).data["terminalId"])
    short = short_id(id)
    await ask(app, "terminal.create", bob, title=f"{short}X")
    for command, title in (("terminal.create", {}), ("terminal.rename", {"terminalId": f"{short}X"})):
        refused = await app.call(f"openspace.{command}", {**title, "title": short}, actor=bob)
        assert (refused.code, "form of an id" in refused.error) == ("bad-argument", True)
    for who in (None, ada, bob):
        assert (await ask(app, "terminal.read_output", who, terminalId=short)).success
        await ask(app, "pane.focus", who, paneId=short)
        pane = find(app.bench.state.layout, str(app.bench.state.layout.active_pane)).pane
        assert next(tab.content for tab in pane.tabs if tab.id == pane.active_tab) == id
    assert (await app.call("openspace.tool.terminal_stop", {"sessionId": short}, actor=bob)).code == "denied"
    await ask(app, "tool.terminal_stop", ada, sessionId=short)
    gone = await app.call("openspace.tool.terminal_continue", {"sessionId": short}, actor=ada)
    assert gone.code == "not-found"


async def test_a_taken_title_gets_a_number_and_the_result_says_so(app: App) -> None:
    ada = let_in(app, "ada").actor
    first = (await ask(app, "terminal.create", ada, title="build")).data
    second = (await ask(app, "terminal.create", ada, title="build")).data
    assert second["title"] == "build 2"
    assert second["note"] == (
        f"the title 'build' is taken by your terminal {first['terminalId']}; this one is 'build 2'"
    )
    third = (await ask(app, "terminal.create", ada)).data
    renamed = (await ask(app, "terminal.rename", ada, terminalId=third["terminalId"], title="build")).data
    assert (renamed["title"], "taken by your terminal" in str(renamed["note"])) == ("build 3", True)
    same = (await ask(app, "terminal.rename", ada, terminalId="build 3", title="build 3")).data
    assert same == {"title": "build 3", "note": ""}
    by_person = (await ask(app, "terminal.rename", terminalId="build 3", title="build 2")).data  # an agent's still
    assert by_person["title"] == "build 2 2"
    assert "taken by terminal" in str(by_person["note"])
    await ask(app, "terminal.kill", ada, terminalId="build")
    await app.terminals.get(str(first["terminalId"])).wait(exit=True)
    again = (await ask(app, "terminal.create", ada, title="build")).data
    assert (again["title"], again["note"]) == ("build", "")  # an ended one does not stand in the way
    assert app.terminals.get("build", ada.id).id == again["terminalId"]
    refused = await app.call(
        "openspace.terminal.rename", {"terminalId": "build", "title": str(first["terminalId"])}, actor=ada
    )
    assert (refused.code, "form of an id" in refused.error) == ("bad-argument", True)
    wrong = await app.call("openspace.terminal.create", {"title": str(first["terminalId"])}, actor=ada)
    assert wrong.code == "bad-argument"


async def test_what_was_judged_of_one_terminal_is_never_typed_into_another(app: App) -> None:
    ada = let_in(app, "ada").actor
    person = Person(app)
    mine = (await ask(app, "terminal.create", ada, title="build")).data["terminalId"]
    other = (await ask(app, "terminal.create", title="build")).data["terminalId"]
    send = app.call("openspace.terminal.send", {"terminalId": "build", "text": "openspace-unknown\n"}, actor=ada)
    sending = app.tasks.start(send, "a line that is asked about")
    question = await person.question()
    await ask(app, "terminal.close", terminalId=mine)  # now the title means the person's own
    assert app.terminals.get("build", ada.id).id == other
    person.answer(question, "once")
    result = await asyncio.wait_for(sending, 20)
    assert result.code == "not-found"
    assert "openspace-unknown" not in "".join(app.terminals.get(str(other)).lines(100))


async def test_an_agents_name_means_its_own_session_then_the_newest(app: App) -> None:
    first, second = let_in(app, "ada"), let_in(app, "ada")
    for session in (first, second):
        await ask(app, "agent.configure", session.actor, sessionId="ada", timeoutSeconds=7)
        assert session.state.timeout_s == 7
        session.state = msgspec.structs.replace(session.state, timeout_s=None)
    await ask(app, "agent.configure", sessionId="ada", timeoutSeconds=9)
    assert (first.state.timeout_s, second.state.timeout_s) == (None, 9)
    second.status = "failed"
    await ask(app, "agent.pause", sessionId="ada")
    assert app.gate.paused(first.id)
    wrong = await app.call("openspace.agent.pause", {"sessionId": "adda"})
    assert (wrong.code, f"ada ({first.id})" in wrong.hint) == ("not-found", True)


async def test_splitting_what_is_open_moves_it_and_says_so(app: App) -> None:
    ada = let_in(app, "ada").actor
    Path(app.bench.root, "a.txt").write_text("a")
    only = (await ask(app, "pane.open", ada, type="editor", contentId="a.txt")).data
    assert (only["moved"], only["note"]) == (False, "")
    again = (await ask(app, "pane.open", ada, type="editor", contentId="a.txt", splitDirection="vertical")).data
    assert (again["moved"], "nothing to split it from" in str(again["note"])) == (False, True)
    made = (await ask(app, "terminal.create", ada, title="build")).data
    split = {"type": "terminal", "contentId": "build", "splitDirection": "vertical"}
    before = app.bench.state.panes()
    moved = (await ask(app, "pane.open", ada, **split)).data
    assert (moved["moved"], moved["note"]) == (True, "")
    left, right = app.bench.state.panes()
    assert (left.content, right.content, right.id) == ("a.txt", made["terminalId"], moved["paneId"])
    assert (left.geometry.width, right.geometry.x) == (50, 50)
    there = (await ask(app, "pane.open", ada, **split)).data
    assert (there["moved"], "already" in str(there["note"])) == (False, True)
    await ask(app, "workbench.undo")
    assert [pane.geometry for pane in app.bench.state.panes()] == [pane.geometry for pane in before]
