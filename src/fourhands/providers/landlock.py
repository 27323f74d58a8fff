"""The weaker sandbox: the kernel's Landlock rules and a filter of system calls, where namespaces cannot be had.

Rules only allow, so nothing inside of what is writable can be made read-only or hidden: what runs by itself is shown
at the end of a turn instead (`autorun`). There are no mounts: home and `/tmp` are directories of the sandbox's own that
HOME and TMPDIR name. There are no namespaces: names of files and processes are visible, and the network is this
machine's; nothing of it can be reached but the TCP ports that are allowed.

One domain holds all programs of a cell (`enclose`), so that they may signal each other. Each launch adds rules of its
own (`wrap`) that leave it its own terminal only: the others in `/dev/pts` are keyboards of the same user. A launch may
come from a server that has not made the cell, so `confine` finds out by itself which cell it is in.
"""

import asyncio
import base64
import contextlib
import ctypes
import hashlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fourhands.core import child
from fourhands.core.errors import FourhandsError, Unavailable, Unsupported
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers import confine, entrypoint, seccomp, visibility
from fourhands.providers.base import AgentNeeds, CellDirs, Isolation, Launch, Network, WorkspaceProvider
from fourhands.providers.view import (
    Access,
    SandboxView,
    ViewEntry,
    build_view,
    furnish_home,
    inner_git_variables,
    own_places,
    system_entries,
)
from fourhands.providers.visibility import within
from fourhands.settings import SandboxSettings

PROBE_S = 20.0

_TCP_RULES = 4  # the version that knows TCP

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LEFT_OPEN = "names, sizes and times of your files and the list of processes are visible, and programs may change modes"

# Run inside by the probe: each line tries one way out and prints its name if that is open.
_ATTEMPTS = """
import ctypes, os, socket, sys
secret, path, port, parent, writable = sys.argv[1:]
def attempt(name, action):
    try:
        action()
    except (OSError, PermissionError):
        return
    print(name)
def connect(family, kind, protocol, address):
    with socket.socket(family, kind, protocol) as door:
        door.settimeout(2)
        door.connect(address)
def fast_open():
    with socket.socket(socket.AF_INET) as door:
        door.settimeout(2)
        door.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", int(port)))
attempt("files", lambda: open(secret).read())
attempt("writing", lambda: open(secret, "a").close())
attempt("removing", lambda: os.unlink(secret))
attempt("unix sockets", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, 0, path))
attempt("abstract sockets", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, 0, "\\0" + path))
attempt("tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, 0, ("127.0.0.1", int(port))))
attempt("tcp by sending", fast_open)
attempt("mptcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, 262, ("127.0.0.1", int(port))))
attempt("udp", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, 0, ("127.0.0.1", int(port))))
attempt("signals", lambda: os.kill(int(parent), 0))
attempt("environment of others", lambda: open(f"/proc/{parent}/environ", "rb").read())
open(writable + "/made", "w").close()
print("done")
"""


