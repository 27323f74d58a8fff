"""Commands on turns of agents: list, undo, redo, keep. An undo is never a reset: what changed since is a conflict."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from fourhands.commands.base import Nothing
from fourhands.commands.file_undo import tell_editor
from fourhands.core.call import Actor
from fourhands.core.errors import Conflict, FourhandsError
from fourhands.core.registry import Contribution
from fourhands.safety.paths.policy import plain
from fourhands.workbench.checkpoints.git import Budget, GitFailed, NoCheckpoint
from fourhands.workbench.checkpoints.repository import read_file
from fourhands.workbench.checkpoints.restore import Clash, Restored, restore
from fourhands.workbench.checkpoints.store import CheckpointStore, Difference
from fourhands.workbench.checkpoints.tree import LINK, Entry
from fourhands.workbench.files.encoding import decoded
from fourhands.workbench.turns import Turn
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.turn")

TurnId = Annotated[str, Meta(description="Id of a turn, as openspace.turn.list gives it.")]

LARGEST = 200_000
"""Bytes of a file whose text is still sent."""

_TOLD = 1000
_SECONDS = 60.0


class TurnList(Struct, frozen=True, kw_only=True, rename="camel"):
    """Turns, oldest first; `unavailable` says why there are no checkpoints here at all."""

    turns: tuple[Turn, ...]
    unavailable: str = ""


class TurnConflict(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that was not put back: what it was to become, what the turn left, what it is now; texts where shown."""

    path: str
    reason: str
    wanted: str | None = None
    left: str | None = None
    now: str | None = None


class TurnUndone(Struct, frozen=True, kw_only=True, rename="camel"):
    """The paths that were put back, and those that were not since they were changed after the turn."""

    files: tuple[str, ...]
    refs: tuple[str, ...]
    conflicts: tuple[TurnConflict, ...]
    ref_conflicts: tuple[str, ...]


@commands.add("list", label="List turns", actors=("person",), read_only=True)
async def list_turns(
    bench: Workbench,
    *,
    session: Annotated[str | None, Meta(description="Only this agent's session. Default: all.")] = None,
) -> TurnList:
    """List agents' turns: each with its checkpoints before and after, or why it has none."""
    wanted = bench.sessions.get(session).id if session is not None else None
    turns = tuple(turn for turn in bench.turns.list() if wanted in (None, turn.session))
    return TurnList(turns=turns, unavailable=bench.turns.store.unavailable)


@commands.add("undo", label="Undo turn", actors=("person",), example={"turn": "turn_01J…"})
async def undo_turn(
    bench: Workbench,
    *,
    turn: TurnId,
    preview: Annotated[bool, Meta(description="Only say what would be put back.")] = False,
) -> TurnUndone:
    """Put back everything that an agent's turn changed, by edits and by commands.

    Files, refs, HEAD, index and stash are put back where they are still as the turn left them. What was changed since
    is a conflict: it stays, and its three versions are returned. Ignored and very large files are not covered.
    """
    found = await _finished(bench, turn)
    outcome = await go(bench, (await difference(bench.turns.store, found)).reversed(), preview=preview)
    return _settle(bench, found, outcome, "undone", preview)


@commands.add("redo", label="Redo turn", actors=("person",), example={"turn": "turn_01J…"})
async def redo_turn(bench: Workbench, *, turn: TurnId) -> TurnUndone:
    """Do again what a turn changed and you have undone; what was changed since is a conflict and stays."""
    found = await _finished(bench, turn)
    outcome = await go(bench, await difference(bench.turns.store, found))
    return _settle(bench, found, outcome, "open", preview=False)


@commands.add("keep", label="Keep turn", actors=("person",), hand=True, example={"turn": "turn_01J…"})
async def keep_turn(bench: Workbench, *, turn: TurnId) -> Nothing:
    """Accept all that commands changed in a turn: it leaves the list of changes, and can still be undone."""
    bench.turns.change(replace(bench.turns.get(turn), status="kept"))
    return Nothing()


