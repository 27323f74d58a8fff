"""Runs every row and writes bench/results.md. Targets take turns in each round, so that noise hits all of them."""

import argparse
import asyncio
import contextlib
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

from bench import proxy, rows, start, tokens
from bench.page import page_rows
from bench.targets import SKELETON, Ours, Terminado, bare_flood, flood_command, ours, terminado, write_flood

RESULTS = Path(__file__).parent / "results.md"


Times = dict[str, list[float]]


def flood_and_echo(mine: Ours, peer: Terminado, rounds: int, size: int) -> list[rows.Row]:
    floods: Times = {"bare": [], "fourhands": [], "terminado": []}
    idle: Times = {"fourhands": [], "terminado": []}
    beside: Times = {"fourhands": [], "terminado": []}
    with tempfile.TemporaryDirectory() as home:
        path = f"{home}/flood"
        write_flood(path, size)
        for number in range(rounds):
            floods["bare"].append(bare_flood(path, home))
            for target in (mine, peer) if number % 2 else (peer, mine):
                with target.terminal() as client:
                    floods[target.name].append(client.timed(flood_command(path), b"DONE"))
                with target.terminal() as client:
                    idle[target.name] += [client.echo(key) for key in "abcdefghij" * 10]
                with target.terminal() as client, target.flood():
                    beside[target.name] += [client.echo(key) for key in "abcdefghij" * 6]
    rates = {name: size / statistics.median(times) / 1e6 for name, times in floods.items()}
    return [
        rows.Row(
            "flood to a WebSocket, of a bare reader",
            rates["fourhands"] / rates["bare"],
            "≥ 0.85",
            f"{rates['fourhands']:.0f} of {rates['bare']:.0f} MB/s",
        ),
        rows.Row(
            "flood to a WebSocket, × terminado",
            rates["fourhands"] / rates["terminado"],
            "≥ 1.5",
            f"terminado {rates['terminado']:.0f} MB/s",
        ),
        _compared("keystroke echo idle", idle, "≤ 0.55"),
        _compared("keystroke echo beside a flood", beside, "≤ 0.45"),
    ]


def _compared(what: str, times: Times, aim: str) -> rows.Row:
    ours, theirs = statistics.median(times["fourhands"]), statistics.median(times["terminado"])
    return rows.Row(f"{what}, × terminado", ours / theirs, aim, f"{ours * 1e3:.2f} against {theirs * 1e3:.2f} ms")


def creation(mine: Ours, peer: Terminado, rounds: int, home: str) -> list[rows.Row]:
    """Our three ways to a new shell, each against terminado's only one: a new WebSocket, which starts the shell."""
    asked: Times = {"fourhands": [], "terminado": []}
    page: Times = {"fourhands": [], "terminado": asked["terminado"]}
    ahead: Times = {"fourhands": [], "terminado": asked["terminado"]}
    mine.prompt()  # from now on there is a spare shell
    for _ in range(rounds):
        mine.settle()
        asked["fourhands"].append(mine.prompt())
        asked["terminado"].append(peer.prompt())
        mine.settle()
        with contextlib.closing(mine.page()) as socket:
            page["fourhands"].append(mine.prompt_on_page(socket))
        asked["terminado"].append(peer.prompt())
        mine.settle()
        ahead["fourhands"].append(mine.prompt_ahead())
    what = f"create to first prompt of a login shell, {home}"
    return [
        _compared(f"{what}: HTTP request, new WebSocket", asked, "≤ 0.05"),
        _compared(f"{what}: as the page, call on its open WebSocket, new WebSocket", page, "≤ 0.05"),
        _compared(f"{what}: one WebSocket that was open", ahead, "≤ 0.05"),
    ]


def unprepared(mine: Ours, peer: Terminado, rounds: int) -> list[rows.Row]:
    times: Times = {"fourhands": [], "terminado": []}
    for number in range(rounds):
        for target in (mine, peer) if number % 2 else (peer, mine):
            start = time.perf_counter()
            with target.terminal():
                times[target.name].append(time.perf_counter() - start)
    what = "create to first prompt of a shell without spare or profile: HTTP request, new WebSocket"
    return [_compared(what, times, "≤ 0.05")]


def over_sockets(rounds: int, size: int) -> list[rows.Row]:
    with ours() as mine, terminado() as peer:
        found = [
            *flood_and_echo(mine, peer, rounds, size),
            *creation(mine, peer, 4 * rounds, "empty HOME"),
            *unprepared(mine, peer, 4 * rounds),
        ]
    with ours(SKELETON) as mine, terminado(SKELETON) as peer:
        return [*found, *creation(mine, peer, 4 * rounds, f"HOME as {SKELETON}")]


async def everything(rounds: int, size: int) -> list[rows.Row]:
    paid = await tokens.rows()  # first: it may have to fetch what is compared, and says so if it cannot
    over = await asyncio.to_thread(over_sockets, rounds, size)
    page = await asyncio.to_thread(page_rows, rounds)
    inside = [*await rows.in_process(rounds), *await proxy.rows(), *await start.rows(2 * rounds)]
    return [*over, *page, *inside, *paid]


def write(found: list[rows.Row], load: str) -> None:
    lines = [
        "# Bench results",
        "",
        "Ratios of one interleaved run; absolute figures depend on the machine and its load.",
        "",
    ]
    machine = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines.append(f"{machine}; load {load}.")
    lines += ["", "| what | measured | aim | figures |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {rows.figure(row.value)} | {row.aim} | {row.detail} |" for row in found]
    RESULTS.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=50)
    options = parser.parse_args()
    before = os.getloadavg()[0]
    found = asyncio.run(everything(options.rounds, options.megabytes * 1_000_000))
    write(found, f"{before:.1f} before, {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
