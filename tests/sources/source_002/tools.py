"""The tools: bash, terminal_start, terminal_continue, terminal_stop, terminal_list, by the names that models know."""

import re

from tests.sources.doors import Doors, like
from tests.sources.source_002 import DOCUMENT

from fourhands.core.ids import short_id
from fourhands.settings import SafetySettings

STARTED = """\
Terminal Session Started
ID: term-1
Command: npm run dev
Position: N

Output:
Server starting..."""

CONTINUED = """\
Terminal Session: term-1
Position: N
Complete: false

Output:
Server started on port 3000"""

STOPPED = "Terminal session term-1 terminated."

LISTED = """\
Active Terminal Sessions:
ID           | Command                        | Position | Running | Uptime
-------------|--------------------------------|----------|---------|--------
term-1       | npm run dev                    | N        | Yes     | Ns
term-2       | python server.py               | N        | Yes     | Ns"""


def equal(text: str, *ids: str) -> str:
    """A tool's text with the document's ids, and N for positions and times."""
    for number, id in enumerate(ids, 1):
        text = text.replace(short_id(id), f"term-{number}")
    text = re.sub(r"Position: \d+", "Position: N", text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE).rstrip("\n")


async def quit_all(doors: Doors) -> None:
    """End what this agent has started."""
    for one in (await doors.agent("openspace.tool.terminal_list"))["sessions"]:
        if one["yours"]:
            await doors.agent("openspace.tool.terminal_stop", {"sessionId": one["sessionId"]})


# -- bash ------------------------------------------------------------------------------------------------------------


@DOCUMENT.works("bash command, bash 7", "bash { command: 'echo out; exit 3' }", "MCP: its output and its exit code.")
async def bash(doors: Doors) -> None:
    text, done = await doors.tool("bash", {"command": "echo out; exit 3"})
    like(done, {"ok": False, "output": "out\n", "exitCode": 3})
    assert "out" in text
    assert "3" in text


@DOCUMENT.works("bash 1", "bash {}", "HTTP: the error bad-argument names command; an empty one is refused too.")
async def bash_without(doors: Doors) -> None:
    for args in ({}, {"command": ""}, {"command": "  "}):
        refused = await doors.refusal("openspace.tool.bash", args, agent=True)
        assert refused["code"] == "bad-argument"
        assert "command" in refused["error"]


@DOCUMENT.works("bash 2, features 8", "bash { command: 'ls' }", "HTTP: what is safe runs unasked.")
async def bash_safe(doors: Doors) -> None:
    questions, done = await doors.asked("openspace.tool.bash", {"command": "ls"}, choice="deny")
    assert questions == []
    assert done["ok"]


@DOCUMENT.differs(
    "bash 3, bash unknown",
    "bash { command: 'my_custom_script.sh' }",
    because="In a sandbox an unknown command reaches nothing of the person's, and a checkpoint brings it back.",
    answer="in a sandbox it runs; without one (provider `local`) the person is asked and has 10 seconds.",
)
async def bash_unknown(doors: Doors) -> None:
    inside = doors.another("inside")
    app = inside.served.app
    configured: dict[str, object] = {"sessionId": inside.session, "provider": "bubblewrap"}
    assert (await app.call("openspace.agent.configure", configured)).success
    ran = await inside.agent("openspace.tool.bash", {"command": "my_custom_script.sh"})
    assert (ran["exitCode"], ran["isolation"]) == (127, "sandbox")
    assert SafetySettings().unknown_answer_s == 10
    questions, refused = await doors.asked("openspace.tool.bash", {"command": "my_custom_script.sh"}, choice="deny")
    [question] = questions
    like(question, {"kind": "confirmation", "level": "unknown", "shown": "my_custom_script.sh", "limitSeconds": 10.0})
    assert refused["code"] == "denied"


@DOCUMENT.works(
    "bash 4, bash dangerous, R6", "bash { command: 'rm -rf /' }", "HTTP: the person is asked, without a time limit."
)
async def bash_dangerous(doors: Doors) -> None:
    questions, refused = await doors.asked("openspace.tool.bash", {"command": "rm -rf /"}, choice="deny")
    [question] = questions
    like(question, {"kind": "confirmation", "level": "dangerous", "shown": "rm -rf /", "limitSeconds": None})
    assert refused["code"] == "denied"


