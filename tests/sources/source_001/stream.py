"""Source 001, FR-3.6: the stream interceptor, with the rows of its test matrix as they stand there."""

import logging
import time

from tests.sources.contract import Document
from tests.sources.doors import Doors
from tests.sources.source_001.looks import logged

from fourhands.agents.blocks.interceptor import Interceptor

MATRIX = (
    "Clean single block",
    "Block split across 2 chunks",
    "Block split at delimiter",
    "Malformed JSON",
    "Unclosed block",
    "Nested braces in JSON",
    "Multiple blocks",
    "No blocks",
    "False positive",
)

PART = Document(
    "001",
    "Stream",
    ids=(
        *(f"FR-3.6.{number}" for number in range(1, 9)),
        *(f"FR-3.6 {row}" for row in MATRIX),
        *(f"FR AC-3.6.{number}" for number in range(1, 6)),
    ),
)

REAL = "openspace.pane.list"


def row(name: str, *chunks: str, visible: str, commands: int, more: str = "") -> None:
    """One row of the matrix: its chunks through a model's stream, and again with a command that exists for its `x`."""

    async def play(doors: Doors) -> None:
        said = await doors.says(*chunks)
        assert said.visible == visible
        assert [one.command_id for one in said.results] == ["x"] * commands
        said = await doors.says(*(chunk.replace('"cmd":"x"', f'"cmd":"{REAL}"') for chunk in chunks))
        assert said.visible == visible
        assert [one.command_id for one in said.results] == [REAL] * commands

    done = {0: "nothing is run", 1: "one command is handed over", 2: "two commands are handed over"}[commands]
    here = f"Model's stream: the person reads `{visible}`, {done}.{more}"
    PART.works(f"FR-3.6 {name}, FR AC-3.6.1", " / ".join(chunks), here)(play)


row(
    "Clean single block",
    'text %%OS{"cmd":"x","args":{}}%% more text',
    visible="text  more text",
    commands=1,
    more=" As `x` is no command, its result says that ids begin with `openspace.`.",
)
row(
    "Block split across 2 chunks",
    'text %%OS{"cmd":"x","a',
    'rgs":{}}%% more',
    visible="text  more",
    commands=1,
)
row("Block split at delimiter", "text %", '%OS{"cmd":"x","args":{}}%% more', visible="text  more", commands=1)


@PART.works(
    "FR-3.6 Malformed JSON, FR-3.6.3, NFR-3.3.4, R-3.5",
    "%%OS{not json}%%",
    "Model's stream: not shown, a warning in the log, the text goes on, and the agent is told that a block was "
    "dropped.",
)
async def malformed(doors: Doors) -> None:
    with logged(logging.WARNING) as lines:
        said = await doors.says("before %%OS{not json}%% after")
    assert said.visible == "before  after"
    assert [one.success for one in said.results] == [False]
    assert "a block was dropped" in str(said.results[0].error)
    assert any("dropped a block" in line for line in lines)


@PART.works(
    "FR-3.6 Unclosed block, FR-3.6.5",
    '%%OS{"cmd":"x" (no close for 5s)',
    "After 5 seconds without more text what was held is dropped with a warning; later text is shown again. At the end "
    "of the stream it is dropped at once.",
)
async def unclosed(doors: Doors) -> None:
    now = 0.0
    stream = Interceptor(now=lambda: now)
    assert stream.feed('text %%OS{"cmd":"x"').visible == "text "
    now = 4.9
    assert stream.tick().dropped == []
    now = 5.0
    with logged(logging.WARNING) as lines:
        assert len(stream.tick().dropped) == 1
    assert any("no end for 5 s" in line for line in lines)
    assert stream.feed(" more").visible == " more"
    said = await doors.says('text %%OS{"cmd":"x"')
    assert said.visible == "text "
    assert [one.success for one in said.results] == [False]


@PART.works(
    "FR-3.6 Nested braces in JSON, FR-3.6.4",
    '%%OS{"cmd":"x","args":{"data":"{}"}}%%',
    "Model's stream: braces in a text do not count, one command with `data` of `{}` is handed over; `}%%` in a text "
    "does not end a block either.",
)
async def nested(doors: Doors) -> None:
    said = await doors.says('%%OS{"cmd":"x","args":{"data":"{}"}}%%')
    assert (said.visible, [one.command_id for one in said.results]) == ("", ["x"])
    assert said.results[0].args == {"data": "{}"}
    write = '%%OS{"cmd":"openspace.file.write","args":{"path":"braces.txt","content":"}}%% {\\"a\\": \\"}\\"}"}}%%'
    assert [one.success for one in (await doors.says(write)).results] == [True]
    assert (doors.root / "braces.txt").read_text() == '}}%% {"a": "}"}'


row(
    "Multiple blocks",
    'a %%OS{"cmd":"x","args":{}}%% b %%OS{"cmd":"x","args":{}}%% c',
    visible="a  b  c",
    commands=2,
)
row("No blocks", "plain response text", visible="plain response text", commands=0)
row("False positive", "100%% increase", visible="100%% increase", commands=0)


