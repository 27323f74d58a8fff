"""A command that is added while the server runs is everywhere at once, with no other edit; and gone again."""

import asyncio
from typing import Annotated, Any

import pytest
from msgspec import Meta, Struct
from scripts import reference
from tests.kit.agree import AGENTS_DOORS, DOORS, run_cli
from tests.kit.server import Served

from fourhands.app import CONTRIBUTIONS
from fourhands.core.call import Call
from fourhands.core.registry import Contribution
from fourhands.surfaces.mcp.tools import Tools
from fourhands.workbench.workbench import Workbench

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

ID = "openspace.probe.double"
added = Contribution("openspace.probe")


class Double(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments."""

    number: Annotated[int, Meta(description="The number to double.")]


class Doubled(Struct, frozen=True):
    """Result."""

    number: int


@added.add("double", label="Double a number", read_only=True, example={"number": 4})
async def double(bench: Workbench, args: Double, call: Call) -> Doubled:
    """Double a number for whoever asks."""
    return Doubled(number=2 * args.number)


async def _shown(served: Served) -> dict[str, bool]:
    """Where the command can be seen."""
    async with served.client() as client:
        manifest: Any = (await client.get("/openspace/manifest")).json()
        document: Any = (await client.get("/api/openapi.json")).json()
        instructions = (await client.get("/openspace/instructions")).text
        called = (await client.post(f"/api/commands/{ID}", json={"number": 4})).json()
    tools = Tools(served.app.registry)
    listed = {tool.name for tool in tools.list(["all"])}
    tools.close()
    words = ["instructions", "--workspace", served.places.workspace]
    told = (await asyncio.to_thread(run_cli, words, served.env)).stdout
    help = await served.app.call("openspace.agent.help", {"command": ID})
    return {
        "the manifest, which is what the palette shows": ID in {one["id"] for one in manifest["commands"]},
        "the document": f"/api/commands/{ID}" in document["paths"],
        "the instructions": ID in instructions and "Double a number for whoever asks" in instructions,
        "the instructions on the command line": ID in told,
        "a call": called == {"success": True, "number": 8},
        "the tools": "openspace_probe_double" in listed,
        "the help": help.success,
    }


async def test_a_command_added_at_run_time_is_everywhere_and_goes_again(served: Served) -> None:
    async with served.caller() as caller:
        version = caller.hello["manifest"]
        assert not any((await _shown(served)).values())
        dispose = served.app.registry.include(added)
        try:
            changed = await caller.event("manifest.changed")
            assert changed["data"]["version"] == served.app.registry.version != version
            missing = [where for where, there in (await _shown(served)).items() if not there]
            assert missing == []
            for door in (*DOORS.values(), *AGENTS_DOORS.values()):
                async with door(served) as call:
                    assert await call(ID, {"number": 21}) == {"success": True, "number": 42}
                    assert (await call(ID, {"number": "x"}))["code"] == "bad-argument"
        finally:
            dispose()
        await caller.event("manifest.changed")
        assert not any((await _shown(served)).values())


async def test_the_reference_describes_what_is_contributed() -> None:
    assert ID not in reference.commands_page()
    page = reference.commands_page((*CONTRIBUTIONS, added))
    assert f"### `{ID}`\n\n**Double a number.** Double a number for whoever asks." in page
