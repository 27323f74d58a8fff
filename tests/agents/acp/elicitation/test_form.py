"""Schemas of elicitations as forms: what is taken, what is refused and why, and what a person may fill in."""

from typing import Any

import pytest
from acp import schema
from hypothesis import given
from hypothesis import strategies as some
from pydantic import TypeAdapter

from fourhands.agents.acp.elicitation.form import LARGEST_BYTES, MOST_CHOICES, MOST_FIELDS, read_form, schema_of
from fourhands.agents.acp.elicitation.link import read_link
from fourhands.agents.acp.elicitation.values import LONGEST_TEXT, fitting
from fourhands.core.errors import BadArgument
from fourhands.core.form import FieldChoice, FormField

NAMED = {"const": "a", "title": "The first", "description": "one"}
WHOLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 5, "pattern": "^[A-Z]"},
        "mail": {"type": "string", "format": "email", "default": "ann@example.org"},
        "site": {"type": "string", "format": "uri"},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "size": {"type": "number", "minimum": 0.5, "maximum": 2},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "sure": {"type": "boolean", "default": True},
        "plain": {"type": "string", "enum": ["x", "y", "x"]},
        "titled": {"type": "string", "oneOf": [NAMED, {"const": "b", "title": ""}], "default": "b"},
        "some": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}, "minItems": 1, "maxItems": 2},
        "titled some": {"type": "array", "items": {"anyOf": [NAMED]}, "default": ["a", "nope", 7]},
    },
    "required": ["name", "some"],
}


def form(required: bool = False, /, **spec: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"f": spec}, "required": ["f"] if required else []}


def test_every_kind_of_field_is_read_and_told_again_as_it_was() -> None:
    fields = read_form(WHOLE)
    by_name = {field.name: field for field in fields}
    assert [field.kind for field in fields] == [
        *("text", "text", "text", "text", "text", "number", "integer", "boolean"),
        *("choice", "choice", "choices", "choices"),
    ]
    assert by_name["name"] == FormField(
        name="name", kind="text", title="Your name", required=True, least=2, most=5, pattern="^[A-Z]"
    )
    assert by_name["plain"].choices == (FieldChoice(value="x", title="x"), FieldChoice(value="y", title="y"))
    assert by_name["titled"].choices[0] == FieldChoice(value="a", title="The first", description="one")
    assert (by_name["titled"].choices[1].title, by_name["titled"].default) == ("b", "b")
    assert (by_name["titled some"].default, by_name["sure"].default, by_name["count"].default) == (["a"], True, 3)
    assert read_form(schema_of(fields)) == fields
    TypeAdapter(schema.ElicitationSchema).validate_python(schema_of(fields))
    assert read_form({}) == read_form({"properties": None, "required": None}) == ()


BAD: list[tuple[Any, str]] = [
    (None, "requestedSchema is an object"),
    ([], "requestedSchema is an object"),
    ({"type": "array"}, "not 'array'"),
    ({"properties": [1]}, "properties is an object"),
    ({"properties": {"a": "string"}}, "field 'a' is an object"),
    ({"properties": {"": {"type": "string"}}}, "1 to 200 characters"),
    ({"properties": {"n" * 201: {"type": "string"}}}, "1 to 200 characters"),
    ({"properties": {f"f{n}": {"type": "string"} for n in range(MOST_FIELDS + 1)}}, "the form has 101 fields"),
    ({"properties": {str(n): {"type": "string"} for n in range(10_000)}}, "too large"),
    ({"properties": {"a": {"type": "string", "title": "x" * LARGEST_BYTES}}}, "too large"),
    ({"required": "a"}, "required is a list"),
    ({"required": [1]}, "required is a list"),
    ({"required": ["a"]}, "required names 'a'"),
    (form(type="object", properties={}), "field 'f' has the type 'object'.*types: string, number"),
    (form(type=["string", "null"]), "has the type"),
    (form(), "has the type None"),
    (form(True, type="_slider"), "has the type '_slider'"),
    (form(type="string", enum=[]), "needs its choices"),
    (form(type="string", enum="a"), "needs its choices"),
    (form(type="string", enum=[1]), "a choice that is no text"),
    (form(type="string", oneOf=[{"title": "a"}]), "a choice that is no text"),
    (form(type="string", enum=[str(n) for n in range(MOST_CHOICES + 1)]), "has 501 choices"),
    (form(type="array"), "items of field 'f' is an object"),
    (form(type="array", items={"type": "string"}), "needs its choices"),
    (form(type="string", minLength="2"), "minLength of field 'f' is a whole number"),
    (form(type="string", minLength=-1), "minLength"),
    (form(type="integer", minimum=1.5), "minimum of field 'f' is a whole number"),
    (form(type="number", minimum=True), "minimum of field 'f' is a number"),
    (form(type="number", minimum=10**400), "minimum of field 'f' is a number"),
    (form(type="number", minimum=3, maximum=2), "no value fits field 'f': minimum is 3, maximum is 2"),
]


