"""Effects of a line, besides its level: tools that work outside the sandbox, and files that go.

Pure data and functions: the caller knows the workspace and what git ignores there, and decides with `is_covered`
whether a checkpoint could bring back what a line takes away.
"""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from fourhands.safety.shell.file_rules import normal
from fourhands.safety.shell.kinds import RiskKind
from fourhands.safety.shell.levels import SAFE
from fourhands.safety.shell.options import Tool, read, words
from fourhands.safety.shell.parser.expansion import GLOBS, is_static, literal, shown
from fourhands.safety.shell.tables.names import PRIVILEGE
from fourhands.safety.shell.tables.system import SYSTEM

_SERVICES = words(
    "docker podman nerdctl docker-compose podman-compose kubectl oc helm k3s gh glab aws gcloud az doctl fly "
    "flyctl eksctl "
    "gsutil firebase wrangler heroku terraform tofu terragrunt pulumi vagrant ssh scp sftp mosh ssh-add "
    "ssh-copy-id systemctl "
    "service journalctl launchctl loginctl crontab psql mysql mariadb redis-cli valkey-cli mongo mongosh pgcli mycli "
    "clickhouse-client cqlsh pg_dump pg_restore mysqldump createdb dropdb gpg gpg2 pass op bw vault xdg-open "
    "lpr snap flatpak"
)
# Verbs of such tools that work on files alone.
_ON_FILES = {
    "terraform": words("fmt validate"),
    "tofu": words("fmt validate"),
    "helm": words("template lint create package"),
    "kubectl": words("kustomize"),
    "vagrant": words("validate"),
}
# Of these only what changes something needs to be outside.
_PACKAGES = words("apt apt-get aptitude dnf yum microdnf zypper pacman yay paru apk brew port pkg dpkg rpm emerge")
_MACHINE = frozenset(name for name, tool in SYSTEM.items() if tool.rank == 2 and tool.rule == "C5.5") - words(
    "dd dcfldd ddrescue pkill killall killall5 skill snice xkill logrotate findfs"
)
MADE_BY_TOOLS = words(
    "node_modules dist build out target .venv venv __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox "
    ".nox coverage "
    "htmlcov .coverage .next .nuxt .svelte-kit .parcel-cache .turbo .cache .gradle .eggs bin obj .hypothesis "
    ".nyc_output"
)
_MADE_ENDS = re.compile(r".*\.(?:pyc|pyo|o|obj|class|egg-info|tsbuildinfo|log|tmp)\Z")
_RM = Tool()
_CLEAN = Tool(takes=words("-e --exclude"))
_MOST = 256


@dataclass(frozen=True, slots=True)
class LineEffects:
    """The tools outside the sandbox that a line needs, and the files that it would lose."""

    kinds: frozenset[RiskKind] = frozenset()
    outside: tuple[str, ...] = ()  # tools that do their work outside the sandbox
    only_reads: bool = True  # all that those would do is read
    losses: tuple[str, ...] = ()  # paths that would be deleted or emptied, as far as the text says
    all_known: bool = True  # False: more may go than `losses` names
    irreversible: str = ""  # why no checkpoint could bring it back


@dataclass(slots=True)
class EffectsRecord:
    """The effects of the commands of a line, one after the other."""

    outside: dict[str, bool] = field(default_factory=dict)
    losses: dict[str, None] = field(default_factory=dict)
    all_known: bool = True
    irreversible: str = ""
    noted: bool = False  # a command that takes something away was understood

    def program(self, name: str, rest: list[str], rank: int, cwd: str) -> None:
        """Note one program with its resolved arguments and its level."""
        if tool := _needs_outside(name, rest, rank):
            self.outside[tool] = self.outside.get(tool, True) and rank == SAFE
        if name in _LOSING:
            self.noted = True
            _LOSING[name](self, rest, cwd)

    def lose(self, words_: list[str], cwd: str) -> None:
        """Note paths that would go."""
        for word in words_:
            self.noted = True
            if len(self.losses) >= _MOST or not is_static(word) or "{}" in word:
                self.all_known = False
            else:
                path = normal(word, cwd) or "."
                self.losses[path] = None
                self.all_known = self.all_known and GLOBS.isdisjoint(word)
                if ".git" in path.split("/"):
                    self.irreversible = self.irreversible or "deletes from .git"

    def final(self, kinds: frozenset[RiskKind]) -> LineEffects:
        """Return the effects of the whole line."""
        known = self.all_known and (self.noted or RiskKind.DESTROYS not in kinds)
        reads = all(self.outside.values())
        return LineEffects(kinds, tuple(self.outside), reads, tuple(self.losses), known, self.irreversible)


