"""A canary typed where a secret is wanted appears nowhere: no log, journal, event, result or instruction."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.kit.isolation import image, refuse
from tests.kit.person import let_in
from tests.kit.workbench import environment, open_app, quick, temporary_places

from fourhands.agents.briefing.hub import Hub
from fourhands.app import App
from fourhands.core.call import Result
from fourhands.core.event import Event
from fourhands.settings import AgentDefaults, BubblewrapSettings, ContainerSettings, Settings
from fourhands.workbench.terminals.terminal import Terminal

CANARY = "canary-4b1d7e0c-do-not-keep"
GETPASS = "import getpass; print('length', len(getpass.getpass()))"


def settings(provider: str) -> Settings:
    if provider == "bubblewrap" and shutil.which("bwrap") is None:
        refuse("bwrap is not installed")
    if provider == "container" and not image().startswith("localhost"):
        refuse(image())
    return Settings(
        agent_defaults=AgentDefaults(provider=provider),
        providers={
            "bubblewrap": BubblewrapSettings(require_limits=False),
            "container": ContainerSettings(image=image() if provider == "container" else ""),
        },
    )


class Watcher:
    """Keeps everything that anybody is told."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.told: list[bytes] = []
        app.events.published.subscribe(self._see)

    def _see(self, event: Event) -> None:
        self.told.append(msgspec.json.encode(event, enc_hook=repr))

    def keep(self, thing: object) -> None:
        self.told.append(msgspec.json.encode(thing, enc_hook=repr))

    def files(self) -> dict[str, bytes]:
        places = self.app.places
        found = {}
        for top in (places.state, places.runtime):
            for path in Path(top).rglob("*"):
                with contextlib.suppress(OSError):
                    if path.is_file():
                        found[str(path)] = path.read_bytes()
        return found


@contextlib.asynccontextmanager
async def scene(provider: str) -> AsyncIterator[tuple[App, Watcher, Terminal]]:
    async with open_app(settings(provider)) as app:
        watcher = Watcher(app)
        terminal = await app.terminals.create(title="work", provider=provider, shell="bash")
        await terminal.wait(input_wanted=True, deadline_s=40)
        yield app, watcher, terminal


async def type_secret(app: App, watcher: Watcher, terminal: Terminal, program: str, prompt: str, answer: str) -> None:
    """A program asks, the agent is refused, the person types by a call and by keys, the program goes on."""
    agent = let_in(app)
    await terminal.describe(owner=agent.id)  # of its own terminals nothing is asked before it is refused
    await terminal.type(f"{program}\r")
    await terminal.wait(pattern=prompt, deadline_s=40, position=0)
    lease = app.bench.lease(terminal)
    async with asyncio.timeout(40):
        while not lease.asks_secret():  # the prompt may come before the echo goes
            await terminal.wait(quiet_s=0.02, deadline_s=0.1)
    refused = await app.call(
        "openspace.tool.terminal_continue", {"sessionId": "work", "stdin": "\x03"}, actor=agent.actor
    )
    assert (refused.code, "secret" in refused.error) == ("conflict", True)
    watcher.keep(refused.to_wire())
    watcher.keep(await look(app, agent.id))
    start = terminal.log.head
    first, second = CANARY[:10], CANARY[10:]
    sent = await app.call("openspace.terminal.send", {"terminalId": "work", "text": first})
    watcher.keep(sent.to_wire())
    lease.person_typed("person", second.encode())  # as the socket of an attached page does
    await terminal.type(second)
    watcher.keep(await look(app, agent.id))
    more = await app.call("openspace.tool.terminal_continue", {"sessionId": "work", "stdin": "\r"})
    watcher.keep(more.to_wire())
    await terminal.wait(pattern=answer, deadline_s=40, position=start)
    watcher.keep(await look(app, agent.id))
    wrong = await app.call("openspace.terminal.send", {"terminalId": "work", "txt": CANARY})
    assert wrong.code == "bad-argument"
    watcher.keep(wrong.to_wire())


