from datetime import UTC, datetime
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct
from tests.kit.gate import Do, Done, thing

from fourhands.core import schema
from fourhands.core.call import Actor, Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument, Conflict, NotFound
from fourhands.core.registry import Command, Contribution, Registry


class Open(Struct, frozen=True, forbid_unknown_fields=True):
    path: str


class Loose(Struct, frozen=True):
    path: str


def contribution(verb: str = "open", prefix: str = "openspace.editor") -> Contribution:
    made = Contribution(prefix)

    @made.add(verb, read_only=True, key="ctrl+o")
    async def open_(bench: object, args: Open) -> None:
        """Open a file beside the others."""

    return made


def test_a_command_is_all_in_its_declaration():
    registry = Registry()
    registry.include(contribution())
    command = registry.get("openspace.editor.open")
    assert command.description == "Open a file beside the others."
    assert (command.label, command.category) == ("Editor: open", "editor")
    assert command.args_type is Open
    assert command.result_type is None
    assert command.actors == ("person", "agent")


def test_annotations_in_quotes_and_further_parameters_are_understood():
    registry = Registry()
    registry.include(thing)
    command = registry.get("openspace.thing.do")
    assert (command.args_type, command.result_type) == (Do, Done)
    assert command.extras == (Call, Effects)
    assert registry.get("openspace.thing.look").args_type is None


def test_the_manifest_tells_all_and_its_version_follows_the_set():
    registry = Registry(now=lambda: datetime(2026, 1, 2, tzinfo=UTC))
    empty = registry.version
    dispose = registry.include(contribution())
    manifest = registry.manifest()
    assert manifest["lastUpdated"] == "2026-01-02T00:00:00+00:00"
    assert manifest["version"] == registry.version != empty
    [entry] = msgspec.convert(manifest["commands"], list[dict[str, object]])
    assert entry["id"] == "openspace.editor.open"
    assert entry["name"] == entry["label"] == "Editor: open"
    assert entry["category"] == "editor"
    assert entry["arguments_schema"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    assert str(entry["handler"]).endswith("open_")
    assert (entry["key"], entry["danger"], entry["readOnly"]) == ("ctrl+o", False, True)
    assert entry["actors"] == ["person", "agent"]
    dispose()
    assert registry.version == empty


def test_a_command_added_at_run_time_is_announced_and_appears():
    registry = Registry()
    seen: list[int] = []
    unsubscribe = registry.changed.subscribe(lambda changed: seen.append(len(changed)))
    dispose = registry.include(contribution())
    assert "openspace.editor.open" in registry
    dispose()
    dispose()
    unsubscribe()
    registry.include(contribution())
    assert seen == [1, 0]


def test_an_id_taken_twice_is_an_error_and_nothing_is_added():
    registry = Registry()
    registry.include(contribution())
    more = contribution("close")
    more.commands += contribution().commands
    with pytest.raises(Conflict, match=r"openspace\.editor\.open exists already"):
        registry.include(more)
    assert len(registry) == 1
    twice = contribution("close")
    twice.commands += contribution("close").commands
    with pytest.raises(Conflict, match="close"):
        registry.include(twice)
    assert "openspace.editor.close" not in registry


def test_a_disposer_takes_only_what_it_brought():
    registry = Registry()
    first = registry.include(contribution())
    first()
    command = contribution().commands[0]
    registry.add(command)
    first()
    assert registry.get(command.id) is command


def test_an_unknown_id_names_the_nearest():
    registry = Registry()
    registry.include(contribution())
    with pytest.raises(NotFound) as caught:
        registry.get("openspace.editor.opn")
    assert "did you mean 'openspace.editor.open'" in caught.value.hint
    with pytest.raises(NotFound) as caught:
        registry.get("x" * 100_000)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("prefix", "verb"),
    [("other.thing", "do"), ("openspace", "do"), ("openspace.thing", "Do"), ("openspace.thing", "do it"), ("", "")],
)
def test_ids_have_one_form(prefix: str, verb: str):
    with pytest.raises(ValueError, match=r"openspace\.noun\.verb"):
        Contribution(prefix).add(verb)


