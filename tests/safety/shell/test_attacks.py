"""Attempts to get something past the judge, and ordinary lines that must not be taken for such."""

from tests.safety.shell.attacks import DANGEROUS, NOT_SAFE, ORDINARY

from fourhands.safety.shell import classify


def levels(lines: str) -> dict[str, str]:
    return {line: classify(line).level for line in lines.strip().split("\n")}


def test_dangerous_attempts_are_dangerous() -> None:
    assert [line for line, level in levels(DANGEROUS).items() if level != "dangerous"] == []


def test_doubtful_attempts_are_never_safe() -> None:
    assert [line for line, level in levels(NOT_SAFE).items() if level == "safe"] == []


def test_ordinary_lines_that_look_alike_are_safe() -> None:
    assert [line for line, level in levels(ORDINARY).items() if level != "safe"] == []
