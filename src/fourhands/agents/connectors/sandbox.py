"""The place of an agent's own process: the sandbox of its session, or as the person where there is none.

The provider of the session's programs decides which it is. It is never silently less: where there is a sandbox and the
agent cannot be started in it, that is an error that says what to set.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fourhands.agents.connectors.directories import own_directories
from fourhands.agents.connectors.process import AgentStarter, ChildStarter
from fourhands.agents.connectors.profile import AgentProfile, hosts_of, inner_program, needs_of, variables_of
from fourhands.core.child import PipedChild, Take
from fourhands.core.errors import CommandNotFound, FourhandsError, Unsupported
from fourhands.core.ids import new_id
from fourhands.host import processes
from fourhands.providers.base import CellProvider, Isolation, Launch, Provider, has_cells
from fourhands.providers.egress.agents import WORKBENCH
from fourhands.providers.view import TOOLS
from fourhands.providers.visibility import home_of
from fourhands.workbench.events import AgentChanged, AgentNoted
from fourhands.workbench.sessions import AgentPlace, Session
from fourhands.workbench.terminals.oneshot import Starter, find_program
from fourhands.workbench.workbench import Workbench

NODE_PROXY = {"NODE_USE_ENV_PROXY": "1"}
"""Lets Node heed the proxy variables, from 22.21 and 24 on; before, its own `fetch` does not."""


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """An agent to be started: its command line, the person's environment, and what the agent gets besides.

    Without `words` what it says on stderr comes with its output.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    own: Mapping[str, str] = field(default_factory=dict, repr=False)
    profile: AgentProfile = field(default_factory=AgentProfile)
    with_input: bool = True


class CellStarter:
    """Starts an agent's process in the cell of its session."""

    def __init__(self, starter: Starter, launch: Launch, mark: str, with_input: bool) -> None:
        self._starter = starter
        self._launch = launch
        self._mark = mark
        self._with_input = with_input

    async def start(self, out: Take, err: Take | None) -> PipedChild:
        """Have the host start it."""
        if err is None:
            out = err = _merged(out)
        try:
            return await self._starter.start(self._launch, self._mark, out, err, with_input=self._with_input)
        except CommandNotFound as error:
            raise CommandNotFound(
                f"{self._launch.argv[0]!r} is not there in the sandbox",
                hint="add the directory that it is installed in to sandbox.readable of the settings",
            ) from error

    async def end(self, child: PipedChild, grace_s: float) -> None:
        """Have the host end it, and what it has started."""
        await self._starter.end(child, self._mark)


