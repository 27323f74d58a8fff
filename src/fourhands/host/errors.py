"""The errors of a host as its clients see them."""

from fourhands.core.errors import (
    BadCwd,
    CommandNotFound,
    ExecDenied,
    FourhandsError,
    NotFound,
    Unavailable,
)
from fourhands.host import owner, processes
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.protocol import Message


class HostLost(Unavailable):
    """The host has gone, and with it the terminals' programs; their logs are still on disk."""

    code = "host-lost"


class HostSilent(Unavailable):
    """The host lives but does not answer; terminals go on and can be read, and requests work when it answers again."""

    code = "host-silent"


class CellLost(Unavailable):
    """The sandbox could not be built or has ended, and with it all programs in it."""


def translate(error: Message) -> FourhandsError:
    """Return the error of a reply as one of this program's; the caller adds what was asked."""
    kind, name, text = error.get("kind"), error.get("errno", ""), str(error.get("message"))
    if kind == "cwd":
        return BadCwd(f"cannot change to the working directory: {text}", errno=name)
    if kind == "program" and name in ("ENOENT", "ENOTDIR"):
        return CommandNotFound(f"cannot start the program: {text}", errno=name)
    if kind == "program" and name in ("EACCES", "EPERM", "ENOEXEC"):
        return ExecDenied(f"cannot start the program: {text}", errno=name)
    if kind == "cell":
        return CellLost(f"the sandbox cannot be used: {text}", hint="try again; `fourhands doctor` explains")
    if kind == "terminal":
        return NotFound(text)
    if kind == "secret":
        return Unavailable(text, hint="use the Fourhands that started it; `fourhands stop` of that one ends it")
    if kind == "protocol":
        return Unavailable(
            text, hint="the running host has a different version; `fourhands stop` ends it and its terminals"
        )
    return Unavailable(f"the host refused: {text}", errno=name)


def silent(places: WorkspaceDirs, waited_s: float, pid: int = 0) -> HostSilent:
    """Return the error for a host that does not answer, with the reason as far as it can be seen from here."""
    found = owner.living(places)
    pid = pid or (found.pid if found is not None else 0)
    process = processes.look(pid) if pid else None
    who = f"the host of {places.workspace}" + (f" (process {pid})" if pid else "")
    if process is not None and process.state in "Tt":
        return HostSilent(f"{who} does not answer: it is stopped", hint=f"resume it: kill -CONT {pid}", pid=pid)
    return HostSilent(
        f"{who} does not answer, for {waited_s:g} s now",
        hint=f"try again when the machine is less busy; see {places.state}/host.log",
        pid=pid,
    )
