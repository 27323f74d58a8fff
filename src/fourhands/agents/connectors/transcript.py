"""The transcript of each agent's chat, so that every page shows the same, also after a restart of the server.

A chat is kept as the events that made it, so that a page builds it from them as from those that come live. Pieces of
one message are one event here, and of a step or a plan only the newest state is kept. All of it is bounded: the oldest
goes first. What an agent says of itself (its title for the chat, the commands it offers) is told with it, as long as
the agent is here. What an earlier run of the server left is continued by the next agent of the same name and kind.
"""

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from fourhands.agents.connectors.base import FORGOTTEN, GOES_ON
from fourhands.core.atomic_file import AtomicFile
from fourhands.core.event import Event
from fourhands.core.timing import Throttle
from fourhands.workbench.events import AgentNoted, SessionStarted
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

SAVE_S = 2.0
"""Chats are written to disk at most this often."""

_APPENDED = ("agent.said", "agent.thought")
_REPLACED = ("agent.step", "agent.planned")
_LISTED = (
    *("agent.asked", "agent.noted", "agent.failed", "agent.stopped", "agent.switched", "agent.exited"),
    "call.finished",
)
_FACTS = ("agent.titled", "agent.offered", "agent.used")
_KINDS = frozenset((*_APPENDED, *_REPLACED, *_LISTED))

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TranscriptLimits:
    """The amounts that are kept."""

    chats: int = 20
    events: int = 400
    """Of one chat."""
    size: int = 256 * 1024
    """Bytes of one chat, as JSON."""
    text: int = 64 * 1024
    """Characters of one message; its beginning is kept."""


DEFAULT = TranscriptLimits()


class Transcript(Struct, kw_only=True, rename="camel"):
    """One agent's chat."""

    session: str
    name: str
    connector: str
    events: list[Event] = []


class Transcripts:
    """The chats of one workbench."""

    def __init__(
        self, bench: Workbench, file: Path, *, save_s: float = SAVE_S, limits: TranscriptLimits = DEFAULT
    ) -> None:
        self._limits = limits
        self._bench = bench
        self._file = file
        self._chats: OrderedDict[str, Transcript] = OrderedDict()
        self._sizes: dict[str, int] = {}  # about, and never too small
        self._facts: dict[str, dict[str, Event]] = {}  # the newest of each kind, by session
        self._left = self._load()  # of an earlier run, the newest last
        self._saved = AtomicFile(file)
        self._saving = Throttle(self._save, save_s)
        for session in bench.sessions:
            self._begin(session)
        self._dispose = bench.events.published.subscribe(self._happened)

    async def close(self) -> None:
        """Stop listening; return when everything is stored."""
        self._dispose()
        self._saving.flush()
        await self._saved.close()

    def __len__(self) -> int:
        return len(self._chats)

    def of(self, session: str) -> list[Event]:
        """Return the events of one chat, the oldest first."""
        chat = self._chats.get(session)
        return list(chat.events) if chat is not None else []

    def told(self) -> dict[str, object]:
        """Return all transcripts as events, with the time of the snapshot; later events are not included."""
        chats = {id: [*self._facts[id].values(), *chat.events] for id, chat in self._chats.items()}
        return {"time": time.time(), "chats": chats}

    def _happened(self, event: Event) -> None:
        about = event.data.get("session")  # of the JSON form, as it is kept
        if isinstance(data := event.payload, SessionStarted):
            if (session := self._bench.sessions.find(data.session.id)) is not None:
                self._begin(session)
                self._saving.request()
        elif isinstance(about, str) and (chat := self._chats.get(about)) is not None:
            if event.kind == "agent.ended":
                if event.data.get("resumable") and chat.events:
                    self._left.append(chat)
                self._forget(about)
                self._saving.request()
            elif event.kind == "agent.reset":
                chat.events = []
                self._sizes[about] = 0
                self._facts[about].pop("agent.titled", None)
            elif event.kind == "agent.finished":
                self._saving.flush()  # what was answered is there after a crash
                return
            elif event.kind in _FACTS:
                self._facts[about][event.kind] = _plain(event)
                return
            elif event.kind in _KINDS:
                if event.data.get("text") == FORGOTTEN and _last(chat) in (None, FORGOTTEN):
                    return  # nothing stands above
                if event.data.get("text") == GOES_ON:
                    while chat.events and chat.events[-1].data.get("text") in (FORGOTTEN, GOES_ON):
                        chat.events.pop()
                self._add(chat, event)
            else:
                return
            self._saving.request()

    def _begin(self, session: Session) -> None:
        chat = Transcript(session=session.id, name=session.name, connector=session.connector)
        kin = [left for left in self._left if (left.name, left.connector) == (chat.name, chat.connector)]
        another = kin[-1] if kin and not session.fresh else None
        if before := next((left for left in kin if left.session == session.id), another):
            self._left.remove(before)
            chat.events = [_of(session.id, event) for event in before.events]
            if before.session != session.id and _last(chat) not in (None, FORGOTTEN):
                chat.events.append(Event.of(AgentNoted(session=session.id, text=FORGOTTEN)))
        self._chats[session.id] = chat
        self._facts[session.id] = {}
        self._sizes[session.id] = sum(map(_size, chat.events))
        while len(self._chats) > self._limits.chats:
            self._forget(next(iter(self._chats)))

    def _forget(self, session: str) -> None:
        del self._chats[session], self._sizes[session], self._facts[session]

    def _add(self, chat: Transcript, event: Event) -> None:
        event = _plain(event)
        key = _key(event)
        place = (
            next((at for at in reversed(range(len(chat.events))) if _key(chat.events[at]) == key), -1) if key else -1
        )
        most = self._limits.text
        if place < 0:
            chat.events.append(_cut(event, most))
        elif event.kind in _APPENDED:
            chat.events[place] = _cut(_joined(chat.events[place], event), most)
        else:
            chat.events[place] = _cut(_renewed(chat.events[place], event), most)
        self._sizes[chat.session] += _size(event)
        if len(chat.events) > self._limits.events or self._sizes[chat.session] > self._limits.size:
            self._shorten(chat)

    def _shorten(self, chat: Transcript) -> None:
        """Drop the oldest, and enough of them not to be back here at once."""
        sizes = [_size(event) for event in chat.events]
        total, first = sum(sizes), 0
        while first < len(sizes) and (len(sizes) - first > self._limits.events or total > self._limits.size * 3 // 4):
            total -= sizes[first]
            first += 1
        del chat.events[:first]
        self._sizes[chat.session] = total

    def _load(self) -> list[Transcript]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=list[Transcript])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("the chats in %s cannot be read and are begun anew: %s", self._file, error)
            return []

    def _save(self) -> None:
        """Save all chats, and those of the earlier run that were not continued yet, as far as there is room."""
        room = self._limits.chats - len(self._chats)
        ours = [chat for chat in self._chats.values() if chat.events]
        kept = [*(self._left[-room:] if room > 0 else ()), *ours]
        self._saved.write_soon(_encode(kept))


