"""Secrets of a host: the one that its clients show, and small secrets that it keeps for its server.

The same user id is not enough to be a client: programs in a sandbox have it too. So each host writes a secret of its
own to a file in the state directory, which no sandbox shows, and a client sends what stands there with its first
request. Secrets kept for a server are in memory only; they last as long as the host, so that a server that is started
again has them, and one client at a time gets them: as long as the server is connected, no other program does.
"""

import contextlib
import hmac
import os
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from fourhands.host.connection import HostConnection
from fourhands.host.protocol import Message

if TYPE_CHECKING:
    from collections.abc import Collection

KEPT_MOST = 16
"""Number of secrets that a host keeps."""

_LONGEST = 256


def secret_file(state: str) -> str:
    """Return the file in which a host leaves its secret for its clients."""
    return f"{state}/host.secret"


def shown_secret(state: str) -> str:
    """Return the secret that a client has to show; empty where there is none, as with a host of an older version."""
    try:
        with open(secret_file(state), encoding="ascii") as file:
            return file.read(_LONGEST)
    except (OSError, ValueError):
        return ""


class Keeping:
    """The secrets of one host."""

    def __init__(self) -> None:
        self._own = secrets.token_urlsafe(32)
        self._kept: dict[str, str] = {}
        self._holder: HostConnection | None = None

    def publish(self, state: str) -> None:
        """Leave the host's secret where its clients find it, for this user only."""
        if shown_secret(state) == self._own:
            return
        path = secret_file(state)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}.new")
        fd = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, self._own.encode())
        finally:
            os.close(fd)
        os.rename(f"{path}.new", path)

    def admits(self, message: Message) -> bool:
        """Return True if a first request shows the secret."""
        return hmac.compare_digest(str(message.get("secret", "")).encode("utf-8", "replace"), self._own.encode())

    def keep(self, client: HostConnection, clients: "Collection[HostConnection]", message: Message) -> str:
        """Return the secret of a name, which is the one that the client offers if none was kept yet."""
        if self._holder is not client and self._holder in clients:
            raise ValueError("another client of this host has its secrets")
        name, offer = str(message["name"])[:_LONGEST], str(message["offer"])[:_LONGEST]
        if name not in self._kept and len(self._kept) >= KEPT_MOST:
            raise ValueError(f"this host keeps {KEPT_MOST} secrets, and no more")
        self._holder = client
        return self._kept.setdefault(name, offer)


REFUSAL: Message = {
    "error": {
        "kind": "secret",
        "message": "this host wants its secret, which stands in the file host.secret of its state directory; "
        "a client of an earlier version does not show it",
    }
}
"""The answer to a first request without the secret."""


class KeepRequests:
    """The request `keep`, for the class of all requests."""

    keeping: Keeping
    clients: dict[int, HostConnection]

    def _do_keep(self, client: HostConnection, message: Message, reply: Callable[..., None]) -> None:
        """Keep a small secret for the server, or give it the one that is kept."""
        reply({"secret": self.keeping.keep(client, self.clients.values(), message)})
