"""Package managers, project tasks, clouds, containers and databases (C6.6, C7)."""

import re

from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.levels import FINE, UNKNOWN, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, words
from fourhands.safety.shell.parser.expansion import is_static, literal, shown
from fourhands.safety.shell.programs.network import cloud_copy
from fourhands.safety.shell.tables.tools import CLOUD_DESTROY, CLOUD_SECRETS, DATABASES, ROUTINE, SQL, SUBCOMMANDS

_FOREIGN = re.compile(
    r"(?:git|hg|svn|bzr|https?|ssh|file|ftp|github|gitlab|bitbucket|gist)(?:\+\w+)?:|git@|[\w.-]+/[\w.-]+(?:#|"
    r"\Z)|.*@(?:git|https?|file|github)[+:]",
    re.IGNORECASE,
)
_URL = re.compile(
    r"(?:git|hg|svn|bzr|https?|ssh|file|ftp)(?:\+\w+)?://|git@|git\+|.*@\s*(?:git\+|https?:|file:)", re.IGNORECASE
)
_ROUTINE = FINE._replace(rule="C6.6", reason="routine project task")
_NODE = Tool(takes=words("-w -C --prefix --workspace --cwd --dir --filter --registry -F --loglevel --tag --otp"))
_NPM_LOOKS = words(
    "ls list outdated view info show search ping root prefix bin why explain fund help docs repo la ll "
    "audit-signatures doctor whoami query"
)
_NPM_PUBLISH = words("publish unpublish deprecate owner dist-tag access adduser login token unstar")


def routine(name: str) -> bool:
    """Tell whether a script or target name is a routine project task."""
    return is_static(name) and re.split(r"[:_-]", literal(name), maxsplit=1)[0] in ROUTINE


def node(argv: list[str], case: CommandContext) -> Finding:
    """Judge `npm`, `pnpm`, `yarn`, `bun` as package managers."""
    args = read(argv[1:], _NODE)
    operands = list(map(literal, args.operands))
    verb, rest = (operands[0], operands[1:]) if operands else ("", [])
    name = argv[0]
    if args.has("--version", "-v", "--help", "-h") and not operands:
        return FINE
    if args.has(
        "--prefix", "-C", "--cwd", "--dir", "--script-shell", "--node-options", "--globalconfig", "--userconfig"
    ):
        return unknown("C6.6", f"{name} in another place or with other settings")
    if verb in ("exec", "x", "dlx", "create", "init") and (verb != "init" or rest):
        return npx([name, *argv[argv.index(verb) + 1 :]], case) if verb in argv else npx(argv, case)
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
        return dangerous("C7", f"installs from a foreign place: {shown((foreign or ['--registry'])[0])}")
    rule = "C6.6" if verb in ("start", "stop", "restart") else "C7"
    return unknown(rule, f"{name} {shown(verb)}".strip() + ": changes packages or runs a script")


def npx(argv: list[str], case: CommandContext) -> Finding:
    """Judge `npx` and its like: code of others, at once with `--yes`."""
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
            return worst(unknown("C7", "runs code of others"), case.court.script(value, "npx -c"))
        if _FOREIGN.match(value) and not value.startswith("@"):
            return dangerous("C7", "downloads and runs code from a foreign place")
    spec = literal(own[-1]) if own else ""
    if _FOREIGN.match(spec) and not re.match(r"@[\w.-]+/[\w.-]+(@[\w.^~-]+)?\Z", spec):
        return dangerous("C7", "downloads and runs code from a foreign place")
    return unknown("C7", f"runs the package {shown(spec)}")


_PIP = Tool(
    takes=words(
        "-r -c -e -i -t -f --requirement --constraint --editable --index-url --extra-index-url --target "
        "--find-links --prefix --root --python --proxy --trusted-host"
    )
)


