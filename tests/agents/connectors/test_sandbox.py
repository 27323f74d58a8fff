"""An agent's own process in the sandbox of its session: what it has, what it reaches, and how it ends."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.kit.acp_stage import FAKE
from tests.kit.isolation import refuse
from tests.kit.server import Served, serve_app, until
from tests.kit.workbench import environment

from fourhands.agents.acp.catalogue import other, recipes
from fourhands.agents.acp.connector import AcpAgent
from fourhands.agents.acp.mcp_server import OwnServer
from fourhands.agents.acp.recipe import Recipe
from fourhands.core.errors import Conflict, Unsupported
from fourhands.core.event import Event
from fourhands.providers.base import Isolation
from fourhands.providers.landlock import Landlock
from fourhands.providers.local import Local
from fourhands.settings import AgentSettings, SandboxSettings, Settings
from fourhands.workbench.sessions import Session

HOSTILE = Path(FAKE).parent / "hostile" / "acp_agent.py"
LIMIT_S = 60

rungs = pytest.mark.parametrize("provider", ["bubblewrap", "landlock"])
pytestmark = pytest.mark.timeout(120)


class Boxed(Local):
    """A provider that says it isolates, and rewrites launches only."""

    isolation = Isolation.CONTAINER


@dataclass
class Stage:
    """A workbench with its doors, a fake agent in a sandbox, and what happens."""

    served: Served
    session: Session
    agent: AcpAgent
    home: Path
    log: Path
    events: list[Event]

    @property
    def pid(self) -> int:
        assert self.agent.runtime.process is not None
        return self.agent.runtime.process.pid

    async def turn(self, *actions: object) -> list[Any]:
        """One whole turn; returns what came of its actions."""
        start = len(self.events)
        await self.agent.prompt(json.dumps(actions))
        async with asyncio.timeout(LIMIT_S):
            await self.agent.idle()
        said = "".join(str(event.data["text"]) for event in self.events[start:] if event.kind == "agent.said")
        return [json.loads(line[7:]) for line in said.splitlines() if line.startswith("RESULT ")]

    async def attack(self, given: dict[str, Any]) -> dict[str, Any]:
        (found,) = await self.turn(["python", f"given = {given!r}\n{HOSTILE.read_text()}"])
        return dict(found)

    def of(self, kind: str) -> list[Any]:
        return [event.data for event in self.events if event.kind == kind]


@contextlib.asynccontextmanager
async def staged(
    provider: str,
    recipe: Recipe | None = None,
    *,
    env: dict[str, str] | None = None,
    prepare: Any = None,
    directories: tuple[str, ...] = (),
    sandbox: SandboxSettings | None = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    kind = AgentSettings(process_variables=("FAKE_LOG",), allowed_hosts=("a.example.org",))
    named = AgentSettings(
        process_variables=("FAKE_OPTIONS",), allowed_hosts=("b.example.org:443",), additional_directories=directories
    )
    settings = Settings(agents={"acp": kind, "fake": named}, sandbox=sandbox or SandboxSettings())
    async with serve_app(settings) as served:
        app = served.app
        app.providers.register("old", Landlock(env=environment(served.places), version=3))
        app.providers.register("boxed", Boxed())
        probe = await app.providers.require(provider).probe()
        if not probe.works:
            refuse(probe.detail)
        home = Path(environment(served.places)["HOME"])
        if prepare is not None:
            prepare(home)
        log = Path(app.bench.root, "fake.log")
        given = {"FAKE_LOG": str(log), "FAKE_OPTIONS": json.dumps(options), **(env or {})}
        session = app.bench.begin_session("fake", "acp")
        session.state = msgspec.structs.replace(session.state, provider=provider)
        app.gate.consent.grant(session.id)
        servers = OwnServer(served.url, app.bench.root, lambda one: served.running.tokens.issue(one.actor), {})
        agent = AcpAgent(
            app.bench,
            session,
            recipe or other("fake"),
            [sys.executable, FAKE],
            env={**environment(served.places), **given},
            mcp_servers=servers,
        )
        events: list[Event] = []
        app.events.published.subscribe(events.append)
        async with agent:
            async with asyncio.timeout(LIMIT_S):
                await agent.ready()
            yield Stage(served, session, agent, home, log, events)


def lived_in(home: Path) -> None:
    """A home in which claude has been used, with secrets of others."""
    for name in (".ssh/id_ed25519", ".netrc", ".aws/credentials", ".config/gh/hosts.yml", ".bashrc", ".gitconfig"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("a-secret-of-mine\n" if name not in (".bashrc", ".gitconfig") else "# mine\n")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{}")
    (home / ".claude" / ".credentials.json").write_text('{"token": "its own"}')
    (home / ".claude.json").write_text('{"mcpServers": {}}')


@rungs
async def test_a_hostile_agent_gets_at_nothing_of_the_persons(provider: str) -> None:
    secrets = {"MY_DATABASE_PASSWORD": "a-secret-of-mine", "ANTHROPIC_API_KEY": "its-key", "AWS_PROFILE": "work"}
    async with staged(provider, recipes()["claude"], env=secrets, prepare=lived_in) as stage:
        served, home = stage.served, stage.home
        _, token = served.agent("Bob")
        before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
        kept = [".claude/settings.json", ".bashrc", ".gitconfig"]
        new = [".claude/hooks/run.sh", ".claude/settings.local.json", ".claude/agents/a.md", ".profile", ".config/x"]
        found = await stage.attack(
            {
                "secrets": [
                    *(f"{home}/{name}" for name in (".ssh/id_ed25519", ".netrc", ".aws/credentials")),
                    f"{home}/.config/gh/hosts.yml",
                    str(served.running.tokens.file),
                    f"{served.places.state}/journal.sqlite",
                ],
                "kept": [f"{home}/{name}" for name in kept],
                "new": [f"{home}/{name}" for name in new],
                "host": served.places.socket,
                "port": served.port,
                "server": os.getpid(),
                "own": served.running.tokens.issue(stage.session.actor),
                "other": token,
                "program": served.token.strip(),
            }
        )
        after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
        assert after == before  # what it planted, it planted in a home of its own
        variables = found.pop("variables")
        assert "ANTHROPIC_API_KEY" in variables
        assert not {"MY_DATABASE_PASSWORD", "AWS_PROFILE"} & set(variables)
        assert found.pop("own token", "").startswith("200")
        planted = {name for name, got in found.items() if name.startswith("plant ") and got}
        assert {name: got for name, got in found.items() if got and name not in planted} == {}
        assert served.app.questions.open() == []


async def test_what_an_agent_shares_with_the_person_and_what_it_keeps_to_itself() -> None:
    async with staged("bubblewrap", recipes()["claude"], prepare=lived_in) as stage:
        home = stage.home
        code = f"""
