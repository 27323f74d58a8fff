"""A chat model as an agent: any OpenAI-compatible or Anthropic endpoint, and a small loop of our own around it.

Each turn the model gets the briefing, the conversation and what came of its last commands. It goes on by itself
while there are results it has not seen, up to a limit of rounds, so that it can act, look and act again. History keeps
its answers with their blocks: a model that does not see its own commands repeats them.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from fourhands.agents.briefing.briefing import Briefer
from fourhands.agents.briefing.feedback import turn_message
from fourhands.agents.connectors.base import END_TURN, ROUNDS, Connector, Recollection, StreamedMessage
from fourhands.agents.connectors.completion import deltas, refusal
from fourhands.agents.connectors.launcher import Launcher
from fourhands.agents.connectors.resume import HistoryMessage, ResumeFile
from fourhands.agents.models.dialects import ANTHROPIC, CHAT
from fourhands.agents.models.dialects.deltas import Delta
from fourhands.core.errors import BadArgument, FourhandsError, Unavailable
from fourhands.core.event import Event
from fourhands.providers.upstream_proxy import certificates, proxy_to
from fourhands.workbench.events import AgentReset
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 3.5
"""A cautious guess that needs no tokenizer."""

LAST_ROUND = "This is your last round for this message: tell the person what you found."

MOST_WAIT_S = 120.0
"""An endpoint that wants to be left alone for longer is given up."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The place of a model: its interface, address, name and key."""

    url: str
    model: str
    kind: Literal["openai", "anthropic"] = "openai"
    key: str = field(default="", repr=False)
    max_tokens: int = 4096
    budget_tokens: int = 100_000
    rounds: int = ROUNDS
    retries: int = 4
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise BadArgument(f"a model's address begins with http:// or https://, not {self.url[:60]!r}")
        if not self.model:
            raise BadArgument("no model is named", hint="give it as URL#MODEL, e.g. http://127.0.0.1:11434/v1#llama3")

    @classmethod
    def of(cls, spec: str, env: Mapping[str, str], key_variable: str = "") -> "Endpoint":
        """Read `URL#MODEL` or `anthropic:URL#MODEL`; the key is in a variable that is named, or in one of the usual."""
        anthropic = spec.startswith("anthropic:")
        url, _, model = spec.removeprefix("anthropic:").partition("#")
        usual = ("FOURHANDS_MODEL_KEY", "ANTHROPIC_API_KEY" if anthropic else "OPENAI_API_KEY")
        key = next((env[name] for name in ([key_variable] if key_variable else usual) if env.get(name)), "")
        if key_variable and not key:
            raise BadArgument(f"the environment variable {key_variable} is not set", hint="it is to hold the key")
        return cls(url=url, model=model, kind="anthropic" if anthropic else "openai", key=key)


