"""Source 001, from section 3 on: what holds for all of it, its risks, when it is done, what comes later."""

import asyncio
import json
import logging
import time
import tomllib
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise

from click.testing import CliRunner
from msgspec import Struct
from tests.kit.agree import no_scratch
from tests.kit.dialects import messages_of, text_of
from tests.kit.model import Answer, Model
from tests.kit.server import until
from tests.sources.contract import Document
from tests.sources.doors import Doors, like, open_doors
from tests.sources.source_001.commands import PART as COMMANDS
from tests.sources.source_001.commands import TWENTY
from tests.sources.source_001.hub import ROOT, instructions
from tests.sources.source_001.looks import logged, manifest, tidy, upstream
from tests.sources.source_001.stories import LIST, OPEN_MISSING
from tests.sources.source_001.stream import MATRIX
from tests.sources.source_001.stream import PART as STREAM

from fourhands.agents.briefing.budget import INSTRUCTIONS_TOKENS, tokens
from fourhands.app.loading import begin_log
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
        *("TC-3.1.1", "TC-3.1.2", "TC-3.1.3", "TC-3.3.1", "TC-3.3.2", "TC-3.3.3", "TC-3.3.4"),
        *(f"R-3.{number}" for number in range(1, 9)),
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
    for words in ("a block was dropped", "args", "outside 'openspace.'", "no command", "'path' must be", '"file"'):
        assert words in errors, (words, errors)


@PART.works(
    "NFR-3.1.3",
    "ANSI escape injection, control character injection",
    "openspace.terminal.read_output as an agent: the text that a person sees, without escape sequences and controls.",
)
async def clean_output(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.agent("openspace.terminal.create", {"title": "codes"}))["terminalId"]
    line = r"printf '\033[31mred\033[0m \033]0;title\007plain\001 \033[8mhidden\033[0m\n'"
    await doors.agent("openspace.terminal.send", {"terminalId": id, "text": f"{line}\n"})
    await doors.agent("openspace.terminal.wait", {"terminalId": id, "finished": True})
    output = (await doors.agent("openspace.terminal.read_output", {"terminalId": id}))["output"]
    assert "red plain" in [line.rstrip() for line in output]
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
        assert await best(partial(doors.agent, command, args)) < most_s, command


@PART.works(
    "NFR-3.2.3, NFR-3.2.4",
    "manifest <200ms, system prompt <50ms",
    "HTTP, the best of five: GET /openspace/manifest below 200 ms, GET /openspace/instructions below 50 ms.",
)
async def quick_hub(doors: Doors) -> None:
    assert await best(partial(doors.get, "/openspace/manifest")) < 0.2
    assert await best(partial(doors.get, "/openspace/instructions")) < 0.05


async def best(act: Callable[[], Awaitable[object]]) -> float:
    """The least time of five."""
    took = []
    for _ in range(5):
        start = time.perf_counter()
        await act()
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

    program = build(serve, lambda workspace: [], no_scratch)
    done = await asyncio.to_thread(CliRunner().invoke, program, ["serve", str(doors.root), "-vv", "--no-open"])
    assert done.exit_code == 0
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
    "no one sees cannot be mended.",
    answer="each failure in the journal and in the chat as a failed step, with a severity by which the page shows a "
    "toast.",
)
async def failures_are_shown(doors: Doors) -> None:
    with doors.hearing("call.finished") as heard:
        said = await doors.says(OPEN_MISSING)
    [told] = [event.data for event in heard if event.data["session"] == said.session]
    like(dict(told), {"ok": False, "severity": "error", "error": str, "recorded": True})


# -- constraints -------------------------------------------------------------------------------------------------------


@PART.differs(
    "TC-3.1.2",
    "the interceptor is part of OpenCodeProxy",
    because="It serves more than OpenCode: chat models, ACP agents, OpenCode and the model proxy share one "
    "interceptor, in a file of its own.",
    answer="the same through the proxy: a client of `/v1/chat/completions` gets the text without the block, which ran.",
)
async def proxy(doors: Doors) -> None:
    pieces = ["text %", '%OS{"cmd":"openspace.pane.list","args":{}}%% more']
    async with Model([Answer(pieces)]) as model, open_doors(upstream(model.url)) as others:
        session, token = others.served.agent("proxied")
        async with others.served.client(token, verify=False) as client:
            body = {"model": "fake", "messages": [{"role": "user", "content": "go"}], "stream": True}
            answer = await client.post("/v1/chat/completions", json=body)
        assert text_of("chat", messages_of(answer.content)) == "text  more"
        found = others.app.bench.sessions.get(session)
        await until(lambda: [one.command_id for one in found.results] == ["openspace.pane.list"])


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
    refused = await doors.refusal("openspace.agent.start", {"agent": "nonsense"})
    assert "opencode" in refused["hint"]


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
