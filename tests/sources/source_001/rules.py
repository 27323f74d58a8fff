"""Source 001, from section 3 on: what holds for all of it, its risks and gaps, what comes later."""

import asyncio
import json
import logging
import os
import time
import tomllib
from itertools import pairwise

from click.testing import CliRunner
from msgspec import Struct
from tests.sources.contract import Document
from tests.sources.doors import Doors, Refused, like, open_doors, settings_of
from tests.sources.source_001.commands import PART as COMMANDS
from tests.sources.source_001.commands import TWENTY
from tests.sources.source_001.hub import ROOT, instructions
from tests.sources.source_001.looks import highlights, logged, manifest, panes, terminal, tidy
from tests.sources.source_001.stories import CREATE, HIGHLIGHT, LIST, OPEN, OPEN_MISSING
from tests.sources.source_001.stream import MATRIX
from tests.sources.source_001.stream import PART as STREAM
from tests.support.model import Answer
from tests.support.person import Person
from tests.support.served import until
from tests.support.stage import stage

from fourhands.agents.budget import INSTRUCTIONS_TOKENS, tokens
from fourhands.agents.connect import Connections
from fourhands.app.serve import begin_log
from fourhands.core.registry import Contribution
from fourhands.surfaces.cli.main import Options, build
from fourhands.workbench.workbench import Workbench

PART = Document(
    "001",
    "Rules",
    ids=(
        *(f"NFR-3.1.{number}" for number in range(1, 5)),
        *(f"NFR-3.2.{number}" for number in range(1, 5)),
        *(f"NFR-3.3.{number}" for number in range(1, 5)),
        *(f"NFR-3.4.{number}" for number in range(1, 5)),
        *(f"NFR-3.5.{number}" for number in range(1, 4)),
        *(f"NFR-3.6.{number}" for number in range(1, 5)),
        *("NFR-3.7.1", "NFR-3.7.2", "NFR-3.8.1", "NFR-3.8.2"),
        *("TC-3.1.1", "TC-3.1.2", "TC-3.1.3", "TC-3.3.1", "TC-3.3.2", "TC-3.3.3", "TC-3.3.4"),
        *(f"R-3.{number}" for number in range(1, 9)),
        *(f"GAP-{number}" for number in range(1, 16)),
        *(f"Success {number}" for number in range(1, 9)),
        *(f"Exit {number}" for number in range(1, 12)),
        *("§6", "§8 presentation", "§8 whiteboard", "§8 shapes"),
    ),
)


class Nothing(Struct, frozen=True):
    """An empty answer."""


# -- security ----------------------------------------------------------------------------------------------------------


@PART.works(
    "NFR-3.1.1, TC-3.1.3",
    '{"args":{}}, {"cmd":"workbench.quit","args":{}}, {"cmd":"openspace.editor.open","args":{"path":42}}',
    "Blocks: each fails before anything runs, for its structure, its namespace or its arguments, and says which. Only "
    "what is in the registry can be called.",
)
async def three_checks(doors: Doors) -> None:
    said = await doors.says(
        '%%OS{"args":{}}%%'
        '%%OS{"cmd":"openspace.pane.list","args":[1]}%%'
        '%%OS{"cmd":"workbench.quit","args":{}}%%'
        '%%OS{"cmd":"openspace.no.such","args":{}}%%'
        '%%OS{"cmd":"openspace.editor.open","args":{"path":42}}%%'
        '%%OS{"cmd":"openspace.editor.open","args":{"file":"a"}}%%'
    )
    assert not any(one.success for one in said.results)
    errors = " | ".join(str(one.error) for one in said.results)
    for words in ("a block was dropped", "args", "outside 'openspace.'", "no command", "'path' must be", "'file'"):
        assert words in errors, (words, errors)


