"""`fourhands acp`: an editor on the other side, over a socket and as a real process on pipes."""

import asyncio
import contextlib
import json
import os
import re
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import schema
from click.testing import CliRunner
from tests.kit.acp_messages import check, same_as_golden
from tests.kit.person import Person
from tests.kit.server import short_places
from tests.kit.workbench import MINIMAL, environment, open_app, temporary_places

from fourhands.agents.acp.jsonrpc import PeerFailed, RpcConnection
from fourhands.commands import exec as exec_commands
from fourhands.core.errors import Unavailable
from fourhands.core.tasks import Tasks
from fourhands.surfaces.acp import EditorConnection, acp_command, joinable

pytestmark = pytest.mark.timeout(60)

LIMIT_S = 40
INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "vim", "version": "9"}}


class Editor:
    """The program on the other side; `answers` says what it chooses when it is asked."""

    peer: RpcConnection

    def __init__(self, app):
        self.app = app
        self.answers: asyncio.Queue[object] = asyncio.Queue()
        self.asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.withdrawn = asyncio.Event()
        self.session = ""

    async def permission(self, params):
        schema.RequestPermissionRequest.model_validate(params)
        await self.asked.put(params)
        try:
            return await self.answers.get()
        except asyncio.CancelledError:
            self.withdrawn.set()
            raise

    def choose(self, option):
        self.answers.put_nowait({"outcome": {"outcome": "selected", "optionId": option}})

    async def call(self, method, **params):
        async with asyncio.timeout(LIMIT_S):
            return await self.peer.request(method, params)

    async def terminal(self, method, **params):
        return await self.call(f"terminal/{method}", **{"sessionId": self.session, **params})

    async def error(self, method, **params):
        with pytest.raises(PeerFailed) as caught:
            await self.call(method, **params)
        details = caught.value.details
        return caught.value.number, details.get("code") if isinstance(details, dict) else None

    async def open(self, cwd=None, *, consent=True):
        await self.call("initialize", **INITIALIZE)
        answer = await self.call("session/new", cwd=cwd or self.app.bench.root, mcpServers=[])
        schema.NewSessionResponse.model_validate(answer)
        self.session = answer["sessionId"]
        if consent:
            self.app.gate.consent.grant(self.session)
        return self.session


@asynccontextmanager
async def open_editor(*, can_be_asked=True):
    async with open_app() as app, Tasks() as tasks:
        for command in exec_commands.commands.commands:
            if command.id not in app.registry:
                app.registry.add(command)
        ours, theirs = socket.socketpair()
        door = EditorConnection(app.bench, app.tasks, *await asyncio.open_connection(sock=ours))
        serving = app.tasks.start(door.run(), "door")
        reader, writer = await asyncio.open_connection(sock=theirs)
        editor = Editor(app)
        methods = {"session/request_permission": editor.permission} if can_be_asked else {}
        editor.peer = RpcConnection(reader, writer, tasks, methods=methods)
        tasks.start(editor.peer.run(), "editor")
        try:
            yield editor
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            async with asyncio.timeout(LIMIT_S):
                await asyncio.wait([serving])


@pytest.fixture
async def editor():
    async with open_editor() as editor:
        yield editor


async def test_initialize_says_what_is_here(editor):
    answer = await editor.call("initialize", **INITIALIZE)
    schema.InitializeResponse.model_validate(answer)
    assert answer["protocolVersion"] == 1
    assert answer["clientCapabilities"] == answer["_meta"]["fourhands"]
    assert schema.ClientCapabilities.model_validate(answer["clientCapabilities"]).terminal is True
    assert (await editor.call("initialize", protocolVersion=7))["protocolVersion"] == 1
    assert await editor.error("initialize", protocolVersion="x") == (-32602, None)
    assert await editor.error("initialize") == (-32602, None)


