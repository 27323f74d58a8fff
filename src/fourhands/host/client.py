"""The server's side of the host's socket: requests, events and wake-ups on an asyncio loop.

`HostClient.open` joins the workspace's host or starts one. Output never passes here: a wake-up only says that a log has
grown, and the callback given to `watch` reads it. A link whose host has gone can join the next one and is then as good
as new: whoever holds it need not be told. Every request has a deadline, since a host may be stopped and yet be there.
"""

import asyncio
import contextlib
import fcntl
import itertools
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
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
from fourhands.host import owner, processes, recovery
from fourhands.host.archive import KEEP, Retention
from fourhands.host.connection import same_user
from fourhands.host.host import BUDGET
from fourhands.host.paths import DirsError, WorkspaceDirs
from fourhands.host.protocol import (
    BOARD_DIRTY,
    BOARD_PENDING,
    BOARD_SIZE,
    BOARD_SLOTS,
    BOARD_WATCH,
    PROTOCOL,
    Message,
    MessageSocket,
    MessageTooLarge,
    WireError,
)

START_S = 10.0
"""How long a new host may take to listen."""

ANSWER_S = 10.0
"""How long a host may take to answer: it does so at once, unless it is stopped or the machine stands still."""

STOP_S = 15.0
"""How long a host that cannot be asked has to end its terminals, before it is killed and they with it."""

_ONCE = frozenset({"hello", "create", "signal", "stop"})
"""Requests that would do something else if they were made twice."""

_LONG = frozenset({"end"})
"""Requests that take as long as programs take to end; meanwhile the host has to show that it is awake."""

# What a host needs of our environment. Anybody who may signal it can read this, so no secrets.
_HOST_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")


class HostLost(Unavailable):
    """The host has gone, and with it the terminals' programs; their logs are still on disk."""

    code = "host-lost"


class HostSilent(Unavailable):
    """The host lives but does not answer; terminals go on and can be read, and requests work when it answers again."""

    code = "host-silent"


@dataclass(slots=True)
class HostReply:
    """An answer of the host, with the descriptors that came along."""

    body: Message
    fds: list[int] = field(default_factory=list)


class HostClient:
    """A connection to the host of a workspace."""

    def __init__(self, places: WorkspaceDirs, on_event: Callable[[Message], None], on_lost: Callable[[], None]) -> None:
        self.places = places
        self.host_pid = 0
        self.version = ""
        self.stopping = False
        self.revive: Callable[[], Awaitable[None]] | None = None
        self.found: list[Message] = []
        self._on_event = on_event
        self._on_lost = on_lost
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[HostReply]] = {}
        self._watchers: dict[int, Callable[[], None]] = {}
        self._reach = BOARD_DIRTY
        self._connection: MessageSocket | None = None
        self._board: mmap.mmap | None = None
        self._wake_fd = -1
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
    ) -> "HostClient":
        """Join the host of a workspace; start one if there is none and `start` says so."""
        link = cls(places, on_event, on_lost)
        await link.join(linger_s=linger_s, budget=budget, keep=keep, start=start)
        return link

    async def join(
        self, *, linger_s: float = 10.0, budget: int = BUDGET, keep: Retention = KEEP, start: bool = True
    ) -> None:
        """Join the host of the workspace, also after another one has gone; what is watched has to be watched anew."""
        places = self.places
        try:
            places.check()
            # Thrice: the host found may be just about to leave, and the next one may be somebody else's.
            for attempt in range(3):
                try:
                    async with asyncio.timeout(START_S):
                        await self._join()
                    return
                except (FileNotFoundError, ConnectionError, HostLost):
                    self.close()
                    if attempt == 2:
                        raise
                    if await asyncio.to_thread(owner.call, places, START_S):
                        continue
                    if not start:
                        raise
                    await asyncio.to_thread(_start_host, places, linger_s, budget, keep)
            raise AssertionError("unreachable")
        except (FileNotFoundError, ConnectionError) as error:
            raise Unavailable(
                f"no host for {places.workspace}", hint="start one with: fourhands, or fourhands terminal run"
            ) from error
        except TimeoutError as error:
            self.close()
            raise _silent(places, START_S) from error
        except (DirsError, PermissionError) as error:
            self.close()
            raise Unavailable(f"cannot reach the host of {places.workspace}: {error}") from error
        except BaseException:
            self.close()
            raise

    @classmethod
    async def end(cls, places: WorkspaceDirs) -> bool:
        """End the host of a workspace with all its terminals, also one of another version; False if there is none.

        It ends when its terminals have; how long to wait for that is the caller's to say. One that cannot be reached,
        or does not answer, is ended by its record; and what a dead one left is ended all the same.
        """
        link = cls(places, lambda _: None, lambda: None)
        try:
            async with asyncio.timeout(ANSWER_S):
                await link._connect()
                await link.request("stop")
        except (FileNotFoundError, ConnectionError, HostLost, HostSilent, TimeoutError):
            link.close()
            return await asyncio.to_thread(_end_by_record, places)
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
        """Whether there is a host on the other side."""
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
        reply = await self.request("hello", protocol=PROTOCOL)
        board, self._wake_fd = reply.fds
        self._board = mmap.mmap(board, BOARD_SIZE)
        os.close(board)
        os.set_blocking(self._wake_fd, False)
        self._loop.add_reader(self._wake_fd, self._woken)
        self.host_pid = reply.body["pid"]
        self.version = reply.body.get("version", "")  # 0.1.0 does not say
        self.found = reply.body["terminals"]
        self.stopping = False

    async def request(self, do: str, **body: object) -> HostReply:
        """Ask the host for something and wait for its answer; where it has gone, ask the one that takes its place."""
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
        due = None if do in _LONG else self._loop.call_later(ANSWER_S, self._overdue, future)
        try:
            self._send({"id": number, "do": do, **body})
            return await (future if due is not None else self._patiently(future))
        finally:
            if due is not None:
                due.cancel()
            self._waiting.pop(number, None)

    async def _patiently(self, future: "asyncio.Future[HostReply]") -> HostReply:
        while not (await asyncio.wait({future}, timeout=ANSWER_S))[0]:
            await self.awake()
        return future.result()

    def _overdue(self, future: "asyncio.Future[HostReply]") -> None:
        if not future.done():
            future.set_exception(self.silent(ANSWER_S))

    def silent(self, waited_s: float) -> HostSilent:
        """The error for a host that has not answered for so long."""
        return _silent(self.places, waited_s, self.host_pid)

    async def awake(self) -> None:
        """Return when the host has shown that it is awake."""
        try:
            await self.request("ping")
        except (HostLost, HostSilent):
            raise
        except Unavailable:
            pass  # an older one does not know what is meant, and says so

    def tell(self, do: str, **body: object) -> None:
        """Ask the host for something at once, whatever it answers."""
        self._send({"id": next(self._numbers), "do": do, **body})

    def _send(self, message: Message) -> None:
        if self._connection is None:
            raise HostLost("the host of this workspace has gone", hint="try again: a new one is started; logs are kept")
        try:
            if self._connection.send(message):
                self._loop.add_writer(self._connection.fileno(), self._writable)
        except MessageTooLarge as error:
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
        self._watchers.clear()
        self._reach = BOARD_DIRTY
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
            self._take(HostReply(body, fds))
        if messages:
            # uvloop calls once, and never again, when the host has gone and left something of ours unread: what it
            # said last may stand before its end.
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


