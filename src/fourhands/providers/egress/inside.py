"""The program of ours in a cell's network namespace: names, the listener, and the one way to the server.

It carries no data. An accepted connection is passed to the server as a descriptor, with the name and port that it is
for; the server decides, connects, and moves the bytes. For the way in, the server asks for a connection to a port, and
gets its descriptor. So nothing here has state that a restart of the server could lose, and what the server holds
is closed by the kernel if it dies. The server is found by a socket of the file system that no program of the cell sees.

It starts the cell's command as its child, without any capability, and ends with it; if it dies, so does the command.
Standard library only, and no module of the project that needs more.
"""

import contextlib
import ctypes
import errno
import functools
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable

from fourhands.providers.egress import listening, netlink, resolver

REDIRECTED_PORT = 9
"""The port of 127.0.0.1 to which all others lead; below 1024 no program of the cell can be in the way."""

PROXY_PORT = 3128
THIS_MACHINE = "host.fourhands.internal"  # as in `hosts`, which needs more than the standard library
FAILED = 125
LOOK_S = 0.25
"""Seconds between two looks for programs that listen."""

_COMMON_PORTS = (22, 80, 443, 465, 587, 873, 993)
"""The ports that have a listener of their own where the kernel cannot redirect."""

_WAITING = 256
"""Messages to the server that wait for room; what comes after is reset."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_SET_DEATH_SIGNAL, _DROP_BOUND, _AMBIENT, _CLEAR_AMBIENT = 1, 24, 47, 4
_CAPABILITIES = 0x20080522


def reset(connection: socket.socket) -> None:
    """Close a connection so that the program at its other end fails at once."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Inside:
    """The loop of the program: one thread, nothing blocks."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._selector = selectors.DefaultSelector()
        self._book = resolver.AddressBook()
        self._server: socket.socket | None = None
        self._outgoing: deque[tuple[bytes, socket.socket | None]] = deque()
        self._own_ports: set[int] = set()
        self._lent: dict[int, socket.socket] = {}
        self._seen: dict[int, str] = {}
        self._announced: dict[int, str] | None = None
        self._next_look = 0.0

    # -- setting up ------------------------------------------------------------------------------------------------

    def offer_names(self) -> None:
        """Set up the namespace, the resolver and the listeners. Raises `OSError`."""
        netlink.raise_loopback()
        netlink.make_local(resolver.NETWORK, resolver.PREFIX)
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 53))
        datagrams.setblocking(False)
        self._watch(datagrams, lambda: self._answer_datagrams(datagrams))
        self._listen("127.0.0.1", 53, self._answer_stream)
        try:
            netlink.redirect(resolver.NETWORK, resolver.PREFIX, REDIRECTED_PORT)
        except OSError:
            for port in _COMMON_PORTS:
                self._listen("0.0.0.0", port, self._hand_over)
        else:
            self._listen("127.0.0.1", REDIRECTED_PORT, self._hand_over)

    def offer_proxy(self) -> None:
        """Listen as a proxy, for programs that heed its variables; the server speaks its protocol. Raises `OSError`."""
        self._listen("127.0.0.1", PROXY_PORT, lambda connection: self._send({"proxy": True}, connection))
        self._own_ports.add(PROXY_PORT)

    def _listen(self, address: str, port: int, accepted: Callable[[socket.socket], None]) -> socket.socket:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.listen(128)
        except OSError:
            listener.close()
            raise
        listener.setblocking(False)

        def accept() -> None:
            for _ in range(64):
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                accepted(connection)

        self._watch(listener, accept)
        return listener

    def _watch(self, source: socket.socket, ready: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, ready)

    # -- names -----------------------------------------------------------------------------------------------------

    def _answer_datagrams(self, datagrams: socket.socket) -> None:
        for _ in range(64):
            try:
                query, asker = datagrams.recvfrom(resolver.LONGEST_QUERY + 1)
                reply = resolver.answer(query, self._book) if len(query) <= resolver.LONGEST_QUERY else None
                if reply is not None:
                    datagrams.sendto(reply, asker)
            except OSError:
                return

    def _answer_stream(self, connection: socket.socket) -> None:
        """Answer one query over TCP; its asker has it written by the time it is accepted, or does without."""
        connection.setblocking(False)
        deadline = time.monotonic() + 5

        def ready() -> None:
            self._selector.unregister(connection)
            with contextlib.suppress(OSError):
                query = connection.recv(resolver.LONGEST_QUERY + 2)
                if (
                    time.monotonic() < deadline
                    and len(query) > 2
                    and int.from_bytes(query[:2], "big") == len(query) - 2
                ):
                    reply = resolver.answer(query[2:], self._book)
                    if reply is not None:
                        connection.send(len(reply).to_bytes(2, "big") + reply)
            connection.close()

        if len(self._selector.get_map()) > _WAITING:
            reset(connection)
            return
        self._watch(connection, ready)

    # -- connections -----------------------------------------------------------------------------------------------

    def _hand_over(self, connection: socket.socket) -> None:
        try:
            address, port = netlink.original_destination(connection)
        except OSError:
            connection.close()
            return
        name = self._book.name(address)
        if name is None:  # an address that no name has: guessed, or of a name from long ago
            reset(connection)
        else:
            self._send({"connect": name, "port": port}, connection)

    def _send(self, message: dict[str, object], connection: socket.socket | None = None) -> None:
        """Send a message with the descriptor that belongs to it; without a server the connection is reset."""
        if (self._server is None and not self._join()) or len(self._outgoing) >= _WAITING:
            if connection is not None:
                reset(connection)
            return
        self._outgoing.append((json.dumps(message).encode(), connection))
        self._flush()

    def _flush(self) -> None:
        while self._outgoing and self._server is not None:
            data, connection = self._outgoing[0]
            try:
                if connection is None:
                    self._server.send(data)
                else:
                    socket.send_fds(self._server, [data], [connection.fileno()])
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
                    break
                if error.errno == errno.ETOOMANYREFS and connection is not None:
                    self._outgoing.popleft()
                    reset(connection)
                    continue
                self._leave()
                return
            self._outgoing.popleft()
            if connection is not None:
                connection.close()  # the server has its own descriptor of it now
        if self._server is not None:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._outgoing else 0)
            self._selector.modify(self._server, wanted, self._talk)

    def _join(self) -> bool:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server.setblocking(False)
        try:
            server.connect(self._path)
        except OSError:
            server.close()
            return False
        self._server = server
        self._announced = None
        self._watch(server, self._talk)
        return True

    def _leave(self) -> None:
        if self._server is not None:
            self._selector.unregister(self._server)
            self._server.close()
            self._server = None
        while self._outgoing:
            _, connection = self._outgoing.popleft()
            if connection is not None:
                reset(connection)

    def _talk(self) -> None:
        """Read what the server wants, and write what waits."""
        assert self._server is not None
        try:
            data = self._server.recv(4096)
        except BlockingIOError:
            self._flush()
            return
        except OSError:
            data = b""
        if not data:
            self._leave()
            return
        wanted = json.loads(data)
        if "lend" in wanted:
            self._lend({int(port) for port in wanted["lend"]})
        else:
            self._open(int(wanted["open"]), int(wanted["id"]))
        self._flush()

    def _lend(self, ports: set[int]) -> None:
        """Lead these ports of 127.0.0.1 to those of the machine outside, and no others."""
        for port in self._lent.keys() - ports:
            listener = self._lent.pop(port)
            self._selector.unregister(listener)
            listener.close()
            self._own_ports.discard(port)
        for port in ports - self._lent.keys():
            message: dict[str, object] = {"connect": THIS_MACHINE, "port": port}
            with contextlib.suppress(OSError):  # a program of the cell has it
                self._lent[port] = self._listen("127.0.0.1", port, functools.partial(self._send, message))
                self._own_ports.add(port)

    # -- the way in ------------------------------------------------------------------------------------------------

    def _open(self, port: int, number: int) -> None:
        """Connect to a program of the cell, for the server."""
        address = self._seen.get(port)
        if address is None:
            self._send({"failed": number})
            return
        connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        connection.setblocking(False)
        if connection.connect_ex((address, port)) not in (0, errno.EINPROGRESS):
            connection.close()
            self._send({"failed": number})
        else:
            self._send({"opened": number}, connection)

    def _look(self) -> None:
        """Announce the ports on which programs listen, when they have changed and stayed so for one look."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_S
        if self._server is None and not self._join():
            return
        before, self._seen = self._seen, listening.ports(self._own_ports)
        stayed = {port: address for port, address in self._seen.items() if port in before}
        if stayed != self._announced:
            self._announced = stayed
            self._send({"listening": list(stayed)})

    # -- life ------------------------------------------------------------------------------------------------------

    def run(self, child: int) -> int:
        """Serve until the command has ended; return its exit code as a shell has it."""
        while True:
            for key, _ in self._selector.select(LOOK_S):
                key.data()
            self._look()
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code

    def watch_child(self, child: int) -> None:
        """Wake up when the command ends."""
        descriptor = os.pidfd_open(child)
        self._selector.register(descriptor, selectors.EVENT_READ, lambda: None)


