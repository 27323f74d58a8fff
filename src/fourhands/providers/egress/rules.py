"""The rules about hosts: settings, tools and agents' models, answers for a session, stored answers."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.errors import NotFound, Unavailable
from fourhands.providers.egress.hosts import THIS_MACHINE, HostPattern

log = logging.getLogger(__name__)

SHORT_S = 60.0
"""Seconds for which "once" and "deny" hold, so that the retries of one program do not ask again."""

RuleSource = Literal["settings", "tools", "agent", "once", "session", "workspace", "never", "denied"]


class NetworkRule(Struct, frozen=True, kw_only=True, rename="camel"):
    """One rule: a host that may be reached or never, and where that comes from."""

    host: str
    allowed: bool
    source: RuleSource
    session: str = ""


@dataclass(frozen=True, slots=True)
class AgentHosts:
    """The hosts of one session's agent.

    `allowed` are its model's; `configured` are named by the person's own configuration, and may be in their own
    network; `refused` are refused unasked; `addresses` has the address of each name that was made up for one.
    """

    allowed: tuple[HostPattern, ...] = ()
    configured: tuple[HostPattern, ...] = ()
    refused: tuple[HostPattern, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)


class _Stored(Struct, frozen=True, kw_only=True):
    allowed: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


class NetworkRules:
    """The rules of one workspace. Read when made; belongs to the event loop."""

    def __init__(
        self, path: Path | None, allowed: Iterable[str] = (), *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = None if path is None else AtomicFile(path)
        self._settings = tuple(map(HostPattern.parse, allowed))
        self.tools: tuple[HostPattern, ...] = ()
        self.agents: dict[str, AgentHosts] = {}
        self._sessions: dict[str, set[str]] = {}
        self._short: dict[tuple[str, str], tuple[bool, float]] = {}
        self._now = now
        self._stored = _Stored()
        if path is not None:
            try:
                self._stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
            except FileNotFoundError:
                pass
            except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
                log.warning("cannot read the stored network rules, so hosts are asked about again: %s", error)

    def find(self, session: str, host: str, port: int, *, private: bool = False) -> NetworkRule | None:
        """Return the rule that decides; None if a person has to. A private address needs an answer of a person."""
        key = rule_key(host, port, private=private)
        if key in self._stored.never:
            return NetworkRule(host=key, allowed=False, source="never")
        short = self._short.get((session, key))
        if short is not None and short[1] > self._now():
            return NetworkRule(host=key, allowed=short[0], source="once" if short[0] else "denied", session=session)
        if key in self._sessions.get(session, ()):
            return NetworkRule(host=key, allowed=True, source="session", session=session)
        if key in self._stored.allowed:
            return NetworkRule(host=key, allowed=True, source="workspace")
        agent = self.agents.get(session, AgentHosts())
        if private:
            return _first(agent.configured, "agent", host, port)
        lists: tuple[tuple[RuleSource, tuple[HostPattern, ...]], ...] = (
            ("settings", self._settings),
            ("tools", self.tools),
            ("agent", (*agent.allowed, *agent.configured)),
        )
        for source, patterns in lists:
            if (rule := _first(patterns, source, host, port)) is not None:
                return rule
        return _first(agent.refused, "agent", host, port, allowed=False)

    def hold(self, session: str, key: str, *, allowed: bool) -> None:
        """Let an answer hold for a short time."""
        now = self._now()
        self._short = {one: kept for one, kept in self._short.items() if kept[1] > now}
        self._short[session, key] = allowed, now + SHORT_S

    def allow_session(self, session: str, key: str) -> None:
        """Allow a host for the rest of a session."""
        self._sessions.setdefault(session, set()).add(key)

    async def store(self, key: str, *, allowed: bool) -> None:
        """Allow or refuse a host in this workspace, from now on. Raises `Unavailable` if it cannot be stored."""
        allow, never = set(self._stored.allowed) - {key}, set(self._stored.never) - {key}
        (allow if allowed else never).add(key)
        for session, one in list(self._short):
            if one == key:
                del self._short[session, one]
        if not allowed:
            for hosts in self._sessions.values():
                hosts.discard(key)
        await self._keep(_Stored(allowed=tuple(sorted(allow)), never=tuple(sorted(never))))

    async def forget(self, key: str) -> None:
        """Drop every answer about a host, so that it is asked about again. Raises `NotFound`."""
        known = {*self._stored.allowed, *self._stored.never, *(one for _, one in self._short)}
        known |= {host for hosts in self._sessions.values() for host in hosts}
        if key not in known:
            raise NotFound.of("answer about the host", key, known)
        self._short = {one: kept for one, kept in self._short.items() if one[1] != key}
        for hosts in self._sessions.values():
            hosts.discard(key)
        allowed = tuple(host for host in self._stored.allowed if host != key)
        await self._keep(_Stored(allowed=allowed, never=tuple(host for host in self._stored.never if host != key)))

    def list(self) -> tuple[NetworkRule, ...]:
        """Return all rules that hold now."""
        rules = [NetworkRule(host=str(one), allowed=True, source="settings") for one in self._settings]
        rules += [NetworkRule(host=str(one), allowed=True, source="tools") for one in self.tools]
        for session, agent in self.agents.items():
            for allowed, patterns in ((True, (*agent.allowed, *agent.configured)), (False, agent.refused)):
                rules += [NetworkRule(host=str(o), allowed=allowed, source="agent", session=session) for o in patterns]
        for session, hosts in self._sessions.items():
            rules += [NetworkRule(host=h, allowed=True, source="session", session=session) for h in sorted(hosts)]
        rules += [NetworkRule(host=host, allowed=True, source="workspace") for host in self._stored.allowed]
        rules += [NetworkRule(host=host, allowed=False, source="never") for host in self._stored.never]
        return tuple(rules)

    def end(self, session: str) -> None:
        """Drop the answers of a session that has ended."""
        self._sessions.pop(session, None)
        self.agents.pop(session, None)
        self._short = {one: kept for one, kept in self._short.items() if one[0] != session}

    async def _keep(self, stored: _Stored) -> None:
        self._stored = stored
        if self._file is not None:
            try:
                await self._file.save(msgspec.json.encode(stored))
            except OSError as error:
                raise Unavailable(
                    f"cannot store the network rules: {error.strerror}", hint="they hold until the server restarts"
                ) from error


def _first(
    patterns: Iterable[HostPattern], source: RuleSource, host: str, port: int, *, allowed: bool = True
) -> NetworkRule | None:
    """Return the rule of the first pattern that means this host."""
    found = (pattern for pattern in patterns if pattern.matches(host, port))
    return next((NetworkRule(host=str(one), allowed=allowed, source=source) for one in found), None)


def rule_key(host: str, port: int, *, private: bool = False) -> str:
    """Return what an answer is about: a host with all its ports, one in a private network, a port of this machine.

    A name that was allowed and then leads into the person's own network is asked about once more, as that.
    """
    if host == THIS_MACHINE:
        return f"{host}:{port}"
    return f"private:{host}" if private else host
