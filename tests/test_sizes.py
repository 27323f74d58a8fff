"""Files stay small, and the numbers in docs/architecture.md are those of the code."""

import ast
import re
import statistics

import pytest
from tests.test_architecture import agents_told_apart, outside_terminals
from tests.test_names import PACKAGE, ROOT, public_names, sources

MOST_LINES = 430


def sizes() -> dict[str, int]:
    """Return the lines of each Python file of the package."""
    return {path.relative_to(PACKAGE).as_posix(): len(path.read_text().splitlines()) for path in sources(PACKAGE)}


def repeated_names() -> int:
    """Return how many public classes and types have the name of another."""
    names = [name for path in sources(PACKAGE) for name in public_names(ast.parse(path.read_text()))]
    return len(names) - len(set(names))


def told_apart() -> int:
    """Return how often code outside of terminals and core asks whether an agent calls."""
    core = PACKAGE / "core"
    return sum(len(agents_told_apart(path)) for path in outside_terminals() if core not in path.parents)


def measured() -> dict[str, float]:
    """Return the rows of the table in docs/architecture.md, as they are now."""
    lines = sizes().values()
    return {
        "Python files": len(lines),
        "lines": sum(lines),
        "median lines of a file": statistics.median(lines),
        "lines of the largest file": max(lines),
        "public classes and types with the name of another": repeated_names(),
        "places outside seats and gate that ask whether an agent calls": told_apart(),
    }


def documented() -> dict[str, float]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \|$", text.partition("\n## Numbers\n")[2], re.M)
    return {name: float(number.replace(",", "")) for name, number in rows}


def test_no_file_has_more_than_430_lines() -> None:
    assert {name: size for name, size in sizes().items() if size > MOST_LINES} == {}


def test_half_of_the_files_have_less_than_150_lines() -> None:
    assert statistics.median(sizes().values()) < 150


def test_the_numbers_of_the_architecture_are_those_of_the_code() -> None:
    """Within a twentieth: the page tells how large the house is, and need not change with every line."""
    assert documented() == pytest.approx(measured(), rel=0.05)
