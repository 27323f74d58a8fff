"""The server's side of the host's socket: requests, events and wake-ups on an asyncio loop.

`HostClient.open` joins the workspace's host or starts one. Output never passes here: a wake-up only says that a log has
grown, and the callback given to `watch` reads it. A client whose host has gone can join the next one and is then as
good as new: its holder need not be told. Every request has a deadline, since a host may be stopped and yet be there.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from fourhands.core.errors import BadArgument, Unavailable
from fourhands.host import errors, lifecycle, owner
from fourhands.host.archive import KEEP, Retention
from fourhands.host.board import BOARD_SLOTS, BoardReader
from fourhands.host.connection import same_user
from fourhands.host.errors import HostLost, HostSilent
from fourhands.host.keeping import shown_secret
from fourhands.host.lifecycle import START_S, HostOptions
from fourhands.host.log import BUDGET
from fourhands.host.paths import DirsError, WorkspaceDirs
from fourhands.host.protocol import PROTOCOL, Message, MessageSocket, MessageTooLarge, WireError

__all__ = ["ClientTimings", "HostClient", "HostLost", "HostReply", "HostSilent"]

log = logging.getLogger(__name__)

_ONCE = frozenset({"hello", "create", "signal", "spawn", "stop"})
"""Requests that would do something else if they were made twice."""

_LONG = frozenset({"end", "cell", "end_cell", "end_run"})
"""Requests that take as long as programs take to end; meanwhile the host has to show that it is awake."""


@dataclass(frozen=True, slots=True)
class ClientTimings:
    """Seconds that a host may take."""

    start_s: float = START_S
    """To listen, when it is new; to let a client in."""

    answer_s: float = 10.0
    """To answer: it does so at once, unless it is stopped or the machine stands still."""


@dataclass(slots=True)
class HostReply:
    """An answer of the host, with the descriptors that came along."""

    body: Message
    fds: list[int] = field(default_factory=list)


class HostClient:
    """A connection to the host of a workspace."""

    def __init__(
        self,
        places: WorkspaceDirs,
        on_event: Callable[[Message], None],
        on_lost: Callable[[], None],
        *,
        timings: ClientTimings = ClientTimings(),  # noqa: B008 - it is frozen
    ) -> None:
        self.places = places
        self.timings = timings
        self.host_pid = 0
        self.version = ""
        self.stopping = False
        self.revive: Callable[[], Awaitable[None]] | None = None
        self.found: list[Message] = []
        self.cells: dict[str, Message] | None = None  # of a host that has them, those that there were at the greeting
        self._on_event = on_event
        self._on_lost = on_lost
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[HostReply]] = {}
        self._connection: MessageSocket | None = None
        self._board: BoardReader | None = None
        self._kept: dict[str, str] = {}
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(
        cls,
        places: WorkspaceDirs,
        *,
        on_event: Callable[[Message], None],
        on_lost: Callable[[], None],
        linger_s: float = 10.0,
        budget: int = BUDGET,
        keep: Retention = KEEP,
        start: bool = True,
        python: str = "",
        timings: ClientTimings = ClientTimings(),  # noqa: B008 - it is frozen
    ) -> "HostClient":
        """Join the host of a workspace; with `start`, start one if there is none, by the interpreter `python`."""
        client = cls(places, on_event, on_lost, timings=timings)
        await client.join(linger_s=linger_s, budget=budget, keep=keep, start=start, python=python)
        return client

    async def join(
        self,
        *,
        linger_s: float = 10.0,
        budget: int = BUDGET,
        keep: Retention = KEEP,
        start: bool = True,
        python: str = "",
    ) -> None:
        """Join the host of the workspace, also after another one has gone; what is watched has to be watched anew."""
        places, start_s = self.places, self.timings.start_s
        options = HostOptions(linger_s, budget, keep, python or sys.executable)
        try:
            places.check()
            # Thrice: the host found may be just about to leave, and the next one may be another client's.
            for attempt in range(3):
                try:
                    async with asyncio.timeout(start_s):
                        await self._join()
                    return
                except (FileNotFoundError, ConnectionError, HostLost):
                    self.close()
                    if attempt == 2:
                        raise
                    if await asyncio.to_thread(owner.call, places, start_s):
                        continue
                    if not start:
                        raise
                    await asyncio.to_thread(lifecycle.start, places, options, start_s)
            raise AssertionError("unreachable")
        except (FileNotFoundError, ConnectionError) as error:
            raise Unavailable(
                f"no host for {places.workspace}", hint="start one with: fourhands, or fourhands terminal run"
            ) from error
        except TimeoutError as error:
            self.close()
            raise errors.silent(places, start_s) from error
        except (DirsError, PermissionError) as error:
            self.close()
            raise Unavailable(f"cannot reach the host of {places.workspace}: {error}") from error
        except BaseException:
            self.close()
            raise

    @classmethod
    async def end(cls, places: WorkspaceDirs) -> bool:
        """End the host of a workspace with all its terminals, also one of another version; False if there is none.

        It ends when its terminals have; the caller limits the time for that. One that cannot be reached, or does not
        answer, is ended by its record; and what a dead one left is ended all the same.
        """
        link = cls(places, lambda _: None, lambda: None)
        try:
            async with asyncio.timeout(link.timings.answer_s):
                await link._connect()
                await link.request("stop", secret=shown_secret(places.state))
        except (FileNotFoundError, ConnectionError, HostLost, HostSilent, TimeoutError):
            link.close()
            return await asyncio.to_thread(lifecycle.end_by_record, places)
        except (DirsError, OSError) as error:
            raise Unavailable(f"cannot reach the host of {places.workspace}: {error}") from error
        try:
            await link.gone()
        finally:
            link.close()
        return True

    async def gone(self) -> None:
        """Return when the host is gone."""
        if self._connection is not None:
            future = self._waiting[0] = self._loop.create_future()  # nothing has this number: the end alone answers it
            with contextlib.suppress(HostLost):
                await future

    @property
    def alive(self) -> bool:
        """True while there is a host on the other side."""
        return self._connection is not None and self._board is not None

    async def _connect(self) -> None:
        usual = self.places.socket
        try:
            sock = await self._dial(usual)
        except (FileNotFoundError, ConnectionError):
            found = owner.living(self.places)
            if found is None or found.socket == usual:
                raise
            sock = await self._dial(found.socket)
        self.adopt(sock)

    def adopt(self, sock: socket.socket) -> None:
        """Use a connected socket; what comes through it is heard from now on."""
        self._connection = MessageSocket(sock)
        self._loop.add_reader(sock.fileno(), self._readable)

    async def _dial(self, path: str) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            await self._loop.sock_connect(sock, path)
            if not same_user(sock):
                raise DirsError(f"{path} is held by another user")
        except BaseException:
            sock.close()
            raise
        return sock

    async def _join(self) -> None:
        await self._connect()
        reply = await self.request("hello", protocol=PROTOCOL, secret=shown_secret(self.places.state))
        page, wake_fd = reply.fds
        self._board = BoardReader(page, wake_fd, self._loop.call_soon)
        self._loop.add_reader(self._board.wake_fd, self._board.woken)
        self.host_pid = reply.body["pid"]
        self.version = reply.body.get("version", "")  # 0.1.0 does not say
        self.found = reply.body["terminals"]
        cells = reply.body.get("cells")
        self.cells = None if cells is None else {cell["name"]: cell for cell in cells}
        self.stopping = False
        for name, secret in self._kept.items():  # a host that has taken the place of another does not have it
            self.tell("keep", name=name, offer=secret)

    async def keep(self, name: str) -> bytes:
        """Return a secret that the host keeps in memory while it lives; a new one, if it has none of this name."""
        offer = self._kept.setdefault(name, secrets.token_hex(32))
        try:
            self._kept[name] = (await self.request("keep", name=name, offer=offer)).body["secret"]
        except (HostLost, HostSilent):
            raise
        except Unavailable as error:  # an older host, or one whose secrets another client has
            log.warning("the host keeps no secret %s, so browsers sign in again with the next server: %s", name, error)
        return self._kept[name].encode()

    async def request(self, do: str, **body: object) -> HostReply:
        """Send a request and wait for its answer; where the host has gone, ask the one that takes its place."""
        if self._connection is None and self.revive is not None:
            await self.revive()
        try:
            return await self._ask(do, body)
        except HostLost:
            if self.revive is None or do in _ONCE:
                raise
        await self.revive()
        return await self._ask(do, body)

    async def _ask(self, do: str, body: Message) -> HostReply:
        number = next(self._numbers)
        future: asyncio.Future[HostReply] = self._loop.create_future()
        self._waiting[number] = future
        due = None if do in _LONG else self._loop.call_later(self.timings.answer_s, self._overdue, future)
        try:
            self._send({"id": number, "do": do, **body})
            return await (future if due is not None else self._patiently(future))
        finally:
            if due is not None:
                due.cancel()
            self._waiting.pop(number, None)

    async def _patiently(self, future: "asyncio.Future[HostReply]") -> HostReply:
        while not (await asyncio.wait({future}, timeout=self.timings.answer_s))[0]:
            await self.awake()
        return future.result()

    def _overdue(self, future: "asyncio.Future[HostReply]") -> None:
        if not future.done():
            future.set_exception(self.silent(self.timings.answer_s))

    def silent(self, waited_s: float) -> HostSilent:
        """Return the error for a host that has not answered for so long."""
        return errors.silent(self.places, waited_s, self.host_pid)

    async def awake(self) -> None:
        """Return when the host has shown that it is awake."""
        try:
            await self.request("ping")
        except (HostLost, HostSilent):
            raise
        except Unavailable:
            pass  # an older host does not know this request, and answers so

    def tell(self, do: str, **body: object) -> None:
        """Send a request at once, whatever the host answers."""
        self._send({"id": next(self._numbers), "do": do, **body})

    def _send(self, message: Message) -> None:
        if self._connection is None:
            raise _lost()
        try:
            if self._connection.send(message):
                self._loop.add_writer(self._connection.fileno(), self._writable)
        except MessageTooLarge as error:
            raise BadArgument(f"cannot ask the host to {message['do']}: {error}") from error
        except (WireError, OSError):
            self._lose()  # which fails the requests that wait

    def watch(self, slot: int, callback: Callable[[], None]) -> None:
        """Call back whenever the log in this slot has grown. Read it once after this call: it may have grown before."""
        if not 0 <= slot < BOARD_SLOTS:
            raise ValueError(f"no slot {slot}")
        if self._board is not None:
            self._board.watch(slot, callback)

    def unwatch(self, slot: int) -> None:
        """Call back no more for this slot, and have no wake-up for it."""
        if self._board is not None:
            self._board.unwatch(slot)

    def close(self) -> None:
        """Leave the host; it and its terminals go on."""
        if self._board is not None:
            self._loop.remove_reader(self._board.wake_fd)
            self._board.close()
            self._board = None
        if self._connection is not None:
            self._loop.remove_reader(self._connection.fileno())
            self._loop.remove_writer(self._connection.fileno())
            self._connection.close()
            self._connection = None
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(_lost())

    # -- on the loop -----------------------------------------------------------------------------------------------

    def _readable(self) -> None:
        if self._connection is None:
            return
        try:
            messages = self._connection.receive()
        except WireError:
            messages = None
        if messages is None:
            self._lose()
            return
        for body, fds in messages:
            self._take(HostReply(body, fds))
        if messages:
            # uvloop calls once, and never again, when the host has gone and left something of ours unread: its last
            # message may stand before its end.
            self._loop.call_soon(self._readable)

    def _take(self, reply: HostReply) -> None:
        number = reply.body.get("id")
        if number is None:
            for fd in reply.fds:
                os.close(fd)
            if reply.body.get("event") == "stopping":
                self.stopping = True
            self._on_event(reply.body)
            return
        future = self._waiting.get(number)
        if future is None or future.done():  # the request has been cancelled
            for fd in reply.fds:
                os.close(fd)
        elif "error" in reply.body:
            future.set_exception(errors.translate(reply.body["error"]))
        elif reply.body.get("fds", 0) > len(reply.fds):
            future.set_exception(
                Unavailable("too many open files", hint="raise the limit of this process: ulimit -n", errno="EMFILE")
            )
        else:
            future.set_result(reply)

    def _writable(self) -> None:
        if self._connection is None:
            return
        try:
            if not self._connection.flush():
                self._loop.remove_writer(self._connection.fileno())
        except (WireError, OSError):
            self._lose()

    def _lose(self) -> None:
        if self._connection is not None:
            greeted = self._board is not None
            self.close()
            if greeted:
                self._on_lost()


def _lost() -> HostLost:
    return HostLost("lost the connection to the terminal host", hint="try again: a new one is started; logs are kept")