def pip(argv: list[str], case: CommandContext) -> Finding:
    """Judge `pip`, `pipx`, `uv`."""
    args = read(argv[1:], _PIP)
    operands = list(map(literal, args.operands))
    if argv[0] == "uv" and operands[:1] == ["pip"]:
        operands = operands[1:]
    verb, rest = (operands[0], operands[1:]) if operands else ("", [])
    if not operands:
        return FINE if args.has("--version", "-V", "--help", "-h") else unknown("C7", "pip without a task")
    if verb in ("list", "show", "freeze", "check", "help", "index", "inspect", "debug", "tree", "version"):
        return case.court.plain(Tool(operands="text"), argv[1:], case)
    if verb == "run" and argv[0] in ("uv", "pipx"):
        return worst(unknown("C7", f"{argv[0]} run"), case.court.argv(args.operands[1:], case))
    if verb in ("publish", "upload"):
        return dangerous("C7", "publishes")
    foreign = args.has(
        "-i", "--index-url", "--extra-index-url", "--find-links", "-f", "--trusted-host", "--index", "--default-index"
    )
    urls = [word for word in [*rest, *args.values("-r", "-e", "--editable", "--requirement", "-c")] if _URL.match(word)]
    if verb in ("install", "add", "download", "wheel", "inject", "sync", "upgrade", "tool") and (foreign or urls):
        return dangerous("C7", f"installs from a foreign place: {shown(urls[0]) if urls else 'another index'}")
    if found := case.court.secret(argv[1:]):
        return dangerous("C5.4", f"reads the secret file {shown(found)}")
    return unknown("C7", f"{argv[0]} {shown(verb)}: changes packages")


_MAKE = Tool(
    takes=words(
        "-C -f -I -j -l -o -W --directory --file --makefile --include-dir --jobs --old-file --what-if --eval -E"
    )
)


def make(argv: list[str], case: CommandContext) -> Finding:
    """Judge `make`: the names of its targets."""
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
        return unknown("C6.6", "make with another file or place")
    if targets and all(map(routine, targets)) and not settings:
        return _ROUTINE
    return unknown("C6.6", "make " + (shown(targets[0]) if targets else "without a target"))


def ruff(argv: list[str], case: CommandContext) -> Finding:
    """Judge `ruff`."""
    rest = argv[1:]
    if rest[:1] == ["check"] and not any(
        word.startswith(("--fix", "--unsafe-fixes", "--add-noqa", "--watch", "-o", "--output-file")) for word in rest
    ):
        return _ROUTINE
    if rest[:1] in (["version"], ["rule"], ["linter"], ["help"], ["--version"]):
        return FINE
    if rest[:1] == ["format"] and any(word in ("--check", "--diff") for word in rest):
        return _ROUTINE
    return unknown("C6.6", "ruff changes files")


def tsc(argv: list[str], case: CommandContext) -> Finding:
    """Judge `tsc`."""
    if any(word.lower() in ("--noemit", "--version", "-v", "--help", "-h", "--showconfig") for word in argv[1:]):
        return _ROUTINE
    return unknown("C6.6", "tsc writes files")


def subcommand(argv: list[str], case: CommandContext) -> Finding:
    """Judge a tool by the table of its subcommands."""
    name = argv[0]
    tool, rest = SUBCOMMANDS[name], argv[1:]
    path = [name]
    while tool.subs:
        args = read(rest, tool, stop=True)
        flags = {option for option, _ in args.options}
        if not args.operands:
            if flags & {"--help", "--version", "-h", "-v", "-V", "version"} and len(rest) == 1:
                return FINE
            break
        verb = literal(args.operands[0])
        if not is_static(verb):
            return unknown("C7", f"{' '.join(path)} with a task that is not in the text")
        path.append(verb)
        rest = args.operands[1:]
        if rest == ["--help"]:
            return FINE
        following = tool.subs.get(verb)
        if following is None:
            tool = Tool(rank=max(tool.rank, UNKNOWN), reason=tool.reason, rule=tool.rule)
            break
        tool = following
    finding = case.court.plain(tool, rest, case)
    finding = worst(_container(path, rest, case), finding, _extra(path, rest, case))
    return finding._replace(reason=f"{' '.join(map(shown, path))}: {finding.reason}") if finding.rank else finding


_RUN = SUBCOMMANDS["docker"].subs["run"]
_EXEC = Tool(takes=words("-e -u -w -c -n --env --user --workdir --env-file --container --namespace --context"))


