"""Commands on rehearsals: run a line that is asked about over an overlay, see what it would change, apply or discard.

They are the person's only. To run the line for real is simply to answer its question.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Nothing
from fourhands.commands.file_undo import tell_editor
from fourhands.commands.rehearsed import pending_call, program_of
from fourhands.core.call import Actor, Call
from fourhands.core.errors import FourhandsError, NotFound
from fourhands.core.question import Answer, Question
from fourhands.core.registry import Contribution
from fourhands.safety.paths.policy import plain
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.rehearsal.listing import RehearsedChange, shown_path
from fourhands.workbench.rehearsal.rehearsals import Rehearsal, State
from fourhands.workbench.rehearsal.taking_over import TakenOver
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.rehearsal")

RehearsalId = Annotated[str, Meta(description="Id of a rehearsal, as openspace.rehearsal.start gives it.")]
QuestionId = Annotated[str, Meta(description="Id of the open question about a command.")]

ALWAYS_HIDDEN = (
    "Anything on the network: there is none in a rehearsal.",
    "Databases, services and programs that run already.",
    "Anything outside the workspace: it is read-only there, and the home directory is empty.",
)
"""The limits of every rehearsal, in words."""

_TOLD = 2000
_TOLD_PATHS = 20


class RehearsalOffer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer whether a command can be rehearsed; if not, why. `rehearsal` is the one that there is already."""

    possible: bool
    concerned: bool  # it runs something at all
    reason: str = ""
    rehearsal: str = ""


class RehearsalInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A rehearsal: its output and end, what it would change, why that cannot be applied, what it cannot show."""

    id: str
    question: str
    session: str
    line: str
    cwd: str
    state: State
    seconds: float = 0.0
    exit_code: int | None = None
    output: str = ""
    output_cut: bool = False
    stopped: str = ""
    failed: str = ""
    changes: tuple[RehearsedChange, ...] = ()
    more_changes: int = 0
    counts: dict[str, int] = {}
    git_files: int = 0
    blocked: str = ""
    cannot_show: tuple[str, ...] = ()


class LeftPath(Struct, frozen=True, kw_only=True, rename="camel"):
    """A path that was not written, and why."""

    path: str
    reason: str


class RehearsalApplied(Struct, frozen=True, kw_only=True, rename="camel"):
    """The paths that were written and those that were not; the checkpoint from just before, or why there is none."""

    files: int
    conflicts: tuple[LeftPath, ...] = ()
    checkpoint: str = ""
    missing: str = ""


@commands.add("check", label="Check if a command can be rehearsed", actors=("person",), read_only=True)
async def check(bench: Workbench, *, question_id: QuestionId) -> RehearsalOffer:
    """Check if the command that you are asked about can be rehearsed here; if not, say why."""
    known = bench.rehearsals.of(question_id)
    try:
        program_of(bench, pending_call(bench, _question(bench, question_id)))
    except FourhandsError as error:
        return RehearsalOffer(possible=False, concerned=False, reason=error.message)
    reason = await bench.rehearsals.impossible()
    return RehearsalOffer(possible=not reason, concerned=True, reason=reason, rehearsal=known.id if known else "")


@commands.add("start", label="Rehearse command", actors=("person",), example={"questionId": "question_01J…"})
async def start(bench: Workbench, *, question_id: QuestionId) -> RehearsalInfo:
    """Run the command that you are asked about over an overlay of the workspace, without network.

    Nothing of it reaches the workspace. The question stays open, without a time limit, until you answer it. The
    rehearsal ends after a minute, or when it has written too much; openspace.rehearsal.read has what came of it.
    """
    program = program_of(bench, pending_call(bench, _question(bench, question_id)))
    return _info(bench, await bench.rehearsals.start(_question(bench, question_id), program))


@commands.add("read", label="Read rehearsal", actors=("person",), read_only=True)
async def read(bench: Workbench, *, id: RehearsalId) -> RehearsalInfo:
    """Return a rehearsal as it is now: its output, what it would change, and what a rehearsal cannot show."""
    return _info(bench, bench.rehearsals.get(id))


@commands.add("stop", label="Stop rehearsal", actors=("person",))
async def stop(bench: Workbench, *, id: RehearsalId) -> RehearsalInfo:
    """End a rehearsal that runs, and show what it has done so far."""
    rehearsal = bench.rehearsals.get(id)
    await bench.rehearsals.stop(rehearsal)
    await bench.rehearsals.ended(rehearsal)
    return _info(bench, rehearsal)


@commands.add("discard", label="Discard rehearsal", actors=("person",))
async def discard(bench: Workbench, *, id: RehearsalId) -> Nothing:
    """Drop a rehearsal and all that it wrote; the question about its command stays open."""
    bench.rehearsals.discard(bench.rehearsals.get(id))
    return Nothing()


@commands.add("apply", label="Apply rehearsal to files", actors=("person",), hand=True)
async def apply(bench: Workbench, call: Call, *, id: RehearsalId) -> RehearsalApplied:
    """Write to the workspace what a rehearsal changed, and answer its question: the command is not run.

    A path is written only if it is still as it was when the rehearsal began; any other is a conflict and stays. A
    checkpoint is taken first. The agent is told what was done, with the output.
    """
    rehearsal = bench.rehearsals.get(id)
    _question(bench, rehearsal.question.id)
    write = bench.rehearsals.taking_over(rehearsal)
    checkpoint, missing = await _checkpoint(bench)
    outcome = await _written(bench, write)
    conflicts = tuple(LeftPath(path=shown_path(path), reason=reason) for path, reason in outcome.left)
    answer = Answer(choice="deny", reason=_told(bench, rehearsal, len(outcome.done), conflicts))
    bench.questions.answer(rehearsal.question.id, answer, call.actor)
    return RehearsalApplied(files=len(outcome.done), conflicts=conflicts, checkpoint=checkpoint, missing=missing)


# -- what people and agents are told -------------------------------------------------------------------------------


def _question(bench: Workbench, id: str) -> Question:
    """Return an open question about a command."""
    known = {question.id: question for question in bench.questions.open()}
    if id not in known:
        raise NotFound.of("open question", id, known)
    return known[id]


def _info(bench: Workbench, rehearsal: Rehearsal) -> RehearsalInfo:
    done, found, listed = rehearsal.result, rehearsal.difference, rehearsal.listing
    ran = done is not None and not rehearsal.failed
    return RehearsalInfo(
        id=rehearsal.id,
        question=rehearsal.question.id,
        session=rehearsal.question.session,
        line=rehearsal.program.shown,
        cwd=bench.relative(rehearsal.program.cwd),
        state=rehearsal.state,
        seconds=rehearsal.seconds,
        exit_code=done.exit_code if done is not None and ran and not rehearsal.stopped else None,
        output=bench.redact(sanitize(done.output)) if done is not None and ran else "",
        output_cut=done is not None and (done.truncated or done.left_out > 0),
        stopped=rehearsal.stopped,
        failed=rehearsal.failed,
        changes=listed.rows,
        more_changes=listed.left_out,
        counts=listed.counts,
        git_files=len(found.git) if found is not None else 0,
        blocked=rehearsal.blocked,
        cannot_show=(*ALWAYS_HIDDEN, *rehearsal.program.notes),
    )


def _told(bench: Workbench, rehearsal: Rehearsal, count: int, conflicts: tuple[LeftPath, ...]) -> str:
    """Return what the agent reads in place of its command's result."""
    info = _info(bench, rehearsal)
    left = ", ".join(one.path for one in conflicts[:_TOLD_PATHS])
    said = [
        "instead they ran it as a rehearsal, without network, and applied its changes to the files; "
        f"do not run it again. {count} path{'' if count == 1 else 's'} written",
        f"; left as they are, since they have changed: {left}" if conflicts else "",
        f". {info.stopped}" if info.stopped else f". Exit code {info.exit_code}",
    ]
    output = info.output if len(info.output) <= _TOLD else f"{info.output[:_TOLD]}…"
    return "".join([*said, f". Its output:\n{output}" if output.strip() else ". It printed nothing."])


async def _checkpoint(bench: Workbench) -> tuple[str, str]:
    """Take a checkpoint; returns its id, or why there is none."""
    store = bench.turns.store
    try:
        return (await asyncio.to_thread(lambda: store.take(store.budget()))).id, ""
    except FourhandsError as error:
        return "", f"no checkpoint: {error.message}"


async def _written(bench: Workbench, write: Callable[[], TakenOver]) -> TakenOver:
    """Write, and tell editors and clients of the files that they may show."""
    files = bench.files(Actor.person())
    opened = {editor.path for editor in bench.state.editors()}

    def go() -> tuple[TakenOver, dict[str, str | None]]:
        outcome = write()
        versions: dict[str, str | None] = {}
        for path in sorted(map(_known_as, outcome.done), key=lambda path: path not in opened)[:1000]:
            try:
                versions[path] = files.version(path)
            except (FourhandsError, OSError):
                versions[path] = None
        return outcome, versions

    def told(done: tuple[TakenOver, dict[str, str | None]]) -> None:
        for path, version in done[1].items():
            tell_editor(bench, path, version)

    return (await bench.writes.do(go, told))[0]


def _known_as(path: bytes) -> str:
    """Return a path as file commands name it."""
    return plain(os.fsdecode(path))
