"""An ACP agent as a connector: prompts go to it as turns, and what it asks of the workbench is answered.

`peer` settles the version of the protocol, `runtime` holds the process, `session` what the agent offers and has begun.
Its files and terminals are the workbench's (`files`, `terminals`), its permission requests are questions to the person
(`permissions`), its updates are events (`updates`). A turn that is cancelled returns at once; the next one waits until
the agent has settled, and starts it anew if it does not.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from fourhands.agents.acp.approvals import Approvals
from fourhands.agents.acp.catalogue import parse, recipes
from fourhands.agents.acp.elicitation.requests import REQUEST as ELICITATION
from fourhands.agents.acp.elicitation.requests import AcpElicitations
from fourhands.agents.acp.errors import UnknownSession
from fourhands.agents.acp.events import AgentExited
from fourhands.agents.acp.files import AcpFiles
from fourhands.agents.acp.jsonrpc import PeerFailed
from fourhands.agents.acp.peer import AcpPeer
from fourhands.agents.acp.permissions import AcpPermissions, shortened
from fourhands.agents.acp.prompt import blocks_of, text_block
from fourhands.agents.acp.recipe import Recipe
from fourhands.agents.acp.runtime import AcpRuntime
from fourhands.agents.acp.session import AcpSession, McpServers
from fourhands.agents.acp.terminals import AcpContext, AcpTerminals
from fourhands.agents.acp.updates import Updates
from fourhands.agents.briefing.briefing import Briefer
from fourhands.agents.briefing.feedback import turn_message
from fourhands.agents.connectors.base import END_TURN, Connector, Recollection
from fourhands.agents.connectors.launcher import Launcher, started_here
from fourhands.agents.connectors.process import AgentProcess
from fourhands.agents.connectors.resume import ResumeFile
from fourhands.agents.connectors.sandbox import AgentOrder, AgentSandbox
from fourhands.core.errors import BadArgument, CommandNotFound, Conflict, FourhandsError, TimedOut, Unsupported
from fourhands.core.event import Event
from fourhands.workbench.agent_options import Described, PastChat
from fourhands.workbench.events import AgentReset
from fourhands.workbench.sessions import Session
from fourhands.workbench.terminals.oneshot import find_program
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)
_T = TypeVar("_T")

SETTLE_S = 10.0
"""Seconds that a cancelled turn may take to end before the agent is restarted."""


class AcpAgent(Connector):
    """One agent process and its session."""

    takes_enclosures = True

    def __init__(
        self,
        bench: Workbench,
        session: Session,
        recipe: Recipe,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        briefing: Briefer | None = None,
        mcp_servers: McpServers | None = None,
        settle_s: float = SETTLE_S,
        memory: ResumeFile | None = None,
    ) -> None:
        super().__init__(bench, session, memory)
        self.recipe = recipe
        cwd = partial(bench.own_cwd, session)
        self._sandbox = AgentSandbox(bench, session)
        self.acp = AcpSession(
            session,
            cwd,
            argv[0],
            self._emit,
            auth=recipe.auth,
            loads=recipe.loads_chats,
            servers=mcp_servers,
            directories=lambda: self._sandbox.directories,
        )
        self.acp.id = self._earlier = self.before.remote if self.before is not None else ""
        self.acp.chosen.take(self.before.chosen if self.before is not None else {})
        self._briefing = briefing
        self._settle_s = settle_s
        self._briefed = False
        self._reset = False  # the person wants a new chat
        self._asking: asyncio.Task[Any] | None = None
        allowed = Approvals(bench)
        self.updates = Updates(self, self.acp, self._emit)
        self.permissions = AcpPermissions(bench, session, allowed, self.updates.known, self.tasks)
        self.terminals = AcpTerminals(bench, self._place, allowed)
        self.files = AcpFiles(
            bench,
            self._place,
            missing_is_empty=recipe.missing_file_is_empty,
            directories=lambda: self._sandbox.directories,
        )
        self.elicitations = AcpElicitations(bench, session)
        methods = {
            **self.terminals.methods,
            **self.files.methods,
            "session/request_permission": self._permission,
            ELICITATION: self._elicit,
        }
        order = AgentOrder(tuple(argv), env, recipe.env, recipe.sandbox)
        self.runtime = AcpRuntime(
            session.name,
            argv,
            self.tasks,
            starter=partial(self._sandbox.starter, order),
            methods=methods,
            notifications={"session/update": self._update, **self.elicitations.notifications},
            on_end=self._process_ended,
            within=self.elicitations.timed,
            newest=self._newest_version(),
        )
        bench.controls[session.id] = self

    def _newest_version(self) -> int:
        """Return the version of the protocol to offer: that of the settings for its name or kind, else its own."""
        named = reversed(self.bench.settings.of_agent(self.session.name, self.session.connector))
        return next((one.acp_version for one in named if one.acp_version), self.recipe.acp_version)

    def release(self) -> None:
        """Withdraw from the workbench: the agent's options, its questions, its terminals."""
        self.bench.controls.pop(self.session.id, None)
        self.permissions.cancel()
        self.elicitations.cancel()
        self.terminals.close()

    # -- the process -----------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Start the agent in the background, so that it is there when it is needed."""
        self.tasks.start(self._warm_up(), f"the start of {self.session.name}")

    async def _warm_up(self) -> None:
        self._status("starting")
        try:
            await self.ready()
        except FourhandsError as error:
            log.warning("%s cannot begin: %s", self.session.name, error)
            self._failed(error.message, error.hint, error.code)
            self._status("failed")  # for pages that are opened later; a message tries again
        finally:
            if self.session.status == "starting":
                self._status("idle")

    async def ready(self) -> AcpPeer:
        """Return the connection to an agent that has a session; start the agent if it does not run."""
        async with self.runtime.lock:
            peer = self.runtime.peer
            if peer is None:
                peer = await self._start()
            elif self._reset:
                await self.terminals.sweep(self.acp.id)
                await self._in_time(self.acp.close(peer, self.acp.id))
                await self._in_time(self._open(peer))
            self._reset = False
            return peer

    async def _start(self, sign_in: str = "") -> AcpPeer:
        async def shake_hands(peer: AcpPeer) -> None:
            with self._sandbox.held_ports():
                await self.acp.shake_hands(peer)
                if sign_in:
                    await self.acp.authenticate(peer, sign_in)
                await self._open(peer)

        try:
            return await self.runtime.start(shake_hands, self.recipe.start_seconds)
        except TimedOut:
            if self._earlier:  # perhaps it chokes on the old session: the next start is a fresh one
                self.acp.id = self._earlier = ""
            raise

    async def _process_ended(self, process: AgentProcess, *, was_ready: bool) -> None:
        if self.acp.id:
            await self.terminals.sweep(self.acp.id)
        if was_ready and not self.session.ended:
            said = f"{self.session.name} ended: {process.ending}"
            hint = await process.words()
            self._emit(AgentExited(session=self.session.id, code=process.exit_code, error=said, hint=hint))

    # -- sessions --------------------------------------------------------------------------------------------------

    async def _open(self, peer: AcpPeer) -> None:
        """Begin a session, or go on with the one from before the agent died, where it can."""
        if self.acp.id and not self._reset and self.acp.can_reopen:
            try:
                await self._reopen(peer, quietly=True)
                if self._earlier:
                    self._earlier = ""
                    self.goes_on()
                return
            except PeerFailed as error:
                log.info("%s cannot go on with its session: %s", self.session.name, error)
        await self.acp.begin(peer)
        self._briefed, self._earlier = False, ""
        self.keep()

    def recollection(self) -> Recollection:
        """Return the id of the agent's own session."""
        return {"remote": self.acp.id, "chosen": self.acp.chosen.values}

    async def _reopen(self, peer: AcpPeer, *, quietly: bool = False) -> None:
        """Go on with an older session; quietly: what comes in again of it is shown already."""
        self.updates.replaying, self.updates.muted = True, quietly
        try:
            await self.acp.reopen(peer, quietly=quietly)
        finally:
            self.updates.replaying = self.updates.muted = False

    async def describe(self) -> Described:
        """Return what can be chosen of the agent, and what is chosen."""
        try:
            await self.ready()
        except FourhandsError:
            if not self.acp.sign_in_methods:
                raise
        return self.acp.describe()

    async def set_mode(self, mode_id: str) -> None:
        """Switch the agent to one of its modes."""
        await self._in_time(self.acp.set_mode(await self.ready(), mode_id))
        self.keep()

    async def set_option(self, option_id: str, value: str) -> None:
        """Change one of the agent's options: the id of a choice, or yes or no."""
        await self._in_time(self.acp.set_option(await self.ready(), option_id, value))
        self.keep()

    async def chats(self) -> tuple[PastChat, ...]:
        """Return the sessions that the agent remembers for this workspace."""
        return await self._in_time(self.acp.chats(await self.ready()))

    async def load_chat(self, chat_id: str) -> None:
        """Go on with an older session of this agent, whose history comes in again."""
        if self.working:
            raise Conflict(f"{self.session.name} is at work", hint="wait for its answer, or stop it")
        peer = await self._settled()
        if not self.acp.can_reopen:
            raise Unsupported(f"{self.session.name} cannot resume past chats")
        before, self.acp.id = self.acp.id, chat_id
        try:
            await self._in_time(self._reopen(peer))
        except BaseException:
            self.acp.id = before
            raise
        self.keep()
        await self.terminals.sweep(before)
        if before != chat_id:  # or it would write to the chat when it ends, also to one that is deleted by then
            await self._in_time(self.acp.close(peer, before))
        self._briefed = False  # it may have been begun by another program

    async def delete_chat(self, chat_id: str) -> None:
        """Let the agent forget one of its older sessions, for good."""
        await self._in_time(self.acp.delete(await self.ready(), chat_id))

    async def sign_in(self, method_id: str) -> None:
        """Sign in by one of the methods that the agent offers; an agent that could not begin without then can."""
        async with self.runtime.lock:
            peer = self.runtime.peer
            if peer is None:
                await self._start(sign_in=method_id)
            else:
                await self._in_time(self.acp.authenticate(peer, method_id))
        if self.session.status == "failed":
            self._status("idle")

    async def _in_time(self, work: Awaitable[_T]) -> _T:
        """Await some work of the agent, for as long as its start may take."""
        limit_s = self.recipe.start_seconds
        try:
            async with self.elicitations.timed(limit_s):
                return await work
        except TimeoutError:
            raise TimedOut(f"{self.session.name} did not answer within {limit_s:g} s") from None

    # -- turns -----------------------------------------------------------------------------------------------------

    async def turn(self, text: str) -> None:
        """Answer one message, in as many rounds as the agent's blocks need."""
        await self.run_rounds(text)

    @property
    def wants_more(self) -> bool:
        """True if the last answer had blocks, whose results the agent has not seen."""
        return bool(self.updates.commands) and super().wants_more

    async def round(self, text: str, *, last: bool) -> None:
        """Prompt the agent and return when it has ended its turn."""
        self.updates.commands = 0
        peer = await self._settled()
        # A command of the agent's own is one only where its slash is the first sign of the prompt.
        command = text.startswith("/")
        told = None if command else turn_message(self.session, self.bench.registry, self.bench)
        parts = [told.framed if told else ""]
        if self._briefing is not None and not self._briefed and not command:
            parts.insert(0, self._briefing(self.session.id))
        enclosed, self.enclosed = blocks_of(self.enclosed, self.acp.can), ()  # with the first round only
        before, behind = ([], enclosed) if command else (enclosed, [])
        blocks = [*map(text_block, filter(None, parts)), *before, text_block(text), *behind]
        asking = self._asking = self.tasks.start(self._ask(peer, blocks), f"a turn of {self.session.name}")
        try:
            answer = await asyncio.shield(asking)
        except asyncio.CancelledError:
            self._interrupt(peer)
            raise
        finally:
            self.updates.flush()
        if isinstance(answer, FourhandsError):
            if told is not None:
                told.restore()
            raise answer
        self._briefed = self._briefed or not command
        self.keep()
        self.stop_reason, self.usage = str(answer.get("stopReason") or END_TURN)[:100], shortened(answer.get("usage"))

    async def _ask(self, peer: AcpPeer, blocks: list[dict[str, object]]) -> dict[str, Any] | FourhandsError:
        try:
            answer = await peer.request("session/prompt", {"sessionId": self.acp.id, "prompt": blocks})
        except FourhandsError as error:
            return error
        return answer if isinstance(answer, dict) else {}

    def _interrupt(self, peer: AcpPeer) -> None:
        """Stop the turn: the agent is told, and what it asks is answered with "cancelled"."""
        peer.notify("session/cancel", {"sessionId": self.acp.id})
        self.permissions.cancel()
        self.elicitations.cancel()
        self.updates.cancel()

    async def _settled(self) -> AcpPeer:
        """Return the connection to an agent that has finished what was asked before."""
        if self._asking is not None and not self._asking.done():
            await asyncio.wait([self._asking], timeout=self._settle_s)
            if not self._asking.done():
                log.warning("%s does not end its cancelled turn; it is started anew", self.session.name)
                await self.runtime.stop()
        return await self.ready()

    def _happened(self, event: Event) -> None:
        super()._happened(event)
        if isinstance(data := event.payload, AgentReset) and data.session == self.session.id:
            self.cancel()
            self._reset = True

    # -- what the agent asks ---------------------------------------------------------------------------------------

    def _place(self, acp_session: str) -> AcpContext:
        if acp_session != self.acp.id or not acp_session:
            raise UnknownSession.of("session", acp_session[:200], [self.acp.id] if self.acp.id else [])
        return AcpContext(self.session)

    def _update(self, params: dict[str, Any]) -> None:
        # The id of a new session may be in the answer that comes behind its first updates.
        if self.acp.id and params.get("sessionId") != self.acp.id:
            log.info("%s: an update of session %.100r", self.session.name, params.get("sessionId"))
            return
        self.updates.take(params.get("update"))

    async def _permission(self, params: dict[str, Any]) -> dict[str, object]:
        self._place(str(params.get("sessionId")))
        return await self.permissions.ask(params)

    async def _elicit(self, params: dict[str, Any]) -> dict[str, object]:
        """Ask the person what the agent wants to know, in its session or while a request without one is under way."""
        session, request = params.get("sessionId"), params.get("requestId")
        if session is None:
            link = self.runtime.link
            if link is None or not link.awaits(request):
                raise BadArgument(
                    f"no request {request!r:.100} is under way",
                    hint="an elicitation has the sessionId of its session, or the requestId of a request to the agent",
                )
        elif self.acp.id:  # while a session begins, its id is not known here yet
            self._place(str(session))
        return await self.elicitations.ask(params)


