"""Package managers and routine project tasks (C6.6, C7)."""

import re

from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, words
from fourhands.safety.shell.parser.expansion import is_static, literal, shown
from fourhands.safety.shell.programs.subcommands import first_verb, subcommand
from fourhands.safety.shell.tables.tools import PACKAGE_TOOLS, ROUTINE, ROUTINE_TASK

_FOREIGN = re.compile(
    r"(?:git|hg|svn|bzr|https?|ssh|file|ftp|github|gitlab|bitbucket|gist)(?:\+\w+)?:|git@|[\w.-]+/[\w.-]+(?:#|"
    r"\Z)|.*@(?:git|https?|file|github)[+:]",
    re.IGNORECASE,
)
_URL = re.compile(
    r"(?:git|hg|svn|bzr|https?|ssh|file|ftp)(?:\+\w+)?://|git@|git\+|.*@\s*(?:git\+|https?:|file:)", re.IGNORECASE
)
_ROUTINE = FINE._replace(rule="C6.6", reason=ROUTINE_TASK)
_NODE = Tool(takes=words("-w -C --prefix --workspace --cwd --dir --filter --registry -F --loglevel --tag --otp"))
_NPM_LOOKS = words("ls list la ll outdated root prefix bin why explain query help view info show")
_NPM_PUBLISH = words("publish unpublish deprecate owner dist-tag access adduser login token unstar")


def routine(name: str) -> bool:
    """Return True if a script or target name is a routine project task."""
    return is_static(name) and re.split(r"[:_-]", literal(name), maxsplit=1)[0] in ROUTINE


def node(argv: list[str], context: CommandContext) -> Finding:
    """Classify `npm`, `pnpm`, `yarn`, `bun` as package managers."""
    args = read(argv[1:], _NODE)
    operands = list(map(literal, args.operands))
    verb, rest = first_verb(operands)
    name = argv[0]
    if args.has("--version", "-v", "--help", "-h") and not operands:
        return FINE
    if args.has(
        "--prefix", "-C", "--cwd", "--dir", "--script-shell", "--node-options", "--globalconfig", "--userconfig"
    ):
        return unknown("C6.6", f"{name} in another directory or with other settings")
    if verb in ("exec", "x", "dlx", "create", "init") and (verb != "init" or rest):
        return npx([name, *argv[argv.index(verb) + 1 :]], context) if verb in argv else npx(argv, context)
    if verb in ("run", "run-script", "rum", "urn"):
        return (
            _ROUTINE
            if rest and routine(rest[0])
            else (FINE if not rest else unknown("C6.6", f"runs the script {shown(rest[0])}"))
        )
    if verb in ("test", "t", "tst") or (routine(verb) and (name != "npm" or verb == "test")):
        return _ROUTINE
    if name == "npm" and routine(verb):
        return _ROUTINE
    if verb in _NPM_LOOKS and "fix" not in rest:
        return FINE
    if verb in _NPM_PUBLISH:
        return dangerous("C7", f"publishes or changes what is published: {name} {verb}")
    if verb == "config" and rest[:1] in (["get"], ["list"], ["ls"]):
        return (
            dangerous("C5.4", "prints a token")
            if any(re.search(r"auth|token|password", word, re.IGNORECASE) for word in rest)
            else FINE
        )
    foreign = [
        word for word in rest if _FOREIGN.match(word) and not word.startswith("@") and not word.startswith((".", "/"))
    ]
    if verb in ("install", "i", "add", "update", "up", "link", "ci") and (foreign or args.has("--registry")):
        return dangerous("C7", f"installs from an untrusted source: {shown((foreign or ['--registry'])[0])}")
    rule = "C6.6" if verb in ("start", "stop", "restart") else "C7"
    return unknown(rule, f"{name} {shown(verb)}".strip() + ": changes packages or runs a script")


