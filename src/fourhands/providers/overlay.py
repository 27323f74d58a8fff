"""The sandbox of a rehearsal: one command over an overlay of the workspace, without network and with an empty home.

Programs inside see the workspace and write to it as usual; the kernel puts what they write into a directory beside it,
so that the workspace itself stays as it is. All else is as in the sandbox of agents' programs, but nothing outside of
the workspace can be written. The command's parent is the first process inside: when that ends, the kernel ends all
others before anyone hears of it, so that nothing writes any more when the result is read.
"""

import asyncio
import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from fourhands.core import child
from fourhands.core.errors import Unavailable, Unsupported
from fourhands.providers import cgroups, entrypoint
from fourhands.providers.base import Isolation, Launch
from fourhands.providers.bubblewrap import PROBE_S, Bubblewrap, SandboxTools
from fourhands.providers.view import Access, SandboxView, ViewEntry, bubblewrap_options
from fourhands.providers.visibility import within
from fourhands.settings import BubblewrapSettings, SandboxSettings

INSTALL = "pip install 'fourhands[sandbox]' brings bubblewrap 0.11"

_TRACE = ".fourhands-rehearsal"
_UNBUILT = ".fourhands-unbuilt"
_BLOCK = 512  # bytes, by which a POSIX shell counts the size of files


@dataclass(frozen=True, slots=True)
class OverlayDirs:
    """The directories of one rehearsal: what it writes into the workspace, the kernel's own, its home, its `/tmp`."""

    place: str

    @property
    def upper(self) -> str:
        """The directory with all that was written."""
        return f"{self.place}/upper"

    @property
    def work(self) -> str:
        """The kernel's own directory, on the same file system."""
        return f"{self.place}/work"

    @property
    def home(self) -> str:
        """The home directory inside."""
        return f"{self.place}/home"

    @property
    def tmp(self) -> str:
        """The directory `/tmp` inside."""
        return f"{self.place}/tmp"

    @property
    def begun(self) -> bool:
        """True if the sandbox was built, and the command was started in it."""
        return not os.path.exists(f"{self.tmp}/{_UNBUILT}")

    def make(self) -> None:
        """Make them, for this user alone."""
        for path in (self.place, self.upper, self.work, self.home, self.tmp):
            os.mkdir(path, 0o700)
        with open(f"{self.tmp}/{_UNBUILT}", "x"):
            pass  # removed by the first process inside, before it starts the command


