"""The agent's shell tools, on real programs."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.kit.clock import let_pass
from tests.kit.person import Person, let_in
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.commands.launching import COMPLETED_KEPT
from fourhands.commands.tool_terminal import Active, session_table, without_echo
from fourhands.core.call import Actor, Call, Result
from fourhands.core.ids import short_id
from fourhands.settings import SafetySettings, Settings
from fourhands.workbench.sessions import Session
from fourhands.workbench.terminals.oneshot import OneShotLimits
from fourhands.workbench.terminals.terminal import Terminal

EASY = Settings(safety=SafetySettings(safe_commands=("python3", "seq", "yes", "cat")))
FAST = {"min_interval": 0.05, "settle_interval": 40.0, "max_interval": 60.0}  # what is waited for comes before


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app(EASY) as app:
        yield app


class Agent:
    """Calls tools; whatever is asked is approved."""

    def __init__(self, app: App, **state: object) -> None:
        self.app = app
        self.person = Person(app)
        self.session: Session = let_in(app, f"helper{len(app.bench.sessions)}", **{**FAST, **state})

    async def __call__(self, verb: str, **args: object) -> Result:
        call = self.app.call(f"openspace.tool.{verb}", args, actor=self.session.actor)
        running = self.app.tasks.start(call, verb)
        while not running.done():
            asked = self.app.tasks.start(self.person.question(None), "a question")
            await asyncio.wait([running, asked], return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                self.person.answer(asked.result(), "once")
            else:
                asked.cancel()
        result: Result = running.result()
        return result


async def test_bash_returns_output_and_exit_code(app: App) -> None:
    agent = Agent(app)
    result = await agent("bash", command="echo out; echo err >&2; exit 3")
    data = result.data
    assert result.success
    assert result.isolation == "none"
    assert (data["ok"], data["exitCode"], data["stdout"], data["stderr"]) == (False, 3, "out\n", "err\n")
    assert sorted(str(data["output"]).split()) == ["err", "out"]
    assert (data["truncated"], data["outputId"], data["error"]) == (False, None, None)
    assert (data["characters"], data["lines"]) == (8, 2)
    assert result.to_wire()["isolation"] == "none"


async def test_each_call_is_a_fresh_shell_in_the_workspace(app: App) -> None:
    agent = Agent(app)
    Path(app.bench.root, "sub").mkdir()
    await agent("bash", command="cd sub; X=1")
    assert (await agent("bash", command="pwd; echo [$X]")).data["output"] == f"{app.bench.root}\n[]\n"


async def test_output_is_sanitized_and_secrets_are_taken_out(app: App) -> None:
    agent = Agent(app)
    Path(app.bench.root, "log.txt").write_text("\x1b[31mred\x1b[0m\x07\nAWS_SECRET_ACCESS_KEY=abcdefghijklmnop\n")
    shown = str((await agent("bash", command="cat log.txt")).data["output"])
    assert shown.startswith("red\n")
    assert "abcdefghijklmnop" not in shown


async def test_long_output_is_cropped_and_the_rest_can_be_read(app: App) -> None:
    agent = Agent(app, crop_output=1000)
    result = await agent("bash", command="seq 1 20000")
    data = result.data
    whole = "".join(f"{number}\n" for number in range(1, 20001))
    assert data["truncated"]
    assert (data["characters"], data["lines"]) == (len(whole), 20000)
    output = str(data["output"])
    assert len(output) < 1400
    head, note, tail = output.partition("[… lines 153–19917 of 20000 left out: read output:1 from 153 …]\n")
    assert note
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert (head.count("\n"), tail.count("\n")) == (152, 83)  # whole lines, as many as fit
    read, line = head, 153
    while line <= 19_917:
        some = await agent("read", path="output:1", **{"from": line}, limit=19_917 - line + 1)
        read += str(some.data["content"])
        line = int(str(some.data["to"])) + 1
    assert read + tail == whole
    assert (await agent("read", path="output:2")).code == "not-found"
    read = ""
    offset: int | None = 0
    while offset is not None:
        piece = await agent("read_output", outputId=data["outputId"], offset=offset, limit=50_000)
        read += str(piece.data["output"])
        offset = piece.data["next"]  # type: ignore[assignment]
    assert read == whole
    other = Agent(app)
    for command, args in (("read_output", {"outputId": data["outputId"]}), ("read", {"path": "output:1"})):
        assert (await other(command, **args)).code == "not-found"
    behind = await agent("read_output", outputId=data["outputId"], offset=10**9)
    assert (behind.code, str(len(whole)) in behind.hint) == ("bad-argument", True)
    assert (await app.call("openspace.tool.read_output", {"outputId": data["outputId"]})).success
    await app.bench.reset_session(agent.session.id)
    assert (await agent("read_output", outputId=data["outputId"])).code == "not-found"


async def test_output_beyond_all_bounds_has_true_totals() -> None:
    async with open_app(EASY, one_shot=OneShotLimits(kept=10_000)) as app:
        agent = Agent(app, crop_output=200)
        data = (await agent("bash", command="seq 1 200000")).data
    assert data["truncated"]
    marker = len("\n[… 0000000 characters left out …]\n")
    assert abs(int(str(data["characters"])) - (1_288_895 + marker)) <= 2
    assert str(data["output"]).endswith("199999\n200000\n")


async def test_a_timeout_says_so_and_returns_what_there_was(app: App) -> None:
    agent, marker = Agent(app, timeout_s=17.5), Path(app.bench.root, "on")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(agent("bash", command="echo begun; >on; sleep 600"))
        while not marker.exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        let_pass(17.5)
    data = running.result().data
    assert (data["ok"], data["output"], data["code"], data["exitCode"]) == (False, "begun\n", "timeout", None)
    assert "within 17.5 s" in str(data["error"])


async def test_bad_commands_are_refused_with_a_reason(app: App) -> None:
    agent = Agent(app)
    assert (await agent("bash", command="")).code == "bad-argument"
    assert (await agent("bash", command="   ")).code == "bad-argument"
    assert (await agent("bash", command="a\0b")).code == "bad-argument"
    assert (await agent("bash", command=5)).code == "bad-argument"
    assert (await agent("bash", cmd="ls")).code == "bad-argument"
    assert (await agent("execute_command", command="a\0b")).code == "bad-argument"
    assert (await agent("execute_command", command="ls", timeoutSeconds=0)).code == "bad-argument"
    assert (await agent("execute_command", command="ls", env={"1": "x"})).code == "bad-env"
    missing = (await agent("execute_command", command="no-such-program-here")).data
    assert (missing["ok"], missing["code"]) == (False, "command-not-found")
    outside = (await agent("execute_command", command="ls", workingDirectory="/")).data
    assert (outside["ok"], outside["code"]) == (False, "bad-cwd")
    assert (await agent("terminal_continue", sessionId="nobody")).code == "not-found"


async def test_execute_command_takes_words_input_and_variables(app: App) -> None:
    agent = Agent(app)
    Path(app.bench.root, "sub").mkdir()
    result = await agent(
        "execute_command",
        command="sh",
        args=["-c", 'cat; echo "$1 $A [$LANG]"; pwd', "x", "a; b"],
        input="given\n",
        env={"A": "1", "LANG": None, "LC_ALL": None},
        workingDirectory="sub",
    )
    assert result.data["output"] == f"given\na; b 1 []\n{app.bench.root}/sub\n"
    script = await agent("run_script", script="read x\necho got $x $A\n", input="it\n", env={"A": "2"})
    assert script.data["output"] == "got it 2\n"


async def test_a_command_with_blanks_and_no_arguments_is_a_line_for_the_shell(app: App) -> None:
    agent = Agent(app)
    for command, args, output in [
        ("echo one two", [], "one two\n"),
        ("echo one | cat; echo $A", [], "one\nA's\n"),
        ("printf '%s\n' 'x  y'\n", [], "x  y\n"),
        ("echo", ["one  two;", "$A"], "one  two; $A\n"),
    ]:
        data = (await agent("execute_command", command=command, args=args, env={"A": "A's"})).data
        assert (data["ok"], data["output"]) == (True, output)
    program = (await agent("execute_command", command="echo one", args=["two"])).data
    assert (program["ok"], program["code"]) == (False, "command-not-found")
    assert (await agent("execute_command", command=" \t ")).code == "bad-argument"


async def test_the_same_for_a_person_and_what_they_hand_over_is_not_kept(app: App) -> None:
    result = await app.call("openspace.tool.execute_command", {"command": "cat", "input": "my-own-words"})
    assert result.data["output"] == "my-own-words"
    [entry] = await app.journal.query(command="openspace.tool.execute_command")
    assert entry.call.args == {"command": "cat", "input": "[not kept]"}


async def test_a_person_reads_on_where_they_read_last(app: App) -> None:
    started = (await app.call("openspace.tool.terminal_start", {"command": "cat", "stdin": "one\n"})).data
    args = {"sessionId": started["id"], "stdin": "two\n"}
    agent = Agent(app)
    await agent("terminal_continue", sessionId=started["id"])  # what another has read is another's
    more = (await app.call("openspace.tool.terminal_continue", args)).data
    assert (str(started["output"]).split(), str(more["output"]).split()) == (["one", "one"], ["two", "two"])
    listed = await app.call("openspace.tool.terminal_list")
    assert [one["position"] for one in listed.data["sessions"]] == [more["position"]]  # type: ignore[attr-defined]
    await app.call("openspace.tool.terminal_stop", {"sessionId": started["id"]})
    assert app.bench.positions(Call(command="", actor=Actor.person())) == {}


async def test_a_program_is_started_where_both_see_it(app: App) -> None:
    agent = Agent(app)
    started = await agent("terminal_start", command="python3 -c 'print(input(\"name? \")); input()'")
    data = started.data
    assert started.isolation == "none"
    assert (data["reason"], data["input"], data["complete"]) == ("input", "line", False)
    assert data["output"] == "name?"
    assert data["paneId"] in {pane["id"] for pane in (await app.call("openspace.pane.list")).data["panes"]}  # type: ignore[attr-defined]
    terminal = app.bench.terminal(str(data["sessionId"]))
    assert terminal.owner == agent.session.id
    more = (await agent("terminal_continue", sessionId=data["sessionId"], stdin="Ada\n")).data
    assert (more["reason"], more["output"]) == ("input", " Ada\nAda\n"), (
        "the blank of the prompt, now that it is not the end"
    )
    assert int(str(more["position"])) > int(str(data["position"]))
    done = (await agent("terminal_continue", sessionId=data["title"], stdin="\n")).data
    assert (done["reason"], done["complete"], done["exitCode"], done["output"]) == ("exited", True, 0, "\n")
    again = (await agent("terminal_continue", sessionId=data["sessionId"])).data
    assert (again["complete"], again["output"]) == (True, "")
    typed = await agent("terminal_continue", sessionId=data["sessionId"], stdin="more\n")
    assert typed.code == "exited"


async def test_a_program_that_ends_at_once_is_answered_at_once(app: App) -> None:
    agent = Agent(app, min_interval=30.0, settle_interval=30.0, max_interval=60.0)
    async with asyncio.timeout(40):
        data = (await agent("terminal_start", command="echo hello; exit 4")).data
    assert (data["reason"], data["exitCode"], data["output"]) == ("exited", 4, "hello\n")


async def opened(app: App) -> Terminal:
    """The terminal that is about to open."""
    with app.events.subscribe(["terminal.created"]) as events:
        return app.terminals.get((await anext(events)).data["terminal"]["id"])  # type: ignore[index]  # an object


async def test_quiet_programs_settle(app: App) -> None:
    agent = Agent(app, settle_interval=15.0, max_interval=80_000.0)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(agent("terminal_start", command="echo ready; sleep 600"))
        await (await opened(app)).wait(pattern="ready", position=0, deadline_s=40)
        while not running.done():
            let_pass(5)
            await asyncio.sleep(0.01)  # the timers that are due now run
    settled = running.result().data
    assert (settled["reason"], settled["complete"], settled["output"]) == ("settled", False, "ready\n")


async def test_busy_programs_reach_the_longest_interval(app: App) -> None:
    agent = Agent(app, settle_interval=15.0, max_interval=60.0)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(agent("terminal_start", command="while sleep 0.05; do echo tick; done"))
        terminal = await opened(app)
        while not running.done():
            await terminal.wait(pattern="tick", position=terminal.log.head, deadline_s=40)
            let_pass(5)
    busy = running.result().data
    assert busy["reason"] == "maxInterval"
    assert "tick" in str(busy["output"])


async def test_a_shell_by_its_name_has_marks_and_exit_codes(app: App) -> None:
    agent = Agent(app)
    started = (await agent("terminal_start", command="bash")).data
    assert (started["reason"], started["input"]) == ("input", "prompt")
    ran = (await agent("terminal_continue", sessionId=started["sessionId"], stdin="(exit 7)\n")).data
    assert (ran["reason"], ran["exitCode"], ran["complete"]) == ("finished", 7, False)
    piece = (await agent("terminal_continue", sessionId=started["sessionId"], stdin="true")).data
    assert (piece["reason"], piece["input"], piece["exitCode"]) == ("input", "prompt", None)
    entered = (await agent("terminal_continue", sessionId=started["sessionId"], stdin="\n")).data
    assert (entered["reason"], entered["exitCode"]) == ("finished", 0)
    half = (await agent("terminal_continue", sessionId=started["sessionId"], stdin="echo '\n")).data
    assert (half["reason"], half["input"]) == ("input", "incomplete")


async def test_stdin_is_typed_at_the_start(app: App) -> None:
    agent = Agent(app)
    data = (await agent("terminal_start", command="read x; echo got $x", stdin="it\n")).data
    assert (data["complete"], "got it" in str(data["output"])) == (True, True)


async def test_a_full_screen_program_shows_its_screen(app: App) -> None:
    agent = Agent(app)
    script = "import sys,tty,os\ntty.setraw(0)\nos.write(1, b'\\x1b[?1049h\\x1b[5;3Hmiddle')\nos.read(0, 1)\n"
    Path(app.bench.root, "full.py").write_text(script)
    data = (await agent("terminal_start", command=f"{sys.executable} full.py")).data
    assert (data["reason"], data["input"]) == ("input", "keys")
    assert data["screen"][4].rstrip() == "  middle"  # type: ignore[index]


async def test_long_output_of_a_terminal_is_cropped(app: App) -> None:
    agent = Agent(app, crop_output=500)
    data = (await agent("terminal_start", command="seq 1 5000")).data
    assert data["truncated"]
    assert data["lines"] == 5000
    assert str(data["output"]).endswith("4999\n5000\n")
    assert "left out: read output:1 from " in str(data["output"])
    rest = await agent("read", path="output:1", **{"from": 5000})
    assert (rest.data["content"], rest.data["lines"]) == ("5000\n", 5000)


async def test_results_have_the_words_that_models_know(app: App) -> None:
    agent = Agent(app)
    started = (await agent("terminal_start", command="cat")).data
    id = str(started["id"])
    assert id == started["sessionId"]
    assert started["text"] == f"Terminal Session Started\nID: {short_id(id)}\nCommand: cat\nPosition: 0\n\nOutput:\n"
    more = (await agent("terminal_continue", sessionId=id, stdin="hello\n")).data
    words = f"Terminal Session: {short_id(id)}\nPosition: {more['position']}\nComplete: false\n\nOutput:\nhello\n"
    assert (more["id"], more["text"], more["output"]) == (id, words, "hello\nhello\n")
    done = (await agent("terminal_start", command="echo bye; exit 4")).data
    ended = f"Position: {done['position']}\nComplete: true\nExit code: 4\n\nOutput:\nbye\n"
    assert str(done["text"]).endswith(f"Command: echo bye; exit 4\n{ended}")
    secret = (await agent("terminal_start", command="read -s -p 'Password: ' x")).data
    assert "\nNote: it asks for a secret: the person must type it" in str(secret["text"])


async def test_typed_lines_are_not_told_again_when_a_python_echoes_them(app: App) -> None:
    agent = Agent(app)
    id = (await agent("terminal_start", command="python3")).data["id"]
    more = (await agent("terminal_continue", sessionId=id, stdin="6 * 7\n")).data
    assert str(more["text"]).rstrip().endswith("\n\nOutput:\n42\n>>>")
    assert "6 * 7\n42\n" in str(more["output"])


def test_only_a_whole_echo_at_the_beginning_is_left_out() -> None:
    for output, typed, told in (
        (" 2.1.0\nPublish? ", "2.1.0\n", "Publish? "),  # behind the blank of a prompt that was read before
        ("a\nb\nok\n", "a\r\nb\r", "ok\n"),
        ("\n$ ", "\n", "$ "),
        ("late\nls\na.py\n", "ls\n", "late\nls\na.py\n"),
        ("lsof\nx\n", "ls\n", "lsof\nx\n"),
        ("make te", "make te", "make te"),  # it stands there and waits for more
        ("42\n", None, "42\n"),
        ("  indented\n", "", "  indented\n"),
        ("\n", "secret\n", "\n"),
    ):
        assert without_echo(output, typed) == told


def test_the_list_is_the_one_that_models_know() -> None:
    one = Active(session_id="term_1", title="a", command="npm run dev", position=1024, running=True, uptime_s=45.2)
    two = msgspec.structs.replace(one, session_id="term_2", command="python server.py", position=2048, uptime_s=120.0)
    assert session_table([one, two]) == (
        "Active Terminal Sessions:\n"
        "ID           | Command                        | Position | Running | Uptime\n"
        "-------------|--------------------------------|----------|---------|--------\n"
        "term_1       | npm run dev                    | 1024     | Yes     | 45s\n"
        "term_2       | python server.py               | 2048     | Yes     | 120s"
    )


async def test_the_list_is_a_table(app: App) -> None:
    agent = Agent(app)
    empty = (await agent("terminal_list")).data
    assert (empty["sessions"], empty["text"]) == ([], "No active terminal sessions.")
    await app.call("openspace.terminal.create", {"title": "mine"})
    started = (await agent("terminal_start", command="echo x; cat")).data
    data = (await agent("terminal_list")).data
    lines = str(data["text"]).split("\n")
    assert lines[0] == "Active Terminal Sessions:"
    assert [cell.strip() for cell in lines[1].split("|")] == ["ID", "Command", "Position", "Running", "Uptime"]
    row = next(line for line in lines if short_id(str(started["sessionId"])) in line)
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[1:4] == ["echo x; cat", str(started["position"]), "Yes"]
    yours = {one["title"]: one["yours"] for one in data["sessions"]}  # type: ignore[attr-defined]
    assert yours == {"mine": False, "echo x; cat": True}


async def test_an_agent_stops_its_own_programs_only(app: App) -> None:
    agent = Agent(app)
    person = await app.call("openspace.terminal.create", {"title": "mine"})
    assert (await agent("terminal_stop", sessionId="mine")).code == "denied"
    started = (await agent("terminal_start", command="cat")).data
    stopped = await agent("terminal_stop", sessionId=started["title"])
    assert stopped.data["text"] == f"Terminal session {short_id(str(started['sessionId']))} terminated."
    assert (await agent("terminal_continue", sessionId=started["sessionId"])).code == "not-found"
    assert app.bench.terminal(str(person.data["terminalId"])).exit is None


async def test_ended_programs_do_not_fill_the_limit(app: App) -> None:
    agent = Agent(app)
    for _ in range(COMPLETED_KEPT + 3):
        assert (await agent("terminal_start", command="true")).data["complete"]
    assert len(app.terminals.list()) == COMPLETED_KEPT + 1


async def test_a_persons_terminal_can_be_looked_at(app: App) -> None:
    agent = Agent(app)
    made = await app.call("openspace.terminal.create", {"title": "mine"})
    terminal = app.terminals.get(str(made.data["terminalId"]))
    await terminal.wait(input_wanted=True, deadline_s=40)
    await terminal.run("echo by hand")
    data = (await agent("terminal_continue", sessionId="mine")).data
    assert "by hand" in str(data["output"])
    again = (await agent("terminal_continue", sessionId="mine")).data
    assert "by hand" not in str(again["output"])


async def test_a_terminal_can_be_typed_into_before_its_shell_has_come_up() -> None:
    async with open_app() as app:
        session = app.bench.begin_session("bot", "test")
        app.gate.consent.grant(session.id)
        for number in range(8):
            title = f"t{number}"
            assert (await app.call("openspace.terminal.create", {"title": title}, actor=session.actor)).success
            args: dict[str, object] = {"terminalId": title, "text": "echo hello\n"}
            sent = await app.call("openspace.terminal.send", args, actor=session.actor)
            assert sent.success, sent.error
