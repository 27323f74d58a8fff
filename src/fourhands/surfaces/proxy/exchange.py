"""One request of an agent to its model, and the answer: what is changed on the way, and what is passed on as it is.

Everything that can go wrong on our side becomes an error that is marked as ours; what goes wrong at the model's server
is passed on: its refusals as they are, its breaking off as a connection that breaks.
"""

import asyncio
import contextlib
import json
import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import msgspec
from starlette.types import Scope, Send

from fourhands.agents.blocks.answer import ResponseBlocks
from fourhands.agents.connectors.base import END_TURN, tell_finished
from fourhands.agents.models.breaker import BreakerTrial, Resting
from fourhands.agents.models.connection import Headers, Response
from fourhands.agents.models.decompress import ENCODINGS, ByteSource, Inflated
from fourhands.agents.models.dialects import DIALECTS, Dialect, Filtered, ResponseFilter
from fourhands.agents.models.dialects.framing import BodyFilter
from fourhands.agents.models.upstream import Upstream
from fourhands.core.errors import FourhandsError, LimitReached, NotFound
from fourhands.surfaces.proxy.errors import ProxyError
from fourhands.surfaces.proxy.memory import Telling
from fourhands.workbench.sessions import Session

if TYPE_CHECKING:
    from fourhands.surfaces.proxy.app import Proxy

log = logging.getLogger(__name__)

_PLACES = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "anthropic"}
_COUNTS = "/v1/messages/count_tokens"
_FAMILY = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "gemini"}

_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade content-length".split()
)
_NOT_SENT = _HOP | frozenset(
    b"host expect authorization x-api-key x-goog-api-key cookie origin referer x-fourhands-key".split()
)
# Valid for the other server, wrong for ours: a browser would take them as said by this origin.
_NOT_RETURNED = _HOP | frozenset(b"set-cookie strict-transport-security alt-svc content-security-policy".split())


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of an agent; `dialect` is None where nothing is changed, `counts` is of one that is to be counted."""

    family: str
    dialect: Dialect | None
    counts: Dialect | None
    method: str
    path: bytes
    query: bytes
    headers: Headers

    @classmethod
    def of(cls, scope: Scope) -> "Asked":
        """Read a request's head."""
        path, method = scope["path"], scope["method"]
        name = _PLACES.get(path.rstrip("/"), "")
        if path.endswith((":generateContent", ":streamGenerateContent")):
            name = "gemini"
        headers: Headers = scope["headers"]
        dialect = DIALECTS[name] if name and method == "POST" else None
        family = _FAMILY.get(name) or _family(path, {key for key, _ in headers})
        raw = scope.get("raw_path") or path.encode()
        counts = DIALECTS["anthropic"] if path.rstrip("/") == _COUNTS and method == "POST" else None
        return cls(family, dialect, counts, method, raw, _without_key(scope.get("query_string", b"")), headers)


