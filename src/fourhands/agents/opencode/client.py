"""Requests to one OpenCode server, and its event stream, which is read again after it has broken."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from fourhands.agents.briefing.shorten import one_line
from fourhands.agents.opencode.server import OpenCodeAddress
from fourhands.core.errors import Denied, NotFound, TimedOut, Unavailable
from fourhands.providers.upstream_proxy import certificates, proxy_to

USER = "opencode"

log = logging.getLogger(__name__)

TakeEvent = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class OpenCodeTimings:
    """The patience with a server, in seconds."""

    request: float = 15.0
    ready: float = 60.0
    """Until one that was started for a session answers."""
    join: float = 10.0
    """Until one that runs already answers: it is there or it is not."""
    silence: float = 30.0
    """Between two events: it has a heartbeat every 10 s, so after this the connection is dead."""
    retry: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0)
    """The pauses before further attempts."""


class OpenCodeClient:
    """One server's interface. Made by `connected`."""

    def __init__(self, http: httpx.AsyncClient, timings: OpenCodeTimings) -> None:
        self._http = http
        self._timings = timings
        self._failures = 0  # to read its events, since `caught_up` was last called

    async def until_healthy(self, limit_s: float) -> None:
        """Return when the server answers."""
        why = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while True:
                    # Its first request has been seen to hang for minutes: short ones, again and again.
                    try:
                        answer = await self._http.get("/global/health", timeout=3.0)
                        if answer.status_code == 401:
                            raise Denied("OpenCode requires a password", hint="use the one it was started with")
                        if answer.is_success:
                            return
                        why = f"status {answer.status_code}"
                    except httpx.HTTPError as error:
                        why = str(error) or type(error).__name__
                    await asyncio.sleep(0.2)
        raise TimedOut(
            f"OpenCode does not answer: {why}",
            hint="start it there with `opencode serve --port PORT`, or say opencode alone",
        )

    async def call(self, method: str, path: str, body: Any = None, *, again: bool = True) -> Any:
        """Make a request. `again` repeats it if the connection breaks; only for requests that may arrive twice."""
        for pause_s in (*self._timings.retry[:3], None):
            try:
                answer = await self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                if pause_s is None or not (again or isinstance(error, httpx.ConnectError)):
                    why = str(error) or type(error).__name__
                    raise Unavailable(f"OpenCode does not answer {method} {path}: {why}") from error
                await asyncio.sleep(pause_s)
                continue
            if not answer.is_success:
                raise Unavailable(f"OpenCode answers {answer.status_code} to {method} {path}", hint=answer.text[:300])
            try:
                return answer.json() if answer.content else None
            except (ValueError, RecursionError):
                shown = one_line(answer.text, 200)
                raise Unavailable(f"the server at {path} is not OpenCode: {shown}") from None
        raise AssertionError("not reached")

    async def check_model(self, model: str) -> None:
        """Raise NotFound if the server has models, but not this one; its first turn would report it less clearly."""
        told = await self.call("GET", "/config/providers")
        providers = told.get("providers") if isinstance(told, dict) else None
        known = [
            f"{provider.get('id')}/{name}"
            for provider in providers or ()
            if isinstance(provider, dict)
            for name in provider.get("models") or ()
        ]
        if known and model not in known:
            raise NotFound.of("model", model, known)

    async def listen(self, take: TakeEvent) -> None:
        """Read the event stream and connect again when it breaks; raise Unavailable after too many failures."""
        while True:
            try:
                timeout = httpx.Timeout(self._timings.request, read=self._timings.silence)
                async with self._http.stream("GET", "/event", timeout=timeout) as stream:
                    stream.raise_for_status()
                    async for line in stream.aiter_lines():
                        if line.startswith("data:") and (event := _decoded(line[5:])) is not None:
                            await take(event)
                log.info("OpenCode ended its event stream")
            except httpx.HTTPError as error:
                log.info("OpenCode's event stream broke: %s", error or type(error).__name__)
            if self._failures == len(self._timings.retry):
                raise Unavailable("cannot read OpenCode's event stream", hint="check that it is still running")
            await asyncio.sleep(self._timings.retry[self._failures])
            self._failures += 1

    def caught_up(self) -> None:
        """Count failures anew: the stream was read and what it missed was asked for."""
        self._failures = 0


@contextlib.asynccontextmanager
async def connected(
    address: OpenCodeAddress,
    *,
    cwd: str,
    env: Mapping[str, str],
    timings: OpenCodeTimings,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[OpenCodeClient]:
    """Open a client for one server, through the environment's proxy, if any; `transport` replaces the network."""
    url = httpx.URL(address.url)
    way = proxy_to(url, env) if transport is None else None
    async with httpx.AsyncClient(
        base_url=url,
        auth=httpx.BasicAuth(USER, address.password) if address.password else None,
        headers={"x-opencode-directory": cwd},
        timeout=timings.request,
        trust_env=False,
        verify=certificates(env) if url.scheme == "https" else False,
        proxy=way.url if way else None,
        transport=httpx.AsyncHTTPTransport(uds=address.socket) if address.socket and transport is None else transport,
    ) as http:
        yield OpenCodeClient(http, timings)


def _decoded(data: str) -> dict[str, Any] | None:
    """Return an event with properties; anything else is passed over."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        log.warning("OpenCode sent an event that is not JSON: %r", data[:100])
        return None
    return event if isinstance(event, dict) and isinstance(event.get("properties"), dict) else None
