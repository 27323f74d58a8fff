"""Files that a command touches: protected places, secret names, and Fourhands' own directories (C5.2, C5.4)."""

import posixpath
import re
from functools import lru_cache

from fourhands.safety.redaction.file_names import BUILT_IN, SecretNames
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown
from fourhands.safety.shell.parser.expansion import BRACKET, COMMAND, DYNAMIC, GLOBS, MARK, STAR, literal, shown

_HARMLESS = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+|fd/…)\Z|/proc/self/fd/\d+\Z")
NULL = "/dev/null"
_SYSTEM = ("etc", "boot", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "sys", "proc", "dev")
_SHARED = re.compile(r"/(?:tmp|var/tmp|usr|opt|lib\w*|bin|sbin|nix|snap)(?:/|\Z)")
_PROTECTED = re.compile(
    r"(?:\A|/)(?:"
    r"\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|"
    r"zlogout|kshrc|cshrc|tcshrc|"
    r"login|inputrc|xinitrc|xprofile|xsessionrc|pam_environment)\Z"
    r"|(?:config|\.config)/fish/|\.ssh(?:/|\Z)|\.git(?:/|\Z)|\.gitconfig\Z|\.fourhands(?:/|\Z)|\.config/git/"
    r"|\.config/systemd/|\.local/share/systemd/|\.config/autostart/|Library/Launch(?:Agents|Daemons)/|"
    r"var/spool/(?:cron|at)"
    r"|authorized_keys\Z)",
    re.IGNORECASE,
)
_FOURHANDS = re.compile(
    r"(?:/fourhands-[^/]+|run/user/[^/]+/fourhands|\.local/state/fourhands|\.config/fourhands|"
    r"\A[\ue000\ue008…]/fourhands)(?:/|\Z)"
)
# A cheap look before the full test: no secret name is without one of these.
_HINT = re.compile(
    r"env|id_|hist|\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate)|cred|secret|npmrc|pypirc|netrc|pgpass|"
    r"my\.cnf|htpasswd|dockercfg|"
    r"vault|kubeconfig|service-account|\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.config|\.docker|shadow|passw|"
    r"/proc|sudoers|ssh_host|fourhands|[^\x00-\x7f]"
)
_SENSITIVE = re.compile(
    r"(?:/private)?/etc/(?:g?shadow-?|master\.passwd|security/opasswd|sudoers(?:\.d/.*)?)\Z|"
    r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|auxv|(?:map_files|cwd)(?:/.*)?)\Z|/proc/(?!self/|thread-self/)[^/]+/"
    r"(?:task/[^/]+/)?fd(?:/.*)?\Z|/proc/(?:kcore|kmem)\Z|/etc/ssh/ssh_host_\w+_key\Z|"
    r"(?:.*/)?(?:\.(?:\w+_history|histfile|lesshst)|fish_history)\Z"  # what a person has typed
)
# All devices but these: disks, memory, keyboards, and the screens of other terminals.
_DEVICE = re.compile(r"/dev/(?!(?:null|zero|full|u?random|stdin|stdout|stderr|tty|ptmx)\Z|(?:fd|shm)(?:/|\Z)).+")
_THROUGH = re.compile(r"\A/proc/[^/]+/(?:task/[^/]+/)?root(?=/|\Z)")  # the whole machine again
_SENSITIVE_NAMES = (
    *("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers", "/etc/security/opasswd"),
    *("/etc/ssh/ssh_host_rsa_key", "/proc/1/environ", "/proc/self/environ"),
)
_DOTTED = (
    *(
        ".env",
        ".env.local",
        ".envrc",
        ".npmrc",
        ".pypirc",
        ".netrc",
        ".git-credentials",
        ".pgpass",
        ".my.cnf",
        ".htpasswd",
    ),
    *(".dockercfg", ".vault-token", ".ssh", ".aws", ".gnupg", ".kube", ".azure"),
)
_PARTS = re.compile(r"[=@:,]")
_REMOTE = re.compile(r"\A(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def normal(path: str, cwd: str = "") -> str:
    """Return a path without `.`, `..` and doubled slashes, as far as the text decides them."""
    path = literal(path)
    if cwd and path[:1] not in ("/", "~"):
        path = f"{cwd}/{path}"
    path = posixpath.normpath(path) if path else ""
    path = _THROUGH.sub("", path) or "/" if path.startswith("/proc/") else path
    return "/" + path.lstrip("/") if path.startswith("//") else path


@lru_cache(maxsize=1024)
def written(path: str, cwd: str = "", verb: str = "writes") -> Finding:
    """Classify a file that a command writes."""
    clean = normal(path, cwd)
    if _HARMLESS.match(clean):
        return FINE
    if reason := _why_protected(clean, path):
        return dangerous("C5.2", f"{verb} {shown(path)}: {reason}")
    if path[:1] in (DYNAMIC, COMMAND):
        return unknown("C5.2", f"{verb} a file whose name is not in the text")
    return unknown("C5.2", f"{verb} {shown(path)}")


def is_protected(path: str, cwd: str = "") -> bool:
    """Return True if a path belongs to the system or changes what programs run."""
    clean = normal(path, cwd)
    return not _HARMLESS.match(clean) and _why_protected(clean, path) != ""


def is_outside(path: str, cwd: str = "", workspace: str = "") -> bool:
    """Return True if a directory is neither in the workspace, nor temporary, nor part of the installed system."""
    clean = normal(path, cwd)
    if clean in ("/tmp", "/var/tmp", "/run"):  # all that is in there, of other programs too
        return True
    if workspace and (clean == workspace or clean.startswith(workspace.rstrip("/") + "/")):
        return False
    return (clean[:1] in ("/", "~", DYNAMIC, COMMAND) and not _SHARED.match(clean)) or clean.startswith("..")


def _why_protected(clean: str, given: str) -> str:
    rooted = clean
    while rooted.startswith("../"):  # enough of these always reach the root
        rooted = rooted[3:]
    if clean.startswith(("/", "../")):
        first = rooted.lstrip("/").partition("/")[0]
        if rooted.startswith("/private/"):
            first = rooted.split("/")[2]
        if first in _SYSTEM or (not GLOBS.isdisjoint(given) and any(_glob(first, name) for name in _SYSTEM)):
            return "a device" if first == "dev" else "a system place"
    if _PROTECTED.search(clean):
        return "changes what other programs do"
    return ""


def secret(argv: list[str], cwd: str = "", names: SecretNames | None = None) -> str:
    """Return the first argument that names a secret file, or nothing."""
    hint = names is None or not names.extra
    if hint and not _HINT.search("\n".join(argv).lower()) and not (cwd and _hints(cwd)):
        return ""
    table = names or BUILT_IN
    for word in argv:
        if hint and not cwd and not _HINT.search(word.lower()):
            continue
        if any(_secret_path(path, cwd, table) for path in candidates(word)):
            return word
    return ""


@lru_cache(maxsize=256)
def _hints(cwd: str) -> bool:
    return _HINT.search(cwd.lower()) is not None


def device(argv: list[str], cwd: str = "") -> str:
    """Return the first argument that is a disk, memory or a keyboard: reading it reads everything."""
    return next((word for word in argv if "/dev" in "/" + word + cwd and _DEVICE.match(normal(word, cwd))), "")


def candidates(word: str) -> list[str]:
    """Return the paths that an argument may hold: itself, an option's value, what follows `=`, `:` or `@`."""
    if _REMOTE.match(word) or len(word) > 8192:
        return []
    found = [word]
    if word[:1] == "-" and word[1:2] != "-":
        found.append(word[2:])
    if any(sign in word for sign in "=:@,"):
        found.extend(part for part in _PARTS.split(word)[:64] if part)
    return found


def _secret_path(path: str, cwd: str, names: SecretNames) -> bool:
    clean = normal(path, cwd)
    if _SENSITIVE.match(clean) or names.match(clean) or names.holds(clean) or (cwd and names.match(path)):
        return True
    return not GLOBS.isdisjoint(path) and _glob_secret(path, clean, names)


def _glob_secret(path: str, clean: str, names: SecretNames) -> bool:
    parts = path.split("/")
    for part in parts:
        if part[:1] == "." and not GLOBS.isdisjoint(part) and any(_glob(part, name) for name in _DOTTED):
            return True
    last = parts[-1]
    if names.match("/".join([*parts[:-1], re.sub(f"[{STAR}{MARK}]", "x", last)])):
        return True
    return last != STAR and any(_glob(path, name) for name in _SENSITIVE_NAMES)


def _glob(pattern: str, name: str) -> bool:
    out: list[str] = []
    for piece in re.split(f"([{STAR}*]+|[{MARK}?]|[{BRACKET}\\[][^\\]]*\\])", pattern[:256]):
        if piece[:1] in (STAR, "*"):
            out.append("[^/]*")
        elif piece[:1] in (MARK, "?", BRACKET):
            out.append("[^/]")
        else:
            out.append(re.escape(piece))
    return len(out) < 40 and re.fullmatch("".join(out), name) is not None


def own(argv: list[str], cwd: str = "", directories: tuple[str, ...] = ()) -> str:
    """Return the first argument that names a directory of Fourhands itself, or a file below one."""
    near = "fourhands" in cwd and _FOURHANDS.search(cwd + "/") is not None
    for word in argv:
        if not (near or directories or "fourhands" in word):
            continue
        for path in candidates(word):
            clean = normal(path, cwd)
            below = any(clean == place or clean.startswith(place + "/") for place in directories)
            if below or _FOURHANDS.search(clean) or (not near and _FOURHANDS.search(normal(path))):
                return word
    return ""