def start(command: list[str]) -> int:
    """Start the cell's command with all descriptors that were inherited, and without capabilities."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        _LIBC.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(FAILED)
        drop_capabilities()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"fourhands: cannot start {command[0]}: {error.strerror}\n".encode())
    os._exit(FAILED)


def drop_capabilities() -> None:
    """Drop all capabilities, also those that root would get back with the next program. Raises `OSError`."""
    _LIBC.prctl(_AMBIENT, _CLEAR_AMBIENT, 0, 0, 0)  # older kernels know none
    number = 0
    while _LIBC.prctl(_DROP_BOUND, number, 0, 0, 0) == 0:
        number += 1
    if number == 0 and os.geteuid() == 0:
        raise OSError(errno.EPERM, "cannot give up capabilities")
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES, 0))
    if _LIBC.capset(header, ctypes.create_string_buffer(24)) != 0:
        raise OSError(ctypes.get_errno(), "cannot give up capabilities")


def main(arguments: list[str]) -> int:
    """Run `names|proxy SOCKET COMMAND…`; returns the exit code."""
    way, path, *command = arguments
    try:
        inside = Inside(path)
        inside.offer_names() if way == "names" else inside.offer_proxy()
    except OSError as error:
        print(f"fourhands: cannot set up the network of the sandbox: {error}", file=sys.stderr)
        return FAILED
    # Taken before anything is opened that the command must not have; all of ours is closed when it starts.
    child = start(command)
    _let_go()
    inside.watch_child(child)
    return inside.run(child)


def _let_go() -> None:
    """Close what the command has inherited: while it is open here, others would take the command for alive."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.get_inheritable(int(name)) and int(name) > 2:
                os.close(int(name))