@contextlib.asynccontextmanager
async def connected(
    endpoint: Endpoint, env: Mapping[str, str], tls: ssl.SSLContext | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client for an endpoint, through the proxy that the environment names, if any."""
    url = httpx.URL(endpoint.url)
    way = proxy_to(url, env)
    verify = (tls or certificates(env)) if url.scheme == "https" else False
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(endpoint.timeout_s, connect=10),
        trust_env=False,
        verify=verify,
        proxy=way.url if way else None,
    ) as client:
        yield client


async def spoken(
    client: httpx.AsyncClient, endpoint: Endpoint, system: str, messages: list[HistoryMessage]
) -> AsyncGenerator[Delta, None]:
    """Ask a model once and yield its answer as it comes."""
    path, headers, body = _request(endpoint, system, messages)
    url = endpoint.url.rstrip("/") + path
    async with client.stream("POST", url, headers=headers, json=body) as response:
        if response.status_code >= 400:
            await _refused(response)
        async for delta in deltas(response, ANTHROPIC if endpoint.kind == "anthropic" else CHAT):
            yield delta


class Busy(Unavailable):
    """The endpoint asks to come back later."""

    def __init__(self, message: str, after_s: float | None) -> None:
        super().__init__(message, hint="retrying automatically; check the endpoint's rate limits")
        self.after_s = after_s


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
    ) -> None:
        super().__init__(bench, session, memory)
        self.endpoint = endpoint
        self.history: list[HistoryMessage] = []
        self._asking = False  # results are on their way to the model: neither told nor untold
        self._commanded = False
        if self.before is not None and self.before.history:
            self.history = self.before.history
        self._briefing = briefing
        self._sleep = sleep
        self._client: httpx.AsyncClient
        self._tls: ssl.SSLContext | None = None

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
        return {"history": fit(self.history, self.endpoint.budget_tokens)}

    def keep(self) -> None:
        """Store the conversation, but not while a message is on its way: then the state before it counts."""
        if not self._asking:
            super().keep()

    @property
    def wants_more(self) -> bool:
        """True if the last answer had commands, whose results the model has not seen."""
        return self._commanded and super().wants_more

    async def round(self, text: str, *, last: bool) -> None:
        """Ask the model once. What it was not told counts as told only when an answer has begun."""
        history = self.history
        told = turn_message(self.session, self.bench.registry, self.bench)
        self._asking, self._commanded = True, False
        parts = [told.framed if told else "", text, LAST_ROUND if last else ""]
        history.append({"role": "user", "content": "\n\n".join(filter(None, parts))})
        try:
            speech = await self._answer(history)
        except BaseException:
            if history[-1]["role"] == "user":  # nothing came back: it counts as not said
                history.pop()
                if told is not None:
                    told.restore()
            raise
        finally:
            self._asking = False
            self.keep()
        self._commanded = speech.commands > 0
        if not speech.raw:
            self._note("the model gave an empty answer")

    async def _answer(self, history: list[HistoryMessage]) -> StreamedMessage:
        """Return one answer of the model; try again while nothing of it has arrived."""
        for attempt in range(self.endpoint.retries + 1):
            speech = StreamedMessage(self)
            try:
                await self._stream(speech, history)
                return speech
            except (httpx.HTTPError, Busy) as error:
                why = str(error) or type(error).__name__
                if speech.raw:
                    speech.end()
                    raise Unavailable(
                        f"the model's response was interrupted: {why}", hint='send "continue" to resume'
                    ) from error
                wait = getattr(error, "after_s", None) or min(30.0, 0.5 * 2**attempt)
                if attempt == self.endpoint.retries or wait > MOST_WAIT_S:
                    raise Unavailable(
                        f"the model at {self.endpoint.url} cannot be reached: {why}",
                        hint="check that it runs, its address, its key and its limits",
                    ) from error
                self._note(f"the model does not answer ({why}); trying again in {wait:g} s")
                await self._sleep(wait)
            except FourhandsError:
                if speech.raw:
                    speech.end()
                raise
            finally:
                if speech.raw or speech.ended:
                    history.append({"role": "assistant", "content": speech.raw or "(no text)"})
        raise AssertionError("unreachable")

    def _happened(self, event: Event) -> None:
        if isinstance(data := event.payload, AgentReset) and data.session == self.session.id:
            self.cancel()
            self.history = []  # another list: what the turn that ends still adds to the old one is gone too
        super()._happened(event)

    async def _stream(self, speech: StreamedMessage, history: list[HistoryMessage]) -> None:
        system = self._briefing(self.session.id)
        messages = fit(history, self.endpoint.budget_tokens - int(len(system) / CHARACTERS_PER_TOKEN))
        self.stop_reason = END_TURN  # what an earlier round ended with is of no interest any more
        async with contextlib.aclosing(spoken(self._client, self.endpoint, system, messages)) as answer:
            async for kind, text in answer:
                if kind == "text":
                    speech.hear(text)  # looks at the clock too: an open block is given up with the next text
                elif kind == "thought":
                    self.think(text, speech.id)
                else:
                    self.stop_reason = text
        speech.end()


async def _refused(response: httpx.Response) -> None:
    status, detail = response.status_code, await refusal(response)
    if status == 429 or status >= 500:
        after = response.headers.get("retry-after", "")
        raise Busy(f"status {status}: {detail}", float(after) if after.replace(".", "", 1).isdigit() else None)
    hint = "check the key" if status in (401, 403) else "check the address and the model's name"
    raise Unavailable(f"the model refused with status {status}: {detail}", hint=hint)


def _request(
    endpoint: Endpoint, system: str, messages: list[HistoryMessage]
) -> tuple[str, dict[str, str], dict[str, object]]:
    if endpoint.kind == "anthropic":
        headers = {"x-api-key": endpoint.key, "anthropic-version": "2023-06-01"}
        body: dict[str, object] = {"model": endpoint.model, "system": system, "messages": messages, "stream": True}
        return "/v1/messages", headers, body | {"max_tokens": endpoint.max_tokens}
    headers = {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    full = [{"role": "system", "content": system}, *messages]
    body = {"model": endpoint.model, "messages": full, "stream": True, "max_tokens": endpoint.max_tokens}
    return "/chat/completions", headers, body


def fit(history: list[HistoryMessage], budget_tokens: int) -> list[HistoryMessage]:
    """Return the newest messages that fit the budget, from a message of the user on; always the last one."""
    left = budget_tokens * CHARACTERS_PER_TOKEN
    first = len(history)
    while first > 0 and (left := left - len(history[first - 1]["content"])) >= 0:
        first -= 1
    first = min(first, len(history) - 1)
    while first < len(history) - 1 and history[first]["role"] != "user":
        first += 1
    return history[first:]


def register(launcher: Launcher) -> None:
    """Let `--agent URL#MODEL` and `--agent anthropic:URL#MODEL` start a chat model."""

    def connect(launcher: Launcher, session: Session, spec: str) -> Connector:
        endpoint = Endpoint.of(spec, launcher.wiring.env)
        memory = launcher.memories.of(session, spec)
        return ChatModel(launcher.bench, session, endpoint, launcher.wiring.briefing, memory=memory)

    launcher.kinds |= dict.fromkeys(("http", "https", "anthropic"), connect)
