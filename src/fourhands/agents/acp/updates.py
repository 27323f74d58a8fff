"""An ACP agent's reports of its turn (session/update) as events of the workbench, in order.

Text goes through the interceptor, so that blocks are taken out and run; thoughts, tool calls, plans, usage, modes and
commands become events of their own. Unknown kinds, of newer agents, are logged and left alone.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from fourhands.agents.acp.content import text_of
from fourhands.agents.acp.events import AgentOffered, AgentPlanned, AgentUsed
from fourhands.agents.acp.permissions import shortened
from fourhands.agents.acp.session import AcpSession, Emit
from fourhands.agents.blocks.interceptor import Interceptor
from fourhands.agents.connectors.base import Connector, StreamedMessage
from fourhands.agents.connectors.events import AgentAsked, AgentStep
from fourhands.core.bounded import BoundedDict

log = logging.getLogger(__name__)

_STEPS = 500
_ENDED = frozenset({"completed", "failed", "cancelled"})
_HISTORY = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan"}
)


class Updates:
    """Follows one agent's session. `replaying` is set while old history comes in, which must not run again.

    `muted` is set while it is history that the chat shows already.
    """

    def __init__(self, conversation: Connector, acp: AcpSession, emit: Emit) -> None:
        self.replaying = False
        self.muted = False
        self.commands = 0
        self._conversation = conversation
        self._emit = emit
        self._speech: StreamedMessage | None = None
        self._key: object = None
        self._history = Interceptor()
        self._steps: BoundedDict[str, dict[str, Any]] = BoundedDict(_STEPS)
        id = conversation.session.id
        self._takers: dict[str, Callable[[dict[str, Any]], None]] = {
            "agent_message_chunk": self._said,
            "agent_thought_chunk": self._thought,
            "user_message_chunk": self._echoed,
            "tool_call": self._step,
            "tool_call_update": self._step,
            "plan": lambda update: emit(AgentPlanned(session=id, entries=shortened(update.get("entries", [])))),
            "available_commands_update": lambda update: emit(
                AgentOffered(session=id, commands=shortened(update.get("availableCommands", [])))
            ),
            "current_mode_update": lambda update: acp.take_mode(update.get("currentModeId")),
            "config_option_update": lambda update: acp.take_options(update.get("configOptions")),
            "session_info_update": lambda update: acp.take_title(update.get("title")),
            "usage_update": lambda update: emit(
                AgentUsed(session=id, used=update.get("used"), size=update.get("size"), cost=update.get("cost"))
            ),
        }

    def take(self, update: object) -> None:
        """Take one update."""
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        taker = self._takers.get(kind) if isinstance(kind, str) else None
        if taker is None or not isinstance(update, dict):
            log.info("%s sent an unknown update: %.200r", self._conversation.session.name, update)
            return
        if not self.muted or kind not in _HISTORY:
            taker(update)

    def known(self, step_id: str) -> Mapping[str, Any]:
        """Return what was reported of a tool call so far."""
        return self._steps.get(step_id, {})

    def flush(self) -> None:
        """End the current message: say the rest of it."""
        if self._speech is not None:
            speech, self._speech = self._speech, None
            speech.end()
            self.commands += speech.commands

    def cancel(self) -> None:
        """Mark the steps that have not ended as cancelled, with their turn."""
        for step in list(self._steps.values()):
            if step.get("status") not in _ENDED:
                self._step({**step, "status": "cancelled"})

    def _said(self, update: dict[str, Any]) -> None:
        text = text_of(update.get("content"))
        if self.replaying or update.get("again"):
            # Blocks in old history have run once, as have those of a message that is told in other words.
            self._conversation.say(self._history.feed(text).visible, str(update.get("messageId") or "history"))
            return
        key = update.get("messageId")
        if self._speech is None or key != self._key:
            self.flush()
            self._speech, self._key = StreamedMessage(self._conversation), key
        self._speech.hear(text)

    def _thought(self, update: dict[str, Any]) -> None:
        self._conversation.think(text_of(update.get("content")), str(update.get("messageId") or "thought"))

    def _echoed(self, update: dict[str, Any]) -> None:
        if self.replaying:  # otherwise it is what the person has just said
            text, id = text_of(update.get("content")), str(update.get("messageId") or "")
            self._emit(AgentAsked(session=self._conversation.session.id, text=text, message_id=id))

    def _step(self, update: dict[str, Any]) -> None:
        self.flush()
        id = update.get("toolCallId")
        if not isinstance(id, str):
            log.info("%s sent a tool call without an id", self._conversation.session.name)
            return
        said = {name: shortened(value) for name, value in update.items() if value is not None and name in _MEMBERS}
        step = self._steps[id] = {**self._steps.get(id, {}), **said}
        names = {"kind": "tool", "rawInput": "input", "rawOutput": "output"}  # the same words for every connector
        told = {names.get(name, name): value for name, value in step.items() if name != "toolCallId"}
        self._emit(AgentStep(session=self._conversation.session.id, step_id=id, **told))


_MEMBERS = frozenset({"toolCallId", "title", "kind", "status", "content", "locations", "rawInput", "rawOutput"})
