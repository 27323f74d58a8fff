"""The service: its properties, its methods, and what a one-shot command is given and gives back."""

import pytest
from tests.sources.doors import Doors, like
from tests.sources.source_002 import DOCUMENT

from fourhands import FourhandsError, Terminals, classify, parse
from fourhands.settings import AgentDefaults, Settings


@DOCUMENT.differs(
    "installation",
    "bun install @tokenring-ai/terminal",
    because="Fourhands is a Python program.",
    answer="pip install fourhands; the same tools by HTTP, MCP, ACP and the command line, for any language.",
)
async def installation(doors: Doors) -> None:
    async with doors.served.client() as client:
        described = (await client.get("/api/openapi.json")).json()
    paths = described["paths"]
    for tool in ("bash", "terminal_start", "terminal_continue", "terminal_stop", "terminal_list"):
        assert f"/api/commands/openspace.tool.{tool}" in paths


@DOCUMENT.differs(
    "dependencies",
    '"zod": "^4.3.6"',
    because="Arguments and settings are msgspec structs; nothing of the package's own surroundings is needed.",
    answer="the same schemas as JSON Schema, in the manifest and with every MCP tool.",
)
async def dependencies(doors: Doors) -> None:
    async with doors.served.client() as client:
        manifest = (await client.get("/openspace/manifest")).json()
    bash = next(one for one in manifest["commands"] if one["id"] == "openspace.tool.bash")
    like(bash["arguments_schema"], {"properties": {"command": {"type": "string"}}, "required": ["command"]})


@DOCUMENT.differs(
    "service name, service description",
    "TerminalService.name · TerminalService.description",
    because="There is one program and no container of services; what describes itself is each command.",
    answer="name and description of every tool in the manifest.",
)
async def names(doors: Doors) -> None:
    async with doors.served.client() as client:
        manifest = (await client.get("/openspace/manifest")).json()
    tools = [one for one in manifest["commands"] if one["id"].startswith("openspace.tool.")]
    assert len(tools) >= 7
    like(tools, [{"name": str, "description": str}])


@DOCUMENT.works(
    "service defaultProvider, features 5, R5", "defaultProvider: TerminalProvider", "Settings: agentDefaults.provider."
)
async def default_provider(doors: Doors) -> None:
    assert AgentDefaults().provider == "auto"
    assert (await doors.app.terminals.provider(Settings().agent_defaults.provider)).name == "auto"


@DOCUMENT.works(
    "service terminalProviderRegistry",
    "terminalProviderRegistry: KeyedRegistry<TerminalProvider>",
    "Python: Terminals.providers, by name.",
)
async def registry(doors: Doors) -> None:
    assert {"local", "bubblewrap", "container"} <= set(doors.app.terminals.providers)


@DOCUMENT.works("service run", "run(): void", "Python: entering `async with App(…)` or `Terminals(…)`; not before.")
async def run(doors: Doors) -> None:
    with pytest.raises(FourhandsError, match="outside its `async with` block"):
        await Terminals(doors.root).create()


@DOCUMENT.works(
    "service attach, features 7",
    "attach(agent: Agent): void",
    "HTTP: an agent's session begins with the defaults, and its own settings go over them.",
)
async def attach(doors: Doors) -> None:
    newcomer = doors.another("attached")
    first = await newcomer.agent("openspace.agent.configure", {})
    like(first["effective"], {"provider": "local", "bash": {"cropOutput": 10_000, "timeoutSeconds": 60.0}})
    then = await newcomer.agent("openspace.agent.configure", {"cropOutput": 5000})
    like(then["effective"], {"provider": "local", "bash": {"cropOutput": 5000, "timeoutSeconds": 60.0}})


@DOCUMENT.works(
    "service executeCommand, R4",
    "executeCommand('printf', ['%s', 'a b'], {}, agent)",
    "HTTP, as an agent: openspace.tool.execute_command; arguments are taken literally.",
)
async def execute_command(doors: Doors) -> None:
    done = await doors.agent("openspace.tool.execute_command", {"command": "printf", "args": ["%s", "a b"]})
    like(done, {"ok": True, "output": "a b", "exitCode": 0})


@DOCUMENT.works(
    "service executeCommand",
    "terminals.executeCommand(command, args, options)",
    "Python: `await terminals.execute(command, args, …)`.",
)
async def execute_by_python(doors: Doors) -> None:
    done = await doors.app.terminals.execute("printf", ["%s", "a b"], timeout_s=30)
    assert (done.ok, done.output, done.exit_code) == (True, "a b", 0)


@DOCUMENT.works(
    "service runScript",
    "runScript('for i in 1 2; do echo $i; done', {}, agent)",
    "HTTP: openspace.tool.run_script; Python: `await terminals.run_script(script, …)`.",
)
async def run_script(doors: Doors) -> None:
    script = "for i in 1 2; do\n  echo $i\ndone"
    like(await doors.agent("openspace.tool.run_script", {"script": script}), {"ok": True, "output": "1\n2\n"})
    assert (await doors.app.terminals.run_script(script)).stdout == "1\n2\n"


