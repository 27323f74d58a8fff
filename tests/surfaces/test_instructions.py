"""`fourhands instructions --try`: the program itself, a model that is scripted, and a workbench that is thrown away."""

import asyncio
import json
import os
import signal
import stat
from pathlib import Path

import pytest
from tests.agents.connectors.test_trial import RIGHT, task_of
from tests.kit.agree import run_cli
from tests.kit.model import Answer, Model, Request
from tests.kit.program import MAIN, Home, new_home

pytestmark = pytest.mark.timeout(90)  # each starts a workbench


async def attempt(home: Home, model: str, *words: str, **env: str) -> tuple[int, str, str]:
    """Run it in the workspace, with a key that must be seen nowhere."""
    process = await asyncio.create_subprocess_exec(
        *MAIN,
        *("instructions", "--try", model, *words),
        cwd=home.work,
        env=home.env | {"FOURHANDS_MODEL_KEY": "sk-secret"} | env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def half(request: Request) -> Answer:
    """Every second answer is of some use."""
    task = task_of(request)
    wrong = {
        "highlight": "No.",
        "read output": '%%OS{"cmd": 5}%%',
        "list panes": "I refuse \x1b[2J to.",
        "close": "%%OS{",
    }
    return Answer(
        wrong.get(task.name, RIGHT[task.name].replace("pane_1", "README.md").replace("term_server", "server"))
    )


async def test_a_table_a_total_and_a_report_are_given_without_a_server() -> None:
    async with new_home() as home, Model(half) as model:
        code, out, err = await attempt(home, f"{model.url}/v1#fake")
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert lines[0].split() == ["1", "right", "open", "at", "a", "line"]
        assert "wrong  highlight" in lines[1]
        assert "a block cannot be read" in lines[3]
        assert "16 of 20 right" in out
        assert "\x1b" not in out, "what a model says moves no cursor"
        report = json.loads((home.work / "instructions-try.json").read_text())
        assert (report["right"], report["total"], report["model"], report["interrupted"]) == (16, 20, "fake", False)
        assert report["tasks"][0]["blocks"][0]["cmd"] == "openspace.editor.open"
        text = (home.work / "instructions-try.md").read_text()
        assert "| open at a line | right |" in text
        assert "## list panes: no block with openspace.pane.list" in text
        assert "sk-secret" not in out + text + json.dumps(report)
        assert model.requests[0].headers["authorization"] == "Bearer sk-secret"
        assert model.requests[0].says("## Available Commands")
        assert model.requests[0].says("- build"), "the terminals of the scratch workbench"
        assert sorted(os.listdir(home.work)) == ["instructions-try.json", "instructions-try.md"]
        assert not Path(home.places.state).exists(), "nothing is left behind"

        # Another file, JSON for programs, another key, and a bar to reach.
        words = ["--json", "--output", "r/x.json", "--at-least", "17", "--key-variable", "MINE"]
        (home.work / "r").mkdir()
        code, out, _ = await attempt(home, f"anthropic:{model.url}#fake", *words, MINE="other")
        assert (code, json.loads(out)["right"]) == (1, 16)
        assert model.requests[-1].headers["x-api-key"] == "other"
        assert (home.work / "r/x.md").exists()


USAGE: list[tuple[list[str], int, str]] = [
    (["--try", "127.0.0.1:9#fake"], 1, "begins with http:// or https://"),
    (["--try", "http://127.0.0.1:9/v1"], 1, "no model is named"),
    (["--try", "http://127.0.0.1:9/v1#m", "--key-variable", "NOT_THERE"], 1, "NOT_THERE is not set"),
    (["--try", "http://127.0.0.1:9/v1#m", "--output", "no/such/dir.json"], 1, "cannot be written: No such file"),
    (["--try", "http://127.0.0.1:9/v1#m", "--output", "x.md"], 1, "name the JSON file"),
    (["--try", "http://127.0.0.1:9/v1#m", "--session", "x"], 2, "do not go together"),
    (["--try", "http://127.0.0.1:9/v1#m", "--at-least", "21"], 2, "0<=x<=20"),
    (["--at-least", "3"], 2, "go with --try"),
]


def test_wrong_usage_is_told_before_anything_starts() -> None:
    for words, code, text in USAGE:
        done = run_cli(["instructions", *words], {})
        assert (done.exit_code, text in done.output) == (code, True), (words, done.output)


async def test_an_endpoint_that_is_down_or_refuses_the_key_leaves_no_file() -> None:
    async with new_home() as home, Model([Answer(status=401, error="bad key")]) as model:
        done, out, _ = await attempt(home, "http://127.0.0.1:9/v1#m", "--json")
        told = json.loads(out)
        assert (done, told["code"]) == (3, "unavailable")
        assert "the model at http://127.0.0.1:9/v1 cannot be reached" in told["error"]
        done, _, err = await attempt(home, f"{model.url}/v1#fake")
        assert (done, "status 401: bad key" in err, "check the key" in err) == (3, True, True)
        assert os.listdir(home.work) == []


async def test_ctrl_c_keeps_what_is_known_by_then() -> None:
    asked = asyncio.Event()

    def script(request: Request) -> Answer:
        async def never(number: int) -> None:
            asked.set()
            await asyncio.Event().wait()

        return Answer(RIGHT["open at a line"]) if len(model.requests) == 1 else Answer("x", before=never)

    async with new_home() as home, Model(script) as model:
        process = await asyncio.create_subprocess_exec(
            *MAIN, *("instructions", "--try", f"{model.url}/v1#fake"), cwd=home.work, env=home.env,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(60):
            await asked.wait()
            process.send_signal(signal.SIGINT)
            out, err = await process.communicate()
        assert (process.returncode, err) == (130, b"")
        assert b"1 of 20 right, interrupted" in out
        report = json.loads((home.work / "instructions-try.json").read_text())
        assert (report["interrupted"], len(report["tasks"])) == (True, 1)
        assert stat.S_ISREG((home.work / "instructions-try.md").stat().st_mode)
