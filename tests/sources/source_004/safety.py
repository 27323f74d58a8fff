"""How it belongs to the rest: sessions, lifecycle, capabilities, safety."""

import re
import shutil
from pathlib import Path

from tests.kit.acp_stage import open_stage
from tests.kit.isolation import refuse
from tests.kit.server import until
from tests.sources.doors import Doors, like
from tests.sources.rpc import joined
from tests.sources.source_004 import DOCUMENT, PARAMS, ULID

# -- integration -------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "TerminalSession, Integration 2, TerminalMethodHandler",
    "command, args, session_id, working_dir, output_byte_limit",
    "One path for all: the request is a call of openspace.terminal.exec by the session, judged and kept in the journal "
    "with these arguments.",
)
async def one_path(doors: Doors) -> None:
    async with joined(doors) as editor:
        with doors.hearing("call.finished") as heard:
            await editor.create("echo", args=["hi"], outputByteLimit=77, cwd=str(doors.root))
    [told] = [event.data for event in heard if event.data["command"] == "openspace.terminal.exec"]
    like(dict(told), {"ok": True, "origin": "acp", "session": editor.session})
    like(told["args"], {"command": "echo", "args": ["hi"], "cwd": str(doors.root), "outputByteLimit": 77})


@DOCUMENT.works(
    "Integration 4",
    "terminal lifecycle",
    "terminal/wait_for_exit answers with the exit code or the signal, terminal/kill ends the program and keeps the id; "
    "when the connection ends, so does all that it started.",
)
async def lifecycle(doors: Doors) -> None:
    async with joined(doors) as editor:
        id = await editor.create("exit 3")
        status = (await editor.call("terminal/wait_for_exit", terminalId=id))["result"]
        assert status == {"exitCode": 3, "signal": None}
        id = await editor.create("echo begun; sleep 1000")
        assert (await editor.call("terminal/kill", terminalId=id))["result"] == {}
        ended = await editor.ended(id)
        assert ended["exitStatus"]["exitCode"] is None
        assert ended["exitStatus"]["signal"].startswith("SIG")
        await editor.create("sleep 1000")
    await until(lambda: doors.app.terminals.list() == [])


@DOCUMENT.works(
    "Acceptance 7",
    "capability checking",
    "The answer to initialize has `clientCapabilities` with `terminal: true`, and the files that are served.",
)
async def capabilities(doors: Doors) -> None:
    async with joined(doors) as editor:
        editor.session = ""
        answer = await editor.call("initialize", protocolVersion=1, clientCapabilities={"terminal": True})
        like(answer["result"], {"protocolVersion": 1, "clientCapabilities": {"terminal": True, "fs": dict}})


@DOCUMENT.works(
    "Acceptance 1, Acceptance 7",
    "an ACP agent that Fourhands has started sends terminal/create",
    "The same handler: our initialize tells the agent `clientCapabilities.terminal: true`, and the literal request of "
    "the agent is answered with a terminalId.",
)
async def as_a_client(doors: Doors) -> None:
    async with open_stage() as stage:
        params = {**PARAMS, "sessionId": "$session", "command": "echo", "cwd": stage.bench.root}
        created, ended, output = await stage.turn(
            ["call", "terminal/create", params],
            ["call", "terminal/wait_for_exit", {"sessionId": "$session", "terminalId": "$terminal"}],
            ["call", "terminal/output", {"sessionId": "$session", "terminalId": "$terminal"}],
        )
        assert re.fullmatch(f"term_{ULID}", created["result"]["terminalId"])
        like(ended, {"result": {"exitCode": 0}})
        assert output["result"]["output"] == "test --coverage\n"
        [begun] = [one for one in stage.sent() if one.get("method") == "initialize"]
        assert begun["params"]["clientCapabilities"]["terminal"] is True


