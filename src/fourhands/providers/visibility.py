"""The paths that a program in a sandbox or container must not see, and the variables that still mean something there.

Both the sandbox and the container show the workspace and little else. What is secret can lie inside of what they show:
the workspace may be the home directory, the state directory may be in the workspace. This module names such places.
"""

import os
import stat
from collections.abc import Iterable, Mapping

from fourhands.core.errors import BadArgument
from fourhands.safety.redaction.file_names import BUILT_IN

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu")
"""Entries of `/` that hold programs and their configuration, and no sockets: the rest of the machine is not shown."""

# They name sockets and directories that are not there inside.
_POINTLESS = {
    *("XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DOCKER_HOST", "CONTAINER_HOST"),
    *("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "SESSION_MANAGER", "PULSE_SERVER", "TMUX", "STY"),
    *("WAYLAND_DISPLAY", "DISPLAY", "XAUTHORITY", "ICEAUTHORITY"),
}

_MOST_HIDDEN = 2000

_LOCKS = frozenset(f"{name}.lock" for name in ("passwd", "group", "shadow", "gshadow", "subuid", "subgid"))
"""The locks of programs that change users: a process id is in one, and soon it is gone."""


def check_workspace(workspace: str) -> str:
    """Return the resolved workspace; raises when showing it would show the whole machine."""
    root = os.path.realpath(workspace)
    if not os.path.isdir(root):
        raise BadArgument(f"the workspace {workspace!r} is not a directory")
    top = root.split("/")[1]
    if not top or top in ("proc", "sys", "dev", "run", "boot") or (root.count("/") == 1 and top in (*SYSTEM, "var")):
        raise BadArgument(
            f"the workspace {root!r} is a part of the system: it cannot be given to a sandbox or container",
            hint="choose a directory of your own",
        )
    return root


def within(path: str, directory: str) -> bool:
    """Return True if a path is a directory or lies below it; both are absolute and resolved."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def home_of(env: Mapping[str, str]) -> str:
    """Return the home directory for programs; one that cannot be made private becomes `/tmp`."""
    home = env.get("HOME", "")
    if not os.path.isabs(home) or set(home) & {"\n", ":"}:  # engines end a path there
        return "/tmp"
    home = os.path.normpath(home)
    top = home.split("/")[1]
    return "/tmp" if not top or top in (*SYSTEM, "proc", "sys", "dev") or home in ("/home", "/var") else home


def inner_variables(env: Mapping[str, str], workspace: str) -> dict[str, str]:
    """Return the chosen variables without those that lead nowhere inside."""
    kept = {name: value for name, value in env.items() if name not in _POINTLESS}
    for name in ("TMPDIR", "TMP", "TEMP"):
        if name in kept and not within(os.path.normpath(kept[name]), workspace):
            kept[name] = "/tmp"
    return kept


def private_places(env: Mapping[str, str], workspace: str) -> list[str]:
    """Return the paths of sockets, tokens, logs and keys of this program and others, which need not exist."""
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    bases = {
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_CACHE_HOME": f"{home}/.cache",
    }
    places = [os.path.join(env.get(name) or default, "fourhands") for name, default in bases.items()]
    places += [f"/tmp/fourhands-{os.getuid()}", "/tmp/.X11-unix", f"/run/user/{os.getuid()}", "/run", "/var/run"]
    if os.path.isabs(env.get("XDG_RUNTIME_DIR", "")):
        # Only our part of it when the workspace is inside: hiding the whole would hide the workspace.
        runtime = env["XDG_RUNTIME_DIR"]
        places.append(f"{runtime}/fourhands" if within(workspace, os.path.realpath(runtime)) else runtime)
    for name in ("SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "XAUTHORITY"):
        value = env.get(name, "").removeprefix("unix://")
        if os.path.isabs(value):
            places.append(value)
    return [os.path.realpath(place) for place in places]


def hidden_places(visible: Iterable[str], env: Mapping[str, str], workspace: str) -> list[str]:
    """Return the private places, and the secrets of a home directory, that lie inside of what is shown."""
    shown = [os.path.realpath(path) for path in visible]
    found = {
        place
        for place in private_places(env, workspace)
        if os.path.lexists(place) and any(within(place, path) for path in shown) and not within(workspace, place)
    }
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    if any(within(home, path) for path in shown):
        for directory in (home, f"{home}/.config"):
            found.update(path for path in secrets_in(directory) if not within(workspace, path))
    return _outermost(found)


def secrets_in(directory: str) -> list[str]:
    """Return the secret files and directories right below a directory."""
    try:
        with os.scandir(directory) as entries:
            return [entry.path for entry in entries if BUILT_IN.match(entry.path) or BUILT_IN.holds(entry.path)]
    except OSError:
        return []


def closed_places(roots: Iterable[str], depth: int = 8) -> list[str]:
    """Return what an ordinary user could not read below these directories, and root's own sandbox shall not either."""
    found: list[str] = []
    todo = [(root, depth) for root in roots]
    while todo and len(found) < _MOST_HIDDEN:
        directory, left = todo.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_symlink() or entry.name in _LOCKS:
                        continue
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        if mode & 0o005 != 0o005:
                            found.append(entry.path)
                        elif left > 1:
                            todo.append((entry.path, left - 1))
                    elif not mode & 0o004 or stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
                        found.append(entry.path)
        except OSError:
            found.append(directory)
    return sorted(found)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that do not lie below another one of them."""
    result: list[str] = []
    for path in sorted(paths):
        if not result or not within(path, result[-1]):
            result.append(path)
    return result
