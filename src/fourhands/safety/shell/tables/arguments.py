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
