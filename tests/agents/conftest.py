"""What tests of agents share."""

from collections.abc import AsyncIterator

import pytest
from tests.kit.acp_stage import Stage, open_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A fake ACP agent at a workbench."""
    async with open_stage() as stage:
        yield stage