@DOCUMENT.works(
    "Benefits",
    "backward compatible",
    "Beside it openspace.terminal.create, openspace.tool.bash and the other terminal commands work as before, on the "
    "same terminals.",
)
async def beside_the_others(doors: Doors) -> None:
    async with joined(doors) as editor:
        id = await editor.create("echo from acp; sleep 1000")
        await doors.agent("openspace.terminal.wait", {"terminalId": id, "pattern": "from acp"})
        assert "from acp" in (await doors.agent("openspace.terminal.read_output", {"terminalId": id}))["output"]
        like(await doors.agent("openspace.terminal.create", {"title": "own"}), {"success": True, "terminalId": str})
        await doors.agent("openspace.terminal.close", {"terminalId": "own"})


# -- security ----------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "Security 1, Acceptance 8",
    '"command":"rm","args":["-rf","/"]',
    "Judged before it runs: the editor is asked by session/request_permission, and the page too. A refusal is -32603 "
    "with `denied`. Reading ones are not asked about.",
)
async def judged(doors: Doors) -> None:
    async with joined(doors) as editor:
        await editor.printed("ls", args=["-l"])
        assert editor.asked == []
        editor.choice = "deny"
        assert (await editor.error("terminal/create", command="rm", args=["-rf", "/"]))[:2] == (-32603, "denied")
        assert [one["toolCall"]["rawInput"] for one in editor.asked] == [{"command": "rm -rf /"}]


@DOCUMENT.works(
    "Security 2",
    '{"name":"LD_PRELOAD","value":"./x.so"}',
    "A variable that makes other code run (LD_PRELOAD, BASH_ENV, NODE_OPTIONS, …) makes the call dangerous: a person "
    "is asked, whatever the command.",
)
async def dangerous_variables(doors: Doors) -> None:
    async with joined(doors) as editor:
        editor.choice = "deny"
        for name in ("LD_PRELOAD", "BASH_ENV", "NODE_OPTIONS"):
            env = [{"name": name, "value": "./x.so"}]
            assert (await editor.error("terminal/create", command="ls", env=env))[1] == "denied", name
        assert len(editor.asked) == 3


@DOCUMENT.works(
    "Security 3",
    "working directory boundaries",
    "A link that leads out, `..` beyond the root and `/` are `bad-cwd`, before a person is asked about the command.",
)
async def boundaries(doors: Doors) -> None:
    (doors.root / "out").symlink_to("/etc")
    async with joined(doors) as editor:
        for cwd in (f"{doors.root}/out", f"{doors.root}/..", "/"):
            answer = await editor.call("terminal/create", command="rm -rf x", cwd=cwd)
            like(answer["error"], {"code": -32602, "data": {"code": "bad-cwd", "problem": "outside"}})
        assert editor.asked == []


@DOCUMENT.works(
    "Security 4",
    "command execution sandboxing where appropriate",
    "With the provider `bubblewrap`, by openspace.agent.configure or the settings, what the session runs is in a "
    "sandbox: the workspace is there, the home directory and the network are not.",
)
async def sandboxed(doors: Doors) -> None:
    if shutil.which("bwrap") is None:
        refuse("bubblewrap is not installed")
    async with joined(doors) as editor:
        await doors.person("openspace.agent.configure", {"sessionId": editor.session, "provider": "bubblewrap"})
        secret = Path(doors.app.terminals.env["HOME"], "notes")
        secret.write_text("private")
        seen = await editor.printed(f"pwd; cat {secret} 2>&1 || echo hidden")
        assert seen.startswith(f"{doors.root}\n")
        assert "private" not in seen
        assert seen.endswith("hidden\n")
        [one] = (await doors.person("openspace.terminal.list"))["terminals"]
        assert one["isolation"] == "sandbox"


@DOCUMENT.works(
    "Acceptance 9, Acceptance 10",
    "test coverage, documentation",
    "docs/acp.md has every method, every parameter and every error; each has an item here.",
)
async def documented(doors: Doors) -> None:
    page = (Path(__file__).parents[3] / "docs/acp.md").read_text()
    for word in (
        *("terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release"),
        *("sessionId", "command", "args", "env", "cwd", "outputByteLimit"),
        *("unknown-session", "command-not-found", "permission-denied", "bad-cwd", "bad-env", "bad-argument", "denied"),
    ):
        assert f"`{word}`" in page, word
    assert DOCUMENT.missing() == []
