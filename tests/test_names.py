"""One name for each thing, and no file of ours in the place of a module of the standard library.

Python puts the directory of a script, and with `-m` the one that somebody stands in, first on its path. A `types.py`
there is then imported by `enum`, and the program ends before its first line.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fourhands"
NOT_OURS = {"node_modules", "__pycache__", "dist", "build"}


def sources(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in NOT_OURS and not path.name.startswith(".") and not (path / "pyvenv.cfg").exists():
                yield from sources(path)
        elif path.suffix == ".py":
            yield path


def importable_as(path: Path, root: Path) -> set[str]:
    """The names by which a file, or a directory above it, is imported where one of them lies on the path.

    A directory without an `__init__.py` takes nobody's place: Python looks on, and prefers a real package.
    """
    parts = path.relative_to(root).with_suffix("").parts
    if path.is_relative_to(PACKAGE) and root != PACKAGE:
        parts = parts[: parts.index("fourhands") + 1]  # inside, names begin with that of the package
    above = (root.joinpath(*parts[:count]) for count in range(1, len(parts) + 1))
    return {one.name for one in above if not one.is_dir() or (one / "__init__.py").exists()}


def is_script(path: Path) -> bool:
    """Whether it can be run by its path; inside the package nothing is, see below."""
    return not path.is_relative_to(PACKAGE) and 'if __name__ == "__main__":' in path.read_text()


def test_no_file_outside_of_the_package_has_the_name_of_a_standard_module() -> None:
    taken = {path: importable_as(path, ROOT) & sys.stdlib_module_names for path in sources(ROOT)}
    assert {path: names for path, names in taken.items() if names} == {}


def test_nothing_at_the_top_of_the_package_has_the_name_of_a_standard_module() -> None:
    """`python src/fourhands` puts it on the path."""
    assert {path.stem for path in PACKAGE.iterdir()} & sys.stdlib_module_names == set()


def test_nothing_inside_the_package_is_a_script() -> None:
    """There names need not differ from those of the standard library, so nothing may be started by its path."""
    assert [path for path in sources(PACKAGE) if path.read_bytes().startswith(b"#!")] == []


def starts(path: Path) -> Iterator[list[str]]:
    """The words behind each `sys.executable` in a list or call."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "sys.executable" in text else ():
        for words in (getattr(node, "elts", None), getattr(node, "args", None), _of_a_mapping(node)):
            texts = [ast.unparse(word) for word in words] if isinstance(words, list) else []
            if "sys.executable" in texts[:-1]:
                yield texts[texts.index("sys.executable") + 1 :]


def _of_a_mapping(node: ast.AST) -> list[ast.expr] | None:
    """`{"command": sys.executable, "args": [...]}`, as protocols name a program."""
    values = node.values if isinstance(node, ast.Dict) else []
    flat = [inner for value in values for inner in (value.elts if isinstance(value, ast.List) else [value])]
    return flat if any(ast.unparse(value) == "sys.executable" for value in values) else None


def test_the_program_starts_itself_without_the_directory_that_somebody_stands_in() -> None:
    found = [(path, words) for path in sources(PACKAGE) for words in starts(path)]
    assert len(found) >= 2
    assert [(path.name, words) for path, words in found if words[0] != "'-P'"] == []


@pytest.mark.parametrize(
    "directory", sorted({path.parent for path in sources(ROOT) if is_script(path)}), ids=lambda path: path.name
)
def test_the_standard_library_works_beside_every_script(directory: Path) -> None:
    """`-S`: the .pth files of an environment may import what a script would hide before it begins."""
    begin = f"import sys; sys.path.insert(0, {str(directory)!r}); import asyncio, enum, inspect, subprocess, tempfile"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", begin], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def public_names(tree: ast.Module) -> Iterator[str]:
    """Every public class of a module, and every alias of a type."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        else:
            continue
        if name[0].isupper() and not name.isupper():
            yield name


def test_every_public_class_and_type_is_defined_once() -> None:
    """A reader who meets a name must not have to look which of several it is."""
    defined: dict[str, list[str]] = {}
    for path in sources(PACKAGE):
        for name in public_names(ast.parse(path.read_text())):
            defined.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: paths for name, paths in defined.items() if len(paths) > 1} == {}


def test_no_two_files_of_a_folder_and_its_package_are_taken_for_each_other() -> None:
    """`base.py` stands only where it holds the interface of its package; no other file name says nothing."""
    empty = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert [path for path in sources(PACKAGE) if path.stem in empty] == []


RIDDLES = frozenset({"What", "Who", "Whose", "Whether", "Which", "Where", "How", "Give", "Say"})


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every docstring of a module with its line: of modules, classes and functions, and those behind a constant."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, value.value


def riddles(path: Path) -> list[str]:
    """The docstrings of a file that open with a question, each with its line."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {' '.join(text.split()[:6])}"
        for line, text in docstrings(ast.parse(path.read_text()))
        if text.split() and text.split()[0].rstrip(",:;.") in RIDDLES
    ]


def test_a_docstring_opens_with_its_subject_or_a_verb() -> None:
    """A noun phrase for a thing, an imperative for a function, `Return True if` for a question: never a riddle."""
    ours = [path for folder in (PACKAGE, ROOT / "scripts", ROOT / "examples") for path in sources(folder)]
    assert [line for path in ours for line in riddles(path)] == []


def test_every_kind_of_docstring_is_looked_at() -> None:
    lines = ['"""Module."""', "A = 1", '"""Constant."""', "class B:", '    """Class."""', "    def c(self):"]
    text = "\n".join([*lines, '        """Function."""'])
    assert [(line, word) for line, word in docstrings(ast.parse(text))] == [
        (1, "Module."),
        (3, "Constant."),
        (5, "Class."),
        (7, "Function."),
    ]
