"""`fourhands doctor`: what is installed, which isolation works here, which limits hold, where things live."""

import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import click

from fourhands import __version__
from fourhands.core.errors import FourhandsError
from fourhands.host import owner
from fourhands.host.client import HostClient
from fourhands.host.paths import DirsError, WorkspaceDirs
from fourhands.providers.auto import Auto, Ladder
from fourhands.providers.base import Provider
from fourhands.settings import user_file
from fourhands.surfaces.cli.base import show
from fourhands.surfaces.discovery import find_server
from fourhands.workbench.terminals.shell.detection import platform_information

CheckLevel = Literal["ok", "note", "problem"]

MIB = 1024 * 1024
ROOM = 64 * MIB
"""Free disk below which something is bound to go wrong soon."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the report."""

    level: CheckLevel
    subject: str
    text: str


async def examine(workspace: str, providers: Callable[[str], list[Provider]], *, as_json: bool) -> None:
    """Look at everything, print the report, end with 1 if there is a problem; `providers` are those of the settings."""
    places = WorkspaceDirs.of(workspace)
    findings = [*_machine(), *_programs(), *_limits(), *_places(places), await _host(places)]
    try:
        chosen = providers(places.workspace)
        where = user_file(os.environ)
        text = where if os.path.exists(where) else f"defaults ({where} does not exist)"
        findings.append(CheckResult("ok", "settings", text))
    except FourhandsError as error:
        chosen = []
        findings.append(CheckResult("problem", "settings", str(error)))
    for provider in chosen:
        if isinstance(provider, Auto):
            findings += _ladder(await provider.climb())
            continue
        probe = await provider.probe()
        level: CheckLevel = "ok" if probe.works else "note"
        findings.append(CheckResult(level, f"isolation {provider.isolation}", f"{provider.name}: {probe.detail}"))
    if as_json:
        show([{"level": f.level, "subject": f.subject, "text": f.text} for f in findings], as_json=True)
    else:
        signs = {"ok": ("✓", "green"), "note": ("·", "yellow"), "problem": ("✗", "red")}
        for finding in findings:
            sign, colour = signs[finding.level]
            click.echo(f"{click.style(sign, fg=colour)} {finding.subject:<22} {finding.text}")
    sys.exit(1 if any(finding.level == "problem" for finding in findings) else 0)


def _ladder(ladder: Ladder) -> list[CheckResult]:
    """Report the sandbox in force, and for each stronger one why it does not work and what mends it."""
    best = ladder.rung == ladder.rungs[0].name
    findings = [CheckResult("ok" if best else "note", "sandbox", ladder.line)]
    for rung in ladder.rungs:
        if not rung.works:
            findings.append(CheckResult("note", f"no {rung.name}", rung.reason))
            if rung.remedy:
                findings.append(CheckResult("note", "to mend it", rung.remedy))
    return findings


def _machine() -> list[CheckResult]:
    info = platform_information(os.environ)
    system = f"{info.system} {info.release} {info.machine}{' in WSL' if info.wsl else ''}"
    supported = info.system in ("Linux", "Darwin")
    return [
        CheckResult("ok", "fourhands", f"{__version__} on Python {platform.python_version()}"),
        CheckResult("ok" if supported else "problem", "system", system if supported else f"{system}: use WSL"),
        CheckResult("ok", "shell", f"{info.default_shell}; allowed: {', '.join(info.shells)}"),
    ]


def _programs() -> list[CheckResult]:
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    found = beside if os.access(beside, os.X_OK) else shutil.which("rg")
    search = (
        CheckResult("ok", "ripgrep", found)
        if found
        else CheckResult("problem", "ripgrep", "missing: pip install ripgrep")
    )
    git = shutil.which("git")
    return [
        search,
        CheckResult("ok", "git", git) if git else CheckResult("note", "git", "missing: no changes are shown"),
    ]


def _limits() -> list[CheckResult]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = hard < 4096
    findings = [
        CheckResult(
            "note" if few else "ok", "open files", f"{soft}, at most {hard}" + (": about 2 per terminal" if few else "")
        )
    ]
    scope = _sysctl("kernel/yama/ptrace_scope")
    if scope == "3":
        findings.append(CheckResult("note", "yama", "ptrace_scope 3: input that programs wait for is not seen"))
    if _sysctl("dev/tty/legacy_tiocsti") == "1":
        findings.append(
            CheckResult("note", "tiocsti", "programs may type into their own terminal: sysctl dev.tty.legacy_tiocsti=0")
        )
    return findings


def _sysctl(name: str) -> str:
    try:
        with open(f"/proc/sys/{name}") as file:
            return file.read().strip()
    except OSError:
        return ""


def _places(places: WorkspaceDirs) -> list[CheckResult]:
    findings = [CheckResult("ok", "workspace", places.workspace)]
    try:
        places.prepare()
        findings.append(CheckResult("ok", "state directory", places.state))
        findings.append(CheckResult("ok", "runtime directory", places.runtime))
        findings.append(_space(places.state))
    except (DirsError, OSError) as error:
        findings.append(CheckResult("problem", "directories", f"{error}; set XDG_RUNTIME_DIR and XDG_STATE_HOME"))
    address = find_server(places.state)
    findings.append(CheckResult("ok", "server", f"running at {address.url}" if address else "not running"))
    return findings


def _space(directory: str) -> CheckResult:
    free = shutil.disk_usage(directory).free
    full = free < ROOM
    text = f"{directory}: {free // MIB} MiB free" + (": terminals pause until there is more" if full else "")
    return CheckResult("problem" if full else "ok", "logs and journal", text)


async def _host(places: WorkspaceDirs) -> CheckResult:
    try:
        link = await HostClient.open(places, on_event=lambda _: None, on_lost=lambda: None, start=False)
    except FourhandsError as error:
        absent = isinstance(error.__cause__, FileNotFoundError | ConnectionError) and not owner.held(places)
        text = f"{error.message}; {error.hint}" if error.hint else error.message
        return CheckResult("ok", "host", "not running") if absent else CheckResult("problem", "host", text)
    link.close()
    running = sum(not terminal["exit"] for terminal in link.found)
    text = f"running (process {link.host_pid}), with {len(link.found)} terminals"
    if link.version == __version__:
        return CheckResult("ok", "host", text)
    of = f"version {link.version}" if link.version else "an older version"
    when = f"when none of its {running} programs runs any more" if running else "when the server starts"
    return CheckResult("note", "host", f"{text}; it is of {of}, and is renewed without loss {when}")
