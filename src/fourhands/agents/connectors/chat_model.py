"""A chat model as an agent: any OpenAI-compatible or Anthropic endpoint, and a small loop of our own around it.

Each turn the model gets the briefing, the conversation and what came of its last commands. It acts by tool calls
where its endpoint has them, else by blocks in its text. It goes on by itself while there are results it has not seen,
up to a limit of rounds, so that it can act, look and act again. History keeps its answers with their calls and blocks:
a model that does not see its own commands repeats them.
"""

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from msgspec import UNSET

from fourhands.agents.briefing.briefing import Briefer
from fourhands.agents.briefing.feedback import turn_message
from fourhands.agents.briefing.project import ProjectBriefing, joined
from fourhands.agents.connectors import conversation
from fourhands.agents.connectors.base import END_TURN, Connector, Recollection, StreamedMessage
from fourhands.agents.connectors.completion import spoken
from fourhands.agents.connectors.conversation import fit
from fourhands.agents.connectors.endpoint import CHARACTERS_PER_TOKEN, Endpoint, connected
from fourhands.agents.connectors.launcher import Launcher
from fourhands.agents.connectors.model_list import models_at
from fourhands.agents.connectors.refusals import Busy, CutOff, Refused, too_long
from fourhands.agents.connectors.requests import Requests
from fourhands.agents.connectors.resume import ResumeFile
from fourhands.agents.connectors.tool_calls import ToolRunner
from fourhands.agents.connectors.traits import KnownEndpoints
from fourhands.agents.connectors.usage import AgentUsage, added, cost_of, merged
from fourhands.agents.models.dialects.calls import CallCollector, ToolCall
from fourhands.agents.models.dialects.deltas import CallPiece, Stop, Text, Thought, Used
from fourhands.agents.models.dialects.framed import framed
from fourhands.agents.models.history import NO_TEXT, HistoryMessage
from fourhands.core.call_events import CallFinished
from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.core.event import Event
from fourhands.core.ids import ulid
from fourhands.core.queue import SessionStopped
from fourhands.providers.upstream_proxy import certificates
from fourhands.workbench.events import AgentReset
from fourhands.workbench.sessions import Session, SessionUsage
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

LAST_ROUND = "This is your last round for this message: tell the person what you found."
TOOL_USE = "tool_use"
MAX_TOKENS = "max_tokens"
REFUSAL = "refusal"

MOST_WAIT_S = 120.0
"""An endpoint that wants to be left alone for longer is given up."""

AS_TEXT = (
    "Your tool call came as plain text and did not run: this endpoint passes no tools on. Act by command blocks in "
    "your text, as the instructions say."
)
DECLINED = "not run: the answer was declined"


@dataclass(slots=True)
class _Heard:
    """One answer, while it is heard."""

    speech: StreamedMessage
    calls: CallCollector = field(default_factory=CallCollector)
    used: Used = field(default_factory=Used)
    reason: str = END_TURN
    made: list[ToolCall] = field(default_factory=list)

    @property
    def begun(self) -> bool:
        """True if the person has seen something of it."""
        return bool(self.speech.raw)

    def give_up(self) -> None:
        """End an answer that was interrupted."""
        if self.begun:
            self.speech.end()

    def message(self) -> HistoryMessage:
        """Return what the model has said; calls of an answer that was interrupted are no part of it."""
        written = [json.dumps(call.arguments, ensure_ascii=False) for call in self.made]
        return conversation.assistant(self.speech.raw or ("" if self.made else NO_TEXT), self.made, written)


