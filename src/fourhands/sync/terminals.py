"""All terminals of a workspace for programs that wait: `fourhands.Terminals` with its loop in a thread of its own.

It works in scripts, inside a running event loop such as a notebook's, and from several threads at once.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from inspect import signature
from types import TracebackType
from typing import Concatenate, ParamSpec, Self

from fourhands.core.event import Dispose
from fourhands.core.loop_thread import LoopThread
from fourhands.host.log import Chunk
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers.base import Provider
from fourhands.providers.registry import Providers
from fourhands.settings import Settings
from fourhands.sync.remote import Remote, ending, reads, waits
from fourhands.sync.terminal import SyncTerminal
from fourhands.workbench.terminals.handle import Exit
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.oneshot import OneShotLimits
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals

_P = ParamSpec("_P")


def _made(
    function: Callable[Concatenate[Remote[Terminals], _P], Terminal],
) -> Callable[Concatenate["SyncTerminals", _P], SyncTerminal]:
    """Return the form of a method whose terminal is one for programs that wait."""

    def method(self: "SyncTerminals", /, *args: _P.args, **kwargs: _P.kwargs) -> SyncTerminal:
        return SyncTerminal(function(self, *args, **kwargs), self._thread)

    update_wrapper(method, function)
    method.__signature__ = signature(function).replace(return_annotation=SyncTerminal)  # type: ignore[attr-defined]
    return method


class SyncTerminals(Remote[Terminals]):
    """The terminals of one workspace, on their host. Use it in a `with` block, or `open` and `close` it."""

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
        one_shot: OneShotLimits = OneShotLimits(),  # noqa: B008 - it is frozen
    ) -> None:
        there = Terminals(
            workspace,
            settings,
            places=places,
            env=env,
            keep=keep,
            providers=providers,
            timings=timings,
            one_shot=one_shot,
        )
        super().__init__(there, LoopThread(there, "Terminals object"))

    # -- life ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> Self:
        """Join the workspace's host or start one, as the beginning of a `with` block does."""
        self._thread.open()
        return self

    def close(self) -> None:
        """Do what the end of a `with` block does; the end of the program does it as well. Twice is once."""
        self._thread.close()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._there.settings

    @property
    def places(self) -> WorkspaceDirs:
        """The directories of the workspace."""
        return self._there.places

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that programs are started from."""
        return self._there.env

    @property
    def providers(self) -> Providers:
        """The providers by name."""
        return self._there.providers

    # -- which there are -------------------------------------------------------------------------------------------

    get = _made(reads(Terminals.get))

    def named(self, name: str) -> Sequence[SyncTerminal]:
        """Return the terminal of that id, whole or short, else all of that title, at least one; no id is a title."""
        return [SyncTerminal(one, self._thread) for one in self._read(lambda there: there.named(name))]

    @property
    def count(self) -> int:
        """The number of terminals, those that are being started included; this is held against the limit."""
        return self._read(lambda there: there.count)

    @property
    def max_terminals(self) -> int:
        """The largest number of terminals; where there are more already, all go on, and none is added."""
        return self._read(lambda there: there.max_terminals)

    @max_terminals.setter
    def max_terminals(self, limit: int) -> None:
        self._read(lambda there: setattr(there, "max_terminals", limit))

    def on_data(self, callback: Callable[[SyncTerminal, Chunk], None]) -> Dispose:
        """Pass on all output of all terminals from now on, of new ones from their beginning; return what ends it."""
        thread = self._thread
        follow: Callable[[Terminal, Chunk], None] = lambda one, chunk: callback(SyncTerminal(one, thread), chunk)  # noqa: E731
        return ending(thread, self._read(lambda there: there.on_data(follow)))

    def on_exit(self, callback: Callable[[SyncTerminal, Exit], None]) -> Dispose:
        """Call back when a program has ended, in any terminal; return what ends it."""
        thread = self._thread
        follow: Callable[[Terminal, Exit], None] = lambda one, end: callback(SyncTerminal(one, thread), end)  # noqa: E731
        return ending(thread, self._read(lambda there: there.on_exit(follow)))

    platform = reads(Terminals.platform)
    titles = reads(Terminals.titles)
    settled = waits(Terminals.settled)

    # -- the host --------------------------------------------------------------------------------------------------

    @property
    def host_pid(self) -> int:
        """The process that owns the terminals."""
        return self._read(lambda there: there.host_pid)

    @property
    def outdated(self) -> bool:
        """True while the host is of another version than this server; it works all the same."""
        return self._read(lambda there: there.outdated)

    host = waits(Terminals.host)
    renew = waits(Terminals.renew)
    renew_when_idle = waits(Terminals.renew_when_idle)
    stop = waits(Terminals.stop)

    # -- creating and one-shot -------------------------------------------------------------------------------------

    create = _made(waits(Terminals.create))
    execute = waits(Terminals.execute)
    run_script = waits(Terminals.run_script)

    def list(self) -> list[SyncTerminal]:
        """Return all terminals, oldest first; exited ones stay until they are closed."""
        return [SyncTerminal(one, self._thread) for one in self._read(lambda there: there.list())]
