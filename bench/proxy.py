"""Measure what the proxy adds to a model's answer: first byte and whole message, against a direct connection.

    python bench/proxy.py [--rounds 300]

The scripted model, the proxy and the client are a process each. Each round asks the model directly and through the
proxy, in turn. Prints p50 and p99 of both, and of the difference within a round.
"""

import argparse
import asyncio
import contextlib
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx
import msgspec
import uvloop
from tests.support.bench import open_app
from tests.support.model import Answer, Model

from fourhands.settings import Settings, Upstream
from fourhands.surfaces.server import serving

WORDS = [f"word{number} " for number in range(100)]
WARM_UP = 20
SHAPES = {"streamed, 100 deltas": True, "whole": False}


async def model(port: int) -> None:
    async with Model(default=Answer(WORDS), port=port) as served:
        print(served.url, flush=True)
        await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def running_model() -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--model", str(port), stdout=subprocess.PIPE
    )
    assert process.stdout
    url = (await process.stdout.readline()).decode().strip()
    try:
        yield url
    finally:
        process.terminate()
        await process.wait()


async def ask(client: httpx.AsyncClient, url: str, key: str, stream: bool) -> tuple[float, float]:
    body = {"model": "fake", "stream": stream, "messages": [{"role": "user", "content": "hello " * 200}]}
    headers = {"authorization": f"Bearer {key}"}
    start = time.perf_counter()
    async with client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        first = 0.0
        async for _ in answer.aiter_raw():
            first = first or time.perf_counter() - start
    return first * 1000, (time.perf_counter() - start) * 1000


def line(name: str, values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=100)
    return f"  {name:<24} p50 {cuts[49]:7.3f} ms   p99 {cuts[98]:7.3f} ms"


async def compare(upstream: str, proxy: str, token: str, rounds: int) -> None:
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        for shape, stream in SHAPES.items():
            direct: list[tuple[float, float]] = []
            proxied: list[tuple[float, float]] = []
            for number in range(rounds + WARM_UP):
                pair = [(upstream, "none", direct), (proxy, token, proxied)]
                for url, key, into in pair if number % 2 else reversed(pair):
                    into.append(await ask(client, url, key, stream))
            direct, proxied = direct[WARM_UP:], proxied[WARM_UP:]
            print(f"{shape} ({rounds} rounds)")
            for place, what in enumerate(("first byte", "whole message")):
                a, b = [pair[place] for pair in direct], [pair[place] for pair in proxied]
                print(line(f"{what}, direct", a))
                print(line(f"{what}, proxy", b))
                print(line(f"{what}, added", [y - x for x, y in zip(a, b, strict=True)]), flush=True)


async def serve(rounds: int) -> None:
    async with running_model() as upstream:
        settings = msgspec.structs.replace(Settings(), upstreams={"openai": Upstream(url=upstream)})
        async with open_app(settings) as app, serving(app.bench, app.tasks, port=0) as server:
            session = app.bench.begin_session("bench", "proxy")
            token = server.tokens.issue(session.actor)
            client = await asyncio.create_subprocess_exec(
                sys.executable, __file__, "--rounds", str(rounds), "--client", stdin=subprocess.PIPE
            )
            # Not as arguments: a token may begin with a dash, and has no business on a command line.
            cpu = time.process_time()
            await client.communicate("\n".join((upstream, server.address.url, token)).encode())
            cpu = (time.process_time() - cpu) * 1000 / (len(SHAPES) * (rounds + WARM_UP))
            print(f"the proxy's own time on a processor: {cpu:.2f} ms per answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--model", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        if args.model is not None:
            uvloop.run(model(args.model))
        elif args.client:
            upstream, proxy, token = sys.stdin.read().split()
            uvloop.run(compare(upstream, proxy, token, args.rounds))
        else:
            uvloop.run(serve(args.rounds))


if __name__ == "__main__":
    main()
