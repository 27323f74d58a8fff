"""ACP on both sides: an agent of ours that speaks it, and an editor that joins."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.kit.acp_stage import FAKE
from tests.kit.hostile.stage import Door, Stage, as_text
from tests.kit.person import let_in
from tests.kit.server import LIMIT_S

from fourhands.agents.acp.connector import AcpAgent
from fourhands.agents.acp.recipe import Recipe
from fourhands.core.event import Event
from fourhands.surfaces.acp import SOCKET, joinable


class AcpDoors(Door):
    """ACP's methods; the way to the other side differs."""

    async def ask(self, method: str, /, **params: Any) -> Any:
        """One request; its result, or its error."""
        raise NotImplementedError

    terminals: dict[str, list[str]]

    async def run(self, script: str) -> None:
        # One terminal for each limit, and the script waits for nothing: an agent chooses its limits beforehand.
        ids = []
        for limit in (50, 400, 3000, None):
            more = {} if limit is None else {"outputByteLimit": limit}
            made = await self.ask("terminal/create", command="sh", args=[script], **more)
            ids.append(made["terminalId"])
        self.terminals[script] = ids

    async def look(self, script: str, *patterns: str) -> None:
        for id in self.terminals[script]:
            await self.ask("terminal/output", terminalId=id)

    async def screen(self, script: str) -> None:
        await self.look(script)  # ACP has no screen

    async def read(self, path: str, needle: str) -> None:
        await self.ask("fs/read_text_file", path=str(self.stage.root / path))
        await self.ask("fs/read_text_file", path=str(self.stage.root / "x" / ".." / path), line=1, limit=5)

    async def propose(self, line: str) -> None:
        await self.ask("terminal/create", command=line)

    async def pry(self, question: str) -> None:
        for session in (question, "other"):
            await self.ask("terminal/create", command="true", sessionId=session)

    async def attack(self) -> list[str]:
        found = []
        other = let_in(self.stage.app, "other").id
        terminal = (await self.stage.app.terminals.create(argv=["cat"], owner=other)).id
        for method, params in (
            ("terminal/output", {"terminalId": terminal}),
            ("terminal/kill", {"terminalId": terminal}),
            ("terminal/create", {"command": "true", "sessionId": other}),
            ("fs/read_text_file", {"path": "/etc/passwd"}),
            ("fs/read_text_file", {"path": str(self.stage.root / ".." / "state" / "token")}),
            ("openspace.workbench.questions", {}),
        ):
            done = await self.ask(method, **params)
            if "code" not in done:
                found.append(f"{method} {params}")
        await self.stage.app.terminals.get(terminal).close()
        return found


class AcpServerDoor(AcpDoors):
    """`fourhands acp`: an editor on the socket of a running workbench, which is asked for permissions itself."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number = 0

    async def ask(self, method: str, /, **params: Any) -> Any:
        self.number += 1
        mine = {"sessionId": self.session} if self.session else {}
        self.write({"id": self.number, "method": method, "params": {**mine, **params}})
        async with asyncio.timeout(LIMIT_S):
            while True:
                said = json.loads(await self.reader.readline())
                if said.get("method") == "session/request_permission":
                    self.asked.append(as_text(said["params"]))
                    outcome = {"outcome": "selected", "optionId": self.choice}
                    self.write({"id": said["id"], "result": {"outcome": outcome}})
                if "method" in said:
                    continue
                self.saw(said)
                if said["id"] == self.number:
                    return said.get("result", said.get("error"))

    def write(self, message: dict[str, Any]) -> None:
        self.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@contextlib.asynccontextmanager
async def acp_server_door(stage: Stage) -> AsyncIterator[AcpServerDoor]:
    door = AcpServerDoor(stage, "acp")
    door.terminals = {}
    runtime = stage.served.places.runtime
    async with joinable(stage.app.bench, stage.app.tasks, runtime):
        door.reader, door.writer = await asyncio.open_unix_connection(f"{runtime}/{SOCKET}", limit=1 << 24)
        try:
            await door.ask("initialize", protocolVersion=1, clientCapabilities={})
            door.session = (await door.ask("session/new", cwd=str(stage.root), mcpServers=[]))["sessionId"]
            stage.app.gate.consent.grant(door.session)
            yield door
        finally:
            door.writer.close()
            with contextlib.suppress(OSError):
                await door.writer.wait_closed()


class AcpClientDoor(AcpDoors):
    """An agent of our own that speaks ACP: a real process, which tells what came of its requests."""

    agent: AcpAgent
    log: str

    async def ask(self, method: str, /, **params: Any) -> Any:
        said: list[str] = []

        def hear(event: Event) -> None:
            if event.kind == "agent.said" and event.data["session"] == self.session:
                said.append(str(event.data["text"]))

        stop = self.stage.app.events.published.subscribe(hear)
        try:
            await self.agent.prompt(json.dumps([["call", method, params]]))
            async with asyncio.timeout(LIMIT_S):
                await self.agent.idle()
        finally:
            stop()
        self.saw(Path(self.log).read_text())  # everything that its process received, prompts included
        Path(self.log).write_text("")
        [line] = [line for line in "".join(said).splitlines() if line.startswith("RESULT ")]
        done = json.loads(line.removeprefix("RESULT "))
        return done.get("result", done.get("error"))


@contextlib.asynccontextmanager
async def acp_client_door(stage: Stage) -> AsyncIterator[AcpClientDoor]:
    door = AcpClientDoor(stage, "acp")
    door.terminals = {}
    door.log = f"{stage.served.places.state}/fake.log"
    Path(door.log).write_text("")
    session = let_in(stage.app, "acp")
    door.session = session.id
    env = {**stage.app.terminals.env, "FAKE_LOG": door.log, "FAKE_OPTIONS": "{}"}
    async with AcpAgent(stage.app.bench, session, Recipe(name="fake"), [sys.executable, FAKE], env=env) as door.agent:
        yield door