async def look(app: App, session_id: str) -> list[object]:
    """Everything an agent can read of the terminal, the answers to its guesses included."""
    session = app.bench.sessions.get(session_id)
    calls: list[tuple[str, dict[str, object]]] = [
        ("terminal.read_output", {"terminalId": "work"}),
        ("terminal.read_output", {"terminalId": "work", "since": 0}),
        ("terminal.screen", {"terminalId": "work"}),
        ("terminal.search", {"terminalId": "work", "pattern": "canary"}),
        ("terminal.wait", {"terminalId": "work", "pattern": "can[a-z-]+", "since": 0, "deadlineSeconds": 0}),
        ("terminal.screen", {"terminalId": "work", "since": 0}),
        ("terminal.authors", {"terminalId": "work"}),
        ("terminal.list", {}),
        ("tool.terminal_list", {}),
    ]
    seen = [(await app.call(f"openspace.{name}", args, actor=session.actor)).to_wire() for name, args in calls]
    hub = Hub(app.bench, app.registry)
    try:
        return [*seen, hub.instructions(session.id)]
    finally:
        await hub.close()


def check(watcher: Watcher, files: dict[str, bytes]) -> None:
    for piece in (CANARY, CANARY[:10], CANARY[10:]):
        assert not [told for told in watcher.told if piece.encode() in told]
        assert not [path for path, data in files.items() if piece.encode() in data]


@pytest.mark.parametrize("provider", ["local", "bubblewrap", "container"])
async def test_a_secret_typed_at_read_s_is_nowhere(provider: str) -> None:
    async with scene(provider) as (app, watcher, terminal):
        program = "read -s -p 'Password: ' x; echo; echo length ${#x}"
        await type_secret(app, watcher, terminal, program, "Password:", f"length {len(CANARY)}")
        assert not app.bench.lease(terminal).asks_secret()
        await app.bench.journal.query()
        check(watcher, watcher.files())


@pytest.mark.parametrize("provider", ["local", "bubblewrap"])
async def test_a_secret_typed_at_getpass_is_nowhere(provider: str) -> None:
    async with scene(provider) as (app, watcher, terminal):
        python = sys.executable if provider == "local" else "/usr/bin/python3"
        if not os.path.exists(python):
            refuse(f"{python} is not there")
        program = f'{python} -c "{GETPASS}"'
        await type_secret(app, watcher, terminal, program, "Password:", f"length {len(CANARY)}")
        check(watcher, watcher.files())


def can_become_nobody() -> bool:
    if os.getuid() != 0 or shutil.which("su") is None:
        return False
    tried = subprocess.run(["su", "nobody", "-s", "/bin/bash", "-c", "true"], capture_output=True, check=False)
    return tried.returncode == 0


async def test_a_secret_typed_to_another_users_program_is_nowhere() -> None:
    if not await asyncio.to_thread(can_become_nobody):
        refuse("su to nobody needs root")
    async with scene("local") as (app, watcher, terminal):
        program = "su nobody -s /bin/bash -c 'read -s -p Password:\\  x; echo length ${#x}'"
        await type_secret(app, watcher, terminal, program, "Password:", f"length {len(CANARY)}")
        check(watcher, watcher.files())


@pytest.mark.parametrize("provider", ["local", "bubblewrap", "container"])
async def test_a_secret_pasted_before_its_prompt_is_hidden_from_agents(provider: str) -> None:
    async with scene(provider) as (app, watcher, terminal):
        agent = let_in(app)
        # It does not read the terminal until the file is there; then the prompt comes and goes at once.
        wait = "until [ -e go ]; do sleep 0.05; done"
        program = f"echo started; {wait}; read -s -p 'Password: ' x; echo; echo length ${{#x}}"
        await terminal.type(f"{program}\r")
        await terminal.wait(pattern="(?m)^started", deadline_s=40, position=0)
        start = terminal.log.head
        sent = await app.call("openspace.terminal.send", {"terminalId": "work", "text": f"{CANARY}\r"})
        watcher.keep(sent.to_wire())
        await terminal.wait(pattern="canary", deadline_s=40, position=start)  # the kernel has echoed it
        Path(app.places.workspace, "go").touch()
        await terminal.wait(pattern=f"length {len(CANARY)}", deadline_s=40, position=start)
        for _ in range(2):
            watcher.keep(await look(app, agent.id))
        # What the kernel echoed stands in the terminal's own log, as it does on the person's screen, and nowhere else.
        files = {path: data for path, data in watcher.files().items() if terminal.id not in Path(path).name}
        assert len(files) < len(watcher.files())
        check(watcher, files)
        shown = await app.call("openspace.terminal.read_output", {"terminalId": "work", "since": 0}, actor=agent.actor)
        assert "started" in str(shown.data["output"])


