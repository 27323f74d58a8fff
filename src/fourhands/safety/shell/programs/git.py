"""git: global options, subcommands, and every way to make it run a program (C7)."""

import re

from fourhands.safety.shell.context import CommandContext
from fourhands.safety.shell.file_rules import normal
from fourhands.safety.shell.globs import matched
from fourhands.safety.shell.levels import FINE, SAFE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Arguments, Tool, read
from fourhands.safety.shell.parser.expansion import BRACKET, MARK, STAR, is_static, literal, shown
from fourhands.safety.shell.tables.git import GIT, GLOBAL, HARMLESS_KEY, LISTS, PATCH, RUNNING_KEY, RUNS
from fourhands.safety.shell.tables.names import HARMLESS_PAGERS

_RUNNING = re.compile(RUNNING_KEY, re.IGNORECASE)
_HARMLESS = re.compile(HARMLESS_KEY, re.IGNORECASE)
_WRITES = frozenset({"--output"})
_CREDENTIALS = re.compile(r"credential|extraheader|token|passw", re.IGNORECASE)
_LISTED, _SHOWN = Tool(operands="name", danger=RUNS, writes=_WRITES), Tool(danger=RUNS, writes=_WRITES)
_ASKS = Tool(rank=1, reason="connects to another host", danger=RUNS)
_OTHER = Tool(rank=1, reason="changes the repository or is not known", danger=RUNS)


def git(argv: list[str], context: CommandContext) -> Finding:
    """Classify a git command."""
    glob = read(argv[1:], GLOBAL, stop=True)
    findings = [_global(glob, context)]
    if not glob.operands:
        asks = not glob.options or glob.has("--version", "--help", "-v", "-h")
        findings.append(FINE if asks else unknown("C7", "git without a subcommand"))
        return worst(*findings)
    sub, rest = literal(glob.operands[0]), glob.operands[1:]
    if not is_static(sub):
        return worst(*findings, dangerous("C3.3", "the git subcommand is only known at run time"))
    if rest == ["--help"]:
        return worst(*findings)
    if any(word.startswith(("ext::", "fd::")) or "=ext::" in word for word in rest):
        findings.append(dangerous("C7", "git with an ext:: address runs a program"))
    findings.append(_sub(sub, rest, context))
    if worst(*findings).rank == SAFE and (other := _elsewhere(glob, context)):
        # Its configuration names programs, and any directory may be made to look like a repository.
        findings.append(unknown("C7", f"git obeys the configuration of another directory: {shown(other)}"))
    return worst(*findings)


def _elsewhere(glob: Arguments, context: CommandContext) -> str:
    """Return the directory in which git runs, if it is not the workspace."""
    here = context.classifier.cwd
    for directory in glob.values("-C"):
        here = normal(directory, here)
    home = context.classifier.rules.workspace.rstrip("/")
    return "" if here in ("", ".") or (home and here == home) else here


def _global(glob: Arguments, context: CommandContext) -> Finding:
    findings = [FINE]
    for option, value in glob.options:
        if option == "-c" or option == "--config-env":
            findings.append(_setting(value or ""))
        elif option == "--exec-path" and value is not None:
            findings.append(dangerous("C7", "git runs programs from another directory: --exec-path"))
        elif option in ("--git-dir", "--work-tree", "--bare"):
            findings.append(unknown("C7", f"git uses another repository: {option}"))
    return worst(*findings)


def _setting(text: str) -> Finding:
    key, _, value = text.partition("=")
    if key.lower() in ("core.pager",) and value in HARMLESS_PAGERS:
        return FINE
    if _RUNNING.fullmatch(key) or not is_static(text):
        return dangerous("C7", f"lets git run a program: -c {shown(key)}")
    return FINE if _HARMLESS.fullmatch(key) else unknown("C7", f"changes a setting of git: {shown(key)}")


def _sub(sub: str, rest: list[str], context: CommandContext) -> Finding:
    tool = GIT.get(sub, _OTHER)
    args = read(rest, tool)
    special = _SPECIAL.get(sub)
    # `config` and `restore` are classified by their arguments alone: half of their forms only read.
    findings = [
        FINE if sub in ("config", "restore") else context.classifier.plain(_listing(sub, tool, args), rest, context)
    ]
    if special:
        findings.append(special(rest, args, context))
    if sub in _SHOW and (name := next((word for word in args.operands if _for_secrets(word)), "")):
        findings.append(dangerous("C5.4", f"shows the content of {shown(name)}"))
    if sub in LISTS:
        _, destroys = LISTS[sub]
        if args.operands and args.operands[0] in destroys:
            findings.append(dangerous("C7", f"git {sub} {args.operands[0]} deletes"))
    result = worst(*findings)
    return result._replace(reason=f"git {shown(sub)}: {result.reason}") if result.rank else result


def _for_secrets(operand: str) -> bool:
    """Return True if an operand is a pattern that git itself expands, and fits names of secret files only."""
    pattern = literal(operand).rpartition("/")[2].rpartition(":")[2].rpartition(")")[2]
    if not any(sign in pattern for sign in "*?["):
        return False
    found, both = matched(pattern.replace("*", STAR).replace("?", MARK).replace("[", BRACKET))
    return bool(found) and not both