@PART.works(
    "NFR-3.1.3",
    "ANSI escape injection, control character injection",
    "openspace.terminal.read_output as an agent: the text that a person sees, without escape sequences and controls.",
)
async def clean_output(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.agent("openspace.terminal.create", {"title": "codes"}))["terminalId"]
    line = r"printf '\033[31mred\033[0m \033]0;title\007plain\b\b\001 \033[8mhidden\033[0m\n'"
    await doors.agent("openspace.terminal.send", {"terminalId": id, "text": f"{line}\n"})
    await doors.agent("openspace.terminal.wait", {"terminalId": id, "finished": True})
    output = (await doors.agent("openspace.terminal.read_output", {"terminalId": id}))["output"]
    assert "red pla n" in [line.rstrip() for line in output]
    assert all(character.isprintable() for line in output for character in line)


@PART.works(
    "NFR-3.1.4, R-3.2",
    "max queue depth 50, warning",
    "Of 51 calls of an agent that is held up the last is refused at once with `limit`, and the log has a warning; the "
    "others run when it goes on.",
)
async def queue_depth(doors: Doors) -> None:
    session, token = doors.served.agent("eager")
    async with doors.served.client(token, verify=False) as client:
        doors.app.gate.pause(session)
        waiting = [asyncio.gather(client.post("/api/commands/openspace.pane.list", json={})) for _ in range(50)]
        await until(lambda: doors.app.gate.pending(session) == 50)
        with logged(logging.WARNING) as lines:
            refused = (await client.post("/api/commands/openspace.pane.list", json={})).json()
        doors.app.gate.resume(session)
        assert all(answer.json()["success"] for [answer] in await asyncio.gather(*waiting))
    like(refused, {"success": False, "code": "limit"})
    assert any("50 commands wait" in line for line in lines)


@PART.works(
    "NFR-3.1.4, NFR-3.3.2, R-3.6",
    "inter-command delay 50 ms, sequential, FIFO",
    "Blocks of an agent run one after the other in the order of its text, 50 ms apart.",
)
async def in_order(doors: Doors) -> None:
    block = '%%OS{"cmd":"openspace.editor.open","args":{"path":"src/index.ts","line":LINE}}%%'
    await tidy(doors)
    with doors.hearing("call.started", "call.finished") as heard:
        said = await doors.says(*(block.replace("LINE", str(number)) for number in range(1, 6)))
    mine = [event for event in heard if event.data["session"] == said.session]
    assert [event.kind for event in mine] == ["call.started", "call.finished"] * 5
    assert [one.args["line"] for one in said.results] == [1, 2, 3, 4, 5]
    assert all(begun.time - ended.time > 0.045 for ended, begun in pairwise(mine) if begun.kind == "call.started")


# -- performance -------------------------------------------------------------------------------------------------------


@PART.works(
    "NFR-3.2.2",
    "<100ms for simple commands, <500ms for complex ones",
    "HTTP, the best of five: opening a file and highlighting below 100 ms, listing panes and searching files below 500 "
    "ms.",
)
async def quick_commands(doors: Doors) -> None:
    await tidy(doors)
    ranges = [{"startLine": 42, "endLine": 50}]
    for command, args, most_s in (
        ("openspace.editor.open", {"path": "src/index.ts", "line": 42}, 0.1),
        ("openspace.editor.highlight", {"path": "src/index.ts", "ranges": ranges, "highlightId": "q"}, 0.1),
        ("openspace.pane.list", {}, 0.5),
        ("openspace.file.search", {"query": "line42"}, 0.5),
    ):
        assert await best(lambda command=command, args=args: doors.agent(command, args)) < most_s, command


@PART.works(
    "NFR-3.2.3, NFR-3.2.4",
    "manifest <200ms, system prompt <50ms",
    "HTTP, the best of five: GET /openspace/manifest below 200 ms, GET /openspace/instructions below 50 ms.",
)
async def quick_hub(doors: Doors) -> None:
    async with doors.served.client(verify=False) as client:
        assert await best(lambda: client.get("/openspace/manifest")) < 0.2
        assert await best(lambda: client.get("/openspace/instructions")) < 0.05


async def best(act: object) -> float:
    """The least time of five."""
    took = []
    for _ in range(5):
        start = time.perf_counter()
        await act()  # type: ignore[operator]
        took.append(time.perf_counter() - start)
    return min(took)


# -- reliability -------------------------------------------------------------------------------------------------------


