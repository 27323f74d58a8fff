"""The clients that are here: each has an agent's session, begun when it comes and ended when it goes.

A client on a pipe is one connection. Over HTTP it is the MCP session's id, or, in the generation without sessions, its
token and name, until it has been quiet for long. A client that brings an agent's own token works in that session, and
leaves it as it is when it goes.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, Implementation, LoggingLevel
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from fourhands.core.errors import LimitReached, NotFound
from fourhands.core.event import Dispose
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.pending_call import PendingCall
from fourhands.surfaces.mcp.sdk import Context, mcp_session, on_disconnect
from fourhands.surfaces.mcp.terms import Terms, welcome
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

NAME_LENGTH = 60


class McpClient:
    """One connected client: its agent session, its suspended calls, its watched resources and its channel.

    `speaks` is True if its forms are shown to the person. The holder of an agent's token may be the agent itself, and
    an agent never answers: such a client does not speak for the person, unless allowed when the token was made.
    """

    def __init__(self, session: Session, *, owned: bool, speaks: bool) -> None:
        self.session = session
        self.owned = owned
        self.speaks = speaks
        self.suspended: dict[str, PendingCall] = {}
        self.watched: dict[str, Dispose] = {}
        self.level: LoggingLevel | None = None
        self.channel: ServerSession | None = None
        self.requests = 0
        self.idle: asyncio.TimerHandle | None = None

    @property
    def told(self) -> ServerSession | None:
        """The way to tell it news unasked, which only the older generation has."""
        modern = self.channel is not None and self.channel.protocol_version in MODERN_PROTOCOL_VERSIONS
        return None if modern else self.channel

    def gone(self) -> None:
        """Cancel its suspended calls and stop its watches."""
        for exchange in self.suspended.values():
            exchange.cancel()
        self.suspended.clear()
        for stop in self.watched.values():
            stop()
        self.watched.clear()
        if self.idle is not None:
            self.idle.cancel()


class McpClients:
    """Finds the client of a request. On a pipe all requests are of one client, whom `principal` names if it is known.

    `forms` is shared by all transports of a server; new sessions begin on these `terms`.
    """

    def __init__(
        self,
        bench: Workbench,
        tasks: Tasks,
        *,
        pipe: bool = False,
        principal: Credential | None = None,
        forms: Forms | None = None,
        limits: McpLimits = DEFAULT,
        terms: Terms | None = None,
    ) -> None:
        self._bench = bench
        self._tasks = tasks
        self._terms = terms or Terms()
        self._pipe = pipe
        self._principal = principal
        self.forms = forms or Forms()
        self._limits = limits
        self._peers: dict[str, McpClient] = {}
        self._listener: Callable[[Session], None] = self._ended
        bench.on_session_end.append(self._listener)

    def __iter__(self) -> Iterator[McpClient]:
        return iter(list(self._peers.values()))

    def find(self, context: Context) -> McpClient:
        """Return the client of this request; a new one begins its session."""
        principal = self._principal if self._pipe else _principal(context)
        key = self._key(context, principal)
        peer = self._peers.get(key)
        if peer is None:
            peer = self._peers[key] = self._welcome(context, principal)
            if not self._pipe and mcp_session(context) is not None:
                on_disconnect(context, lambda: self._leave(key))
        if peer.session.ended:
            raise MCPError(INVALID_REQUEST, "this agent's session was ended by the person; connect anew to begin one")
        peer.channel = context.session
        self.rest(peer)
        return peer

    def rest(self, peer: McpClient) -> None:
        """Count from now how long a client without a connection is quiet."""
        if peer.idle is not None:
            peer.idle.cancel()
            peer.idle = None
        for key, known in self._peers.items():
            if known is peer and key.startswith("token:"):
                peer.idle = asyncio.get_running_loop().call_later(self._limits.idle_s, self._quiet, key)

    @contextlib.contextmanager
    def busy(self, peer: McpClient) -> Iterator[None]:
        """Count a client as active for the length of this block."""
        peer.requests += 1
        try:
            yield
        finally:
            peer.requests -= 1
            self.rest(peer)

    async def close(self) -> None:
        """Disconnect all clients."""
        self._bench.on_session_end.remove(self._listener)
        peers, self._peers = list(self._peers.values()), {}
        for peer in peers:
            peer.gone()
            await self._end(peer)

    def _welcome(self, context: Context, principal: Credential | None) -> McpClient:
        if principal is not None and principal.actor.session is not None:
            session = self._bench.sessions.find(principal.actor.session)
            if session is None:
                raise MCPError(INVALID_REQUEST, "the session of this token has ended")
            return McpClient(session, owned=False, speaks=self.forms.allowed(session.id))
        try:
            session = welcome(self._bench, self._tasks, self._terms, _name(context))
            return McpClient(session, owned=True, speaks=self._terms.ask_by in (None, "forms"))
        except LimitReached as error:
            raise MCPError(INVALID_REQUEST, f"{error.message}; {error.hint}") from error

    def _key(self, context: Context, principal: Credential | None) -> str:
        if self._pipe:
            return "pipe"
        if (session := mcp_session(context)) is not None:
            return f"session:{session}"
        assert principal is not None
        return f"token:{principal.token}:{_name(context)}"

    def _quiet(self, key: str) -> None:
        if key in self._peers and not self._peers[key].requests:  # the end of what it waits for counts anew
            self._leave(key)

    def _leave(self, key: str) -> None:
        peer = self._peers.pop(key, None)
        if peer is not None:
            peer.gone()
            self._tasks.start(self._end(peer), f"end of {peer.session.name}")

    async def _end(self, peer: McpClient) -> None:
        if peer.owned and not peer.session.ended:
            try:
                await self._bench.disconnect_session(peer.session.id)
            except NotFound:
                log.debug("session %s has ended already", peer.session.id)

    def _ended(self, session: Session) -> None:
        """Forget a client whose session the person ended, so that its next request begins a new one."""
        for key, peer in list(self._peers.items()):
            if peer.session is session and key.startswith("token:"):
                del self._peers[key]
                peer.gone()


def _principal(context: Context) -> Credential | None:
    principal: Credential | None = context.request.state.principal if context.request is not None else None
    return principal


def _name(context: Context) -> str:
    params = context.session.client_params
    info: Implementation | None = params.client_info if params is not None else None
    name = "".join(char if char.isprintable() else " " for char in info.name).strip() if info else ""
    return name[:NAME_LENGTH] or "mcp client"
