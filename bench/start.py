"""Starts of the program: from a new process to its first answers, where a workbench runs and where none does."""

import asyncio
import contextlib
import json
import statistics
import time
from asyncio.subprocess import PIPE, Process
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

from tests.kit.program import MAIN, Home, Server, new_home

from bench.rows import Row

UNATTENDED = ("--name", "bench", "--allow", "see,arrange,write,run", "--ask-by", "never")
INFO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
LIMIT_S = 120

Note = Callable[[str, float], None]


async def _ask(client: Process, id: int, method: str, **params: object) -> None:
    """Send a request and wait for its answer."""
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")
    while line := await client.stdout.readline():
        answer = json.loads(line)
        if answer.get("id") == id:
            assert not answer["result"].get("isError"), line
            return
    raise AssertionError(f"it ended without an answer to {method}")


@contextlib.asynccontextmanager
async def _client(home: Home, note: Note, *, bash: bool = True) -> AsyncIterator[None]:
    """Run `fourhands mcp` as a client's child, and note when it has answered what."""
    command = [*MAIN, "mcp", str(home.work), *UNATTENDED]
    async with asyncio.timeout(LIMIT_S):
        begun = time.perf_counter()
        client = await asyncio.create_subprocess_exec(*command, env=home.env, stdin=PIPE, stdout=PIPE)
        assert client.stdin is not None
        await _ask(client, 1, "initialize", **INFO)
        note("initialize", time.perf_counter() - begun)
        client.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        await _ask(client, 2, "tools/list")
        note("tools/list", time.perf_counter() - begun)
        if bash:
            await _ask(client, 3, "tools/call", name="bash", arguments={"command": "true"})
            note("the first bash", time.perf_counter() - begun)
    try:
        yield
    finally:
        client.stdin.close()
        await client.wait()


async def _timed(home: Home, *words: str) -> float:
    begun = time.perf_counter()
    code, _, told = await home.run(*words)
    assert code == 0, told
    return time.perf_counter() - begun


COLD, JOINED, FIRST = "none runs: it starts one", "one runs", "one runs, and no client has come before"
AIMS = {COLD: "≤ 700", JOINED: "≤ 200", FIRST: "≤ 700"}


async def rows(rounds: int) -> list[Row]:
    """Each start in turn, in a new home for each round; the first round only warms up."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    words: dict[str, list[float]] = defaultdict(list)

    def into(case: str) -> Note:
        return lambda what, seconds: found[case, what].append(seconds)

    for number in range(rounds + 1):
        if number == 1:
            found.clear()
            words.clear()
        async with new_home() as home:
            settings = home.root / "home/.config/fourhands/settings.toml"
            settings.parent.mkdir(parents=True)
            settings.write_text('[agentDefaults]\nprovider = "local"\n')  # a sandbox is no part of what is measured
            async with _client(home, into(COLD)), _client(home, into(JOINED)):
                pass
            async with Server(home):
                # No program: beside the tour, which has no sandbox, what a client's options allow does not count.
                async with _client(home, into(FIRST), bash=False):
                    pass
                words["fourhands terminal run true, where a server runs"].append(
                    await _timed(home, "terminal", "run", "true")
                )
            await home.run("stop")
            words["fourhands terminal run true, where none runs"].append(await _timed(home, "terminal", "run", "true"))
            words["fourhands --help"].append(await _timed(home, "--help"))
    aims = dict(zip(words, ("≤ 150", "≤ 500", "≤ 80"), strict=True))
    return [
        *(
            _row(f"fourhands mcp to the answer of {what}, {case}", times, AIMS[case])
            for (case, what), times in found.items()
        ),
        *(_row(what, times, aims[what]) for what, times in words.items()),
    ]


def _row(what: str, seconds: list[float], aim: str) -> Row:
    times = [one * 1e3 for one in seconds]
    return Row(f"{what}, ms", statistics.median(times), aim, f"{min(times):.0f} to {max(times):.0f} of {len(times)}")
