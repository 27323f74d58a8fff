"""What clients are told unasked: that lists and watched resources have changed, and, where they want it, what happens.

The older generation is told on its connection, each client by a task of its own: one that does not read holds up nobody
else. The newer one listens on streams that it opens, which the SDK serves from a bus.
"""

import asyncio
from collections.abc import Iterable
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
)

from fourhands.core.event import Event, for_agent
from fourhands.core.quote import broken
from fourhands.core.tasks import Tasks
from fourhands.surfaces.mcp.clients import Context, McpClient, McpClients
from fourhands.surfaces.mcp.pending_call import CURRENT
from fourhands.surfaces.mcp.watching import Watching
from fourhands.surfaces.mcp.words import plain
from fourhands.workbench.workbench import Workbench

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""From the least to the most severe."""

BACKLOG = 200
"""News that wait for one client; it learns less of what happens when it does not read."""

STREAMS = 128
"""Streams of the newer generation at once."""

_LISTS = ("terminal.created", "terminal.closed", "editor.opened", "editor.closed")
"""What changes the list of resources."""

_SNAPSHOTS = ("workbench.published",)
"""Events that repeat the state rather than say what happened."""


class Notifications:
    """Tells the clients of one service."""

    def __init__(self, bench: Workbench, tasks: Tasks, peers: McpClients) -> None:
        self.watching = Watching(bench, self._updated)
        self._tasks = tasks
        self._peers = peers
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=STREAMS)
        self._due: dict[McpClient, dict[object, ServerNotification]] = {}
        self._published: dict[ServerEvent, None] = {}
        self._disposers = [
            bench.registry.changed.subscribe(lambda _: self._lists_changed()),
            bench.events.published.subscribe(self._happened),
        ]

    def close(self) -> None:
        """End all streams and tell nobody anything any more."""
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
        cause = CURRENT.get()
        for peer in self._peers:
            own = cause is not None and cause.call.actor.id == peer.session.id  # told with the call that caused it
            if wanted(peer, event) and not own and for_agent(event, peer.session.id):
                self._send(peer, object(), notice(event))

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
        if len(due) < BACKLOG:
            due[key] = notification

    async def _deliver(self, peer: McpClient) -> None:
        await asyncio.sleep(0)  # what is due in the same turn goes together
        try:
            while (due := self._due[peer]) and (channel := peer.told) is not None:
                await channel.send_notification(due.pop(next(iter(due))))
        finally:
            del self._due[peer]


def wanted(peer: McpClient, event: Event) -> bool:
    """Whether a client wants to hear of an event as grave as this; of none unless it has said so.

    Changes of the layout are left out: they carry the whole of it, and what the person has not saved yet.
    """
    if peer.level is None or event.revision is not None or event.kind in _SNAPSHOTS:
        return False
    return LEVELS.index(level(event)) >= LEVELS.index(peer.level)


def level(event: Event) -> LoggingLevel:
    """How grave an event is."""
    severity = event.data.get("severity")
    return severity if severity == "warning" or severity == "error" else "info"


def notice(event: Event) -> LoggingMessageNotification:
    """An event as a message of MCP's log."""
    data: dict[str, Any] = {"kind": event.kind, **broken(plain(event.data))}
    return LoggingMessageNotification(
        params=LoggingMessageNotificationParams(level=level(event), logger="fourhands", data=data)
    )
