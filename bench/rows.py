"""Rows that are measured in this process: the agent's round trip, spare shells, memory, stream, judge, instructions."""

import asyncio
import functools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pexpect.replwrap
from tests.kit.workbench import open_app, open_terminals, quick

from fourhands.agents.blocks.interceptor import Interceptor
from fourhands.agents.briefing.hub import Hub
from fourhands.safety.shell import classify
from fourhands.workbench.terminals.terminals import Terminals


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    value: float
    aim: str
    detail: str


def figure(value: float) -> str:
    """A number as it is read: three digits of a ratio or a time, all of a count."""
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def _rss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


async def agent_echo(terminals: Terminals, rounds: int) -> list[Row]:
    terminal, zsh = await terminals.create(shell="bash"), await terminals.create(shell="zsh")
    for one in (terminal, zsh):
        await one.run("true")
    with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, HOME=home):
        peer = pexpect.replwrap.bash()  # without the profile of whoever runs this, as ours
    mine: list[float] = []
    in_zsh: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        for one, times in ((terminal, mine), (zsh, in_zsh)):
            for _ in range(40):
                start = time.perf_counter()
                await one.run("echo x")
                times.append(time.perf_counter() - start)
        for _ in range(3):
            start = time.perf_counter()
            peer.run_command("echo x")
            theirs.append(time.perf_counter() - start)
    peer.child.close(force=True)
    ours, replwrap = statistics.median(mine), statistics.median(theirs)
    return [
        Row(
            "agent's echo in a persistent shell, ms",
            ours * 1e3,
            "≤ 0.8",
            f"p99 {sorted(mine)[-len(mine) // 100] * 1e3:.2f} ms",
        ),
        Row(
            "the same in zsh, ms",
            statistics.median(in_zsh) * 1e3,
            "≤ 0.9",
            f"× bash {statistics.median(in_zsh) / ours:.2f}, p99 {sorted(in_zsh)[-len(in_zsh) // 100] * 1e3:.2f} ms",
        ),
        Row("the same, × pexpect.replwrap", ours / replwrap, "≤ 0.01", f"replwrap {replwrap * 1e3:.0f} ms"),
    ]


async def spare_shells(rounds: int) -> list[Row]:
    async with open_terminals(quick(spare_shell=True)) as terminals:
        await terminals.create(shell="bash")
        times = []
        for _ in range(4 * rounds):
            await terminals.settled()
            assert terminals.spare is not None
            await terminals.spare.wait(pattern=".", position=0, deadline_s=5)
            start = time.perf_counter()
            terminal = await terminals.create(shell="bash")
            await terminal.wait(pattern=".", position=0, deadline_s=5)
            times.append(time.perf_counter() - start)
            await terminal.close()
    return [Row("create to prompt with a spare shell, ms", statistics.median(times) * 1e3, "≤ 1", "from Python")]


async def memory(count: int = 500) -> list[Row]:
    async with open_terminals(quick(max_terminals=count + 1)) as terminals:
        first = await terminals.create(argv=["cat"])
        before = _rss(os.getpid()), _rss(terminals.host_pid)
        for _ in range(count):
            await terminals.create(argv=["cat"])
        after = _rss(os.getpid()), _rss(terminals.host_pid)
        each = (sum(after) - sum(before)) / count
        assert first.exit is None
    return [
        Row(
            f"memory of {count} idle terminals, KB each", each / 1024, "≤ 60", "this process and the host, proportional"
        )
    ]


def _per_call(function: Callable[[], object], seconds: float = 0.5) -> float:
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(100):
            function()
        count += 100
    return (time.perf_counter() - start) / count


def stream() -> list[Row]:
    interceptor = Interceptor()
    chunk = _per_call(functools.partial(interceptor.feed, "twenty characters ok"))
    text = "ordinary words without any marker " * 300_000
    start = time.perf_counter()
    Interceptor().feed(text)
    rate = len(text) / (time.perf_counter() - start) / 1e9
    return [
        Row("interceptor, ns per 20-character chunk", chunk * 1e9, "≤ 300", ""),
        Row("interceptor, GB/s on large text", rate, "≥ 1", ""),
    ]


def judge() -> list[Row]:
    lines = [
        "ls -la",
        "git status && npm test",
        "find . -name '*.py' | xargs grep -n foo",
        "rm -rf build",
        "curl x | sh",
    ]
    times = [_per_call(lambda line=line: classify(line), 0.1) for line in lines]  # type: ignore[misc]
    long = "echo " + " ".join(f"word{n}" for n in range(12_000))
    start = time.perf_counter()
    classify(long)
    return [
        Row("classifier, ms median", statistics.median(times) * 1e3, "< 1", f"{len(lines)} ordinary lines"),
        Row("classifier, ms for 100 kB", (time.perf_counter() - start) * 1e3, "< 200", f"{len(long)} characters"),
    ]


async def hub() -> list[Row]:
    async with open_app() as app:
        made = Hub(app.bench, app.registry)
        session = app.bench.begin_session("bench", "bench")
        instructions = _per_call(lambda: made.instructions(session.id), 0.3)
        manifest = _per_call(made.manifest, 0.3)
    return [
        Row("instructions, ms", instructions * 1e3, "< 5", ""),
        Row("manifest, ms", manifest * 1e3, "< 20", ""),
    ]


async def in_process(rounds: int) -> list[Row]:
    async with open_terminals() as terminals:
        found = await agent_echo(terminals, rounds)
    found += await spare_shells(rounds)
    found += await memory()
    found += await asyncio.to_thread(stream)
    found += await asyncio.to_thread(judge)
    found += await hub()
    return found
