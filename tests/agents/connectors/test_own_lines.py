"""Lines that an agent runs in a process of its own: asked about by the same rule as by every other door."""

import pytest
from tests.kit.person import let_in
from tests.kit.workbench import open_app

from fourhands.agents.connectors.own_lines import OwnLines
from fourhands.settings import SafetySettings, Settings
from fourhands.workbench.sessions import AgentPlace

SANDBOX, BARE = AgentPlace("sandbox", "bubblewrap"), AgentPlace("none", "local")


@pytest.mark.parametrize(
    ("place", "unasked"),
    [(SANDBOX, ["ls", "./frob", "git push"]), (BARE, ["ls"]), (None, ["ls"])],
)
async def test_in_a_sandbox_what_is_unknown_runs_unasked(place: AgentPlace | None, unasked: list[str]) -> None:
    async with open_app() as app:
        session = let_in(app, provider="local" if place is BARE else "bubblewrap")
        session.place = place
        lines = OwnLines(app.bench, session)
        run = [line for line in ("ls", "./frob", "git push", "rm x", "cat .env") if await _unasked(lines, line)]
        assert run == unasked
        app.gate.consent.grant(session.id, ("see",))
        assert not await _unasked(lines, "ls")


async def test_what_a_checkpoint_brings_back_runs_unasked_if_the_person_has_chosen_so() -> None:
    async with open_app(Settings(safety=SafetySettings(ask="irreversible"))) as app:
        session = let_in(app, provider="bubblewrap")
        session.place = SANDBOX
        lines = OwnLines(app.bench, session)
        assert await _unasked(lines, "rm x")
        assert not await _unasked(lines, "git clean -fdx")


async def _unasked(lines: OwnLines, line: str) -> bool:
    return await lines.run_unasked(lines.assess(line))
