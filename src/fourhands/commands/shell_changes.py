"""Files that programs changed in agents' turns: the difference of the turns' checkpoints, as far as unsettled."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from fourhands.commands.turn import difference
from fourhands.core.bounded import BoundedDict
from fourhands.core.errors import FourhandsError
from fourhands.safety.paths.policy import plain
from fourhands.workbench.checkpoints.git import Budget
from fourhands.workbench.checkpoints.self_running import inside_git, runs_by_itself
from fourhands.workbench.checkpoints.store import CheckpointStore, Difference
from fourhands.workbench.checkpoints.tree import Entry, look
from fourhands.workbench.turns import Turn
from fourhands.workbench.workbench import Workbench

LOOKED_AT = 20
"""The latest turns whose changes are listed."""

MOST = 500
"""Files of one turn that are listed."""

_differences: BoundedDict[tuple[str, str], Difference] = BoundedDict(50)  # of two checkpoints, which never change
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ShellChange:
    """A file that programs changed: what it was before the first such turn, and what it is."""

    path: str
    raw: bytes
    turn: Turn
    before: Entry | None
    now: Entry | None
    content: bytes | None  # from before; None: there was no file, or it is a link or too large


async def shell_changes(bench: Workbench, settled: Mapping[str, float], largest: int) -> dict[str, ShellChange]:
    """Return by path what turns that are neither undone nor kept changed, and still differs."""
    store = bench.turns.store
    first: dict[bytes, tuple[Turn, Entry | None]] = {}
    open_turns = [turn for turn in bench.turns.list() if turn.after and turn.status == "open"][-LOOKED_AT:]
    for turn in open_turns:
        try:
            found = _differences.get((turn.before, turn.after)) or await difference(store, turn)
        except FourhandsError:
            continue  # pruned, or damaged: the turn itself says so when it is undone
        _differences[turn.before, turn.after] = found
        for path, (before, _) in sorted(found.entries.items())[:MOST]:
            shown = plain(path.decode("utf-8", "surrogateescape"))
            if (inside_git(shown) and not runs_by_itself(shown)) or (turn.finished or 0.0) <= settled.get(shown, 0.0):
                continue
            first.setdefault(path, (turn, before))
    return await asyncio.to_thread(_compared, store, first, largest) if first else {}


def _compared(
    store: CheckpointStore, first: dict[bytes, tuple[Turn, Entry | None]], largest: int
) -> dict[str, ShellChange]:
    names = [entry.name for _, entry in first.values() if entry is not None]
    contents = store.git.contents(names, Budget(_SECONDS), most=largest)
    found = {}
    for raw, (turn, before) in first.items():
        now = look(store.workspace, raw)
        if now != before:
            path = plain(raw.decode("utf-8", "surrogateescape"))
            content = None if before is None else contents.get(before.name)
            found[path] = ShellChange(path, raw, turn, before, now, content)
    return found
