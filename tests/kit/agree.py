"""One story told through every door: the same calls in the same order in a fresh workspace, and what came of them.

A door is a function that makes of a served workbench, for the length of a block, a function to call commands with; it
is added to `DOORS` by whoever builds it. Results are compared as they are on the wire, with ids, times, versions and
positions made equal.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Literal, NamedTuple

import httpx2
import msgspec
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.kit.mcp_client import WITH_FIELDS
from tests.kit.person import let_in
from tests.kit.server import Served

from fourhands.agents.blocks.interceptor import Interceptor
from fourhands.agents.blocks.runner import BlockRunner
from fourhands.agents.connectors.trial_tasks import Scratch
from fourhands.app import App
from fourhands.commands.toolset import tool_name
from fourhands.core import call as core
from fourhands.core.call import Actor
from fourhands.core.event import Event
from fourhands.core.ids import ulid
from fourhands.core.question import Answer
from fourhands.surfaces.cli.main import build

Result = dict[str, Any]
Caller = Callable[[str, dict[str, Any]], Awaitable[Result]]


class Case(NamedTuple):
    """A call and the code of the failure it must give, or nothing; of one that is `timed` only the members count."""

    command: str
    args: dict[str, Any]
    code: str = ""
    timed: bool = False


STORY = [
    Case("file.write", {"path": "src/auth.ts", "content": "one\ntwo\nthree limit\n"}),
    Case("file.write", {"path": "README.md", "content": "# Hello\n"}),
    Case("file.write", {"path": "new.txt", "content": "x", "expectedVersion": "absent"}),
    Case("file.write", {"path": "new.txt", "content": "y", "expectedVersion": "absent"}, "conflict"),
    Case("file.write", {"path": "../outside", "content": "x"}, "outside-workspace"),
    Case("file.write", {"path": "a", "content": 5}, "bad-argument"),
    Case("file.write", {"path": "a"}, "bad-argument"),
    Case("file.write", {"path": "a", "content": "", "nonsense": 1}, "bad-argument"),
    Case("file.write", {"path": "added.txt", "content": "x\n", "append": True}),
    Case("file.write", {"path": "added.txt", "content": "y\n", "append": True}),
    Case("file.edit", {"path": "added.txt", "edits": [{"old": "x", "new": "z"}]}),
    Case("file.edit", {"path": "added.txt", "edits": [{"old": "\n", "new": "!\n", "all": True}]}),
    Case("file.edit", {"path": "added.txt", "edits": [{"old": "!", "new": ""}]}, "many-matches"),
    Case("file.edit", {"path": "added.txt", "edits": [{"old": "Z!", "new": ""}]}, "no-match"),
    Case("file.edit", {"path": "added.txt", "edits": [{"old": "z"}]}, "bad-argument"),
    Case("file.edit", {"path": "added.txt", "edits": [], "expectedVersion": "x"}, "bad-argument"),
    Case("file.edit", {"path": "added.txt", "edits": [{"old": "z", "new": "y"}], "expectedVersion": "x"}, "conflict"),
    Case("file.edit", {"path": "../outside", "edits": [{"old": "", "new": "y"}]}, "outside-workspace"),
    Case("file.read", {"path": "src/auth.ts"}),
    Case("file.read", {"path": "src/auth.ts", "startLine": 2, "endLine": 2}),
    Case("file.read", {"path": "src/auth.ts", "offset": 4, "limit": 8}),
    Case("file.read", {"path": "missing"}, "not-found"),
    Case("file.read", {"path": "src/auth.ts", "startLine": 0}, "bad-argument"),
    Case("file.read", {"path": "/etc/passwd"}, "outside-workspace"),
    Case("file.list", {"path": "."}),
    Case("file.list", {}),
    Case("file.list", {"path": "missing"}, "not-found"),
    Case("file.search", {"query": "limit"}),
    Case("file.search", {"query": "auth", "includePattern": "*.ts", "excludePattern": "*.md"}),
    Case("editor.open", {"path": "src/auth.ts", "line": 2, "column": 1, "highlight": True}),
    Case("editor.open", {"path": "missing.ts"}, "not-found"),
    Case("editor.open", {"path": "README.md"}),
    Case("editor.scroll_to", {"path": "src/auth.ts", "line": 3}),
    Case("editor.scroll_to", {"path": "nowhere.ts", "line": 3}, "not-found"),
    Case("editor.highlight", {"path": "src/auth.ts", "ranges": [{"startLine": 1, "endLine": 2}], "highlightId": "a"}),
    Case("editor.highlight", {"path": "src/auth.ts", "ranges": [], "highlightId": "b"}, "bad-argument"),
    Case("editor.highlight", {"path": "src/auth.ts", "ranges": [{"startLine": 1, "endLine": 1}], "color": "url(x)"},
         "bad-argument"),
    Case("editor.list", {}),
    Case("editor.clear_highlight", {"highlightId": "a"}),
    Case("editor.clear_highlight", {"highlightId": "a"}, "not-found"),
    Case("editor.clear_highlights", {"mine": True}),
    Case("editor.read_file", {"path": "README.md"}),
    Case("editor.set_draft", {"path": "README.md", "text": "draft"}),
    Case("editor.close", {"path": "README.md"}, "conflict"),
    Case("editor.save", {"path": "README.md"}),
    Case("editor.save", {"path": "README.md"}, "bad-argument"),
    Case("editor.set_draft", {"path": "src/auth.ts", "text": "draft"}),
    Case("editor.discard", {"path": "src/auth.ts"}),
    Case("editor.discard", {"path": "nowhere.ts"}, "not-found"),
    Case("editor.escape", {}),
    Case("pane.list", {}),
    Case("pane.move", {"paneId": "README.md", "target": "src/auth.ts", "side": "right"}),
    Case("pane.move", {"paneId": "README.md", "target": "nowhere", "side": "right"}, "not-found"),
    Case("pane.move", {"paneId": "README.md", "target": "src/auth.ts", "side": "center", "baseRev": 1}, "conflict"),
    Case("pane.pin", {"paneId": "README.md"}),
    Case("pane.pin", {"paneId": "README.md", "pinned": False}),
    Case("pane.set_sizes", {"split": "none", "sizes": [50, 50]}, "not-found"),
    Case("pane.open", {"type": "editor", "contentId": "new.txt", "splitDirection": "vertical"}),
    Case("pane.open", {"type": "sculpture", "contentId": "new.txt"}, "bad-argument"),
    Case("pane.open", {"type": "terminal", "contentId": "none"}, "not-found"),
    Case("pane.focus", {"paneId": "new.txt"}),
    Case("pane.resize", {"paneId": "new.txt", "width": 30}),
    Case("pane.resize", {"paneId": "new.txt", "width": 300}, "bad-argument"),
    Case("pane.list", {}),
    Case("pane.close", {"paneId": "new.txt"}),
    Case("pane.close", {"paneId": "new.txt"}, "not-found"),
    Case("editor.close", {"path": "src/auth.ts"}),
    Case("terminal.create", {"title": "build", "cols": 90, "rows": 30}),
    Case("terminal.create", {"title": "other", "cwd": " src ", "shellPath": "/bin/bash", "env": {"X": "1", "Y": None}}),
    Case("terminal.create", {"env": {"A B": "1"}}, "bad-env"),
    Case("terminal.create", {"cwd": "/etc"}, "bad-cwd"),
    Case("terminal.create", {"cols": 0}, "bad-argument"),
    Case("terminal.wait", {"terminalId": "build", "quietSeconds": 0.3}),
    Case("terminal.send", {"terminalId": "build", "text": "echo a-$((40+2))-z\n"}),
    Case("terminal.wait", {"terminalId": "build", "pattern": "a-42-z", "since": 0}),
    Case("terminal.run", {"terminalId": "build", "line": "echo b-$((40+3))-z"}, timed=True),
    Case("terminal.run", {"terminalId": "nobody", "line": "true"}, "not-found"),
    Case("terminal.read_output", {"terminalId": "build", "lines": 50}),
    Case("terminal.read_output", {"terminalId": "build", "lines": 2**53}),
    Case("terminal.search", {"terminalId": "build", "pattern": "^a-42-z$", "limit": 1}),
    Case("terminal.search", {"terminalId": "build", "pattern": "("}, "bad-argument"),
    Case("terminal.send", {"terminalId": "nobody", "text": "x"}, "not-found"),
    Case("terminal.read_output", {"terminalId": "nobody"}, "not-found"),
    Case("terminal.read_output", {"terminalId": "build", "lines": 0}, "bad-argument"),
    Case("terminal.rename", {"terminalId": "other", "title": "42"}),
    Case("terminal.resize", {"terminalId": "42", "cols": 100, "rows": 33}),
    Case("terminal.list", {}),
    Case("terminal.show", {"terminalId": "42"}),
    Case("terminal.show", {"terminalId": "nobody"}, "not-found"),
    Case("terminal.authors", {"terminalId": "build", "since": 1_000_000_000}),
    Case("terminal.take_over", {"terminalId": "build"}),
    Case("terminal.hand_back", {"terminalId": "build"}),
    Case("terminal.interrupt", {"terminalId": "build"}),
    Case("terminal.screen", {"terminalId": "build"}, timed=True),
    Case("terminal.screen", {"terminalId": "nobody"}, "not-found"),
    Case("terminal.replay", {"terminalId": "build"}, timed=True),
    Case("terminal.exec", {"command": "printf", "args": ["hi"]}),
    Case("terminal.wait", {"terminalId": "printf hi"}),
    Case("terminal.screen", {"terminalId": "printf hi"}),
    Case("terminal.close", {"terminalId": "printf hi"}),
    Case("terminal.exec", {"command": "no-such-program-here"}, "command-not-found"),
    Case("terminal.run_outside", {"command": "echo", "args": ["outside"], "timeoutSeconds": 30}),
    Case("terminal.close", {"terminalId": "echo outside"}),
    Case("terminal.kill", {"terminalId": "42"}),
    Case("terminal.kill", {"terminalId": "nobody"}, "not-found"),
    Case("terminal.send", {"terminalId": "42", "text": "x"}, "exited"),
    Case("terminal.close", {"terminalId": "42"}),
    Case("terminal.close", {"terminalId": "42"}, "not-found"),
    Case("terminal.limit", {}),
    Case("terminal.set_limit", {"maxTerminals": 7}),
    Case("terminal.set_limit", {"maxTerminals": 0}, "bad-argument"),
    Case("terminal.close", {"terminalId": "build"}),
    Case("tool.bash", {"command": "echo out; exit 3"}),
    Case("tool.bash", {}, "bad-argument"),
    Case("tool.execute_command", {"command": "printf", "args": ["%s", "a b"], "workingDirectory": "src"}),
    Case("tool.execute_command", {"command": "no-such-program-here"}),
    Case("tool.run_script", {"script": "read LINE; echo $LINE$X", "input": "in\n", "env": {"X": "put"}}),
    Case("tool.run_script", {"script": "true", "env": {"1": "x"}}, "bad-env"),
    Case("tool.read_output", {"outputId": "none"}, "not-found"),
    Case("tool.write", {"path": "tools/a.txt", "content": "one\ntwo\n"}),
    Case("tool.write", {"path": "../outside", "content": ""}, "outside-workspace"),
    Case("tool.read", {"path": "tools/a.txt", "from": 2}),
    Case("tool.read", {"path": "tools/a.txt", "from": 9}, "bad-argument"),
    Case("tool.read", {"path": "tools/b.txt"}, "not-found"),
    Case("tool.edit", {"path": "tools/a.txt", "edits": [{"old": "two", "new": "three"}]}),
    Case("tool.edit", {"path": "tools/a.txt", "edits": [{"old": "two", "new": "three"}]}, "no-match"),
    Case("tool.search", {"query": "three", "path": "tools"}),
    Case("tool.search", {"query": "(", "regex": True}, "bad-argument"),
    Case("tool.show", {"path": "tools/a.txt", "line": 2, "highlight": True}),
    Case("tool.show", {"path": "tools/b.txt"}, "not-found"),
    Case("file.write", {"path": "AGENTS.md", "content": "Be brief.\n"}),
    Case("project.instructions", {"directory": "src"}),
    Case("project.instructions", {"directory": "../outside"}, "outside-workspace"),
    Case("project.instructions", {"directory": "missing"}, "not-found"),
    Case("project.instructions", {"directory": "AGENTS.md"}, "bad-argument"),
    Case("file.write", {"path": ".agents/skills/one/SKILL.md", "content": "---\ndescription: It is one.\n---\nDo."}),
    Case("skill.list", {}),
    Case("skill.read", {"name": "one"}),
    Case("skill.read", {"name": "two"}, "not-found"),
    Case("editor.close", {"path": "tools/a.txt"}),
    Case("tool.terminal_start", {"command": "cat"}, timed=True),
    Case("tool.terminal_continue", {"sessionId": "cat", "stdin": "hello\n"}, timed=True),
    Case("tool.terminal_continue", {"sessionId": "nobody"}, "not-found"),
    Case("tool.terminal_list", {}, timed=True),
    Case("tool.terminal_stop", {"sessionId": "cat"}, timed=True),
    Case("tool.terminal_stop", {"sessionId": "cat"}, "not-found"),
    Case("agent.list", {}),
    Case("agent.configure", {"sessionId": "helper", "timeoutSeconds": 30}),
    Case("agent.configure", {"sessionId": "helper", "timeoutSeconds": -1}, "bad-argument"),
    Case("agent.consent", {"sessionId": "helper", "allow": True, "scopes": ["see"]}),
    Case("agent.consent", {"sessionId": "helper", "allow": True, "scopes": ["all"]}, "bad-argument"),
    Case("agent.consent", {"sessionId": "helper", "allow": True}),
    Case("agent.list", {}),
    Case("agent.rules", {"sessionId": "helper"}),
    Case("agent.drop_rule", {"sessionId": "helper", "key": "none"}),
    Case("agent.pause", {"sessionId": "helper"}),
    Case("agent.resume", {"sessionId": "helper"}),
    Case("agent.stop", {"sessionId": "helper"}),
    Case("agent.prompt", {"sessionId": "helper", "text": "hello"}, "unsupported"),
    Case("agent.start", {"agent": "nobody"}, "unsupported"),
    Case("agent.models", {"endpoint": "nobody"}, "unsupported"),
    Case("agent.describe", {"sessionId": "helper"}, "unsupported"),
    Case("agent.set_mode", {"sessionId": "helper", "mode": "plan"}, "unsupported"),
    Case("agent.set_option", {"sessionId": "helper", "option": "model", "value": "x"}, "unsupported"),
    Case("agent.list_chats", {"sessionId": "helper"}, "unsupported"),
    Case("agent.load_chat", {"sessionId": "helper", "chat": "x"}, "unsupported"),
    Case("agent.delete_chat", {"sessionId": "helper", "chat": "x"}, "unsupported"),
    Case("agent.sign_in", {"sessionId": "helper", "method": "x"}, "unsupported"),
    Case("agent.attach", {"sessionId": "helper", "terminalId": "none"}, "not-found"),
    Case("agent.detach", {"sessionId": "helper", "terminalId": "none"}, "not-found"),
    Case("agent.reset", {"sessionId": "helper"}),
    Case("agent.end", {"sessionId": "nobody"}, "not-found"),
    Case("agent.end", {"sessionId": "helper"}),
    Case("change.list", {}),
    Case("change.keep", {"path": "README.md"}, "not-found"),
    Case("change.revert", {"path": "README.md"}, "not-found"),
    Case("turn.list", {"session": "nobody"}, "not-found"),
    Case("turn.undo", {"turn": "none"}, "not-found"),
    Case("turn.redo", {"turn": "none"}, "not-found"),
    Case("turn.keep", {"turn": "none"}, "not-found"),
    Case("checkpoint.list", {"all": True}, "bad-argument"),
    Case("checkpoint.compare", {"before": "none"}, "not-found"),
    Case("checkpoint.restore", {"checkpoint": "none"}, "not-found"),
    Case("agent.help", {"command": "openspace.pane.open"}),
    Case("agent.help", {"command": "openspace.pane.opn"}, "not-found"),
    Case("workbench.undo", {}, "not-found"),
    Case("workbench.redo", {}, "not-found"),
    Case("workbench.actions", {}),
    Case("workbench.platform", {}),
    Case("workbench.snapshot", {}),
    Case("workbench.questions", {}),
    Case("workbench.answer", {"questionId": "q", "choice": "once"}, "not-found"),
    Case("rehearsal.check", {"questionId": "q"}),
    Case("rehearsal.start", {"questionId": "q"}, "not-found"),
    Case("rehearsal.read", {"id": "none"}, "not-found"),
    Case("rehearsal.stop", {"id": "none"}, "not-found"),
    Case("rehearsal.apply", {"id": "none"}, "not-found"),
    Case("rehearsal.discard", {"id": "none"}, "not-found"),
    Case("safety.judge", {"command": "ls && rm -rf x"}),
    Case("safety.sandbox", {}, timed=True),
    Case("safety.asking", {}),
    Case("safety.set_asking", {"ask": "irreversible"}),
    Case("safety.set_asking", {"ask": "nothing"}, "bad-argument"),
    Case("network.list", {"all": True}, "bad-argument"),
    Case("network.allow", {"host": "10.0.0.1/x"}, "bad-argument"),
    Case("network.forget", {"host": ""}, "bad-argument"),
    Case("network.hosts", {"sessionId": "nobody"}, "not-found"),
    Case("network.ports", {}),
    Case("workbench.review", {"questionId": "q", "text": "ls"}, "not-found"),
    Case("file.remove", {"path": "new.txt"}),
    Case("file.remove", {"path": "new.txt"}, "not-found"),
    Case("nothing.at_all", {}, "not-found"),
]  # fmt: skip

_IDS = re.compile(r"\b(?:([a-z]+)_)?[0-9A-HJKMNP-TV-Z]{26}\b")
_MOVING = {
    *("position", "created", "uptimeSeconds", "pid", "elapsedSeconds", "modified", "mtime", "time"),
    *("shellState", "lastExitCode", "finishedCommands", "lease"),  # a moment earlier or later they are others
}
_VERSIONS = {"version", "manifestVersion", "baseVersion"}


class Equal:
    """Makes results of two runs comparable: names by first appearance instead of ids and versions."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._names: dict[str, str] = {}

    def __call__(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {self(name): self(inner, name) for name, inner in value.items() if name not in _MOVING}
        if key == "output" and isinstance(value, list):  # prompts and echoes come when they come
            return [line for line in value if line == "a-42-z"]
        if isinstance(value, list):
            return [self(inner, key) for inner in value]
        if not isinstance(value, str):
            return value
        if key in _VERSIONS:
            return self._name("version", value)
        text = value.replace(self._workspace, "WORK")
        return _IDS.sub(lambda found: self._name(found[1] or "call", found[0]), text)

    def members(self, case: Case, result: Any) -> Any:
        """What of a result must be the same through every door."""
        return sorted(result) if case.timed and result["success"] else self(result)

    def _name(self, kind: str, text: str) -> str:
        return self._names.setdefault(text, f"{kind}#{len(self._names)}")


@contextlib.asynccontextmanager
async def by_python(served: Served) -> AsyncIterator[Caller]:
    """Directly."""

    async def call(command: str, args: dict[str, Any]) -> Result:
        done = await served.app.call(command, args, actor=Actor.program())
        if done.code == "hand-needed":
            done = await served.app.call(command, args, actor=Actor.person())
        return wire(done)

    yield call


@contextlib.asynccontextmanager
async def by_http(served: Served) -> AsyncIterator[Caller]:
    """POST /api/commands/ID."""
    async with served.client() as client:

        async def call(command: str, args: dict[str, Any]) -> Result:
            response = await client.post(f"/api/commands/{command}", json=args)
            body: Result = response.json()
            assert (response.status_code == 200) == body["success"], (command, response.status_code)
            return await served.by_hand(command, args, body)

        yield call


@contextlib.asynccontextmanager
async def by_socket(served: Served) -> AsyncIterator[Caller]:
    """/ws."""
    async with served.caller() as caller:

        async def call(command: str, args: dict[str, Any]) -> Result:
            return await served.by_hand(command, args, await caller.call(command, args))

        yield call


@contextlib.asynccontextmanager
async def by_command_line(served: Served) -> AsyncIterator[Caller]:
    """`fourhands call`, in this process; arguments by turns as JSON and as NAME=VALUE."""
    pairs = False

    async def call(command: str, args: dict[str, Any]) -> Result:
        nonlocal pairs
        pairs = not pairs
        # Where an argument has the wrong type on purpose, NAME=VALUE would put it right.
        plain = pairs and not any(isinstance(value, int) and name == "content" for name, value in args.items())
        words = ["call", command, "--json", "--workspace", served.places.workspace]
        if plain:
            words += ["--", *(f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in args.items())]
        else:
            words += ["--args", json.dumps(args)]
        done = await asyncio.to_thread(run_cli, words, served.env)
        body: Result = json.loads(done.stdout)
        assert (done.exit_code == 0) == body["success"], (command, done.exit_code, done.output)
        return await served.by_hand(command, args, body)

    yield call


@contextlib.asynccontextmanager
async def as_agent(served: Served) -> AsyncIterator[Caller]:
    """Directly, as an agent."""
    actor = let_in(served.app).actor

    async def call(command: str, args: dict[str, Any]) -> Result:
        return wire(await served.app.call(command, args, actor=actor))

    yield call


@contextlib.asynccontextmanager
async def as_agent_by_http(served: Served) -> AsyncIterator[Caller]:
    """POST /api/commands/ID with an agent's token."""
    _, token = served.agent("helper")
    async with served.client(token) as client:

        async def call(command: str, args: dict[str, Any]) -> Result:
            body: Result = (await client.post(f"/api/commands/{command}", json=args)).json()
            return body

        yield call


@contextlib.asynccontextmanager
async def by_mcp(served: Served, mode: Literal["legacy", "auto"] = "legacy") -> AsyncIterator[Caller]:
    """An MCP tool, by the official client over HTTP with an agent's token."""
    _, token = served.agent("helper")
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{served.url}/mcp", http_client=http), mode=mode, cache=None) as client,
    ):

        async def call(command: str, args: dict[str, Any]) -> Result:
            known = command in served.app.registry
            done = await client.call_tool(tool_name(command) if known else command, args, meta=WITH_FIELDS)
            assert done.structured_content is not None
            assert done.is_error is not done.structured_content["success"]
            said = "".join(part.text for part in done.content if part.type == "text")
            worded = known and served.app.registry.get(command).text is not None  # its words are beside its data
            own = not done.is_error and not said.startswith("{") and not worded
            return {**done.structured_content, **({"text": said} if own else {})}  # what is text is not data too

        yield call


