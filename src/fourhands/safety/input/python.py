"""Python code: what it calls, by Python's own grammar.

Dangerous is what starts programs, changes files, connects or evaluates text, by the same policy as `python -c` (C6.2).
Safe is only what lists of calls, methods and functions show to read and to compute. Everything else is unknown.
"""

import ast
import re
from collections.abc import Iterator

from fourhands.safety.input.computing import not_only_reading
from fourhands.safety.input.grammar import LONGEST, dotted, parsed, statements_of
from fourhands.safety.input.magics import without_magics
from fourhands.safety.input.tables.python import (
    ATTRIBUTES,
    BARE_CALLS,
    COMMON_NAMES,
    HARMLESS_MODULES,
    INSIDE,
    METHODS,
    MODULES,
    NAMES,
    OS_CALLS,
    QUERIES,
    REACHING,
)
from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.expansions import SECRET_VARIABLE
from fourhands.safety.shell.file_rules import own
from fourhands.safety.shell.levels import DANGEROUS, FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.parser.expansion import shown
from fourhands.safety.shell.programs.interpreters import RISKY_CALLS
from fourhands.safety.shell.statements import statement
from fourhands.safety.variables import changes_execution

_RULE = "C6.2"
NOT_CODE = "C2.1"
"""The rule of a text that is no code, so that only a shell may make something of it."""
_WRITES = re.compile(r"[wax+]")
_LOOKED_AT = frozenset({"dir", "help", "type", "print", "repr", "id", "vars", "isinstance", "getattr", "hasattr"})
_HANDED_ON = frozenset(MODULES) - COMMON_NAMES | {"os"}


def python(
    text: str, classifier: LineClassifier, *, before: str = "", script: bool = False, magics: bool = False
) -> Finding:
    """Classify code for Python; `before` are the lines of its statement that were judged with their own input.

    `script`: it may be a script that asks something, for which a line that is no code is as good as any.
    """
    findings: list[Finding] = []
    if magics:
        text, findings = without_magics(text, classifier)
    skip = before.count("\n") + 1 if before else 0
    tree = parsed(f"{before}\n{text}" if before else text)
    if tree is None and before:
        tree, skip = parsed(text), 0
    if tree is None:
        findings.extend(_in_pieces(text, classifier, script=script))
        return worst(unknown(NOT_CODE, "Python code that cannot be parsed"), *findings)
    findings.extend(Dangers(tree, skip, classifier).findings())
    result = worst(FINE, *findings)
    if result.rank == DANGEROUS:
        return result
    if why := not_only_reading(tree, skip):
        return worst(result, unknown(_RULE, f"Python code: {why}"))
    fine = Finding(FINE.rank, _RULE, "Python code: only reads and computes")
    return worst(fine, result) if result.rank else fine


def _in_pieces(text: str, classifier: LineClassifier, *, script: bool) -> Iterator[Finding]:
    """Yield the dangerous parts of a text that is no code as a whole."""
    for piece, tree in statements_of(text):
        if tree is not None:
            yield from Dangers(tree, 0, classifier).findings()
        elif not script and (risky := RISKY_CALLS.search(piece)):
            yield dangerous(_RULE, f"Python code: {shown(risky.group().strip())[:24]}")
    if len(text) > LONGEST:
        yield dangerous(NOT_CODE, f"too long to check: more than {LONGEST:,} characters of code")


