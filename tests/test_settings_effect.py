"""Every setting does something: each is changed in a file, read as the program reads it, and its effect is seen."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.commands.test_policy import Bar
from tests.kit.person import Person, let_in
from tests.kit.server import until
from tests.kit.workbench import environment, temporary_places

from fourhands.agents.models.upstream import Upstreams
from fourhands.app import App
from fourhands.core.call import Actor, Call, JournalEntry
from fourhands.core.errors import BadCwd, Denied, NoAnswer
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers.container import Container
from fourhands.settings import (
    AgentSettings,
    BubblewrapSettings,
    ContainerSettings,
    Settings,
    SettingsGroup,
    UpstreamSettings,
    load,
    user_file,
)
from fourhands.surfaces.server import serving
from fourhands.workbench.sessions import Session

ROOT = Path(__file__).parent.parent

UNATTENDED = (
    "tests/surfaces/mcp/test_unattended.py::test_settings_hold_for_a_configured_name_alone_and_flags_override_them"
)
MODELS = "tests/agents/connectors/test_chat_model_requests.py::test_a_model_is_asked_as_the_settings_say"
PROJECT = "tests/agents/connectors/test_project.py::test_settings_switch_it_off_and_nothing_there_adds_nothing"
SANDBOX = "tests/agents/connectors/test_sandbox.py"
DIRECTORIES = "tests/agents/connectors/test_directories.py"

EFFECTS = {
    "terminal.maxTerminals": "test_terminals_are_made_as_the_settings_say",
    "terminal.cols": "test_terminals_are_made_as_the_settings_say",
    "terminal.rows": "test_terminals_are_made_as_the_settings_say",
    "terminal.shells": "test_terminals_are_made_as_the_settings_say",
    "terminal.spareShell": "test_terminals_are_made_as_the_settings_say",
    "terminal.allowedRoot": "test_terminals_are_made_as_the_settings_say",
    "terminal.lingerSeconds": "test_the_host_is_started_as_the_settings_say",
    "terminal.capacity": "test_output_is_kept_as_the_settings_say",
    "terminal.logBudget": "test_output_is_kept_as_the_settings_say",
    "terminal.keepDays": "test_output_is_kept_as_the_settings_say",
    "terminal.keepBytes": "test_output_is_kept_as_the_settings_say",
    "agentDefaults.provider": "test_agents_begin_as_the_settings_say",
    "agentDefaults.variables": "test_agents_begin_as_the_settings_say",
    "agentDefaults.bash.cropOutput": "test_agents_begin_as_the_settings_say",
    "agentDefaults.bash.timeoutSeconds": "test_agents_begin_as_the_settings_say",
    "agentDefaults.persistent.minInterval": "test_agents_wait_as_the_settings_say",
    "agentDefaults.persistent.settleInterval": "test_agents_wait_as_the_settings_say",
    "agentDefaults.persistent.maxInterval": "test_agents_wait_as_the_settings_say",
    "agents.provider": "test_an_agent_of_that_name_begins_as_the_settings_say",
    "agents.cwd": "test_an_agent_of_that_name_begins_as_the_settings_say",
    "agents.processVariables": f"{SANDBOX}::test_its_own_programs_and_ours_share_a_sandbox_and_it_ends_like_any_agent",
    "agents.allowedHosts": f"{SANDBOX}::test_its_own_programs_and_ours_share_a_sandbox_and_it_ends_like_any_agent",
    "agents.additionalDirectories": f"{DIRECTORIES}::test_a_directory_of_the_settings_is_shown_read_only_and_named",
    "agents.acpVersion": "tests/agents/acp/test_version2.py::test_the_settings_of_an_agent_choose_its_version",
    "agents.allow": UNATTENDED,
    "agents.askBy": UNATTENDED,
    "agents.tools": UNATTENDED,
    "agents.mode": MODELS,
    "agents.maxTokens": MODELS,
    "agents.contextTokens": MODELS,
    "agents.price": MODELS,
    "agents.bash.cropOutput": "test_an_agent_of_that_name_begins_as_the_settings_say",
    "agents.bash.timeoutSeconds": "test_an_agent_of_that_name_begins_as_the_settings_say",
    "agents.persistent.minInterval": "test_an_agent_of_that_name_begins_as_the_settings_say",
    "agents.persistent.settleInterval": "test_an_agent_of_that_name_begins_as_the_settings_say",
    "agents.persistent.maxInterval": "test_an_agent_of_that_name_begins_as_the_settings_say",
    "providers.bubblewrap.network": "tests/providers/test_bubblewrap.py::test_the_network_can_be_allowed",
    "providers.bubblewrap.readable": "tests/providers/test_bubblewrap.py::"
    "test_what_is_readable_cannot_be_written_even_inside_the_workspace",
    "providers.bubblewrap.writable": "tests/providers/test_bubblewrap.py::"
    "test_further_directories_can_be_made_writable",
    "providers.bubblewrap.maxProcesses": "tests/providers/test_bubblewrap.py::"
    "test_a_fork_bomb_leaves_the_others_usable",
    "providers.bubblewrap.maxMemory": "tests/providers/test_bubblewrap.py::"
    "test_a_memory_hog_is_stopped_and_the_others_go_on",
    "providers.bubblewrap.requireLimits": "tests/providers/test_bubblewrap.py::"
    "test_limits_that_cannot_be_kept_are_refused_or_told",
    "providers.container.image": "tests/providers/test_container.py::test_what_is_missing_is_named",
    "providers.container.engine": "tests/providers/test_container.py::"
    "test_an_engine_that_is_not_there_or_does_not_answer_is_named",
    "providers.container.network": "test_a_container_is_started_as_the_settings_say",
    "providers.container.readable": "test_a_container_is_started_as_the_settings_say",
    "providers.container.writable": "test_a_container_is_started_as_the_settings_say",
    "providers.container.maxProcesses": "test_a_container_is_started_as_the_settings_say",
    "providers.container.maxMemory": "test_a_container_is_started_as_the_settings_say",
    "providers.container.maxCpus": "test_a_container_is_started_as_the_settings_say",
    "sandbox.hideSecrets": "tests/providers/test_view.py::test_the_sandbox_shows_what_the_settings_say",
    "sandbox.perWorkspace": "tests/providers/test_view.py::test_the_sandbox_shows_what_the_settings_say",
    "sandbox.readable": "tests/providers/test_view.py::test_the_sandbox_shows_what_the_settings_say",
    "sandbox.writable": "tests/providers/test_view.py::test_the_sandbox_shows_what_the_settings_say",
    "sandbox.devices": "tests/providers/test_view.py::test_the_sandbox_shows_what_the_settings_say",
    "safety.safeCommands": "test_what_is_asked_and_hidden_is_as_the_settings_say",
    "safety.dangerousCommands": "test_what_is_asked_and_hidden_is_as_the_settings_say",
    "safety.secretNames": "test_what_is_asked_and_hidden_is_as_the_settings_say",
    "safety.notSecretNames": "test_what_is_asked_and_hidden_is_as_the_settings_say",
    "safety.redact": "test_what_is_asked_and_hidden_is_as_the_settings_say",
    "safety.unknownAnswerSeconds": "test_questions_wait_as_the_settings_say",
    "safety.waitForSomebody": "test_questions_wait_as_the_settings_say",
    "safety.ask": "tests/commands/test_asking.py::test_in_a_sandbox_the_table_decides",
    "sandbox.network": "test_hosts_are_reached_as_the_settings_say",
    "sandbox.allowedHosts": "test_hosts_are_reached_as_the_settings_say",
    "checkpoints.enabled": "test_checkpoints_are_as_the_settings_say",
    "checkpoints.budgetSeconds": "test_checkpoints_are_as_the_settings_say",
    "checkpoints.keepBytes": "test_checkpoints_are_as_the_settings_say",
    "checkpoints.keepDays": "test_checkpoints_are_as_the_settings_say",
    "checkpoints.largeBytes": "test_checkpoints_are_as_the_settings_say",
    "journal.keepDays": "test_the_journal_keeps_what_the_settings_say",
    "journal.keepBytes": "test_the_journal_keeps_what_the_settings_say",
    "journal.undoBytes": "test_the_journal_keeps_what_the_settings_say",
    "project.instructions": PROJECT,
    "project.skills": PROJECT,
    "notices.warnings": "test_the_page_and_its_door_are_as_the_settings_say",
    "server.host": "test_the_page_and_its_door_are_as_the_settings_say",
    "server.port": "test_the_page_and_its_door_are_as_the_settings_say",
    "server.allowedHosts": "test_the_page_and_its_door_are_as_the_settings_say",
    "server.maxSessions": "test_the_page_and_its_door_are_as_the_settings_say",
    "server.returnSeconds": "tests/app/test_wiring.py::"
    "test_what_belongs_to_sessions_that_do_not_come_back_goes_after_a_while",
    "upstreams.url": "tests/agents/models/test_upstream.py::test_a_version_in_the_address_stands_for_ours",
    "upstreams.keyVariable": "tests/agents/models/test_upstream.py::test_a_key_that_is_not_set_is_named",
    "upstreams.keyHeader": "tests/agents/models/test_upstream.py::test_another_header_may_carry_the_key",
    "upstreams.connectSeconds": "test_a_models_server_is_awaited_as_the_settings_say",
    "upstreams.silenceSeconds": "test_a_models_server_is_awaited_as_the_settings_say",
    "plugins": "tests/providers/test_registry.py::test_plugins_are_loaded_only_when_named",
}
"""Where the effect of each setting is tested: in this file, or in another."""

NAMED: dict[str, type[msgspec.Struct]] = {
    "providers.bubblewrap": BubblewrapSettings,
    "providers.container": ContainerSettings,
    "upstreams": UpstreamSettings,
    "agents": AgentSettings,
}


def leaves(struct: type[msgspec.Struct], prefix: str = "") -> dict[str, str]:
    """All settings below one: the name in the file, and the name in Python."""
    found: dict[str, str] = {}
    for field in msgspec.structs.fields(struct):
        key = f"{prefix}{field.encode_name}"
        if isinstance(field.default, SettingsGroup):
            found |= leaves(type(field.default), f"{key}.")
        elif key not in ("providers", "upstreams", "agents"):
            found[key] = field.name
    return found


def every_setting() -> dict[str, str]:
    found = leaves(Settings)
    for prefix, struct in NAMED.items():
        found |= leaves(struct, f"{prefix}.")
    return found


def test_every_setting_has_a_reader_and_a_test_of_its_effect() -> None:
    settings = every_setting()
    assert settings.keys() == EFFECTS.keys()
    reads = {"hosting.py"}  # of the files beside the settings, this one does not declare any
    sources = [p for p in (ROOT / "src").rglob("*.py") if p.parent.name != "settings" or p.name in reads]
    text = "\n".join(path.read_text() for path in sources)
    for key, name in settings.items():
        assert re.search(rf"\.{name}\b", text), f"nothing in src/ reads {key}"
    for key, test in EFFECTS.items():
        file, _, name = test.rpartition("::")
        code = (ROOT / file if file else Path(__file__)).read_text()
        assert f"def {name}(" in code, f"the test of {key} is gone: {test}"


def configured(places: WorkspaceDirs, text: str) -> Settings:
    env = environment(places)
    file = Path(user_file(env))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return load(places.workspace, env=env)


LOCAL = "[agentDefaults]\nprovider = 'local'\n"


@contextlib.asynccontextmanager
async def opened(text: str, **env: str) -> AsyncIterator[App]:
    """A workbench with these settings in the person's file."""
    if "[terminal]" not in text:
        text += "\n[terminal]\nspareShell = false\nlingerSeconds = 1\n"
    with temporary_places() as places:
        settings = configured(places, text)
        async with App(places.workspace, settings, places=places, env=environment(places) | env) as app:
            try:
                yield app
            finally:
                await app.terminals.stop()


