"""Programs on files and processes whose arguments need more than a table (C4, C5, C6.4)."""

import re

from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.file_rules import NULL, is_outside, is_protected, normal, written
from fourhands.safety.shell.globs import found_narrowly, lists_narrowly
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, words
from fourhands.safety.shell.parser.expansion import DYNAMIC, is_static, literal, shown
from fourhands.safety.shell.tables.names import SHELLS
from fourhands.safety.shell.tables.system import LOOK_OPTIONS, LOOKS, LOOKS_BARE, SYSTEM

_RM = Tool()
_ACTION = {"-exec", "-execdir", "-ok", "-okdir"}
_FIND_WRITES = {"-fprint", "-fprint0", "-fls", "-fprintf"}
_FIND_NAMES = words("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname")


def rm(argv: list[str], context: CommandContext) -> Finding:
    """Classify `rm`: any operand is a file that goes."""
    count = len(read(argv[1:], _RM).operands)
    if count:
        return dangerous("C5.1", f"deletes files: rm with {count} operand{'s' if count > 1 else ''}")
    return unknown("C5.1", "rm without an operand")


def move(argv: list[str], context: CommandContext) -> Finding:
    """Classify `cp`, `mv`, `ln`, `install`: sources are read, the target is written, the null device destroys."""
    name = argv[0]
    args = read(argv[1:], SYSTEM[name])
    targets = args.values("-t", "--target-directory")
    sources = args.operands if targets else args.operands[:-1]
    targets = targets or args.operands[-1:]
    findings = [unknown("C5.2", SYSTEM[name].reason)]
    if any(normal(word) == NULL for word in (*sources, *targets)):
        findings.append(dangerous("C5.1", f"{name} from or to the null device empties or loses files"))
    findings.extend(
        written(word, context.classifier.cwd) for word in targets if len(args.operands) > 1 or args.values("-t")
    )
    if name == "mv" or name == "ln":
        findings.extend(
            dangerous("C5.2", f"{name} of {shown(word)}: a system place")
            for word in sources
            if is_protected(word, context.classifier.cwd) and name == "mv"
        )
    if found := context.classifier.secret(sources):
        findings.append(dangerous("C5.4", f"copies the secret file {shown(found)}"))
    if name == "install" and any(re.search(r"[4267]\d{3}|[ugo+]s", mode) for mode in args.values("-m", "--mode")):
        findings.append(dangerous("C5.3", "installs a set-uid program"))
    return worst(*findings)


_CHMOD = Tool(takes=words("--reference --from -m -x -M -b --set-file --modify-file -p"))


def mode(argv: list[str], context: CommandContext) -> Finding:
    """Classify `chmod`, `chown`, `chgrp`, `setfacl`, `chattr`."""
    name = argv[0]
    args = read(argv[1:], _CHMOD)
    if args.has("-R", "--recursive"):
        return dangerous("C5.3", f"{name} of a whole directory tree")
    given = [word for word in argv[1:] if not word.startswith("--")]
    for word in given:
        text = literal(word)
        if (
            name == "chmod"
            and re.fullmatch(r"[0-7]{1,5}", text)
            and (int(text, 8) & 0o7002 & ~0o1000 or int(text, 8) & 0o1002 == 0o1002)
        ):
            return dangerous("C5.3", f"chmod {text}: world-writable or set-uid")
        if name == "chmod" and re.search(
            r"(?:^|,)[ugoa]*[ao][ugoa]*[+=][rxXst]*w|(?:^|,)[+=][rxX]*w|(?:^|,)[ugoa]*[+=][rwxXt]*s", text
        ):
            return dangerous("C5.3", f"chmod {text}: world-writable or set-uid")
        if name in ("chown", "chgrp") and re.fullmatch(r"(?:root|0)(?:[:.].*)?|.*[:.](?:root|0|wheel)", text):
            return dangerous("C5.3", f"{name} to root")
        if name == "chattr" and re.fullmatch(r"[+=-][A-Za-z]*[ia][A-Za-z]*", text):
            return dangerous("C5.3", "changes the immutable flag")
        if name == "setfacl" and re.search(r"(?:^|,)o(?:ther)?::?[rx-]*w", text):
            return dangerous("C5.3", "makes a file world-writable")
    for word in args.operands:
        if is_protected(word, context.classifier.cwd) or word in ("/", "~"):
            return dangerous("C5.3", f"{name} of {shown(word)}: a system place")
        if normal(word, context.classifier.cwd) in context.classifier.downloads and name == "chmod":
            return dangerous("C7", f"makes the download {shown(word)} executable")
    return unknown("C5.3", "changes a file's permissions or owner")


