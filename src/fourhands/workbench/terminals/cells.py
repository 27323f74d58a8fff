"""The cells of a workspace as the server sees them: one sandbox for each session, made when it is first used.

The host owns them, so they outlive this server. A cell's `/tmp` is removed with it. Homes are kept, so that caches
live: the first that no other cell uses is taken, since no program may change a home in which a cell is being built.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from fourhands.core.child import PipedChild, Take
from fourhands.core.errors import Conflict, FourhandsError, Unavailable
from fourhands.host import spawner
from fourhands.host.client import HostClient, HostLost, HostReply, HostSilent
from fourhands.host.errors import CellLost
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.protocol import Message
from fourhands.providers.base import AgentNeeds, CellDirs, CellProvider, Launch, Network, Provider, has_cells
from fourhands.workbench.terminals.handle import TerminalHandle

if TYPE_CHECKING:
    from fourhands.workbench.terminals.launch import LaunchPlanner

DEFAULT_CELL = "default"
"""The cell of programs that belong to no session."""

OpenNetwork = Callable[[str, str], Awaitable[Network | None]]
"""Opens the network of a session's cell, given the program that builds it; None is no network at all."""

_TRIES = 3
# What was to be shown or hidden went away while the sandbox was built; in a read-only directory it cannot be made.
_VANISHED = ("No such file or directory", "Can't create file at ", "Can't mkdir ")
_PLAIN = re.compile(r"[0-9A-Za-z_-]{1,40}", re.ASCII)


async def _no_network(session: str, builder: str) -> Network | None:
    return None


HOST_GONE = "the host is gone"
"""The reason of the end of every program on pipes when its host has died."""


class CellChild(PipedChild):
    """A program on pipes in a cell; the host has started it, and ends it when this server goes."""

    def __init__(
        self, client: HostClient, reply: HostReply, cell: str, run: str, out: Take, err: Take, with_input: bool
    ) -> None:
        files: list[IO[bytes]] = [
            os.fdopen(fd, "wb" if with_input and place == 0 else "rb", buffering=0)
            for place, fd in enumerate(reply.fds)
        ]
        super().__init__(files[0] if with_input else None, files[-2], files[-1], out, err)
        self.pid = int(reply.body["pid"])
        self.cell = cell
        self.run = run
        self.reason = ""
        self._client = client
        self._code: int | None = None

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._code

    def exited(self, status: int | None, reason: str = "") -> None:
        """Take note of its end; a status that is not known counts as a kill."""
        if self._code is None:
            self._code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
            self.reason = reason if status is None else ""
            if not self.ended.done():
                self.ended.set_result(None)

    def kill(self) -> None:
        """Have the host end it; this does not wait for it."""
        with contextlib.suppress(FourhandsError):
            self._client.tell("end_run", run=self.run, pid=self.pid)

    async def end(self) -> None:
        """End it with everything that it has started: politely, then firmly."""
        with contextlib.suppress(FourhandsError):
            await self._client.request("end_run", run=self.run, pid=self.pid)


