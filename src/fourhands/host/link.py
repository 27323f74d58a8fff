"""The server's side of the host's socket: requests, events and wake-ups on an asyncio loop.

`Link.open` joins the workspace's host or starts one. Output never passes here: a wake-up only says that a log has
grown, and the callback given to `watch` reads it.
"""

import asyncio
import contextlib
import itertools
import mmap
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fourhands.core.errors import (
    BadArgument,
    BadCwd,
    CommandNotFound,
    ExecDenied,
    FourhandsError,
    NotFound,
    Unavailable,
)
from fourhands.host.client import same_user
from fourhands.host.places import PlaceError, Places
from fourhands.host.process import BUDGET
from fourhands.host.wire import (
    BOARD_DIRTY,
    BOARD_PENDING,
    BOARD_SIZE,
    BOARD_SLOTS,
    BOARD_WATCH,
    PROTOCOL,
    Connection,
    Message,
    TooLarge,
    WireError,
)

START_S = 10.0
"""How long a new host may take to listen."""

# What a host needs of our environment. Anybody who may signal it can read this, so no secrets.
_HOST_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")


class HostLost(Unavailable):
    """The host has gone, and with it the terminals' programs; their logs are still on disk."""

    code = "host-lost"


@dataclass(slots=True)
class Reply:
    """An answer of the host, with the descriptors that came along."""

    body: Message
    fds: list[int] = field(default_factory=list)