@PART.works(
    "NFR-3.3.3",
    "a command that raises",
    "HTTP and block: `internal` and the id of the call in the log; the next command works.",
)
async def a_command_that_breaks(doors: Doors) -> None:
    broken = Contribution("openspace.demo")

    @broken.add("break")
    async def fail(bench: Workbench) -> Nothing:
        """Fail in a way that nobody thought of."""
        raise RuntimeError("a mistake")

    dispose = doors.app.registry.include(broken)
    try:
        said = await doors.says('%%OS{"cmd":"openspace.demo.break","args":{}}%%' + LIST)
        like(await doors.refusal("openspace.demo.break", {}), {"code": "internal", "hint": str})
    finally:
        dispose()
    assert [one.success for one in said.results] == [False, True]


# -- maintainability ---------------------------------------------------------------------------------------------------


@PART.works(
    "NFR-3.4.1, TC-3.3.1, Success 8, Exit 10",
    "80%+ coverage, 100% pass rate",
    "`make coverage` fails below 85 %; every one of the twenty commands is called by an item of this document.",
)
async def coverage(doors: Doors) -> None:
    assert "--cov-fail-under=85" in (ROOT / "Makefile").read_text()
    named = [item.says for item in COMMANDS.items if item.state == "works"]
    assert [id for id in TWENTY if not any(id in says for says in named)] == []


@PART.works(
    "NFR-3.4.2",
    "JSDoc for all public methods",
    "`make check`: the linter demands a docstring of every public module, class, method and function; for commands it "
    "is the description that people and models read.",
)
async def docstrings(doors: Doors) -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert "D1" in rules["select"]
    assert not {"D100", "D101", "D102", "D103", "D104"} & set(rules["ignore"])
    assert "ruff check" in (ROOT / "Makefile").read_text()
    assert all(command.description for command in doors.app.registry)


@PART.works(
    "NFR-3.4.4",
    "DEBUG",
    "`fourhands -vv`: each call with who made it, through which door, how it ended and how long it took, and each "
    "block; never the arguments.",
)
async def debugging(doors: Doors) -> None:
    asked: list[Options] = []

    async def serve(options: Options) -> None:
        asked.append(options)

    words = ["serve", str(doors.root), "-vv", "--no-open"]
    assert (await asyncio.to_thread(CliRunner().invoke, build(serve, lambda workspace: []), words)).exit_code == 0
    logger = logging.getLogger("fourhands")
    before = logger.level
    begin_log(asked[0].verbose)
    try:
        assert logger.level == logging.DEBUG
        with logged(logging.DEBUG) as lines:
            said = await doors.says(OPEN_MISSING)
    finally:
        logger.setLevel(before)
    assert any(f"openspace.editor.open of {said.session} (block): not-found" in line for line in lines)
    assert not any('"path"' in line for line in lines)


# -- usability ---------------------------------------------------------------------------------------------------------


@PART.differs(
    "NFR-3.5.2",
    "failures logged but not shown as errors to the user",
    because="The document asks for both, silence here and notices in GAP-3; the latter was taken, as a failure that "
    "nobody sees helps nobody.",
    answer="each failure in the journal and in the chat as a failed step, with a severity by which the page shows a "
    "toast.",
)
async def failures_are_shown(doors: Doors) -> None:
    with doors.hearing("call.finished") as heard:
        said = await doors.says(OPEN_MISSING)
    [told] = [event.data for event in heard if event.data["session"] == said.session]
    like(dict(told), {"ok": False, "severity": "error", "error": str, "recorded": True})


# -- the audit's additions ---------------------------------------------------------------------------------------------


@PART.works(
    "NFR-3.6.1, GAP-1",
    "symlinks",
    "HTTP: a link out of the workspace is refused with `outside-workspace`, to read, write and list; one that stays "
    "inside is followed.",
)
async def symlinks(doors: Doors) -> None:
    doors.write("real/inside.txt", "inside\n")
    links = doors.root / "links"
    links.mkdir()
    for name, target in (("out", "/etc"), ("secret", "/etc/passwd"), ("in", "../real/inside.txt")):
        (links / name).symlink_to(target)
    for command, args in (
        ("read", {"path": "links/secret"}),
        ("read", {"path": "links/out/passwd"}),
        ("write", {"path": "links/out/new.txt", "content": "x"}),
        ("list", {"path": "links/out"}),
    ):
        refused = await doors.refusal(f"openspace.file.{command}", args, agent=True)
        assert refused["code"] == "outside-workspace"
    like(await doors.agent("openspace.file.read", {"path": "links/in"}), {"content": "inside\n"})


