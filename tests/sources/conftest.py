"""One server for all items of a document."""

from collections.abc import AsyncIterator

import pytest_asyncio
from tests.sources.doors import Doors, open_doors


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def doors() -> AsyncIterator[Doors]:
    async with open_doors() as doors:
        yield doors
