"""A small world around the gate: a few commands, a judge that reads the text, a journal in memory, timers by hand."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from fourhands.core.approval import PERMIT_S, PREVIEW_S, Assessment, Policy
from fourhands.core.call import Actor, Call, CallOrigin, JournalEntry, Result
from fourhands.core.effects import Effects, Undo
from fourhands.core.errors import Conflict
from fourhands.core.event import Event, EventBus
from fourhands.core.gate import Gate, GateSettings, Results
from fourhands.core.question import Answer, AssessedPart, Choice, Question, Questions
from fourhands.core.queue import Sleep
from fourhands.core.registry import Command, Contribution, Registry

PERSON = Actor.person()
AGENT = Actor.agent("s1", "Ada")


class Do(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    text: Annotated[str, Meta(description="What to do.")]
    mode: Literal["gentle", "firm"] = "gentle"
    wait_for: str | None = None


class Done(Struct, frozen=True, kw_only=True, rename="camel"):
    did_what: str


thing = Contribution("openspace.thing")


@thing.add("do", example={"text": "tidy up"})
async def do(bench: "Bench", args: Do, call: Call, effects: Effects) -> Done:
    """Do something."""
    return await bench.work(args, call, effects)


@thing.add("look", read_only=True)
async def look(bench: "Bench") -> None:
    """Look around."""
    bench.looked += 1


@thing.add("fail")
async def fail(bench: "Bench") -> None:
    """Fail on purpose."""
    raise Conflict("somebody changed it", hint="look again", diff="-a +b")


@thing.add("boom")
async def boom(bench: "Bench") -> None:
    """Fail by mistake."""
    raise bench.mistake


@thing.add("save", actors=("person",))
async def save(bench: "Bench") -> None:
    """Save; the person's only."""


@thing.add("odd")
async def odd(bench: "Bench") -> int:
    """Return what no command may return."""
    return 3


class Bench:
    """What the handlers work on; remembers who was in them, and when."""

    def __init__(self) -> None:
        self.started: list[Call] = []
        self.running: list[Call] = []
        self.most_blocks = 0
        self.locks: dict[str, asyncio.Event] = {}
        self.entered = asyncio.Event()
        self.looked = 0
        self.mistake: BaseException = RuntimeError("secret detail")

    async def work(self, args: Do, call: Call, effects: Effects) -> Done:
        self.started.append(call)
        self.running.append(call)
        self.entered.set()
        blocks = [other for other in self.running if other.origin == "block"]
        for session in {other.session for other in blocks}:
            self.most_blocks = max(self.most_blocks, sum(other.session == session for other in blocks))
        try:
            if args.wait_for is not None:
                await self.locks.setdefault(args.wait_for, asyncio.Event()).wait()
            if args.text == "undoable":
                await effects.before("a.txt", b"old")
                effects.isolation = "sandbox"

                async def inverse() -> None:
                    self.looked = -1

                effects.undo("put it back", inverse)
            return Done(did_what=args.text)
        finally:
            self.running.remove(call)

    def release(self, name: str) -> None:
        self.locks.setdefault(name, asyncio.Event()).set()


class MemoryJournal:
    def __init__(self) -> None:
        self.noted: list[JournalEntry] = []
        self.recorded: list[JournalEntry] = []
        self.kept: list[tuple[str, str, bytes | None]] = []
        self.broken: Exception | None = None

    def note(self, entry: JournalEntry) -> None:
        self.noted.append(entry)

    async def record(self, entry: JournalEntry) -> None:
        if self.broken is not None:
            raise self.broken
        self.recorded.append(entry)
        await asyncio.sleep(0)

    async def keep(self, call_id: str, path: str, content: bytes | None) -> None:
        self.kept.append((call_id, path, content))


