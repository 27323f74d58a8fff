"""The MCP server of a workbench: what each request does. Transports are elsewhere.

Every call goes through the gate as an agent's, with origin "mcp". What a person must be asked is asked of the client
where it can elicit (by a request, or in the newer generation by a response that the client returns to), and always
of every person who attends; the first answer counts.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    ReadResourceRequestParams,
    ReadResourceResult,
    ServerCapabilities,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from fourhands import __version__
from fourhands.agents.briefing.hub import Hub
from fourhands.core.call import Result
from fourhands.core.errors import FourhandsError, LimitReached
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.mcp import completion, project, prompts, resources
from fourhands.surfaces.mcp.calls import Calls
from fourhands.surfaces.mcp.clients import McpClients
from fourhands.surfaces.mcp.formats import page
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.greeting import NAME, TITLE, WELCOME
from fourhands.surfaces.mcp.kept_tasks import KeptTasks
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.notifications import Notifications
from fourhands.surfaces.mcp.pending_call import PendingCall
from fourhands.surfaces.mcp.sdk import Context
from fourhands.surfaces.mcp.task_forms import CAPABILITY, EXTENSION, has_utility
from fourhands.surfaces.mcp.task_requests import TaskRequests
from fourhands.surfaces.mcp.terms import Terms
from fourhands.surfaces.mcp.tools import Tools, WantedTools, asks_fields, named, tool_result
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench


class _Server(Server[None]):
    """The SDK's server, which says that its lists may change, and that calls may be tasks."""

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> ServerCapabilities:
        found = super().get_capabilities(
            notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
        )
        if protocol_version in MODERN_PROTOCOL_VERSIONS:
            found.extensions = {**(found.extensions or {}), EXTENSION: {}}
        else:
            found.tasks = CAPABILITY
        return found

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(
            tools_changed=True, prompts_changed=True, resources_changed=True
        )
        return super().create_initialization_options(options, experimental_capabilities, extensions)


@contextlib.asynccontextmanager
async def _no_state(_: Server[None]) -> AsyncIterator[None]:
    yield None


