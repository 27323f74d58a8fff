"""Programs that run the command in their arguments (C4)."""

import re
from functools import lru_cache

from fourhands.safety.shell.context import CommandContext
from fourhands.safety.shell.file_rules import written
from fourhands.safety.shell.globs import has_glob
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read
from fourhands.safety.shell.parser.expansion import DYNAMIC, is_static, literal, shown
from fourhands.safety.shell.tables.names import ALONE_SAFE, LOADER, SHELLS, WRAPPER_DANGER, WRAPPER_WRITES, WRAPPERS
from fourhands.safety.shell.tables.variables import passes

_TOOLS = {name: Tool(takes=takes) for name, (takes, _) in WRAPPERS.items()}
_LOADER = re.compile(LOADER)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
Unwrapped = tuple[list[str], Finding]


@lru_cache(maxsize=1024)
def wrapper_name(name: str) -> str | None:
    """Return the table's name for a wrapper, or nothing."""
    if name in WRAPPERS or name == "script":
        return name
    return "ld.so" if _LOADER.fullmatch(name) else None


def unwrap(name: str, argv: list[str], context: CommandContext) -> Unwrapped:
    """Return the command inside (empty if there is none) and the wrapper's own finding."""
    special = _SPECIAL.get(name)
    if special:
        return special(argv, context)
    return _plain(name, argv, context)


def _plain(name: str, argv: list[str], context: CommandContext) -> Unwrapped:
    _, operands = WRAPPERS[name]
    if (
        name in ("command", "exec")
        and any(re.fullmatch(r"-\w*[vV]\w*", word) for word in argv[1:2])
        and name == "command"
    ):
        return [], FINE
    args = read(argv[1:], _TOOLS[name], stop=True)
    finding = FINE
    for option, value in args.options:
        if option in WRAPPER_DANGER.get(name, {}):
            finding = worst(finding, dangerous("C4", f"{name} {option}: {WRAPPER_DANGER[name][option]}"))
        if option in WRAPPER_WRITES.get(name, ()) and value:
            runs = value.startswith(("|", "!"))
            finding = worst(
                finding, dangerous("C6.5", f"{name} runs a program") if runs else written(value, context.classifier.cwd)
            )
        if option in ("-p", "--pid", "--attach") and name in (
            "strace",
            "ltrace",
            "taskset",
            "chrt",
            "ionice",
            "prlimit",
        ):
            finding = worst(finding, unknown("C4", f"{name} acts on a running process"))
    inner = args.operands[operands:]
    if not inner and not (finding.rank or name in ALONE_SAFE):
        finding = unknown("C4", f"{name} without a command")
    return inner, finding


def _env(argv: list[str], context: CommandContext) -> Unwrapped:
    args = read(argv[1:], _TOOLS["env"], stop=True)
    finding = FINE
    for value in args.values("-S", "--split-string"):
        rest = " ".join([literal(value), *map(literal, args.operands)])
        return [], worst(
            finding, context.classifier.script(f"env {rest}" if "=" in rest.split(" ")[0] else rest, "env -S")
        )
    for value in args.values("-C", "--chdir"):
        finding = unknown("C4", f"works in the directory {shown(value)}")
    inner = list(args.operands)
    given: list[str] = []
    while inner and _ASSIGNMENT.match(inner[0]):
        given.append(inner.pop(0))
        finding = worst(finding, context.classifier.argv(["export", given[-1]], context))
    for word in given if inner else ():
        name, _, value = word.partition("=")
        if not passes(name, literal(value), inner):
            finding = worst(finding, unknown("C3.4", f"sets {name} for {shown(inner[0])}"))
    return inner, finding if inner else worst(finding, unknown("C4", "prints the environment"))


def _xargs(argv: list[str], context: CommandContext) -> Unwrapped:
    args = read(argv[1:], _TOOLS["xargs"], stop=True)
    inner = list(args.operands)
    if found := context.classifier.secret(args.values("-a", "--arg-file")):
        return inner, dangerous("C5.4", f"reads the secret file {shown(found)}")
    if not all(map(is_static, args.values("-a", "--arg-file"))):
        return inner, unknown("C3.1", "xargs reads a file whose name is only known at run time")
    if not inner:
        return ["echo"], FINE
    marks = [value for value in args.values("-I", "--replace", "-i") if value]
    mark = marks[-1] if marks else "{}"
    name = inner[0].rsplit("/", 1)[-1]
    if inner[0] == mark and marks:
        return [], dangerous("C4", "xargs runs what it reads")
    if name in SHELLS:
        texts = [word for word in inner[1:] if not word.startswith("-")]
        if not texts or any(mark in word for word in inner[1:] if marks):
            return [], dangerous("C4", "xargs builds a shell script from what it reads")
    bait = context.bait or ("{}" if context.narrow else DYNAMIC)
    if marks:
        inner = [word.replace(mark, bait) for word in inner]
    else:
        inner.append(bait)
    return inner, FINE


