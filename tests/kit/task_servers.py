"""The two sides of `tests/kit/tasks.py`: our server and DesktopCommander, each by the official client over stdio.

DesktopCommander runs as it is shipped, at the version of its lock, but behind a wall without network: it would send
telemetry, and fetch its flags and a browser. Its home is a temporary one, and its workspace has a short path, since its
tools want full paths.
"""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from mcp import Client, StdioServerParameters
from tests.kit.npm_agents import installed, missing
from tests.kit.program import MAIN, new_home
from tests.kit.workbench import MINIMAL

LOCK = Path(__file__).parent.parent / "commander-npm"
PROGRAM = LOCK / "node_modules" / "@wonderwhy-er" / "desktop-commander" / "dist" / "index.js"
WORKSPACE = "/mnt/shop"
"""Where DesktopCommander's workspace lies, for itself."""

OFF = {"DESKTOP_COMMANDER_DISABLE_TELEMETRY": "1", "DC_FLAG_URL": "http://127.0.0.1:9/"}
UNATTENDED = ("--name", "bench", "--allow", "see,arrange,write,run", "--provider", "bubblewrap", "--ask-by", "never")
SETTINGS = '[providers.bubblewrap]\ntype = "bubblewrap"\nrequireLimits = false\n'
"""Of our user: who may set limits on memory differs by machine, and is not what is compared."""

LIMIT_S = 600


@dataclass(frozen=True)
class Side:
    """A server with its client, and the workspace in which it works."""

    client: Client
    root: Path


def _wall() -> str:
    return shutil.which("bwrap") or missing("bubblewrap is not installed (make tools)")


@contextlib.asynccontextmanager
async def fourhands() -> AsyncIterator[Side]:
    """`fourhands mcp` as in CI: in the sandbox, with nobody to ask."""
    _wall()
    async with new_home() as home:
        settings = home.root / "home/.config/fourhands/settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS)
        words = [*MAIN[1:], "mcp", str(home.work), *UNATTENDED]
        async with _client(StdioServerParameters(command=MAIN[0], args=words, env=home.env)) as client:
            yield Side(client, home.work)


@contextlib.asynccontextmanager
async def commander() -> AsyncIterator[Side]:
    """DesktopCommander; all that it runs ends with it."""
    program, wall = installed(PROGRAM, LOCK), _wall()
    node = shutil.which("node") or missing("Node is not installed")
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as root:
        work, home = Path(root, "work"), Path(root, "home")
        for one in (work, home):
            one.mkdir()
        words = ["--dev-bind", "/", "/", "--tmpfs", "/mnt", "--bind", str(work), WORKSPACE]
        words += ["--bind", str(home), "/mnt/home", "--chdir", WORKSPACE]
        words += ["--unshare-net", "--unshare-pid", "--proc", "/proc", "--die-with-parent", node, program]
        started = StdioServerParameters(
            command=wall, args=[*words, "--no-onboarding"], env=MINIMAL | OFF | {"HOME": "/mnt/home"}
        )
        async with _client(started) as client:
            yield Side(client, work)


@contextlib.asynccontextmanager
async def _client(server: StdioServerParameters) -> AsyncIterator[Client]:
    async with asyncio.timeout(LIMIT_S), Client(server, mode="legacy", cache=None) as client:
        yield client
