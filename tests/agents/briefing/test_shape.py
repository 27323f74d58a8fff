"""Schemas from outside as structs: what they check, what they let pass, and that nothing breaks them."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.agents.briefing.shape import struct_of
from fourhands.core import schema
from fourhands.core.errors import BadArgument

DECK = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "Where."},
        "slide": {"type": "integer", "minimum": 1, "maximum": 99},
        "ratio": {"type": "number", "exclusiveMinimum": 0, "minimum": 5},
        "theme": {"enum": ["dark", "light"]},
        "loop": {"type": "boolean"},
        "note": {"type": ["string", "null"]},
        "size": {"type": ["integer", "string"]},
        "marks": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        "rest": {"type": "object"},
        "from": {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]},
        "foo-bar": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}]},
        "any": True,
    },
    "required": ["path"],
}

GOOD: list[dict[str, Any]] = [
    {"path": "a"},
    {"path": "ü", "slide": 99, "ratio": 0.5, "theme": "dark", "loop": False, "note": None, "size": "big", "marks": []},
    {"path": "a", "size": 3, "rest": {"x": [1]}, "from": {"line": 1}, "foo-bar": 5, "any": [None]},
    {"path": "a", "slide": None},  # as if it were left out
]
BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "missing argument path"),
    ({"path": 1}, "argument 'path' must be text"),
    ({"path": ""}, "argument 'path' must be text of at least 1 character"),
    ({"path": "a", "slide": 0}, "argument 'slide' must be a whole number"),
    ({"path": "a", "slide": "1"}, "argument 'slide' must be a whole number"),
    ({"path": "a", "ratio": 0}, "argument 'ratio' must be a number above 0"),
    ({"path": "a", "theme": "drak"}, 'argument \'theme\' must be one of "dark", "light"'),
    ({"path": "a", "loop": 1}, "argument 'loop' must be true or false"),
    ({"path": "a", "size": []}, "argument 'size' must be"),
    ({"path": "a", "marks": [1, 2, 3]}, "argument 'marks' must be"),
    ({"path": "a", "marks": ["1"]}, "argument 'marks"),
    ({"path": "a", "rest": 5}, "argument 'rest' must be"),
    ({"path": "a", "from": {}}, "missing argument line"),
    ({"path": "a", "from": {"line": 1, "column": 2}}, 'no argument "column"'),
    ({"path": "a", "slides": 5}, 'no argument "slides"'),
]


def test_arguments_are_checked_by_what_the_schema_says_and_errors_teach():
    made = struct_of("Deck", DECK)
    for args in GOOD:
        schema.decode(args, made)
    for args, problem in BAD:
        with pytest.raises(BadArgument) as caught:
            schema.decode(args, made)
        assert caught.value.message.startswith(problem), args
    first = schema.describe(made)[0]
    assert (first.name, first.required, first.description) == ("path", True, "Where.")


def test_without_a_schema_or_where_it_says_so_more_arguments_pass():
    wide = {"properties": {"n": {"type": "integer"}}, "additionalProperties": True}
    for given_schema in (None, {}, {"type": "object"}, {"type": "object", "properties": {}}, wide):
        assert schema.decode({"x": 1}, struct_of("Any", given_schema)) is not None
    with pytest.raises(BadArgument, match="'n'"):
        schema.decode({"x": 1, "n": "no"}, struct_of("Any", wide))
    with pytest.raises(BadArgument):
        schema.decode({"x": 1}, struct_of("None", {"properties": {}, "additionalProperties": False}))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "odd"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, max_size=3) | VALUES,
            "enum": st.lists(VALUES, max_size=3) | VALUES,
            "minimum": VALUES,
            "exclusiveMaximum": VALUES,
            "minLength": VALUES,
            "maxItems": VALUES,
            "description": VALUES,
            "additionalProperties": VALUES,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array", ["object", "array"]])},
        optional={"properties": st.dictionaries(st.text(max_size=6), inner, max_size=3), "items": inner},
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=6), SCHEMAS, max_size=4), st.lists(st.text(max_size=6), max_size=2), VALUES)
def test_no_schema_does_harm(properties, required, value):
    try:
        made = struct_of("Wild", {"properties": properties, "required": required})
    except BadArgument:
        return
    schema.schema(made)
    args = dict.fromkeys([*properties, *required], value)
    with contextlib.suppress(BadArgument):
        schema.decode(args, made)
