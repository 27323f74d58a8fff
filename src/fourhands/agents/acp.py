"""An ACP agent as a conversation: a process on pipes that we start, ask, serve, and start again when it has died.

Version 1 of the protocol. The agent's files and terminals are ours (`acp_files`, `acp_terminal`), its permission
requests are questions to the person (`acp_permission`), its updates are events (`acp_updates`). The process lives in
one task, which ends it whatever happens. A turn that is cancelled leaves at once; the next one waits until the agent
has settled, and starts it anew if it does not.
"""

import asyncio
import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fourhands
from fourhands.agents.acp_allowed import Allowed
from fourhands.agents.acp_error import AUTH_REQUIRED, UnknownSession, rpc_error
from fourhands.agents.acp_files import AcpFiles
from fourhands.agents.acp_permission import Permissions, shortened
from fourhands.agents.acp_terminal import AcpTerminals, Place
from fourhands.agents.acp_updates import Updates
from fourhands.agents.catalogue import Recipe, parse, recipes
from fourhands.agents.connect import Connections
from fourhands.agents.conversation import Conversation
from fourhands.agents.jsonrpc import Peer, PeerFailed
from fourhands.agents.process import AgentProcess, launch
from fourhands.agents.results import turn_message
from fourhands.core.errors import BadArgument, CommandNotFound, FourhandsError, TimedOut, Unavailable
from fourhands.core.event import Event
from fourhands.core.tasks import Tasks
from fourhands.workbench.oneshot import find_program
from fourhands.workbench.session import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1
ROUNDS = 12
SETTLE_S = 10.0
"""How long a cancelled turn may take to end before the agent is started anew."""

McpServers = Callable[[Session], Sequence[Mapping[str, object]]]

CAPABILITIES: dict[str, object] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"configOptions": {"boolean": {}}},
}


