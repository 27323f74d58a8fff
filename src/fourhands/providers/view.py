"""The parts of this machine that a sandbox shows: an ordered list of entries that each kind of sandbox renders itself.

Shown are system directories, tools and configuration of the person's home, the workspace and what the settings add.
Everything else is not there. Later entries cover earlier ones, so outer paths come first and hidden ones last.
Between the workspace and a protected file each directory is a mount of its own: a mount point cannot be renamed, so a
program cannot move `.git` away and put another one in its place.
"""

import contextlib
import enum
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fourhands.providers import autorun, visibility
from fourhands.providers.base import AgentNeeds
from fourhands.providers.visibility import within
from fourhands.safety.redaction.file_names import BUILT_IN
from fourhands.safety.redaction.redactor import redact
from fourhands.settings import SandboxSettings, user_file

TOOLS = (
    *(".pyenv", ".nvm", ".fnm", ".volta", ".asdf", ".mise", ".rbenv", ".sdkman", ".rustup", ".bun", ".deno"),
    *(".cargo/bin", ".local/bin", ".local/lib", ".local/pipx", "go/bin", "miniconda3"),
    *(f".local/share/{name}" for name in ("uv", "mise", "fnm", "pnpm")),
)
"""Directories of a home that hold tools; shown read-only. Caches are not among them: one that an agent has written
and a person uses later is code that runs outside."""

CONFIGURATION = (
    *(".gitconfig", ".config/git", ".gitignore_global", ".inputrc", ".bashrc", ".profile", ".zshrc", ".zshenv"),
    *(".config/pip", ".cargo/config.toml"),
)
"""Configuration of a home; shown read-only, unless there is a secret in it."""

_MACHINE = ("/sys/devices/system/cpu", "/sys/devices/system/node")
_FROM_RUN = ("/run/current-system", "/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf")
_LARGEST_CONFIGURATION = 256 * 1024
_ABSENT_INSIDE = re.compile(r"(?im)^\s*(gpgsign|helper|signingkey|program)\s*=|^\s*\[\s*(credential|gpg)\b")
_GIT_OVERRIDES = (("commit.gpgsign", "false"), ("tag.gpgsign", "false"), ("credential.helper", ""))


class Access(enum.StrEnum):
    """The way in which a path is shown."""

    READ = "read"
    WRITE = "write"
    HIDDEN = "hidden"
    PRIVATE = "private"
    DEVICE = "device"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """One path as a program inside finds it; `source` is where that is outside, or where a link leads."""

    path: str
    access: Access
    source: str = ""

    @property
    def outside(self) -> str:
        """The path outside."""
        return self.source or self.path


@dataclass(frozen=True, slots=True)
class SandboxView:
    """The view of one sandbox; `variables` are added to the environment inside, `notes` are said in words."""

    workspace: str
    home: str
    entries: tuple[ViewEntry, ...]
    protected: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def private_home(self) -> bool:
        """True if home is the sandbox's own, and not a part of the workspace."""
        return any(entry.access is Access.PRIVATE and entry.path == self.home for entry in self.entries)


def cell_name(settings: SandboxSettings, session: str) -> str:
    """Return the name of the sandbox that a session's programs share: its own, or the one of the workspace."""
    return "workspace" if settings.per_workspace else session


def own_places() -> tuple[str, ...]:
    """Return the directories that Fourhands itself runs from: its package, its Python, and that Python's base."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return tuple(dict.fromkeys(map(os.path.realpath, (package, sys.prefix, sys.base_prefix))))


def system_entries() -> list[ViewEntry]:
    """Return the system's directories, and the few facts about the machine that programs look for."""
    entries = []
    for name in visibility.SYSTEM:
        path = f"/{name}"
        if os.path.islink(path):
            entries.append(ViewEntry(path, Access.LINK, os.readlink(path)))
        elif os.path.isdir(path):
            entries.append(ViewEntry(path, Access.READ))
    return entries + [ViewEntry(path, Access.READ) for path in (*_MACHINE, *_FROM_RUN) if os.path.exists(path)]


