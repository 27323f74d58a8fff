"""What a workbench shows after a call, as its page asks for it."""

import contextlib
import json
import logging
from collections.abc import Iterator

from tests.sources.doors import Doors, Result

from fourhands.settings import Settings, UpstreamSettings

SOURCE = "".join(f"export const line{number} = {number};\n" for number in range(1, 61))


async def editor(doors: Doors, path: str) -> Result:
    """The open editor of a file."""
    found = await doors.person("openspace.editor.list")
    return next(one for one in found["editors"] if one["path"] == path)


async def highlights(doors: Doors) -> dict[str, Result]:
    """All highlights by their ids."""
    return {one["id"]: one for one in (await doors.person("openspace.editor.list"))["highlights"]}


async def panes(doors: Doors) -> list[Result]:
    """All panes."""
    listed: list[Result] = (await doors.person("openspace.pane.list"))["panes"]
    return listed


async def geometry(doors: Doors, content: str) -> Result:
    """Where the pane is that has this among its tabs."""
    found: Result = next(
        one["geometry"] for one in await panes(doors) if content in [tab["content"] for tab in one["tabs"]]
    )
    return found


async def terminal(doors: Doors, id: str) -> Result:
    """A terminal as it is listed."""
    listed = (await doors.person("openspace.terminal.list"))["terminals"]
    return next(one for one in listed if one["id"] == id)


async def manifest(doors: Doors) -> Result:
    """The manifest that the palette is made of."""
    read: Result = json.loads(await doors.get("/openspace/manifest"))
    return read


async def tidy(doors: Doors) -> None:
    """An empty workbench with two files, whatever earlier items left."""
    for one in (await doors.person("openspace.terminal.list"))["terminals"]:
        await doors.person("openspace.terminal.close", {"terminalId": one["id"]})
    for pane in await panes(doors):
        await doors.person("openspace.pane.close", {"paneId": pane["id"]})
    for id in await highlights(doors):
        await doors.person("openspace.editor.clear_highlight", {"highlightId": id})
    doors.write("src/index.ts", SOURCE)
    doors.write("src/auth.ts", SOURCE)


async def two_panes(doors: Doors) -> tuple[str, str]:
    """The ids of two panes beside each other, and nothing else."""
    await tidy(doors)
    left = await doors.agent("openspace.pane.open", {"type": "editor", "contentId": "src/index.ts"})
    right = await doors.agent(
        "openspace.pane.open", {"type": "editor", "contentId": "src/auth.ts", "splitDirection": "vertical"}
    )
    return left["paneId"], right["paneId"]


@contextlib.contextmanager
def logged(level: int) -> Iterator[list[str]]:
    """Collect what the program logs from this level on."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, handler = logging.getLogger("fourhands"), Kept(level)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def upstream(url: str) -> Settings:
    """Settings for a model proxy in front of this server."""
    return Settings(upstreams={"openai": UpstreamSettings(url=url, connect_s=40.0)})
