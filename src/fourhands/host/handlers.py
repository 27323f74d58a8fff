"""The requests of the host's clients, and the answers.

Each request is a method `_do_NAME`; whatever is wrong with one concerns its sender only. Events go to all.
"""

import contextlib
import errno
import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import fourhands
from fourhands.host import archive, owner, pty
from fourhands.host import processes as tree
from fourhands.host.cell_requests import CellRequests
from fourhands.host.cells import CellError
from fourhands.host.connection import IN, OUT, HostConnection, same_user
from fourhands.host.hosted import TURN_S, HostedTerminal, note
from fourhands.host.keeping import REFUSAL, Keeping, KeepRequests
from fourhands.host.listener import bind, identity
from fourhands.host.log import CAPACITY, LogWriter
from fourhands.host.paths import DirsError
from fourhands.host.protocol import PROTOCOL, Message, WireError

if TYPE_CHECKING:
    from fourhands.host.host import Host


INBOX_LARGEST = 20_000
"""Number of requests of one client that may wait for their turn."""

META_LARGEST = 32 * 1024
"""Bytes of JSON that may be kept with each terminal: a new client gets all of them in one message."""

_ID = re.compile(r"term_[0-9A-Za-z_-]{1,64}", re.ASCII)


class UnknownTerminal(Exception):
    """A request names a terminal that is not here."""


