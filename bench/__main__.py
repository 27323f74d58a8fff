"""Runs every row and writes bench/results.md. Targets take turns in each round, so that noise hits all of them."""

import argparse
import asyncio
import contextlib
import os
import platform
import statistics
import time
from pathlib import Path

from bench import rows
from bench.targets import Ours, Terminado, bare_flood, ours, terminado

RESULTS = Path(__file__).parent / "results.md"


async def flood_and_echo(ours_: Ours, peer: Terminado, rounds: int, size: int, home: str) -> list[rows.Row]:
    floods: dict[str, list[float]] = {"bare": [], "fourhands": [], "terminado": []}
    idle: dict[str, list[float]] = {"fourhands": [], "terminado": []}
    beside: dict[str, list[float]] = {"fourhands": [], "terminado": []}
    for number in range(rounds):
        floods["bare"].append(await asyncio.to_thread(bare_flood, size, home))
        for target in (ours_, peer) if number % 2 else (peer, ours_):
            async with target.terminal() as client:
                floods[target.name].append(await client.flood(size))
            async with target.terminal() as client:
                for key in "abcdefghij" * 5:
                    idle[target.name].append(await client.echo(key))
            async with target.terminal() as noisy, target.terminal() as client:
                await noisy.send("while :; do echo 0123456789012345678901234567890123456789; done\n")
                drain = asyncio.get_running_loop().create_task(noisy.until(b"never"))
                for key in "abcdefghij" * 3:
                    beside[target.name].append(await client.echo(key))
                await noisy.send("\x03")
                drain.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await drain
    rates = {name: size / statistics.median(times) / 1e6 for name, times in floods.items()}
    ours_idle, peer_idle = statistics.median(idle["fourhands"]), statistics.median(idle["terminado"])
    ours_beside, peer_beside = statistics.median(beside["fourhands"]), statistics.median(beside["terminado"])
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
        rows.Row(
            "keystroke echo idle, × terminado",
            ours_idle / peer_idle,
            "≤ 0.55",
            f"{ours_idle * 1e6:.0f} against {peer_idle * 1e6:.0f} µs",
        ),
        rows.Row(
            "keystroke echo beside a flood, × terminado",
            ours_beside / peer_beside,
            "≤ 0.45",
            f"{ours_beside * 1e3:.2f} against {peer_beside * 1e3:.2f} ms",
        ),
    ]


async def creation(ours_: Ours, peer: Terminado, rounds: int) -> list[rows.Row]:
    times: dict[str, list[float]] = {"fourhands": [], "terminado": []}
    for _ in range(rounds):
        for target in (ours_, peer):
            start = time.perf_counter()
            async with target.terminal():
                times[target.name].append(time.perf_counter() - start)
    mine, theirs = statistics.median(times["fourhands"]), statistics.median(times["terminado"])
    return [
        rows.Row(
            "create to first prompt over WebSocket, × terminado",
            mine / theirs,
            "≤ 0.05",
            f"{mine * 1e3:.1f} against {theirs * 1e3:.1f} ms",
        )
    ]


async def everything(rounds: int, size: int) -> list[rows.Row]:
    found: list[rows.Row] = []
    async with ours() as mine, terminado() as peer:
        found += await flood_and_echo(mine, peer, rounds, size, os.path.dirname(__file__))
        found += await creation(mine, peer, 3 * rounds)
    found += await rows.in_process(rounds)
    return found


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
    lines += [f"| {row.what} | {row.value:.3g} | {row.aim} | {row.detail} |" for row in found]
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
