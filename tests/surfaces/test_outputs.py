"""The whole of what was cropped, by its id: through every door, for whoever may read it."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.kit.agree import AGENTS_DOORS, DOORS, Caller, agreeable_person
from tests.kit.mcp_client import WITH_FIELDS, connected, data
from tests.kit.server import serve_app

WHOLE = "".join(f"{n}\n" for n in range(1, 20_001))
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("bash", {"command": "seq 20000"}),
    ("execute_command", {"command": "seq", "args": ["20000"]}),
    ("run_script", {"script": "seq 10000\nseq 10001 20000\n"}),
]


async def read_on(call: Caller, id: str, **limit: int) -> str:
    """All pieces of an output."""
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        piece = await call("openspace.tool.read_output", {"outputId": id, "offset": offset, **limit})
        assert piece["success"], piece
        pieces.append(piece["output"])
        offset = piece.get("next")
    return "".join(pieces)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_cropped_output_says_its_id_and_is_whole_by_it_through_every_door() -> None:
    async with serve_app() as served:
        with agreeable_person(served.app):
            for name, door in [*DOORS.items(), *AGENTS_DOORS.items()]:
                async with door(served) as call:
                    for tool, args in TOOLS if name in ("http", "MCP") else TOOLS[:1]:
                        done = await call(f"openspace.tool.{tool}", args)
                        assert done["success"], (name, done)
                        assert done["truncated"]
                        said = re.search(
                            r"lines (\d+)–\d+ of 20000 left out: read (output:\d+) from \1 ", done["output"]
                        )
                        assert said is not None, name
                        end = await call("openspace.tool.read", {"path": said[2], "from": 20_000})
                        assert (end["content"], end["lines"], end["next"]) == ("20000\n", 20_000, None)
                        assert await read_on(call, done["outputId"], limit=60_000) == WHOLE, name
                        assert await read_on(call, said[2], limit=60_000) == WHOLE, name
                    missing = await call("openspace.tool.read_output", {"outputId": "none"})
                    assert missing["code"] == "not-found"


async def test_what_a_program_in_a_terminal_printed_is_whole_by_its_position() -> None:
    async with serve_app() as served:
        with agreeable_person(served.app):
            async with AGENTS_DOORS["http"](served) as call:
                done = await call("openspace.tool.terminal_start", {"command": "seq 20000"})
                while not done["complete"]:
                    done = await call("openspace.tool.terminal_continue", {"sessionId": done["sessionId"]})
                kept = re.search(r"left out: read (output:\d+) from", done["output"])
                assert kept is not None, done["output"][:500]
                assert await read_on(call, kept[1]) == WHOLE
                lines: list[str] = []
                position = 0
                while True:
                    args = {"terminalId": done["sessionId"], "since": position}
                    piece = await call("openspace.terminal.read_output", args)
                    assert piece["success"], piece
                    if piece["position"] == position:
                        break
                    lines, position = lines + piece["output"], piece["position"]
                assert lines == WHOLE.splitlines()


async def test_mcp_reads_outputs_and_pieces_of_files_as_resources() -> None:
    async with serve_app() as served:
        Path(served.places.workspace, "a b.txt").write_text(WHOLE)
        with agreeable_person(served.app):
            async with connected(served.app, "auto") as client:
                id = data(await client.call_tool("bash", {"command": "seq 20000"}, meta=WITH_FIELDS))["outputId"]

                async def read(uri: str) -> Any:
                    return (await client.read_resource(uri)).contents[0]

                first = await read(f"fourhands://output/{id}?limit=50")
                assert first.text == WHOLE[:50]
                rest = await read(f"fourhands://output/{id}?offset={first.meta['fourhands/next']}&limit=100000")
                assert rest.text == WHOLE[50:100_050]
                assert (await read("fourhands://file/a%20b.txt?startLine=7&endLine=8")).text == "7\n8"
                assert (await read("fourhands://file/a%20b.txt?offset=2&limit=8")).text == WHOLE[2:10]
                assert (await read("fourhands://file/a%20b.txt")).text == WHOLE
