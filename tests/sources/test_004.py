"""Source 004: ACP's terminal/create with all its parameters, and what follows from it."""

from collections.abc import AsyncIterator
from unittest import mock

import pytest
import pytest_asyncio
from tests.kit.workbench import MINIMAL
from tests.sources.contract import Item, play
from tests.sources.doors import Doors, open_doors, stand_ins
from tests.sources.source_004 import DOCUMENT, NPM, call, errors, safety

from fourhands.settings import BubblewrapSettings, Settings

__all__ = ["DOCUMENT", "call", "errors", "safety"]

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def doors() -> AsyncIterator[Doors]:
    settings = Settings(providers={"bubblewrap": BubblewrapSettings(require_limits=False)})
    with stand_ins({"npm": NPM}), mock.patch.dict(MINIMAL, OPENAI_API_KEY="sk-hidden"):
        async with open_doors(settings) as doors:
            yield doors


@pytest.mark.parametrize("item", DOCUMENT.played())
async def test_item(item: Item, doors: Doors) -> None:
    await play(item, doors)


async def test_every_id_of_the_document_has_an_item() -> None:
    assert DOCUMENT.missing() == []
