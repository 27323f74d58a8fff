"""Consent, which is what an agent may do here at all, and the narrow rules a person made for its session.

Consent is asked for with an agent's first command. A person gives it for some scopes or for all, for the session or,
remembered, for every later session of the same agent. The same is what came the same way (`Arrival`), not what calls
itself the same: a client that chose its name itself is asked about in each session. What is outside of consent is
refused without a question, and so is everything after a refusal, until a person grants or revokes: asking again and
again would be nagging. Rules belong to one session, cover unknown commands only, and end with it.

The owner of a client's configuration may allow scopes beforehand (`configure`). These are not asked about; the others
are, as if they were all there is. Once a person has revoked that, no session of the same name has it any more.
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


class Configured(Struct, frozen=True):
    """The scopes that a client's configuration allows, the name in it, and words for the journal and the page."""

    name: str
    scopes: frozenset[Scope]
    words: str


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
        self._configured: dict[str, Configured] = {}  # by session
        self._revoked: set[str] = set()  # names whose configured consent a person has revoked
        self._locks: dict[str, asyncio.Lock] = {}

    def state(self, session: str, agent: str = "") -> ConsentState:
        """Return the state of this session's consent."""
        given = self._standing(session, agent)
        if given is None and session in self._configured:
            return "granted"
        return "unasked" if given is None else "granted" if given else "denied"

    def scopes(self, session: str, agent: str = "") -> tuple[Scope, ...]:
        """Return what this session may do, in the order of `SCOPES`."""
        given = self._standing(session, agent)
        if given is None:
            given = self._configured[session].scopes if session in self._configured else frozenset()
        return tuple(scope for scope in SCOPES if scope in given)

    def configured(self, session: str) -> str:
        """Return the words for the configuration that allows this session something; empty if none does."""
        return self._configured[session].words if session in self._configured else ""

    def revoked(self, name: str) -> bool:
        """Return True if a person has revoked what a configuration allowed a session of this name."""
        return name in self._revoked

    def configure(self, session: str, name: str, scopes: Iterable[Scope], words: str) -> None:
        """Allow this session these scopes because its client's configuration does; the others are still asked about."""
        if given := frozenset(scopes):
            self._configured[session] = Configured(name, given, words)
            self._changed(session, self.state(session), self.scopes(session))

    def grant(self, session: str, scopes: Iterable[Scope] = tuple(SCOPES)) -> None:
        """Allow this session these scopes and no others, without a question."""
        self._configured.pop(session, None)
        self._given[session] = frozenset(scopes)
        self._changed(session, self.state(session), self.scopes(session))

    async def grant_agent(self, session: str, agent: str, scopes: Iterable[Scope]) -> None:
        """Allow an agent's session these scopes; what is remembered for the agent, if anything, becomes the same.

        Raises `Unavailable` if that cannot be stored.
        """
        given = frozenset(scopes)
        self._revoked.discard(agent)
        self.grant(session, given)
        bond = self._arrival(session, agent).bond
        if bond and self._store.remembered(bond):
            await self._store.remember(bond, given)

    def revoke(self, session: str) -> None:
        """Ask again before the session's next command, unless consent is remembered for its agent."""
        if (before := self._configured.pop(session, None)) is not None:
            self._revoked.add(before.name)
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
        self._configured.pop(session, None)
        self._questions.ask_only(session, None)
        self._locks.pop(session, None)

    async def require(self, call: Call, scope: Scope) -> None:
        """Return if the call's agent has this scope; ask once per session, however many calls wait. Raises `Denied`."""
        session, agent = call.actor.id, call.actor.name
        if self._unasked(session, agent, scope):
            async with self._locks.setdefault(session, asyncio.Lock()):
                if self._unasked(session, agent, scope):
                    await self._ask(call, scope)
        given = frozenset(self.scopes(session, agent))
        if not given:
            raise _refusal(agent)
        if scope not in given:
            raise Denied(
                f"{agent} may not {SCOPES[scope]}; granted: {', '.join(self.scopes(session, agent))}",
                hint="tell the person what you wanted to do; only they can change this",
                scope=scope,
                granted=self.scopes(session, agent),
            )

    async def _ask(self, call: Call, scope: Scope) -> None:
        session, agent = call.actor.id, call.actor.name
        arrival, configured = self._arrival(session, agent), self._configured.get(session)
        before = configured.scopes if configured is not None else frozenset()
        wanted = {one: words for one, words in SCOPES.items() if one not in before}
        reason = arrival.words
        if configured is not None:
            may = ", ".join(SCOPES[one] for one in self.scopes(session, agent))
            reason = f"{reason} It may {may} already: {configured.words}.".strip()
        self._questions.require_asking(session, "consent", f"{agent} may not {SCOPES[scope]}")
        question = Question(
            kind="consent",
            session=session,
            text=f"{agent} wants to work with you here: {', '.join(wanted.values())}. Allow it?",
            options=("session", "always", "deny") if arrival.bond else ("session", "deny"),
            reason=reason,
            scopes=tuple(wanted),
            command=call.command,
            actor=call.actor,
        )
        answer = (await self._questions.ask(question)).answer
        standing = self._configured.get(session)  # it may have been revoked meanwhile
        before = standing.scopes if standing is not None else frozenset()
        if answer.choice == "deny":
            self._answered(session, before)
            if scope not in before:
                raise _refusal(agent, answer.reason)
            return
        scopes = before | frozenset(wanted if answer.scopes is None else answer.scopes)
        self._answered(session, scopes)
        if answer.choice == "always":
            try:
                await self._store.remember(arrival.bond, scopes)
            except Unavailable as error:
                log.warning("%s; it is asked for again after a restart", error)

    def _answered(self, session: str, scopes: frozenset[Scope]) -> None:
        """Set what holds from now on; words for what a configuration allows stay beside it."""
        self._given[session] = scopes
        self._changed(session, self.state(session), self.scopes(session))

    def _unasked(self, session: str, agent: str, scope: Scope) -> bool:
        """Return True if a person has to be asked before this session uses this scope."""
        if self._standing(session, agent) is not None:
            return False
        configured = self._configured.get(session)
        return configured is None or scope not in configured.scopes

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
