"""What is refused and how, and the ids."""

import os
import re

from tests.kit.server import until
from tests.sources.doors import Doors
from tests.sources.rpc import joined
from tests.sources.source_004 import DOCUMENT, ULID

# -- errors ------------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "Error 1, Process 4, Testing 6",
    "command not found",
    "-32603 with `data.code` `command-not-found`, and the name; nothing is left behind.",
)
async def command_not_found(doors: Doors) -> None:
    async with joined(doors) as editor:
        before = await _terminals(doors)  # those of other items, which may still be ending
        for params in ({}, {"args": ["x"]}):
            number, code, text = await editor.error("terminal/create", command="no-such-program", **params)
            assert (number, code) == (-32603, "command-not-found")
            assert "no-such-program" in text
        assert await _terminals(doors) <= before


async def _terminals(doors: Doors) -> set[str]:
    return {one["id"] for one in (await doors.person("openspace.terminal.list"))["terminals"]}


@DOCUMENT.works("Error 2", "permission denied", "-32603 with `data.code` `permission-denied`, and the file.")
async def permission_denied(doors: Doors) -> None:
    doors.write("plain.txt", "x")
    async with joined(doors) as editor:
        for params in ({}, {"args": ["x"]}):
            number, code, text = await editor.error("terminal/create", command="./plain.txt", **params)
            assert (number, code) == (-32603, "permission-denied")
            assert "plain.txt" in text


@DOCUMENT.works(
    "Error 4",
    '{"name":"","value":"x"}',
    "-32602 with `bad-env`: a name that is empty, has `=`, a blank or a leading digit, or a value with NUL. A pair "
    "without a value is `bad-argument`.",
)
async def bad_variables(doors: Doors) -> None:
    async with joined(doors) as editor:
        for pair in (("", "x"), ("A=B", "x"), ("A B", "x"), ("1A", "x"), ("A", "x\0y")):
            env = [{"name": pair[0], "value": pair[1]}]
            assert (await editor.error("terminal/create", command="ls", env=env))[:2] == (-32602, "bad-env"), pair
        for wrong in ([{"name": "A"}], {"A": "B"}, ["A=B"]):
            assert (await editor.error("terminal/create", command="ls", env=wrong))[1] == "bad-argument"


@DOCUMENT.works(
    "Acceptance 6",
    "all failure scenarios",
    "Every error has a JSON-RPC number, a sentence, and `data.code`, which tells it from all others.",
)
async def errors_are_distinct(doors: Doors) -> None:
    doors.write("plain.txt", "x")
    wrong: list[dict[str, object]] = [
        {"command": "ls", "sessionId": "x"},
        {"command": "no-such-program"},
        {"command": "./plain.txt"},
        {"command": "ls", "cwd": "relative"},
        {"command": "ls", "env": [{"name": "", "value": ""}]},
        {"command": 5},
    ]
    async with joined(doors) as editor:
        errors = [await editor.error("terminal/create", **params) for params in wrong]
    assert len({code for _, code, _ in errors}) == len(wrong)
    assert all(text for _, _, text in errors)


# -- ids ---------------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "Handler 4, Id 1, Testing 2",
    "term_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "An id is `term_` and a ULID, and no two are alike.",
)
async def ids(doors: Doors) -> None:
    async with joined(doors) as editor:
        made = [await editor.create("true") for _ in range(5)]
    assert all(re.fullmatch(f"term_{ULID}", id) for id in made)
    assert len(set(made)) == 5


@DOCUMENT.works(
    "Id 4, Testing 7",
    "concurrent terminal creation",
    "Twelve requests at once give twelve ids, each with its own output.",
)
async def concurrent(doors: Doors) -> None:
    async with joined(doors) as editor:
        for number in range(12):
            params = {"sessionId": editor.session, "command": f"echo number {number}"}
            await editor.send({"jsonrpc": "2.0", "id": number, "method": "terminal/create", "params": params})
        made = [(await editor.answer(number))["result"]["terminalId"] for number in range(12)]
        assert len(set(made)) == 12
        assert [(await editor.ended(id))["output"] for id in made] == [f"number {number}\n" for number in range(12)]


@DOCUMENT.works(
    "Id 2, Testing 8, Acceptance 2",
    "terminal registry",
    "openspace.terminal.list has it while it is open. After terminal/release its id is unknown to the connection, and "
    "what ran has ended.",
)
async def registry(doors: Doors) -> None:
    async with joined(doors) as editor:
        id = await editor.create("sleep 1000")
        listed = (await doors.person("openspace.terminal.list"))["terminals"]
        pid = next(one["pid"] for one in listed if one["id"] == id)
        assert (await editor.call("terminal/release", terminalId=id))["result"] == {}
        assert (await editor.error("terminal/output", terminalId=id))[:2] == (-32002, "not-found")
        await until(lambda: not os.path.exists(f"/proc/{pid}"))


@DOCUMENT.works(
    "Id 3",
    "terminal id validation",
    "An id of another form, of another session or of none: -32002 with `not-found`, and the ids that there are.",
)
async def wrong_ids(doors: Doors) -> None:
    async with joined(doors) as editor:
        first = editor.session
        id = await editor.create("true")
        for wrong in ("term_xyz789", "x", ""):
            number, code, text = await editor.error("terminal/output", terminalId=wrong)
            assert (number, code) == (-32002, "not-found")
            assert id in text
        await editor.open(doors)
        assert (await editor.error("terminal/output", terminalId=id))[1] == "not-found"
        editor.session = first
        assert "result" in await editor.call("terminal/output", terminalId=id)
