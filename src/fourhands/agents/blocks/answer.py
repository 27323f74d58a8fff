"""The blocks of one answer of a model on their way to the runner: a few run, one refusal tells of the rest.

A model that repeats itself can write thousands of blocks. The gate refuses what is over its limit, and writes down each
refusal; so only the first one too many is handed on, to be refused and told, and the others are counted.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fourhands.agents.blocks.interceptor import Dropped
from fourhands.agents.blocks.runner import BlockRunner
from fourhands.core.ids import ulid
from fourhands.core.queue import QueueLimits

MOST = QueueLimits().per_answer + 1
"""The most blocks of one answer, and the most unreadable ones, that are handed on."""

log = logging.getLogger(__name__)


class ResponseBlocks:
    """One answer; `close` it when it is over."""

    def __init__(self, runner: BlockRunner) -> None:
        self._runner = runner
        self._unique = ulid()
        self._id = ""
        self._count = 0
        self._dropped = 0
        self._stopped = False
        self.calls: list[str] = []
        """The ids of the calls made so far."""

    def take(self, message_id: str, commands: Sequence[Mapping[str, Any]]) -> None:
        """Run the next commands, as far as the limits go."""
        # A server may use an id again; and one that tells its id late must not give an answer two ids.
        self._id = self._id or f"{message_id or 'answer'}:{self._unique}"
        fitting = commands[: max(0, MOST - self._count)]
        self._count += len(commands)
        if fitting and not self._stopped:
            self.calls += self._runner.run(fitting, self._id)

    def drop(self, dropped: Sequence[Dropped]) -> None:
        """Tell of blocks that could not be read."""
        fitting = dropped[: max(0, MOST - self._dropped)]
        self._dropped += len(dropped)
        if fitting and not self._stopped:
            self.calls += self._runner.dropped(fitting)

    def stop(self) -> None:
        """Run no further block of this answer, after the person stopped the agent."""
        self._stopped = True

    def close(self) -> None:
        """End the answer, and log the blocks that were too many."""
        session = self._runner.session.id
        if self._count > MOST:
            log.warning("%s: %d further blocks of one answer are ignored", session, self._count - MOST)
        if self._dropped > MOST:
            log.warning("%s: %d further unreadable blocks of one answer", session, self._dropped - MOST)
