"""Names inside a cell: each gets an address of its own that leads to the listener there. No question leaves the cell.

Used inside the cell, so standard library only.
"""

import ipaddress
import re
import struct
from collections import OrderedDict

NETWORK, PREFIX = "198.18.0.0", 15
"""The network set aside for tests of devices: no host of the internet has an address in it."""

NAMES = 16_384
"""Names with an address at one time. An address that was taken back is not given again before all others were."""

TTL_S = 60
LONGEST_QUERY = 512

_A, _IN = 1, 1
_NO_ERROR, _FORM_ERROR, _NO_NAME, _NOT_IMPLEMENTED = 0, 1, 3, 4
_LABEL = re.compile(rb"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_FIRST = int(ipaddress.IPv4Address(NETWORK)) + 1
_COUNT = (1 << (32 - PREFIX)) - 2


class AddressBook:
    """The names of a cell and their addresses, bounded; the name that was asked for longest ago is dropped."""

    def __init__(self, names: int = NAMES, addresses: int = _COUNT) -> None:
        self._limit = names
        self._count = addresses
        self._next = 0
        self._addresses: OrderedDict[str, str] = OrderedDict()
        self._names: dict[str, str] = {}

    def address(self, name: str) -> str:
        """Return the address of a name."""
        if (known := self._addresses.get(name)) is not None:
            self._addresses.move_to_end(name)
            return known
        if len(self._addresses) >= self._limit:
            _, gone = self._addresses.popitem(last=False)
            del self._names[gone]
        address = self._free()
        self._addresses[name] = address
        self._names[address] = name
        return address

    def name(self, address: str) -> str | None:
        """Return the name that has an address, if it still has one."""
        return self._names.get(address)

    def _free(self) -> str:
        while True:
            address = str(ipaddress.IPv4Address(_FIRST + self._next))
            self._next = (self._next + 1) % self._count
            if address not in self._names:
                return address


def answer(query: bytes, book: AddressBook) -> bytes | None:
    """Return the answer to a DNS query; None for what is none.

    A name has an IPv4 address and nothing else: every other kind is answered with "no such record", at once.
    """
    if len(query) < 12:
        return None
    number, flags, questions = struct.unpack_from(">HHH", query)
    if flags & 0x8000:
        return None  # an answer: two resolvers must not talk to each other for ever
    opcode = (flags >> 11) & 0xF
    parsed = _question(query) if questions == 1 else None
    if opcode or parsed is None:
        return _reply(number, flags, _NOT_IMPLEMENTED if opcode else _FORM_ERROR, b"", b"")
    labels, kind, kind_class, end = parsed
    question = query[12:end]
    if not all(_LABEL.fullmatch(label) for label in labels) or not labels or labels[-1].lower() == b"arpa":
        return _reply(number, flags, _NO_NAME, question, b"")
    if kind != _A or kind_class != _IN:
        return _reply(number, flags, _NO_ERROR, question, b"")
    name = b".".join(labels).decode("ascii").lower()
    address = "127.0.0.1" if labels[-1].lower() == b"localhost" else book.address(name)
    record = b"\xc0\x0c" + struct.pack(">HHIH", _A, _IN, TTL_S, 4) + ipaddress.IPv4Address(address).packed
    return _reply(number, flags, _NO_ERROR, question, record)


def _question(query: bytes) -> tuple[list[bytes], int, int, int] | None:
    """Return labels, type and class of the one question, and where it ends."""
    labels: list[bytes] = []
    place = 12
    while place < len(query):
        size = query[place]
        place += 1
        if size == 0:
            if place + 4 > len(query) or sum(len(label) + 1 for label in labels) > 254:
                return None
            kind, kind_class = struct.unpack_from(">HH", query, place)
            return labels, kind, kind_class, place + 4
        if size > 63 or place + size > len(query):
            return None  # a question has no pointers
        labels.append(query[place : place + size])
        place += size
    return None


def _reply(number: int, flags: int, code: int, question: bytes, record: bytes) -> bytes:
    # An answer, with authority, recursion as wanted and offered.
    head = 0x8000 | 0x0400 | (flags & 0x0100) | 0x0080 | code
    return struct.pack(">HHHHHH", number, head, bool(question), bool(record), 0, 0) + question + record
