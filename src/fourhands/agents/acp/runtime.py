"""The process of an ACP agent and the connection to it: started when it is needed, and again after it has died.

One task lives as long as the process. Whatever happens, its last act is to end the process, so when the task is done
nothing is left of it. A new process starts only after the task of the one before is done.
"""

import asyncio
import logging
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from fourhands.agents.acp.errors import rpc_error
from fourhands.agents.acp.jsonrpc import PeerGone, RpcHandler, RpcListener
from fourhands.agents.acp.peer import AcpPeer
from fourhands.agents.connectors.process import AgentProcess, AgentStarter, launch
from fourhands.core.errors import FourhandsError, TimedOut, Unavailable
from fourhands.core.tasks import Tasks

log = logging.getLogger(__name__)


class ProcessEnded(Protocol):
    """Receives the end of a process; `was_ready` is False for one that ended during its start."""

    def __call__(self, process: AgentProcess, *, was_ready: bool) -> Awaitable[None]:
        """Clean up after the process."""


class AcpRuntime:
    """One agent's process. Callers hold `lock` around reading `peer` and calling `start`.

    `newest` is the version of the protocol to offer; `within` limits a block to some seconds.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        tasks: Tasks,
        *,
        starter: Callable[[], Awaitable[AgentStarter]],
        methods: Mapping[str, RpcHandler],
        notifications: Mapping[str, RpcListener],
        on_end: ProcessEnded,
        within: Callable[[float], AbstractAsyncContextManager[object]] = asyncio.timeout,
        newest: int = 1,
    ) -> None:
        self.lock = asyncio.Lock()
        self.process: AgentProcess | None = None
        self.link: AcpPeer | None = None
        """The newest connection, also while its agent starts."""
        self._name = name
        self._argv = tuple(argv)
        self._tasks = tasks
        self._starter = starter
        self._methods = methods
        self._notifications = notifications
        self._on_end = on_end
        self._within = within
        self._newest = newest
        self._peer: AcpPeer | None = None
        self._life: asyncio.Task[None] | None = None

    @property
    def peer(self) -> AcpPeer | None:
        """The connection to a running agent that has completed its start."""
        return self._peer if self._peer is not None and not self._peer.closed else None

    async def start(self, shake_hands: Callable[[AcpPeer], Awaitable[None]], limit_s: float) -> AcpPeer:
        """Start the process and return its connection after the handshake, which may take `limit_s` seconds."""
        if self._life is not None:
            await asyncio.wait([self._life])  # or its end would take away what the next one has begun
        process = self.process = await launch(await self._starter(), self._tasks, self._name)
        peer = self.link = AcpPeer(
            process.reader,
            process.writer,
            self._tasks,
            newest=self._newest,
            methods=self._methods,
            notifications=self._notifications,
            translate=rpc_error,
            name=self._name,
        )
        life = self._life = self._tasks.start(self._live(process, peer), f"agent {self._name}")
        trial = f"try it in a terminal: {shlex.join(self._argv)}"
        try:
            async with self._within(limit_s):
                await shake_hands(peer)
        except TimeoutError:
            life.cancel()
            hint = await process.words() or trial
            raise TimedOut(f"{self._name} did not answer within {limit_s:g} s", hint=hint) from None
        except PeerGone:
            await asyncio.wait([life])  # by then it is known how it ended
            hint = await process.words() or trial
            raise Unavailable(f"{self._name} ended before it was ready ({process.ending})", hint=hint) from None
        except FourhandsError as error:
            life.cancel()
            error.hint = error.hint or await process.words()
            raise
        except BaseException:
            life.cancel()
            raise
        self._peer = peer
        return peer

    async def stop(self) -> None:
        """End the process and return when it is gone; `start` may start another."""
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])

    async def _live(self, process: AgentProcess, peer: AcpPeer) -> None:
        try:
            await peer.run()
            log.info("%s has closed its output", self._name)
        finally:
            peer.close()
            await process.end()
            was_ready, self._peer = self._peer is peer, None
            await self._on_end(process, was_ready=was_ready)
