"""ACP's terminal methods on real terminals, through a whole workbench and its gate."""

import asyncio
import itertools
import os
import re
import stat
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import schema
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.memory import resident
from tests.kit.person import PERSON, Person, let_in, until_settled
from tests.kit.workbench import open_app

from fourhands.agents.acp.approvals import Approvals
from fourhands.agents.acp.errors import UnknownSession, rpc_error
from fourhands.agents.acp.jsonrpc import RpcError
from fourhands.agents.acp.terminals import AcpContext, AcpTerminals, last_bytes
from fourhands.commands import exec as exec_commands
from fourhands.core.errors import FourhandsError
from fourhands.core.ids import new_id
from fourhands.core.question import Answer
from fourhands.workbench.layout.panes import tabs

pytestmark = pytest.mark.timeout(60)

RESULTS: dict[str, Any] = {
    "create": schema.CreateTerminalResponse,
    "output": schema.TerminalOutputResponse,
    "wait_for_exit": schema.WaitForTerminalExitResponse,
    "kill": schema.KillTerminalResponse,
    "release": schema.ReleaseTerminalResponse,
}


class Desk:
    """A connection with one session, and a person who answers questions."""

    def __init__(self, app, session):
        self.app = app
        self.bench = app.bench
        self.session = session
        self.root = app.bench.root
        self.places = {"s1": AcpContext(session)}
        self.now = 0.0
        self.limit_s = 40
        self.allowed = Approvals(app.bench, now=lambda: self.now)
        self.terminals = AcpTerminals(app.bench, self.resolve, self.allowed)

    def resolve(self, id):
        if id not in self.places:
            raise UnknownSession.of("session", id, self.places)
        return self.places[id]

    async def call(self, method, **params):
        async with asyncio.timeout(self.limit_s):
            answer = await self.terminals.methods[f"terminal/{method}"]({"sessionId": "s1", **params})
        RESULTS[method].model_validate(answer)
        return answer

    async def create(self, command, **params):
        return (await self.call("create", command=command, **params))["terminalId"]

    async def ended(self, id):
        status = await self.call("wait_for_exit", terminalId=id)
        return status, await self.call("output", terminalId=id)

    async def printed(self, command, **params):
        _, output = await self.ended(await self.create(command, **params))
        return output["output"]

    async def error(self, method, **params):
        with pytest.raises((RpcError, FourhandsError)) as caught:
            await self.call(method, **params)
        error: Any = caught.value if isinstance(caught.value, RpcError) else rpc_error(caught.value)  # type: ignore[arg-type]
        return error.code, error.data["code"]

    async def waiting(self, *ids):
        """Somebody who waits for the end of each of these by now."""
        waiting = asyncio.gather(*(self.call("wait_for_exit", terminalId=id) for id in ids))
        await asyncio.sleep(0)
        return waiting


@asynccontextmanager
async def open_desk():
    async with open_app() as app:
        for command in exec_commands.commands.commands:
            if command.id not in app.registry:
                app.registry.add(command)
        desk = Desk(app, let_in(app))
        try:
            yield desk
        finally:
            desk.terminals.close()


@pytest.fixture
async def desk():
    async with open_desk() as desk:
        yield desk


# -- create ----------------------------------------------------------------------------------------------------------

SHELL_LINE = 'printf "%s|%s|%s" "$PWD" "$ONE" "$0"'


@pytest.mark.parametrize("args", [None, [], ["-c", 'printf "%s|%s|%s" "$PWD" "$ONE" x']])
async def test_every_combination_of_parameters(desk, args):
    sub = Path(desk.root, "sub")
    sub.mkdir()
    for env, cwd, limit in itertools.product(
        (None, [], [{"name": "ONE", "value": "é 1"}]), (None, str(sub)), (None, 5)
    ):
        params = {"env": env, "cwd": cwd, "outputByteLimit": limit, "_meta": {"x": 1}}
        schema.CreateTerminalRequest.model_validate({"sessionId": "s1", "command": "x", "args": args, **params})
        person = Person(desk.app)
        creating = asyncio.gather(desk.create("bash" if args else SHELL_LINE, args=args, **params))
        if args and env:  # a shell with variables of a caller's own
            person.answer(await person.question(), "once")
        (id,) = await creating
        person.leave()
        assert re.fullmatch(r"term_[0-9A-HJKMNP-TV-Z]{26}", id)
        status, output = await desk.ended(id)
        whole = f"{cwd or desk.root}|{'é 1' if env else ''}|{'x' if args else 'bash'}"
        assert status == {"exitCode": 0, "signal": None}
        assert output["exitStatus"] == status
        assert output["output"] == (whole if limit is None else last_bytes(whole, limit))
        assert output["truncated"] is (limit is not None)