import os
home = {str(home)!r}
open(home + "/.claude/projects/chat.jsonl", "w").write("said")
open(home + "/.claude/.credentials.json", "w").write("renewed")
open(home + "/.claude/new", "w").write("x")
open(home + "/.claude.json.tmp", "w").write("its own now")
os.rename(home + "/.claude.json.tmp", home + "/.claude.json")
found["settings"] = open(home + "/.claude/settings.json").read()
"""
        assert await stage.turn(["python", code]) == [{"settings": "{}"}]
        assert (home / ".claude" / "projects" / "chat.jsonl").read_text() == "said"
        assert (home / ".claude" / ".credentials.json").read_text() == "renewed"
        assert (home / ".claude.json").read_text() == '{"mcpServers": {}}'
        names = {path.name for path in (home / ".claude").iterdir()}
        assert names == {".credentials.json", "plans", "projects", "settings.json", "tasks", "todos"}  # no placeholders


@rungs
async def test_its_own_programs_and_ours_share_a_sandbox_and_it_ends_like_any_agent(provider: str) -> None:
    async with staged(provider) as stage:
        info = stage.served.app.bench.describe_session(stage.session)
        assert (info.isolation, info.rung) == ("sandbox", provider)
        assert {"isolation": "sandbox", "rung": provider}.items() <= stage.of("agent.changed")[0].items()
        rules = stage.served.app.bench.network.gatekeeper.rules.list()
        assert [(rule.host, rule.session) for rule in rules if rule.source == "agent"] == [
            ("a.example.org", stage.session.id),
            ("b.example.org:443", stage.session.id),
        ]
        code = "import os, subprocess; open('mark', 'w').close(); found['pid'] = subprocess.Popen(['sleep', '300']).pid"
        ((first),) = await stage.turn(["python", code])
        bench = stage.served.app.bench
        terminal = await bench.terminals.create(
            provider=provider, cell=stage.session.id, argv=["sh", "-c", f"kill -0 {first['pid']}"]
        )
        await terminal.wait(exit=True, deadline_s=40)
        assert terminal.exit is not None
        assert terminal.exit.code == 0
        pid = stage.pid

        async def disconnect(session: Session) -> None:
            await stage.agent.__aexit__(None, None, None)

        bench.disconnect = disconnect
        await bench.end_session(stage.session.id)
        assert not Path(f"/proc/{pid}").exists()
        assert stage.of("agent.exited") == []


async def test_a_sandbox_that_dies_ends_the_agent_in_words_and_the_next_turn_starts_both() -> None:
    async with staged("bubblewrap", deaf=True) as stage:
        pid = stage.pid
        os.kill(_builder(pid), 9)
        await until(lambda: stage.of("agent.exited"))
        assert "its sandbox has ended" in stage.of("agent.exited")[0]["error"]
        await stage.turn(["say", "back"])
        assert stage.pid != pid


async def test_an_agent_in_a_sandbox_that_was_there_before_it() -> None:
    """One in which nothing runs makes room; programs that run are not ended for it."""
    async with staged("bubblewrap") as stage:
        app, env = stage.served.app, {**environment(stage.served.places), "FAKE_LOG": str(stage.log)}
        for busy in (False, True):
            session = app.bench.begin_session("fake", "acp")
            session.state = msgspec.structs.replace(session.state, provider="bubblewrap")
            argv = ["sleep", "300"] if busy else ["true"]
            terminal = await app.terminals.create(provider="bubblewrap", cell=session.id, argv=argv)
            if not busy:
                await terminal.wait(exit=True, deadline_s=40)
            async with AcpAgent(app.bench, session, recipes()["claude"], [sys.executable, FAKE], env=env) as agent:
                if busy:
                    with pytest.raises(Conflict, match="programs run in it"):
                        await agent.ready()
                    assert terminal.exit is None
                else:
                    await agent.ready()


async def test_an_agent_that_was_killed_is_started_again_beside_what_runs_there() -> None:
    async with staged("bubblewrap", capabilities={"loadSession": True}) as stage:
        terminals, cell = stage.served.app.terminals, stage.session.id
        terminal = await terminals.create(provider="bubblewrap", cell=cell, argv=["sleep", "300"])
        pid = stage.pid
        os.kill(pid, 9)
        await until(lambda: stage.of("agent.exited"))
        assert "SIGKILL" in stage.of("agent.exited")[0]["error"]
        code = "import subprocess as s; found['sees'] = 'sleep' in s.run(['ps', '-e'], stdout=-1, text=True).stdout"
        assert await stage.turn(["python", code]) == [{"sees": True}]
        assert terminal.exit is None
        asked = [json.loads(line).get("method") for line in stage.log.read_text().splitlines()]
        assert "session/load" in asked


async def test_a_session_that_ends_while_its_agent_starts_leaves_nothing_in_the_sandbox() -> None:
    async with staged("bubblewrap") as stage:
        app, session = stage.served.app, stage.served.app.bench.begin_session("fake", "acp")
        session.state = msgspec.structs.replace(session.state, provider="bubblewrap")
        log, deaf = stage.log.with_name("deaf.log"), '{"silent": true, "deaf": true}'
        log.touch()
        env = {**environment(stage.served.places), "FAKE_LOG": str(log), "FAKE_OPTIONS": deaf}
        agent = AcpAgent(app.bench, session, other("fake"), [sys.executable, FAKE], env=env)
        async with agent:
            starting = app.tasks.start(agent.ready(), "its start")
            await until(lambda: agent.runtime.process and "initialize" in log.read_text())
            assert agent.runtime.process is not None
            pid = agent.runtime.process.pid
            assert Path(f"/proc/{pid}").exists()
            starting.cancel()
        assert not Path(f"/proc/{pid}").exists()


def _builder(pid: int) -> int:
    """The process that holds the sandbox: the one above the first in there."""
    above = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return int(Path(f"/proc/{above}/stat").read_text().rpartition(")")[2].split()[1])


@rungs
async def test_an_agent_without_http_has_our_server_as_a_command(provider: str) -> None:
    async with staged(provider) as stage:
        sent = [json.loads(line) for line in stage.log.read_text().splitlines()]
        (server,) = next(one["params"]["mcpServers"] for one in sent if one.get("method") == "session/new")
        code = f"""
