"""The agents among the examples, with the real SDKs, against a scripted model: what each makes of the same answers."""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.kit.model import Answer, Model, Request, Tool
from tests.kit.workbench import temporary_places

import fourhands
from fourhands.app.toolset import ToolSchema

EXAMPLES = Path(__file__).parent.parent / "examples"
REFUSED = (
    "error: the person refused: not today\ncode: denied\n"
    "hint: do not try it in other words; ask the person what they would like"
)
MISTAKEN = (
    "error: argument 'command' must be text of 1 to 1000000 characters, not 5\ncode: bad-argument\n"
    "hint: The shell command to run, in the workspace."
)
SCRIPT = [
    Answer(
        "I look around.",
        tools=[
            Tool("bash", {"command": "echo one; echo two >&2; exit 3"}, id="call_1"),
            Tool("write", {"path": "a.py", "content": "print('old')\n"}, id="call_2"),
        ],
    ),
    Answer(tools=[Tool("edit", {"path": "a.py", "edits": [{"old": "old", "new": "new"}]}, id="call_3")]),
    Answer(
        tools=[
            Tool("bash", {"command": "python3 a.py"}, id="call_4"),
            Tool("bash", {"command": "rm -rf kept"}, id="call_5"),
            Tool("bash", {"command": 5}, id="call_6"),
        ]
    ),
    Answer("All of it is done."),
]
RESULTS = {
    "call_1": "one\ntwo\nexit 3",
    "call_2": "created a.py · 1 line",
    "call_3": "edited a.py · line 1",
    "call_4": "new\nexit 0",
    "call_5": REFUSED,
    "call_6": MISTAKEN,
}


@dataclass(frozen=True)
class AgentExample:
    """One run of an example: with this model, it speaks this dialect."""

    file: str
    dialect: str
    env: dict[str, str] = field(default_factory=dict)
    stream: bool = False
    marks_errors: bool = False

    def __str__(self) -> str:
        return f"{self.file.removesuffix('.py')}-{self.dialect}"


AGENTS = [
    AgentExample("agent_openai.py", "chat"),
    AgentExample("agent_anthropic.py", "anthropic", stream=True, marks_errors=True),
    AgentExample("agent_langchain.py", "chat"),
    AgentExample("agent_pydantic_ai.py", "responses", stream=True),
    AgentExample(
        "agent_pydantic_ai.py", "anthropic", {"PYDANTIC_AI_MODEL": "anthropic:claude-sonnet-5-5"}, stream=True
    ),
]


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as home:
        for name in ("run", "work/kept"):
            Path(home, name).mkdir(parents=True, mode=0o700)
        yield Path(home)


@pytest.fixture(scope="module")
def schemas() -> dict[str, ToolSchema]:
    with temporary_places() as places, fourhands.sync.Toolset(places.workspace, places=places) as tools:
        return {one["name"]: one for one in tools.schemas()}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("agent", AGENTS, ids=str)
async def test_an_agent_works_asks_and_goes_on(agent: AgentExample, home: Path, schemas: dict[str, ToolSchema]) -> None:
    async with Model(SCRIPT) as model:
        out, errors, code = await run(agent, model, home, b"perhaps\ndeny not today\n")
    assert (code, errors) == (0, ""), errors
    assert [one.dialect for one in model.requests] == [agent.dialect] * len(SCRIPT)
    assert {one.stream for one in model.requests} == {agent.stream}
    told = {id: re.sub(r" · [\d.]+ s$", "", text) for id, text in model.requests[-1].results.items()}  # if it was slow
    assert told == RESULTS
    assert [sorted(one.results) for one in model.requests] == [sorted(RESULTS)[:n] for n in (0, 2, 3, 6)]
    for words in ("Look on at http://127.0.0.1:", "I look around.", "rm -rf kept", "All of it is done.", "new\nexit 0"):
        assert words in out, out
    assert out.count("[once | edit LINE | deny [REASON]]") == 2  # what meant nothing was asked again
    assert (home / "work/a.py").read_text() == "print('new')\n"
    assert (home / "work/kept").is_dir()
    if agent.marks_errors:
        assert failures(model.requests[-1]) == {"call_5", "call_6"}
    check_tools(model.requests[0].body["tools"], schemas)


async def run(agent: AgentExample, model: Model, home: Path, typed: bytes) -> tuple[str, str, int]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": model.url,
        **agent.env,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", EXAMPLES / agent.file, "Do", "it."),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
        cwd=home / "work",
    )
    try:
        async with asyncio.timeout(100):
            out, errors = await process.communicate(typed)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return out.decode(), errors.decode(), process.returncode


def failures(request: Request) -> set[str]:
    """The calls whose results say by themselves that they failed."""
    parts = [part for message in request.body["messages"] for part in message["content"] if isinstance(part, dict)]
    return {part["tool_use_id"] for part in parts if part.get("is_error")}


def check_tools(sent: list[dict[str, Any]], schemas: dict[str, ToolSchema]) -> None:
    """Hold that the endpoint gets the tools as they are, or strict where they keep OpenAI's rules for that."""
    found = [one.get("function", one) for one in sent]
    assert [one["name"] for one in found] == list(schemas)
    for one in found:
        given, wanted = one.get("parameters") or one["input_schema"], schemas[one["name"]]
        assert one["description"] == wanted["description"]
        if one.get("strict"):
            assert given["additionalProperties"] is False
            assert set(given["required"]) == set(given["properties"]) == set(wanted["parameters"]["properties"])  # type: ignore[call-overload]
        else:
            assert given == wanted["parameters"]