class Landlock(WorkspaceProvider):
    """A provider that runs programs under Landlock rules on the workspace."""

    isolation = Isolation.SANDBOX
    shells: tuple[str, ...] | None = None
    weaker = True
    shares_network = False
    builder = ""

    def __init__(
        self,
        *,
        name: str = "landlock",
        env: Mapping[str, str] | None = None,
        sandbox: SandboxSettings | None = None,
        version: int | None = None,
        connect_ports: tuple[int, ...] = (),
        own: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(name, env)
        self.connect_ports = connect_ports  # of this machine's loopback and all others: rules know no addresses
        self._sandbox = sandbox or SandboxSettings()
        self._version = version
        self._own = own
        self._view: SandboxView | None = None
        self._readable: tuple[str, ...] = ()
        self._dirs: CellDirs | None = None
        self._policies = ""
        self._outside = ""
        self._policy = ""

    # -- probing ---------------------------------------------------------------------------------------------------

    async def _try(self) -> str:
        version = kernel_version() if self._version is None else self._version
        if version < 1:
            raise Unsupported("this kernel has no Landlock", hint="Linux 5.13 or later has it, if it is switched on")
        if not seccomp.program(os.uname().machine):
            raise Unsupported(
                f"there is no filter of system calls for {os.uname().machine}, and without it sockets stay open",
                hint="install bubblewrap",
            )
        self._version = version
        opened = await self._attempt()
        tolerated = {"signals"} if version < 6 else set()
        if leaks := [name for name in opened if name not in tolerated]:
            raise Unsupported(f"Landlock does not hold here: {', '.join(leaks)} stayed open", hint="install bubblewrap")
        return "; ".join([f"Landlock {version}", *limits(version)])

    async def _attempt(self) -> list[str]:
        """Try each way out from inside; returns those that are open."""
        with tempfile.TemporaryDirectory(prefix="fh-probe-") as place, contextlib.ExitStack() as stack:
            inside, secret, path = f"{place}/inside", f"{place}/secret", f"{place}/s"
            os.mkdir(inside)
            Path(secret).write_text("x")
            for name in (path, f"\0{path}"):
                door = stack.enter_context(socket.socket(socket.AF_UNIX))
                door.bind(name)
                door.listen()
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            rules = [*_system_rules(own_places()), (inside, "write")]
            policy = f"{place}/policy"
            _store(policy, self._document(rules, scoped=True))
            code = [sys.executable, "-P", "-I", "-S", "-c", _ATTEMPTS]
            port = str(listening.getsockname()[1])
            command = [*code, secret, path, port, str(os.getpid()), inside]
            try:
                ended = await child.run(
                    _confined(policy, command[0], command), env={"PATH": entrypoint.SAFE_PATH}, timeout_s=PROBE_S
                )
            except TimeoutError:
                raise Unsupported(f"Landlock did not answer within {PROBE_S:g} s") from None
            opened = ended.out.split("\n")
            if ended.code != 0 or "done" not in opened:
                said = ended.err.strip()[-300:] or f"exit code {ended.code}"
                raise Unsupported(f"Landlock cannot build a sandbox here: {said}")
            return [name for name in opened if name not in ("", "done")]

    def _document(
        self, rules: Sequence[tuple[str, str]], *, scoped: bool, tty: bool = False, port: int = 0
    ) -> dict[str, object]:
        version = self._version or 0
        call_filter = seccomp.program(os.uname().machine, namespaces=False, tcp=version >= 4)
        return {
            "rules": rules,
            "scoped": scoped,
            "tty": tty,
            "connect": [*self.connect_ports, *([port] if port else [])],
            "filter": base64.b64encode(call_filter).decode(),
        }

    # -- life ------------------------------------------------------------------------------------------------------

    def _look(self, readable: tuple[str, ...], needs: AgentNeeds | None = None) -> SandboxView:
        return build_view(self._workspace, self._env, self._sandbox, readable=readable, own=self._own, needs=needs)

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Write down the rules for a workspace, or refuse."""
        probe = await self.probe()
        if not probe.works:
            raise Unsupported(probe.detail, hint="`fourhands doctor` tries again and explains", provider=self.name)
        self._workspace = visibility.check_workspace(workspace)
        self._readable = readable
        self._view = view = await asyncio.to_thread(self._look, readable)
        _check(view, own_places() if self._own is None else self._own)
        places = WorkspaceDirs.of(self._workspace, self._env)
        places.prepare()
        self._policies = os.path.join(places.state, "landlock")
        os.makedirs(os.path.join(self._policies, "cells"), mode=0o700, exist_ok=True)
        self._outside = os.path.join(places.state, "landlock-outside")
        self._dirs = CellDirs(
            "", os.path.join(places.state, "landlock-home"), os.path.join(places.state, "landlock-tmp")
        )
        await asyncio.to_thread(self._build, self._dirs)

    def _build(self, dirs: CellDirs) -> None:
        assert self._view is not None
        for place in (dirs.home, dirs.tmp):
            os.makedirs(place, mode=0o700, exist_ok=True)
        _link_home(self._view, dirs.home)
        Path(self._outside).touch()
        self._policy = self._write(rules_of(self._view, dirs), "launch", self._joining(dirs))

    def _joining(self, dirs: CellDirs) -> dict[str, object]:
        """Return what a launch needs to find out which cell it is in."""
        own = {"home": dirs.home, "tmp": dirs.tmp}
        return {"outside": self._outside, "cells": os.path.join(self._policies, "cells"), "own": own}

    def _write(
        self, rules: Sequence[tuple[str, str]], name: str, more: Mapping[str, object] | None = None, port: int = 0
    ) -> str:
        """Store a policy where programs inside cannot write, and return its path."""
        document = {**self._document(rules, scoped=True, tty=True, port=port), **(more or {})}
        digest = hashlib.sha256(json.dumps(document).encode()).hexdigest()[:16]
        path = os.path.join(self._policies, f"{name}-{digest}.json")
        _store(path, document)
        return path

    # -- launching -------------------------------------------------------------------------------------------------

    def enclose(
        self, command: Sequence[str], dirs: CellDirs, network: Network | None = None, needs: AgentNeeds | None = None
    ) -> Launch:
        """Return the launch that becomes `command` under rules that all its children share.

        There is no layer for the network on this rung: what it may reach are `connect_ports`, and an agent's port.
        """
        if self._view is None:
            raise self._unprepared()
        view, port = self._view, 0
        if needs is not None:
            view, port = self._look(self._readable, needs), needs.port
            furnish_home(needs, view.home, dirs.home)
        _link_home(view, dirs.home)
        ours = _where_we_are() if needs is not None else []
        _store(os.path.join(self._policies, "cells", f"{dirs.name}.json"), {"home": dirs.home, "tmp": dirs.tmp})
        pseudo = [("/dev/ptmx", "device"), ("/dev/pts", "device")]
        policy = self._write([*rules_of(view, dirs), *ours, *pseudo, (self._policies, "read")], "cell", port=port)
        argv = _confined(policy, command[0], command)
        return Launch(argv[0], tuple(argv), self._workspace, {"PATH": entrypoint.SAFE_PATH, "LC_ALL": "C.UTF-8"})

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch under the rules of the workspace."""
        return self._wrapped(launch, self._policy)

    def admit(self, launch: Launch, needs: AgentNeeds) -> Launch:
        """Return the launch under the rules of the workspace and of the agent's own files, and with its port."""
        if self._dirs is None:
            raise self._unprepared()
        if needs.port and (self._version or 0) < _TCP_RULES:
            raise Unsupported(
                f"the weaker sandbox of this kernel (Landlock {self._version}) cannot let an agent reach its model "
                "and nothing else",
                hint="Linux 6.7 or later can; or install bubblewrap (`fourhands doctor` says how)",
            )
        rules = [*rules_of(self._look(self._readable, needs), self._dirs), *_where_we_are()]
        return self._wrapped(launch, self._write(rules, "agent", self._joining(self._dirs), needs.port))

    def _wrapped(self, launch: Launch, policy: str) -> Launch:
        if self._view is None or self._dirs is None:
            raise self._unprepared()
        variables = visibility.inner_variables(launch.env, self._workspace)
        for name in ("TMPDIR", "TMP", "TEMP"):
            if name == "TMPDIR" or name in variables:
                inside = within(os.path.normpath(variables.get(name, "/tmp")), self._workspace)
                variables[name] = variables[name] if inside else self._dirs.tmp
        if self._view.private_home:
            variables["HOME"] = self._dirs.home
        variables = inner_git_variables(variables, self._view)
        argv = _confined(policy, launch.program, launch.argv)
        env = {"PATH": entrypoint.SAFE_PATH, **entrypoint.packed(variables)}
        return Launch(argv[0], tuple(argv), launch.cwd, env)

    async def end(self, tag: str) -> None:
        """Nothing to do: the host sees every process."""

    async def explain(self, tag: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Return an error when the sandbox failed, not the program."""
        first = stderr.partition("\n")[0]
        if exit_code == confine.FAILED and first.startswith("fourhands: cannot build the sandbox"):
            return Unavailable(first.removeprefix("fourhands: "), hint="`fourhands doctor` explains")
        return None

    async def clean_up(self) -> None:
        """Nothing to remove: home and its caches are kept for the next time."""


def kernel_version() -> int:
    """Return the version of Landlock in this kernel; 0 for none."""
    return confine.abi(ctypes.CDLL(None, use_errno=True)) if sys.platform == "linux" else 0


def limits(version: int) -> list[str]:
    """Return, as sentences, what this kind of sandbox does not hold on a kernel of that version."""
    said = [
        "files that run by themselves (.git/config, hooks, .envrc) can be written, and are shown after each turn",
        _LEFT_OPEN,
        "no sockets of this machine, no UDP, no TCP in or out, no shared memory; number and memory are NOT LIMITED",
    ]
    if version < 6:
        said.append("programs can signal yours (Linux 6.12 or later refuses it)")
    if version < 2:
        said.append("files cannot be moved between directories, only copied (Linux 5.19 or later allows it)")
    return said


def rules_of(view: SandboxView, dirs: CellDirs) -> list[tuple[str, str]]:
    """Return the rules for a view: each path with its kind. A directory with hidden files is listed one by one."""
    hidden = [entry.path for entry in view.entries if entry.access is Access.HIDDEN]
    rules: list[tuple[str, str]] = [(dirs.home, "write"), (dirs.tmp, "write"), *_machine_rules()]
    for entry in (*system_entries(), *view.entries):
        if entry.access is Access.DEVICE:
            rules.append((entry.path, "device"))
        elif entry.access is Access.WRITE:
            rules.append((entry.outside, "write"))
        elif entry.access is Access.READ and not _inside_writable(entry, view):
            rules += _readable(entry.outside, hidden)
    return rules


def _where_we_are() -> list[tuple[str, str]]:
    """Return the rule with which Python finds our package, for the command that an agent starts: names, no contents."""
    return [(os.path.dirname(own_places()[0]), "list")]


def _readable(path: str, hidden: Sequence[str]) -> list[tuple[str, str]]:
    """Return rules to read a directory without what is hidden in it."""
    if path in hidden:
        return []
    below = [one for one in hidden if within(one, path)]
    if not below or not os.path.isdir(path):
        return [(path, "read")]
    rules = [(path, "list")]
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(path)):
            rules += _readable(os.path.join(path, name), below)
    return rules


def _inside_writable(entry: ViewEntry, view: SandboxView) -> bool:
    roots = (one.path for one in view.entries if one.access is Access.WRITE)
    return any(within(entry.outside, root) for root in roots)


def _machine_rules() -> list[tuple[str, str]]:
    return [("/proc", "read"), *((f"/dev/{name}", "device") for name in _DEVICES)]


def _system_rules(own: Sequence[str]) -> list[tuple[str, str]]:
    entries = [(entry.path, "read") for entry in system_entries() if entry.access is Access.READ]
    return [*entries, *_machine_rules(), *((place, "read") for place in own)]


def _check(view: SandboxView, own: Sequence[str]) -> None:
    """Refuse what these rules cannot keep: they can take nothing out of a directory that is writable."""
    roots = [entry.path for entry in view.entries if entry.access is Access.WRITE]
    shown = [e.path for e in view.entries if e.access is Access.HIDDEN and any(within(e.path, root) for root in roots)]
    remedy = "install bubblewrap (`fourhands doctor` says how), or choose a directory without it as the workspace"
    if shown:
        raise Unsupported(f"the weaker sandbox cannot hide {shown[0]}, which lies inside the workspace", hint=remedy)
    if mine := [place for place in own if any(within(place, root) for root in roots)]:
        raise Unsupported(
            f"the weaker sandbox cannot protect Fourhands itself, which runs from {mine[0]} inside the workspace",
            hint=remedy,
        )


def _link_home(view: SandboxView, home: str) -> None:
    """Let the sandbox's home name the tools and the configuration that are shown of the person's."""
    if not view.private_home:
        return
    for entry in view.entries:
        shown = entry.access in (Access.READ, Access.WRITE)
        if not shown or not entry.path.startswith(f"{view.home}/") or within(entry.path, view.workspace):
            continue
        # Programs of before may have left links here, which would lead us out of this home.
        *above, name = os.path.relpath(entry.path, view.home).split("/")
        place = home
        for part in above:
            place = os.path.join(place, part)
            if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):
                os.unlink(place)
            os.makedirs(place, mode=0o700, exist_ok=True)
        link = os.path.join(place, name)
        if os.path.islink(link):
            os.unlink(link)
        if not os.path.lexists(link):
            os.symlink(entry.outside, link)


def _confined(policy: str, program: str, argv: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-I", "-S", os.path.abspath(confine.__file__), policy, program, *argv]


def _store(path: str, document: Mapping[str, object]) -> None:
    descriptor, name = tempfile.mkstemp(dir=os.path.dirname(path))
    with open(descriptor, "w") as file:
        json.dump(document, file)
    os.replace(name, path)
