"""All terminals of a workspace: creating, finding, following, and one-shot commands.

`Terminals` is the embedding program's door and lies below the gate: its holder decides what may run. It joins the
workspace's host, or starts one; leaving the block ends what this object created, unless told to keep it.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from fourhands.core.errors import BadArgument, BadCwd, CommandNotFound, ExecDenied, LimitReached, NotFound, Unavailable
from fourhands.core.event import Dispose
from fourhands.core.ids import is_id, new_id, short_id
from fourhands.core.tasks import Tasks
from fourhands.host import processes
from fourhands.host.log import Chunk
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers import registry
from fourhands.providers.base import AgentNeeds, Isolation, Launch, Provider, has_cells
from fourhands.providers.own_programs import path_outside
from fourhands.settings import MOST_TERMINALS, Settings
from fourhands.workbench.terminals import oneshot
from fourhands.workbench.terminals.cells import OpenNetwork
from fourhands.workbench.terminals.followers import Followers
from fourhands.workbench.terminals.handle import Exit, TerminalHandle
from fourhands.workbench.terminals.host_terminals import HostInfo, HostTerminals, HostTimings
from fourhands.workbench.terminals.launch import LONGEST_TITLE, LaunchPlanner, check_words, checked_title
from fourhands.workbench.terminals.shell.detection import PlatformInformation, platform_information
from fourhands.workbench.terminals.size import check_size
from fourhands.workbench.terminals.terminal import Terminal


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
        timings: HostTimings = HostTimings(),  # noqa: B008 - it is frozen
        one_shot: oneshot.OneShotLimits = oneshot.OneShotLimits(),  # noqa: B008 - it is frozen
    ) -> None:
        self.settings = settings or Settings()
        self.places = places or WorkspaceDirs.of(workspace)
        self.env: Mapping[str, str] = dict(os.environ if env is None else env)
        # Never a program that an agent may have written.
        found = {**self.env, "PATH": path_outside(self.places.workspace, self.env.get("PATH", os.defpath))}
        self.providers = registry.Providers(
            registry.build(self.settings, env=found) if providers is None else providers
        )
        self.on_change: Callable[[str, Terminal], None] = lambda kind, terminal: None
        self.on_lost: Callable[[list[Terminal]], None] = lambda terminals: None
        self._planner = LaunchPlanner(self.places.workspace, self.settings, self.env, self.providers)
        self._host = HostTerminals(
            self.places,
            self.settings.terminal,
            self._planner,
            timings,
            on_change=self._changed,
            on_lost=lambda terminals: self.on_lost(terminals),
        )
        self._known = self._host.known
        self._followers = Followers()
        self._keep = keep
        self._one_shot = one_shot
        self._mine: set[str] = set()
        self._max = self.settings.terminal.max_terminals
        self._starting = 0
        self._promised: list[tuple[str, str]] = []  # owners and titles of those that are on their way
        self._tasks: Tasks | None = None
        self._stack = contextlib.AsyncExitStack()

    # -- life ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> "Terminals":
        if not os.path.isdir(self.places.workspace):
            raise BadCwd(f"the workspace {self.places.workspace!r} is not a directory")
        host = self._host
        async with contextlib.AsyncExitStack() as stack:
            await host.join()
            stack.callback(self.leave)
            await asyncio.to_thread(host.spare.open)
            await host.adopt_all()
            stack.push_async_callback(self._clean_up)
            self._tasks = host.tasks = await stack.enter_async_context(Tasks())
            stack.callback(host.give_up)
            with contextlib.suppress(Unavailable):
                await host.cells.sweep()
            if ends := host.end_orphans():
                await asyncio.wait(ends, timeout=host.timings.orphans_s)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def _clean_up(self) -> None:
        doomed = [] if self._keep else [t for t in self._known.values() if t.id in self._mine]
        doomed += self._host.spare.all()
        await asyncio.gather(*(terminal.close() for terminal in doomed), return_exceptions=True)
        if not self._keep:
            await self._host.cells.end_own()
        await self._planner.clean_up()

    def leave(self) -> None:
        """Let go of the host and leave everything running, as a crash would."""
        self._host.leave()

    async def kept_secret(self, name: str) -> bytes:
        """Return a secret of this workspace that is in no file: its host keeps it while it lives."""
        return await self._host.client.keep(name)

    async def stop(self) -> None:
        """End all terminals and the host itself."""
        await self._host.stop()

    def _changed(self, kind: str, terminal: Terminal) -> None:
        self.on_change(kind, terminal)
        if kind == "closed":
            self._followers.went(terminal)

    # -- which there are -------------------------------------------------------------------------------------------

    def list(self) -> list[Terminal]:
        """Return all terminals, oldest first; exited ones stay until they are closed."""
        return sorted(self._known.values(), key=lambda terminal: terminal.created)

    def get(self, name: str, owner: str = "") -> Terminal:
        """Return a terminal by its id or its title; of several with that title the one that `owner` most likely means.

        That is their own that runs, else their own that has ended, else another's that runs, else one that has ended;
        the newest of each. One's own comes first even when it has ended: the maker of `test-runner` wants to read how
        it ended, or to hear that it has, and never to type into a stranger's terminal of the same title.
        """
        return max(self.named(name), key=lambda one: (one.owner == owner, not one.exited, one.created, one.id))

    def named(self, name: str) -> Sequence[Terminal]:
        """Return the terminal of that id, whole or short, else all of that title, at least one; no id is a title."""
        if name in self._known:
            return [self._known[name]]
        titled = [t for t in self._known.values() if name == (short_id(t.id) if is_id(name) else t.title)]
        if not titled:
            raise NotFound.of("terminal", name, [f"{t.title} ({t.id})" for t in self._known.values()])
        return titled

    def titles(self) -> set[str]:
        """Return all titles, also of terminals that are on their way."""
        return {terminal.title for terminal in self._known.values()} | {title for _, title in self._promised}

    def free_title(self, title: str, owner: str, besides: TerminalHandle | None = None) -> str:
        """Return this title, or one made of it that no other running terminal of this owner has: `build 2`."""
        taken = {t.title for t in self._known.values() if t.owner == owner and not t.exited and t is not besides}
        taken |= {promised for whose, promised in self._promised if whose == owner}
        ends = ("", *(f" {number}" for number in range(2, len(taken) + 2)))
        return next(free for end in ends if (free := title[: LONGEST_TITLE - len(end)] + end) not in taken)

    @property
    def count(self) -> int:
        """The number of terminals, those that are being started included; this is held against the limit."""
        return len(self._known) + self._starting

    @property
    def max_terminals(self) -> int:
        """The largest number of terminals; where there are more already, all go on, and none is added."""
        return self._max

    @max_terminals.setter
    def max_terminals(self, limit: int) -> None:
        if type(limit) is not int or not 1 <= limit <= MOST_TERMINALS:
            raise BadArgument(f"the limit must be a whole number from 1 to {MOST_TERMINALS}, not {limit!r}")
        self._max = limit

    def on_data(self, callback: Callable[[Terminal, Chunk], None]) -> Dispose:
        """Pass on all output of all terminals from now on, of new ones from their beginning; return what ends it."""

        def follow(terminal: Terminal, new: bool) -> Dispose:
            return terminal.on_data(lambda chunk: callback(terminal, chunk), 0 if new else None)

        return self._followers.add(follow, self._known.values())

    def on_exit(self, callback: Callable[[Terminal, Exit], None]) -> Dispose:
        """Call back when a program has ended, in any terminal; return what ends it."""

        def follow(terminal: Terminal, new: bool) -> Dispose:
            if terminal.exit is not None and not new:
                return lambda: None  # that was before
            return terminal.on_exit(lambda end: callback(terminal, end))

        return self._followers.add(follow, self._known.values())

    def platform(self) -> PlatformInformation:
        """Return the machine, and the shells that terminals may have here."""
        return platform_information(self.env, self.settings.terminal.shells)

    @property
    def spare(self) -> Terminal | None:
        """The shell that waits to be asked for."""
        return self._host.spare.terminal

    async def settled(self) -> None:
        """Return when nothing is being prepared in the background any more."""
        if self._tasks is not None:
            await self._tasks.idle()

    # -- the host --------------------------------------------------------------------------------------------------

    @property
    def host_pid(self) -> int:
        """The process that owns the terminals."""
        return self._host.client.host_pid

    async def host(self) -> HostInfo:
        """Return the host as it is now; it is asked whether it is awake, and not waited for."""
        return await self._host.describe()

    @property
    def outdated(self) -> bool:
        """True while the host is of another version than this server; it works all the same."""
        return self._host.outdated

    async def renew_when_idle(self) -> None:
        """Renew a host of another version as soon as that ends no program."""
        await self._host.renew_when_idle()

    async def renew(self) -> bool:
        """Replace a host of another version by one of this version; return False where that would end a program."""
        return await self._host.renew()

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
        cell: str = "",
        meta: Mapping[str, object] | None = None,
    ) -> Terminal:
        """Start a shell, or the program given by `argv`, in a new terminal.

        Where the provider has cells, programs with the same `cell`, a session's id, share one sandbox.

        A title that another running terminal of this owner has gets a number behind it: see the terminal's `title`.
        `interactive` is for one in which a person types: pagers wait for keys there, and `!` recalls earlier commands.
        """
        interactive = interactive and not agent
        cols, rows = self._planner.size(cols, rows, agent=agent)
        check_size(cols, rows)
        if title is not None:
            title = self.free_title(checked_title(title), owner)
        if self.count >= self._max:
            raise LimitReached(
                f"there are {self.count} terminals, the limit is {self._max}",
                hint="close one, or raise terminal.maxTerminals",
            )
        place = self._planner.cwd(cwd)
        facts = {"title": title or "", "owner": owner, "agent": agent, "created": time.time(), **(meta or {})}
        if cell:
            facts["cell"] = cell
        self._starting += 1
        promised = (owner, title or "")
        self._promised.append(promised)
        try:
            launch, key, fixed = await self._planner.plan(argv, shell, place, env, provider, agent, interactive)
            terminal = self._host.spare.take(key)
            if terminal is None:
                terminal = await self._host.start(launch, provider, cols, rows, {**fixed, **facts})
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

    def variables(
        self, changes: Mapping[str, str | None] | None, *, agent: bool, pagers: bool = False
    ) -> dict[str, str]:
        """Return the environment of a program that a person or an agent starts; without pagers unless asked for."""
        return self._planner.variables(changes, agent=agent, pagers=pagers)

    async def provider(self, name: str) -> Provider:
        """Return a provider that is ready to run programs."""
        return await self._planner.provider(name)

    def _refill(self, key: object, launch: Launch, provider: str, size: tuple[int, int], facts: dict[str, Any]) -> None:
        if not self.settings.terminal.spare_shell or key is None or self._tasks is None:
            return

        async def start(all_facts: dict[str, Any]) -> Terminal:
            return await self._host.start(launch, provider, *size, all_facts)

        self._tasks.start(self._host.spare.fill(key, start, facts), "the spare shell")

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
        cell: str = "",
        agent: bool = False,
        on_output: oneshot.OnOutput | None = None,
    ) -> oneshot.ExecResult:
        """Run a program to its end on pipes; what went wrong is in the result, with a code of its own.

        `on_output` is called with what it prints, as it comes. `cell` is that of `create`.
        """
        if not 0 < timeout_s <= 24 * 3600:
            raise BadArgument(f"timeout_s must be between 0 and 86400 seconds, not {timeout_s!r}")
        check_words("args", args, least=0)
        check_words("command", (command,))
        chosen = await self.provider(provider)
        variables = self.variables(env, agent=agent)
        try:
            place = self._planner.cwd(cwd)
            program = command
            if chosen.shells is None:
                program = oneshot.find_program(command, variables.get("PATH", os.defpath), place)
        except (BadCwd, CommandNotFound, ExecDenied) as error:
            return oneshot.failed(error, str(chosen.isolation))
        mark = new_id("run")
        launch = Launch(program, (command, *args), place, {**variables, processes.MARK: mark, "PWD": place})
        try:
            starter = await self.starter(chosen, cell)
            done = await oneshot.execute(
                chosen.wrap(launch, terminal=False),
                starter=starter,
                input_data=input.encode() if isinstance(input, str) else input,
                timeout_s=timeout_s,
                isolation=str(chosen.isolation),
                mark=mark,
                limits=self._one_shot,
                on_output=on_output,
            )
        finally:
            outside = chosen.isolation != Isolation.NONE and not has_cells(chosen)
            if self._tasks is not None and outside:
                self._tasks.start(chosen.end(mark), "the end of a one-shot command")
        if done.exit_code:
            problem = await chosen.explain(mark, done.exit_code, done.stderr)
            if problem is not None:
                self._planner.distrust(provider)
                return replace(done, exit_code=None, error=str(problem), code=problem.code)
        return done

    async def starter(self, provider: Provider, session: str, needs: AgentNeeds | None = None) -> oneshot.Starter:
        """Return what starts programs on pipes: in the cell, where the provider has cells; an agent's has `needs`."""
        if not has_cells(provider):
            return oneshot.HERE
        return oneshot.InCell(self._host.cells, await self._host.cells.of(provider, session, needs))

    @property
    def cell_sessions(self) -> set[str]:
        """The sessions whose cells were there when the host was joined."""
        found = (self._host.client.cells or {}).values()
        return {str(cell["meta"].get("session") or "") for cell in found} - {""}

    async def use_network(self, open_network: OpenNetwork) -> None:
        """Open a network for each cell from now on, and for those that have outlived an earlier server."""
        self._host.cells.open_network = open_network
        await self._host.cells.rejoin()

    async def end_cell(self, session: str) -> None:
        """End the cells of a session, unless a terminal in one still runs."""
        await self._host.cells.end_session(session)

    async def run_script(
        self,
        script: str,
        *,
        input: str | bytes | None = None,
        timeout_s: float = 120.0,
        env: Mapping[str, str | None] | None = None,
        cwd: str | None = None,
        provider: str = "local",
        cell: str = "",
        agent: bool = False,
        on_output: oneshot.OnOutput | None = None,
    ) -> oneshot.ExecResult:
        """Run a shell script to its end on pipes, by bash where there is one."""
        if not isinstance(script, str) or "\0" in script:
            raise BadArgument("a script must be text without NUL bytes")
        shells = (await self.provider(provider)).shells
        there = os.path.exists("/bin/bash") if shells is None else any(path.endswith("/bash") for path in shells)
        shell = "bash" if there else "sh"
        return await self.execute(
            shell,
            ["-c", script],
            input=input,
            timeout_s=timeout_s,
            env=env,
            cwd=cwd,
            provider=provider,
            cell=cell,
            agent=agent,
            on_output=on_output,
        )
