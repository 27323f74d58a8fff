"""ASGI middleware that checks Host, Origin and token, in this order, before routing. Refusals are logged.

Loopback proves nothing: any web page can send requests there. So the Host must be exactly one of this server's, the
Origin exactly one of them too (absent only with a bearer token, or for a GET or HEAD that is not an upgrade), and
everything but `/health`, the code exchange and the page's static files needs a token.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fourhands.safety.paths.errors import IN_PIECES
from fourhands.surfaces.auth import Credential, Tokens

log = logging.getLogger(__name__)

KEY_HEADER = "x-fourhands-key"
KEY_PROTOCOL = "fourhands.key."
"""A browser's WebSocket cannot set headers: its key comes as a subprotocol of this form, beside `fourhands`."""

PROXY_ROUTES = ("/v1/", "/v1beta/")
READING = ("GET", "HEAD")
OPEN_ROUTES = {"/health": READING, "/api/browser": ("POST",)}
SCRIPT = "script"
"""The key of a request's state under which the page leaves the digest of its inline script."""


@dataclass(frozen=True, slots=True)
class AccessLimits:
    """The open connections of one token, and the size and duration of a request's body."""

    sockets: int = 64
    """Open WebSockets of one token."""

    requests: int = 256
    """Requests of one token that are not answered yet."""

    calls: int = 64
    """Calls of one WebSocket at once."""

    body: int = 1024 * 1024
    """Bytes of a body."""

    proxy_body: int = 64 * 1024 * 1024
    """Bytes of a body for the proxy: whole conversations with pictures."""

    body_s: float = 30.0
    """The time in which a whole body must arrive."""

    def body_of(self, scope: Scope) -> int:
        """Return the limit of a request's body in bytes."""
        return self.proxy_body if scope["path"].startswith(PROXY_ROUTES) else self.body


DEFAULT = AccessLimits()


def _policy(script: bytes) -> tuple[bytes, bytes]:
    # Monaco and xterm.js write style attributes: the one exception. Workers are files of our own.
    return (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'" + script + b"; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
        b"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )


OPENER_POLICY = b"cross-origin-opener-policy", b"same-origin"
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    _policy(b""),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    OPENER_POLICY,
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)

WITHOUT_OPENER = tuple(header for header in SECURITY_HEADERS[1:] if header != OPENER_POLICY)
"""For a window that no other page holds: all but the policy of the contents, which the page has its own of."""