def kill(argv: list[str], context: CommandContext) -> Finding:
    """Classify `kill` by the processes it names."""
    rest = [literal(word) for word in argv[1:]]
    if rest[:1] in (["-l"], ["-L"], ["--list"], ["--table"]) and len(rest) <= 2:
        return FINE
    if rest and rest[0] in ("-s", "-n", "--signal"):
        rest = rest[2:]
    elif rest and re.fullmatch(r"-(?:[A-Za-z][\w+-]*|\d+)|--signal=.*", rest[0]) and len(rest) > 1:
        rest = rest[1:]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    for word in rest:
        if re.fullmatch(r"-\d+", word) or word in ("0", "1"):
            return dangerous("C5.5", f"kills a whole group or the first process: {word}")
        if not re.fullmatch(r"\d+|%.*", word) and is_static(word):
            return dangerous("C5.5", f"kills by name: {word}")
    return unknown("C5.5", "ends a process")


def find(argv: list[str], context: CommandContext) -> Finding:
    """Classify `find`: its actions, and the commands it runs."""
    findings = [FINE]
    rest = argv[1:]
    names = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in _FIND_NAMES]
    roots: list[str] = []
    for word in rest:
        if word[:1] in ("-", "(", "!"):
            break
        roots.append(word)
    bait = context.classifier.secret([*names, *roots])
    workspace = context.classifier.rules.workspace
    outside = any(is_outside(root, context.classifier.cwd, workspace) for root in roots)
    some = bait or ("" if found_narrowly(rest) and not outside else DYNAMIC)
    at = 0
    while at < len(rest):
        word = rest[at]
        at += 1
        if word == "-delete":
            findings.append(dangerous("C5.1", "deletes files: find -delete"))
        elif word in _FIND_WRITES and at < len(rest):
            findings.append(written(rest[at], context.classifier.cwd))
            at += 1
        elif word in ("-files0-from",):
            findings.append(unknown("C5.4", "find reads a list of files"))
            if found := context.classifier.secret(rest[at : at + 1]):
                findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
        elif word in _ACTION:
            end = next(
                (
                    place
                    for place in range(at, len(rest))
                    if rest[place] == ";" or (rest[place] == "+" and rest[place - 1] == "{}")
                ),
                len(rest),
            )
            here = context.classifier.cwd
            if word.endswith("dir"):
                context.classifier.cwd = DYNAMIC
            findings.append(_each(rest[at:end], some, f"find {word}", context))
            context.classifier.cwd = here
            at = end + 1
        elif not is_static(word) and word[:1] in "\ue000\ue008" and word not in roots:
            findings.append(unknown("C3.1", "find with an argument that is only known at run time"))
    return worst(*findings)


def _each(inner: list[str], bait: str, what: str, context: CommandContext) -> Finding:
    """Classify a command that runs once for each file; `bait` is a secret name among those files."""
    if not inner:
        return unknown("C4", f"{what} without a command")
    name = inner[0].rsplit("/", 1)[-1]
    if name in SHELLS or name == "{}":
        script = next((word for word in inner[1:] if not word.startswith("-")), "")
        if name == "{}" or not script or "{}" in script or script == "-":
            return dangerous("C4", f"{what} builds a shell script from file names")
    if bait and not (bait == DYNAMIC and name == "wc"):  # which prints numbers only
        inner = [word.replace("{}", bait) if "{}" in word else word for word in inner]
    return context.classifier.argv(inner, context)


_FD_RUNS = re.compile(r"-[HIuiasgpFl0L1q]+[xX]")  # -Hx, with the command behind it
_FD_PLACES = ("--base-directory", "--search-path")
_FD = Tool(
    operands="name",
    takes=words(
        "-e -t -d -E -S -g -c -j -o --extension --type --max-depth --min-depth --exclude --size --color "
        "--threads --base-directory --search-path --changed-within --changed-before --owner --max-results"
    ),
)


def fd(argv: list[str], context: CommandContext) -> Finding:
    """Classify `fd`, which may run a command for each file."""
    for at, word in enumerate(argv[1:], 1):
        if word in ("-x", "-X", "--exec", "--exec-batch") or _FD_RUNS.fullmatch(word):
            inner = argv[at + 1 :]
            end = next((place for place, sign in enumerate(inner) if sign == ";"), len(inner))
            inner = inner[:end] if "{}" in " ".join(inner) else [*inner[:end], "{}"]
            places = [*read(argv[1:at], _FD).operands[1:], *read(argv[1:at], _FD).values(*_FD_PLACES)]
            rules = context.classifier.rules
            outside = any(is_outside(place, context.classifier.cwd, rules.workspace) for place in places)
            narrow = lists_narrowly(argv[:at]) and not outside
            bait = context.classifier.secret(argv[1:at]) or ("" if narrow else DYNAMIC)
            return worst(FINE, _each(inner, bait, f"fd {word}", context))
        if word.startswith(("--exec=", "--exec-batch=")) or (
            re.fullmatch(r"-\w*[xX].+", word) and not word.startswith("--") and word[1] in "xX"
        ):
            return dangerous("C4", "fd runs a command that is joined to its option")
    return context.classifier.plain(_FD, argv[1:], context)


