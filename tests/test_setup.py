"""What `make` sets up: what is missing is said in one line, what takes long is seen, what is broken is made anew."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from scripts import environment, steps
from tests.kit.search_path import NODE, path_without
from tests.kit.wheels import stock_python

ROOT = Path(__file__).parent.parent
LIMIT_S = 280

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("setup")]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Programs without any Python or Node."""
    pythons = [path.name for path in Path("/usr/bin").glob("python*")]
    return path_without(tmp_path_factory.mktemp("machine") / "bin", {*NODE, *pythons})


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What setting up needs of a clone."""
    place = tmp_path_factory.mktemp("a clone") / "four hands"
    left_out = shutil.ignore_patterns("node_modules", "__pycache__", ".test", "*.log")
    for name in ("scripts", "web"):
        shutil.copytree(ROOT / name, place / name, ignore=left_out)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, place / name)
    (place / "src" / "fourhands").mkdir(parents=True)
    (place / "src" / "fourhands" / "__init__.py").touch()
    return place


def put(place: Path, name: str, text: str) -> Path:
    """A program of its own, in a directory of its own."""
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(f"#!/bin/sh\n{text}\n")
    (place / name).chmod(0o755)
    return place


def make(copy: Path, path: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    given = {"PATH": path, "HOME": str(copy.parent), "PIP_CONFIG_FILE": os.devnull, **env}
    return subprocess.run(["make", *words], cwd=copy, env=given, capture_output=True, text=True, timeout=LIMIT_S)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line about what is wrong; make adds one that its target failed."""
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Fourhands: ")
    return lines[0]


def names_packages(line: str) -> bool:
    return all(f"{manager} install " in line for manager in ("apt", "dnf", "brew"))


STOCK = f'exec {stock_python()} "$@"'

