"""Reads the errors that the program defines from its source, without importing or running it.

So the page is the same whatever optional libraries are installed.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT_ERROR = "FourhandsError"


def errors(package: Path) -> dict[str, list[str]]:
    """Return the meanings of every error code, from the docstrings of the error classes."""
    classes: dict[str, ast.ClassDef] = {}
    for _, tree in _modules(package, r"errors import|Error\b|\bcode = "):
        classes |= {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    found: dict[str, list[str]] = {}
    family = [name for name in classes if ROOT_ERROR in _ancestors(name, classes)]
    for name in sorted(family, key=lambda name: (len(_ancestors(name, classes)), name)):
        meaning = " ".join((ast.get_docstring(classes[name]) or "").split("\n\n", 1)[0].split())
        known = found.setdefault(_code(name, classes), [])
        known += [meaning] if meaning not in known else []
    return dict(sorted(found.items()))


def _modules(package: Path, word: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield every module in which a word occurs; to parse them all would take seconds."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text()
        if re.search(word, text):
            yield path.relative_to(package).as_posix(), ast.parse(text)


def _ancestors(name: str, classes: dict[str, ast.ClassDef]) -> list[str]:
    """Return a class's own name and all names it inherits from, as far as they are defined here."""
    if name not in classes:
        return []
    bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name) and base.id != name]
    return [name, *(above for base in bases for above in _ancestors(base, classes))]


def _code(name: str, classes: dict[str, ast.ClassDef]) -> str:
    for above in _ancestors(name, classes):
        for node in classes[above].body:
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign):
                target = node.targets[0] if isinstance(node.targets[0], ast.Name) else None
            if isinstance(target, ast.Name) and target.id == "code" and isinstance(node, ast.Assign | ast.AnnAssign):
                return str(ast.literal_eval(node.value)) if node.value is not None else ""
    return ""