class ProxyExchange:
    """One request and its answer."""

    def __init__(self, proxy: "Proxy", asked: Asked, session: Session, send: Send) -> None:
        self._proxy = proxy
        self._asked = asked
        self._session = session
        self._send = send
        self.over = False  # nothing is left but to clean up, which a cancellation would break off
        self._started = False
        self._broken = False  # the answer does not come to its end
        self._whole_answer = False
        self._aside = False
        self._telling: Telling | None = None
        self._spoken: ResponseFilter | None = None

    async def run(self, content: bytes) -> None:
        """Forward the request and pass the answer on; whatever goes wrong on our side is said as ours."""
        try:
            await self._forward(content)
        except ProxyError as error:
            await self._say(error)
        except Resting as error:
            await self._say(ProxyError(503, error.message, error.hint, wait_s=error.wait_s))
        except NotFound as error:
            await self._say(ProxyError(404, error.message, error.hint))
        except FourhandsError as error:
            await self._say(ProxyError(502, error.message, error.hint))
        except Exception:
            log.exception("a request of %s to its model failed", self._session.id)
            await self._say(ProxyError(500, "the proxy failed", "its log has the details"))

    async def _say(self, error: ProxyError) -> None:
        log.warning("%s: %s", self._session.id, error)
        if not self._started:  # later the only thing that can still be said is a broken connection
            self._started = True
            await refuse(self._send, self._asked.family, error)

    async def _forward(self, content: bytes) -> None:
        asked = self._asked
        remote = self._proxy.upstreams.find(asked.family, asked.dialect.name if asked.dialect else "")
        trial = remote.breaker.admit()
        delivered = False
        try:
            if asked.dialect is not None:
                content = await self._instructed(asked.dialect, content)
            elif asked.counts is not None:
                content = self._counted(asked.counts, content)
            response = await self._ask(remote, trial, content)
            try:
                if response.is_success and self._telling is not None:
                    self._telling.delivered()
                    delivered = True
                await self._return(response)
            finally:
                self.over = True
                response.close()
        finally:
            trial.abandoned()
            self._remember(delivered=delivered)

    def _remember(self, *, delivered: bool) -> None:
        """Note what the model said, as far as it came, or that the request has failed."""
        if self._telling is None:
            return
        if not delivered:
            self._telling.failed()
        else:
            spoken, record = self._spoken, self._telling.record
            record.remote = spoken.message_id if spoken is not None else ""
            record.answered(spoken.texts if spoken is not None else (), broken=not self._whole_answer)
        self._proxy.memory.end(self._session, self._telling)

    def _counted(self, dialect: Dialect, content: bytes) -> bytes:
        """Return a request to count tokens as the model would be asked now; nothing new is told in it."""
        body = _object(content)
        if body is None or any(key == b"content-encoding" for key, _ in self._asked.headers):
            return content
        memory = self._proxy.memory
        story = memory.read(self._session, dialect.name, body)
        text = "" if memory.aside(self._session, body, story) else self._proxy.hub.briefing(self._session.id)
        if story is not None:
            story.tell("")
            body = story.body(body)
        return _json(dialect.instruct(body, text))

    async def _instructed(self, dialect: Dialect, content: bytes) -> bytes:
        """Return the request with the briefing, the story that its history is of, and what is new."""
        if any(key == b"content-encoding" for key, _ in self._asked.headers):
            raise ProxyError(415, "a compressed request cannot be given instructions", "send it uncompressed")
        body = _object(content)
        if body is None:
            return content  # the model's server has a better answer to nonsense than we do
        memory = self._proxy.memory
        story = memory.read(self._session, dialect.name, body)
        self._aside = memory.aside(self._session, body, story)
        if not self._aside:
            await self._settled()
            text = self._proxy.hub.briefing(self._session.id)
            story = memory.read(self._session, dialect.name, body)  # others may have gone on meanwhile
        if story is not None:
            if self._aside:
                story.tell("")
            else:
                self._telling = memory.tell(self._session, body, story)
            body = story.body(body)
        return _json(dialect.instruct(body, "" if self._aside else text))

    async def _settled(self) -> None:
        """Return when the commands of the answer before have run, or take too long."""
        runner = self._proxy.runner(self._session)
        if runner.busy:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._proxy.limits.settle_s):
                    await runner.finished()

    async def _ask(self, remote: Upstream, trial: BreakerTrial, content: bytes) -> Response:
        asked = self._asked
        if any(part in (b"..", b".") for part in asked.path.lower().replace(b"%2e", b".").split(b"/")):
            raise ProxyError(400, "path is outside the API")
        named = _named(asked.headers)
        unsent = _NOT_SENT | named | {remote.key_header.encode()}
        headers = [(key, value) for key, value in asked.headers if key not in unsent]
        if asked.dialect is not None:
            headers = [(key, value) for key, value in headers if key != b"accept-encoding"]
            headers.append((b"accept-encoding", b"identity"))
        try:
            response = await remote.send(asked.method, remote.target(asked.path, asked.query), headers, content)
        except TimeoutError as error:
            trial.failed("no answer in time")
            raise ProxyError(504, f"the model's server {remote.name!r} does not answer in time") from error
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            trial.failed(why)
            raise ProxyError(502, f"the model's server {remote.name!r} cannot be reached: {why}") from error
        if response.status >= 500:
            trial.failed(f"status {response.status}")
        else:
            trial.succeeded()
        return response

    async def _return(self, response: Response) -> None:
        dialect = self._asked.dialect
        if dialect is None or not response.is_success:
            await self._pass(response)
            return
        encoding = response.header(b"content-encoding").strip().lower()
        if encoding not in ("identity", "", *ENCODINGS):
            raise ProxyError(502, f"the model's server sent unrequested encoding {encoding[:40]!r}")
        source = Inflated(response) if encoding in ENCODINGS else response
        answer_filter = dialect.filter(response.header(b"content-type"), self._proxy.now, self._proxy.limits.dialect)
        self._spoken = answer_filter
        stop_reason = "failed"
        try:
            with self._proxy.answer(self._session) as answer:
                if self._telling is not None:
                    self._telling.record.calls = answer.calls
                if isinstance(answer_filter, BodyFilter):
                    await self._whole(response, source, answer_filter, answer)
                else:
                    await self._stream(response, source, answer_filter, answer)
            self._whole_answer = not self._broken
            stop_reason = "failed" if self._broken else END_TURN
        except asyncio.CancelledError:
            stop_reason = "cancelled"
            raise
        finally:
            # An agent that a connector talks to has its turns told by that one; of others we see single answers only.
            if not self._aside and self._session.id not in self._proxy.bench.prompters:
                tell_finished(self._proxy.bench, self._session, stop_reason)

    async def _pass(self, response: Response) -> None:
        """Pass on unchanged an answer that is an error, or not a model's."""
        await self._start(response, [(key, value) for key, value in response.headers if key == b"content-length"])
        while data := await self._read(response):
            await self._body(data)
        if not self._broken:
            await self._end()

    async def _whole(
        self, response: Response, source: ByteSource, answer_filter: ResponseFilter, answer: ResponseBlocks
    ) -> None:
        while data := await self._read(source):
            self._feed(answer_filter, data)
        if self._broken:
            raise ProxyError(502, "the model's server closed the connection during its answer")
        given = answer_filter.close()
        self._take(given, answer)
        await self._start(response, [(b"content-length", str(len(given.data)).encode())])
        await self._end(given.data)

    async def _stream(
        self, response: Response, source: ByteSource, answer_filter: ResponseFilter, answer: ResponseBlocks
    ) -> None:
        await self._start(response, [])
        tick_s, first = self._proxy.limits.tick_s, True
        while (data := await self._read(source, tick_s if answer_filter.waiting else None)) != b"":
            given = answer_filter.tick() if data is None else self._feed(answer_filter, data)
            self._take(given, answer)
            if given.data:
                await self._body(given.data)
                if first:
                    # It has left. On few processors its reader waits until we are through with the burst behind
                    # it, unless we stand back for once.
                    first = False
                    os.sched_yield()
        given = answer_filter.close()
        self._take(given, answer)
        if not self._broken:
            await self._end(given.data)
        elif given.data:
            await self._body(given.data)

    async def _read(self, source: ByteSource, within_s: float | None = None) -> bytes | None:
        """Return the next piece as it arrives; b"" at the end, also after a broken connection."""
        if self._broken:
            return b""
        try:
            return await source.read(within_s)
        except OSError as error:
            log.warning("%s: the model's server closed the connection: %s", self._session.id, error)
            self._broken = True
            return b""

    def _feed(self, answer_filter: ResponseFilter, data: bytes) -> Filtered:
        try:
            return answer_filter.feed(data)
        except LimitReached as error:
            log.warning("%s: %s", self._session.id, error)
            self._broken = True
            return Filtered()

    def _take(self, given: Filtered, answer: ResponseBlocks) -> None:
        if self._aside:
            return
        if given.commands:
            answer.take(given.commands[0].message_id, [taken.command for taken in given.commands])
        if given.dropped:
            answer.drop(given.dropped)

    async def _start(self, response: Response, more: Headers) -> None:
        raw = response.headers
        unreturned = _NOT_RETURNED | _named(raw)
        if self._asked.dialect is not None and response.is_success:
            unreturned |= {b"content-encoding"}
        kept = [(k, v) for k, v in raw if k not in unreturned and not k.startswith(b"access-control-")]
        self._started = True
        await self._send({"type": "http.response.start", "status": response.status, "headers": [*kept, *more]})

    async def _body(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self, data: bytes = b"") -> None:
        self.over = True  # after the last byte the server tells the watcher that it is all over
        await self._send({"type": "http.response.body", "body": data})


def _family(path: str, headers: set[bytes]) -> str:
    """Return the family of interfaces that an unknown request speaks."""
    if path.startswith("/v1beta/") or b"x-goog-api-key" in headers:
        return "gemini"
    if path.startswith("/v1/messages") or not headers.isdisjoint((b"anthropic-version", b"x-api-key")):
        return "anthropic"
    return "openai"


def _without_key(query: bytes) -> bytes:
    """Remove the API key that Gemini's clients may put into a query."""
    parts = query.split(b"&") if query else []
    return b"&".join(p for p in parts if unquote_plus(p.partition(b"=")[0].decode("latin-1")) != "key")


def _named(headers: Headers) -> frozenset[bytes]:
    """Headers that concern one connection only, because its `Connection` header says so."""
    lists = [value for key, value in headers if key == b"connection"]
    return frozenset(name.strip().lower() for value in lists for name in value.split(b","))


async def refuse(send: Send, family: str, error: ProxyError) -> None:
    """Answer with an error of ours."""
    body = error.body(family)
    headers = [*error.headers(), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        body = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            body = json.loads(content)  # half a surrogate pair, or NaN, which some clients send
        except (ValueError, RecursionError):
            return None
    return body if isinstance(body, dict) else None


def _json(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body).encode()