def _container(path: list[str], rest: list[str], case: CommandContext) -> Finding:
    """Judge what runs in a container, and what the container may touch."""
    verb = path[-1]
    if path[0] not in (
        "docker",
        "podman",
        "nerdctl",
        "kubectl",
        "oc",
        "docker-compose",
        "podman-compose",
        "k3s",
    ) or verb not in ("run", "exec", "create", "debug"):
        return FINE
    tool = _RUN if verb in ("run", "create") and path[0] not in ("kubectl", "oc") else _EXEC
    args = read(rest, tool, stop=True)
    findings = [unknown("C4", "runs in a container")]
    mounts = args.values("-v", "--volume", "--mount")
    for mount in map(literal, mounts):
        source = re.sub(r".*?(?:source|src)=([^,]*).*", r"\1", mount) if "=" in mount else mount.partition(":")[0]
        if (
            source in ("/", "//")
            or re.match(r"/(?:etc|root|proc|sys|dev|boot|var/run|run|home|usr)(?:/|\Z)", source)
            or "docker.sock" in source
        ):
            findings.append(dangerous("C7", f"gives the container {shown(source)} of this machine"))
    if any(value in ("host",) for value in args.values("--pid", "--ipc", "--userns", "--uts")) or args.has("--cap-add"):
        findings.append(dangerous("C7", "gives the container rights on this machine"))
    if found := case.court.secret(args.values("--env-file")):
        findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
    inner = args.operands[1:]
    if "--" in rest:
        inner = rest[rest.index("--") + 1 :]
    if args.values("--entrypoint"):
        inner = [*args.values("--entrypoint"), *inner]
    if inner:
        findings.append(case.court.argv(inner, case))
    return worst(*findings)


def _extra(path: list[str], rest: list[str], case: CommandContext) -> Finding:
    name, verb = path[0], path[-1]
    joined = [literal(word) for word in rest]
    if (
        name in ("kubectl", "oc")
        and verb in ("get", "describe")
        and any(re.match(r"(?:.*,)?secrets?(?:/|,|\Z)", word) for word in joined)
    ):
        return dangerous("C5.4", "shows secrets of the cluster")
    if name in ("kubectl", "oc") and verb == "get" and any(word.startswith("--raw") for word in joined):
        return unknown("C7", "asks the cluster directly")
    if (
        name in ("kubectl", "oc")
        and path[1:] == ["config", "view"]
        and any(word.startswith("--raw") for word in joined)
    ):
        return dangerous("C5.4", "shows credentials of the cluster")
    if name == "gh" and path[1:2] == ["api"]:
        method = next((joined[at + 1] for at, word in enumerate(joined[:-1]) if word in ("-X", "--method")), "")
        if method.upper() == "DELETE" or any(word in ("-XDELETE", "--method=DELETE") for word in joined):
            return dangerous("C7", "deletes something at GitHub")
    if name == "go" and verb == "run" and any("@" in word and not word.startswith("-") for word in joined):
        return dangerous("C7", "downloads and runs code")
    if (
        name == "cargo"
        and verb == "install"
        and any(word.startswith(("--git", "--index", "--registry")) for word in joined)
    ):
        return dangerous("C7", "installs from a foreign place")
    if (
        name in ("gem", "brew")
        and any(word.startswith("--source") or _URL.match(word) for word in joined)
        and verb in ("install", "tap")
    ):
        return dangerous("C7", "installs from a foreign place")
    if name in ("apt", "apt-get", "dnf", "yum", "zypper", "apk", "snap", "brew", "dpkg") and any(
        _URL.match(word) for word in joined
    ):
        return dangerous("C7", "installs from a foreign place")
    if name == "helm" and verb in ("install", "upgrade") and any(word.startswith("--post-renderer") for word in joined):
        return dangerous("C6.5", "runs a program")
    if (
        name in ("apt", "apt-get", "dpkg", "dnf", "yum")
        and any(re.match(r"-o|--option|--pre-invoke|.*::(?:Pre|Post)-Invoke", word) for word in joined)
        and any("Invoke" in word or "Dir" in word or "Cmd" in word for word in joined)
    ):
        return dangerous("C6.5", "runs a program by an option")
    return FINE


def pacman(argv: list[str], case: CommandContext) -> Finding:
    """Judge `pacman` and its like by the operation's letter."""
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


def cloud(argv: list[str], case: CommandContext) -> Finding:
    """Judge a cloud's command line by its verbs."""
    name = argv[0]
    rest = [literal(word) for word in argv[1:]]
    plain = [word for word in rest if not word.startswith("-")]
    findings = [unknown("C7", f"works in a cloud: {name}"), *cloud_copy(argv, case)]
    for word in plain[:6]:
        if re.fullmatch(CLOUD_DESTROY.get(name, "(?!)"), word):
            findings.append(dangerous("C7", f"deletes in the cloud: {name} {word}"))
        if re.fullmatch(CLOUD_SECRETS.get(name, "(?!)"), word):
            findings.append(dangerous("C5.4", f"prints a secret: {name} {word}"))
    if found := case.court.secret(argv[1:]):
        findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
    looks = any(re.match(r"(?:describe|list|get|ls|show|status|version|info)", word) for word in plain[1:4])
    result = worst(*findings)
    return (
        FINE
        if result.rank == UNKNOWN
        and (looks or rest == ["--version"])
        and name in ("aws", "gcloud", "az", "doctl", "flyctl", "fly", "eksctl", "gsutil")
        else result
    )


