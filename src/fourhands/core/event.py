"""Events and the bus that carries them to all clients except the caller.

Each kind of event is a struct beside the code that emits it: a subclass of `EventData`. The manual's page of events
and the page's types are generated from these structs. A listener inside the program reads the struct (`payload`), a
client its JSON form (`data`).

The bus belongs to the event loop. Publishing never waits: a subscriber that is slow loses its backlog and finds one
`events.missed` marker in its place, after which it must take a snapshot. What is published later follows the marker, so
a subscriber that ignores revisions up to its snapshot's has lost nothing.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import ClassVar, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from fourhands.core.call import Actor

LIMIT_BYTES = 1 << 20

# An agent learns of these only where they are its own.
_NOT_FOR_AGENTS = ("question.", "call.", "command.", "file.", "action.", "agent.", "presence.", "network.", "port.")

Dispose = Callable[[], None]
_T = TypeVar("_T")
log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder(enc_hook=repr)


class EventData(Struct, frozen=True, kw_only=True, rename="camel"):
    """The data of one kind of event. A subclass names its kind; its first sentence stands in the manual."""

    event: ClassVar[str] = ""

    def event_kind(self) -> str:
        """Return the kind of the event that carries this data: `noun.past`."""
        return self.event


class EventsMissed(EventData, frozen=True, kw_only=True):
    """Events were dropped because the subscriber was too slow: it needs a snapshot."""

    event = "events.missed"
    count: int


MISSED = EventsMissed.event


# `dict` makes room for the payload: as a field it would be in the JSON form.
class Event(Struct, frozen=True, kw_only=True, rename="camel", dict=True):
    """Something that happened: `kind` is `noun.past`, `revision` the workbench's after it."""

    kind: str
    data: dict[str, object] = field(default_factory=dict)
    revision: int | None = None
    actor: Actor | None = None
    time: float = field(default_factory=time.time)  # seconds since the epoch

    @classmethod
    def of(cls, data: EventData, *, revision: int | None = None, actor: Actor | None = None) -> "Event":
        """Return the event that carries `data`; a value in it without a JSON form becomes its Python text."""
        members = msgspec.to_builtins(data, enc_hook=repr)
        event = cls(kind=data.event_kind(), data=members, revision=revision, actor=actor)
        msgspec.structs.force_setattr(event, "_payload", data)
        return event

    @property
    def payload(self) -> EventData | None:
        """The struct that was emitted, for listeners inside the program; None if the event was made of plain data."""
        payload: EventData | None = self.__dict__.get("_payload")
        return payload


class Signal(Generic[_T]):
    """Synchronous listeners inside the program; one that fails is logged and does not stop the others."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[_T], None]] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    def subscribe(self, listener: Callable[[_T], None]) -> Dispose:
        """Call `listener` with every value from now on, until the returned function is called."""
        token = object()
        self._listeners[token] = listener

        def dispose() -> None:
            self._listeners.pop(token, None)

        return dispose

    def fire(self, value: _T) -> None:
        """Call all listeners, in the order in which they subscribed."""
        for listener in list(self._listeners.values()):
            try:
                listener(value)
            except Exception:
                log.exception("a listener failed on %r", value)


class Subscription:
    """One subscriber's bounded backlog: an async iterator for a single reader, ended by `close`."""

    def __init__(self, kinds: Iterable[str] | None, limit_bytes: int, closed: Callable[["Subscription"], None]) -> None:
        self._kinds = None if kinds is None else frozenset(kinds)
        self._limit = limit_bytes
        self._closed: Callable[[Subscription], None] | None = closed
        self._items: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self._missed = 0
        self._wake: asyncio.Future[None] | None = None

    def wants(self, event: Event) -> bool:
        """Return True if this subscriber asked for such events."""
        return self._kinds is None or event.kind in self._kinds

    def push(self, event: Event, size: int) -> None:
        """Append an event, or replace the whole backlog by a marker when it would pass the limit."""
        if self._bytes + size > self._limit:
            self._missed += len(self._items)
            self._items.clear()
            self._bytes = 0
        if size > self._limit:
            self._missed += 1
        else:
            self._items.append((event, size))
            self._bytes += size
        self._rouse()

    def close(self) -> None:
        """End the iteration; harmless when repeated."""
        if self._closed is not None:
            self._closed(self)
            self._closed = None
            self._items.clear()
            self._missed = 0
            self._rouse()

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if not await self.ready():
            raise StopAsyncIteration
        return self._first()

    async def ready(self) -> bool:
        """Wait until there is something to take. Return False if the subscription is closed."""
        while not (self._missed or self._items):
            if self._closed is None:
                return False
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        return True

    def take(self) -> list[Event]:
        """Return all that has happened by now, without waiting for more."""
        events = []
        while self._missed or self._items:
            events.append(self._first())
        return events

    def _first(self) -> Event:
        if self._missed:
            missed, self._missed = self._missed, 0
            return Event.of(EventsMissed(count=missed))
        event, size = self._items.popleft()
        self._bytes -= size
        return event

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class EventBus:
    """The bus: `subscribe` for readers with a backlog, `published` for synchronous listeners."""

    def __init__(self) -> None:
        self.published: Signal[Event] = Signal()
        self._subscriptions: set[Subscription] = set()

    def subscribe(self, kinds: Iterable[str] | None = None, limit_bytes: int = LIMIT_BYTES) -> Subscription:
        """Start a backlog of events of these kinds (all if None), at most `limit_bytes` of them as JSON."""
        subscription = Subscription(kinds, limit_bytes, self._subscriptions.discard)
        self._subscriptions.add(subscription)
        return subscription

    def publish(self, event: Event) -> None:
        """Hand `event` to all listeners and subscribers, at once and without waiting."""
        self.published.fire(event)
        if self._subscriptions:
            size = _size(event)
            for subscription in list(self._subscriptions):
                if subscription.wants(event):
                    subscription.push(event, size)

    def emit(self, data: EventData, *, revision: int | None = None, actor: Actor | None = None) -> None:
        """Publish an event that carries `data`, with the revision after it and the actor who caused it."""
        self.publish(Event.of(data, revision=revision, actor=actor))


def for_agent(event: Event, session: str) -> bool:
    """Return True if an agent may learn of an event: of questions, calls, files and chats only its own."""
    concerned = event.data.get("session")
    if isinstance(concerned, dict):
        concerned = concerned.get("id")
    owner = event.actor.id if event.actor is not None else None
    return session in (concerned, owner) or not event.kind.startswith(_NOT_FOR_AGENTS)


def _size(event: Event) -> int:
    """Return the event's length as JSON, or as Python text where some part of it has no JSON form."""
    try:
        return len(_encoder.encode(event))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return len(repr(event))
