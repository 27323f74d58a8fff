"""The facts of a terminal and its end: what everyone may hold of it, without its keyboard and its output.

Reading and typing are done by a seat (`seat.py`), which knows who sits there.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fourhands.core.errors import FourhandsError
from fourhands.host.client import HostClient
from fourhands.host.protocol import Message

Finish = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Called with the id and the facts of a terminal after the host has ended it."""

SHELL_NAMES = frozenset({"bash", "zsh", "sh", "dash", "ksh", "fish"})


class Exited(FourhandsError):
    """The terminal's program has ended; its output can still be read."""

    code = "exited"


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a program: a code, or the name of the signal; `lost` when its host went with it."""

    code: int | None
    signal: str | None
    position: int
    lost: bool = False
    reason: str = ""

    @classmethod
    def of(cls, message: Message | None) -> "Exit | None":
        """Return the host's words as a value."""
        if message is None:
            return None
        reason = str(message.get("reason") or "")
        return cls(message.get("code"), message.get("signal"), message["position"], bool(message.get("lost")), reason)


class TerminalHandle:
    """A terminal of the workspace's host: what it is, and how it is ended. Made by `Terminals`, never directly."""

    def __init__(self, link: HostClient, record: Message, master: int, finish: Finish | None = None) -> None:
        self.id: str = record["id"]
        # The program's own words; what the host has spawned may be a sandbox around it.
        self.argv: tuple[str, ...] = tuple(record["meta"].get("argv") or record["argv"])
        self.pid: int = record["pid"]
        self.meta: dict[str, Any] = record["meta"]
        self.exit = Exit.of(record["exit"])
        self.paused: bool = record.get("paused", False)
        self.started_in: str = record["cwd"]
        self._spawned: float = record["created"]
        self._nonce: str | None = self.meta.get("nonce")
        self._link = link
        self._finish = finish
        self._slot: int = record["slot"]
        self._master = master
        self._listeners: list[Callable[[], None]] = []
        self._loop = asyncio.get_running_loop()
        self._timers: set[asyncio.TimerHandle] = set()

    def __repr__(self) -> str:
        return f"<Terminal {self.id} {self.title!r} {'exited' if self.exit else 'running'}>"

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The name people gave it."""
        return str(self.meta.get("title") or os.path.basename(self.argv[0]))

    @property
    def program(self) -> str:
        """The name of its main program, such as bash."""
        return os.path.basename(self.argv[0]).lstrip("-")

    @property
    def command(self) -> str:
        """The program that was asked for: a shell by its name, without the arguments by which it marks its commands."""
        return str(self.meta.get("command") or (self.program if "shell" in self.meta else " ".join(self.argv)))

    @property
    def isolation(self) -> str:
        """The isolation level in force."""
        return str(self.meta.get("isolation", "none"))

    @property
    def provider(self) -> str:
        """The provider that its program runs in; of `auto`, the one that it chose."""
        return str(self.meta.get("rung") or self.meta.get("provider", "local"))

    @property
    def owner(self) -> str:
        """The actor that created it: an agent session's id, or empty for a person."""
        return str(self.meta.get("owner", ""))

    @property
    def marked(self) -> bool:
        """True while its shell marks its commands, so that their bounds and exit codes are known."""
        return self._nonce is not None

    @property
    def expands_history(self) -> bool:
        """True if its shell may put earlier commands in place of `!`, as people's shells do."""
        return bool(self.meta.get("interactive", True))

    @property
    def is_shell(self) -> bool:
        """True if its main program is an interactive shell."""
        return self.program in SHELL_NAMES and "-c" not in self.argv

    @property
    def created(self) -> float:
        """The time at which a caller asked for it, in seconds since the epoch; a spare shell was started before."""
        return float(self.meta.get("created") or self._spawned)

    @property
    def uptime_s(self) -> float:
        """Seconds since it was created."""
        return time.time() - self.created

    @property
    def exited(self) -> bool:
        """True once its program has ended and all its output is in the log."""
        return self.exit is not None

    @property
    def postponed(self) -> int:
        """The number of actions whose time has not come; see `later`."""
        return len(self._timers)

    # -- news ------------------------------------------------------------------------------------------------------

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do something after a while, unless this object has let go of the terminal by then."""

        def run() -> None:
            self._timers.discard(handle)
            if self._master >= 0:
                action()

        handle = self._loop.call_later(delay_s, run)
        self._timers.add(handle)

    async def probe(self) -> Message:
        """Return the state of the foreground program, as the kernel tells the host."""
        if self.exit is not None:
            return {"running": False}
        return (await self._link.request("probe", terminal=self.id)).body

    async def members(self) -> list[dict[str, Any]]:
        """Return the processes of this terminal."""
        listed: list[dict[str, Any]] = (await self._link.request("members", terminal=self.id)).body["members"]
        return listed

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when there is output to read or the program has ended; returns what ends the subscription."""
        self._listeners.append(callback)
        if len(self._listeners) == 1 and self.exit is None:
            self._link.watch(self._slot, self._news)
        ended = False

        def stop() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._listeners.remove(callback)
                if not self._listeners:
                    self._link.unwatch(self._slot)

        return stop

    def on_exit(self, callback: Callable[[Exit], None]) -> Callable[[], None]:
        """Call back once when the program has ended, at once if it has; returns what ends the subscription."""
        stop: Callable[[], None]

        def news() -> None:
            if self.exit is not None:
                stop()
                callback(self.exit)

        stop = self.listen(news)
        news()
        return stop

    def _news(self) -> None:
        for callback in list(self._listeners):
            callback()

    @contextlib.contextmanager
    def listening(self, callback: Callable[[], None]) -> Iterator[None]:
        """Listen for the length of a block."""
        stop = self.listen(callback)
        try:
            yield
        finally:
            stop()

    def check_alive(self) -> None:
        """Raise `Exited` if its program has ended or this object has let go of it."""
        if self.exit is not None or self._master < 0:
            raise self._dead()

    def _dead(self) -> Exited:
        end = self.exit
        how = (
            (end is not None and end.reason) or "its host is gone"
            if end is None or end.lost
            else f"it ended with {end.signal or f'exit code {end.code}'}"
        )
        return Exited(f"terminal {self.title!r} ({self.id}) takes no input: {how}", hint="create a new one")

    # -- end -------------------------------------------------------------------------------------------------------

    async def interrupt(self) -> None:
        """Send SIGINT to the foreground program, also when it does not read what is typed."""
        await self.signal("SIGINT")

    async def signal(self, name: str) -> None:
        """Send a signal to the foreground program."""
        self.check_alive()
        await self._link.request("signal", terminal=self.id, signal=name, foreground=True)

    async def kill(self) -> list[int]:
        """End all its processes: politely, after a second firmly. The output stays; returns who could not be ended."""
        left: list[int] = (await self._link.request("end", terminal=self.id)).body["left"]
        return left

    async def close(self) -> None:
        """End all its processes and forget it; its log stays on disk for a while."""
        await self._link.request("end", terminal=self.id, forget=True)
        if self._finish is not None:
            await self._finish(self.id, self.meta)

    async def describe(self, **meta: object) -> None:
        """Store facts about it with the host, where they outlive this server."""
        self.meta.update(meta)
        await self._link.request("meta", terminal=self.id, meta=meta)

    def describe_soon(self, **meta: object) -> None:
        """Do the same without waiting until it is stored; the host hears of it before anything that is asked later.

        Everybody else learns of the change; nothing comes back to this object, which knows it.
        """
        self.meta.update(meta)
        self._link.tell("meta", terminal=self.id, meta=meta, quiet=True)

    def rejoin(self, record: Message) -> None:
        """Follow the news of a new connection to the host, or of a new host."""
        self._slot = record["slot"]
        if self._listeners and self.exit is None:
            self._link.watch(self._slot, self._news)
            self._news()  # of what was printed meanwhile

    def ended(self, end: Exit) -> None:
        """Note that the program has ended, as the host says."""
        self.exit = end
        self._news()

    def dispose(self) -> None:
        """Let go of descriptors and timers; the terminal itself goes on."""
        for timer in self._timers:
            timer.cancel()
        if self._listeners:
            self._link.unwatch(self._slot)
        if self._master >= 0:
            self._loop.remove_writer(self._master)
            os.close(self._master)
            self._master = -1


def is_shell_name(program: str) -> bool:
    """Return True if a program's name is a shell's."""
    return program.lstrip("-") in SHELL_NAMES
