"""Source 003: a service of PTY sessions. Its items are in `source_003`, one file for each part of the document."""

from importlib import import_module

import pytest
from tests.sources.contract import Item, play
from tests.sources.doors import Doors
from tests.sources.source_003 import DOCUMENT

for part in ("service", "start", "output"):  # in the document's order
    import_module(f"tests.sources.source_003.{part}")

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]


@pytest.mark.parametrize("item", DOCUMENT.played())
async def test_item(item: Item, doors: Doors) -> None:
    await play(item, doors)


async def test_every_id_of_the_document_has_an_item() -> None:
    assert DOCUMENT.missing() == []
