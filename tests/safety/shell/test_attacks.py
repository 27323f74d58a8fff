"""Attempts to get something past the judge, and ordinary lines that must not be taken for such."""

from tests.safety.shell import attacks, hostile

from fourhands.safety.shell import classify


def levels(*tables: str) -> dict[str, str]:
    return {line: classify(line).level for lines in tables for line in lines.strip().split("\n")}


def test_dangerous_attempts_are_dangerous() -> None:
    given = levels(attacks.DANGEROUS, hostile.DANGEROUS)
    assert [line for line, level in given.items() if level != "dangerous"] == []


def test_doubtful_attempts_are_never_safe() -> None:
    given = levels(attacks.NOT_SAFE, hostile.MISTAKEN, hostile.DOUBTFUL)
    assert [line for line, level in given.items() if level == "safe"] == []


def test_ordinary_lines_that_look_alike_are_safe() -> None:
    given = levels(attacks.ORDINARY, hostile.ORDINARY)
    assert [line for line, level in given.items() if level != "safe"] == []
