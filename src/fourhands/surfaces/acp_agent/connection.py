"""One editor that talks to an agent of the workbench by ACP: its sessions, prompts and choices.

The agent runs in the workbench, as one that was started on the page, and the page shows the same chat beside the
editor. Which agent is decided by how the editor's command was started (`spec`), not by the editor. A session stays when
the editor goes, however it goes: its turn is stopped, and `session/load` goes on with it.
"""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from msgspec import Struct

from fourhands.agents.acp.errors import AUTH_REQUIRED, UnknownSession, decode_params, rpc_error
from fourhands.agents.acp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcConnection, RpcError
from fourhands.agents.connectors.directories import named_directories
from fourhands.core.call import Actor, Call
from fourhands.core.errors import BadCwd, FourhandsError, Unsupported
from fourhands.core.event import Event
from fourhands.core.question import Question
from fourhands.core.tasks import Tasks
from fourhands.surfaces.acp_agent.choices import modes_on_wire, options_on_wire
from fourhands.surfaces.acp_agent.introduction import introduction
from fourhands.surfaces.acp_agent.prompt import read_prompt
from fourhands.surfaces.acp_agent.session_updates import SessionUpdates, Update
from fourhands.surfaces.acp_agent.shown_terminals import ShownTerminals
from fourhands.surfaces.acp_questions import EditorQuestions
from fourhands.workbench.agent_options import AgentOptions, Choosable, Described
from fourhands.workbench.sessions import Session
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.workbench import Workbench

STOP_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")

BUFFER_S = 2.0
"""The time in which an editor must say what stands in a file that is open in it."""

_NAME = 60


class _Further(TypedDict):
    servers: list[dict[str, Any]]
    directories: list[str]


class Surroundings(Struct, frozen=True, rename="camel"):
    """Params of session/new, session/load and session/resume."""

    cwd: str
    session_id: str = ""
    mcp_servers: list[dict[str, Any]] = []
    additional_directories: list[str] = []

    @property
    def further(self) -> _Further:
        """MCP servers and directories for the agent, besides those that it has anyway."""
        return {"servers": self.mcp_servers, "directories": self.additional_directories}


class NamedSession(Struct, frozen=True, rename="camel"):
    """Params of requests on one session; further members are read where they are used."""

    session_id: str


@dataclass(slots=True)
class _Place:
    """A session that this editor shows."""

    session: Session
    told: SessionUpdates
    terminals: ShownTerminals
    prompts: dict[str, "asyncio.Future[str]"] = field(default_factory=dict)
    expected: "asyncio.Future[str] | None" = None
    failure: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentSource:
    """The parts that all editors of a workbench share: its kept chats, and the number that shows each session."""

    bench: Workbench
    tasks: Tasks
    chat_of: Callable[[str], Sequence[Event]]
    shown: Counter[str] = field(default_factory=Counter)


