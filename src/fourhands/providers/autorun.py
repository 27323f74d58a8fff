"""Files that run by themselves later, when a person merely enters or opens a directory, and the search for them.

Those that exist are read-only in the sandbox. Those that do not are not created for it: a placeholder would be a real
file in the person's tree. So programs inside can make them, and `snapshot` before and after names what is new.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fourhands.providers.visibility import within

RUNS_BY_ITSELF: Mapping[str, str] = {
    ".envrc": "direnv runs it when a shell enters the directory",
    ".vscode": "an editor may run its tasks when it opens the directory",
    ".idea": "an editor may run its configurations when it opens the directory",
    ".fourhands": "Fourhands reads it when it opens the directory",
    ".mcp.json": "agents start the servers that it names",
    ".claude": "an agent runs its hooks and commands",
    ".cursor": "an agent starts the servers that it names",
    ".husky": "git runs its scripts as hooks",
    ".devcontainer": "an editor may build and start it",
    ".gitmodules": "git fetches what it names, from where it says",
}
"""Names in a workspace, or in a repository inside it, that run or are obeyed unasked, with the reason."""

RUNS_IN_GIT: Mapping[str, str] = {
    "config": "git runs the programs that it names",
    "config.worktree": "git runs the programs that it names",
    "commondir": "git takes its configuration from the directory that it names",
    "hooks": "git runs what is in it",
    "info": "its attributes choose programs that git runs",
}
"""The same for the inside of a git directory."""

RUNS_IN_HOME: tuple[str, ...] = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".xprofile", ".xsessionrc", ".gitconfig"),
    *(".pam_environment", ".config/fish", ".config/autostart", ".config/systemd", ".config/git"),
    *(".config/environment.d", ".vimrc", ".tmux.conf", ".local/bin", "bin", ".cargo/bin", ".config/nvim"),
    *(".pythonrc", ".npmrc", ".pip", ".config/pip"),
)  # fmt: skip
"""Names in a home directory that shells and desktops run; they count where the workspace is, or has in it, the home."""

_START_UP = "a shell or the desktop runs it when it starts"
_REPOSITORY = "a repository of its own, whose configuration git obeys in there"
_SKIPPED = {
    *("node_modules", ".venv", "venv", "site-packages", "__pycache__", "target", "dist", "build", ".tox", ".nox"),
    *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache", ".gradle", ".next", ".terraform", "vendor.noindex"),
}


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """The most that one search may cost; what lies beyond is not found, and the result says so."""

    directories: int = 20_000
    depth: int = 8
    found: int = 400
    time_s: float = 1.5
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Found:
    """The result of a search: each path with the reason why it counts."""

    paths: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class AutoRun:
    """A file or directory that runs by itself; `state` is another text after any change to it."""

    path: str
    reason: str
    state: str


def reason_of(relative: str) -> str | None:
    """Return why a path of the workspace runs by itself, None if it does not; for lists of changed files."""
    parts = relative.strip("/").split("/")
    for place, name in enumerate(parts):
        if name in RUNS_BY_ITSELF:
            return RUNS_BY_ITSELF[name]
        if name == ".git":
            inner = next((one for one in parts[place + 1 :] if one in RUNS_IN_GIT), None)
            return RUNS_IN_GIT[inner] if inner else (_REPOSITORY if place + 1 == len(parts) else None)
    return None


def snapshot(workspace: str, home: str = "", budget: SearchBudget = SearchBudget()) -> dict[str, AutoRun]:  # noqa: B008
    """Return what runs by itself in a workspace now, by path; blocking, so for a thread."""
    found = search(workspace, home, budget)
    return {path: AutoRun(path, reason, _state(path)) for path, reason in found.paths.items()}


def runs_by_itself(workspace: str, before: Mapping[str, AutoRun], home: str = "") -> list[AutoRun]:
    """Return what is new or changed since a snapshot; to be shown at the end of a turn."""
    now = snapshot(workspace, home)
    return [one for path, one in now.items() if path not in before or before[path].state != one.state]


def search(
    workspace: str,
    home: str = "",
    budget: SearchBudget = SearchBudget(),  # noqa: B008 - it is frozen
    is_secret: Callable[[str], bool] | None = None,
) -> Found:
    """Find what runs by itself in a workspace and in the repositories inside it; with `is_secret` also secret files."""
    found = Found()
    if home and within(home, workspace):
        found.paths |= {path: _START_UP for name in RUNS_IN_HOME if os.path.lexists(path := f"{home}/{name}")}
    for directory, names in _walk(workspace, found, budget):
        if len(found.paths) + len(found.secrets) >= budget.found:
            found.complete = False
            break
        if is_secret is not None:
            found.secrets += [
                path for name in names if is_secret(path := f"{directory}/{name}") and os.path.isfile(path)
            ]
        repository = ".git" in names
        if directory == workspace or repository:
            found.paths |= {f"{directory}/{name}": RUNS_BY_ITSELF[name] for name in names & RUNS_BY_ITSELF.keys()}
        if repository:
            found.paths |= _in_repository(f"{directory}/.git")
        elif names >= {"HEAD", "objects", "refs"} and directory != workspace:
            found.paths |= {directory: _REPOSITORY}
    return found


def git_directory(entry: str) -> str | None:
    """Return the directory that a `.git` stands for: itself, or what its `gitdir:` line names."""
    if os.path.isdir(entry):
        return os.path.realpath(entry)
    try:
        with open(entry, "rb") as file:
            line = os.fsdecode(file.read(4096))
    except OSError:
        return None
    if not line.startswith("gitdir:"):
        return None
    place = os.path.realpath(os.path.join(os.path.dirname(entry), line.removeprefix("gitdir:").strip()))
    return place if os.path.isdir(place) else None


def common_directory(place: str) -> str:
    """Return the directory with the configuration of a git directory; a linked work tree names its repository's."""
    try:
        with open(f"{place}/commondir", "rb") as file:
            return os.path.realpath(os.path.join(place, os.fsdecode(file.read(4096)).strip()))
    except OSError:
        return place