MACHINES = {
    "no Python": ({}, "run", "needs Python 3.11 or later, and python3 is not there"),
    "Python too old": (
        {"python3": 'test "$1" = --version && echo Python 3.9.2 && exit; exit 1'},
        "run",
        "python3 is Python 3.9.2",
    ),
    "no venv module": ({"python3": f'PYTHONPATH="$HIDING" {STOCK}'}, "run", "has no venv module"),
    "no Node": ({"python3": STOCK}, "web", "Node is not there"),
    "Node too old": ({"python3": STOCK, "node": "echo v18.19.0", "npm": "exit 1"}, "web", "v18.19.0"),
    "a broken Node": ({"python3": STOCK, "node": "exit 127", "npm": "exit 1"}, "web", "is broken"),
    "no npm": ({"python3": STOCK, "node": "echo v22.12.0"}, "web", "npm is not there"),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_missing_is_said_in_one_line_with_its_packages(
    machine: str, copy: Path, bare: str, tmp_path: Path
) -> None:
    programs, target, words = MACHINES[machine]
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        put(tmp_path / "bin", name, text)
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['ensurepip'] = None\n")
    done = make(copy, f"{tmp_path}/bin:{bare}", target, HIDING=str(tmp_path))
    line = complaint(done)
    assert words in line
    assert names_packages(line)
    assert not (copy / ".venv" / "runs").exists()


def test_a_newer_python_beside_an_old_one_is_taken(copy: Path, bare: str, tmp_path: Path) -> None:
    put(put(tmp_path, "python3", "exit 1"), "python3.12", STOCK)
    assert "python3.12 -m scripts.page" in make(copy, f"{tmp_path}:{bare}", "-n", "web").stdout


@pytest.fixture(scope="module")
def machine(bare: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path with the system's Python; what is fetched with it comes from nowhere."""
    return f"{put(tmp_path_factory.mktemp('programs'), 'python3', STOCK)}:{bare}"


@pytest.mark.usefixtures("venv")
def test_no_network_and_no_package_are_said_in_one_line_each(copy: Path, machine: str) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "1", "PIP_NO_CACHE_DIR": "1"}
    assert "no connection" in complaint(make(copy, machine, ".venv/runs", **nowhere))
    assert "no ready-made package hatchling" in complaint(make(copy, machine, ".venv/runs", PIP_NO_INDEX="1"))
    # npm is found as it is on this machine, whose settings and cache it does not see.
    npm = {"npm_config_registry": "http://127.0.0.1:1", "npm_config_fetch_retries": "0"}
    npm |= {"npm_config_globalconfig": os.devnull, "npm_config_cache": str(copy.parent / "npm")}
    node = os.path.dirname(shutil.which("npm") or "")
    assert "no connection" in complaint(make(copy, f"{machine.split(':')[0]}:{node}:{os.defpath}", "web", **npm))


@pytest.mark.parametrize(
    "target", ["run", "test", "check", "bench", "soak", "pictures", "types", "docs", "wheel", "web"]
)
def test_every_target_sets_up_what_it_needs(target: str, copy: Path, machine: str) -> None:
    planned = make(copy, machine, "-n", target).stdout
    needs_page = target in ("run", "test", "bench", "pictures", "wheel", "web")
    assert ("-m scripts.environment .venv/" in planned) == (target != "web")
    assert bool(re.search(r"-m scripts\.page$", planned, re.M)) == needs_page
    assert ("scripts/install-test-tools" in planned) == (target in ("test", "bench", "soak", "pictures"))


# -- the environment -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def venv(copy: Path) -> Path:
    place = copy / ".venv"
    environment.create(place)
    return place


def test_an_environment_is_used_where_it_was_made_and_whole(venv: Path, tmp_path: Path) -> None:
    assert environment.usable(venv)
    assert not environment.usable(tmp_path)
    moved = tmp_path / ".venv"
    shutil.copytree(venv, moved, symlinks=True)
    assert not environment.usable(moved), "its scripts name another place"
    (moved / "pyvenv.cfg").write_text((venv / "pyvenv.cfg").read_text().replace(str(venv), str(moved)))
    assert environment.usable(moved)
    shutil.rmtree(next(moved.glob("lib/python*/site-packages/pip")))
    assert not environment.usable(moved), "somebody interrupted its making"
    (moved / "bin" / "python").unlink()
    (moved / "bin" / "python").symlink_to(tmp_path / "gone")
    assert not environment.usable(moved), "its Python has gone"


def test_the_modules_are_compiled_also_where_a_start_may_not_do_it(
    venv: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    environment.compile_sources(venv, copy)
    modules = copy / "src" / "fourhands" / "core"
    compiled = {path.name.split(".")[0] for path in (modules / "__pycache__").glob("*.pyc")}
    assert compiled == {path.stem for path in modules.glob("*.py")}


def test_a_copy_of_a_clone_does_not_use_the_environment_of_the_first(copy: Path, machine: str, tmp_path: Path) -> None:
    place = tmp_path / "moved"
    shutil.copytree(copy, place, symlinks=True, ignore=shutil.ignore_patterns("web", ".venv"))
    (place / ".venv").mkdir()
    (place / ".venv" / "pyvenv.cfg").write_text(f"command = python3 -m venv {copy}/.venv\n")
    for name in ("runs", "ready"):
        (place / ".venv" / name).touch()
    assert "scripts.environment .venv/ready" in make(place, machine, "-n", "docs").stdout
    (place / ".venv" / "pyvenv.cfg").write_text(f"command = python3 -m venv {place}/.venv\n")
    (place / ".venv" / "ready").touch()
    assert "scripts.environment" not in make(place, machine, "-n", "docs").stdout


# -- steps -----------------------------------------------------------------------------------------------------------

STEP = """
import re, sys
from pathlib import Path
from scripts import steps
steps.EVERY_S = 0.05
at, error = re.compile(r"^at (.+)"), re.compile(r"error: (.+)")
steps.ended(lambda: steps.run("Fetching", sys.argv[1:], log=Path("step.log"), counted=at, wrong=error))
"""


def step(line: str) -> list[str]:
    return ["-c", STEP, "/bin/sh", "-c", line]


def test_a_step_shows_that_it_goes_on(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = f"echo at one; read x <{gate}"
    with subprocess.Popen(
        [sys.executable, "-u", *step(line)], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Fetching …\n"
        while ": one" not in process.stdout.readline():
            assert process.poll() is None
        gate.write_text("go\n")
        assert process.wait(LIMIT_S) == 0
    assert not (tmp_path / "step.log").exists()


def test_on_a_terminal_a_step_is_one_line(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    running = pexpect.spawn(
        sys.executable, step(f"echo at one; read x <{gate}"), cwd=str(tmp_path), env=env, encoding="utf-8", timeout=60
    )
    running.expect(r"\r\x1b\[KFetching … \d+ s: one")
    gate.write_text("go\n")
    running.expect(r"\r\x1b\[KFetching: \d+ s\r\n")
    running.expect(pexpect.EOF)
    assert "\n" not in str(running.before)
    running.close()
    assert running.exitstatus == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("echo 'error: not this way'; echo 'and more'; exit 1", "Fetching failed: not this way (all of it: step.log)"),
        ("echo something; exit 2", "Fetching failed: something"),
        ("exit 3", "it said nothing"),
        ("echo 'OSError: [Errno 28] No space left on device'; exit 1", "no space left on device"),
        ("echo 'npm error code EAI_AGAIN'; exit 1", "no connection to where packages are"),
    ],
)
def test_a_step_that_fails_says_why_in_one_line_and_keeps_the_rest(tmp_path: Path, line: str, told: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *step(line)], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "step.log").exists()


def test_two_at_once_set_up_one_after_the_other(tmp_path: Path) -> None:
    waits = (
        f"from scripts import steps; from pathlib import Path\nwith steps.alone(Path({str(tmp_path)!r})): print('in')"
    )
    with steps.alone(tmp_path):
        second = subprocess.Popen(
            [sys.executable, "-u", "-c", waits], env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=-1, text=True
        )
        assert second.stdout is not None
        assert "waiting for it" in second.stdout.readline()
    assert second.communicate(timeout=LIMIT_S)[0] == "in\n"


def test_ctrl_c_in_a_step_ends_it_without_a_traceback(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    running = pexpect.spawn(
        sys.executable, step("echo at one; exec sleep 1000"), cwd=str(tmp_path), env=env, encoding="utf-8", timeout=60
    )
    running.expect(": one")
    running.sendintr()
    running.expect(pexpect.EOF)
    running.close()
    assert (running.exitstatus, "Traceback" in str(running.before)) == (130, False)
