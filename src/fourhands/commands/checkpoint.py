"""Commands on checkpoints of the workspace: list, compare, restore. They are the person's only."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.turn import TurnUndone, go
from fourhands.core.registry import Contribution
from fourhands.safety.paths.policy import plain
from fourhands.workbench.checkpoints.scan import LeftOut
from fourhands.workbench.checkpoints.store import Difference
from fourhands.workbench.checkpoints.tree import Entry
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.checkpoint")

CheckpointId = Annotated[str, Meta(description="Id of a checkpoint, as openspace.checkpoint.list gives it.")]


class CheckpointInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A checkpoint: when it was taken, how long that took, and what it does not have."""

    id: str
    time: float
    seconds: float
    left_out: tuple[LeftOut, ...]


class CheckpointList(Struct, frozen=True, kw_only=True, rename="camel"):
    """Checkpoints, oldest first; `unavailable` says why there are none here at all."""

    checkpoints: tuple[CheckpointInfo, ...]
    unavailable: str = ""


class ComparedPath(Struct, frozen=True, kw_only=True, rename="camel"):
    """A path that differs: git's modes, empty where it is not there."""

    path: str
    before: str
    after: str


class Comparison(Struct, frozen=True, kw_only=True, rename="camel"):
    """Paths that differ, and repositories whose HEAD, refs or index do."""

    paths: tuple[ComparedPath, ...]
    repositories: tuple[str, ...]


class CheckpointRestored(TurnUndone, frozen=True, kw_only=True, rename="camel"):
    """The paths that were put back; `before` is a checkpoint from just before, with what was there."""

    before: str


@commands.add("list", label="List checkpoints", actors=("person",), read_only=True)
async def list_checkpoints(bench: Workbench) -> CheckpointList:
    """List the checkpoints of the workspace that are kept, with what each leaves out."""
    store = bench.turns.store
    found = await asyncio.to_thread(store.list)
    return CheckpointList(
        checkpoints=tuple(
            CheckpointInfo(id=one.id, time=one.time, seconds=one.seconds, left_out=one.left_out) for one in found
        ),
        unavailable=store.unavailable,
    )


@commands.add("compare", label="Compare checkpoints", actors=("person",), read_only=True)
async def compare_checkpoints(
    bench: Workbench,
    *,
    before: CheckpointId,
    after: Annotated[str | None, Meta(description="The other one. Default: the workspace now.")] = None,
) -> Comparison:
    """List the paths that differ between two checkpoints, or between one and now."""
    store = bench.turns.store

    def compare() -> Difference:
        first = store.get(before)
        return store.compare(first, store.get(after) if after is not None else store.take())

    found = await asyncio.to_thread(compare)
    return Comparison(
        paths=tuple(
            ComparedPath(path=plain(path.decode("utf-8", "surrogateescape")), before=_mode(old), after=_mode(new))
            for path, (old, new) in sorted(found.entries.items())
        ),
        repositories=tuple(below or "." for below in found.states),
    )


@commands.add("restore", label="Restore checkpoint", actors=("person",))
async def restore_checkpoint(bench: Workbench, *, checkpoint: CheckpointId) -> CheckpointRestored:
    """Put the workspace back as it was at a checkpoint; what is there now is kept in another one first."""
    store = bench.turns.store

    def way() -> tuple[str, Difference]:
        wanted = store.get(checkpoint)
        now = store.take()
        return now.id, store.compare(now, wanted)

    before, difference = await asyncio.to_thread(way)
    done = await go(bench, difference)
    return CheckpointRestored(
        files=done.files, refs=done.refs, conflicts=done.conflicts, ref_conflicts=done.ref_conflicts, before=before
    )


def _mode(entry: Entry | None) -> str:
    return "" if entry is None else entry.mode
