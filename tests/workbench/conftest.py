from collections.abc import AsyncIterator

import pytest
from tests.kit.workbench import open_terminals

from fourhands.workbench.terminals.terminals import Terminals


@pytest.fixture
async def terminals() -> AsyncIterator[Terminals]:
    async with open_terminals() as opened:
        yield opened
