"""Programs that run code: shells, interpreters, editors, and builtins that evaluate text (C2.4, C6)."""

import re

from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.file_rules import normal
from fourhands.safety.shell.levels import DANGEROUS, FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Arguments, Tool, read, words
from fourhands.safety.shell.parser.expansion import COMMAND, PROCESS, is_static, literal, shown
from fourhands.safety.shell.tables.names import INTERPRETERS, SHELLS
from fourhands.safety.shell.tables.tools import PROJECT

_STRING = re.compile(r"[\"']([^\"'\n]{1,255})[\"']")
_POSITIONAL = re.compile(r"\$[{@*0-9]")
_SHELL = Tool(takes=words("-o -O +o +O --rcfile --init-file --init-command"), texts=words("-c"))
_SHELL_OPTIONS = words(
    "-c -e -u -x -v -n -l -f -h -p -B -E -T -P --norc --noprofile --posix --login --verbose --no-rcs --no-config"
)
_SHELL_MODES = words(
    "errexit nounset pipefail xtrace verbose noglob noclobber posix nullglob globstar failglob extglob"
)
_OTHER_GRAMMARS = words("fish csh tcsh pwsh")
_STDIN = ("-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0")
# Calls that start programs, change files, open connections or evaluate decoded text, in any of the languages (C6.2).
RISKY_CALLS = re.compile(
    r"os\s*\.\s*(?:system|popen|exec\w*|spawn\w*|posix_spawn\w*|remove\w*|unlink|rename\w*|replace|chmod|"
    r"chown|rmdir|kill\w*|fork\w*|truncate|symlink|link|putenv)"
    r"|subprocess|pty\s*\.\s*spawn|\bexec\s*[(\"']|\beval\b|\bcompile\s*\(|__import__|importlib|\bshutil\b|"
    r"\bsocket\b|urllib|requests\b|http\.client|httplib|ftplib|smtplib"
    r"|\bctypes\b|pickle|marshal|b64decode|codecs|\.unlink\s*\(|\.rmdir\s*\(|write_text|write_bytes|"
    r"open\s*\([^)]{0,200},\s*(?:mode\s*=\s*)?['\"][rb]*[wax+]"
    r"|\bsystem\b|\bexec\b|\bqx\b|`|%x|\bpopen\b|\bunlink\b|rmtree|\bspawn\b|\bfork\b|shell_exec|passthru|"
    r"proc_open|pcntl_exec|base64_decode|fsockopen"
    r"|child_process|execSync|spawnSync|\bfs\s*\.\s*(?:rm|unlink|write|append|rename|chmod|truncate|rmdir|"
    r"copy|symlink|promises|createWriteStream)"
    r"|require\s*\(\s*['\"](?:node:)?(?:fs|net|http|https|child_process|dgram|tls|vm|"
    r"worker_threads)(?:/\w+)?['\"]|process\s*\.\s*(?:binding|kill)|new\s+Function|\bfetch\s*\("
    r"|Deno\s*\.\s*(?:run|Command|remove|write\w*)|Bun\s*\.\s*(?:spawn\w*|write)"
    r"|FileUtils|File\s*\.\s*(?:delete|unlink|write|rename|chmod)|IO\s*\.\s*(?:popen|write|sysopen)|Kernel|"
    r"Process\s*\.|Open3|Net::|TCPSocket|instance_eval|class_eval"
    r"|os\.execute|io\.popen|loadstring|os\.remove|os\.rename|IO::Socket|LWP|Socket|getattr\s*\(|globals\s*\(|"
    r"__builtins__|__subclasses__|__class__"
    r"|ProcessBuilder|Runtime\.|System\.cmd|:os\.cmd|do\s+shell\s+script|\[\s*exec|\bPy_|pty|"
    r"\\x[0-9a-f]{2}\\x|\bopen\s*\(?\s*(?:\w+\s*,\s*)?[\"'][^\"']{0,200}[|>]",
    re.IGNORECASE,
)


