"""Seats: whatever an agent reads and however it reads it, no part of a key, a token or a hidden range comes out."""

import asyncio
from pathlib import Path

import pytest
from tests.kit.person import let_in
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.errors import Conflict, Denied
from fourhands.workbench.terminals.agent_output import LOOK_BACK, AgentOutput, Redaction
from fourhands.workbench.terminals.seat import AgentSeat, PersonSeat
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.wait import WaitConditions

DASHES = "-" * 5  # put together here, so that no scanner takes this file for a leak
BODY = [f"{'MIIEpAIBAAKCAQEAx7Zq9v+/k3Jd0' * 2}{number:06d}" for number in range(96)]
KEY = [f"{DASHES}BEGIN PRIVATE KEY{DASHES}", *BODY, f"{DASHES}END PRIVATE KEY{DASHES}"]
PART = "MIIEp"
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


async def printed(app: App, text: str, cols: int = 80, rows: int = 24) -> Terminal:
    """A terminal in which a program has printed this and ended."""
    Path(app.places.workspace, "note").write_text(text)
    terminal = await app.terminals.create(title="work", argv=["/bin/cat", "note"], cols=cols, rows=rows)
    await terminal.wait(exit=True, deadline_s=40, position=0)
    return terminal


def seats(app: App, terminal: Terminal) -> tuple[AgentSeat, PersonSeat]:
    agent, person = app.bench.seat(let_in(app).actor, terminal), app.bench.seat(Actor.person(), terminal)
    assert isinstance(agent, AgentSeat)
    assert isinstance(person, PersonSeat)
    return agent, person


@pytest.mark.parametrize("limit", [1, 100, 500, 2_000, 5_000, 20_000])
async def test_the_end_of_a_long_key_is_no_secret_given_away_whatever_the_limit(limit: int) -> None:
    async with open_app() as app:
        terminal = await printed(app, "\n".join(["before", *KEY, "after", ""]))
        agent, _ = seats(app, terminal)
        seen = await agent.tail(limit)
        assert PART not in seen.text
        assert seen.text.endswith("after\n")
        assert PART in terminal.tail(500).text  # it was really printed


async def test_a_read_may_begin_anywhere_in_a_key() -> None:
    async with open_app() as app:
        terminal = await printed(app, "\n".join([*KEY, "after", ""]))
        agent, person = seats(app, terminal)
        for start in range(60, terminal.log.head - 100, 611):
            assert PART not in (await agent.since(start)).text, start
            assert PART not in agent.peek(start, 300).text, start
            assert BODY[-1] in (await person.since(start)).text
        for count in (1, 2, 3, 10, 50, 97, 98, 99, 200):
            found = (await agent.lines(count)).lines
            assert PART not in "\n".join(found), count
            assert len(found) == min(count, len(KEY) + 1)
        assert await agent.search("[A-Za-z0-9+/]{40}", 10) == []
        assert len(await person.search("[A-Za-z0-9+/]{40}", 10)) == 10


async def test_a_screen_that_shows_the_end_of_a_key_shows_none_of_it() -> None:
    async with open_app() as app:
        for cols in (80, 40, 20):
            terminal = await printed(app, "\n".join([*KEY, "after", ""]), cols=cols, rows=24)
            agent, person = seats(app, terminal)
            assert any(row.strip() and row.strip() in BODY[-1] for row in person.screen().rows)
            rows = agent.screen().rows
            assert len(rows) == 24
            leaked = [row for row in rows if len(row.strip()) > 5 and any(row.strip() in line for line in BODY)]
            assert leaked == []
            assert "after" in rows
            await terminal.close()


async def test_a_key_with_a_hidden_range_in_it_is_known_behind_that_range() -> None:
    async with open_app() as app:
        text = "\r\n".join([*KEY[:50], "hidden", *KEY[50:], "after", ""])
        terminal = await printed(app, text.replace("\r\n", "\n"))
        start = text.index("hidden")
        filler = LOOK_BACK + 1000  # the range may be longer than what is looked back
        assert terminal.log.head == len(text)
        for hidden in [(start, start + 8)]:
            view = AgentOutput(terminal.log, terminal.log.head, (hidden,), Redaction(), closed=True)
            for position in (hidden[0], hidden[1], hidden[1] + 70, hidden[1] + 700):
                seen = view.since(position)
                assert PART not in seen.text, position
                assert "hidden" not in seen.text
                assert seen.text.endswith("after\n")
        await terminal.close()
        long = "\r\n".join([*KEY[:50], "h" * filler, *KEY[50:], "after", ""])
        terminal = await printed(app, long.replace("\r\n", "\n"))
        start = long.index("hhh")
        view = AgentOutput(terminal.log, terminal.log.head, ((start, start + filler + 2),), Redaction(), closed=True)
        assert PART not in view.since(start + filler + 2).text
        assert PART not in view.since(start + 5).text


