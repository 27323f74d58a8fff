"""Source 000: five terminal commands, a ring of 10,000 lines, what is dangerous, what an agent reads."""

import pytest
from tests.sources.contract import Document, Item, play
from tests.sources.doors import Doors, like

DOCUMENT = Document("000", "Terminal commands", ids=("AC-3.4.1", "T1"))

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]


@DOCUMENT.works("AC-3.4.1, T1", "openspace.terminal.create({ title: 'test' })", "HTTP: a terminalId comes back.")
async def create(doors: Doors) -> None:
    like(await doors.person("openspace.terminal.create", {"title": "test"}), {"success": True, "terminalId": str})


@DOCUMENT.works(
    "AC-3.4.1",
    '%%OS{"cmd":"openspace.terminal.create","args":{"title":"blocks"}}%%',
    "Block: taken out of the text, a terminal with this title appears.",
)
async def create_by_block(doors: Doors) -> None:
    said = await doors.says('Now %%OS{"cmd":"openspace.terminal.create",', '"args":{"title":"blocks"}}%% there.')
    assert said.visible == "Now  there."
    assert [one.success for one in said.results] == [True]


@DOCUMENT.to_come("AC-3.4.1", "openspace.presentation.create", until_then="There is no such command.")
async def deck(doors: Doors) -> None:
    await doors.person("openspace.presentation.create", {"deckPath": "arch.deck.md", "title": "Architecture"})


@pytest.mark.parametrize("item", DOCUMENT.played())
async def test_item(item: Item, doors: Doors) -> None:
    await play(item, doors)


async def test_every_id_of_the_document_has_an_item() -> None:
    assert DOCUMENT.missing() == []
