"""Calls of clients on their way through the gate: begun, followed, asked about, and come back to.

In the older generation a request waits for its call and asks its client meanwhile; in the newer one it is answered with
what must be asked, and the client's next request finds the call again.
"""

import asyncio
import logging
import time

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import INVALID_PARAMS, ElicitResult, InputRequiredResult, InputResponses

from fourhands.core.call import Call, Result
from fourhands.core.errors import Conflict
from fourhands.core.question import Question
from fourhands.core.tasks import Tasks
from fourhands.surfaces.mcp.clients import McpClient, McpClients
from fourhands.surfaces.mcp.elicitation import answer, can_elicit, elicitation
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.notifications import notice, wanted
from fourhands.surfaces.mcp.pending_call import PendingCall
from fourhands.surfaces.mcp.sdk import Context
from fourhands.surfaces.mcp.task_forms import is_modern, related
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)


class Calls:
    """Runs what clients ask for, each as the agent of its own session."""

    def __init__(self, bench: Workbench, tasks: Tasks, peers: McpClients, limits: McpLimits = DEFAULT) -> None:
        self._bench = bench
        self._tasks = tasks
        self._peers = peers
        self._limits = limits

    async def run(
        self,
        context: Context,
        command: str,
        args: dict[str, object],
        state: str | None = None,
        responses: InputResponses | None = None,
    ) -> Result | InputRequiredResult:
        """Make a call, or go on with one that was asked about, to its end or to the next question."""
        done = await self.run_for(None, context, command, args, state, responses)
        assert not isinstance(done, PendingCall)
        return done

    async def run_for(
        self,
        patience_s: float | None,
        context: Context,
        command: str,
        args: dict[str, object],
        state: str | None = None,
        responses: InputResponses | None = None,
    ) -> Result | InputRequiredResult | PendingCall:
        """Make a call as `run` does, and return the call itself if it still runs after this time."""
        peer = self._peers.find(context)
        with self._peers.busy(peer):
            if state is None:
                exchange = self.begin(context, command, args)
            else:
                exchange = _come_back(peer, state, command, args)
                _take(exchange, responses)
            return await self._follow(context, peer, exchange, patience_s=patience_s)

    def begin(self, context: Context, command: str, args: dict[str, object]) -> PendingCall:
        """Begin a call that its client will come for."""
        peer = self._peers.find(context)
        capable = peer.speaks and can_elicit(context.session.client_capabilities)
        attends = capable and (is_modern(context) or context.session.can_send_request)
        return self._begin(peer, command, args, attends=attends)

    async def wait(self, context: Context, peer: McpClient, exchange: PendingCall) -> None:
        """Wait for the end of a call that goes on without this request, and ask its client meanwhile."""
        with self._peers.busy(peer):
            await self._follow(context, peer, exchange, own=False)

    async def run_unasked(self, context: Context, command: str, args: dict[str, object]) -> Result:
        """Make a call in which the client is asked nothing."""
        peer = self._peers.find(context)
        with self._peers.busy(peer):
            done = await self._follow(context, peer, self._begin(peer, command, args, attends=False))
        assert isinstance(done, Result)  # what is not asked cannot be required
        return done

    def _begin(self, peer: McpClient, command: str, args: dict[str, object], *, attends: bool) -> PendingCall:
        call = Call(command=command, args=args, actor=peer.session.actor, origin="mcp")
        exchange = PendingCall(
            self._bench, call, peer.session.name, attends=attends, forms=self._peers.forms, limits=self._limits
        )
        exchange.start(self._tasks)
        return exchange

    async def _follow(
        self,
        context: Context,
        peer: McpClient,
        exchange: PendingCall,
        *,
        patience_s: float | None = None,
        own: bool = True,
    ) -> Result | InputRequiredResult | PendingCall:
        """Wait for the end of a call, telling its client meanwhile that it runs and asking what must be asked.

        Its `own` request takes the call along when it is cancelled.
        """
        begun = reported = time.monotonic()
        progress_s = self._limits.progress_s
        until = float("inf") if patience_s is None else begun + patience_s
        asking: dict[str, asyncio.Task[None]] = {}
        exchange.followers += 1
        exchange.asker = asking  # who came last asks: an older request may have lost its client
        exchange.changed.set()
        try:
            while (result := exchange.result) is None:
                if exchange.open and is_modern(context):
                    return _suspend(peer, exchange, self._limits.suspended_s)
                if time.monotonic() >= until:
                    return exchange
                self._ask_all(context, exchange, asking)
                await exchange.news(max(0.0, min(reported + progress_s, until) - time.monotonic()))
                await _tell(context, peer, exchange)
                now = time.monotonic()
                if exchange.result is None and (now - reported >= progress_s or exchange.open.keys() - asking.keys()):
                    reported = now
                    waiting = "waiting for the person" if exchange.asked else f"running for {now - begun:.0f} s"
                    await context.session.report_progress(round(now - begun, 3), None, waiting)
            await _tell(context, peer, exchange)
            return result
        except asyncio.CancelledError:
            if own:
                exchange.cancel()
            raise
        finally:
            exchange.followers -= 1
            if exchange.asker is asking:
                exchange.asker = None
                exchange.changed.set()
            for task in asking.values():
                task.cancel()

    def _ask_all(self, context: Context, exchange: PendingCall, asking: dict[str, asyncio.Task[None]]) -> None:
        """Ask the client what is open, and take back what was answered elsewhere or is too late."""
        if exchange.asker is None:  # the one that asked has gone
            exchange.asker = asking
        mine = exchange.asker is asking
        for id in list(asking):
            if id not in exchange.open or not mine:
                asking.pop(id).cancel()
        for id, question in exchange.open.items():
            if id not in asking and mine:
                work = self._ask(context, exchange, question)
                asking[id] = self._tasks.start(work, f"elicitation for {exchange.call.command}")

    async def _ask(self, context: Context, exchange: PendingCall, question: Question) -> None:
        form = elicitation(question)
        if exchange.task_id:
            form = form.model_copy(
                update={"params": form.params.model_copy(update={"meta": related(exchange.task_id)})}
            )
        try:
            chosen = await context.session.send_request(
                form, ElicitResult, metadata=ServerMessageMetadata(related_request_id=context.request_id)
            )
        except MCPError as error:
            log.info("the client could not ask its person: %s", error)
            exchange.answer(question, None)
        else:
            exchange.answer(question, answer(question, chosen))


