"""Patterns that others give: linear, bounded in what they cost, and refused in words when they are not."""

import random

import pytest

from fourhands.core.errors import BadArgument
from fourhands.safety.regex import MOST_STEPS, Patterns, compile_pattern
from fourhands.safety.shell import ClassifierRules, classify

# Patterns that send a backtracking engine into exponential time, or that grow when they are compiled.
HOSTILE = [
    *("(a*)*b", "(a|a)*b", "(a|aa)+$", "(a+)+$", "([a-zA-Z]+)+$", "(x+x+)+y", "(.*)(.*)(.*)(.*)(.*)y$", "(a|b|ab)*c"),
    *("(?:a?){300}a{300}b", "[ab]{500}c[ab]{400}$", "a[ab]{200}c", "(a.{5}){20}x", "(?s).*a.{100}$", "[^a]{0,100}b"),
    *("(?i)(?:straße|ſ|k){60}x", r"(\w{0,100}\s?){2}Z", r"^(\s*\S+\s*)*;$", "(?:(?:a{0,9}){0,9})*b", r"\pL+\d"),
]
random.seed(4)
TEXTS = [
    "a" * 20_000,
    "ab" * 10_000,
    "".join(random.choice("ab") for _ in range(20_000)),
    "a;" * 5_000,
    "a b " * 5_000,
    "é日a" * 6_000,
    "x" * 19_999 + "\ud800",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_patterns_end_on_hostile_texts(pattern: str) -> None:
    patterns = Patterns((pattern, "deploy$"))
    for text in TEXTS:
        assert patterns.found_in(text) in ("", pattern)
        assert patterns.found_in(f"{text} deploy")
    rules = ClassifierRules(dangerous_commands=(pattern, "^deploy"))
    assert classify("a 'b' ab;" * 300 + "deploy x", rules).level == "dangerous"


@pytest.mark.parametrize("pattern", ["(a?){1000}a{1000}b", "(?:a?b?c?){1000}d", "(a{0,30}){0,30}b", ".{1000}x"])
def test_patterns_that_grow_too_much_are_refused(pattern: str) -> None:
    with pytest.raises(BadArgument, match=f"too complex: .* the limit is {MOST_STEPS}"):
        compile_pattern(pattern)
    with pytest.raises(BadArgument, match=r"dangerousCommands: .*repeat less"):
        ClassifierRules(dangerous_commands=(pattern,))


@pytest.mark.parametrize("pattern", ["(", "a{1001}", r"(a)\1", "(?=a)", "[z-a]", "*", "\\", "a" * 5000, "", 3])
def test_what_is_no_pattern_is_named(pattern: str) -> None:
    with pytest.raises(BadArgument):
        compile_pattern(pattern)


def test_of_several_patterns_the_first_that_is_found_is_named() -> None:
    patterns = Patterns(["^deploy", "(?i)PROD$", r"a|b\b"])
    assert patterns.found_in("deploy prod") == "^deploy"
    assert patterns.found_in("x Prod") == "(?i)PROD$"
    assert patterns.found_in("xb") == r"a|b\b"
    assert patterns.found_in("X PRODS") == ""
    assert not Patterns([])


def test_an_open_quotation_does_not_hide_the_next_pattern() -> None:
    patterns = Patterns([r"\Qa+b", "deploy"])
    assert patterns.found_in("a+b") == r"\Qa+b"
    assert patterns.found_in("deploy") == "deploy"


def test_a_thousand_patterns_and_thousands_of_commands_are_no_trouble() -> None:
    rules = ClassifierRules(dangerous_commands=tuple(f"^deploy-{number}$" for number in range(1000)))
    line = "".join(f"ls x{number};" for number in range(4000))
    assert classify(line, rules).level == "safe"
    assert classify(line + "deploy-999", rules).level == "dangerous"


def test_what_is_too_long_to_be_compared_is_not_safe() -> None:
    rules = ClassifierRules(dangerous_commands=("never",))
    assert classify("echo " + "x" * 19_000, rules).level == "safe"
    assert classify("echo " + "x" * 21_000, rules).level == "unknown"