def npx(argv: list[str], context: CommandContext) -> Finding:
    """Classify `npx` and its like: code of others, at once with `--yes`."""
    rest = argv[1:]
    own: list[str] = []
    for word in rest:
        own.append(word)
        if not word.startswith("-"):
            break
    if any(word in ("-y", "--yes") or word.startswith("--yes=") for word in own):
        return dangerous("C7", "downloads and runs code without asking")
    at = [position for position, word in enumerate(rest) if word in ("-c", "--call", "-p", "--package")]
    for position in at:
        value = literal(rest[position + 1]) if position + 1 < len(rest) else ""
        if rest[position] in ("-c", "--call"):
            return worst(unknown("C7", "runs third-party code"), context.classifier.script(value, "npx -c"))
        if _FOREIGN.match(value) and not value.startswith("@"):
            return dangerous("C7", "downloads and runs code from an untrusted source")
    spec = literal(own[-1]) if own else ""
    if _FOREIGN.match(spec) and not re.match(r"@[\w.-]+/[\w.-]+(@[\w.^~-]+)?\Z", spec):
        return dangerous("C7", "downloads and runs code from an untrusted source")
    return unknown("C7", f"runs the package {shown(spec)}")


_PIP = Tool(
    takes=words(
        "-r -c -e -i -t -f --requirement --constraint --editable --index-url --extra-index-url --target "
        "--find-links --prefix --root --python --proxy --trusted-host"
    )
)


def pip(argv: list[str], context: CommandContext) -> Finding:
    """Classify `pip`, `pipx`, `uv`."""
    args = read(argv[1:], _PIP)
    operands = list(map(literal, args.operands))
    if argv[0] == "uv" and operands[:1] == ["pip"]:
        operands = operands[1:]
    verb, rest = first_verb(operands)
    if not operands:
        return FINE if args.has("--version", "-V", "--help", "-h") else unknown("C7", "pip without a subcommand")
    if (verb == "version" and rest) or (verb == "list" and args.has("-f")):
        return unknown("C7", f"{argv[0]} {verb} changes something or asks another host")
    if verb in ("list", "show", "freeze", "check", "help", "inspect", "debug", "version"):
        return context.classifier.plain(Tool(operands="text"), argv[1:], context)
    if verb == "run" and argv[0] in ("uv", "pipx"):
        return worst(unknown("C7", f"{argv[0]} run"), context.classifier.argv(args.operands[1:], context))
    if verb in ("publish", "upload"):
        return dangerous("C7", "publishes")
    foreign = args.has(
        "-i", "--index-url", "--extra-index-url", "--find-links", "-f", "--trusted-host", "--index", "--default-index"
    )
    urls = [word for word in [*rest, *args.values("-r", "-e", "--editable", "--requirement", "-c")] if _URL.match(word)]
    if verb in ("install", "add", "download", "wheel", "inject", "sync", "upgrade", "tool") and (foreign or urls):
        return dangerous("C7", f"installs from an untrusted source: {shown(urls[0]) if urls else 'another index'}")
    if found := context.classifier.secret(argv[1:]):
        return dangerous("C5.4", f"reads the secret file {shown(found)}")
    return unknown("C7", f"{argv[0]} {shown(verb)}: changes packages")


_MAKE = Tool(
    takes=words(
        "-C -f -I -j -l -o -W --directory --file --makefile --include-dir --jobs --old-file --what-if --eval -E"
    )
)


def make(argv: list[str], context: CommandContext) -> Finding:
    """Classify `make`: the names of its targets."""
    if argv[1:] in (["--version"], ["-v"], ["--help"]):
        return FINE
    args = read(argv[1:], _MAKE)
    if args.has("--eval", "-E"):
        return dangerous("C6.2", "make runs a rule from the command line")
    settings = [word for word in args.operands if "=" in word]
    targets = [word for word in args.operands if "=" not in word]
    if any(re.match(r"(?:SHELL|MAKEFLAGS|CC|CXX|LD|AR|\.SHELLFLAGS)\b", word) for word in settings):
        return dangerous("C3.4", "make with another program")
    if args.has("-f", "--file", "--makefile", "-C", "--directory", "-I"):
        return unknown("C6.6", "make with another file or directory")
    if targets and all(map(routine, targets)) and not settings:
        return _ROUTINE
    return unknown("C6.6", "make " + (shown(targets[0]) if targets else "without a target"))


