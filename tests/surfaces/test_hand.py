"""The person cannot be forged: what a program with the token file can do, and what takes a browser's key."""

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.kit.hand import Hand
from tests.kit.server import LIMIT_S, Caller, Served, serve_app

from fourhands.app.wiring import CONTRIBUTIONS
from fourhands.core.call import Actor, Call
from fourhands.core.event import EventBus
from fourhands.core.gate import Gate, GateSettings
from fourhands.core.question import Questions
from fourhands.core.registry import Command, Registry
from fourhands.workbench.records.journal import Journal

pytestmark = pytest.mark.asyncio(loop_scope="module")

HAND: dict[str, bool | tuple[str, ...]] = {
    "openspace.agent.configure": ("provider", "cwd", "reset"),
    "openspace.agent.consent": True,
    "openspace.agent.drop_rule": True,
    "openspace.agent.resume": True,
    "openspace.agent.set_mode": True,
    "openspace.agent.set_option": True,
    "openspace.agent.sign_in": True,
    "openspace.change.keep": True,
    "openspace.network.allow": True,
    "openspace.network.forget": True,
    "openspace.rehearsal.apply": True,
    "openspace.safety.set_asking": True,
    "openspace.terminal.set_limit": True,
    "openspace.turn.keep": True,
    "openspace.workbench.answer": True,
}
"""All that needs the person's hand; docs/safety.md has the same table, in words."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[Served]:
    async with serve_app() as running:
        yield running


async def test_the_commands_that_need_the_hand_are_these_and_the_manual_names_them() -> None:
    marked = {command.id: command.hand for one in CONTRIBUTIONS for command in one.commands if command.hand}
    assert marked == HAND
    manual = Path(__file__, "../../../docs/safety.md").resolve().read_text()
    assert [id for id in HAND if f"`{id}`" not in manual] == []


def stub(command: Command) -> Command:
    """The same command, which does nothing and takes only what the hand is about."""

    async def done(bench: object, args: object = None) -> None:
        """Do nothing."""

    names = command.hand if isinstance(command.hand, tuple) else ()
    taken = msgspec.defstruct("Taken", [(name, object, None) for name in names]) if names else None
    return dataclasses.replace(command, handler=done, args_type=taken, extras=(), spread=False)


CREDENTIALS: dict[str, tuple[Actor, str, str]] = {
    "browser, signed": (Actor.person("person-1"), "socket", "Firefox (1)"),
    "browser, not signed": (Actor.person("person-1"), "socket", ""),
    "browser, plain HTTP": (Actor.person("person-1"), "http", ""),
    "program": (Actor.program(), "http", ""),
    "program that claims a signature": (Actor.program(), "socket", "Firefox (1)"),
    "agent": (Actor.agent("session_1"), "mcp", ""),
    "agent that claims a signature": (Actor.agent("session_1"), "block", "Firefox (1)"),
}


async def test_every_command_with_every_credential(tmp_path: Path) -> None:
    registry, events = Registry(), EventBus()
    for contribution in CONTRIBUTIONS:
        for command in contribution.commands:
            registry.add(stub(command))
    found: dict[tuple[str, str], str] = {}
    wanted: dict[tuple[str, str], str] = {}
    async with Journal(tmp_path / "journal.sqlite") as journal:
        limits = GateSettings(consent=False, gap_s=0.0)
        gate = Gate(registry, None, Questions(events), journal, lambda call, command, args: None, limits, events)
        for command in registry:
            args = {command.hand[0]: "x"} if isinstance(command.hand, tuple) else {}
            for who, (actor, origin, signed) in CREDENTIALS.items():
                call = Call(command=command.id, args=dict(args), actor=actor, origin=origin, signed=signed)  # type: ignore[arg-type]
                found[command.id, who] = (await gate.run(call)).code
                allowed = actor.role in command.actors
                signs = who == "browser, signed" or actor.kind == "agent" or not command.hand
                wanted[command.id, who] = "denied" if not allowed else "" if signs else "hand-needed"
    assert {key: code for key, code in found.items() if code != wanted[key]} == {}
    assert len(found) == len(registry) * len(CREDENTIALS)


# -- signatures ------------------------------------------------------------------------------------------------------


async def asked(served: Served, name: str = "Curious") -> "asyncio.Task[Any]":
    """An agent that waits for consent."""
    session, _ = served.agent(name, consent=False)
    call = Call(command="openspace.pane.list", actor=Actor.agent(session, name), origin="python")
    return asyncio.create_task(served.app.gate.run(call))  # noqa: TID251 - a test awaits it


async def test_a_signature_counts_once_on_its_connection_for_what_was_shown(served: Served) -> None:
    async with served.person() as person, served.person() as other:
        assert person.hand is not None
        waiting = await asked(served)
        question = (await person.event("question.asked"))["data"]
        seen = f"{question['text']}\n{question['shown']}"
        args = {"questionId": question["id"], "choice": "session"}
        challenge, command = person.hello["challenge"], "openspace.workbench.answer"
        good = person.hand.message(challenge, 50, command, args, seen)
        bad = {
            "not signed": json.dumps({"id": 1, "command": command, "args": args}),
            "altered choice": good.replace('\\"session\\"', '\\"deny\\"'),
            "another key": Hand().message(challenge, 51, command, args, seen),
            "another connection": person.hand.message(other.hello["challenge"], 52, command, args, seen),
            "another question shown": person.hand.message(challenge, 53, command, args, seen + " safe"),
            "nothing shown": person.hand.message(challenge, 54, command, args),
            "no signature": json.dumps({"signed": json.loads(good)["signed"], "signature": ""}, separators=(",", ":")),
        }
        for what, message in bad.items():
            assert message != good, what
            refused = await said(person, message)
            assert refused["code"] in ("denied", "hand-needed"), (what, refused)
        assert not waiting.done()
        good = person.hand.message(challenge, 60, command, args, seen)
        assert (await said(person, good))["success"]
        assert (await waiting).success
        again = await said(person, good)
        assert (again["code"], "before" in again["error"]) == ("denied", True)
        lower = person.hand.message(challenge, 59, "openspace.terminal.set_limit", {"maxTerminals": 5})
        assert (await said(person, lower))["code"] == "denied"
    rows = await served.app.journal.query(command="openspace.workbench.answer")
    assert [row.result.success for row in rows if row.result] == [False] * len(bad) + [True, False]
    assert [row.verdict.by.startswith("Chrome on Linux (") for row in rows][len(bad)]


async def said(person: Caller, message: str) -> dict[str, Any]:
    await person.socket.send(message)
    found = json.loads(message)
    id = found.get("id") or json.loads(found["signed"])["id"]
    return await person.answer(id)


async def test_a_copied_cookie_and_key_answer_nothing_without_the_browsers_own_key(served: Served) -> None:
    hand = Hand()
    cookie, key = await served.browser(hand)
    headers = {"cookie": cookie, "origin": served.url, "x-fourhands-key": key}
    async with served.client("", headers=headers) as thief:
        assert (await thief.post("/api/commands/openspace.pane.list", json={})).status_code == 200
        limit = await thief.post("/api/commands/openspace.terminal.set_limit", json={"maxTerminals": 9})
        assert limit.json()["code"] == "hand-needed"
    async with served.client("", headers={"cookie": cookie, "origin": served.url}) as bare:
        assert (await bare.post("/api/commands/openspace.pane.list", json={})).status_code == 401


async def test_the_public_key_in_our_file_signs_nobody_in(served: Served) -> None:
    hand = Hand()
    cookie, key = await served.browser(hand)

    async def come(proof: str | None) -> int:
        async with served.client() as program, served.client("", headers={"origin": served.url}) as browser:
            code = (await program.post("/api/code")).json()["code"]
            body = hand.introduction(code)
            sent = body | ({} if proof is None else {"proof": proof})
            return (await browser.post("/api/browser", json=sent)).status_code

    for forged in ("", "AAAA", hand.sign("sign in with another"), Hand().sign("sign in with x")):
        assert await come(forged) == 403, forged
    value = cookie.partition("=")[2]
    assert served.running.tokens.check_browser(value, key) is not None  # and it has not signed the person out
    assert await come(None) == 200  # the browser itself comes again, and nobody is asked


# -- the attack ------------------------------------------------------------------------------------------------------

ATTACK = """
import json, os, socket, struct, sys, urllib.error, urllib.request

