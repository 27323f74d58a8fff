"""The MCP server of a workbench: what each request does. Transports are elsewhere.

Every call goes through the gate as an agent's, with origin "mcp". What a person must be asked is asked of the client
where it can elicit (by a request of ours, or in the newer generation by an answer that the client comes back to), and
always of everybody else who attends; the first answer counts.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Container
from typing import Any

from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    InputResponses,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from fourhands import __version__
from fourhands.agents.hub import Hub
from fourhands.core.call import Call, Result
from fourhands.core.errors import Conflict, FourhandsError
from fourhands.core.question import Question
from fourhands.core.tasks import Tasks
from fourhands.surfaces.mcp import resources
from fourhands.surfaces.mcp.asking import answer, can_elicit, elicitation
from fourhands.surfaces.mcp.exchange import Exchange
from fourhands.surfaces.mcp.peer import Context, Peer, Peers
from fourhands.surfaces.mcp.tools import Tools, tool_result
from fourhands.surfaces.tokens import Principal
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

PROGRESS_S = 3.0
"""How often a client that wants to know hears that its call still runs."""

SUSPENDED_S = 600.0
"""How long a client may take to come back with an answer."""

WELCOME = (
    "A workbench that a person and you drive together: the same terminals, editors, panes and files. "
    "The person sees what you do. Read the resource fourhands://instructions for what is open now."
)


class _Server(Server[None]):
    """The SDK's server, which says that its list of tools may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


@contextlib.asynccontextmanager
async def _no_state(_: Server[None]) -> AsyncIterator[None]:
    yield None


