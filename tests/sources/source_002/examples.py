"""The document's usage examples, call by call, and what surrounds the package."""

from pathlib import Path

from tests.sources.doors import Doors, like
from tests.sources.source_002 import DOCUMENT
from tests.sources.source_002.tools import quit_all

from fourhands import parse

HERE = Path(__file__).parents[3]


@DOCUMENT.works(
    "example execution",
    "executeCommand('npm install', [], { timeoutSeconds: 120 }, agent)",
    "HTTP: a command with blanks and no arguments is a shell line; `output` has what it printed.",
)
async def execution(doors: Doors) -> None:
    args = {"command": "npm install", "args": [], "timeoutSeconds": 120}
    done = await doors.agent("openspace.tool.execute_command", args)
    like(done, {"ok": True, "output": "npm install\n", "exitCode": 0})


SAFETY = {"rm -rf /": "dangerous", "my_custom_script.sh": "unknown", "ls -la": "safe"}

for line, level in SAFETY.items():

    @DOCUMENT.works("example safety", f"getCommandSafetyLevel('{line}') → '{level}'", "HTTP: openspace.safety.judge.")
    async def safety(doors: Doors, line: str = line, level: str = level) -> None:
        assert (await doors.person("openspace.safety.judge", {"command": line}))["level"] == level


@DOCUMENT.works(
    "example compound",
    """parseCompoundCommand('git add . && git commit -m "test" || echo "failed"')""",
    "HTTP: commands of openspace.safety.judge; Python: parse(line); the words of all in a row are the document's list.",
)
async def compound(doors: Doors) -> None:
    line = 'git add . && git commit -m "test" || echo "failed"'
    commands = parse(line)
    judged = await doors.person("openspace.safety.judge", {"command": line})
    assert [one["text"] for one in judged["commands"]] == commands
    assert commands == ["git add .", 'git commit -m "test"', 'echo "failed"']
    words = [word for command in commands for word in command.split()]
    assert words == ["git", "add", ".", "git", "commit", "-m", '"test"', "echo", '"failed"']


@DOCUMENT.works("example bash", "{ tool: 'bash', arguments: { command: 'ls -la' } }", "MCP: `output` has the listing.")
async def bash(doors: Doors) -> None:
    doors.write("listed.txt", "")
    _, result = await doors.tool("bash", {"command": "ls -la"})
    assert "listed.txt" in result["output"]


@DOCUMENT.works(
    "example session",
    "terminal_start · terminal_continue · terminal_list · terminal_stop",
    "MCP: { id, output, position }, then { output, position, complete: false }.",
)
async def session(doors: Doors) -> None:
    _, start = await doors.tool("terminal_start", {"command": "npm run dev"})
    like(start, {"id": str, "output": "Server starting...\n", "position": int})
    _, then = await doors.tool("terminal_continue", {"sessionId": start["id"], "stdin": "y\n"})
    like(then, {"output": str, "position": int, "complete": False})
    assert then["output"].endswith("Server started on port 3000\n")
    assert then["position"] > start["position"]
    _, listed = await doors.tool("terminal_list", {})
    assert start["id"] in {one["sessionId"] for one in listed["sessions"]}
    _, stopped = await doors.tool("terminal_stop", {"sessionId": start["id"]})
    assert stopped["success"]


@DOCUMENT.works(
    "example shell",
    "const { id } = terminal_start { command: 'python3' }, then print(…), then x = 42 …",
    "MCP: a REPL; each answer has what that code printed.",
)
async def shell(doors: Doors) -> None:
    _, started = await doors.tool("terminal_start", {"command": "python3"})
    args = {"sessionId": started["id"], "stdin": 'print("Hello from Python")\n'}
    _, first = await doors.tool("terminal_continue", args)
    assert "\nHello from Python\n" in first["output"]
    args = {"sessionId": started["id"], "stdin": "x = 42\nprint(x * 2)\n"}
    _, second = await doors.tool("terminal_continue", args)
    assert "\n84\n" in second["output"]
    assert "Hello" not in second["output"]
    _, stopped = await doors.tool("terminal_stop", {"sessionId": started["id"]})
    assert stopped["success"]


@DOCUMENT.works(
    "lifecycle start",
    "terminal_start { command: 'bash' }",
    "MCP: a shell's name starts that shell, and lines typed there run.",
)
async def interactive_shell(doors: Doors) -> None:
    _, started = await doors.tool("terminal_start", {"command": "bash"})
    _, done = await doors.tool("terminal_continue", {"sessionId": started["id"], "stdin": "echo $((6*7))\n"})
    like(done, {"reason": "finished", "exitCode": 0})
    assert "\n42\n" in done["output"]
    await quit_all(doors)


@DOCUMENT.differs(
    "testing",
    "bun test · bun test:watch · bun test:coverage",
    because="It is a Python project.",
    answer="make test and make coverage.",
)
async def testing(doors: Doors) -> None:
    targets = (HERE / "Makefile").read_text()
    assert "\ntest:" in targets
    assert "\ncoverage:" in targets


@DOCUMENT.works("license", "MIT License", "The same.")
async def license_text(doors: Doors) -> None:
    assert (HERE / "LICENSE").read_text().startswith("MIT License")
