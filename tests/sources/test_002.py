"""Source 002: a terminal service for agents. Its items are in `source_002`, one file for each part of the document."""

from collections.abc import AsyncIterator
from importlib import import_module

import pytest
import pytest_asyncio
from tests.sources.contract import Item, play
from tests.sources.doors import Doors, open_doors, stand_ins
from tests.sources.source_002 import DOCUMENT

from fourhands.settings import AgentDefaults, PersistentSettings, Settings

for part in ("service", "provider", "tools", "settings", "sessions", "examples"):  # in the document's order
    import_module(f"tests.sources.source_002.{part}")

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

# What the document's examples run, as far as they say what comes of it.
NPM = """#!/bin/sh
case "$1" in
  install) echo "npm install" ;;
  run) echo "Server starting..."; read answer; echo "Server started on port 3000"; read more ;;
esac
"""
PYTHON = "#!/bin/sh\nread line\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def doors() -> AsyncIterator[Doors]:
    """Where the document's intervals would cost seconds, shorter ones; its own are checked as settings."""
    intervals = PersistentSettings(min_interval=0.05, settle_interval=1.0, max_interval=20)
    settings = Settings(agent_defaults=AgentDefaults(persistent=intervals))
    with stand_ins({"npm": NPM, "python": PYTHON}):
        async with open_doors(settings) as opened:
            yield opened


@pytest.mark.parametrize("item", DOCUMENT.played())
async def test_item(item: Item, doors: Doors) -> None:
    await play(item, doors)


async def test_every_id_of_the_document_has_an_item() -> None:
    assert DOCUMENT.missing() == []