def _needs_outside(name: str, rest: list[str], rank: int) -> str:
    if name in _SERVICES or name in PRIVILEGE or (rank and (name in _PACKAGES or name in _MACHINE)):
        verb = next((literal(word) for word in rest if word[:1] != "-"), "")
        return "" if rest in (["--version"], ["--help"]) or verb in _ON_FILES.get(name, ()) else name
    if name == "rsync" and any(re.match(r"[\w.@-]+:", literal(word)) for word in rest if word[:1] != "-"):
        return name
    if name != "git" or not rest:
        return ""
    verbs = [literal(word) for word in rest if word[:1] != "-"][:2]
    if verbs[:1] == ["push"] or (verbs[:1] == ["send-email"]):
        return "git push"
    if rank and (verbs[:1] == ["config"] or (verbs[:1] == ["remote"] and verbs[1:])):
        return "git config"
    return "git config" if verbs[:1] == ["branch"] and {"-m", "-M", "-u"} & set(rest) else ""


def _rm(record: EffectsRecord, rest: list[str], cwd: str) -> None:
    record.lose(read(rest, _RM).operands, cwd)


def _truncate(record: EffectsRecord, rest: list[str], cwd: str) -> None:
    record.lose(read(rest, Tool(takes=words("-s -r -o -n --size --reference"))).operands, cwd)


def _find(record: EffectsRecord, rest: list[str], cwd: str) -> None:
    if "-delete" in rest or any(word in ("rm", "/bin/rm", "unlink", "shred") for word in rest):
        names = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-name", "-iname")]
        roots = rest[: next((at for at, word in enumerate(rest) if word[:1] in "-(!"), len(rest))] or ["."]
        record.lose([posixpath.join(root, "**", literal(name)) for root in roots for name in names] or roots, cwd)
        record.all_known = record.all_known and bool(names)


def _git(record: EffectsRecord, rest: list[str], cwd: str) -> None:
    at = next((place for place, word in enumerate(rest) if word[:1] != "-"), len(rest))
    verb, args = (literal(rest[at]), [literal(word) for word in rest[at + 1 :]]) if at < len(rest) else ("", [])
    given = read(args, _CLEAN)
    if verb == "clean" and given.has("-x", "-X"):
        record.irreversible = record.irreversible or "git clean deletes ignored files"
    elif verb == "gc" and any(value in ("now", "all") for value in given.values("--prune")):
        record.irreversible = record.irreversible or "git gc deletes unreachable commits"
    elif verb in ("prune", "filter-branch", "filter-repo") or (
        verb == "reflog" and args[:1] in (["expire"], ["delete"])
    ):
        record.irreversible = record.irreversible or f"git {verb} deletes history"
    elif verb == "rm" and not given.has("--cached"):
        record.lose(given.operands, cwd)


def _never(reason: str) -> "Callable[[EffectsRecord, list[str], str], None]":
    def note(record: EffectsRecord, rest: list[str], cwd: str) -> None:
        if rest not in (["--version"], ["--help"]):
            record.irreversible = record.irreversible or reason

    return note


def _database(record: EffectsRecord, rest: list[str], cwd: str) -> None:
    record.irreversible = record.irreversible or "works in a database"


_LOSING: dict[str, Callable[[EffectsRecord, list[str], str], None]] = {
    **dict.fromkeys(("rm", "unlink", "rmdir"), _rm),
    "truncate": _truncate,
    "find": _find,
    "git": _git,
    **dict.fromkeys(("shred", "wipe", "srm"), _never("overwrites files for good")),
    **dict.fromkeys(("dd", "dcfldd", "ddrescue"), _never("copies raw data over files or devices")),
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), _database),
}


def is_covered(effects: LineEffects, workspace: str, ignored: Callable[[str], bool]) -> bool:
    """Return True if a checkpoint brings back what a line takes away in a sandbox.

    `ignored` says of a path below the workspace whether git ignores it: such files are in no checkpoint, but those that
    tools make again are no loss. What a line deletes in the sandbox's own /tmp is no loss of the person's.
    """
    if effects.irreversible or not workspace:
        return False
    home = workspace.rstrip("/")
    for path in effects.losses:
        full = posixpath.normpath(path if path[:1] in ("/", "~") else f"{home}/{path}")
        if full.startswith(("/tmp/", "/var/tmp/")) and not full.startswith(home + "/"):
            continue
        if not full.startswith(home + "/"):
            return False
        parts = full.removeprefix(home + "/").split("/")
        if MADE_BY_TOOLS.intersection(parts) or _MADE_ENDS.match(parts[-1]):
            continue
        if any(sign in full for sign in "*?[") or ignored("/".join(parts)):
            return False
    return effects.all_known or (bool(effects.losses) and all(map(_made, effects.losses)))


def _made(path: str) -> bool:
    return bool(MADE_BY_TOOLS.intersection(path.split("/"))) or _MADE_ENDS.match(path) is not None


def described(effects: LineEffects) -> dict[str, object]:
    """Return the effects as plain data, for people and programs that ask."""
    return {
        "kinds": sorted(effects.kinds),
        "outside": [*effects.outside],
        "onlyReads": effects.only_reads,
        "losses": [shown(path) for path in effects.losses],
        "allKnown": effects.all_known,
        "irreversible": effects.irreversible,
    }
