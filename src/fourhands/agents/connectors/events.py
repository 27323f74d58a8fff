"""The events of every agent's turn: messages, thoughts, steps and how the turn ended."""

from msgspec import UNSET, UnsetType

from fourhands.core.call_events import SessionEvent


class AgentAsked(SessionEvent, frozen=True, kw_only=True):
    """A person has sent a message to an agent."""

    event = "agent.asked"
    text: str
    message_id: str


class AgentSaid(SessionEvent, frozen=True, kw_only=True):
    """Text that an agent adds to a message; `done` ends the message."""

    event = "agent.said"
    text: str
    message_id: str
    done: bool


class AgentThought(SessionEvent, frozen=True, kw_only=True):
    """Text that an agent adds to a thought."""

    event = "agent.thought"
    text: str
    message_id: str


class AgentStep(SessionEvent, frozen=True, kw_only=True):
    """A tool call of an agent's own, as far as it is described yet; a later event of the same `stepId` replaces it.

    All but the id comes from the agent and has whatever type it sent.
    """

    event = "agent.step"
    step_id: str
    message_id: str | UnsetType = UNSET
    tool: object = UNSET
    status: object = UNSET
    title: object = UNSET
    input: object = UNSET
    output: object = UNSET
    content: object = UNSET
    locations: object = UNSET


class AgentFinished(SessionEvent, frozen=True, kw_only=True):
    """An agent's turn is over: the reason in ACP's words, or "failed", and what it used as far as the agent tells.

    `messageId` is that of the `agent.asked` which it answers; a message that was dropped before its turn has one too.
    """

    event = "agent.finished"
    stop_reason: str
    usage: object
    message_id: str | UnsetType = UNSET


class AgentFailed(SessionEvent, frozen=True, kw_only=True):
    """An agent could not start or could not finish a turn."""

    event = "agent.failed"
    error: str
    hint: str
    code: str
