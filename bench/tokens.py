"""What a model pays, in tokens of its own tokenizer: what stands in every request, typical results, and whole tasks.

    python -m bench.tokens [--rounds 3]

Tasks are done with our tools and with those of DesktopCommander, both by the official MCP client over stdio. All counts
that a model writes (names and arguments of tools) and reads (text and fields of results), once each.
"""

import argparse
import asyncio
from pathlib import Path

from tests.kit.agree import agreeable_person
from tests.kit.mcp_client import over_http
from tests.kit.server import serve_app
from tests.kit.task_servers import commander, fourhands
from tests.kit.tasks import Spent, compared
from tests.kit.tokens import TYPICAL, counted, lay_out, standing, tool_list, typical_texts

from bench.rows import Row, figure
from fourhands import Toolset

ROUNDS = 3


async def rows(rounds: int = ROUNDS) -> list[Row]:
    return [*await requests(), *await results(), await lists(), *await tasks(rounds)]


async def requests() -> list[Row]:
    """What stands in every request."""
    async with (
        serve_app() as served,
        over_http(served.running, served.agent()[1], "legacy") as client,
        Toolset(served.places.workspace, places=served.places) as tools,
    ):
        told = await standing(client, served.app.registry, tools)
    numbers = counted([one.text for one in told])
    return [_limited(one.what, number, one.most) for one, number in zip(told, numbers, strict=True)]


async def results() -> list[Row]:
    """Typical results."""
    async with serve_app() as served:
        lay_out(Path(served.places.workspace))
        with agreeable_person(served.app):
            async with over_http(served.running, served.agent()[1], "legacy") as client:
                numbers = counted(await typical_texts(client))
    return [_limited(f"result of {one.what}", number, one.most) for one, number in zip(TYPICAL, numbers, strict=True)]


async def lists() -> Row:
    """The lists of tools as they stand in every request."""
    async with fourhands() as ours, commander() as theirs:
        both = [await tool_list(side.client) for side in (ours, theirs)]
    numbers = counted([text for _, text in both])
    told = [f"{figure(number)} for {count} tools" for number, (count, _) in zip(numbers, both, strict=True)]
    return Row(
        "tokens of the list of tools, × DesktopCommander", numbers[0] / numbers[1], "≤ 1", " against ".join(told)
    )


async def tasks(rounds: int) -> list[Row]:
    """Whole tasks, and how many of them ended with a wrong answer."""
    pairs = await compared(rounds)
    found = [
        Row(
            f"tokens of a task, {ours.task}, × DesktopCommander",
            ours.tokens / theirs.tokens,
            "≤ 1",
            f"{_told(ours)} against {_told(theirs)}",
        )
        for ours, theirs in pairs
    ]
    wrong = [sum(bool(side.wrong) for side in sides) for sides in zip(*pairs, strict=True)]
    return [*found, Row("tasks with a wrong answer", wrong[0], "= 0", f"DesktopCommander {wrong[1]} of {len(pairs)}")]


def _limited(what: str, number: int, most: int) -> Row:
    return Row(f"tokens, {what}", number, f"≤ {figure(most)}", "")


def _told(side: Spent) -> str:
    wrong = f", WRONG: {', '.join(side.wrong)}" if side.wrong else ""
    return f"{figure(side.tokens)} in {side.calls} {'call' if side.calls == 1 else 'calls'}{wrong}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.tokens", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    for row in asyncio.run(rows(parser.parse_args().rounds)):
        print(f"{row.what:<75} {figure(row.value):>6} (aim {row.aim})   {row.detail}")


if __name__ == "__main__":
    main()
