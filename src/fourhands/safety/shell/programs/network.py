"""Programs that connect to other machines (C7 network, C4 other machines)."""

import re

from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.file_rules import normal, written
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, words
from fourhands.safety.shell.parser.expansion import COMMAND, PROCESS, literal, shown

_CURL = Tool(
    rank=1,
    reason="contacts another machine",
    operands="text",
    takes=words(
        "-A -b -C -c -D -d -E -e -F -H -K -m -o -P -Q -r -T -t -U -u -w -X -x -Y -y -z --user-agent --cookie "
        "--cookie-jar --dump-header --data --data-raw --data-binary "
        "--data-ascii --data-urlencode --json --form --form-string --header --config --max-time --output "
        "--output-dir --quote --range --upload-file --user --write-out "
        "--request --proxy --url --referer --cert --key --cacert --connect-timeout --retry --resolve "
        "--interface --limit-rate --unix-socket --netrc-file --etag-save --trace "
        "--trace-ascii --stderr --hsts --alt-svc --libcurl --variable --url-query --doh-url --engine --proto "
        "--max-redirs --oauth2-bearer"
    ),
)
_CURL_DATA = (
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-ascii",
    "--data-urlencode",
    "--json",
    "-F",
    "--form",
    "--url-query",
)
_CURL_WRITES = (
    "-o",
    "--output",
    "-D",
    "--dump-header",
    "-c",
    "--cookie-jar",
    "--trace",
    "--trace-ascii",
    "--stderr",
    "--libcurl",
    "--etag-save",
    "--hsts",
    "--alt-svc",
)
_WGET = Tool(
    rank=1,
    reason="downloads",
    operands="text",
    takes=words(
        "-O -o -a -P -i -U -t -T -w -Q -l -A -R -D -X -I -e --output-document --output-file --append-output "
        "--directory-prefix --input-file --user-agent --post-data "
        "--post-file --body-file --body-data --method --header --execute --load-cookies --save-cookies --user "
        "--password --tries --timeout --wait --use-askpass --config "
        "--base --warc-file --level --accept --reject --domains --ca-certificate --certificate --private-key"
    ),
)
_LOOPBACK = re.compile(r"(?:localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0|\[::\])[: ](?:440[4-9]|441\d)\b")


def _common(argv: list[str], context: CommandContext) -> list[Finding]:
    findings = [FINE]
    joined = " ".join(argv)
    if COMMAND in joined or PROCESS in joined:
        findings.append(dangerous("C7", f"sends what a command prints with {argv[0]}"))
    if _LOOPBACK.search(joined):
        findings.append(dangerous("C7", "connects to Fourhands itself"))
    return findings


def curl(argv: list[str], context: CommandContext) -> Finding:
    """Classify `curl`: plain requests ask, local files that leave are dangerous."""
    args = read(argv[1:], _CURL)
    findings = [unknown("C7", "contacts another machine: curl"), *_common(argv, context)]
    for option, value in args.options:
        value = literal(value or "")
        if option in _CURL_DATA and re.match(r"[^=@]*=?[@<]", value) and option not in ("--data-raw",):
            findings.append(dangerous("C7", f"sends a local file: {option} {shown(value)}"))
        elif option in ("-T", "--upload-file"):
            findings.append(dangerous("C7", f"sends a local file: {shown(value)}"))
        elif option in ("-X", "--request") and value.upper() == "DELETE":
            findings.append(dangerous("C7", "deletes something on another machine"))
        elif option in _CURL_WRITES and value not in ("-", ""):
            findings.append(written(value, context.classifier.cwd))
        elif option in ("-K", "--config", "--netrc-file", "-n", "--netrc", "--engine"):
            findings.append(
                dangerous("C7", f"curl reads settings or passwords: {option}")
                if option != "--engine"
                else dangerous("C6.5", "loads a library")
            )
        elif option == "--unix-socket" or option == "--abstract-unix-socket":
            findings.append(dangerous("C7", f"connects to a local service: {shown(value)}"))
        elif option in ("-H", "--header", "-b", "--cookie", "-E", "--cert", "--key", "--proxy-header") and (
            value.startswith("@") or context.classifier.secret([value])
        ):
            findings.append(dangerous("C7", f"sends a local file: {shown(value)}"))
        elif option in ("-Q", "--quote"):
            findings.append(dangerous("C7", "sends commands to another machine"))
        elif option == "--variable" and "@" in value:
            findings.append(dangerous("C7", "reads a local file into the request"))
    _files(args.operands, args.values("--url"), findings, context)
    target = args.values("-o", "--output")
    if args.has("-O", "--remote-name", "--remote-name-all", "-J"):
        target += [word.rsplit("/", 1)[-1] for word in args.operands]
    context.classifier.downloads.update(normal(name, context.classifier.cwd) for name in target)
    return worst(*findings)


