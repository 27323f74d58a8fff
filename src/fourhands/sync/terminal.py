"""A terminal for programs that wait: every method of `fourhands.Terminal` that an embedding program needs."""

from collections.abc import Mapping

from fourhands.sync.remote import Remote, reads, subscribes, waits
from fourhands.workbench.terminals.handle import Exit
from fourhands.workbench.terminals.shell.history import ShellCommand
from fourhands.workbench.terminals.terminal import Terminal


class SyncTerminal(Remote[Terminal]):
    """A terminal with its keyboard and its output. Made by `Terminals`, never directly."""

    # -- what it is: what never changes is there even when the terminals are closed ---------------------------------

    @property
    def id(self) -> str:
        """Its id."""
        return self._there.id

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return self._there.argv

    @property
    def pid(self) -> int:
        """Its main process."""
        return self._there.pid

    @property
    def started_in(self) -> str:
        """The directory that it was started in."""
        return self._there.started_in

    @property
    def program(self) -> str:
        """The name of its main program, such as bash."""
        return self._there.program

    @property
    def command(self) -> str:
        """The program that was asked for: a shell by its name, without the arguments by which it marks its commands."""
        return self._there.command

    @property
    def isolation(self) -> str:
        """The isolation level in force."""
        return self._there.isolation

    @property
    def provider(self) -> str:
        """The provider that its program runs in; of `auto`, the one that it chose."""
        return self._there.provider

    @property
    def created(self) -> float:
        """The time at which a caller asked for it, in seconds since the epoch; a spare shell was started before."""
        return self._there.created

    @property
    def is_shell(self) -> bool:
        """True if its main program is an interactive shell."""
        return self._there.is_shell

    @property
    def title(self) -> str:
        """The name people gave it."""
        return self._there.title

    @property
    def owner(self) -> str:
        """The actor that created it: an agent session's id, or empty for a person."""
        return self._there.owner

    @property
    def uptime_s(self) -> float:
        """Seconds since it was created."""
        return self._there.uptime_s

    @property
    def meta(self) -> Mapping[str, object]:
        """The facts that are kept about it, a copy."""
        return dict(self._there.meta)

    # -- how it is now ---------------------------------------------------------------------------------------------

    @property
    def exit(self) -> Exit | None:
        """The end of its program; None while it runs."""
        return self._read(lambda there: there.exit)

    @property
    def exited(self) -> bool:
        """True once its program has ended and all its output is in the log."""
        return self._read(lambda there: there.exited)

    @property
    def cwd(self) -> str:
        """The directory of its shell, as far as its marks were read; else the one it was started in."""
        return self._read(lambda there: there.cwd)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._read(lambda there: there.size)

    @property
    def marked(self) -> bool:
        """True while its shell marks its commands, so that their bounds and exit codes are known."""
        return self._read(lambda there: there.marked)

    @property
    def shell_state(self) -> str:
        """The state of the shell at the last `catch_up`, as its marks told: unknown, prompt, incomplete, running."""
        return self._read(lambda there: there.shell_state)

    @property
    def last_command(self) -> ShellCommand | None:
        """The newest command's record, as of the last `catch_up`."""
        return self._read(lambda there: there.last_command)

    catch_up = reads(Terminal.catch_up)
    look = reads(Terminal.look)
    ports = waits(Terminal.ports)

    # -- typing, running, waiting ------------------------------------------------------------------------------------

    run = waits(Terminal.run)
    type = waits(Terminal.type)
    wait = waits(Terminal.wait)
    wait_for_prompt = waits(Terminal.wait_for_prompt)
    resize = reads(Terminal.resize)

    # -- views -----------------------------------------------------------------------------------------------------

    lines = reads(Terminal.lines)
    since = reads(Terminal.since)
    tail = reads(Terminal.tail)
    search = reads(Terminal.search)
    scrollback = reads(Terminal.scrollback)
    excerpt = reads(Terminal.excerpt)
    screen = reads(Terminal.screen)

    # -- subscriptions: the callbacks run in the thread of the terminals ---------------------------------------------

    on_data = subscribes(Terminal.on_data)
    on_exit = subscribes(Terminal.on_exit)

    # -- end -------------------------------------------------------------------------------------------------------

    interrupt = waits(Terminal.interrupt)
    signal = waits(Terminal.signal)
    kill = waits(Terminal.kill)
    close = waits(Terminal.close)