class AccessDenied(Exception):
    """Not let in: a status, a stable code and what to do."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint

    @property
    def body(self) -> bytes:
        """The answer in the form of every failed call."""
        return msgspec.json.encode({"success": False, "error": self.message, "code": self.code, "hint": self.hint})

    @property
    def challenge(self) -> list[tuple[bytes, bytes]]:
        """The header that a 401 must have; MCP clients look for it."""
        told = b' error="invalid_token"' if self.code == "bad-token" else b' realm="fourhands"'
        return [(b"www-authenticate", b"Bearer" + told)] if self.status == 401 else []


class AccessControl:
    """An ASGI application around another one; what it lets through has a `Credential` in its scope, or is public."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        *,
        hosts: Iterable[str],
        behind_tls: Iterable[str] = (),
        public: Iterable[str] = (),
        limits: AccessLimits = DEFAULT,
    ) -> None:
        """`behind_tls` are the hosts among `hosts` that a proxy may serve by TLS: their pages may be of https too."""
        self._app = app
        self._tokens = tokens
        self._hosts = frozenset(hosts)
        self._behind_tls = frozenset(behind_tls)
        self._public = frozenset(public)
        self._limits = limits
        self._open: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in or refuse."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            principal = self._admit(scope)
        except AccessDenied as refusal:
            log.warning(
                "refused %s %.200r from %s: %s",
                scope.get("method", "upgrade"),
                scope["path"],
                (scope.get("client") or ("?",))[0],
                refusal.message,
            )
            await _refuse(scope, receive, send, refusal)
            return
        scope.setdefault("state", {})["principal"] = principal
        if scope["type"] == "http":
            body = BoundedBody(receive, _with_headers(send, scope), self._limits.body_of(scope), self._limits.body_s)
            receive, send = body.receive, body.send
        if principal is None:
            await self._app(scope, receive, send)
            return
        key = scope["type"], principal.token
        self._open[key] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    def _admit(self, scope: Scope) -> Credential | None:
        headers = _headers(scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        upgrade = scope["type"] == "websocket"
        if host not in self._hosts:
            raise AccessDenied(421, "bad-host", f"unknown host {host[:100]!r}", "use the address printed at start")
        if origin is not None and origin not in self._origins_of(host):
            raise AccessDenied(403, "bad-origin", f"origin {origin[:100]!r} is not allowed")
        principal, bearer = self._identify(scope, headers)
        if principal is None and (upgrade or not self._is_open(scope)):
            if bearer:
                hint = "an agent's token ends with its session; `fourhands doctor` says where the person's lies"
                raise AccessDenied(401, "bad-token", "invalid token", hint)
            hint = "programs: Authorization: Bearer TOKEN; browsers: run `fourhands open` for a fresh link"
            raise AccessDenied(401, "no-token", "missing token", hint)
        plain = not upgrade and scope.get("method") in READING
        if origin is None and not bearer and not plain:
            raise AccessDenied(403, "bad-origin", "missing Origin header or bearer token")
        kind, most = scope["type"], self._limits.sockets if upgrade else self._limits.requests
        if principal is not None and self._open[kind, principal.token] >= most:
            raise AccessDenied(
                429, "limit", f"too many open {'sockets' if upgrade else 'requests'}: the limit of a token is {most}"
            )
        if length := headers.get("content-length"):
            limit = self._limits.body_of(scope)
            if not (length.isascii() and length.isdigit() and len(length) <= 15) or int(length) > limit:
                raise AccessDenied(
                    413, "too-large", f"request body is {length[:20]} bytes; the limit is {limit}", IN_PIECES
                )
        return principal

    def _origins_of(self, host: str) -> tuple[str, ...]:
        """Return the origins whose pages may ask for this host: only its own, a request never crosses hosts."""
        own = f"http://{host}"
        return (own, f"https://{host}") if host in self._behind_tls else (own,)

    def _is_open(self, scope: Scope) -> bool:
        path, method = scope["path"], scope.get("method")
        if path in OPEN_ROUTES:
            return method in OPEN_ROUTES[path]
        return method in READING and (path in self._public or path.startswith("/assets/"))

    def _identify(self, scope: Scope, headers: dict[str, str]) -> tuple[Credential | None, bool]:
        """Return the credential, and True if a bearer token was presented, which no browser sends by itself.

        After a wrong token the cookie is not tried.
        """
        scheme, _, token = headers.get("authorization", "").partition(" ")
        candidates = [token.strip()] if scheme.lower() == "bearer" else []
        if scope["path"].startswith(PROXY_ROUTES):
            candidates += [headers.get("x-api-key", ""), headers.get("x-goog-api-key", "")]
            candidates += parse_qs(scope.get("query_string", b"").decode("latin-1")).get("key", [])
        shown = [candidate for candidate in candidates if candidate]
        for candidate in shown:
            if (principal := self._tokens.check(candidate)) is not None:
                return principal, True
        if shown:
            return None, True
        cookie, key = _cookie(headers.get("cookie", ""), self._tokens.cookie), headers.get(KEY_HEADER, "")
        for name in headers.get("sec-websocket-protocol", "").split(","):
            if name.strip().startswith(KEY_PROTOCOL):
                key = name.strip()[len(KEY_PROTOCOL) :]
        if cookie and key:
            return self._tokens.check_browser(cookie, key), False
        return None, False


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        text = value.decode("latin-1")
        if name in ("host", "origin", "authorization", "content-length") and name in headers:
            raise AccessDenied(400, "bad-request", f"duplicate header {name}")
        headers[name] = f"{headers[name]},{text}" if name in headers else text
    return headers


def _cookie(header: str, name: str) -> str:
    """Return one cookie of many; programs on other ports set cookies too, in forms that `http.cookies` rejects."""
    for pair in header.split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value.strip('"')
    return ""


def _with_headers(send: Send, scope: Scope) -> Send:
    """Add the headers of every answer. The page has one script of its own inside: its digest comes in the state."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            script = scope.get("state", {}).get(SCRIPT)
            policy = _policy(b" '" + script + b"'") if script else SECURITY_HEADERS[0]
            rest = SECURITY_HEADERS[1:] if _has_opener(scope) else WITHOUT_OPENER
            message["headers"] = [*message.get("headers", ()), policy, *rest]
        await send(message)

    return sending


def _has_opener(scope: Scope) -> bool:
    """Return True if another page may hold the window that asks: not if the person or this page opened it.

    To cut off an opener, a browser starts another process. Where there is no opener, that is only a delay.
    """
    return not any(name == b"sec-fetch-site" and site in (b"none", b"same-origin") for name, site in scope["headers"])


class BoundedBody:
    """A request's body, refused while it comes if it is longer than allowed without saying so, or too slow.

    The application sees a disconnect and whatever it answers to that is dropped: the client gets the refusal.
    """

    def __init__(self, receive: Receive, send: Send, limit: int, limit_s: float) -> None:
        self._receive, self._send, self._limit, self._limit_s = receive, send, limit, limit_s
        self._taken = 0
        self._deadline: float | None = None
        self._complete = self._answered = self._refused = False

    async def receive(self) -> Message:
        """Return the next part."""
        if self._refused:
            return {"type": "http.disconnect"}
        if self._complete:
            return await self._receive()
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._limit_s
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            return await self._end(
                AccessDenied(408, "timeout", f"timed out after {self._limit_s:g} s waiting for the request body")
            )
        if message["type"] == "http.request":
            self._taken += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._taken > self._limit:
                return await self._end(
                    AccessDenied(413, "too-large", f"request body is larger than {self._limit} bytes", IN_PIECES)
                )
        return message

    async def _end(self, refusal: AccessDenied) -> Message:
        self._refused = True
        log.warning("refused in the middle of a request: %s", refusal.message)
        if not self._answered:
            await _answer(self._send, refusal, closing=True)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Answer, unless that has been done."""
        if not self._refused:
            self._answered = True
            await self._send(message)


async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: AccessDenied) -> None:
    if scope["type"] == "http":
        names = {name for name, _ in scope["headers"]}
        # The body will not be read: a client may not keep the connection busy with it.
        closing = bool(names & {b"content-length", b"transfer-encoding"})
        await _answer(_with_headers(send, {"headers": scope["headers"]}), refusal, closing=closing)
        return
    await receive()
    if "websocket.http.response" in scope.get("extensions", {}):
        headers = [(b"content-type", b"application/json"), *refusal.challenge, *SECURITY_HEADERS]
        await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": refusal.body})
    else:
        await send({"type": "websocket.close", "code": 1008})


async def _answer(send: Send, refusal: AccessDenied, *, closing: bool) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(refusal.body)).encode())]
    headers += refusal.challenge
    if closing:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})
