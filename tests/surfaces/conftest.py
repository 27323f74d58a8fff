from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.kit.server import Served, serve_app
from tests.kit.workbench import open_app

from fourhands.app import App


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[Served]:
    """One server for a file's tests: each cleans up what would disturb the next."""
    async with serve_app() as running:
        yield running


@pytest.fixture
async def app() -> AsyncIterator[App]:
    """A workbench of a test's own, without doors."""
    async with open_app() as opened:
        yield opened
