"""The decision about one connection out of a cell: by rule, else by asking a person, once for each host name."""

import asyncio
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Actor
from fourhands.core.errors import Denied, NoAnswer
from fourhands.core.event import EventBus
from fourhands.core.question import Answered, Question, Questions
from fourhands.providers.egress.hosts import THIS_MACHINE
from fourhands.providers.egress.network_events import NetworkAllowed, NetworkRefused
from fourhands.providers.egress.network_log import NetworkLog
from fourhands.providers.egress.rules import NetworkRules, rule_key

HOLD_S = 60.0
"""Seconds for which a connection waits for a person's answer."""

NOTES = 20
"""Refusals that a session is told of with its next result."""

_REFUSED = {"denied": "the person has refused it", "agent": "what agents report or update is refused"}

NetworkMode = Literal["ask", "off", "on"]


class Wanting(Struct, frozen=True):
    """The origin of a connection: the agent, and as far as it is known the terminal and the line that runs."""

    actor: Actor | None = None
    terminal: str = ""
    line: str = ""


class Gatekeeper:
    """Decides and remembers; one for all cells of a workspace."""

    def __init__(
        self,
        rules: NetworkRules,
        questions: Questions,
        events: EventBus,
        log: NetworkLog,
        *,
        mode: NetworkMode = "ask",
        describe: Callable[[str], Wanting] = lambda session: Wanting(),
        own_ports: Callable[[], frozenset[int]] = frozenset,
        hold_s: float = HOLD_S,
    ) -> None:
        self.rules = rules
        self.log = log
        self._questions = questions
        self._events = events
        self._mode = mode
        self._describe = describe
        self._own_ports = own_ports
        self._hold_s = hold_s
        self._asking: dict[tuple[str, str], asyncio.Future[bool]] = {}
        self._notes: dict[str, BoundedDict[str, str]] = {}
        self._allowed: set[tuple[str, str]] = set()

    async def require(self, session: str, host: str, port: int, *, private: str = "") -> str:
        """Return what lets a connection through; raises `Denied` or `NoAnswer`. `private` is an address, if it is one.

        A name is decided about before it is resolved: a question to a name server could carry anything.
        """
        if self._mode == "off":
            raise Denied("the network is off", hint='the person can set sandbox.network = "ask"')
        if host == THIS_MACHINE and port in self._own_ports():
            raise Denied(f"port {port} is Fourhands' own")
        rule = self.rules.find(session, host, port, private=bool(private))
        by: str = rule.source if rule is not None else ""
        if rule is not None and not rule.allowed:
            raise Denied(_REFUSED.get(rule.source, "the person never allows it"))
        if rule is None:
            if self._mode == "on" and host != THIS_MACHINE and not private:
                by = "all"
            else:
                by = await self._asked(session, host, port, private)
        if (session, host) not in self._allowed:
            self._allowed.add((session, host))
            self._events.emit(NetworkAllowed(session=session, host=host, port=port, by=by))
        return by

    async def _asked(self, session: str, host: str, port: int, private: str) -> str:
        """Wait for the answer of a person; connections to the same host share one question."""
        key = rule_key(host, port, private=bool(private))
        asked = self._asking.get((session, key))
        if asked is None:
            asked = self._asking[session, key] = asyncio.get_running_loop().create_future()
            try:
                allowed = await self._ask(session, host, port, key, private)
            except BaseException as error:
                if isinstance(error, Exception):
                    asked.set_exception(error)
                    asked.exception()  # others may wait for it, or none
                else:
                    asked.cancel()
                raise
            finally:
                del self._asking[session, key]
            asked.set_result(allowed)
        elif not await _shared(asked):
            raise Denied("the person has refused it")
        if not asked.result():
            raise Denied("the person has refused it")
        rule = self.rules.find(session, host, port, private=bool(private))
        return rule.source if rule is not None else "once"

    async def _ask(self, session: str, host: str, port: int, key: str, private: str) -> bool:
        wanting = self._describe(session)
        name = wanting.actor.name if wanting.actor is not None else "A program"
        if host == THIS_MACHINE:
            what = f"reach port {port} of this machine"
        elif private:
            what = f"connect to {host}:{port} in your own network ({private})"
        else:
            what = f"connect to {host}:{port}"
        question = Question(
            kind="network",
            session=session,
            text=f"{name} wants to {what}",
            options=("once", "session", "always", "never", "deny"),
            shown=f"{host}:{port}",
            terminal=wanting.terminal,
            level="unknown",
            reason="private address" if private else "this machine" if host == THIS_MACHINE else "new host",
            rule=f"{key} may be reached",
            detail={"line": wanting.line} if wanting.line else {},
            actor=wanting.actor,
            limit_s=self._hold_s,
        )
        try:
            async with asyncio.timeout(self._hold_s + 1):  # with no one there it could wait for longer
                answered = await self._questions.ask(question)
        except TimeoutError as error:  # `NoAnswer` is one too
            if not isinstance(error, NoAnswer) or error.data.get("reason") != "nobody":
                self.rules.hold(session, key, allowed=False)
            raise NoAnswer(
                "not allowed yet, and no one is there to ask"
                if isinstance(error, NoAnswer) and error.data.get("reason") == "nobody"
                else "not allowed yet, the question was not answered"
            ) from error
        return await self._remember(session, key, answered)

    async def _remember(self, session: str, key: str, answered: Answered) -> bool:
        match answered.answer.choice:
            case "session":
                self.rules.allow_session(session, key)
            case "always":
                await self.rules.store(key, allowed=True)
            case "never":
                await self.rules.store(key, allowed=False)
                return False
            case "once":
                self.rules.hold(session, key, allowed=True)
            case _:
                self.rules.hold(session, key, allowed=False)
                return False
        return True

    def refused(self, session: str, host: str, port: int, reason: str) -> None:
        """Report a connection that was not made, where the agent and people find it."""
        self.log.add(session, host, refused=1)
        rule = self.rules.find(session, host, port)
        if rule is not None and rule.source == "agent" and not rule.allowed:
            return  # it reports what nobody needs, again and again
        notes = self._notes.setdefault(session, BoundedDict(NOTES))
        if host not in notes:
            self._events.emit(NetworkRefused(session=session, host=host, port=port, reason=reason))
        notes[host] = f"{host}:{port} refused, {reason}"

    def take_notes(self, session: str) -> list[str]:
        """Return the refusals that the session has not been told of; each is returned once."""
        return list(self._notes.pop(session, {}).values())

    def end(self, session: str) -> None:
        """Forget a session."""
        self.rules.end(session)
        self.log.end(session)
        self._notes.pop(session, None)
        self._allowed = {one for one in self._allowed if one[0] != session}


async def _shared(asked: "asyncio.Future[bool]") -> bool:
    """Wait for the answer to another's question; if that one gave up, so does this."""
    try:
        return await asyncio.shield(asked)
    except asyncio.CancelledError:
        if asked.cancelled():
            raise NoAnswer("the question was withdrawn") from None
        raise