url, state, host, session, question, public, out = sys.argv[1:]
token = open(state + "/token").read()

def post(path, body, **headers):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json", **headers}
    try:
        request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
        return json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request))
    except urllib.error.HTTPError as error:
        return json.load(error)

def call(command, **args):
    return post("/api/commands/openspace." + command, args)

def hello():
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(host)
    text = json.dumps({"id": 1, "do": "hello", "protocol": 1}).encode()
    sock.sendall(struct.pack("!I", len(text)) + text)
    return json.loads(sock.recv(65536)[4:])

made = call("terminal.create", title="forged")
report = {
    "answer": call("workbench.answer", questionId=question, choice="session"),
    "consent": call("agent.consent", sessionId=session, allow=True),
    "provider": call("agent.configure", sessionId=session, provider="local"),
    "resume": call("agent.resume", sessionId=session),
    "terminal": made,
    "typed": call("terminal.run", terminalId=made.get("terminalId"), line="rm -f kept.txt"),
    "code": post("/api/code", {}),
    "host": hello(),
}
report["browser"] = post("/api/browser", {"code": report["code"].get("code"), "publicKey": public}, Origin=url)
with open(out + ".new", "w") as file:
    json.dump(report, file)
os.rename(out + ".new", out)
"""


async def test_an_agents_makefile_with_the_token_file_is_not_the_person(served: Served) -> None:
    work, places = Path(served.places.workspace), served.places
    (work / "attack.py").write_text(ATTACK)
    (work / "Makefile").write_text("test:\n\t@$(PYTHON) attack.py $(GOALS)\n")
    async with served.person() as person:
        waiting = await asked(served, "Ada")
        question = (await person.event("question.asked"))["data"]
        out = work / "report.json"
        goals = [served.url, places.state, places.socket, question["session"], question["id"], Hand().public, str(out)]
        make = await served.terminal("make", "test", f"PYTHON={sys.executable}", f"GOALS={' '.join(goals)}")
        browser = (await person.event("question.asked"))["data"]
        assert (browser["kind"], browser["options"]) == ("browser", ["once", "deny"])
        assert (await person.reply(browser, "deny"))["success"]
        async with asyncio.timeout(LIMIT_S):
            await make.wait(exit=True)
        report = json.loads(out.read_text())
        codes = {what: found.get("code") for what, found in report.items() if what not in ("code", "host")}
        assert codes.pop("terminal") is None, report["terminal"]  # it works here, as cli: see the journal below
        assert codes.pop("typed") is None, report["typed"]
        assert codes == {
            "answer": "hand-needed",
            "consent": "hand-needed",
            "provider": "hand-needed",
            "resume": "hand-needed",
            "browser": "denied",
        }
        assert report["host"]["error"]["kind"] == "secret"
        assert not waiting.done()
        assert (await person.reply(question, "deny", reason="no"))["success"]
        assert (await waiting).code == "denied"
    rows = await served.app.journal.query(limit=100)
    told = {(row.call.command, row.call.actor.name, row.result.success) for row in rows if row.result}
    for verb in ("workbench.answer", "agent.consent", "agent.configure", "agent.resume"):
        assert (f"openspace.{verb}", "cli", False) in told
    assert ("openspace.terminal.create", "cli", True) in told
    assert ("openspace.terminal.run", "cli", True) in told
    assert ("openspace.browser.sign_in", "fourhands", False) in told
    assert [browser.name for browser in served.running.tokens.browsers if browser.public == goals[5]] == []


async def test_browsers_json_that_was_altered_signs_out_and_the_journal_says_so() -> None:
    async with serve_app() as served:
        hand = Hand()
        cookie, key = await served.browser(hand)
        assert served.running.tokens.browsers.altered == 0
        file = Path(served.places.state, "browsers.json")
        forged = Hand().public
        file.write_text(file.read_text().replace(hand.public, forged))
        from fourhands.surfaces.server import serving

        async with serving(served.app.bench, served.app.tasks, port=0) as again:
            value = cookie.partition("=")[2]
            assert again.tokens.check_browser(value, key) is None
            rows = await served.app.journal.query(command="openspace.browser.sign_in")
            assert [row.result.code for row in rows if row.result] == ["denied"]
            assert rows[0].result is not None
            assert "browsers.json" in rows[0].result.error
