"""Arguments that make a harmless program do more (C5.4, C6.5, C7): searched in the arguments, one on each line."""

import re

from fourhands.safety.shell.levels import Finding, dangerous, unknown

_ENVIRONMENT = unknown("C5.4", "reads the environment or another file")
_ELSEWHERE = unknown("C7", "connects to another host or as another user")
_SECRETS = r"\w*(?:KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL)"

_TABLE: tuple[tuple[str, str, Finding], ...] = (
    ("less more most zless zmore bzless xzless", r"^\+.*[!|]", dangerous("C6.5", "the pager runs a program")),
    ("jq yq", r"(?<![.\w])env\b|\$ENV|\bstrenv\b|\bload\w*\(", _ENVIRONMENT),
    ("jq yq", rf"(?:env\.|\$ENV\.|env\(){_SECRETS}", dangerous("C5.4", "prints a secret variable")),
    ("diff sdiff", r"^(?:\.{0,2}/|~/?|\.{1,2})$", unknown("C5.4", "compares all files of a directory, secrets too")),
    ("jq", r"\b(?:import|include)\b", unknown("C5.4", "jq loads another file")),
    (
        "yq",
        r"\b(?:envsubst|eval|system|load\w*|split_doc)\b",
        unknown("C6.4", "yq reads, runs or writes something else"),
    ),
    (
        "rg",
        r"^(?:-\w*t|--type[=\n])\n?all$|^--type-add",
        unknown("C5.4", "rg reads files of all types, hidden ones too"),
    ),
    ("less more zless", r"^\+(?!\d*$|G$|F$|/[^\n]*$)", unknown("C6.5", "the pager runs a command of its own")),
    ("pytest mypy ruff tsc", r"^@", unknown("C6.6", "reads its options from a file")),
    ("vitest", r"^--reporter(?:s)?(?:=|\n)(?![a-z-]+$)", unknown("C6.6", "vitest loads a reporter")),
    ("vitest", r"^(?:-r|--workspace|-w)(?:=|$)", unknown("C6.6", "vitest with other settings")),
    ("vitest", r"^(?:init|bench)$", unknown("C6.6", "not a test")),
    ("tsc", r"^--noEmit(?:=|\n)false$", unknown("C6.6", "tsc writes files")),
    (
        "go",
        r"^-ldflags(?:=|\n)(?!(?:\s|-s|-w|-X\s?[\w./-]+=[\w.+/:-]*)*$)",
        unknown("C6.6", "go with other flags for the linker"),
    ),
    ("go", r"^-gcflags(?:=|\n)(?!(?:\s|all=|-N|-l|-m)*$)", unknown("C6.6", "go with other flags for the compiler")),
    ("pytest", r"^--cov-report(?:=|\n)[\w-]+:", unknown("C5.2", "pytest writes a report into a place of its own")),
    (
        "cargo",
        r"^--$(?:\n.*)*^-C|^-C\w*(?:linker|link-arg)",
        unknown("C6.6", "cargo with other options for the compiler"),
    ),
    ("kubectl oc helm", r"^(?:https?|oci|ftp)://", _ELSEWHERE),
    ("kubectl oc", r"^--output-directory", unknown("C5.2", "kubectl writes files")),
    ("uv", r"^version(?:\n.*)*\n[^-\n]", unknown("C7", "changes the version")),
    ("tput", r"^-[TS]", unknown("C6.5", "reads a description of a terminal")),
    ("ps", r"\A(?:[a-zA-Z]*e[a-zA-Z]*|-E)$", dangerous("C5.4", "prints the environment of programs")),
    ("compgen", r"\$\(|`", dangerous("C2.5", "compgen runs a command that is hidden in its words")),
    ("pytest", r"^--pastebin", dangerous("C7", "sends what is printed to the network")),
    ("pytest", r"^(?:--pdbcls|--debug|-o|--override-ini)", unknown("C6.6", "pytest with other settings")),
    ("mypy dmypy", r"^--python-executable", dangerous("C6.5", "mypy runs a program")),
    ("eslint", r"^--plugin", unknown("C6.6", "eslint loads a plugin")),
    ("go", r"^--?(?:ld|gc|asm|gccgo)flags(?:=|\n).*ext", dangerous("C6.5", "go runs another linker")),
    ("go", r"^--?(?:overlay|modfile|pkgdir)\b", unknown("C6.6", "go builds from other files")),
    ("cargo", r"^-Z|^--target-dir(?:=|\n)/", unknown("C6.6", "cargo with other settings")),
    ("bun", r"^(?:--preload|-r)\b", unknown("C6.1", "loads other code first")),
    (
        "docker podman docker-compose podman-compose",
        r"^(?:compose\n(?:.*\n)*)?(?:config|convert)$",
        unknown("C5.4", "prints values of .env"),
    ),
    ("docker podman nerdctl", r"^(?:-H|--host|--config|--context|--url)\b", _ELSEWHERE),
    ("kubectl oc helm", r"^--(?:kubeconfig|server|as)\b", _ELSEWHERE),
    ("aws", r"^--endpoint-url", _ELSEWHERE),
    ("aws", r"secret_access_key|session_token", dangerous("C5.4", "prints a secret")),
    ("systemctl", r"^show-environment$", _ENVIRONMENT),
    ("info", r"^--(?:restore|dribble)", unknown("C6.5", "info runs keys from a file")),
    ("du", r"^--files0-from", unknown("C5.4", "reads a list of files")),
    ("awk gawk mawk nawk", r"\bENVIRON\b", _ENVIRONMENT),
    ("awk gawk mawk nawk", rf"\bENVIRON\s*\[\s*\"{_SECRETS}", dangerous("C5.4", "prints a secret variable")),
)
ARGUMENTS: dict[str, list[tuple[re.Pattern[str], Finding]]] = {}
for _names, _pattern, _finding in _TABLE:
    for _name in _names.split():
        ARGUMENTS.setdefault(_name, []).append((re.compile(_pattern, re.MULTILINE), _finding))


def suspicious(name: str, rest: list[str]) -> list[Finding]:
    """Return the findings about a program's arguments."""
    if name not in ARGUMENTS:
        return []
    text = "\n".join(word.replace("\n", " ") for word in rest)
    return [finding for pattern, finding in ARGUMENTS[name] if pattern.search(text)]