def ruff(argv: list[str], context: CommandContext) -> Finding:
    """Classify `ruff`."""
    rest = argv[1:]
    if found := context.classifier.secret(rest):
        return dangerous("C5.4", f"reads the secret file {shown(found)}")
    if rest[:1] == ["check"] and not any(
        word.startswith(("--fix", "--unsafe-fixes", "--add-noqa", "--watch", "-o", "--output-file")) for word in rest
    ):
        return _ROUTINE
    if rest[:1] in (["version"], ["rule"], ["linter"], ["help"], ["--version"]):
        return FINE
    if rest[:1] == ["format"] and any(word in ("--check", "--diff") for word in rest):
        return _ROUTINE
    return unknown("C6.6", "ruff changes files")


def tsc(argv: list[str], context: CommandContext) -> Finding:
    """Classify `tsc`."""
    given = {word.lower() for word in argv[1:]}
    builds = given & {"-b", "--build", "-w", "--watch", "--init", "--clean"}
    if "--noemit" in given or (given & {"--version", "-v", "--help", "-h", "--showconfig"} and not builds):
        return _ROUTINE
    return unknown("C6.6", "tsc writes files")


def package_tool(argv: list[str], context: CommandContext) -> Finding:
    """Classify package managers and build tools by the table of their subcommands."""
    return subcommand(PACKAGE_TOOLS, argv, context, _foreign)


def _foreign(path: list[str], rest: list[str], context: CommandContext) -> Finding:
    """Classify options and operands that fetch code from elsewhere, or run a program."""
    name, verb = path[0], path[-1]
    joined = [literal(word) for word in rest]
    if name == "go" and verb == "run" and any("@" in word and not word.startswith("-") for word in joined):
        return dangerous("C7", "downloads and runs code")
    if (
        name == "cargo"
        and verb == "install"
        and any(word.startswith(("--git", "--index", "--registry")) for word in joined)
    ):
        return dangerous("C7", "installs from an untrusted source")
    if (
        name in ("gem", "brew")
        and any(word.startswith("--source") or _URL.match(word) for word in joined)
        and verb in ("install", "tap")
    ):
        return dangerous("C7", "installs from an untrusted source")
    if name in ("apt", "apt-get", "dnf", "yum", "zypper", "apk", "snap", "brew", "dpkg") and any(
        _URL.match(word) for word in joined
    ):
        return dangerous("C7", "installs from an untrusted source")
    if (
        name in ("apt", "apt-get", "dpkg", "dnf", "yum")
        and any(re.match(r"-o|--option|--pre-invoke|.*::(?:Pre|Post)-Invoke", word) for word in joined)
        and any("Invoke" in word or "Dir" in word or "Cmd" in word for word in joined)
    ):
        return dangerous("C6.5", "runs a program by an option")
    return FINE


def pacman(argv: list[str], context: CommandContext) -> Finding:
    """Classify `pacman` and its like by the operation's letter."""
    first = next((word for word in argv[1:] if word.startswith("-")), "")
    if first.startswith(("-R", "--remove")):
        return dangerous("C7", "removes system packages")
    if first.startswith(("-Q", "--query", "-Ss", "-Si", "-F", "--version", "--help")):
        return FINE
    if first.startswith("-U") and any("://" in word for word in argv):
        return dangerous("C7", "installs from a URL")
    if "c" in first and first.startswith("-S"):
        return dangerous("C7", "removes packages from the cache")
    return unknown("C7", "changes system packages")


PACKAGES: dict[str, ProgramHandler] = {
    **dict.fromkeys(("npm", "pnpm", "yarn"), node),
    **dict.fromkeys(("npx", "pnpx", "bunx", "uvx"), npx),
    **dict.fromkeys(("pip", "pip3", "pipx", "uv"), pip),
    **dict.fromkeys(("make", "gmake"), make),
    "ruff": ruff,
    "tsc": tsc,
    **dict.fromkeys(PACKAGE_TOOLS, package_tool),
    **dict.fromkeys(("pacman", "yay", "paru"), pacman),
}
