"""A real Codex by its ACP adapter, offline against a scripted model: in our sandbox, and the person is who decides."""

import dataclasses
import itertools
import json

import pytest
from tests.kit import own_models
from tests.kit.model import Answer, Request, Tool
from tests.kit.npm_agents import codex_agent
from tests.kit.real_agents import on_stage

from fourhands.agents.acp.catalogue import recipes

LINE = "rm -rf precious; echo hi; exit 3"


class Script:
    """Runs a line that its own sandbox would not; keeps what came of it."""

    def __init__(self) -> None:
        self.results: list[str] = []
        self._ids = itertools.count(1)

    def __call__(self, request: Request) -> Answer:
        return dataclasses.replace(self._answer(request), id=str(next(self._ids)))

    def _answer(self, request: Request) -> Answer:
        last = request.body["input"][-1]
        if last["type"] == "function_call_output":
            self.results.append(str(last["output"]))
            return Answer("Done.")
        if "run it" not in json.dumps(last.get("content", "")):
            return Answer("Seen.")
        outside = {"sandbox_permissions": "require_escalated", "justification": "the task needs it"}
        return Answer("Now.", tools=[Tool("exec_command", {"cmd": LINE, **outside}, id="call_1")])


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_real_codex_asks_the_person_and_not_another_model() -> None:
    program, script = codex_agent(), Script()
    async with on_stage(recipes()["codex"], [program], script, own_models.codex, provider="bubblewrap") as journey:
        assert journey.session.title == "Codex"
        (journey.root / "precious").mkdir()
        await journey.turn("run it")
        assert journey.asked() == [LINE]
        assert "exited with code 3" in script.results[-1]
        assert not (journey.root / "precious").exists()
        described = await journey.app.call("openspace.agent.describe", {"sessionId": journey.session.id})
        assert described.data["mode"] == "workspace-write"
        assert [one.id for one in await journey.agent.chats()] == [journey.agent.acp.id]
