"""A whole workbench: the one place that knows everyone and wires them together.

`async with App(workspace) as app` starts or joins the workspace's host, opens the journal, restores the layout and
builds registry and gate. Surfaces take calls to `app.call` and listen to `app.events`; nothing here decides anything.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from fourhands.commands import (
    agent,
    agent_options,
    change,
    checkpoint,
    editor,
    exec,
    file,
    help,
    limit,
    network,
    pane,
    project,
    rehearsal,
    safety,
    skill,
    terminal,
    terminal_output,
    tool,
    tool_file,
    tool_terminal,
    turn,
    workbench,
)
from fourhands.commands.file_undo import tell_editor
from fourhands.commands.policy import WorkbenchPolicy
from fourhands.core.call import Actor, Call, Decision, Result
from fourhands.core.effects import Undo
from fourhands.core.event import EventBus
from fourhands.core.gate import Gate, GateSettings
from fourhands.core.question import Questions
from fourhands.core.registry import Command, Contribution, Registry
from fourhands.core.tasks import Tasks
from fourhands.core.timing import Later, call_later
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers.registry import Providers
from fourhands.safety.environment import withheld
from fourhands.safety.redaction.redactor import redact
from fourhands.settings import Settings, load
from fourhands.workbench.events import ActionDone
from fourhands.workbench.files.watch import Watch
from fourhands.workbench.network import build_network, take_notes
from fourhands.workbench.project.watch import ProjectWatch
from fourhands.workbench.records.consent import FileConsentStore
from fourhands.workbench.records.journal import Journal
from fourhands.workbench.sandbox import announce, decide
from fourhands.workbench.sessions import Session
from fourhands.workbench.source import source
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.oneshot import OneShotLimits
from fourhands.workbench.terminals.terminals import Terminals
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

CONTRIBUTIONS: tuple[Contribution, ...] = (
    agent.commands,
    change.commands,
    checkpoint.commands,
    agent_options.commands,
    editor.commands,
    exec.commands,
    file.commands,
    help.commands,
    limit.commands,
    network.commands,
    pane.commands,
    project.commands,
    rehearsal.commands,
    safety.commands,
    skill.commands,
    terminal.commands,
    terminal_output.commands,
    tool.commands,
    tool_file.commands,
    tool_terminal.commands,
    turn.commands,
    workbench.commands,
)


class App:
    """A whole Fourhands without its doors."""

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        settings: Settings | None = None,
        *,
        places: WorkspaceDirs | None = None,
        env: Mapping[str, str] | None = None,
        contributions: Sequence[Contribution] = CONTRIBUTIONS,
        host_timings: HostTimings = HostTimings(),  # noqa: B008 - it is frozen
        one_shot: OneShotLimits = OneShotLimits(),  # noqa: B008 - it is frozen
        now: Callable[[], float] = time.time,
        later: Later = call_later,
    ) -> None:
        self.settings = settings or load(os.path.realpath(workspace))
        self.places = places or WorkspaceDirs.of(workspace)
        self.events = EventBus()
        self.registry = Registry()
        self.questions = Questions(
            self.events, wait_for_audience=self.settings.safety.wait_for_somebody, now=now, later=later
        )
        self.tasks = Tasks()
        self.terminals: Terminals
        self.journal: Journal
        self.bench: Workbench
        self.gate: Gate
        self._env = env
        self._contributions = contributions
        self._host_timings = host_timings
        self._one_shot = one_shot
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> "App":
        async with contextlib.AsyncExitStack() as stack:
            self.places.prepare()
            self.terminals = await stack.enter_async_context(
                Terminals(
                    self.places.workspace,
                    self.settings,
                    places=self.places,
                    env=self._env,
                    keep=True,
                    timings=self._host_timings,
                    one_shot=self._one_shot,
                )
            )
            secret_values = withheld(self.terminals.env)
            self.journal = await stack.enter_async_context(
                Journal(
                    Path(self.places.state) / "journal.sqlite",
                    redact=(lambda text: redact(text, secret_values)) if self.settings.safety.redact else None,
                    keep_days=self.settings.journal.keep_days,
                    keep_bytes=self.settings.journal.keep_bytes,
                    undo_bytes=self.settings.journal.undo_bytes,
                    # Stored means: survives a kill -9 of this process. A power cut may cost the last moments, and
                    # in return no call waits for the disk.
                    synchronous="NORMAL",
                )
            )
            consent = FileConsentStore(Path(self.places.state) / "consent.json")
            for contribution in self._contributions:
                self.registry.include(contribution)
            self._load_plugins()
            self.bench = Workbench(
                settings=self.settings,
                terminals=self.terminals,
                events=self.events,
                questions=self.questions,
                journal=self.journal,
                registry=self.registry,
            )
            self.policy = WorkbenchPolicy(self.bench)
            self.gate = self.bench.gate = Gate(
                self.registry,
                self.bench,
                self.questions,
                self.journal,
                self.bench.rehearsals.pending.watching(self.policy),
                GateSettings(unknown_s=self.settings.safety.unknown_answer_s),
                self.events,
                results=self.bench.sessions.record,
                undo_sink=self._done,
                store=consent,
                before_call=self._before_call,
                before_review=self._before_review,
                arrival=lambda session, agent: self.bench.sessions.arrival(session),
                source=lambda call: source(self.bench, call),
                notes=lambda session: take_notes(self.bench, session),
            )
            self.bench.network = await stack.enter_async_context(build_network(self.bench))
            self.bench.on_session_end.append(self._end_network)
            await self.terminals.use_network(self.bench.network.open)
            self.bench.forget_lost_terminals()
            stack.push_async_callback(self.bench.save)
            await stack.enter_async_context(self.tasks)
            stack.callback(self._leave)
            await stack.enter_async_context(self.bench.turns)
            await stack.enter_async_context(self.bench.rehearsals)
            watch = Watch(
                self.bench.files(Actor.person()),
                self.bench.state.editors,
                self.bench.writes,
                self.events,
                lambda path, version: tell_editor(self.bench, path, version),
            )
            self.tasks.start(watch.run(), "the watch over open files")
            self.tasks.start(ProjectWatch(self.bench.project, self.events).run(), "the watch over the project's skills")
            await self._clean_up(self.bench.left_behind() - set(self.bench.sessions.absent))
            if left := self.bench.left_behind():
                await self._restore(left)
                self.tasks.start(self._sweep(), "the sweep after a restart")
            self.tasks.start(self.terminals.renew_when_idle(), "the renewal of the host")
            self.tasks.start(announce(self.settings, self.providers, self.events), "the search for a sandbox")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    @property
    def providers(self) -> Providers:
        """The providers by name; `register` adds one that can be used at once."""
        return self.terminals.providers

    async def call(self, command: str, args: dict[str, object] | None = None, *, actor: Actor | None = None) -> Result:
        """Make a call from Python; as the person unless another actor is named."""
        return await self.gate.run(
            Call(command=command, args=args or {}, actor=actor or Actor.person(), origin="python")
        )

    def _done(self, call: Call, undos: Sequence[Undo]) -> None:
        """Add what an agent did to the undo stack. Inverses toggle: called again they redo."""

        async def back() -> None:
            for undo in reversed(undos):
                await undo.inverse()

        async def forth() -> None:
            for undo in undos:
                await undo.inverse()

        description = "; ".join(undo.description for undo in undos)
        action = self.bench.undo.push(call.id, description, actor=call.actor.id, inverse=back, redo=forth)
        self.events.emit(ActionDone(call_id=action.call_id, description=action.description))

    async def _before_review(self, call: Call, command: Command) -> None:
        """Find out which sandbox an agent's programs have: whether it is asked depends on it."""
        if command.safety is not None and (session := self.bench.session(call)) is not None:
            await decide(self.bench.agent_settings(session).provider, self.providers)

    async def _before_call(self, call: Call, command: Command, verdict: Decision) -> tuple[str, str]:
        self.bench.routine.note(call, command, verdict.level)
        return await self.bench.turns.before_call(call, command, verdict)

    def _end_network(self, session: Session) -> None:
        self.bench.network.gatekeeper.end(session.id)
        if session.id in self.bench.sessions.kept:
            return  # its sandbox stays, and with it the way out
        self.tasks.start(self.bench.network.close(session.id), "the end of a sandbox's network")

    def _leave(self) -> None:
        """Everything stays as it is for the next server, in whatever way this one goes; `fourhands stop` ends it."""
        self.bench.leaving = True

    async def _restore(self, sessions: Iterable[str]) -> None:
        """Let sessions that come back go on counting where their journal ends."""
        for session in sessions:
            self.gate.restore(session, await self.journal.last_number(session))

    async def _sweep(self) -> None:
        """After a restart: what belongs to sessions that do not come back in time goes, as if they had ended."""
        await asyncio.sleep(self.settings.server.return_s)
        await self._clean_up(self.bench.left_behind() - self.bench.waiting())

    async def _clean_up(self, sessions: Iterable[str]) -> None:
        for session in sessions:
            log.info("session %s did not come back: what it made is taken away", session)
            self.gate.end(session)
            self.bench.sessions.give_up(session)
            await self.bench.clean_up(session)

    def _load_plugins(self) -> None:
        """Contributions by entry point, as far as a setting names them; providers come by the same way."""
        if not self.settings.plugins:
            return
        from importlib.metadata import entry_points  # late: looking through all that is installed takes time

        for point in entry_points(group="fourhands"):
            if point.name in self.settings.plugins and isinstance(plugin := point.load(), Contribution):
                self.registry.include(plugin)