class AcpAgent(Conversation):
    """One agent process and its session."""

    def __init__(
        self,
        bench: Workbench,
        session: Session,
        tasks: Tasks,
        recipe: Recipe,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        instructions: Callable[[str], str] | None = None,
        mcp_servers: McpServers | None = None,
        settle_s: float = SETTLE_S,
    ) -> None:
        super().__init__(bench, session, tasks)
        self.recipe = recipe
        self.argv = tuple(argv)
        self.acp_session = ""
        self.agent: dict[str, Any] = {}  # its answer to initialize
        self.modes: dict[str, Any] = {}
        self.config_options: list[Any] = []
        self._env = env
        self._instructions = instructions
        self._mcp_servers = mcp_servers
        self._settle_s = settle_s
        self._instructed = False
        self._reset = False  # the person wants a new chat
        self._peer: Peer | None = None
        self._life: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[Any] | None = None
        self._starting = asyncio.Lock()
        allowed = Allowed(bench)
        self.updates = Updates(self, self._tell)
        self.permissions = Permissions(bench, session, allowed, self.updates.known)
        self.terminals = AcpTerminals(bench, self._place, allowed)
        self.files = AcpFiles(bench, self._place, missing_is_empty=recipe.missing_file_is_empty)

    # -- the process -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the agent in the background, so that it is there when it is needed."""
        self._tasks.start(self._warm_up(), f"the start of {self.session.name}")

    async def _warm_up(self) -> None:
        self._status("starting")
        try:
            await self.ready()
        except FourhandsError as error:
            self._emit("agent.failed", error=error.message, hint=error.hint, code=error.code)
        finally:
            if self.session.status == "starting":
                self._status("idle")

    async def ready(self) -> Peer:
        """The connection to an agent that has a session; starts the agent if it does not run."""
        async with self._starting:
            if self._peer is None or self._peer.closed:
                self._peer = await self._start()
            elif self._reset:
                await self._open(self._peer)
            self._reset = False
            return self._peer

    async def _start(self) -> Peer:
        process = await launch(
            self.argv,
            cwd=self.bench.root,
            env={**_outside(self._env), **self.recipe.env},
            tasks=self._tasks,
            name=self.session.name,
        )
        peer = Peer(
            process.reader,
            process.writer,
            self._tasks,
            methods={
                **self.terminals.methods,
                **self.files.methods,
                "session/request_permission": self._permission,
            },
            notifications={"session/update": self._update},
            translate=rpc_error,
            name=self.session.name,
        )
        life = self._life = self._tasks.start(self._live(process, peer), f"agent {self.session.name}")
        try:
            async with asyncio.timeout(self.recipe.start_seconds):
                await self._shake_hands(peer)
                await self._open(peer)
        except TimeoutError:
            life.cancel()
            raise TimedOut(
                f"{self.session.name} did not answer within {self.recipe.start_seconds:g} s",
                hint=_words(process) or f"try it in a terminal: {shlex.join(self.argv)}",
            ) from None
        except BaseException as error:
            life.cancel()
            if isinstance(error, Unavailable) and (words := _words(process)):
                error.hint = error.hint or words
            raise
        return peer

    async def _live(self, process: AgentProcess, peer: Peer) -> None:
        """The life of one process, to its very end."""
        try:
            await peer.run()
            log.info("%s has closed its output", self.session.name)
        finally:
            peer.close()
            self.permissions.cancel()
            await process.end()
            if self.acp_session:
                await self.terminals.sweep(self.acp_session)
            if self._peer is peer:
                self._peer = None
                if not self.session.ended:
                    how = f"exit code {process.exit_code}"
                    self._emit("agent.exited", code=process.exit_code, error=f"{self.session.name} ended: {how}")

    async def stop_process(self) -> None:
        """End the process; the next message starts it again."""
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])

    def close(self) -> None:
        """The session has ended: so does the process."""
        super().close()
        self.permissions.cancel()
        self.terminals.close()
        if self._life is not None:
            self._life.cancel()

    # -- sessions --------------------------------------------------------------------------------------------------

    async def _shake_hands(self, peer: Peer) -> None:
        about = {"name": "fourhands", "title": "Fourhands", "version": fourhands.__version__}
        asked = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": CAPABILITIES, "clientInfo": about}
        answer = await peer.request("initialize", asked)
        if not isinstance(answer, dict):
            raise Unavailable(f"{self.session.name} answered initialize with {answer!r:.100}: this is not ACP")
        if answer.get("protocolVersion") != PROTOCOL_VERSION:
            version = answer.get("protocolVersion")
            raise Unavailable(
                f"{self.session.name} speaks version {version!r:.50} of ACP, not {PROTOCOL_VERSION}",
                hint="use a release of it that speaks version 1",
            )
        self.agent = answer

    def _can(self, *names: str) -> bool:
        """Whether the agent has advertised this; an empty object advertises too."""
        found: Any = self.agent.get("agentCapabilities")
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found is not None and found is not False

    async def _open(self, peer: Peer) -> None:
        """Begin a session, or go on with the one from before the agent died, where it can."""
        if (
            self.acp_session
            and not self._reset
            and (self._can("loadSession") or self._can("sessionCapabilities", "resume"))
        ):
            try:
                await self._reopen(peer)
                return
            except PeerFailed as error:
                log.info("%s cannot go on with its session: %s", self.session.name, error)
        self.acp_session = ""
        answer = await self._authenticated(peer, "session/new", self._surroundings())
        id = answer.get("sessionId")
        if not isinstance(id, str) or not id:
            raise Unavailable(f"{self.session.name} began a session without an id")
        self.acp_session, self._instructed = id, False
        self._take_settings(answer)

    def _surroundings(self) -> dict[str, object]:
        servers = self._mcp_servers(self.session) if self._mcp_servers is not None else ()
        return {"cwd": self.bench.root, "mcpServers": list(servers)}

    async def _reopen(self, peer: Peer) -> None:
        params = {**self._surroundings(), "sessionId": self.acp_session}
        if self._can("sessionCapabilities", "resume"):
            answer = await self._authenticated(peer, "session/resume", params)
        else:
            answer = await self._load(peer, params)
        self._take_settings(answer)

    async def _load(self, peer: Peer, params: Mapping[str, object]) -> dict[str, Any]:
        self.updates.replaying = True
        try:
            return await self._authenticated(peer, "session/load", params)
        finally:
            self.updates.replaying = False

    async def load(self, acp_session: str) -> None:
        """Go on with an older session of this agent, whose history comes in again."""
        peer = await self.ready()
        if not self._can("loadSession") and not self._can("sessionCapabilities", "resume"):
            raise Unavailable(f"{self.session.name} cannot go on with older sessions")
        before, self.acp_session = self.acp_session, acp_session
        try:
            await self._reopen(peer)
        except BaseException:
            self.acp_session = before
            raise

    async def sessions(self) -> list[dict[str, Any]]:
        """The sessions that the agent remembers for this workspace."""
        peer = await self.ready()
        if not self._can("sessionCapabilities", "list"):
            raise Unavailable(f"{self.session.name} keeps no list of its sessions")
        found: list[dict[str, Any]] = []
        cursor = None
        for _ in range(100):
            params = {"cwd": self.bench.root} | ({"cursor": cursor} if cursor else {})
            answer = await peer.request("session/list", params)
            page = answer if isinstance(answer, dict) else {}
            found += [one for one in page.get("sessions", ()) if isinstance(one, dict)]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return found

    async def _authenticated(self, peer: Peer, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        try:
            answer = await peer.request(method, params)
        except PeerFailed as error:
            if error.number != AUTH_REQUIRED:
                raise
            await self._authenticate(peer, self.recipe.auth)
            answer = await peer.request(method, params)
        return answer if isinstance(answer, dict) else {}

    async def _authenticate(self, peer: Peer, method_id: str) -> None:
        listed = self.agent.get("authMethods")
        known = [one["id"] for one in listed or () if isinstance(one, dict) and isinstance(one.get("id"), str)]
        if method_id not in known:
            raise Unavailable(
                f"{self.session.name} wants you to sign in first",
                hint=f"start it once in a terminal ({self.argv[0]}); it offers: {', '.join(known) or 'nothing'}",
            )
        await peer.request("authenticate", {"methodId": method_id})

    async def authenticate(self, method_id: str) -> None:
        """Sign in by one of the methods that the agent offers."""
        await self._authenticate(await self.ready(), method_id)

    async def set_mode(self, mode_id: str) -> None:
        """Switch the agent to one of its modes."""
        peer = await self.ready()
        known = [one.get("id") for one in self.modes.get("availableModes", ()) if isinstance(one, dict)]
        if mode_id not in known:
            raise BadArgument(
                f"{self.session.name} has no mode {mode_id!r}", hint=f"modes: {', '.join(map(str, known))}"
            )
        await peer.request("session/set_mode", {"sessionId": self.acp_session, "modeId": mode_id})
        self.modes["currentModeId"] = mode_id
        self._emit("agent.switched", mode=mode_id)

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Change one of the agent's options."""
        peer = await self.ready()
        params = {"sessionId": self.acp_session, "configId": config_id, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        self._take_settings(await peer.request("session/set_config_option", params))

    def _take_settings(self, answer: object) -> None:
        if not isinstance(answer, dict):
            return
        if isinstance(answer.get("modes"), dict):
            self.modes = answer["modes"]
            self._emit("agent.switched", mode=self.modes.get("currentModeId"), modes=shortened(self.modes))
        if isinstance(answer.get("configOptions"), list):
            self.config_options = answer["configOptions"]
            self._emit("agent.configured", options=shortened(self.config_options))

    # -- turns -----------------------------------------------------------------------------------------------------

    async def turn(self, text: str) -> None:
        """One message of the person, and as many rounds as the agent's blocks need."""
        said = text
        for _ in range(ROUNDS):
            self.updates.commands = 0
            await self._round(said)
            await self.runner.finished()
            await self.unpaused()
            if not self.updates.commands or not self.session.untold:
                return
            said = ""
        self._emit("agent.noted", text=f"stopped after {ROUNDS} rounds; say 'go on' to continue")

    async def _round(self, text: str) -> None:
        peer = await self._settled()
        told = turn_message(self.session, self.bench.registry)
        parts = [told.text if told else "", text]
        if self._instructions is not None and not self._instructed:
            parts.insert(0, self._instructions(self.session.id))
        blocks = [{"type": "text", "text": part} for part in parts if part]
        asking = self._asking = self._tasks.start(self._ask(peer, blocks), f"a turn of {self.session.name}")
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
        self._instructed = True
        self._emit("agent.finished", stopReason=answer.get("stopReason"), usage=shortened(answer.get("usage")))

    async def _ask(self, peer: Peer, blocks: list[dict[str, str]]) -> dict[str, Any] | FourhandsError:
        try:
            answer = await peer.request("session/prompt", {"sessionId": self.acp_session, "prompt": blocks})
        except FourhandsError as error:
            return error
        return answer if isinstance(answer, dict) else {}

    def _interrupt(self, peer: Peer) -> None:
        """Stop the turn: the agent is told, and what it asks is answered with "cancelled"."""
        peer.notify("session/cancel", {"sessionId": self.acp_session})
        self.permissions.cancel()
        self.updates.cancel()

    async def _settled(self) -> Peer:
        """The connection to an agent that has finished what was asked before."""
        if self._asking is not None and not self._asking.done():
            await asyncio.wait([self._asking], timeout=self._settle_s)
            if not self._asking.done():
                log.warning("%s does not end its cancelled turn; it is started anew", self.session.name)
                await self.stop_process()
        return await self.ready()

    def _happened(self, event: Event) -> None:
        super()._happened(event)
        if event.kind == "agent.reset" and event.data.get("session") == self.session.id:
            self.cancel()
            self._reset = True

    # -- what the agent asks ---------------------------------------------------------------------------------------

    def _place(self, acp_session: str) -> Place:
        if acp_session != self.acp_session or not acp_session:
            raise UnknownSession.of("session", acp_session[:200], [self.acp_session] if self.acp_session else [])
        return Place(self.session, self.bench.root)

    def _tell(self, kind: str, data: dict[str, object]) -> None:
        self.bench.events.emit(kind, {**data, "session": self.session.id}, actor=self.session.actor)

    def _update(self, params: dict[str, Any]) -> None:
        # The id of a new session may be in the answer that comes behind its first updates.
        if self.acp_session and params.get("sessionId") != self.acp_session:
            log.info("%s: an update of session %.100r", self.session.name, params.get("sessionId"))
            return
        self.updates.take(params.get("update"))

    async def _permission(self, params: dict[str, Any]) -> dict[str, object]:
        self._place(str(params.get("sessionId")))
        return await self.permissions.ask(params)


def _outside(env: Mapping[str, str]) -> dict[str, str]:
    """An agent is a program of the person's: it gets their environment and keys, but nothing of this server's."""
    return {name: value for name, value in env.items() if not name.startswith("FOURHANDS_")}


def _words(process: AgentProcess) -> str:
    return "; ".join(list(process.last_words)[-3:])[:500]


def register(connections: Connections, *, mcp_servers: McpServers | None = None) -> None:
    """Let these connections start the agents of the catalogue by name, and any command line as `acp COMMAND …`.

    A name that has a connector of its own keeps it; with arguments behind it (`opencode acp`) it is meant here.
    """
    others = dict(connections.kinds)

    async def connect(connections: Connections, session: Session, spec: str) -> Conversation:
        if spec in others:
            return await others[spec](connections, session, spec)
        recipe, argv = parse(spec)
        env = connections.wiring.env
        try:
            find_program(argv[0], env.get("PATH", os.defpath), connections.bench.root)
        except CommandNotFound as error:
            hint = f"install it: {recipe.install}" if recipe.install else error.hint
            raise CommandNotFound(error.message, hint=hint) from None
        if recipe.refuses_root and os.geteuid() == 0:
            log.warning("%s refuses to work for the superuser", recipe.name)
        agent = AcpAgent(
            connections.bench,
            session,
            connections.tasks,
            recipe,
            argv,
            env=env,
            instructions=connections.wiring.instructions,
            mcp_servers=mcp_servers,
        )
        agent.begin()
        return agent

    for name in ("acp", *recipes()):
        connections.kinds[name] = connect
