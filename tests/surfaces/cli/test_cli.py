import asyncio
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
import pytest_asyncio
from click.testing import CliRunner
from tests.kit.agree import no_scratch, run_cli
from tests.kit.program import MAIN, Home, Server, new_home
from tests.kit.server import Served

from fourhands.core.errors import BadArgument, Denied
from fourhands.providers.auto import Auto
from fourhands.providers.base import Probe, Provider
from fourhands.providers.local import Local
from fourhands.surfaces.cli.call import wants_text
from fourhands.surfaces.cli.main import LATE, Options, build

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMMANDS = [*LATE, "serve", "doctor", "instructions"]
TERMINAL = ["list", "run", "read", "kill", "attach"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home() -> AsyncIterator[Home]:
    """A workspace without a server."""
    async with new_home() as found:
        yield found


async def cli(served: Served, *words: str) -> Any:
    """A command against the running server, in this process."""
    where = ["--workspace", served.places.workspace] if words[0] != "serve" else []
    return await asyncio.to_thread(run_cli, [*words, *where], served.env)


# -- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS), *(["terminal", name] for name in TERMINAL)])
async def test_each_command_explains_itself(words: list[str]) -> None:
    done = run_cli([*words, "--help"], {})
    assert done.exit_code == 0
    assert "Usage:" in done.output
    if words and words[-1] not in ("terminal", "attach"):
        assert "--json" in done.output
    assert done.output == run_cli([*words, "-h"], {}).output
    assert "..." not in "".join(re.findall(r"^  \w+   .*$", done.output, re.M))  # no summary is cut off
    assert done.output.isprintable() or "\x1b" not in done.output


@pytest.mark.parametrize(
    "words",
    [
        ["call"],
        ["call", "x", "--nonsense"],
        ["classify"],
        ["journal", "--limit", "none"],
        ["journal", "--limit", "0"],
        ["terminal", "run"],
        ["terminal", "dance"],
        ["terminal", "read", "x", "--since", "-1"],
        ["terminal", "kill"],
        ["open", "--workspace", "/nowhere/at/all"],
        ["serve", "/nowhere/at/all"],
        ["no-such-command-or-directory"],
        ["serve", "--port", "70000"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
async def test_wrong_usage_ends_with_2(words: list[str]) -> None:
    done = run_cli(words, {})
    assert done.exit_code == 2
    assert "Error" in done.output


async def test_a_word_that_is_nearly_a_command_is_mended() -> None:
    assert "Did you mean 'classify'?" in run_cli(["clasify", "ls"], {}).output
    assert "Commands: " in run_cli(["zzz"], {}).output


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_directory_that_was_removed_under_somebody_is_said(tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r}); os.rmdir(os.getcwd()); from fourhands.app import main; main()"
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code, "journal"], capture_output=True)
    assert (done.returncode, b"has been removed" in done.stderr) == (2, True)


@pytest.mark.parametrize("words", [["terminal", "run", "ls"], ["doctor"]], ids=" ".join)
async def test_a_place_that_cannot_be_is_said_with_the_way_out(home: Home, words: list[str]) -> None:
    env = home.env | {"XDG_RUNTIME_DIR": "/proc/self", "XDG_STATE_HOME": "/proc/self"}
    done = await asyncio.to_thread(run_cli, [*words, "-w", str(home.work)], env)
    assert (done.exit_code, "XDG_RUNTIME_DIR" in done.output) == (1 if words == ["doctor"] else 3, True)
    assert isinstance(done.exception, SystemExit)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_full_disk_behind_the_output_is_an_error_and_no_crash(home: Home) -> None:
    command = " ".join(map(shlex.quote, [*MAIN, "classify", "ls", "--json"])) + " > /dev/full"
    done = await asyncio.to_thread(
        subprocess.run, ["sh", "-c", command], env=home.env, cwd=home.work, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_places_that_know_few_characters_get_the_others_escaped(home: Home) -> None:
    words = [*MAIN, "classify", "echo €", "-w", str(home.work)]
    env = home.env | {"PYTHONIOENCODING": "latin-1"}
    done = await asyncio.to_thread(subprocess.run, words, env=env, capture_output=True, text=True)
    assert (r"echo \u20ac" in done.stdout, done.stderr) == (True, "")


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
async def test_colours_are_for_those_who_want_them(env: dict[str, str], coloured: bool) -> None:
    async def nobody(options: Options) -> None:
        raise AssertionError

    program = build(nobody, lambda workspace: [], no_scratch)
    wanted = {"TERM": "xterm", "NO_COLOR": None, **env}
    done = CliRunner().invoke(program, ["classify", "ls"], env=wanted, color=True)  # as in a terminal
    assert ("\x1b[" in done.output) is coloured


async def test_the_version_is_told() -> None:
    assert re.search(r"\d+\.\d+", run_cli(["--version"], {}).output)


async def test_a_directory_alone_is_served(tmp_path: Path) -> None:
    asked: list[Options] = []

    async def serve(options: Options) -> None:
        asked.append(options)

    program = build(serve, lambda workspace: [], no_scratch)
    for words in ([str(tmp_path), "--agent", "tour", "--no-open"], ["serve", str(tmp_path), "--port", "0", "-v"]):
        assert (await asyncio.to_thread(CliRunner().invoke, program, words)).exit_code == 0
    assert asked[0] == Options(str(tmp_path), ("tour",), None, None, open_page=False)
    assert (asked[1].port, asked[1].verbose, asked[1].open_page) == (0, True, True)


@pytest.mark.parametrize("words", [["call", "openspace.pane.list"], ["instructions"], ["open"]], ids=" ".join)
async def test_without_a_server_it_says_how_to_start_one(home: Home, words: list[str]) -> None:
    done = await asyncio.to_thread(run_cli, [*words, "-w", str(home.work)], home.env)
    assert done.exit_code == 3
    assert re.search(r"start one: .*fourhands'? ", done.output)
    told = await asyncio.to_thread(run_cli, [*words, "--json", "-w", str(home.work)], home.env)
    assert json.loads(told.stdout)["code"] == "unavailable"


# -- calls -----------------------------------------------------------------------------------------------------------


async def test_a_call_prints_what_came_of_it_and_ends_accordingly(served: Served) -> None:
    good = await cli(served, "call", "openspace.pane.list")
    assert (good.exit_code, json.loads(good.output)["success"]) == (0, True)
    assert "\n  " in good.output  # for people
    bad = await cli(served, "call", "openspace.file.read", "path=missing", "--json")
    assert (bad.exit_code, json.loads(bad.output)["code"]) == (1, "not-found")
    assert bad.output.count("\n") == 1  # for programs


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--args", "{"], "not JSON"),
        (["--args", "[1]"], "must be a JSON object"),
        (["--args", "[" * 100_000], "not JSON"),
        (["--args", "path=a"], "not JSON"),
        (["{"], "not JSON"),
        (["-"], "not JSON"),
        (["--args", '{"path": "a"}', "path=b"], "given twice"),
        (['{"path": "a"}', '{"path": "b"}'], "given twice"),
        (["nonsense"], "NAME=VALUE"),
        (["=x"], "NAME=VALUE"),
        (["path=a", "path=b"], "given twice"),
        (["startLine=one"], "startLine takes a value in JSON"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_bad_arguments_are_named(served: Served, words: list[str], complaint: str) -> None:
    done = await cli(served, "call", "openspace.file.read", *words)
    assert done.exit_code == 1
    assert complaint in done.output


async def test_a_value_is_json_only_where_the_command_wants_no_text(served: Served) -> None:
    Path(served.places.workspace, "42").write_text("a\nb\nc\n")
    read = await cli(served, "call", "openspace.file.read", "path=42", "startLine=2", "endLine=2", "--json")
    assert json.loads(read.output)["content"] == "b"
    wrote = await cli(served, "call", "openspace.file.write", "path=true", 'content={"a": 1}', "--json")
    assert json.loads(wrote.output)["success"]
    assert Path(served.places.workspace, "true").read_text() == '{"a": 1}'
    marked = await cli(served, "call", "openspace.editor.highlight", "path=42", 'ranges=[{"startLine":1,"endLine":1}]')
    assert marked.exit_code == 0
    unknown = await cli(served, "call", "openspace.file.read", "path=42", "invented=1", "--json")
    assert "invented" in json.loads(unknown.output)["error"]


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--args", '{"path": "42", "startLine": 2}'], None),
        (['{"path": "42", "startLine": 2}'], None),
        (['{"path": "42"}', "startLine=2"], None),
        (["-"], '{"path": "42", "startLine": 2}'),
        (["--args", "-", "startLine=2"], '{"path": "42"}'),
    ],
)
async def test_arguments_come_in_every_form(served: Served, words: list[str], given: str | None) -> None:
    Path(served.places.workspace, "42").write_text("a\nb\nc\n")
    words = ["call", "openspace.file.read", *words, "--json", "-w", served.places.workspace]
    done = await asyncio.to_thread(run_cli, words, served.env, given)
    assert json.loads(done.output)["content"] == "b\nc\n"


async def test_more_than_a_message_holds_is_refused_before_it_is_sent(served: Served) -> None:
    words = ["call", "openspace.file.write", "-", "-w", served.places.workspace]
    done = await asyncio.to_thread(run_cli, words, served.env, '{"content": "' + "x" * 1_100_000)
    assert (done.exit_code, "more than 1048576 bytes" in done.output) == (1, True)


async def test_which_schemas_want_text() -> None:
    assert wants_text({"type": "string"})
    assert wants_text({"anyOf": [{"type": "string"}, {"type": "null"}]})
    assert wants_text({"enum": ["a", None]})
    assert wants_text({"type": ["string", "null"]})
    assert wants_text(None)
    assert not wants_text({"type": "integer"})
    assert not wants_text({"anyOf": [{"type": "number"}, {"type": "null"}]})
    assert not wants_text({"$ref": "#/$defs/Range"})


async def test_instructions_and_a_fresh_link_come_from_the_server(served: Served) -> None:
    assert (await cli(served, "instructions")).output.startswith("# System Instructions")
    assert "instructions" in json.loads((await cli(served, "instructions", "--json")).output)
    nobody = await cli(served, "instructions", "--session", "nobody")
    assert (nobody.exit_code, "nobody" in nobody.output) == (1, True)
    for words in (["--print"], ["--json"]):
        output = (await cli(served, "open", *words)).output
        link = json.loads(output)["link"] if words == ["--json"] else output.strip()
        url, code = link.split("/#code=")
        assert url == served.url
        served.running.tokens.browsers.take_code(code)
        with pytest.raises(Denied):
            served.running.tokens.browsers.take_code(code)


async def test_the_journal_shows_what_was_called(served: Served, tmp_path: Path) -> None:
    await served.app.call("openspace.file.read", {"path": "no-such"})
    await served.app.call("openspace.pane.list")
    shown = (await cli(served, "journal", "-n", "5")).output
    assert "openspace.pane.list" in shown
    assert "not-found" in shown
    entries = json.loads((await cli(served, "journal", "--json", "--command", "openspace.file.read")).output)
    assert {entry["call"]["command"] for entry in entries} == {"openspace.file.read"}
    assert "The journal is empty" in (await cli(served, "journal", "--session", "nobody")).output
    target = tmp_path / "all.jsonl"
    assert "calls written" in (await cli(served, "journal", "--export", str(target))).output
    assert all(json.loads(line) for line in target.read_text().splitlines())
    assert (await cli(served, "journal", "--export", str(tmp_path / "no" / "way"))).exit_code == 1
    await served.app.call("openspace.\x1b]0;gotcha\x07")
    shown = (await cli(served, "journal", "-n", "1")).output
    assert "\x1b" not in shown
    assert shown.count("\n") == 1


async def test_a_journal_that_is_not_there_or_none_is_told() -> None:
    async with new_home() as home:
        words = ["journal", "-w", str(home.work)]
        assert "The journal is empty." in (await asyncio.to_thread(run_cli, words, home.env)).output
        home.places.prepare()
        Path(home.places.state, "journal.sqlite").write_bytes(b"this is no database, however long you look at it" * 99)
        done = await asyncio.to_thread(run_cli, words, home.env)
        assert (done.exit_code, "cannot read the journal" in done.output) == (3, True)


# -- classify and doctor ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "level", "code"),
    [("ls -la", "safe", 0), ("rm -rf /", "dangerous", 20), ("some-unknown-program", "unknown", 10), ("", None, None)],
)
async def test_classify_tells_by_word_and_exit_code(home: Home, line: str, level: str | None, code: int | None) -> None:
    done = await asyncio.to_thread(run_cli, ["classify", line, "--json", "-w", str(home.work)], home.env)
    assert done.exit_code in (0, 1, 10, 20)
    if level is not None:
        assert (json.loads(done.output)["level"], done.exit_code) == (level, code)
        plain = await asyncio.to_thread(run_cli, ["classify", line, "-w", str(home.work)], home.env)
        assert plain.output.startswith(level)


async def test_classify_judges_a_line_that_is_typed_if_it_is_told_so(home: Home) -> None:
    for words, level in ((['echo "!?x?"'], "safe"), (["--interactive", 'echo "!?x?"'], "dangerous")):
        done = await asyncio.to_thread(run_cli, ["classify", *words, "--json", "-w", str(home.work)], home.env)
        assert json.loads(done.output)["level"] == level


async def test_classify_judges_input_for_a_program(home: Home) -> None:
    for program, line, level in (
        ("python3 -q", "6*7", "safe"),
        ("python3", "import json", "unknown"),
        ("python3", "os.system('x')", "dangerous"),
        ("psql app", "DROP TABLE users;", "dangerous"),
        ("less notes", "!ls", "dangerous"),
    ):
        words = ["classify", "--program", program, line, "--json", "-w", str(home.work)]
        assert json.loads((await asyncio.to_thread(run_cli, words, home.env)).output)["level"] == level
    for program, said in (("bash", "bash is a shell"), ("'", "cannot be read"), ("", "no name")):
        done = await asyncio.to_thread(run_cli, ["classify", "--program", program, "ls"], home.env)
        assert done.exit_code == 1
        assert said in done.output


async def test_doctor_names_what_works_and_what_does_not(home: Home) -> None:
    code, out, _ = await home.run("doctor", "--json")
    found = {finding["subject"]: finding for finding in json.loads(out)}
    assert code == int(any(finding["level"] == "problem" for finding in found.values()))
    assert {"fourhands", "system", "shell", "workspace", "server", "host", "settings", "open files"} <= set(found)
    assert found["server"]["text"] == "not running"
    _, plain, _ = await home.run("doctor")
    assert "workspace" in plain


async def test_doctor_shows_the_ladder_with_reasons_and_remedies(home: Home) -> None:
    class Broken(Local):
        async def probe(self) -> Probe:
            return Probe(False, "bwrap: setting up uid map: Permission denied")

    async def unused(options: Options) -> None:
        raise AssertionError

    rungs = {"bubblewrap": Broken(), "landlock": Local()}
    words = ["doctor", "--json", "-w", str(home.work)]
    group = build(unused, lambda workspace: [Auto(rungs)], no_scratch)
    done = await asyncio.to_thread(CliRunner().invoke, group, words, env=home.env)
    found = {finding["subject"]: finding for finding in json.loads(done.output)}
    assert found["sandbox"]["level"] == "note"
    assert found["sandbox"]["text"].startswith("Agents run in a weaker sandbox: ")
    assert "AppArmor" in found["no bubblewrap"]["text"]
    assert "apparmor_parser" in found["to mend it"]["text"]


async def test_doctor_tells_of_settings_that_are_wrong_among_the_rest(home: Home) -> None:
    async def nobody(options: Options) -> None:
        raise AssertionError

    def providers(workspace: str) -> list[Provider]:
        raise BadArgument("no setting 'nonsense'")

    words = ["doctor", "--json", "-w", str(home.work)]
    done = await asyncio.to_thread(CliRunner().invoke, build(nobody, providers, no_scratch), words, env=home.env)
    found = {finding["subject"]: finding for finding in json.loads(done.output)}
    assert (done.exit_code, found["settings"]["level"], found["workspace"]["level"]) == (1, "problem", "ok")
    assert "nonsense" in found["settings"]["text"]


# -- starting fast ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["call", "x"], ["terminal", "list"], ["classify", "ls"], ["--version"], ["open"]])
async def test_a_cheap_command_does_not_load_the_server(home: Home, words: list[str]) -> None:
    code = (
        "import sys; from fourhands.app import main\n"
        f"sys.argv = ['fourhands', *{words!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'uvicorn', 'starlette', 'prometheus_client', 'httpx', 'mcp', 'uvloop', 'fourhands.app.wiring'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], cwd=home.work, env=home.env, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


# -- terminals -------------------------------------------------------------------------------------------------------


async def test_terminals_without_a_host_are_none_and_none_is_started() -> None:
    async with new_home() as home:
        words = ["terminal", "list", "-w", str(home.work)]
        assert "No terminals" in (await asyncio.to_thread(run_cli, words, home.env)).output
        assert json.loads((await asyncio.to_thread(run_cli, [*words, "--json"], home.env)).output) == []
        for name in ("read", "kill"):
            done = await asyncio.to_thread(run_cli, ["terminal", name, "x", "-w", str(home.work)], home.env)
            assert (done.exit_code, "no terminal 'x'" in done.output) == (1, True)
        assert not os.path.exists(home.places.socket)


OLDER = "from fourhands.host import protocol; protocol.PROTOCOL = 0; from fourhands.host.main import main; main()"


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_host_of_another_version_is_told_of_and_can_be_stopped() -> None:
    async with new_home() as home:
        here = home.places
        here.prepare()
        words = ["--workspace", here.workspace, "--runtime", here.runtime, "--state", here.state]
        words += ["--ready", "1", "--linger", "600"]
        # A plain pipe: the program closes it when it listens, and uvloop would leave it a second end.
        command = [sys.executable, "-c", OLDER, *words]
        older = await asyncio.to_thread(subprocess.Popen, command, stdout=subprocess.PIPE, env=home.env)

        async def tried(*words: str) -> Any:
            return await asyncio.to_thread(run_cli, [*words, "-w", here.workspace], home.env)

        try:
            assert older.stdout is not None
            await asyncio.to_thread(older.stdout.readline)  # it listens
            run = await tried("terminal", "run", "ls", "--keep")
            assert (run.exit_code, "different version" in run.output) == (3, True)
            [finding] = [
                one for one in json.loads((await tried("doctor", "--json")).output) if one["subject"] == "host"
            ]
            assert (finding["level"], "protocol 0" in finding["text"]) == ("problem", True)
            assert (await tried("stop")).output == "Ended: host and terminals.\n"
            assert await asyncio.to_thread(older.wait) == 0
        finally:
            older.kill()
            with older:
                pass  # its pipe is closed, and it is waited for


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_terminals_are_run_listed_read_and_killed(home: Home) -> None:
    code, out, _ = await home.run("terminal", "run", "echo hello; (exit 7)", "--keep", "--title", "kept")
    assert (code, out) == (7, "hello\n")
    code, out, _ = await home.run("terminal", "run", "echo again", "-t", "kept", "--json")
    done = json.loads(out)
    assert (code, done["output"], done["exitCode"], done["reason"]) == (0, "again\n", 0, "finished")
    assert await home.run("terminal", "run", "echo bye; exit 3") == (3, "bye\n", "")
    code, out, err = await home.run("terminal", "run", "kill -9 $$")
    assert (code, "the shell ended" in err) == (1, True)
    code, out, err = await home.run("terminal", "run", "sleep 30", "--timeout", "0.3")
    assert code == 124
    assert "still running" in err
    _, out, _ = await home.run("terminal", "list", "--json")
    assert [one["title"] for one in json.loads(out)] == ["kept"]
    _, out, _ = await home.run("terminal", "list")
    assert out.startswith("ID")
    _, out, _ = await home.run("terminal", "read", "kept", "-n", "50")
    assert "hello" in out
    _, out, _ = await home.run("terminal", "read", "kept", "--since", str(done["start"]), "--json")
    assert "again" in json.loads(out)["text"]
    await home.run("terminal", "run", "seq 1 15000", "-t", "kept")
    _, out, err = await home.run("terminal", "read", "kept", "-n", "20000")
    assert (out.count("\n"), "the last 10000 lines" in err) == (10_000, True)
    _, out, err = await home.run("terminal", "read", "kept", "-n", str(2**53), "--json")
    assert (len(json.loads(out)["lines"]), json.loads(out)["truncated"], err) == (10_000, True, "")
    code, _, err = await home.run("terminal", "run", "true", "-t", "nobody")
    assert code == 1
    assert "kept" in err  # what there is
    assert (await home.run("terminal", "kill", "kept", "kept"))[:2] == (0, "Closed kept.\n")
    assert (await home.run("terminal", "kill", "kept"))[0] == 1


async def test_attach_needs_a_terminal_of_its_own(home: Home) -> None:
    code, _, err = await home.run("terminal", "attach")
    assert code == 1
    assert "terminal read" in err


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_attach_types_resizes_and_detaches(home: Home) -> None:
    await home.run("terminal", "run", "true", "--keep", "--title", "shared")
    await asyncio.to_thread(_attach, home)
    _, out, _ = await home.run("terminal", "list", "--json")
    assert [one["title"] for one in json.loads(out)] == ["shared"]
    assert json.loads(out)[0]["state"] != "running"
    await home.run("terminal", "kill", "shared")


def _attach(home: Home) -> None:
    words = [*MAIN[1:], "terminal", "attach", "shared"]
    child = pexpect.spawn(MAIN[0], words, cwd=str(home.work), env=home.env, dimensions=(30, 90), timeout=40)
    try:
        child.expect("[#$] ")
        child.send("echo got-$((40+2))\r")
        child.expect(r"got-42")
        child.send("stty size; echo si''zed\r")
        child.expect(r"30 90")
        child.setwinsize(33, 101)
        child.send("cat\r")
        child.send("raw \x03")  # Ctrl-C is the program's, not ours
        child.expect(r"\^C")
        child.send("stty size; echo la''st\r")
        child.expect(r"33 101")
        child.send("\x1d")
        child.expect("Detached; still running")
        child.expect(pexpect.EOF)
    finally:
        child.close()
    assert child.exitstatus == 0


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_attach_ends_with_the_terminal(home: Home) -> None:
    def attach() -> str:
        words = [*MAIN[1:], "terminal", "attach"]
        child = pexpect.spawn(MAIN[0], words, cwd=str(home.work), env=home.env, timeout=40)
        try:
            child.expect("[#$] ")
            child.send("echo re''ady\r")
            child.expect("ready")
            child.send("exit 5\r")
            child.expect("has ended: exit code 5")
            child.expect(pexpect.EOF)
        finally:
            child.close()
        return str(child.exitstatus)

    assert await asyncio.to_thread(attach) == "0"


# -- with a server, and stopping it ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_what_is_run_beside_a_server_is_seen_there_and_stop_ends_it_all() -> None:
    async with new_home() as home:
        assert (await home.run("stop"))[1] == "Nothing was running.\n"
        async with Server(home) as server:
            code, out, _ = await home.run("terminal", "run", "echo seen", "--keep", "--title", "mine")
            assert (code, out) == (0, "seen\n")
            assert [one["title"] for one in (await home.call("terminal.list"))["terminals"]] == ["mine"]
            code, out, _ = await home.run("call", "openspace.terminal.read_output", "terminalId=mine", "--json")
            assert code == 0
            assert "seen" in json.loads(out)["output"]
            words = ("openspace.tool.execute_command", "--args", '{"command": "cat", "input": "hi"}', "--json")
            code, out, _ = await home.run("call", *words)
            assert (code, json.loads(out)["stdout"]) == (0, "hi")
            bad = await home.run("terminal", "run", "x", "--cwd", "/etc")
            assert bad[0] == 1
            code, out, _ = await home.run("stop", "--json")
            assert json.loads(out) == {"ended": ["server", "host and terminals"]}
            await server.rest()
            assert server.process.returncode == 0
        assert not os.path.exists(home.places.socket)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_script_is_told_where_the_server_is_and_nothing_else() -> None:
    async with new_home() as home:
        taken = socket.create_server(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        words = ["--json", "--no-open", "--port", str(port)]
        process = await asyncio.create_subprocess_exec(*MAIN, str(home.work), *words, stdout=-1, stdin=-3, env=home.env)
        try:
            assert process.stdout is not None
            async with asyncio.timeout(110):
                told = json.loads(await process.stdout.readline())
                assert (told["workspace"], told["pid"]) == (str(home.work), process.pid)
                assert told["url"] == home.address.url != f"http://127.0.0.1:{port}"
                assert told["link"].startswith(f"{told['url']}/#code=")
                process.terminate()
                assert await process.stdout.read() == b""
                assert await process.wait() == 0
        finally:
            taken.close()
            if process.returncode is None:
                process.kill()