def test_mistakes_in_a_declaration_are_errors_at_once():
    made = Contribution("openspace.thing")

    async def undocumented(bench: object) -> None: ...

    async def loose(bench: object, args: Loose) -> None:
        """Doc."""

    async def strange(bench: object, args: Open, number: int) -> None:
        """Doc."""

    async def unreadable(bench: object, args: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
        """Doc."""

    async def lonely() -> None:
        """Doc."""

    def plain(bench: object) -> None:
        """Doc."""

    async def twice(bench: object, args: Open, *, line: int) -> None:
        """Doc."""

    async def untyped(bench: object, *, line) -> None:
        """Doc."""

    with pytest.raises(ValueError, match="docstring"):
        made.add("a")(undocumented)
    with pytest.raises(TypeError, match="must forbid unknown fields"):
        made.add("a")(loose)
    with pytest.raises(TypeError, match="cannot give parameter 'number'"):
        made.add("a")(strange)
    with pytest.raises(TypeError, match="'Nowhere' cannot be read"):
        made.add("a")(unreadable)
    with pytest.raises(TypeError, match="first parameter"):
        made.add("a")(lonely)
    with pytest.raises(TypeError, match="async"):
        made.add("a")(plain)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="not as both"):
        made.add("a")(twice)
    with pytest.raises(TypeError, match="'line' needs a type"):
        made.add("a")(untyped)
    assert made.commands == []


async def test_arguments_may_be_declared_by_the_parameters_alone():
    given: list[object] = []
    made = Contribution("openspace.thing")

    @made.add("jump_to", example={"startLine": 3})
    async def jump(
        bench: object,
        call: Call,
        *,
        start_line: Annotated[int, Meta(ge=1, description="Line, from 1.")],
        path: "str | None" = None,
    ) -> None:
        """Doc."""
        given.extend([bench, call, start_line, path])

    [command] = made.commands
    assert command.args_type is not None
    assert command.describe()["arguments_schema"] == {
        "description": "Arguments of `openspace.thing.jump_to`.",
        "type": "object",
        "properties": {
            "startLine": {"type": "integer", "minimum": 1, "description": "Line, from 1."},
            "path": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["startLine"],
        "additionalProperties": False,
    }
    for wrong in ({"startLine": 0}, {"start_line": 1}, {"startLine": 1, "more": 1}, {}):
        with pytest.raises(BadArgument):
            schema.decode(wrong, command.args_type)
    call = Call(command=command.id, actor=Actor.person())

    async def keep(path: str, content: bytes | None) -> None: ...

    await command.invoke("bench", schema.decode({"startLine": 7}, command.args_type), call, Effects(keep))
    assert given == ["bench", call, 7, None]


def test_an_example_must_fit_its_command():
    made = Contribution("openspace.thing")

    async def takes(bench: object, args: Open) -> None:
        """Doc."""

    async def takes_none(bench: object) -> None:
        """Doc."""

    with pytest.raises(BadArgument):
        made.add("a", example={"pat": "x"})(takes)
    with pytest.raises(ValueError, match="takes none"):
        made.add("b", example={"pat": "x"})(takes_none)
    made.add("c", example={})(takes_none)
    assert [command.example for command in made.commands] == [{}]


async def test_a_handler_gets_exactly_what_it_declares():
    given: list[object] = []
    made = Contribution("openspace.thing")

    @made.add("a")
    async def only_effects(bench: object, effects: Effects) -> None:
        """Doc."""
        given.extend([bench, effects])

    async def keep(path: str, content: bytes | None) -> None: ...

    effects = Effects(keep)
    command: Command = made.commands[0]
    await command.invoke("bench", None, Call(command="x", actor=Actor.person()), effects)
    assert given == ["bench", effects]


def test_an_agent_is_not_pointed_to_a_command_of_the_person():
    made = Contribution("openspace.thing")

    @made.add("close", actors=("person",))
    async def close(bench: object) -> None:
        """Doc."""

    registry = Registry()
    registry.include(made)
    with pytest.raises(NotFound) as person:
        registry.get("openspace.thing.clos", "person")
    assert "openspace.thing.close" in person.value.hint
    with pytest.raises(NotFound) as agent:
        registry.get("openspace.thing.clos", "agent")
    assert "openspace.thing.close" not in agent.value.hint


def test_what_only_reads_needs_to_see_and_the_rest_what_its_noun_needs():
    made = Contribution("openspace.thing", scope="write")

    async def handler(bench: object) -> None:
        """Doc."""

    made.add("look", read_only=True)(handler)
    made.add("make")(handler)
    made.add("run", scope="run")(handler)
    assert [command.scope for command in made.commands] == ["see", "write", "run"]
    assert Contribution("openspace.other").scope == "run", "what names none needs the widest"