class Link:
    """A connection to the host of a workspace."""

    def __init__(self, places: Places, on_event: Callable[[Message], None], on_lost: Callable[[], None]) -> None:
        self.places = places
        self.host_pid = 0
        self.found: list[Message] = []
        self._on_event = on_event
        self._on_lost = on_lost
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._watchers: dict[int, Callable[[], None]] = {}
        self._reach = BOARD_DIRTY
        self._connection: Connection | None = None
        self._board: mmap.mmap | None = None
        self._wake_fd = -1
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(
        cls,
        places: Places,
        *,
        on_event: Callable[[Message], None],
        on_lost: Callable[[], None],
        linger_s: float = 10.0,
        budget: int = BUDGET,
        start: bool = True,
    ) -> "Link":
        """Join the host of a workspace; start one if there is none and `start` says so."""
        link = cls(places, on_event, on_lost)
        try:
            places.check()
            # Twice: the host found may be just about to leave.
            for attempt in range(3):
                try:
                    async with asyncio.timeout(START_S):
                        await link._join()
                    return link
                except (FileNotFoundError, ConnectionError, HostLost):
                    link.close()
                    if not start or attempt == 2:
                        raise
                    await asyncio.to_thread(_start_host, places, linger_s, budget)
            raise AssertionError("unreachable")
        except (FileNotFoundError, ConnectionError) as error:
            raise Unavailable(
                f"no host for {places.workspace}", hint="start one with: fourhands, or fourhands terminal run"
            ) from error
        except TimeoutError as error:
            link.close()
            raise Unavailable(
                f"the host of {places.workspace} does not answer", hint=f"see {places.state}/host.log"
            ) from error
        except (PlaceError, PermissionError) as error:
            link.close()
            raise Unavailable(f"cannot reach the host of {places.workspace}: {error}") from error
        except BaseException:
            link.close()
            raise

    @classmethod
    async def end(cls, places: Places) -> bool:
        """End the host of a workspace with all its terminals, also one of another version; False if there is none.

        It ends when its terminals have; how long to wait for that is the caller's to say.
        """
        link = cls(places, lambda _: None, lambda: None)
        try:
            await link._connect()
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except (PlaceError, OSError) as error:
            raise Unavailable(f"cannot reach the host of {places.workspace}: {error}") from error
        gone = link._waiting[0] = link._loop.create_future()  # nothing has this number: the end alone answers it
        try:
            await link.request("stop")
            await gone
        except HostLost:
            return True
        finally:
            link.close()
        raise AssertionError("unreachable")

    async def _connect(self) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            await self._loop.sock_connect(sock, self.places.socket)
            if not same_user(sock):
                raise PlaceError(f"{self.places.socket} is held by another user")
        except BaseException:
            sock.close()
            raise
        self._connection = Connection(sock)
        self._loop.add_reader(sock.fileno(), self._readable)

    async def _join(self) -> None:
        await self._connect()
        reply = await self.request("hello", protocol=PROTOCOL)
        board, self._wake_fd = reply.fds
        self._board = mmap.mmap(board, BOARD_SIZE)
        os.close(board)
        os.set_blocking(self._wake_fd, False)
        self._loop.add_reader(self._wake_fd, self._woken)
        self.host_pid = reply.body["pid"]
        self.found = reply.body["terminals"]

    async def request(self, do: str, **body: object) -> Reply:
        """Ask the host for something and wait for its answer."""
        number = next(self._numbers)
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting[number] = future
        try:
            self._send({"id": number, "do": do, **body})
            return await future
        finally:
            self._waiting.pop(number, None)

    def tell(self, do: str, **body: object) -> None:
        """Ask the host for something at once, whatever it answers."""
        self._send({"id": next(self._numbers), "do": do, **body})

    def _send(self, message: Message) -> None:
        if self._connection is None:
            raise HostLost("the host of this workspace has gone", hint="start Fourhands again; logs are kept")
        try:
            if self._connection.send(message):
                self._loop.add_writer(self._connection.fileno(), self._writable)
        except TooLarge as error:
            raise BadArgument(f"cannot ask the host to {message['do']}: {error}") from error
        except (WireError, OSError):
            self._lose()  # this gives whoever waits for it its answer

    def watch(self, slot: int, callback: Callable[[], None]) -> None:
        """Call back whenever the log in this slot has grown. Read it once after this call: it may have grown before."""
        if not 0 <= slot < BOARD_SLOTS:
            raise ValueError(f"no slot {slot}")
        self._watchers[slot] = callback
        self._reach = max(self._reach, BOARD_DIRTY + slot + 1)
        if self._board is not None:
            self._board[BOARD_WATCH + slot] = 1

    def unwatch(self, slot: int) -> None:
        """No more calls for this slot, and no more wake-ups on its account."""
        self._watchers.pop(slot, None)
        if self._board is not None:
            self._board[BOARD_WATCH + slot] = 0

    def close(self) -> None:
        """Leave the host; it and its terminals go on."""
        if self._wake_fd >= 0:
            self._loop.remove_reader(self._wake_fd)
            os.close(self._wake_fd)
            self._wake_fd = -1
        if self._connection is not None:
            self._loop.remove_reader(self._connection.fileno())
            self._loop.remove_writer(self._connection.fileno())
            self._connection.close()
            self._connection = None
        if self._board is not None:
            self._board.close()
            self._board = None
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(HostLost("the host of this workspace has gone"))

    # -- on the loop -----------------------------------------------------------------------------------------------

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_fd, 4096)
        if self._board is None:
            return
        self._board[BOARD_PENDING] = 0
        self._scan()
        # The host's plain stores are not fenced against ours: a dirty byte may become visible just after the
        # scan although its wake-up was spared because this one was pending. One more look a turn later finds it.
        self._loop.call_soon(self._scan)

    def _scan(self) -> None:
        board = self._board
        if board is None:
            return
        at = board.find(b"\1", BOARD_DIRTY, self._reach)
        while at >= 0:
            board[at] = 0
            callback = self._watchers.get(at - BOARD_DIRTY)
            if callback is not None:
                callback()
            at = board.find(b"\1", at + 1, self._reach)

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
            self._take(Reply(body, fds))
        if messages:
            # uvloop calls once, and never again, when the host has gone and left something of ours unread: what it
            # said last may stand before its end.
            self._loop.call_soon(self._readable)

    def _take(self, reply: Reply) -> None:
        number = reply.body.get("id")
        if number is None:
            for fd in reply.fds:
                os.close(fd)
            self._on_event(reply.body)
            return
        future = self._waiting.get(number)
        if future is None or future.done():  # whoever asked has been cancelled
            for fd in reply.fds:
                os.close(fd)
        elif "error" in reply.body:
            future.set_exception(_translate(reply.body["error"]))
        elif reply.body.get("fds", 0) > len(reply.fds):
            future.set_exception(
                Unavailable("no descriptor is left in this process", hint="raise its limit: ulimit -n", errno="EMFILE")
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


def _translate(error: Message) -> FourhandsError:
    """The host's errors as ours; the caller adds what was asked."""
    kind, name, text = error.get("kind"), error.get("errno", ""), str(error.get("message"))
    if kind == "cwd":
        return BadCwd(f"cannot change to the working directory: {text}", errno=name)
    if kind == "program" and name in ("ENOENT", "ENOTDIR"):
        return CommandNotFound(f"cannot start the program: {text}", errno=name)
    if kind == "program" and name in ("EACCES", "EPERM", "ENOEXEC"):
        return ExecDenied(f"cannot start the program: {text}", errno=name)
    if kind == "terminal":
        return NotFound(text)
    if kind == "protocol":
        return Unavailable(text, hint="it is of another version: `fourhands stop` ends it, and its terminals")
    return Unavailable(f"the host refused: {text}", errno=name)


def _start_host(places: Places, linger_s: float, budget: int) -> None:
    """Start a host and return when it listens; it is nobody's child and outlives us."""
    try:
        places.prepare()
    except (PlaceError, OSError) as error:
        raise Unavailable(f"cannot start the host: {error}") from error
    environment = {k: v for k, v in os.environ.items() if k in _HOST_VARIABLES or k.startswith("COVERAGE_")}
    # -P: not from the directory that it is started in.
    command = [sys.executable, "-P", "-m", "fourhands.host.process", "--workspace", places.workspace]
    command += ["--runtime", places.runtime, "--state", places.state, "--linger", str(linger_s)]
    hint = f"see {places.state}/host.log"
    ready, theirs = os.pipe()
    try:
        noise = os.open(f"{places.state}/host.log", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            command += ["--budget", str(budget), "--ready", str(theirs), "--detach"]
            started = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=noise,
                stderr=noise,
                env=environment,
                cwd="/",
                pass_fds=[theirs],
                start_new_session=True,
            )
        finally:
            os.close(noise)
            os.close(theirs)
        try:
            started.wait(START_S)  # it detaches at once: what runs on is its child
            answer = _answer(ready, START_S)
        except (subprocess.TimeoutExpired, TimeoutError) as error:
            started.kill()
            started.wait()
            raise Unavailable(f"the host did not start within {START_S:.0f} s", hint=hint) from error
    except OSError as error:
        raise Unavailable(f"cannot start the host: {error}", hint=hint) from error
    finally:
        os.close(ready)
    if answer != "ready":
        raise Unavailable(f"the host could not start: {answer or 'it ended at once'}", hint=hint)


def _answer(fd: int, timeout_s: float) -> str:
    """What is written to a pipe until its other side is closed."""
    deadline, text = time.monotonic() + timeout_s, b""
    while select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(fd, 4096)
        if not piece:
            return text.decode("utf-8", "replace")
        text += piece
    raise TimeoutError