async def call(app: App, verb: str, session: Session | None = None, **args: object) -> dict[str, Any]:
    actor = session.actor if session else None
    async with asyncio.timeout(40):
        return (await app.call(f"openspace.{verb}", args, actor=actor)).to_wire()


async def test_terminals_are_made_as_the_settings_say() -> None:
    small = "maxTerminals = 1\ncols = 91\nrows = 17\nshells = ['/bin/sh']\nallowedRoot = '/'\nlingerSeconds = 1"
    async with opened(f"[terminal]\n{small}\nspareShell = false") as app:
        assert (await call(app, "terminal.create", shellPath="/bin/bash"))["code"] != ""
        made = await call(app, "terminal.create", cwd="/")
        assert made["success"], made
        terminal = app.terminals.get(made["terminalId"])
        assert terminal.size == (91, 17)
        assert terminal.argv[0] == "/bin/sh"
        await app.terminals.settled()
        assert app.terminals.spare is None
        assert (await call(app, "terminal.create"))["code"] == "limit"
    async with opened("[terminal]\nlingerSeconds = 1") as app:
        assert (await call(app, "terminal.create", cwd="/"))["code"] == "bad-cwd"
        assert (await call(app, "terminal.create", shellPath="/bin/bash"))["success"]
        assert (await call(app, "terminal.create"))["success"]
        await app.terminals.settled()
        assert app.terminals.spare is not None


