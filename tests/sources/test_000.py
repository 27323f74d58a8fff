"""Source 000: five terminal commands, a ring of 10,000 lines, what is dangerous, what an agent reads."""

import pytest
from tests.kit.server import until
from tests.sources.contract import Document, Item, play
from tests.sources.doors import Doors, like

from fourhands import classify, sanitize

DOCUMENT = Document(
    "000",
    "Terminal commands",
    ids=(
        *("FR-3.4", "§3", "§4.1", "§4.2", "§4.3", "§4.4", "§8", "GAP-2", "GAP-8"),
        *(f"AC-3.4.{number}" for number in range(1, 6)),
        *(f"T{number}" for number in range(1, 7)),
    ),
)

COMMANDS = tuple(f"openspace.terminal.{name}" for name in ("create", "send", "read_output", "list", "close"))

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]


async def at_prompt(doors: Doors, **args: object) -> str:
    """A new shell of the agent's that waits for its first line."""
    made = await doors.agent("openspace.terminal.create", args)
    await until(lambda: doors.app.terminals.get(made["terminalId"]).look() == "prompt")
    return str(made["terminalId"])


async def ran(doors: Doors, terminal: str, line: str) -> None:
    """Type a line as the agent, and wait for its end."""
    await doors.agent("openspace.terminal.send", {"terminalId": terminal, "text": f"{line}\n"})
    await doors.agent("openspace.terminal.wait", {"terminalId": terminal, "finished": True})


@DOCUMENT.works("§3, §8, FR-3.4", "openspace.terminal.{create,send,read_output,list,close}", "All five are registered.")
async def registered(doors: Doors) -> None:
    async with doors.served.client() as client:
        manifest = (await client.get("/openspace/manifest")).json()
    there = {command["id"]: command for command in manifest["commands"]}
    for id in COMMANDS:
        like(there[id], {"name": str, "description": str, "category": str, "arguments_schema": dict})


# -- §4.1 ------------------------------------------------------------------------------------------------------------


@DOCUMENT.works("AC-3.4.1, T1", "openspace.terminal.create({ title: 'test' })", "HTTP: a terminalId comes back.")
async def create(doors: Doors) -> None:
    made = await doors.person("openspace.terminal.create", {"title": "test"})
    like(made, {"success": True, "terminalId": str})
    assert made["terminalId"].startswith("term_")


@DOCUMENT.works("§4.1", "create {}", "HTTP: all arguments may be left out; the workspace is the directory.")
async def create_bare(doors: Doors) -> None:
    made = await doors.agent("openspace.terminal.create", {})
    assert doors.app.terminals.get(made["terminalId"]).started_in == str(doors.root)


@DOCUMENT.works(
    "§4.1",
    "create { title?: string, cwd?: string, shellPath?: string }",
    "HTTP: a shell of that kind in that directory of the workspace, by that title.",
)
async def create_with_all(doors: Doors) -> None:
    (doors.root / "src").mkdir(exist_ok=True)
    wanted = {"title": "all", "cwd": "src", "shellPath": "/bin/sh"}
    made = await doors.agent("openspace.terminal.create", wanted)
    terminal = doors.app.terminals.get("all")
    assert (terminal.id, terminal.started_in) == (made["terminalId"], str(doors.root / "src"))
    assert terminal.argv[0] == "/bin/sh"


@DOCUMENT.differs(
    "§4.1",
    "create { cwd: '/etc' }",
    because="A terminal starts in the workspace, or below the setting terminal.allowedRoot.",
    answer="the error bad-cwd, which names the directory and the one that it must lie in.",
)
async def create_outside(doors: Doors) -> None:
    refused = await doors.refusal("openspace.terminal.create", {"cwd": "/etc"})
    assert (refused["code"], refused["hint"]) == ("bad-cwd", "give one inside it")
    assert "'/etc'" in refused["error"]
    assert str(doors.root) in refused["error"]


