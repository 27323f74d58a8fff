"""What tests of providers need: an image made without network, a workspace with secrets around it, plain refusals."""

import asyncio
import contextlib
import functools
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from fourhands.host import processes
from fourhands.host.client import HostClient, HostLost
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers import registry
from fourhands.settings import ProviderSettings, Settings, TerminalSettings
from fourhands.workbench.terminals.terminals import Terminals

IMAGE = "localhost/fourhands-test:4"
PROGRAMS = (
    "bash",
    "sh",
    "env",
    "cat",
    "echo",
    "id",
    "ls",
    "mkdir",
    "rm",
    "setsid",
    "sleep",
    "stty",
    "touch",
    "tr",
    "ps",
)
CANARY = "sk-canary-7f3a9c"

AnySettings = ProviderSettings


def refuse(reason: str) -> None:
    """Skip for want of a tool; where everything must be there, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@functools.cache
def image() -> str:
    """A small image of this machine's own shells and tools; the reason in brackets when there can be none."""
    podman = shutil.which("podman")
    if podman is None:
        return "(podman is not installed)"
    if subprocess.run([podman, "image", "inspect", IMAGE], capture_output=True, check=False).returncode == 0:
        return IMAGE
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        added: set[str] = set()

        def add_folder(name: str) -> None:
            # With all that are above it: those that nobody names are closed to a root without capabilities.
            for folder in reversed((Path(name), *Path(name).parents[:-1])):
                if str(folder) not in added:
                    added.add(str(folder))
                    entry = tarfile.TarInfo(str(folder))
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(entry)

        for name in ("bin", "usr/bin", "etc", "tmp", "proc", "sys", "dev", "run", "root", "usr/lib/locale"):
            add_folder(name)
        for program in PROGRAMS:
            path = shutil.which(program)
            assert path is not None, f"{program} is not installed"
            listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
            for source, target in [(path, f"/bin/{program}"), *((p, p) for p in re.findall(r"/\S+", listed))]:
                if target not in added:
                    added.add(target)
                    add_folder(os.path.dirname(target).lstrip("/"))
                    tar.add(os.path.realpath(source), arcname=target.lstrip("/"))
        if os.path.isdir("/usr/lib/locale/C.utf8"):  # or bash complains of LC_ALL
            tar.add("/usr/lib/locale/C.utf8", arcname="usr/lib/locale/C.utf8")
    made = subprocess.run([podman, "import", "-", IMAGE], input=archive.getvalue(), capture_output=True, check=False)
    return IMAGE if made.returncode == 0 else f"(podman import: {made.stderr.decode()[-300:]})"


@dataclass
class Yard:
    """A workspace with a home, a runtime and a state directory around it, and secrets in all of them."""

    root: Path
    places: WorkspaceDirs
    env: dict[str, str]

    @property
    def workspace(self) -> Path:
        return self.root / "work space,1"  # a name that needs quoting

    def settings(self, providers: Mapping[str, AnySettings]) -> Settings:
        return Settings(providers=dict(providers), terminal=TerminalSettings(spare_shell=False, linger_s=60.0))

    def terminals(self, providers: Mapping[str, AnySettings], *, keep: bool = False) -> Terminals:
        settings = self.settings(providers)
        return Terminals(
            self.workspace,
            settings,
            places=self.places,
            env=self.env,
            keep=keep,
            providers=registry.build(settings, env=self.env),
        )


@contextlib.asynccontextmanager
async def new_yard(**more: str) -> AsyncIterator[Yard]:
    """A yard whose host is stopped at the end; `more` are variables of its environment."""
    root = Path(tempfile.mkdtemp(prefix="fh-", dir="/tmp"))
    for name in ("work space,1", "home/.ssh", "run", "state", "config/fourhands"):
        (root / name).mkdir(parents=True)
    for name in ("home/.ssh/id_ed25519", "home/notes", "run/secret", "state/secret", "config/fourhands/token"):
        (root / name).write_text(CANARY)
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(root / "home"),
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": str(root / "run"),
        "XDG_STATE_HOME": str(root / "state"),
        "XDG_CONFIG_HOME": str(root / "config"),
        "OPENAI_API_KEY": CANARY,
        **more,
    }
    yard = Yard(root, WorkspaceDirs.of(root / "work space,1", env), env)
    try:
        yield yard
    finally:
        with contextlib.suppress(HostLost):
            await _stop_host(yard.places)
        shutil.rmtree(root, ignore_errors=True)


async def _stop_host(places: WorkspaceDirs) -> None:
    if os.path.exists(places.socket):
        with contextlib.suppress(Exception):
            link = await HostClient.open(places, on_event=lambda _: None, on_lost=lambda: None, start=False)
            try:
                await link.request("stop")
            finally:
                link.close()


def with_variable(text: str) -> list[int]:
    """The processes of this machine that have a text in their environment."""
    found = []
    for pid in processes.scan():
        with contextlib.suppress(OSError):
            if text.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(pid)
    return [pid for pid in found if pid != os.getpid()]


async def until(condition: Callable[[], bool], limit_s: float = 40.0) -> None:
    """Wait until something is so that the kernel tells nobody about."""

    def look() -> None:
        deadline = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < deadline, "it did not become so"
            time.sleep(0.02)

    await asyncio.to_thread(look)