async def test_the_host_is_started_as_the_settings_say() -> None:
    async with opened("[terminal]\nlingerSeconds = 2.5\nspareShell = false") as app:
        words = Path(f"/proc/{app.terminals.host_pid}/cmdline").read_bytes().split(b"\0")
        assert words[words.index(b"--linger") + 1] == b"2.5"


async def test_output_is_kept_as_the_settings_say() -> None:
    async def shown(options: str) -> tuple[int, bool]:
        """How much is gone of 3 MB of output, and whether it is on disk after its terminal was closed."""
        async with opened(f"[terminal]\nlingerSeconds = 1\nspareShell = false\n{options}") as app:
            terminal = await app.terminals.create(argv=["seq", "430000"])
            await terminal.wait(exit=True, deadline_s=40)
            floor, log = terminal.log.floor, app.places.log(terminal.id)
            await terminal.close()
            return floor, os.path.exists(log)

    assert await shown("") == (0, True)
    assert (await shown("capacity = 200000"))[0] > 2_000_000
    assert (await shown("logBudget = 200000"))[0] > 1_000_000
    assert await shown("keepDays = 0") == (0, False)
    assert await shown("keepBytes = 0") == (0, False)


async def test_agents_begin_as_the_settings_say() -> None:
    text = LOCAL + "variables = ['FOR_AGENTS']\nbash = { cropOutput = 20, timeoutSeconds = 0.5 }\n"
    safe = "[safety]\nsafeCommands = ['sleep', 'seq', 'echo']\n"
    async with opened(text + safe, FOR_AGENTS="yes", NOT_FOR_AGENTS="no") as app:
        ada = let_in(app)
        seen = await call(app, "tool.bash", ada, command="echo $FOR_AGENTS$NOT_FOR_AGENTS")
        assert seen.get("output") == "yes\n", seen
        assert (await call(app, "tool.bash", ada, command="seq 1000"))["truncated"]
        assert "0.5" in str(await call(app, "tool.bash", ada, command="sleep 1000"))
    async with opened("[agentDefaults]\nprovider = 'elsewhere'\n") as app:
        assert "elsewhere" in (await call(app, "terminal.create", let_in(app)))["error"]