@contextlib.asynccontextmanager
async def by_block(served: Served) -> AsyncIterator[Caller]:
    """A block in a model's answer, each in an answer of its own."""
    runner = BlockRunner(served.app.bench, let_in(served.app), served.app.tasks)

    async def call(command: str, args: dict[str, Any]) -> Result:
        interceptor = Interceptor()
        block = json.dumps({"cmd": command, "args": args})
        pieces = [interceptor.feed(f"So: %%OS{block}%% there."), interceptor.close()]
        assert "".join(piece.visible for piece in pieces) == "So:  there."
        runner.run([command for piece in pieces for command in piece.commands], ulid())
        [result] = await runner.finished()
        return wire(result)

    yield call


def wire(result: core.Result) -> Result:
    """A result as it is sent."""
    sent: Result = msgspec.json.decode(msgspec.json.encode(result.to_wire()))
    return sent


@contextlib.contextmanager
def agreeable_person(app: App) -> Iterator[None]:
    """Somebody who lets agents do everything."""

    def asked(event: Event) -> None:
        if event.kind == "question.asked":
            answer = Answer(choice="once")
            loop.call_soon(app.questions.answer, str(event.data["id"]), answer, Actor.person())

    loop = asyncio.get_running_loop()
    leave, stop = app.questions.attend(), app.events.published.subscribe(asked)
    try:
        yield
    finally:
        stop()
        leave()