_TAR = Tool(
    takes=words(
        "-f -C -b -T -X -g -K -N -V -H -L --file --directory --files-from --exclude --exclude-from "
        "--transform --strip-components --owner --group --mode --format --newer -s"
    ),
    runs=words(
        "-I -F --use-compress-program --to-command --info-script --new-volume-script --rsh-command --rmt-command"
    ),
    danger={"--remove-files": "C5.1 deletes the files it archives", "--checkpoint-action": "C6.5 runs a program"},
)


def tar(argv: list[str], context: CommandContext) -> Finding:
    """Classify `tar`: listing reads, the rest writes."""
    rest = list(argv[1:])
    if (rest and re.fullmatch(r"[A-Za-z]+", rest[0]) and rest[0][0] in "cxtruAd") or (
        rest and re.fullmatch(r"[a-zA-Z]*[cxtruAd][a-zA-Z]*", rest[0])
    ):
        rest = _old_style(rest)
    args = read(rest, _TAR)
    findings = [context.classifier.plain(_TAR, rest, context)]
    lists = args.has("-t", "--list", "-d", "--diff", "--compare") and not args.has(
        "-x", "-c", "-r", "-u", "-A", "--extract", "--get", "--create"
    )
    if not lists:
        findings.append(unknown("C5.2", "writes an archive or its files"))
    elif any(":" in value.partition("/")[0] for value in args.values("-f", "--file")):
        findings.append(unknown("C7", "reads an archive on another host"))
    findings.extend(
        dangerous("C5.2", f"extracts into {shown(value)}")
        for value in args.values("-C", "--directory")
        if is_protected(value, context.classifier.cwd) or normal(value) == "/"
    )
    if args.has("-P", "--absolute-names") and args.has("-x", "--extract"):
        findings.append(dangerous("C5.2", "extracts to absolute paths"))
    if not lists and args.has("-c", "-r", "-u", "--create"):
        findings.extend(written(value, context.classifier.cwd) for value in args.values("-f", "--file") if value != "-")
        if any(":" in value and not value.startswith(("/", ".")) for value in args.values("-f", "--file")):
            findings.append(dangerous("C7", "sends an archive to another host"))
    return worst(*findings)


def _old_style(rest: list[str]) -> list[str]:
    """Turn `tar xfC a d` into options with their values."""
    letters, queue = rest[0], rest[1:]
    out = []
    for letter in letters[:20]:
        out.append("-" + letter)
        if "-" + letter in _TAR.with_value and queue:
            out.append(queue.pop(0))
    return out + queue


def looks(argv: list[str], context: CommandContext) -> Finding:
    """Classify programs that change the system, but have forms that only look."""
    name, rest = argv[0], argv[1:]
    if found := context.classifier.secret(rest):
        return dangerous("C5.4", f"could read the secret file {shown(found)}")
    options = [word for word in rest if word.startswith("-")]
    operands = [word for word in rest if not word.startswith("-")]
    allowed = LOOK_OPTIONS.get(name, frozenset())
    if options and options[0].partition("=")[0] in allowed and len(options) == 1 and (not operands or name != "mount"):
        return FINE
    if not rest and name in LOOKS_BARE:
        return FINE
    skip = {
        "--no-pager",
        "--user",
        "--system",
        "--all",
        "-a",
        "-l",
        "--full",
        "-q",
        "--quiet",
        "--plain",
        "--no-legend",
    }
    if operands and operands[0] in LOOKS.get(name, frozenset()):
        return FINE
    if (
        name == "systemctl"
        and not operands
        and all(option in skip or option.startswith(("--type", "--state", "--failed")) for option in options)
    ):
        return FINE
    if name == "service" and (operands[1:] == ["status"] or rest == ["--status-all"]):
        return FINE
    if name == "crontab" and options == ["-e"]:
        return unknown("C5.5", "opens a cron table in an editor")
    if name == "sysctl" and len(operands) == len(rest) == 1 and "=" not in operands[0]:
        return FINE
    return context.classifier.plain(SYSTEM.get(name, Tool(rank=1, reason="not known to be harmless")), rest, context)


