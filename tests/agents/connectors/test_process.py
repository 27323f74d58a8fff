"""An agent's process: its end is sure, whenever it comes."""

import asyncio
import os
from pathlib import Path

from tests.kit.hosts import wait_gone

from fourhands.agents.connectors.process import ChildStarter, launch
from fourhands.core.tasks import Tasks


async def test_an_agent_that_is_ended_while_it_starts_leaves_nobody(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    argv = ["sh", "-c", f"sleep 300 & echo $! >{pipe}; wait"]
    async with Tasks() as tasks:
        starter = ChildStarter(argv, cwd=str(tmp_path), env={"PATH": os.environ["PATH"]})
        process = await launch(starter, tasks, "agent")
        child = int(pipe.read_text())
        await process.end(0.0)
    assert await asyncio.to_thread(wait_gone, child)


async def test_an_agent_that_gets_no_grace_has_ended_all_the_same(tmp_path: Path) -> None:
    async with Tasks() as tasks:
        for _ in range(20):  # killing takes a moment, now and then a longer one than the loop's next turn
            process = await launch(ChildStarter(["sleep", "300"], cwd=str(tmp_path), env=os.environ), tasks, "agent")
            await process.end(0.0)
            assert process.exit_code is not None
