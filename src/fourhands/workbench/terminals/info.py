"""A terminal as everyone sees it in lists and events."""

import msgspec
from msgspec import Struct

from fourhands.workbench.terminals.lease import LeaseInfo


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