class OverlaySandbox(Bubblewrap):
    """Builds sandboxes for rehearsals on one workspace; `prepare` finds out, by building one, if that can be done."""

    isolation = Isolation.SANDBOX

    def __init__(
        self,
        settings: BubblewrapSettings | None = None,
        *,
        name: str = "rehearsal",
        env: Mapping[str, str] | None = None,
        tools: SandboxTools | None = None,
        sandbox: SandboxSettings | None = None,
        own: tuple[str, ...] | None = None,
    ) -> None:
        chosen = msgspec.structs.replace(
            settings or BubblewrapSettings(), network=False, writable=(), require_limits=False
        )
        super().__init__(chosen, name=name, env=env, tools=tools, sandbox=sandbox, own=own)

    async def _try(self) -> str:
        found = [
            entrypoint.find_builder("bwrap", self._env, self._tools.search_path),
            self._tools.find_wheel(),
        ]
        there = [program for program in found if program is not None]
        for program in there:
            if await _can_overlay(program):
                place = os.path.dirname(os.path.realpath(program))
                # Always in a user namespace: without one the kernel may note moved directories in a way of its own.
                spaces = tuple(space for space in self._tools.user_spaces if space)
                self._tools = replace(self._tools, search_path=place, user_spaces=spaces)
                return await super()._try()
        if not there:
            raise Unsupported("bubblewrap is not installed", hint=INSTALL)
        raise Unsupported("this machine's bubblewrap is older than 0.11 and has no overlays", hint=INSTALL)

    async def prepare_in(self, workspace: str, place: str) -> None:
        """Get ready to rehearse on a workspace, with directories below `place`; builds one overlay, or refuses."""
        await super().prepare(workspace, ())
        dirs = OverlayDirs(f"{place}/probe-{os.getpid()}")
        await asyncio.to_thread(remove_overlay, dirs.place)
        await asyncio.to_thread(dirs.make)
        trial = Launch("/bin/sh", ("sh", "-c", f": >{_TRACE}"), self._workspace, {})
        try:
            launch = await asyncio.to_thread(self.overlaid, trial, "probe", dirs, 0)
            ended = await child.run(
                [launch.program, *launch.argv[1:]], env=launch.env, timeout_s=PROBE_S, cwd=launch.cwd
            )
            written = os.path.exists(f"{dirs.upper}/{_TRACE}")
        except TimeoutError:
            raise Unsupported(f"an overlay of the workspace was not built within {PROBE_S:g} s") from None
        finally:
            await self.end("probe")
            await asyncio.to_thread(remove_overlay, dirs.place)
        if ended.code != 0 or not written:
            raise Unsupported(
                f"the kernel cannot put an overlay over the workspace here: {ended.err.strip()[:300] or ended.code}",
                hint="it needs Linux 5.11 and a state directory on a file system that overlays can write to",
            )

    def overlaid(self, launch: Launch, tag: str, dirs: OverlayDirs, largest: int) -> Launch:
        """Return the launch that runs a command over an overlay; `largest` bounds each file, in bytes, if not 0.

        Blocking: it searches the workspace for what is to be protected.
        """
        if self._groups is None:
            raise self._unprepared()
        self._view = view = self._build()
        os.chmod(dirs.upper, stat.S_IMODE(os.stat(self._workspace).st_mode) | 0o700)  # that of the workspace inside
        doors = self._open_groups(tag)
        wrapped = self.wrap(launch, terminal=False)
        steps = [f"rm -f /tmp/{_UNBUILT}", *self._inside]
        if largest:
            steps.append(f"ulimit -f {max(1, largest // _BLOCK)} || exit {entrypoint.FAILED}")
        # Its own process, and not the first one: to that one the kernel gives no signal that it does not wait for.
        steps += ['"$@"', "exit $?"]
        unpacked = entrypoint.unpacking(wrapped.env, wrapped.program, wrapped.argv[1:], signals=False)
        inner = ["/bin/sh", "-c", "\n".join(steps), "fourhands", *unpacked]
        mounts = ["--as-pid-1", "--bind", dirs.tmp, "/tmp", *_mounts(view, dirs, self._private), "--chdir", launch.cwd]
        argv = entrypoint.entering(doors, self._command(mounts, inner), signals=False, call_filter=self._filter)
        variables = {"PATH": entrypoint.SAFE_PATH, "LC_ALL": "C.UTF-8", **entrypoint.packed(wrapped.env)}
        return Launch("/bin/sh", tuple(argv), "/", variables)

    def _open_groups(self, tag: str) -> Sequence[str]:
        assert isinstance(self._groups, cgroups.ControlGroups)
        try:
            return self._groups.open(tag)
        except OSError as error:
            raise Unavailable(
                f"cannot set the limits of the sandbox: {error}", hint="`fourhands doctor` explains"
            ) from error


def remove_overlay(place: str) -> None:
    """Remove the directories of a rehearsal; programs inside may have closed some to their owner."""
    for _ in range(2):
        for directory, names, _ in os.walk(place):  # from above, and links are not followed
            for name in names:
                path = f"{directory}/{name}"
                if not os.path.islink(path):
                    with contextlib.suppress(OSError):
                        os.chmod(path, 0o700)
        shutil.rmtree(place, ignore_errors=True)


def _mounts(view: SandboxView, dirs: OverlayDirs, private: Callable[[str], list[str]]) -> list[str]:
    """Return the options for what is shown: the workspace by an overlay, nothing else writable, no devices."""

    def own(path: str) -> list[str]:
        return ["--bind", dirs.home, path] if path == view.home else private(path)

    options: list[str] = []
    for entry in view.entries:
        if entry.access is Access.DEVICE:
            continue
        if entry.access is not Access.WRITE:
            options += bubblewrap_options([entry], own)
        elif entry.path == view.workspace:
            overlay = ("--overlay-src", view.workspace, "--overlay", dirs.upper, dirs.work, view.workspace)
            options += overlay
        elif not within(entry.path, view.workspace):
            options += bubblewrap_options([ViewEntry(entry.path, Access.READ, entry.source)], own)
    return options


async def _can_overlay(program: str) -> bool:
    """Return True if this bwrap knows overlays; versions before 0.11 do not."""
    try:
        ended = await child.run([program, "--help"], env={"PATH": entrypoint.SAFE_PATH}, timeout_s=PROBE_S)
    except (TimeoutError, OSError):
        return False
    return "--overlay-src" in ended.out + ended.err
