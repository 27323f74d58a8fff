"""The packages that the program runs on, as files: what a stranger would fetch from the network, fetched once."""

import hashlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from scripts import steps
from tests.kit.npm_agents import missing

ROOT = Path(__file__).parent.parent.parent
STOCK = "/usr/bin/python3"


def stock_python() -> str:
    """The system's own Python, which nobody has set up; the one that runs where that is too old or not there."""
    new_enough = [STOCK, "-c", "import sys, ensurepip, pip; sys.exit(sys.version_info < (3, 11))"]
    fit = shutil.which(STOCK) and subprocess.run(new_enough, capture_output=True).returncode == 0
    return STOCK if fit else sys.executable


def wheelhouse(place: Path) -> Path:
    """A directory with the wheels, readable for everybody; skips or fails as `missing` where they cannot be had."""
    python = stock_python()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["mcp"]]
    wanted += [*project["build-system"]["requires"], "editables"]  # the second is the build system's own wish
    version = subprocess.run([python, "--version"], capture_output=True, check=True).stdout
    told = b"\0".join([version, (ROOT / "constraints.txt").read_bytes(), "\n".join(wanted).encode()])
    house = place / hashlib.sha256(told).hexdigest()[:16]
    with steps.alone(place):
        if not house.is_dir():
            new = house.with_suffix(".new")
            # With the settings of whoever runs the tests: they know the way to the packages.
            pip = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
            pip += ["-c", str(ROOT / "constraints.txt"), "-d", str(new), *wanted]
            done = subprocess.run(pip, capture_output=True, text=True, timeout=240)
            if done.returncode != 0:
                missing(f"the packages cannot be fetched: {done.stderr[-500:]}")
            new.rename(house)
    return house