class McpServer:
    """Answers the requests of one connection, or of all clients over HTTP; `server` is what transports drive.

    Its clients may use the tools that its `terms` name; where they name none, those of the address that a client uses.
    """

    def __init__(
        self,
        bench: Workbench,
        hub: Hub,
        tasks: Tasks,
        *,
        pipe: bool = False,
        principal: Credential | None = None,
        forms: Forms | None = None,
        limits: McpLimits = DEFAULT,
        terms: Terms | None = None,
        kept: KeptTasks | None = None,
    ) -> None:
        self.tools = Tools(bench.registry)
        self._wanted: WantedTools = (terms.tools or None) if terms is not None else None
        self.peers = McpClients(bench, tasks, pipe=pipe, principal=principal, forms=forms, limits=limits, terms=terms)
        self._bench = bench
        self._limits = limits
        self._hub = hub
        self._calls = Calls(bench, tasks, self.peers, limits)
        self._own_tasks = KeptTasks(bench, limits) if kept is None else None
        kept = self._own_tasks or kept
        assert kept is not None
        self._news = Notifications(bench, tasks, self.peers, limits, kept)
        self.server = _Server(
            NAME,
            version=__version__,
            title=TITLE,
            instructions=WELCOME,
            lifespan=_no_state,
            get_tool_input_schema=self.tools.input_schema,
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        # The SDK knows no task in the place of a tool's result where this is named with the others.
        self.server.add_request_handler("tools/call", CallToolRequestParams, self._call_tool)
        # The newest revision has no such request, and the SDK warns of it where it is named with the others.
        self.server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)
        self._requests = TaskRequests(self.server, bench.registry, kept, self._calls, self.peers, tasks, limits)

    async def close(self) -> None:
        """End all its clients' sessions and stop notifying."""
        if self._own_tasks is not None:
            self._own_tasks.close()
        self._news.close()
        self.tools.close()
        await self.peers.close()

    # -- tools -----------------------------------------------------------------------------------------------------

    async def _list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        every = self.tools.list(self._tools_of(context), tasks=has_utility(context))
        tools, more = page(every, params, self._limits.page)
        return ListToolsResult(tools=tools, next_cursor=more)

    async def _call_tool(
        self, context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        args, fields = dict(params.arguments or {}), asks_fields(params.meta)
        as_task = self._requests.wanted(context, params.task)
        try:
            command = self.tools.command_id(params.name, self._tools_of(context))
        except FourhandsError as error:
            if as_task:
                raise _protocol_error(Result.failure(error)) from error
            return tool_result(Result.failure(error), fields=fields)

        def finish(result: Result) -> dict[str, object]:
            done = self.tools.result(command, result, fields=fields)
            return done.model_dump(by_alias=True, mode="json", exclude_none=True)

        if as_task and params.task is not None:
            return self._requests.create(context, command, args, params.task, finish)
        patience_s = self._requests.patience_s(context, command)
        done = await self._calls.run_for(
            patience_s, context, command, args, params.request_state, params.input_responses
        )
        if isinstance(done, InputRequiredResult):
            return done
        if isinstance(done, PendingCall):
            return self._requests.hand_over(context, done, finish)
        return self.tools.result(command, done, fields=fields)

    def _tools_of(self, context: Context) -> WantedTools:
        """Return the tools of a request's client."""
        self.peers.find(context)
        if self._wanted is None and context.request is not None:
            return named(context.request.query_params)
        return self._wanted

    # -- resources -------------------------------------------------------------------------------------------------

    async def _list_resources(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        session = self.peers.find(context).session
        skills = await project.visible_skills(self._bench, session)
        told = self._bench.project.settings.instructions
        known = project.resources(skills, self._quoted(session), instructions=told)
        found, more = page(resources.listed(self._bench, session.actor, known), params, self._limits.page)
        return ListResourcesResult(resources=found, next_cursor=more)

    async def _list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        found, more = page(resources.templates(self._bench.registry), params, self._limits.page)
        return ListResourceTemplatesResult(resource_templates=found, next_cursor=more)

    async def _read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult | InputRequiredResult:
        try:
            if params.uri == resources.INSTRUCTIONS:
                text = self._hub.instructions(self.peers.find(context).session.id)
                return resources.contents(params.uri, text, "text/markdown")
            command, args = resources.reading(self._bench.registry, params.uri)
            done = await self._calls.run(context, command, args, params.request_state, params.input_responses)
        except FourhandsError as error:
            raise _protocol_error(Result.failure(error), params.uri) from error
        if isinstance(done, InputRequiredResult):
            return done
        if not done.success:
            raise _protocol_error(done, params.uri)
        return resources.read(params.uri, done)

    async def _subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        peer = self.peers.find(context)
        try:
            if params.uri not in peer.watched:
                if len(peer.watched) >= (most := self._limits.watched):
                    raise LimitReached(f"{most} resources are watched already", hint="unsubscribe from some")
                peer.watched[params.uri] = self._news.watching.add(params.uri)
        except FourhandsError as error:
            raise _protocol_error(Result.failure(error), params.uri) from error
        return EmptyResult()

    async def _unsubscribe(self, context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        if (stop := self.peers.find(context).watched.pop(params.uri, None)) is not None:
            stop()
        return EmptyResult()

    async def _listen(self, context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        uris = params.notifications.resource_subscriptions or []
        if len(uris) > (most := self._limits.watched):
            raise MCPError(INVALID_PARAMS, f"{len(uris)} resources to watch; the limit of one stream is {most}")
        with self.peers.busy(self.peers.find(context)):
            try:
                return await self._requests.listen(context, params, self._news.listen)
            except FourhandsError as error:
                raise _protocol_error(Result.failure(error)) from error

    # -- prompts ---------------------------------------------------------------------------------------------------

    async def _list_prompts(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        fixed, skills = await self._prompts(self.peers.find(context).session)
        found, more = page([*fixed, *skills.values()], params, self._limits.page)
        return ListPromptsResult(prompts=found, next_cursor=more)

    async def _get_prompt(
        self, context: Context, params: GetPromptRequestParams
    ) -> GetPromptResult | InputRequiredResult:
        given = params.arguments or {}
        session = self.peers.find(context).session
        try:
            if params.name == prompts.WORKBENCH.name:
                return prompts.workbench(self._hub.instructions(session.id))
            _, skills = await self._prompts(session)
            known = skills if project.may_see(self._bench, session) else None
            command, args = prompts.call_of(self._bench.registry, params.name, given, known)
            done = await self._calls.run(context, command, args, params.request_state, params.input_responses)
            if isinstance(done, InputRequiredResult):
                return done
            if done.success:
                return prompts.result_of(command, given, done)
        except FourhandsError as error:
            raise _protocol_error(Result.failure(error)) from error
        raise _protocol_error(done)

    async def _complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        async def run(command: str, args: dict[str, object]) -> Result:
            return await self._calls.run_unasked(context, command, args)

        fixed, skills = await self._prompts(self.peers.find(context).session)
        return CompleteResult(completion=await completion.complete(self._bench, params, run, fixed, skills))

    async def _prompts(self, session: Session) -> tuple[list[Prompt], dict[str, Prompt]]:
        """Return the prompts of a session: those that are always there, and those of the skills that it may see."""
        fixed = prompts.prompts(self._bench.registry, instructions=self._bench.project.settings.instructions)
        skills = await project.visible_skills(self._bench, session)
        return fixed, project.skill_prompts(skills, {one.name for one in fixed}, self._quoted(session))

    def _quoted(self, session: Session) -> Callable[[str, str], str]:
        """Return what makes a text of the workspace's files, from a place, one that a session may be listed."""
        return lambda text, where: self._bench.gate.given.quote(session.id, self._bench.redact(text), where)

    # -- the rest --------------------------------------------------------------------------------------------------

    async def _set_level(self, context: Context, params: SetLevelRequestParams) -> EmptyResult:
        self.peers.find(context).level = params.level
        return EmptyResult()


def _protocol_error(result: Result, uri: str | None = None) -> MCPError:
    hint = f" ({result.hint})" if result.hint else ""
    data = {"code": result.code, "hint": result.hint}
    return MCPError(INVALID_PARAMS, f"{result.error}{hint}", data if uri is None else {**data, "uri": uri})
