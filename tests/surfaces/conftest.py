from collections.abc import AsyncIterator

import pytest_asyncio
from tests.support.served import Served, serve_app


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[Served]:
    """One server for a file's tests: each cleans up what would disturb the next."""
    async with serve_app() as running:
        yield running
