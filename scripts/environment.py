"""Makes the virtual environment and puts the program's packages into it: `python -m scripts.environment STAMP EXTRAS`.

STAMP is the file in the environment that says so. Run by whatever Python there is, so it needs nothing else.
"""

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from scripts import steps

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "constraints.txt")


def make(stamp: Path, extras: str) -> None:
    """Bring an environment up to date."""
    venv = stamp.parent
    wanted = hashlib.sha256(b"\0".join((ROOT / name).read_bytes() for name in SOURCES)).hexdigest()
    with steps.alone(ROOT):
        if not usable(venv):
            create(venv)
        if not stamp.is_file() or stamp.read_text() != wanted:
            install(venv, extras)
            compile_sources(venv)
        stamp.write_text(wanted)  # also where it was right, so that make sees it


def usable(venv: Path) -> bool:
    """Return True if it was completed, here, by a Python that still exists."""
    try:
        if str(venv) not in (venv / "pyvenv.cfg").read_text():
            return False  # its scripts name the place where it was
        pip = [str(venv / "bin" / "python"), "-m", "pip", "--version"]
        return subprocess.run(pip, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def create(venv: Path) -> None:
    """Make an environment with pip in it, in the place of a broken one."""
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        raise steps.lacking(
            f"{sys.executable} has no venv module",
            apt=f"python3.{sys.version_info.minor}-venv",
            dnf="python3-libs python3-pip",
            brew="python",
        )
    nothing = re.compile(r"(?!)")
    steps.run(
        f"Making {venv.name}",
        [sys.executable, "-m", "venv", "--clear", str(venv)],
        log=ROOT / "venv.log",
        counted=nothing,
        wrong=re.compile(r"Error: (.+)"),
    )


def install(venv: Path, extras: str) -> None:
    """Install the program, editable, with the exact versions of its packages."""
    # Ready-made packages only: what would have to be compiled fails in one line, not in pages of a compiler's.
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    pip += ["--progress-bar", "off", "--only-binary", ":all:", "-c", "constraints.txt", "-e", f".[{extras}]"]
    try:
        steps.run(
            "Fetching Python packages (once)",
            pip,
            log=ROOT / "pip.log",
            counted=re.compile(r"^ *((?:Collecting|Installing|Preparing|Building) [\w. -]+)"),
            wrong=re.compile(r"ERROR: (.+)"),
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    except steps.Failed as problem:
        if found := re.search(
            r"No matching distribution found for (\S+)|satisfies the requirement (\S+)", str(problem)
        ):
            python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
            raise steps.Failed(
                f"no ready-made package {found[1] or found[2]} for {python} can be found; see to the network, or try "
                "another Python: make clean, then make run PYTHON=python3.12"
            ) from problem
        raise


def compile_sources(venv: Path, root: Path = ROOT) -> None:
    """Compile the program's modules, as pip does for what is not editable.

    Python would do it with the first start, but not where PYTHONDONTWRITEBYTECODE is set, as in many containers: there
    every start would take half a second more.
    """
    subprocess.run([str(venv / "bin" / "python"), "-m", "compileall", "-q", "src/fourhands"], cwd=root, check=False)


if __name__ == "__main__":
    steps.ended(lambda: make(Path(os.path.abspath(sys.argv[1])), sys.argv[2]))