@DOCUMENT.differs(
    "§4.1",
    "create { shellPath: '/usr/bin/env' }",
    because="Only shells can be started so: the platform's, or those of the setting terminal.shells.",
    answer="the error denied, which lists the allowed ones; any other program is openspace.terminal.exec.",
)
async def create_other_program(doors: Doors) -> None:
    refused = await doors.refusal("openspace.terminal.create", {"shellPath": "/usr/bin/env"})
    assert refused["code"] == "denied"
    assert refused["hint"].startswith("allowed are: /bin/bash")


@DOCUMENT.works(
    "AC-3.4.1",
    '%%OS{"cmd":"openspace.terminal.create","args":{"title":"blocks"}}%%',
    "Block: taken out of the text, a terminal with this title appears.",
)
async def create_by_block(doors: Doors) -> None:
    said = await doors.says('Now %%OS{"cmd":"openspace.terminal.create",', '"args":{"title":"blocks"}}%% there.')
    assert said.visible == "Now  there."
    assert [one.success for one in said.results] == [True]


@DOCUMENT.works("§4.1", "send { terminalId, text } → { success: boolean }", "HTTP: typed as is; a newline is Enter.")
async def send(doors: Doors) -> None:
    terminal = await at_prompt(doors)
    sent = await doors.agent("openspace.terminal.send", {"terminalId": terminal, "text": "echo $((40+2))\n"})
    like(sent, {"success": True})
    await doors.agent("openspace.terminal.wait", {"terminalId": terminal, "pattern": "^42$"})


@DOCUMENT.works(
    "T2",
    "openspace.terminal.send({ terminalId: 'x', text: 'echo hello' })",
    "HTTP: success; a title is as good as an id.",
)
async def send_by_title(doors: Doors) -> None:
    await at_prompt(doors, title="x")
    like(await doors.agent("openspace.terminal.send", {"terminalId": "x", "text": "echo hello"}), {"success": True})


@DOCUMENT.differs(
    "AC-3.4.2",
    'send "echo hello", read back "hello"',
    because="Text is typed as it is, so that an agent can type a part of a line, or a single key.",
    answer="success with a note that the line stands at the prompt and that a newline at the end runs it.",
)
async def send_without_enter(doors: Doors) -> None:
    terminal = await at_prompt(doors)
    sent = await doors.agent("openspace.terminal.send", {"terminalId": terminal, "text": "echo hello"})
    assert "newline" in sent["note"]
    sent = await doors.agent("openspace.terminal.send", {"terminalId": terminal, "text": "\n"})
    assert sent["note"] == ""
    await doors.agent("openspace.terminal.wait", {"terminalId": terminal, "pattern": "^hello$"})
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": terminal})
    assert "hello" in read["output"]


@DOCUMENT.differs(
    "T3",
    "openspace.terminal.read_output({ terminalId: 'x', lines: 10 }) → [\"hello\"]",
    because="A terminal's lines are what a person sees in it: the prompt and what was typed stand there too.",
    answer="lines of which one is exactly hello; wait says from where to where the output alone stands.",
)
async def read_all_that_is_seen(doors: Doors) -> None:
    terminal = await at_prompt(doors, title="hello")
    await doors.agent("openspace.terminal.send", {"terminalId": "hello", "text": "echo hello\n"})
    done = await doors.agent("openspace.terminal.wait", {"terminalId": "hello", "finished": True})
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": "hello", "lines": 10})
    like(read, {"success": True, "output": [str]})
    assert read["output"].count("hello") == 1
    assert len(read["output"]) > 1
    assert doors.app.terminals.get(terminal).excerpt(done["start"], done["end"]).text == "hello\n"


