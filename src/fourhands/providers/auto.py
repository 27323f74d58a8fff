"""The provider `auto`: the strongest sandbox that this machine can build, found by building each.

The ladder is bubblewrap, Landlock, none; containers only where they are chosen. It is climbed once and the result kept:
a sandbox that fails later is an error with its remedy, never a reason to run with less.
"""

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.providers.base import Isolation, Launch, Probe, Provider
from fourhands.providers.local import Local

NO_RUNG = "none"

LINES = {
    "bubblewrap": "Agents run in a sandbox",
    "landlock": "Agents run in a weaker sandbox: files that run by themselves later are not protected, "
    "and programs have no network",
    NO_RUNG: "No sandbox here: agents' programs run as you. Unknown commands are asked about.",
}
"""The line for people, by rung."""

_INSTALL = "sudo apt install bubblewrap   (or: pip install 'fourhands[sandbox]')"
_APPARMOR = (
    "sudo apt install apparmor-profiles && "
    "sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && "
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
)
_IN_DOCKER = "start the container with --security-opt seccomp=unconfined, or run Fourhands outside of it"
_IN_PODMAN = "start the container with --security-opt unmask=ALL, or run Fourhands outside of it"
_SYSCTLS = (
    ("kernel/unprivileged_userns_clone", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "sudo sysctl -w user.max_user_namespaces=15000"),
)


@dataclass(frozen=True, slots=True)
class RungReport:
    """One rung: whether it works here, the detail, and for one that does not the reason and the line that mends it."""

    name: str
    works: bool
    detail: str
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The whole result: the rung in force, what people are told, and all rungs that were tried."""

    rung: str
    line: str
    rungs: tuple[RungReport, ...]

    @property
    def failed(self) -> RungReport | None:
        """The strongest rung that does not work here, if it is above the one in force."""
        return next((one for one in self.rungs if not one.works), None)


def _read_sysctl(name: str) -> str:
    try:
        with open(f"/proc/sys/{name}") as file:
            return file.read().strip()
    except OSError:
        return ""


def recognise(
    detail: str, sysctl: Callable[[str], str] = _read_sysctl, in_container: bool | None = None
) -> tuple[str, str]:
    """Return the reason in words for a failed sandbox, and the one line that mends it; both empty if it is unknown."""
    if "is not installed" in detail:
        return "bubblewrap is not installed", _INSTALL
    if re.search(r"setting up uid map: Permission denied|loopback: Failed RTM_NEWADDR", detail):
        return "AppArmor keeps bubblewrap from making a sandbox (Ubuntu 23.10 and later)", _APPARMOR
    if "Can't mount proc on /newroot/proc" in detail:
        return "this container does not let a sandbox have a /proc of its own", _IN_PODMAN
    if re.search(r"No permissions to create (a )?new namespace|Creating new namespace failed", detail):
        for name, remedy in _SYSCTLS:
            if sysctl(name) == "0":
                return f"this machine forbids user namespaces ({name.replace('/', '.')} = 0)", remedy
        if in_container if in_container is not None else _in_container():
            return "this container forbids user namespaces", _IN_DOCKER
        return "this machine forbids user namespaces", _SYSCTLS[0][1]
    if "limits cannot be kept" in detail:
        return "its limits cannot be kept here", "systemd-run --user --scope -p Delegate=yes fourhands"
    return "", ""


def _in_container() -> bool:
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")


class Auto:
    """A provider that is the first of its rungs that works here, or none of them, and says which."""

    def __init__(self, rungs: Mapping[str, Provider], *, name: str = "auto") -> None:
        self.name = name
        self.ladder: Ladder | None = None
        self.on_change: Callable[[Ladder], object] = lambda _: None
        self._rungs = dict(rungs)
        self._chosen: Provider = Local(name=NO_RUNG)
        self._climbing = asyncio.Lock()

    @property
    def rung(self) -> str:
        """The name of the rung in force; `none` until it is decided."""
        return self.ladder.rung if self.ladder is not None else NO_RUNG

    @property
    def isolation(self) -> Isolation:
        """Level of the rung in force; none until it is decided."""
        return self._chosen.isolation

    @property
    def shells(self) -> tuple[str, ...] | None:
        """Shells of the rung in force."""
        return self._chosen.shells

    def __getattr__(self, name: str) -> Any:
        """Return what else the rung in force has, such as `enclose`; `none` has nothing more."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._chosen, name)

    async def climb(self) -> Ladder:
        """Decide, once, which rung is in force."""
        async with self._climbing:
            if self.ladder is None:
                reports: list[RungReport] = []
                for name, provider in self._rungs.items():
                    probe = await provider.probe()
                    reason, remedy = ("", "") if probe.works else recognise(probe.detail)
                    reports.append(RungReport(name, probe.works, probe.detail, reason or probe.detail, remedy))
                    if probe.works:
                        self._chosen = provider
                        break
                rung = next((one.name for one in reports if one.works), NO_RUNG)
                self.ladder = Ladder(rung, LINES[rung], tuple(reports))
                self.on_change(self.ladder)
        return self.ladder

    async def probe(self) -> Probe:
        """Return the rung, and why those above it do not work; `none` works too."""
        ladder = await self.climb()
        rungs = (one.detail if one.works else f"no {one.name}: {one.reason}{_mending(one)}" for one in ladder.rungs)
        return Probe(True, "; ".join([ladder.line, *rungs]))

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Get the rung ready; one that fails now has gone away since it was decided, and is an error."""
        await self.climb()
        try:
            await self._chosen.prepare(workspace, readable)
        except Unavailable as error:
            reason, remedy = recognise(str(error))
            if not reason:
                raise
            raise Unavailable(
                f"the sandbox can no longer be built: {reason}",
                hint=f"{remedy}; programs do not run without it unless agentDefaults.provider is set to local",
                provider=self.name,
            ) from error

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch as the rung in force runs it."""
        if self.ladder is None:
            raise FourhandsError(f"the provider {self.name!r} is used before `prepare`")
        return self._chosen.wrap(launch, terminal=terminal)

    async def end(self, tag: str) -> None:
        """End what is left of a launch."""
        await self._chosen.end(tag)

    async def explain(self, tag: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Return the error behind an exit code, with the remedy where it is known."""
        error = await self._chosen.explain(tag, exit_code, stderr)
        if error is None:
            return None
        reason, remedy = recognise(str(error))
        return Unavailable(f"{error.message} ({reason})", hint=remedy) if reason else error

    async def clean_up(self) -> None:
        """Remove what the rung has made."""
        await self._chosen.clean_up()


def _mending(report: RungReport) -> str:
    return f" (to mend it: {report.remedy})" if report.remedy else ""
