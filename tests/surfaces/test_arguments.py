"""Every argument of every command through a served door, on the server's own loop, seen by what it does.

A part plays the commands of one noun and looks at the effect of each argument. It fails if there is a command of that
noun that it has not called, or an argument that it has not given with another value than the default: a new argument
needs a line here. MCP's tools, the command line's verbs and a model's blocks are made of the same registry, and
`test_agree` compares them with this door; the tools, which are made for MCP, are played through it here as well.
"""

import asyncio
import base64
import contextlib
import functools
import json
import os
import platform
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import uvloop
from tests.kit.agree import agreeable_person, by_mcp
from tests.kit.isolation import refuse
from tests.kit.model import Model
from tests.kit.server import LIMIT_S, Served, until

from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.app import CONTRIBUTIONS
from fourhands.app.connectors import register_all
from fourhands.core.form import FormField
from fourhands.core.question import Question
from fourhands.core.registry import Registry
from fourhands.workbench.terminals.terminal import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

FAKE = Path(__file__).parent.parent / "kit" / "fake_acp_agent.py"
Result = dict[str, Any]


class Door:
    """Calls commands, and remembers which were called and which of their arguments were given."""

    def __init__(self, served: Served, call: Callable[[str, dict[str, Any]], Awaitable[Result]]) -> None:
        self.served = served
        self.root = Path(served.places.workspace)
        self.called: set[str] = set()
        self.given: set[tuple[str, str]] = set()
        self._call = call

    async def __call__(self, command: str, /, **args: Any) -> Any:
        """A call that works."""
        result = await self.result(command, **args)
        assert result["success"], (command, args, result)
        return result

    async def code(self, command: str, /, **args: Any) -> str:
        """The code of a call that does not."""
        result = await self.result(command, **args)
        assert not result["success"], (command, args, result)
        return str(result["code"])

    async def result(self, command: str, /, **args: Any) -> Result:
        id = f"openspace.{command}"
        self.called.add(id)
        defaults = dict(arguments(self.served.app.registry, id))
        self.given |= {(id, name) for name, value in args.items() if value != defaults[name]}
        async with asyncio.timeout(LIMIT_S):
            return await self.served.by_hand(id, args, await self._call(id, args))

    async def one(self, terminal: str) -> Result:
        """A terminal as it is listed."""
        listed = (await self("terminal.list"))["terminals"]
        return next(found for found in listed if terminal in (found["id"], found["title"]))

    def missing(self, noun: str) -> list[str]:
        """What has not been called or given of a noun."""
        commands = [command.id for command in self.served.app.registry if command.id.split(".")[1] == noun]
        found = [id for id in commands if id not in self.called]
        names = [(id, name) for id in commands for name, _ in arguments(self.served.app.registry, id)]
        return [*found, *(f"{id}: {name}" for id, name in names if (id, name) not in self.given)]


def arguments(registry: Registry, id: str) -> Iterator[tuple[str, object]]:
    """The arguments of a command, as they are called on the wire, with their defaults."""
    kind = registry.get(id).args_type
    for field in msgspec.structs.fields(kind) if kind else ():
        factory = field.default_factory
        yield field.encode_name, field.default if factory is msgspec.NODEFAULT else factory()


PARTS: dict[str, Callable[[Door], Awaitable[None]]] = {}


def part(play: Callable[[Door], Awaitable[None]]) -> Callable[[Door], Awaitable[None]]:
    """The part of the noun that the function is named after."""
    PARTS[play.__name__.rstrip("_")] = play
    return play


@part
async def file(door: Door) -> None:
    path = "deep/er/b.txt"
    made = await door("file.write", path=path, content="one\ntwo\nthree\n")
    assert (made["created"], (door.root / path).read_text()) == (True, "one\ntwo\nthree\n")
    assert await door.code("file.write", path=path, content="", expectedVersion="absent") == "conflict"
    made = await door("file.write", path=path, content="1\n2\n3\n", expectedVersion=made["version"])
    assert (await door("file.read", path=path))["content"] == "1\n2\n3\n"
    assert (await door("file.read", path=path, startLine=2))["content"] == "2\n3\n"
    assert (await door("file.read", path=path, endLine=2))["content"] == "1\n2"
    made = await door("file.write", path=path, content="4" * 10, append=True)
    piece = await door("file.read", path=path, offset=2, limit=8)
    assert (piece["content"], piece["offset"], piece["next"]) == ("2\n3\n4444", 2, 10)
    assert await door.code("file.edit", path=path, edits=[{"old": "1", "new": "5"}], expectedVersion="x") == "conflict"
    made = await door("file.edit", path=path, edits=[{"old": "4" * 10, "new": ""}], expectedVersion=made["version"])
    assert (made["replaced"], (door.root / path).read_text()) == (1, "1\n2\n3\n")
    (door.root / "bytes").write_bytes(b"\x00\xff")
    assert await door.code("file.read", path="bytes") == "bad-argument"
    assert base64.b64decode((await door("file.read", path="bytes", binary=True))["content"]) == b"\x00\xff"
    assert [entry["name"] for entry in (await door("file.list", path="deep/er"))["files"]] == ["b.txt"]
    for name in ("one.py", "two.py", "three.md"):
        (door.root / name).write_text("a needle\n")
    assert sorted((await door("file.search", query="needle"))["results"]) == ["one.py", "three.md", "two.py"]
    assert sorted((await door("file.search", query="needle", includePattern="*.py"))["results"]) == ["one.py", "two.py"]
    assert (await door("file.search", query="needle", excludePattern="*.py"))["results"] == ["three.md"]
    assert await door.code("file.remove", path=path, expectedVersion="other") == "conflict"
    await door("file.remove", path=path, expectedVersion=made["version"])
    assert not (door.root / path).exists()


