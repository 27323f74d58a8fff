"""How calls are judged: as the line that the shell will get."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from tests.kit.isolation import refuse
from tests.kit.person import let_in
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.commands.policy import WorkbenchPolicy
from fourhands.core.approval import Assessment
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument, BadEnv
from fourhands.core.schema import decode
from fourhands.settings import SafetySettings, Settings
from fourhands.workbench.sessions import Session
from fourhands.workbench.terminals.terminal import Terminal


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        yield app


class Bar:
    """Judges an agent's calls without running them."""

    def __init__(self, app: App, session: Session | None = None) -> None:
        self.app = app
        self.session = session or let_in(app)
        self.judge = WorkbenchPolicy(app.bench)

    def __call__(self, verb: str, **args: object) -> Assessment | None:
        command = self.app.registry.get(f"openspace.{verb}")
        call = Call(command=command.id, args=args, actor=self.session.actor)
        assert command.args_type is not None
        return self.judge(call, command, decode(args, command.args_type))

    def line(self, command: str) -> Assessment:
        judged = self("tool.bash", command=command)
        assert judged is not None
        return judged

    def keys(self, terminal: Terminal, text: str) -> str:
        """The level of some keys; "" where nothing is asked."""
        judged = self("terminal.send", terminalId=terminal.id, text=text)
        return judged.level if judged is not None else ""

    async def type(self, terminal: Terminal, text: str) -> None:
        await self.app.bench.lease(terminal).agent_types(self.session.id, text)
        await terminal.type(text)


async def shell(app: App, owner: str = "") -> Terminal:
    """A shell at its prompt: an agent's, or the person's."""
    terminal = await app.terminals.create(shell="bash", owner=owner)
    await terminal.wait(input_wanted=True, deadline_s=40)
    return terminal


async def seated(app: App) -> tuple[Bar, Terminal]:
    """An agent whose calls are judged, and a shell of its own."""
    bar = Bar(app)
    return bar, await shell(app, bar.session.id)


async def until(terminal: Terminal, state: str) -> None:
    async with asyncio.timeout(40):
        news = asyncio.Event()
        with terminal.listening(news.set):
            while terminal.catch_up().state != state:
                news.clear()
                await news.wait()


async def test_lines_launches_and_scripts(app: App) -> None:
    bar = Bar(app)
    assert bar.line("ls").level == "safe"
    assert bar.line("./x").level == "unknown"
    assert bar.line("rm -rf x").level == "dangerous"
    assert bar("file.read", path="x") is None

    def launch(*argv: str, **more: object) -> Assessment:
        judged = bar("tool.execute_command", command=argv[0], args=list(argv[1:]), **more)
        assert judged is not None
        return judged

    assert launch("ls", "-l").level == "safe"
    assert launch("echo", "; rm -rf x").level == "safe"  # an argument is no command
    assert launch("ls", env={"CI": "1"}).level == "safe"
    assert launch("ls", env={"PATH": "/tmp"}).level == "dangerous"
    assert launch("ls", env={"LD_PRELOAD": "x.so"}).level == "dangerous"
    assert launch("ls", env={"PATH": None}).level == "safe"
    assert launch("bash", input="rm -rf x\n").level == "dangerous"
    assert launch("cat", input="rm -rf x\n").level == "safe"
    assert launch("cat", input="INPUT\nrm -rf x\n").level == "safe"
    assert launch("bash", input="INPUT\nrm -rf x\n").level == "dangerous"
    with pytest.raises(BadEnv, match="1X"):
        launch("ls", env={"1X": "a"})

    def script(text: str, **more: object) -> str:
        judged = bar("tool.run_script", script=text, **more)
        assert judged is not None
        return judged.level

    assert script("ls\npwd\n") == "safe"
    assert script("ls\nrm -rf x\n") == "dangerous"
    assert script("ls", env={"BASH_ENV": "x"}) == "dangerous"
    assert script("sh", input="rm -rf x") == "dangerous"
    assert script("sort", input="rm -rf x") == "safe"
    start = bar("tool.terminal_start", command="bash", stdin="rm -rf x\n")
    assert start is not None
    assert start.level == "dangerous"
    assert "rm -rf x" in start.parts[-1].text  # what was judged is shown


