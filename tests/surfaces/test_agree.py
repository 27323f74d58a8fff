import pytest
from tests.kit.agree import AGENTS_DOORS, DOORS, STORY, tell, tell_as_agent
from tests.kit.server import serve_app

from fourhands.app import CONTRIBUTIONS
from fourhands.settings import AgentDefaults, PersistentSettings, Settings

# In one process: what came of the first door is the measure for the others.
pytestmark = pytest.mark.xdist_group("doors")

SETTINGS = Settings(
    agent_defaults=AgentDefaults(persistent=PersistentSettings(min_interval=0, settle_interval=0.2, max_interval=5))
)
TWENTY = {
    *(f"pane.{verb}" for verb in ("open", "close", "focus", "list", "resize")),
    *(f"editor.{verb}" for verb in ("open", "scroll_to", "highlight", "clear_highlight", "read_file", "close")),
    *(f"terminal.{verb}" for verb in ("create", "send", "read_output", "list", "close")),
    *(f"file.{verb}" for verb in ("read", "write", "list", "search")),
}


def test_the_story_has_all_twenty_commands_and_their_failures() -> None:
    assert {case.command for case in STORY} >= TWENTY
    assert {case.code for case in STORY} >= {"", "bad-argument", "not-found", "outside-workspace", "conflict"}


def test_every_command_of_the_registry_has_a_case() -> None:
    known = {command.id.removeprefix("openspace.") for part in CONTRIBUTIONS for command in part.commands}
    assert known - {case.command for case in STORY} == set()


_reference: list[object] = []


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", DOORS)
async def test_the_doors_agree(door: str) -> None:
    async with serve_app(SETTINGS) as served:
        told = await tell(served, door)
    if not _reference:
        _reference.extend(told)  # the first one sets the measure, Python itself in an ordinary run
    for expected, found in zip(_reference, told, strict=True):
        assert found == expected


_reference_of_agents: list[object] = []


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", AGENTS_DOORS)
async def test_the_doors_of_agents_agree(door: str) -> None:
    async with serve_app(SETTINGS) as served:
        told = await tell_as_agent(served, door)
    if not _reference_of_agents:
        _reference_of_agents.extend(told)
        codes = [result.get("code", "") if isinstance(result, dict) else "" for _, result in told]
        assert {"", "denied", "bad-argument", "not-found", "conflict"} <= set(codes)
    for expected, found in zip(_reference_of_agents, told, strict=True):
        assert found == expected
