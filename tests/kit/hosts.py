"""A host in a temporary place, and terminals on it; whatever a test leaves behind is ended, by id."""

import asyncio
import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import termios
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from fourhands.core.errors import FourhandsError
from fourhands.host import processes
from fourhands.host.client import HostClient, HostLost
from fourhands.host.log import LogReader
from fourhands.host.paths import WorkspaceDirs

Message = dict[str, Any]
LIMIT_S = 40


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A host that stands still for the length of the block, or until it is continued."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def asked(places: WorkspaceDirs) -> None:
    """Wait until this process has asked a host, which stands still, for something."""
    unread = bytes(4)
    async with asyncio.timeout(LIMIT_S):
        while not any(  # noqa: ASYNC110 - the kernel tells of no such thing
            any(fcntl.ioctl(fd, termios.TIOCOUTQ, unread)) for fd in links(places).values()
        ):
            await asyncio.sleep(0.005)


class Events:
    """What a link was told, in order; a test waits for what it needs and nothing is thrown away."""

    def __init__(self) -> None:
        self.all: list[Message] = []
        self.lost = asyncio.Event()
        self._news = asyncio.Event()

    def put(self, event: Message) -> None:
        self.all.append(event)
        self._news.set()

    async def until(self, kind: str, terminal: str | None = None, after: int = 0) -> Message:
        async with asyncio.timeout(LIMIT_S):
            while True:
                for event in self.all[after:]:
                    if event["event"] == kind and terminal in (None, event.get("terminal")):
                        return event
                self._news.clear()
                await self._news.wait()


