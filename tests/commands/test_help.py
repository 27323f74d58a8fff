import asyncio
from types import SimpleNamespace
from typing import Annotated, Any, Literal, cast

import pytest
from msgspec import Meta, Struct

from fourhands.commands.help import ExplainCommand, block, example_of, explain, first_sentence, help_command, line
from fourhands.core.call import Actor, Call
from fourhands.core.errors import NotFound
from fourhands.core.registry import Command, Contribution, Registry

things = Contribution("openspace.thing")


class Sing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    song: Annotated[str, Meta(description="Which one.")]
    how_loud: Annotated[int, Meta(ge=3, le=9)]
    voice: Literal["alto", "bass"]
    twice: bool = False
    key: str | None = None


class Odd(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    code: Annotated[str, Meta(pattern="^[0-9]{4}$")]


class Sung(Struct, frozen=True, kw_only=True, rename="camel"):
    heard_by: int


@things.add("sing")
async def sing(bench: object, args: Sing) -> Sung:
    """Sing a song, e.g. a hymn. Everybody hears it.

    More about it.
    """
    return Sung(heard_by=0)


@things.add("unlock", actors=("person",))
async def unlock(bench: object, args: Odd) -> None:
    """Open the door."""


@things.add("look", example={})
async def look(bench: object) -> None:
    """Look around."""


@pytest.fixture
def registry():
    made = Registry()
    made.include(things)
    return made


def command(registry: Registry, verb: str) -> Command:
    return registry.get(f"openspace.thing.{verb}")


def test_a_command_is_explained_with_arguments_in_words_and_an_example(registry: Registry):
    assert explain(command(registry, "sing")).splitlines() == [
        "#### openspace.thing.sing",
        "Sing a song, e.g. a hymn. Everybody hears it.",
        "",
        "More about it.",
        "- song (text, required): Which one.",
        "- howLoud (whole number from 3 to 9, required)",
        '- voice (one of "alto", "bass", required)',
        "- twice (true or false, default false)",
        "- key (text, optional)",
        "Returns: heardBy",
        'Example: %%OS{"cmd":"openspace.thing.sing","args":{"song":"…","howLoud":3,"voice":"alto"}}%%',
    ]


def test_the_short_form_has_the_names_and_the_first_sentence(registry: Registry):
    short = "- openspace.thing.sing(song, howLoud, voice, twice?, key?): Sing a song, e.g. a hymn."
    assert line(command(registry, "sing")) == short
    assert first_sentence("One\nsentence") == "One sentence"


def test_an_example_is_made_only_where_it_is_valid(registry: Registry):
    assert example_of(command(registry, "unlock")) is None
    assert "Example" not in explain(command(registry, "unlock"))
    assert example_of(command(registry, "look")) == {}


def test_a_block_is_strict_json_on_one_line():
    assert block("openspace.a.b", {"text": 'a"\n%%'}) == '%%OS{"cmd":"openspace.a.b","args":{"text":"a\\"\\n%%"}}%%'


def ask(registry: Registry, actor: Actor, id: str | None = None) -> str:
    bench = cast(Any, SimpleNamespace(registry=registry))
    call = Call(command="openspace.agent.help", actor=actor)
    return asyncio.run(help_command(bench, ExplainCommand(command=id), call)).text


def test_help_lists_what_the_asker_may_use(registry: Registry):
    agent, person = Actor.agent("s"), Actor.person()
    assert "openspace.thing.unlock" not in ask(registry, agent)
    assert "openspace.thing.unlock" in ask(registry, person)
    assert ask(registry, agent, "openspace.thing.sing") == explain(command(registry, "sing"))
    assert ask(registry, agent, "openspace.thing.unlock").endswith("Not for you: only a person may use it.")
    with pytest.raises(NotFound, match=r"openspace\.thing\.sing"):
        ask(registry, agent, "openspace.thing.sin")
