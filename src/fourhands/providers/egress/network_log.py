"""The hosts that each session has spoken to, with the bytes, whole and by turn."""

import time
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fourhands.core.bounded import BoundedDict

HOSTS = 500
"""Hosts kept for each session."""

SESSIONS = 1000


class HostTraffic(Struct, frozen=True, kw_only=True, rename="camel"):
    """One host as a session has used it; bytes `up` are those that left."""

    host: str
    connections: int = 0
    refused: int = 0
    up: int = 0
    down: int = 0
    last: float = 0.0  # seconds since the epoch


class NetworkLog:
    """The traffic of all sessions, by host. Belongs to the event loop."""

    def __init__(self) -> None:
        self._hosts: BoundedDict[str, BoundedDict[str, HostTraffic]] = BoundedDict(SESSIONS)
        self._before: BoundedDict[str, dict[str, HostTraffic]] = BoundedDict(SESSIONS)

    def add(
        self, session: str, host: str, *, connections: int = 0, refused: int = 0, up: int = 0, down: int = 0
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
        )

    def hosts(self, session: str) -> tuple[HostTraffic, ...]:
        """Return the hosts of a session, the one used last first."""
        return _sorted(self._hosts.get(session, {}).values())

    def begin_turn(self, session: str) -> None:
        """Start counting a turn of a session."""
        self._before[session] = dict(self._hosts.get(session, {}))

    def turn(self, session: str) -> tuple[HostTraffic, ...]:
        """Return what the session has used since its turn began."""
        before = self._before.get(session, {})
        changed = []
        for now in self._hosts.get(session, {}).values():
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


def _sorted(hosts: Iterable[HostTraffic]) -> tuple[HostTraffic, ...]:
    return tuple(sorted(hosts, key=lambda one: one.last, reverse=True))
