"""The terminals that the workspace's host has: joining the host, starting on it, and its replacement.

A host that dies takes its terminals' programs with it, and nothing else: the next one is started at once, ends what is
left of them, and lists them as lost; their output stays. A request that comes meanwhile waits for it.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from fourhands import __version__
from fourhands.core.errors import FourhandsError, NotFound
from fourhands.core.ids import new_id
from fourhands.core.tasks import Tasks
from fourhands.host.client import ClientTimings, HostClient, HostLost, HostSilent
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.protocol import Message
from fourhands.providers.base import Isolation, Launch
from fourhands.settings import TerminalSettings
from fourhands.settings.hosting import host_options
from fourhands.workbench.terminals.cells import SessionCells
from fourhands.workbench.terminals.handle import Exit
from fourhands.workbench.terminals.launch import LaunchPlanner
from fourhands.workbench.terminals.spare import Spare, is_orphan
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.timings import SpareTimings, TerminalTimings

log = logging.getLogger(__name__)

PROVIDER_FAILED = (125, 255)
"""Exit codes of providers that could not start the program."""


@dataclass(frozen=True, slots=True)
class HostTimings:
    """Seconds for the workspace's host and the terminals on it."""

    awake_s: float = 2.0
    """For the host to show that it is awake, where that is all that is asked."""

    rest_s: tuple[float, float] = (1.0, 30.0)
    """Before the next host is tried where none can be started: at first, and at most."""

    orphans_s: float = 2.0
    """For the end of spare shells whose server is gone; they may be in their start-up files."""

    client: ClientTimings = field(default_factory=ClientTimings)
    """For the host to start and to answer."""

    terminal: TerminalTimings = field(default_factory=TerminalTimings)
    spare: SpareTimings = field(default_factory=SpareTimings)