def build_view(
    workspace: str,
    env: Mapping[str, str],
    settings: SandboxSettings,
    *,
    readable: Iterable[str] = (),
    writable: Iterable[str] = (),
    own: tuple[str, ...] | None = None,
    needs: AgentNeeds | None = None,
    budget: autorun.SearchBudget = autorun.SearchBudget(),  # noqa: B008 - it is frozen
) -> SandboxView:
    """Return what a sandbox on a workspace shows; `workspace` is resolved. Blocking: it searches the workspace."""
    own = own_places() if own is None else own
    home = visibility.home_of(env)
    real_home = os.path.realpath(home)
    private = home != "/tmp" and not within(real_home, workspace)
    shown: dict[str, tuple[bool, str]] = {}  # path: writable, source
    notes: list[str] = []
    if private:
        shown |= _from_home(home, notes)
    for place in own:
        if not any(within(place, f"/{name}") for name in visibility.SYSTEM) and os.access(place, os.R_OK | os.X_OK):
            shown[place] = (False, place)
    repository = autorun.linked_repository(workspace)
    for path in (*writable, *settings.writable, *((repository,) if repository else ())):
        shown[os.path.realpath(path)] = (True, "")
    for path in (*readable, *settings.readable):
        shown[os.path.realpath(path)] = (False, "")
    shown[workspace] = (True, "")
    for path in needs.directories if needs is not None else ():
        if not any(within(path, one) for one in shown):
            shown[path] = (False, "")

    is_secret = (lambda path: BUILT_IN.match(path)) if settings.hide_secrets else None
    found = autorun.search(workspace, "" if private else real_home, budget, is_secret)
    if not found.complete:
        notes.append("the workspace is too large to be searched as a whole: deep repositories are not protected")
    open_roots = [path for path, (is_writable, _) in shown.items() if is_writable]
    settings_file = os.path.realpath(user_file(env))
    guarded = [*found.paths, *_guarded_own(own, workspace), settings_file]
    protected = _protect(shown, open_roots, guarded)

    visible = [source or path for path, (_, source) in shown.items()]
    hidden = visibility.hidden_places(visible, env, workspace)
    hidden += found.secrets
    hidden += [secret for path in shown if within(path, home) for secret in visibility.secrets_in(path)]
    if os.getuid() == 0:
        hidden += visibility.closed_places(path for path in ("/etc",) if os.path.isdir(path))
        hidden += visibility.closed_places((path for path in ("/opt", "/usr/local") if os.path.isdir(path)), depth=2)
    entries = [ViewEntry(home, Access.PRIVATE)] if private else []
    for path, (is_writable, source) in sorted(shown.items()):
        entries.append(ViewEntry(path, Access.WRITE if is_writable else Access.READ, source))
    entries += [ViewEntry(path, Access.DEVICE) for path in settings.devices]
    entries += [ViewEntry(path, Access.HIDDEN) for path in dict.fromkeys(hidden) if not within(workspace, path)]
    if needs is not None:  # after what is hidden: the secrets among these are the agent's own
        entries += _of_agent(needs, shown, private)
    variables = _git_variables(home, shown)
    if variables:
        notes.append("commits are not signed, and git has no stored passwords")
    return SandboxView(workspace, home, tuple(entries), protected, variables, tuple(notes))


def bubblewrap_options(entries: Iterable[ViewEntry], private: Callable[[str], list[str]]) -> list[str]:
    """Return the options of `bwrap` for entries; `private` gives those of an empty directory of the sandbox's own."""
    options: list[str] = []
    for entry in entries:
        match entry.access:
            case Access.READ:
                options += ["--ro-bind", entry.outside, entry.path]
            case Access.WRITE:
                options += ["--bind", entry.outside, entry.path]
            case Access.DEVICE:
                options += ["--dev-bind", entry.outside, entry.path]
            case Access.LINK:
                options += ["--symlink", entry.source, entry.path]
            case Access.PRIVATE:
                options += private(entry.path)
            case Access.HIDDEN:
                directory = os.path.isdir(entry.path)
                options += private(entry.path) if directory else ["--ro-bind", "/dev/null", entry.path]
    return options


def inner_git_variables(env: Mapping[str, str], view: SandboxView) -> dict[str, str]:
    """Return a program's environment with the view's variables; its own settings for git are kept before them."""
    if not view.variables:
        return dict(env)
    count = int(env["GIT_CONFIG_COUNT"]) if env.get("GIT_CONFIG_COUNT", "").isdigit() else 0
    added: dict[str, str] = {"GIT_CONFIG_COUNT": str(count + len(view.variables))}
    for number, (name, value) in enumerate(view.variables.items(), count):
        added |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**env, **added}


def _of_agent(needs: AgentNeeds, shown: Mapping[str, tuple[bool, str]], private_home: bool) -> list[ViewEntry]:
    """Return what an agent's own process sees besides, without what is there already.

    Where home is a part of the workspace, a path that is not there is left out: a mount point would be made in it.
    """
    known = [*(f"/{name}" for name in visibility.SYSTEM), *(path for path, (_, source) in shown.items() if not source)]
    known += [path for path, (_, source) in shown.items() if source == path]
    entries = {
        one.inside: ViewEntry(one.inside, Access.READ, one.outside)
        for one in needs.readable
        if one.inside != one.outside or not any(within(one.inside, path) for path in known)
    }
    entries |= {one.inside: ViewEntry(one.inside, Access.WRITE, one.outside) for one in needs.writable}
    kept = (one for one in entries.values() if private_home or os.path.lexists(one.path))
    return sorted(kept, key=lambda one: one.path)


