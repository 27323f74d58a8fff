"""Source 001: an agent that controls the workbench as the person does: blocks, commands, manifest, instructions."""

import pytest
from tests.sources.contract import Document, Item, play
from tests.sources.doors import Doors
from tests.sources.source_001 import commands, gaps, hub, rules, stories, stream

PARTS = (stories.PART, commands.PART, stream.PART, hub.PART, rules.PART, gaps.PART)

DOCUMENT = Document("001", "Agent IDE control", ids=[id for part in PARTS for id in part.ids])
DOCUMENT.items = [item for part in PARTS for item in part.items]

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]


@pytest.mark.parametrize("item", DOCUMENT.played())
async def test_item(item: Item, doors: Doors) -> None:
    await play(item, doors)


async def test_every_id_of_the_document_has_an_item() -> None:
    assert DOCUMENT.missing() == []
