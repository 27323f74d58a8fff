"""The memory of the proxy for its sessions, over a restart too: a `Book` of records for each.

A session's book is a file of its own, replaced whole after each answer, never on the event loop; it goes when the
session ends or its chat begins anew. In memory are those of the sessions that spoke last.
"""

import json
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from fourhands.agents.briefing.feedback import Audience, Claim, Feedback, turn_message
from fourhands.agents.models.dialects.conversation import SHAPES
from fourhands.agents.models.dialects.framed import framed
from fourhands.core.atomic_file import AtomicFile
from fourhands.core.bounded import BoundedDict
from fourhands.core.ids import new_id
from fourhands.surfaces.proxy.record import AnswerRecord, Book, digest
from fourhands.surfaces.proxy.story import Story, read
from fourhands.workbench.sessions import CommandResult, Session
from fourhands.workbench.workbench import Workbench

MOST_FILES = 100
MOST_BOOKS = 32

STRAY_S = 120.0
"""Seconds after which the results of an answer are told in another conversation than its own."""

_LINES = 400
_ALIKE = 0.7

log = logging.getLogger(__name__)


class Telling:
    """One request on its way: its record, and what it tells, which is told when an answer has begun."""

    def __init__(self, book: Book, record: AnswerRecord, messages: "list[SharedFeedback]") -> None:
        self.book = book
        self.record = record
        self.strays: list[tuple[AnswerRecord, CommandResult]] = []
        """Results that it tells though they are of another conversation, which is to be told them too."""
        self.again: list[tuple[AnswerRecord, list[CommandResult]]] = []
        """Results that were kept for this conversation in that way."""
        self._messages = messages
        for message in messages:
            message.carriers.add(record.id)

    @property
    def carried(self) -> "list[SharedFeedback]":
        """Messages that it tells, as far as they are not known to be told."""
        return [message for message in self._messages if not message.delivered]

    def delivered(self) -> None:
        """Note that the model has been told."""
        for message in self._messages:
            message.delivered = True
        for owner, result in self.strays:
            owner.keep(result)

    def failed(self) -> None:
        """Forget the request; what no other one tells is untold again."""
        self.book.remove(self.record)
        for message in self._messages:
            message.dropped(self.record.id)
        for owner, results in self.again:
            owner.results[:0] = results


class SharedFeedback:
    """A message told by a request, and by others that are sent for the same turn while it is under way."""

    def __init__(self, feedback: Feedback) -> None:
        self.feedback = feedback
        self.carriers: set[str] = set()
        self.delivered = False

    def dropped(self, carrier: str) -> None:
        """Note that a request that carried it has failed."""
        self.carriers.discard(carrier)
        if not self.carriers and not self.delivered:
            self.feedback.restore()


class SessionMemory:
    """One session's book and file, and its requests that are under way."""

    def __init__(self, file: AtomicFile, records: Iterable[AnswerRecord]) -> None:
        self.file = file
        self.book = Book(records)
        self.systems: BoundedDict[str, frozenset[int]] = BoundedDict(16)
        self.under_way: dict[str, Telling] = {}

    def owner(self, result: CommandResult) -> AnswerRecord | None:
        """Return the answer whose block a result is of."""
        return next((one for one in self.book if result.call_id in one.calls), None) if result.call_id else None

    def keep(self) -> None:
        """Store what is known of ended answers soon, in a thread."""
        self.file.write_soon(b"\n".join(_encoded(record) for record in self.book if record.ended))


