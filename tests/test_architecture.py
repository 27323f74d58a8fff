"""Who may import whom: read from the source with `ast`, so that nobody has to remember it."""

import ast
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "fourhands"
LAYERS = ["core", "host", "safety", "providers", "workbench", "commands", "agents", "surfaces", "app", "sync"]

# Settings hold the limits of the host, so they stand between it and what is configured by them.
LEVEL = {name: level * 10 for level, name in enumerate(LAYERS)} | {"settings": 15}

STANDARD_LIBRARY_ONLY = (
    "archive",
    "board",
    "connection",
    "handlers",
    "host",
    "hosted",
    "log",
    "main",
    "output",
    "owner",
    "paths",
    "processes",
    "protocol",
    "pty",
    "reaper",
    "recovery",
    "system",
)
DOORS = ("cli", "http", "mcp", "acp", "proxy")


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text())


@functools.cache
def imports(path: Path) -> set[str]:
    """Every module that a file imports, also inside functions, but not for type checking only."""
    tree = parsed(path)
    hidden = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "fourhands" and len(parts) > 1 and parts[1] in LEVEL else None


FILES = sorted(path for path in ROOT.rglob("*.py") if path not in (ROOT / "__init__.py", ROOT / "__main__.py"))


def test_imports_point_down() -> None:
    upward = {}
    for path in FILES:
        own = path.relative_to(ROOT).with_suffix("").parts[0]
        assert own in LEVEL, f"{path} lies in no known folder"
        if found := {name for name in imports(path) if (other := layer(name)) and LEVEL[other] > LEVEL[own]}:
            upward[path.relative_to(ROOT).as_posix()] = found
    assert upward == {}


IN_ORDER: list[tuple[str, tuple[str, ...]]] = [
    ("agents", ("blocks", "models", "briefing", "connectors", "acp", "opencode"))
]
"""Packages of a layer, each of which may import those before it; the last two do not import each other."""

APART: list[tuple[str, tuple[str, ...]]] = [
    ("workbench", ("checkpoints", "files", "layout", "records", "terminals")),
    ("agents", ("acp", "opencode")),
]
"""Packages of a layer that do not import each other, nor what joins them."""


def crossing(layer: str, package: str, others: Sequence[str]) -> list[str]:
    """Return what files of a package import of other packages of its layer."""
    forbidden = tuple(f"fourhands.{layer}.{other}" for other in others)
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / layer / package).rglob("*.py"))
        for name in sorted(imports(path))
        if name in forbidden or name.startswith(tuple(f"{one}." for one in forbidden))
    ]


def test_packages_of_a_layer_keep_their_order() -> None:
    for layer_, packages in IN_ORDER:
        assert {path.name for path in (ROOT / layer_).iterdir() if (path / "__init__.py").exists()} == set(packages)
        for number, package in enumerate(packages):
            assert crossing(layer_, package, packages[number + 1 :]) == []
    for layer_, packages in APART:
        joining = [path.stem for path in (ROOT / layer_).glob("*.py") if path.stem != "__init__"]
        for package in packages:
            assert crossing(layer_, package, [*joining, *(one for one in packages if one != package)]) == []


@pytest.mark.parametrize("path", sorted((ROOT / "core").rglob("*.py")), ids=lambda path: path.name)
def test_core_needs_the_standard_library_and_msgspec_only(path: Path) -> None:
    outside = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - {"fourhands", "msgspec"}
    assert not outside


@pytest.mark.parametrize("name", STANDARD_LIBRARY_ONLY)
def test_the_host_needs_the_standard_library_only(name: str) -> None:
    path = ROOT / "host" / f"{name}.py"
    for module in imports(path):
        top = module.split(".")[0]
        assert top in sys.stdlib_module_names or module.startswith("fourhands.host") or module == "fourhands", module
        assert module not in ("asyncio", *(f"fourhands.host.{name}" for name in ("client", "errors", "lifecycle"))), (
            module
        )


@pytest.mark.parametrize("door", DOORS)
def test_doors_do_not_import_each_other(door: str) -> None:
    mine = [path for path in FILES if f"surfaces/{door}" in path.as_posix()]
    others = tuple(f"fourhands.surfaces.{other}" for other in DOORS if other != door)
    for path in mine:
        assert not {name for name in imports(path) if name.startswith(others)}