@part
async def editor(door: Door) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 41))
    (door.root / "e.txt").write_text(text)

    async def shown() -> Result:
        return next(one for one in (await door("editor.list"))["editors"] if one["path"] == "e.txt")

    async def marks() -> list[Result]:
        listed: list[Result] = (await door("editor.list"))["highlights"]
        return listed

    opened = await door("editor.open", path="e.txt", line=7, column=3, highlight=True)
    assert ((await shown())["line"], (await shown())["column"]) == (7, 3)
    assert [(mark["id"], mark["ranges"][0]["startLine"]) for mark in await marks()] == [(opened["highlightId"], 7)]
    await door("editor.scroll_to", path="e.txt", line=30)
    assert (await shown())["line"] == 30
    look = {"ranges": [{"startLine": 2, "endLine": 4}], "highlightId": "mine", "color": "#ffcc00", "label": "here"}
    assert (await door("editor.highlight", path="e.txt", **look))["highlightId"] == "mine"
    mark = next(mark for mark in await marks() if mark["id"] == "mine")
    assert (mark["path"], mark["color"], mark["label"]) == ("e.txt", "#ffcc00", "here")
    assert (mark["ranges"][0]["startLine"], mark["ranges"][0]["endLine"]) == (2, 4)
    await door("editor.clear_highlight", highlightId="mine")
    assert [mark["id"] for mark in await marks()] == [opened["highlightId"]]
    async with agent(door, "marker") as helper:
        await helper("editor.highlight", path="e.txt", ranges=[{"startLine": 1, "endLine": 1}], highlightId="theirs")
        await door("editor.clear_highlights", mine=True)
        assert [mark["id"] for mark in await marks()] == ["theirs"]
        await door("editor.escape")
        assert await marks() == []
    assert (await door("editor.read_file", path="e.txt", startLine=39))["content"] == "line 39\nline 40\n"
    assert (await door("editor.read_file", path="e.txt", endLine=1))["content"] == "line 1"
    await door("editor.set_draft", path="e.txt", text="a draft", baseVersion="an older one")
    assert (await shown())["dirty"]
    assert await door.code("editor.save", path="e.txt") == "conflict"  # since it began with another version
    await door("editor.save", path="e.txt", text="gr\xfc\xdfe", expectedVersion="any", encoding="utf-16-le")
    assert (door.root / "e.txt").read_bytes().removeprefix(b"\xff\xfe").decode("utf-16-le") == "gr\xfc\xdfe"
    await door("editor.set_draft", path="e.txt", text="another")
    await door("editor.discard", path="e.txt")
    assert not (await shown())["dirty"]
    await door("editor.close", path="e.txt")
    assert (await door("editor.list"))["editors"] == []


@part
async def project(door: Door) -> None:
    (door.root / "p/q").mkdir(parents=True)
    (door.root / "p/AGENTS.md").write_text("near")
    assert (await door("project.instructions"))["paths"] == []
    found = await door("project.instructions", directory="p/q")
    assert (found["paths"], found["content"]) == (["p/AGENTS.md"], "# p/AGENTS.md\n\nnear")


@part
async def skill(door: Door) -> None:
    folder = door.root / ".agents/skills/pdf"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads PDFs.\n---\nSteps\n")
    (folder / "bytes").write_bytes(b"\x00\xff")
    [found] = (await door("skill.list"))["skills"]
    assert found == {**found, "name": "pdf", "description": "Reads PDFs.", "path": ".agents/skills/pdf/SKILL.md"}
    read = await door("skill.read", name="pdf")
    assert (read["content"][-6:], read["files"]) == ("Steps\n", ["bytes", "SKILL.md"])
    assert await door.code("skill.read", name="pdf", path="bytes") == "bad-argument"
    read = await door("skill.read", name="pdf", path="bytes", binary=True)
    assert base64.b64decode(read["content"]) == b"\x00\xff"