def shell(argv: list[str], context: CommandContext) -> Finding:
    """Classify a shell: `-c` text, a script file, or what it reads."""
    args = read(_plus(argv[1:]), _SHELL, stop=True)
    for value in args.values("--rcfile", "--init-file"):
        return dangerous("C6.3", f"starts a shell with the file {shown(value)}")
    if args.has("-c"):
        text = (args.values("-c") or [""])[0]
        # -c takes the first operand, also behind further options: bash -c -e 'x'.
        if text.startswith("-") and args.operands:
            text = args.operands[0]
        finding = context.classifier.script(literal(text), f"{argv[0]} -c")
        if argv[0] in _OTHER_GRAMMARS:
            finding = worst(unknown("C6.3", f"{argv[0]} reads words in another way"), finding)
        # sh -c '"$@"' _ rm x: the words behind the text may be the command.
        if finding.rank < DANGEROUS and _POSITIONAL.search(text):
            tails = [context.classifier.argv([*args.operands[first:], "{}"], context) for first in (0, 1)]
            finding = worst(finding, *(tail for tail in tails if tail.rank == DANGEROUS))
        return worst(finding, _shell_options(argv[0], args, context))
    if args.has("--version", "--help"):
        return FINE
    operand = args.operands[0] if args.operands else ""
    if operand and not args.has("-s") and operand not in _STDIN:
        return script_file(operand, argv[0], context)
    return stdin_program(argv[0], context)


def _shell_options(name: str, args: Arguments, context: CommandContext) -> Finding:
    """Classify the options beside `-c`: an interactive shell runs start-up files, and some change what words mean."""
    for option, value in args.options:
        if option in ("-C", "--init-command") and name == "fish" and value:
            return worst(
                unknown("C6.3", f"{name} {option}"), context.classifier.script(literal(value), f"{name} {option}")
            )
        known = value in _SHELL_MODES if option in ("-o", "-O") else option in _SHELL_OPTIONS
        if not known:
            return unknown("C6.3", f"{name} with an option that is not known to be harmless: {option}")
    return FINE


def _plus(rest: list[str]) -> list[str]:
    return ["-" + word[1:] if word.startswith("+") else word for word in rest]


def script_file(path: str, name: str, context: CommandContext) -> Finding:
    """Classify a file that is run as a program."""
    if PROCESS in path or COMMAND in path:
        return dangerous("C6.3", f"{name} runs what another command prints")
    if normal(path, context.classifier.cwd) in context.classifier.downloads:
        return dangerous("C7", f"runs the download {shown(path)}")
    if found := context.classifier.secret([path]):
        return dangerous("C5.4", f"reads the secret file {shown(found)}")
    return unknown("C6.1", f"{name} runs the script {shown(path)}")


def stdin_program(name: str, context: CommandContext) -> Finding:
    """Classify an interpreter that reads its program from its input."""
    stdin = context.stdin
    if stdin.kind == "data":
        return dangerous("C6.3", f"{name} runs whatever is piped or redirected into it")
    if stdin.kind == "text":
        if name not in SHELLS:
            return code(stdin.text, name, context)
        finding = context.classifier.script(stdin.text, f"{name} with text as its input")
        # A here-document is a script like any other; echoed text is at least worth a look.
        return finding if stdin.source == "<<" else worst(unknown("C6.3", f"runs text in {name}"), finding)
    return unknown("C6.1", f"starts an interactive {name}")


def code(text: str, name: str, context: CommandContext) -> Finding:
    """Classify inline code of an interpreter."""
    if not is_static(text):
        return dangerous("C6.2", f"{name} runs code that is only known at run time")
    if found := RISKY_CALLS.search(text):
        return dangerous(
            "C6.2", f"{name} code that may run programs, change files or connect: {found.group().strip()[:24]}"
        )
    if named := context.classifier.secret(_STRING.findall(text)):
        return dangerous("C5.4", f"{name} code that names the secret file {shown(named)}")
    return unknown("C6.2", f"runs {name} code")


