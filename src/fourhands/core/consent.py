"""Consent, which is what an agent may do here at all, and the narrow rules a person made for its session.

Consent is asked for with an agent's first command. A person gives it for some scopes or for all, for the session or,
remembered, for every later session of the same agent. The same is what came the same way (`Arrival`), not what calls
itself the same: a client that chose its name itself is asked about in each session. What is outside of consent is
refused without a question, and so is everything after a refusal, until a person grants or revokes: asking again and
again would be nagging. Rules belong to one session, cover unknown commands only, and end with it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from fourhands.core.call import Call, Scope
from fourhands.core.errors import Denied, Unavailable
from fourhands.core.question import Question, Questions

log = logging.getLogger(__name__)

ConsentState = Literal["unasked", "granted", "denied"]

SCOPES: dict[Scope, str] = {
    "see": "look at files, panes and terminals, except what is secret",
    "arrange": "open files and panes and highlight lines",
    "write": "write files",
    "run": "type in terminals and run programs",
}
"""The scopes of consent, each in words."""


SPEAKS = "What it asks you in its own windows, it answers here in your name."
"""The words about a client that speaks for the person, with whom it talks itself."""


class Arrival(Struct, frozen=True):
    """The way by which an agent came: what remembered consent is bound to, and words for the person."""

    bond: str = ""  # its program, arguments and configuration; empty where it only says itself who it is
    words: str = ""


class ConsentStore(Protocol):
    """Storage for remembered consent, by the way an agent came. A change counts before its call is waited for."""

    def remembered(self, bond: str) -> frozenset[Scope]:
        """Return what this agent may do in every session; nothing if it is not known."""

    async def remember(self, bond: str, scopes: frozenset[Scope]) -> None:
        """Store what this agent may do in every session. Raises `Unavailable` if it cannot be stored."""

    async def forget(self, bond: str) -> None:
        """Drop what is stored for this agent. Raises `Unavailable` if that cannot be stored."""


class MemoryConsentStore:
    """A store that lasts as long as the program."""

    def __init__(self) -> None:
        self._agents: dict[str, frozenset[Scope]] = {}

    def remembered(self, bond: str) -> frozenset[Scope]:
        """Return what this agent may do in every session; nothing if it is not known."""
        return self._agents.get(bond, frozenset())

    async def remember(self, bond: str, scopes: frozenset[Scope]) -> None:
        """Store what this agent may do in every session."""
        self._agents[bond] = scopes

    async def forget(self, bond: str) -> None:
        """Drop what is stored for this agent."""
        self._agents.pop(bond, None)


class Consent:
    """The consent of every agent session; `changed` is called after each change."""

    def __init__(
        self,
        questions: Questions,
        store: ConsentStore,
        changed: Callable[[str, ConsentState, tuple[Scope, ...]], None],
        arrival: Callable[[str, str], Arrival] = lambda session, agent: Arrival(agent),
    ) -> None:
        self._arrival = arrival
        self._questions = questions
        self._store = store
        self._changed = changed
        self._given: dict[str, frozenset[Scope]] = {}  # by session; nothing at all is a refusal
        self._locks: dict[str, asyncio.Lock] = {}

    def state(self, session: str, agent: str = "") -> ConsentState:
        """Return the state of this session's consent."""
        given = self._standing(session, agent)
        return "unasked" if given is None else "granted" if given else "denied"

    def scopes(self, session: str, agent: str = "") -> tuple[Scope, ...]:
        """Return what this session may do, in the order of `SCOPES`."""
        given = self._standing(session, agent) or ()
        return tuple(scope for scope in SCOPES if scope in given)

    def grant(self, session: str, scopes: Iterable[Scope] = tuple(SCOPES)) -> None:
        """Allow this session these scopes and no others, without a question."""
        self._given[session] = frozenset(scopes)
        self._changed(session, self.state(session), self.scopes(session))

    async def grant_agent(self, session: str, agent: str, scopes: Iterable[Scope]) -> None:
        """Allow an agent's session these scopes; what is remembered for the agent, if anything, becomes the same.

        Raises `Unavailable` if that cannot be stored.
        """
        given = frozenset(scopes)
        self.grant(session, given)
        bond = self._arrival(session, agent).bond
        if bond and self._store.remembered(bond):
            await self._store.remember(bond, given)

    def revoke(self, session: str) -> None:
        """Ask again before the session's next command, unless consent is remembered for its agent."""
        self._given.pop(session, None)
        self._changed(session, "unasked", ())

    async def revoke_agent(self, session: str, agent: str) -> None:
        """Ask again before the session's next command, and drop what is remembered for its agent.

        Raises `Unavailable` if that cannot be stored.
        """
        self.revoke(session)
        if bond := self._arrival(session, agent).bond:
            await self._store.forget(bond)

    def end(self, session: str) -> None:
        """Drop the consent of a session that has ended."""
        self._given.pop(session, None)
        self._locks.pop(session, None)

    async def require(self, call: Call, scope: Scope) -> None:
        """Return if the call's agent has this scope; ask once per session, however many calls wait. Raises `Denied`."""
        session, agent = call.actor.id, call.actor.name
        if self._standing(session, agent) is None:
            async with self._locks.setdefault(session, asyncio.Lock()):
                if self._standing(session, agent) is None:
                    await self._ask(call)
        given = self._standing(session, agent)
        if not given:
            raise _refusal(agent)
        if scope not in given:
            raise Denied(
                f"{agent} may not {SCOPES[scope]}; granted: {', '.join(self.scopes(session, agent))}",
                hint="tell the person what you wanted to do; only they can change this",
                scope=scope,
                granted=self.scopes(session, agent),
            )

    async def _ask(self, call: Call) -> None:
        session, agent = call.actor.id, call.actor.name
        arrival = self._arrival(session, agent)
        question = Question(
            kind="consent",
            session=session,
            text=f"{agent} wants to work with you here: {', '.join(SCOPES.values())}. Allow it?",
            options=("session", "always", "deny") if arrival.bond else ("session", "deny"),
            reason=arrival.words,
            scopes=tuple(SCOPES),
            command=call.command,
            actor=call.actor,
        )
        answer = (await self._questions.ask(question)).answer
        if answer.choice == "deny":
            self.grant(session, ())
            raise _refusal(agent, answer.reason)
        scopes = frozenset(SCOPES if answer.scopes is None else answer.scopes)
        self.grant(session, scopes)
        if answer.choice == "always":
            try:
                await self._store.remember(arrival.bond, scopes)
            except Unavailable as error:
                log.warning("%s; it is asked for again after a restart", error)

    def _standing(self, session: str, agent: str) -> frozenset[Scope] | None:
        """Return the scopes given; none where consent was refused, None where it was not asked for."""
        given = self._given.get(session)
        if given is not None:
            return given
        bond = self._arrival(session, agent).bond
        return (self._store.remembered(bond) or None) if bond else None


class AllowRules:
    """The allow rules of every session: a key that the policy made, and its words."""

    def __init__(self) -> None:
        self._rules: dict[str, dict[str, str]] = {}

    def allows(self, session: str, key: str | None) -> bool:
        """Return True if a rule of this session covers the key."""
        return key is not None and key in self._rules.get(session, ())

    def add(self, session: str, key: str, text: str) -> None:
        """Add a rule."""
        self._rules.setdefault(session, {})[key] = text

    def remove(self, session: str, key: str) -> None:
        """Remove a rule, if there is one."""
        self._rules.get(session, {}).pop(key, None)

    def list(self, session: str) -> Mapping[str, str]:
        """Return a session's rules: words by key."""
        return dict(self._rules.get(session, {}))

    def end(self, session: str) -> None:
        """Drop all rules of a session."""
        self._rules.pop(session, None)


def _refusal(agent: str, reason: str = "") -> Denied:
    because = f": {reason}" if reason else ""
    hint = "tell the person what you wanted to do; only they can change this"
    return Denied(f"{agent} may not work here{because}", hint=hint, reason=reason)