@DOCUMENT.works("§4.1", "read_output { terminalId: string, lines?: number }", "HTTP: 100 lines unless told otherwise.")
async def read_default(doors: Doors) -> None:
    terminal = await at_prompt(doors)
    await ran(doors, terminal, "seq 1 300")
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": terminal})
    assert len(read["output"]) == 100
    assert "300" in read["output"]
    assert "1" not in read["output"]
    few = await doors.agent("openspace.terminal.read_output", {"terminalId": terminal, "lines": 3})
    assert few["output"] == read["output"][-3:]


@DOCUMENT.works("T4", "openspace.terminal.list()", "HTTP: without a body too, every terminal is listed.")
async def list_bare(doors: Doors) -> None:
    made = await doors.person("openspace.terminal.create", {})
    async with doors.served.client() as client:
        listed = (await client.post("/api/commands/openspace.terminal.list")).json()
    assert listed["success"]
    assert made["terminalId"] in {one["id"] for one in listed["terminals"]}


@DOCUMENT.works(
    "§4.1",
    "list {} → { success: boolean, terminals: TerminalInfo[] }",
    "HTTP: id, title, what runs, size, directory, exit code and more of each.",
)
async def list_shape(doors: Doors) -> None:
    await doors.person("openspace.terminal.create", {})
    one = {"id": str, "title": str, "status": str, "command": str, "cwd": str, "cols": int, "rows": int, "pid": int}
    like(await doors.agent("openspace.terminal.list", {}), {"success": True, "terminals": [one]})


@DOCUMENT.works("§4.1", "close { terminalId: string } → { success: boolean }", "HTTP: it ends and is gone.")
async def close(doors: Doors) -> None:
    made = await doors.agent("openspace.terminal.create", {"title": "short"})
    like(await doors.agent("openspace.terminal.close", {"terminalId": made["terminalId"]}), {"success": True})
    listed = await doors.agent("openspace.terminal.list", {})
    assert made["terminalId"] not in {one["id"] for one in listed["terminals"]}


@DOCUMENT.differs(
    "§4.1",
    "close { terminalId } of another's terminal",
    because="An agent ends what it has started; what the person started is theirs.",
    answer="the error denied, which says that the person is to be asked.",
)
async def close_others(doors: Doors) -> None:
    made = await doors.person("openspace.terminal.create", {"title": "mine"})
    refused = await doors.refusal("openspace.terminal.close", {"terminalId": made["terminalId"]}, agent=True)
    assert refused["code"] == "denied"
    assert "ask the person" in refused["hint"]


@DOCUMENT.works("AC-3.4.4", "create, use, close, verify ID", "HTTP: one id all along, and never again another's.")
async def stable(doors: Doors) -> None:
    terminal = await at_prompt(doors, title="stable")
    await ran(doors, terminal, "true")
    await doors.agent("openspace.terminal.rename", {"terminalId": terminal, "title": "renamed"})
    listed = await doors.agent("openspace.terminal.list", {})
    assert [one["id"] for one in listed["terminals"] if one["title"] == "renamed"] == [terminal]
    await doors.agent("openspace.terminal.close", {"terminalId": terminal})
    refused = await doors.refusal("openspace.terminal.send", {"terminalId": terminal, "text": "x"}, agent=True)
    assert refused["code"] == "not-found"
    assert (await doors.agent("openspace.terminal.create", {"title": "stable"}))["terminalId"] != terminal


@DOCUMENT.works("FR-3.4", "create · send · read_output · list · close, as tools", "MCP: an agent does all five.")
async def by_tools(doors: Doors) -> None:
    _, made = await doors.tool("openspace_terminal_create", {"title": "tools"})
    await until(lambda: doors.app.terminals.get(made["terminalId"]).look() == "prompt")
    await doors.tool("openspace_terminal_send", {"terminalId": "tools", "text": "echo $((6*7))\n"})
    await doors.tool("openspace_terminal_wait", {"terminalId": "tools", "pattern": "^42$", "since": 0})
    _, read = await doors.tool("openspace_terminal_read_output", {"terminalId": "tools", "lines": 10})
    assert "42" in read["output"]
    _, listed = await doors.tool("openspace_terminal_list", {})
    assert made["terminalId"] in {one["id"] for one in listed["terminals"]}
    _, closed = await doors.tool("openspace_terminal_close", {"terminalId": "tools"})
    assert closed["success"]


