"""Rehearsals of pending lines: each runs once, over an overlay of the workspace, and is shown to the person.

A rehearsal belongs to an open question and ends with it. What it wrote lies in the state directory until then; what a
server left there that was killed is removed when the next one starts. Belongs to the event loop; what reads or writes
files runs in a thread.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from fourhands.core.child import PipedChild, Take
from fourhands.core.errors import Conflict, FourhandsError, NotFound, Unavailable, Unsupported
from fourhands.core.event import Event, EventBus, EventData
from fourhands.core.ids import new_id
from fourhands.core.question import Question, QuestionAnswered, QuestionExpired, Questions, QuestionWithdrawn
from fourhands.core.tasks import Tasks
from fourhands.host import processes
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers.base import Launch
from fourhands.providers.overlay import OverlayDirs, OverlaySandbox, remove_overlay
from fourhands.settings import BubblewrapSettings, Settings
from fourhands.workbench.rehearsal.difference import DifferenceLimits, TreeDifference, read_difference, usage
from fourhands.workbench.rehearsal.listing import RehearsalListing, listing
from fourhands.workbench.rehearsal.pending import PendingCalls
from fourhands.workbench.rehearsal.taking_over import TakenOver, take_over
from fourhands.workbench.terminals.oneshot import HERE, ExecResult, OneShotLimits, execute

State = Literal["running", "ended", "applied", "discarded"]

_TRIES = 3
_POLL_S = 0.25
_END_S = 5.0


class RehearsalChanged(EventData, frozen=True, kw_only=True):
    """A rehearsal of a pending command has begun or ended, or its changes were applied or discarded."""

    event = "rehearsal.changed"
    id: str
    question: str
    session: str
    state: State


@dataclass(frozen=True, slots=True)
class RehearsalLimits:
    """The most that one rehearsal may take; tests pass other ones."""

    time_s: float = 60.0
    bytes: int = 1 << 30
    entries: int = 200_000
    file_bytes: int = 512 << 20
    free_bytes: int = 256 << 20
    """Bytes of the disk that it leaves free."""
    output: int = 128 * 1024
    difference: DifferenceLimits = field(default_factory=DifferenceLimits)


@dataclass(frozen=True, slots=True)
class RehearsedProgram:
    """The program to run, with its words, input, directory and variables, and as text for people."""

    program: str
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    shown: str
    input: bytes | None = None
    notes: tuple[str, ...] = ()
    """Effects of the call that its rehearsal cannot show, in words."""


@dataclass(slots=True, eq=False)
class Rehearsal:
    """One rehearsal, from its start to the end of its question."""

    id: str
    question: Question
    program: RehearsedProgram
    dirs: OverlayDirs
    state: State = "running"
    began: float = 0.0
    seconds: float = 0.0
    result: ExecResult | None = None
    difference: TreeDifference | None = None
    listing: RehearsalListing = field(default_factory=RehearsalListing)
    stopped: str = ""
    """Why it was ended before its end."""
    failed: str = ""
    """Why it could not be run or read."""

    @property
    def blocked(self) -> str:
        """The reason why its changes cannot be applied to the files; empty if they can."""
        found = self.difference
        if self.failed or found is None:
            return self.failed or "it is still running"
        if found.too_much:
            return found.too_much
        if any(os.path.basename(path) != b"index" for path in found.git):
            return "it changes git's own files, which belong together and are not put together from pieces"
        if not (found.changes or found.made or found.gone):
            return "it changes no files"
        return ""


class Rehearsals:
    """The rehearsals of one workspace; `async with`, so that what runs ends with it."""

    def __init__(
        self,
        places: WorkspaceDirs,
        env: Mapping[str, str],
        settings: Settings,
        events: EventBus,
        questions: Questions,
        *,
        sandbox: OverlaySandbox | None = None,
    ) -> None:
        self.limits = RehearsalLimits()
        self.pending = PendingCalls(events)
        self._workspace = places.workspace
        self._place = f"{places.state}/rehearsals"
        self._events = events
        self._questions = questions
        configured = settings.providers.get("bubblewrap")
        chosen = configured if isinstance(configured, BubblewrapSettings) else None
        self._sandbox = sandbox or OverlaySandbox(chosen, env=env, sandbox=settings.sandbox)
        self._known: dict[str, Rehearsal] = {}
        self._tasks = Tasks()
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._starters: dict[str, _Starter] = {}
        self._preparing = asyncio.Lock()
        self._ready = False

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(remove_overlay, self._place)
        self._dispose = self._events.published.subscribe(self._heard)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._dispose()
        self.pending.close()
        await self._tasks.__aexit__(kind, error, trace)
        await self._sandbox.clean_up()
        await asyncio.to_thread(remove_overlay, self._place)

    async def impossible(self) -> str:
        """Return why nothing can be rehearsed on this machine, found out by building an overlay; empty if it can."""
        reason = ""
        async with self._preparing:
            for _ in range(0 if self._ready else _TRIES):
                try:
                    await asyncio.to_thread(os.makedirs, self._place, 0o700, exist_ok=True)
                    await self._sandbox.prepare_in(self._workspace, self._place)
                    self._ready = True
                    break
                except (FourhandsError, OSError) as error:
                    reason = str(error)
                    if not (await self._sandbox.probe()).works:
                        break
        return "" if self._ready else reason

    def get(self, id: str) -> Rehearsal:
        """Return a rehearsal by its id."""
        if id not in self._known:
            raise NotFound.of("rehearsal", id, self._known)
        return self._known[id]

    def of(self, question: str) -> Rehearsal | None:
        """Return the rehearsal of a question."""
        return next((one for one in self._known.values() if one.question.id == question), None)

    async def start(self, question: Question, program: RehearsedProgram) -> Rehearsal:
        """Begin the rehearsal of a question's line; one that there was is discarded. The question then waits for it."""
        reason = await self.impossible()
        if reason:
            raise Unsupported(f"a rehearsal is not possible here: {reason}", hint="answer the question without one")
        if (former := self.of(question.id)) is not None:
            self.discard(former)
        self._questions.hold(question.id)
        id = new_id("rehearsal")
        rehearsal = Rehearsal(id, question, program, OverlayDirs(f"{self._place}/{id}"))
        self._known[id] = rehearsal
        self._starters[id] = _Starter()
        self._runs[id] = self._tasks.start(self._run(rehearsal), f"the rehearsal {id}")
        self._tell(rehearsal)
        return rehearsal

    async def ended(self, rehearsal: Rehearsal) -> None:
        """Return when a rehearsal has run to its end and its difference is read."""
        if (task := self._runs.get(rehearsal.id)) is not None:
            await asyncio.wait([task])

    async def stop(self, rehearsal: Rehearsal, reason: str = "it was stopped") -> None:
        """End a rehearsal that runs; what it has done until then is shown."""
        if rehearsal.state == "running" and (starter := self._starters.get(rehearsal.id)) is not None:
            rehearsal.stopped = rehearsal.stopped or reason
            await starter.stop()

    def discard(self, rehearsal: Rehearsal) -> None:
        """Forget a rehearsal and all that it wrote; one that runs is ended first."""
        if self._known.pop(rehearsal.id, None) is None:
            return
        if rehearsal.state in ("running", "ended"):
            rehearsal.state = "discarded"
        task = self._runs.pop(rehearsal.id, None)
        if task is not None and not task.done():
            task.add_done_callback(lambda _: self._remove_soon(rehearsal))  # when its programs have ended
            task.cancel()
        else:
            self._remove_soon(rehearsal)
        self._tell(rehearsal)

    def taking_over(self, rehearsal: Rehearsal) -> Callable[[], TakenOver]:
        """Return the function that writes a rehearsal's changes to the workspace, once, in a thread.

        It writes path by path, where nothing else has changed it since.
        """
        if rehearsal.state != "ended":
            raise Conflict(
                f"rehearsal {rehearsal.id!r} is {rehearsal.state}", hint="wait for its end, or rehearse again"
            )
        if rehearsal.blocked:
            raise Conflict(f"its changes cannot be applied: {rehearsal.blocked}", hint="discard it, or run it for real")
        found = rehearsal.difference
        assert found is not None
        rehearsal.state = "applied"
        return lambda: take_over(self._workspace, rehearsal.dirs.upper, found)

    # -- a run -----------------------------------------------------------------------------------------------------

    async def _run(self, rehearsal: Rehearsal) -> None:
        try:
            await self._go(rehearsal)
        except (FourhandsError, OSError) as error:
            rehearsal.failed = str(error)
        finally:
            self._starters.pop(rehearsal.id, None)
            await self._sandbox.end(rehearsal.id)
        rehearsal.state = "ended"
        self._tell(rehearsal)

    async def _go(self, rehearsal: Rehearsal) -> None:
        limits, dirs = self.limits, rehearsal.dirs
        for left in reversed(range(_TRIES)):
            done = await self._execute(rehearsal)
            if dirs.begun or rehearsal.stopped:
                break
            if not left:
                raise Unavailable(f"the sandbox could not be built: {done.stderr.strip()[:300] or done.exit_code}")
            # Something that was to be shown or hidden has gone meanwhile, such as a lock in /etc.
            await asyncio.to_thread(remove_overlay, dirs.place)
        found = await asyncio.to_thread(
            read_difference, self._workspace, dirs.upper, rehearsal.began, limits.difference
        )
        rehearsal.listing = await asyncio.to_thread(listing, self._workspace, dirs.upper, found)
        rehearsal.result, rehearsal.difference = done, found

    async def _execute(self, rehearsal: Rehearsal) -> ExecResult:
        """Run the command once, over an overlay that is fresh, until nothing of it runs any more."""
        limits, program, dirs = self.limits, rehearsal.program, rehearsal.dirs
        await asyncio.to_thread(dirs.make)
        wanted = Launch(program.program, program.argv, program.cwd, {**program.env, "PWD": program.cwd})
        launch = await asyncio.to_thread(self._sandbox.overlaid, wanted, rehearsal.id, dirs, limits.file_bytes)
        starter = self._starters[rehearsal.id]
        rehearsal.began = time.time()
        watch = self._tasks.start(self._watch(rehearsal), f"the watch over rehearsal {rehearsal.id}")
        try:
            done = await execute(
                launch,
                input_data=program.input,
                timeout_s=limits.time_s,
                isolation=str(self._sandbox.isolation),
                mark=rehearsal.id,
                starter=starter,
                limits=OneShotLimits(kept=limits.output // 2),
            )
        finally:
            watch.cancel()
        rehearsal.seconds = time.time() - rehearsal.began
        if done.code == "timeout":
            rehearsal.stopped = rehearsal.stopped or f"it was stopped after {limits.time_s:g} s"
        if not starter.over:
            raise Unavailable(
                "its programs could not be ended", hint="its changes are not shown, and nothing is applied"
            )
        if done.error is not None and done.code != "timeout":
            raise Unavailable(done.error)
        return done

    async def _watch(self, rehearsal: Rehearsal) -> None:
        """End a rehearsal that takes too much of the disk."""
        limits, dirs = self.limits, rehearsal.dirs
        while True:
            began = time.monotonic()
            size, count = await asyncio.to_thread(usage, [dirs.upper, dirs.home, dirs.tmp], limits.entries)
            if size > limits.bytes:
                await self.stop(rehearsal, f"it was stopped: it wrote more than {limits.bytes >> 20} MB")
            elif count > limits.entries:
                await self.stop(rehearsal, f"it was stopped: it made more than {limits.entries} files")
            elif (await asyncio.to_thread(shutil.disk_usage, dirs.place)).free < limits.free_bytes:
                await self.stop(rehearsal, "it was stopped: the disk is nearly full")
            await asyncio.sleep(max(_POLL_S, 4 * (time.monotonic() - began)))

    # -- ends ------------------------------------------------------------------------------------------------------

    def _heard(self, event: Event) -> None:
        """End what belongs to a question that is closed."""
        if isinstance(event.payload, QuestionAnswered | QuestionExpired | QuestionWithdrawn):
            rehearsal = self.of(event.payload.id)
            if rehearsal is not None:
                self.discard(rehearsal)

    def _remove_soon(self, rehearsal: Rehearsal) -> None:
        with contextlib.suppress(RuntimeError):  # the server goes, and removes all of them
            self._tasks.start(asyncio.to_thread(remove_overlay, rehearsal.dirs.place), "the end of a rehearsal")

    def _tell(self, rehearsal: Rehearsal) -> None:
        question = rehearsal.question
        self._events.emit(
            RehearsalChanged(id=rehearsal.id, question=question.id, session=question.session, state=rehearsal.state)
        )


class _Starter:
    """Starts the sandbox of one rehearsal, and ends it by its first process: with that all others have ended."""

    def __init__(self) -> None:
        self._child: PipedChild | None = None
        self._stopped = False

    @property
    def over(self) -> bool:
        """True when nothing of it runs any more."""
        return self._child is None or self._child.code is not None

    async def start(self, launch: Launch, mark: str, out: Take, err: Take, *, with_input: bool) -> PipedChild:
        """Start it, in one step that cannot be cancelled."""
        self._child = child = await HERE.start(launch, mark, out, err, with_input=with_input)
        if self._stopped:
            await self.end(child, mark)
        return child

    async def stop(self) -> None:
        """End it, also before it has started."""
        self._stopped = True
        if self._child is not None:
            await self.end(self._child, "")

    async def end(self, child: PipedChild, mark: str) -> None:
        """End it: the kernel then ends all processes inside before the one that waits for them."""
        deadline = time.monotonic() + _END_S
        while child.code is None and time.monotonic() < deadline:
            inside = [one.pid for one in (await asyncio.to_thread(processes.scan)).values() if one.parent == child.pid]
            for pid in inside:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await asyncio.shield(child.ended)
