"""The architecture page and the contributor's guide name files and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("docs/architecture.md", "CONTRIBUTING.md")
NAMED = re.compile(r"`([\w./-]+/[\w.-]*\.(?:py|ts|toml|json|mjs)|[\w./-]+/)`")
STEP = re.compile(r"^\| *\d* \| `([\w/.]+)` \| `([\w.]+)` \| (.+) \|$", re.MULTILINE)
STEPS = STEP.findall((ROOT / "docs" / "architecture.md").read_text())


def found(name: str) -> Path | None:
    places = (ROOT / name, ROOT / "src" / "fourhands" / name)
    return next((place for place in places if place.exists()), None)


def defined(path: Path) -> set[str]:
    """Return the classes, functions and methods of a file; of a page's file its classes."""
    if path.suffix == ".ts":
        return set(re.findall(r"\bclass (\w+)", path.read_text()))
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if hasattr(each, "name")}
    return names


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    names = NAMED.findall((ROOT / page).read_text())
    assert len(names) > 10
    assert [name for name in names if found(name) is None] == []


def test_the_two_walks_are_there() -> None:
    assert len(STEPS) > 30


@pytest.mark.parametrize(("file", "name", "_what"), STEPS)
def test_every_step_of_a_walk_is_where_it_is_said_to_be(file: str, name: str, _what: str) -> None:
    path = found(file)
    assert path is not None
    assert name in defined(path)
