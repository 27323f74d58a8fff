"""A terminal as everyone sees it in lists and events."""

import os

import msgspec
from msgspec import Struct

from fourhands.workbench.terminals.lease import Lease, LeaseInfo


class TerminalInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A terminal as everybody sees it in lists and events."""

    id: str
    title: str
    status: str
    shell_state: str
    command: str
    cwd: str
    cols: int
    rows: int
    position: int
    owner: str
    isolation: str
    provider: str  # the kind of isolation, such as bubblewrap, landlock or none
    created: float
    uptime_s: float = msgspec.field(name="uptimeSeconds")
    pid: int
    exit_code: int | None = None
    signal: str | None = None
    last_exit_code: int | None = None
    finished_commands: int = 0
    paused: bool = False
    fault: str = ""  # why its output cannot be read
    slow_start: str = ""
    lease: LeaseInfo = LeaseInfo()


def describe(lease: Lease, root: str) -> TerminalInfo:
    """Return a terminal as it is now, its directory relative to the workspace. Event loop only: it reads the marks."""
    terminal = lease.terminal
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
        cwd=relative(commands.cwd or terminal.started_in, root),
        cols=cols,
        rows=rows,
        position=terminal.log.head,
        owner=terminal.owner,
        isolation=terminal.isolation,
        provider=terminal.provider,
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
        lease=lease.info(),
    )


def relative(path: str, root: str) -> str:
    """Return a path as people and models read it: relative to the workspace where it lies inside."""
    if path == root:
        return "."
    return os.path.relpath(path, root) if path.startswith(root.rstrip("/") + "/") else path
