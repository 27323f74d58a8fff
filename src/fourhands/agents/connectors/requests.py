"""The requests of a chat model: what they say, and how they change when its endpoint refuses one.

An endpoint may know no tools, or one of a few options; a conversation may not fit into its context. Each is learnt from
a refusal, told to the person, and not tried again.
"""

import json
import re
from collections.abc import Callable

from fourhands.agents.connectors import conversation
from fourhands.agents.connectors.endpoint import CHARACTERS_PER_TOKEN, Endpoint
from fourhands.agents.connectors.refusals import (
    Refused,
    context_limit,
    knows_no_tools,
    knows_no_usage,
    too_long,
    wants_newer_limit,
)
from fourhands.agents.connectors.tool_calls import functions
from fourhands.agents.connectors.traits import KnownEndpoints
from fourhands.agents.models.history import HistoryMessage, ModelRequest, ToolFunction, without_tools
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

SMALLER_TRIES = 3
"""A conversation that does not fit is made smaller and sent again so many times."""

_LEAST = 16  # tokens of an answer, however small the context is
_MARGIN = 0.9  # of a context, since tokens are estimated
# Tool calls that came as text, since the server does not know the form in which its model writes them.
_CALLS_AS_TEXT = re.compile(r"<tool_call>|<function=\w|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call", re.IGNORECASE)


class Requests:
    """The requests to one endpoint for one session."""

    def __init__(
        self, bench: Workbench, session: Session, endpoint: Endpoint, known: KnownEndpoints, note: Callable[[str], None]
    ) -> None:
        self.endpoint = endpoint
        self.tools_work = False
        """True as soon as the model has made a tool call: then no refusal means that it cannot."""
        self._bench = bench
        self._session = session
        self._known = known
        self._note = note

    @property
    def tools(self) -> bool:
        """True if the model acts by tool calls."""
        return self._mode == "tools" or (self._mode == "auto" and self._known.of(self.endpoint.name).tools)

    @property
    def max_tokens(self) -> int:
        """The tokens of one answer, which is not to take up a small context."""
        context = self._known.of(self.endpoint.name).context
        return min(self.endpoint.max_tokens, max(context // 4, _LEAST)) if context else self.endpoint.max_tokens

    @property
    def room(self) -> float:
        """The characters of a request."""
        context = self._known.of(self.endpoint.name).context
        tokens = min(self.endpoint.budget_tokens, (context - self.max_tokens) * _MARGIN if context else 10**9)
        return tokens * CHARACTERS_PER_TOKEN

    def make(self, history: list[HistoryMessage], system: str, *, tools: bool) -> ModelRequest:
        """Return the next request; a conversation that has grown too large is made smaller for good."""
        offered: tuple[ToolFunction, ...] = functions(self._bench) if tools else ()
        fixed = len(system) + sum(len(one.description) + len(json.dumps(one.parameters)) for one in offered)
        room = max(self.room - fixed, self.room / 4)
        if conversation.characters(history) > room:
            self._make_smaller(history, room)
        traits = self._known.of(self.endpoint.name)
        return ModelRequest(
            model=self.endpoint.model,
            system=system,
            messages=history if tools else without_tools(history),
            tools=offered,
            max_tokens=self.max_tokens,
            usage=traits.usage,
            newer_limit=traits.newer_limit,
        )

    def adapt(self, error: Refused, history: list[HistoryMessage], *, tools: bool, tries: int) -> bool:
        """Change the next request such that the endpoint may take it; False if there is nothing to change."""
        status, said, name = error.status, error.said, self.endpoint.name
        traits = self._known.of(name)
        if traits.usage and knows_no_usage(status, said):
            self._known.learn(name, usage=False)
        elif not traits.newer_limit and wants_newer_limit(status, said):
            self._known.learn(name, newer_limit=True)
        elif too_long(status, said):
            return tries < SMALLER_TRIES and self._fit_into(context_limit(said), history)
        elif tools and not self.tools_work and knows_no_tools(status, said):
            return self._give_up_tools("does not take tool calls")
        else:
            return False
        return True

    def ignored(self, text: str) -> bool:
        """Return True, and go on with blocks, if calls came as text: then the endpoint ignores tools."""
        seems = not self.tools_work and _CALLS_AS_TEXT.search(text) is not None
        return seems and self._give_up_tools("passes on tool calls as plain text")

    @property
    def _mode(self) -> str:
        return self._session.state.mode or self.endpoint.mode

    def _give_up_tools(self, why: str) -> bool:
        if self._mode != "auto":
            return False
        self._known.learn(self.endpoint.name, tools=False)
        self._note(f"the endpoint {why}; the agent goes on with command blocks in its text")
        return True

    def _fit_into(self, limit: int | None, history: list[HistoryMessage]) -> bool:
        """Make a conversation smaller that the endpoint has refused; False if that changes nothing."""
        answer = self.max_tokens
        if limit is not None and limit != self._known.of(self.endpoint.name).context:
            self._known.learn(self.endpoint.name, context=limit)
        room = conversation.characters(history) * 0.8
        changed = self._make_smaller(history, min(room, self.room) if limit is not None else room)
        return changed or self.max_tokens < answer

    def _make_smaller(self, history: list[HistoryMessage], room: float) -> bool:
        """Shorten and leave out older parts of the conversation, and say so."""
        made = conversation.smaller(history, room)
        if not (made.shortened or made.left_out):
            return False
        history[:] = made.messages
        self._note(f"the conversation no longer fits into the model's context: {made}; the model is told")
        return True
