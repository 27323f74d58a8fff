"""The workbench: one object that commands act on, whoever calls them.

It holds what a person and agents share (terminals, layout, files, sessions, what can be undone) and says what changed
by events. It decides no permission: that is the gate's. It works with no browser open and shows the same in ten.
"""

import asyncio
import dataclasses
import logging
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.call import Actor, Call, Result
from fourhands.core.consent import AllowRules, Consent
from fourhands.core.errors import BadCwd, FourhandsError, Unsupported
from fourhands.core.event import EventBus
from fourhands.core.question import Questions
from fourhands.core.quote import Given
from fourhands.core.registry import Registry
from fourhands.safety.environment import withheld
from fourhands.safety.redaction.redactor import LONGEST_KEY, Redactor, redact, redact_lines
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.settings import AgentDefaults, Settings
from fourhands.workbench.agent_options import AgentOptions
from fourhands.workbench.attached import Attached
from fourhands.workbench.events import AgentReset, HostReplaced, SessionEnded, SessionStarted
from fourhands.workbench.files.workspace import FileSettings, Workspace
from fourhands.workbench.files.writes import Writes
from fourhands.workbench.layout.panes import Tab, tabs
from fourhands.workbench.layout.snapshot import BadSnapshot, Snapshot, StateChange, StateLimits, decode, encode
from fourhands.workbench.layout.state import WorkbenchState
from fourhands.workbench.layout.undo import UndoStack
from fourhands.workbench.records.journal import Journal
from fourhands.workbench.records.outputs import Outputs
from fourhands.workbench.sessions import FILE, PREFIX, CommandResult, Session, SessionInfo, Sessions
from fourhands.workbench.terminals import authorship, output
from fourhands.workbench.terminals.events import TERMINAL_EVENTS, TerminalClosed
from fourhands.workbench.terminals.info import TerminalInfo
from fourhands.workbench.terminals.lease import Lease
from fourhands.workbench.terminals.output import MOST_LINES, READ_LIMIT, OutputMatch, Slice, read_range
from fourhands.workbench.terminals.screen import Screen, rows_without
from fourhands.workbench.terminals.terminal import SLOW_START_S, Terminal
from fourhands.workbench.terminals.terminals import Terminals, resolve_cwd
from fourhands.workbench.terminals.watcher import Watcher

log = logging.getLogger(__name__)

KEY_LINES = LONGEST_KEY // 64
"""Lines of the longest private key."""

_JUDGED = 1000
"""Of how many calls it is kept which terminal was judged; far more than can wait for an answer at once."""

LAST_CHARS = 4_000
"""Of what a terminal printed last before it ended, for those to whose chats it was attached."""

SAVE_S = 0.5
"""How long after a change the layout is saved, with what else has changed by then."""


class GateControl(Protocol):
    """What commands about agents need of the gate."""

    consent: Consent
    rules: AllowRules
    given: Given

    async def run(self, call: Call, *, block: str = "") -> Result:
        """Pass a call, and say of which block."""
        ...

    def pause(self, session: str) -> None:
        """Hold a session's queue."""
        ...

    def resume(self, session: str) -> None:
        """Let it go on."""
        ...

    def paused(self, session: str) -> bool:
        """Whether it is held."""
        ...

    def pending(self, session: str) -> int:
        """How many calls wait or run."""
        ...

    def stop(self, session: str, reason: str = ...) -> int:
        """Drop what waits, cancel what runs."""
        ...

    def end(self, session: str) -> None:
        """Forget a session."""
        ...


class Connect(Protocol):
    """What starts an agent."""

    async def __call__(self, spec: str, *, cwd: str | None = None) -> Session:
        """Start the agent that `spec` names, its programs in `cwd`, and return its session."""
        ...