async def test_a_read_may_begin_in_the_middle_of_a_token() -> None:
    async with open_app() as app:
        line = f"token {TOKEN} behind"
        terminal = await printed(app, f"first\n{line}\nlast\n")
        agent, person = seats(app, terminal)
        begin = len("first\r\ntoken ")
        for cut in range(1, len(TOKEN)):
            seen = (await agent.since(begin + cut)).text
            assert TOKEN[cut:] not in seen, cut
            assert TOKEN[-6:] not in seen, cut
            assert seen.endswith(" behind\nlast\n")
        assert TOKEN[10:] in (await person.since(begin + 10)).text
        assert (await agent.since(begin + len(TOKEN))).text == " behind\nlast\n"
        assert (await agent.since(len("first\r\nto"))).text.startswith("ken [redacted:")


async def test_what_is_hidden_cannot_be_found_by_searching_or_waiting() -> None:
    program = "echo visible; stty -echo; read x; echo canary-$x; read y; stty echo; echo again; read z"
    async with open_app() as app:
        terminal = await app.terminals.create(title="work", argv=["/bin/sh", "-c", program])
        agent, person = seats(app, terminal)
        await person.wait(WaitConditions(pattern="visible", deadline_s=40), 0)
        async with asyncio.timeout(40):
            while not person.reads_secret():
                await person.wait(WaitConditions(quiet_s=0.02, deadline_s=0.1))
        with pytest.raises(Denied):
            agent.screen()
        with pytest.raises(Conflict):
            await agent.type("ls\r")
        await agent.lines(1)
        await person.type("dark\r")
        await person.wait(WaitConditions(pattern="canary-dark", deadline_s=40), 0)
        assert "canary" not in (await agent.since(0)).text  # the seat brings itself up to date
        await person.type("\r")
        await person.wait(WaitConditions(pattern="again", deadline_s=40), 0)
        # One match is asked for: a hidden line that matches must not take the place of a visible one.
        assert [match.line for match in await agent.search("visible|canary", 1)] == ["visible"]
        assert [match.line for match in await person.search("visible|canary", 1)] == ["canary-dark"]
        told = await agent.wait(WaitConditions(pattern="canary", deadline_s=0.2), 0)
        assert (told.reason, told.match) == ("deadline", None)
        assert (await agent.lines(5)).hidden
        assert "canary" not in (await agent.tail(1000)).text


async def test_an_agents_wait_does_not_tell_of_a_token() -> None:
    async with open_app() as app:
        terminal = await printed(app, f"first\ntoken {TOKEN}\nlast\n")
        agent, person = seats(app, terminal)
        prefix = TOKEN[:12]
        told = await agent.wait(WaitConditions(pattern=prefix, deadline_s=0.2), 0)
        assert (told.reason, told.match) == ("exit", None)
        told = await agent.wait(WaitConditions(pattern=TOKEN[20:30], deadline_s=0.2), len("first\r\ntoken ") + 18)
        assert (told.reason, told.match) == ("exit", None)
        assert (await person.wait(WaitConditions(pattern=prefix, deadline_s=20), 0)).reason == "pattern"
        assert (await agent.wait(WaitConditions(pattern="last", deadline_s=20), 0)).reason == "pattern"


async def test_an_agent_may_end_only_what_it_started() -> None:
    async with open_app() as app:
        terminal = await printed(app, "x\n")
        agent, person = seats(app, terminal)
        with pytest.raises(Denied, match="not yours to close"):
            agent.require_own("close")
        person.require_own("close")


async def test_an_agent_waits_for_a_persons_half_typed_line() -> None:
    async with open_app() as app:
        terminal = await app.terminals.create(title="work", shell="bash")
        await terminal.wait(input_wanted=True, deadline_s=40)
        agent, person = seats(app, terminal)
        await person.type("echo ha")
        typing = app.tasks.start(agent.type("echo mine\r"), "an agent's line")
        done, _ = await asyncio.wait({typing}, timeout=0.3)
        assert not done
        await person.type("lf\r")
        async with asyncio.timeout(40):
            await typing
        await terminal.wait(pattern="(?m)^mine$", deadline_s=40, position=0)
        assert "echo half" in "\n".join(terminal.lines(50))


async def test_an_agents_seat_notices_by_itself_that_a_secret_is_read() -> None:
    program = "stty -echo; echo ready; read x; echo canary-$x; read y"
    async with open_app() as app:
        terminal = await app.terminals.create(title="work", argv=["/bin/sh", "-c", program])
        agent, person = seats(app, terminal)
        await terminal.wait(pattern="ready", deadline_s=40, position=0)
        assert app.bench.lease(terminal).asks_secret()
        assert "ready" in (await agent.since(0)).text
        await terminal.type("dark\r")  # nothing but the seat looks
        await terminal.wait(pattern="canary-dark", deadline_s=40, position=0)
        assert "canary" not in (await agent.since(0)).text
        assert "canary" in (await person.since(0)).text
