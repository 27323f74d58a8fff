"""All terminals of a workspace: creating, finding, one-shot commands, and the way back after a restart.

`Terminals` is the embedding program's door and lies below the gate: whoever holds it decides what may run. It joins
the workspace's host, or starts one; leaving the block ends what this object created, unless told to keep it.

A host that dies takes its terminals' programs with it, and nothing else: the next one is started at once, ends what is
left of them, and lists them as lost; their output stays. Whoever asks for something meanwhile waits for it.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec import Struct

from fourhands import __version__
from fourhands.core.errors import (
    BadArgument,
    BadCwd,
    CommandNotFound,
    ExecDenied,
    FourhandsError,
    LimitReached,
    NotFound,
    Unavailable,
)
from fourhands.core.event import Dispose
from fourhands.core.ids import is_id, new_id
from fourhands.core.tasks import Tasks
from fourhands.host import processes
from fourhands.host.archive import Retention
from fourhands.host.client import HostClient, HostLost, HostSilent
from fourhands.host.log import Chunk
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.protocol import Message
from fourhands.providers import registry
from fourhands.providers.base import Isolation, Launch, Provider
from fourhands.safety import environment
from fourhands.settings import MOST_TERMINALS, Settings
from fourhands.workbench.terminals import oneshot
from fourhands.workbench.terminals.followers import Followers
from fourhands.workbench.terminals.handle import Exit, TerminalHandle
from fourhands.workbench.terminals.shell.detection import (
    PlatformInformation,
    Shell,
    detect_shell,
    foreign_shell,
    named_shell,
    platform_information,
)
from fourhands.workbench.terminals.shell.integration import SCRIPTS, integrate
from fourhands.workbench.terminals.spare import Spare, is_orphan
from fourhands.workbench.terminals.terminal import Terminal, check_size

log = logging.getLogger(__name__)

LONGEST_TITLE = 200

SIZE = (80, 24)
"""Columns and rows where nobody names any; a page gives its terminals their own soon."""

AGENT_SIZE = (120, 40)
"""The same for what an agent starts: nobody may look at it, and fewer lines are folded."""

AWAKE_S = 2.0
"""How long a host may take to show that it is awake to whoever only wants to know that."""

REST_S = (1.0, 30.0)
"""How long to wait before the next host is tried where none can be started: at first, and at most."""

ORPHANS_S = 2.0
"""How long a newcomer waits for the end of spare shells whose server is gone; they may be in their start-up files."""

PROVIDER_FAILED = (125, 255)
"""What providers exit with when they could not start the program."""


class HostInfo(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The host as others see it: running, silent (it lives and does not answer), lost, or stopped."""

    state: str
    pid: int = 0
    version: str = ""
    problem: str = ""
    note: str = ""


