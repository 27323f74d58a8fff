"""Host names as rules and requests write them, in one form: lower case, ASCII, without a final dot."""

import ipaddress
import re
from dataclasses import dataclass

from fourhands.core.errors import BadArgument

THIS_MACHINE = "host.fourhands.internal"
"""The name by which a program of a cell reaches a port of the machine that it runs on."""

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def host_name(text: str) -> str:
    """Return a host name in its one form. Raises `BadArgument` for what is none, addresses included."""
    name = text[:-1] if text.endswith(".") else text
    try:
        name = name.lower() if name.isascii() else name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise _bad(text, "it cannot be written as a host name") from None
    labels = name.split(".")
    if not 0 < len(name) <= 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _bad(text, "it is not a host name")
    # `127.1` and `0x7f000001` are addresses too for most programs.
    if _NUMBER.fullmatch(labels[-1]):
        raise _bad(text, "it is an address")
    return name


def port_number(value: int) -> int:
    """Return a port, if it is one."""
    if not 0 < value < 65_536:
        raise BadArgument(f"{value} is not a port", hint="a port is between 1 and 65535")
    return value


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A host name, or all names below one (`*.example.org`), on one port or on all."""

    name: str
    below: bool = False
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> "HostPattern":
        """Read a pattern as a person writes it. Raises `BadArgument`."""
        name, colon, number = text.strip().rpartition(":")
        if not colon:
            name, number = number, ""
        elif not (number.isascii() and number.isdigit() and len(number) <= 5):
            raise _bad(text, "its port is not a number")
        below = name.startswith("*.")
        plain = host_name(name.removeprefix("*.") if below else name)
        if below and "." not in plain:
            raise _bad(text, "it would allow every name below a top-level domain")
        return cls(plain, below, port_number(int(number)) if colon else None)

    def matches(self, host: str, port: int) -> bool:
        """Return True if a host in its one form, on this port, is meant."""
        if self.port is not None and self.port != port:
            return False
        return host.endswith(f".{self.name}") if self.below else host == self.name

    def __str__(self) -> str:
        return f"{'*.' if self.below else ''}{self.name}{'' if self.port is None else f':{self.port}'}"


def reach(address: str) -> str:
    """Return `public`, `private` for a network of the person's own, or `closed` for what no cell may reach."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "closed"
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return reach(str(inner))
    if found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified:
        return "closed"
    if found.is_global:
        return "public"
    return "private" if any(found in network for network in _PRIVATE) else "closed"


_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_PRIVATE = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"))
)


def _bad(text: str, why: str) -> BadArgument:
    return BadArgument(
        f"{text[:300]!r} cannot be used: {why}", hint="give a host name: example.org, *.example.org:8443"
    )
