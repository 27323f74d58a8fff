"""The synchronous form of the toolset: the same tools, results and errors, for a loop that waits for each call."""

import inspect
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.core.test_loop_thread import interrupt, interruptible
from tests.kit.workbench import quick, temporary_places

import fourhands
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.discovery import held


@pytest.fixture
def places() -> Iterator[WorkspaceDirs]:
    with temporary_places() as places:
        yield places


def test_both_forms_have_the_same_methods_with_the_same_arguments() -> None:
    names = {name for name in dir(fourhands.Toolset) if not name.startswith("_")}
    assert {name for name in dir(fourhands.sync.Toolset) if not name.startswith("_")} == names | {"open", "close"}
    for name in names:
        pair = [inspect.getattr_static(one, name) for one in (fourhands.Toolset, fourhands.sync.Toolset)]
        functions: list[Any] = [one.fget if isinstance(one, property) else one for one in pair]
        assert inspect.signature(functions[0]) == inspect.signature(functions[1]), name
        assert inspect.getdoc(functions[0]) == inspect.getdoc(functions[1])
    made = [inspect.signature(one).parameters.values() for one in (fourhands.Toolset, fourhands.sync.Toolset)]
    ours, theirs = ([(one.name, one.kind, one.default) for one in parameters] for parameters in made)
    assert ours == theirs


def test_a_script_calls_tools_answers_questions_and_is_interrupted(places: WorkspaceDirs) -> None:
    asked: list[str] = []

    def ask(question: fourhands.Question) -> fourhands.Answer:
        asked.append(threading.current_thread().name)
        return fourhands.Answer(choice="deny", reason=f"by {tools.session}")  # it may use the toolset meanwhile

    tools = fourhands.sync.Toolset(
        places.workspace, allow=("see", "arrange", "write", "run"), ask=ask, settings=quick(), places=places
    )
    with pytest.raises(Unavailable, match="this Toolset is not open"):
        tools.schemas()
    with tools:
        assert "bash" in {one["name"] for one in tools.schemas()}
        assert [one["type"] for one in tools.openai(responses=True)] == ["function"] * len(tools.anthropic())
        assert tools.call("bash", '{"command": "echo hi"}').text == "hi\nexit 0"
        assert "did you mean 'bash'" in tools.call("bahs").text
        refused = tools.call("bash", {"command": "rm -rf /"})
        assert f"by {tools.session}" in refused.text
        assert asked
        assert asked[0] != threading.current_thread().name
        with pytest.raises(BadArgument):
            tools.call("bash", [1])  # type: ignore[arg-type]
        with ThreadPoolExecutor(4) as pool:
            texts = pool.map(lambda n: tools.call("bash", {"command": f"echo {n}"}).text, range(4))
        assert list(texts) == [f"{n}\nexit 0" for n in range(4)]
        os.mkfifo(fifo := Path(places.workspace, "fifo"))

        def interrupt_when_it_runs() -> None:
            os.close(os.open(fifo, os.O_WRONLY))
            interrupt()

        other = threading.Thread(target=interrupt_when_it_runs)
        other.start()
        with interruptible(), pytest.raises(KeyboardInterrupt):
            tools.call("bash", {"command": "cat fifo; sleep 60"})
        other.join()
        assert tools.call("bash", {"command": "echo usable"}).text == "usable\nexit 0"
    with pytest.raises(Unavailable, match="this Toolset is closed"):
        tools.call("bash", {"command": "true"})
    assert not held(places.state)