def _files(operands: list[str], urls: list[str], findings: list[Finding], context: CommandContext) -> None:
    for word in (*operands, *urls):
        plain = literal(word)
        if plain.lower().startswith("file:"):
            path = re.sub(r"^file:/*", "/", plain, flags=re.IGNORECASE)
            findings.append(dangerous("C5.4", "reads a secret file") if context.classifier.secret([path]) else FINE)
        if re.match(r"(?:gopher|dict|telnet|smtp|ldap)s?:", plain, re.IGNORECASE):
            findings.append(dangerous("C7", f"an unusual protocol: {plain[:20]}"))


def wget(argv: list[str], context: CommandContext) -> Finding:
    """Classify `wget`."""
    args = read(argv[1:], _WGET)
    findings = [unknown("C7", "downloads: wget"), *_common(argv, context)]
    for option, value in args.options:
        value = literal(value or "")
        if option in ("--post-file", "--body-file"):
            findings.append(dangerous("C7", f"sends the local file {shown(value)}"))
        elif option == "--method" and value.upper() == "DELETE":
            findings.append(dangerous("C7", "deletes something on another machine"))
        elif (
            option
            in (
                "-O",
                "--output-document",
                "-o",
                "--output-file",
                "-a",
                "--append-output",
                "--save-cookies",
                "-P",
                "--directory-prefix",
            )
            and value != "-"
        ):
            findings.append(written(value, context.classifier.cwd))
        elif option in ("-e", "--execute", "--use-askpass", "--config"):
            findings.append(dangerous("C6.5", f"wget runs or reads settings: {option}"))
        elif option in ("-i", "--input-file"):
            findings.append(dangerous("C5.4", "reads a secret file") if context.classifier.secret([value]) else FINE)
    target = args.values("-O", "--output-document") or [
        re.sub(r"[?#].*", "", word).rstrip("/").rsplit("/", 1)[-1] for word in args.operands
    ]
    context.classifier.downloads.update(normal(name, context.classifier.cwd) for name in target if name != "-")
    return worst(*findings)


_HTTPIE = Tool(rank=1, operands="text", takes=words("-a -A -o --auth --output --session --verify --cert"))


def httpie(argv: list[str], context: CommandContext) -> Finding:
    """Classify `http` and `https` (HTTPie)."""
    findings = [unknown("C7", "contacts another machine"), *_common(argv, context)]
    if any(re.match(r"[\w.-]*:?=?@", word) for word in argv[1:]):
        findings.append(dangerous("C7", "sends a local file"))
    if "DELETE" in argv[1:3]:
        findings.append(dangerous("C7", "deletes something on another machine"))
    if context.stdin.kind != "nothing":
        findings.append(dangerous("C7", "sends piped data"))
    return worst(*findings)


_SSH = Tool(takes=words("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B"))


def ssh(argv: list[str], context: CommandContext) -> Finding:
    """Classify `ssh`: a script on another host, which may also tunnel, forward or send."""
    args = read(argv[1:], _SSH, stop=True)
    rest = args.operands[1:]
    # ssh's own options may follow the host.
    more = read(rest, _SSH, stop=True) if rest and rest[0].startswith("-") else None
    options = args.options + (more.options if more else [])
    command = more.operands if more else rest
    findings = [unknown("C4", "works on another machine: ssh"), *_common(argv, context)]
    for option, value in options:
        if option == "-o" and re.match(
            r"\s*(?:proxycommand|localcommand|permitlocalcommand|knownhostscommand|proxyusefdpass|"
            r"pkcs11provider|securitykeyprovider|xauthlocation)",
            value or "",
            re.IGNORECASE,
        ):
            findings.append(dangerous("C6.5", f"ssh runs a program: {shown(value or '')}"))
        elif option in ("-R", "-D", "-L", "-W", "-w"):
            findings.append(dangerous("C7", "ssh forwards connections"))
        elif option in ("-I", "-E", "-F"):
            findings.append(
                dangerous("C6.5", f"ssh reads or writes a local file: {option}")
                if option != "-E"
                else written(value or "", context.classifier.cwd)
            )
    if command:
        findings.append(context.classifier.script(" ".join(literal(word) for word in command), "ssh"))
    if context.stdin.kind == "text" and context.stdin.source in ("<<", "<<<"):
        if not command or re.match(r"(?:ba|da|z|k)?sh\b", command[0]):
            findings.append(context.classifier.script(context.stdin.text, "ssh with a here-document"))
    elif context.stdin.kind != "nothing":
        findings.append(dangerous("C7", "sends piped data or a local file with ssh"))
    return worst(*findings)


_REMOTE = re.compile(r"(?:[^/\s:]+@)?[^/\s:]{2,}:(?!/\*)|(?:rsync|ssh|sftp|s3|gs|az|b2)://")


