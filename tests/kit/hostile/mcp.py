"""MCP in both generations, over HTTP and on pipes."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from tests.kit.hostile.network import HOSTILE_QUERIES, hostile_headers, knock
from tests.kit.hostile.stage import POSITIONS, Door, Stage, as_text
from tests.kit.mcp_client import PROGRAM, WITH_FIELDS, Mode
from tests.kit.server import until

from fourhands.commands.toolset import tool_name


class McpDoor(Door):
    """The official client, whose forms a person sees; a call of its own is under way all the time."""

    client: Client
    token: str

    async def form(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(f"{params.message}\n{as_text(params.requested_schema)}")
        if self.choice == "deny":
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"decision": self.choice})

    async def message(self, notice: Any) -> None:
        self.saw(repr(notice))

    async def logged(self, params: Any) -> None:
        self.saw(params.data)

    async def call(self, command: str, /, **args: Any) -> str:
        done = await self.client.call_tool(tool_name(f"openspace.{command}"), args, meta=WITH_FIELDS)
        return self.saw(done.model_dump(mode="json"))

    async def news(self) -> None:
        self.saw([one.model_dump(mode="json") for one in (await self.client.list_resources()).resources])
        await self.resource("fourhands://instructions")
        self.saw((await self.client.get_prompt("workbench")).model_dump(mode="json"))

    async def resource(self, uri: str) -> None:
        try:
            self.saw((await self.client.read_resource(uri)).model_dump(mode="json"))
        except MCPError as error:
            self.saw(error.error.model_dump(mode="json"))

    async def look(self, script: str, *patterns: str) -> None:
        await super().look(script, *patterns)
        id = next(one.id for one in self.stage.app.terminals.list() if one.title == f"sh {script}")
        for query in ("", "?lines=3", *(f"?since={position}" for position in POSITIONS)):
            await self.resource(f"fourhands://terminal/{id}{query}")

    async def read(self, path: str, needle: str) -> None:
        await super().read(path, needle)
        await self.resource(f"fourhands://file/{path}")

    async def pry(self, question: str) -> None:
        await super().pry(question)
        with contextlib.suppress(MCPError):  # nothing of ours waits for an answer
            answer: dict[str, Any] = {question: ElicitResult(action="accept", content={"decision": "once"})}
            self.saw(
                repr(
                    await self.client.session.call_tool(
                        "bash", {"command": "true"}, request_state=question, input_responses=answer
                    )
                )
            )

    async def attack(self) -> list[str]:
        served, found = self.stage.served, []
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        for name, headers in hostile_headers(served, "x" * 43).items():
            if not (await knock(served, "POST /mcp", headers | accept, body=body)).startswith(b"HTTP/1.1 4"):
                found.append(name)
        own = {"Host": f"127.0.0.1:{served.port}", "Authorization": f"Bearer {self.token}", **accept}
        for query in HOSTILE_QUERIES:
            answer = await knock(served, f"POST /mcp{query.format(served.token)}", own, body=body)
            found += [query] if b'"tools"' in answer else []
        # The session of another client, named in the generation that has no sessions.
        async with served.client(headers=accept) as person:
            hello = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "other", "version": "1"},
            }
            opened = await person.post(
                "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            )
            other = opened.headers["mcp-session-id"]
            for version in ("2025-06-18", "2026-07-28"):
                stolen = {**own, "mcp-session-id": other, "mcp-protocol-version": version}
                if b'"tools"' in await knock(served, "POST /mcp", stolen, body=body):
                    found.append(f"another's session in {version}")
            await person.delete("/mcp", headers={"mcp-session-id": other})
        return found


@contextlib.asynccontextmanager
async def mcp_door(stage: Stage, mode: Mode, *, pipes: bool) -> AsyncIterator[McpDoor]:
    """An agent whose token the person made for a client that shows forms."""
    served = stage.served
    door = McpDoor(stage, "mcp")
    async with served.client() as person:
        made = (await person.post("/api/agents", json={"name": "mcp", "forms": True})).json()
    door.session, door.token = made["sessionId"], made["token"]
    stage.app.gate.consent.grant(door.session)
    options: dict[str, Any] = {
        "mode": mode,
        "cache": None,
        "elicitation_callback": door.form,
        "message_handler": door.message,
        "logging_callback": door.logged,
    }
    async with contextlib.AsyncExitStack() as stack:
        if pipes:
            env = {**os.environ, **served.env, "FOURHANDS_TOKEN": door.token}
            way: Any = StdioServerParameters(
                command=sys.executable, args=["-c", PROGRAM, served.places.workspace], env=env
            )
        else:
            headers = {"Authorization": f"Bearer {door.token}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False))
            way = streamable_http_client(f"{served.url}/mcp", http_client=http)
        door.client = await stack.enter_async_context(Client(way, **options))
        if mode == "legacy":
            await door.client.set_logging_level("debug")
        # A call that is under way: what others do and are asked must not come to it.
        sleeper = await stage.app.terminals.create(argv=["cat"], title=f"sleeper-{mode}-{pipes}")
        stack.push_async_callback(sleeper.close)
        async with asyncio.TaskGroup() as group:
            args = {"terminalId": sleeper.id, "pattern": "never", "deadlineSeconds": 600}
            waiting = group.create_task(door.client.call_tool("openspace_terminal_wait", args))
            await until(lambda: stage.app.gate.pending(door.session))
            yield door
            waiting.cancel()