def ip(argv: list[str], context: CommandContext) -> Finding:
    """Classify `ip`: showing is safe, everything else changes links."""
    rest = [word for word in argv[1:] if not word.startswith("-")]
    if any(word.startswith(("-b", "-force", "-n", "--netns")) for word in argv[1:]) and not any(
        word in ("-br", "-brief") for word in argv[1:]
    ):
        return dangerous("C5.5", "ip reads commands from a file or enters a network namespace")
    if len(rest) <= 1 or rest[1] in ("show", "list", "ls", "get", "s", "l", "sh", "li"):
        if rest and rest[0].startswith(("netns", "vrf")) and rest[1:2] not in (["list"], ["show"]):
            return dangerous("C5.5", "ip netns")
        return FINE
    return dangerous("C5.5", "changes network links")


def hostname(argv: list[str], context: CommandContext) -> Finding:
    """Classify `hostname`: an operand sets it."""
    if any(not word.startswith("-") for word in argv[1:]):
        return dangerous("C5.5", "sets the host name")
    return context.classifier.plain(
        Tool(operands="text", danger={"-F": "sets the host name", "--file": "sets it", "-b": "sets it"}),
        argv[1:],
        context,
    )


def date(argv: list[str], context: CommandContext) -> Finding:
    """Classify `date`: an operand without `+` sets the clock."""
    from fourhands.safety.shell.tables.readers import READERS

    args = read(argv[1:], READERS["date"])
    finding = context.classifier.plain(READERS["date"], argv[1:], context)
    if any(re.fullmatch(r"\d{6,}[\d.]*", word) for word in args.operands):
        return dangerous("C5.5", "sets the clock")
    found = context.classifier.secret(args.values("-f", "--file", "-r"))
    return dangerous("C5.4", f"reads the secret file {shown(found)}") if found else finding


def archive(argv: list[str], context: CommandContext) -> Finding:
    """Classify `zip`, `unzip`, `7z` and their like."""
    name, rest = argv[0], argv[1:]
    if name == "unzip" and any(
        word in ("-l", "-v", "-Z", "-t", "-p") or re.fullmatch(r"-[lvtqZz1]+", word) for word in rest[:2]
    ):
        return context.classifier.plain(Tool(), rest, context)
    if name in ("zipinfo", "gzip", "xz", "zstd", "bzip2") and (
        name == "zipinfo" or any(re.fullmatch(r"-[tlv]+|--list|--test", word) for word in rest)
    ):
        return context.classifier.plain(Tool(), rest, context)
    if name == "zip" and any(word.startswith(("-TT", "--unzip-command")) for word in rest):
        return dangerous("C6.5", "zip runs a program to test")
    if name == "zip" and any(re.fullmatch(r"-\w*m\w*|--move", word) and word != "-mm" for word in rest):
        return dangerous("C5.1", "zip deletes the files it archives")
    if name == "unzip":
        for at, word in enumerate(rest):
            if (
                word == "-d"
                and at + 1 < len(rest)
                and (is_protected(rest[at + 1], context.classifier.cwd) or normal(rest[at + 1]) == "/")
            ):
                return dangerous("C5.2", f"extracts into {shown(rest[at + 1])}")
    if name in ("7z", "7za", "7zz") and rest[:1] == ["l"]:
        return context.classifier.plain(Tool(), rest, context)
    if name in ("7z", "7za", "7zz", "rar") and any(word.startswith(("-sdel", "-df")) for word in rest):
        return dangerous("C5.1", "deletes the files it archives")
    return context.classifier.plain(Tool(rank=1, rule="C5.2", reason="writes an archive or its files"), rest, context)


def cd(argv: list[str], context: CommandContext) -> Finding:
    """Classify a change of directory, and follow it."""
    operands = [DYNAMIC if word == "-" else word for word in argv[1:] if word == "-" or not word.startswith("-")]
    if operands or len(argv) == 1:
        moved = FINE._replace(reason="changes the directory")
        return worst(moved, context.classifier.enter(operands[-1] if operands else "~"))
    return FINE  # back to where the line has been before


FILES: dict[str, ProgramHandler] = {
    "rm": rm,
    **dict.fromkeys(("cp", "mv", "ln", "install"), move),
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl", "chattr"), mode),
    "kill": kill,
    "find": find,
    **dict.fromkeys(("fd", "fdfind"), fd),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), tar),
    **dict.fromkeys({*LOOKS, *LOOK_OPTIONS, *LOOKS_BARE}, looks),
    "ip": ip,
    "hostname": hostname,
    "date": date,
    **dict.fromkeys(
        ("zip", "unzip", "zipinfo", "7z", "7za", "7zz", "rar", "unrar", "gzip", "xz", "zstd", "bzip2"), archive
    ),
    **dict.fromkeys(("cd", "chdir", "pushd"), cd),
}