@pytest.mark.parametrize(("schema", "words"), BAD)
def test_a_schema_that_is_no_form_is_refused_with_what_is_wrong(schema: Any, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        read_form(schema)


def test_a_schema_nested_too_deep_is_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(BadArgument, match="cannot be read"):
        read_form({"properties": {"a": {"type": "string", "_meta": deep}}})


def test_what_is_odd_but_harmless_is_left_out() -> None:
    assert read_form(form(type="_slider", range=[1, 2])) == ()
    (field,) = read_form(form(type="string", title=7, format="hostname", pattern="(?=a)b", default=5))
    assert field == FormField(name="f", kind="text", title="f")
    assert read_form(form(type="integer", default=1.5))[0].default is None
    assert read_form(form(type="boolean", default="yes"))[0].default is None
    assert read_form(form(type="string", enum=["a"], default="b"))[0].default is None
    assert read_form(form(type="string", title="a\u202eb"))[0].title == "a<U+202E>b"


@pytest.mark.parametrize(
    "spec",
    [
        {"title": "Password"},
        {"description": "your API key"},
        {"title": "PIN"},
        {"format": "password"},
        {"_meta": {"codex": {"isSecret": True}}},
    ],
)
def test_a_field_that_seems_to_ask_for_a_secret_is_known_as_one(spec: dict[str, Any]) -> None:
    assert read_form(form(type="string", **spec))[0].secret
    assert not read_form(form(type="string", title="Opinion", description="on spinning"))[0].secret
    assert not read_form(form(type="integer", title="Tokens"))[0].secret


def test_a_secret_by_the_field_s_own_name() -> None:
    assert read_form({"properties": {"github_token": {"type": "string"}}})[0].secret


GOOD: dict[str, Any] = {"name": "Ann", "some": ["x"]}


def test_what_fits_goes_to_the_agent_and_what_is_empty_does_not() -> None:
    fields = read_form(WHOLE)
    more: dict[str, Any] = {
        "size": 1,
        "count": 2.0,
        "sure": False,
        "titled": "a",
        "site": "x:y",
        "day": "2026-02-28",
        "mail": "",
    }
    found = fitting(fields, {**GOOD, **more, "at": "2026-02-28T10:00:00Z", "titled some": []})
    del more["mail"]
    assert found == {**GOOD, **more, "at": "2026-02-28T10:00:00Z"}
    assert isinstance(found["count"], int)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nope", 1, "the form has no field 'nope'"),
        ("name", "", "Your name has to be filled in"),
        ("name", None, "has to be filled in"),
        ("name", "A", "needs at least 2 characters"),
        ("name", "Annabel", "has at most 5 characters"),
        ("name", "ann", "has to match"),
        ("name", 7, "is a text"),
        ("mail", "nobody", "an address such as ann@"),
        ("site", "not an address", "an address such as https"),
        ("day", "2026-02-30", "a date such as"),
        ("day", "20260228", "a date such as"),
        ("at", "2026-02-28T10:00:00", "with its zone"),
        ("size", 0.4, "at least 0.5"),
        ("size", 3, "at most 2"),
        ("size", True, "is a number"),
        ("size", float("nan"), "is a number"),
        ("size", 10**400, "is a number"),
        ("size", "1", "is a number"),
        ("count", 1.5, "whole number"),
        ("sure", 1, "true or false"),
        ("plain", "z", "is one of x, y"),
        ("plain", ["x"], "is one of"),
        ("some", [], "at least 1 choice$"),
        ("some", ["x", "y", "z"], "at most 2 choices"),
        ("some", ["x", "x"], "is a list of some of"),
        ("some", "x", "is a list of some of"),
        ("some", ["q"], "is a list of some of x, y, z"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_field(name: str, value: Any, words: str) -> None:
    with pytest.raises(BadArgument, match=words) as caught:
        fitting(read_form(WHOLE), {**GOOD, name: value})
    assert caught.value.data["field"] == name


def test_a_text_has_a_limit_of_ours_too() -> None:
    with pytest.raises(BadArgument, match="100,001 characters"):
        fitting(read_form(form(type="string")), {"f": "x" * (LONGEST_TEXT + 1)})


_JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | some.floats() | some.text(max_size=4),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_TYPES = some.sampled_from(["string", "number", "integer", "boolean", "array", "_x", 7])
_MEMBERS = ("title", "enum", "oneOf", "items", "minLength", "maximum", "minItems", "pattern", "format", "default")
_SPEC = some.fixed_dictionaries({"type": _TYPES}, optional=dict.fromkeys(_MEMBERS, _JSON))


@given(some.dictionaries(some.text(max_size=3), _SPEC | _JSON, max_size=3), _JSON)
def test_whatever_comes_is_a_form_or_a_refusal(properties: Any, required: Any) -> None:
    try:
        fields = read_form({"properties": properties, "required": required})
    except BadArgument:
        return
    assert read_form(schema_of(fields)) == fields


@given(some.dictionaries(some.sampled_from([*WHOLE["properties"]]), _JSON, max_size=4))
def test_whatever_is_filled_in_fits_or_is_refused(values: Any) -> None:
    try:
        found = fitting(read_form(WHOLE), {**GOOD, **values})
    except BadArgument:
        return
    assert fitting(read_form(WHOLE), found) == found


@pytest.mark.parametrize(
    ("url", "host", "warnings"),
    [
        ("https://github.com/login?state=1#x", "github.com", []),
        ("HTTPS://GitHub.com:8443/@x", "github.com:8443", []),
        ("http://example.org/", "example.org", ["not encrypted"]),
        ("http://127.0.0.1:3000/cb", "127.0.0.1:3000", ["your own machine"]),
        ("http://[::1]:3000/", "[::1]:3000", ["your own machine"]),
        ("http://localhost:1/", "localhost:1", ["your own machine"]),
        ("https://10.0.0.1/", "10.0.0.1", ["your own network"]),
        ("https://router/", "router", ["your own network"]),
        ("https://nas.local/", "nas.local", ["your own network"]),
        ("https://1.1.1.1/", "1.1.1.1", ["is a number"]),
        ("https://xn--pypal-4ve.com/", "xn--pypal-4ve.com", ["Punycode"]),
    ],
)
def test_a_link_has_its_host_and_what_is_odd_about_it(url: str, host: str, warnings: list[str]) -> None:
    link = read_link(url)
    assert (link.url, link.host, len(link.warnings)) == (url, host, len(warnings))
    assert all(word in told for word, told in zip(warnings, link.warnings, strict=True))


@pytest.mark.parametrize(
    "url",
    [
        *(None, 7, "", "x" * 9000, "github.com", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd"),
        *("https://", "https:evil.org", "https:///evil.org", "https://github.com\\@evil.org/", "https://a b/"),
        *("https://github.com@evil.org/", "https://user:pass@evil.org/", "https://gıthub.com/", "https://x.org/\n"),
        *("https://%67ithub.com/", "http://2130706433/", "http://0x7f.1/", "http://127.1/", "https://x.org:99999/"),
        *("https://[::1", "https://x.org/\u202ecod.exe", "//x.org/", "https://a..b/"),
    ],
)
def test_an_address_that_browsers_may_read_otherwise_is_refused(url: Any) -> None:
    with pytest.raises(BadArgument):
        read_link(url)
