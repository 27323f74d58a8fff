"""The connection to an ACP agent. To the rest it speaks version 1, whatever both sides have agreed on.

The client offers the newest version that it was made with; an agent that answers with an older one gets that. Where
version 2 is spoken, `Version2` puts requests and answers into the other form, and a turn lasts until the agent says
that it is idle: its answer to the prompt only tells that it was taken.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from fourhands.agents.acp.jsonrpc import Params, PeerGone, RpcConnection, RpcHandler, RpcListener
from fourhands.agents.acp.version2 import Version2
from fourhands.core.errors import Unsupported

log = logging.getLogger(__name__)

VERSIONS: Final = (1, 2)
"""The versions of the protocol that can be spoken; the last is a draft."""

_SERVED = ("session/request_permission", "elicitation/create")
_UPDATE = "session/update"


class _Turn:
    """A prompt of version 2, from its request to the state that ends it."""

    def __init__(self) -> None:
        self.accepted = False
        self.running = False
        self.ended: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def state(self, update: Mapping[str, Any]) -> None:
        """Take note of a state of the agent's."""
        if update.get("state") == "running":
            self.running = True
        if update.get("state") != "idle" or self.ended.done():
            return
        # An idle state from before the prompt was taken ends other work: the agent may work without being asked.
        if self.running or (self.accepted and update.get("stopReason")):
            self.ended.set_result({name: update[name] for name in ("stopReason", "usage") if update.get(name)})


class AcpPeer(RpcConnection):
    """One connection; `newest` is the version to offer. `methods` and `notifications` are those of version 1."""

    def __init__(
        self,
        *streams: Any,
        newest: int = 1,
        methods: Mapping[str, RpcHandler],
        notifications: Mapping[str, RpcListener],
        **options: Any,
    ) -> None:
        super().__init__(*streams, methods=methods, notifications=notifications, **options)
        self.version = 1
        self._newest = newest
        self._handlers = dict(methods)
        self._listeners = dict(notifications)
        self._wire: Version2 | None = None
        self._turn: _Turn | None = None

    async def request(self, method: str, params: Mapping[str, object] | None = None) -> Any:
        """Ask in words of version 1, and return the result in these."""
        if method == "initialize":
            return await self._agree(params or {})
        if self._wire is None:
            return await super().request(method, params)
        if method == "session/prompt":
            return await self._prompt(params)
        answer = await super().request(*self._wire.request(method, params or {}))
        return self._wire.answer(answer)

    def close(self) -> None:
        """End it, and with it a turn that has not ended."""
        if self._turn is not None and not self._turn.ended.done():
            self._turn.ended.set_exception(PeerGone(f"{self.name} closed the connection before it ended its turn"))
            self._turn.ended.exception()  # or it would be logged as never retrieved
        super().close()

    async def _agree(self, params: Mapping[str, object]) -> Any:
        newest = self._newest
        # In the words of both: an agent of version 1 looks for its own, and passes over the others.
        asked = params if newest == 1 else Version2.introduced(params)
        answer = await super().request("initialize", {"protocolVersion": newest, **asked})
        if not isinstance(answer, dict):
            raise Unsupported(f"{self.name} answered initialize with {answer!r:.100}: this is not ACP")
        version = answer.get("protocolVersion")
        if not isinstance(version, int) or isinstance(version, bool) or version not in VERSIONS[:newest]:
            hint = f"use a release of it that supports version {newest}"
            if version == VERSIONS[-1]:
                hint = f"set acpVersion = {version} in [agents.NAME] of your settings to try that draft"
            spoken = " and ".join(map(str, VERSIONS[:newest]))
            raise Unsupported(
                f"{self.name} uses ACP version {version!r:.50}; Fourhands supports {spoken} with it", hint=hint
            )
        self.version = version
        if self.version == 1:
            return answer
        wire = self._wire = Version2(self.name)
        served: dict[str, RpcHandler] = {name: self._handlers[name] for name in _SERVED if name in self._handlers}
        if (ask := served.get("session/request_permission")) is not None:
            served["session/request_permission"] = lambda request: ask(self._permission(wire, request))
        listened = {**self._listeners, _UPDATE: lambda update: self._updated(wire, update)}
        self.narrow(served, listened)
        return wire.introduction(answer)

    async def _prompt(self, params: Mapping[str, object] | None) -> dict[str, Any]:
        turn = self._turn = _Turn()
        try:
            await super().request("session/prompt", params)
            turn.accepted = True
            return await turn.ended
        finally:
            self._turn = None

    def _updated(self, wire: Version2, params: Params) -> None:
        update = params.get("update")
        if not isinstance(update, dict):
            log.info("%s sent an update that is none: %.200r", self.name, params)
        elif update.get("sessionUpdate") == "state_update":
            if self._turn is not None:
                self._turn.state(update)
        else:
            for one in wire.updates.take(update):
                self._listeners[_UPDATE]({**params, "update": one})

    def _permission(self, wire: Version2, params: Params) -> Params:
        """Return a request in words of version 1; what it says of its tool call counts as an update of that."""
        asked = wire.permission(params)
        if wire.about_step(params):
            self._updated(wire, {**params, "update": {**asked["toolCall"], "sessionUpdate": "tool_call_update"}})
        return asked