async def _finished(bench: Workbench, id: str) -> Turn:
    """Return a turn with both its checkpoints; the turn of an agent that only calls ends here."""
    turn = bench.turns.get(id)
    if bench.turns.prompted(id):
        raise Conflict(f"turn {id!r} is not over", hint="stop the agent first, or wait for its answer")
    if bench.turns.running(id):
        bench.turns.end(turn.session)
    await bench.turns.ended(turn.session)
    turn = bench.turns.get(id)
    if not turn.before or not turn.after:
        raise NoCheckpoint(
            f"turn {id!r} cannot be undone: {turn.missing or 'it has no checkpoint'}",
            hint="the person can undo edits one by one: openspace.change.revert",
        )
    return turn


async def difference(store: CheckpointStore, turn: Turn) -> Difference:
    """Return what a turn changed."""

    def compare() -> Difference:
        try:
            return store.compare(store.get(turn.before), store.get(turn.after), Budget(_SECONDS))
        except GitFailed as error:
            raise NoCheckpoint(
                f"the checkpoints of {turn.id!r} are damaged: {error.message}",
                hint="programs in the workspace may have overwritten git's objects; nothing was changed",
            ) from error

    return await asyncio.to_thread(compare)


async def go(bench: Workbench, way: Difference, *, preview: bool = False) -> TurnUndone:
    """Put back, in a thread, and tell editors and clients."""
    store = bench.turns.store
    files = bench.files(Actor.person())
    opened = {editor.path for editor in bench.state.editors()}

    def write() -> tuple[TurnUndone, dict[str, str | None]]:
        outcome = restore(store, way, preview=preview)
        versions: dict[str, str | None] = {}
        for path in sorted(map(_shown, outcome.done), key=lambda path: path not in opened)[:_TOLD]:
            try:
                versions[path] = files.version(path)
            except (FourhandsError, OSError):
                versions[path] = None
        return _told(store, outcome), versions

    def told(done: tuple[TurnUndone, dict[str, str | None]]) -> None:
        for path, version in {} if preview else done[1].items():
            tell_editor(bench, path, version)

    return (await bench.writes.do(write, told))[0]


def _settle(bench: Workbench, turn: Turn, outcome: TurnUndone, status: str, preview: bool) -> TurnUndone:
    if not preview:
        count = len(outcome.conflicts) + len(outcome.ref_conflicts)
        bench.turns.change(replace(turn, status="undone" if status == "undone" else "open", conflicts=count))
    return outcome


def _told(store: CheckpointStore, outcome: Restored) -> TurnUndone:
    shown = outcome.clashes[:100]
    names = [entry.name for clash in shown for entry in (clash.wanted, clash.expected) if entry is not None]
    contents = store.git.contents(names, Budget(_SECONDS), most=LARGEST) if names else {}
    return TurnUndone(
        files=tuple(sorted(map(_shown, outcome.done))),
        refs=tuple(outcome.refs),
        conflicts=tuple(_conflict(store, clash, contents) for clash in outcome.clashes),
        ref_conflicts=tuple(outcome.ref_clashes),
    )


def _conflict(store: CheckpointStore, clash: Clash, contents: dict[str, bytes]) -> TurnConflict:
    path = _shown(clash.path)
    now = read_file(store.workspace, clash.path.decode("utf-8", "surrogateescape"), LARGEST)
    return TurnConflict(
        path=path,
        reason=clash.reason,
        wanted=_text(path, clash.wanted, contents),
        left=_text(path, clash.expected, contents),
        now=None if now is None else decoded(now, path=path, version="").text,
    )


def _text(path: str, entry: Entry | None, contents: dict[str, bytes]) -> str | None:
    if entry is None or entry.mode == LINK or entry.name not in contents:
        return None
    return decoded(contents[entry.name], path=path, version="").text


def _shown(path: bytes) -> str:
    return plain(path.decode("utf-8", "surrogateescape"))
