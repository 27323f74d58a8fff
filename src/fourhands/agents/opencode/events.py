"""OpenCode's events of one session, put in order: what its agent says, thinks and does, without blocks.

OpenCode tells each text several times: in deltas, whole at its end, and once more in the list of messages.
Each part is read once, by a filter of its own; a later telling gives only what has not been heard yet. A part counts
only when its message is known to be the assistant's: the person's own words are parts too.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from fourhands.agents.blocks.interceptor import Dropped, Intercepted, Interceptor
from fourhands.core.bounded import BoundedDict

MOST_PARTS = 2000
MOST_EARLY = 200
LONGEST_OUTPUT = 20_000

log = logging.getLogger(__name__)


class OpenCodeListener(Protocol):
    """The receiver of what was put in order."""

    def say(self, text: str, message: str, *, done: bool = False) -> None:
        """More text of the agent's."""

    def think(self, text: str, message: str) -> None:
        """More of its thoughts."""

    def step(self, message: str, tool: str, status: str, title: str, input: Any, output: str) -> None:
        """Something it does by a tool of its own."""

    def take(self, message: str, commands: list[dict[str, Any]], dropped: list[Dropped]) -> None:
        """Blocks that stood in its text."""


class _Deaf:
    """A listener that ignores everything, for events that were reported before."""

    def say(self, text: str, message: str, *, done: bool = False) -> None:
        """Ignore text."""

    def think(self, text: str, message: str) -> None:
        """Ignore a thought."""

    def step(self, message: str, tool: str, status: str, title: str, input: Any, output: str) -> None:
        """Ignore a step."""

    def take(self, message: str, commands: list[dict[str, Any]], dropped: list[Dropped]) -> None:
        """Ignore blocks."""


@dataclass(slots=True)
class _Part:
    """One text or thought while it is told."""

    message: str
    thought: bool
    interceptor: Interceptor
    heard: list[str] = field(default_factory=list)
    ended: bool = False


class OpenCodeEvents:
    """The parts of one session, in the order they came."""

    def __init__(self, session: str, listener: OpenCodeListener, now: Callable[[], float] | None = None) -> None:
        self._session = session
        self._listener = listener
        self._now = now
        self._roles: dict[str, str] = {}
        self._parts: BoundedDict[str, _Part] = BoundedDict(MOST_PARTS)
        self._states: BoundedDict[str, str] = BoundedDict(MOST_PARTS)
        self._early: dict[str, list[dict[str, Any]]] = {}  # events of messages whose role is not told yet

    def event(self, event: dict[str, Any]) -> None:
        """Take one event; those of other kinds or sessions are passed over."""
        kind, told = event.get("type"), event.get("properties")
        if not isinstance(told, dict):
            return
        if kind == "message.updated" and isinstance(info := told.get("info"), dict):
            if info.get("sessionID", told.get("sessionID")) == self._session:
                self._message(info)
        elif kind == "message.part.updated" and isinstance(part := told.get("part"), dict):
            if part.get("sessionID", told.get("sessionID")) == self._session:
                self._known(_text(part, "messageID"), event, lambda: self._updated(part))
        elif kind == "message.part.delta" and told.get("sessionID") == self._session:
            self._known(_text(told, "messageID"), event, lambda: self._delta(told))

    def catch_up(self, messages: Any) -> None:
        """Take the list of messages as the server has it, after events may have been missed."""
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict) and isinstance(message.get("info"), dict):
                self._message(message["info"])
                for part in message.get("parts") or ():
                    if isinstance(part, dict):
                        self._updated({"messageID": message["info"].get("id"), **part})

    def skip(self, messages: Any) -> None:
        """Take the list of messages as told before, by an earlier run of this server; what is open there goes on."""
        listener, self._listener = self._listener, _Deaf()
        self.catch_up(messages)
        self._listener = listener

    def tick(self) -> None:
        """Let blocks that stalled for 5 s go."""
        for id, part in list(self._parts.items()):
            if part.interceptor.waiting:
                self._give(id, part, part.interceptor.tick())

    def end(self) -> None:
        """Finish what is still open, at the end of the turn."""
        for id, part in list(self._parts.items()):
            self._finish(id, part)

    def _message(self, info: dict[str, Any]) -> None:
        id = _text(info, "id")
        self._roles[id] = _text(info, "role")
        for event in self._early.pop(id, ()):
            self.event(event)

    def _known(self, message: str, event: dict[str, Any], action: Callable[[], None]) -> None:
        if message in self._roles:
            action()
        elif sum(map(len, self._early.values())) < MOST_EARLY:
            self._early.setdefault(message, []).append(event)
        else:
            log.warning("OpenCode tells of a message %r without saying whose it is", message[:100])

    def _updated(self, part: dict[str, Any]) -> None:
        if self._roles.get(_text(part, "messageID")) != "assistant":
            return
        kind, id = part.get("type"), _text(part, "id")
        if kind == "tool":
            self._tool(id, part)
        elif kind in ("text", "reasoning"):
            known = self._open(id, part, thought=kind == "reasoning")
            whole, heard = _text(part, "text"), "".join(known.heard)
            if known.ended:
                return
            if whole.startswith(heard):
                self._hear(id, known, whole[len(heard) :])
            else:
                log.warning("OpenCode tells part %s differently the second time; the first one counts", id[:100])
            if isinstance(time := part.get("time"), dict) and time.get("end") is not None:
                self._finish(id, known)

    def _open(self, id: str, part: dict[str, Any], *, thought: bool) -> _Part:
        if id not in self._parts:
            interceptor = Interceptor(self._now) if self._now else Interceptor()
            self._parts[id] = _Part(_text(part, "messageID"), thought, interceptor)
        return self._parts[id]

    def _delta(self, told: dict[str, Any]) -> None:
        part = self._parts.get(_text(told, "partID"))
        if part is not None and not part.ended and told.get("field") == "text":
            self._hear(_text(told, "partID"), part, _text(told, "delta"))

    def _hear(self, id: str, part: _Part, text: str) -> None:
        if text:
            part.heard.append(text)
            self._give(id, part, part.interceptor.feed(text))

    def _finish(self, id: str, part: _Part) -> None:
        if not part.ended:
            part.ended = True
            self._give(id, part, part.interceptor.close())
            if not part.thought:
                self._listener.say("", id, done=True)

    def _give(self, id: str, part: _Part, piece: Intercepted) -> None:
        if part.thought:  # thoughts command nothing
            if piece.visible:
                self._listener.think(piece.visible, id)
            return
        if piece.visible:
            self._listener.say(piece.visible, id)
        if piece.commands or piece.dropped:
            self._listener.take(part.message, piece.commands, piece.dropped)

    def _tool(self, id: str, part: dict[str, Any]) -> None:
        state = part.get("state")
        state = state if isinstance(state, dict) else {}
        status = _text(state, "status")
        output = _text(state, "output") or _text(state, "error")
        if self._states.get(id) == status:
            return
        self._states[id] = status
        if len(output) > LONGEST_OUTPUT:
            output = f"{output[:LONGEST_OUTPUT]}… ({len(output) - LONGEST_OUTPUT} more characters)"
        tool = _text(part, "tool")
        self._listener.step(id, tool, status, _text(state, "title") or tool, state.get("input"), output)


def _text(holder: dict[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""
