"""Tests give our code what it works with as arguments; they do not patch its modules and classes.

What a test replaces by name breaks without notice when the name moves, and hides that a limit or clock has no owner.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGES = ("fourhands", "scripts")


def patched(source: str) -> list[int]:
    """Return the lines on which a `setattr` of pytest's replaces something of ours."""
    tree = ast.parse(source)
    ours = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        for alias in (node.names if isinstance(node, ast.Import | ast.ImportFrom) else ())
        if (node.module or "" if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0] in PACKAGES
    }
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("setattr", "delattr")
        and node.args
        and _is_ours(node.args[0], ours)
    ]


def _is_ours(target: ast.expr, ours: set[str]) -> bool:
    if isinstance(target, ast.Constant):
        return str(target.value).partition(".")[0] in PACKAGES
    while isinstance(target, ast.Attribute):
        target = target.value
    return isinstance(target, ast.Name) and target.id in ours


def test_no_test_patches_our_code() -> None:
    ours = (path for path in TESTS.rglob("*.py") if "node_modules" not in path.parts)
    found = {path.relative_to(TESTS).as_posix() for path in ours if patched(path.read_text())}
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        "monkeypatch.setattr('fourhands.core.gate.LIMIT', 1)",
        "from fourhands.core import gate\nmonkeypatch.setattr(gate, 'LIMIT', 1)",
        "from fourhands.core.gate import Gate as G\nwith patch.context() as p:\n    p.setattr(G, 'run', None)",
        "def test():\n    from scripts import page\n    monkeypatch.delattr(page, 'WEB')",
        "import fourhands.core.gate\nmonkeypatch.setattr(fourhands.core.gate, 'LIMIT', 1)",
    ],
)
def test_a_patch_of_our_code_is_found(source: str) -> None:
    assert patched(source)


@pytest.mark.parametrize(
    "source",
    [
        "monkeypatch.setattr('mcp.client.session.LIMIT', 1)",
        "import os\nmonkeypatch.setattr(os, 'fork', None)",
        "from fourhands.core import gate\nmonkeypatch.setenv('gate', '1')",
    ],
)
def test_a_patch_of_other_code_is_left_alone(source: str) -> None:
    assert not patched(source)