@part
async def pane(door: Door) -> None:
    for name in "abc":
        (door.root / f"{name}.pane").write_text(name)

    async def panes() -> dict[str, Result]:
        """By the first tab."""
        return {one["tabs"][0]["content"]: one for one in (await door("pane.list"))["panes"]}

    async def width(name: str) -> float:
        return float((await panes())[name]["geometry"]["width"])

    await door("pane.open", type="editor", contentId="a.pane")
    await door("pane.open", type="editor", contentId="b.pane", splitDirection="vertical")
    assert (await width("a.pane"), await width("b.pane")) == (50, 50)
    await door("pane.focus", paneId="a.pane")
    assert (await door("pane.list"))["activePane"] == (await panes())["a.pane"]["id"]
    await door("pane.resize", paneId="a.pane", width=70)
    assert (await width("a.pane"), await width("b.pane")) == (70, 30)
    root = door.served.app.bench.state.layout.root
    assert root is not None
    assert await door.code("pane.set_sizes", split=root.id, sizes=[20, 80], baseRev=1) == "conflict"
    await door("pane.set_sizes", split=root.id, sizes=[20, 80])
    assert (await width("a.pane"), await width("b.pane")) == (20, 80)
    await door("pane.open", type="editor", contentId="c.pane", splitDirection="horizontal")
    await door("pane.resize", paneId="c.pane", height=25)
    assert (await panes())["c.pane"]["geometry"]["height"] == 25
    assert await door.code("pane.move", paneId="c.pane", target="b.pane", baseRev=1) == "conflict"
    await door("pane.move", paneId="c.pane", target="b.pane", index=0)
    assert [tab["content"] for tab in (await panes())["c.pane"]["tabs"]] == ["c.pane", "b.pane"]
    await door("pane.move", paneId="c.pane", target="a.pane", side="left")
    assert (await panes())["c.pane"]["geometry"]["x"] == 0
    await door("pane.pin", paneId="a.pane")
    assert (await panes())["a.pane"]["tabs"][0]["pinned"]
    await door("pane.pin", paneId="a.pane", pinned=False)
    assert not (await panes())["a.pane"]["tabs"][0]["pinned"]
    for name in ("a.pane", "b.pane", "c.pane"):
        await door("pane.close", paneId=name)
    assert await panes() == {}


