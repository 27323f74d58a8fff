"""Whether an agent may act here at all, and the narrow rules a person made for its session.

Consent is asked for with an agent's first command and holds for its session or, remembered, for every later session
of the same agent. A refusal holds until a person grants or revokes: asking again and again would be nagging. Rules are
kept per session, only for unknown commands, and die with it.
"""

import asyncio
from collections.abc import Mapping
from typing import Literal, Protocol

from fourhands.core.call import Call
from fourhands.core.errors import Denied
from fourhands.core.question import Question, Questions

State = Literal["unasked", "granted", "denied"]


class ConsentStore(Protocol):
    """Where remembered consent lives: agents by the name that the person gave them."""

    def remembered(self, agent: str) -> bool:
        """Say whether this agent may act in every session."""

    def remember(self, agent: str) -> None:
        """Let it."""

    def forget(self, agent: str) -> None:
        """No longer."""


class Remembered:
    """A store that lasts as long as the program."""

    def __init__(self) -> None:
        self._agents: set[str] = set()

    def remembered(self, agent: str) -> bool:
        """Say whether this agent may act in every session."""
        return agent in self._agents

    def remember(self, agent: str) -> None:
        """Let it."""
        self._agents.add(agent)

    def forget(self, agent: str) -> None:
        """No longer."""
        self._agents.discard(agent)


class Consent:
    """One state per agent session."""

    def __init__(self, questions: Questions, store: ConsentStore) -> None:
        self._questions = questions
        self._store = store
        self._states: dict[str, State] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def state(self, session: str) -> State:
        """Say how things stand for this session."""
        return self._states.get(session, "unasked")

    def grant(self, session: str) -> None:
        """Let this session act, without a question."""
        self._states[session] = "granted"

    def revoke(self, session: str, agent: str | None = None) -> None:
        """Ask again before the session's next command; with the agent's name, forget what was remembered of it too."""
        self._states.pop(session, None)
        if agent is not None:
            self._store.forget(agent)

    def end(self, session: str) -> None:
        """Drop what is kept for a session that is over."""
        self._states.pop(session, None)
        self._locks.pop(session, None)

    async def require(self, call: Call) -> None:
        """Return if the call's agent may act; ask once per session, however many calls wait for it."""
        session, agent = call.actor.id, call.actor.name
        if self._settled(session, agent):
            return
        async with self._locks.setdefault(session, asyncio.Lock()):
            if self._settled(session, agent):
                return
            question = Question(
                kind="consent",
                session=session,
                text=f"{agent} wants to work with you here: in your terminals, editors, panes and files. Let it?",
                options=("session", "always", "deny"),
                command=call.command,
                actor=call.actor,
            )
            answered = await self._questions.ask(question)
            if answered.answer.choice == "deny":
                self._states[session] = "denied"
                raise _refusal(agent, answered.answer.reason)
            self._states[session] = "granted"
            if answered.answer.choice == "always":
                self._store.remember(agent)

    def _settled(self, session: str, agent: str) -> bool:
        state = self.state(session)
        if state == "denied":
            raise _refusal(agent)
        return state == "granted" or self._store.remembered(agent)


class Rules:
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


def _refusal(agent: str, reason: str = "") -> Denied:
    because = f": {reason}" if reason else ""
    hint = "only the person can change this; tell them what you wanted to do"
    return Denied(f"the person does not let {agent} act here{because}", hint=hint, reason=reason)
