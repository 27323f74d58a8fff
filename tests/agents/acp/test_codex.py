"""A real Codex by its ACP adapter, offline against a scripted model: in our sandbox, and the person is who decides.

A further directory, a mode, a picture, an older chat and one that cannot be deleted.
"""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit import own_models
from tests.kit.model import Answer, Request, Tool
from tests.kit.npm_agents import codex_agent
from tests.kit.real_agents import PICTURE, PNG, Journey, on_stage

from fourhands.agents.acp.catalogue import recipes

LINE = "rm -rf precious; echo hi; exit 3"


class Script:
    """Runs a line that its own sandbox would not; keeps what came of it."""

    def __init__(self) -> None:
        self.results: list[str] = []
        self.asked: list[Any] = []
        self.library = ""
        self._ids = itertools.count(1)

    def __call__(self, request: Request) -> Answer:
        return dataclasses.replace(self._answer(request), id=str(next(self._ids)))

    def _answer(self, request: Request) -> Answer:
        self.asked.append(request.body["input"])
        last = request.body["input"][-1]
        if last["type"] == "function_call_output":
            self.results.append(str(last["output"]))
            return Answer("Done.")
        said = json.dumps(last.get("content", ""))
        line = next(
            (line for words, line in (("run it", LINE), ("further", f"cat {self.library}/lib.txt")) if words in said),
            "",
        )
        if not line:
            return Answer("Seen.")
        outside = {"sandbox_permissions": "require_escalated", "justification": "the task needs it"}
        return Answer("Now.", tools=[Tool("exec_command", {"cmd": line, **outside}, id=f"call_{len(self.asked)}")])


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_real_codex_asks_the_person_and_not_another_model(tmp_path: Path) -> None:
    program, script = codex_agent(), Script()
    (tmp_path / "lib.txt").write_text("read from the library\n")
    script.library = str(tmp_path)
    async with on_stage(
        recipes()["codex"],
        [program],
        script,
        own_models.codex,
        provider="bubblewrap",
        directories=(str(tmp_path),),
    ) as journey:
        assert journey.session.title == "Codex"
        (journey.root / "precious").mkdir()
        await journey.turn("run it")
        assert journey.asked() == [LINE]
        assert "exited with code 3" in script.results[-1]
        assert not (journey.root / "precious").exists()
        assert (await journey.command("describe"))["mode"] == "workspace-write"
        assert [one.id for one in await journey.agent.chats()] == [journey.agent.acp.id]
        await journey.turn("further")
        assert "read from the library" in script.results[-1]
        await _chats(journey, script)


async def _chats(journey: Journey, script: Script) -> None:
    first = journey.agent.acp.id
    await journey.command("reset")
    await journey.command("set_mode", mode="read-only")
    await journey.turn("what is this?", PICTURE)
    parts = [part for one in script.asked[-1] for part in one.get("content") or () if isinstance(part, dict)]
    (image,) = [part for part in parts if part["type"] == "input_image"]
    assert image["image_url"] == f"data:image/png;base64,{PNG}"
    assert "run it" not in json.dumps(script.asked[-1])
    second = journey.agent.acp.id
    await journey.command("load_chat", chat=first)
    await journey.turn("and now?")
    assert "run it" in json.dumps(script.asked[-1])
    assert (await journey.command("describe"))["mode"] == "read-only"
    # It deletes by moving a file, which cannot leave the directory that its sandbox shares with the person.
    deleted = await journey.app.call("openspace.agent.delete_chat", {"sessionId": journey.session.id, "chat": second})
    assert "Cross-device link" in deleted.error