FENCED = {
    "fence": f"```\n{LIST}\n```",
    "fence with a language": f"```json\n{LIST}\n```",
    "tildes": f"~~~\n{LIST}\n~~~",
    "in a quotation": f"> ```\n> {LIST}\n> ```",
    "behind text": f"see ```\n{LIST}\n```",
    "inline": f"write `{LIST}` here",
    "indented": f"like this:\n\n    {LIST}\n\nand so on",
}


@PART.works(
    "NFR-3.6.2, GAP-2",
    "```\n%%OS{…}%%\n```",
    "Model's stream: a block in a fence, however it is written, in inline code and in indented code is shown and never "
    "run; one after it runs.",
)
async def fences(doors: Doors) -> None:
    for name, text in FENCED.items():
        said = await doors.says(f"{text}\n\nNow really: {LIST}")
        assert said.visible == f"{text}\n\nNow really: ", name
        assert len(said.results) == 1, name


DANGEROUS = ("rm -rf build", "sudo ls", "chmod 777 .", "dd if=/dev/zero of=x", ":(){ :|:& };:")


@PART.works(
    "NFR-3.6.3, GAP-8",
    "rm -rf, sudo, chmod 777, dd if=, :(){ :|:& };:",
    "Each is asked about before it is typed; who refuses is obeyed, and the agent is told. Further patterns are the "
    "setting `safety.dangerousCommands`.",
)
async def dangerous_commands(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.agent("openspace.terminal.create", {"title": "careful"}))["terminalId"]
    for line in DANGEROUS:
        asked, answer = await doors.asked(
            "openspace.terminal.send", {"terminalId": id, "text": f"{line}\n"}, choice="deny"
        )
        assert [one["level"] for one in asked] == ["dangerous"], line
        like(answer, {"success": False, "code": "denied"})
    assert settings_of('[safety]\ndangerousCommands = ["^make deploy"]').safety.dangerous_commands == ("^make deploy",)


SECRET = (
    *(".env", ".env.local", ".git/config", "id_rsa", "id_dsa", "server.pem", "server.key"),
    *("credentials.json", "secrets.yaml"),
)


@PART.works(
    "NFR-3.6.4, GAP-9",
    ".env, .env.*, .git/, id_rsa, id_dsa, *.pem, *.key, credentials.json, secrets.*",
    "HTTP: an agent's openspace.file.read of each is refused with `denied-path`, and so is openspace.editor.read_file. "
    "The settings `safety.secretNames` and `safety.notSecretNames` change the list.",
)
async def secret_files(doors: Doors) -> None:
    for path in SECRET:
        doors.write(f"private/{path}", "hush")
        for command in ("openspace.file.read", "openspace.editor.read_file"):
            refused = await doors.refusal(command, {"path": f"private/{path}"}, agent=True)
            assert refused["code"] == "denied-path", path
    changed = settings_of('[safety]\nsecretNames = ["*.private"]\nnotSecretNames = ["*.pem"]')
    async with open_doors(changed) as others:
        others.write("a.private", "hush")
        others.write("a.pem", "public\n")
        assert (await others.refusal("openspace.file.read", {"path": "a.private"}, agent=True))["code"] == "denied-path"
        like(await others.agent("openspace.file.read", {"path": "a.pem"}), {"content": "public\n"})


@PART.differs(
    "NFR-3.6.4",
    ".env.example is `.env.*` too",
    because="`.env.example`, `.sample`, `.template` and `.dist` are made to be read and hold no secrets.",
    answer="the file.",
)
async def env_example(doors: Doors) -> None:
    doors.write(".env.example", "KEY=\n")
    like(await doors.agent("openspace.file.read", {"path": ".env.example"}), {"content": "KEY=\n"})


