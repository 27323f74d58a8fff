"""Real agents and clients at the other doors than MCP's run the same errands, with a person there and without.

Those that start soon; the long form has them all, and `make counterparts` writes what came of it into the manual.
"""

import pytest
from tests.kit.counterparts.doors import DOORS, Door

SOON = ("Codex, by ACP", "a chat model", "Python client")


async def run(door: Door, *, attended: bool) -> None:
    report = await door.run(attended)
    assert report.problems == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("attended", [True, False], ids=["attended", "unattended"])
@pytest.mark.parametrize("door", [d for d in DOORS if any(word in d.name for word in SOON)], ids=lambda door: door.name)
async def test_the_errands_are_run_and_only_what_is_dangerous_is_asked_about(door: Door, attended: bool) -> None:
    await run(door, attended=attended)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("attended", [True, False], ids=["attended", "unattended"])
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
async def test_all_of_them_do(door: Door, attended: bool) -> None:
    await run(door, attended=attended)
