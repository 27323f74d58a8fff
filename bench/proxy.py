"""What the proxy adds to a model's answer: first byte and whole message, against a direct connection.

    python -m bench.proxy [--rounds 300]

The scripted model, the proxy and the client are a process each. Each round asks the model directly and through the
proxy, in turn; what is added is the difference within a round. The client is a lean one, or it would be measured.
"""

import argparse
import asyncio
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator

import httpx
import msgspec
import uvloop
from tests.kit.model import Answer, Model
from tests.kit.workbench import open_app

from bench.rows import Row
from fourhands.agents.models.pool import UpstreamPool
from fourhands.settings import Settings, UpstreamSettings
from fourhands.surfaces.server import serving

ROUNDS = 300
WORDS = [f"word{number} " for number in range(100)]
WARM_UP = 20
SHAPES = {"streamed, 100 deltas": True, "in one piece": False}
AIMS = {"first byte": "< 1", "whole message": "< 5"}

Times = dict[str, list[float]]


async def rows(rounds: int = ROUNDS) -> list[Row]:
    """Measure in processes of their own, so that nothing of this one is in the way."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.proxy", "--rounds", str(rounds), "--json", stdout=subprocess.PIPE
    )
    told, _ = await process.communicate()
    return [Row(*row) for row in json.loads(told)]


async def model(port: int) -> None:
    async with Model(default=Answer(WORDS), port=port) as served:
        print(served.url, flush=True)
        await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def running_model() -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.proxy", "--model", str(port), stdout=subprocess.PIPE
    )
    assert process.stdout
    url = (await process.stdout.readline()).decode().strip()
    try:
        yield url
    finally:
        process.terminate()
        await process.wait()


async def ask(client: UpstreamPool, key: str, stream: bool) -> tuple[float, float]:
    body = {"model": "fake", "stream": stream, "messages": [{"role": "user", "content": "hello " * 200}]}
    headers = [(b"authorization", f"Bearer {key}".encode()), (b"content-type", b"application/json")]
    start = time.perf_counter()
    answer = await client.send("POST", b"/v1/chat/completions", headers, json.dumps(body).encode())
    first = 0.0
    while await answer.read():
        first = first or time.perf_counter() - start
    whole = time.perf_counter() - start
    assert answer.is_success, answer.status
    answer.close()
    return first * 1000, whole * 1000


async def compare(upstream: str, proxy: str, token: str, rounds: int) -> list[Row]:
    direct_client, proxy_client = (
        UpstreamPool(httpx.URL(url), connect_s=10, silence_s=60) for url in (upstream, proxy)
    )
    found: list[Row] = []
    for shape, stream in SHAPES.items():
        direct: list[tuple[float, float]] = []
        proxied: list[tuple[float, float]] = []
        for number in range(rounds + WARM_UP):
            pair = [(direct_client, "none", direct), (proxy_client, token, proxied)]
            for client, key, into in pair if number % 2 else reversed(pair):
                into.append(await ask(client, key, stream))
        direct, proxied = direct[WARM_UP:], proxied[WARM_UP:]
        for place, (what, aim) in enumerate(AIMS.items()):
            a, b = [pair[place] for pair in direct], [pair[place] for pair in proxied]
            added = statistics.median(y - x for x, y in zip(a, b, strict=True))
            (a50, a99), (b50, b99) = _cuts(a), _cuts(b)
            detail = f"p50 {b50:.2f} against {a50:.2f}, p99 {b99:.2f} against {a99:.2f} ms"
            found.append(Row(f"proxy adds to the {what} ({shape}), ms", added, aim, detail))
    direct_client.close()
    proxy_client.close()
    return found


def _cuts(values: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=100)
    return cuts[49], cuts[98]


async def serve(rounds: int) -> str:
    async with running_model() as upstream:
        settings = msgspec.structs.replace(Settings(), upstreams={"openai": UpstreamSettings(url=upstream)})
        async with open_app(settings) as app, serving(app.bench, app.tasks, port=0) as server:
            session = app.bench.begin_session("bench", "proxy")
            token = server.tokens.issue(session.actor)
            client = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bench.proxy", "--rounds", str(rounds), "--client"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            # Not as arguments: a token may begin with a dash, and has no business on a command line.
            told, _ = await client.communicate("\n".join((upstream, server.address.url, token)).encode())
            return told.decode()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.proxy", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="for the whole bench")
    parser.add_argument("--model", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.model is not None:
        with contextlib.suppress(KeyboardInterrupt):
            uvloop.run(model(args.model))
    elif args.client:
        upstream, proxy, token = sys.stdin.read().split()
        found = uvloop.run(compare(upstream, proxy, token, args.rounds))
        print(json.dumps([[row.what, row.value, row.aim, row.detail] for row in found]))
    else:
        told = uvloop.run(serve(args.rounds))
        if args.json:
            print(told)
        else:
            for what, value, aim, detail in json.loads(told):
                print(f"{what:<60} {value:6.3f} (aim {aim})   {detail}")


if __name__ == "__main__":
    main()