async def test_variables_for_a_new_shell_count_like_assignments(app: App) -> None:
    bar = Bar(app)

    def level(env: Mapping[str, str | None]) -> str:
        judged = bar("terminal.create", env=env)
        return judged.level if judged is not None else ""

    assert (level({}), bar("terminal.create", title="x")) == ("", None)
    safe: list[Mapping[str, str | None]] = [{"CI": "1", "NODE_ENV": "test"}, {"A": "a\nb 'c'"}, {"B": None}]
    for env in [*safe, {"A": "$(rm -rf x); `id`"}]:
        assert level(env) == "safe", env
    dangerous: list[Mapping[str, str | None]] = [
        *({name: "x"} for name in ("PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "PROMPT_COMMAND", "GIT_SSH_COMMAND")),
        *({name: "x"} for name in ("EDITOR", "PYTHONPATH", "NODE_OPTIONS", "ZDOTDIR", "INPUTRC", "MY_PAGER")),
        *({name: "x"} for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "HISTFILE", "FOURHANDS_ZDOTDIR")),
        *({"CI": "1", name: None} for name in ("PATH", "PAGER", "HOME")),
        {"PS1": "$(id)"},
    ]
    for env in dangerous:
        assert level(env) == "dangerous", env
    for wrong, name in (({"1X": "a"}, "1X"), ({"A B": "a"}, "A B"), ({"": "a"}, "''"), ({"A": "x\0y"}, "A has a NUL")):
        with pytest.raises(BadEnv, match=name):
            level(wrong)


async def test_edited_variables_are_variables_again(app: App) -> None:
    judged = Bar(app)("terminal.create", title="x", env={"PATH": "/x y", "A": "it's", "B": None})
    assert judged is not None
    assert judged.edit is not None
    assert judged.shown == "PATH='/x y' A='it'\"'\"'s'\nunset B"
    assert judged.edit(judged.shown) == {"title": "x", "env": {"PATH": "/x y", "A": "it's", "B": None}}
    assert judged.edit("A=1 unset B C D='a\nb'")["env"] == {"A": "1", "B": None, "C": None, "D": "a\nb"}
    assert judged.edit("")["env"] == {}
    for bad in ("A=1 rm -rf x", "PATH=/x; ls", "A='1"):
        with pytest.raises(BadArgument):
            judged.edit(bad)


async def test_an_edited_launch_is_a_launch_again(app: App) -> None:
    bar = Bar(app)
    judged = bar("tool.execute_command", command="npm", args=["x y"], env={"A": "1 2", "B": None})
    assert judged is not None
    assert judged.edit is not None
    assert judged.shown == "A='1 2' npm 'x y'"
    edited = judged.edit("C=3 npm run 'z'")
    assert edited == {"command": "npm", "args": ["run", "z"], "env": {"B": None, "C": "3"}}
    for bad in ("npm; ls", "npm | cat", "npm > x", "npm 'x", "", "A=1", "npm\nls"):
        with pytest.raises(BadArgument):
            judged.edit(bad)
    assert judged.edit("npm 'a;b'")["args"] == ["a;b"]
    script = bar("tool.run_script", script="./a", env={"A": "1", "B": None})
    assert script is not None
    assert script.edit is not None
    assert script.shown == "export A=1\n./a"
    assert script.edit("export A=1\n./b") == {"script": "./b", "env": {"A": "1", "B": None}}
    assert script.edit("export A=2\n./b") == {"script": "export A=2\n./b", "env": {"B": None}}


async def test_a_command_with_blanks_and_no_arguments_is_judged_as_a_line(app: App) -> None:
    bar = Bar(app)
    for command, args, level, shown in [
        ("ls -la", [], "safe", "ls -la"),
        ("ls -la; rm -rf x", [], "dangerous", "ls -la; rm -rf x"),
        ("rm -rf x", [], "dangerous", "rm -rf x"),
        ("rm -rf x", ["y"], "unknown", "'rm -rf x' y"),  # a program of that name, which nobody knows
        ("ls;id", [], "unknown", "'ls;id'"),
    ]:
        judged = bar("tool.execute_command", command=command, args=args)
        assert judged is not None
        assert (judged.level, judged.shown) == (level, shown)
    judged = bar("tool.execute_command", command="npm install", env={"A": "1", "B": None})
    assert judged is not None
    assert judged.edit is not None
    assert judged.shown == "export A=1\nnpm install"
    assert judged.edit("export A=1\nnpm ci") == {"command": "npm ci", "env": {"A": "1", "B": None}}
    assert judged.edit("npm ci | cat") == {"command": "npm ci | cat", "env": {"B": None}}
    assert judged.edit("ls") == {"command": "ls", "env": {"B": None}}
    for bad in ("ls;id", "A=1", ""):
        with pytest.raises(BadArgument):
            judged.edit(bad)


async def test_invisible_characters_are_made_visible(app: App) -> None:
    judged = Bar(app).line("ls \u202ex\u200b")
    assert judged.level == "dangerous"
    assert "<U+202E>" in judged.shown
    assert "\u200b" not in judged.shown


async def test_typed_lines_at_a_prompt(app: App) -> None:
    bar, terminal = await seated(app)
    assert bar.keys(terminal, "ls\n") == "safe"
    assert bar.keys(terminal, "ls\r") == "safe"
    assert bar.keys(terminal, "./x\n") == "unknown"
    assert bar.keys(terminal, "ls\nrm -rf x\n") == "dangerous"
    assert bar.keys(terminal, "ls\nrm -rf x") == "dangerous"  # a dangerous piece is asked about at once
    assert bar.keys(terminal, "ls\n./x") == "safe"  # an unknown one waits for its Enter
    assert bar.keys(terminal, "./x") == ""
    assert bar.keys(terminal, "\x03") == ""
    assert bar.keys(terminal, "\x15\x03") == ""
    assert bar.keys(terminal, "ls bu\t\n") == "unknown"
    assert bar.keys(terminal, "\x1b[A\n") == "dangerous"  # whatever was run last
    assert bar.keys(terminal, "\x12rm\r") == "dangerous"
    assert bar.keys(terminal, "\x04") == "dangerous"
    assert bar.keys(terminal, "ls rm x\x17\n") == "dangerous"  # Ctrl-W: how much goes, the shell decides
    assert bar.keys(terminal, "x\x1b[D\x15rm y\n") == "dangerous"
    assert bar.keys(terminal, "!!\n") == "dangerous"
    assert bar.keys(terminal, "^a^b\n") == "dangerous"
    assert bar.keys(terminal, "\x1b[200~ls \x1b[201~; rm -rf x\n") == "dangerous"  # only looks pasted
    assert bar.keys(terminal, "\x1b[200~ls \x1b[200~; rm -rf x\n\x1b[201~") == "dangerous"
    assert bar.keys(terminal, "\x1b[200~ls\nls\x1b[201~\n") == "safe"
    assert bar.keys(terminal, "\x1b[200~ls\nrm -rf x\x1b[201~") == "dangerous"
    assert bar.keys(terminal, "\x1b[200~a\x03rm -rf x\n\x1b[201~") == "dangerous"
    assert bar.keys(terminal, 'echo "!rm"\n') == "dangerous"
    assert bar.keys(terminal, "echo '!rm'\n") == "safe"


async def test_pieces_are_judged_as_the_line_they_make(app: App) -> None:
    bar, terminal = await seated(app)
    await bar.type(terminal, "ec")
    await bar.type(terminal, "ho 1; r")
    assert bar.keys(terminal, "m -rf x\n") == "dangerous"
    assert bar.keys(terminal, "\x15m -rf x\n") == "unknown"
    assert bar.keys(terminal, "\n") == "unknown"  # echo 1; r
    judged = bar("terminal.send", terminalId=terminal.id, text="m x\n")
    assert judged is not None
    assert judged.edit is not None
    assert judged.shown.rstrip() == "echo 1; rm x"
    assert judged.edit("echo 2")["text"] == "\x15echo 2\n"
    await bar.type(terminal, "\x03")
    assert bar.keys(terminal, "m -rf x\n") == "unknown"


async def test_an_approved_history_key_keeps_its_line_unknowable(app: App) -> None:
    bar, terminal = await seated(app)
    await bar.type(terminal, "\x10")  # Ctrl-P
    assert bar.keys(terminal, "\n") == "dangerous"
    assert bar.keys(terminal, "x") == "dangerous"
    assert bar.keys(terminal, "\x03ls\n") == "safe"


async def test_the_rest_of_a_command_is_judged_with_its_beginning(app: App) -> None:
    bar, terminal = await seated(app)
    rest = "echo '; rm -rf x; echo '\n"
    assert bar.keys(terminal, rest) == "safe"
    await bar.type(terminal, "echo '\n")
    assert bar.keys(terminal, rest) == "dangerous"  # also before the shell has said that it waits
    await until(terminal, "incomplete")
    assert bar.keys(terminal, rest) == "dangerous"
    assert bar.keys(terminal, "'\n") == "safe"
    await bar.type(terminal, "'\n")
    await until(terminal, "prompt")
    await terminal.wait(input_wanted=True, deadline_s=40)
    assert bar.keys(terminal, rest) == "safe"  # what has run is not judged again


async def test_the_rest_of_what_a_person_began_is_dangerous(app: App) -> None:
    bar, terminal = await seated(app)
    app.bench.lease(terminal).person_typed("person", b"echo '\r")
    await terminal.type("echo '\r")
    await until(terminal, "incomplete")
    assert bar.keys(terminal, "ls\n") == "dangerous"
    assert bar.keys(terminal, "\x03") == ""


async def test_input_for_a_program_is_unknown_and_has_a_rule_of_its_own(app: App) -> None:
    bar, terminal = await seated(app)
    await bar.type(terminal, "cat\n")
    await until(terminal, "running")
    await terminal.wait(input_wanted=True, deadline_s=40)
    judged = bar("terminal.send", terminalId=terminal.id, text="y\n")
    assert judged is not None
    assert (judged.level, judged.shown) == ("unknown", "y\n")
    assert "cat" in judged.rule_text
    assert judged.edit is not None
    assert judged.edit("n")["text"] == "n\n"
    assert bar.keys(terminal, "\x1b[B") == "unknown"  # a program's everyday keys
    assert bar.keys(terminal, "rm -rf x\n") == "dangerous"  # the shell behind it would get it
    await bar.type(terminal, "r")
    assert bar.keys(terminal, "m -rf x\n") == "dangerous"
    assert bar.keys(terminal, "\x03") == ""
    await bar.type(terminal, "\x03")
    await until(terminal, "prompt")
    await bar.type(terminal, "cat\n")
    await until(terminal, "running")
    await terminal.wait(input_wanted=True, deadline_s=40)
    again = bar("terminal.send", terminalId=terminal.id, text="y\n")
    assert again is not None
    assert again.rule_key != judged.rule_key  # as long as it runs, not its successor


async def test_what_a_program_left_unread_is_not_forgotten_at_the_prompt(app: App) -> None:
    bar, terminal = await seated(app)
    await bar.type(terminal, "until [ -e go ]; do sleep 0.05; done\n")
    await until(terminal, "running")
    await bar.type(terminal, "r")
    Path(app.bench.root, "go").touch()
    await until(terminal, "prompt")
    assert bar.keys(terminal, "m -rf x\n") == "dangerous"
    assert bar.keys(terminal, "\x03ls\n") == "safe"


async def test_a_shell_inside_another_program(app: App) -> None:
    bar, terminal = await seated(app)
    await bar.type(terminal, "sh\n")
    await until(terminal, "running")
    await terminal.wait(input_wanted=True, deadline_s=40)
    assert bar.keys(terminal, "ls\n") == "unknown"
    judged = bar("terminal.send", terminalId=terminal.id, text="ls\n")
    assert judged is not None
    assert judged.rule_key is None  # a rule for all input would approve every line
    assert bar.keys(terminal, "rm -rf x\n") == "dangerous"
    assert bar.keys(terminal, "\x1b[A") == "dangerous"
    await bar.type(terminal, "echo '\n")
    assert bar.keys(terminal, "echo '; rm -rf x; echo '\n") == "dangerous"


async def test_a_pager_starts_nothing_unasked(app: App) -> None:
    if shutil.which("less") is None:
        refuse("less is not installed")
    bar, terminal = await seated(app)
    await terminal.type("less /etc/passwd\r")  # as a person: in an agent's terminal it would be cat
    await until(terminal, "running")
    await terminal.wait(input_wanted=True, deadline_s=40)
    assert bar.keys(terminal, "q") == bar.keys(terminal, " ") == "safe"
    assert bar.keys(terminal, "v") == "dangerous"
    assert bar.keys(terminal, "!id\n") == "dangerous"
    assert bar.keys(terminal, "!rm -rf x\n") == "dangerous"
    await bar.type(terminal, "!")
    assert bar.keys(terminal, "id\n") == "dangerous"


async def test_a_shell_without_marks_is_never_safe(app: App) -> None:
    bar = Bar(app)
    terminal = await app.terminals.create(argv=["sh", "-i"])
    await terminal.wait(input_wanted=True, deadline_s=40)
    assert not terminal.marked
    assert bar.keys(terminal, "ls\n") == "unknown"
    assert bar.keys(terminal, "rm -rf x\n") == "dangerous"
    assert bar.keys(terminal, "\x1b[200~ls\x1b[201~") == "dangerous"  # nobody knows whether it takes pastes
    await bar.type(terminal, "echo '\n")
    assert bar.keys(terminal, "echo '; rm -rf x; echo '\n") == "dangerous"
    await bar.type(terminal, "'\n")
    assert bar.keys(terminal, "echo '; rm -rf x; echo '\n") == "unknown"


async def test_each_line_for_a_terminal_of_others_is_asked_about(app: App) -> None:
    bar, own = await seated(app)
    theirs = await shell(app)
    assert (bar.keys(own, "ls\n"), bar.keys(theirs, "ls\n")) == ("safe", "unknown")
    assert bar.keys(theirs, "ls") == ""  # it does not run yet
    assert bar.keys(theirs, "rm -rf x\n") == "dangerous"
    judged = bar("terminal.send", terminalId=theirs.id, text="ls\n")
    assert judged is not None
    assert (judged.rule_key, judged.rule_text) == (None, "")
    assert "not isolated" in judged.reason
    await theirs.type("cat\r")
    await until(theirs, "running")
    judged = bar("terminal.send", terminalId=theirs.id, text="x\n")
    assert judged is not None
    assert judged.rule_key is None


async def test_an_agent_in_a_sandbox_is_asked_about_each_line_outside(app: App) -> None:
    bar = Bar(app, let_in(app, provider="bubblewrap"))
    outside = await shell(app, bar.session.id)
    judged = bar("terminal.send", terminalId=outside.id, text="ls\n")
    assert judged is not None
    assert (judged.level, judged.rule_key) == ("unknown", None)


async def test_interrupting_what_others_started_is_asked_about(app: App) -> None:
    bar, own = await seated(app)
    theirs = await shell(app)
    for keys in ("\x03", "\x15", "\x15\x03"):
        assert (bar.keys(own, keys), bar.keys(theirs, keys)) == ("", "unknown")
    assert bar("terminal.interrupt", terminalId=own.id) is None
    judged = bar("terminal.interrupt", terminalId=theirs.id)
    assert judged is not None
    assert (judged.level, judged.rule_key) == ("unknown", None)
    assert theirs.title in judged.shown


async def test_continue_is_judged_like_send(app: App) -> None:
    bar, terminal = await seated(app)
    for stdin, level in (("rm -rf x\n", "dangerous"), ("ls\n", "safe")):
        judged = bar("tool.terminal_continue", sessionId=terminal.id, stdin=stdin)
        assert judged is not None
        assert judged.level == level
        assert judged.edit is not None
        assert judged.edit("pwd")["stdin"] == "pwd\n"
    assert bar("tool.terminal_continue", sessionId=terminal.id) is None


async def test_your_own_secret_names_count() -> None:
    async with open_app(Settings(safety=SafetySettings(secret_names=("*.vault",)))) as app:
        assert Bar(app).line("cat my.vault").level == "dangerous"
    async with open_app() as app:
        assert Bar(app).line("cat my.vault").level == "safe"