async def test_the_rest_of_a_secret_typed_when_its_prompt_has_gone_is_hidden_from_agents() -> None:
    async with scene("local") as (app, watcher, terminal):
        agent = let_in(app)
        await terminal.type("until [ -e go ]; do read -s -t 0.1 -p 'Password: ' x; done; echo; echo over\r")
        lease = app.bench.lease(terminal)
        async with asyncio.timeout(40):
            while not lease.asks_secret():
                await terminal.wait(quiet_s=0.02, deadline_s=0.1)
        await app.call("openspace.terminal.send", {"terminalId": "work", "text": CANARY[:10]})
        Path(app.places.workspace, "go").touch()
        await terminal.wait(pattern="(?m)^over", deadline_s=40, position=0)
        await terminal.wait(input_wanted=True, deadline_s=40)
        start = terminal.log.head
        await app.call("openspace.terminal.send", {"terminalId": "work", "text": CANARY[10:]})
        await terminal.wait(pattern="keep", deadline_s=40, position=start)
        watcher.keep(await look(app, agent.id))
        await app.call("openspace.terminal.send", {"terminalId": "work", "text": "\x03"})
        await terminal.wait(input_wanted=True, deadline_s=40)
        watcher.keep(await look(app, agent.id))
        check(watcher, {})


async def test_who_typed_and_what_is_hidden_are_known_after_a_restart() -> None:
    with temporary_places() as places:
        for run in (1, 2):
            async with App(places.workspace, quick(), places=places, env=environment(places)) as app:
                if run == 1:
                    terminal = await app.terminals.create(title="work", shell="bash")
                    await terminal.wait(input_wanted=True, deadline_s=40)
                    await app.call("openspace.terminal.send", {"terminalId": "work", "text": "read -s x\r"})
                    seen = await terminal.wait(input_wanted=True, deadline_s=40)
                    while seen.input != "secret":
                        seen = await terminal.wait(input_wanted=True, deadline_s=40)
                    app.bench.lease(terminal).look()
                    head = terminal.log.head
                    continue
                try:
                    lease = app.bench.lease(app.terminals.get("work"))
                    assert [ink.kind for ink in lease.ink] == ["person"]
                    assert lease.visible(0, head + 10) == [(0, head)]
                    await app.bench.terminal("work").close()
                    assert not list(Path(places.state).glob("*.ink"))
                finally:
                    await app.terminals.stop()


async def test_the_check_finds_what_is_kept() -> None:
    async with scene("local") as (_, watcher, terminal):
        await terminal.run(f"echo {CANARY}")
        with pytest.raises(AssertionError):
            check(watcher, watcher.files())


def _positions(found: Result) -> list[int]:
    matches: Any = found.data["matches"]
    return [match["position"] for match in matches]


@pytest.mark.parametrize("at_once", [2, 10_000])
async def test_an_agent_sees_no_part_of_a_private_key_however_it_reads(at_once: int) -> None:
    body = [f"{'MIIEpAIBAAKCAQEAx7Zq9v+/k3Jd0' * 2}{number:06d}" for number in range(8)]
    dashes = "-" * 5  # put together here, so that no scanner takes this file for a leak
    key = [f"{dashes}BEGIN PRIVATE KEY{dashes}", *body, f"{dashes}END PRIVATE KEY{dashes}"]
    async with open_app() as app:
        app.bench.redaction = replace(app.bench.redaction, at_once=at_once)
        Path(app.places.workspace, "note").write_text("\n".join(key) + "\n")
        agent = let_in(app).actor
        terminal = await app.terminals.create(title="work", argv=["/bin/cat", "note"])
        await terminal.wait(exit=True, deadline_s=40, position=0)
        middle = len("\r\n".join(key[:4])) - 10
        looks: list[tuple[str, dict[str, object]]] = [
            ("terminal.read_output", {"lines": 3}),
            ("terminal.read_output", {"since": 0}),
            ("terminal.read_output", {"since": middle}),
            ("terminal.screen", {}),
            ("terminal.search", {"pattern": "."}),
            ("terminal.search", {"pattern": "^[A-Za-z0-9+/]{64}$"}),
        ]
        for name, args in looks:
            seen = await app.call(f"openspace.{name}", {"terminalId": "work", **args}, actor=agent)
            assert seen.success, seen
            assert "MIIEp" not in str(seen.data), (name, args)
            own = await app.call(f"openspace.{name}", {"terminalId": "work", **args})
            assert "MIIEp" in str(own.data), (name, args)  # a person sees it all
            if args.get("pattern") == ".":
                assert _positions(seen) == _positions(own)
        kept = await app.bench.journal.query(command="openspace.terminal.")
        assert len(kept) == 2 * len(looks)
        assert "MIIEp" not in str([entry for entry in kept if entry.call.args.get("since") == 0])
