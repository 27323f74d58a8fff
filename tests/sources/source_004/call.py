"""The request, its parameters one by one, and the output."""

import itertools
import re

from tests.sources.doors import Doors, like
from tests.sources.rpc import joined
from tests.sources.source_004 import CREATE, DOCUMENT, PARAMS, ULID

# -- the call ----------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "Signature, Response, Handler 1, Handler 3, Acceptance 1",
    '{"jsonrpc":"2.0","id":5,"method":"terminal/create","params":{"sessionId","command":"npm",'
    '"args":["test","--coverage"],"env":[…],"cwd","outputByteLimit":1048576}}',
    "`fourhands acp`: with the id of an open session and a directory of the workspace, the answer is "
    '`{"jsonrpc":"2.0","id":5,"result":{"terminalId":"term_…"}}`, as soon as the program has been started.',
)
async def literal(doors: Doors) -> None:
    async with joined(doors) as editor:
        params = {**PARAMS, "sessionId": editor.session, "cwd": str(doors.root)}
        await editor.send({**CREATE, "params": params})
        answer = await editor.answer(5)
        assert answer == {"jsonrpc": "2.0", "id": 5, "result": {"terminalId": answer["result"]["terminalId"]}}
        output = await editor.ended(answer["result"]["terminalId"])
        assert output["output"] == f"npm test --coverage in {doors.root} with test true\n"
        like(output, {"truncated": False, "exitStatus": {"exitCode": 0, "signal": None}})


@DOCUMENT.works(
    "Handler 2",
    '"method":"terminal/create"',
    "`fourhands acp` serves terminal/create, output, wait_for_exit, kill and release by these names; another name is "
    "answered with -32601.",
)
async def registered(doors: Doors) -> None:
    async with joined(doors) as editor:
        id = await editor.create("true")
        for method in ("wait_for_exit", "output", "kill", "release"):
            assert "result" in await editor.call(f"terminal/{method}", terminalId=id), method
        assert (await editor.error("terminal/no_such"))[0] == -32601


@DOCUMENT.works(
    "TerminalCreateParams, EnvVariable, TerminalCreateResponse, Testing 1",
    "args, env, cwd, output_byte_limit: Option<…>",
    "Every combination of the optional parameters, given, null or left out, creates a terminal; unknown ones are "
    "passed over.",
)
async def combinations(doors: Doors) -> None:
    async with joined(doors) as editor:
        given: list[list[tuple[str, object]]] = [
            [("args", ["x"]), ("args", None)],
            [("env", [{"name": "A", "value": "1"}]), ("env", None)],
            [("cwd", str(doors.root)), ("cwd", None)],
            [("outputByteLimit", 100), ("outputByteLimit", None)],
        ]
        for number, combination in enumerate(itertools.product(*given)):
            params = {name: value for name, value in combination if value is not None or number % 2}
            answer = await editor.call("terminal/create", command="echo", newer={"x": 1}, **params)
            like(answer, {"result": {"terminalId": str}})


@DOCUMENT.works(
    "Parameter sessionId",
    "sessionId: required",
    "Left out or not a text: -32602 with `bad-argument`, which names it.",
)
async def session_is_required(doors: Doors) -> None:
    async with joined(doors) as editor:
        editor.session = ""
        for params in ({}, {"sessionId": 5}, {"sessionId": None}):
            number, code, text = await editor.error("terminal/create", command="ls", **params)
            assert (number, code) == (-32602, "bad-argument")
            assert "sessionId" in text


@DOCUMENT.differs(
    "validate_session_id, Usage",
    '"sessionId":"sess_abc123def456", "01ARZ3NDEKTSV4RRFFQ69G5FAV"; Invalid session ID format, Session not found',
    because="An id is `session_` and a ULID, and belongs to one connection; one of any other form is as unknown as one "
    "that has ended, so both have one error.",
    answer="-32002 with `data.code` `unknown-session`, which names the id and lists the sessions that are open; "
    "session/new gives one.",
)
async def unknown_sessions(doors: Doors) -> None:
    async with joined(doors) as editor:
        mine = editor.session
        assert re.fullmatch(f"session_{ULID}", mine)
        for id in ("sess_abc123def456", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "no id at all", ""):
            answer = await editor.call("terminal/create", **{**PARAMS, "sessionId": id})
            like(answer["error"], {"code": -32002, "data": {"code": "unknown-session"}})
            assert repr(id) in answer["error"]["message"]
            assert mine in str(answer["error"])


