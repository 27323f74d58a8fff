"""ACP's door as an editor finds it: the socket of a running workbench, one JSON message per line, nothing in "
"between."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from tests.sources.doors import Doors

from fourhands.surfaces.acp import SOCKET, joinable

LIMIT_S = 40
Message = dict[str, Any]


class Editor:
    """The program on the other side. Asked for a permission it chooses `choice`; what it was asked is in `asked`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.session = ""
        self.choice = "once"
        self.asked: list[Message] = []
        self._reader, self._writer = reader, writer
        self._answers: dict[object, Message] = {}
        self._last = 100

    async def send(self, message: Message) -> None:
        """Write one line."""
        self._writer.write(json.dumps(message).encode() + b"\n")
        await self._writer.drain()

    async def answer(self, id: object) -> Message:
        """The whole answer to the request of this id."""
        async with asyncio.timeout(LIMIT_S):
            while id not in self._answers:
                said: Message = json.loads(await self._reader.readline())
                if "method" not in said:
                    self._answers[said["id"]] = said
                elif said["method"] == "session/request_permission":
                    self.asked.append(said["params"])
                    outcome = {"outcome": {"outcome": "selected", "optionId": self.choice}}
                    await self.send({"jsonrpc": "2.0", "id": said["id"], "result": outcome})
        return self._answers.pop(id)

    async def call(self, method: str, **params: object) -> Message:
        """Send a request of this session and return its whole answer."""
        self._last += 1
        id = self._last
        mine = {"sessionId": self.session} if self.session else {}
        await self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": {**mine, **params}})
        return await self.answer(id)

    async def create(self, command: str, **params: object) -> str:
        """Create a terminal and return its id."""
        answer = await self.call("terminal/create", command=command, **params)
        return str(answer["result"]["terminalId"])

    async def ended(self, id: str) -> Message:
        """The output of a terminal at its end."""
        await self.call("terminal/wait_for_exit", terminalId=id)
        output: Message = (await self.call("terminal/output", terminalId=id))["result"]
        return output

    async def printed(self, command: str, **params: object) -> str:
        """What a program printed, all of it."""
        return str((await self.ended(await self.create(command, **params)))["output"])

    async def error(self, method: str, **params: object) -> tuple[int, str, str]:
        """An error's number, its code and its words."""
        answer = await self.call(method, **params)
        assert "error" in answer, answer
        return answer["error"]["code"], answer["error"].get("data", {}).get("code", ""), answer["error"]["message"]

    async def open(self, doors: Doors, cwd: str = "") -> str:
        """Open a session, which the person lets in, and go on in it."""
        answer = await self.call("session/new", cwd=cwd or str(doors.root), mcpServers=[])
        self.session = answer["result"]["sessionId"]
        doors.app.gate.consent.grant(self.session)
        return self.session


@contextlib.asynccontextmanager
async def joined(doors: Doors) -> AsyncIterator[Editor]:
    """An editor with one session; its end is the end of what it started."""
    places = doors.served.places
    async with joinable(doors.app.bench, doors.app.tasks, places.runtime):
        reader, writer = await asyncio.open_unix_connection(os.path.join(places.runtime, SOCKET), limit=1 << 24)
        editor = Editor(reader, writer)
        try:
            await editor.call("initialize", protocolVersion=1, clientCapabilities={})
            await editor.open(doors)
            yield editor
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
