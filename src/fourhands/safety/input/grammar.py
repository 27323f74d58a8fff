"""Python text as a syntax tree: whole statements, and the beginnings and ends of those that come line by line."""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator

LONGEST = 10_000
"""Characters of a text that is parsed: Python's own parser may end the process on much longer ones."""

_HEADS = (
    (re.compile(r"\s*(?:else|elif)\b"), "if 1: pass\n"),
    (re.compile(r"\s*(?:except|finally)\b"), "try: pass\n"),
)
_MOST_LINES = 6  # of one statement, in a text that is no code as a whole
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_TOKEN = re.compile(r"#[^\n]*|(\"{3}|'{3}|[\"'])|([(\[{])|([)\]}])|\\.", re.DOTALL)


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a text; None if it is no Python code, also not in part."""
    if len(text) > LONGEST:
        return None
    plain = text.expandtabs(8).rstrip() + "\n"
    tree = _tree(text) or _tree(textwrap.dedent(plain))
    return tree if tree is not None else _part(textwrap.dedent(plain))


def statements_of(text: str) -> Iterator[tuple[str, ast.Module | None]]:
    """Yield the pieces of a text that is no code as a whole, each with its tree: a prompt takes one after the other."""
    lines = text[:LONGEST].split("\n")
    start = 0
    while start < len(lines):
        ends = range(min(start + _MOST_LINES, len(lines)), start, -1)
        pieces = ((end, "\n".join(lines[start:end])) for end in ends)
        end, tree = next(
            ((end, tree) for end, piece in pieces if (tree := _tree(piece)) is not None), (start + 1, None)
        )
        piece = "\n".join(lines[start:end])
        yield piece, tree if tree is not None else parsed(piece)
        start = end


def dotted(node: ast.AST) -> str:
    """Return `os.path.join` for such an expression, or an empty text for any other."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _part(text: str) -> ast.Module | None:
    """Return the tree of a text to which a beginning or a rest is added, so that it is a whole."""
    head = next((before for pattern, before in _HEADS if pattern.match(text)), "")
    last = text.rstrip().rsplit("\n", 1)[-1]
    indent = last[: len(last) - len(last.lstrip())]
    closers = _unclosed(text)
    tails = ["", closers] if closers else [""]
    tails += [f"{indent}    pass", f"{closers}:{indent} pass", f"{indent}def f(): pass", "finally: pass"]
    tails += [f"{indent}    pass\nfinally: pass"]
    for tail in tails:
        # A closing quote stands on the same line.
        glued = text.rstrip("\n") + tail if tail and tail == closers else f"{text}{tail}\n"
        tree = _tree(textwrap.dedent(head + glued) if head else glued)
        if tree is not None:
            for node in ast.walk(tree) if head else ():
                line = getattr(node, "lineno", None)
                if line is not None:  # the lines of what stood in front do not count
                    node.lineno, node.end_lineno = line - 1, node.end_lineno - 1  # type: ignore[attr-defined]
            return tree
    return None


def _unclosed(text: str) -> str:
    """Return what closes the brackets and the quote that a text leaves open."""
    open_: list[str] = []
    quote = ""
    for found in _TOKEN.finditer(text):
        sign = found.group(1)
        if quote:
            if sign == quote or (sign and len(quote) == 1 and sign.startswith(quote)):
                quote = ""
        elif sign:
            quote = sign
        elif found.group(2):
            open_.append(_CLOSES[found.group(2)])
        elif found.group(3) and open_:
            open_.pop()
    return quote + "".join(reversed(open_))


def _tree(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in the text, which is not ours
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