def _parallel(argv: list[str], context: CommandContext) -> Unwrapped:
    args = read(argv[1:], _TOOLS["parallel"], stop=True)
    inner = list(args.operands)
    finding = FINE
    for option, _ in args.options:
        if option in WRAPPER_DANGER["parallel"]:
            finding = dangerous("C4", f"parallel {option}: runs on other machines")
    cut = next((at for at, word in enumerate(inner) if re.fullmatch(r":{3,4}\+?", word)), len(inner))
    command, values = inner[:cut], inner[cut + 1 :]
    if not command:
        if values and inner[cut] == ":::":
            return [], worst(
                finding, *(context.classifier.script(literal(value), "parallel") for value in values[:100])
            )
        return [], dangerous("C4", "parallel runs the lines it reads")
    if command[0].rsplit("/", 1)[-1] in SHELLS and (len(command) == 1 or "{}" in " ".join(command)):
        return [], dangerous("C4", "parallel builds a shell script from what it reads")
    bait = context.bait or context.classifier.secret(values) or "{}"
    text = " ".join(map(literal, command))
    whole = text.replace("{}", bait) if "{}" in text else f"{text} {bait}"
    finding = worst(finding, context.classifier.script(whole, "parallel"))
    if not (context.narrow or (values and all(is_static(word) and not has_glob(word) for word in values))):
        inner = [word.replace("{}", DYNAMIC) for word in command]
        finding = worst(finding, context.classifier.argv(inner if "{}" in text else [*inner, DYNAMIC], context))
    return [], finding


def _watch(argv: list[str], context: CommandContext) -> Unwrapped:
    args = read(argv[1:], _TOOLS["watch"], stop=True)
    if not args.operands:
        return [], unknown("C4", "watch without a command")
    if args.has("-x", "--exec"):
        return args.operands, FINE
    return [], context.classifier.script(" ".join(map(literal, args.operands)), "watch")


_SCRIPT = Tool(
    takes=frozenset(
        {
            "-c",
            "-O",
            "-I",
            "-B",
            "-T",
            "-m",
            "-E",
            "-o",
            "--command",
            "--log-out",
            "--log-in",
            "--log-io",
            "--log-timing",
            "--echo",
        }
    )
)


def _script(argv: list[str], context: CommandContext) -> Unwrapped:
    args = read(argv[1:], _SCRIPT)
    findings = [unknown("C5.2", "records a terminal session into a file")]
    if all(value in ("/dev/null",) for value in args.operands) and args.values("-c", "--command"):
        findings = [FINE]
    findings.extend(
        written(value, context.classifier.cwd)
        for value in (*args.operands[:1], *args.values("-O", "-I", "-B", "--log-out"))
    )
    findings.extend(context.classifier.script(literal(value), "script -c") for value in args.values("-c", "--command"))
    # BSD: script FILE COMMAND…
    return args.operands[1:], worst(*findings)


def _flock(argv: list[str], context: CommandContext) -> Unwrapped:
    args = read(argv[1:], _TOOLS["flock"], stop=True)
    rest = args.operands[1:]
    finding = written(args.operands[0], context.classifier.cwd) if args.operands else FINE
    finding = finding if finding.rank > 1 else FINE
    if rest[:1] in (["-c"], ["--command"]):
        return [], worst(finding, context.classifier.script(literal(" ".join(rest[1:2])), "flock -c"))
    for value in args.values("-c", "--command"):
        return [], worst(finding, context.classifier.script(literal(value), "flock -c"))
    return rest, finding if rest else worst(finding, unknown("C4", "flock without a command"))


def _exec(argv: list[str], context: CommandContext) -> Unwrapped:
    args = read(argv[1:], _TOOLS["exec"], stop=True)
    return args.operands, FINE


def _busybox(argv: list[str], context: CommandContext) -> Unwrapped:
    if argv[1:2] and argv[1].startswith("-"):
        return [], FINE if argv[1] in ("--list", "--help", "--list-full") else unknown("C4", "busybox option")
    return (argv[1:], FINE) if argv[1:] else ([], FINE)


def _loader(argv: list[str], context: CommandContext) -> Unwrapped:
    inner, finding = _plain("ld.so", argv, context)
    return inner, worst(finding, unknown("C4", "runs a program through the dynamic loader"))


_SPECIAL = {
    "env": _env,
    "xargs": _xargs,
    "parallel": _parallel,
    "watch": _watch,
    "script": _script,
    "flock": _flock,
    "exec": _exec,
    "busybox": _busybox,
    "toybox": _busybox,
    "ld.so": _loader,
}
