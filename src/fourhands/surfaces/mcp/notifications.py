"""Notifications of clients: changed lists, watched resources and, at the log level they set, events.

The older generation is notified on its connection, each client by its own task, so that a slow one delays no other.
The newer one listens on streams that it opens, which the SDK serves from a bus.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any, get_args

from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.subscriptions import event_to_notification
from mcp_types import (
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    ServerNotification,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TaskStatusNotification,
    TaskStatusNotificationParams,
)

from fourhands.agents.briefing.hub import PUBLISHED
from fourhands.core.call_events import AgentConsented
from fourhands.core.event import Dispose, Event, for_agent
from fourhands.core.quote import broken
from fourhands.core.registry import Registry
from fourhands.core.tasks import Tasks
from fourhands.core.timing import Throttle
from fourhands.surfaces.mcp.clients import McpClient
from fourhands.surfaces.mcp.formats import plain
from fourhands.surfaces.mcp.kept_tasks import UTILITY_VERSION, KeptTask, KeptTasks
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.pending_call import CURRENT
from fourhands.surfaces.mcp.project import READ_INSTRUCTIONS, READ_SKILL
from fourhands.surfaces.mcp.resources import INSTRUCTIONS, reading
from fourhands.surfaces.mcp.sdk import Context
from fourhands.surfaces.mcp.task_forms import related, utility_task
from fourhands.workbench.events import FileChanged
from fourhands.workbench.project.knowledge import ProjectChanged
from fourhands.workbench.workbench import Workbench

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From the least to the most severe."""

_LISTS = ("terminal.created", "terminal.closed", "editor.opened", "editor.closed")
"""Events that change the list of resources."""

_FILE = "openspace.file.read"
_TERMINAL = "openspace.terminal.read_output"
_PROJECT = (READ_INSTRUCTIONS, READ_SKILL)

_SNAPSHOTS = ("workbench.published",)
"""Events that repeat the state rather than say what happened."""


class Watching:
    """Resources by URI, each watched once however many want to know; `changed` is called with its URI."""

    def __init__(self, bench: Workbench, changed: Callable[[str], None], interval_s: float) -> None:
        self._bench = bench
        self._changed = changed
        self._interval_s = interval_s
        self._watches: dict[str, tuple[int, Dispose]] = {}

    def add(self, uri: str) -> Dispose:
        """Watch a resource until the returned function is called; `NotFound` where there is none of that URI."""
        count, stop = self._watches.get(uri) or (0, self._watch(uri))
        self._watches[uri] = (count + 1, stop)
        dropped = False

        def drop() -> None:
            nonlocal dropped
            if dropped:
                return
            dropped = True
            count, stop = self._watches[uri]
            if count > 1:
                self._watches[uri] = (count - 1, stop)
            else:
                del self._watches[uri]
                stop()

        return drop

    def _watch(self, uri: str) -> Dispose:
        throttle = Throttle(lambda: self._changed(uri), self._interval_s)
        happens = _what_changes(self._bench.registry, uri)
        with contextlib.ExitStack() as stack:
            stack.callback(throttle.cancel)
            stack.callback(
                self._bench.events.published.subscribe(lambda event: throttle.request() if happens(event) else None)
            )
            if uri != INSTRUCTIONS:
                command, args = reading(self._bench.registry, uri)
                if command in _PROJECT:
                    self._bench.project.wanted.set()
                if command == _TERMINAL:
                    # A title may mean another terminal to each who watches: each of them is listened to.
                    for terminal in self._bench.terminals.named(str(args["terminalId"])):
                        stack.callback(terminal.listen(throttle.request))
            return stack.pop_all().close


def _what_changes(registry: Registry, uri: str) -> Callable[[Event], bool]:
    """Return a test for events that change a resource; what a plugin's command reads changes unseen."""
    if uri == INSTRUCTIONS:
        return lambda event: event.kind == PUBLISHED or event.kind.startswith("terminal.")
    command, args = reading(registry, uri)
    if command in _PROJECT:
        return lambda event: isinstance(event.payload, ProjectChanged)
    if command == _FILE:
        return lambda event: isinstance(data := event.payload, FileChanged) and data.path == args["path"]
    return lambda event: False


