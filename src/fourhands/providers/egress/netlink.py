"""The cell's network namespace, set up by netlink: no program such as `ip` or `nft` has to be there.

Used inside the cell, so standard library only. It needs CAP_NET_ADMIN over the namespace.
"""

import contextlib
import os
import socket
import struct

_REQUEST, _ACK, _CREATE, _EXCLUSIVE, _APPEND = 0x1, 0x4, 0x400, 0x200, 0x800
_ERROR = 2
_NEWLINK, _NEWROUTE = 16, 24
_UP = 1
_TABLE_LOCAL, _BOOT, _SCOPE_HOST, _LOCAL = 255, 3, 254, 2
_RTA_DST, _RTA_OIF = 1, 4

_NETFILTER = 12
_NFTABLES = 10 << 8
_BATCH_BEGIN, _BATCH_END = 0x10, 0x11
_NEWTABLE, _NEWCHAIN, _NEWRULE = _NFTABLES | 0, _NFTABLES | 3, _NFTABLES | 6
_NESTED = 0x8000
_REGISTER, _LOCAL_OUT, _BEFORE_ROUTING = 1, 3, -100
_L4_PROTOCOL, _NETWORK_HEADER, _DESTINATION = 16, 1, 16

_NAME = b"fourhands\0"


def raise_loopback() -> None:
    """Bring up the loopback device. Raises `OSError`."""
    _route(_NEWLINK, _REQUEST | _ACK, struct.pack("=BxHiII", socket.AF_UNSPEC, 0, _loopback(), _UP, _UP))


def make_local(network: str, length: int) -> None:
    """Make all addresses of an IPv4 network this namespace's own. Raises `OSError`."""
    header = struct.pack("=BBBBBBBBI", socket.AF_INET, length, 0, 0, _TABLE_LOCAL, _BOOT, _SCOPE_HOST, _LOCAL, 0)
    attributes = _attribute(_RTA_DST, socket.inet_aton(network)) + _attribute(_RTA_OIF, struct.pack("=I", _loopback()))
    _route(_NEWROUTE, _REQUEST | _ACK | _CREATE | _EXCLUSIVE, header + attributes)


def redirect(network: str, length: int, port: int) -> None:
    """Lead TCP connections to any port of a network to one port of 127.0.0.1. Raises `OSError` where it cannot be.

    The first destination can be asked of the accepted socket: `original_destination`.
    """
    mask = (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
    rule = [
        ("meta", _number(1, _REGISTER) + _number(2, _L4_PROTOCOL)),
        ("cmp", _number(1, _REGISTER) + _number(2, 0) + _nest(3, _attribute(1, bytes([socket.IPPROTO_TCP])))),
        ("payload", _number(1, _REGISTER) + _number(2, _NETWORK_HEADER) + _number(3, _DESTINATION) + _number(4, 4)),
        (
            "bitwise",
            _number(1, _REGISTER)
            + _number(2, _REGISTER)
            + _number(3, 4)
            + _nest(4, _attribute(1, struct.pack(">I", mask)))
            + _nest(5, _attribute(1, bytes(4))),
        ),
        ("cmp", _number(1, _REGISTER) + _number(2, 0) + _nest(3, _attribute(1, socket.inet_aton(network)))),
        ("immediate", _number(1, _REGISTER) + _nest(2, _attribute(1, struct.pack(">H", port)))),
        ("redir", _number(1, _REGISTER)),
    ]
    expressions = b"".join(
        _nest(1, _attribute(1, name.encode() + b"\0") + _nest(2, attributes)) for name, attributes in rule
    )
    hook = _number(1, _LOCAL_OUT) + _attribute(2, struct.pack(">i", _BEFORE_ROUTING))
    chain = _attribute(1, _NAME) + _attribute(3, _NAME) + _nest(4, hook) + _attribute(7, b"nat\0")
    _filter(
        [
            (_NEWTABLE, _CREATE, _attribute(1, _NAME)),
            (_NEWCHAIN, _CREATE, chain),
            (_NEWRULE, _CREATE | _APPEND, _attribute(1, _NAME) + _attribute(2, _NAME) + _nest(4, expressions)),
        ]
    )


def original_destination(connection: socket.socket) -> tuple[str, int]:
    """Return where a connection wanted to go: before a redirection, or else the address it was accepted on."""
    with contextlib.suppress(OSError):
        raw = connection.getsockopt(socket.SOL_IP, 80, 16)  # SO_ORIGINAL_DST
        port, address = struct.unpack("!2xH4s8x", raw)
        return socket.inet_ntoa(address), port
    address, port = connection.getsockname()[:2]
    return address, port


def _loopback() -> int:
    return socket.if_nametoindex("lo")


def _attribute(kind: int, value: bytes) -> bytes:
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + bytes(-size % 4)


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack(">I", value))


def _nest(kind: int, value: bytes) -> bytes:
    return _attribute(kind | _NESTED, value)


def _message(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 0) + body


def _route(kind: int, flags: int, body: bytes) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(_message(kind, flags, 1, body))
        _acknowledged(netlink, {1})


def _filter(steps: list[tuple[int, int, bytes]]) -> None:
    batch = struct.pack(">BBH", socket.AF_UNSPEC, 0, 10)
    family = struct.pack(">BBH", socket.AF_INET, 0, 0)
    messages = [_message(_BATCH_BEGIN, _REQUEST, 0, batch)]
    messages += [
        _message(kind, _REQUEST | _ACK | flags, number, family + body)
        for number, (kind, flags, body) in enumerate(steps, 1)
    ]
    messages.append(_message(_BATCH_END, _REQUEST, len(steps) + 1, batch))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER) as netlink:
        netlink.send(b"".join(messages))
        _acknowledged(netlink, set(range(1, len(steps) + 1)))


def _acknowledged(netlink: socket.socket, wanted: set[int]) -> None:
    """Wait until each message of these numbers is acknowledged; raises the first refusal."""
    netlink.settimeout(5)
    while wanted:
        data = netlink.recv(1 << 16)
        while len(data) >= 20:
            size, kind, _, sequence, _ = struct.unpack_from("=IHHII", data)
            if kind == _ERROR:
                (code,) = struct.unpack_from("=i", data, 16)
                if code:
                    raise OSError(-code, os.strerror(-code))
                wanted.discard(sequence)
            data = data[size + -size % 4 :]
