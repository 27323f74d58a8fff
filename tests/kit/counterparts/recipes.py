"""The recipes of docs/mcp.md, as a reader follows them: what to write into which file, and what to type."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.program import Home

MANUAL = Path(__file__).parents[3] / "docs" / "mcp.md"

_SECTION = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"(.*?)^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"\bin (?:[\w']+ )*`([^`]+)`", re.IGNORECASE)


@dataclass
class Recipe:
    """One section: the files by their names, lines of shell, and Python."""

    files: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    python: str = ""

    def write(self, home: Home) -> None:
        """Write the files, the program as recipe.py; what is in one that is there already stays before it."""
        for name, text in {**self.files, **({"recipe.py": self.python} if self.python else {})}.items():
            path = Path(home.env["HOME"], name[2:]) if name.startswith("~/") else home.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(path.read_text() + text if path.exists() else text)


def recipe(title: str) -> Recipe:
    """The recipe under a heading."""
    sections = dict(_SECTION.findall(MANUAL.read_text()))
    found = Recipe()
    for before, language, text in _FENCE.findall(sections[title]):
        if language == "sh":
            found.lines += text.splitlines()
        elif language == "python":
            found.python = text
        else:
            name = _FILE.search(before)
            assert name, f"{title}: no file is named before {text[:40]!r}"
            found.files[name[1]] = text
    return found