@PART.works(
    "NFR-3.7.1, GAP-4",
    "session end or disconnect",
    "openspace.agent.end, or its connection's end: the terminals, highlights and panes that the agent made are gone, "
    "what ran in them too, but for what the person has pinned.",
)
async def cleanup(doors: Doors) -> None:
    await tidy(doors)
    kept = '%%OS{"cmd":"openspace.terminal.create","args":{"title":"kept"}}%%'
    split = '%%OS{"cmd":"openspace.pane.open","args":{"type":"editor","contentId":"src/auth.ts"}}%%'
    said = await doors.says(CREATE + kept + HIGHLIGHT + OPEN + split)
    pid = (await terminal(doors, said.data(0)["terminalId"]))["pid"]
    await doors.person("openspace.pane.pin", {"paneId": "kept"})
    await doors.person("openspace.agent.end", {"sessionId": said.session})
    left = (await doors.person("openspace.terminal.list"))["terminals"]
    assert [one["title"] for one in left] == ["kept"]
    assert await highlights(doors) == {}
    assert [tab["title"] for one in await panes(doors) for tab in one["tabs"]] == ["kept"]
    await until(lambda: not os.path.exists(f"/proc/{pid}"))


@PART.works(
    "NFR-3.7.2, GAP-6",
    "max 10 commands per response",
    "Of eleven blocks in one answer ten run; the last is ignored with a warning in the log, and the agent is told.",
)
async def per_answer(doors: Doors) -> None:
    with logged(logging.WARNING) as lines:
        said = await doors.says(LIST * 11)
    assert [one.success for one in said.results].count(True) == 10
    assert "more than 10 commands in one answer" in said.told
    assert any("is ignored, its answer has too many" in line for line in lines)


@PART.works(
    "NFR-3.8.1, GAP-3",
    "ERROR always, WARNING if enabled, INFO never",
    "`call.finished` on `/ws` has the severity: error for a file that is not there, warning for what somebody refused "
    "or a limit stopped, info for what succeeded. The page shows toasts by it; the setting is `notices.warnings`.",
)
async def toasts(doors: Doors) -> None:
    found = {}
    with doors.hearing("call.finished") as heard:
        for command, args in (
            ("openspace.pane.list", {}),
            ("openspace.file.read", {"path": "no such file"}),
            ("openspace.workbench.undo", {}),
        ):
            try:
                await doors.agent(command, args)
            except Refused as refused:
                found[command] = refused.result["code"]
        await until(lambda: len(heard) == 3)
    assert [event.data["severity"] for event in heard] == ["info", "error", "warning"]
    assert found == {"openspace.file.read": "not-found", "openspace.workbench.undo": "denied"}
    assert (await doors.person("openspace.workbench.snapshot"))["warnings"] is True
    async with open_doors(settings_of("[notices]\nwarnings = false")) as others:
        assert (await others.person("openspace.workbench.snapshot"))["warnings"] is False


@PART.differs(
    "NFR-3.8.2, GAP-5",
    "[ ] Don't show this again [Cancel] [Allow]",
    because="The dialog names the agent and what it wants, and each of these can be left out; consent is for an agent, "
    "not once for all.",
    answer="before its first command a question of kind `consent` with the choices session (Allow), always (Don't show "
    "this again) and deny (Cancel); after a refusal every call is `denied`.",
)
async def consent(doors: Doors) -> None:
    session, token = doors.served.agent("newcomer", consent=False)
    person = Person(doors.app)
    try:
        async with doors.served.client(token, verify=False) as client:
            calling = asyncio.gather(client.post("/api/commands/openspace.pane.list", json={}))
            question = await person.question()
            assert question.kind == "consent"
            assert question.session == session
            assert question.options == ("session", "always", "deny")
            assert "newcomer" in question.text
            person.answer(question, "deny")
            [answer] = await calling
            like(answer.json(), {"success": False, "code": "denied"})
            again = (await client.post("/api/commands/openspace.pane.list", json={})).json()
            like(again, {"success": False, "code": "denied", "hint": str})
    finally:
        person.leave()


# -- constraints -------------------------------------------------------------------------------------------------------