def linked_repository(workspace: str) -> str | None:
    """Return the git directory outside of a workspace that is a linked work tree of it, if that one names it too.

    Without the second half any file `.git` could open a directory of its writer's choice to the sandbox.
    """
    entry = f"{workspace}/.git"
    place = git_directory(entry) if os.path.isfile(entry) else None
    if place is None or within(place, workspace):
        return None
    common = common_directory(place)
    try:
        with open(f"{place}/gitdir", "rb") as file:
            back = os.fsdecode(file.read(4096)).strip()
    except OSError:
        return None
    same = os.path.realpath(os.path.join(place, back)) == os.path.realpath(entry)
    return common if same and within(place, f"{common}/worktrees") else None


def inside_git(place: str) -> dict[str, str]:
    """Return what runs by itself in a git directory, those of its submodules and linked work trees included."""
    found: dict[str, str] = {}
    todo = [place]
    while todo and len(found) < 200:
        here = todo.pop()
        names = _names(here)
        found |= {f"{here}/{name}": reason for name, reason in RUNS_IN_GIT.items() if name in names}
        for folder in {"modules", "worktrees"} & names:
            # A submodule's name may have several parts.
            todo += [f"{here}/{folder}/{below}" for below in _names(f"{here}/{folder}")]
        if "HEAD" not in names and here != place:
            todo += [f"{here}/{name}" for name in names if os.path.isdir(f"{here}/{name}") and name not in RUNS_IN_GIT]
    return found


def _in_repository(entry: str) -> dict[str, str]:
    place = git_directory(entry)
    if place is None:
        return {entry: _REPOSITORY}
    found = {} if os.path.isdir(entry) and not os.path.islink(entry) else {entry: _REPOSITORY}
    found |= inside_git(place)
    if (common := common_directory(place)) != place and os.path.isdir(common):
        found |= inside_git(common)
    return found


def _walk(workspace: str, found: Found, budget: SearchBudget) -> Iterator[tuple[str, set[str]]]:
    """Yield directories with the names in them, outer ones first, as far as the budget goes."""
    deadline, seen = budget.clock() + budget.time_s, 0
    level = [workspace]
    for _ in range(budget.depth):
        below: list[str] = []
        for directory in level:
            seen += 1
            if seen > budget.directories or budget.clock() > deadline:
                found.complete = False
                return
            try:
                with os.scandir(directory) as entries:
                    listed = [(one.name, one.is_dir(follow_symlinks=False)) for one in entries]
            except OSError:
                continue
            yield directory, {name for name, _ in listed}
            below += [f"{directory}/{name}" for name, is_dir in sorted(listed) if is_dir and _worth(name)]
        level = below
    found.complete = found.complete and not level


def _worth(name: str) -> bool:
    return name not in _SKIPPED and name != ".git" and name not in RUNS_BY_ITSELF


def _names(directory: str) -> set[str]:
    try:
        return set(os.listdir(directory))
    except OSError:
        return set()


def _state(path: str) -> str:
    """Return a text that changes with a file, or with what is in a directory, three levels deep."""
    return "\n".join(sorted(_states(path, 3)))


def _states(path: str, depth: int) -> Iterable[str]:
    try:
        info = os.lstat(path)
    except OSError:
        return
    is_dir = os.path.isdir(path) and not os.path.islink(path)
    yield f"{path} {info.st_mode} {info.st_ino}" + ("" if is_dir else f" {info.st_size} {info.st_mtime_ns}")
    if is_dir and depth:
        for name in sorted(_names(path))[:500]:
            yield from _states(f"{path}/{name}", depth - 1)