def interpreter(argv: list[str], context: CommandContext) -> Finding:
    """Classify an interpreter: inline code, a module, a script, or its input."""
    name = _language(argv[0])
    tool = INTERPRETERS[name]
    rest = argv[1:]
    if len(rest) == 1 and rest[0] in ("--version", "-V", "-v", "--help", "-VV"):
        return FINE
    args = read(rest, tool, stop=True)
    if name == "python" and (module := _module(rest)):
        return _python_module(module[0], module[1], context)
    findings = [unknown("C6.1", f"runs {argv[0]}")]
    options = {option for option, _ in args.options}
    texts = [value for option, value in args.options if option in tool.texts and value is not None]
    # perl -ne, ruby -pe: code behind a bundle.
    findings.extend(code(literal(text), name, context) for text in texts)
    if options & {"-r", "--require", "--import", "--loader", "--preload", "-L", "-l"} and name in (
        "node",
        "bun",
        "ruby",
        "julia",
        "lua",
    ):
        findings.append(unknown("C6.1", "loads other code first"))
    if name == "php" and options & {"-S"}:
        findings.append(dangerous("C7", "starts a server"))
    if name in ("perl", "ruby") and options & {"-i"}:
        findings.append(unknown("C5.2", "edits files in place"))
    if name == "perl" and any(value and re.match(r"[\w:]*[ =(]", value) for value in args.values("-M", "-m")):
        findings.append(code(" ".join(args.values("-M", "-m")), name, context))
    if not texts:
        operand = args.operands[0] if args.operands else ""
        if operand and operand not in _STDIN:
            findings.append(_subcommand(name, args.operands, context) or script_file(operand, argv[0], context))
        else:
            findings.append(stdin_program(name, context))
    if found := context.classifier.secret([word for word in rest if word not in texts]):
        findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
    result = worst(*findings)
    if name == "bun" and rest[:1] == ["test"] and result.rank < DANGEROUS:
        return FINE
    return result


def _language(name: str) -> str:
    plain = re.sub(r"[\d.]+\Z", "", name)
    return name if name in INTERPRETERS else {"pypy": "python", "nodejs": "node"}.get(plain, plain)


def _subcommand(name: str, operands: list[str], context: CommandContext) -> Finding | None:
    if name == "deno":
        if operands[0] == "eval":
            return code(literal(" ".join(operands[1:])), name, context)
        return unknown("C6.1", f"deno {shown(operands[0])}")
    if name == "bun":
        return unknown("C6.1", f"bun {shown(operands[0])}")
    return None


def _module(rest: list[str]) -> tuple[str, list[str]] | None:
    """Find `-m MODULE`, which ends python's own options; it may be bundled, as in `-Im`."""
    for at, word in enumerate(rest):
        found = re.fullmatch(r"-[bBdEhiIOqsSuvVx]*m(.*)", word)
        if found:
            return (
                (found.group(1), rest[at + 1 :])
                if found.group(1)
                else (rest[at + 1] if at + 1 < len(rest) else "", rest[at + 2 :])
            )
        if not word.startswith("-") or re.fullmatch(r"-[bBdEhiIOqsSuvVx]*c.*", word):
            return None
    return None


def _python_module(module: str, rest: list[str], context: CommandContext) -> Finding:
    if module in ("pytest", "mypy"):
        return context.classifier.plain(PROJECT[module], rest, context)
    if module == "json.tool":
        return context.classifier.plain(Tool(operands="second", rule="C6.6"), rest, context)
    if module in ("pip", "ruff", "fourhands", "tox", "pipx", "poetry", "twine", "black"):
        return context.classifier.argv([module, *rest], context)
    if module in ("http.server", "SimpleHTTPServer", "smtpd", "pyftpdlib"):
        return dangerous("C7", "offers local files to the network")
    if found := context.classifier.secret(rest):
        return dangerous("C5.4", f"reads the secret file {shown(found)}")
    return unknown("C6.1", f"runs the Python module {shown(module)}")


