"""A gigabyte through one terminal, and a crowd of idle ones: the long forms, run by `make soak`."""

import asyncio
import os
import statistics
import time
from pathlib import Path

import pytest
from tests.kit.workbench import open_terminals, quick

from fourhands.workbench.terminals.terminals import Terminals

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


async def _gigabyte(terminals: Terminals, size: int) -> None:
    noisy = await terminals.create(
        argv=["bash", "--norc", "-c", f"head -c {size} /dev/zero | tr '\\0' x | fold -w 99; read"]
    )
    quiet = await terminals.create(argv=["cat"])
    await quiet.type("warm\n")
    await quiet.wait(pattern="warm\nwarm", position=0)
    before = resident(os.getpid()), resident(terminals.host_pid)
    echoes = []
    while noisy.log.head < size:
        begun = time.monotonic()
        typed = await quiet.type("still here\n")
        assert (await quiet.wait(pattern="still here", position=typed, deadline_s=40)).reason == "pattern"
        echoes.append(time.monotonic() - begun)
        await asyncio.sleep(0.2)
    print(f"echo beside it: {statistics.median(echoes) * 1e3:.1f} ms, at worst {max(echoes) * 1e3:.0f} ms")
    assert statistics.median(echoes) < 0.1
    after = resident(os.getpid()), resident(terminals.host_pid)
    print(f"grown: server {after[0] - before[0] >> 10} KiB, host {after[1] - before[1] >> 10} KiB")
    assert after[0] - before[0] < 16 << 20
    assert after[1] - before[1] < 16 << 20
    assert noisy.since(0).gap is not None


async def test_a_gigabyte_costs_no_memory_and_no_neighbour() -> None:
    async with open_terminals() as terminals:
        await _gigabyte(terminals, 1_000_000_000)


async def test_an_interrupt_stops_a_flood_within_200_ms() -> None:
    times = []
    async with open_terminals() as terminals:
        for _ in range(5):
            noisy = await terminals.create(argv=["bash", "--norc", "-c", "yes"])
            await noisy.wait(pattern="y", position=0)
            begun = time.monotonic()
            await noisy.type("\x03")
            assert (await noisy.wait(exit=True, deadline_s=40)).reason == "exit"
            times.append(time.monotonic() - begun)
    print(f"stopped after {', '.join(f'{each * 1e3:.0f}' for each in times)} ms")
    assert min(times) < 0.2  # the others may have waited for a busy machine


async def test_five_hundred_idle_terminals_stay_small() -> None:
    async with open_terminals(quick(max_terminals=501)) as terminals:
        await terminals.create(argv=["cat"])
        before = resident(os.getpid()) + resident(terminals.host_pid)
        for _ in range(500):
            await terminals.create(argv=["cat"])
        each = (resident(os.getpid()) + resident(terminals.host_pid) - before) / 500
        print(f"{each / 1024:.1f} KiB each")
        assert each < 60 * 1024
