"""What protects a file in a sandbox comes back when somebody outside has replaced the file."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.kit.cells import in_cell
from tests.kit.isolation import Yard, new_yard, refuse, until

from fourhands.providers import guard
from fourhands.providers.base import Launch
from fourhands.providers.bubblewrap import Bubblewrap
from fourhands.settings import BubblewrapSettings, SandboxSettings

pytestmark = pytest.mark.timeout(120)

INSIDE = """
while read -r what path; do
  case $what in
    write) (echo evil >> "$path") 2>/dev/null && echo open || echo shut ;;
    read) cat "$path" 2>/dev/null | grep -q . && echo open || echo shut ;;
    move) mv "$path" "$path.x" 2>/dev/null && echo open || echo shut ;;
    link) ln -sf /tmp/target "$path" && echo x > /tmp/target && echo linked ;;
  esac
done
"""


class Cell:
    """A shell in a sandbox that tries what it is told."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    def tries(self, what: str, path: str) -> str:
        self._in.write(f"{what} {path}\n")
        self._in.flush()
        return self._out.readline().strip()

    def first(self) -> int:
        pid = guard.first_process(self.process.pid)
        assert pid is not None
        return pid


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


@pytest.fixture
async def cell(yard: Yard) -> AsyncIterator[Cell]:
    work = yard.workspace
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q"], cwd=work, check=True)
    (work / ".mcp.json").write_text("mine\n")
    (work / ".env").write_text("TOKEN=canary\n")
    settings = BubblewrapSettings(require_limits=False, max_memory=0)
    provider = Bubblewrap(settings, env=yard.env, sandbox=SandboxSettings(hide_secrets=True))
    if not (probe := await provider.probe()).works:
        refuse(probe.detail)
    await provider.prepare(str(work), ())
    launch = in_cell(provider, Launch("/bin/bash", ("bash", "-c", INSIDE), str(work), yard.env), yard.root)
    process = await asyncio.to_thread(
        subprocess.Popen, launch.argv, executable=launch.program, env=dict(launch.env), cwd=launch.cwd, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    made = Cell(process)
    yield made
    process.communicate(timeout=40)
    assert process.returncode == 0


def replaced(path: Path) -> None:
    spare = path.with_name("spare")
    spare.write_text("mine again\n")
    spare.replace(path)


def written_anew(path: Path) -> None:
    path.unlink()
    path.write_text("mine again\n")


def swapped(path: Path) -> None:
    shutil.move(path, path.with_name(".git-old"))
    subprocess.run(["git", "init", "-q"], cwd=path.parent, check=True)


WAYS: dict[str, tuple[str, Callable[[Path], None], tuple[tuple[str, str], ...]]] = {
    "git config": (".git/config", replaced, (("write", ".git/config"),)),
    "an editor that deletes and writes": (".mcp.json", written_anew, (("write", ".mcp.json"),)),
    "another repository": (
        ".git", swapped, (("write", ".git/config"), ("write", ".git/hooks/post-checkout"), ("move", ".git")),
    ),
    "a secret that is hidden": (".env", replaced, (("read", ".env"),)),
}  # fmt: skip


def protected(pid: int) -> set[str]:
    """The mounts of a sandbox that are read-only."""
    lines = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    return {fields[4].replace("\\040", " ") for fields in lines if "ro" in fields[5].split(",")}


async def test_what_is_replaced_outside_is_protected_again(cell: Cell, yard: Yard) -> None:
    work = yard.workspace
    for name, (path, change, attempts) in WAYS.items():
        assert [cell.tries(*attempt) for attempt in attempts] == ["shut"] * len(attempts), name
        change(work / path)
        written = [work / one for what, one in attempts if what != "move"]
        wanted = {str(one.parent if one.parent.name == "hooks" else one) for one in written}
        await until(lambda wanted=wanted: wanted <= protected(cell.first()))  # type: ignore[misc]
        assert [cell.tries(*attempt) for attempt in attempts] == ["shut"] * len(attempts), name
    assert (work / ".mcp.json").read_text() == "mine again\n"


async def test_nothing_is_mounted_through_a_link_that_a_program_made(cell: Cell, yard: Yard) -> None:
    assert cell.tries("read", ".mcp.json") == "open"
    (yard.workspace / ".mcp.json").unlink()
    assert cell.tries("link", ".mcp.json") == "linked"
    first = cell.first()
    before = guard.mount_points(first)
    guard.restore(first, [("read", str(yard.workspace / ".mcp.json"))])
    assert guard.mount_points(first) == before
    assert cell.tries("write", "/tmp/target") == "open"


@pytest.mark.parametrize(("line", "code"), [("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9)])
def test_it_ends_as_what_it_guards_does(line: str, code: int) -> None:
    command = guard.command([("read", "/etc/hostname")], ["/bin/sh", "-c", f"cat; {line}"])
    done = subprocess.run(command, input="in", capture_output=True, text=True, timeout=40, check=False)
    assert (done.returncode, done.stdout) == (code, "in")


def test_the_program_needs_the_standard_library_only() -> None:
    place = os.path.abspath(guard.__file__)
    load = f"import runpy, sys; runpy.run_path({place!r}, run_name='x'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-I", "-S", "-c", load], capture_output=True, text=True, check=True)
    assert not {"fourhands", "msgspec", "asyncio", "site"} & set(done.stdout.split())
