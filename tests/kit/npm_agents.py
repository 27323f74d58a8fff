"""Real agents and test suites from npm, installed on demand into their folder with the exact versions of its lock."""

import fcntl
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

HOME = Path(__file__).parent.parent / "agents-npm"
INSTALL_S = 240


def opencode() -> str:
    """The path of OpenCode's program; skips the test where npm cannot install it, fails it with CI=true.

    It is the one of its package for this machine: the other needs an install script, and none is run here.
    """
    package = f"opencode-{_machine()}"
    cpu = Path("/proc/cpuinfo")
    if package.endswith("-x64") and cpu.exists() and "avx2" not in cpu.read_text():
        package += "-baseline"
    return installed(HOME / "node_modules" / package / "bin" / "opencode")


def claude_code() -> str:
    """The path of Claude Code's own program, which its SDK brings."""
    return installed(HOME / "node_modules" / "@anthropic-ai" / f"claude-agent-sdk-{_machine()}" / "claude")


def codex() -> str:
    """The path of Codex' own program."""
    return installed(HOME / "node_modules" / ".bin" / "codex")


def claude() -> str:
    """The path of Claude Code's older ACP adapter, which uses our terminals and files; as for `opencode`."""
    return installed(HOME / "node_modules" / ".bin" / "claude-code-acp")


def claude_agent() -> str:
    """The path of its successor, whose packages bring Claude Code's own program."""
    return installed(HOME / "node_modules" / ".bin" / "claude-agent-acp")


def codex_agent() -> str:
    """The path of Codex' ACP adapter, whose packages bring Codex' own program."""
    return installed(HOME / "node_modules" / ".bin" / "codex-acp")


def gemini() -> str:
    """The path of Gemini's program, as for `opencode`."""
    return installed(HOME / "node_modules" / ".bin" / "gemini")


def _machine() -> str:
    """This machine as packages are named after it."""
    processor = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}-{processor}"


def missing(reason: str) -> NoReturn:
    """Skip the test, or fail it with CI=true."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def installed(program: Path, home: Path = HOME) -> str:
    """The path of a program below `home`, a folder with a lock; skips or fails as `missing` where it cannot be had."""
    problem = "" if _ready(home) else _install(home)
    if problem or not program.exists():
        missing(problem or f"npm installed no {program.relative_to(home)}")
    return str(program)


def _ready(home: Path) -> bool:
    done = home / "node_modules" / ".ready"
    return done.exists() and done.read_text() == (home / "package-lock.json").read_text()


def _install(home: Path) -> str:
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    with open(home / "package.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers must not install at the same time
        if _ready(home):
            return ""
        command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        try:
            done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=INSTALL_S, check=False)
        except subprocess.TimeoutExpired:
            return f"npm ci needs more than {INSTALL_S} s"
        if done.returncode:
            return f"npm ci failed: {done.stderr.strip()[-300:]}"
        (home / "node_modules" / ".ready").write_text((home / "package-lock.json").read_text())
        return ""
