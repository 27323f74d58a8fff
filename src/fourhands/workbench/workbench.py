"""The workbench: the one object that commands act on, for every caller.

It holds what a person and agents share, and reports changes by events. It decides no permission: that is the gate's.
"""

import asyncio
import dataclasses
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Actor, Call
from fourhands.core.errors import BadCwd, FourhandsError, Unsupported
from fourhands.core.event import EventBus
from fourhands.core.ids import short_id
from fourhands.core.question import Questions
from fourhands.core.registry import Registry
from fourhands.providers.egress.egress import Egress
from fourhands.safety.environment import withheld
from fourhands.settings import AgentDefaults, Settings
from fourhands.workbench import asking
from fourhands.workbench.agent_options import AgentOptions
from fourhands.workbench.asking import AskingChoice
from fourhands.workbench.attached import Attached
from fourhands.workbench.connecting import Connect, LeftChats, ListModels, unconnected, unlisted
from fourhands.workbench.enclosures import Enclosed
from fourhands.workbench.events import AgentReset, SessionEnded, SessionStarted
from fourhands.workbench.files.workspace import FileSettings, Workspace
from fourhands.workbench.files.writes import Writes
from fourhands.workbench.gate_control import GateControl
from fourhands.workbench.layout.panes import Tab, tabs
from fourhands.workbench.layout.snapshot import BadSnapshot, Snapshot, StateChange, StateLimits, decode, encode
from fourhands.workbench.layout.state import WorkbenchState
from fourhands.workbench.layout.undo import UndoStack
from fourhands.workbench.project.knowledge import ProjectKnowledge
from fourhands.workbench.records.journal import Journal
from fourhands.workbench.records.outputs import Outputs
from fourhands.workbench.rehearsal.rehearsals import Rehearsals
from fourhands.workbench.routine import RoutineTasks
from fourhands.workbench.seats import Seats
from fourhands.workbench.session_info import session_info
from fourhands.workbench.sessions import FILE, PREFIX, Session, SessionInfo, Sessions
from fourhands.workbench.terminals.agent_output import Redaction
from fourhands.workbench.terminals.authorship import AuthorSpan
from fourhands.workbench.terminals.handle import TerminalHandle
from fourhands.workbench.terminals.info import TerminalInfo, relative
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.terminals.lease import Lease
from fourhands.workbench.terminals.seat import AgentSeat, PersonSeat
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals
from fourhands.workbench.turns import Turns

log = logging.getLogger(__name__)

_JUDGED = 1000
"""Calls for which the judged terminal is remembered; far more than can wait for an answer at once."""

SAVE_S = 0.5
"""Seconds after a change until the layout is saved, with what else has changed by then."""