def copy(argv: list[str], context: CommandContext) -> Finding:
    """Classify `scp`, `rsync`, `sftp`: local files that leave are dangerous."""
    name = argv[0]
    tool = Tool(
        takes=words(
            "-e -P -i -F -o -c -l -S -J -p --rsh --exclude --include --filter --exclude-from --include-from "
            "--files-from --rsync-path --port --password-file --log-file -f -M -B -b -D -R -s -X"
        ),
        danger={},
    )
    args = read(argv[1:], tool)
    findings = [unknown("C7", f"copies files: {name}"), *_common(argv, context)]
    for option, value in args.options:
        if option.startswith(("--delete", "--del", "--remove-source-files", "--remove-sent-files")) and name == "rsync":
            findings.append(dangerous("C5.1", f"deletes files: rsync {option}"))
        if (option in ("-e", "--rsh", "--rsync-path") and name == "rsync") or (
            option in ("-S", "-D") and name != "rsync"
        ):
            program = literal(value or "").split()[:1]
            if (program and program[0] not in ("ssh", "rsh")) or " -o" in (value or ""):
                findings.append(dangerous("C6.5", f"{name} runs a program: {shown(value or '')}"))
        if option == "-o" and re.match(r"\s*(?:proxycommand|localcommand|permitlocal)", value or "", re.IGNORECASE):
            findings.append(dangerous("C6.5", f"{name} runs a program"))
    *sources, target = args.operands or [""]
    if _REMOTE.match(target) and any(not _REMOTE.match(word) for word in sources):
        findings.append(dangerous("C7", f"sends local files to {shown(target)}"))
    elif name == "sftp" and (args.has("-b") or context.stdin.kind != "nothing"):
        findings.append(dangerous("C7", "sftp runs a batch"))
    elif target and name != "sftp" and not _REMOTE.match(target):
        findings.append(written(target, context.classifier.cwd))
    if found := context.classifier.secret(
        [*sources, *args.values("--files-from", "--exclude-from", "--password-file")]
    ):
        findings.append(dangerous("C5.4", f"copies the secret file {shown(found)}"))
    return worst(*findings)


def netcat(argv: list[str], context: CommandContext) -> Finding:
    """Classify `nc`, `socat`, `telnet`: raw connections."""
    if (
        argv[0] in ("nc", "ncat", "netcat")
        and any(re.fullmatch(r"-\w*z\w*", word) for word in argv[1:])
        and not any(re.fullmatch(r"-\w*[ecl]\w*", word) for word in argv[1:])
    ):
        return worst(unknown("C7", "tests a port"), *_common(argv, context))
    return dangerous("C7", f"opens a raw connection: {argv[0]}")


def lookup(argv: list[str], context: CommandContext) -> Finding:
    """Classify look-ups and pings."""
    findings = [unknown("C7", f"contacts the network: {argv[0]}"), *_common(argv, context)]
    if found := context.classifier.secret(argv[1:]):
        findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
    return worst(*findings)


def cloud_copy(argv: list[str], context: CommandContext) -> list[Finding]:
    """Classify copies to a cloud's storage: local to remote is dangerous."""
    rest = [literal(word) for word in argv[1:] if not word.startswith("-")]
    verbs = [
        at
        for at, word in enumerate(rest)
        if word
        in (
            "cp",
            "sync",
            "mv",
            "copy",
            "copyto",
            "move",
            "moveto",
            "rsync",
            "upload",
            "mb",
            "put",
            "put-object",
            "upload-batch",
        )
    ]
    if not verbs:
        return []
    operands = rest[verbs[0] + 1 :]
    remote = re.compile(r"(?:s3|gs|az|b2|r2|https?)://|[\w-]+:")
    if rest[verbs[0]] in ("put-object", "upload", "upload-batch", "put"):
        return [dangerous("C7", f"sends local files with {argv[0]}")]
    if len(operands) > 1 and remote.match(operands[-1]) and not all(remote.match(word) for word in operands[:-1]):
        return [dangerous("C7", f"sends local files with {argv[0]}")]
    if any(word in ("--delete", "--delete-excluded", "--delete-before", "-d") for word in argv):
        return [dangerous("C5.1", f"{argv[0]} deletes files")]
    return []


NETWORK: dict[str, ProgramHandler] = {
    **dict.fromkeys(("curl", "curlie"), curl),
    **dict.fromkeys(("wget", "wget2"), wget),
    **dict.fromkeys(("http", "https", "xh"), httpie),
    **dict.fromkeys(("ssh", "mosh", "autossh", "sshpass", "slogin"), ssh),
    **dict.fromkeys(("scp", "rsync", "sftp"), copy),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet", "ftp", "tftp", "lftp", "rlogin", "rsh"), netcat),
    **dict.fromkeys(
        (
            "ping",
            "ping6",
            "dig",
            "host",
            "nslookup",
            "whois",
            "traceroute",
            "tracepath",
            "mtr",
            "drill",
            "kdig",
            "arping",
            "nmap",
        ),
        lookup,
    ),
}