class ProxyMemory:
    """The memories of one workbench's sessions."""

    def __init__(self, bench: Workbench, directory: Path, now: Callable[[], float] = time.time) -> None:
        self._bench = bench
        self._directory = directory
        self._now = now
        self._sessions: BoundedDict[str, SessionMemory] = BoundedDict(MOST_BOOKS)
        self._files: dict[str, AtomicFile] = {}
        with suppress(OSError):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            files = sorted(directory.glob("*.jsonl"), key=lambda file: file.stat().st_mtime)
            for file in files[:-MOST_FILES]:
                file.unlink()

    async def close(self) -> None:
        """Return when everything is stored."""
        for file in self._files.values():
            await file.close()

    def of(self, session: Session) -> SessionMemory:
        """Return a session's memory."""
        if (memory := self._sessions.get(session.id)) is None:
            file = self._file(session.id)
            memory = self._sessions[session.id] = SessionMemory(file, _load(file.path))
        self._sessions.touch(session.id)
        return memory

    def forget(self, session: Session) -> None:
        """Forget a session that has ended, or the chat of one that begins anew."""
        if self._sessions.pop(session.id, None) is None and not self._path(session.id).exists():
            return
        file = self._file(session.id)
        file.remove_soon()
        if not session.ended:
            self._sessions[session.id] = SessionMemory(file, ())  # the file may be there for a moment still

    def read(self, session: Session, dialect: str, body: dict[str, Any]) -> Story | None:
        """Return the story of a request; None if it has no messages that could be read."""
        shape, book = SHAPES[dialect], self.of(session).book
        messages = shape.messages(body)
        if messages is None:
            return None
        before, chat = _kept_there(body) if dialect == "responses" else ("", "")
        return read(shape, messages, book, book.remote(before, chat) if before or chat else None)

    def aside(self, session: Session, body: dict[str, Any], story: Story | None) -> bool:
        """Return True for a request on the side: for a title, a summary, a guess what comes next.

        It brings no tools though its session had some, and is none of a conversation that is known there: none of its
        answers is, or another system prompt leads it. Where JSON is asked for, no block can be written either.
        """
        if body.get("tools"):
            return False
        if _wants_json(body):
            return True
        memory = self.of(session)
        if not any(record.tools for record in memory.book):
            return False
        if story is None or not story.records:
            return True
        return not _alike(memory, story.records[-1].system, _system(body))

    def tell(self, session: Session, body: dict[str, Any], story: Story) -> Telling:
        """Put into a story's last turn what its model has not been told, and remember the request."""
        memory = self.of(session)
        system = _system(body)
        memory.systems[digest(system)] = _lines(system)
        siblings = story.siblings() if story.open else []
        same = siblings[0] if siblings else None
        carried = memory.under_way[same.id].carried if same is not None and same.id in memory.under_way else []
        told = story.state() | (same.state if same is not None else {})
        message: Feedback | None = None
        strays: list[tuple[AnswerRecord, CommandResult]] = []
        again: list[tuple[AnswerRecord, list[CommandResult]]] = []
        if story.open:

            def claim(result: CommandResult) -> Claim:
                owner = memory.owner(result)
                claimed = self._claim(session, memory, story, digest(system), result, owner)
                if claimed == "stray" and owner is not None:
                    strays.append((owner, result))
                return claimed

            again = [(record, record.results) for record in story.records if record.results]
            audience = Audience(told, claim, [result for _, results in again for result in results])
            message = turn_message(session, self._bench.registry, self._bench, audience)
            for record, _ in again:
                record.results = []
        parts = [same.told if same is not None else "", framed(message.text) if message is not None else ""]
        record = AnswerRecord(
            id=new_id("answer"),
            parent=story.parent,
            turn=story.turn,
            told="\n\n".join(filter(None, parts)),
            state=(same.state if same is not None else {}) | (message.state if message is not None else {}),
            system=digest(system),
            tools=bool(body.get("tools")),
            at=self._now(),
            chat=_kept_there(body)[1],
        )
        story.tell(record.told)
        memory.book.add(record)
        telling = Telling(memory.book, record, [*carried, *([SharedFeedback(message)] if message is not None else [])])
        telling.strays, telling.again = strays, again
        memory.under_way[record.id] = telling
        return telling

    def end(self, session: Session, telling: Telling) -> None:
        """Note that a request is over, one way or the other, and store what is known."""
        memory = self.of(session)
        memory.under_way.pop(telling.record.id, None)
        if memory.book is telling.book and not session.ended:
            if telling.record.ended:
                memory.book.settle(telling.record)
            memory.keep()

    def _claim(
        self,
        session: Session,
        memory: SessionMemory,
        story: Story,
        system: str,
        result: CommandResult,
        owner: AnswerRecord | None,
    ) -> Claim:
        if owner is None or owner in story.records:
            return "own"
        known = {record.id for record in story.records}
        root_turn = story.records[0].turn if story.records else story.turn
        if owner.parent in known or (not owner.parent and owner.turn == root_turn):
            return "stray"
        if self._now() - result.timestamp >= STRAY_S:
            return "stray"
        if session.id not in self._bench.prompters:
            return ""
        # A connector leads one conversation; all others are of helpers that its agent began, or came to their end.
        older = bool(story.records) and story.records[0].at < memory.book.line(owner)[0].at
        return "stray" if older or _similar(memory, owner.system, system) else ""

    def _file(self, session_id: str) -> AtomicFile:
        if session_id not in self._files:
            self._files[session_id] = AtomicFile(self._path(session_id))
        return self._files[session_id]

    def _path(self, session_id: str) -> Path:
        return self._directory / f"{digest(session_id)}.jsonl"