class Workbench:
    """The shared state and the way to change it. Wired by `app.py`, used by commands."""

    def __init__(
        self,
        *,
        settings: Settings,
        terminals: Terminals,
        events: EventBus,
        questions: Questions,
        journal: Journal,
        registry: Registry,
    ) -> None:
        self.settings = settings
        self.terminals = terminals
        self.events = events
        self.questions = questions
        self.journal = journal
        self.registry = registry
        state = Path(terminals.places.state)
        self.sessions = Sessions(AtomicFile(state / FILE), settings.server.max_sessions)
        self.attached = Attached(self)
        self.turns = Turns(terminals.places, terminals.env, settings, journal, events, lambda s: self.gate.pending(s))
        self.rehearsals = Rehearsals(terminals.places, terminals.env, settings, events, questions)
        self.asking = AskingChoice(state / asking.FILE, settings.safety.ask, events)
        self.routine = RoutineTasks(earlier=bool(self.sessions.absent))
        self.undo = UndoStack()
        self.outputs = Outputs()
        self.writes = Writes()
        self.redaction = Redaction(tuple(withheld(terminals.env)), settings.safety.redact)
        self.gate: GateControl
        self.network: Egress
        root, safety = terminals.places.workspace, settings.safety
        limits = FileSettings(secret_names_extra=safety.secret_names, secret_names_removed=safety.not_secret_names)
        self._files = Workspace(root, person=True, settings=limits)
        self._agents_files = Workspace(root, person=False, settings=limits)
        self.project = ProjectKnowledge(root, limits, settings.project, terminals.env, events)
        self._seats = Seats(self)
        self._judged: BoundedDict[tuple[str, str], str] = BoundedDict(_JUDGED)  # what a name meant for a judged call
        self._read_by: dict[str, dict[str, int]] = {}
        self._saved = AtomicFile(state / "layout.json")
        self._save_handle: asyncio.TimerHandle | None = None
        self.state = self._restore()
        self.fit_tabs()
        self.connect: Connect = unconnected
        self.models_at: ListModels = unlisted
        self.disconnect: Callable[[Session], Awaitable[None]] | None = None
        self.left_chats: LeftChats | None = None
        self.prompters: dict[str, Callable[..., Awaitable[str]]] = {}
        """Takers of a person's message, by session: its text, what comes with it; they return its id."""
        self.buffers: dict[str, Callable[[str], Awaitable[str | None]]] = {}
        """Readers of files as an editor beside the page has them, by session: None where it has nothing unsaved."""
        self.controls: dict[str, AgentOptions] = {}
        self.on_session_end: list[Callable[[Session], None]] = []
        self.leaving = False
        self.founder = ""  # the provider chosen by the options of the client that started this workbench
        self._seats.follow_all()

    @property
    def root(self) -> str:
        """The workspace's directory."""
        return self.terminals.places.workspace

    def files(self, actor: Actor) -> Workspace:
        """Return the workspace's files as this actor may see them."""
        return self._files if actor.session is None else self._agents_files

    def session(self, call: Call) -> Session | None:
        """Return the agent session a call belongs to."""
        return self.sessions.find(call.session)

    def positions(self, call: Call) -> dict[str, int]:
        """Return up to where a caller has read each terminal with the tools: in its session, or as a person."""
        session = self.session(call)
        if session is not None:
            return session.positions
        mine = self._read_by.setdefault(call.actor.id, {})
        for gone in mine.keys() - {terminal.id for terminal in self.terminals.list()}:
            del mine[gone]
        return mine

    def agent_settings(self, session: Session) -> AgentDefaults:
        """Return the settings of an agent now: its own state, over what the settings say of it, over the defaults."""
        return session.state.over(self.settings.for_agent(session.name, session.connector))

    # -- directories -----------------------------------------------------------------------------------------------

    def cwd(self, call: Call, given: str | None = None) -> str | None:
        """Return the start of a caller's program: the directory given, else that of the agent; None is the root."""
        session = self.session(call) if given is None else None
        return self.own_cwd(session) if session is not None and session.state.cwd is not None else given

    def own_cwd(self, session: Session) -> str:
        """Return the directory in which an agent's programs start; never silently another one."""
        cwd = session.state.cwd
        try:
            return resolve_cwd(cwd, self.root, self.settings.terminal.allowed_root)
        except BadCwd as error:
            raise BadCwd(
                f"{error.message}; it is the one of agent {session.name!r}",
                hint="give another directory with the call, or make it again; the person can choose another with "
                'openspace.agent.configure {"cwd": …}',
            ) from None

    def choose_cwd(self, session: Session, cwd: str) -> None:
        """Let an agent's programs start in this directory; the workspace itself is the default."""
        place = self.relative(resolve_cwd(cwd, self.root, self.settings.terminal.allowed_root))
        session.state = msgspec.structs.replace(session.state, cwd=None if place == "." else place)

    # -- terminals -------------------------------------------------------------------------------------------------

    def terminal(self, name: str, asker: Call | None = None) -> TerminalHandle:
        """Return a terminal by its id or, as this asker most likely means it (see `Terminals.get`), its title."""
        if asker is None:
            return self.terminals.get(name)
        return self.terminals.get(self._judged.get((asker.id, name), name), asker.session or "")

    def judged_terminal(self, name: str, call: Call) -> TerminalHandle:
        """Return the terminal that a call means, and use the same one for this call from now on.

        While a person is asked, a title may come to mean another terminal; what was assessed is never typed into that.
        """
        terminal = self.terminal(name, call)
        self._judged[call.id, name] = terminal.id
        return terminal

    def locate(self, name: str, asker: Call) -> str:
        """Return the id of the pane or tab that a name means: an id, a path, or a title as the asker means it.

        Of several tabs with one title the asker's own come first, then those in which something runs, as for terminals;
        of these the one that can be seen, then the newest.
        """
        owner = asker.session or ""
        known = {terminal.id: terminal for terminal in self.terminals.list()}

        def rank(tab: Tab) -> tuple[bool, bool]:
            if (terminal := known.get(tab.content)) is not None:
                return terminal.owner == owner, not terminal.exited
            return (tab.owner == owner if owner else not tab.owner.startswith(f"{PREFIX}_")), True

        return self.state.locate(next((id for id in known if short_id(id) == name), name), rank)

    def lease(self, terminal: Terminal) -> Lease:
        """Return the keyboard of a terminal."""
        return self._seats.lease(terminal)

    def seat(self, actor: Actor, terminal: TerminalHandle) -> PersonSeat | AgentSeat:
        """Return the seat of an actor at a terminal: their way to its keyboard and its output."""
        return self._seats.seat(actor, terminal)

    def person_seat(self, actor: Actor, terminal: TerminalHandle) -> PersonSeat:
        """Return the seat of a person, for what only they can do."""
        return self._seats.person_seat(actor, terminal)

    def agent_seat(self, actor: Actor, terminal: TerminalHandle) -> AgentSeat:
        """Return the seat of an agent."""
        return self._seats.agent_seat(actor, terminal)

    def authors(self, terminal: TerminalHandle) -> list[AuthorSpan]:
        """Return the authors of what was typed in a terminal, by position, the newest last."""
        return self._seats.authors(terminal)

    def describe(self, terminal: TerminalHandle) -> TerminalInfo:
        """Return a terminal as it is now."""
        return self._seats.describe(terminal)

    def redact(self, text: str) -> str:
        """Return a text as agents may see it: with secrets taken out."""
        return self.redaction.text(text)

    def shown(self, call: Call, text: str) -> str:
        """Return a text as the caller may see it."""
        return text if call.session is None else self.redact(text)

    def relative(self, path: str) -> str:
        """Return a path as people and models read it: relative to the workspace where it lies inside."""
        return relative(path, self.root)

    def irreversible(self, call: Call, description: str, reason: str) -> None:
        """List an agent's action that cannot be taken back, and why; a person's own actions are not listed."""
        if call.session is not None:
            self.undo.push(call.id, description, actor=call.actor.id, reason=reason)

    # -- sessions --------------------------------------------------------------------------------------------------

    def describe_session(self, session: Session) -> SessionInfo:
        """Return a session as it is now."""
        return session_info(self, session)

    def begin_session(
        self,
        name: str,
        connector: str,
        *,
        id: str | None = None,
        cwd: str | None = None,
        named: bool = False,
        prepare: Callable[[Session], None] = lambda session: None,
    ) -> Session:
        """Begin an agent's session, or go on with one that a crash of the server interrupted.

        Its programs start in `cwd`; without one, where they did before, or as the settings say, or in the workspace.
        `named` says that a client's configuration gave the name; `prepare` sets what all shall see of it at once.
        """
        place = cwd if cwd is not None else self.settings.cwd_for_agent(name, connector)
        if place is not None:
            resolve_cwd(place, self.root, self.settings.terminal.allowed_root)  # before there is a session
        session = self.sessions.add(name, connector, id=id, named=named)
        if place is not None and (cwd is not None or session.state.cwd is None):
            self.choose_cwd(session, place)
            self.sessions.save()
        prepare(session)
        self.attached.come_back(session)
        self.events.emit(SessionStarted(session=self.describe_session(session)))
        return session

    def resume_session(self, id: str) -> Session | None:
        """Return the session of an agent that shows it is the one, also one that was absent; None if it has ended."""
        if (known := self.sessions.back(id)) is not None:
            return self.begin_session(*known, id=id)
        return self.sessions.find(id)

    async def end_session(self, name: str) -> None:
        """End an agent's session: stop its queue, close its terminals, clear highlights and unpinned panes.

        When this returns, the agent's process is gone, if the workbench had started one.
        """
        session = self.sessions.get(name)
        self.gate.end(session.id)
        self.turns.end(session.id)
        await self._remove_made(session.id)
        self.sessions.remove(session.id)
        self.prompters.pop(session.id, None)
        self.buffers.pop(session.id, None)
        for listener in self.on_session_end:
            listener(session)
        self.events.emit(SessionEnded(session=session.id, name=session.name, resumable=session.resumable or UNSET))
        try:
            if self.disconnect is not None:
                await self.disconnect(session)  # while there is a sandbox, in which the agent may take its leave
        finally:
            await self.terminals.end_cell(session.id)

    async def leave_session(self, name: str) -> None:
        """End an agent's session as `end_session` does, but remember its chat: an agent can go on with it."""
        self.sessions.get(name).resumable = True
        await self.end_session(name)

    async def disconnect_session(self, id: str) -> None:
        """End the session of an agent whose connection has ended, unless it is the server that goes.

        Then the session stays for the next server, as after a crash: only a person or their agent ends it. So does one
        that is kept, until the next of its name.
        """
        session = self.sessions.find(id)
        if session is not None and session.kept and not self.leaving:
            self._part(session)
        elif not self.leaving:
            await self.end_session(id)

    def _part(self, session: Session) -> None:
        """Let a session go whose terminals stay; its consent, its rules and what waits go."""
        self.gate.end(session.id)
        self.turns.end(session.id)
        self.sessions.leave(session.id)
        for listener in self.on_session_end:
            listener(session)
        self.events.emit(SessionEnded(session=session.id, name=session.name))

    async def prompt(self, session: Session, text: str, enclosed: Sequence[Enclosed] = ()) -> str:
        """Hand a person's message to the agent's connector, with what comes with it; return its id."""
        prompter = self.prompters.get(session.id)
        if prompter is None:
            raise Unsupported(
                f"agent {session.name!r} takes no messages here: it is driven from outside",
                hint=f"talk to it where it runs ({session.connector})",
            )
        return await prompter(text, enclosed) if enclosed else await prompter(text)

    async def reset_session(self, name: str) -> None:
        """Begin a new chat with the same agent: what it made goes, its settings stay."""
        session = self.sessions.get(name)
        self.gate.stop(session.id, "the chat was reset")
        self.attached.clear(session)
        await self.clean_up(session.id)
        session.reset()
        self.events.emit(AgentReset(session=session.id))

    async def clean_up(self, session_id: str) -> None:
        """Remove what a session made, except for terminals that the person pinned, and end its sandbox."""
        await self._remove_made(session_id)
        await self.terminals.end_cell(session_id)

    async def _remove_made(self, session_id: str) -> None:
        pinned = {tab.content for _, tab in tabs(self.state.layout.root) if tab.type == "terminal" and tab.pinned}
        self.state.end_session(session_id)
        self.outputs.forget(session_id)
        doomed = [t for t in self.terminals.list() if t.owner == session_id and t.id not in pinned]
        done = await asyncio.gather(*(terminal.close() for terminal in doomed), return_exceptions=True)
        for terminal, error in zip(doomed, done, strict=True):
            if isinstance(error, BaseException) and not isinstance(error, FourhandsError):
                log.error("terminal %s of session %s could not be closed", terminal.id, session_id, exc_info=error)

    def left_behind(self) -> set[str]:
        """Return the sessions that are not here although they have not ended: a server before this one has gone."""
        owners = {t.owner for t in self.terminals.list()} | {*self.sessions.absent, *self.terminals.cell_sessions}
        owners |= {tab.owner for _, tab in tabs(self.state.layout.root)} | {m.owner for m in self.state.highlights()}
        return {owner for owner in owners if owner.startswith(f"{PREFIX}_") and self.sessions.find(owner) is None}

    def waiting(self) -> set[str]:
        """Return the kept sessions that are not here but have terminals, for the next session of their name."""
        return {t.owner for t in self.terminals.list()} & {*self.sessions.kept}

    # -- layout ----------------------------------------------------------------------------------------------------

    def fit_tabs(self) -> None:
        """Let there be tabs for all terminals that there may be, beside the files."""
        wanted = StateLimits().tabs + self.terminals.max_terminals
        if self.state.limits.tabs < wanted:
            self.state.limits = dataclasses.replace(self.state.limits, tabs=wanted)

    def _restore(self) -> WorkbenchState:
        try:
            saved: Snapshot | None = decode(self._saved.path.read_bytes())
            return WorkbenchState(self._changed, saved=saved)
        except FileNotFoundError:
            pass
        except (BadSnapshot, OSError) as error:
            path = self._saved.path
            aside = path.with_suffix(f".{int(time.time())}.bad")
            log.warning("the saved layout cannot be used (%s); it is kept as %s", error, aside.name)
            if path.exists():
                shutil.move(path, aside)
        return WorkbenchState(self._changed)

    def forget_lost_terminals(self) -> None:
        """Close tabs of terminals that no longer exist; called once after a restart."""
        self._seats.forget_lost()

    def _changed(self, change: StateChange) -> None:
        self.events.emit(change, revision=change.rev)
        if self._save_handle is None:
            self._save_handle = asyncio.get_running_loop().call_later(SAVE_S, self._save_soon)

    def _save_soon(self) -> None:
        self._save_handle = None
        self._saved.write_soon(encode(self.state.snapshot()))

    async def save(self) -> None:
        """Store layout and sessions where the next server finds them; returning means stored, or logged."""
        self.stop_saving()
        self._save_soon()
        self.sessions.save()
        await self._saved.close()
        await self.sessions.close()

    def stop_saving(self) -> None:
        """Drop the timer that would save the layout."""
        if self._save_handle is not None:
            self._save_handle.cancel()
            self._save_handle = None
