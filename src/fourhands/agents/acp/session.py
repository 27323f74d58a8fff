"""The agent's side of a conversation by ACP: what it can do, the session it has begun, its modes, options and chats.

`AcpAgent` owns the process and gives the connection to each call here. What the agent says of itself is kept as it
came; `describe` takes it apart.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fourhands
from fourhands.agents.acp.chosen import ChosenSettings, word
from fourhands.agents.acp.elicitation.requests import CAPABILITIES as ELICITATION
from fourhands.agents.acp.errors import AUTH_REQUIRED
from fourhands.agents.acp.events import AgentSwitched, AgentTitled, OptionsOffered
from fourhands.agents.acp.jsonrpc import PeerFailed, RpcConnection
from fourhands.agents.acp.permissions import shortened
from fourhands.core.errors import BadArgument, Conflict, FourhandsError, NotFound, Unavailable, Unsupported
from fourhands.core.event import EventData
from fourhands.workbench.agent_options import AgentOption, Choosable, Described, PastChat, chats, choosables, options
from fourhands.workbench.events import AgentChanged, AgentNoted
from fourhands.workbench.sessions import Session

log = logging.getLogger(__name__)

_PAGES = 100
_LONGEST_NAME = 60
_SWITCH = {"yes": True, "no": False, "true": True, "false": False}

CAPABILITIES: dict[str, object] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"configOptions": {"boolean": {}}},
    "elicitation": ELICITATION,
}
"""The offer to agents, in words of version 1; for version 2 see `Version2`."""

McpServers = Callable[[Session, bool], Sequence[Mapping[str, object]]]
"""The MCP servers of a session, given whether the agent can reach them by HTTP."""

Emit = Callable[[EventData], None]


class AcpSession:
    """One agent's session; `id` is the agent's own, empty until it has begun one."""

    def __init__(
        self,
        session: Session,
        cwd: Callable[[], str],
        program: str,
        emit: Emit,
        *,
        auth: str = "",
        loads: bool = True,
        servers: McpServers | None = None,
        directories: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.id = ""
        self.agent: dict[str, Any] = {}  # its answer to initialize
        self.modes: dict[str, Any] = {}
        self.config_options: list[Any] = []
        self.title = ""
        self.trouble = ""  # why it could not begin
        self.chosen = ChosenSettings()
        self._opening = False  # what the agent says of itself then is what it begins with
        self._name = session.name
        self._session = session
        self._cwd = cwd
        self._program = program
        self._emit = emit
        self._auth = auth
        self._loads = loads
        self._servers = servers
        self._directories = directories  # of the person's settings; an editor's are the session's

    # -- the beginning ---------------------------------------------------------------------------------------------

    async def shake_hands(self, peer: RpcConnection) -> None:
        """Agree on the version and learn what the agent can do."""
        about = {"name": "fourhands", "title": "Fourhands", "version": fourhands.__version__}
        asked = {"clientCapabilities": CAPABILITIES, "clientInfo": about}
        answer = await peer.request("initialize", asked)
        self.agent = answer
        info = answer.get("agentInfo")
        self._take_name(info if isinstance(info, dict) else {})

    def _take_name(self, about: Mapping[str, object]) -> None:
        """Let people see the agent under the name that its program has for itself."""
        named = next((one for key in ("title", "name") if isinstance(one := about.get(key), str) and one.strip()), "")
        title = "".join(filter(str.isprintable, named)).strip()[:_LONGEST_NAME]
        if title and title != self._session.title:
            self._session.title = title
            status = self._session.status
            self._emit(AgentChanged(session=self._session.id, status=status, title=title))

    def can(self, *names: str) -> bool:
        """Return True if the agent has advertised this; an empty object advertises too."""
        found: Any = self.agent.get("agentCapabilities")
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found is not None and found is not False

    @property
    def can_reopen(self) -> bool:
        """True if the agent can go on with a session from before."""
        return self._loads and (self.can("loadSession") or self.can("sessionCapabilities", "resume"))

    async def begin(self, peer: RpcConnection) -> None:
        """Begin a session."""
        self.id, self._opening = "", True
        answer = await self._authenticated(peer, "session/new", self._surroundings())
        id = answer.get("sessionId")
        if not isinstance(id, str) or not id:
            raise Unavailable(f"{self._name} began a session without an id")
        self.id, self.title = id, ""
        self._take_answer(answer)
        await self._choose_again(peer)

    async def close(self, peer: RpcConnection, id: str) -> None:
        """Let the agent close a session, where it can, since it works in another one from now on."""
        if id and self.can("sessionCapabilities", "close"):
            try:
                await peer.request("session/close", {"sessionId": id})
            except PeerFailed as error:
                log.info("%s could not close its session: %s", self._name, error)

    async def reopen(self, peer: RpcConnection, *, quietly: bool = False) -> None:
        """Go on with the session `id`; quietly, where it can: without its history coming in again."""
        params = {**self._surroundings(), "sessionId": self.id}
        resumes = self.can("sessionCapabilities", "resume")
        quietly = resumes and (quietly or not self.can("loadSession"))
        self._opening = True
        self._take_answer(await self._authenticated(peer, "session/resume" if quietly else "session/load", params))
        await self._choose_again(peer)

    async def _choose_again(self, peer: RpcConnection) -> None:
        """Tell an agent that has begun what the person has chosen before."""
        mode = self.modes.get("currentModeId")
        modes, known = choosables(self.modes.get("availableModes")), options(self.config_options)
        for option, value in list(self.chosen.missing(mode if isinstance(mode, str) else "", modes, known)):
            try:
                await (self._set_mode(peer, value) if option is None else self._set_option(peer, option, value))
            except FourhandsError as error:
                what = "its mode" if option is None else option.name
                log.warning("%s does not take %s again: %s", self._name, what, error)
                text = f"{self._name} began anew and does not take the choice {value!r:.100} of {what}: {error.message}"
                self._emit(AgentNoted(session=self._session.id, text=text))
        self._opening = False

    def _surroundings(self) -> dict[str, object]:
        servers = self._servers(self._session, self.can("mcpCapabilities", "http")) if self._servers else ()
        named = [one for one in self._session.servers if self._can_use(one)]
        life: dict[str, object] = {"cwd": self._cwd(), "mcpServers": [*servers, *named]}
        directories = dict.fromkeys((*self._directories(), *self._session.directories))
        if directories and self.can("sessionCapabilities", "additionalDirectories"):
            life["additionalDirectories"] = [one for one in directories if one != life["cwd"]]
        return life

    def _can_use(self, server: Mapping[str, object]) -> bool:
        kind = server.get("type")
        if kind is None or kind == "stdio" or self.can("mcpCapabilities", str(kind)):
            return True
        log.info("%s cannot use the MCP server %.100r: it is reached by %.20s", self._name, server.get("name"), kind)
        return False

    # -- signing in ------------------------------------------------------------------------------------------------

    async def _authenticated(self, peer: RpcConnection, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        try:
            answer = await peer.request(method, params)
        except PeerFailed as error:
            if error.number != AUTH_REQUIRED:
                raise
            known = [one.id for one in self.sign_in_methods]
            if self._auth not in known:
                self.trouble = f"{self._name} requires you to sign in first"
                raise Unavailable(
                    self.trouble,
                    hint=f"a person starts {self._program} once in a terminal and signs in there, or uses "
                    f"openspace.agent.sign_in; it offers: {_listed(known)}",
                ) from None
            await self.authenticate(peer, self._auth)
            answer = await peer.request(method, params)
        return answer if isinstance(answer, dict) else {}

    @property
    def sign_in_methods(self) -> tuple[Choosable, ...]:
        """The ways to sign in that the agent offers."""
        return choosables(self.agent.get("authMethods"))

    async def authenticate(self, peer: RpcConnection, method_id: str) -> None:
        """Sign in by one of the methods that the agent offers."""
        known = [one.id for one in self.sign_in_methods]
        if method_id not in known:
            raise BadArgument(
                f"{self._name} has no sign-in method {method_id!r:.100}", hint=f"methods: {_listed(known)}"
            )
        await peer.request("authenticate", {"methodId": method_id})

    # -- choices ---------------------------------------------------------------------------------------------------

    def describe(self) -> Described:
        """Return what can be chosen, and what is chosen."""
        about = self.agent.get("agentInfo")
        names = about if isinstance(about, dict) else {}
        mode = self.modes.get("currentModeId")
        return Described(
            program=" ".join(str(names[key])[:200] for key in ("title", "version") if key in names),
            title=self.title,
            mode=mode if isinstance(mode, str) else "",
            modes=choosables(self.modes.get("availableModes")),
            options=options(self.config_options),
            sign_in=self.sign_in_methods,
            chats=self.can_reopen,
            trouble="" if self.id else self.trouble,
        )

    async def set_mode(self, peer: RpcConnection, mode_id: str) -> None:
        """Switch the agent to one of its modes."""
        known = [one.id for one in choosables(self.modes.get("availableModes"))]
        if mode_id not in known:
            raise BadArgument(f"{self._name} has no mode {mode_id!r:.100}", hint=f"modes: {_listed(known)}")
        await self._set_mode(peer, mode_id)
        self.chosen.mode(mode_id)

    async def _set_mode(self, peer: RpcConnection, mode_id: str) -> None:
        await peer.request("session/set_mode", {"sessionId": self.id, "modeId": mode_id})
        self.take_mode(mode_id)

    async def set_option(self, peer: RpcConnection, option_id: str, value: str) -> None:
        """Change one of the agent's options: the id of a choice, or yes or no."""
        known = {one.id: one for one in options(self.config_options)}
        option = known.get(option_id)
        if option is None:
            raise BadArgument(f"{self._name} has no option {option_id!r:.100}", hint=f"options: {_listed(known)}")
        accepted = [one.id for one in option.choices] if option.kind == "select" else list(_SWITCH)
        if value not in accepted:
            raise BadArgument(f"{value!r:.100} is not a value of {option_id!r}", hint=f"choices: {_listed(accepted)}")
        await self._set_option(peer, option, value)
        self.chosen.option(option, word(_SWITCH[value]) if option.kind == "boolean" else value)

    async def _set_option(self, peer: RpcConnection, option: AgentOption, value: str) -> None:
        params: dict[str, object] = {"sessionId": self.id, "configId": option.id, "value": value}
        if option.kind == "boolean":
            params |= {"type": "boolean", "value": _SWITCH[value]}
        self._take_answer(await peer.request("session/set_config_option", params))

    async def chats(self, peer: RpcConnection) -> tuple[PastChat, ...]:
        """Return the sessions that the agent remembers for this workspace."""
        if not self.can("sessionCapabilities", "list"):
            raise Unsupported(f"{self._name} cannot list past chats")
        found: list[PastChat] = []
        cursor: object = None
        for _ in range(_PAGES):
            params = {"cwd": self._cwd()} | ({"cursor": cursor} if cursor else {})
            answer = await peer.request("session/list", params)
            page = answer if isinstance(answer, dict) else {}
            found += chats(page.get("sessions"))
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return tuple(found)

    async def delete(self, peer: RpcConnection, chat_id: str) -> None:
        """Let the agent forget one of the sessions that it remembers, for good."""
        if not self.can("sessionCapabilities", "delete"):
            raise Unsupported(f"{self._name} cannot delete past chats")
        if chat_id == self.id:
            raise Conflict(f"{self._name} is in this chat", hint="begin a new chat first")
        if self.can("sessionCapabilities", "list"):  # to delete what is not there would succeed in silence
            known = [one.id for one in await self.chats(peer)]
            if chat_id not in known:
                raise NotFound.of("chat", chat_id[:200], known)
        await peer.request("session/delete", {"sessionId": chat_id})

    # -- what the agent says of itself -----------------------------------------------------------------------------

    def _take_answer(self, answer: object) -> None:
        if not isinstance(answer, dict):
            return
        if isinstance(answer.get("modes"), dict):
            self.modes = answer["modes"]
            mode, modes = self.modes.get("currentModeId"), shortened(self.modes)
            self._emit(AgentSwitched(session=self._session.id, mode=mode, modes=modes))
        if isinstance(answer.get("configOptions"), list):
            self.take_options(answer["configOptions"])

    def take_mode(self, mode: object) -> None:
        """Take note of the mode that the agent is in now."""
        self.modes["currentModeId"] = mode
        if not self._opening:
            self.chosen.moved(mode)
        self._emit(AgentSwitched(session=self._session.id, mode=shortened(mode)))

    def take_options(self, listed: object) -> None:
        """Take note of the agent's options."""
        self.config_options = listed if isinstance(listed, list) else []
        if not self._opening:
            self.chosen.moved("", options(self.config_options))
        self._emit(OptionsOffered(session=self._session.id, options=shortened(self.config_options)))

    def take_title(self, title: object) -> None:
        """Take note of the agent's title for the conversation."""
        self.title = str(title or "")[:200]
        self._emit(AgentTitled(session=self._session.id, title=self.title))


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(names) or "none"
