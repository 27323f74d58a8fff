"""What was sent over HTTP lately, so that a client whose connection broke gets what it missed: the end of a long call.

One for each MCP session: streams are named by the client's own request ids, which two clients may share.
"""

from collections import OrderedDict

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage

LIMIT_BYTES = 1024 * 1024
"""Of a session's messages; the last one is kept however long it is."""

PRIMING_BYTES = 64


class Replay(EventStore):
    """The last messages of one session, by numbers that only grow."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[str, JSONRPCMessage | None, int]] = OrderedDict()
        self._next = 1
        self._bytes = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep a message and return its number; what is oldest goes when there is too much."""
        number, self._next = self._next, self._next + 1
        size = PRIMING_BYTES if message is None else len(message.model_dump_json(by_alias=True))
        self._kept[number] = (stream_id, message, size)
        self._bytes += size
        while self._bytes > LIMIT_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][2]
        return str(number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came after a message on the same stream; None where that message is not known any more."""
        last = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else 0
        if last not in self._kept:
            return None
        stream = self._kept[last][0]
        for number, (its_stream, message, _) in list(self._kept.items()):
            if number > last and its_stream == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
