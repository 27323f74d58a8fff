"""Requests about tasks, in both generations; see `task_forms` for how these differ."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolResult,
    CancelTaskResult,
    CreateTaskResult,
    ElicitResult,
    GetTaskResult,
    ListTasksResult,
    Notification,
    PaginatedRequestParams,
    ProgressNotification,
    ProgressNotificationParams,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TaskMetadata,
)
from pydantic import ValidationError

from fourhands.commands.toolset import tool_name
from fourhands.core.call import Result
from fourhands.core.errors import Conflict, NotFound
from fourhands.core.registry import Registry
from fourhands.core.tasks import Tasks
from fourhands.surfaces.mcp.calls import Calls
from fourhands.surfaces.mcp.clients import McpClient, McpClients
from fourhands.surfaces.mcp.elicitation import answer
from fourhands.surfaces.mcp.formats import page
from fourhands.surfaces.mcp.kept_tasks import UTILITY_VERSION, KeptTask, KeptTasks, Payload
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.pending_call import PendingCall
from fourhands.surfaces.mcp.sdk import Context
from fourhands.surfaces.mcp.task_forms import (
    EXTENSION,
    IMMEDIATE,
    TaskParams,
    TaskUpdateParams,
    as_sent,
    check_header,
    detailed,
    extension_task,
    has_extension,
    has_utility,
    is_modern,
    related,
    require_extension,
    utility_task,
)

_CREATED: ContextVar[list[CreateTaskResult] | None] = ContextVar("_CREATED", default=None)
"""The task that the handler of a call made: in the older generation the SDK has no such result of a call."""

FinishCall = Callable[[Result], Payload]
ServeStream = Callable[[Context, SubscriptionsListenRequestParams], Awaitable[SubscriptionsListenResult]]


class TaskRequests:
    """Makes tasks of calls, and answers what clients ask about theirs."""

    def __init__(
        self,
        server: Server[None],
        registry: Registry,
        kept: KeptTasks,
        calls: Calls,
        peers: McpClients,
        tasks: Tasks,
        limits: McpLimits,
    ) -> None:
        self._registry = registry
        self._kept = kept
        self._calls = calls
        self._peers = peers
        self._tasks = tasks
        self._limits = limits
        server.add_request_handler("tasks/get", TaskParams, self._get)
        server.add_request_handler("tasks/cancel", TaskParams, self._cancel)
        server.add_request_handler("tasks/result", TaskParams, self._result)
        server.add_request_handler("tasks/list", PaginatedRequestParams, self._list)
        server.add_request_handler("tasks/update", TaskUpdateParams, self._update)
        server.middleware.append(_answered)

    # -- calls as tasks --------------------------------------------------------------------------------------------

    def wanted(self, context: Context, task: TaskMetadata | None) -> bool:
        """Return True if a client asks for a task, in the generation in which clients do."""
        return task is not None and has_utility(context)

    def patience_s(self, context: Context, command: str) -> float | None:
        """Return after how long a call is to become a task; None: never."""
        return self._limits.task_after_s if has_extension(context) and self._lasts(command) else None

    def create(
        self, context: Context, command: str, args: dict[str, object], task: TaskMetadata, finish: FinishCall
    ) -> CallToolResult:
        """Begin a call as a task; what is returned takes the place of its result on the way out."""
        if not self._lasts(command):
            raise MCPError(METHOD_NOT_FOUND, f"{tool_name(command)} does not run as a task: call it without `task`")
        peer = self._peers.find(context)
        ttl_s = None if task.ttl is None else task.ttl / 1000
        kept = self._kept.add(self._calls.begin(context, command, args), finish, ttl_s)
        self._hold(peer, kept)
        if (token := (context.meta or {}).get("progress_token")) is not None:
            self._tasks.start(self._report(peer, kept, token), f"progress of MCP task {kept.id}")
        told = f"It runs as task {kept.id}; its result comes when it has ended."
        created = CreateTaskResult(task=utility_task(kept), _meta={IMMEDIATE: told, **related(kept.id)})
        slot = _CREATED.get()
        assert slot is not None  # `_answered` is around every request
        slot.append(created)
        return CallToolResult(content=[])

    def hand_over(self, context: Context, exchange: PendingCall, finish: FinishCall) -> dict[str, Any]:
        """Make a task of a call that has run for long, and return it in place of the result."""
        kept = self._kept.add(exchange, finish)
        self._hold(self._peers.find(context), kept)
        return {"resultType": "task", **extension_task(kept)}

    def _lasts(self, command: str) -> bool:
        return command in self._registry and self._registry.get(command).lasting

    def _hold(self, peer: McpClient, task: KeptTask) -> None:
        """Keep a client without a connection for as long as its task works."""
        peer.requests += 1

        def release() -> None:
            peer.requests -= 1
            self._peers.rest(peer)

        task.ended = release

    async def _report(self, peer: McpClient, task: KeptTask, token: str | int) -> None:
        """Tell the client that its task works, by the token that it gave with the call."""
        seconds = 0.0
        while not task.final:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.progress_s):
                    await task.done.wait()
            seconds = round(seconds + self._limits.progress_s, 3)
            if not task.final and (channel := peer.told) is not None:
                said = task.said or f"running for {seconds:.0f} s"
                params = ProgressNotificationParams(
                    progress_token=token, progress=seconds, message=said, _meta=related(task.id)
                )
                await channel.send_notification(ProgressNotification(params=params))

    # -- requests --------------------------------------------------------------------------------------------------

    async def _get(self, context: Context, params: TaskParams) -> GetTaskResult | dict[str, Any]:
        task = self._find(context, params.task_id)
        if is_modern(context):
            if task.over:
                self._kept.fetch(task)
            return detailed(task, context.protocol_version)
        return GetTaskResult.model_validate(utility_task(task).model_dump())

    async def _result(self, context: Context, params: TaskParams) -> Payload:
        _only_older(context)
        task = self._find(context, params.task_id)
        peer = self._peers.find(context)
        if task.exchange is not None:
            await self._calls.wait(context, peer, task.exchange)
        sent = as_sent(self._kept.fetch(task), context.protocol_version)
        meta = sent.get("_meta")
        return {**sent, "_meta": {**(meta if isinstance(meta, dict) else {}), **related(task.id)}}

    async def _list(self, context: Context, params: PaginatedRequestParams) -> ListTasksResult:
        _only_older(context)
        mine = self._kept.list(self._peers.find(context).session.id)
        found, more = page(mine, params, self._limits.page)
        return ListTasksResult(tasks=[utility_task(one) for one in found], next_cursor=more)

    async def _cancel(self, context: Context, params: TaskParams) -> CancelTaskResult | dict[str, Any]:
        task = self._find(context, params.task_id)
        if is_modern(context):
            with contextlib.suppress(Conflict):
                self._kept.cancel(task)
            return {}
        try:
            self._kept.cancel(task)
        except Conflict as error:
            raise MCPError(INVALID_PARAMS, f"Cannot cancel task: {error.message}", {"code": error.code}) from error
        return CancelTaskResult.model_validate(utility_task(task).model_dump())

    async def _update(self, context: Context, params: TaskUpdateParams) -> dict[str, Any]:
        if not is_modern(context):
            raise _unknown_method(context)
        task = self._find(context, params.task_id)
        given: list[tuple[Any, ElicitResult]] = []
        for id, question in task.open.items():
            if id in params.input_responses:
                try:
                    given.append((question, ElicitResult.model_validate(params.input_responses[id])))
                except ValidationError as error:
                    raise MCPError(INVALID_PARAMS, f"the answer to {id} is not one of elicitation/create") from error
        for question, chosen in given:
            if task.exchange is not None:  # it may have ended over the one before
                task.exchange.answer(question, answer(question, chosen))
        return {}

    def _find(self, context: Context, id: str) -> KeptTask:
        """Return the client's task. Raises the protocol's error if there is none, or it has none to know of."""
        if is_modern(context):
            require_extension(context)
            check_header(context, id)
        else:
            _only_older(context)
        try:
            return self._kept.get(self._peers.find(context).session.id, id)
        except NotFound as error:
            hint = "a task is known to its own session, for the time that it told; call the tool again"
            data = {"code": error.code, "hint": hint}
            raise MCPError(INVALID_PARAMS, f"Failed to retrieve task: {error.message} ({hint})", data) from error

    # -- streams of the newer generation ---------------------------------------------------------------------------

    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams, serve: ServeStream
    ) -> SubscriptionsListenResult:
        """Serve a stream, and tell on it how the tasks are that its client names."""
        named = (params.notifications.model_extra or {}).get("taskIds")
        if named is None:
            return await serve(context, params)
        require_extension(context)
        if not isinstance(named, list) or not all(isinstance(id, str) for id in named):
            raise MCPError(INVALID_PARAMS, f"taskIds must be a list of texts; {EXTENSION} has them so")
        session = self._peers.find(context).session.id
        due = {one.id: one for one in self._kept.list(session) if one.id in named}
        async with self._telling(context, due) as acknowledged:
            return await serve(dataclasses.replace(context, session=acknowledged), params)

    @contextlib.asynccontextmanager
    async def _telling(self, context: Context, due: dict[str, KeptTask]) -> AsyncIterator[Any]:
        """Tell the state of each task, and each change of it, once the client has been told that it will be."""
        mine, more, begun = frozenset(due), asyncio.Event(), asyncio.Event()

        def note(task: KeptTask) -> None:
            if task.id in mine:
                due[task.id] = task
                more.set()

        async def tell() -> None:
            await begun.wait()
            meta = {SUBSCRIPTION_ID_META_KEY: context.request_id}
            while True:
                while due:
                    task = due.pop(next(iter(due)))
                    told = {**detailed(task, context.protocol_version), "_meta": meta}
                    notice: Any = Notification[dict[str, Any], Literal["notifications/tasks"]](
                        method="notifications/tasks", params=told
                    )
                    await context.session.send_notification(notice, context.request_id)
                more.clear()
                await more.wait()

        dispose = self._kept.changed.subscribe(note)
        teller = self._tasks.start(tell(), "news of tasks for MCP's streams")
        try:
            yield _Acknowledged(context, list(due), begun)
        finally:
            dispose()
            teller.cancel()


class _Acknowledged:
    """The session of a stream's request, whose acknowledgement names the tasks, too."""

    def __init__(self, context: Context, ids: Sequence[str], begun: asyncio.Event) -> None:
        self._session = context.session
        self._ids = ids
        self._begun = begun

    async def send_notification(self, notification: Any, related_request_id: str | int | None = None) -> None:
        """Send a notification on the stream."""
        if isinstance(notification, SubscriptionsAcknowledgedNotification):
            honoured = notification.params.notifications.model_copy(update={"taskIds": list(self._ids)})
            params = notification.params.model_copy(update={"notifications": honoured})
            notification = notification.model_copy(update={"params": params})
        await self._session.send_notification(notification, related_request_id)
        self._begun.set()


async def _answered(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Put a task in the place of a call's result, and tell of tasks only in the revision that has them so."""
    slot: list[CreateTaskResult] = []
    token = _CREATED.set(slot)
    try:
        result = await call_next(ctx)
    finally:
        _CREATED.reset(token)
    if ctx.method == "initialize" and isinstance(result, dict) and result["protocolVersion"] != UTILITY_VERSION:
        result["capabilities"].pop("tasks", None)
    return slot[0] if slot else result


def _only_older(context: Context) -> None:
    if not has_utility(context):
        raise _unknown_method(context)


def _unknown_method(context: Context) -> MCPError:
    return MCPError(METHOD_NOT_FOUND, "Method not found", context.method)
