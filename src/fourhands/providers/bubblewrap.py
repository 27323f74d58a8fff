"""The sandbox: bubblewrap around each program, with the workspace writable and the rest read-only or not there.

What is shown is listed, not what is hidden: system directories, the workspace, what the settings add. Home, `/tmp` and
`/run` are private and empty. Each launch has its own namespaces and control groups; it dies with its host.
There is no `--new-session`: the host has given each terminal a session of its own, and its shell needs the terminal
as its controlling one. Text that a program pushes into the terminal (TIOCSTI) could only reach programs of the same
sandbox, because no other ever reads from that terminal; the filter of system calls refuses even that.
"""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fourhands.core import child
from fourhands.core.errors import FourhandsError, Unavailable, Unsupported
from fourhands.host import processes
from fourhands.providers import cgroups, entrypoint, seccomp, visibility
from fourhands.providers.base import Isolation, Launch, WorkspaceProvider
from fourhands.settings import BubblewrapSettings

PROBE_S = 10.0

_SPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
# In the order in which they are tried: the user namespace keeps even root from being the machine's root, and a program
# that cannot make another one has less of the kernel to attack. Root may build the sandbox without it.
_USER_SPACES = (("--unshare-user", "--disable-userns"), ("--unshare-user",), ())
# Facts about processors that build tools and language runtimes look for; the rest of /sys is not shown.
_MACHINE = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_FROM_RUN = ("/run/current-system", "/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf")
# Names of the keys in rings that have no namespace.
_KEYS = ("/proc/keys", "/proc/key-users")


@dataclass(frozen=True, slots=True)
class SandboxTools:
    """The parts of this machine that the sandbox is built from."""

    search_path: str = entrypoint.SAFE_PATH
    user_spaces: tuple[tuple[str, ...], ...] = _USER_SPACES
    call_filter: bytes = field(default_factory=lambda: seccomp.program(os.uname().machine))
    find_bases: Callable[[tuple[str, ...], tuple[str, ...]], list[cgroups.GroupBase]] = cgroups.find_bases