class RequestHandlers(CellRequests, KeepRequests):
    """The clients of a host and their requests."""

    def __init__(self, host: "Host") -> None:
        super().__init__()
        self.host = host
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._open = False
        self._bound: tuple[str, int] = ("", 0)
        self._boot = owner.boot()
        self.clients: dict[int, HostConnection] = {}
        self.keeping = Keeping()

    def listen(self) -> None:
        """Accept clients; where the socket has vanished, on a new one. Connected clients stay."""
        if self.host.stopping or self._bound == identity(self._bound[0]):
            return
        problem: Exception | None = None
        for places in self.host.places.elsewhere():
            try:
                places.prepare()
                self.keeping.publish(places.state)
                fresh = bind(places.socket)
                break
            except (DirsError, OSError) as error:
                problem = problem or error
        else:
            assert problem is not None
            raise problem
        if self._open:
            self.host.poll.unregister(self.listener.fileno())
        self.listener.close()
        self.listener, self._open = fresh, True
        self._bound = identity(places.socket)
        self.host.poll.register(fresh.fileno(), IN)
        try:
            owner.publish(places, places.socket)
        except OSError as error:
            note(f"cannot publish the host's address: {error}")

    def attend(self, fd: int, mask: int) -> None:
        """Serve a descriptor that is ready: the listener's or a client's."""
        if fd == self.listener.fileno():
            self._accept()
        elif fd in self.clients:
            self._hear(fd, mask)

    def refuse(self) -> None:
        """Accept no more clients."""
        if self.listener.fileno() >= 0:
            if self._open:
                self.host.poll.unregister(self.listener.fileno())
            self.listener.close()
            if self._bound == identity(self._bound[0]):
                with contextlib.suppress(OSError):
                    os.unlink(self._bound[0])

    def close(self) -> None:
        """Disconnect all clients."""
        self.refuse()
        for client in self.clients.values():
            client.close()
        self.clients.clear()

    def _accept(self) -> None:
        """Accept a new client, if it is the same user."""
        try:
            sock, _ = self.listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:
            self._rest(error)
            return
        if not same_user(sock):
            note("refused a connection of another user")
            sock.close()
            return
        try:
            client = HostConnection(sock)
        except OSError as error:
            sock.close()
            self._rest(error)
            return
        self.clients[sock.fileno()] = client
        self.host.poll.register(sock.fileno(), IN)

    def _rest(self, error: OSError) -> None:
        """Stop accepting for a while: there is no descriptor or no memory left for new clients."""
        note(f"cannot accept connections: {error}")
        self.host.poll.unregister(self.listener.fileno())
        self._open = False
        self.host.later(0.2, self._reopen)

    def _reopen(self) -> None:
        if self.listener.fileno() >= 0:
            self.host.poll.register(self.listener.fileno(), IN)
            self._open = True

    def _drop(self, fd: int) -> None:
        client = self.clients.pop(fd)
        self.host.poll.unregister(fd)
        client.close()
        self.abandon(client)
        self.host.seen()

    def _hear(self, fd: int, mask: int) -> None:
        """Receive what a client sent, send what waits for it."""
        client = self.clients[fd]
        try:
            if mask & OUT and not client.connection.flush():
                self.host.poll.modify(fd, IN)
            messages = client.connection.receive() if mask & ~OUT else []
        except (WireError, OSError) as error:
            note(f"dropped a client: {error}")
            messages = None
        if messages is None:
            self._drop(fd)
            return
        idle = not client.inbox
        client.inbox.extend(message for message, _ in messages)
        if len(client.inbox) > INBOX_LARGEST:
            note("dropped a client: it asks faster than it can be answered")
            self._drop(fd)
        elif idle:
            self._work(fd, client)

    def _work(self, fd: int, client: HostConnection) -> None:
        """Answer requests in their order, for one turn; the rest after all others had theirs."""
        began = time.monotonic()
        while client.inbox and self.clients.get(fd) is client:
            if time.monotonic() - began > TURN_S:
                self.host.later(0.0, lambda: self._work(fd, client))
                return
            self._serve(fd, client, client.inbox[0])
            if client.inbox:
                client.inbox.popleft()

    def _send(self, fd: int, client: HostConnection, message: Message, fds: list[int] | None = None) -> None:
        if self.clients.get(fd) is not client:
            return  # it has gone in the meantime
        try:
            more = client.connection.send(message, fds)
            self.host.poll.modify(fd, IN | OUT if more else IN)
        except (WireError, OSError) as error:
            note(f"dropped a client: {error}")
            self._drop(fd)

    def tell(self, event: Message, *, but: HostConnection | None = None) -> None:
        """Send an event to all clients, or to all but one."""
        for fd, client in list(self.clients.items()):
            if client.greeted and client is not but:
                self._send(fd, client, event)

    def _send_to(self, client: HostConnection, event: Message) -> None:
        for fd, known in list(self.clients.items()):
            if known is client:
                self._send(fd, client, event)

    def _serve(self, fd: int, client: HostConnection, message: Message) -> None:
        number = message.get("id")

        def reply(body: Message, fds: list[int] | None = None) -> None:
            self._send(fd, client, {"id": number, **body}, fds)

        self.answer(client, message, reply)

    def answer(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        """Carry out one request; whatever is wrong with it becomes an error in its reply."""
        action = getattr(self, f"_do_{message.get('do')}", None)
        # "stop" needs no greeting: it is how a host of another version is ended.
        if action is None or not (client.greeted or message.get("do") in ("hello", "stop")):
            reply({"error": {"kind": "request", "message": f"no such request: {message.get('do')!r}"}})
            return None
        if not client.greeted and not self.keeping.admits(message):
            note("refused a client that does not show the host's secret")
            return reply(REFUSAL)
        try:
            action(client, message, reply)
        except pty.SpawnError as error:
            name = errno.errorcode.get(error.errno or 0, "")
            reply({"error": {"kind": error.stage, "errno": name, "message": str(error.strerror)}})
        except CellError as error:
            reply({"error": {"kind": "cell", "message": str(error)}})
        except UnknownTerminal as error:
            reply({"error": {"kind": "terminal", "message": str(error)}})
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, "")
            reply({"error": {"kind": "system", "errno": name, "message": str(error)}})
        except Exception as error:  # noqa: BLE001 - requests are input: whatever is wrong with one stays with its sender
            reply({"error": {"kind": "request", "message": f"{type(error).__name__}: {error}"}})

    def _named(self, message: Message) -> HostedTerminal:
        terminal: HostedTerminal | None = self.host.terminals.get(str(message.get("terminal")))
        if terminal is None:
            raise UnknownTerminal(f"no terminal {message.get('terminal')!r}")
        return terminal

    def _do_hello(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        if message.get("protocol") != PROTOCOL:
            reply(
                {
                    "error": {
                        "kind": "protocol",
                        "message": f"this host speaks protocol {PROTOCOL}, you speak {message.get('protocol')!r}",
                    }
                }
            )
            return
        client.greeted = True
        listed = [t.described() for t in self.host.terminals.values()]
        answer = {"protocol": PROTOCOL, "version": fourhands.__version__, "pid": os.getpid(), "terminals": listed}
        answer["cells"] = self.host.cells.described()
        reply(answer, [client.board.fd, client.board.wake_there])

    def _do_ping(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        """Show that the host is awake."""
        reply({})

    def _do_create(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        name = str(message["terminal"])
        if not _ID.fullmatch(name):
            raise ValueError(f"cannot create a terminal {name!r}: ids are term_ and up to 64 letters, digits, - or _")
        if name in self.host.terminals or os.path.lexists(self.host.places.log(name)):
            raise ValueError(f"cannot create a terminal {name!r}: the id has been used before")
        if self.host.stopping:
            raise ValueError("this host is being stopped")
        record: archive.Record = {
            "id": name,
            "argv": [str(a) for a in message["argv"]],
            "cwd": str(message["cwd"]),
            "capacity": int(message.get("capacity", CAPACITY)),
            "created": time.time(),
            "meta": _checked(dict(message.get("meta") or {})),
        }
        env = {str(k): str(v) for k, v in message["env"].items()} | {tree.MARK: name}
        with contextlib.ExitStack() as undo:  # the program comes last: nothing may fail once it runs
            terminal = HostedTerminal(record, self.host.slots.take())
            undo.callback(self.host.slots.free, terminal.slot)
            path = self.host.places.log(name)
            terminal.log = LogWriter(path, record["capacity"], system=self.host.system)
            undo.callback(os.unlink, path)
            undo.callback(terminal.log.close)
            if message.get("cell"):
                self._create_in(self.host.cells.get(str(message["cell"])), terminal, message, reply, undo)
                return
            spawned = pty.spawn(
                str(message["program"]),
                record["argv"],
                env,
                record["cwd"],
                cols=int(message["cols"]),
                rows=int(message["rows"]),
                descriptor_limit=self.host.descriptor_limit,
            )
            undo.pop_all()
        terminal.pid, terminal.master = spawned.pid, spawned.master
        terminal.tty, terminal.tty_path = spawned.tty, spawned.tty_path
        self.host.by_pid[terminal.pid] = terminal
        self._created(terminal, reply)

    def _created(self, terminal: HostedTerminal, reply: Callable[..., None]) -> None:
        """Read a terminal whose program runs, and say that it is there."""
        terminal.eof = False
        self.host.terminals[terminal.id] = terminal
        self.host.output.poll(terminal)
        reply({"terminal": terminal.described()}, [terminal.master])
        process = tree.look(terminal.pid)  # by these it is found should this host die
        terminal.record |= {
            "pid": terminal.pid,
            "started": process.started if process is not None else 0,
            "boot": self._boot,
        }
        self.host.record(terminal)

    def _do_attach(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        terminal = self._named(message)
        reply({"terminal": terminal.described()}, [terminal.master] if terminal.master >= 0 else None)

    def _do_list(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        reply({"terminals": [t.described() for t in self.host.terminals.values()]})

    def _do_meta(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        terminal = self._named(message)
        terminal.record["meta"] = _checked({**terminal.record["meta"], **dict(message["meta"])})
        self.host.record(terminal)
        quiet = bool(message.get("quiet"))
        if not quiet:
            reply({})
        change = {"event": "changed", "terminal": terminal.id, "meta": terminal.record["meta"]}
        self.tell(change, but=client if quiet else None)

    def _do_resized(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        """Tell the other clients that one gave a terminal another size, by its own descriptor."""
        self.tell({"event": "resized", "terminal": self._named(message).id}, but=client)

    def _do_signal(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        terminal, number = self._named(message), signal.Signals[str(message["signal"])]
        group = os.tcgetpgrp(terminal.master) if terminal.running and message.get("foreground") else terminal.pid
        if terminal.running and group > 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
        reply({})

    def _do_end(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        if (waiting := self.starting.get(str(message.get("terminal")))) is not None:
            waiting.append(lambda: self.answer(client, message, reply))
            return
        terminal = self._named(message)

        def done(left: list[int]) -> None:
            if message.get("forget"):
                self.host.forget(terminal)
            reply({"left": left, "exit": terminal.exit})

        self.host.reaper.end(terminal, done)

    def _do_probe(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        """Report what the foreground program of a terminal is doing, as far as the kernel tells."""
        terminal = self._named(message)
        if not terminal.running:
            reply({"running": False})
            return
        # First of all: with nothing unread, a program found waiting below has read all that was typed before and waits
        # anew; looked at later, it might be the wait from before the keys. What is typed meanwhile is seen at the end.
        before = pty.unread(terminal.master, terminal.tty_path)
        echo, canonical = pty.modes(terminal.master)
        group = os.tcgetpgrp(terminal.master)
        processes = tree.group_of(terminal.pid, group)
        waits = {tree.waits_for_terminal(p, terminal.tty) for p in processes}
        found = {
            "running": True,
            "group": group,
            "shell": group == terminal.pid,
            "names": [p.name for p in processes],
            "echo": echo,
            "canonical": canonical,
            "waits": sorted(waits - {""}),
            "unread": max(before, pty.unread(terminal.master, terminal.tty_path)),
            "asleep": all(p.state == "S" for p in processes) and bool(processes),
        }
        self.host.output.take(terminal)  # what it printed before it waited is in the log first
        reply(found)

    def _do_members(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        """List the processes of a terminal, and the ports on which they listen."""
        terminal = self._named(message)
        found = self.host.reaper.members(terminal)
        listed = [{"pid": p.pid, "name": p.name, "state": p.state, "began": tree.began(p)} for p in found]
        reply({"members": listed, "ports": {str(port): pid for port, pid in tree.listening(found).items()}})

    def _do_stop(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        """End everything and leave; `idle`: only if that ends no program."""
        if message.get("idle") and self.host.reaper.has_processes():
            raise ValueError("programs are running")
        reply({"pid": os.getpid()})
        self.host.stop()


def _checked(meta: Message) -> Message:
    size = len(json.dumps(meta))
    if size > META_LARGEST:
        raise ValueError(f"meta takes {size} bytes, at most {META_LARGEST} are kept")
    return meta