class SessionCells:
    """The cells of one workspace's host, by session."""

    def __init__(
        self,
        places: WorkspaceDirs,
        client: Callable[[], HostClient],
        planner: "LaunchPlanner",
        known: Mapping[str, TerminalHandle],
    ) -> None:
        self.open_network: OpenNetwork = _no_network
        self._places = places
        self._client = client
        self._planner = planner
        self._known = known
        self._starting = asyncio.Lock()
        self._runs: dict[str, CellChild] = {}
        self._early: dict[str, Message | None] = {}
        self.mine: set[str] = set()
        self.variables: dict[str, dict[str, str]] = {}  # by cell: of its network
        self._needs: dict[str, AgentNeeds] = {}  # by session: of its agent's own process

    def name_of(self, provider: str, session: str) -> str:
        """Return the name of a session's cell; a session whose provider was changed has another one."""
        parts = [provider, session or DEFAULT_CELL]
        for place, part in enumerate(parts):
            if not _PLAIN.fullmatch(part):
                parts[place] = hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return ".".join(parts)

    async def there(self) -> dict[str, Message]:
        """Return the cells that the host has."""
        client = self._client()
        if client.cells is None:
            return {}
        return {cell["name"]: cell for cell in (await client.request("cells")).body["cells"]}

    async def of(self, provider: Provider, session: str, needs: AgentNeeds | None = None) -> str:
        """Return the name of the session's cell, which is there then; empty where the provider has no cells.

        With the needs of an agent's own process it is a cell that meets them; no other session has it.
        """
        if not has_cells(provider):
            return ""
        if needs is not None:
            self._needs[session] = needs
        else:
            session = self._planner.shared_cell(session)
        try:
            return await self._ensure(provider, provider.name, session)
        except CellLost:
            self._planner.distrust(provider.name)
            raise

    async def _ensure(self, provider: CellProvider, kind: str, session: str) -> str:
        name = self.name_of(kind, session)
        async with self._starting:  # one by one: two must not take the same home
            client = self._client()
            if client.alive and client.cells is None:
                raise Unavailable(
                    "the running host is of an older version, which cannot start sandboxes",
                    hint="`fourhands stop` ends it and its terminals; the next start brings a new one",
                )
            known = await self.there()
            needs = self._needs.get(session)
            if name in known and needs is not None and not self._meets(known[name], needs):
                await self._end(name, provider)
                del known[name]
            if name in known:
                if name not in self.variables:  # it has outlived the server that started it
                    await self._network(provider, name, session)
                return name
            taken = [str(cell["meta"].get("home")) for cell in known.values()]
            household = "" if needs is None else needs.household
            dirs = await asyncio.to_thread(make_directories, self._places.state, name, taken, household)
            network = await self._network(provider, name, session)
            more = () if needs is None else (needs,)
            meta = {"home": dirs.home, "provider": kind, "session": session, **_described(needs)}
            for left in range(_TRIES - 1, -1, -1):
                launch = await asyncio.to_thread(provider.enclose, spawner.command(), dirs, network, *more)
                try:
                    await client.request(
                        "cell",
                        cell=name,
                        program=launch.program,
                        argv=list(launch.argv),
                        env=dict(launch.env),
                        cwd=launch.cwd,
                        meta=meta,
                    )
                    break
                except CellLost as error:
                    if not left or not any(words in error.message for words in _VANISHED):
                        raise
            self.mine.add(name)
        return name

    def _meets(self, cell: Message, needs: AgentNeeds) -> bool:
        """Return True if a cell is as an agent needs it; False where it may be replaced by one that is.

        What the agent can do without, such as files that came later, ends no other program. Raises `Conflict`.
        """
        meta, wanted = cell["meta"], _described(needs)
        if meta.get("needs") == wanted["needs"]:
            return True
        kind, session = str(meta.get("provider")), str(meta.get("session") or "")
        if not self._in_use(kind, session) and all(child.cell != cell["name"] for child in self._runs.values()):
            return False
        if "needs" not in meta or meta["port"] != needs.port:
            raise Conflict(
                "the sandbox of this session was started without what its agent needs, and programs run in it",
                hint="close its terminals, then try again",
            )
        return True

    async def _network(self, provider: CellProvider, name: str, session: str) -> Network | None:
        """Open the network of a cell, and keep the variables that programs in it need."""
        network = await self.open_network(session, provider.builder) if session and provider.builder else None
        self.variables[name] = {} if network is None else network.variables()
        return network

    async def rejoin(self) -> None:
        """Open the networks of cells that have outlived the server that started them."""
        for cell in (await self.there()).values():
            with contextlib.suppress(FourhandsError):  # it stays without; programs in it are told when they connect
                provider = await self._planner.provider(str(cell["meta"].get("provider")))
                if has_cells(provider) and cell["name"] not in self.variables:
                    await self._network(provider, cell["name"], str(cell["meta"].get("session") or ""))

    # -- programs on pipes -----------------------------------------------------------------------------------------

    async def run(self, cell: str, launch: Launch, run: str, out: Take, err: Take, *, with_input: bool) -> CellChild:
        """Start a program on pipes in a cell; `run` is its tag."""
        self._early[run] = None
        try:
            client = self._client()
            reply = await client.request(
                "spawn",
                cell=cell,
                run=run,
                program=launch.program,
                argv=list(launch.argv),
                env={**self.variables.get(cell, {}), **launch.env},
                cwd=launch.cwd,
                input=with_input,
            )
            child = self._runs[run] = CellChild(client, reply, cell, run, out, err, with_input)
        except BaseException:
            with contextlib.suppress(FourhandsError):
                self._client().tell("end_run", run=run)
            raise
        finally:
            early = self._early.pop(run)
        if early is not None:
            self.heard(early)
        return child

    def heard(self, message: Message) -> bool:
        """Take an event of the host, if it concerns a program on pipes."""
        run = message.get("run")
        if message.get("event") != "run-ended" or not isinstance(run, str):
            return False
        if run in self._early:
            self._early[run] = message
        elif (child := self._runs.pop(run, None)) is not None:
            child.exited(message.get("status"), str(message.get("reason") or ""))
        return True

    def lost(self) -> None:
        """Take note that the host has gone, and all cells with it."""
        runs, self._runs = self._runs, {}
        for child in runs.values():
            child.exited(None, HOST_GONE)

    # -- ends ------------------------------------------------------------------------------------------------------

    async def end_session(self, session: str) -> None:
        """End the cells of a session, unless a terminal runs in one."""
        self._needs.pop(session, None)
        await self._end_where(lambda name, cell: cell["meta"].get("session") == session)

    async def end_own(self) -> None:
        """End the cells that were started from here, unless a terminal runs in one."""
        await self._end_where(lambda name, cell: name in self.mine)

    async def _end_where(self, chosen: Callable[[str, Message], bool]) -> None:
        with contextlib.suppress(HostLost, HostSilent):  # then they are gone, or are swept later
            for name, cell in (await self.there()).items():
                meta = cell["meta"]
                if chosen(name, cell) and not self._in_use(str(meta.get("provider")), str(meta.get("session") or "")):
                    await self._end(name, self._planner.known(str(meta.get("provider"))))

    def _in_use(self, provider: str, session: str) -> bool:
        """Return True if a terminal runs in the cell of this provider and session."""
        running = (terminal.meta for terminal in self._known.values() if terminal.exit is None)
        return any(
            meta.get("provider") == provider and self._planner.shared_cell(meta.get("cell", "")) == session
            for meta in running
        )

    async def _end(self, name: str, provider: Provider | None) -> None:
        """End a cell with all that is in it, and remove what was made for it."""
        self.mine.discard(name)
        self.variables.pop(name, None)
        with contextlib.suppress(FourhandsError):
            await self._client().request("end_cell", cell=name)
        if provider is not None:
            await provider.end(name)
        await asyncio.to_thread(remove_tree, f"{self._places.state}/cells/{name}")

    async def sweep(self) -> None:
        """Remove the directories of cells that are gone."""
        known = await self.there()
        with contextlib.suppress(OSError):
            for name in await asyncio.to_thread(os.listdir, f"{self._places.state}/cells"):
                if name not in known:
                    await asyncio.to_thread(remove_tree, f"{self._places.state}/cells/{name}")


