"""What an agent types into real programs: judged by what reads it, and by the shell behind it."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.commands.test_policy import Bar, until
from tests.kit.asking import asked, call
from tests.kit.isolation import refuse
from tests.kit.person import Person, let_in
from tests.kit.workbench import open_app
from tests.safety.input import cases

from fourhands.app import App
from fourhands.core.approval import Assessment
from fourhands.workbench.terminals.terminal import Terminal


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        yield app


async def prompted(app: App, bar: Bar, terminal: Terminal, prompt: str = "ready") -> None:
    """Wait until the program shows its prompt, and nothing behind it but what the agent has typed."""
    seat = app.bench.agent_seat(bar.session.actor, terminal)
    async with asyncio.timeout(40):
        news = asyncio.Event()
        with terminal.listening(news.set):
            while seat.standing().prompt != prompt:
                news.clear()
                await news.wait()


async def started(app: App, command: str, prompt: str = "ready") -> tuple[Bar, Terminal]:
    """An agent whose calls are judged, and a program at its prompt in a terminal of its own."""
    bar = Bar(app)
    terminal = await app.terminals.create(shell="bash", owner=bar.session.id, agent=True)
    await terminal.wait(input_wanted=True, deadline_s=40)
    await bar.type(terminal, f"{command}\n")
    await until(terminal, "running")
    if prompt:
        await prompted(app, bar, terminal, prompt)
    else:
        await terminal.wait(input_wanted=True, deadline_s=40)
    return bar, terminal


async def appeared(path: Path, terminal: Terminal) -> None:
    """Wait until a program has made a file; it prints something then."""
    async with asyncio.timeout(40):
        news = asyncio.Event()
        with terminal.listening(news.set):
            while not path.exists():
                news.clear()
                await news.wait()


def needed(program: str) -> str:
    if (path := shutil.which(program)) is None:
        refuse(f"{program} is not installed")
    assert path is not None
    return path


def judged(bar: Bar, terminal: Terminal, text: str) -> Assessment:
    found = bar("terminal.send", terminalId=terminal.id, text=text)
    assert found is not None
    return found


async def test_code_for_python_is_judged_as_python(app: App) -> None:
    bar, terminal = await started(app, f"{sys.executable} -q")
    expected = {
        "6*7\n": "safe",
        "x = [1, 2, 3]\r": "safe",
        'print("It\'s done")\n': "safe",
        "\x1b[200~for n in range(3):\n    print(n)\n\x1b[201~\n": "safe",
        "\x04": "safe",
        "exit()\n": "safe",
        "import json\n": "unknown",
        "double(21)\n": "unknown",
        "6*\t7\n": "unknown",  # Tab may have completed it
        "exit()\nls\n": "unknown",  # for the shell behind it
        "\x04ls\n": "unknown",
        '__import__("os").system("x")\n': "dangerous",
        'x = 1\nimport os\nos.remove("x")\n': "dangerous",
        "import os; os.sys\x7f\x7f\x7fsystem('x')\n": "dangerous",
        "\x1b[A\n": "dangerous",  # whatever was entered last
        "\x12sys\n": "dangerous",
        "rm -rf x\n": "dangerous",
        "exit()\nrm -rf x\n": "dangerous",
        "exit()\n$(cat x)\n": "dangerous",
        "\x04rm -rf x\n": "dangerous",
        "reboot\n": "dangerous",  # Python's, and the shell's
        "print(1)\u202e\n": "dangerous",
        "6*7": "",  # without Enter nothing happens yet
        "os.system": "dangerous",
    }
    assert {text: bar.keys(terminal, text) for text in expected} == expected
    assert judged(bar, terminal, 'os.system("x")\n').reason == "Python code: calls os.system"
    assert judged(bar, terminal, "exit()\nls\n").rule_key is None


async def test_a_line_in_pieces_is_judged_as_the_line_they_make(app: App) -> None:
    bar, terminal = await started(app, f"{sys.executable} -q")
    await bar.type(terminal, "6*")
    await prompted(app, bar, terminal)
    assert bar.keys(terminal, "7\n") == "safe"
    found = judged(bar, terminal, "7; os.system('x')\n")
    assert (found.level, found.shown) == ("dangerous", "6*7; os.system('x')\n")
    assert found.edit is not None
    assert found.edit("6*8")["text"] == "\x156*8\n"
    await bar.type(terminal, "7\n")
    await prompted(app, bar, terminal)
    assert bar.keys(terminal, "system('x')\n") == "dangerous"
    assert bar.keys(terminal, "x.system\n") == "dangerous"
    # a statement of several lines
    await bar.type(terminal, "f = (x\n")
    await prompted(app, bar, terminal, "more")
    assert bar.keys(terminal, ".y)\n") == "safe"
    assert bar.keys(terminal, ".system)\n") == "dangerous"
    await bar.type(terminal, "\x03")
    await prompted(app, bar, terminal)
    await bar.type(terminal, "def f():\n")
    await prompted(app, bar, terminal, "more")
    assert bar.keys(terminal, "    return 6*7\n") == "safe"
    assert bar.keys(terminal, "    return os.system('x')\n") == "dangerous"
    await bar.type(terminal, "    return os.system('x')\n")  # allowed, say
    await prompted(app, bar, terminal, "more")
    assert bar.keys(terminal, "\n") == "safe"  # what was allowed is not asked about again


async def test_behind_what_ends_a_program_a_shell_reads(app: App) -> None:
    bar, terminal = await started(app, f"{sys.executable} -qic 'import atexit, time; atexit.register(time.sleep, 60)'")
    assert bar.keys(terminal, "6*7\n") == "unknown"  # its words say that it runs code, so it may be that which asks
    await bar.type(terminal, "exit()\n")
    assert bar.keys(terminal, "6*7\n") == "unknown"  # it takes its time to end
    assert bar.keys(terminal, "$(cat x)\n") == "dangerous"
    assert judged(bar, terminal, "ls\n").rule_key is None


async def test_a_plain_answer_to_a_script_is_unknown_and_code_for_it_is_judged(app: App) -> None:
    Path(app.bench.root, "ask.py").write_text('while True: print("you said", input("Delete all? [y/N] "))\n')
    bar, terminal = await started(app, f"{sys.executable} ask.py", prompt="")
    answers = ("y\n", "42\n", "6*7\n", "exec\n", "An example (draft), isn't it?\n", "\x1b[B", "y")
    assert {text: bar.keys(terminal, text) for text in answers} == dict.fromkeys(answers, "unknown")
    for text in ('os.system("x")\n', "rm -rf x\n", "y\n$(cat x)\n"):
        assert bar.keys(terminal, text) == "dangerous", text
    # one that only looks like a prompt does not count
    Path(app.bench.root, "fake.py").write_text('input(">>> ")\n')
    bar, terminal = await started(app, f"{sys.executable} fake.py", prompt="")
    assert bar.keys(terminal, "6*7\n") == "unknown"


async def test_a_rule_for_a_repl_covers_code_that_is_not_dangerous(app: App) -> None:
    session, person = let_in(app), Person(app)
    kept = await call(app, session, "terminal.create", title="repl", cwd=".")
    terminal = app.terminals.get(str(kept.data["terminalId"]))
    await terminal.wait(input_wanted=True, deadline_s=40)
    bar = Bar(app, session)
    await bar.type(terminal, f"{sys.executable} -q\n")
    await until(terminal, "running")
    await prompted(app, bar, terminal)
    computed = await call(app, session, "terminal.send", terminalId=terminal.id, text="6*7\n")
    assert (computed.success, person.was_asked) == (True, False)
    await prompted(app, bar, terminal)
    typing = {"terminalId": terminal.id, "text": "import json\n"}
    question, done = await asked(app, session, person, "session", "terminal.send", **typing)
    assert (question.level, question.reason, done.success) == ("unknown", "Python code: imports json", True)
    assert question.rule == "type code into python that is not dangerous, in terminal repl, as long as it runs"
    assert question.terminal == terminal.id
    assert question.facts == ("In terminal repl", "Not isolated: runs as you")
    for text in ("import decimal\n", "decimal.Decimal(1).sqrt()\n"):
        await prompted(app, bar, terminal)
        assert (await call(app, session, "terminal.send", terminalId=terminal.id, text=text)).success
        assert not person.was_asked
    await prompted(app, bar, terminal)
    for text in ('__import__("os").system("touch made")\n', "rm -rf x\n", "\x1b[A\n"):
        for verb, name, argument in (
            ("terminal.send", "terminalId", "text"),
            ("tool.terminal_continue", "sessionId", "stdin"),
        ):
            question, done = await asked(app, session, person, "deny", verb, **{name: terminal.id, argument: text})
            assert (question.level, done.code) == ("dangerous", "denied"), text
            assert "session" not in question.options
            assert question.terminal == terminal.id
    assert not Path(app.bench.root, "made").exists()


async def test_statements_for_a_database_are_judged_as_statements(app: App) -> None:
    needed("sqlite3")
    bar, terminal = await started(app, "sqlite3 app.db")
    expected = {
        ".tables\n": "safe",
        ".quit\n": "safe",
        "SELECT * FROM notes WHERE text = 'drop me a line';\n": "unknown",
        "CREATE TABLE users (name);\n": "unknown",
        "DROP TABLE users;\n": "dangerous",
        "DELETE FROM users;\n": "dangerous",
        "UPDATE users SET name = 'x';\n": "dangerous",
        ".shell touch made\n": "dangerous",
        ".quit\nrm -rf x\n": "dangerous",
    }
    assert {text: bar.keys(terminal, text) for text in expected} == expected
    assert judged(bar, terminal, "SELECT 1;\n").reason == "SQL: SELECT"
    # line by line
    await bar.type(terminal, "UPDATE users\n")
    await prompted(app, bar, terminal, "more")
    assert bar.keys(terminal, "SET name = 'x' WHERE name = 'y';\n") == "unknown"
    assert bar.keys(terminal, "SET name = 'x';\n") == "dangerous"


async def test_code_for_node_is_judged_as_javascript(app: App) -> None:
    bar, terminal = await started(app, needed("node"))
    expected = {
        "6*7\n": "safe",
        "xs = [1, 2].map(x => x * 2)\n": "unknown",
        'require("child_process").execSync("x")\n': "dangerous",
        "process.mainModule\n": "dangerous",
        ".exit\n": "safe",
        ".exit\n`cat x`\n": "dangerous",
    }
    assert {text: bar.keys(terminal, text) for text in expected} == expected
    await bar.type(terminal, 'require("child_')  # it shows a preview behind that, so its prompt is not certain
    assert bar.keys(terminal, 'process")\n') == "dangerous"


async def test_commands_for_a_debugger_are_judged_as_its_own(app: App) -> None:
    Path(app.bench.root, "app.py").write_text("x = 1\ny = 2\n")
    bar, terminal = await started(app, f"{sys.executable} -m pdb app.py")
    expected = {
        "l\n": "safe",
        "p 6*7\n": "safe",
        "n\n": "unknown",
        "!import subprocess\n": "dangerous",
        'p __import__("os").system("x")\n': "dangerous",
        "q\n": "safe",
    }
    assert {text: bar.keys(terminal, text) for text in expected} == expected


async def test_keys_for_editors_are_judged_as_keys(app: App) -> None:
    needed("vim")
    Path(app.bench.root, "a.txt").write_text("one\ntwo\n")
    bar, terminal = await started(app, "vim -u NONE a.txt", prompt="")
    expected = {
        "dd": "unknown",
        "irm -rf build\x1b": "unknown",
        ":w\n": "unknown",
        ":%s/one/two/g\r": "unknown",
        ":!touch made\n": "dangerous",
        "\x1b:r !ls\r": "dangerous",
        "!!sh\n": "dangerous",
        "\x1a": "dangerous",
        ":wq\nrm -rf x\n": "dangerous",  # the shell gets that
    }
    assert {text: bar.keys(terminal, text) for text in expected} == expected
    await bar.type(terminal, "\x1b:")
    assert bar.keys(terminal, "!touch made\r") == "dangerous"
    assert bar.keys(terminal, "w\r") == "unknown"
    await bar.type(terminal, "!touch made\r")  # allowed, say
    await appeared(Path(app.bench.root, "made"), terminal)
    assert bar.keys(terminal, "\r") == "unknown"


async def test_in_a_sandbox_only_dangerous_input_is_asked_about(app: App) -> None:
    session, person = let_in(app, provider="bubblewrap"), Person(app)
    kept = await call(app, session, "terminal.create", title="inside")
    terminal = app.terminals.get(str(kept.data["terminalId"]))
    assert terminal.isolation == "sandbox"
    await terminal.wait(input_wanted=True, deadline_s=40)
    bar = Bar(app, session)
    await bar.type(terminal, "/usr/bin/python3 -q\n")
    await until(terminal, "running")
    await prompted(app, bar, terminal)
    for text in ("6*7\n", "import json\n", "json.dump\n"):
        assert (await call(app, session, "terminal.send", terminalId=terminal.id, text=text)).success
        await prompted(app, bar, terminal)
    assert not person.was_asked
    question, _ = await asked(
        app, session, person, "deny", "terminal.send", terminalId=terminal.id, text='import os; os.remove("x")\n'
    )
    assert question.facts == ("In terminal inside", "Runs in the sandbox")
    assert question.reason == "Python code: calls os.remove"
    # with `irreversible`, inline code runs there, but not what a shell behind the program would get
    assert (await app.call("openspace.safety.set_asking", {"ask": "irreversible"})).success
    assert judged(bar, terminal, 'os.remove("x")\n').unasked
    for text in ("rm -rf x\n", "\x1b[A\n", "exit()\nrm x\n"):
        assert not judged(bar, terminal, text).unasked, text


def test_safe_input_leaves_a_real_python_and_its_directory_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    begin = "x = y = z = [1]; a = b = d = {'a': 1}; m = sum\n"
    text = begin + "".join(f"{line}\n\n" for line in cases.SAFE["python3"].strip().split("\n") if "exit" not in line)
    command = [sys.executable, "-q", "-i", "-X", "importtime"]
    done = subprocess.run(command, input=text, cwd=tmp_path, capture_output=True, text=True, timeout=15, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert "42" in done.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    assert not [line for line in done.stderr.split("\n") if line.startswith("import time:") and "subprocess" in line]


async def test_input_for_a_program_of_the_persons_is_asked_about(app: App) -> None:
    bar = Bar(app)
    theirs = await app.terminals.create(shell="bash")
    await theirs.wait(input_wanted=True, deadline_s=40)
    await theirs.type(f"{sys.executable} -q\r")
    await until(theirs, "running")
    await prompted(app, bar, theirs)
    for text in ("6*7\n", "6*7", "exit()\n"):
        found = judged(bar, theirs, text)
        assert (found.level, found.rule_key) == ("unknown", None), text
        assert "not the agent's own" in found.reason
    assert bar.keys(theirs, "os.system('x')\n") == "dangerous"
