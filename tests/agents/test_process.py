"""An agent's process: its end is sure, whenever it comes."""

import asyncio
import os
from pathlib import Path

from tests.support.hosts import wait_gone

from fourhands.agents.process import launch
from fourhands.core.tasks import Tasks


async def test_an_agent_that_is_ended_while_it_starts_leaves_nobody(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    argv = ["sh", "-c", f"sleep 300 & echo $! >{pipe}; wait"]
    async with Tasks() as tasks:
        process = launch(argv, cwd=str(tmp_path), env={"PATH": os.environ["PATH"]}, tasks=tasks, name="agent")
        child = int(pipe.read_text())
        await process.end(0.0)
    assert await asyncio.to_thread(wait_gone, child)
