"""Credentials: a program's token, one token per agent session, and browsers that exchanged a one-time code.

Tokens are compared in constant time, by their hashes, and never logged. The program's token lies in a 0600 file in the
state directory, where this user's command line finds it, and so does every other program of this user: it opens the
workbench, but it is not the person's hand (`core/gate.py`). A secret of the person's own, which is needed beyond
loopback, opens the same. An agent's token is made of its session's id and that token: nothing need be kept for an agent
to be known again after a crash of the server. Browsers are in `browsers.py`.
"""

import base64
import contextlib
import hmac
import os
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.call import Actor
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.surfaces.browsers import DEFAULT, Browser, Browsers, TokenLimits, digest

__all__ = ["Credential", "TokenLimits", "Tokens", "check_secret", "digest"]

SECRET_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Credential:
    """The actor of an admitted request; `token` is a short hash for counting, not a secret."""

    actor: Actor
    token: str
    browser: Browser | None = None

    @property
    def agent(self) -> bool:
        """True if the actor is an agent; else it is the person in a browser, or a program of theirs."""
        return self.actor.session is not None


def _move(before: Path, now: Path) -> None:
    """Take over the token of version 0.1.0, which had it where it may be swept away."""
    if before != now and before.exists() and not now.exists():
        with contextlib.suppress(OSError):
            shutil.move(before, now)


def check_secret(secret: str) -> None:
    """Refuse a secret that could be guessed or cannot be sent in a header."""
    if len(secret) < SECRET_LENGTH or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise BadArgument(
            f"FOURHANDS_SECRET must have {SECRET_LENGTH} printable ASCII characters or more, without blanks",
            hint="make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )


class Tokens:
    """The secrets of one server."""

    def __init__(
        self,
        runtime: Path,
        state: Path,
        secret: str | None = None,
        seal: bytes | None = None,
        limits: TokenLimits = DEFAULT,
        *,
        clock: Callable[[], float] = time.time,
        user: int | None = None,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._user = os.getuid() if user is None else user
        if secret is not None:
            check_secret(secret)
        self._file = state / "token"
        _move(runtime / "token", self._file)
        # Named by the workspace: cookies are shared by all ports of a host, and so by the servers of all workspaces.
        self.cookie = f"fourhands-{digest(str(runtime))[:8]}"
        own = self._load()
        self._program = [digest(own), *([digest(secret)] if secret else [])]
        self._key = own.encode()
        self._agents: dict[str, Actor] = {}
        self.resume: Callable[[str], Actor | None] = lambda session: None
        self.browsers = Browsers(state / "browsers.json", seal or secrets.token_bytes(32), limits, clock=clock)

    @property
    def file(self) -> Path:
        """The file in which the command line finds its token."""
        return self._file

    def _load(self) -> str:
        """Return the token of this workspace; it is made once, so that it also opens a restarted server."""
        try:
            found = self._file.stat()
            if found.st_uid != self._user or found.st_mode & 0o077:
                raise Unavailable(f"{self._file} is readable by other users", hint="delete it and restart")
            text = self._file.read_text().strip()
            if len(text) >= 32:
                return text
        except FileNotFoundError:
            pass
        text = secrets.token_urlsafe(32)
        AtomicFile(self._file).write(text.encode())
        return text

    def check(self, token: str) -> Credential | None:
        """Return the credential of a bearer token; None if it is not valid."""
        presented = digest(token)
        found: Actor | None = None
        for known in self._program:
            if hmac.compare_digest(presented, known):
                found = Actor.program()
        for known, actor in self._agents.items():
            if hmac.compare_digest(presented, known):
                found = actor
        if found is None:
            found = self._back(token)
        return Credential(found, presented[:16]) if found is not None else None

    def issue(self, actor: Actor) -> str:
        """Return the token of an agent's session; it is valid until `revoke`."""
        token = self._of(actor.id)
        self._agents[digest(token)] = actor
        return token

    def _of(self, session: str) -> str:
        signed = hmac.digest(self._key, f"agent {session}".encode("utf-8", "surrogateescape"), "sha256")
        return f"{session}.{base64.urlsafe_b64encode(signed).decode().rstrip('=')}"

    def _back(self, token: str) -> Actor | None:
        """Return the agent of a token that an earlier server issued, if its session may be resumed."""
        session = token.rpartition(".")[0]
        if not session or not hmac.compare_digest(digest(token), digest(self._of(session))):
            return None
        actor = self.resume(session)
        if actor is not None:
            self._agents[digest(token)] = actor
        return actor

    def revoke(self, session: str) -> None:
        """Make the tokens of an agent's session invalid; called when it has ended."""
        self._agents = {known: actor for known, actor in self._agents.items() if actor.id != session}

    def check_browser(self, cookie: str, key: str) -> Credential | None:
        """Return the credential of a browser; None unless cookie and key belong together."""
        browser = self.browsers.find(cookie, key)
        if browser is None:
            return None
        return Credential(Actor.person(f"person-{browser.id}"), browser.cookie[:16], browser)
