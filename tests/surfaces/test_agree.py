import pytest
from tests.support.agree import AGENTS_DOORS, DOORS, STORY, tell, tell_as_agent
from tests.support.served import serve_app

TWENTY = {
    *(f"pane.{verb}" for verb in ("open", "close", "focus", "list", "resize")),
    *(f"editor.{verb}" for verb in ("open", "scroll_to", "highlight", "clear_highlight", "read_file", "close")),
    *(f"terminal.{verb}" for verb in ("create", "send", "read_output", "list", "close")),
    *(f"file.{verb}" for verb in ("read", "write", "list", "search")),
}


def test_the_story_has_all_twenty_commands_and_their_failures() -> None:
    assert {case.command for case in STORY} >= TWENTY
    assert {case.code for case in STORY} >= {"", "bad-argument", "not-found", "outside-workspace", "conflict"}


_reference: list[object] = []


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", DOORS)
async def test_the_doors_agree(door: str) -> None:
    async with serve_app() as served:
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
    async with serve_app() as served:
        told = await tell_as_agent(served, door)
    if not _reference_of_agents:
        _reference_of_agents.extend(told)
        codes = [result.get("code", "") for _, result in told]
        assert {"", "denied", "bad-argument", "not-found", "conflict"} <= set(codes)
    for expected, found in zip(_reference_of_agents, told, strict=True):
        assert found == expected
