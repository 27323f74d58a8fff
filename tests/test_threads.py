"""What may run in a thread, read from the source: docs/architecture.md, "Threads"."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src" / "fourhands"

MAKERS = {
    "core/atomic_file.py": "writes one file, the newest contents last",
    "core/child.py": "waits for the exit of a program where the kernel has no descriptor for it",
    "core/loop_thread.py": "an event loop for a program that waits for each call",
    "providers/bridge.py": "a program of its own, without an event loop",
    "surfaces/cli/served_terminals.py": "asks the server; Ctrl-C does not wait for its answer",
    "surfaces/stdio.py": "reads standard input, a read of which cannot be given up",
    "workbench/files/ripgrep.py": "ends a search that takes too long; used inside a thread",
    "workbench/files/writes.py": "writes a file of the workspace to the end, also when its caller has gone",
    "workbench/records/journal.py": "writes the journal, in groups",
}
"""The files that make threads of their own, and what for. Everything else uses `asyncio.to_thread`."""

MADE_BY = {"Thread", "Timer", "ThreadPoolExecutor", "run_in_executor"}

OF_THE_LOOP = {"emit", "state", "events", "gate", "journal", "questions", "registry", "sessions", "tasks", "undo"}
"""Attributes through which a thread would reach what belongs to the event loop."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def reached(node: ast.AST) -> set[str]:
    """The attributes that some code uses."""
    return {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}


def handed_over(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    """The line of each `to_thread`, and the attributes that what it is given uses, one function deep."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "to_thread" and node.args:
            given = node.args[0]
            names = reached(given.body if isinstance(given, ast.Lambda) else given)
            name = given.attr if isinstance(given, ast.Attribute) else getattr(given, "id", "")
            own = isinstance(given, ast.Name) or ast.unparse(given) == f"self.{name}"
            if own and name in functions:
                names |= reached(functions[name])
            yield node.lineno, names


def test_threads_are_made_in_few_places() -> None:
    makers = {path for path, tree in sources() if any(called(node) in MADE_BY for node in ast.walk(tree))}
    assert makers == MAKERS.keys()


def test_a_thread_is_given_nothing_that_belongs_to_the_event_loop() -> None:
    found = [(path, line, names) for path, tree in sources() for line, names in handed_over(tree)]
    assert len(found) > 40, "this test finds the places that it is for"
    assert [(path, line, names & OF_THE_LOOP) for path, line, names in found if names & OF_THE_LOOP] == []


def test_a_thread_that_reaches_for_the_state_would_be_found() -> None:
    for code in (
        "async def f(bench): await asyncio.to_thread(bench.state.open_editor, 'a')",
        "async def f(bench): await asyncio.to_thread(lambda: bench.events.emit(1))",
        "def g(bench): bench.sessions.save()\nasync def f(bench): await asyncio.to_thread(g, bench)",
        "class A:\n  def g(self): self.events.emit(1)\n  async def f(self): await asyncio.to_thread(self.g)",
    ):
        [(_, names)] = handed_over(ast.parse(code))
        assert names & OF_THE_LOOP