def _kept_there(body: dict[str, Any]) -> tuple[str, str]:
    """Return by which ids the model's server is to go on: that of an answer, that of a conversation."""
    before, chat = body.get("previous_response_id"), body.get("conversation")
    chat = chat.get("id") if isinstance(chat, dict) else chat
    return before if isinstance(before, str) else "", chat if isinstance(chat, str) else ""


def _wants_json(body: dict[str, Any]) -> bool:
    """Return True if the answer is to be JSON."""
    text, config = body.get("text"), body.get("generationConfig")
    formats = [body.get("response_format"), text.get("format") if isinstance(text, dict) else None]
    if any(isinstance(one, dict) and str(one.get("type", "")).startswith("json") for one in formats):
        return True
    return isinstance(config, dict) and config.get("responseMimeType") == "application/json"


def _system(body: dict[str, Any]) -> str:
    """Return all texts of a request's system prompt, a line for each line of them."""
    found = [body.get(name) for name in ("system", "instructions", "systemInstruction", "system_instruction")]
    messages = body.get("messages") or body.get("input")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict) or message.get("role") not in ("system", "developer"):
            break
        found.append(message.get("content"))
    return "\n".join(_all_texts(found))


def _all_texts(value: Any, depth: int = 4) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth and isinstance(value, dict):
        return _all_texts([value.get(name) for name in ("text", "parts", "content")], depth - 1)
    if depth and isinstance(value, list):
        return [text for one in value for text in _all_texts(one, depth - 1)]
    return []


def _lines(system: str) -> frozenset[int]:
    return frozenset(hash(line.strip()) for line in system.split("\n")[:_LINES] if line.strip())


def _alike(memory: SessionMemory, known: str, system: str) -> bool:
    fresh = digest(system)
    memory.systems.setdefault(fresh, _lines(system))
    return _similar(memory, known, fresh)


def _similar(memory: SessionMemory, one: str, other: str) -> bool:
    """Return True for the same system prompt, or nearly: agents keep the date and the state of files in it."""
    if one == other:
        return True
    mine, theirs = memory.systems.get(one), memory.systems.get(other)
    return mine is not None and theirs is not None and len(mine & theirs) >= _ALIKE * len(mine | theirs) > 0


def _encoded(record: AnswerRecord) -> bytes:
    try:
        return msgspec.json.encode(record, enc_hook=repr)
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(msgspec.to_builtins(record, enc_hook=repr)).encode()


def _load(path: Path) -> list[AnswerRecord]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("cannot read what was told a model from %s: %s", path, error)
        return []
    found: list[AnswerRecord] = []
    for line in filter(None, lines):
        try:
            found.append(msgspec.convert(json.loads(line), AnswerRecord))
        except (ValueError, RecursionError) as error:
            log.warning("a line of %s cannot be read: %s", path, error)
    return found