@DOCUMENT.works(
    "service getCommandSafetyLevel, features 2, R6",
    "getCommandSafetyLevel(shellString): 'safe' | 'unknown' | 'dangerous'",
    "HTTP: openspace.safety.judge; Python: classify(line).level; `fourhands classify` says the same.",
)
async def safety_level(doors: Doors) -> None:
    lines = {"ls": "safe", "make": "unknown", "dd if=a of=/dev/sda": "dangerous"}
    assert {line: classify(line).level for line in lines} == lines
    for line, level in lines.items():
        like(await doors.person("openspace.safety.judge", {"command": line}), {"level": level, "reason": str})


@DOCUMENT.works(
    "service parseCompoundCommand, features 3",
    "separators: && || ; |",
    "Python: parse(line), and classify(line).parts with a level for each; the worst decides.",
)
async def compound(doors: Doors) -> None:
    for separator in ("&&", "||", ";", "|"):
        judged = classify(f"ls {separator} rm -r x")
        assert parse(f"ls {separator} rm -r x") == [part.text for part in judged.parts] == ["ls", "rm -r x"]
        assert judged.level == "dangerous"


# -- what a command is given -----------------------------------------------------------------------------------------


@DOCUMENT.works("options input", "{ input: 'hello' }", "HTTP: it is what the program reads.")
async def option_input(doors: Doors) -> None:
    done = await doors.agent("openspace.tool.execute_command", {"command": "cat", "input": "hello"})
    assert done["output"] == "hello"


@DOCUMENT.works(
    "options timeoutSeconds", "{ timeoutSeconds: 1 }", "HTTP: ended then, with what it had printed and an error."
)
async def option_timeout(doors: Doors) -> None:
    script = "echo begun; exec sleep 60"
    done = await doors.agent("openspace.tool.run_script", {"script": script, "timeoutSeconds": 0.5})
    like(done, {"ok": False, "output": "begun\n", "code": "timeout"})
    assert "did not finish within 0.5 s" in done["error"]


@DOCUMENT.works(
    "features 1", "timeout (default 120 seconds)", "HTTP and Python: the default of execute_command and run_script."
)
async def option_timeout_default(doors: Doors) -> None:
    async with doors.served.client() as client:
        manifest = (await client.get("/openspace/manifest")).json()
    there = {one["id"]: one["arguments_schema"]["properties"] for one in manifest["commands"]}
    for tool in ("execute_command", "run_script"):
        assert there[f"openspace.tool.{tool}"]["timeoutSeconds"]["default"] == 120


@DOCUMENT.works(
    "options env", "{ env: { GREETING: 'hi', HOME: undefined } }", "HTTP: sets; null removes, as JSON has no undefined."
)
async def option_env(doors: Doors) -> None:
    args = {"script": "echo $GREETING ${HOME-gone}", "env": {"GREETING": "hi", "HOME": None}}
    assert (await doors.agent("openspace.tool.run_script", args))["output"] == "hi gone\n"


@DOCUMENT.works("options workingDirectory", "{ workingDirectory: 'packages/a' }", "HTTP: a directory of the workspace.")
async def option_directory(doors: Doors) -> None:
    (doors.root / "packages" / "a").mkdir(parents=True, exist_ok=True)
    done = await doors.agent("openspace.tool.execute_command", {"command": "pwd", "workingDirectory": "packages/a"})
    assert done["output"] == f"{doors.root}/packages/a\n"


@DOCUMENT.differs(
    "options workingDirectory",
    "{ workingDirectory: '/' }",
    because="A command never runs outside the workspace, nor silently somewhere else.",
    answer="ok false, code bad-cwd, and an error that names the directory.",
)
async def option_directory_outside(doors: Doors) -> None:
    done = await doors.agent("openspace.tool.execute_command", {"command": "pwd", "workingDirectory": "/"})
    like(done, {"ok": False, "code": "bad-cwd", "output": ""})
    assert "'/' lies outside" in done["error"]


# -- what it gives back ----------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "result ok, result output, result exitCode, result stdout, result stderr",
    "{ ok, output, exitCode, stdout, stderr }",
    "HTTP: both streams apart, and in `output` together in the order in which they came.",
)
async def result(doors: Doors) -> None:
    done = await doors.agent("openspace.tool.run_script", {"script": "echo out; sleep 0.1; echo err >&2; exit 3"})
    like(done, {"ok": False, "output": "out\nerr\n", "exitCode": 3, "stdout": "out\n", "stderr": "err\n"})


@DOCUMENT.works("result error", "{ ok: false, error?: string }", "HTTP: why it could not run; null where it ran.")
async def result_error(doors: Doors) -> None:
    done = await doors.agent("openspace.tool.execute_command", {"command": "no-such-program"})
    like(done, {"success": True, "ok": False, "code": "command-not-found", "error": str})
    assert "no-such-program" in done["error"]
    assert (await doors.agent("openspace.tool.execute_command", {"command": "true"}))["error"] is None


@DOCUMENT.differs(
    "result exitCode",
    "exitCode: number of a command that did not end by itself",
    because="A program that was ended or never began has no exit code, and a made-up one would be taken for its own.",
    answer="exitCode null, with the signal or a code such as timeout or command-not-found.",
)
async def result_without_code(doors: Doors) -> None:
    done = await doors.agent("openspace.tool.run_script", {"script": "kill -TERM $$"})
    like(done, {"ok": False, "exitCode": None, "signal": "SIGTERM"})