async def test_an_agent_of_that_name_begins_as_the_settings_say() -> None:
    text = """[agents.ada]
cwd = 'deeper'
bash = { cropOutput = 20, timeoutSeconds = 0.5 }
persistent = { minInterval = 0.0, settleInterval = 3600, maxInterval = 0.2 }
[agents.bob]
provider = 'elsewhere'
persistent = { minInterval = 0.7, settleInterval = 0.01, maxInterval = 3600 }
[safety]
safeCommands = ['sleep', 'seq']
"""
    async with opened(text) as app:
        with pytest.raises(BadCwd, match="'deeper' does not exist"):
            app.bench.begin_session("ada", "test")
        Path(app.bench.root, "deeper").mkdir()
        began = app.bench.begin_session("ada", "test")
        assert (began.state.cwd, app.bench.own_cwd(began)) == ("deeper", f"{app.bench.root}/deeper")
        await app.bench.end_session(began.id)
        ada, eve = let_in(app, "ada"), let_in(app, "eve")
        assert (await call(app, "tool.bash", ada, command="seq 1000"))["truncated"]
        assert not (await call(app, "tool.bash", eve, command="seq 1000"))["truncated"]
        assert "0.5" in str(await call(app, "tool.bash", ada, command="sleep 1000"))
        assert (await call(app, "tool.terminal_start", ada, command="sleep 1000"))["reason"] == "maxInterval"
        await call(app, "agent.configure", ada, cropOutput=5000, maxInterval=3600.0, settleInterval=0.01)
        assert not (await call(app, "tool.bash", ada, command="seq 1000"))["truncated"]  # its own state is above
        bob = let_in(app, "bob")
        assert "elsewhere" in (await call(app, "terminal.create", bob))["error"]
        await call(app, "agent.configure", sessionId="bob", provider="local")
        result = await app.call("openspace.tool.terminal_start", {"command": "sleep 1000"}, actor=bob.actor)
        assert (result.data["reason"], result.duration_ms >= 700) == ("settled", True)