async def _tell(context: Context, peer: McpClient, exchange: PendingCall) -> None:
    """Tell the client what its own call has brought about, beside the call."""
    while exchange.caused:
        event = exchange.caused.popleft()
        if wanted(peer, event) and not is_modern(context):
            await context.session.send_notification(notice(event, exchange.task_id), context.request_id)


def _suspend(peer: McpClient, exchange: PendingCall, life_s: float) -> InputRequiredResult:
    exchange.suspend(life_s)
    for id, known in list(peer.suspended.items()):
        if known.result is not None:
            del peer.suspended[id]
    peer.suspended[exchange.id] = exchange
    requests = {id: elicitation(question) for id, question in exchange.open.items()}
    return InputRequiredResult(input_requests=dict(requests), request_state=exchange.id)


def _come_back(peer: McpClient, state: str, command: str, args: dict[str, object]) -> PendingCall:
    exchange = peer.suspended.pop(state, None)
    if exchange is None:
        raise _stale("nothing waits for this answer any more: make the call anew, without requestState")
    if (exchange.call.command, exchange.call.args) != (command, args):
        exchange.cancel()
        raise _stale("this answer is for another call: repeat the call as it was, or make it anew")
    exchange.resume()
    return exchange


def _stale(message: str) -> MCPError:
    """Return the error for an unknown request state: one of the protocol, since the tool knows nothing of it."""
    return MCPError(INVALID_PARAMS, message, {"code": Conflict.code})


def _take(exchange: PendingCall, responses: InputResponses | None) -> None:
    for id, question in list(exchange.open.items()):
        given = (responses or {}).get(id)
        if isinstance(given, ElicitResult):
            exchange.answer(question, answer(question, given))