@part
async def terminal(door: Door) -> None:
    (door.root / "sub").mkdir()
    made = await door("terminal.create", title="work", cwd="sub", shellPath="/bin/bash", cols=77, rows=22)
    given = {"env": {"X": "val", "GIT_PAGER": None}}
    await door("terminal.create", title="driven", shellPath="/bin/bash", interactive=False, **given)
    await door("terminal.wait", terminalId="driven", inputWanted=True)
    await door("terminal.send", terminalId="driven", text="echo pages=$PAGER=${GIT_PAGER-none}=$X=\n")
    assert (await door("terminal.wait", terminalId="driven", pattern="^pages=cat=none=val=$"))["reason"] == "pattern"
    await door("terminal.close", terminalId="driven")
    work = await door.one("work")
    assert (work["id"], work["cols"], work["rows"]) == (made["terminalId"], 77, 22)
    assert (work["cwd"], work["command"]) == ("sub", "bash")
    assert (await door("terminal.wait", terminalId="work", inputWanted=True))["reason"] == "input"
    position = (await door("terminal.send", terminalId="work", text="printf 'a-%s\\n' 1 2 3\n"))["position"]
    seen = await door("terminal.wait", terminalId="work", pattern="a-3")
    assert (seen["reason"], seen["match"]) == ("pattern", "a-3")
    again = await door("terminal.wait", terminalId="work", pattern="a-1", since=position)
    assert again["reason"] == "pattern"
    await door("terminal.wait", terminalId="work", inputWanted=True)
    read = await door("terminal.read_output", terminalId="work", since=position)
    assert read["output"][0].startswith("printf")
    assert len((await door("terminal.read_output", terminalId="work", lines=2))["output"]) == 2
    found = await door("terminal.search", terminalId="work", pattern="^a-[0-9]$")
    assert [match["line"] for match in found["matches"]] == ["a-1", "a-2", "a-3"]
    assert len((await door("terminal.search", terminalId="work", pattern="^a-", limit=1))["matches"]) == 1
    whole = await door("terminal.screen", terminalId="work")
    assert "a-3" in whole["rows"]
    part = await door("terminal.screen", terminalId="work", since=whole["revision"])
    assert (part["rows"], part["changed"]) == ([], [])
    ran = await door("terminal.run", terminalId="work", line="echo r''an; false")
    assert (ran["output"], ran["exitCode"], ran["reason"]) == ("ran\n", 1, "finished")
    ran = await door("terminal.run", terminalId="work", line="sleep 0.5", timeoutSeconds=0.1)
    assert ran["reason"] in ("deadline", "not-typed")
    await door("terminal.wait", terminalId="work", inputWanted=True)
    inked = (await door("terminal.authors", terminalId="work"))["ink"]
    assert position in [mark["position"] for mark in inked]
    later = (await door("terminal.authors", terminalId="work", since=position + 1))["ink"]
    assert [mark for mark in later if mark["position"] <= position] == []
    await door("terminal.send", terminalId="work", text="sleep 1000\n")
    late = await door("terminal.wait", terminalId="work", finished=True, deadlineSeconds=0.05)
    assert (late["reason"], late["deadlineSeconds"]) == ("deadline", 0.05)
    assert (await door("terminal.wait", terminalId="work", quietSeconds=0.05))["reason"] == "quiet"
    await door("terminal.interrupt", terminalId="work")
    ended = await door("terminal.wait", terminalId="work", finished=True)
    assert ended["reason"] in ("finished", "input")
    await hiding(door)
    await door("terminal.take_over", terminalId="work")
    assert (await door.one("work"))["lease"]["kept"]
    await door("terminal.hand_back", terminalId="work")
    assert not (await door.one("work"))["lease"]["kept"]
    replayed = await door("terminal.replay", terminalId="work")
    assert (replayed["cols"], "a-3" in replayed["screen"]) == (91, True)
    await door("terminal.rename", terminalId="work", title="renamed")
    assert (await door.one("renamed"))["id"] == work["id"]
    words = {"args": ["-c", 'echo "$X in $(pwd)"'], "env": {"X": "val"}, "cwd": "sub", "outputByteLimit": 7}
    ran = await door("terminal.exec", command="sh", **words)
    assert (await door("terminal.wait", terminalId=ran["terminalId"]))["reason"] == "exit"
    lines = (await door("terminal.read_output", terminalId=ran["terminalId"]))["output"]
    assert lines[0] == f"val in {door.root / 'sub'}"
    assert door.served.app.terminals.get(ran["terminalId"]).meta["outputByteLimit"] == 7  # for an agent that reads it
    left = await door("terminal.run_outside", command="sh", **words, timeoutSeconds=30)
    assert (left["output"], left["exitCode"], left["running"]) == (f"val in {door.root / 'sub'}\n", 0, False)
    assert (await door("terminal.run_outside", command="cat", timeoutSeconds=0.1))["running"]
    await door("terminal.close", terminalId="cat")
    await door("terminal.close", terminalId=left["terminalId"])
    await door("terminal.show", terminalId="renamed")
    assert (await door("pane.list"))["panes"][0]["content"] == work["id"]
    listen = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); time.sleep(1000)"
    server = (await door("terminal.exec", command=sys.executable, args=["-c", listen]))["terminalId"]
    opened = await door("terminal.wait", terminalId=server, port=True)
    assert (opened["reason"], opened["port"] > 1023) == ("port", True)
    await door("terminal.kill", terminalId=server)
    assert (await door.one(server))["status"] == "exited"
    for id in (server, ran["terminalId"], work["id"]):
        await door("terminal.close", terminalId=id)
    assert (await door("terminal.list"))["terminals"] == []
    await door("terminal.set_limit", maxTerminals=1)
    small = (await door("terminal.create"))["terminalId"]
    assert ((await door.one(small))["cols"], (await door.one(small))["rows"]) == (80, 24)
    assert await door.code("terminal.create") == "limit"
    limit = await door("terminal.limit")
    assert (limit["maxTerminals"], limit["count"], limit["setting"]) == (1, 1, 100)
    await door("terminal.set_limit", maxTerminals=100)
    await door("terminal.close", terminalId=small)


async def hiding(door: Door) -> None:
    """A new size hides what the prompt redraws, unless it is told not to."""
    live = door.served.app.terminals.get("work")
    for cols, hide in ((90, True), (91, False)):
        await door("terminal.wait", terminalId="work", inputWanted=True)
        before = len(live.redraws)
        await door("terminal.resize", terminalId="work", cols=cols, rows=23, hideRedraw=hide)
        await until(functools.partial(sized, live, (cols, 23)))
        assert (await door.one("work"))["cols"] == cols
        assert len(live.redraws) == before + hide


def sized(live: Terminal, size: tuple[int, int]) -> bool:
    """Whether it has its size, and what follows from it is over."""
    return live.size == size and not live.postponed


