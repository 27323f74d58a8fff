"""What a workbench costs while nobody does anything: the server and its host sleep."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.kit.program import Home, Server, new_home

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts how often a process wakes up"),
]

WINDOW_S = 3
MOST_PER_S = 1.0


def woken(pids: list[int]) -> int:
    """How often the threads of some processes have waited for something, since they began."""
    count = 0
    for pid in pids:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            count += int(fields["voluntary_ctxt_switches"])
    return count


async def wakeups(home: Home, server: Server) -> float:
    """Wake-ups a second of server and host, once they are at rest; what goes on for ever is never at rest."""
    shell = (await home.call("terminal.list"))["terminals"][0]["pid"]
    host = int(Path(f"/proc/{shell}/stat").read_text().rsplit(")", 1)[1].split()[1])
    rates = []
    for _ in range(12):
        before = woken([server.process.pid, host])
        await asyncio.sleep(WINDOW_S)  # this is what is measured
        rates.append((woken([server.process.pid, host]) - before) / WINDOW_S)
        if rates[-1] < MOST_PER_S:
            break
    print(f"wake-ups a second, window by window: {', '.join(f'{rate:.2f}' for rate in rates)}")
    return rates[-1]


async def test_ten_idle_shells_and_an_open_file_wake_nobody() -> None:
    async with new_home() as home, Server(home) as server:
        for _ in range(10):
            assert (await home.call("terminal.create"))["success"]
        (home.work / "a.txt").write_text("one")
        assert (await home.call("editor.open", {"path": "a.txt"}))["success"]
        assert await wakeups(home, server) < MOST_PER_S
