"""Containers, clusters, clouds, databases, and tools that hold secrets (C5.4, C7)."""

import re

from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.levels import FINE, UNKNOWN, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, words
from fourhands.safety.shell.parser.expansion import literal, shown
from fourhands.safety.shell.programs.network import cloud_copy
from fourhands.safety.shell.programs.subcommands import subcommand
from fourhands.safety.shell.statements import statement
from fourhands.safety.shell.tables.services import CLOUD_DESTROY, CLOUD_SECRETS, DATABASES, SERVICE_TOOLS, VAULTS

_RUN = SERVICE_TOOLS["docker"].subs["run"]
_EXEC = Tool(takes=words("-e -u -w -c -n --env --user --workdir --env-file --container --namespace --context"))


def service(argv: list[str], context: CommandContext) -> Finding:
    """Classify containers, clusters, infrastructure and hosting services by the table of their subcommands."""
    return subcommand(SERVICE_TOOLS, argv, context, _special)


def _special(path: list[str], rest: list[str], context: CommandContext) -> Finding:
    return worst(_container(path, rest, context), _cluster(path, rest))


def _container(path: list[str], rest: list[str], context: CommandContext) -> Finding:
    """Classify what runs in a container, and what the container may touch."""
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
            findings.append(dangerous("C7", f"mounts {shown(source)} of this machine into the container"))
    if any(value in ("host",) for value in args.values("--pid", "--ipc", "--userns", "--uts")) or args.has("--cap-add"):
        findings.append(dangerous("C7", "grants the container rights on this machine"))
    if found := context.classifier.secret(args.values("--env-file")):
        findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
    inner = args.operands[1:]
    if "--" in rest:
        inner = rest[rest.index("--") + 1 :]
    if args.values("--entrypoint"):
        inner = [*args.values("--entrypoint"), *inner]
    if inner:
        findings.append(context.classifier.argv(inner, context))
    return worst(*findings)


def _cluster(path: list[str], rest: list[str]) -> Finding:
    name, verb = path[0], path[-1]
    joined = [literal(word) for word in rest]
    if (
        name in ("kubectl", "oc")
        and verb in ("get", "describe")
        and any(re.match(r"(?:.*,)?secrets?(?:/|,|\Z)", word) for word in joined)
    ):
        return dangerous("C5.4", "shows secrets of the cluster")
    if name in ("kubectl", "oc") and verb == "get" and any(word.startswith("--raw") for word in joined):
        return unknown("C7", "calls the cluster's API directly")
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
    if name == "helm" and verb in ("install", "upgrade") and any(word.startswith("--post-renderer") for word in joined):
        return dangerous("C6.5", "runs a program")
    return FINE


def cloud(argv: list[str], context: CommandContext) -> Finding:
    """Classify a cloud's command line by its verbs."""
    name = argv[0]
    rest = [literal(word) for word in argv[1:]]
    plain = [word for word in rest if not word.startswith("-")]
    findings = [unknown("C7", f"works in a cloud: {name}"), *cloud_copy(argv, context)]
    for word in plain[:6]:
        if re.fullmatch(CLOUD_DESTROY.get(name, "(?!)"), word):
            findings.append(dangerous("C7", f"deletes in the cloud: {name} {word}"))
        if re.fullmatch(CLOUD_SECRETS.get(name, "(?!)"), word):
            findings.append(dangerous("C5.4", f"prints a secret: {name} {word}"))
    if found := context.classifier.secret(argv[1:]):
        findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
    looks = any(re.match(r"(?:describe|list|get|show|status|version|info)", word) for word in plain[1:4])
    result = worst(*findings)
    return (
        FINE
        if result.rank == UNKNOWN
        and (looks or rest == ["--version"])
        and name in ("aws", "gcloud", "az", "doctl", "flyctl", "fly", "eksctl", "gsutil")
        else result
    )


def database(argv: list[str], context: CommandContext) -> Finding:
    """Classify a database client by the statements in its arguments and its input."""
    text = " ".join(literal(word) for word in argv[1:])
    if context.stdin.kind == "text":
        text += "\n" + context.stdin.text
    if (found := statement(text)).rank:
        return found
    if found_name := context.classifier.secret(argv[1:]):
        return dangerous("C5.4", f"reads the secret file {shown(found_name)}")
    if context.stdin.kind == "data" and context.stdin.source:
        return unknown("C7", f"{argv[0]} runs statements from elsewhere")
    return unknown("C7", f"works in a database: {argv[0]}")


def secrets_tool(argv: list[str], context: CommandContext) -> Finding:
    """Classify tools that hold keys and tokens."""
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
            return context.classifier.plain(Tool(), argv[1:], context)
    if name in VAULTS and rest not in (["--version"], ["--help"], ["status"]):
        return dangerous("C5.4", f"reads or changes stored secrets: {name}")
    if name == "openssl" and any(
        word in ("rsa", "pkcs12", "pkey", "enc", "s_client", "s_server", "pkcs8", "ec") for word in rest[:1]
    ):
        return (
            dangerous("C5.4", "handles private keys or opens a connection")
            if rest[0] != "enc"
            else context.classifier.plain(Tool(rank=UNKNOWN, reason="encrypts or decodes"), argv[1:], context)
        )
    if name == "ssh-add" and rest[:1] in (["-D"], ["-d"]):
        return dangerous("C5.4", "removes keys from the SSH agent")
    return context.classifier.plain(Tool(rank=UNKNOWN, reason=f"works with keys: {name}"), argv[1:], context)


SERVICES: dict[str, ProgramHandler] = {
    **dict.fromkeys(SERVICE_TOOLS, service),
    **dict.fromkeys(CLOUD_DESTROY, cloud),
    **dict.fromkeys(DATABASES, database),
    **dict.fromkeys((*VAULTS, "gpg", "gpg2", "openssl", "ssh-add", "ssh-keygen"), secrets_tool),
}