async def tool_files(door: Door) -> None:
    """The tools for files: each argument by what comes of it."""
    shutil.rmtree(door.root / "made", ignore_errors=True)  # from the other door
    text = "".join(f"line {number}\n" for number in range(1, 11)) + "x" * 3000
    wrote = await door("tool.write", path="made/ten.txt", content=text)
    assert (wrote["created"], wrote["lines"], (door.root / "made/ten.txt").read_text()) == (True, 11, text)
    some = await door("tool.read", path="made/ten.txt", **{"from": 3}, limit=2)
    assert (some["content"], some["lines"], some["next"]) == ("line 3\nline 4\n", 11, 5)
    tail = await door("tool.read", path="made/ten.txt", **{"from": 11}, column=2991)
    assert (tail["content"], tail["ended"]) == ("x" * 10 + "\n", False)
    edits = [{"old": "line 3", "new": "third"}, {"old": "line", "new": "row", "all": True}]
    edited = await door("tool.edit", path="made/ten.txt", edits=edits)
    assert (edited["replaced"], "third\nrow 4\n" in (door.root / "made/ten.txt").read_text()) == (10, True)
    (door.root / "made/other.md").write_text("row 4\nrow 5\n")
    found = await door("tool.search", query="row [45]", regex=True, path="made", include="*.md", limit=1)
    assert ([one["path"] for one in found["matches"]], found["lines"]) == (["made/other.md"], 2)
    shown = await door("tool.show", path="made/ten.txt", line=4, endLine=6, highlight=True)
    assert shown["highlightId"]
    await door("tool.show", path="made/other.md")


@part
async def tool(door: Door) -> None:
    assert (await door("tool.bash", command="echo out; exit 3"))["exitCode"] == 3
    (door.root / "place").mkdir(exist_ok=True)
    both = {"env": {"X": "val"}, "workingDirectory": "place"}
    script = 'echo "$X $(basename "$PWD") $1"; cat; echo err >/dev/stderr'
    ran = await door("tool.execute_command", command="bash", args=["-c", script, "-", "word"], input="given", **both)
    assert (ran["stdout"], ran["stderr"], ran["ok"]) == ("val place word\ngiven", "err\n", True)
    ran = await door("tool.run_script", script=script, input="given\n", **both)
    assert (ran["stdout"], ran["stderr"], ran["ok"]) == ("val place\ngiven\n", "err\n", True)
    ran = await door("tool.execute_command", command="sleep", args=["1000"], timeoutSeconds=0.05)
    assert (ran["code"], "0.05" in ran["error"]) == ("timeout", True)
    assert (await door("tool.run_script", script="sleep 1000", timeoutSeconds=0.05))["code"] == "timeout"
    late = await door("tool.bash", command="echo early; sleep 1000", timeoutSeconds=0.3)
    assert (late["code"], late["output"], "0.3 s" in late["error"]) == ("timeout", "early\n", True)
    behind = await door("tool.bash", command="echo behind; cat", background=True)
    assert (await door("tool.terminal_continue", sessionId=behind["sessionId"]))["output"] == "behind\n"
    await door("tool.terminal_stop", sessionId=behind["sessionId"])
    await tool_files(door)
    long = await door("tool.bash", command="seq 100000")
    piece = await door("tool.read_output", outputId=long["outputId"], offset=2, limit=4)
    assert (piece["output"], piece["next"]) == ("2\n3\n", 6)
    started = await door("tool.terminal_start", command="cat", stdin="first\n")
    assert "first" in started["output"]
    went = await door("tool.terminal_continue", sessionId="cat", stdin="second\n")
    assert "second" in went["output"]
    listed = (await door("tool.terminal_list"))["sessions"]
    assert [one["title"] for one in listed if one["running"]] == ["cat"]
    await door("tool.terminal_stop", sessionId="cat")
    assert (await door("tool.terminal_list"))["sessions"] == []


@part
async def safety(door: Door) -> None:
    judged = await door("safety.judge", command='git add . && git commit -m "test" || echo "failed"')
    words = [["git", "add", "."], ["git", "commit", "-m", "test"], ["echo", "failed"]]
    assert (judged["level"], [one["words"] for one in judged["commands"]]) == ("unknown", words)
    levels = {"rm -rf /": "dangerous", "my_custom_script.sh": "unknown", "ls -la": "safe", "": "safe"}
    assert {line: (await door("safety.judge", command=line))["level"] for line in levels} == levels
    assert not os.path.exists(door.root / "made-by-judging")
    typed = {"6*7": "safe", "import json": "unknown", "os.remove('x')": "dangerous"}
    assert {line: (await door("safety.judge", command=line, program="python3 -q"))["level"] for line in typed} == typed
    assert await door.code("safety.judge", command="ls", program="bash") == "bad-argument"
    assert await door.code("safety.judge", command="ls", program="'") == "bad-argument"
    assert (await door("safety.judge", command="touch made-by-judging"))["commands"][0]["words"][0] == "touch"
    assert not os.path.exists(door.root / "made-by-judging")
    assert (await door("safety.asking"))["ask"] == "dangerous"
    assert (await door("safety.set_asking", ask="irreversible"))["ask"] == "irreversible"
    assert (await door("safety.asking"))["ask"] == "irreversible"
    assert (await door("safety.sandbox"))["line"] == (await door("workbench.snapshot"))["sandbox"]["line"]