# -- §4.2 ------------------------------------------------------------------------------------------------------------


@DOCUMENT.works("AC-3.4.3, §4.2", "maxLines = 10000", "HTTP: of 12,000 lines the last 10,000 can be read back.")
async def ring(doors: Doors) -> None:
    terminal = await at_prompt(doors, title="ring")
    await ran(doors, terminal, "seq 1 12000")
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": terminal, "lines": 10_000})
    lines = read["output"]
    assert len(lines) == 10_000
    last = lines.index("12000")
    assert lines[: last + 1] == [str(number) for number in range(12_000 - last, 12_001)]


@DOCUMENT.works("T6", "read_output { lines: 20000 }", "HTTP: the last 10,000, and a note says that it is not all.")
async def more_than_the_ring(doors: Doors) -> None:
    terminal = await at_prompt(doors)
    await ran(doors, terminal, "seq 1 12000")
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": terminal, "lines": 20_000})
    assert len(read["output"]) == 10_000
    assert "12000" in read["output"]
    assert "1" not in read["output"]
    assert "10000" in read["note"].replace(",", "")


@DOCUMENT.works("§4.2", "read(terminalId, lines = 100) → all.slice(-lines)", "Python: Terminal.lines(count=100).")
async def read_api(doors: Doors) -> None:
    terminal = await at_prompt(doors)
    await ran(doors, terminal, "seq 1 300")
    found = doors.app.terminals.get(terminal)
    assert len(found.lines()) == 100
    assert found.lines(2) == found.lines()[-2:]


@DOCUMENT.differs(
    "§4.2",
    "read('no such id') → []",
    because="An agent that mistypes an id must not take it for a terminal that printed nothing.",
    answer="the error not-found, with the titles and ids of the terminals that are there.",
)
async def read_unknown(doors: Doors) -> None:
    await doors.person("openspace.terminal.create", {"title": "there"})
    refused = await doors.refusal("openspace.terminal.read_output", {"terminalId": "nobody"}, agent=True)
    assert refused["code"] == "not-found"
    assert "there (term_" in refused["hint"]


# -- §4.3 ------------------------------------------------------------------------------------------------------------

PATTERNS = (r"/^rm\s+-rf\s+/", r"/^sudo\s+/", r"/^chmod\s+777\s+/", r"/^:\(\)\{:\|:&\}\;:*/")
LINES = ("rm -rf build", "sudo ls", "chmod 777 notes.txt", ":(){:|:&};:")

for pattern, line in zip(PATTERNS, LINES, strict=True):

    @DOCUMENT.works("§4.3, GAP-8", pattern, f"Python: `{line}` is dangerous, also with blanks around it.")
    async def is_dangerous(doors: Doors, line: str = line) -> None:
        assert classify(line).level == classify(f"  {line} ").level == "dangerous"


@DOCUMENT.works(
    "AC-3.4.5, GAP-8", 'send "rm -rf"', "HTTP: the person is asked, without a time limit; nothing is typed."
)
async def confirmation(doors: Doors) -> None:
    terminal = await at_prompt(doors, title="asked")
    for text in ("rm -rf /", "rm -rf /\n"):
        questions, refused = await doors.asked(
            "openspace.terminal.send", {"terminalId": terminal, "text": text}, choice="deny"
        )
        assert [(one["kind"], one["level"], one["shown"].strip()) for one in questions] == [
            ("confirmation", "dangerous", "rm -rf /")
        ]
        assert questions[0]["limitSeconds"] is None
        assert questions[0]["deadline"] is None
        assert refused["code"] == "denied"
    assert not any("rm -rf" in line for line in doors.app.terminals.get(terminal).lines())