async def test_agents_wait_as_the_settings_say() -> None:
    async def waited(intervals: str) -> tuple[str, float]:
        text = f"[agentDefaults.persistent]\n{intervals}\n[safety]\nsafeCommands = ['sleep']\n"
        async with opened(text) as app:
            result = await app.call("openspace.tool.terminal_start", {"command": "sleep 1000"}, actor=let_in(app).actor)
            return str(result.data["reason"]), result.duration_ms

    assert (await waited("minInterval = 0.0\nsettleInterval = 0.05\nmaxInterval = 3600"))[0] == "settled"
    assert (await waited("minInterval = 0.0\nsettleInterval = 3600\nmaxInterval = 0.2"))[0] == "maxInterval"
    reason, took_ms = await waited("minInterval = 0.7\nsettleInterval = 0.01\nmaxInterval = 3600")
    assert reason == "settled"
    assert took_ms >= 700


async def test_a_container_is_started_as_the_settings_say(tmp_path: Path) -> None:
    engine = tmp_path / "docker"
    engine.write_text(f'#!/bin/sh\n[ "$1" = run ] && printf "%s\\n" "$@" >{tmp_path}/asked\nexit 0\n')
    engine.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()

    async def options(text: str) -> list[str]:
        with temporary_places() as places:
            settings = configured(places, f"[providers.box]\ntype = 'container'\nimage = 'x'\n{text}\n")
        chosen = settings.providers["box"]
        assert isinstance(chosen, ContainerSettings)
        await Container(chosen, visible=True, env={"HOME": str(tmp_path)}, search_path=str(tmp_path)).prepare(
            str(work), ()
        )
        return (tmp_path / "asked").read_text().splitlines()

    assert "--network" in await options("")
    assert "--network" not in await options("network = true")
    limits = await options("maxProcesses = 7\nmaxMemory = 1000000\nmaxCpus = 1.5")
    assert {"7", "1000000", "1.5"} <= set(limits)
    assert {"--pids-limit", "--memory"} & set(await options("maxProcesses = 0\nmaxMemory = 0")) == set()
    assert any("/opt" in word and "readonly" in word for word in await options("readable = ['/opt']"))
    assert any("/opt" in word and "readonly" not in word for word in await options("writable = ['/opt']"))


async def test_what_is_asked_and_hidden_is_as_the_settings_say() -> None:
    text = """[safety]
safeCommands = ['frob']
dangerousCommands = ['^echo boo$']
secretNames = ['*.hush']
notSecretNames = ['.npmrc']
redact = false
"""
    token = "ghp_" + "a1B2" * 9
    for settings, changed in ((text, True), ("", False)):
        async with opened(settings) as app:
            ada = let_in(app)
            for name in ("a.hush", ".npmrc"):
                Path(app.bench.root, name).write_text("x")
            bar = Bar(app)
            assert (bar.line("frob").level == "safe") is changed
            assert (bar.line("echo boo").level == "dangerous") is changed
            assert (await call(app, "file.read", ada, path="a.hush"))["success"] is not changed
            assert (await call(app, "file.read", ada, path=".npmrc"))["success"] is changed
            assert (token in app.bench.redact(token)) is changed


async def test_hosts_are_reached_as_the_settings_say() -> None:
    async def reached(text: str, host: str) -> bool:
        async with opened(text) as app:
            try:
                await app.bench.network.gatekeeper.require("session_x", host, 443)
            except (Denied, NoAnswer):
                return False
            return True

    listed = "[sandbox]\nallowedHosts = ['*.example.org']\n"
    assert await reached(listed, "a.example.org")
    assert not await reached(listed, "example.com")
    assert not await reached(f"{listed}network = 'off'\n", "a.example.org")
    assert await reached("[sandbox]\nnetwork = 'on'\n", "example.com")
    assert not await reached("[sandbox]\nnetwork = 'on'\n", "host.fourhands.internal")