def _described(needs: AgentNeeds | None) -> Message:
    """Return what a cell's record says of the agent that it was built for."""
    return {} if needs is None else {"needs": needs.digest, "port": needs.port}


def make_directories(place: str, name: str, taken: Sequence[str], household: str = "") -> CellDirs:
    """Make the directories of a cell that starts now, below the state directory; homes are shared in a household."""
    homes = (f"{place}/cell-home/{household and f'{household}-'}{number}" for number in range(len(taken) + 1))
    dirs = CellDirs(name, next(home for home in homes if home not in taken), f"{place}/cells/{name}/tmp")
    remove_tree(os.path.dirname(dirs.tmp))
    for path in (dirs.home, dirs.tmp):
        os.makedirs(path, 0o700, exist_ok=True)
    return dirs


def remove_tree(path: str) -> None:
    """Remove a directory that programs of a cell could write to; those that deny entry to their owner are opened."""

    def again(function: object, place: str, _: object) -> None:
        with contextlib.suppress(OSError):
            if not os.path.islink(os.path.dirname(place)):
                os.chmod(os.path.dirname(place), 0o700)
            if os.path.islink(place) or not os.path.isdir(place):
                os.unlink(place)
            else:
                os.chmod(place, 0o700)
                shutil.rmtree(place, ignore_errors=True)

    shutil.rmtree(path, onerror=again)