@PART.differs(
    "TC-3.1.2",
    "the interceptor is part of OpenCodeProxy",
    because="It serves more than OpenCode: chat models, ACP agents, OpenCode and the model proxy share one "
    "interceptor, in a file of its own.",
    answer="the same through the proxy: a client of `/v1/chat/completions` gets the text without the block, which ran.",
)
async def proxy(doors: Doors) -> None:
    async with stage([Answer(["text %", '%OS{"cmd":"openspace.pane.list","args":{}}%% more'])]) as s:
        async with s.openai() as client:
            stream = await client.chat.completions.create(
                model="fake", messages=[{"role": "user", "content": "go"}], stream=True
            )
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        assert text == "text  more"
        assert await s.ran() == ["openspace.pane.list"]


@PART.works(
    "TC-3.3.2, Success 2, Exit 2",
    "all 8+ test cases",
    "Each of the nine rows of the test matrix is an item here, played through a model's stream.",
)
async def matrix(doors: Doors) -> None:
    played = [id for item in STREAM.items if item.state == "works" for id in item.id.split(", ")]
    assert [row for row in MATRIX if f"FR-3.6 {row}" not in played] == []


@PART.works(
    "TC-3.3.3, TC-3.3.4, Exit 9, Exit 11",
    "yarn build exits 0; E2E tests pass; CI",
    "`make test` builds the page, checks it, and runs all tests, those in a browser too; CI runs that and nothing "
    "else.",
)
async def build_and_tests(doors: Doors) -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "test: $(VENV)/ready tools check web" in makefile
    assert "-m browser" in makefile
    assert (ROOT / ".ci/run").read_text().rstrip().endswith("CI=true make test")


@PART.works(
    "R-3.8",
    "system prompt >10K tokens",
    "With a hundred more commands the instructions stay below 10,000 tokens: the least used have one line each.",
)
async def prompt_budget(doors: Doors) -> None:
    many = Contribution("openspace.many")
    for number in range(100):

        @many.add(f"command_{number}", label=f"Many {number}")
        async def nothing(bench: Workbench) -> Nothing:
            """Do nothing at all, in many words, so that there is something to be told about it and about its like."""
            return Nothing()

    dispose = doors.app.registry.include(many)
    try:
        text = await instructions(doors)
    finally:
        dispose()
    assert INSTRUCTIONS_TOKENS == 10_000
    assert tokens(text) <= INSTRUCTIONS_TOKENS
    assert "openspace.many.command_99" in text
    assert '"cmd":"openspace.agent.help"' in text


# -- gaps that the document leaves for later ---------------------------------------------------------------------------


@PART.works(
    "GAP-7",
    "Undo Last Agent Action",
    "openspace.workbench.undo, Ctrl Alt Z: takes back what an agent wrote, opened, arranged or marked last; redo is "
    "there.",
)
async def undo(doors: Doors) -> None:
    doors.write("undo.txt", "before\n")
    await doors.agent("openspace.file.read", {"path": "undo.txt"})
    await doors.agent("openspace.file.write", {"path": "undo.txt", "content": "after\n"})
    await doors.person("openspace.workbench.undo")
    assert (doors.root / "undo.txt").read_text() == "before\n"
    await doors.person("openspace.workbench.redo")
    assert (doors.root / "undo.txt").read_text() == "after\n"


@PART.works(
    "GAP-10",
    "Prometheus metrics",
    "GET /metrics: calls by command, actor and outcome, and the time they took.",
)
async def metrics(doors: Doors) -> None:
    await doors.agent("openspace.pane.list")
    text = await doors.get("/metrics")
    assert 'fourhands_calls_total{actor="agent",command="openspace.pane.list",outcome="ok"}' in text
    assert 'fourhands_call_seconds_bucket{command="openspace.pane.list"' in text


@PART.works(
    "GAP-11",
    "90-day retention",
    "The journal: every call with its arguments, verdict and result, `fourhands journal` reads it; kept for the "
    "setting `journal.keepDays`, 90.",
)
async def audit(doors: Doors) -> None:
    await doors.agent("openspace.file.list", {"path": "src"})
    [newest] = await doors.app.bench.journal.query(command="openspace.file.list", limit=1)
    assert newest.call.args == {"path": "src"}
    assert newest.result is not None
    assert settings_of("").journal.keep_days == 90


