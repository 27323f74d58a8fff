"""Builds the page into the package: `make web`, and by the build hook for a wheel.

A stamp of everything that the build depends on lies beside the result: what is up to date is not built again.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from scripts import steps

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "fourhands" / "static"
STAMP = STATIC / ".stamp"
LOG = WEB / "npm.log"
NODES = ((20, 19), (22, 12))
"""Node that the bundler runs on: of each of these major versions from this minor one on, and everything later."""


def stamp() -> str:
    """Return a digest of every file that the page is built from."""
    digest = hashlib.sha256()
    names = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
    for path in [*(WEB / name for name in names), *sorted((WEB / "src").rglob("*"))]:
        if path.is_file():
            digest.update(f"{path.relative_to(WEB).as_posix()}\0".encode())
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def fresh() -> bool:
    """Say whether the page in the package is the one that the sources give."""
    if not (STATIC / "index.html").is_file():
        return False
    return not WEB.is_dir() or (STAMP.is_file() and STAMP.read_text() == stamp())


def new_enough(major: int, minor: int) -> bool:
    """Say whether the bundler runs on this Node."""
    return major > NODES[-1][0] or any(major == least[0] and minor >= least[1] for least in NODES)


def need_node() -> None:
    """Say what to install where Node or npm is not there, or too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is not None:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        found = re.match(r"v(\d+)\.(\d+)", version)
        if found is None or not new_enough(int(found[1]), int(found[2])):
            raise lacking_node(
                f"the page is built with Node 20.19, 22.12 or later, and {node} is {version or 'broken'}"
            )
    if node is None or npm is None:
        raise lacking_node(f"the page is built with Node and npm, and {'npm' if node else 'Node'} is not there")


def lacking_node(what: str) -> steps.Failed:
    """The one line about Node. What Debian 12 and Ubuntu 24.04 have is too old."""
    older = "; older systems: nodejs.org)"
    return steps.lacking(what, apt=f"nodejs npm (Debian 13 on{older}", dnf="nodejs npm", brew="node")


def npm(title: str, *arguments: str) -> None:
    """Run npm on the page's sources."""
    need_node()
    steps.run(
        title,
        ["npm", *arguments],
        log=LOG,
        counted=re.compile(r"npm http (?:fetch|cache) "),
        wrong=re.compile(r"(?:npm (?:error|ERR!)|[Ee]rror:) (?!code|A complete log)(.+)"),
        cwd=WEB,
    )


def packages() -> None:
    """Fetch the packages that the lock names, unless they are there."""
    ready = WEB / "node_modules" / ".ready"
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if not ready.is_file() or ready.read_text() != lock:
        npm("Fetching the page's packages (once)", "ci", "--no-audit", "--no-fund", "--loglevel=http")
        ready.write_text(lock)


def build() -> None:
    """Build the page unless it is up to date."""
    if fresh():
        return
    if not WEB.is_dir():
        raise steps.Failed("neither the page nor its sources are here: src/fourhands/static and web are missing")
    packages()
    npm("Building the page", "run", "--silent", "build", "--", "--logLevel", "warn")
    STAMP.write_text(stamp())


def main() -> None:
    """Build the page, or with `packages` fetch only what that and its checks need."""
    with steps.alone(ROOT):
        packages() if sys.argv[1:] == ["packages"] else build()


if __name__ == "__main__":
    steps.ended(main)
