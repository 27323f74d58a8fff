"""All that this surface uses of the MCP SDK's inside, where it has no public way; read in version `READ_IN`.

A test fails when another version is installed: then this file is to be read again beside the SDK.
"""

from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

READ_IN = "2.3.0"

Context = ServerRequestContext[None, Request]


def mcp_session(context: Context) -> str | None:
    """Return the id of the MCP session of a request; None on pipes and in the generation without sessions.

    Not from the request's header: in the generation without sessions the SDK does not look at it, so that a client
    could name another client's session there. `Context.session_id` would be the public way, but handlers get no
    `Context` (`mcp/server/context.py`).
    """
    return context.session._connection.session_id


def on_disconnect(context: Context, action: Callable[[], None]) -> None:
    """Call `action` when the connection of a request ends (`mcp/server/connection.py`, `exit_stack`)."""
    context.session._connection.exit_stack.callback(action)


class SessionManager(StreamableHTTPSessionManager):
    """The SDK's session manager, with a store of sent messages for each session instead of one for all.

    Streams are named by the client's own request ids, which two clients may share. The attribute is read once by each
    session as it begins (`mcp/server/streamable_http_manager.py`).
    """

    def __init__(self, new_store: Callable[[], EventStore], **options: Any) -> None:
        self._new_store = new_store
        super().__init__(**options)

    @property
    def event_store(self) -> EventStore | None:
        """A new store."""
        return self._new_store()

    @event_store.setter
    def event_store(self, _: EventStore | None) -> None:
        """Ignore the SDK's own initial value."""
