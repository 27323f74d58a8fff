"""Events of the network: hosts that a cell reached or was refused, and ports that were opened for it."""

from fourhands.core.event import EventData


class NetworkAllowed(EventData, frozen=True, kw_only=True):
    """A session's programs were let through to a host for the first time."""

    event = "network.allowed"
    session: str
    host: str
    port: int
    by: str  # what allowed it: settings, tools, agent, once, session, workspace, all


class NetworkRefused(EventData, frozen=True, kw_only=True):
    """A connection of a session's program was refused."""

    event = "network.refused"
    session: str
    host: str
    port: int
    reason: str


class PortOpened(EventData, frozen=True, kw_only=True):
    """A program in a sandbox listens on `port`; it can be reached at 127.0.0.1 on the port `outside`."""

    event = "port.opened"
    session: str
    port: int
    outside: int


class PortClosed(EventData, frozen=True, kw_only=True):
    """A program in a sandbox no longer listens on a port."""

    event = "port.closed"
    session: str
    port: int
    outside: int