@DOCUMENT.works("bash 5", "bash with bash.timeoutSeconds", "HTTP: ended after the agent's own time, which is said.")
async def bash_timeout(doors: Doors) -> None:
    newcomer = doors.another("hasty")
    await newcomer.agent("openspace.agent.configure", {"timeoutSeconds": 0.3})
    done = await newcomer.agent("openspace.tool.bash", {"command": "sleep 60"})
    like(done, {"ok": False, "code": "timeout"})
    assert "within 0.3 s" in done["error"]


@DOCUMENT.works(
    "bash 6, features 4",
    "bash with bash.cropOutput",
    "HTTP: beginning and end of so many characters; `outputId` leads to the rest.",
)
async def bash_crop(doors: Doors) -> None:
    newcomer = doors.another("brief")
    await newcomer.agent("openspace.agent.configure", {"cropOutput": 100})
    done = await newcomer.agent("openspace.tool.bash", {"command": "seq 1 1000"})
    assert done["truncated"]
    assert done["output"].startswith("1\n2\n")
    assert done["output"].endswith("999\n1000\n")
    rest = await newcomer.agent("openspace.tool.read_output", {"outputId": done["outputId"], "offset": 50})
    assert "\n500\n" in rest["output"]


# -- terminal_start --------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "terminal_start command, terminal_start 2, terminal_start 4, features 9, features 10, R4",
    "terminal_start { command: 'npm run dev' }",
    "MCP: a terminal that both see; id, output, position.",
)
async def start(doors: Doors) -> None:
    _, started = await doors.tool("terminal_start", {"command": "npm run dev"})
    like(started, {"id": str, "sessionId": started["id"], "command": "npm run dev", "position": int, "complete": False})
    assert started["output"] == "Server starting...\n"
    assert doors.app.terminals.get(started["id"]).exit is None
    await quit_all(doors)


@DOCUMENT.works("terminal_start text", "Terminal Session Started …", "MCP: the text is this, line by line.")
async def start_text(doors: Doors) -> None:
    text, started = await doors.tool("terminal_start", {"command": "npm run dev"})
    assert equal(text, started["id"]) == STARTED
    again = await doors.agent("openspace.tool.terminal_start", {"command": "npm run dev"})
    assert equal(again["text"], again["id"]) == STARTED
    await quit_all(doors)


@DOCUMENT.works("terminal_start stdin", "terminal_start { command: 'cat', stdin: 'hello\\n' }", "MCP: typed at once.")
async def start_stdin(doors: Doors) -> None:
    _, started = await doors.tool("terminal_start", {"command": "cat", "stdin": "hello\n"})
    assert started["output"] == "hello\nhello\n"  # the echo, and what cat made of it
    await quit_all(doors)


@DOCUMENT.works(
    "terminal_start 1", "terminal_start { command: 'rm -rf build' }", "HTTP: judged first; refused, nothing is started."
)
async def start_judged(doors: Doors) -> None:
    before = len(doors.app.terminals.list())
    args = {"command": "rm -rf build"}
    questions, refused = await doors.asked("openspace.tool.terminal_start", args, choice="deny")
    assert [question["level"] for question in questions] == ["dangerous"]
    assert refused["code"] == "denied"
    assert len(doors.app.terminals.list()) == before
    refused = await doors.refusal("openspace.tool.terminal_start", {}, agent=True)
    assert refused["code"] == "bad-argument"


@DOCUMENT.works(
    "terminal_start 3",
    "terminal_start { command: 'sleep 0.2; echo late; read x' }",
    "HTTP: answers when input is wanted, at the latest when it settles.",
)
async def start_waits(doors: Doors) -> None:
    started = await doors.agent("openspace.tool.terminal_start", {"command": "sleep 0.2; echo late; read x"})
    like(started, {"output": "late\n", "reason": "input"})
    await quit_all(doors)


# -- terminal_continue -----------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "terminal_continue sessionId, terminal_continue stdin, terminal_continue 1, terminal_continue 2",
    "terminal_continue { sessionId: 'term-1', stdin: 'y\\n' }",
    "MCP: typed into that one; its title is as good as its id.",
)
async def go_on(doors: Doors) -> None:
    _, started = await doors.tool("terminal_start", {"command": "npm run dev"})
    _, went_on = await doors.tool("terminal_continue", {"sessionId": started["id"], "stdin": "y\n"})
    assert went_on["output"] == "y\nServer started on port 3000\n"
    refused = await doors.refusal("openspace.tool.terminal_continue", {"sessionId": "term-1"}, agent=True)
    assert refused["code"] == "not-found"
    assert started["id"] in refused["hint"]
    await quit_all(doors)


