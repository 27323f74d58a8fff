"""A workspace with a store of checkpoints beside it, and git as a person and an agent use it."""

from pathlib import Path

import pytest
from tests.kit.checkpointed import Checkpointed


@pytest.fixture
def place(tmp_path: Path) -> Checkpointed:
    return Checkpointed.make(tmp_path)