async def test_questions_wait_as_the_settings_say() -> None:
    async with opened(LOCAL + "[safety]\nunknownAnswerSeconds = 0.2\n") as app:
        Person(app)
        assert (await call(app, "tool.bash", let_in(app), command="./frob"))["code"] == "no-answer"
    async with opened(LOCAL + "[safety]\nunknownAnswerSeconds = 0.2\nwaitForSomebody = true\n") as app:
        ada = let_in(app)
        asked = app.tasks.start(call(app, "tool.bash", ada, command="./frob"), "a call")
        await until(app.questions.open)  # nobody is there, and it is kept for somebody
        Person(app)
        assert (await asked)["code"] == "no-answer"
    async with opened(LOCAL) as app:
        assert "no one is available" in (await call(app, "tool.bash", let_in(app), command="./frob"))["error"]


async def test_checkpoints_are_as_the_settings_say() -> None:
    async with opened("[checkpoints]\nbudgetSeconds = 30\nkeepBytes = 1048576\nkeepDays = 3\nlargeBytes = 10\n") as app:
        store = app.bench.turns.store
        Path(app.bench.root, "large").write_text("more than ten bytes")
        taken = await asyncio.to_thread(store.take)
        assert [one.path for one in taken.left_out] == ["large"]
        assert store.budget().seconds == 30
        assert store.most_bytes() <= 1048576
        await asyncio.to_thread(store.prune, taken.time + 2 * 86_400)
        assert store.list() != []
        await asyncio.to_thread(store.prune, taken.time + 4 * 86_400)
        assert store.list() == []
    async with opened("[checkpoints]\nenabled = false\n") as app:
        assert "switched off" in app.bench.turns.store.unavailable


async def test_the_journal_keeps_what_the_settings_say() -> None:
    async with opened("[journal]\nkeepDays = 3\nkeepBytes = 1048576\nundoBytes = 1000\n") as app:
        made = [
            JournalEntry(
                call=Call(command="openspace.x.y", args={"text": "x" * 60_000}, actor=Actor.person()), asked=1e9 + n
            )
            for n in range(40)
        ]
        for entry in made:
            await app.journal.record(entry)
            await app.journal.keep(entry.call.id, "a.txt", os.urandom(400))
        await app.journal.record(made[-1])
        left = await app.journal.query(command="openspace.x.y")
        assert 10 < len(left) < 20
        assert [bool(await app.journal.before(entry.call.id)) for entry in left[-4:]] == [False, False, True, True]
        assert app.journal.keep_days == 3  # what that means: tests/workbench/records/test_journal.py


async def test_the_page_and_its_door_are_as_the_settings_say() -> None:
    text = "[notices]\nwarnings = false\n[server]\nhost = '127.0.0.9'\nport = 0\nallowedHosts = ['bench.test']\n"
    async with opened(text + "maxSessions = 1\n") as app:
        assert (await call(app, "workbench.snapshot"))["warnings"] is False
        let_in(app)
        with pytest.raises(Exception, match="maxSessions"):
            let_in(app, "another")
        async with serving(app.bench, app.tasks) as running:
            assert running.address.host == "127.0.0.9"
            assert running.address.port != 4404
            for name, status in (("bench.test", b"200"), ("other.test", b"4")):
                reader, writer = await asyncio.open_connection("127.0.0.9", running.address.port)
                writer.write(f"GET /health HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n".encode())
                assert (await reader.readline()).split()[1].startswith(status)
                writer.close()
                await writer.wait_closed()
    async with opened("") as app:
        assert (await call(app, "workbench.snapshot"))["warnings"] is True


def test_a_models_server_is_awaited_as_the_settings_say() -> None:
    with temporary_places() as places:
        text = "[upstreams.openai]\nurl = 'http://127.0.0.1:9/v1'\nconnectSeconds = 1.5\nsilenceSeconds = 2.5\n"
        settings = configured(places, text)
    origin = Upstreams(settings.upstreams, {}).find("openai").pool
    assert (origin.connect_s, origin.silence_s) == (1.5, 2.5)