@PART.differs(
    "FR-3.6.1",
    "PASSTHROUGH, MAYBE_DELIM, IN_DELIM, IN_BLOCK, MAYBE_CLOSE",
    because="The parser has states, but others: it must also know fences, inline code and indented code, in which a "
    "block is text (GAP-2).",
    answer="the same text and the same commands for every row, wherever the stream is cut.",
)
async def states(doors: Doors) -> None:
    text = 'a %%OS{"cmd":"x","args":{"s":"}"}}%% 100%% b %%OS{no}%% c `%%OS{"cmd":"y"}%%` d'
    whole = heard(text)
    assert whole[0] == 'a  100%% b  c `%%OS{"cmd":"y"}%%` d'
    assert [one["cmd"] for one in whole[1]] == ["x"]
    for cut in range(len(text)):
        assert heard(text[:cut], text[cut:]) == whole


@PART.works(
    "FR-3.6.2, NFR-3.3.1, R-3.1, Exit 3",
    "a block split across multiple SSE chunks",
    "Model's stream: one character at a time gives the same text and the same command.",
)
async def every_character_alone(doors: Doors) -> None:
    said = await doors.says(*'text %%OS{"cmd":"openspace.pane.list","args":{}}%% more')
    assert said.visible == "text  more"
    assert [one.success for one in said.results] == [True]


@PART.works(
    "FR-3.6.6",
    'a %%OS{not json}%% b %%OS{"cmd":…}%% c',
    "Model's stream: the person reads `a  b  c`, the second block runs.",
)
async def recovery(doors: Doors) -> None:
    said = await doors.says('a %%OS{not json}%% b %%OS{"cmd":"openspace.pane.list","args":{}}%% c')
    assert said.visible == "a  b  c"
    assert [(one.command_id, one.success) for one in said.results if one.success] == [(REAL, True)]


@PART.works(
    "FR-3.6.7, FR AC-3.6.3, FR AC-3.6.4, NFR-3.2.1",
    "<5ms overhead per message",
    "Text without a block is passed on as it is, piece by piece; a message of 4,000 characters costs far below 5 ms.",
)
async def no_overhead(doors: Doors) -> None:
    pieces = ["Some words of an answer, "] * 160
    took = []
    for _ in range(5):
        start = time.perf_counter()
        assert heard(*pieces) == ("".join(pieces), [])
        took.append(time.perf_counter() - start)
    assert min(took) < 0.005
    said = await doors.says(*pieces[:5])
    assert said.visible == "".join(pieces[:5])


@PART.works(
    "FR-3.6.8",
    "DEBUG",
    "Log: each command that is taken out is a line at DEBUG, each block that is dropped one at WARNING with its "
    "reason.",
)
async def log_lines(doors: Doors) -> None:
    with logged(logging.DEBUG) as lines:
        await doors.says(f'%%OS{{"cmd":"{REAL}","args":{{}}}}%% %%OS{{no}}%%')
    assert any(f"took the command '{REAL}'" in line for line in lines)
    assert any("dropped a block" in line for line in lines)


@PART.works(
    "FR AC-3.6.2",
    '%%OS{…}%%%%OS{…}%% and {"content":"grüße 日本 🎉"}',
    "Model's stream: back-to-back blocks both run, and text of any script arrives in the arguments as it was.",
)
async def edge_cases(doors: Doors) -> None:
    block = '%%OS{"cmd":"openspace.file.write","args":{"path":"unicode.txt","content":"grüße 日本 🎉"}}%%'
    said = await doors.says(f'{block}%%OS{{"cmd":"{REAL}","args":{{}}}}%%')
    assert said.visible == ""
    assert [one.success for one in said.results] == [True, True]
    assert (doors.root / "unicode.txt").read_text() == "grüße 日本 🎉"


@PART.works(
    "FR AC-3.6.5",
    "production use",
    "Ten thousand blocks, and one of a million characters, go through in a few seconds; what is held is at most 8 MiB.",
)
async def hardened(doors: Doors) -> None:
    assert len(heard('%%OS{"cmd":"x"}%%' * 10_000)[1]) == 10_000
    assert len(heard('%%OS{"cmd":"x","args":{"data":"' + "}" * 1_000_000 + '"}}%%')[1]) == 1
    endless = Interceptor()
    given = [endless.feed('%%OS{"cmd":"' if number == 0 else "x" * (1 << 20)) for number in range(10)]
    assert sum(len(piece.dropped) for piece in given) == 1
    assert not endless.waiting


def heard(*pieces: str) -> tuple[str, list[dict[str, object]]]:
    """What the interceptor makes of a text in these pieces: what is shown, and the commands."""
    stream = Interceptor()
    given = [*(stream.feed(piece) for piece in pieces), stream.close()]
    return "".join(piece.visible for piece in given), [one for piece in given for one in piece.commands]
