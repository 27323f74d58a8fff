"""Break guards of the code on purpose, one at a time, and see that a named test fails each time.

`tests/mutants/AREA.toml` lists them: a file, a text that occurs in it once, what it becomes, and the test that fails
then. Nothing is changed where one works: each worker has a copy of the tree, with an environment that leads into it, so
that programs which a test starts are of the copy too.
"""

import argparse
import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "tests" / "mutants"
LIMIT_S = 300.0
"""For one mutant; one that hangs longer is noticed too."""

_FIELDS = {"file", "text", "broken", "test"}
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "node_modules", "__pycache__", "*.log", ".*_cache", ".hypothesis", ".coverage*", "dist", "build"
)
_NOTICED, _UNUSABLE = 1, (2, 3, 4, 5)  # pytest's exit codes: a test failed; nothing was tested
_OPTIONS = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", "--tb=line", "-m", "")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One guard, how it is broken, and the test that notices."""

    area: str
    file: str
    text: str
    broken: str
    test: str

    def __str__(self) -> str:
        line = " ".join(self.text.split())
        return f"[{self.area}] {self.file}: {line[:70]}{'…' if len(line) > 70 else ''}"


def read(tables: Path = TABLES) -> list[Mutant]:
    """Return the rows of all tables, in the order of their areas."""
    return [
        Mutant(table.stem, **{key: str(row.get(key, "")) for key in _FIELDS})
        for table in sorted(tables.glob("*.toml"))
        for row in tomllib.loads(table.read_text()).get("mutant", [])
    ]


def stale(mutant: Mutant, root: Path = ROOT) -> str:
    """Return why a row no longer fits the tree, or an empty text."""
    path, test = root / mutant.file, root / mutant.test.partition("::")[0]
    if not path.is_file():
        return "the file does not exist"
    if not mutant.text or mutant.text == mutant.broken:
        return "nothing is changed"
    if (count := path.read_text().count(mutant.text)) != 1:
        return f"the text occurs {count} times in the file"
    if not mutant.test or not test.exists():
        return f"there is no test {mutant.test!r}"
    named = [name.partition("[")[0] for name in mutant.test.split("::")[1:]]
    if missing := [name for name in named if not re.search(rf"\b(?:def|class) {name}\b", test.read_text())]:
        return f"{test.name} has no {missing[0]}"
    return ""