def _from_home(home: str, notes: list[str]) -> dict[str, tuple[bool, str]]:
    """Return the tools and the configuration of a home that are there, each with its real place."""
    found: dict[str, tuple[bool, str]] = {}
    for name in (*TOOLS, *CONFIGURATION):
        path = f"{home}/{name}"
        source = os.path.realpath(path)
        if not os.path.exists(source) or BUILT_IN.match(source) or BUILT_IN.holds(source):
            continue
        if name in CONFIGURATION and (holder := _holder_of_secret(source)):
            notes.append(f"~/{name} is not shown: there is a secret in {os.path.basename(holder)}")
            continue
        found[path] = (False, source)
    return found


def _holder_of_secret(path: str) -> str | None:
    """Return the file, of one or of a directory's, that has a password or token in it."""
    files = [path]
    if os.path.isdir(path):
        files = [f"{path}/{name}" for name in sorted(os.listdir(path)) if not BUILT_IN.match(f"{path}/{name}")]
    for file in files:
        try:
            if not os.path.isfile(file):
                continue
            if os.path.getsize(file) > _LARGEST_CONFIGURATION:
                return file
            with open(file, encoding="utf-8", errors="replace") as stream:
                text = stream.read()
        except OSError:
            return file
        if redact(text) != text:
            return file
    return None


def _guarded_own(own: tuple[str, ...], workspace: str) -> list[str]:
    """Return the places of Fourhands itself; in a workspace, all that is beside its package, which Python finds too."""
    guarded = []
    for place in own:
        above = os.path.dirname(place)
        beside = within(above, workspace) and above != workspace and os.path.isfile(f"{place}/__main__.py")
        guarded.append(above if beside else place)
    return guarded


def _protect(shown: dict[str, tuple[bool, str]], roots: Iterable[str], paths: Iterable[str]) -> tuple[str, ...]:
    """Add read-only entries for paths inside of what is writable, and make each directory above them a mount."""
    protected: list[str] = []
    roots = list(roots)
    for path in sorted({os.path.realpath(path) for path in paths}):
        root = max((one for one in roots if within(path, one)), key=len, default=None)
        if root is None or path == root or not os.path.exists(path):
            continue
        if any(within(path, one) for one in protected):
            continue  # what is above it is read-only already
        protected.append(path)
        shown[path] = (False, "")
        above = os.path.dirname(path)
        while above != root:
            shown.setdefault(above, (True, ""))
            above = os.path.dirname(above)
    return tuple(protected)


def _git_variables(home: str, shown: Mapping[str, tuple[bool, str]]) -> dict[str, str]:
    """Return settings for git that replace those of the person's file that name what is not there inside."""
    for name in (".gitconfig", ".config/git/config"):
        try:
            if any(path in shown for path in (f"{home}/{name}", os.path.dirname(f"{home}/{name}"))):
                with open(f"{home}/{name}", encoding="utf-8", errors="replace") as file:
                    if _ABSENT_INSIDE.search(file.read(_LARGEST_CONFIGURATION)):
                        return dict(_GIT_OVERRIDES)
        except OSError:
            continue
    return {}


def furnish_home(needs: AgentNeeds, home: str, place: str) -> None:
    """Make a cell's home at `place` ready for an agent: files of the person's are copied where missing or older there.

    An empty file in an agent's directory is what a mount of an earlier cell has left, and goes. Programs of before may
    have left links: what is on the way and no directory is removed.
    """
    for path in needs.places:
        if (directory := _made_in(path, home, place)) is None:
            continue
        for entry in list(os.scandir(directory)):
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_size == 0:
                os.unlink(entry.path)
    for one in needs.copied:
        above = _made_in(os.path.dirname(one.inside), home, place)
        if above is not None:
            with contextlib.suppress(OSError):  # it can go at any moment, and is then not copied
                _copy(one.outside, os.path.join(above, os.path.basename(one.inside)))


def _made_in(path: str, home: str, place: str) -> str | None:
    """Return the directory that stands for one of a home, made where it is missing; None if it is not in the home."""
    if not within(path, home):
        return None
    above = place
    for name in os.path.relpath(path, home).split("/"):
        above = os.path.normpath(os.path.join(above, name))
        if os.path.islink(above) or (os.path.lexists(above) and not os.path.isdir(above)):
            os.unlink(above)
        os.makedirs(above, mode=0o700, exist_ok=True)
    return above


def _copy(source: str, copy: str) -> None:
    """Copy a file, unless what is there is no older; nothing is written through a link."""
    if os.path.islink(copy):
        os.unlink(copy)
    elif os.path.isdir(copy):
        shutil.rmtree(copy)
    if os.path.exists(copy):
        if os.stat(copy).st_mtime >= os.stat(source).st_mtime:
            return
        os.unlink(copy)
    descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(source, "rb") as given, open(descriptor, "wb") as made:
        shutil.copyfileobj(given, made)