class Timers:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._due: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def later(self, delay_s: float, due: Callable[[], None]) -> "_Timer":
        entry = (self.now + delay_s, due)
        self._due.append(entry)
        return _Timer(lambda: self._due.remove(entry) if entry in self._due else None)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for entry in [entry for entry in self._due if entry[0] <= self.now]:
            self._due.remove(entry)
            entry[1]()

    def __len__(self) -> int:
        return len(self._due)


class _Timer:
    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel

    def cancel(self) -> None:
        self._cancel()


class World:
    """A gate with everything around it."""

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        results: Results | None = None,
        sleep: Sleep | None = None,
        preview_s: float = PREVIEW_S,
        permit_s: float = PERMIT_S,
        **settings: object,
    ) -> None:
        self.timers = Timers()
        self.events = EventBus()
        self.heard: list[Event] = []
        self.events.published.subscribe(self.heard.append)
        self.questions = Questions(self.events, now=self.timers.time, later=self.timers.later)
        self.registry = Registry()
        self.registry.include(thing)
        self.bench = Bench()
        self.journal = MemoryJournal()
        self.results: list[tuple[Call, Result]] = []
        self.undos: list[tuple[Call, Sequence[Undo]]] = []
        self.slept: list[float] = []
        self.judged: list[str] = []
        self.line: str | None = None  # stands before every judged text
        self.unasked = ""
        self.against: str | None = None  # why a call that may run unasked must not
        self.outside = False
        self.gate = Gate(
            self.registry,
            self.bench,
            self.questions,
            self.journal,
            policy or self.judge,
            GateSettings(**{"consent": False, **settings}),  # type: ignore[arg-type]
            self.events,
            results=results or (lambda call, result: self.results.append((call, result))),
            undo_sink=lambda call, undos: self.undos.append((call, undos)),
            now=self.timers.time,
            sleep=sleep or self.sleep,
            preview_s=preview_s,
            permit_s=permit_s,
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def judge(self, call: Call, command: Command, args: Struct | None) -> Assessment | None:
        if not isinstance(args, Do):
            return None
        shown = f"{self.line or ''}{args.text}"
        self.judged.append(shown)
        level: Literal["safe", "unknown", "dangerous"] = "safe"
        if shown.startswith(("rm", "what")):
            level = "dangerous" if shown.startswith("rm") else "unknown"
        return Assessment(
            level,
            shown,
            reason=f"it is {level}",
            parts=[AssessedPart(shown, level)],
            rule_key=shown,
            rule_text=f"exactly {shown!r}",
            unasked=self.unasked,
            secure=None if self.against is None else self.speak_against,
            outside=self.outside,
            edit=lambda text: {**call.args, "text": text},
        )

    async def speak_against(self) -> str:
        return self.against or ""

    def call(
        self,
        text: str = "safe",
        *,
        command: str = "do",
        actor: Actor = AGENT,
        origin: CallOrigin = "mcp",
        wait_for: str | None = None,
        answer_id: str | None = None,
    ) -> Call:
        args: dict[str, object] = {"text": text} if command == "do" else {}
        if wait_for is not None:
            args["waitFor"] = wait_for
        return Call(command=f"openspace.thing.{command}", args=args, actor=actor, origin=origin, answer_id=answer_id)

    def block(self, text: str = "safe", **more: str | None) -> Call:
        return self.call(text, origin="block", wait_for=more.get("wait_for"), answer_id=more.get("answer_id"))

    async def question(self) -> Question:
        """Return the open question, as soon as there is one."""
        return (await self.open(1))[0]

    async def open(self, count: int) -> list[Question]:
        happened = asyncio.Event()
        dispose = self.events.published.subscribe(lambda _: happened.set())
        async with asyncio.timeout(40):
            while len(self.questions.open()) < count:
                happened.clear()
                await happened.wait()
        dispose()
        return self.questions.open()

    async def reply(self, choice: Choice, **more: object) -> None:
        question = await self.question()
        self.questions.answer(question.id, Answer(choice=choice, **more), PERSON)  # type: ignore[arg-type]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.heard]