@part
async def agent_(door: Door) -> None:
    served = door.served
    log = Path(served.places.state, "fake.log")
    capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}, "delete": {}}}
    options = {"capabilities": capabilities, "modes": ["ask", "code"], "auth": "browser"}
    env = {**served.app.terminals.env, "FAKE_LOG": str(log), "FAKE_OPTIONS": json.dumps(options)}
    wiring = LaunchContext(served.running.hub.briefing, lambda s: served.running.tokens.issue(s.actor), served.url, env)

    def received(method: str) -> list[Any]:
        messages = [json.loads(line) for line in log.read_text().splitlines()]
        return [message["params"] for message in messages if message.get("method") == method]

    async def here(id: str) -> Result:
        return next(one for one in (await door("agent.list"))["agents"] if one["id"] == id)

    with contextlib.closing(Launcher(served.app.bench, served.app.tasks, wiring)) as connections:
        register_all(connections)
        (door.root / "begun").mkdir()
        spec = f"acp {shlex.join([sys.executable, str(FAKE)])}"
        assert await door.code("agent.start", agent=spec, cwd="nowhere") == "bad-cwd"
        async with Model() as model:
            found = await door("agent.models", endpoint=f"{model.url}/v1")
            assert [one["id"] for one in found["models"]] == ["fake"]
        id = (await door("agent.start", agent=spec, cwd="begun"))["sessionId"]
        of = functools.partial(door, sessionId=id)
        assert (await here(id))["state"]["cwd"] == "begun"
        assert [way["id"] for way in (await of("agent.describe"))["signIn"]] == ["browser"]
        assert await door.code("agent.sign_in", sessionId=id, method="magic") == "bad-argument"
        await of("agent.sign_in", method="browser")
        assert received("authenticate") == [{"methodId": "browser"}]
        assert {one["cwd"] for one in received("session/new")} == {str(door.root / "begun")}
        await of("agent.set_mode", mode="code")
        assert received("session/set_mode")[0]["modeId"] == "code"
        await of("agent.set_option", option="model", value="big")
        change = received("session/set_config_option")[0]
        assert (change["configId"], change["value"]) == ("model", "big")
        assert [chat["id"] for chat in (await of("agent.list_chats"))["chats"]] == ["a", "b"]
        await of("agent.delete_chat", chat="a")
        assert received("session/delete") == [{"sessionId": "a"}]
        await of("agent.load_chat", chat="b")
        assert received("session/load")[0]["sessionId"] == "b"
        await of("agent.prompt", text="hello there")
        await until(lambda: received("session/prompt"))
        assert received("session/prompt")[0]["prompt"][-1]["text"] == "hello there"
        await of("agent.pause")
        assert (await here(id))["paused"]
        await of("agent.resume")
        assert not (await here(id))["paused"]
        changed: Result = {"provider": "local", "cropOutput": 777, "timeoutSeconds": 33.0}
        changed |= {"minInterval": 0.1, "settleInterval": 0.2, "maxInterval": 3.0, "cwd": "begun/deeper"}
        changed |= {"mode": "blocks"}
        (door.root / "begun/deeper").mkdir()
        assert (await of("agent.configure", **changed))["state"] == changed
        empty = dict.fromkeys(changed)
        assert (await of("agent.configure", reset=True, cropOutput=5))["state"] == {**empty, "cropOutput": 5}
        assert (await of("agent.configure", reset=True, **changed))["state"] == changed  # a kept state, given back
        shell = (await door("terminal.create", title="looked at"))["terminalId"]
        seen = [{"terminalId": shell, "title": "looked at"}]
        assert (await of("agent.attach", terminalId="looked at"))["attached"] == seen
        assert (await here(id))["attached"] == seen
        assert (await of("agent.detach", terminalId=shell))["attached"] == (await here(id))["attached"] == []
        await door("terminal.close", terminalId=shell)
        await of("agent.consent", allow=True, scopes=["see"])
        assert ((await here(id))["consent"], (await here(id))["scopes"]) == ("granted", ["see"])
        await of("agent.consent", allow=False)
        assert (await here(id))["consent"] != "granted"
        served.app.gate.rules.add(id, "a key", "a rule")
        assert (await of("agent.rules"))["rules"] == [{"key": "a key", "text": "a rule"}]
        await of("agent.drop_rule", key="a key")
        assert (await of("agent.rules"))["rules"] == []
        await of("agent.reset")
        assert (await here(id))["state"]["cropOutput"] == 777
        await of("agent.end")
        assert id not in [one["id"] for one in (await door("agent.list"))["agents"]]
    async with agent(door, "worker") as worker:
        (session,) = [one["id"] for one in (await door("agent.list"))["agents"] if one["name"] == "worker"]
        running = (await worker("terminal.create"))["terminalId"]
        await door("agent.stop", sessionId=session)
        assert (await door.one(running))["status"] != "exited"
        await door("agent.stop", sessionId=session, kill=True)
        assert (await door.one(running))["status"] == "exited"
    text = (await door("agent.help", command="openspace.pane.pin"))["text"]
    assert "pinned" in text
    assert "openspace.pane.close" not in text


