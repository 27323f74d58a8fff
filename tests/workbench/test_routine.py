"""What agents have changed of what a routine task loads."""

from fourhands.core.call import Actor, Call
from fourhands.core.registry import Contribution
from fourhands.workbench.routine import A_COMMAND, RoutineTasks

noun = Contribution("openspace.thing", scope="write")


@noun.add("write")
async def write(bench: object, *, path: str) -> None:
    """Write it."""


@noun.add("run", safety="line", scope="run")
async def run(bench: object, *, command: str) -> None:
    """Run it."""


WRITE, RUN = noun.commands


def agent(verb: str = "x", **args: object) -> Call:
    return Call(command=f"openspace.thing.{verb}", args=args, actor=Actor.agent("s1", "Ada"))


def written(tasks: RoutineTasks, *paths: str) -> None:
    for path in paths:
        tasks.note(agent("write", path=path), WRITE, "")


def test_a_task_has_changed_when_a_file_has_that_it_loads() -> None:
    tasks = RoutineTasks()
    written(tasks, "README.md", "src/a.py", "web/a.ts", "Cargo.toml", "go.mod", "deep/Makefile")
    assert tasks.changed(("pytest", "-q"), "") == ["src/a.py", "Cargo.toml"]
    assert tasks.changed((".venv/bin/python", "-m", "pytest"), "") == ["src/a.py", "Cargo.toml"]
    assert tasks.changed(("npx", "tsc"), "") == tasks.changed(("make", "test"), "")
    assert tasks.changed(("tsc", "--noEmit"), "") == ["web/a.ts"]
    assert tasks.changed(("cargo", "test"), "") == ["Cargo.toml"]
    assert tasks.changed(("go", "test"), "") == ["go.mod"]
    assert len(tasks.changed(("make", "test"), "")) == 6


def test_what_was_allowed_counts_for_that_task_in_that_directory_only() -> None:
    tasks = RoutineTasks()
    written(tasks, "a.py")
    tasks.allowed(("pytest",), "", agent())
    assert tasks.changed(("pytest",), "") == []
    assert tasks.changed(("pytest", "-x"), "") == tasks.changed(("pytest",), "sub") == ["a.py"]
    written(tasks, "a.py")
    assert tasks.changed(("pytest",), "") == ["a.py"]


def test_a_line_may_have_changed_what_any_task_loads() -> None:
    tasks, allowed = RoutineTasks(), agent("run", command="pytest")
    tasks.note(agent("run", command="ls"), RUN, "safe")
    assert tasks.changed(("pytest",), "") == []
    tasks.note(agent("run", command="./x"), RUN, "unknown")
    assert tasks.changed(("pytest",), "") == [A_COMMAND]
    tasks.allowed(("pytest",), "", allowed)
    tasks.note(allowed, RUN, "unknown")  # the task itself was asked about, and is no such line
    assert tasks.changed(("pytest",), "") == []


def test_a_person_changes_what_they_like() -> None:
    tasks = RoutineTasks()
    tasks.note(Call(command="openspace.thing.write", args={"path": "a.py"}, actor=Actor.person()), WRITE, "")
    assert tasks.changed(("pytest",), "") == []


def test_what_is_forgotten_counts_as_changed() -> None:
    tasks = RoutineTasks()
    written(tasks, "a.py", *(f"{number}.md" for number in range(1000)))
    assert tasks.changed(("pytest",), "") == ["more files than are remembered"]
    tasks.allowed(("pytest",), "", agent())
    assert tasks.changed(("pytest",), "") == []


def test_after_a_restart_nothing_is_known_of_what_agents_changed() -> None:
    assert RoutineTasks(earlier=True).changed(("pytest",), "") == [A_COMMAND]
