"""The sandbox: bubblewrap around each program, with the workspace writable and the rest read-only or not there.

What is shown is listed, not what is hidden: system directories, the workspace, what the settings add. Home, `/tmp` and
`/run` are private and empty. Each launch has its own namespaces and control groups; it dies with its host.
There is no `--new-session`: the host has given each terminal a session of its own, and its shell needs the terminal
as its controlling one. Text that a program pushes into the terminal (TIOCSTI) could only reach programs of the same
sandbox, because nobody else ever reads from that terminal; the filter of system calls refuses even that.
"""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Mapping

from fourhands.core import child
from fourhands.core.errors import FourhandsError, Unavailable, Unsupported
from fourhands.host import processes
from fourhands.providers import cgroups, entrypoint, seccomp, visibility
from fourhands.providers.base import Isolation, Launch, Probe
from fourhands.settings import BubblewrapSettings

PROBE_S = 10.0

_SPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
# In the order in which they are tried: the user namespace keeps even root from being the machine's root, and a program
# that cannot make another one has less of the kernel to attack. Root may build the wall without it.
_USER_SPACES = (("--unshare-user", "--disable-userns"), ("--unshare-user",), ())
# Facts about processors that build tools and language runtimes look for; the rest of /sys is nobody's business.
_MACHINE = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_FROM_RUN = ("/run/current-system", "/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf")
# Names of the keys in rings that have no namespace.
_KEYS = ("/proc/keys", "/proc/key-users")