class Term:
    """A terminal as a test uses it: typed into through the descriptor, read from the log."""

    def __init__(self, link: HostClient, events: Events, body: Message, fds: list[int]) -> None:
        self.id: str = body["id"]
        self.pid: int = body["pid"]
        self.slot: int = body["slot"]
        self.body = body
        self.events = events
        self.link = link
        self.fd = fds[0] if fds else -1
        self.log = LogReader(link.places.log(self.id), body["capacity"])
        self.woke = asyncio.Event()
        link.watch(self.slot, self.woke.set)

    def type(self, text: bytes) -> int:
        before = self.log.head
        assert os.write(self.fd, text) == len(text)
        return before

    def output(self, start: int = 0) -> bytes:
        parts = []
        while (chunk := self.log.read(start)).data:
            parts.append(chunk.data)
            start = chunk.end
        return b"".join(parts)

    async def until(self, pattern: bytes, start: int = 0) -> re.Match[bytes]:
        """Wait until the output from `start` on has a pattern."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                self.woke.clear()
                found = re.search(pattern, self.output(start))
                if found:
                    return found
                await self.woke.wait()

    async def head_moves(self, from_position: int) -> None:
        async with asyncio.timeout(LIMIT_S):
            while self.log.head == from_position:
                self.woke.clear()
                if self.log.head == from_position:
                    await self.woke.wait()

    async def exit(self) -> Message:
        event = await self.events.until("exited", self.id)
        found: Message = event["exit"]
        return found

    async def ask(self, do: str, **body: object) -> Message:
        return (await self.link.request(do, terminal=self.id, **body)).body

    async def end(self, *, forget: bool = False) -> Message:
        return await self.ask("end", forget=forget)

    def close(self) -> None:
        self.link.unwatch(self.slot)
        self.log.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class House:
    """A workspace of its own with its host, links and terminals."""

    def __init__(self, root: str, state: str | None = None) -> None:
        self.root = root
        self.places = WorkspaceDirs(root, f"{root}/run/w", state or f"{root}/state/w")
        self.ids: set[str] = set()
        self._open: list[HostClient | Term] = []
        self.host_pids: set[int] = set()
        self._children: list[subprocess.Popen[bytes]] = []
        self.events = Events()
        self._link: HostClient | None = None

    async def join(self, events: Events | None = None, *, start: bool = True, **options: Any) -> HostClient:
        events = events or Events()
        options.setdefault("linger_s", 60.0)
        link = await HostClient.open(self.places, on_event=events.put, on_lost=events.lost.set, start=start, **options)
        self._open.append(link)
        self.host_pids.add(link.host_pid)
        return link

    async def link(self, **options: Any) -> HostClient:
        """The link that `create` uses; opened at the first call."""
        if self._link is None:
            self._link = await self.join(self.events, **options)
        return self._link

    def request(self, *argv: str, env: dict[str, str] | None = None, **more: Any) -> Message:
        """The body of a create request with everything it needs."""
        terminal = more.pop("terminal", None) or f"term_{uuid.uuid4().hex}"
        self.ids.add(terminal)
        program = more.pop("program", None) or shutil.which(argv[0]) or argv[0]
        base = {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": self.root, "PS1": "$ ", "LANG": "C.UTF-8"}
        return {
            "terminal": terminal,
            "program": program,
            "argv": list(argv),
            "env": base | (env or {}),
            "cwd": self.root,
            "cols": 80,
            "rows": 24,
            **more,
        }

    async def create(self, *argv: str, link: HostClient | None = None, **more: Any) -> Term:
        link = link or await self.link()
        reply = await link.request("create", **self.request(*argv, **more))
        return self.term(reply.body["terminal"], reply.fds, link)

    def term(self, body: Message, fds: list[int], link: HostClient | None = None) -> Term:
        link = link or self._link
        assert link is not None
        made = Term(link, self.events, body, fds)
        self._open.append(made)
        return made

    async def python(self, code: str, **more: Any) -> Term:
        return await self.create(sys.executable, "-u", "-c", code, **more)

    async def sh(self, script: str, **more: Any) -> Term:
        return await self.create("/bin/sh", "-c", script, **more)

    def start_host(self, *, prelude: str = "", linger_s: float = 60.0, **limits: Any) -> "subprocess.Popen[bytes]":
        """A host that is our child, with Python run before it; returns when it listens."""
        ready, theirs = os.pipe()
        arguments = ["--workspace", self.places.workspace, "--runtime", self.places.runtime]
        arguments += ["--state", self.places.state, "--linger", str(linger_s), "--ready", str(theirs)]
        code = f"{prelude}\nimport sys\nfrom fourhands.host.main import main\nsys.exit(main({arguments!r}))"
        try:
            child = subprocess.Popen([sys.executable, "-c", code], pass_fds=[theirs], start_new_session=True, **limits)
        finally:
            os.close(theirs)
        self.host_pids.add(child.pid)
        self._children.append(child)
        with open(ready) as file:
            assert file.read() == "ready"
        return child

    async def close(self) -> None:
        """End everything: links, host, and any process that carries one of our ids."""
        for thing in reversed(self._open):
            thing.close()
        with contextlib.suppress(FourhandsError):
            link = await HostClient.open(self.places, on_event=lambda _: None, on_lost=lambda: None, start=False)
            self.host_pids.add(link.host_pid)
            with contextlib.suppress(HostLost):
                await link.request("stop")
            link.close()
        for pid in self.host_pids:
            if not await asyncio.to_thread(wait_gone, pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for child in self._children:
            await asyncio.to_thread(child.wait, LIMIT_S)
        for pid in carriers(self.ids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def carriers(ids: set[str]) -> list[int]:
    """Every process of the machine that belongs to one of these terminals."""
    marks = [f"\0{processes.MARK}={name}\0".encode() for name in ids]
    found = []
    for pid in processes.scan():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            text = b"\0" + file.read()
            if any(mark in text for mark in marks):
                found.append(pid)
    return found


async def listed(places: WorkspaceDirs) -> list[Message]:
    """The terminals that the host itself knows, asked by a client of its own."""
    client = await HostClient.open(places, on_event=lambda _: None, on_lost=lambda: None, start=False)
    client.close()
    return client.found


def links(places: WorkspaceDirs) -> dict[int, int]:
    """The descriptors of this process that lead to the host, by the inodes of their sockets."""
    found = {}
    for fd in map(int, os.listdir("/dev/fd")):
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                continue  # a copy of which no socket can be made would stay open
            with socket.socket(fileno=os.dup(fd)) as one:
                if one.getpeername() == places.socket:
                    found[os.fstat(fd).st_ino] = fd
    return found


def cut(places: WorkspaceDirs) -> None:
    """Cut each of them, as the kernel does when the other side is gone."""
    for fd in links(places).values():
        with socket.socket(fileno=os.dup(fd)) as one:
            one.shutdown(socket.SHUT_RDWR)


def is_alive(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    process = processes.look(pid)
    return process is not None and process.state not in "ZX"


def wait_gone(pid: int, timeout_s: float = LIMIT_S) -> bool:
    """Wait until a process has ended; False when the time is up."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        return bool(poller.poll(timeout_s * 1000))
    finally:
        os.close(fd)


@contextlib.asynccontextmanager
async def new_house(state: str | None = None) -> AsyncIterator[House]:
    """A house that is torn down at the end, whatever happened in it."""
    root = tempfile.mkdtemp(prefix="fh-")  # short: a socket's path ends at 107 bytes
    house = House(root, state)
    try:
        yield house
    finally:
        await house.close()
        for places in house.places.elsewhere():
            shutil.rmtree(places.runtime, ignore_errors=True)
        shutil.rmtree(root, ignore_errors=True)


def need(condition: object, reason: str, skip: Callable[[str], Any], fail: Callable[[str], Any]) -> None:
    """Skip a test with its reason; where everything must be there (CI), fail."""
    if not condition:
        (fail if os.environ.get("CI") == "true" else skip)(reason)
