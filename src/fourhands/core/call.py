"""Calls and results: an actor makes a call, the gate returns a result.

A person and an agent differ only in `Call.actor`. All of these are frozen; they cross every boundary as they are.

A program of the person's, such as the command line, works as they do, but is not their hand: whatever runs as the same
user could be that program. What needs the hand, a person does in a browser, whose key signs the call.
"""

from typing import Literal

from msgspec import Struct, field

from fourhands.core.errors import FourhandsError
from fourhands.core.ids import ulid

ActorKind = Literal["person", "program", "agent", "system"]
CallOrigin = Literal["python", "http", "socket", "cli", "block", "mcp", "acp", "model"]
RiskLevel = Literal["safe", "unknown", "dangerous"]
Severity = Literal["info", "warning", "error"]
Scope = Literal["see", "arrange", "write", "run"]

# Failures that were decided or that solve themselves: worth a warning, not an alarm.
_WARNINGS = frozenset({"denied", "no-answer", "limit", "stopped", "cancelled", "conflict"})


class Actor(Struct, frozen=True, rename="camel"):
    """An actor: a person, a program of theirs, an agent's session, or Fourhands itself."""

    kind: ActorKind
    id: str  # an agent's is its session's id
    name: str

    @property
    def session(self) -> str | None:
        """The session of an agent, or None for anyone else."""
        return self.id if self.kind == "agent" else None

    @property
    def role(self) -> ActorKind:
        """The kind for which commands are declared: a program may use what its person may, but for their hand."""
        return "person" if self.kind == "program" else self.kind

    @classmethod
    def person(cls, id: str = "person", name: str = "you") -> "Actor":
        """Return the person at the workbench."""
        return cls("person", id, name)

    @classmethod
    def program(cls, id: str = "cli", name: str = "cli") -> "Actor":
        """Return a program that has this user's token: it may work here, but neither answer nor consent."""
        return cls("program", id, name)

    @classmethod
    def agent(cls, session_id: str, name: str = "agent") -> "Actor":
        """Return the agent of a session; `name` is what people and remembered consent know it by."""
        return cls("agent", session_id, name)

    @classmethod
    def system(cls) -> "Actor":
        """Return the program itself, for what it does on its own: cleaning up, restoring."""
        return cls("system", "system", "fourhands")


class Call(Struct, frozen=True, kw_only=True, rename="camel"):
    """One command, asked for by one actor through one door."""

    command: str
    args: dict[str, object] = field(default_factory=dict)
    actor: Actor
    origin: CallOrigin = "python"
    answer_id: str | None = None  # the model's response that a block belongs to
    signed: str = ""  # the browser whose key signed this call, by name and id; the journal has it in the verdict
    id: str = field(default_factory=ulid)

    @property
    def session(self) -> str | None:
        """The agent session this call belongs to, or None for a person's."""
        return self.actor.session


class Result(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a call: data, or an error with a code and what to do next."""

    success: bool
    data: dict[str, object] = field(default_factory=dict)
    error: str = ""
    code: str = ""
    hint: str = ""
    duration_ms: float = 0.0  # of the handler alone: waiting for a turn or a person is not the command's slowness
    call_id: str = ""
    number: int = 0  # position among the calls of the same actor, refusals included, in the order they were made
    isolation: str | None = None  # the level really in force, where the command started a program
    recorded: bool = True  # False: the journal could not be written, so that it will not tell of this call

    @classmethod
    def failure(cls, error: FourhandsError) -> "Result":
        """Return the result that says what `error` says."""
        return cls(success=False, error=error.message, code=error.code, hint=error.hint, data=dict(error.data))

    @property
    def severity(self) -> Severity:
        """The severity with which a person is notified."""
        if self.success:
            return "info"
        return "warning" if self.code in _WARNINGS else "error"

    def to_wire(self) -> dict[str, object]:
        """Return the form every surface sends: the data beside `success`, or the error with code and hint."""
        if self.success:
            wire = {"success": True, **self.data}
            wire["success"] = True  # a handler's own field of that name must not claim otherwise
        else:
            wire = {"success": False, "error": self.error, "code": self.code, "hint": self.hint}
            if self.data:
                wire["data"] = self.data
        if self.isolation is not None:
            wire["isolation"] = self.isolation
        if not self.recorded:
            wire["recorded"] = False
        return wire


class Decision(Struct, frozen=True, kw_only=True, rename="camel"):
    """The decision by which a call was allowed or refused, for the journal."""

    level: str = ""  # "safe", "unknown", "dangerous", or empty where nothing was judged
    reason: str = ""
    choice: str = (
        ""  # what a person chose, or "rule", "unasked", "signed", "configured", or "refused" without a question
    )
    by: str = ""  # who chose, which rule, which configuration, or which browser signed the person's call
    original: dict[str, object] | None = None  # the arguments before a person edited them


class JournalEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of the journal: a call, its verdict, its result, its times (seconds since the epoch)."""

    call: Call
    verdict: Decision = field(default_factory=Decision)
    number: int = 0  # as in the result
    result: Result | None = None  # None while it runs, and for ever if the program died meanwhile
    asked: float
    finished: float | None = None
    turn: str = ""  # the agent's turn that it belongs to, if it may have changed something
    checkpoint_before: str = ""  # of the workspace; shared by the calls of a turn, but for dangerous ones
    checkpoint_after: str = ""  # known when the turn is over