async def _nobody(spec: str, *, cwd: str | None = None) -> Session:
    raise Unsupported(f"no agent can be started here: {spec!r}", hint="start the server with: fourhands")


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
        self.undo = UndoStack()
        self.outputs = Outputs()
        self.writes = Writes()
        self._withheld = withheld(terminals.env)
        self.gate: GateControl
        root = terminals.places.workspace
        limits = FileSettings(
            secret_names_extra=settings.safety.secret_names, secret_names_removed=settings.safety.not_secret_names
        )
        self._files = {kind: Workspace(root, person=kind == "person", settings=limits) for kind in ("person", "agent")}
        self._leases: dict[str, Lease] = {}
        self._judged: dict[tuple[str, str], str] = {}  # what a name meant when a call was judged
        self._read_by: dict[str, dict[str, int]] = {}
        self._saved = AtomicFile(state / "layout.json")
        self._save_handle: asyncio.TimerHandle | None = None
        self.state = self._restore()
        self.fit_tabs()
        self.connect: Connect = _nobody
        self.disconnect: Callable[[Session], Awaitable[None]] | None = None
        self.prompters: dict[str, Callable[[str], Awaitable[None]]] = {}
        self.controls: dict[str, AgentOptions] = {}
        self.on_session_end: list[Callable[[Session], None]] = []
        self.leaving = False
        terminals.on_change = self._terminal_changed
        terminals.on_lost = self._host_lost
        for terminal in terminals.list():
            self._follow(terminal, self.describe(terminal))

    @property
    def root(self) -> str:
        """The workspace's directory."""
        return self.terminals.places.workspace

    def files(self, actor: Actor) -> Workspace:
        """The workspace's files as this actor may see them."""
        return self._files["agent" if actor.kind == "agent" else "person"]

    def session(self, call: Call) -> Session | None:
        """The agent session a call belongs to."""
        return self.sessions.find(call.session)

    def positions(self, call: Call) -> dict[str, int]:
        """Up to where a caller has read each terminal with the tools: an agent in its session, a person as such."""
        session = self.session(call)
        if session is not None:
            return session.positions
        mine = self._read_by.setdefault(call.actor.id, {})
        for gone in mine.keys() - {terminal.id for terminal in self.terminals.list()}:
            del mine[gone]
        return mine

    def agent_settings(self, session: Session) -> AgentDefaults:
        """What holds for an agent now: its own state, over what the settings say of it, over the defaults."""
        return session.state.over(self.settings.for_agent(session.name, session.connector))

    # -- directories -----------------------------------------------------------------------------------------------

    def cwd(self, call: Call, given: str | None = None) -> str | None:
        """Where a caller's program is to start: the directory given, else that of the agent; None is the root."""
        session = self.session(call) if given is None else None
        return self.own_cwd(session) if session is not None and session.state.cwd is not None else given

    def own_cwd(self, session: Session) -> str:
        """The directory in which an agent's programs start; never silently another one."""
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

    def terminal(self, name: str, asker: Actor | Call | None = None) -> Terminal:
        """A terminal by its id or, as this asker most likely means it (see `Terminals.get`), its title."""
        if isinstance(asker, Call):
            name = self._judged.get((asker.id, name), name)
            asker = asker.actor
        return self.terminals.get(name, asker.id if asker is not None and asker.kind == "agent" else "")

    def judged_terminal(self, name: str, call: Call) -> Terminal:
        """The terminal that a call means, from now on: what is judged of one must never be typed into another.

        Whoever is asked about it may take a while, and meanwhile a title may come to mean another terminal.
        """
        terminal = self.terminal(name, call)
        self._judged[call.id, name] = terminal.id
        while len(self._judged) > _JUDGED:
            self._judged.pop(next(iter(self._judged)))
        return terminal

    def locate(self, name: str, asker: Call) -> str:
        """The id of the pane or tab that a name means: an id, a path, or a title as this asker most likely means it.

        Of several tabs with one title the asker's own come first, then those in which something runs, as for terminals;
        of these the one that can be seen, then the newest.
        """
        owner = asker.session or ""
        known = {terminal.id: terminal for terminal in self.terminals.list()}

        def rank(tab: Tab) -> tuple[bool, bool]:
            if (terminal := known.get(tab.content)) is not None:
                return terminal.owner == owner, not terminal.exited
            return (tab.owner == owner if owner else not tab.owner.startswith(f"{PREFIX}_")), True

        return self.state.locate(name, rank)

    def lease(self, terminal: Terminal) -> Lease:
        """The keyboard of a terminal."""
        if terminal.id not in self._leases:
            self._leases[terminal.id] = Lease(
                terminal,
                lambda changed: self._tell_terminal("changed", changed),
                f"{self.terminals.places.state}/{terminal.id}{authorship.SUFFIX}",
            )
        return self._leases[terminal.id]

    def describe(self, terminal: Terminal) -> TerminalInfo:
        """A terminal as it is now."""
        end = terminal.exit
        state = terminal.look()  # reads the marks of what was printed; the rest is there then
        commands = terminal.commands
        last = commands.last
        cols, rows = terminal.size
        return TerminalInfo(
            id=terminal.id,
            title=terminal.title,
            status="lost" if end and end.lost else "exited" if end else "running",
            shell_state=state if terminal.marked or state == "input" else "unmarked",
            command=terminal.command,
            cwd=self.relative(commands.cwd or terminal.started_in),
            cols=cols,
            rows=rows,
            position=terminal.log.head,
            owner=terminal.owner,
            isolation=terminal.isolation,
            created=terminal.created,
            uptime_s=round(terminal.uptime_s, 1),
            pid=terminal.pid,
            exit_code=end.code if end else None,
            signal=end.signal if end else None,
            last_exit_code=last.exit_code if last else None,
            finished_commands=terminal.finished_commands,
            paused=terminal.paused,
            fault=terminal.fault,
            slow_start=terminal.slow_start,
            lease=self.lease(terminal).info(),
        )

    # -- what an agent may read ------------------------------------------------------------------------------------

    def shown(self, text: str, *, agent: bool) -> str:
        """A text as this reader may see it: for agents with secrets taken out."""
        return redact(text, self._withheld) if agent and self.settings.safety.redact else text

    def _clean(self, lines: list[str]) -> list[str]:
        """Lines that follow each other as agents may see them."""
        return redact_lines(lines, self._withheld) if self.settings.safety.redact else list(lines)

    def read_since(self, terminal: Terminal, position: int, *, agent: bool, limit: int = READ_LIMIT) -> Slice:
        """Output from a position on; what was printed while a secret was wanted is a gap for agents."""
        piece = terminal.since(position, limit=limit)
        if not agent:
            return piece
        if not self.lease(terminal).hides(piece.start, piece.end):
            return dataclasses.replace(piece, text=self._shown_from(terminal, piece))
        parts = self.lease(terminal).visible(piece.start, piece.end)
        texts = [sanitize(read_range(terminal.log, low, high).data) for low, high in parts]
        gap = (piece.start, piece.end) if not parts else (parts[0][1], parts[-1][0] if len(parts) > 1 else piece.end)
        return Slice(self.shown("".join(texts), agent=True), piece.start, piece.end, gap, piece.truncated)

    def _shown_from(self, terminal: Terminal, piece: Slice) -> str:
        """A piece of output for agents; it may begin in the middle of a private key."""
        before = read_range(terminal.log, max(terminal.log.floor, piece.start - LONGEST_KEY), piece.start).data
        if b"PRIVATE KEY" not in before:
            return self.shown(piece.text, agent=True)
        past = sanitize(before).split("\n")[:-1]
        return "\n".join(self._clean([*past, *piece.text.split("\n")])[len(past) :])

    def read_lines(self, terminal: Terminal, count: int, *, agent: bool) -> tuple[list[str], bool]:
        """The last lines, and whether something was hidden because a secret was wanted."""
        # For agents with some before them: the first may be in the middle of a private key.
        lines = terminal.lines(min(count + KEY_LINES, MOST_LINES) if agent and 0 < count <= MOST_LINES else count)
        if not agent:
            return lines, False
        head = terminal.log.head
        window = max(terminal.log.floor, head - READ_LIMIT)
        if not self.lease(terminal).hides(window, head) and not self.lease(terminal).dark:
            return self._clean(lines)[-count:], False
        text = self.read_since(terminal, window, agent=True).text
        return text.removesuffix("\n").split("\n")[-count:], True

    def read_screen(self, terminal: Terminal, *, agent: bool) -> Screen:
        """The screen; for agents the lines they may see, where something hidden may still stand on it."""
        shown = terminal.screen()
        if not agent:
            return shown
        head = terminal.log.head
        if not shown.alternate and self.lease(terminal).hides(max(terminal.log.floor, head - READ_LIMIT), head):
            lines, _ = self.read_lines(terminal, len(shown.rows), agent=True)
            return dataclasses.replace(shown, rows=[*lines, *[""] * (len(shown.rows) - len(lines))])
        return dataclasses.replace(shown, rows=rows_without(shown.rows, shown.size[0], self._clean))

    def search(self, terminal: Terminal, pattern: str, limit: int, *, agent: bool) -> list[OutputMatch]:
        """The newest lines in which a regular expression is found, for agents in what they may see of them."""
        wanted = agent and self.settings.safety.redact
        redactor = Redactor(self._withheld, keep_lines=True) if wanted else None
        return output.search(terminal.log, pattern, limit, redactor=redactor)

    def relative(self, path: str) -> str:
        """A path as people and models read it: relative to the workspace where it lies inside."""
        if path == self.root:
            return "."
        return os.path.relpath(path, self.root) if path.startswith(self.root.rstrip("/") + "/") else path

    def _terminal_changed(self, kind: str, terminal: Terminal) -> None:
        if kind == "closed":
            lease = self._leases.pop(terminal.id, None)
            if lease is not None:
                lease.forget()
            for _, tab in list(tabs(self.state.layout.root)):
                if tab.type == "terminal" and tab.content == terminal.id:
                    self.state.close(tab.id)
            self.attached.release(terminal, "the terminal was closed")
            self.events.emit(TerminalClosed(terminal_id=terminal.id, title=terminal.title))
            return
        info = self.describe(terminal)
        if kind == "created":
            self._follow(terminal, info)
        elif kind == "exited":
            self._tell_end(terminal)
        self._tell_info(kind, info)

    def _tell_end(self, terminal: Terminal) -> None:
        """A terminal has ended: those to whose chats it was attached are told how, with the last that it printed."""
        listening = [session for session in self.sessions if terminal.id in session.attached]
        last = {session.id: self.attached.of(session, terminal) for session in listening}
        for session in self.attached.release(terminal, "the terminal has ended"):
            end, news = terminal.exit, last[session.id]
            how = {"exitCode": end.code, "signal": end.signal} if end is not None else {}
            session.untold.append(
                CommandResult(
                    number=0,
                    command_id="agent.detached",
                    args={"terminalId": terminal.id, "title": terminal.title},
                    success=True,
                    output=news.text[-LAST_CHARS:] if news is not None else None,
                    data={"reason": "the terminal has ended", **how},
                    timestamp=time.time(),
                )
            )

    def _follow(self, terminal: Terminal, first: TerminalInfo) -> None:
        """Tell of what becomes of a terminal by itself, so that nobody need ask again and again."""

        def facts(info: TerminalInfo) -> object:
            return info.shell_state, info.finished_commands, info.last_exit_code, info.cwd, info.lease.secret

        if not terminal.exited:
            tell = partial(self._tell_info, "changed")
            Watcher(terminal, first, see=lambda: self.describe(terminal), facts=facts, tell=tell)
            terminal.on_resize = lambda: self._tell_terminal("resized", terminal)
            if terminal.marked:
                terminal.later(SLOW_START_S, partial(self._tell_start, terminal))

    def _tell_start(self, terminal: Terminal) -> None:
        """A shell that is slow to start prints nothing by which anybody would hear of it."""
        info = self.describe(terminal)
        if info.slow_start:
            self._tell_info("changed", info)
            terminal.later(SLOW_START_S, partial(self._tell_start, terminal))

    def _tell_terminal(self, kind: str, terminal: Terminal) -> None:
        self._tell_info(kind, self.describe(terminal))

    def _tell_info(self, kind: str, info: TerminalInfo) -> None:
        self.events.emit(TERMINAL_EVENTS[kind](terminal=info))

    def _host_lost(self, lost: list[Terminal]) -> None:
        """Another host has taken the place of one that died: say so to everybody, and to models in their next turn."""
        names = ", ".join(repr(terminal.title) for terminal in lost)
        text = "The terminal host died and was replaced: new terminals work. "
        text += f"Ended with it: {names}; the output can still be read." if lost else "Nothing ran in it."
        self.events.emit(HostReplaced(text=text, terminals=[terminal.id for terminal in lost]))
        for session in self.sessions:
            mine = [terminal.id for terminal in lost if terminal.owner == session.id]
            if mine:
                session.untold.append(
                    CommandResult(
                        number=0,
                        command_id="host.replaced",
                        args={"terminals": mine},
                        success=False,
                        error=text,
                        timestamp=time.time(),
                    )
                )

    # -- sessions --------------------------------------------------------------------------------------------------

    def describe_session(self, session: Session) -> SessionInfo:
        """A session as it is now."""
        return SessionInfo(
            id=session.id,
            name=session.name,
            connector=session.connector,
            status=session.status,
            created=session.created,
            state=session.state,
            paused=self.gate.paused(session.id),
            pending=self.gate.pending(session.id),
            consent=self.gate.consent.state(session.id, session.name),
            scopes=self.gate.consent.scopes(session.id, session.name),
            attached=self.attached.describe(session),
        )

    def begin_session(self, name: str, connector: str, *, id: str | None = None, cwd: str | None = None) -> Session:
        """An agent has come, or is back: a session that a crash of the server interrupted goes on.

        Its programs start in `cwd`; without one, where they did before, or as the settings say, or in the workspace.
        """
        place = cwd if cwd is not None else self.settings.cwd_for_agent(name, connector)
        if place is not None:
            resolve_cwd(place, self.root, self.settings.terminal.allowed_root)  # before there is a session
        session = self.sessions.add(name, connector, id=id)
        if place is not None and (cwd is not None or session.state.cwd is None):
            self.choose_cwd(session, place)
            self.sessions.save()
        self.attached.come_back(session)
        self.events.emit(SessionStarted(session=self.describe_session(session)))
        return session

    def resume_session(self, id: str) -> Session | None:
        """The session of an agent that shows it is the one; an absent one is here again. None: it has ended."""
        if (known := self.sessions.back(id)) is not None:
            return self.begin_session(*known, id=id)
        return self.sessions.find(id)

    async def end_session(self, name: str) -> None:
        """End an agent's session: stop its queue, close its terminals, clear highlights and unpinned panes.

        When this returns, the agent's process is gone, if the workbench had started one.
        """
        session = self.sessions.get(name)
        self.gate.end(session.id)
        await self.clean_up(session.id)
        self.sessions.remove(session.id)
        self.prompters.pop(session.id, None)
        for listener in self.on_session_end:
            listener(session)
        self.events.emit(SessionEnded(session=session.id, name=session.name))
        if self.disconnect is not None:
            await self.disconnect(session)

    async def disconnect_session(self, id: str) -> None:
        """An agent's connection has ended, and its session with it; unless it is the server that goes.

        Then the session stays for the next one, as after a crash: nobody but a person or their agent ends it.
        """
        if not self.leaving:
            await self.end_session(id)

    async def prompt(self, session: Session, text: str) -> None:
        """Hand a person's message to the agent's connector."""
        prompter = self.prompters.get(session.id)
        if prompter is None:
            raise Unsupported(
                f"agent {session.name!r} takes no messages here: it is driven from outside",
                hint=f"talk to it where it runs ({session.connector})",
            )
        await prompter(text)

    async def reset_session(self, name: str) -> None:
        """A new chat with the same agent: what it made goes, its settings stay."""
        session = self.sessions.get(name)
        self.gate.stop(session.id, "the chat was reset")
        self.attached.clear(session)
        await self.clean_up(session.id)
        session.reset()
        self.events.emit(AgentReset(session=session.id))

    async def clean_up(self, session_id: str) -> None:
        """Take away what a session made and nobody pinned."""
        pinned = {tab.content for _, tab in tabs(self.state.layout.root) if tab.type == "terminal" and tab.pinned}
        self.state.end_session(session_id)
        self.outputs.forget(session_id)
        doomed = [t for t in self.terminals.list() if t.owner == session_id and t.id not in pinned]
        done = await asyncio.gather(*(terminal.close() for terminal in doomed), return_exceptions=True)
        for terminal, error in zip(doomed, done, strict=True):
            if isinstance(error, BaseException) and not isinstance(error, FourhandsError):
                log.error("terminal %s of session %s could not be closed", terminal.id, session_id, exc_info=error)

    def left_behind(self) -> set[str]:
        """Sessions that are not here although they have not ended: a server before this one has gone."""
        owners = {terminal.owner for terminal in self.terminals.list()} | set(self.sessions.absent)
        owners |= {tab.owner for _, tab in tabs(self.state.layout.root)}
        owners |= {mark.owner for mark in self.state.highlights()}
        return {owner for owner in owners if owner.startswith(f"{PREFIX}_") and self.sessions.find(owner) is None}

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
        known = {terminal.id for terminal in self.terminals.list()}
        authorship.sweep(self.terminals.places.state, known)
        for _, tab in list(tabs(self.state.layout.root)):
            if tab.type == "terminal" and tab.content not in known:
                self.state.close(tab.id)

    def _changed(self, change: StateChange) -> None:
        self.events.emit(change, revision=change.rev)
        if self._save_handle is None:
            self._save_handle = asyncio.get_running_loop().call_later(SAVE_S, self._save_soon)

    def _save_soon(self) -> None:
        self._save_handle = None
        self._saved.write_soon(encode(self.state.snapshot()))

    def save(self) -> None:
        """Store layout and sessions where the next server finds them, before anything else happens."""
        if self._save_handle is not None:
            self._save_handle.cancel()
            self._save_handle = None
        try:
            self._saved.write(encode(self.state.snapshot()))
            self.sessions.save(now=True)
        except OSError as error:
            log.warning("cannot save the layout and the sessions: %s", error)
