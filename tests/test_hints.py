"""What errors tell their reader to do can be done: the commands that hints name exist, and the reader may use them.

A hint that names a person's command says that it is the person's, unless only people can get it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.person import let_in
from tests.kit.workbench import open_app

from fourhands import commands
from fourhands.core.registry import NAMESPACE, Registry

SOURCE = Path(commands.__file__).parent.parent
COMMAND = re.compile(r"openspace\.[a-z]+\.[a-z_]+")
EXAMPLE = {"openspace.noun.verb"}
ONLY_PEOPLE = {"commands/change.py"}
"""Files all of whose commands are a person's."""


def hints() -> Iterator[tuple[str, str]]:
    """Every literal text of the program that names a command, with its file: hints, and what is said of a rest."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "hint" and (words := _words(node.value)):
                yield name, words
            if isinstance(node, ast.Assign) and any(_named(target) for target in node.targets):
                yield name, _words(node.value)


def _named(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in ("hint", "rest", "how", "IN_PIECES", "_BY_ID")


def _words(node: ast.AST) -> str:
    """The literal parts of a text, however it is put together."""
    found = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return " ".join(found)


@pytest.fixture
async def registry():
    async with open_app() as app:
        yield app.registry


async def test_every_command_that_a_hint_names_can_be_used_by_its_reader(registry: Registry) -> None:
    named = 0
    for file, words in hints():
        for id in set(COMMAND.findall(words)) - EXAMPLE:
            named += 1
            assert id in registry, f"{file}: {words}"
            if file not in ONLY_PEOPLE and "agent" not in registry.get(id).actors:
                assert "person" in words, f"{file} sends an agent to {id}: {words}"
    assert named > 5  # or this test looks at nothing
    for file in ONLY_PEOPLE:
        noun = Path(file).stem
        mine = [one for one in registry if one.id.startswith(f"{NAMESPACE}{noun}.")]
        assert mine
        assert all(one.actors == ("person",) for one in mine)


async def test_what_agents_read_of_commands_names_only_commands_of_theirs(registry: Registry) -> None:
    for command in registry:
        if "agent" in command.actors:
            for id in COMMAND.findall(command.description):
                assert "agent" in registry.get(id).actors, command.id


async def test_an_unknown_command_is_answered_with_what_its_caller_may_use() -> None:
    async with open_app() as app:
        agent = let_in(app).actor
        for id in ("openspace.agent.strat", "openspace.file.remov", "openspace.editor.sav", "openspace.x.y"):
            for call in (id, "openspace.agent.help"):
                args: dict[str, object] = {"command": id} if call != id else {}
                answer = await app.call(call, args, actor=agent)
                assert answer.code == "not-found"
                listed = set(COMMAND.findall(answer.hint)) - EXAMPLE
                assert listed
                assert all("agent" in app.registry.get(one).actors for one in listed), answer.hint
            person = await app.call(id)
            assert person.code == "not-found"
        assert "openspace.file.remove" in (await app.call("openspace.file.remov")).hint


def test_no_text_for_a_person_at_a_shell_takes_the_program_to_be_on_their_path() -> None:
    """`typed()` says how it is called there; `fourhands` alone is often not found."""
    verb = re.compile(r"\bfourhands (terminal|call|open|stop|serve|doctor|journal|classify)\b")
    bare = []
    for path in sorted((SOURCE / "surfaces" / "cli").rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            told = isinstance(node, ast.keyword) and node.arg == "hint"
            told = told or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("echo"))
            if told and verb.search(_words(node)):
                bare.append(f"{path.name}: {_words(node)}")
    assert bare == []