def _silent(places: WorkspaceDirs, waited_s: float, pid: int = 0) -> HostSilent:
    """A host that does not answer, and why, as far as can be seen from here."""
    found = owner.living(places)
    pid = pid or (found.pid if found is not None else 0)
    process = processes.look(pid) if pid else None
    who = f"the host of {places.workspace}" + (f" (process {pid})" if pid else "")
    if process is not None and process.state in "Tt":
        return HostSilent(f"{who} does not answer: it is stopped", hint=f"let it go on: kill -CONT {pid}", pid=pid)
    return HostSilent(
        f"{who} does not answer, for {waited_s:g} s now",
        hint=f"try again when the machine is less busy; see {places.state}/host.log",
        pid=pid,
    )


def _end_by_record(places: WorkspaceDirs) -> bool:
    """End a host that cannot be asked, and what a dead one left; False if there was neither."""
    found = owner.living(places)
    if found is not None:
        for numbers in ((signal.SIGTERM, signal.SIGCONT), (signal.SIGKILL,)):
            owner.send(found, *numbers)
            deadline = time.monotonic() + STOP_S
            while owner.living(places) == found and time.monotonic() < deadline:
                time.sleep(owner.LOOK_S)
    try:
        lock = os.open(places.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False  # never was there one
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        records = recovery.unfinished(places)
        survivors = recovery.members(records)
        if stuck := recovery.end(records):
            raise Unavailable(f"processes of {places.workspace} cannot be ended: {stuck}")
        return found is not None or bool(survivors)
    except BlockingIOError:
        raise Unavailable(
            f"the host of {places.workspace} lives, but who it is cannot be told",
            hint=f"it may run on another machine or in a container; {places.lock} is its lock",
        ) from None
    finally:
        os.close(lock)


def _start_host(places: WorkspaceDirs, linger_s: float, budget: int, keep: Retention) -> None:
    """Start a host and return when it listens; it is nobody's child and outlives us."""
    try:
        places.prepare()
    except (DirsError, OSError) as error:
        raise Unavailable(f"cannot start the host: {error}") from error
    environment = {k: v for k, v in os.environ.items() if k in _HOST_VARIABLES or k.startswith("COVERAGE_")}
    # -P: not from the directory that it is started in.
    command = [sys.executable, "-P", "-m", "fourhands.host.host", "--workspace", places.workspace]
    command += ["--runtime", places.runtime, "--state", places.state, "--linger", str(linger_s)]
    command += ["--keep-days", str(keep.days), "--keep-bytes", str(keep.bytes)]
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
