"""A real OpenCode as an ACP agent, offline against a scripted model: permissions, edits, blocks."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.support.bench import environment, open_app
from tests.support.model import Answer as Said
from tests.support.model import Model, Request, Tool
from tests.support.npm_agents import opencode

from fourhands.agents.acp import AcpAgent
from fourhands.agents.catalogue import recipes
from fourhands.core.call import Actor
from fourhands.core.event import Event
from fourhands.core.question import Answer


def script(request: Request) -> Said:
    last = json.dumps(request.body["messages"][-1])
    if not request.body.get("tools"):
        return Said("A title")
    if "made by hand" in last:
        return Said(["All ", 'done. %%OS{"cmd":"openspace.file', '.list","args":{}}%%'])
    if "openspace.file.list" in last:
        return Said("Seen.")
    return Said(
        "Making it. ",
        tools=[Tool("bash", {"command": "echo made by hand > made.txt; cat made.txt", "description": "d"})],
    )


def settings(url: str) -> str:
    models = {"fake": {"tool_call": True, "limit": {"context": 32000, "output": 4000}}}
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    known = {"model": "fake/fake", "small_model": "fake/fake", "enabled_providers": ["fake"]}
    return json.dumps({**known, "autoupdate": False, "share": "disabled", "provider": {"fake": provider}})


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_real_opencode_asks_before_it_runs_and_its_blocks_are_taken_out():
    program = opencode()
    async with Model(script) as model, open_app() as app:
        home = Path(app.places.runtime).parent / "home"
        (home / "opencode.json").write_text(settings(model.url))
        env = {
            **environment(app.places),
            **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("DATA", "CONFIG", "STATE", "CACHE")},
            "OPENCODE_CONFIG": str(home / "opencode.json"),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_SHARE": "1",
        }
        session = app.bench.begin_session("opencode", "acp")
        app.gate.consent.grant(session.id)
        app.questions.attend()
        agent = AcpAgent(app.bench, session, app.tasks, recipes()["opencode"], [program, "acp"], env=env)
        events: list[Event] = []

        def hear(event: Event) -> None:
            events.append(event)
            if event.kind == "question.asked":
                id = str(event.data["id"])
                asyncio.get_running_loop().call_soon(app.questions.answer, id, Answer(choice="once"), Actor.person())

        app.events.published.subscribe(hear)
        async with asyncio.timeout(200):
            await agent.ready()
            await agent.prompt("please go")
            await agent.idle()
        assert [event.data for event in events if event.kind == "agent.failed"] == []
        assert (Path(app.bench.root) / "made.txt").read_text() == "made by hand\n"
        asked = [event.data for event in events if event.kind == "question.asked"]
        assert [data["shown"] for data in asked] == ["echo made by hand > made.txt; cat made.txt"]
        said = "".join(str(event.data["text"]) for event in events if event.kind == "agent.said")
        assert "%%" not in said
        assert "All done." in said
        assert [result.command_id for result in session.results] == ["openspace.file.list"]
        steps = [event.data.get("status") for event in events if event.kind == "agent.step"]
        assert steps[-1] == "completed"
        await agent.stop_process()