def _last(chat: Transcript) -> object:
    """Return the text of the newest event; None where there is no event."""
    return chat.events[-1].data.get("text", "") if chat.events else None


def _key(event: Event) -> tuple[str, str] | None:
    """Return the name of an event that grows or is replaced; None for one that stands alone."""
    data = event.data
    if event.kind in _APPENDED:
        return event.kind, str(data.get("messageId", ""))
    if event.kind == "agent.step":
        return event.kind, str(data.get("stepId") or f"{data.get('messageId')}:{data.get('tool')}:{data.get('title')}")
    return (event.kind, "") if event.kind in _REPLACED else None


def _joined(before: Event, event: Event) -> Event:
    text = str(before.data.get("text", "")) + str(event.data.get("text", ""))
    return msgspec.structs.replace(before, data={**before.data, **event.data, "text": text})


def _renewed(before: Event, event: Event) -> Event:
    told = {name: value for name, value in event.data.items() if value not in ("", None)}
    return msgspec.structs.replace(before, data={**before.data, **told})


def _of(session: str, event: Event) -> Event:
    return msgspec.structs.replace(event, data={**event.data, "session": session})


def _cut(event: Event, most: int) -> Event:
    long = {name: value for name, value in event.data.items() if isinstance(value, str) and len(value) > most}
    if not long:
        return event
    short = {name: value[: most - 1].removesuffix("…") + "…" for name, value in long.items()}
    return msgspec.structs.replace(event, data={**event.data, **short})


def _plain(event: Event) -> Event:
    """Return the event; with plain text for values that JSON has no form for (lone surrogates, huge numbers)."""
    try:
        _encode(event)
        return event
    except (UnicodeEncodeError, OverflowError, ValueError, RecursionError):
        plain = {name: str(value).encode("utf-8", "replace").decode() for name, value in event.data.items()}
        return msgspec.structs.replace(event, data=plain)


def _size(event: Event) -> int:
    return len(_encode(event))


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=repr)