async def test_optional_parameters_may_be_absent_and_unknown_ones_are_tolerated(desk):
    assert await desk.printed("echo hi", somethingNew={"a": 1}) == "hi\n"


async def test_args_are_taken_literally_and_a_line_is_run_by_the_shell(desk):
    assert await desk.printed("printf", args=["%s\n", "$HOME; a  b", "*"]) == "$HOME; a  b\n*\n"
    assert await desk.printed("echo a; echo $((1+1)) | cat && (exit 3) || echo b") == "a\n2\nb\n"


@pytest.mark.parametrize(("line", "status"), [("exit 3", (3, None)), ("kill -9 $$", (None, "SIGKILL"))])
async def test_exit_codes_and_signals_by_name(desk, line, status):
    person = Person(desk.app)
    creating = asyncio.gather(desk.create(line))
    if "kill" in line:
        person.answer(await person.question(), "once")
    (id,) = await creating
    flat, output = await desk.ended(id)
    assert (flat["exitCode"], flat["signal"]) == status
    assert output["exitStatus"] == flat


async def test_what_runs_has_no_exit_status_and_can_be_typed_into(desk):
    id = await desk.create("read x; echo got $x")
    assert "exitStatus" not in await desk.call("output", terminalId=id)
    await desk.app.call("openspace.terminal.send", {"terminalId": id, "text": "this\n"})
    _, output = await desk.ended(id)
    assert output["output"].endswith("got this\n")


async def test_the_terminal_is_seen_in_the_workbench(desk):
    id = await desk.create("echo hello")
    await desk.ended(id)
    assert id in {tab.content for _, tab in tabs(desk.bench.state.layout.root)}
    assert desk.bench.terminal(id).title == "echo hello"
    assert desk.bench.terminal(id).owner == desk.session.id


async def test_concurrent_creation_gives_each_its_own(desk):
    ids = await asyncio.gather(*(desk.create(f"echo number {n}") for n in range(12)))
    assert len(set(ids)) == 12
    outputs = await asyncio.gather(*(desk.ended(id) for id in ids))
    assert [output["output"] for _, output in outputs] == [f"number {n}\n" for n in range(12)]


def test_ids_are_unique():
    assert len({new_id("term") for _ in range(10_000)}) == 10_000


# -- errors ----------------------------------------------------------------------------------------------------------


BAD: list[tuple[dict[str, Any], tuple[int, str]]] = [
    ({"command": "no-such-program-here"}, (-32603, "command-not-found")),
    ({"command": "no-such-program-here", "args": ["x"]}, (-32603, "command-not-found")),
    ({"command": "./plain.txt"}, (-32603, "permission-denied")),
    ({"command": "./plain.txt", "args": ["x"]}, (-32603, "permission-denied")),
    ({"command": "ls", "cwd": "sub"}, (-32602, "bad-cwd")),
    ({"command": "ls", "cwd": "/no/such/place"}, (-32602, "bad-cwd")),
    ({"command": "ls", "cwd": "/"}, (-32602, "bad-cwd")),
    ({"command": "ls", "cwd": "{root}/plain.txt"}, (-32602, "bad-cwd")),
    ({"command": "ls", "cwd": "{root}/missing"}, (-32602, "bad-cwd")),
    ({"command": "ls", "env": [{"name": "A B", "value": "x"}]}, (-32602, "bad-env")),
    ({"command": "ls", "env": [{"name": "A=B", "value": "x"}]}, (-32602, "bad-env")),
    ({"command": "ls", "env": [{"name": "", "value": "x"}]}, (-32602, "bad-env")),
    ({"command": "ls", "env": [{"name": "1A", "value": "x"}]}, (-32602, "bad-env")),
    ({"command": "ls", "env": [{"name": "A", "value": "x\0y"}]}, (-32602, "bad-env")),
    ({"command": "ls", "env": [{"name": "A"}]}, (-32602, "bad-argument")),
    ({"command": "ls", "env": {"A": "B"}}, (-32602, "bad-argument")),
    ({"command": "ls", "args": "x"}, (-32602, "bad-argument")),
    ({"command": "ls", "args": [1]}, (-32602, "bad-argument")),
    ({"command": "ls", "args": ["a\0b"]}, (-32602, "bad-argument")),
    ({"command": "ls", "outputByteLimit": -1}, (-32602, "bad-argument")),
    ({"command": "ls", "outputByteLimit": "many"}, (-32602, "bad-argument")),
    ({"command": "", "args": None}, (-32602, "bad-argument")),
    ({"command": "  "}, (-32602, "bad-argument")),
    ({"command": None}, (-32602, "bad-argument")),
    ({}, (-32602, "bad-argument")),
    ({"command": "ls", "sessionId": "other"}, (-32002, "unknown-session")),
    ({"command": "ls", "sessionId": 5}, (-32602, "bad-argument")),
]


