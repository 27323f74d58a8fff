"""The table of docs/agents.md: who was let run the errands, in which version, with a person there, and what came of it.

The script writes it; a test holds that it is of the counterparts, errands and versions that there are now.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.kit.counterparts import mcp_clients
from tests.kit.counterparts.doors import DOORS
from tests.kit.counterparts.errands import ERRANDS
from tests.kit.counterparts.mcp_clients import CLIENTS
from tests.kit.counterparts.report import Report

ROOT = Path(__file__).parents[3]
MANUAL = ROOT / "docs" / "agents.md"
BEGIN, END = "<!-- Written by `make counterparts`; do not edit. -->", "<!-- end of what is written -->"

HEAD = ("counterpart", "version", "person", *ERRANDS, "all", "tokens")
_CELL = re.compile(r"\d+\.\d s|no \[\d+\]")


@dataclass(frozen=True)
class Row:
    """One counterpart with a person there or not."""

    name: str
    version: str
    attended: bool
    run: Callable[[], Awaitable[Report]]

    @property
    def key(self) -> tuple[str, str, str]:
        """The cells that say what was run."""
        return self.name, self.version, "there" if self.attended else "nobody"


def rows() -> list[Row]:
    """Everything that is run, in the order of the table."""
    found: list[Row] = []
    for client in CLIENTS:
        for attended in (True, False):
            run = partial(mcp_clients.run, client, attended=attended)
            found.append(Row(f"{client.name}, by MCP", version(client.package), attended, run))
    for door in DOORS:
        found += [
            Row(door.name, version(door.package), attended, partial(door.run, attended)) for attended in (True, False)
        ]
    return found


def version(package: str) -> str:
    """The version of a package in the lock of the tests or, if it is Python's, in the constraints; a dash for none."""
    if not package:
        return "–"
    locked = json.loads((ROOT / "tests" / "agents-npm" / "package-lock.json").read_text())["packages"]
    if found := locked.get(f"node_modules/{package}"):
        return str(found["version"])
    (line,) = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith(f"{package}==")]
    return line.partition("==")[2]


def render(reports: list[tuple[Row, Report, int | None]]) -> str:
    """The table, and below it why what failed did; each report comes with the tokens that our tools cost."""
    lines = [_line(HEAD), _line("---" for _ in HEAD)]
    notes: list[str] = []
    for row, report, tokens in reports:
        cells = []
        seconds = {outcome.errand: outcome.seconds for outcome in report.errands.outcomes}
        for errand in ERRANDS:
            if problem := report.problem(errand):
                notes.append(" ".join(problem.split())[:500])
                cells.append(f"no [{len(notes)}]")
            else:
                cells.append(f"{seconds[errand]:.1f} s")
        lines.append(_line((*row.key, *cells, f"{report.seconds:.1f} s", "–" if tokens is None else f"{tokens:,}")))
    return "\n".join([*lines, *(f"\n[{number}] {note}" for number, note in enumerate(notes, 1))])


def _line(cells: object) -> str:
    return f"| {' | '.join(cells)} |"  # type: ignore[arg-type]


def written() -> list[list[str]]:
    """The cells of the table in the manual, its head first."""
    text = MANUAL.read_text().partition(BEGIN)[2].partition(END)[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [lines[0], *lines[2:]] if lines else []


def write(table: str) -> None:
    """Put a table into the manual, in the place of the one that is there."""
    text = MANUAL.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    assert after, f"{MANUAL} has no place for the table"
    MANUAL.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")


def stale() -> list[str]:
    """What of the table in the manual is not of what there is now."""
    head, *lines = written() or [[]]
    problems = [] if tuple(head) == HEAD else [f"its head is {head}, not {HEAD}"]
    there, wanted = [tuple(line[:3]) for line in lines], [row.key for row in rows()]
    problems += [f"it lacks {key}" for key in wanted if key not in there]
    problems += [f"it has {key}, which is not run" for key in there if key not in wanted]
    cells = [cell for line in lines for cell in line[3 : 3 + len(ERRANDS)]]
    return problems + [f"{cell!r} is no result" for cell in cells if not _CELL.fullmatch(cell)]
