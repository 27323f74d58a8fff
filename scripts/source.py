"""Reads the program's source: which errors it defines and which events it makes, without importing or running it.

So the pages are the same whatever optional libraries are installed.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT_ERROR = "FourhandsError"
STATE_CHANGE = "a change of the state"


@dataclass(frozen=True)
class Maker:
    """A method that makes an event: where its kind and its data stand, and what it adds to both."""

    kind: int = 0
    data: int | None = None
    prefix: str = ""
    names: tuple[str, ...] = ()
    keywords: bool = False  # whether its keywords are in the data, too


_STATE = Maker(names=(STATE_CHANGE,))
_TERMINAL = Maker(prefix="terminal.", names=("terminal",))
_EVERYWHERE = {"emit": Maker(data=1)}
_AGENT = Maker(data=1, names=("session",), keywords=True)
_MAKERS: dict[str, dict[str, Maker]] = {
    **{
        f"agents/{name}.py": {"_emit": _AGENT}
        for name in ("acp/connector", "acp/session", "connectors/base", "connectors/chat_model", "opencode/connector")
    },
    "agents/acp/updates.py": {"emit": _AGENT, "_emit": _AGENT},
    "core/question.py": {"_end": Maker(kind=1, data=2, prefix="question.", names=("id", "session"))},
    "workbench/layout/state.py": dict.fromkeys(("_commit", "_close", "_edit_tabs", "_set_editor"), _STATE),
    "workbench/layout/revisioned.py": {"_put": _STATE},
    "workbench/terminals/terminals.py": {"on_change": _TERMINAL},
    "workbench/workbench.py": {"_tell_terminal": _TERMINAL},
}

_WORDS = rf"\b(Event|{'|'.join({name for makers in (_EVERYWHERE, *_MAKERS.values()) for name in makers})})\("

Function = ast.FunctionDef | ast.AsyncFunctionDef


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


def events(package: Path) -> dict[str, set[str]]:
    """Return every kind of event with the names in its data, as far as the source tells them."""
    found: dict[str, set[str]] = {}
    for path, tree in _modules(package, _WORDS):
        makers = _EVERYWHERE | _MAKERS.get(path, {})
        constants = _constants(tree)
        for function in _functions(tree):
            for kind, names in _made(function, makers, constants, tree):
                found.setdefault(kind, set()).update(names)
    return dict(sorted(found.items()))


def _modules(package: Path, word: str) -> Iterator[tuple[str, ast.Module]]:
    """Every module in which a word stands; to parse them all would take seconds."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text()
        if re.search(word, text):
            yield path.relative_to(package).as_posix(), ast.parse(text)


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _ancestors(name: str, classes: dict[str, ast.ClassDef]) -> list[str]:
    """A class's own name and all names it inherits from, as far as they are ours."""
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


def _made(
    function: Function, makers: dict[str, Maker], constants: dict[str, list[str]], tree: ast.AST
) -> Iterator[tuple[str, set[str]]]:
    local = constants | _constants(function)
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "Event":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            for kind in _texts(given.get("kind"), local):
                yield kind, _keys(given.get("data"), function, tree)
        elif maker := makers.get(_called(node)):
            names = {*maker.names, *_keys(_argument(node, maker.data), function, tree)}
            if maker.keywords:
                names |= {keyword.arg for keyword in node.keywords if keyword.arg}
            for kind in _texts(_argument(node, maker.kind), local):
                yield maker.prefix + kind, names


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _argument(call: ast.Call, place: int | None) -> ast.expr | None:
    return None if place is None or place >= len(call.args) else call.args[place]


def _constants(tree: ast.AST) -> dict[str, list[str]]:
    """Names that stand for a text, or for one of two."""
    return {
        target.id: texts
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and (texts := _texts(node.value, {}))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _texts(node: ast.expr | None, constants: dict[str, list[str]]) -> list[str]:
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Name):
        return constants.get(node.id, [])
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, constants), *_texts(node.orelse, constants)]
    return []


def _keys(node: ast.expr | None, function: Function, tree: ast.AST) -> set[str]:
    """The names in a dict that is written out, held in a variable, or returned by a function of the module."""
    if isinstance(node, ast.Dict):
        return {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    if isinstance(node, ast.Name):
        values = (value for value in _assigned(node.id, function) if not isinstance(value, ast.Name))
        return set().union(*(_keys(value, function, tree) for value in values))
    if isinstance(node, ast.Call):
        name = _called(node)
        called = [found for found in _functions(tree) if found.name == name and found is not function]
        keys: set[str] = set()
        for found in called:
            for inner in ast.walk(found):
                if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Dict | ast.Name):
                    keys |= _keys(inner.value, found, tree)
        return keys
    return set()


def _assigned(name: str, function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
            elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
                yield ast.Dict(keys=[target.slice], values=[node.value])