async def test_what_we_answer_is_as_in_the_golden_file():
    """One connection with everything in it, line by line; each line is also held to the official schema."""
    async with open_app() as app, Tasks() as tasks:
        ours, theirs = socket.socketpair()
        serving = tasks.start(
            EditorConnection(app.bench, tasks, *await asyncio.open_connection(sock=ours)).run(), "door"
        )
        reader, writer = await asyncio.open_connection(sock=theirs)
        said: list[dict[str, Any]] = []
        asked: dict[object, str] = {}

        async def hear():
            async with asyncio.timeout(LIMIT_S):
                said.append(json.loads(await reader.readline()))
            check(said[-1], asked)
            return said[-1]

        async def call(method, **params):
            number = len(asked) + 1
            asked[number] = method
            writer.write(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
            )
            return await hear()

        root = app.bench.root
        await call("initialize", **INITIALIZE)
        session = (await call("session/new", cwd=root, mcpServers=[]))["result"]["sessionId"]
        app.gate.consent.grant(session)
        created = await call("terminal/create", sessionId=session, command="sh", args=["-c", "echo hi; exit 3"])
        named = {"sessionId": session, "terminalId": created["result"]["terminalId"]}
        for method in ("wait_for_exit", "output", "kill", "release", "output"):
            await call(f"terminal/{method}", **named)
        await call("fs/write_text_file", sessionId=session, path=f"{root}/a.txt", content="é\n")
        await call("fs/read_text_file", sessionId=session, path=f"{root}/a.txt", line=1, limit=1)
        await call("fs/read_text_file", sessionId=session, path="a.txt")
        await call("session/prompt", sessionId=session, prompt=[])
        question = await call("terminal/create", sessionId=session, command="rm -rf /")
        refused = {"outcome": {"outcome": "selected", "optionId": "deny"}}
        writer.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": refused}).encode() + b"\n")
        await hear()
        await call("session/close", sessionId=session)
        await call("terminal/create", sessionId=session, command="ls")
        writer.write(b"this is no message\n")
        await hear()
        writer.close()
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait([serving])
        same_as_golden("server", said, {root: "ROOT"})


async def test_what_we_do_not_serve_is_method_not_found(editor):
    await editor.open()
    for method in ("session/prompt", "session/load", "session/list", "authenticate", "session/update", "nonsense"):
        number, _ = await editor.error(method, sessionId=editor.session)
        assert number == -32601


async def test_a_command_in_a_terminal_of_the_session_s_directory(editor):
    sub = Path(editor.app.bench.root, "sub")
    sub.mkdir()
    await editor.open(str(sub))
    assert editor.app.bench.sessions.get(editor.session).name == "vim"
    id = (await editor.terminal("create", command="pwd; exit 2"))["terminalId"]
    assert await editor.terminal("wait_for_exit", terminalId=id) == {"exitCode": 2, "signal": None}
    assert (await editor.terminal("output", terminalId=id))["output"] == f"{sub}\n"
    assert await editor.terminal("release", terminalId=id) == {}
    assert await editor.error("terminal/output", sessionId=editor.session, terminalId=id) == (-32002, "not-found")


async def test_files_are_read_and_written(editor):
    await editor.open()
    path = str(Path(editor.app.bench.root, "new.txt"))
    assert await editor.call("fs/write_text_file", sessionId=editor.session, path=path, content="a\nb\n") == {}
    answer = await editor.call("fs/read_text_file", sessionId=editor.session, path=path, line=2)
    assert answer == {"content": "b\n"}
    missing = {"sessionId": editor.session, "path": path + "x"}
    assert await editor.error("fs/read_text_file", **missing) == (-32002, "not-found")


async def test_bad_sessions_are_refused(editor):
    await editor.call("initialize", **INITIALIZE)
    for cwd in ("relative", "/", "/no/such", ""):
        assert await editor.error("session/new", cwd=cwd, mcpServers=[]) == (-32602, "bad-cwd")
    assert await editor.error("session/new") == (-32602, "bad-argument")
    assert await editor.error("session/close", sessionId="x") == (-32002, "unknown-session")
    assert await editor.error("terminal/create", sessionId="x", command="ls") == (-32002, "unknown-session")


