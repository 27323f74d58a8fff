"""Patterns and recursion: whether what they reach can be a secret file, or one of Fourhands itself (C5.4).

A pattern is compared with names that stand for the kinds of secret names. One that fits such a name and no ordinary
one was written for it; one that fits both may read it by the way.
"""

import re
from functools import lru_cache

from fourhands.safety.redaction.file_names import SecretNames
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown
from fourhands.safety.shell.parser.expansion import BRACKET, GLOBS, MARK, STAR, literal, shown

# Names that are secret with a program's extension too (`secrets.py`) are left out: `cat *.py` reads programs.
_SECRETS = (
    *(".env", ".env.local", ".env.production", "prod.env", ".envrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
    *("x.pem", "x.key", "x.p12", "x.pfx", "x.jks", "x.keystore", "x.kdbx", "x.ppk", "x.tfstate", "server.key"),
    *("credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.toml", "credentials.ini"),
    *("credentials.xml", "credentials.csv", "credentials.txt", "credentials.db", "secret.json", "secrets.json"),
    *("secrets.yml", "secrets.yaml", "secrets.toml", ".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials"),
    *(
        ".pgpass",
        ".my.cnf",
        ".htpasswd",
        ".dockercfg",
        ".vault-token",
        "kubeconfig",
        "service-account.json",
        ".secrets",
    ),
)
_ORDINARY = (
    *("README.md", "main.py", "index.ts", "package.json", "config.yml", "notes.txt", "data.csv", "settings.toml", "a"),
    *("Makefile", "src", "setup.cfg", "page.html", "style.css", "app.db", "pom.xml", "config.ini", "x.yaml", "x.sh"),
    *("credits.txt", "secretary.md", "identity.py", "idea.md", "server.log", "keys.py", ".gitignore", ".editorconfig"),
)
# Directories of Fourhands itself, where no setting has moved them, component by component.
_OWN = (
    ("", "tmp", "fourhands-0"),
    ("", "run", "user", "0", "fourhands"),
    ("~", ".local", "state", "fourhands"),
    ("~", ".config", "fourhands"),
)
# Below these, files belong to the installed system; a temporary directory holds other programs' files.
_INSTALLED = re.compile(r"/(?:usr|opt|lib\w*|bin|sbin|nix|snap|etc)/")
_TEMPORARY = re.compile(r"/(?:var/)?tmp/([^/]*)/")
_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-print", "-print0", "-printf"})
_GROUP = re.compile(rf"[?*+@!{STAR}{MARK}]\(")
_PIECE = re.compile(rf"[{STAR}*]+|[{MARK}?]|[{BRACKET}\[]([!^]?\]?(?:[{BRACKET}\[]:\w+:\]|[^\]])*)\]")


def has_glob(path: str) -> bool:
    """Return True if the shell would replace this by the names of files."""
    return not GLOBS.isdisjoint(path) or _GROUP.search(path) is not None


def lists_narrowly(argv: list[str]) -> bool:
    """Return True if a command lists names of files among which no secret one can be."""
    name, rest = argv[0], [literal(word) for word in argv[1:]]
    if name in ("rg", "grep", "egrep"):
        if any(re.fullmatch(r"-\w*[lL]\w*|--files-with(?:out)?-match(?:es)?", word) for word in rest):
            return True  # it has read them already
        patterns = [word for word in rest if word[:1] != "-"]
        ending = re.fullmatch(r".*\\?\.(\w+)\$", patterns[0]) if len(patterns) == 1 else None
        return ending is not None and not any("v" in word for word in rest if word[:1] == "-") and _plain_end(ending[1])
    if name == "find":
        return found_narrowly(rest)
    if name in ("fd", "fdfind"):
        ends = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-e", "--extension")]
        return bool(ends) and all(map(_plain_end, ends))
    if name in ("git", "ls"):
        verb = ["ls-files"] if name == "ls" else rest[:1]
        patterns = [word for word in rest[name == "git" :] if word[:1] != "-"]
        return verb in (["ls-files"], ["diff"]) and bool(patterns) and all(map(_lists_plain, patterns))
    return False


def _lists_plain(pattern: str) -> bool:
    """Return True if this is a pattern of names, none of them secret; without its signs it may be a directory."""
    last = pattern.rsplit("/", 1)[-1]
    return any(sign in last for sign in "*?[") and not matched(last.replace("*", STAR).replace("?", MARK))[0]


def found_narrowly(rest: list[str]) -> bool:
    """Return True if `find` hands only names to its commands that fit a pattern which no secret one fits."""
    words = [literal(word) for word in rest]
    at = next((place for place, word in enumerate(words) if word[:1] in ("-", "(", "!")), len(words))
    sure, through, ended = _branches(words, at, 0)
    return sure and ended >= len(words) and (through or not _ACTIONS.isdisjoint(words))


def _branches(words: list[str], at: int, depth: int) -> tuple[bool, bool, int]:
    """Follow the conditions from `at` to the end of their group.

    Return whether each command in it stands behind a narrow pattern, whether the whole group lets only such names
    through, and where it ends.
    """
    sure, narrow, every = True, False, True
    while at < len(words) and depth < 16:
        word = words[at]
        at += 1
        if word in ("-o", "-or", ","):
            every, narrow = every and narrow and word != ",", False
        elif word in ("!", "-not"):  # the opposite of a pattern is none
            at = _branches(words, at + 1, depth + 1)[2] if words[at : at + 1] == ["("] else at + 2
        elif word == "(":
            inner, through, at = _branches(words, at, depth + 1)
            sure, narrow = sure and (inner or narrow), narrow or through
        elif word == ")":
            return sure, every and narrow, at
        elif word in ("-name", "-iname") and at < len(words):
            narrow = narrow or not matched(words[at].replace("*", STAR).replace("?", MARK))[0]
            at += 1
        elif word in _ACTIONS:
            sure = sure and narrow
    return sure, every and narrow, at


def _plain_end(extension: str) -> bool:
    return not matched(f"{STAR}.{extension}")[0]


@lru_cache(maxsize=1024)
def expression(pattern: str) -> re.Pattern[str] | None:
    """Return the expression of one component's names; nothing for a pattern that is too long."""
    if len(pattern) > 256:
        return None
    if group := _GROUP.search(pattern):  # an extended pattern may be anything
        pattern = pattern[: group.start()] + STAR
    out: list[str] = []
    at = 0
    for found in _PIECE.finditer(pattern):
        out.append(re.escape(pattern[at : found.start()]))
        sign = found[0][0]
        if sign in (STAR, "*"):
            out.append(".*")
        elif sign in (MARK, "?"):
            out.append(".")
        else:
            out.append(_class(found[1]))
        at = found.end()
    out.append(re.escape(pattern[at:]))
    try:
        # Without an option a leading dot must be written out.
        hidden = "" if pattern[:1] == "." else r"(?!\.)"
        return re.compile(hidden + "".join(out), re.IGNORECASE | re.DOTALL)
    except re.error:
        return re.compile(".*", re.DOTALL)


def _class(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = inside[1:] if negated else inside
    if not body or "[" in body or BRACKET in body:  # a class by name
        return "."
    escaped = body.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("^", "\\^")
    return f"[{'^' if negated else ''}{escaped}]"


@lru_cache(maxsize=1024)
def matched(pattern: str) -> tuple[str, bool]:
    """Return a secret name that a component fits, or nothing, and whether it fits ordinary names too."""
    form = expression(pattern)
    if form is None:
        return _SECRETS[0], True
    found = next((name for name in _SECRETS if form.fullmatch(name)), "")
    return found, bool(found) and any(form.fullmatch(name) for name in _ORDINARY)


def reaches_own(clean: str, own: tuple[str, ...] = ()) -> bool:
    """Return True if a normalised pattern can lead into a directory of Fourhands itself."""
    parts = clean.split("/")
    for directory in (*_OWN, *(tuple(path.split("/")) for path in own)):
        if len(parts) <= len(directory):
            continue
        forms = [expression(part) for part in parts[: len(directory)]]
        if "**" in parts or f"{STAR}{STAR}" in parts:
            at = next(place for place, part in enumerate(parts) if part in ("**", f"{STAR}{STAR}"))
            if all(form and form.fullmatch(name) for form, name in zip(forms[:at], directory, strict=False)):
                return True
        if all(form is None or form.fullmatch(name) for form, name in zip(forms, directory, strict=True)):
            return True
    return False


def leaves(clean: str, workspace: str) -> bool:
    """Return True if a normalised pattern is neither in the workspace nor in the installed system."""
    if clean[:1] not in ("/", "~") and not clean.startswith(".."):
        return False
    if workspace and clean.startswith(workspace.rstrip("/") + "/"):
        return False
    if temporary := _TEMPORARY.match(clean):
        return not GLOBS.isdisjoint(temporary[1]) or any(sign in temporary[1] for sign in "*?[")
    return not _INSTALLED.match(clean)


def reading(path: str, clean: str, workspace: str, own: tuple[str, ...], names: SecretNames | None) -> Finding:
    """Classify a pattern whose files are read; `clean` is it in the line's directory, with plain pattern signs."""
    if reaches_own(clean, own):
        return dangerous("C7", f"may read a directory of Fourhands itself: {shown(path)}")
    last = path.rsplit("/", 1)[-1]
    secret, both = matched(last) if has_glob(last) else ("", False)
    if secret and not both:
        return dangerous("C5.4", f"reads secret files: {shown(path)}")
    if leaves(clean, workspace):
        return unknown("C5.4", f"reads files outside the workspace: {shown(path)}")
    return unknown("C5.4", f"may read secret files: {shown(path)}, for instance {secret}") if secret else FINE
