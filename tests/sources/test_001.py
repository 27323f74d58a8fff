"""Source 001: an agent that controls the workbench as the person does: blocks, commands, manifest, instructions."""

import pytest
from tests.sources import commands_001, stories_001, stream_001
from tests.sources.contract import Document, Item, play
from tests.sources.doors import Doors

PARTS = (stories_001.PART, commands_001.PART, stream_001.PART)

DOCUMENT = Document("001", "Agent IDE control", ids=[id for part in PARTS for id in part.ids])
DOCUMENT.items = [item for part in PARTS for item in part.items]

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]


@pytest.mark.parametrize("item", DOCUMENT.played())
async def test_item(item: Item, doors: Doors) -> None:
    await play(item, doors)


async def test_every_id_of_the_document_has_an_item() -> None:
    assert DOCUMENT.missing() == []