@DOCUMENT.works(
    "terminal_continue text", "Terminal Session: term-1 · Position · Complete", "MCP: the text is this, line by line."
)
async def go_on_text(doors: Doors) -> None:
    _, started = await doors.tool("terminal_start", {"command": "npm run dev"})
    text, _ = await doors.tool("terminal_continue", {"sessionId": started["id"], "stdin": "y\n"})
    assert equal(text, started["id"]) == CONTINUED
    await quit_all(doors)


@DOCUMENT.works(
    "terminal_continue 3, terminal_continue 4, terminal_continue 5, features 12",
    "terminal_continue { sessionId } twice",
    "HTTP: only what is new since the last answer, whose position is kept for this agent.",
)
async def go_on_from_position(doors: Doors) -> None:
    started = await doors.agent("openspace.tool.terminal_start", {"command": "cat", "stdin": "one\n"})
    more = await doors.agent("openspace.tool.terminal_continue", {"sessionId": started["id"], "stdin": "two\n"})
    assert (started["output"], more["output"]) == ("one\none\n", "two\ntwo\n")
    assert more["position"] > started["position"]
    none = await doors.agent("openspace.tool.terminal_continue", {"sessionId": started["id"]})
    assert (none["output"], none["position"]) == ("", more["position"])
    await quit_all(doors)


# -- terminal_stop and terminal_list ---------------------------------------------------------------------------------


@DOCUMENT.works(
    "terminal_stop sessionId, terminal_stop 1, terminal_stop 2",
    "terminal_stop { sessionId: 'term-1' }",
    "HTTP: its processes end, and it is listed no more.",
)
async def stop(doors: Doors) -> None:
    started = await doors.agent("openspace.tool.terminal_start", {"command": "cat"})
    terminal = doors.app.terminals.get(started["id"])
    await doors.agent("openspace.tool.terminal_stop", {"sessionId": started["id"]})
    assert terminal.exited
    listed = await doors.agent("openspace.tool.terminal_list")
    assert started["id"] not in {one["sessionId"] for one in listed["sessions"]}


@DOCUMENT.works("terminal_stop text", STOPPED, "MCP: exactly this sentence.")
async def stop_text(doors: Doors) -> None:
    started = await doors.agent("openspace.tool.terminal_start", {"command": "cat"})
    text, _ = await doors.tool("terminal_stop", {"sessionId": started["id"]})
    assert equal(text, started["id"]) == STOPPED


@DOCUMENT.works(
    "terminal_list text",
    "ID | Command | Position | Running | Uptime",
    "MCP: this table; the first column fits our ids.",
)
async def list_text(doors: Doors) -> None:
    newcomer = doors.another("lister")
    started = [
        await newcomer.agent("openspace.tool.terminal_start", {"command": command})
        for command in ("npm run dev", "python server.py")
    ]
    ids = [one["id"] for one in started]
    text, _ = await newcomer.tool("terminal_list", {})
    names = {short_id(id): f"term-{number}" for number, id in enumerate(ids, 1)}
    # Only their own rows: other items may have left terminals of a person's.
    lines = [line for line in text.split("\n") if "term_" not in line or any(short_id(id) in line for id in ids)]
    assert "\n".join(_printed(line, names) for line in lines) == LISTED
    await quit_all(newcomer)


def _printed(line: str, names: dict[str, str]) -> str:
    """A row of the table with the document's ids, in a column as wide as the document's."""
    first, bar, rest = line.partition("|")
    if not bar:
        return line
    first = "-" * 13 if set(first) == {"-"} else names.get(first.strip(), first.strip()).ljust(13)
    rest = re.sub(r"\| (\d+ *) \|", lambda match: f"| {'N'.ljust(len(match[1]))} |", rest)
    return re.sub(r"\d+s *$", "Ns", f"{first}|{rest}")


@DOCUMENT.works("terminal_list text", "terminal_list {} with nothing there", "MCP: a sentence that says so.")
async def list_nothing(doors: Doors) -> None:
    for terminal in doors.app.terminals.list():
        await terminal.close()
    text, listed = await doors.tool("terminal_list", {})
    assert (text, listed["sessions"]) == ("No active terminal sessions.", [])