class HostInfo(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The host as others see it: running, silent (it lives and does not answer), lost, or stopped."""

    state: str
    pid: int = 0
    version: str = ""
    problem: str = ""
    note: str = ""


class HostTerminals:
    """The host of a workspace and the terminals that it has, those included that were there before.

    `tasks` is set while programs may be started; without it nothing is begun in the background.
    """

    def __init__(
        self,
        places: WorkspaceDirs,
        options: TerminalSettings,
        planner: LaunchPlanner,
        timings: HostTimings,
        on_change: Callable[[str, Terminal], None],
        on_lost: Callable[[list[Terminal]], None],
    ) -> None:
        self.known: dict[str, Terminal] = {}
        self.spare = Spare(places.state, timings.spare)
        self.cells = SessionCells(places, lambda: self.client, planner, self.known)
        self.tasks: Tasks | None = None
        self.timings = timings
        self._places = places
        self._options = options
        self._planner = planner
        self._on_change = on_change
        self._on_lost = on_lost
        self._orphans: list[Message] = []
        self._link: HostClient | None = None
        self._mending = asyncio.Lock()
        self._mender: asyncio.Task[Any] | None = None
        self._fewer = asyncio.Event()
        self._creating = 0
        self._early: dict[str, list[Message]] = {}  # what the host told of terminals that are not known yet

    # -- joining and leaving ---------------------------------------------------------------------------------------

    async def join(self) -> None:
        """Join the workspace's host, or start one."""
        options = host_options(self._options)
        self._link = await HostClient.open(
            self._places,
            on_event=self._event,
            on_lost=self._lost,
            linger_s=options.linger_s,
            budget=options.budget,
            keep=options.keep,
            timings=self.timings.client,
        )
        self._link.revive = self._mend

    def give_up(self) -> None:
        """Let no other host follow this one."""
        self.client.revive = None

    def leave(self) -> None:
        """Let go of the host and leave everything running, as a crash would."""
        for terminal in [*self.known.values(), *self.spare.all()]:
            terminal.dispose()
        self.known.clear()
        self.spare.close()
        if self._link is not None:
            self._link.close()

    async def stop(self) -> None:
        """End all terminals and the host itself."""
        known = list(self.known.values())
        self.give_up()
        with contextlib.suppress(HostLost):
            await self.client.request("stop")
        await asyncio.gather(*(self._planner.finish(terminal.id, terminal.meta) for terminal in known))

    @property
    def client(self) -> HostClient:
        """The connection to the host."""
        if self._link is None:
            raise FourhandsError("Terminals is used outside its `async with` block")
        return self._link

    # -- adoption --------------------------------------------------------------------------------------------------

    async def adopt_all(self) -> None:
        """Take over the host's terminals one by one: a fault of one concerns no other."""
        for record in self.client.found:
            name = record["id"]
            try:
                if (known := self.known.get(name)) is not None:
                    known.rejoin(record)
                    if known.exit is None and (end := Exit.of(record["exit"])) is not None:
                        known.ended(end)
                        self._on_change("exited", known)
                else:
                    await self._adopt(record)
            except NotFound:
                pass  # another client has closed it since the host listed it
            except (OSError, KeyError, TypeError, ValueError) as error:
                log.warning("terminal %s cannot be shown: %r", name, error)
        here = {record["id"] for record in self.client.found}
        for terminal in self.known.values():
            if terminal.id not in here and terminal.exit is None:
                terminal.ended(Exit(None, None, terminal.log.head, lost=True))
                self._on_change("exited", terminal)

    async def _adopt(self, record: Message) -> None:
        """Take over a terminal that was there before this object."""
        if mark := record["meta"].get("spare"):
            if not is_orphan(self._places.state, mark) and not record["exit"]:
                return  # the server's: this one only looks in
            self._orphans.append(record)
            return
        with self._expected(record["id"]):
            reply = await self.client.request("attach", terminal=record["id"])
            try:
                master = reply.fds[0] if reply.fds else -1
                terminal = Terminal(
                    self.client, reply.body["terminal"], master, self._planner.finish, self.timings.terminal
                )
            except BaseException:
                for fd in reply.fds:
                    os.close(fd)
                raise
            self.known[record["id"]] = terminal
        terminal.catch_sight()

    def end_orphans(self) -> list[asyncio.Task[None]]:
        """Begin to end the spare shells that no server will take; one in its start-up files takes a while."""
        if self.tasks is None:
            return []  # not yet: it is done when the block is entered
        orphans, self._orphans = self._orphans, []
        return [self.tasks.start(self._end_orphan(record), "an orphan's end") for record in orphans]

    async def _end_orphan(self, record: Message) -> None:
        with contextlib.suppress(FourhandsError):
            await self.client.request("end", terminal=record["id"], forget=True)
            await self._planner.finish(record["id"], record["meta"])

    # -- events of the host ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _expected(self, name: str) -> Iterator[None]:
        """Hold back the host's events of a terminal while it is asked for: a short program may end before it is known.

        They are handled as soon as the caller has announced the terminal itself.
        """
        self._early[name] = []
        try:
            yield
        finally:
            asyncio.get_running_loop().call_soon(self._tell_early, name)

    def _tell_early(self, name: str) -> None:
        for message in self._early.pop(name, ()):
            self._event(message)

    def _event(self, message: Message) -> None:
        if self.cells.heard(message):
            return
        name = message.get("terminal", "")
        if name in self._early:
            self._early[name].append(message)
            return
        terminal = self.known.get(name) or next((spare for spare in self.spare.all() if spare.id == name), None)
        if terminal is None:
            return
        match message["event"]:
            case "exited":
                end = Exit.of(message["exit"])
                assert end is not None
                terminal.ended(end)
                self._fewer.set()
                if end.code in PROVIDER_FAILED:
                    self._planner.distrust(terminal.meta.get("provider", ""))
                self._on_change("exited", terminal)
            case "closed":
                if terminal.exit is None:
                    terminal.ended(Exit(None, None, terminal.log.head))
                if self.known.pop(terminal.id, None) is not None:
                    self._on_change("closed", terminal)
                self._fewer.set()
                terminal.dispose()
            case "changed":
                terminal.meta.update(message["meta"])
                self._on_change("changed", terminal)
            case "resized":
                terminal.look_at_size()
            case "paused" | "resumed" as kind:
                terminal.paused = kind == "paused"
                self._on_change("paused" if terminal.paused else "resumed", terminal)

    # -- the next host ---------------------------------------------------------------------------------------------

    def _lost(self) -> None:
        """Begin to join the next host; only that one tells what became of the terminals.

        A host that was told to stop is followed by another only when something is asked of it.
        """
        if (spare := self.spare.discard()) is not None:
            spare.dispose()
        self.cells.lost()
        link = self._link
        if link is not None and link.revive is not None and not link.stopping and self.tasks is not None:
            self.tasks.start(self._keep_mending(), "the next host")

    async def _mend(self) -> None:
        """Join the host again, or the one that takes its place."""
        if asyncio.current_task() is self._mender:
            raise HostLost("the host went while it was being joined")
        async with self._mending:
            link = self.client
            if link.alive:
                return
            self._mender, before, stopped = asyncio.current_task(), link.host_pid, link.stopping
            running = [terminal for terminal in self.known.values() if terminal.exit is None]
            options = host_options(self._options)
            try:
                await link.join(linger_s=options.linger_s, budget=options.budget, keep=options.keep)
                await self.adopt_all()
                self.end_orphans()
            finally:
                self._mender = None
            if link.host_pid != before and not stopped:
                log.warning("the host (process %d) died; process %d takes its place", before, link.host_pid)
                self._on_lost([terminal for terminal in running if terminal.exit is not None])

    async def _keep_mending(self) -> None:
        rest_s, most_s = self.timings.rest_s
        while True:
            try:
                return await self._mend()
            except FourhandsError as error:
                log.error("no host: %s; tried again in %g s", error, rest_s)
            await asyncio.sleep(rest_s)
            rest_s = min(2 * rest_s, most_s)

    async def describe(self) -> HostInfo:
        """Return the host as it is now; it is asked whether it is awake, and not waited for."""
        link, running = self.client, sum(terminal.exit is None for terminal in self.known.values())
        if not link.alive:
            problem = "" if link.stopping else "the host has gone; the next one is being started"
            return HostInfo(state="stopped" if link.stopping else "lost", problem=problem)
        state, problem = "running", ""
        try:
            async with asyncio.timeout(self.timings.awake_s):
                await link.awake()
        except TimeoutError:
            state, problem = "silent", str(link.silent(self.timings.awake_s))
        except (HostLost, HostSilent) as error:
            state, problem = "silent", str(error)
        note = ""
        if self.outdated:
            note = f"the host is of {f'version {link.version}' if link.version else 'an older version'}, this is "
            note += f"{__version__}; it is renewed when no program runs in its terminals ({running} now)"
        return HostInfo(state=state, pid=link.host_pid, version=link.version, problem=problem, note=note)

    @property
    def outdated(self) -> bool:
        """True while the host is of another version than this server; it works all the same."""
        return self.client.alive and self.client.version != __version__

    async def renew_when_idle(self) -> None:
        """Renew a host of another version as soon as that ends no program."""
        while self.outdated:
            self._fewer.clear()
            with contextlib.suppress(FourhandsError):  # it is as good as before, and tried again
                if await self.renew():
                    return
            await self._fewer.wait()

    async def renew(self) -> bool:
        """Replace a host of another version by one of this version; return False where that would end a program."""
        link = self.client
        async with self._mending:
            if not self.outdated or self._running():
                return False
            for terminal in sorted(self.known.values(), key=lambda terminal: terminal.created):
                with contextlib.suppress(NotFound):  # closed meanwhile
                    if (await link.request("members", terminal=terminal.id)).body["members"]:
                        return False  # an exited terminal may have left a process behind
            if (spare := self.spare.discard()) is not None:
                await spare.close()
                spare.dispose()
            if self._running():
                return False
            log.info("the host of version %s is renewed", link.version or "unknown")
            link.stopping = True
            try:
                await link.request("stop", idle=True)
                await link.gone()
            except HostLost:
                pass
            except FourhandsError:
                link.stopping = False
                return False
        await self._mend()
        return True

    def _running(self) -> bool:
        return self._creating > 0 or any(terminal.exit is None for terminal in self.known.values())

    # -- starting --------------------------------------------------------------------------------------------------

    async def start(self, launch: Launch, provider: str, cols: int, rows: int, facts: dict[str, Any]) -> Terminal:
        """Start a program in a new terminal, on the next host where this one has just died."""
        if self._mending.locked():
            async with self._mending:  # the host is being renewed: what is started now is for the next one
                pass
        name = new_id("term", self.known)
        try:
            return await self._start_as(name, launch, provider, cols, rows, facts)
        except HostLost:
            if self.client.revive is None:
                raise
        await self._mend()
        # What a dead host had begun has ended with it. If only the way to it was cut, this ends it.
        self.client.tell("end", terminal=name, forget=True)
        return await self._start_as(new_id("term", self.known), launch, provider, cols, rows, facts)

    async def _start_as(
        self, name: str, launch: Launch, provider: str, cols: int, rows: int, facts: dict[str, Any]
    ) -> Terminal:
        wrapped, facts = await self._planner.wrap(name, launch, provider, facts)
        cell = await self.cells.of(await self._planner.provider(provider), str(facts.get("cell") or ""))
        self._creating += 1
        with self._expected(name):
            try:
                reply = await self.client.request(
                    "create",
                    terminal=name,
                    program=wrapped.program,
                    argv=list(wrapped.argv),
                    env={**self.cells.variables.get(cell, {}), **wrapped.env},
                    cwd=wrapped.cwd,
                    cols=cols,
                    rows=rows,
                    capacity=self._options.capacity,
                    meta=facts,
                    **({"cell": cell} if cell else {}),
                )
                terminal = Terminal(
                    self.client, reply.body["terminal"], reply.fds[0], self._planner.finish, self.timings.terminal
                )
            except BaseException:
                self._take_back(name, facts)
                raise
            finally:
                self._creating -= 1
            if not facts.get("spare"):
                self.known[name] = terminal
        return terminal

    def _take_back(self, name: str, facts: dict[str, Any]) -> None:
        """End a terminal whose start was given up, which the host may have started or be about to start.

        The host does what it is asked in order, so it hears of the end after the start; and if there was none, it
        knows no such terminal. A spare shell has an owner all the same: the next client to join finds it.
        """
        if facts.get("spare"):
            return
        with contextlib.suppress(FourhandsError):
            self.client.tell("end", terminal=name, forget=True)
            if self.tasks is not None and facts["isolation"] != str(Isolation.NONE):
                self.tasks.start(self._planner.finish(name, facts), "the end of a program whose start was given up")