import json, os, subprocess
server = {server!r}
env = {{**os.environ, **{{one["name"]: one["value"] for one in server["env"]}}}}
hello = {{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {{"protocolVersion": "2025-06-18",
    "capabilities": {{}}, "clientInfo": {{"name": "x", "version": "1"}}}}}}
done = {{"jsonrpc": "2.0", "method": "notifications/initialized"}}
tool = {{"name": "openspace_file_list", "arguments": {{}}}}
call = {{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": tool}}
with subprocess.Popen([server["command"], *server["args"]], env=env, stdin=-1, stdout=-1, stderr=-1) as run:
    for message in (hello, done, call):
        run.stdin.write(json.dumps(message).encode() + b"\\n"); run.stdin.flush()
        if "id" in message:
            found[str(message["id"])] = run.stdout.readline().decode()
    run.kill()
    found["errors"] = run.stderr.read().decode()
"""
        (found,) = await stage.turn(["python", code])
        assert "fake.log" in found["2"], found


async def test_an_agent_that_cannot_be_in_the_sandbox_says_what_to_set() -> None:
    listens = msgspec.structs.replace(other("fake"), sandbox=msgspec.structs.replace(other("x").sandbox, listens=True))
    cases = [
        ("landlock", listens, "listens on a port"),
        ("old", None, "cannot let an agent reach its model"),
        ("boxed", None, "of its own"),
    ]
    for provider, recipe, words in cases:
        with pytest.raises(Unsupported, match=words) as caught:
            async with staged(provider, recipe):
                pass
        assert 'provider = "local"' in caught.value.hint, provider


async def test_what_an_agent_keeps_in_the_sandbox_no_other_agent_finds() -> None:
    code = "import os; found['there'] = os.path.exists(os.environ['HOME'] + '/.claude.json')"
    async with staged("bubblewrap", recipes()["claude"], prepare=lived_in) as stage:
        assert await stage.turn(["python", code]) == [{"there": True}]
        bench = stage.served.app.bench
        await stage.agent.__aexit__(None, None, None)
        await bench.end_session(stage.session.id)
        done = await bench.terminals.run_script("ls -A ~", provider="bubblewrap", cell="session_next")
        assert done.error is None
        assert ".claude" not in done.output
