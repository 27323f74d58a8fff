"""The commands as tools of a model: which, under what names, and what it reads of their results."""

from typing import Any

import pytest

from fourhands.app import CONTRIBUTIONS
from fourhands.commands.toolset import command_of, result_text, tool_name, toolset
from fourhands.core.call import Result
from fourhands.core.errors import NotFound
from fourhands.core.registry import Registry

CORE = {"bash", "terminal_start", "terminal_continue", "terminal_stop", "terminal_list"}


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = Registry()
    for contribution in CONTRIBUTIONS:
        registry.include(contribution)
    return registry


def test_the_core_set_comes_first_and_each_tool_once(registry: Registry) -> None:
    core = [spec.name for spec in toolset(registry)]
    every = [spec.name for spec in toolset(registry, ["all"])]
    assert set(core) == CORE
    assert every[: len(core)] == core
    assert sorted(every) == sorted(
        {tool_name(one.id) for one in registry if "agent" in one.actors and ".prompt." not in one.id}
    )
    mixed = [spec.name for spec in toolset(registry, ["openspace.pane.list", "bash", "core", "bash"])]
    assert mixed == [*core, "openspace_pane_list"]
    assert toolset(registry, []) == []


@pytest.mark.parametrize(("wanted", "near"), [("bahs", "'bash'"), ("openspace_pane_lst", "openspace_pane_list")])
def test_an_unknown_tool_is_told_with_the_nearest(registry: Registry, wanted: str, near: str) -> None:
    for ask in (lambda: toolset(registry, [wanted]), lambda: command_of(registry, wanted)):
        with pytest.raises(NotFound) as caught:
            ask()
        assert near in caught.value.hint
    with pytest.raises(NotFound):
        toolset(registry, ["openspace_file_remove"])  # a person's


def test_a_tools_name_leads_to_its_command(registry: Registry) -> None:
    for spec in toolset(registry, ["all"]):
        assert command_of(registry, spec.name) == command_of(registry, spec.command) == spec.command
        shape: Any = spec.parameters
        assert shape["type"] == "object"
    assert command_of(registry, "openspace_file_remove") == "openspace.file.remove"  # the gate refuses it


def test_a_failure_is_its_sentence_its_code_and_what_to_do(registry: Registry) -> None:
    failed = Result.failure(NotFound("no file 'a'", hint="files here: b"))
    assert result_text(None, failed) == "error: no file 'a'\ncode: not-found\nhint: files here: b"
    done = Result(success=True, data={"files": ["ä"]})
    assert result_text(registry.get("openspace.file.list"), done) == '{"success":true,"files":["ä"]}'
