"""What a person types where it may be a secret is neither kept nor told."""

import asyncio

import pytest
from tests.kit.gate import AGENT, PERSON, Bench, World

from fourhands.core.call import Actor, Call
from fourhands.core.context import CONCEALED
from fourhands.core.registry import Contribution

SECRET = "correct horse battery"


def world() -> World:
    from tests.kit.gate import Do, Done

    private = Contribution("openspace.private")

    @private.add("type", conceals=("text",))
    async def type_text(bench: Bench, args: Do) -> Done:
        """Type something."""
        assert args.text == SECRET  # the handler gets it
        await asyncio.sleep(0)  # so that its beginning is noted too
        return Done(did_what="typed")

    world = World()
    world.registry.include(private)
    return world


async def run(world: World, actor: Actor, **args: object) -> str:
    result = await world.gate.run(Call(command="openspace.private.type", args=args, actor=actor))
    kept = [*world.journal.noted, *world.journal.recorded, *world.heard]
    return repr((kept, result))


async def test_a_persons_text_is_in_no_entry_event_or_result() -> None:
    here = world()
    assert SECRET not in await run(here, PERSON, text=SECRET, mode="firm")
    [entry] = here.journal.recorded
    assert entry.call.args == {"text": CONCEALED, "mode": "firm"}
    assert here.journal.noted[0].call.args == entry.call.args
    assert [event.data["args"] for event in here.heard] == [entry.call.args] * 2


@pytest.mark.parametrize("wrong", [{"txt": SECRET}, {"text": SECRET, "mode": "x"}])
async def test_also_not_when_the_call_is_wrong(wrong: dict[str, object]) -> None:
    assert SECRET not in await run(world(), PERSON, **wrong)


async def test_an_agents_text_is_kept() -> None:
    here = world()
    await run(here, AGENT, text=SECRET)
    assert here.journal.recorded[0].call.args == {"text": SECRET}