class Dangers:
    """The dangerous parts of one tree, as far as they end behind the line `skip`."""

    def __init__(self, tree: ast.Module, skip: int, classifier: LineClassifier) -> None:
        self._tree = tree
        self._skip = skip
        self._classifier = classifier
        self._parents: dict[int, ast.AST] = {}
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self._parents[id(child)] = node

    def findings(self) -> list[Finding]:
        """Return a finding for each."""
        found: list[Finding] = []
        texts: list[str] = []
        for node in ast.walk(self._tree):
            end = getattr(node, "end_lineno", None)
            if end is not None and end <= self._skip:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                texts.append(node.value if isinstance(node.value, str) else node.value.decode("latin-1"))
            found.extend(dangerous(_RULE, f"Python code: {reason}") for reason in self._reasons(node))
            if isinstance(node, ast.Call):
                found.extend(self._query(node))
        if named := self._classifier.secret(texts):
            found.append(dangerous("C5.4", f"Python code: names the secret file {shown(named)}"))
        if named := own(texts, "", self._classifier.rules.own_directories):
            found.append(dangerous("C7", f"works with Fourhands itself: {shown(named)}"))
        return found

    def _reasons(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (reason for alias in node.names for reason in _imported(alias.name, alias.asname))
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from _imported_from(node.module or "", [alias.name for alias in node.names])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from self._name(node)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Subscript):
            yield from _environment(node)

    def _name(self, node: ast.Name) -> Iterator[str]:
        parent = self._parents.get(id(node))
        called = isinstance(parent, ast.Call) and parent.func is node
        if node.id in NAMES and not isinstance(parent, ast.Expr):
            yield f"{'calls' if called else 'uses'} {node.id}"
        elif node.id == "open" and not called:
            yield "hands on open"
        elif node.id in MODULES and not isinstance(parent, ast.Attribute):
            if node.id in _HANDED_ON and not self._is_looked_at(parent):
                yield f"hands on {node.id}, which {MODULES[node.id]}"
        elif node.id == "os" and not isinstance(parent, ast.Attribute) and not self._is_looked_at(parent):
            yield "hands on os under another name"
        elif node.id in BARE_CALLS and called:
            yield f"calls {node.id}"

    def _is_looked_at(self, parent: ast.AST | None) -> bool:
        """Return True if a value is only shown."""
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in _LOOKED_AT
        return isinstance(parent, ast.Expr)

    def _attribute(self, node: ast.Attribute) -> Iterator[str]:
        name = dotted(node)
        root, _, rest = name.partition(".")
        parent = self._parents.get(id(node))
        called = isinstance(parent, ast.Call) and parent.func is node
        verb = "calls" if called else "uses"
        if node.attr in REACHING and not _is_plain(node, parent):
            yield f"reaches for {node.attr}"
        elif node.attr == "__dict__" and (root in MODULES or root in ("os", "sys")):
            yield f"reaches into {root}"
        elif node.attr in INSIDE:
            yield f"reaches for {node.attr} in another module"
        elif root == "os" and node.attr in OS_CALLS and rest == node.attr:
            yield f"{verb} {name}"
        elif root in MODULES and not _harmless(name) and not (root in COMMON_NAMES and node.attr in METHODS):
            if isinstance(node.value, ast.Name):
                yield f"{verb} {name}: {root} {MODULES[root]}"
        elif node.attr in ATTRIBUTES and isinstance(node.ctx, ast.Load):
            yield f"{verb} {name or node.attr}, which {ATTRIBUTES[node.attr]}"
        elif name in ("sys.modules", "sys.meta_path", "sys.path_hooks"):
            yield f"uses {name}"

    def _call(self, node: ast.Call) -> Iterator[str]:
        name = dotted(node.func)
        if name == "open" or (isinstance(node.func, ast.Attribute) and node.func.attr == "open"):
            yield from _opened(node, name)
        elif name in ("getattr", "setattr", "delattr") and len(node.args) > 1:
            yield from _by_name(node, name)
        elif name in ("globals", "locals", "vars") and (
            name == "globals" or isinstance(self._use(node), ast.Subscript)
        ):
            yield f"calls {name}"
        elif isinstance(node.func, ast.Attribute):
            if node.func.attr in ("rename", "replace") and _moves(node) and name != "os.rename":
                yield f"calls {name or node.func.attr}, which may move a file"
            elif node.func.attr == "eval" and node.args:
                yield f"calls {name or 'eval'}"
            elif name in ("os.environ.get", "os.environ.pop", "os.environ.setdefault", "os.getenv"):
                yield from _variable(node.args[0] if node.args else None, changes=name.endswith("setdefault"))
            elif name == "os.environ.update":
                yield "changes the environment of programs"

    def _use(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(id(node))

    def _query(self, node: ast.Call) -> Iterator[Finding]:
        """Classify a statement that is handed to a database."""
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in QUERIES:
            return
        for argument in node.args[:1]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                found = statement(argument.value)
                if found.rank == DANGEROUS:
                    yield found


def _is_plain(node: ast.Attribute, parent: ast.AST | None) -> bool:
    """Return True for `x.__class__.__name__` and `super().__init__()`, which reach for nothing else."""
    if node.attr == "__class__":
        return isinstance(parent, ast.Attribute) and parent.attr in ("__name__", "__qualname__")
    return node.attr == "__init__" and isinstance(parent, ast.Call) and parent.func is node


def _harmless(name: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in HARMLESS_MODULES) or any(
        module.startswith(f"{name}.") for module in HARMLESS_MODULES
    )


def _imported(name: str, alias: str | None) -> Iterator[str]:
    root = name.partition(".")[0]
    if root in MODULES and name not in HARMLESS_MODULES:
        yield f"imports {name}: {root} {MODULES[root]}"
    elif name == "os" and alias not in (None, "os"):
        yield "imports os under another name"


def _imported_from(module: str, names: list[str]) -> Iterator[str]:
    root = module.partition(".")[0]
    whole = [f"{module}.{name}" for name in names]
    if root in MODULES:
        if module not in HARMLESS_MODULES and not all(name in HARMLESS_MODULES for name in whole):
            yield f"imports from {module}: {root} {MODULES[root]}"
    elif module == "os" and (bad := [name for name in names if name in OS_CALLS or name == "*"]):
        yield f"imports {', '.join(bad[:3])} from os"
    elif bad := [name for name in names if name in ("subprocess", "os") and module not in ("", "__future__")]:
        yield f"imports {bad[0]} from {module}"


def _opened(node: ast.Call, name: str) -> Iterator[str]:
    """Return why a file is opened for more than reading."""
    given = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
    # Path("x").open("w") has its mode first; so has nothing else that is called so.
    own_method = isinstance(node.func, ast.Attribute) and not name
    given += node.args[:1] if own_method and not given else []
    given += node.args[1:2]
    for mode in given:
        if not isinstance(mode, ast.Constant) or not isinstance(mode.value, str):
            if not own_method:
                yield "opens a file in a way that is only known at run time"
        elif _WRITES.search(mode.value) and len(mode.value) <= 4:
            yield "writes a file"
    if any(keyword.arg in (None, "opener") for keyword in node.keywords):
        yield "opens a file in a way that is only known at run time"


def _by_name(node: ast.Call, name: str) -> Iterator[str]:
    given = node.args[1]
    if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
        yield f"calls {name} with a name that is only known at run time"
    elif given.value in REACHING or given.value in ATTRIBUTES or given.value in OS_CALLS or given.value in NAMES:
        yield f"calls {name} for {given.value}"


def _moves(node: ast.Call) -> bool:
    """Return True if a call has the form of a path's own renaming: a single operand, which is no table of names."""
    if len(node.args) != 1 or node.keywords:
        return False
    return not isinstance(node.args[0], ast.Dict | ast.Lambda)


def _environment(node: ast.Subscript) -> Iterator[str]:
    if dotted(node.value) in ("os.environ", "environ", "os.environb"):
        yield from _variable(node.slice, changes=not isinstance(node.ctx, ast.Load))


def _variable(name: ast.AST | None, *, changes: bool) -> Iterator[str]:
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str | bytes):
        yield "uses a variable of the environment that is only known at run time"
        return
    plain = name.value if isinstance(name.value, str) else name.value.decode("latin-1")
    if SECRET_VARIABLE.search(plain):
        yield f"reads the secret variable {shown(plain)}"
    elif changes and changes_execution(plain):
        yield f"sets {shown(plain)}: changes what programs run"