@DOCUMENT.works("GAP-8", 'send "rm -rf old", the person agrees', "HTTP: typed as it is, and it runs.")
async def confirmed(doors: Doors) -> None:
    (doors.root / "old").mkdir()
    terminal = await at_prompt(doors)
    args = {"terminalId": terminal, "text": "rm -rf old\n"}
    questions, sent = await doors.asked("openspace.terminal.send", args)
    assert len(questions) == 1
    assert sent["success"]
    await until(lambda: not (doors.root / "old").exists())


@DOCUMENT.differs(
    "T5",
    "openspace.terminal.send({ text: 'rm -rf /' })",
    because="There is no terminal that is meant when none is named: of several, the wrong one would get it.",
    answer="the error bad-argument, which names terminalId; with one, the person is asked.",
)
async def nowhere(doors: Doors) -> None:
    questions, refused = await doors.asked("openspace.terminal.send", {"text": "rm -rf /"}, choice="deny")
    assert questions == []
    assert refused["code"] == "bad-argument"
    assert "terminalId" in refused["error"]


@DOCUMENT.differs(
    "§4.3",
    "openspace.terminal.send({ terminalId, text: 'sudo ls' }) by the person",
    because="A person's own keys need no approval: questions are about what an agent does.",
    answer="success; what the person types is typed.",
)
async def person_is_not_asked(doors: Doors) -> None:
    made = await doors.person("openspace.terminal.create", {"title": "own"})
    await until(lambda: doors.app.terminals.get(made["terminalId"]).look() == "prompt")
    like(await doors.person("openspace.terminal.send", {"terminalId": "own", "text": "sudo ls"}), {"success": True})


# -- §4.4 ------------------------------------------------------------------------------------------------------------


@DOCUMENT.works("§4.4, GAP-2", r"/\x1B\[[0-9;]*[a-zA-Z]/g → ''", "HTTP: no escape sequence reaches an agent.")
async def escapes(doors: Doors) -> None:
    terminal = await at_prompt(doors)
    await ran(doors, terminal, r"printf '\033[1;31mred\033[0m plain\033[K\n'")
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": terminal})
    assert "red plain" in read["output"]
    assert not any("\x1b" in line for line in read["output"])


@DOCUMENT.works(
    "§4.4, GAP-2",
    r"/[\x00-\x08\x0B\x0C\x0E-\x1F\x7F]/g → ''",
    "HTTP and Python: no control character reaches an agent.",
)
async def controls(doors: Doors) -> None:
    assert sanitize("a\x00\x01\x07\x0e\x1f\x7fb\n") == "ab\n"
    terminal = await at_prompt(doors)
    await ran(doors, terminal, r"printf 'be\001\007\016\177ll\n'")
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": terminal})
    assert "bell" in read["output"]


@DOCUMENT.differs(
    "§4.4",
    r"sanitizeOutput('12%\b\b\b100%')",
    because="An agent reads what a person sees: a backspace moves, a carriage return begins the line again.",
    answer="100%, the text as it stands on the screen, instead of both texts run together.",
)
async def overwritten(doors: Doors) -> None:
    assert sanitize("12%\b\b\b100%\n") == "100%\n"
    assert sanitize(" 1 of 2\r 2 of 2\n") == " 2 of 2\n"


# -- §8 --------------------------------------------------------------------------------------------------------------


@DOCUMENT.works("§8", "unit tests ≥ 8", "Each line of this table that says so is a test of its own.")
async def tests(doors: Doors) -> None:
    assert sum(item.state == "works" for item in DOCUMENT.items) >= 8


@pytest.mark.parametrize("item", DOCUMENT.played())
async def test_item(item: Item, doors: Doors) -> None:
    await play(item, doors)


async def test_every_id_of_the_document_has_an_item() -> None:
    assert DOCUMENT.missing() == []