def _listing(sub: str, tool: Tool, args: Arguments) -> Tool:
    """Return a harmless entry if these arguments only list."""
    if sub not in LISTS:
        return tool
    lists, _ = LISTS[sub]
    first = args.operands[0] if args.operands else ""
    options = {option for option, _ in args.options}
    if sub in ("branch", "tag"):
        plain = options <= lists and (
            not args.operands or (options - {"-v", "-vv", "-i", "--color", "--no-color", "--verbose"})
        )
        return _LISTED if plain else tool
    if sub == "remote" and first == "show" and args.operands[1:] and not args.has("-n"):
        return _ASKS
    if sub == "lfs" and first == "track" and args.operands[1:]:
        return tool
    if first in lists or (
        not first and sub in ("remote", "worktree", "reflog", "notes", "bisect", "lfs") and options <= lists
    ):
        return _SHOWN if first == "show" and sub == "stash" else _LISTED
    if sub == "reflog" and first not in LISTS[sub][1]:
        return _LISTED
    return tool


def _log(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    """Classify a log with patches: a secret file's changes show its content."""
    lines = [value.rpartition(":")[2] for value in args.values("-L")]
    if name := context.classifier.secret([*(args.operands if args.has(*PATCH) else ()), *lines]):
        return dangerous("C5.4", f"shows the content of {shown(name)}")
    return FINE


def _checkout(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    paths = any(
        word in (".", "*", STAR, ":/", ":") or word.startswith(("./", STAR, "*", "../", ":/")) for word in args.operands
    )
    if paths or "--" in rest:
        return dangerous("C7", "discards changes in files")
    return FINE


def _restore(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    staged = args.has("--staged", "-S") and not args.has("--worktree", "-W")
    return unknown("C7", "changes the index") if staged else dangerous("C7", "discards changes in files")


def _push(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    for word in args.operands[1:] if len(args.operands) > 1 else args.operands:
        if word.startswith(("+", ":")):
            return dangerous("C7", f"overwrites or deletes what is published: {shown(word)}")
    return FINE


def _config(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    reads = (
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--list",
        "-l",
        "--show-origin",
        "--show-scope",
        "--name-only",
        "--get-color",
    )
    operands = args.operands
    if found := context.classifier.secret(args.values("--file", "-f", "--blob")):
        return dangerous("C5.4", f"reads the secret file {shown(found)}")
    verb = operands[0] if operands else ""
    key = next((word for word in operands if "." in word), "")
    if (args.has(*reads[:6]) or verb in ("get", "list", "get-urlmatch")) and not args.has(
        "--add", "--unset", "--replace-all"
    ):
        return dangerous("C5.4", "prints credentials") if _CREDENTIALS.search(key) else FINE
    if args.has("-e", "--edit") or verb == "edit":
        return unknown("C7", "opens git's configuration in an editor")
    if (
        len(operands) == 1
        and key
        and not args.has("--unset", "--unset-all", "--add", "--replace-all", "--remove-section")
    ):
        return FINE
    if key and _RUNNING.fullmatch(key):
        return dangerous("C7", f"makes git run a program later: {shown(key)}")
    if args.has("--global", "--system") or args.values("--file", "-f"):
        return dangerous("C5.2", "changes git's configuration for everything")
    return unknown("C7", "changes git's configuration")


def _rebase(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    for value in args.values("-x", "--exec"):
        return worst(unknown("C7", "rewrites local commits"), context.classifier.script(value, "git rebase -x"))
    return FINE


def _submodule(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    if "foreach" in args.operands:
        words = [word for word in rest[rest.index("foreach") + 1 :] if word not in ("--recursive", "--quiet", "-q")]
        text = words[0] if len(words) == 1 else " ".join(words)
        return worst(
            unknown("C7", "runs a command in submodules"), context.classifier.script(text, "git submodule foreach")
        )
    return FINE


def _bisect(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    if args.operands[:1] == ["run"]:
        return worst(unknown("C7", "runs a command"), context.classifier.argv(rest[rest.index("run") + 1 :], context))
    return FINE


def _worktree(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    if args.operands[:1] == ["remove"] and args.has("-f", "--force"):
        return dangerous("C7", "deletes a work tree with its changes")
    return FINE


def _gc(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    prunes = any(value in ("now", "all") for value in args.values("--prune"))
    return dangerous("C7", "deletes unreachable commits at once") if prunes else FINE


def _branch(rest: list[str], args: Arguments, context: CommandContext) -> Finding:
    forced = args.has("-d", "--delete") and args.has("-f", "--force")
    return dangerous("C7", "deletes a branch by force") if forced else FINE


_SHOW = frozenset({"diff", "show", "log", "whatchanged", "blame", "grep", "diff-tree", "diff-index", "diff-files"})
_SPECIAL = {
    "log": _log,
    "whatchanged": _log,
    "checkout": _checkout,
    "restore": _restore,
    "push": _push,
    "config": _config,
    "rebase": _rebase,
    "submodule": _submodule,
    "bisect": _bisect,
    "worktree": _worktree,
    "gc": _gc,
    "branch": _branch,
}
