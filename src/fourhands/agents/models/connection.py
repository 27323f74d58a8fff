"""One HTTP/1.1 connection to a model's server, and the answer that is being read from it.

Made for a proxy: an answer's bytes are handed over as they come, everything that has come at once in one piece, and no
faster than they are taken. Whatever breaks is an `OSError`, a server that says nothing for too long a `TimeoutError`.
A connection serves one request at a time; it may serve another when the answer was read to its end.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence

import httptools

Headers = list[tuple[bytes, bytes]]

MOST_HEAD = 256 * 1024
MOST_UNREAD = 256 * 1024
PIECE = 256 * 1024
"""Bytes of a request that are written before the server must have taken some of them."""


_TICK_S = 0.001  # uvloop counts its time in these: a timer may ring that much too early, as the clock has it


class Unheard(ConnectionError):
    """The server closed the connection before anything of its answer had come."""


class Response:
    """An answer whose head has been read; `read` gives its body. The caller closes it."""

    def __init__(self, connection: "UpstreamConnection", silence_s: float, *, bodiless: bool) -> None:
        self.status = 0
        self.headers: Headers = []
        """Names are in lower case."""
        self.whole = False
        self.lasting = False  # whether the connection may be used again
        self.connection = connection
        self.silence_s = silence_s  # how long the server may say nothing
        self._bodiless = bodiless
        self._parser = httptools.HttpResponseParser(self)
        self._headed = False
        self._head_size = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._begun = False
        self._problem: OSError | None = None
        self._wake: asyncio.Future[None] | None = None
        self._since: float | None = None  # when the wait for the server began

    def header(self, name: bytes) -> str:
        """One header, or an empty text."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")

    @property
    def is_success(self) -> bool:
        """True if the server did what it was asked."""
        return 200 <= self.status < 300

    @property
    def unread(self) -> int:
        """Bytes of the body that have come and were not read."""
        return self._size

    async def head(self) -> None:
        """Wait for the answer's head."""
        while not self._headed:
            await self._wait(None)

    async def read(self, within_s: float | None = None) -> bytes | None:
        """Return what has come of the body; b"" at its end only, None if nothing came within this time."""
        while not self._parts:
            if self.whole:
                return b""
            if not await self._wait(within_s):
                return None
        if not self._begun:
            # Alone, though more may be there: what comes first is passed on before the rest is worked on.
            self._begun = True
            data = self._parts.pop(0)
            self._size -= len(data)
            return data
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts, self._size = [], 0
        self.connection.resume_reading()
        return data

    def close(self) -> None:
        """Done with it: the connection is kept for the next request, or closed if anything of the answer is left."""
        self.connection.release(self, reusable=self.whole and self.lasting)

    async def _wait(self, within_s: float | None) -> bool:
        """Wait until something happens; False if nothing did within this time."""
        if self._problem is not None:
            raise self._problem
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._since is None:
            self._since = now
        left = self._since + self.silence_s - now
        self._wake = loop.create_future()
        timer = loop.call_later(left if within_s is None else min(left, within_s), self._rouse)
        try:
            await self._wake
        finally:
            timer.cancel()
            self._wake = None
        if self._since is not None and loop.time() - self._since >= self.silence_s - _TICK_S:
            raise TimeoutError(f"no data received for {self.silence_s:g} s")
        return self._since is None

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # What the connection tells.

    def feed(self, data: bytes) -> None:
        """Bytes have come."""
        if not self._headed:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.lasting = False
            if not self.whole:
                self.fail(ConnectionError(f"its answer is not understood: {error}"))
            return
        if not self._headed and self._head_size > MOST_HEAD:
            self.fail(ConnectionError(f"the head of its answer is longer than {MOST_HEAD} bytes"))
        elif self._headed:
            self._since = None
            self._rouse()
            if self._size > MOST_UNREAD:
                self.connection.pause_reading()

    def lost(self, problem: Exception | None) -> None:
        """Take the loss of the connection: the end of an answer of unstated length, a failure of any other."""
        self.lasting = False
        told = any(name in (b"content-length", b"transfer-encoding") for name, _ in self.headers)
        if self._headed and not told and problem is None:
            self.whole = True
            self._since = None
            self._rouse()
        elif not self.whole:
            where = "in the middle of its answer" if self._headed else "without an answer"
            why = f": {problem}" if problem is not None and str(problem) else ""
            kind = ConnectionError if self._head_size else Unheard
            self.fail(kind(f"connection closed {where}{why}"))

    def fail(self, problem: OSError) -> None:
        """Nothing more will come."""
        if self._problem is None:
            self._problem = problem
        self._since = None
        self._rouse()

    # What the parser tells.

    def on_message_begin(self) -> None:
        """Note that something comes behind the end of the answer, unasked."""
        if self.whole:
            self.lasting = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; those behind the body are dropped."""
        if not self._headed:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Take the head of the answer; that of an interim response (1xx) is ignored."""
        if self.whole or (status := self._parser.get_status_code()) < 200:
            return
        self.status = status
        self._headed = True
        self.lasting = self._parser.should_keep_alive() and not self._bodiless
        self.whole = self._bodiless

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        if not self.whole:
            self._parts.append(data)
            self._size += len(data)

    def on_message_complete(self) -> None:
        """Take the end of the answer, or of an interim response."""
        if self._headed:
            self.whole = True
        else:
            self.headers.clear()