async def test_every_way_in_which_create_fails_says_something_else(editor):
    """The person says yes to all: what fails does so by itself."""
    root = await editor.open() and editor.app.bench.root
    Path(root, "plain.txt").write_text("x")
    cases: list[tuple[dict[str, Any], int, str, str | None, str]] = [
        ({"sessionId": "sess_abc123def456"}, -32002, "unknown-session", None, "no session 'sess_abc123def456'"),
        ({"command": "no-such-program-here"}, -32603, "command-not-found", None, "command not found"),
        ({"command": "./plain.txt", "args": ["x"]}, -32603, "permission-denied", None, "permission denied"),
        ({"cwd": "/home/nobody-here/project"}, -32602, "bad-cwd", "missing", "does not exist"),
        ({"cwd": f" {root}/missing "}, -32602, "bad-cwd", "missing", "does not exist"),
        ({"cwd": f"{root}/plain.txt"}, -32602, "bad-cwd", "not-a-directory", "is not a directory"),
        ({"cwd": "/etc"}, -32602, "bad-cwd", "outside", "lies outside"),
        ({"cwd": "sub"}, -32602, "bad-cwd", "bad", "must be an absolute path"),
        ({"cwd": ""}, -32602, "bad-cwd", "bad", "must be a path"),
        ({"env": [{"name": "A B", "value": "x"}]}, -32602, "bad-env", None, "'A B' is not a valid environment"),
        ({"env": [{"name": "A", "value": "x\0"}]}, -32602, "bad-env", None, "variable A has a NUL"),
    ]
    for params, number, code, problem, words in cases:
        if code in ("command-not-found", "permission-denied"):
            editor.choose("once")
        with pytest.raises(PeerFailed, match=words) as caught:
            await editor.terminal("create", **{"command": "ls", **params})
        details = caught.value.details
        assert isinstance(details, dict)
        assert (caught.value.number, details["code"], details.get("problem")) == (number, code, problem), params
    assert editor.app.bench.terminals.list() == []


async def test_the_protocol_s_own_example_runs(monkeypatch, tmp_path):
    """Literally the request of its page on terminals, but for the session and the directory, which are of here."""
    (tmp_path / "npm").write_text('#!/bin/sh\necho "$# $1 $2 $NODE_ENV/$DEBUG in $PWD"\n')
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setitem(MINIMAL, "PATH", f"{tmp_path}:{os.environ['PATH']}")
    params = {
        "command": "npm",
        "args": ["test", "--coverage"],
        "env": [{"name": "NODE_ENV", "value": "test"}, {"name": "DEBUG", "value": "true"}],
        "outputByteLimit": 1048576,
    }
    async with open_editor() as editor:
        await editor.open()
        root = editor.app.bench.root
        editor.choose("once")
        answer = await editor.terminal("create", **params, cwd=f" {root} ")
        assert set(answer) == {"terminalId"}
        assert re.fullmatch(r"term_[0-9A-HJKMNP-TV-Z]{26}", answer["terminalId"])
        await editor.terminal("wait_for_exit", terminalId=answer["terminalId"])
        output = await editor.terminal("output", terminalId=answer["terminalId"])
        assert (output["output"], output["truncated"]) == (f"2 test --coverage test/true in {root}\n", False)


async def test_closing_a_session_ends_what_runs_in_it_only(editor):
    first = await editor.open()
    one = (await editor.terminal("create", command="sleep 1000"))["terminalId"]
    await editor.open()
    two = (await editor.terminal("create", command="sleep 1000"))["terminalId"]
    assert await editor.call("session/close", sessionId=first) == {}
    assert await editor.error("terminal/output", sessionId=first, terminalId=one) == (-32002, "unknown-session")
    assert [terminal.id for terminal in editor.app.bench.terminals.list()] == [two]
    assert await editor.error("terminal/output", sessionId=first, terminalId=two) == (-32002, "unknown-session")
    assert "exitStatus" not in await editor.terminal("output", terminalId=two)


async def test_when_the_editor_goes_so_do_its_sessions():
    async with open_editor() as editor:
        await editor.open()
        await editor.terminal("create", command="sleep 1000")
        bench = editor.app.bench
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        bench.on_session_end.append(lambda session: ended.set_result(None))
        editor.peer.close()
        async with asyncio.timeout(LIMIT_S):
            await ended
        assert bench.terminals.list() == []


async def test_a_session_that_the_person_ends_is_unknown(editor):
    await editor.open()
    await editor.app.bench.end_session(editor.session)
    error = await editor.error("terminal/create", sessionId=editor.session, command="ls")
    assert error == (-32002, "unknown-session")


@pytest.mark.parametrize(("option", "code"), [("once", None), ("deny", "denied"), ("nonsense", "no-answer")])
async def test_the_editor_is_asked_where_no_page_is_open(editor, option, code):
    await editor.open()
    editor.choose(option)
    if code is None:
        assert "terminalId" in await editor.terminal("create", command="rm -rf victim")
    else:
        params = {"sessionId": editor.session, "command": "rm -rf victim"}
        assert await editor.error("terminal/create", **params) == (-32603, code)
    asked = editor.asked.get_nowait()
    assert asked["toolCall"]["rawInput"] == {"command": "rm -rf victim"}
    assert asked["toolCall"]["content"][0]["content"]["text"] == "Not isolated: runs as you"
    assert [one["kind"] for one in asked["options"]] == ["allow_once", "reject_once"]


