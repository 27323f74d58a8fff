"""Routine tasks without a sandbox: what agents have changed since a person last allowed a task that loads it.

`pytest`, `make test` and `npm test` are safe lines, and run the project's own code, which an agent may have written a
moment ago. In a sandbox that reaches nothing of the person's. Without one a task is asked about again as soon as an
agent has changed a file that the task may load, or has run a line of which it is not known what it changed.
"""

import re
from collections.abc import Sequence

from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Call
from fourhands.core.registry import Command

A_COMMAND = "what its commands may have changed"
"""Stands for changes of a program, which are not known by name."""

_MOST = 500
_TASKS = 200
# What each kind of task loads, by the ends of names. A program that is not listed may load any file.
_PYTHON = r"\.(?:py|pyi|pyx|pth|toml|cfg|ini|so)"
_SCRIPTS = r"\.(?:[cm]?[jt]sx?|json5?|vue|svelte|astro|ya?ml|wasm|node)|/?\.\w+rc"
_LOADED = {
    "python": re.compile(rf".*(?:{_PYTHON})\Z"),
    "node": re.compile(rf".*(?:{_SCRIPTS})\Z"),
    "cargo": re.compile(r".*(?:\.(?:rs|toml|lock|c|h|cc|cpp|s|S)|/?rust-toolchain)\Z"),
    "go": re.compile(r".*(?:\.(?:go|s|c|h)|go\.(?:mod|sum|work))\Z"),
}
_KINDS = {
    **dict.fromkeys(("pytest", "python", "python3", "mypy", "ruff", "tox", "nox", "pylint", "flake8"), "python"),
    **dict.fromkeys(("node", "vitest", "jest", "tsc", "eslint", "prettier"), "node"),
    "cargo": "cargo",
    "go": "go",
}


class RoutineTasks:
    """The changes of agents in one workspace, and the tasks that a person has allowed. Belongs to the event loop."""

    def __init__(self, *, earlier: bool = False) -> None:
        """`earlier`: agents were at work before this server began, and it is not known what they changed."""
        self._changes: BoundedDict[str, int] = BoundedDict(_MOST, self._forget)
        self._allowed: BoundedDict[str, int] = BoundedDict(_TASKS)
        self._as_task: BoundedDict[str, bool] = BoundedDict(_TASKS)  # calls that were allowed as routine tasks
        self._moment = 0
        self._forgotten = 0
        if earlier:
            self._note(A_COMMAND)

    def note(self, call: Call, command: Command, level: str) -> None:
        """Take note of a call that is about to run: of the file that it writes, or that it may change any."""
        if call.session is None or command.read_only or self._as_task.pop(call.id, False):
            return
        if command.scope == "write":
            path = call.args.get("path")
            self._note(path if isinstance(path, str) else A_COMMAND)
        elif command.safety is not None and level not in ("", "safe"):
            self._note(A_COMMAND)

    def _note(self, path: str) -> None:
        self._moment += 1
        self._changes[path] = self._moment

    def _forget(self, path: str, moment: int) -> None:
        self._forgotten = moment

    def changed(self, words: Sequence[str], cwd: str) -> list[str]:
        """Return what agents have changed of what a task may load, since a person last allowed it; oldest first."""
        since = self._allowed.get(_key(words, cwd), 0)
        loaded = _LOADED.get(_KINDS.get(words[0].rpartition("/")[2], "")) if words else None
        found = [
            path
            for path, moment in self._changes.items()
            if moment > since and (loaded is None or path == A_COMMAND or loaded.match(path))
        ]
        return ["more files than are remembered", *found] if self._forgotten > since else found

    def allowed(self, words: Sequence[str], cwd: str, call: Call) -> None:
        """Take note that a person has allowed a task as things are now, for the call that runs it."""
        self._allowed[_key(words, cwd)] = self._moment
        self._as_task[call.id] = True


def _key(words: Sequence[str], cwd: str) -> str:
    return "\0".join((cwd, *words))