class ChatModel(Connector):
    """An agent that is nothing but a model behind an endpoint."""

    def __init__(
        self,
        bench: Workbench,
        session: Session,
        endpoint: Endpoint,
        briefing: Briefer,
        *,
        sleep: Callable[[float], Any] = asyncio.sleep,
        memory: ResumeFile | None = None,
        known: KnownEndpoints | None = None,
    ) -> None:
        super().__init__(bench, session, memory)
        self.history: list[HistoryMessage] = []
        self._asking = False  # results are on their way to the model: neither told nor untold
        self._commanded = False
        if self.before is not None and self.before.history:
            self.history = conversation.answered(self.before.history)
        self._briefing = briefing
        self._project = ProjectBriefing(bench, session)
        self._sleep = sleep
        self._requests = Requests(bench, session, endpoint, known or KnownEndpoints(), self._note)
        self._runner = ToolRunner(bench, session, self.tasks)
        self._client: httpx.AsyncClient
        self._tls: ssl.SSLContext | None = None

    @property
    def endpoint(self) -> Endpoint:
        """The model that is asked; another one is asked from the next turn on."""
        return self._requests.endpoint

    @endpoint.setter
    def endpoint(self, endpoint: Endpoint) -> None:
        self._requests.endpoint = endpoint

    @property
    def rounds(self) -> int:
        """The endpoint's own limit."""
        return self.endpoint.rounds

    async def open(self) -> None:
        """Note that the model goes on with an earlier conversation, if there is one."""
        if self.history:
            self.goes_on()

    async def turn(self, text: str) -> None:
        """Answer one message, in as many rounds as the model's commands need."""
        env = self.bench.terminals.env
        if self.endpoint.url.startswith("https:"):
            self._tls = self._tls or certificates(env)  # loading them takes longer than all the rest
        async with connected(self.endpoint, env, self._tls) as self._client:
            await self.run_rounds(text)

    def recollection(self) -> Recollection:
        """Return the conversation, as far as the model would be sent it."""
        return {"history": fit(self.history, self._requests.room)}

    def keep(self) -> None:
        """Store the conversation, but not while a message is on its way: then the state before it counts."""
        if not self._asking:
            super().keep()

    @property
    def wants_more(self) -> bool:
        """True if the last answer had commands, whose results the model has not seen."""
        return self._commanded and ((self.history[-1:] and self.history[-1]["role"] == "tool") or super().wants_more)

    # -- rounds ----------------------------------------------------------------------------------------------------

    async def round(self, text: str, *, last: bool) -> None:
        """Ask the model once. What it was not told counts as told only when an answer has begun."""
        history = self.history
        await self._project.look()
        told, news = turn_message(self.session, self.bench.registry, self.bench), self._project.news()
        self._asking, self._commanded = True, False
        ours = [told.framed if told else "", framed(news.text) if news else ""]
        content = "\n\n".join(filter(None, [*ours, text, LAST_ROUND if last else ""]))
        asked: HistoryMessage | None = None
        if content or not history or history[-1]["role"] != "tool":
            asked = {"role": "user", "content": content}
            history.append(asked)
        try:
            heard = await self._answer(history)
        except BaseException:
            if history and history[-1] is asked:  # nothing came back: it counts as not said
                history.pop()
                if told is not None:
                    told.restore()
                if news is not None:
                    news.restore()
            raise
        finally:
            self._asking = False
            self.keep()
        if heard.made:
            await self._run(history, heard)
        acted = heard.speech.commands > 0 or bool(heard.made)
        self._commanded = acted and heard.reason not in (MAX_TOKENS, REFUSAL)
        self._conclude(heard)

    async def _run(self, history: list[HistoryMessage], heard: _Heard) -> None:
        """Run an answer's tool calls; each has its result in the history, whatever comes between."""
        left = {call.id: call for call in heard.made}
        stopped, why = False, DECLINED if heard.reason == REFUSAL else conversation.NOT_FINISHED
        try:
            if heard.reason != REFUSAL:
                async for one in self._runner.run(heard.made, f"answer:{ulid()}"):
                    del left[one.call_id]
                    history.append(conversation.result(one.call_id, one.text, failed=not one.ok))
                    stopped = stopped or one.stopped
                    self.keep()
        finally:
            history += [conversation.result(id, why, failed=True) for id in left]
            self.keep()
        if stopped:
            raise SessionStopped("stopped")

    def _conclude(self, heard: _Heard) -> None:
        """Tell the person why an answer ended, where it did not end by itself."""
        self.stop_reason = END_TURN if heard.reason == TOOL_USE else heard.reason
        if heard.reason == MAX_TOKENS:
            self._note(
                f"the answer was cut off: it reached the limit of {self._requests.max_tokens} tokens for one answer, "
                'or the end of the model\'s context; send "continue" to go on'
            )
        elif heard.reason == REFUSAL:
            self._note("the model, or a filter of its endpoint, declined to answer")
        elif not heard.begun and not heard.made:
            self._note("the model gave an empty answer")
        if heard.calls.passed:
            self._note(f"{heard.calls.passed} tool calls of one answer were too many and are left out")

    async def _answer(self, history: list[HistoryMessage]) -> _Heard:
        """Return one answer of the model; try again while nothing of it has arrived."""
        attempt = smaller = 0
        while True:
            tools = self._requests.tools
            heard = _Heard(StreamedMessage(self))
            try:
                await self._stream(heard, history, tools=tools)
            except Refused as error:
                if heard.begun or not self._requests.adapt(error, history, tools=tools, tries=smaller):
                    heard.give_up()
                    raise
                smaller += too_long(error.status, error.said)
            except (httpx.HTTPError, Busy, CutOff) as error:
                if heard.begun:
                    heard.give_up()
                    raise error if isinstance(error, CutOff) else CutOff(_words(error)) from error
                await self._wait(error, attempt)
                attempt += 1
            except FourhandsError:
                heard.give_up()
                raise
            finally:  # also where the person stops it: what they have seen, the model has said
                if heard.begun or heard.speech.ended:
                    history.append(heard.message())
            if heard.speech.ended:
                if not (tools and not heard.made and self._requests.ignored(heard.speech.raw)):
                    return heard
                history.append({"role": "user", "content": AS_TEXT})

    async def _wait(self, error: Exception, attempt: int) -> None:
        """Wait before the next try, or give up."""
        why = _words(error)
        wait = getattr(error, "after_s", None)
        wait = min(30.0, 0.5 * 2**attempt) if wait is None else wait
        if attempt >= self.endpoint.retries or wait > MOST_WAIT_S:
            asks = f"; it asks to come back in {wait:.0f} s" if wait > MOST_WAIT_S else ""
            raise Unavailable(
                f"the model at {self.endpoint.url} cannot be reached: {why}{asks}",
                hint="check that it runs, its address, its key and its limits",
            ) from error
        self._note(f"the model does not answer ({why}); trying again in {wait:g} s")
        await self._sleep(wait)

    # -- one request -----------------------------------------------------------------------------------------------

    async def _stream(self, heard: _Heard, history: list[HistoryMessage], *, tools: bool) -> None:
        project = self._project.text(self._requests.room / CHARACTERS_PER_TOKEN)
        system = joined((self._briefing(self.session.id, tools=tools), project))
        request = self._requests.make(history, system, tools=tools)
        self.stop_reason = END_TURN  # what an earlier round ended with is of no interest any more
        async with contextlib.aclosing(spoken(self._client, self.endpoint, request)) as answer:
            async for delta in answer:
                if isinstance(delta, Text):
                    heard.speech.hear(delta.text)  # looks at the clock too: an open block is given up with the next
                elif isinstance(delta, Thought):
                    self.think(delta.text, heard.speech.id)
                elif isinstance(delta, CallPiece):
                    heard.calls.take(delta)
                elif isinstance(delta, Used):
                    heard.used = merged(heard.used, delta)
                elif isinstance(delta, Stop):
                    heard.reason = delta.text
        heard.made = heard.calls.finish(call["id"] for one in history for call in one.get("calls", ()))
        heard.speech.end()
        self._requests.tools_work = self._requests.tools_work or bool(heard.made)
        self._count(heard.used)

    def _count(self, used: Used) -> None:
        """Tell what an answer has used, and add it to the session's."""
        if used.read is None and used.written is None and used.cost is None:
            return
        cost = cost_of(used, self.endpoint.price)
        total = self.session.usage = added(self.session.usage or SessionUsage(), used, cost)
        told = AgentUsage(
            session=self.session.id,
            model=self.endpoint.model,
            input_tokens=used.read or 0,
            output_tokens=used.written or 0,
            cached_tokens=used.cached or 0,
            cost=UNSET if cost is None else cost,
            total=total,
        )
        sofar = self.usage if isinstance(self.usage, dict) else {}
        answer = {
            "inputTokens": told.input_tokens,
            "outputTokens": told.output_tokens,
            "cachedTokens": told.cached_tokens,
        }
        self.usage = {name: sofar.get(name, 0) + number for name, number in answer.items()}  # of the whole turn
        self._emit(told)

    def _happened(self, event: Event) -> None:
        if isinstance(data := event.payload, AgentReset) and data.session == self.session.id:
            self.cancel()
            self.history = []  # another list: what the turn that ends still adds to the old one is gone too
            self._project.forget()
        elif isinstance(data, CallFinished) and data.session == self.session.id:
            self._project.note(data)
        super()._happened(event)


def _words(error: Exception) -> str:
    return error.message if isinstance(error, FourhandsError) else str(error) or type(error).__name__


def register(launcher: Launcher) -> None:
    """Let `--agent URL#MODEL` and `--agent anthropic:URL#MODEL` start a chat model."""
    known = KnownEndpoints(Path(launcher.bench.terminals.places.state) / "endpoints.json")

    def connect(launcher: Launcher, session: Session, spec: str) -> Connector:
        chosen = launcher.bench.settings.of_agent(session.name, session.connector)
        endpoint = Endpoint.of(spec, launcher.wiring.env).configured(chosen)
        memory = launcher.memories.of(session, spec)
        return ChatModel(launcher.bench, session, endpoint, launcher.wiring.briefing, memory=memory, known=known)

    launcher.kinds |= dict.fromkeys(("http", "https", "anthropic"), connect)
    launcher.model_sources |= dict.fromkeys(("http", "https", "anthropic"), models_at)
