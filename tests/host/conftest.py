"""What the tests of the host share."""

from collections.abc import AsyncIterator

import pytest
from tests.kit.hosts import House, new_house


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with new_house() as house:
        yield house
