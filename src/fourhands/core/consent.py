"""Whether an agent may act here at all and in which way, and the narrow rules a person made for its session.

Consent is asked for with an agent's first command. A person gives it for some scopes or for all, for the session or,
remembered, for every later session of the same agent. What is outside of it is refused without a question, and so is
everything after a refusal, until a person grants or revokes: asking again and again would be nagging. Rules are kept
per session, only for unknown commands, and die with it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, Protocol

from fourhands.core.call import Call, Scope
from fourhands.core.errors import Denied
from fourhands.core.question import Question, Questions

ConsentState = Literal["unasked", "granted", "denied"]

SCOPES: dict[Scope, str] = {
    "see": "look at files, panes and terminals, except what is secret",
    "arrange": "open files and panes and highlight lines",
    "write": "write files",
    "run": "type in terminals and run programs",
}
"""What consent can be given for, each in words."""


class ConsentStore(Protocol):
    """Where remembered consent lives: agents by the name that the person gave them."""

    def remembered(self, agent: str) -> frozenset[Scope]:
        """Return what this agent may do in every session; nothing if it is not known."""

    def remember(self, agent: str, scopes: frozenset[Scope]) -> None:
        """Let it."""

    def forget(self, agent: str) -> None:
        """No longer."""


class MemoryConsentStore:
    """A store that lasts as long as the program."""

    def __init__(self) -> None:
        self._agents: dict[str, frozenset[Scope]] = {}

    def remembered(self, agent: str) -> frozenset[Scope]:
        """Return what this agent may do in every session; nothing if it is not known."""
        return self._agents.get(agent, frozenset())

    def remember(self, agent: str, scopes: frozenset[Scope]) -> None:
        """Let it."""
        self._agents[agent] = scopes

    def forget(self, agent: str) -> None:
        """No longer."""
        self._agents.pop(agent, None)


class Consent:
    """What each agent session may do; `changed` is told whenever that becomes something else."""

    def __init__(
        self, questions: Questions, store: ConsentStore, changed: Callable[[str, ConsentState, tuple[Scope, ...]], None]
    ) -> None:
        self._questions = questions
        self._store = store
        self._changed = changed
        self._given: dict[str, frozenset[Scope]] = {}  # by session; nothing at all is a refusal
        self._locks: dict[str, asyncio.Lock] = {}

    def state(self, session: str, agent: str = "") -> ConsentState:
        """Say how things stand for this session."""
        given = self._standing(session, agent)
        return "unasked" if given is None else "granted" if given else "denied"

    def scopes(self, session: str, agent: str = "") -> tuple[Scope, ...]:
        """Return what this session may do, in the order of `SCOPES`."""
        given = self._standing(session, agent) or ()
        return tuple(scope for scope in SCOPES if scope in given)

    def grant(self, session: str, scopes: Iterable[Scope] = tuple(SCOPES), agent: str = "") -> None:
        """Let this session act in these ways and no others, without a question.

        What is remembered of an agent that is named becomes the same.
        """
        given = self._given[session] = frozenset(scopes)
        if self._store.remembered(agent):
            self._store.remember(agent, given)
        self._changed(session, self.state(session), self.scopes(session))

    def revoke(self, session: str, agent: str | None = None) -> None:
        """Ask again before the session's next command; with the agent's name, forget what was remembered of it too."""
        self._given.pop(session, None)
        if agent is not None:
            self._store.forget(agent)
        self._changed(session, "unasked", ())

    def end(self, session: str) -> None:
        """Drop what is kept for a session that is over."""
        self._given.pop(session, None)
        self._locks.pop(session, None)

    async def require(self, call: Call, scope: Scope) -> None:
        """Return if the call's agent may act so; ask once per session, however many calls wait for it."""
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
                f"the person does not let {agent} {SCOPES[scope]}; it may {_words(given)}",
                hint="only the person can change this; tell them what you wanted to do",
                scope=scope,
                granted=self.scopes(session, agent),
            )

    async def _ask(self, call: Call) -> None:
        session, agent = call.actor.id, call.actor.name
        question = Question(
            kind="consent",
            session=session,
            text=f"{agent} wants to work with you here: {_words(SCOPES)}. Let it?",
            options=("session", "always", "deny"),
            scopes=tuple(SCOPES),
            command=call.command,
            actor=call.actor,
        )
        answer = (await self._questions.ask(question)).answer
        if answer.choice == "deny":
            self.grant(session, ())
            raise _refusal(agent, answer.reason)
        scopes = frozenset(SCOPES if answer.scopes is None else answer.scopes)
        if answer.choice == "always":
            self._store.remember(agent, scopes)
        self.grant(session, scopes)

    def _standing(self, session: str, agent: str) -> frozenset[Scope] | None:
        """What is given, nothing where it was refused, None where nobody was asked."""
        given = self._given.get(session)
        return (self._store.remembered(agent) or None) if given is None else given


class AllowRules:
    """What a person allowed for the rest of a session: a key that the judge made, and its words."""

    def __init__(self) -> None:
        self._rules: dict[str, dict[str, str]] = {}

    def allows(self, session: str, key: str | None) -> bool:
        """Say whether a rule of this session covers the key."""
        return key is not None and key in self._rules.get(session, ())

    def add(self, session: str, key: str, text: str) -> None:
        """Add one."""
        self._rules.setdefault(session, {})[key] = text

    def remove(self, session: str, key: str) -> None:
        """Take one back; harmless if it is not there."""
        self._rules.get(session, {}).pop(key, None)

    def list(self, session: str) -> Mapping[str, str]:
        """Return a session's rules: words by key."""
        return dict(self._rules.get(session, {}))

    def end(self, session: str) -> None:
        """Drop all rules of a session."""
        self._rules.pop(session, None)


def _words(scopes: Iterable[Scope]) -> str:
    return ", ".join(words for scope, words in SCOPES.items() if scope in scopes)


def _refusal(agent: str, reason: str = "") -> Denied:
    because = f": {reason}" if reason else ""
    hint = "only the person can change this; tell them what you wanted to do"
    return Denied(f"the person does not let {agent} act here{because}", hint=hint, reason=reason)