@DOCUMENT.works(
    "Integration 1",
    "session validation and management",
    "After session/close an id is unknown, and so is one that another connection has opened.",
)
async def sessions_end(doors: Doors) -> None:
    async with joined(doors) as editor:
        assert (await editor.call("session/close"))["result"] == {}
        assert (await editor.error("terminal/create", command="ls"))[1] == "unknown-session"


@DOCUMENT.works(
    "Parameter command",
    '{"sessionId","command":"pwd"}',
    "All that is required. Without args the command is a line for the shell. Left out or empty: `bad-argument`.",
)
async def command_is_required(doors: Doors) -> None:
    async with joined(doors) as editor:
        assert await editor.printed("pwd") == f"{doors.root}\n"
        assert await editor.printed("echo a; echo $((1 + 1)) | cat") == "a\n2\n"
        for params in ({}, {"command": ""}, {"command": None}, {"command": ["ls"]}):
            assert (await editor.error("terminal/create", **params))[:2] == (-32602, "bad-argument")


@DOCUMENT.works(
    "Parameter args, Process 1, Testing 3",
    '"args":["test","--coverage"]',
    "With args the program is started as it is, no shell in between: blanks, `$` and `*` reach it unchanged.",
)
async def arguments(doors: Doors) -> None:
    async with joined(doors) as editor:
        assert await editor.printed("printf", args=["%s\n", "a  b", "$HOME", "*"]) == "a  b\n$HOME\n*\n"
        assert (await editor.error("terminal/create", command="ls", args="-l"))[1] == "bad-argument"


@DOCUMENT.works(
    "Parameter env, Process 2, Acceptance 3",
    '"env":[{"name":"NODE_ENV","value":"test"},{"name":"DEBUG","value":"true"}]',
    "The program has these variables; of a name that comes twice the last value.",
)
async def variables(doors: Doors) -> None:
    async with joined(doors) as editor:
        env = [*PARAMS["env"], {"name": "NODE_ENV", "value": "größer"}]
        assert await editor.printed("printenv", args=["NODE_ENV", "DEBUG"], env=env) == "größer\ntrue\n"


@DOCUMENT.differs(
    "apply_environment_variables",
    "std::env::vars() and the given ones over them",
    because="The environment of the server holds secrets. An agent's program gets what it needs of it (PATH, HOME, the "
    "locale, tool homes) and what the setting `agentDefaults.variables` names.",
    answer="the given variables over these; the server's own and those with secret names are not there.",
)
async def environment(doors: Doors) -> None:
    async with joined(doors) as editor:
        seen = await editor.printed("env", args=["-u", "NOTHING"], env=[{"name": "MINE", "value": "1"}])
    names = {line.partition("=")[0] for line in seen.splitlines()}
    assert {"PATH", "HOME", "MINE"} <= names
    assert "OPENAI_API_KEY" not in names
    assert "sk-hidden" not in seen


# -- directories -------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "Parameter cwd, Process 3, Directory 3, Testing 4",
    '"cwd":"/home/user/project"',
    "An absolute path inside the workspace: the program runs there.",
)
async def directory(doors: Doors) -> None:
    (doors.root / "project").mkdir()
    async with joined(doors) as editor:
        assert await editor.printed("pwd", cwd=str(doors.root / "project")) == f"{doors.root}/project\n"


@DOCUMENT.works(
    "Directory 1, Acceptance 4",
    "the session's directory by default",
    "Without cwd the program runs where session/new said.",
)
async def default_directory(doors: Doors) -> None:
    (doors.root / "packages/one").mkdir(parents=True)
    async with joined(doors) as editor:
        await editor.open(doors, str(doors.root / "packages/one"))
        assert await editor.printed("pwd") == f"{doors.root}/packages/one\n"


