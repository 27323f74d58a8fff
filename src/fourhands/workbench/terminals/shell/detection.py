"""The platform of this machine, and the shell of a new terminal."""

import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec import Struct

from fourhands.core.errors import Denied, NotFound

SHELLS: dict[str, tuple[str, ...]] = {
    "darwin": ("/bin/zsh", "/bin/bash", "/opt/homebrew/bin/bash", "/opt/homebrew/bin/fish", "/bin/sh"),
    "linux": ("/bin/bash", "/usr/bin/bash", "/bin/zsh", "/usr/bin/zsh", "/usr/bin/fish", "/bin/dash", "/bin/sh"),
}
"""Shells that may be started unless a setting says otherwise, in the order in which they are tried."""

_WSL_KERNEL = re.compile(r"microsoft|(?<![a-z])wsl\d*(?![a-z\d])", re.IGNORECASE)

LOGIN_ARGUMENTS: dict[str, tuple[str, ...]] = {"bash": ("--login",), "zsh": ("--login",), "fish": ("--login",)}


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell that exists, with the arguments that make it a login shell."""

    path: str
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The shell's name: bash, zsh, sh and others."""
        return os.path.basename(self.path)


class PlatformInformation(Struct, frozen=True, kw_only=True, rename="camel"):
    """The machine that Fourhands runs on, and the shell that a new terminal gets there, with its arguments."""

    system: str
    release: str
    machine: str
    wsl: bool
    default_shell: str
    shell_arguments: tuple[str, ...]
    shells: tuple[str, ...]


def allowed_shells(configured: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the shells that may be started: the configured ones, else this platform's list."""
    return tuple(configured) or SHELLS.get(sys.platform, SHELLS["linux"])


def _usable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _shell(path: str) -> Shell:
    return Shell(path, LOGIN_ARGUMENTS.get(os.path.basename(path), ()))


def detect_shell(env: Mapping[str, str], configured: Iterable[str] = ()) -> Shell:
    """Return the user's `$SHELL` if allowed and present, else the first of the list that exists, else `/bin/sh`."""
    allowed = allowed_shells(configured)
    wanted = env.get("SHELL", "")
    for path in allowed:
        if wanted and wanted in (path, os.path.basename(path)) and _usable(path):
            return _shell(path)
    # The same shell in another directory of the list is still the user's choice.
    for path in allowed:
        if wanted and os.path.basename(path) == os.path.basename(wanted) and _usable(path):
            return _shell(path)
    for path in allowed:
        if _usable(path):
            return _shell(path)
    return _shell("/bin/sh")


def named_shell(wanted: str, configured: Iterable[str] = ()) -> Shell:
    """Return the shell that is asked for by path or name, if it is allowed and there."""
    allowed = allowed_shells(configured)
    matching = [path for path in allowed if wanted in (path, os.path.basename(path))]
    if not matching:
        raise Denied(f"the shell {wanted!r} is not allowed", hint=f"allowed are: {', '.join(allowed)}")
    for path in matching:
        if _usable(path):
            return _shell(path)
    raise NotFound.of("shell", wanted, [path for path in allowed if _usable(path)])


def foreign_shell(wanted: str | None, env: Mapping[str, str], there: tuple[str, ...]) -> Shell:
    """Return a shell of another file system, such as a container: the wanted one, else the user's kind or the best."""
    if wanted is not None:
        for path in there:
            if wanted in (path, os.path.basename(path)):
                return _shell(path)
        raise NotFound.of("shell", wanted, there)
    name = os.path.basename(env.get("SHELL", ""))
    return _shell(next((path for path in there if os.path.basename(path) == name), there[0] if there else "/bin/sh"))


def is_wsl(env: Mapping[str, str]) -> bool:
    """Return True if this Linux runs inside Windows: its kernel says so, or what WSL puts into the environment.

    A container there has the kernel only; a kernel that a user built may not name WSL, and a service may have no such
    variables.
    """
    if sys.platform != "linux":
        return False  # Windows itself has WSLENV
    if any(env.get(name) for name in ("WSL_DISTRO_NAME", "WSL_INTEROP")) or "WSLENV" in env:  # which is often empty
        return True
    try:
        with open("/proc/version", errors="replace") as file:
            return _WSL_KERNEL.search(file.read()) is not None
    except OSError:
        return False


def platform_information(env: Mapping[str, str], configured: Iterable[str] = ()) -> PlatformInformation:
    """Everything above in one value."""
    configured = tuple(configured)
    shell = detect_shell(env, configured)
    return PlatformInformation(
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        wsl=is_wsl(env),
        default_shell=shell.path,
        shell_arguments=shell.arguments,
        shells=tuple(path for path in allowed_shells(configured) if _usable(path)),
    )