_SQL = re.compile(SQL, re.IGNORECASE | re.DOTALL)


def database(argv: list[str], case: CommandContext) -> Finding:
    """Judge a database client by the statements in its arguments and its input."""
    text = " ".join(literal(word) for word in argv[1:])
    if case.stdin.kind == "text":
        text += "\n" + case.stdin.text
    if found := _SQL.search(text):
        return dangerous("C7", f"deletes data: {found.group()[:24]}")
    if re.search(
        r"\\!|\\copy|\.shell|\.system|\bcopy\b[^;]*\bprogram\b|\\o\s*\|?|\.output|\.once|\.import|system\s|"
        r"load_extension|into\s+(?:out|dump)file|config\s+set|eval\b",
        text,
        re.IGNORECASE,
    ):
        return dangerous("C7", "a database command that runs a program or writes a file")
    if found_name := case.court.secret(argv[1:]):
        return dangerous("C5.4", f"reads the secret file {shown(found_name)}")
    if case.stdin.kind == "data" and case.stdin.source:
        return unknown("C7", f"{argv[0]} runs statements from elsewhere")
    return unknown("C7", f"works in a database: {argv[0]}")


def secrets_tool(argv: list[str], case: CommandContext) -> Finding:
    """Judge tools that hold keys and tokens."""
    name, rest = argv[0], [literal(word) for word in argv[1:]]
    if name in ("gpg", "gpg2"):
        if any(re.match(r"--(?:export-secret|delete|gen-key|full-gen|decrypt)|-d\Z", word) for word in rest):
            return dangerous("C5.4", "exports, decrypts or deletes with private keys")
        if rest[:1] and rest[0] in (
            "--list-keys",
            "-k",
            "--list-public-keys",
            "--version",
            "--list-secret-keys",
            "-K",
            "--fingerprint",
            "--verify",
        ):
            return case.court.plain(Tool(), argv[1:], case)
    if name in (
        "pass",
        "op",
        "bw",
        "vault",
        "security",
        "secret-tool",
        "keyctl",
        "lpass",
        "keepassxc-cli",
        "sops",
        "age",
    ) and rest not in (["--version"], ["--help"], ["status"]):
        return dangerous("C5.4", f"reads or changes stored secrets: {name}")
    if (
        name == "openssl"
        and any(word in ("rsa", "pkcs12", "pkey", "enc", "s_client", "s_server", "pkcs8", "ec") for word in rest[:1])
        and name
    ):
        return (
            dangerous("C5.4", "handles private keys or opens a connection")
            if rest[0] != "enc"
            else case.court.plain(Tool(rank=UNKNOWN, reason="encrypts or decodes"), argv[1:], case)
        )
    if name == "ssh-add" and rest[:1] in (["-D"], ["-d"]):
        return dangerous("C5.4", "forgets keys")
    return case.court.plain(Tool(rank=UNKNOWN, reason=f"works with keys: {name}"), argv[1:], case)


PACKAGES: dict[str, ProgramHandler] = {
    **dict.fromkeys(("npm", "pnpm", "yarn"), node),
    **dict.fromkeys(("npx", "pnpx", "bunx", "uvx"), npx),
    **dict.fromkeys(("pip", "pip3", "pipx", "uv"), pip),
    **dict.fromkeys(("make", "gmake"), make),
    "ruff": ruff,
    "tsc": tsc,
    **dict.fromkeys(SUBCOMMANDS, subcommand),
    **dict.fromkeys(("pacman", "yay", "paru"), pacman),
    **dict.fromkeys(CLOUD_DESTROY, cloud),
    **dict.fromkeys(DATABASES, database),
    **dict.fromkeys(
        (
            "gpg",
            "gpg2",
            "pass",
            "op",
            "bw",
            "vault",
            "security",
            "secret-tool",
            "keyctl",
            "lpass",
            "keepassxc-cli",
            "sops",
            "age",
            "openssl",
            "ssh-add",
            "ssh-keygen",
        ),
        secrets_tool,
    ),
}
