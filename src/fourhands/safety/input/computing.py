"""Python code that only reads and computes, as far as lists of nodes, calls and methods show."""

import ast
from collections.abc import Callable, Iterator

from fourhands.safety.input.grammar import dotted
from fourhands.safety.input.tables.python import (
    CALLED_KEYWORDS,
    CALLS,
    FUNCTIONS,
    IMPORTS,
    METHODS,
    OTHER_KEYWORDS,
    PATHS,
    PLAIN_DUNDERS,
    TAKES_FUNCTION,
)

_NODES = (
    *(ast.Module, ast.Expr, ast.Expression, ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Name, ast.Starred),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.NamedExpr, ast.Lambda, ast.Slice),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.Attribute, ast.Subscript, ast.Call, ast.keyword, ast.comprehension, ast.arguments, ast.arg),
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Pass, ast.Break, ast.Continue, ast.Assert),
    *(ast.If, ast.For, ast.While, ast.Try, ast.ExceptHandler, ast.Raise, ast.Return, ast.Global, ast.Nonlocal),
    *(ast.FunctionDef, ast.Import, ast.ImportFrom, ast.alias, ast.Yield),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
_ANOTHER_READER = ("help", "input", "breakpoint", "license", "credits")
_ENDS = ("exit", "quit", "sys.exit")


def not_only_reading(tree: ast.Module, skip: int = 0) -> str:
    """Return why code may do more than read and compute, or an empty text; lines up to `skip` do not count."""
    for node in ast.walk(tree):
        end = getattr(node, "end_lineno", None)
        if end is not None and end <= skip:
            continue
        reason = _reason(node)
        if reason:
            return reason
    return ""


def _reason(node: ast.AST) -> str:
    if not isinstance(node, _NODES):
        return f"has a {_words(node)}"
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Attribute):
        dunder = node.attr.startswith("__") and node.attr not in PLAIN_DUNDERS
        if dunder or not isinstance(node.ctx, ast.Load):
            return f"{'uses' if dunder else 'sets'} the attribute {node.attr}"
        if dotted(node) in ("os.environ", "os.environb"):
            return "shows the environment"
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        if isinstance(node.ctx, ast.Del) or not isinstance(node.value, ast.Name):
            return "changes an element"
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            return f"uses {node.id}" if node.id in _ANOTHER_READER else ""
        return _rebound(node.id)
    elif isinstance(node, ast.FunctionDef):
        return "has a decorator" if node.decorator_list else _rebound(node.name)
    elif isinstance(node, ast.arg):
        return _rebound(node.arg)
    elif isinstance(node, ast.ExceptHandler):
        return _rebound(node.name or "")
    elif isinstance(node, ast.Import):
        other = next((alias.name for alias in node.names if alias.name not in IMPORTS or alias.asname), "")
        return f"imports {other}" if other else ""
    elif isinstance(node, ast.ImportFrom):
        return "" if node.module in IMPORTS and not node.level else f"imports from {node.module or 'its package'}"
    return ""


def _words(node: ast.AST) -> str:
    names = {ast.With: "with statement", ast.ClassDef: "class", ast.Await: "await", ast.AsyncFunctionDef: "coroutine"}
    return names.get(type(node), f"{type(node).__name__.lower()} statement")


def _rebound(name: str) -> str:
    return f"gives {name} another meaning" if name in CALLS or name in _TYPES else ""


_TYPES = frozenset({"os", "sys", "math", "json", "re", "itertools", "datetime", "np", "pd", "Path", "str"})


def _call(node: ast.Call) -> str:
    name = dotted(node.func)
    if any(_calls_on(node, name)):
        return f"calls {name or _end(node.func)} with a function"
    if name in _ENDS:
        return ""
    if isinstance(node.func, ast.Name):
        fine = name in CALLS and not (name == "type" and len(node.args) != 1)
        return "" if fine or name in PATHS else f"calls {name}"
    if isinstance(node.func, ast.Attribute):
        attr = node.func.attr
        if name in FUNCTIONS or attr in METHODS or (attr in _BY_ARGUMENTS and _BY_ARGUMENTS[attr](node)):
            return ""
        return f"calls {name or attr}"
    return "calls the result of an expression"


def _calls_on(node: ast.Call, name: str) -> Iterator[bool]:
    """Yield True for each argument that is called in turn and is not known to only compute, or takes the result."""
    for keyword in node.keywords:
        if keyword.arg in OTHER_KEYWORDS or keyword.arg is None:
            yield True
        if keyword.arg in CALLED_KEYWORDS:
            yield not _computes(keyword.value)
    if name in TAKES_FUNCTION and node.args:
        yield not _computes(node.args[0])


def _computes(node: ast.AST) -> bool:
    """Return True if a function that is handed on only computes."""
    if isinstance(node, ast.Lambda):
        return True  # what is in it is looked at like everything else
    if isinstance(node, ast.Constant):
        return node.value is None
    return dotted(node) in CALLS or dotted(node) in FUNCTIONS or dotted(node).partition(".")[0] in ("str", "operator")


def _end(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else "it"


def _is_key(node: ast.Call) -> bool:
    """Return True for `d.get("name")`, but not for a request to an address."""
    key = node.args[0] if node.args else None
    return isinstance(key, ast.Constant) and not (isinstance(key.value, str) and ("/" in key.value or ":" in key.value))


def _is_on_text(node: ast.Call) -> bool:
    assert isinstance(node.func, ast.Attribute)
    value = node.func.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and "__" not in value.value


def _is_counted(node: ast.Call) -> bool:
    """Return True for `df.head(3)`, but not for a request to an address."""
    return all(isinstance(one, ast.Constant) and isinstance(one.value, int) for one in node.args)


_BY_ARGUMENTS: dict[str, Callable[[ast.Call], bool]] = {
    "get": _is_key,
    "format": _is_on_text,
    **dict.fromkeys(("head", "tail"), _is_counted),
    "insert": lambda node: len(node.args) == 2,  # into a list; a database takes one
    "replace": lambda node: len(node.args) >= 2,  # one of two texts; a path's own has one operand
    **dict.fromkeys(("sum", "min", "max"), lambda node: len(node.args) <= 1),
}
