"""Builds the page into the package: `make web`, and by the build hook for a wheel.

A stamp of everything that the build depends on lies beside the result: what is up to date is not built again.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "fourhands" / "static"
STAMP = STATIC / ".stamp"


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


def npm(*arguments: str) -> None:
    """Run npm on the page's sources."""
    program = shutil.which("npm")
    if program is None:
        raise RuntimeError("the page must be built, and npm is not there: install Node 20 or later, with npm")
    subprocess.run([program, *arguments], cwd=WEB, check=True)


def packages() -> None:
    """Fetch the packages that the lock names, unless they are there."""
    ready = WEB / "node_modules" / ".ready"
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if not ready.is_file() or ready.read_text() != lock:
        print("Fetching the page's packages (once) …", flush=True)
        npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
        ready.write_text(lock)


def build() -> None:
    """Build the page unless it is up to date."""
    if fresh():
        return
    if not WEB.is_dir():
        raise RuntimeError("neither the page nor its sources are here: src/fourhands/static and web are missing")
    packages()
    print("Building the page …", flush=True)
    npm("run", "--silent", "build", "--", "--logLevel", "warn")
    STAMP.write_text(stamp())


if __name__ == "__main__":
    try:
        packages() if sys.argv[1:] == ["packages"] else build()
    except (RuntimeError, subprocess.CalledProcessError) as problem:
        sys.exit(str(problem))
