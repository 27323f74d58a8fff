"""A workbench that is thrown away: the place of which a model is told when the instructions are tried with it."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from fourhands.agents.briefing.hub import Hub
from fourhands.agents.connectors.trial_tasks import FILES, OPEN, TERMINALS, Scratch
from fourhands.app.wiring import App
from fourhands.core.errors import Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings


@contextlib.asynccontextmanager
async def scratch() -> AsyncIterator[Scratch]:
    """Serve a real, temporary workbench with files, an editor and terminals, apart from the person's own."""
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as root:
        await asyncio.to_thread(_prepare, Path(root))
        places = WorkspaceDirs(os.path.realpath(Path(root, "demo")), f"{root}/run", f"{root}/state")
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": f"{root}/home", "LANG": "C.UTF-8"}
        async with App(places.workspace, Settings(), places=places, env=env) as app:
            hub = Hub(app.bench, app.registry)
            try:
                yield await _look(app, hub)
            finally:
                await hub.close()
                await app.terminals.stop()


def _prepare(root: Path) -> None:
    (root / "home").mkdir()
    for name, text in FILES.items():
        file = root / "demo" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


async def _look(app: App, hub: Hub) -> Scratch:
    aliases: dict[str, frozenset[str]] = {}
    calls: list[tuple[str, dict[str, object]]] = [("openspace.editor.open", {"path": OPEN})]
    calls += [("openspace.terminal.create", {"title": title}) for title in TERMINALS]
    for command, args in calls:
        result = await app.call(command, args)
        if not result.success:
            raise Unavailable(f"no workbench to try the instructions in: {result.error}", hint=result.hint)
        names = {str(value) for name, value in result.data.items() if name in ("terminalId", "paneId", "tabId", "id")}
        aliases[str(args.get("title") or args.get("path"))] = frozenset(names)
    return Scratch(instructions=hub.instructions(), registry=app.registry, aliases=aliases)