class Service:
    """Answers the requests of one connection, or of all clients over HTTP; `server` is what transports drive."""

    def __init__(
        self,
        bench: Workbench,
        hub: Hub,
        tasks: Tasks,
        *,
        pipe: bool = False,
        principal: Principal | None = None,
        speaking: Container[str] = (),
    ) -> None:
        self.tools = Tools(bench.registry)
        self.peers = Peers(bench, tasks, pipe=pipe, principal=principal, speaking=speaking)
        self._bench = bench
        self._hub = hub
        self._tasks = tasks
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus)
        self._telling: asyncio.Task[None] | None = None
        self._dispose = bench.registry.changed.subscribe(lambda _: self._changed())
        self.server = _Server(
            "fourhands",
            version=__version__,
            title="Fourhands",
            instructions=WELCOME,
            lifespan=_no_state,
            get_tool_input_schema=self.tools.input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=self._listening,
        )

    async def close(self) -> None:
        """End all its clients' sessions and tell nobody anything any more."""
        self._dispose()
        self._listening.close()
        self.tools.close()
        await self.peers.close()

    # -- requests --------------------------------------------------------------------------------------------------

    async def _list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        self.peers.find(context)
        return ListToolsResult(tools=self.tools.list())

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        try:
            command = self.tools.get(params.name)
            done = await self._run(
                context, command.id, dict(params.arguments or {}), params.request_state, params.input_responses
            )
        except FourhandsError as error:
            return tool_result(Result.failure(error))
        return done if isinstance(done, InputRequiredResult) else tool_result(done)

    async def _list_resources(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        self.peers.find(context)
        return ListResourcesResult(resources=resources.listed(self._bench))

    async def _list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def _read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult | InputRequiredResult:
        try:
            if params.uri == resources.INSTRUCTIONS:
                text = self._hub.instructions(self.peers.find(context).session.id)
                return resources.contents(params.uri, text, "text/markdown")
            command, args = resources.reading(params.uri)
            done = await self._run(context, command, args, params.request_state, params.input_responses)
        except FourhandsError as error:
            raise _protocol_error(Result.failure(error)) from error
        if isinstance(done, InputRequiredResult):
            return done
        if not done.success:
            raise _protocol_error(done)
        return resources.read(params.uri, done)

    async def _list_prompts(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[resources.PROMPT])

    async def _get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != resources.PROMPT.name:
            raise MCPError(INVALID_PARAMS, f"no prompt {params.name[:200]!r}; prompts here: {resources.PROMPT.name}")
        return resources.prompt(self._hub.instructions(self.peers.find(context).session.id))

    # -- calls -----------------------------------------------------------------------------------------------------

    async def _run(
        self,
        context: Context,
        command: str,
        args: dict[str, object],
        state: str | None,
        responses: InputResponses | None,
    ) -> Result | InputRequiredResult:
        peer = self.peers.find(context)
        peer.busy += 1
        try:
            if state is None:
                exchange = self._begin(context, peer, command, args)
            else:
                exchange = _come_back(peer, state, command, args)
                _take(exchange, responses)
            return await self._follow(context, peer, exchange)
        finally:
            peer.busy -= 1
            self.peers.rest(peer)

    def _begin(self, context: Context, peer: Peer, command: str, args: dict[str, object]) -> Exchange:
        call = Call(command=command, args=args, actor=peer.session.actor, origin="mcp")
        capable = peer.speaks and can_elicit(context.session.client_capabilities)
        attends = capable and (_modern(context) or context.session.can_send_request)
        exchange = Exchange(self._bench, call, peer.session.name, attends=attends)
        exchange.start(self._tasks)
        return exchange

    async def _follow(self, context: Context, peer: Peer, exchange: Exchange) -> Result | InputRequiredResult:
        """Wait for the end of a call, telling its client meanwhile that it runs and asking what must be asked."""
        begun = time.monotonic()
        asking: dict[str, asyncio.Task[None]] = {}
        try:
            while (result := exchange.result) is None:
                if exchange.open and _modern(context):
                    return _suspend(peer, exchange)
                for id in list(asking):
                    if id not in exchange.open:
                        asking.pop(id).cancel()  # answered elsewhere, or too late: the client may stop showing it
                for id, question in exchange.open.items():
                    if id not in asking:
                        work = self._ask(context, exchange, question)
                        asking[id] = self._tasks.start(work, f"elicitation for {exchange.call.command}")
                await exchange.news(PROGRESS_S)
                if exchange.result is None:
                    elapsed = time.monotonic() - begun
                    waiting = "waiting for the person" if exchange.open else f"running for {elapsed:.0f} s"
                    await context.session.report_progress(round(elapsed, 3), None, waiting)
            return result
        except asyncio.CancelledError:
            exchange.cancel()
            raise
        finally:
            for task in asking.values():
                task.cancel()

    async def _ask(self, context: Context, exchange: Exchange, question: Question) -> None:
        form = elicitation(question).params
        assert form.mode == "form"
        try:
            chosen = await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
        except MCPError as error:
            log.info("the client could not ask its person: %s", error)
            exchange.answer(question, None)
        else:
            exchange.answer(question, answer(question, chosen))

    # -- news ------------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Tell of a burst of changes once."""
        if self._telling is None or self._telling.done():
            self._telling = self._tasks.start(self._tell(), "news of changed tools")

    async def _tell(self) -> None:
        await asyncio.sleep(0)
        await self._bus.publish(ToolsListChanged())
        for peer in self.peers:
            if peer.channel is not None and peer.channel.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                await peer.channel.send_tool_list_changed()


def _modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def _suspend(peer: Peer, exchange: Exchange) -> InputRequiredResult:
    exchange.suspend(SUSPENDED_S)
    for id, known in list(peer.suspended.items()):
        if known.result is not None:
            del peer.suspended[id]
    peer.suspended[exchange.id] = exchange
    requests = {id: elicitation(question) for id, question in exchange.open.items()}
    return InputRequiredResult(input_requests=dict(requests), request_state=exchange.id)


def _come_back(peer: Peer, state: str, command: str, args: dict[str, object]) -> Exchange:
    exchange = peer.suspended.pop(state, None)
    if exchange is None:
        raise Conflict("nothing waits for this answer any more", hint="make the call anew, without requestState")
    if (exchange.call.command, exchange.call.args) != (command, args):
        exchange.cancel()
        raise Conflict("this answer is for another call", hint="repeat the call as it was, or make it anew")
    exchange.resume()
    return exchange


def _take(exchange: Exchange, responses: InputResponses | None) -> None:
    for id, question in list(exchange.open.items()):
        given = (responses or {}).get(id)
        if isinstance(given, ElicitResult):
            exchange.answer(question, answer(question, given))


def _protocol_error(result: Result) -> MCPError:
    hint = f" ({result.hint})" if result.hint else ""
    return MCPError(INVALID_PARAMS, f"{result.error}{hint}", {"code": result.code, "hint": result.hint})