def evaluate(argv: list[str], context: CommandContext) -> Finding:
    """Classify `eval`: its arguments are a script."""
    rest = argv[1:]
    first = 0
    while first < len(rest) and rest[first] in ("eval", "--"):
        first += 1
    return context.classifier.script(" ".join(literal(word) for word in rest[first:]), "eval")


def trap(argv: list[str], context: CommandContext) -> Finding:
    """Classify `trap`: its first argument is a script."""
    rest = [word for word in argv[1:] if word != "--"]
    if not rest or rest[0] in ("-p", "-l", "-") or len(rest) == 1:
        return FINE
    return context.classifier.script(literal(rest[0]), "trap")


def alias(argv: list[str], context: CommandContext) -> Finding:
    """Classify `alias`: each value is a script."""
    findings = [FINE]
    for word in argv[1:]:
        name, equals, value = literal(word).partition("=")
        if equals:
            findings.append(
                worst(unknown("C2.4", f"changes what {name} means"), context.classifier.script(value, "alias"))
            )
    return worst(*findings)


def source(argv: list[str], context: CommandContext) -> Finding:
    """Classify `source`: a file, or what another command prints."""
    operand = next((word for word in argv[1:] if word != "--"), "")
    if operand in _STDIN:
        return stdin_program("sh", context)
    return script_file(operand, "source", context) if operand else FINE


def completion(argv: list[str], context: CommandContext) -> Finding:
    """Classify `complete`, `compgen`, `bind` and `mapfile`: some of their options hold text that is run later."""
    findings = [unknown("C2.4", f"{argv[0]} changes how the shell reacts") if argv[0] in ("bind", "complete") else FINE]
    for at, word in enumerate(argv[1:-1], 1):
        if word == "-C":
            findings.append(context.classifier.script(literal(argv[at + 1]), f"{argv[0]} -C"))
        elif word == "-x" and argv[0] == "bind":
            text = literal(argv[at + 1]).partition(":")[2].strip().strip("\"'")
            findings.append(context.classifier.script(text, "bind -x"))
    return worst(*findings)


_NAMES_VARIABLE = re.compile(r"\$\(|`")


def names_variable(argv: list[str], context: CommandContext) -> Finding:
    """Classify builtins that take a variable's name: a subscript in it is evaluated (C2.5)."""
    name = argv[0]
    if name in ("test", "[", "[["):
        checked = [argv[at + 1] for at, word in enumerate(argv[:-1]) if word in ("-v", "-R")]
        if name == "[[":
            # Arithmetic comparison evaluates both sides.
            for at, word in enumerate(argv):
                if word in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
                    checked.extend(argv[max(0, at - 1) : at + 2])
    elif name == "printf":
        checked = [argv[at + 1] for at, word in enumerate(argv[:-1]) if word == "-v"]
        checked += [word[2:] for word in argv if word.startswith("-v") and len(word) > 2]
        checked += [word for word in argv[2:] if re.match(r"\w+\[", word)]  # zsh evaluates what is printed as a number
    else:
        checked = argv[1:]
    for word in checked:
        if _NAMES_VARIABLE.search(literal(word)):
            return dangerous("C2.5", f"a command hidden in a variable's name: {shown(word)[:40]}")
    return FINE


_EDITOR = Tool(takes=words("-c --cmd -S -s -u -U -i -T -w -W"), texts=words("-c --cmd"))
_EDITS = re.compile(r"-[a-zA-Z]*c|--cmd|--remote-(?:expr|send)")  # what stands behind is a command
_ESCAPE = re.compile(
    r"!|system\s*\(|\bpy\w*\b|\blua\b|\bperl\b|\bruby\b|\btcl\b|\bterm|shell|\bsh\b|\bl?mak|prg|eval|execute|source|\bso\b|call|\bmz|\bru\b|runtime|\bpa(?:ckadd)?\b|\bnorm|"
    r"diffexpr|exrc|modeline|delete|\bw\b|\bwq?\b",
    re.IGNORECASE,
)


