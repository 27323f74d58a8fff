import pytest
from tests.support.agree import DOORS, STORY, tell
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