class Notifications:
    """Notifies the clients of one server."""

    def __init__(
        self,
        bench: Workbench,
        tasks: Tasks,
        peers: Iterable[McpClient],
        limits: McpLimits = DEFAULT,
        kept: KeptTasks | None = None,
    ) -> None:
        self.watching = Watching(bench, self._updated, limits.watch_interval_s)
        self._limits = limits
        self._tasks = tasks
        self._peers = peers
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=limits.streams)
        self._due: dict[McpClient, dict[object, ServerNotification]] = {}
        self._published: dict[ServerEvent, None] = {}
        self._disposers = [
            bench.registry.changed.subscribe(lambda _: self._lists_changed()),
            bench.events.published.subscribe(self._happened),
        ]
        if kept is not None:
            self._disposers.append(kept.changed.subscribe(self._task_changed))

    def close(self) -> None:
        """End all streams and stop notifying."""
        for dispose in self._disposers:
            dispose()
        self._streams.close()

    async def listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Serve a stream of the newer generation, for as long as its client reads it."""
        drops = [self.watching.add(uri) for uri in params.notifications.resource_subscriptions or ()]
        try:
            return await self._streams(context, params)
        finally:
            for drop in drops:
                drop()

    def _lists_changed(self) -> None:
        for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
            self._tell(event, self._peers)

    def _updated(self, uri: str) -> None:
        self._tell(ResourceUpdated(uri), [peer for peer in self._peers if uri in peer.watched])

    def _happened(self, event: Event) -> None:
        if event.kind in _LISTS:
            self._tell(ResourcesListChanged(), self._peers)
        if isinstance(event.payload, ProjectChanged | AgentConsented):
            # Which skills a client is listed depends on the files, and on what its session may see.
            consented = event.payload.session if isinstance(event.payload, AgentConsented) else ""
            concerned = [peer for peer in self._peers if consented in ("", peer.session.id)]
            for listed in (PromptsListChanged(), ResourcesListChanged()):
                self._tell(listed, concerned)
        cause = CURRENT.get()
        for peer in self._peers:
            mine = cause is not None and cause.call.actor.id == peer.session.id
            if mine and cause is not None and cause.followers:
                continue  # it is told with the call that caused it
            if wanted(peer, event) and for_agent(event, peer.session.id):
                self._send(peer, object(), notice(event, cause.task_id if mine and cause is not None else ""))

    def _task_changed(self, task: KeptTask) -> None:
        for peer in self._peers:
            channel = peer.told
            if peer.session.id == task.session and channel and channel.protocol_version == UTILITY_VERSION:
                params = TaskStatusNotificationParams.model_validate(utility_task(task).model_dump())
                told: Any = TaskStatusNotification(params=params)
                self._send(peer, ("task", task.id), told)

    def _tell(self, event: ServerEvent, peers: Iterable[McpClient]) -> None:
        """Tell both generations; of a burst of the same only once."""
        if event not in self._published:
            if not self._published:
                self._tasks.start(self._publish(), "news for MCP's streams")
            self._published[event] = None
        for peer in peers:
            self._send(peer, event, event_to_notification(event, {}))

    async def _publish(self) -> None:
        await asyncio.sleep(0)  # what changes in the same turn is told once
        due, self._published = self._published, {}
        for event in due:
            await self._bus.publish(event)

    def _send(self, peer: McpClient, key: object, notification: ServerNotification) -> None:
        if peer.told is None:
            return
        due = self._due.get(peer)
        if due is None:
            due = self._due[peer] = {}
            self._tasks.start(self._deliver(peer), f"news for {peer.session.name}")
        if len(due) < self._limits.backlog:
            due[key] = notification

    async def _deliver(self, peer: McpClient) -> None:
        await asyncio.sleep(0)  # what is due in the same turn goes together
        try:
            while (due := self._due[peer]) and (channel := peer.told) is not None:
                await channel.send_notification(due.pop(next(iter(due))))
        finally:
            del self._due[peer]


def wanted(peer: McpClient, event: Event) -> bool:
    """Return True if a client has set a log level and an event is at least as severe.

    Layout changes are left out: they carry the whole layout, with the person's unsaved text.
    """
    if peer.level is None or event.revision is not None or event.kind in _SNAPSHOTS:
        return False
    return LEVELS.index(level(event)) >= LEVELS.index(peer.level)


def level(event: Event) -> LoggingLevel:
    """Return the severity of an event."""
    severity = event.data.get("severity")
    return severity if severity == "warning" or severity == "error" else "info"


def notice(event: Event, task_id: str = "") -> LoggingMessageNotification:
    """Return an event as a message of MCP's log; it names the task that caused it, if one did."""
    data: dict[str, Any] = {"kind": event.kind, **broken(plain(event.data))}
    meta = related(task_id) if task_id else None
    return LoggingMessageNotification(
        params=LoggingMessageNotificationParams(level=level(event), logger="fourhands", data=data, _meta=meta)
    )