def editor(argv: list[str], context: CommandContext) -> Finding:
    """Classify an editor: its commands may start programs."""
    rest = argv[1:]
    if rest in (["--version"], ["--help"]):
        return FINE
    args = read(rest, _EDITOR)
    # In ex's silent mode -s has no value, so the command may stand behind it.
    behind = [rest[at + 1] for at, word in enumerate(rest[:-1]) if _EDITS.fullmatch(word)]
    if argv[0] in ("ed", "red", "ex"):
        behind += [word for word in args.operands if word[:1] == "!"]  # the output of a command
    commands = args.values("-c", "--cmd") + behind + [word[1:] for word in rest if word.startswith("+")]
    if context.stdin.kind == "text":
        commands.append(context.stdin.text)
    if context.stdin.kind == "data" and argv[0] in ("ed", "red", "ex", "vi", "vim", "nvim"):
        return dangerous("C6.5", f"{argv[0]} runs whatever commands are piped into it")
    for command in map(literal, commands):
        if (
            "!" in command
            or re.search(r"system(?:list)?\s*\(", command)
            or not is_static(command)
            or _ESCAPE.search(command)
        ):
            return dangerous("C6.5", f"{argv[0]} runs an editor command: {shown(command)[:40]}")
    if argv[0] == "emacs" and any(
        word.startswith(("--ev", "-ev", "--exec", "-exec", "-f", "--funcall", "--script", "-l", "--load"))
        for word in rest
    ):
        return dangerous("C6.5", "emacs runs code")
    if found := context.classifier.secret(args.operands):
        return dangerous("C5.4", f"opens the secret file {shown(found)}")
    return unknown("C5.2", f"edits files with {argv[0]}")


def session(argv: list[str], context: CommandContext) -> Finding:
    """Classify `tmux` and `screen`: keys sent to another shell are a script."""
    findings = [unknown("C7", f"{argv[0]} starts or controls other shells")]
    for at, word in enumerate(argv):
        if word in ("send-keys", "send", "send-prefix"):
            keys = [literal(key) for key in argv[at + 1 :] if key not in ("Enter", "C-m", "-l")]
            if keys[:1] == ["-t"]:
                keys = keys[2:]
            findings.append(context.classifier.script(" ".join(keys), "tmux send-keys"))
        elif word in (
            "new-session",
            "new",
            "new-window",
            "neww",
            "split-window",
            "splitw",
            "respawn-pane",
            "run-shell",
            "run",
            "if-shell",
            "pipe-pane",
            "popup",
            "display-popup",
        ):
            inner = [key for key in argv[at + 1 :] if not key.startswith("-")]
            findings.extend(
                context.classifier.script(literal(text), f"tmux {word}") for text in inner[-1:] if " " in text
            )
            findings.extend([context.classifier.argv(inner, context)] if inner else [])
        elif word in ("kill-server", "kill-session"):
            findings.append(unknown("C7", f"tmux {word} ends programs"))
        elif word in ("-X", "stuff") and argv[0] == "screen":
            findings.append(dangerous("C2.4", "screen sends keys to another shell"))
    return worst(*findings)


CODE: dict[str, ProgramHandler] = {
    **dict.fromkeys(SHELLS, shell),
    **dict.fromkeys(INTERPRETERS, interpreter),
    "eval": evaluate,
    "trap": trap,
    "alias": alias,
    "source": source,
    **dict.fromkeys(("complete", "compgen", "bind", "mapfile", "readarray"), completion),
    ".": source,
    **dict.fromkeys(
        (
            "vi",
            "vim",
            "vimdiff",
            "nvimdiff",
            "gvimdiff",
            "nvim",
            "ex",
            "ed",
            "view",
            "rvim",
            "rview",
            "nano",
            "pico",
            "emacs",
            "micro",
            "joe",
            "jed",
            "mg",
            "gvim",
            "red",
        ),
        editor,
    ),
    **dict.fromkeys(("tmux", "screen"), session),
}
VERSIONED = re.compile(r"(?:python|pypy|ruby|perl|php|lua|node|nodejs|tclsh)[\d.]*")
