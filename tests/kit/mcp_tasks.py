"""The official Python client with calls that are tasks, in both generations, and a shell line that takes long.

The client has the types of both but drives neither by itself: what it lacks is here, by its own ways to add it.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp_types import (
    CallToolResult,
    CancelTaskRequest,
    CancelTaskRequestParams,
    CancelTaskResult,
    CreateTaskResult,
    ElicitRequest,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    GetTaskResult,
    ListTasksRequest,
    ListTasksResult,
    Request,
    Result,
    Task,
    TaskStatusNotificationParams,
)
from pydantic import BaseModel, ConfigDict
from tests.kit.hosts import is_alive
from tests.kit.mcp_client import Form, connected, until

from fourhands.app import App
from fourhands.surfaces.mcp.task_forms import EXTENSION


class Held:
    """A shell line that waits until it is let go; nothing here ever blocks."""

    def __init__(self, app: App) -> None:
        self._path = Path(app.bench.root, "go")
        os.mkfifo(self._path)
        self.args: dict[str, object] = {"command": "cat go"}

    async def let_go(self) -> None:
        """Let it print its last line and end, once it runs."""
        async with asyncio.timeout(40):
            while True:
                try:
                    end = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:  # it does not read yet
                    await asyncio.sleep(0.02)
                else:
                    os.write(end, b"late\n")
                    return os.close(end)


class Sleeper:
    """A shell line that takes very long, and its process."""

    def __init__(self, app: App, name: str = "pid") -> None:
        self._app = app
        self._file = Path(app.bench.root, name)
        self.args: dict[str, object] = {"command": f"echo early; echo $$ > {name}; exec sleep 1000"}
        self.pid = 0

    async def running(self) -> None:
        """Wait until it runs."""
        await until(lambda: self._file.exists() and self._file.read_text().endswith("\n"), self._app)
        self.pid = int(self._file.read_text())

    async def gone(self) -> None:
        """Wait until it has ended."""
        assert self.pid
        await until(lambda: not is_alive(self.pid), self._app)


class Utility:
    """Tasks of a client of the older generation."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def create(self, name: str, args: dict[str, object], task: object = None, **more: object) -> Task:
        """Begin a call as a task."""
        params = {"name": name, "arguments": args, "task": {} if task is None else task, **more}
        return CreateTaskResult.model_validate(await self.raw("tools/call", params), by_name=False).task

    async def raw(self, method: str, params: dict[str, object]) -> dict[str, Any]:
        """A request as it stands on the wire: the client knows no task as the result of a call."""
        dispatcher = self.client.session._dispatcher  # noqa: SLF001 - its public ways check results
        return await dispatcher.send_raw_request(method, params, {})

    async def get(self, id: str) -> GetTaskResult:
        """The state of a task."""
        request = GetTaskRequest(params=GetTaskRequestParams(task_id=id))
        return await self.client.session.send_request(request, GetTaskResult)

    async def result(self, id: str) -> CallToolResult:
        """The result of a task, as soon as there is one."""
        request = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=id))
        return await self.client.session.send_request(request, CallToolResult)

    async def cancel(self, id: str) -> CancelTaskResult:
        """Cancel a task."""
        request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=id))
        return await self.client.session.send_request(request, CancelTaskResult)

    async def list(self) -> list[Task]:
        """All tasks."""
        return (await self.client.session.send_request(ListTasksRequest(), ListTasksResult)).tasks

    async def until(self, id: str, *states: str) -> GetTaskResult:
        """The first state of a task that is one of these."""
        async with asyncio.timeout(40):
            while True:
                seen = await self.get(id)
                if seen.status in states:
                    return seen
                await asyncio.sleep(0.02)

    async def forgotten(self, id: str) -> tuple[int, str]:
        """Wait until a task is not known any more; the error that says so."""
        async with asyncio.timeout(40):
            while True:
                try:
                    await self.get(id)
                except MCPError as error:
                    return error.error.code, error.error.message
                await asyncio.sleep(0.02)


class _Wire(BaseModel):
    model_config = ConfigDict(extra="allow")


class TaskHandle(Result):
    """What stands in the place of a call's result in the newer generation."""

    result_type: Literal["task"]
    task_id: str
    status: str
    ttl_ms: int
    poll_interval_ms: int
    created_at: str
    last_updated_at: str


class ExtensionRequest(Request[dict[str, Any], str]):
    """A request about a task."""

    name_param = "taskId"


class HearsTasks(ClientExtension):
    """An extension of the client that hears how tasks of the older generation are."""

    identifier = "com.example/hears-tasks"

    def __init__(self) -> None:
        self.told: asyncio.Queue[TaskStatusNotificationParams] = asyncio.Queue()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """News of tasks."""

        async def handler(params: TaskStatusNotificationParams) -> None:
            self.told.put_nowait(params)

        method, kind = "notifications/tasks/status", TaskStatusNotificationParams
        return [NotificationBinding(method=method, params_type=kind, handler=handler)]


class TakesTasks(ClientExtension):
    """An extension of the client that takes tasks, and comes for their results."""

    identifier = EXTENSION

    def __init__(self, form: Form | None = None) -> None:
        self._form = form or Form()
        self.handles: list[TaskHandle] = []
        self.states: list[str] = []
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """The handle in place of a result."""
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve)]

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """News of tasks on streams."""

        async def handler(params: _Wire) -> None:
            self.told.put_nowait(params.model_dump())

        return [NotificationBinding(method="notifications/tasks", params_type=_Wire, handler=handler)]

    async def _resolve(self, handle: TaskHandle, context: ClaimContext) -> CallToolResult:
        self.handles.append(handle)
        answered: set[str] = set()
        async with asyncio.timeout(40):
            while True:
                seen = await ask(context.session, "tasks/get", handle.task_id)
                if self.states[-1:] != [seen["status"]]:
                    self.states.append(seen["status"])
                if seen["status"] == "completed":
                    return CallToolResult.model_validate(seen["result"])
                if seen["status"] == "input_required":
                    given = {
                        id: await self._answer(one) for id, one in seen["inputRequests"].items() if id not in answered
                    }
                    answered |= set(given)
                    await ask(context.session, "tasks/update", handle.task_id, inputResponses=given)
                elif seen["status"] != "working":
                    raise RuntimeError(seen["status"])
                await asyncio.sleep(seen["pollIntervalMs"] / 1000)

    async def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        chosen = await self._form(None, ElicitRequest.model_validate(asked).params)
        return dict(chosen.model_dump(by_alias=True, exclude_none=True))


async def ask(session: Any, method: str, id: str, **more: object) -> dict[str, Any]:
    """Make a request about a task in the newer generation."""
    request = ExtensionRequest(method=method, params={"taskId": id, **more})
    return dict((await session.send_request(request, _Wire)).model_dump())


@contextlib.asynccontextmanager
async def with_utility(app: App, **options: Any) -> AsyncIterator[Utility]:
    """A client of the older generation and its tasks."""
    async with connected(app, "legacy", **options) as client:
        yield Utility(client)


@contextlib.asynccontextmanager
async def with_extension(
    app: App, form: Form | None = None, **options: Any
) -> AsyncIterator[tuple[Client, TakesTasks]]:
    """A client of the newer generation that takes tasks."""
    takes = TakesTasks(form)
    async with connected(app, "auto", extensions=[takes], elicitation_callback=form, **options) as client:
        yield client, takes