async def test_consent_is_asked_first(editor):
    await editor.open(consent=False)
    editor.choose("session")
    assert "terminalId" in await editor.terminal("create", command="echo hi")
    assert "work with you" in editor.asked.get_nowait()["toolCall"]["title"]


async def test_a_page_that_answers_first_takes_the_question_away(editor):
    await editor.open()
    person = Person(editor.app)
    creating = asyncio.gather(editor.terminal("create", command="rm -rf victim"))
    question = await person.question()
    async with asyncio.timeout(LIMIT_S):
        await editor.asked.get()
    person.answer(question, "once")
    async with asyncio.timeout(LIMIT_S):
        await creating
        await editor.withdrawn.wait()


async def test_an_editor_that_cannot_be_asked_gets_no_answer():
    async with open_editor(can_be_asked=False) as editor:
        await editor.open()
        for _ in range(2):
            params = {"sessionId": editor.session, "command": "rm -rf victim"}
            assert await editor.error("terminal/create", **params) == (-32603, "no-answer")


PROGRAM = """
import asyncio, sys
from fourhands.app import App
from fourhands.commands import exec as exec_commands
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.acp import acp_command, serve_stdio
from tests.kit.workbench import environment, quick

async def start(directory):
    places = WorkspaceDirs(directory, sys.argv[2], sys.argv[3])
    async with App(directory, quick(), places=places, env=environment(places)) as app:
        for command in exec_commands.commands.commands:
            if command.id not in app.registry:
                app.registry.add(command)
        try:
            begin = app.bench.begin_session
            app.bench.begin_session = lambda *a, **k: (print("a stray word", flush=True), begin(*a, **k))[1]
            await serve_stdio(app.bench, app.tasks)
        finally:
            await app.terminals.stop()

acp_command(start)([sys.argv[1]], standalone_mode=False)
"""


async def test_a_program_on_pipes():
    with temporary_places() as places:
        argv = [sys.executable, "-c", PROGRAM, places.workspace, places.runtime, places.state]
        program = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **environment(places), "PYTHONPATH": os.getcwd()},
        )
        assert program.stdin is not None
        assert program.stdout is not None
        asked = [
            {"id": 1, "method": "initialize", "params": INITIALIZE},
            {"id": 2, "method": "session/new", "params": {"cwd": places.workspace, "mcpServers": []}},
        ]
        program.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in asked) + b"?\n")
        async with asyncio.timeout(LIMIT_S):
            answers = [json.loads(await program.stdout.readline()) for _ in range(3)]
            program.stdin.close()
            rest = await program.stdout.read()
            assert await program.wait() == 0
        assert {answer["id"] for answer in answers} == {1, 2, None}
        assert rest == b""


JOINER = """
import sys
from fourhands.surfaces.acp import acp_command

async def start(directory):
    print("started")

acp_command(start)([sys.argv[1]])
"""


async def test_a_running_workbench_is_joined():
    with short_places() as places:
        env = {**os.environ, "XDG_RUNTIME_DIR": str(Path(places.runtime).parents[1])}
        env["XDG_STATE_HOME"] = f"{env['XDG_RUNTIME_DIR']}/state"
        async with open_app(places=places) as app:
            argv = [sys.executable, "-c", JOINER, places.workspace]

            async def run(data):
                program = await asyncio.create_subprocess_exec(
                    *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=env
                )
                async with asyncio.timeout(LIMIT_S):
                    return (await program.communicate(data))[0]

            line = (
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode() + b"\n"
            )
            async with joinable(app.bench, app.tasks, places.runtime, places.state):
                for directory in (places.runtime, places.state):
                    assert os.stat(os.path.join(directory, "acp.sock")).st_mode & 0o777 == 0o600
                assert json.loads(await run(line))["result"]["protocolVersion"] == 1
                os.unlink(os.path.join(places.runtime, "acp.sock"))  # swept away
                assert json.loads(await run(line))["result"]["protocolVersion"] == 1
            assert await run(line) == b"started\n"


def test_the_command_tells_of_errors(tmp_path):
    async def start(directory):
        raise Unavailable("no terminals here")

    done = CliRunner().invoke(acp_command(start), [str(tmp_path)])
    assert done.exit_code == 3
    assert "no terminals here" in done.output
