"""The hosts that each session has spoken to, with the bytes, whole and by turn."""

import time
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fourhands.core.bounded import BoundedDict
from fourhands.providers.egress.splice import ByteCount

HOSTS = 500
"""Hosts kept for each session."""

SESSIONS = 1000


class HostTraffic(Struct, frozen=True, kw_only=True, rename="camel"):
    """One host as a session has used it; bytes `up` are those that left, `by` is what let the last connection through.

    That is one of settings, tools, agent, once, session, workspace, all; empty while all were refused.
    """

    host: str
    connections: int = 0
    refused: int = 0
    up: int = 0
    down: int = 0
    last: float = 0.0  # seconds since the epoch
    by: str = ""


class NetworkLog:
    """The traffic of all sessions, by host. Belongs to the event loop."""

    def __init__(self) -> None:
        self._hosts: BoundedDict[str, BoundedDict[str, HostTraffic]] = BoundedDict(SESSIONS)
        self._before: BoundedDict[str, dict[str, HostTraffic]] = BoundedDict(SESSIONS)
        self._carried: dict[str, dict[ByteCount, str]] = {}

    def add(
        self,
        session: str,
        host: str,
        *,
        connections: int = 0,
        refused: int = 0,
        up: int = 0,
        down: int = 0,
        by: str = "",
    ) -> None:
        """Count something for a host."""
        hosts = self._hosts.setdefault(session, BoundedDict(HOSTS))
        known = hosts.get(host) or HostTraffic(host=host)
        hosts[host] = replace(
            known,
            connections=known.connections + connections,
            refused=known.refused + refused,
            up=known.up + up,
            down=known.down + down,
            last=time.time(),
            by=by or known.by,
        )

    def carry(self, session: str, host: str, by: str) -> ByteCount:
        """Count a connection; the bytes of what is returned count as they go, in whichever turn that is."""
        self.add(session, host, connections=1, by=by)
        count = ByteCount()
        self._carried.setdefault(session, {})[count] = host
        return count

    def carried(self, session: str, count: ByteCount) -> None:
        """Take note that a connection is over."""
        host = self._carried.get(session, {}).pop(count, None)
        if host is not None:  # else the session has ended
            self.add(session, host, up=count.up, down=count.down)

    def hosts(self, session: str) -> tuple[HostTraffic, ...]:
        """Return the hosts of a session, the one used last first."""
        return _sorted(self._now(session).values())

    def begin_turn(self, session: str) -> None:
        """Start counting a turn of a session."""
        self._before[session] = self._now(session)

    def turn(self, session: str) -> tuple[HostTraffic, ...]:
        """Return what the session has used since its turn began."""
        before = self._before.get(session, {})
        changed = []
        for now in self._now(session).values():
            old = before.get(now.host, HostTraffic(host=now.host))
            if (now.connections, now.refused, now.up, now.down) != (old.connections, old.refused, old.up, old.down):
                changed.append(
                    replace(
                        now,
                        connections=now.connections - old.connections,
                        refused=now.refused - old.refused,
                        up=now.up - old.up,
                        down=now.down - old.down,
                    )
                )
        return _sorted(changed)

    def end(self, session: str) -> None:
        """Forget a session."""
        self._hosts.pop(session, None)
        self._before.pop(session, None)
        self._carried.pop(session, None)

    def _now(self, session: str) -> dict[str, HostTraffic]:
        """Return the hosts of a session, connections that are open included."""
        found = dict(self._hosts.get(session, {}))
        for count, host in self._carried.get(session, {}).items():
            known = found.get(host) or HostTraffic(host=host)  # it may have made room for others
            found[host] = replace(known, up=known.up + count.up, down=known.down + count.down)
        return found


def _sorted(hosts: Iterable[HostTraffic]) -> tuple[HostTraffic, ...]:
    return tuple(sorted(hosts, key=lambda one: one.last, reverse=True))