@part
async def change(door: Door) -> None:
    text = "".join(f"{n}\n" for n in range(30))
    (door.root / "changed").write_text(text)

    async def left() -> list[tuple[int, int]]:
        listed = (await door("change.list"))["changes"]
        return [(hunk["beforeStart"], hunk["afterStart"]) for one in listed for hunk in one["hunks"]]

    async with agent(door, "writer") as writer:
        lines = text.split("\n")
        lines[3], lines[15], lines[27] = "three", "fifteen", "twenty-seven"
        await writer("file.read", path="changed")
        version = (await writer("file.write", path="changed", content="\n".join(lines)))["version"]
        assert len(await left()) == 3
        assert await door.code("change.keep", path="changed", hunk=0, version="other") == "conflict"
        await door("change.keep", path="changed", version=version, hunk=1)
        assert [before for before, _ in await left()] == [3, 27]
        assert await door.code("change.revert", path="changed", version="other") == "conflict"
        await door("change.revert", path="changed", version=version, hunk=0)
        lines[3] = "3"
        assert (door.root / "changed").read_text() == "\n".join(lines)
        await door("change.keep", path="changed")
        assert await left() == []
        await writer("file.write", path="fresh", content="new")
        await door("change.revert", path="fresh")
        assert not (door.root / "fresh").exists()


@part
async def turn(door: Door) -> None:
    (door.root / "kept").write_text("before")
    turns = door.served.app.bench.turns
    async with agent(door, "Turner") as worker:
        await worker("file.write", path="turned", content="1")
        [one] = (await door("turn.list", session="Turner"))["turns"]
        assert one["id"] in [other["id"] for other in (await door("turn.list"))["turns"]]
        would = await door("turn.undo", turn=one["id"], preview=True)
        assert ("turned" in would["files"], (door.root / "turned").exists()) == (True, True)
        await door("turn.undo", turn=one["id"])
        assert not (door.root / "turned").exists()
        await door("turn.redo", turn=one["id"])
        assert (door.root / "turned").read_text() == "1"
        await door("turn.keep", turn=one["id"])
        assert turns.get(one["id"]).status == "kept"


@part
async def checkpoint(door: Door) -> None:
    async with agent(door, "Checker") as worker:
        await worker("file.write", path="checked", content="1")
        [one] = (await door("turn.list", session="Checker"))["turns"]
        await door("turn.undo", turn=one["id"])
        one = door.served.app.bench.turns.get(one["id"])
        assert {one.before, one.after} <= {each["id"] for each in (await door("checkpoint.list"))["checkpoints"]}
        compared = await door("checkpoint.compare", before=one.before, after=one.after)
        assert [each["path"] for each in compared["paths"]] == ["checked"]
        await door("checkpoint.restore", checkpoint=one.after)
        assert (door.root / "checked").read_text() == "1"


@part
async def rehearsal(door: Door) -> None:
    rehearsals = door.served.app.bench.rehearsals
    if reason := await rehearsals.impossible():
        refuse(f"no overlay here: {reason}")
    for name in ("played", "held"):
        (door.root / name).write_text("1")
    async with agent(door, "player") as player, asyncio.TaskGroup() as group:
        leave = door.served.app.questions.attend()
        line = "rm -rf played; while [ -e held ]; do sleep 0.1; done"
        running = group.create_task(player.result("tool.bash", command=line))
        await until(door.served.app.questions.open)
        [question] = (await door("workbench.questions"))["questions"]
        assert (await door("rehearsal.check", questionId=question["id"]))["possible"]
        first = await door("rehearsal.start", questionId=question["id"])
        assert (await door("rehearsal.stop", id=first["id"]))["stopped"]
        await door("rehearsal.discard", id=first["id"])
        assert await door.code("rehearsal.read", id=first["id"]) == "not-found"
        (door.root / "held").unlink()
        second = await door("rehearsal.start", questionId=question["id"])
        await rehearsals.ended(rehearsals.get(second["id"]))
        assert [one["path"] for one in (await door("rehearsal.read", id=second["id"]))["changes"]] == ["played"]
        assert (door.root / "played").exists()
        assert (await door("rehearsal.apply", id=second["id"]))["files"] == 1
        assert not (door.root / "played").exists()
        assert (await running)["code"] == "denied"
        leave()