class AgentConnection:
    """One connection of an editor to the agent that `spec` names."""

    def __init__(
        self, source: AgentSource, spec: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._source = source
        self._bench = source.bench
        self._tasks = source.tasks
        self._spec = spec
        self._client = "editor"
        self._reads_buffers = False
        self._places: dict[str, _Place] = {}
        self._peer = RpcConnection(
            reader,
            writer,
            source.tasks,
            methods={
                "initialize": self._initialize,
                "authenticate": self._authenticate,
                "session/new": self._new,
                "session/load": self._load,
                "session/resume": self._resume,
                "session/list": self._list,
                "session/close": self._close,
                "session/delete": self._delete,
                "session/prompt": self._prompt,
                "session/set_mode": self._set_mode,
                "session/set_config_option": self._set_option,
            },
            notifications={"session/cancel": self._cancel},
            translate=rpc_error,
            name="acp --agent",
            answer_noise=True,
        )
        self._questions = EditorQuestions(source.bench, source.tasks, self._peer, self._about)

    async def run(self) -> None:
        """Serve until the other side closes; its sessions stay, and what it waits for is stopped."""
        forget = self._bench.events.published.subscribe(self._happened)
        try:
            await self._peer.run()
        finally:
            forget()
            self._questions.close()
            for place in list(self._places.values()):
                waits = bool(place.prompts)
                self._detach(place)
                if waits and not self._bench.leaving:
                    await self._stop(place.session.id)

    # -- the beginning ----------------------------------------------------------------------------------------------

    async def _initialize(self, params: dict[str, Any]) -> dict[str, object]:
        answer = introduction(params, self._spec)
        about = params.get("clientInfo")
        if isinstance(about, dict) and isinstance(about.get("name"), str):
            self._client = "".join(filter(str.isprintable, about["name"]))[:_NAME] or self._client
            self._questions.client = self._client
        offered = params.get("clientCapabilities")
        self._questions.introduced(offered)
        files = offered.get("fs") if isinstance(offered, dict) else None
        self._reads_buffers = isinstance(files, dict) and files.get("readTextFile") is True
        return answer

    async def _authenticate(self, params: dict[str, Any]) -> dict[str, object]:
        method = params.get("methodId")
        if not isinstance(method, str) or not method:
            raise RpcError(INVALID_PARAMS, "methodId must be the id of a way to sign in")
        session = await self._bench.connect(self._spec, fresh=True)
        try:
            await self._control(session).sign_in(method)
        finally:
            with contextlib.suppress(FourhandsError):  # the person may have ended it already
                await self._bench.end_session(session.id)
        return {}

    # -- sessions ---------------------------------------------------------------------------------------------------

    async def _new(self, params: dict[str, Any]) -> dict[str, object]:
        wanted = decode_params(params, Surroundings)
        cwd = self._cwd(wanted.cwd)
        session = await self._bench.connect(self._spec, cwd=cwd, fresh=True, **wanted.further)
        return {"sessionId": session.id, **await self._begun(session, wanted.cwd)}

    async def _load(self, params: dict[str, Any]) -> dict[str, object]:
        answer, place = await self._gone_on_with(decode_params(params, Surroundings))
        replay = SessionUpdates(self._bench, place.session, place.terminals.text)
        for event in self._source.chat_of(place.session.id):
            for update in replay.of(event):
                self._update(place.session.id, update)
        return answer

    async def _resume(self, params: dict[str, Any]) -> dict[str, object]:
        return (await self._gone_on_with(decode_params(params, Surroundings)))[0]

    async def _gone_on_with(self, wanted: Surroundings) -> tuple[dict[str, object], _Place]:
        """Return the answer to a request for an older session, and its place."""
        cwd, id = self._cwd(wanted.cwd), wanted.session_id
        session = self._bench.sessions.find(id)
        if session is None:
            known = [one.session for one in self._left()]
            if id not in known:
                raise UnknownSession.of("session", id[:200], [*(one.id for one in self._here()), *known])
            session = await self._bench.connect(self._spec, cwd=cwd, id=id, **wanted.further)
        elif session.spec != self._spec:
            raise UnknownSession(
                f"session {id!r:.200} is one of {session.name!r}, not of {self._spec!r}",
                hint="start the editor's command with that agent",
            )
        else:
            named = wanted.additional_directories
            session.directories = await asyncio.to_thread(named_directories, self._bench, session, named)
        return await self._begun(session, wanted.cwd), self._places[session.id]

    async def _begun(self, session: Session, cwd: str) -> dict[str, object]:
        """Return what can be chosen of a session's agent, when it is ready; show the session here from now on."""
        control = self._bench.controls.get(session.id)
        described = Described()
        if control is not None:
            try:
                described = await control.describe()
                if described.trouble:
                    raise _sign_in(described.trouble, described.sign_in)
            except BaseException:
                with contextlib.suppress(FourhandsError):
                    await self._bench.leave_session(session.id)
                raise
        self._attach(session, cwd)
        modes = modes_on_wire(described)
        choices = options_on_wire(described.options)
        return {**({"modes": modes} if modes else {}), **({"configOptions": choices} if choices else {})}

    async def _list(self, params: dict[str, Any]) -> dict[str, object]:
        cwd = params.get("cwd")
        place = os.path.realpath(cwd) if isinstance(cwd, str) and cwd else None
        found = [
            _told_session(one.id, self._bench.own_cwd(one), self._title(one.id), time.time()) for one in self._here()
        ]
        for left in self._left():
            where = os.path.normpath(os.path.join(self._bench.root, left.cwd))
            found.append(_told_session(left.session, where, left.title, left.updated))
        return {"sessions": [one for one in found if place is None or os.path.realpath(str(one["cwd"])) == place]}

    async def _close(self, params: dict[str, Any]) -> dict[str, object]:
        place = self._place(params)
        alone = self._source.shown[place.session.id] <= 1
        self._detach(place)
        if alone:
            await self._bench.leave_session(place.session.id)
        return {}

    async def _delete(self, params: dict[str, Any]) -> dict[str, object]:
        id = decode_params(params, NamedSession).session_id
        session = self._bench.sessions.find(id)
        if session is not None and session.spec == self._spec:
            if (place := self._places.get(id)) is not None:
                self._detach(place)
            await self._bench.end_session(id)
        elif self._bench.left_chats is not None and any(one.session == id for one in self._left()):
            self._bench.left_chats.drop(id)
        return {}  # what is not there any more is deleted

    def _here(self) -> list[Session]:
        return [one for one in self._bench.sessions if one.spec == self._spec and one.id in self._bench.prompters]

    def _left(self) -> list[Any]:
        return self._bench.left_chats.left(self._spec) if self._bench.left_chats is not None else []

    def _title(self, session: str) -> str:
        events = self._source.chat_of(session)
        return next((str(one.data.get("text", ""))[:200] for one in events if one.kind == "agent.asked"), "")

    def _cwd(self, cwd: str) -> str:
        try:
            return resolve_cwd(cwd, self._bench.root, self._bench.settings.terminal.allowed_root, absolute=True)
        except BadCwd as error:
            error.hint = error.hint or f"this workbench is that of {self._bench.root}"
            raise

    def _place(self, params: dict[str, Any]) -> _Place:
        id = decode_params(params, NamedSession).session_id
        place = self._places.get(id)
        if place is None or place.session.ended:
            raise UnknownSession.of("session", id[:200], self._places)
        return place

    def _control(self, session: Session) -> AgentOptions:
        control = self._bench.controls.get(session.id)
        if control is None:
            raise Unsupported(f"{session.name} has nothing to choose or to sign in to")
        return control

    # -- turns ------------------------------------------------------------------------------------------------------

    async def _prompt(self, params: dict[str, Any]) -> dict[str, object]:
        place = self._place(params)
        text, enclosed = read_prompt(params.get("prompt"))
        place.failure = {}
        place.expected = ended = asyncio.get_running_loop().create_future()
        place.told.mine = True
        try:
            await self._bench.prompt(place.session, text, enclosed)
        finally:
            place.told.mine, place.expected = False, None
        try:
            reason = await ended
        except asyncio.CancelledError:
            self._tasks.start(self._stop(place.session.id), "the end of a turn that an editor gave up")
            raise
        place.terminals.flush()
        if reason == "failed":
            raise _failed(place.session, place.failure)
        return {"stopReason": reason if reason in STOP_REASONS else "end_turn"}

    def _cancel(self, params: dict[str, Any]) -> None:
        place = self._places.get(str(params.get("sessionId")))
        if place is not None:
            self._tasks.start(self._stop(place.session.id), "the end of a turn")

    async def _stop(self, session: str) -> None:
        person = Actor.person("acp", self._client)
        call = Call(command="openspace.agent.stop", args={"sessionId": session}, actor=person, origin="acp")
        await self._bench.gate.run(call)

    async def _set_mode(self, params: dict[str, Any]) -> dict[str, object]:
        place, mode = self._place(params), params.get("modeId")
        if not isinstance(mode, str):
            raise RpcError(INVALID_PARAMS, "modeId must be the id of a mode")
        await self._control(place.session).set_mode(mode)
        return {}

    async def _set_option(self, params: dict[str, Any]) -> dict[str, object]:
        place, option, value = self._place(params), params.get("configId"), params.get("value")
        if not isinstance(option, str) or not isinstance(value, str | bool):
            raise RpcError(INVALID_PARAMS, "configId must be the id of an option, and value one of its values")
        control = self._control(place.session)
        await control.set_option(option, value if isinstance(value, str) else ("yes" if value else "no"))
        return {"configOptions": options_on_wire((await control.describe()).options)}

    # -- what the editor is told ------------------------------------------------------------------------------------

    def _attach(self, session: Session, cwd: str) -> None:
        if session.id in self._places:
            return
        terminals = ShownTerminals(self._bench, session, lambda step: self._renew(session.id, step))
        self._places[session.id] = _Place(session, SessionUpdates(self._bench, session, terminals.text), terminals)
        self._source.shown[session.id] += 1
        self._questions.attend(session.id)
        if self._reads_buffers:
            self._bench.buffers[session.id] = lambda path: self._buffer(session.id, _spelled(path, cwd))

    def _detach(self, place: _Place) -> None:
        id = place.session.id
        if self._places.pop(id, None) is None:
            return
        place.terminals.close()
        self._source.shown[id] -= 1
        self._questions.leave(id)
        self._bench.buffers.pop(id, None)
        for ended in place.prompts.values():
            if not ended.done():
                ended.set_result("cancelled")

    async def _buffer(self, session: str, path: str) -> str | None:
        """Return a file's text as it stands in the editor; None where it does not say."""
        try:
            async with asyncio.timeout(BUFFER_S):
                answer = await self._peer.request("fs/read_text_file", {"sessionId": session, "path": path})
        except (FourhandsError, TimeoutError):
            return None
        content = answer.get("content") if isinstance(answer, dict) else None
        return content if isinstance(content, str) else None

    def _happened(self, event: Event) -> None:
        about = event.data.get("session")
        place = self._places.get(about) if isinstance(about, str) else None
        if place is None:
            return
        id, data = place.session.id, event.data
        if event.kind == "agent.asked" and place.expected is not None:
            place.prompts[str(data.get("messageId"))] = place.expected
        for update in place.told.of(event):
            self._update(id, update)
        match event.kind:
            case "agent.step":
                place.terminals.follow(place.told.terminals())
            case "agent.failed":
                place.failure = dict(data)
            case "agent.finished":
                ended = place.prompts.pop(str(data.get("messageId")), None)
                if ended is not None and not ended.done():
                    ended.set_result(str(data.get("stopReason")))
            case "agent.ended":
                self._detach(place)

    def _renew(self, session: str, step: str) -> None:
        place = self._places.get(session)
        for update in place.told.renewed(step) if place is not None else ():
            self._update(session, update)

    def _update(self, session: str, update: Update) -> None:
        self._peer.notify("session/update", {"sessionId": session, "update": update})

    def _about(self, question: Question) -> dict[str, object]:
        """Return the step of the agent's own that a question is about, so that the editor shows it there."""
        step = question.detail.get("toolCall")
        id = step.get("toolCallId") if isinstance(step, dict) else None
        return {"toolCallId": id} if isinstance(id, str) and id else {}


def _spelled(path: str, cwd: str) -> str:
    """Return a path as the editor names it, which may have come to its directory by a link."""
    real = os.path.realpath(cwd)
    return os.path.join(cwd, os.path.relpath(path, real)) if path.startswith(f"{real}/") else path


def _told_session(id: str, cwd: str, title: str, updated: float) -> dict[str, object]:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(updated))
    return {"sessionId": id, "cwd": cwd, "updatedAt": at, **({"title": title} if title else {})}


def _sign_in(trouble: str, methods: Sequence[Choosable]) -> RpcError:
    listed = [{"id": one.id, "name": one.name} for one in methods]
    return RpcError(AUTH_REQUIRED, trouble, {"code": "unavailable", "authMethods": listed})


def _failed(session: Session, failure: dict[str, Any]) -> RpcError:
    words = " ".join(str(failure[name]) for name in ("error", "hint") if failure.get(name))
    text = words or f"{session.name} failed"
    return RpcError(INTERNAL_ERROR, text, {"code": str(failure.get("code") or "internal")})