class Copy:
    """A copy of the tree with an environment of its own, in which one mutant is tried at a time."""

    def __init__(self, source: Path, directory: Path) -> None:
        self.root = directory / "tree"
        self._scratch = directory / "t"  # short: sockets lie in it
        shutil.copytree(source, self.root, ignore=_LEFT_OUT, symlinks=True)
        for packages in (source / "web", *source.glob("tests/*-npm")):
            if (modules := packages / "node_modules").is_dir():
                (self.root / modules.relative_to(source)).symlink_to(modules)
        self._make_environment()

    def _make_environment(self) -> None:
        """Make `.venv`: all that is installed in the one in use, with the code of this copy."""
        own, place = Path(sys.prefix), self.root / ".venv"
        packages = next(own.glob("lib/python*/site-packages"))
        for name in ("bin", packages.relative_to(own)):
            (place / name).mkdir(parents=True)
        shutil.copy(own / "pyvenv.cfg", place)
        for entry in packages.iterdir():
            target = place / entry.relative_to(own)
            if entry.suffix == ".pth" and str(ROOT) in entry.read_text():
                target.write_text(entry.read_text().replace(str(ROOT), str(self.root)))
            elif entry.name != "__pycache__":
                target.symlink_to(entry)
        for entry in (own / "bin").iterdir():
            target = place / "bin" / entry.name
            if entry.is_file() and entry.read_bytes()[:2] == b"#!":
                target.write_text(entry.read_text().replace(str(own), str(place)))
                target.chmod(0o755)
            else:
                target.symlink_to(entry.resolve() if entry.name.startswith("python") else entry)

    def run(self, tests: Iterable[str]) -> tuple[int, str]:
        """Run tests and return pytest's exit code, with the last of what it printed."""
        python = self.root / ".venv" / "bin" / "python"
        environment = {
            **os.environ,
            "VIRTUAL_ENV": str(python.parent.parent),
            "PATH": f"{python.parent}:{os.environ['PATH']}",
            "CI": "true",  # the same examples each time, and nothing is skipped
            "FOURHANDS_MUTANT": "1",
        }
        words = [str(python), "-m", "pytest", *_OPTIONS, "--timeout", "60", "--basetemp", str(self._scratch), *tests]
        with subprocess.Popen(
            words,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                return _NOTICED, f"no end within {LIMIT_S:.0f} s"
        return process.returncode, output

    @contextlib.contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        """Have the guard broken while the block runs."""
        path = self.root / mutant.file
        whole = path.read_text()
        try:
            self._write(path, whole.replace(mutant.text, mutant.broken))
            yield
        finally:
            self._write(path, whole)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        # Compiled code is taken for current by time and size, which may be the same.
        for compiled in path.parent.joinpath("__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()


class Run:
    """Mutants shared out among workers, and what came of each."""

    def __init__(self, mutants: list[Mutant], jobs: int, source: Path = ROOT) -> None:
        self._source = source
        self._waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        for mutant in sorted(mutants, key=lambda each: each.test):
            self._waiting.put(mutant)
        self._count = len(mutants)
        self._jobs = min(jobs, len(mutants))
        self._tell = threading.Lock()
        self._locks = {mutant.test: threading.Lock() for mutant in mutants}
        self._outcomes: dict[str, str] = {}
        self._done = 0
        self.wrong: list[str] = []

    def go(self) -> None:
        """Try all of them."""
        with tempfile.TemporaryDirectory(prefix="fh-mutants-") as place:
            copies = [Copy(self._source, Path(place) / str(number)) for number in range(self._jobs)]
            workers = [threading.Thread(target=self._work, args=(copy,)) for copy in copies]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

    def _work(self, copy: Copy) -> None:
        while True:
            try:
                mutant = self._waiting.get_nowait()
            except queue.Empty:
                return
            begin = time.monotonic()
            outcome = self._unsound(copy, mutant.test) or self._try(copy, mutant)
            self._report(mutant, outcome, time.monotonic() - begin)

    def _unsound(self, copy: Copy, test: str) -> str:
        """Return why a test proves nothing: it fails as it is. Each is run once."""
        with self._locks[test]:
            if test not in self._outcomes:
                code, output = copy.run([test])
                self._outcomes[test] = "" if code == 0 else f"the test fails without it: {_last(output)}"
            return self._outcomes[test]

    def _try(self, copy: Copy, mutant: Mutant) -> str:
        with copy.broken(mutant):
            code, output = copy.run([mutant.test])
        if code == _NOTICED:
            return ""
        return f"nothing could be tested: {_last(output)}" if code in _UNUSABLE else f"survives {mutant.test}"

    def _report(self, mutant: Mutant, outcome: str, seconds: float) -> None:
        with self._tell:
            self._done += 1
            print(f"{self._done:4}/{self._count} {seconds:5.1f} s  {outcome or 'noticed'}  {mutant}", flush=True)
            if outcome:
                self.wrong.append(f"{mutant}\n    {outcome}")


def _last(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def main(words: list[str] | None = None) -> int:
    """Try the mutants that are asked for; return 1 if one survived."""
    parser = argparse.ArgumentParser(prog="make mutate ARGS=…", description=__doc__.partition("\n")[0])
    parser.add_argument("--area", action="append", help="only the rows of this table; may be given more than once")
    parser.add_argument("--file", help="only rows whose file contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many are tried at once")
    asked = parser.parse_args(words)
    chosen = [
        mutant
        for mutant in read()
        if (not asked.area or mutant.area in asked.area) and (not asked.file or asked.file in mutant.file)
    ]
    if old := [f"{mutant}\n    {why}" for mutant in chosen if (why := stale(mutant))]:
        print("\n".join(["These rows no longer fit the tree:", *old]))
        return 1
    if not chosen:
        print("there are no such rows")
        return 1
    run = Run(chosen, max(1, asked.jobs))
    run.go()
    if run.wrong:
        print("\n".join([f"\n{len(run.wrong)} of {len(chosen)} are not noticed:", *run.wrong]))
        return 1
    print(f"\nAll {len(chosen)} are noticed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
