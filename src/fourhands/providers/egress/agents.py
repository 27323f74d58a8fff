"""The network of agents' own processes: their models, what the person's configuration names, and the workbench itself.

A base URL that names this machine means the person's machine, and not the cell. So it is rewritten to a name that
leads there (`host.fourhands.internal`), and so is an address, which has no meaning in a cell that goes out by names.
"""

import hashlib
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from fourhands.core.errors import BadArgument, Denied
from fourhands.providers.egress.dialing import Route
from fourhands.providers.egress.hosts import THIS_MACHINE, HostPattern, host_name, reach
from fourhands.providers.egress.listening import LOWEST
from fourhands.providers.egress.rules import AgentHosts, NetworkRules

WORKBENCH = "workbench.fourhands.internal"
"""The name by which an agent's process reaches the part of our server that is for it, at port 80."""

_ADDRESS = "address.fourhands.internal"


@dataclass(frozen=True, slots=True)
class InnerUrl:
    """A URL as a program in a cell has to spell it, the host that it may reach then, and the address of that name."""

    url: str
    host: HostPattern
    address: str = ""


def inner_url(url: str) -> InnerUrl | None:
    """Return a URL as it is reached from a cell; None if it is none that leads to a host."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, KeyError):
        return None
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        address = None
    if name == "localhost" or name.endswith(".localhost") or (address and (address.is_loopback or _is_any(address))):
        return InnerUrl(_with_host(parts, THIS_MACHINE), HostPattern(THIS_MACHINE, port=port))
    if address is not None:
        made = f"{str(address).replace('.', '-').replace(':', '-')}.{_ADDRESS}"
        return InnerUrl(_with_host(parts, made), HostPattern(made, port=port), str(address))
    try:
        return InnerUrl(url, HostPattern(host_name(name), port=port))
    except BadArgument:
        return None


def _is_any(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_unspecified  # programs take it for this machine


def _with_host(parts: SplitResult, host: str) -> str:
    before, at, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port is not None else ""
    return parts._replace(netloc=f"{before}{at}{host}{port}").geturl()


class AgentNetworks:
    """The agents' processes in cells, by session. `serve` takes a connection to the workbench, if there is a server."""

    def __init__(self, rules: NetworkRules) -> None:
        self.serve: Callable[[str, socket.socket], object] | None = None
        self._rules = rules

    def admit(self, session: str, hosts: AgentHosts) -> None:
        """Let a session's programs reach these hosts, and the workbench itself, until the session ends."""
        self._rules.agents[session] = hosts

    def lent(self, session: str) -> list[int]:
        """Return the ports of this machine that the agent's configuration names; where it does so by loopback, too."""
        hosts = self._rules.agents.get(session)
        named = () if hosts is None else hosts.configured
        return sorted({one.port for one in named if one.name == THIS_MACHINE and one.port and one.port >= LOWEST})

    def enter(self, session: str, port: int) -> socket.socket:
        """Return a connection to the part of the workbench that is for this session's agent. Raises `Denied`."""
        if session not in self._rules.agents or port != 80 or self.serve is None:
            raise Denied(f"{WORKBENCH} is for an agent's own process, at port 80")
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        self.serve(session, theirs)
        return ours

    def route(self, session: str, host: str, port: int) -> Route | None:
        """Return the way to an address that the agent's configuration names; None for every other host."""
        hosts = self._rules.agents.get(session)
        address = "" if hosts is None else hosts.addresses.get(host, "")
        if not address:
            return None
        kind = reach(address)
        if kind == "closed":
            raise Denied(f"{address} cannot be reached from a sandbox")
        return Route(host, port, [address], kind == "private", None)


def listen_for(session: str) -> socket.socket:
    """Return a listening socket of 127.0.0.1, at the same port after a restart: a cell's rules name it."""
    digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).digest()
    for port in (20_000 + int.from_bytes(digest[:4]) % 12_000, 0):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(64)
        except OSError:
            listener.close()
            if not port:
                raise
            continue
        listener.setblocking(False)
        return listener
    raise AssertionError("not reached")
