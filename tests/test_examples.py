"""Every example runs and prints what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_agent_examples import AGENTS

EXAMPLES = Path(__file__).parent.parent / "examples"

EXPECTED = {
    "run_a_command.py": ["hello from /", "exit code 0 statuses (1, 0)"],
    "answer_a_prompt.py": ["it wants: line", "Nice to meet you, Ada"],
    "follow_a_server.py": ["listening: True", "fetched: True", "logged: True"],
    "judge_and_clean.py": ["dangerous curl", "progress 100%", "I open it.  Done.", "openspace.editor.open"],
    "drive_by_http.py": ["found: True"],
    "stream_provider.py": [
        "one command: ran uname -a exit code 7 in a container",
        "['cloud 90x20', 'now 100x30', 'hello', 'q'] exit code 7",
    ],
    "work_in_a_notebook.py": [
        "hello from /tmp\n 0 (1, 0)",
        "it wants input: True",
        "[0, 1, 4, 9, 16]\nexit 0",
        "error: needs approval",
    ],
    "add_a_command.py": ["'text': 'Hello, Ada!'", "did you mean 'name'?"],
}


def test_every_example_is_listed() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED) | {agent.file for agent in AGENTS}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    runtime = Path("/tmp") / f"fh-example-{os.getpid()}-{name[:3]}"
    runtime.mkdir(mode=0o700, exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(runtime),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "LANG": "C.UTF-8",
    }
    try:
        done = subprocess.run(
            [sys.executable, EXAMPLES / name],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=110,
        )
    finally:
        subprocess.run(["rm", "-rf", runtime], check=True)
    assert done.returncode == 0, done.stderr
    for line in EXPECTED[name]:
        assert line in done.stdout