def no_scratch() -> contextlib.AbstractAsyncContextManager[Scratch]:
    """Nothing is tried here."""
    raise AssertionError


def run_cli(words: list[str], env: dict[str, str], given: str | None = None) -> Any:
    """The command line in this process, without what only a server needs."""

    async def nobody(options: object) -> None:
        raise AssertionError("nothing is served here")

    return CliRunner().invoke(build(nobody, lambda workspace: [], no_scratch), words, env=env, input=given)


DOORS: dict[str, Callable[[Served], contextlib.AbstractAsyncContextManager[Caller]]] = {
    "python": by_python,
    "http": by_http,
    "socket": by_socket,
    "command line": by_command_line,
}

AGENTS_DOORS: dict[str, Callable[[Served], contextlib.AbstractAsyncContextManager[Caller]]] = {
    "python": as_agent,
    "http": as_agent_by_http,
    "MCP": by_mcp,
    "MCP without handshake": lambda served: by_mcp(served, "auto"),
    "blocks": by_block,
}


async def tell(served: Served, door: str) -> list[Any]:
    """Tell the story through a person's door; what came of each call, made comparable."""
    equal, told = Equal(served.places.workspace), []
    let_in(served.app)
    async with DOORS[door](served) as call:
        for case in STORY:
            result = await call(f"openspace.{case.command}", case.args)
            code = "" if result["success"] else result["code"]
            assert code == case.code, (door, case, result)
            told.append((case, equal.members(case, result)))
    return told


async def tell_as_agent(served: Served, door: str) -> list[Any]:
    """The same through an agent's door: some of it is not for agents, which all doors must say alike."""
    equal = Equal(served.places.workspace)
    with agreeable_person(served.app):
        async with AGENTS_DOORS[door](served) as call:
            return [(case, equal.members(case, await call(f"openspace.{case.command}", case.args))) for case in STORY]
