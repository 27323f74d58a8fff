"""Try the instructions with a model: ask it the small tasks, cut the blocks from its answers, and judge them.

Nothing that it answers runs. A task that the endpoint does not answer counts as wrong; if it does not answer the first
one, or does not take the key, there is nothing to try and the error is the result.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import httpx
from msgspec import Struct
from msgspec.structs import replace

from fourhands.agents.blocks.interceptor import Intercepted, Interceptor
from fourhands.agents.briefing.shorten import one_line
from fourhands.agents.connectors.base import MOST_SAID
from fourhands.agents.connectors.completion import spoken
from fourhands.agents.connectors.endpoint import Endpoint, connected
from fourhands.agents.connectors.refusals import Busy, CutOff
from fourhands.agents.connectors.trial_tasks import TASKS, Scratch, Task
from fourhands.agents.models.dialects.deltas import Text
from fourhands.agents.models.history import HistoryMessage, ModelRequest
from fourhands.core import schema
from fourhands.core.errors import BadArgument, FourhandsError, LimitReached, NotFound, Unavailable

RETRIES = 3
MOST_WAIT_S = 60.0
_KEPT = 20_000  # characters of an answer in the report


class Judged(Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of one task."""

    name: str
    task: str
    right: bool
    reason: str = ""  # why not
    blocks: list[dict[str, Any]] = []
    dropped: list[str] = []
    answer: str = ""
    seconds: float = 0.0


class Trial:
    """One model, tried with one place's instructions."""

    def __init__(
        self,
        endpoint: Endpoint,
        here: Scratch,
        env: Mapping[str, str],
        *,
        tasks: Sequence[Task] = TASKS,
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._here = here
        self._env = env
        self._tasks = tasks
        self._sleep = sleep

    async def run(self) -> AsyncIterator[Judged]:
        """Ask the tasks one after the other, and judge each answer."""
        async with connected(self._endpoint, self._env) as client:
            for number, task in enumerate(self._tasks):
                start = time.monotonic()
                try:
                    answer = await self._ask(client, task.messages(self._here.registry))
                except FourhandsError as error:
                    if number == 0 or error.hint == "check the key":
                        raise
                    judged = Judged(name=task.name, task=task.text, right=False, reason=f"no answer: {error.message}")
                else:
                    judged = judge(task, answer, self._here)
                yield replace(judged, seconds=round(time.monotonic() - start, 2))

    async def _ask(self, client: httpx.AsyncClient, messages: list[HistoryMessage]) -> str:
        for attempt in range(RETRIES + 1):
            try:
                return await self._once(client, messages)
            except (httpx.HTTPError, httpx.InvalidURL, Busy) as error:
                why = str(error) or type(error).__name__
                wait_s = getattr(error, "after_s", None) or 0.5 * 2**attempt
                if attempt == RETRIES or wait_s > MOST_WAIT_S or isinstance(error, httpx.ConnectError):
                    raise Unavailable(
                        f"the model at {shown(self._endpoint)} cannot be reached: {why}",
                        hint="check that it runs, its address, its key and its limits",
                    ) from None
                await self._sleep(wait_s)
        raise AssertionError("unreachable")

    async def _once(self, client: httpx.AsyncClient, messages: list[HistoryMessage]) -> str:
        parts: list[str] = []
        size = 0
        asked = ModelRequest(
            model=self._endpoint.model,
            system=self._here.instructions,
            messages=messages,
            max_tokens=self._endpoint.max_tokens,
            usage=False,
        )
        with contextlib.suppress(CutOff):  # a model's answer is judged as far as it came
            async with contextlib.aclosing(spoken(client, self._endpoint, asked)) as pieces:
                async for delta in pieces:
                    if isinstance(delta, Text):
                        size += len(delta.text)
                        if size > MOST_SAID:
                            raise LimitReached(f"an answer of the model is longer than {MOST_SAID} characters")
                        parts.append(delta.text)
        return "".join(parts)


def judge(task: Task, answer: str, here: Scratch) -> Judged:
    """Cut the blocks from an answer and say whether they are right."""
    interceptor = Interceptor()
    found: list[Intercepted] = [interceptor.feed(answer), interceptor.close()]
    commands = [command for piece in found for command in piece.commands]
    dropped = [f"{one.reason}: {one.excerpt}" for piece in found for one in piece.dropped]
    visible = "".join(piece.visible for piece in found)
    reason = _problem(task, commands, dropped, visible, here)
    return Judged(
        name=task.name,
        task=task.text or task.messages(here.registry)[0]["content"],
        right=not reason,
        reason=reason,
        blocks=commands[:50],
        dropped=dropped[:50],
        answer=answer[:_KEPT],
    )


def shown(endpoint: Endpoint) -> str:
    """Return an endpoint's address without the parts that may hold a secret."""
    try:
        url = httpx.URL(endpoint.url)
    except httpx.InvalidURL:
        return "that address"
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


def _problem(task: Task, commands: list[dict[str, Any]], dropped: list[str], visible: str, here: Scratch) -> str:
    if dropped:
        return f"a block cannot be read: {dropped[0]}"
    for command in commands:
        if problem := _invalid(command, here):
            return problem
    if task.shows and task.shows not in visible:
        return f"{task.shows} is to be seen in the answer"
    left = list(task.wanted)
    nearest = ""
    for command in commands:
        id = command["cmd"]
        if left and id in left[0].commands:
            nearest = left[0].problem(command, here)
            if not nearest:
                left.pop(0)
                continue
        if not task.wanted or not (here.registry.get(id).read_only or id in task.also):
            return f"{id}: {nearest}" if nearest else f"{id} is not wanted here"
    if left:
        wanted = " or ".join(left[0].commands)
        if nearest:
            return f"{wanted}: {nearest}"
        told = f", only text: {one_line(visible, 80)}" if not commands else ""
        return f"no block with {wanted}{told}"
    return ""


def _invalid(command: Mapping[str, Any], here: Scratch) -> str:
    """Return why the gate would refuse a block before it asks a person, or an empty text."""
    id, args = command["cmd"], command.get("args", {})
    if not isinstance(args, Mapping):
        return f"{id}: args is to be an object, not {schema.show(args)}"
    try:
        known = here.registry.get(id)
        if "agent" not in known.actors:
            return f"{id} is not for agents"
        if known.args_type is not None:
            schema.decode(args, known.args_type)
        elif args:
            return f"{id} has no arguments"
    except NotFound as error:
        return error.message
    except BadArgument as error:
        return f"{id}: {error.message}"
    return ""