class UpstreamConnection(asyncio.Protocol):
    """A connection, told by `released` when it is free again or gone."""

    def __init__(self, released: Callable[["UpstreamConnection", bool], None]) -> None:
        self._released = released
        self._transport: asyncio.Transport
        self._response: Response | None = None
        self.paused = False  # reading: more has come than was taken
        self._full = False  # writing
        self._drained: asyncio.Future[None] | None = None
        self._gone = False

    async def ask(self, head: bytes, content: bytes, silence_s: float, *, bodiless: bool) -> Response:
        """Send a request and wait for the head of its answer."""
        response = self._response = Response(self, silence_s, bodiless=bodiless)
        try:
            if len(content) <= PIECE:
                self._transport.write(head + content)
            else:
                self._transport.write(head)
                await self._send(memoryview(content), silence_s)
            await response.head()
        except BaseException:
            response.close()
            raise
        return response

    async def secure(self, tls: ssl.SSLContext, name: str) -> None:
        """Speak TLS from here on, with whom a proxy has connected us to in answer to what was asked last."""
        self._response = None
        loop = asyncio.get_running_loop()
        transport = await loop.start_tls(self._transport, self, tls, server_hostname=name)
        if transport is None or self._gone:
            raise ConnectionError("connection closed during the TLS handshake")
        self._transport = transport

    async def _send(self, content: memoryview, silence_s: float) -> None:
        """Write piece by piece, so that a server that takes nothing is noticed, and one that takes it slowly is not."""
        for start in range(0, len(content), PIECE):
            # A server may answer before it has heard everything: too large, no such key.
            if self._gone or (self._response is not None and self._response.status):
                return
            self._transport.write(content[start : start + PIECE])
            if self._full:
                self._drained = asyncio.get_running_loop().create_future()
                async with asyncio.timeout(silence_s):
                    await self._drained

    def release(self, response: Response, *, reusable: bool) -> None:
        """End the use of an answer; the connection is kept if it can be used again, else aborted."""
        if self._response is not response:
            return
        self._response = None
        self.resume_reading()
        reusable = reusable and not self._full and not self._gone
        if not reusable:
            self.abort()
        self._released(self, reusable)

    def abort(self) -> None:
        """Close it at once."""
        self._transport.abort()

    def pause_reading(self) -> None:
        """More has come than was taken."""
        if not self.paused and not self._gone:
            self.paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again: what came was taken."""
        if self.paused and not self._gone:
            self.paused = False
            self._transport.resume_reading()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a stream has no other
        """Take the transport of the open connection."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Pass the bytes on; an idle connection that says something is closed."""
        if self._response is not None:
            self._response.feed(data)
        else:
            self.abort()

    def connection_lost(self, problem: Exception | None) -> None:
        """Report the loss of the connection to the answer and to the pool."""
        self._gone = True
        self.resume_writing()
        if self._response is not None:
            self._response.lost(problem)
        self._released(self, False)

    def pause_writing(self) -> None:
        """Stop writing: the server does not keep up."""
        self._full = True

    def resume_writing(self) -> None:
        """Continue writing: the server has caught up."""
        self._full = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)


def head_of(method: str, target: bytes, host: bytes, headers: Sequence[tuple[bytes, bytes]], length: int) -> bytes:
    """Build the head of a request; `headers` have no host and no length."""
    lines = [b"%s %s HTTP/1.1\r\nhost: %s" % (method.encode("ascii"), target, host)]
    lines += [name + b": " + value for name, value in headers]
    if length or method in ("POST", "PUT", "PATCH"):
        lines.append(b"content-length: %d" % length)
    return b"\r\n".join(lines) + b"\r\n\r\n"