def test_only_providers_and_app_know_a_provider_by_name() -> None:
    named = tuple(f"fourhands.providers.{name}" for name in ("bubblewrap", "container"))
    knowing = {path for path in FILES if any(name.startswith(named) for name in imports(path))}
    assert all(path.relative_to(ROOT).parts[0] in ("providers", "app.py") for path in knowing)


def test_importing_the_package_loads_nothing_heavy() -> None:
    import subprocess

    heavy = "{'asyncio', 'msgspec', 'starlette'}"
    code = f"import sys, fourhands, fourhands.host.main; print(*(m for m in sys.modules if m in {heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


TERMINALS = "fourhands.workbench.terminals"

FOR_EVERYONE = {
    "agent_output": {"Redaction"},
    "authorship": {"AuthorSpan"},
    "events": None,
    "handle": None,
    "info": None,
    "launch": {"LONGEST_TITLE", "checked_title", "resolve_cwd", "spelled_cwd"},
    "oneshot": None,
    "prompt": None,
    "replay": {"ReplaySegment"},
    "seat": None,
    "shell.detection": None,
    "shell.input_line": None,
    "wait": {"WaitConditions", "WaitResult"},
}
"""Modules of `workbench/terminals` that others may use (None: all of it): none of them hands out a PTY or a log."""

EMBEDDING = {"app/wiring.py", "surfaces/cli/terminal.py", "workbench/seats.py", "workbench/workbench.py"}
"""Files that open `Terminals` themselves (the command line only where no server runs), or own the leases.

`Terminals` is the Python API below the gate: its holder decides what may run, so no other file imports it.
"""

RAW = {"agent_types", "entered_at", "foreground_group", "on_data", "person_typed", "redraws", "scrollback", "type_now"}
"""Attributes by which a terminal is read or typed into past a seat; nothing else in the code is called so."""


OTHER_FORM = {ROOT / "sync" / "terminal.py", ROOT / "sync" / "terminals.py"}
"""The same Python API below the gate for programs that wait; it stands on top, so nothing else of ours imports it."""


def outside_terminals() -> list[Path]:
    inside = (ROOT / "workbench" / "terminals", ROOT / "host")
    return [path for path in FILES if path not in OTHER_FORM and not any(one in path.parents for one in inside)]


def past_seats(path: Path) -> list[str]:
    """Return what a file imports that leads to a keyboard or an output without a seat."""
    own = path.relative_to(ROOT).as_posix()
    found = []
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        module, names = node.module, {alias.name for alias in node.names}
        if module == "fourhands.host" and names & {"pty", "log"}:
            found.append(f"{own} imports the host's {names}")
        if module in ("fourhands.host.pty", "fourhands.host.log") and own != "settings/__init__.py":
            found.append(f"{own} imports {module}")
        if own in EMBEDDING:
            continue
        if module == TERMINALS and (own, names) != ("app/serve.py", {"screen"}):
            found.append(f"{own} imports {names} of {TERMINALS}")
        if module.startswith(TERMINALS + "."):
            name = module.removeprefix(TERMINALS + ".")
            allowed = FOR_EVERYONE.get(name, set())
            if allowed is not None and not names <= allowed:
                found.append(f"{own} imports {names} of {module}")
    return found


def test_only_seats_lead_to_a_keyboard_or_an_output() -> None:
    assert [line for path in outside_terminals() for line in past_seats(path)] == []


def test_nothing_reaches_past_a_seat() -> None:
    reaching = {}
    for path in outside_terminals():
        used = {node.attr for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute)}
        if used & RAW:
            reaching[path.relative_to(ROOT).as_posix()] = used & RAW
    assert reaching == {}


def agents_told_apart(path: Path) -> list[int]:
    """Return the lines that ask whether an agent calls."""
    return [
        node.lineno
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Compare)
        and any(isinstance(side, ast.Constant) and side.value == "agent" for side in (node.left, *node.comparators))
        and "kind" in ast.unparse(node)
    ]


def test_only_seats_and_the_gate_tell_agents_from_people() -> None:
    told_apart = {
        path.relative_to(ROOT).as_posix(): lines
        for path in outside_terminals()
        if ROOT / "core" not in path.parents and (lines := agents_told_apart(path))
    }
    assert told_apart == {}, "use the seat, or `call.session`"