class Bubblewrap(WorkspaceProvider):
    """A provider that runs each program in a sandbox of its own on the workspace."""

    isolation = Isolation.SANDBOX
    shells: tuple[str, ...] | None = None

    def __init__(
        self,
        settings: BubblewrapSettings | None = None,
        *,
        name: str = "bubblewrap",
        env: Mapping[str, str] | None = None,
        tools: SandboxTools | None = None,
    ) -> None:
        super().__init__(name, env)
        self._settings = settings or BubblewrapSettings()
        self._tools = tools or SandboxTools()
        self._program = ""
        self._filter = self._tools.call_filter
        self._user_space: tuple[str, ...] = ()
        self._sized = False
        self._resets_signals = False
        self._perl = ""
        self._bases: list[cgroups.GroupBase] = []
        self._inside: list[str] = []
        self._groups: cgroups.ControlGroups | None = None
        self._mounts: list[str] = []

    # -- probing ---------------------------------------------------------------------------------------------------

    async def _try(self) -> str:
        program = entrypoint.find_builder("bwrap", self._env, self._tools.search_path)
        if program is None:
            raise Unsupported("bubblewrap is not installed", hint="install the package bubblewrap")
        self._program = os.path.realpath(program)
        code, help_text, _ = await _run([self._program, "--help"])
        self._sized = code == 0 and "--size " in help_text
        self._resets_signals = (await _run(["env", "--default-signal=INT", "true"]))[0] == 0
        self._perl = shutil.which("perl", path="/usr/bin:/bin") or ""
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
        groups = cgroups.ControlGroups(self._bases, f"fourhands-probe-{os.getpid()}", ceiling)
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
        self._mounts = await asyncio.to_thread(self._build, readable)
        digest = hashlib.sha256(f"{os.getuid()}:{self.name}:{self._workspace}".encode("utf-8", "surrogateescape"))
        ceiling = cgroups.ResourceLimits(self._settings.max_processes, self._settings.max_memory)
        self._groups = cgroups.ControlGroups(self._bases, f"fourhands-{digest.hexdigest()[:16]}", ceiling)
        mounts = [*self._own_home(visibility.home_of(self._env)), *self._mounts, "--chdir", self._workspace]
        code, _, complaint = await self._run_inside(mounts)
        if code != 0:
            raise Unsupported(
                f"bubblewrap cannot build a sandbox on {self._workspace}: {complaint.strip()[:300]}",
                hint="check providers.bubblewrap.readable and writable, and that the workspace is yours",
            )

    def _build(self, readable: tuple[str, ...]) -> list[str]:
        """Return the mounts that are the same for all launches on a workspace."""
        shown = self._shown((*self._settings.readable, *readable), self._settings.writable)
        mounts: list[str] = []
        for path, writable in shown.items():
            mounts += ["--bind" if writable else "--ro-bind", path, path]
        hidden = visibility.hidden_places(shown, self._env, self._workspace)
        if os.getuid() == 0:
            hidden += visibility.closed_places(path for path in ("/etc",) if os.path.isdir(path))
            hidden += visibility.closed_places(
                (path for path in ("/opt", "/usr/local") if os.path.isdir(path)), depth=2
            )
        for path in hidden:
            if not visibility.within(self._workspace, path):
                mounts += self._private(path) if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        return mounts

    def _private(self, path: str, mode: str = "0700") -> list[str]:
        """Return the options for an empty directory of the sandbox's own, in memory."""
        size = ["--size", str(self._settings.max_memory)] if self._sized and self._settings.max_memory else []
        return ["--perms", mode, *size, "--tmpfs", path]

    def _own_home(self, home: str) -> list[str]:
        """Return the options for a private home, unless it belongs to the workspace; before those of what is below."""
        return [] if home == "/tmp" or visibility.within(home, self._workspace) else self._private(home)

    def _command(self, mounts: list[str], inner: list[str]) -> list[str]:
        """Return the whole command line of bwrap."""
        command = [self._program, "--die-with-parent", "--cap-drop", "ALL", *self._user_space, *_SPACES]
        if not self._settings.network:
            command.append("--unshare-net")  # bwrap brings up its loopback
        if self._filter:
            command += ["--seccomp", str(entrypoint.FILTER_FD)]
        for name in visibility.SYSTEM:
            path = f"/{name}"
            if os.path.islink(path):
                command += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                command += ["--ro-bind", path, path]
        for path in (*_MACHINE, *_FROM_RUN):
            command += ["--ro-bind-try", path, path]
        # Root without any capability still owns the kernel's settings in /proc/sys, and bwrap covers them only where
        # it runs without a user namespace; one write to kernel.core_pattern would be the way out.
        command += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", *self._private("/dev/shm", "1777")]
        for path in filter(os.path.exists, _KEYS):
            command += ["--ro-bind", "/dev/null", path]
        command += self._private("/tmp", "1777")
        command += ["--dir", "/run", "--dir", "/var/tmp", "--symlink", "/run", "/var/run", *mounts, "--", *inner]
        return command

    # -- launching -------------------------------------------------------------------------------------------------

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch inside a sandbox and control groups of its own."""
        if self._groups is None:
            raise self._unprepared()
        variables = visibility.inner_variables(launch.env, self._workspace)
        variables["HOME"] = home = visibility.home_of(variables)
        mounts = [*self._own_home(home), *self._mounts]
        inner = entrypoint.unpacking(
            variables,
            launch.program,
            launch.argv[1:],
            before=self._inside,
            signals=self._resets_signals,
            perl=self._perl if terminal else "",
        )
        tag = launch.env.get(processes.MARK) or f"untagged-{os.urandom(8).hex()}"
        try:
            doors = self._groups.open(tag)
        except OSError as error:
            raise Unavailable(
                f"cannot set the limits of the sandbox: {error}", hint="`fourhands doctor` explains"
            ) from error
        command = self._command([*mounts, "--chdir", launch.cwd], inner)
        argv = entrypoint.entering(doors, command, signals=self._resets_signals, call_filter=self._filter)
        return Launch(
            "/bin/sh", tuple(argv), launch.cwd, {"PATH": entrypoint.SAFE_PATH, **entrypoint.packed(variables)}
        )

    async def end(self, tag: str) -> None:
        """Remove the control groups of a launch; the host ends its processes."""
        if self._groups is not None:
            await self._groups.close(tag)

    async def explain(self, tag: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Return an error when the sandbox failed, not the program."""
        first = stderr.partition("\n")[0]
        if (exit_code == 1 and first.startswith("bwrap: ")) or (
            exit_code == entrypoint.FAILED and first.startswith("fourhands: ")
        ):
            return Unavailable(f"cannot build the sandbox: {first}", hint="`fourhands doctor` explains")
        return None

    async def clean_up(self) -> None:
        """Remove the control groups that are empty."""
        if self._groups is not None:
            self._groups.clean_up()


async def _run(command: list[str]) -> tuple[int, str, str]:
    """Run a command to its end, with a fixed environment and a time limit."""
    try:
        ended = await child.run(command, env={"PATH": entrypoint.SAFE_PATH}, timeout_s=PROBE_S)
    except TimeoutError:
        return -1, "", f"no answer within {PROBE_S:g} s"
    return ended.code, ended.out, ended.err