@part
async def workbench(door: Door) -> None:
    machine = await door("workbench.platform")
    assert (machine["system"], machine["machine"]) == (platform.system(), platform.machine())
    assert machine["defaultShell"] in machine["shells"]
    assert isinstance(machine["wsl"], bool)
    async with agent(door, "asker", consent=False) as asker, asyncio.TaskGroup() as group:
        leave = door.served.app.questions.attend()

        async def asked(command: str, /, **args: Any) -> tuple[str, asyncio.Task[Result]]:
            """A question, by its id, and the call that waits for the answer."""
            call = group.create_task(asker.result(command, **args))
            await until(door.served.app.questions.open)
            (question,) = (await door("workbench.questions"))["questions"]
            return question["id"], call

        question, call = await asked("file.list")
        await door("workbench.answer", questionId=question, choice="session", scopes=["see", "write", "run"])
        assert (await call)["success"]
        (known,) = [one for one in (await door("workbench.snapshot"))["agents"] if one["name"] == "asker"]
        assert known["scopes"] == ["see", "write", "run"]
        line = {"command": "openspace-unknown-program one"}
        question, call = await asked("tool.bash", **line)
        assert (await door("workbench.review", questionId=question, text="rm -rf /"))["level"] == "dangerous"
        await door("workbench.answer", questionId=question, choice="edit", text="echo edited")
        assert (await call)["stdout"] == "edited\n"
        question, call = await asked("tool.bash", **line)
        await door("workbench.answer", questionId=question, choice="edit", args={"command": "echo by arguments"})
        assert (await call)["stdout"] == "by arguments\n"
        question, call = await asked("tool.bash", **line)
        await door("workbench.answer", questionId=question, choice="deny", reason="not on a Sunday")
        refused = await call
        assert (refused["code"], "not on a Sunday" in json.dumps(refused)) == ("denied", True)
        field = FormField(name="who", kind="text", title="Who")
        form = Question(kind="form", session="", text="Who?", options=("once",), fields=(field,))
        filled = group.create_task(door.served.app.questions.ask(form))
        await until(door.served.app.questions.open)
        await door("workbench.answer", questionId=form.id, choice="once", values={"who": "Ann"})
        assert (await filled).answer.values == {"who": "Ann"}
        for name in ("first", "second"):
            await asker("file.write", path=f"{name}.undo", content=name)
        newest, older = [a for a in (await door("workbench.actions"))["actions"] if "undo" in a["description"]][:2]
        assert (await door("workbench.undo", callId=older["callId"]))["action"]["callId"] == older["callId"]
        assert not (door.root / "first.undo").exists()
        assert (await door("workbench.redo"))["action"]["callId"] == older["callId"]
        assert (door.root / "first.undo").exists()
        assert (await door("workbench.undo"))["action"]["callId"] == newest["callId"]
        leave()


@part
async def network(door: Door) -> None:
    async def rules() -> dict[str, bool]:
        return {rule["host"]: rule["allowed"] for rule in (await door("network.list"))["rules"]}

    await door("network.allow", host="Example.ORG.")
    assert await rules() == {"example.org": True}
    await door("network.allow", host="example.org", allow=False)
    assert await rules() == {"example.org": False}
    await door("network.forget", host="example.org")
    assert await rules() == {}
    assert await door.code("network.allow", host="127.0.0.1") == "bad-argument"
    assert (await door("network.ports"))["ports"] == []
    async with agent(door, "surfer") as surfer:
        session = next(one for one in (await door("agent.list"))["agents"] if one["name"] == "surfer")["id"]
        door.served.app.bench.network.gatekeeper.log.add(session, "example.org", connections=1, up=7)
        (host,) = (await door("network.hosts", sessionId=session))["hosts"]
        assert (host["host"], host["up"]) == ("example.org", 7)
        assert await surfer.code("network.allow", host="example.org") == "denied"


@contextlib.asynccontextmanager
async def agent(door: Door, name: str, *, consent: bool = True) -> AsyncIterator[Door]:
    """Somebody else at the same workbench, for as long as the block."""
    session, token = door.served.agent(name, consent=consent)
    async with door.served.client(token) as client:
        yield Door(door.served, functools.partial(post, client))
    await door.served.app.bench.end_session(session)


async def post(client: httpx.AsyncClient, command: str, args: dict[str, Any]) -> Result:
    """POST /api/commands/ID."""
    result: Result = (await client.post(f"/api/commands/{command}", json=args)).json()
    return result


def test_there_is_a_part_for_every_noun() -> None:
    assert {command.id.split(".")[1] for group in CONTRIBUTIONS for command in group.commands} == set(PARTS)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("noun", PARTS)
async def test_every_argument_has_its_effect_by_http(served: Served, noun: str) -> None:
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
    async with served.client() as client:
        door = Door(served, functools.partial(post, client))
        await PARTS[noun](door)
    assert door.missing(noun) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_every_argument_of_the_tools_has_its_effect_by_mcp(served: Served) -> None:
    with agreeable_person(served.app):
        async with by_mcp(served) as call:
            door = Door(served, call)
            await PARTS["tool"](door)
    assert door.missing("tool") == []
