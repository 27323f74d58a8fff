"""Let every real counterpart run the errands, and write what came of it into docs/agents.md: `make counterparts`.

The same conversations as in the tests, with the programs of `tests/agents-npm` and a scripted model on loopback. Takes
two minutes on two cores. With `--only WORD` those are run whose name has the word, and nothing is written.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterable

import pytest
from tests.kit.clock import Loop
from tests.kit.counterparts import table
from tests.kit.counterparts.report import Report
from tests.kit.counterparts.table import Row
from tests.kit.tokens import counted


async def run(rows: Iterable[Row]) -> list[tuple[Row, Report]]:
    """Run them one after the other, and say of each what came of it."""
    done: list[tuple[Row, Report]] = []
    for row in rows:
        report = await row.run()
        done.append((row, report))
        print(f"{', '.join(row.key)}: {report.problems or 'all is well'} ({report.seconds:.1f} s)", flush=True)
    return done


def with_tokens(done: list[tuple[Row, Report]]) -> list[tuple[Row, Report, int | None]]:
    """Count what each model reads of our tools and instructions in its first request."""
    numbers = counted([report.ours for _, report in done])
    return [(row, report, number or None) for (row, report), number in zip(done, numbers, strict=True)]


def main() -> None:
    """Run all, or some."""
    parser = argparse.ArgumentParser(prog="python -m scripts.counterparts", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="only those with this in their name; writes nothing")
    only = parser.parse_args().only
    chosen = [row for row in table.rows() if only.lower() in row.name.lower()]
    try:
        with asyncio.Runner(loop_factory=Loop) as runner:
            reports = with_tokens(runner.run(run(chosen)))
    except (pytest.skip.Exception, pytest.fail.Exception) as missing:
        sys.exit(f"It cannot be run here: {missing}")
    text = table.render(reports)
    if only:
        print(text)
    else:
        table.write(text)
        print(f"wrote {table.MANUAL.relative_to(table.ROOT)}")


if __name__ == "__main__":
    main()