def _installed(recipe: Recipe, argv: tuple[str, ...], path: str, cwd: str) -> tuple[tuple[str, ...], str]:
    """Return the command line that can be run, and the path of its program: the recipe's own, or an older one."""
    older = recipe.older if argv == recipe.command else ()
    try:
        return argv, find_program(argv[0], path, cwd)
    except CommandNotFound as error:
        for other in older:
            with contextlib.suppress(CommandNotFound):
                return other, find_program(other[0], path, cwd)
        hint = f"install it: {recipe.install}" if recipe.install else error.hint
        raise CommandNotFound(error.message, hint=hint) from None


def register(launcher: Launcher, *, mcp_servers: McpServers | None = None) -> None:
    """Let the launcher start the agents of the catalogue by name, and any command line as `acp COMMAND …`.

    A name that has a connector of its own keeps it; with arguments behind it (`opencode acp`) it is meant here. So this
    is called after those of the other connectors.
    """
    others = dict(launcher.kinds)

    def connect(launcher: Launcher, session: Session, spec: str) -> Connector:
        if " " not in spec and session.connector in others:  # opencode, opencode#MODEL, opencode:URL
            return others[session.connector](launcher, session, spec)
        recipe, argv = parse(spec)
        env = launcher.wiring.env
        argv, program = _installed(recipe, argv, env.get("PATH", os.defpath), launcher.bench.root)
        # Another program of the same name, or one that finds other settings, is another agent.
        session.arrival = started_here(spec, os.path.realpath(program), *argv[1:], env.get("HOME", ""))
        return AcpAgent(
            launcher.bench,
            session,
            recipe,
            argv,
            env=env,
            briefing=launcher.wiring.briefing,
            mcp_servers=mcp_servers,
            memory=launcher.memories.of(session, spec),
        )

    launcher.kinds |= dict.fromkeys(("acp", *recipes()), connect)