class Bubblewrap:
    """Runs programs in a sandbox of their own on the workspace."""

    isolation = Isolation.SANDBOX
    shells: tuple[str, ...] | None = None

    def __init__(
        self,
        settings: BubblewrapSettings | None = None,
        *,
        name: str = "bubblewrap",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._settings = settings or BubblewrapSettings()
        self._env: Mapping[str, str] = dict(os.environ if env is None else env)
        self._probe: Probe | None = None
        self._program = ""
        self._machine = os.uname().machine
        self._filter = seccomp.program(self._machine)
        self._user_space: tuple[str, ...] = ()
        self._sized = False
        self._resets_signals = False
        self._perl = ""
        self._bases: list[cgroups.GroupBase] = []
        self._inside: list[str] = []
        self._groups: cgroups.ControlGroups | None = None
        self._workspace = ""
        self._wall: list[str] = []

    # -- probing ---------------------------------------------------------------------------------------------------

    async def probe(self) -> Probe:
        """Build a wall and look from inside; the answer is kept."""
        if self._probe is None:
            try:
                self._probe = Probe(True, await self._try())
            except Unavailable as error:
                self._probe = Probe(False, str(error))
        return self._probe

    async def _try(self) -> str:
        program = entrypoint.find_builder("bwrap", self._env)
        if program is None:
            raise Unsupported("bubblewrap is not installed", hint="install the package bubblewrap")
        self._program = os.path.realpath(program)
        code, help_text, _ = await _run([self._program, "--help"])
        self._sized = code == 0 and "--size " in help_text
        self._resets_signals = (await _run(["env", "--default-signal=INT", "true"]))[0] == 0
        self._perl = shutil.which("perl", path="/usr/bin:/bin") or ""
        complaint = ""
        for space in _USER_SPACES if os.getuid() == 0 else _USER_SPACES[:2]:
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
        calls = f"{refused} refused" if self._filter else f"NOT FILTERED on {self._machine}: {refused}"
        return [self._program, user, network, calls]

    async def _try_limits(self) -> str:
        """Find out how the configured limits can be kept; raises when they must be and cannot."""
        ceiling = cgroups.ResourceLimits(self._settings.max_processes, self._settings.max_memory)
        welcome = () if cgroups.fair_sessions() else ("cpu",)  # entering a group costs milliseconds
        self._bases = cgroups.find_bases(ceiling.controllers, welcome) if ceiling.controllers else []
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

    async def _run_inside(self, wall: list[str]) -> tuple[int, str, str]:
        """Do nothing behind a wall, to see that it can be built."""
        command = self._command(wall, ["/bin/sh", "-c", "true"])
        return await _run(entrypoint.entering([], command, signals=False, call_filter=self._filter))

    # -- life ------------------------------------------------------------------------------------------------------

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Build the wall for a workspace, or refuse."""
        probe = await self.probe()
        if not probe.works:
            raise Unsupported(probe.detail, hint="`fourhands doctor` tries again and explains", provider=self.name)
        self._workspace = visibility.check_workspace(workspace)
        self._wall = await asyncio.to_thread(self._build, readable)
        digest = hashlib.sha256(f"{os.getuid()}:{self.name}:{self._workspace}".encode("utf-8", "surrogateescape"))
        ceiling = cgroups.ResourceLimits(self._settings.max_processes, self._settings.max_memory)
        self._groups = cgroups.ControlGroups(self._bases, f"fourhands-{digest.hexdigest()[:16]}", ceiling)
        wall = [*self._own_home(visibility.home_of(self._env)), *self._wall, "--chdir", self._workspace]
        code, _, complaint = await self._run_inside(wall)
        if code != 0:
            raise Unsupported(
                f"bubblewrap cannot build a sandbox on {self._workspace}: {complaint.strip()[:300]}",
                hint="check providers.bubblewrap.readable and writable, and that the workspace is yours",
            )

    def _build(self, readable: tuple[str, ...]) -> list[str]:
        """The part of the wall that is the same for all launches on a workspace."""
        writable = [os.path.realpath(path) for path in self._settings.writable]
        shown = [os.path.realpath(path) for path in (*self._settings.readable, *readable)]
        wall: list[str] = []
        for path in sorted({*shown, *writable, self._workspace}):  # outer ones first, or they would cover the inner
            wall += ["--ro-bind" if path in shown and path != self._workspace else "--bind", path, path]
        hidden = visibility.hidden_places([*shown, *writable, self._workspace], self._env, self._workspace)
        if os.getuid() == 0:
            hidden += visibility.closed_places(path for path in ("/etc",) if os.path.isdir(path))
            hidden += visibility.closed_places(
                (path for path in ("/opt", "/usr/local") if os.path.isdir(path)), depth=2
            )
        for path in hidden:
            if not visibility.within(self._workspace, path):
                wall += self._private(path) if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        return wall

    def _private(self, path: str, mode: str = "0700") -> list[str]:
        """An empty directory of the sandbox's own, in memory."""
        size = ["--size", str(self._settings.max_memory)] if self._sized and self._settings.max_memory else []
        return ["--perms", mode, *size, "--tmpfs", path]

    def _own_home(self, home: str) -> list[str]:
        """A home that is private, unless it belongs to the workspace; comes before what may lie below it."""
        return [] if home == "/tmp" or visibility.within(home, self._workspace) else self._private(home)

    def _command(self, wall: list[str], inner: list[str]) -> list[str]:
        """The whole command line of bwrap."""
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
        # it runs without a user namespace; one write to kernel.core_pattern would be the end of the wall.
        command += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", *self._private("/dev/shm", "1777")]
        for path in filter(os.path.exists, _KEYS):
            command += ["--ro-bind", "/dev/null", path]
        command += self._private("/tmp", "1777")
        command += ["--dir", "/run", "--dir", "/var/tmp", "--symlink", "/run", "/var/run", *wall, "--", *inner]
        return command

    # -- launching -------------------------------------------------------------------------------------------------

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """The launch inside a sandbox and control groups of its own."""
        if self._groups is None:
            raise FourhandsError(f"the provider {self.name!r} is used before `prepare`")
        variables = visibility.inner_variables(launch.env, self._workspace)
        variables["HOME"] = home = visibility.home_of(variables)
        wall = [*self._own_home(home), *self._wall]
        inner = entrypoint.unpacking(
            variables,
            launch.program,
            launch.argv[1:],
            before=self._inside,
            signals=self._resets_signals,
            perl=self._perl if terminal else "",
        )
        mark = launch.env.get(processes.MARK) or f"unmarked-{os.urandom(8).hex()}"
        try:
            doors = self._groups.open(mark)
        except OSError as error:
            raise Unavailable(
                f"the limits of the sandbox cannot be set: {error}", hint="`fourhands doctor` explains"
            ) from error
        command = self._command([*wall, "--chdir", launch.cwd], inner)
        argv = entrypoint.entering(doors, command, signals=self._resets_signals, call_filter=self._filter)
        return Launch(
            "/bin/sh", tuple(argv), launch.cwd, {"PATH": entrypoint.SAFE_PATH, **entrypoint.packed(variables)}
        )

    async def end(self, mark: str) -> None:
        """Give back the control groups of a launch; its processes are the host's to end."""
        if self._groups is not None:
            await self._groups.close(mark)

    async def explain(self, mark: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """An error when it was the wall that failed, not the program."""
        first = stderr.partition("\n")[0]
        if (exit_code == 1 and first.startswith("bwrap: ")) or (
            exit_code == entrypoint.FAILED and first.startswith("fourhands: ")
        ):
            return Unavailable(f"the sandbox could not be built: {first}", hint="`fourhands doctor` explains")
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
