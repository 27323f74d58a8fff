"""Programs of a cell that listen, as the kernel lists them. Used inside the cell, so standard library only."""

import contextlib
import ipaddress
import socket
import struct
from collections.abc import Iterable, Iterator

LOWEST = 1024
"""The lowest port that is announced: lower ones are this program's own."""

MOST = 64
"""Ports announced at one time."""

_TABLES = (("/proc/net/tcp", "127.0.0.1"), ("/proc/net/tcp6", "::1"))
_LISTENING = "0A"
# As the kernel writes them: words in the machine's own order.
_OPEN_TO_LOOPBACK = frozenset(
    {
        "00000000",
        "0100007F",
        "7F000001",
        "0" * 32,
        "00000000000000000000000001000000",
        "00000000000000000000000000000001",
    }
)


_SOCK_DIAG, _BY_FAMILY, _DUMP = 4, 20, 0x301
_DONE, _ERROR = 3, 2
_STATE_LISTENING = 1 << 10


def ports(own: Iterable[int]) -> dict[int, str]:
    """Return the ports on which programs listen, each with the loopback address at which it is reached."""
    skipped = set(own)
    try:
        found = dict(_asked())
    except OSError:
        found = dict(read_tables(_TABLES))
    return dict(sorted((port, at) for port, at in found.items() if port >= LOWEST and port not in skipped)[:MOST])


def _asked() -> Iterator[tuple[int, str]]:
    """Ask the kernel for listeners only: its text tables make it walk through all connections of the machine."""
    for family, address in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1")):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as netlink:
            netlink.settimeout(1)
            body = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 0, _STATE_LISTENING)
            netlink.send(struct.pack("=IHHII", 16 + len(body), _BY_FAMILY, _DUMP, 1, 0) + body)
            done = False
            while not done:
                data = netlink.recv(1 << 16)
                while len(data) >= 16:
                    size, kind = struct.unpack_from("=IH", data)
                    if kind == _ERROR:
                        raise OSError("the kernel does not list sockets")
                    done = done or kind == _DONE
                    if kind == _BY_FAMILY:
                        (port,) = struct.unpack_from(">H", data, 20)
                        raw = data[24:40] if family == socket.AF_INET6 else data[24:28]
                        bound = ipaddress.ip_address(raw)
                        if bound.is_unspecified or str(bound) == address:
                            yield port, address
                    data = data[size + -size % 4 :]


def read_tables(tables: Iterable[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """Read listeners from text tables, where the kernel answers no such question."""
    for path, address in reversed(list(tables)):
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as table:  # no IPv6 here
            next(table, None)
            for line in table:
                fields = line.split(None, 4)
                if len(fields) < 4 or fields[3] != _LISTENING:
                    break  # the kernel lists listeners first, and of connections there may be thousands
                local, _, number = fields[1].partition(":")
                if local in _OPEN_TO_LOOPBACK:
                    yield int(number, 16), address
