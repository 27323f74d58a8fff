import pytest

from fourhands.core.errors import BadArgument
from fourhands.workbench.layout.colour import NAMES, colour


def test_all_names_of_css_are_known():
    assert len(NAMES) == 148
    assert all(colour(name) == name for name in NAMES)


@pytest.mark.parametrize("value", ["#fff", "#fff8", "#a1b2c3", "#A1B2C3D4", "RebeccaPurple", "grey", "gray"])
def test_names_and_hex_values_are_accepted_in_any_case(value):
    assert colour(value) == value.lower()


@pytest.mark.parametrize(
    "value",
    [
        "", "#", "#ff", "#fffff", "#fffffff", "#fffffffff", "#ggg", "fff", "rgb(1,2,3)", "var(--x)", "transparent",
        "inherit", "currentcolor", "red;", "red }", "red\n", "#fff\n", "url(x)", " red", "#ｆｆｆ", "x" * 100_000,
        None, 5, ["red"], b"red",
    ],
)  # fmt: skip
def test_everything_else_is_refused_and_named(value):
    with pytest.raises(BadArgument, match="no colour") as caught:
        colour(value)
    assert "#rrggbb" in caught.value.hint
    assert len(str(caught.value)) < 300


def test_the_nearest_name_is_offered():
    with pytest.raises(BadArgument, match="did you mean 'lightblue'"):
        colour("light-blu")