class AgentSandbox:
    """The place of one agent's process; `starter` decides it anew for each start, and finds its `directories`."""

    def __init__(self, bench: Workbench, session: Session) -> None:
        self.directories: tuple[str, ...] = ()
        self._bench = bench
        self._session = session

    async def starter(self, order: AgentOrder) -> AgentStarter:
        """Return what starts the process where it belongs; `session.place` says where that is."""
        provider = await self.provider()
        cwd = self._bench.own_cwd(self._session)
        self.directories, wrong = await asyncio.to_thread(own_directories, self._bench, self._session)
        for text in wrong:
            self._bench.events.emit(AgentNoted(session=self._session.id, text=text))
        if provider is None:
            self.go_without()
            return ChildStarter(order.argv, cwd=cwd, env=_persons(order), with_input=order.with_input)
        try:
            return await self._in_cell(provider, order, cwd)
        except FourhandsError as error:
            error.hint = "; or ".join(part for part in (error.hint, self._remedy()) if part)
            raise

    async def provider(self) -> CellProvider | None:
        """Return the provider in whose cells the process runs; None if it runs as the person."""
        name = self._bench.agent_settings(self._session).provider
        provider = await self._bench.terminals.provider(name)
        if has_cells(provider) and callable(getattr(provider, "admit", None)):
            return provider
        if provider.isolation == Isolation.NONE:
            return None
        raise Unsupported(
            f"{self._session.name} is a process of its own, which the provider {name!r} cannot run",
            hint=f'set [agents.{self._session.name}] provider = "auto" for a sandbox; or {self._remedy()}',
        )

    async def url(self) -> str:
        """Return the address by which the process will reach this server; empty if it is the same as for everyone."""
        provider = await self.provider()
        return "" if provider is None else _url(provider)

    def go_without(self) -> None:
        """Take note that the process runs as the person."""
        self._placed(AgentPlace(Isolation.NONE, "none"))

    def _remedy(self) -> str:
        return f'[agents.{self._session.name}] provider = "local" lets it run as you, with all that you can do'

    async def _in_cell(self, provider: CellProvider, order: AgentOrder, cwd: str) -> AgentStarter:
        bench, session = self._bench, self._session
        profile, name = order.profile, session.name
        if provider.weaker and profile.listens:
            raise Unsupported(
                f"{name} listens on a port, which the weaker sandbox of this machine does not allow",
                hint="install bubblewrap (`fourhands doctor` says how)",
            )
        chosen = bench.settings.of_agent(name, session.connector)
        hosts = [host for settings in chosen for host in settings.allowed_hosts]
        further = [variable for settings in chosen for variable in settings.process_variables]
        variables = variables_of(profile, order.env, further)
        url, network, port = _url(provider), {}, 0
        if url:
            bench.network.agents.admit(session.id, hosts_of(profile, variables, hosts, bench.network.own_ports))
        if provider.weaker:
            network = {**await bench.network.open_proxy(session.id), **NODE_PROXY}
            port = urlsplit(network["HTTP_PROXY"]).port or 0
        program = find_program(order.argv[0], order.env.get("PATH", os.defpath), bench.root)
        home = home_of(bench.terminals.env)
        given = (profile, program, order.argv[1:], variables, home, order.env, port, self.directories)
        needs = await asyncio.to_thread(needs_of, *given)
        starter = await bench.terminals.starter(provider, session.id, needs)
        mark = new_id("run")
        own = {**profile.env, **order.own, **network, processes.MARK: mark, "PWD": cwd}
        tools = [f"{home}/{tool}" for tool in TOOLS]
        launch = Launch(inner_program(program, needs, tools), order.argv, cwd, {**variables, **own})
        admitted = await asyncio.to_thread(provider.admit, launch, needs)
        if (cell := bench.network.cell(session.id)) is not None:
            cell.lend()
        ways = {**(cell.enclosure.variables() if cell is not None else {}), **network}
        self._placed(AgentPlace(provider.isolation, _rung(provider), url, ways.get("HTTP_PROXY", "")))
        return CellStarter(starter, admitted, mark, order.with_input)

    @contextlib.contextmanager
    def held_ports(self) -> Iterator[None]:
        """Keep the ports that the process opens for itself while it starts from being opened for the person."""
        cell = self._bench.network.cell(self._session.id)
        with cell.ports.held() if cell is not None else contextlib.nullcontext():
            yield

    @contextlib.asynccontextmanager
    async def way_in(self, port: int) -> AsyncIterator[str]:
        """Lead a socket to a port of the process, and return its path; empty if the network is this machine's."""
        cell = self._bench.network.cell(self._session.id)
        if cell is None:
            yield ""
            return
        path = f"{cell.enclosure.directory}/i"
        async with cell.ports.way_in(port, path):
            yield path

    def _placed(self, place: AgentPlace) -> None:
        session = self._session
        changed, session.place = session.place != place, place
        if changed:
            self._bench.events.emit(
                AgentChanged(session=session.id, status=session.status, isolation=place.isolation, rung=place.rung)
            )


def _persons(order: AgentOrder) -> dict[str, str]:
    """Return the person's environment, whose keys the agent may need, without the variables of this server."""
    theirs = {name: value for name, value in order.env.items() if not name.startswith("FOURHANDS_")}
    return {**theirs, **order.own}


def _url(provider: CellProvider) -> str:
    return f"http://{WORKBENCH}" if provider.weaker or provider.builder else ""  # else the network is this machine's


def _merged(take: Take) -> Take:
    """Return what takes the pieces of two pipes for one, which ends when both have."""
    left = 2

    def merge(data: bytes) -> None:
        nonlocal left
        left -= not data
        if data or not left:
            take(data)

    return merge


def _rung(provider: Provider) -> str:
    return str(getattr(provider, "rung", provider.name))
