import enum
from contextlib import suppress
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta, Struct, field

from fourhands.core.errors import BadArgument
from fourhands.core.schema import Argument, decode, describe, schema, show


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Range(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    start_line: Annotated[int, Meta(ge=1, description="Counted from 1.")]
    end_line: int


class One(Struct, frozen=True, tag="one", forbid_unknown_fields=True):
    a: int


class Two(Struct, frozen=True, tag="two", forbid_unknown_fields=True):
    b: int


class Tree(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    children: "list[Tree]" = []


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Arguments of all sorts."""

    path: Annotated[str, Meta(min_length=1, description="A file of the workspace.")]
    type: Literal["editor", "terminal"] = "editor"
    ranges: list[Range] = []
    line: Annotated[int, Meta(ge=1, description="Where to look.")] | None = None
    env: dict[str, str | None] = {}
    scale: Annotated[float, Meta(gt=0, lt=10)] = 1.5
    share: Annotated[int, Meta(ge=0, le=100)] = 50
    few: Annotated[int, Meta(lt=3)] = 1
    most: Annotated[int, Meta(le=3)] = 1
    above: Annotated[int, Meta(gt=3)] = 4
    colour: Colour = Colour.RED
    either: One | Two | None = None
    loud: bool = False
    anything: object = None
    tags: Annotated[list[str], Meta(max_length=3)] = []
    code: Annotated[str, Meta(pattern="^[a-z]+$")] = "a"
    timeout_s: float = field(default=1.0, name="timeoutSeconds")
    raw: bytes = b""


def test_the_schema_has_its_root_inlined_and_its_descriptions():
    found = schema(Args)
    assert found["type"] == "object"
    assert found["required"] == ["path"]
    assert found["additionalProperties"] is False
    properties = found["properties"]
    assert isinstance(properties, dict)
    assert properties["path"]["description"] == "A file of the workspace."
    assert "timeoutSeconds" in properties
    definitions = found["$defs"]
    assert isinstance(definitions, dict)
    assert "Range" in definitions
    assert "Args" not in definitions


def test_a_type_that_holds_itself_keeps_its_definition():
    found = schema(Tree)
    assert found["type"] == "object"
    assert "Tree" in str(found["$defs"])
    assert describe(Tree)[1].type.count("object") == 5


def test_no_arguments_is_an_empty_closed_object():
    assert schema(None) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert describe(None) == ()


def test_arguments_are_described_in_words():
    found = {argument.name: argument for argument in describe(Args)}
    assert describe(Args)[0].name == "path"
    assert found["path"] == Argument("path", "text of at least 1 character", True, "A file of the workspace.", None)
    assert found["line"] == Argument("line", "whole number from 1", False, "Where to look.", None)
    assert found["type"].type == 'one of "editor", "terminal"'
    assert found["colour"].type == 'one of "red", "blue"'
    assert found["ranges"].type == "list of object {startLine: whole number from 1, endLine: whole number}"
    assert found["ranges"].default == []
    assert found["env"].type == "object of names and (text or null)"
    assert found["scale"].type == "number between 0 and 10"
    assert found["share"].type == "whole number from 0 to 100"
    assert (found["few"].type, found["most"].type) == ("whole number below 3", "whole number up to 3")
    assert found["above"].type == "whole number above 3"
    assert found["either"].type == 'object {type: "one", a: whole number} or object {type: "two", b: whole number}'
    assert (found["loud"].type, found["anything"].type) == ("true or false", "anything")
    assert found["tags"].type == "list of texts of 0 to 3 items"
    assert found["code"].type == "text matching ^[a-z]+$"
    assert found["raw"].type == "bytes"


def test_good_arguments_are_decoded():
    args = decode({"path": "a.py", "ranges": [{"startLine": 1, "endLine": 2}], "timeoutSeconds": 2}, Args)
    assert args.ranges == [Range(1, 2)]
    assert args.timeout_s == 2.0


BAD: list[tuple[dict[str, object], str, str]] = [
    ({}, "missing argument path", "give path: text"),
    ({"pth": "a"}, 'no argument "pth"', "did you mean 'path'? accepted: path, type"),
    ({"path": 3}, "argument 'path' must be text of at least 1 character, not 3", "A file of the workspace."),
    ({"path": ""}, 'not ""', "A file"),
    ({"path": "a", "line": "7"}, "argument 'line' must be a whole number from 1 or null, not \"7\"", "Where to look."),
    ({"path": "a", "line": True}, "not true", ""),
    ({"path": "a", "share": 101}, "must be a whole number from 0 to 100, not 101", ""),
    ({"path": "a", "type": "edtor"}, 'must be one of "editor", "terminal", not "edtor"', "did you mean 'editor'?"),
    ({"path": "a", "type": 3}, "not 3", "accepted: editor, terminal"),
    ({"path": "a", "colour": "rde"}, 'not "rde"', "did you mean 'red'? accepted: red, blue"),
    ({"path": "a", "ranges": "x"}, "must be a list of object", ""),
    ({"path": "a", "ranges": [{"startLine": 0, "endLine": 1}]}, "'ranges[0].startLine' must", "Counted from 1."),
    ({"path": "a", "ranges": [{"startLine": 1}]}, "missing argument endLine in 'ranges[0]'", "endLine: whole number"),
    (
        {"path": "a", "ranges": [{"startLine": 1, "endLine": 1, "stratLine": 1}]},
        "no argument \"stratLine\" in 'ranges[0]'",
        "did you mean 'startLine'?",
    ),
    ({"path": "a", "env": {"A": 1}}, "argument 'env[...]' must be text or null", ""),
    ({"path": "a", "either": {"type": "three"}}, "Invalid value 'three'", ""),
    ({"path": "a", "either": {}}, "missing argument type in 'either'", ""),
    ({"path": "a", "loud": "yes"}, 'must be true or false, not "yes"', ""),
    ({"path": "x" * 1000, "share": "y" * 1000}, "yyy…", ""),
]


@pytest.mark.parametrize(("args", "message", "hint"), BAD)
def test_an_error_names_the_bad_value_and_what_is_accepted(args: dict[str, object], message: str, hint: str):
    with pytest.raises(BadArgument) as caught:
        decode(args, Args)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert len(caught.value.message) < 500


def test_deep_nesting_is_a_bad_argument():
    deep: dict[str, object] = {"name": "x"}
    for _ in range(100_000):
        deep = {"name": "x", "children": [deep]}
    with pytest.raises(BadArgument):
        decode(deep, Tree)


def test_a_shown_value_is_short_whatever_it_is():
    cycle: list[object] = []
    cycle.append(cycle)
    for value in ("x" * 10_000, cycle, object(), "\ud800", 10**50, {1: {2: 3}}):
        assert len(show(value)) <= 80


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from([argument.name for argument in describe(Args)]) | st.text(max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(names, json_values, max_size=5))
def test_no_arguments_raise_anything_but_a_bad_argument(args: dict[str, object]):
    with suppress(BadArgument):
        assert isinstance(decode(args, Args), Args)