@PART.works(
    "GAP-12",
    "help",
    "openspace.agent.help explains every command in the words of its own declaration; docs/ has a manual for people.",
)
async def help_pages(doors: Doors) -> None:
    for id in TWENTY:
        assert f"#### {id}" in (await doors.person("openspace.agent.help", {"command": id}))["text"]
    pages = (ROOT / "docs/commands.md").read_text()
    assert [id for id in TWENTY if f"`{id}`" not in pages] == []


@PART.differs(
    "GAP-13",
    "fall back to a cached manifest if the Hub is unreachable",
    because="The hub is in the server's own process and cannot be unreachable. What can be is a model's server.",
    answer="after five failures in a row of a model's server requests are refused at once, with the time after which "
    "it is tried again.",
)
async def breaker(doors: Doors) -> None:
    async with stage(upstream="http://127.0.0.1:9") as s, s.raw() as client:
        for number in range(6):
            answer = await client.post("/v1/chat/completions", json={"model": "fake", "messages": []})
            assert answer.status_code >= 500
            assert ("again and again" in answer.text) is (number == 5)
        assert "tried again in" in answer.text


@PART.works(
    "GAP-14",
    "redact secrets in terminal output",
    "An agent's openspace.terminal.read_output has `[redacted:…]` for tokens, keys and passwords; the person's "
    "terminal shows them. The setting is `safety.redact`.",
)
async def redaction(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.person("openspace.terminal.create", {"title": "secrets"}))["terminalId"]
    token = "ghp_" + "a1B2" * 9
    await doors.person("openspace.terminal.send", {"terminalId": id, "text": f"echo {token}\n"})
    await doors.person("openspace.terminal.wait", {"terminalId": id, "finished": True})
    seen = "\n".join((await doors.agent("openspace.terminal.read_output", {"terminalId": id}))["output"])
    assert token not in seen
    assert "[redacted:" in seen
    shown = "\n".join((await doors.person("openspace.terminal.read_output", {"terminalId": id}))["output"])
    assert token in shown


@PART.works(
    "GAP-15", "ToS/EULA", "docs/terms.md: what somebody agrees to who lets an agent work; linked from README.md."
)
async def terms(doors: Doors) -> None:
    assert "agent" in (ROOT / "docs/terms.md").read_text()
    assert "docs/terms.md" in (ROOT / "README.md").read_text()


@PART.differs(
    "§6",
    "Theia 1.68.2, OpenCode server, Monaco editor, xterm.js",
    because="Theia is not used: the workbench is its own.",
    answer="Monaco and xterm.js in the page, and `--agent opencode` for an OpenCode server.",
)
async def dependencies(doors: Doors) -> None:
    used = json.loads((ROOT / "web/package.json").read_text())
    names = {*used.get("dependencies", {}), *used.get("devDependencies", {})}
    assert {"monaco-editor", "@xterm/xterm"} <= names
    assert not any("theia" in name for name in names)
    assert isinstance(Connections, type)


# -- what comes later --------------------------------------------------------------------------------------------------


@PART.to_come(
    "§8 presentation", "openspace.presentation.*, reveal.js", until_then="No such command, and no pane of this type."
)
async def presentations(doors: Doors) -> None:
    await doors.person("openspace.presentation.create", {"deckPath": "later.deck.md", "title": "Later"})


@PART.to_come(
    "§8 whiteboard", "openspace.whiteboard.*, tldraw", until_then="No such command, and no pane of this type."
)
async def whiteboards(doors: Doors) -> None:
    await doors.person("openspace.whiteboard.create", {"name": "later", "title": "Later"})


@PART.to_come("§8 shapes", "custom shapes (UML diagrams)", until_then="There are no whiteboards to draw them on.")
async def shapes(doors: Doors) -> None:
    known = [one["id"] for one in (await manifest(doors))["commands"]]
    assert any(id.startswith("openspace.whiteboard.") and "shape" in id for id in known)