async def test_each_error_is_clear_and_distinct(desk):
    person = Person(desk.app)
    desk.app.events.published.subscribe(lambda event: approve(desk, event))
    Path(desk.root, "plain.txt").write_text("x")
    for params, code in BAD:
        if "cwd" in params:
            params = {**params, "cwd": params["cwd"].format(root=desk.root)}
        assert await desk.error("create", **params) == code, params
    assert desk.bench.terminals.list() == []
    person.leave()


def approve(desk, event):
    if event.kind == "question.asked":
        answer = Answer(choice="once")
        asyncio.get_running_loop().call_soon(desk.app.questions.answer, event.data["id"], answer, PERSON)


async def test_builtins_and_programs_pass_as_single_words(desk):
    assert (await desk.printed("pwd")).strip() == desk.root
    assert await desk.printed("true") == ""
    script = Path(desk.root, "go")
    script.write_text("#!/bin/sh\necho went\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    person = Person(desk.app)
    running = asyncio.gather(desk.printed("./go"))
    person.answer(await person.question(), "once")
    assert list(await running) == ["went\n"]


async def test_other_sessions_do_not_see_a_terminal(desk):
    desk.places["s2"] = AcpContext(desk.session)
    id = await desk.create("echo hi")
    for method in ("output", "wait_for_exit", "kill", "release"):
        assert await desk.error(method, terminalId=id, sessionId="s2") == (-32002, "not-found")
        assert await desk.error(method, terminalId="term_x") == (-32002, "not-found")
        assert await desk.error(method, terminalId=id, sessionId="s3") == (-32002, "unknown-session")
        assert await desk.error(method) == (-32602, "bad-argument")


# -- limits ----------------------------------------------------------------------------------------------------------


async def test_a_limit_inside_a_character_drops_all_of_it(desk):
    smile = "\U0001f600"
    expected = {0: "", 1: "\n", 2: "\n", 3: "é\n", 4: "aé\n", 7: "aé\n", 8: f"{smile}aé\n", 9: f"x{smile}aé\n"}
    for limit, output in expected.items():
        id = await desk.create("printf '%b' 'x\\U0001F600a\\u00e9\\n'", outputByteLimit=limit)
        _, found = await desk.ended(id)
        assert (found["output"], found["truncated"]) == (output, limit < 9)


async def test_half_a_character_at_the_end_of_live_output_is_not_shown_yet(desk):
    id = await desk.create(r"printf 'a\303'; read x; printf '\251b'")
    async with asyncio.timeout(40):
        await desk.bench.terminal(id).wait(input_wanted=True, position=0)
    assert (await desk.call("output", terminalId=id))["output"] == "a"
    await desk.app.call("openspace.terminal.send", {"terminalId": id, "text": "\n"})
    _, found = await desk.ended(id)
    assert found["output"].startswith("a")
    assert "\ufffd" not in (await desk.printed(r"printf 'a\303'; printf '\251b'"))


async def test_a_limit_that_is_not_reached_truncates_nothing(desk):
    for limit in (3, 4, 2**64 - 1):
        _, found = await desk.ended(await desk.create("echo hi", outputByteLimit=limit))
        assert (found["output"], found["truncated"]) == ("hi\n", False)


async def test_much_output_is_cut_from_the_beginning(desk):
    id = await desk.create("seq 1 400000", outputByteLimit=1000)
    _, found = await desk.ended(id)
    assert found["output"].endswith("\n399999\n400000\n")
    assert 990 <= len(found["output"]) <= 1000
    assert found["truncated"]


@pytest.mark.slow
@pytest.mark.timeout(200)
async def test_a_hundred_megabytes_with_a_limit_of_one(desk):
    desk.limit_s = 180  # it is the memory that counts here
    before = resident()
    id = await desk.create("yes 0123456789abcdef | head -c 100000000; echo; echo the end", outputByteLimit=1_000_000)
    _, found = await desk.ended(id)
    assert resident() - before < 32_000_000
    assert found["truncated"]
    assert found["output"].endswith("\nthe end\n")
    assert 999_900 <= len(found["output"]) <= 1_000_000
    assert desk.bench.terminal(id).log.head - desk.bench.terminal(id).log.floor < 64 << 20


async def test_output_is_text_without_colour(desk):
    assert await desk.printed(r"printf '\033[31mred\033[0m\r\n'") == "red\n"


@given(st.text(max_size=30), st.integers(0, 60))
def test_last_bytes_is_a_suffix_within_the_limit(text, limit):
    kept = last_bytes(text, limit)
    assert text.endswith(kept)
    assert len(kept.encode()) <= limit
    longer = text[len(text) - len(kept) - 1 :] if len(kept) < len(text) else ""
    assert not longer or len(longer.encode()) > limit


# -- the end ---------------------------------------------------------------------------------------------------------


async def test_kill_ends_the_program_answers_the_waiter_and_keeps_the_id(desk):
    id = await desk.create("echo begun; sleep 1000")
    waiting = await desk.waiting(id)
    assert await desk.call("kill", terminalId=id) == {}
    (status,) = await waiting
    assert status["exitCode"] is None
    assert status["signal"] in ("SIGHUP", "SIGTERM", "SIGKILL")
    output = await desk.call("output", terminalId=id)
    assert output["exitStatus"] == status
    assert await desk.call("kill", terminalId=id) == {}


async def test_release_ends_the_program_answers_the_waiter_and_keeps_the_output_on_screen(desk):
    id = await desk.create("echo begun; sleep 1000")
    waiting = await desk.waiting(id)
    terminal = desk.bench.terminal(id)
    async with asyncio.timeout(40):
        await terminal.wait(pattern="begun", position=0)
    assert await desk.call("release", terminalId=id) == {}
    assert (await waiting)[0]["signal"]
    for method in ("output", "wait_for_exit", "kill", "release"):
        assert await desk.error(method, terminalId=id) == (-32002, "not-found")
    assert terminal.lines() == ["begun"]
    assert id in {tab.content for _, tab in tabs(desk.bench.state.layout.root)}


async def test_release_of_an_ended_program(desk):
    id = await desk.create("echo hi")
    await desk.ended(id)
    assert await desk.call("release", terminalId=id) == {}
    assert await desk.error("output", terminalId=id) == (-32002, "not-found")


async def test_the_end_of_a_session_ends_what_runs(desk):
    first, second = await desk.create("sleep 1000"), await desk.create("sleep 1000")
    waiting = await desk.waiting(first, second)
    await desk.terminals.sweep("s1")
    assert all(status["signal"] for status in await waiting)
    assert await desk.error("output", terminalId=first) == (-32002, "not-found")
    await desk.bench.end_session(desk.session.id)
    assert desk.bench.terminals.list() == []


async def test_a_terminal_that_the_person_closes_can_still_be_read(desk):
    id = await desk.create("echo so far; sleep 1000")
    async with asyncio.timeout(40):
        await desk.bench.terminal(id).wait(pattern="so far", position=0)
    waiting = await desk.waiting(id)
    await desk.app.call("openspace.terminal.close", {"terminalId": id})
    await waiting
    output = await desk.call("output", terminalId=id)
    assert output["output"] == "so far\n"
    assert "exitStatus" in output
    assert await desk.call("kill", terminalId=id) == {}
    assert await desk.call("release", terminalId=id) == {}


@pytest.mark.parametrize("limit", [100, 1_000, 3_000, 6_000])
async def test_a_small_limit_gives_out_no_part_of_a_private_key(desk, limit):
    body = [f"{'MIIEpAIBAAKCAQEAx7Zq9v+/k3Jd0' * 2}{number:06d}" for number in range(96)]
    dashes = "-" * 5  # put together here, so that no scanner takes this file for a leak
    key = [f"{dashes}BEGIN PRIVATE KEY{dashes}", *body, f"{dashes}END PRIVATE KEY{dashes}"]
    Path(desk.app.places.workspace, "note").write_text("\n".join([*key, "after", ""]))
    id = await desk.create("cat note", outputByteLimit=limit)
    terminal = desk.app.terminals.get(id)
    async with asyncio.timeout(40):
        await terminal.wait(exit=True)
    assert "MIIEp" in terminal.tail(500).text  # it was really printed
    output = await desk.call("output", terminalId=id)
    assert "MIIEp" not in output["output"]
    assert output["output"].endswith("after\n")
    await desk.app.call("openspace.terminal.close", {"terminalId": id})
    assert (await desk.call("output", terminalId=id))["output"] == output["output"]


async def test_a_terminal_that_asked_for_a_secret_hides_the_same_part_after_its_end(desk):
    desk.app.events.published.subscribe(lambda event: approve(desk, event))
    Person(desk.app)
    id = await desk.create("read -s -p 'Password: ' x; echo; echo after; sleep 1000")
    terminal = desk.bench.terminal(id)
    async with asyncio.timeout(40):
        await terminal.wait(input_wanted=True)
        assert (await desk.call("output", terminalId=id))["output"].startswith("Password:")
        await desk.app.call("openspace.terminal.send", {"terminalId": id, "text": "hunter2\n"})
        await terminal.wait(pattern="after\n", position=0)
    output = await desk.call("output", terminalId=id)
    assert output["output"].endswith("after\n")
    assert "hunter2" not in output["output"]
    await desk.app.call("openspace.terminal.close", {"terminalId": id})
    assert (await desk.call("output", terminalId=id))["output"] == output["output"]


async def test_terminals_that_have_ended_do_not_pile_up(desk):
    for _ in range(exec_commands.ENDED_KEPT + 5):
        await desk.ended(await desk.create("true"))
    assert len(desk.bench.terminals.list()) <= exec_commands.ENDED_KEPT + 2


# -- the gate --------------------------------------------------------------------------------------------------------


async def test_create_is_held_until_the_person_has_decided(desk):
    person = Person(desk.app)
    target = Path(desk.root, "victim")
    target.write_text("x")
    creating = asyncio.gather(desk.create("rm -rf victim"))
    question = await person.question()
    assert (question.shown, question.level) == ("rm -rf victim", "dangerous")
    assert not creating.done()
    person.answer(question, "once")
    (id,) = await creating
    await desk.ended(id)
    assert not target.exists()


async def test_a_refusal_and_no_answer_are_errors_of_their_own(desk):
    assert await desk.error("create", command="rm -rf victim") == (-32603, "no-answer")  # nobody is there
    person = Person(desk.app)
    failing = asyncio.gather(desk.error("create", command="rm", args=["-rf", "victim"]))
    person.answer(await person.question(), "deny", reason="not now")
    assert (await failing)[0] == (-32603, "denied")
    assert desk.bench.terminals.list() == []


async def test_an_edited_line_is_what_runs(desk):
    person = Person(desk.app)
    running = asyncio.gather(
        desk.printed("rm", args=["-rf", "a b"], env=[{"name": "ONE", "value": "1"}]), return_exceptions=False
    )
    question = await person.question()
    assert question.shown == "ONE=1 rm -rf 'a b'"
    person.answer(question, "edit", text="echo instead | cat")
    assert list(await running) == ["instead\n"]


async def test_what_was_just_allowed_is_not_asked_again(desk):
    person = Person(desk.app)
    desk.allowed.add(desk.session, "rm -rf victim", PERSON)
    await desk.ended(await desk.create("rm -rf victim", env=[{"name": "CLAUDECODE", "value": "1"}]))
    assert [event.data["choice"] for event in person.ended] == ["once"]  # by nobody in this test


@pytest.mark.parametrize("case", ["again", "late", "other", "env"])
async def test_a_permission_covers_one_run_of_the_same_line_soon(desk, case):
    person = Person(desk.app)
    desk.allowed.add(desk.session, "rm -rf victim", PERSON)
    line, env = "rm -rf victim", []
    if case == "again":
        await desk.ended(await desk.create(line))
        person = Person(desk.app)  # has not seen the one that was answered
    elif case == "late":
        desk.now = 61.0
    elif case == "other":
        line = "sudo rm -rf victim"
    else:
        env = [{"name": "LD_PRELOAD", "value": "/tmp/x.so"}]
    failing = asyncio.gather(desk.error("create", command=line, env=env))
    question = await person.question()
    await until_settled()  # or this answer would only be quicker than the one that must not come
    person.answer(question, "deny")
    assert (await failing)[0] == (-32603, "denied")
    assert [event.data["choice"] for event in person.ended] == ["deny"]


async def test_cancelling_a_create_that_waits_withdraws_the_question(desk):
    person = Person(desk.app)
    creating = asyncio.gather(desk.create("rm -rf victim"), return_exceptions=True)
    await person.question()
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    assert desk.app.questions.open() == []
    assert desk.bench.terminals.list() == []


async def test_an_agent_ends_its_own_terminals_only(desk):
    created = await desk.app.call("openspace.terminal.create", {"title": "yours"})
    result = await desk.app.call(
        "openspace.terminal.kill", {"terminalId": created.data["terminalId"]}, actor=desk.session.actor
    )
    assert result.code == "denied"


async def test_calls_are_in_the_journal(desk):
    await desk.ended(await desk.create("echo hi"))
    assert [result.command_id for result in desk.session.results] == ["openspace.terminal.exec"]
    assert desk.session.untold == type(desk.session.untold)()
    assert os.path.exists(os.path.join(desk.app.places.state, "journal.sqlite"))