@DOCUMENT.works(
    "Directory 2", '"cwd":"project"', "A relative path: -32602 with `bad-cwd`, which says that it must be absolute."
)
async def relative_directory(doors: Doors) -> None:
    async with joined(doors) as editor:
        number, code, text = await editor.error("terminal/create", command="ls", cwd="project")
        assert (number, code) == (-32602, "bad-cwd")
        assert "absolute" in text


@DOCUMENT.works(
    "Directory 4, Error 3",
    "working directory access errors",
    "-32602 with `bad-cwd`: one that does not exist, one that is a file and one outside the workspace are told apart, "
    "in words and as `data.problem`.",
)
async def bad_directories(doors: Doors) -> None:
    doors.write("plain.txt", "x")
    async with joined(doors) as editor:
        for cwd, problem, words in (
            ("/no/such/place", "missing", "does not exist"),
            (f"{doors.root}/missing", "missing", "does not exist"),
            (f"{doors.root}/plain.txt", "not-a-directory", "not a directory"),
            ("/etc", "outside", "outside"),
            (f"{doors.root}\0", "bad", "NUL"),
        ):
            answer = await editor.call("terminal/create", command="ls", cwd=cwd)
            like(answer["error"], {"code": -32602, "data": {"code": "bad-cwd", "problem": problem}})
            assert words in answer["error"]["message"], cwd


# -- output ------------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "Parameter outputByteLimit, Output 1, Output 2, add_output, Testing 5",
    '"outputByteLimit":1000',
    "terminal/output gives at most so many bytes, the last ones.",
)
async def byte_limit(doors: Doors) -> None:
    async with joined(doors) as editor:
        found = await editor.ended(await editor.create("seq 1 4000", outputByteLimit=1000))
        assert found["output"].endswith("\n3999\n4000\n")
        assert 990 <= len(found["output"]) <= 1000
        for wrong in (-1, "many", 1.5):
            assert (await editor.error("terminal/create", command="ls", outputByteLimit=wrong))[1] == "bad-argument"


@DOCUMENT.works(
    "Output 3, Acceptance 5",
    "truncation at character boundaries",
    "A limit inside a character drops the whole character: of `aé` and a line end 2 bytes are the line end, 3 are `é` "
    "and the line end.",
)
async def character_boundaries(doors: Doors) -> None:
    async with joined(doors) as editor:
        for limit, output in ((0, ""), (1, "\n"), (2, "\n"), (3, "é\n"), (4, "aé\n")):
            found = await editor.ended(await editor.create("printf", args=["aé\n"], outputByteLimit=limit))
            assert found["output"] == output, limit


@DOCUMENT.works(
    "Output 4", "buffer_truncated", "terminal/output has `truncated`, true where something is missing at the beginning."
)
async def truncated(doors: Doors) -> None:
    async with joined(doors) as editor:
        for limit, missing in ((5, True), (6, False), (7, False)):
            found = await editor.ended(await editor.create("echo hello", outputByteLimit=limit))
            assert found["truncated"] is missing, limit


@DOCUMENT.works(
    "Notes",
    "unwrap_or(1_048_576), // 1MB default",
    "Without a limit of its own a terminal gives its last 1,048,576 bytes.",
)
async def default_limit(doors: Doors) -> None:
    async with joined(doors) as editor:
        found = await editor.ended(await editor.create("yes 0123456789abcde | head -c 1200000; echo; echo the end"))
        assert found["truncated"] is True
        assert found["output"].endswith("\nthe end\n")
        assert 1_048_560 <= len(found["output"].encode()) <= 1_048_576


@DOCUMENT.works(
    "Integration 3, Benefits",
    "background process with real-time output capture",
    "terminal/output while it runs has what was printed so far and no exitStatus; the person sees the same terminal, "
    "and can type into it.",
)
async def output_while_it_runs(doors: Doors) -> None:
    async with joined(doors) as editor:
        id = await editor.create("echo begun; read answer; echo got $answer")
        await doors.person("openspace.terminal.wait", {"terminalId": id, "pattern": "begun"})
        output = (await editor.call("terminal/output", terminalId=id))["result"]
        assert output == {"output": "begun\n", "truncated": False}
        await doors.person("openspace.terminal.send", {"terminalId": id, "text": "it\n"})
        assert (await editor.ended(id))["output"].endswith("got it\n")
