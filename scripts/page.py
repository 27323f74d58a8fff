"""The build of the page into the package: `make web`, and by the build hook for a wheel.

A stamp of everything that the build depends on lies beside the result: what is up to date is not built again.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from scripts import steps

ROOT = Path(__file__).parent.parent
NODES = ((20, 19), (22, 12))
"""Node that the bundler runs on: of each of these major versions from this minor one on, and everything later."""


@dataclass(frozen=True, slots=True)
class Build:
    """The page's sources, and the directory that it is built into."""

    web: Path = ROOT / "web"
    static: Path = ROOT / "src" / "fourhands" / "static"
    mode: str = "production"  # or "journeys", which lets tests look into the page

    @property
    def stamp_file(self) -> Path:
        """The file that holds the stamp of what was built."""
        return self.static / ".stamp"

    def stamp(self) -> str:
        """Return a digest of every file that the page is built from."""
        digest = hashlib.sha256()
        names = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
        for path in [*(self.web / name for name in names), *sorted((self.web / "src").rglob("*"))]:
            if path.is_file():
                digest.update(f"{path.relative_to(self.web).as_posix()}\0".encode())
                digest.update(path.read_bytes() + b"\0")
        return digest.hexdigest()

    def fresh(self) -> bool:
        """Return True if the page in the package is the one that the sources make."""
        if not (self.static / "index.html").is_file():
            return False
        if not self.web.is_dir():
            return True
        return self.stamp_file.is_file() and self.stamp_file.read_text() == self.stamp()

    def packages(self) -> None:
        """Fetch the packages that the lock names, unless they are there."""
        ready = self.web / "node_modules" / ".ready"
        lock = hashlib.sha256((self.web / "package-lock.json").read_bytes()).hexdigest()
        if not ready.is_file() or ready.read_text() != lock:
            self._npm("Fetching the page's packages (once)", "ci", "--no-audit", "--no-fund", "--loglevel=http")
            ready.write_text(lock)

    def build(self) -> None:
        """Build the page unless it is up to date."""
        if self.fresh():
            return
        if not self.web.is_dir():
            raise steps.Failed("neither the page nor its sources are here: src/fourhands/static and web are missing")
        self.packages()
        where = ["--mode", self.mode, "--outDir", str(self.static), "--emptyOutDir"]
        self._npm("Building the page", "run", "--silent", "build", "--", "--logLevel", "warn", *where)
        self.stamp_file.write_text(self.stamp())

    def _npm(self, title: str, *arguments: str) -> None:
        """Run npm on the page's sources."""
        need_node()
        steps.run(
            title,
            ["npm", *arguments],
            log=self.web / "npm.log",
            counted=re.compile(r"npm http (?:fetch|cache) "),
            wrong=re.compile(r"(?:npm (?:error|ERR!)|[Ee]rror:) (?!code|A complete log)(.+)"),
            cwd=self.web,
        )


def new_enough(major: int, minor: int) -> bool:
    """Return True if the bundler runs on this Node."""
    return major > NODES[-1][0] or any(major == least[0] and minor >= least[1] for least in NODES)


def need_node() -> None:
    """Raise Failed, with what to install, if Node or npm is missing or too old."""
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
    """Return the one line about Node. What Debian 12 and Ubuntu 24.04 have is too old."""
    older = "; older systems: nodejs.org)"
    return steps.lacking(what, apt=f"nodejs npm (Debian 13 on{older}", dnf="nodejs npm", brew="node")


JOURNEYS = Build(static=ROOT / "build" / "journeys", mode="journeys")
"""The page for tests in a browser. It is in no package: what tests look at could make any call as the person."""


def main() -> None:
    """Build the page; with `journeys` the one for tests, with `packages` fetch only what that and its checks need."""
    with steps.alone(ROOT):
        match sys.argv[1:]:
            case ["packages"]:
                Build().packages()
            case ["journeys"]:
                JOURNEYS.build()
            case _:
                Build().build()


if __name__ == "__main__":
    steps.ended(main)