class Terminals:
    """The terminals of one workspace, on their host."""

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        settings: Settings | None = None,
        *,
        places: WorkspaceDirs | None = None,
        env: Mapping[str, str] | None = None,
        keep: bool = False,
        providers: Mapping[str, Provider] | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.places = places or WorkspaceDirs.of(workspace)
        self.env: Mapping[str, str] = dict(os.environ if env is None else env)
        self.providers = registry.Providers(
            registry.build(self.settings, env=self.env) if providers is None else providers
        )
        self.on_change: Callable[[str, Terminal], None] = lambda kind, terminal: None
        self.on_lost: Callable[[list[Terminal]], None] = lambda terminals: None
        self._followers = Followers()
        self._keep = keep
        self._mine: set[str] = set()
        self._known: dict[str, Terminal] = {}
        self._spare = Spare()
        self._orphans: list[Message] = []
        self._max = self.settings.terminal.max_terminals
        self._starting = 0
        self._promised: list[tuple[str, str]] = []  # owners and titles of those that are on their way
        self._link: HostClient | None = None
        self._mending = asyncio.Lock()
        self._mender: asyncio.Task[Any] | None = None
        self._fewer = asyncio.Event()
        self._creating = 0
        self._early: dict[str, list[Message]] = {}  # what the host told of terminals that are not known yet
        self._tasks: Tasks | None = None
        self._stack = contextlib.AsyncExitStack()
        self._prepared: set[str] = set()
        self._preparing = asyncio.Lock()
        self._used: set[str] = set()
        self._variables: dict[tuple[bool, bool], dict[str, str]] = {}

    # -- life ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> "Terminals":
        if not os.path.isdir(self.places.workspace):
            raise BadCwd(f"the workspace {self.places.workspace!r} is not a directory")
        options = self.settings.terminal
        async with contextlib.AsyncExitStack() as stack:
            self._link = await HostClient.open(
                self.places,
                on_event=self._event,
                on_lost=self._lost,
                linger_s=options.linger_s,
                budget=options.log_budget,
                keep=Retention(options.keep_days, options.keep_bytes),
            )
            self._link.revive = self._mend
            stack.callback(self.leave)
            self._spare.open()
            await self._adopt_all()
            stack.push_async_callback(self._clean_up)
            self._tasks = await stack.enter_async_context(Tasks())
            stack.callback(self._let_it_go)
            if ends := self._end_orphans():
                await asyncio.wait(ends, timeout=ORPHANS_S)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def _let_it_go(self) -> None:
        """From now on nobody needs a host."""
        self._host.revive = None

    async def _clean_up(self) -> None:
        doomed = [] if self._keep else [t for t in self._known.values() if t.id in self._mine]
        doomed += self._spare.all()
        await asyncio.gather(*(terminal.close() for terminal in doomed), return_exceptions=True)
        for name in self._used:
            await self.providers[name].clean_up()

    def leave(self) -> None:
        """Let go of the host and leave everything running, as a crash would."""
        for terminal in [*self._known.values(), *self._spare.all()]:
            terminal.dispose()
        self._known.clear()
        self._spare.close()
        if self._link is not None:
            self._link.close()

    async def stop(self) -> None:
        """End all terminals and the host itself."""
        known = list(self._known.values())
        self._let_it_go()
        with contextlib.suppress(HostLost):
            await self._host.request("stop")
        await asyncio.gather(*(self._finish(terminal.id, terminal.meta) for terminal in known))

    @property
    def _host(self) -> HostClient:
        if self._link is None:
            raise FourhandsError("Terminals is used outside its `async with` block")
        return self._link

    async def _adopt_all(self) -> None:
        """Take over what the host has, one by one: what is wrong with one terminal concerns no other."""
        for record in self._host.found:
            name = record["id"]
            try:
                if (known := self._known.get(name)) is not None:
                    known.rejoin(record)
                    if known.exit is None and (end := Exit.of(record["exit"])) is not None:
                        known.ended(end)
                        self.on_change("exited", known)
                else:
                    await self._adopt(record)
            except NotFound:
                pass  # closed by somebody else since the host told of it
            except (OSError, KeyError, TypeError, ValueError) as error:
                log.warning("terminal %s cannot be shown: %r", name, error)
        here = {record["id"] for record in self._host.found}
        for terminal in self._known.values():
            if terminal.id not in here and terminal.exit is None:
                terminal.ended(Exit(None, None, terminal.log.head, lost=True))
                self.on_change("exited", terminal)

    async def _adopt(self, record: Message) -> None:
        """A terminal from before our time."""
        if mark := record["meta"].get("spare"):
            if not is_orphan(mark) and not record["exit"]:
                return  # the server's: this one only looks in
            self._orphans.append(record)
            return
        with self._expected(record["id"]):
            reply = await self._host.request("attach", terminal=record["id"])
            try:
                master = reply.fds[0] if reply.fds else -1
                terminal = Terminal(self._host, reply.body["terminal"], master, self._finish)
            except BaseException:
                for fd in reply.fds:
                    os.close(fd)
                raise
            self._known[record["id"]] = terminal
        terminal.catch_sight()

    async def _mend(self) -> None:
        """Join the host again, or the one that takes its place."""
        if asyncio.current_task() is self._mender:
            raise HostLost("the host went while it was being joined")
        async with self._mending:
            link = self._host
            if link.alive:
                return
            self._mender, before, stopped = asyncio.current_task(), link.host_pid, link.stopping
            running = [terminal for terminal in self._known.values() if terminal.exit is None]
            options = self.settings.terminal
            try:
                keep = Retention(options.keep_days, options.keep_bytes)
                await link.join(linger_s=options.linger_s, budget=options.log_budget, keep=keep)
                await self._adopt_all()
                self._end_orphans()
            finally:
                self._mender = None
            if link.host_pid != before and not stopped:
                log.warning("the host (process %d) died; process %d takes its place", before, link.host_pid)
                self.on_lost([terminal for terminal in running if terminal.exit is not None])

    async def _keep_mending(self) -> None:
        rest_s = REST_S[0]
        while True:
            try:
                return await self._mend()
            except FourhandsError as error:
                log.error("no host: %s; tried again in %g s", error, rest_s)
            await asyncio.sleep(rest_s)
            rest_s = min(2 * rest_s, REST_S[1])

    def _end_orphans(self) -> list[asyncio.Task[None]]:
        """Begin to end the spare shells that nobody will take; one in its start-up files takes a while."""
        if self._tasks is None:
            return []  # not yet: whoever enters does it
        orphans, self._orphans = self._orphans, []
        return [self._tasks.start(self._end_orphan(record), "an orphan's end") for record in orphans]

    async def _end_orphan(self, record: Message) -> None:
        with contextlib.suppress(FourhandsError):
            await self._host.request("end", terminal=record["id"], forget=True)
            await self._finish(record["id"], record["meta"])

    async def _finish(self, mark: str, meta: Mapping[str, Any]) -> None:
        """After the host has ended a terminal: let its provider end what the host cannot see."""
        name = meta.get("provider", "local")
        if name in self.providers and meta.get("isolation", "none") != "none":
            with contextlib.suppress(Unavailable):  # what cannot be reached any more has nothing left to end
                await (await self.provider(name)).end(mark)

    @contextlib.contextmanager
    def _expected(self, name: str) -> Iterator[None]:
        """Keep what the host tells of a terminal while it is asked for: a short program may end before it is known.

        It is told as soon as whoever asked has told of the terminal itself.
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
        name = message.get("terminal", "")
        if name in self._early:
            self._early[name].append(message)
            return
        terminal = self._known.get(name) or next((spare for spare in self._spare.all() if spare.id == name), None)
        if terminal is None:
            return
        match message["event"]:
            case "exited":
                end = Exit.of(message["exit"])
                assert end is not None
                terminal.ended(end)
                self._fewer.set()
                if end.code in PROVIDER_FAILED:
                    self._prepared.discard(terminal.meta.get("provider", ""))  # look again before the next launch
                self.on_change("exited", terminal)
            case "closed":
                if terminal.exit is None:
                    terminal.ended(Exit(None, None, terminal.log.head))
                if self._known.pop(terminal.id, None) is not None:
                    self.on_change("closed", terminal)
                self._fewer.set()
                self._followers.went(terminal)
                terminal.dispose()
            case "changed":
                terminal.meta.update(message["meta"])
                self.on_change("changed", terminal)
            case "resized":
                terminal.look_at_size()
            case "paused" | "resumed" as kind:
                terminal.paused = kind == "paused"
                self.on_change("paused" if terminal.paused else "resumed", terminal)

    def _lost(self) -> None:
        """The host is gone, or only the way to it: which of the two, and what became of its terminals, tells the next.

        One that was told to stop is followed by another only when somebody asks for something.
        """
        if (spare := self._spare.discard()) is not None:
            spare.dispose()
        link = self._link
        if link is not None and link.revive is not None and not link.stopping and self._tasks is not None:
            self._tasks.start(self._keep_mending(), "the next host")

    # -- which there are -------------------------------------------------------------------------------------------

    def list(self) -> list[Terminal]:
        """All terminals, oldest first; exited ones stay until they are closed."""
        return sorted(self._known.values(), key=lambda terminal: terminal.created)

    def get(self, name: str, owner: str = "") -> Terminal:
        """A terminal by its id or its title; of several with that title the one that `owner` most likely means.

        That is their own that runs, else their own that has ended, else somebody else's that runs, else one that has
        ended; the newest of each. One's own comes first even when it has ended: whoever made `test-runner` wants to
        read how it ended, or to hear that it has, and never to type into a stranger's terminal of the same title.
        """
        return max(self.named(name), key=lambda one: (one.owner == owner, not one.exited, one.created, one.id))

    def named(self, name: str) -> Sequence[Terminal]:
        """The terminal of that id, else all of that title, at least one; what has an id's form is never a title."""
        if name in self._known:
            return [self._known[name]]
        titled = [] if is_id(name) else [terminal for terminal in self._known.values() if terminal.title == name]
        if not titled:
            raise NotFound.of("terminal", name, [f"{t.title} ({t.id})" for t in self._known.values()])
        return titled

    def titles(self) -> set[str]:
        """All titles, also of terminals that are on their way."""
        return {terminal.title for terminal in self._known.values()} | {title for _, title in self._promised}

    def free_title(self, title: str, owner: str, besides: TerminalHandle | None = None) -> str:
        """This title, or one made of it that no other running terminal of this owner has: `build 2`."""
        taken = {t.title for t in self._known.values() if t.owner == owner and not t.exited and t is not besides}
        taken |= {promised for whose, promised in self._promised if whose == owner}
        ends = ("", *(f" {number}" for number in range(2, len(taken) + 2)))
        return next(free for end in ends if (free := title[: LONGEST_TITLE - len(end)] + end) not in taken)

    @property
    def count(self) -> int:
        """How many terminals there are, those that are being started included; this is held against the limit."""
        return len(self._known) + self._starting

    @property
    def max_terminals(self) -> int:
        """How many terminals there may be; where there are more already, all go on, and none is added."""
        return self._max

    @max_terminals.setter
    def max_terminals(self, limit: int) -> None:
        if type(limit) is not int or not 1 <= limit <= MOST_TERMINALS:
            raise BadArgument(f"the limit must be a whole number from 1 to {MOST_TERMINALS}, not {limit!r}")
        self._max = limit

    def on_data(self, callback: Callable[[Terminal, Chunk], None]) -> Dispose:
        """Hand over all output of all terminals from now on, of new ones from their beginning; returns what ends it."""

        def follow(terminal: Terminal, new: bool) -> Dispose:
            return terminal.on_data(lambda chunk: callback(terminal, chunk), 0 if new else None)

        return self._followers.add(follow, self._known.values())

    def on_exit(self, callback: Callable[[Terminal, Exit], None]) -> Dispose:
        """Call back when a program has ended, in whichever terminal; returns what ends it."""

        def follow(terminal: Terminal, new: bool) -> Dispose:
            if terminal.exit is not None and not new:
                return lambda: None  # that was before
            return terminal.on_exit(lambda end: callback(terminal, end))

        return self._followers.add(follow, self._known.values())

    def platform(self) -> PlatformInformation:
        """The machine, and the shells that terminals may have here."""
        return platform_information(self.env, self.settings.terminal.shells)

    @property
    def spare(self) -> Terminal | None:
        """The shell that waits to be asked for."""
        return self._spare.terminal

    async def settled(self) -> None:
        """Return when nothing is being prepared in the background any more."""
        if self._tasks is not None:
            await self._tasks.idle()

    @property
    def host_pid(self) -> int:
        """The process that owns the terminals."""
        return self._host.host_pid

    async def host(self) -> HostInfo:
        """The host as it is now; asked whether it is awake, and not waited for."""
        link, running = self._host, sum(terminal.exit is None for terminal in self._known.values())
        if not link.alive:
            problem = "" if link.stopping else "the host has gone; the next one is being started"
            return HostInfo(state="stopped" if link.stopping else "lost", problem=problem)
        state, problem = "running", ""
        try:
            async with asyncio.timeout(AWAKE_S):
                await link.awake()
        except TimeoutError:
            state, problem = "silent", str(link.silent(AWAKE_S))
        except (HostLost, HostSilent) as error:
            state, problem = "silent", str(error)
        note = ""
        if self.outdated:
            note = f"the host is of {f'version {link.version}' if link.version else 'an older version'}, this is "
            note += f"{__version__}; it is renewed when no program runs in its terminals ({running} now)"
        return HostInfo(state=state, pid=link.host_pid, version=link.version, problem=problem, note=note)

    @property
    def outdated(self) -> bool:
        """Whether the host is of another version than this server; it works all the same."""
        return self._host.alive and self._host.version != __version__

    async def renew_when_idle(self) -> None:
        """Renew a host of another version as soon as that ends nobody's program."""
        while self.outdated:
            self._fewer.clear()
            with contextlib.suppress(FourhandsError):  # it is as good as before, and tried again
                if await self.renew():
                    return
            await self._fewer.wait()

    async def renew(self) -> bool:
        """Put a host of our own version in the place of one of another, where that ends nobody's program."""
        link = self._host
        async with self._mending:
            if not self.outdated or self._running():
                return False
            for terminal in self.list():  # an exited one may have left somebody behind
                with contextlib.suppress(NotFound):  # closed meanwhile
                    if (await link.request("members", terminal=terminal.id)).body["members"]:
                        return False
            if (spare := self._spare.discard()) is not None:
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
        return self._creating > 0 or any(terminal.exit is None for terminal in self._known.values())

    # -- creating --------------------------------------------------------------------------------------------------

    async def create(
        self,
        *,
        title: str | None = None,
        cwd: str | None = None,
        shell: str | None = None,
        argv: Sequence[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        cols: int | None = None,
        rows: int | None = None,
        provider: str = "local",
        owner: str = "",
        agent: bool = False,
        interactive: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> Terminal:
        """Start a shell, or the program given by `argv`, in a new terminal.

        A title that another running terminal of this owner has gets a number behind it: see the terminal's `title`.
        `interactive` is for one in which a person types: pagers wait for keys there, and `!` recalls earlier commands.
        """
        interactive = interactive and not agent
        cols, rows = self._size(cols, rows, agent=agent)
        check_size(cols, rows)
        if title is not None:
            check_title(title)
            title = self.free_title(title, owner)
        if self.count >= self._max:
            raise LimitReached(
                f"there are {self.count} terminals, the limit is {self._max}",
                hint="close one, or raise terminal.maxTerminals",
            )
        place = resolve_cwd(cwd, self.places.workspace, self.settings.terminal.allowed_root)
        facts = {"title": title or "", "owner": owner, "agent": agent, "created": time.time(), **(meta or {})}
        self._starting += 1
        promised = (owner, title or "")
        self._promised.append(promised)
        try:
            launch, key, fixed = await self._launch(argv, shell, place, env, provider, agent, interactive)
            terminal = self._spare.take(key)
            if terminal is None:
                terminal = await self._start(launch, provider, cols, rows, {**fixed, **facts})
            else:
                self._known[terminal.id] = terminal
                terminal.resize(cols, rows)
                terminal.describe_soon(spare=False, **facts)
        finally:
            self._starting -= 1
            self._promised.remove(promised)
        self._mine.add(terminal.id)
        self._refill(key, launch, provider, (cols, rows), fixed)
        self._followers.came(terminal)
        self.on_change("created", terminal)
        return terminal

    def _size(self, cols: int | None, rows: int | None, *, agent: bool) -> tuple[int, int]:
        """What is asked for, else what the settings say, else what is usual."""
        wide, high = AGENT_SIZE if agent else SIZE
        options = self.settings.terminal
        wide = wide if options.cols is None else options.cols
        high = high if options.rows is None else options.rows
        return wide if cols is None else cols, high if rows is None else rows

    async def _launch(
        self,
        argv: Sequence[str] | None,
        shell: str | None,
        cwd: str,
        changes: Mapping[str, str | None] | None,
        provider: str,
        agent: bool,
        interactive: bool,
    ) -> tuple[Launch, object, dict[str, Any]]:
        """How to start it, a key under which an equal spare may wait, and the facts that belong to the start."""
        variables = self.variables(changes, agent=agent, pagers=interactive)
        shells = (await self.provider(provider)).shells
        if argv is not None:
            check_words("argv", argv)
            program = argv[0]
            if shells is None:
                program = oneshot.find_program(program, variables.get("PATH", os.defpath), cwd)
            return Launch(program, tuple(argv), cwd, variables), None, {}
        chosen: Shell
        if shells is not None:
            chosen = foreign_shell(shell, self.env, shells)
        elif shell is not None:
            chosen = named_shell(shell, self.settings.terminal.shells)
        else:
            chosen = detect_shell(self.env, self.settings.terminal.shells)
        # A shell with variables of its own is nobody else's: the spare one stays as it is.
        key = None if changes else (chosen.path, cwd, tuple(sorted(variables.items())), provider, interactive)
        fixed = {"shell": chosen.path, "interactive": interactive}
        return Launch(chosen.path, (chosen.path, *chosen.arguments), cwd, variables), key, fixed

    def variables(
        self, changes: Mapping[str, str | None] | None, *, agent: bool, pagers: bool = False
    ) -> dict[str, str]:
        """The environment of a program that a person or an agent starts; without pagers unless they are asked for."""
        environment.check_variables(changes or {})
        key = agent, pagers
        if key not in self._variables:  # looked through once: there may be many, and each may be a secret
            if agent:
                chosen = environment.for_agent(self.env, self.settings.agent_defaults.variables)
                chosen |= environment.AGENT_PAGERS
            else:
                chosen = environment.for_person(self.env) | ({} if pagers else environment.NO_PAGERS)
            self._variables[key] = chosen | environment.terminal_variables(self.env)
        return oneshot.script_environment(self._variables[key], changes)

    async def _start(self, launch: Launch, provider: str, cols: int, rows: int, facts: dict[str, Any]) -> Terminal:
        if self._mending.locked():
            async with self._mending:  # the host is being renewed: what is started now is for the next one
                pass
        name = new_id("term")
        try:
            return await self._start_as(name, launch, provider, cols, rows, facts)
        except HostLost:
            if self._host.revive is None:
                raise
        await self._mend()
        # What a dead host had begun has ended with it. If only the way to it was cut, this ends it.
        self._host.tell("end", terminal=name, forget=True)
        return await self._start_as(new_id("term"), launch, provider, cols, rows, facts)

    async def _start_as(
        self, name: str, launch: Launch, provider_name: str, cols: int, rows: int, facts: dict[str, Any]
    ) -> Terminal:
        variables = {**launch.env, processes.MARK: name, "PWD": launch.cwd}
        provider = await self.provider(provider_name)
        if "shell" in facts and getattr(provider, "shares_files", True):
            nonce = secrets.token_urlsafe(18)
            integration = integrate(launch.program, nonce, directory=Path(SCRIPTS), env=variables)
            if integration is not None:
                facts = {**facts, "nonce": nonce}
                variables |= integration.env
                if not facts["interactive"]:
                    variables["FOURHANDS_BANG"] = "off"  # no history expansion: a line means what it says
                launch = launch.replace(argv=integration.argv)
        facts = {
            **facts,
            "argv": list(launch.argv),
            "provider": provider_name,
            "isolation": str(provider.isolation),
        }
        wrapped = provider.wrap(launch.replace(env=variables), terminal=True)
        self._creating += 1
        with self._expected(name):
            try:
                reply = await self._host.request(
                    "create",
                    terminal=name,
                    program=wrapped.program,
                    argv=list(wrapped.argv),
                    env=dict(wrapped.env),
                    cwd=wrapped.cwd,
                    cols=cols,
                    rows=rows,
                    capacity=self.settings.terminal.capacity,
                    meta=facts,
                )
                terminal = Terminal(self._host, reply.body["terminal"], reply.fds[0], self._finish)
            except BaseException:
                self._take_back(name, facts)
                raise
            finally:
                self._creating -= 1
            if not facts.get("spare"):
                self._known[name] = terminal
        return terminal

    def _take_back(self, name: str, facts: dict[str, Any]) -> None:
        """Nobody will hear of this terminal, which the host may have started or be about to start: it ends.

        The host does what it is asked in order, so it hears of the end after the start; and if there was none, it
        knows no such terminal. A spare shell has an owner all the same: whoever joins next finds it.
        """
        if facts.get("spare"):
            return
        with contextlib.suppress(FourhandsError):
            self._host.tell("end", terminal=name, forget=True)
            if self._tasks is not None and facts["isolation"] != str(Isolation.NONE):
                self._tasks.start(self._finish(name, facts), "the end of a program whose start was given up")

    async def provider(self, name: str) -> Provider:
        """A provider that is ready to run programs."""
        provider = self.providers.require(name)
        if name not in self._prepared:
            async with self._preparing:
                if name not in self._prepared:
                    await provider.prepare(self.places.workspace, (str(SCRIPTS),))
                    self._prepared.add(name)
                    self._used.add(name)
        return provider

    def _refill(self, key: object, launch: Launch, provider: str, size: tuple[int, int], facts: dict[str, Any]) -> None:
        if not self.settings.terminal.spare_shell or key is None or self._tasks is None:
            return

        async def start(all_facts: dict[str, Any]) -> Terminal:
            return await self._start(launch, provider, *size, all_facts)

        self._tasks.start(self._spare.fill(key, start, facts), "the spare shell")

    # -- one-shot --------------------------------------------------------------------------------------------------

    async def execute(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        input: str | bytes | None = None,
        timeout_s: float = 120.0,
        env: Mapping[str, str | None] | None = None,
        cwd: str | None = None,
        provider: str = "local",
        agent: bool = False,
    ) -> oneshot.ExecResult:
        """Run a program to its end on pipes; what went wrong is in the result, with a code of its own."""
        if not 0 < timeout_s <= 24 * 3600:
            raise BadArgument(f"timeout_s must be between 0 and 86400 seconds, not {timeout_s!r}")
        check_words("args", args, least=0)
        check_words("command", (command,))
        chosen = await self.provider(provider)
        variables = self.variables(env, agent=agent)
        try:
            place = resolve_cwd(cwd, self.places.workspace, self.settings.terminal.allowed_root)
            program = command
            if chosen.shells is None:
                program = oneshot.find_program(command, variables.get("PATH", os.defpath), place)
        except (BadCwd, CommandNotFound, ExecDenied) as error:
            return oneshot.failed(error, str(chosen.isolation))
        mark = new_id("run")
        launch = Launch(program, (command, *args), place, {**variables, processes.MARK: mark, "PWD": place})
        try:
            done = await oneshot.execute(
                chosen.wrap(launch, terminal=False),
                input_data=input.encode() if isinstance(input, str) else input,
                timeout_s=timeout_s,
                isolation=str(chosen.isolation),
                mark=mark,
            )
        finally:
            if self._tasks is not None and chosen.isolation != Isolation.NONE:
                self._tasks.start(chosen.end(mark), "the end of a one-shot command")
        if done.exit_code:
            problem = await chosen.explain(mark, done.exit_code, done.stderr)
            if problem is not None:
                self._prepared.discard(provider)  # look again before the next launch
                return replace(done, exit_code=None, error=str(problem), code=problem.code)
        return done

    async def run_script(
        self,
        script: str,
        *,
        input: str | bytes | None = None,
        timeout_s: float = 120.0,
        env: Mapping[str, str | None] | None = None,
        cwd: str | None = None,
        provider: str = "local",
        agent: bool = False,
    ) -> oneshot.ExecResult:
        """Run a shell script to its end on pipes, by bash where there is one."""
        if not isinstance(script, str) or "\0" in script:
            raise BadArgument("a script must be text without NUL bytes")
        shells = (await self.provider(provider)).shells
        there = os.path.exists("/bin/bash") if shells is None else any(path.endswith("/bash") for path in shells)
        shell = "bash" if there else "sh"
        return await self.execute(
            shell, ["-c", script], input=input, timeout_s=timeout_s, env=env, cwd=cwd, provider=provider, agent=agent
        )


def check_words(kind: str, words: object, least: int = 1) -> None:
    """Refuse what is no list of words; one text would be taken letter by letter."""
    if isinstance(words, str | bytes) or not isinstance(words, Sequence):
        raise BadArgument(
            f"{kind} must be a list of words, not {words!r:.80}", hint="a line for a shell: run, run_script"
        )
    if len(words) < least or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise BadArgument(f"{kind} must be words, at least {least}, each a text without NUL bytes")


def check_title(title: object) -> None:
    """Refuse what cannot be a title: not one line, or so like an id that it would never be found."""
    form = isinstance(title, str) and 0 < len(title.strip()) <= len(title) <= LONGEST_TITLE and title.isprintable()
    if not form:
        raise BadArgument(f"a title is 1 to {LONGEST_TITLE} printable characters, not {title!r:.50}")
    if is_id(str(title)):
        raise BadArgument(f"a title must not have the form of an id, as {title!r} has", hint='such as "test-runner"')


def spelled_cwd(cwd: str, workspace: str) -> str:
    """A working directory as it is meant: without blanks around it, unless there is one of exactly that name."""
    trimmed = cwd.strip()
    return cwd if trimmed == cwd or os.path.isdir(os.path.join(workspace, cwd)) else trimmed


def resolve_cwd(cwd: str | None, workspace: str, allowed_root: str = "", *, absolute: bool = False) -> str:
    """A working directory that exists and lies inside the allowed root; never silently another one.

    What is wrong with it is told in words and as `problem`: missing, not-a-directory, outside, no-entry, or bad for
    what is no path at all, with `absolute` also one that is relative.
    """
    if cwd is None:
        return workspace
    if not isinstance(cwd, str) or not cwd.strip():
        raise BadCwd(f"a working directory must be a path, not {cwd!r}", problem="bad")
    if "\0" in cwd:
        raise BadCwd(f"the working directory {cwd!r:.200} has a NUL byte", problem="bad")
    path = spelled_cwd(cwd, workspace)
    if absolute and not os.path.isabs(path):
        raise BadCwd(f"the working directory must be an absolute path, not {cwd!r:.200}", problem="bad")
    root = os.path.realpath(allowed_root or workspace)
    path = "/" + path.lstrip("/") if path.startswith("//") else path
    try:
        resolved = os.path.realpath(os.path.normpath(os.path.join(workspace, path)))
        outside = resolved != root and not resolved.startswith(root.rstrip("/") + "/")
        mode = os.stat(resolved).st_mode
    except (FileNotFoundError, NotADirectoryError):
        hint = "" if not outside else f"give one inside {root}"
        raise BadCwd(f"the working directory {cwd!r:.200} does not exist", hint=hint, problem="missing") from None
    except (OSError, UnicodeEncodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it has half a character"
        raise BadCwd(f"the working directory {cwd!r:.200} cannot be used: {said}", problem="bad") from None
    if outside:
        said = f"the working directory {cwd!r:.200} lies outside {root}"
        raise BadCwd(said, hint="give one inside it", problem="outside")
    if not stat.S_ISDIR(mode):
        raise BadCwd(f"the working directory {cwd!r:.200} is not a directory", problem="not-a-directory")
    if not os.access(resolved, os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise BadCwd(f"permission denied: the working directory {cwd!r:.200} may not be entered", problem="no-entry")
    return resolved
