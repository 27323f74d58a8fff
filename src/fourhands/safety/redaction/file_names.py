"""Names of files whose content is secret (safety-policy.md P6): one test for confinement and for the classifier.

A name is compared after folding, because `.ENV`, `.env.` and `.env` with a zero-width space open the same file on
some file systems and look the same to a person everywhere. Patterns are data; a user adds or removes them with
`SecretNames`.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from fourhands.core.errors import BadArgument
from fourhands.safety.unicode import ignored

# A pattern without `/` is a file's name, one with `/` the end of a path, and one that ends with `/` a directory
# below which every file is secret. `*` and `?` stay within a name.
PATTERNS: tuple[str, ...] = (
    *(".env", ".env.*", "*.env", ".envrc"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa_sk", "id_dsa_sk", "id_ecdsa_sk", "id_ed25519_sk"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.tfstate"),
    "credentials",
    *(f"credentials.{kind}" for kind in ("json", "yaml", "yml", "toml", "ini", "xml", "csv", "txt", "db")),
    *("secret.*", "secrets.*"),
    *(".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg"),
    *(".vault-token", "kubeconfig", "service-account*.json"),
    *(".ssh/", ".aws/", ".gnupg/", ".kube/", ".azure/", ".config/gcloud/", ".config/gh/"),
    ".docker/config.json",
)
# Endings that make an environment file a public example, and a file below a secret directory public.
EXAMPLES = (".example", ".sample", ".template", ".dist")
PUBLIC = ".pub"

_ENVIRONMENT = frozenset({".env.*", "*.env"})
_MOST_PATTERNS = 1000
_LONGEST_PATTERN = 255


@dataclass(frozen=True)
class SecretNames:
    """A list of secret names: the built-in patterns, plus `extra`, minus `removed`."""

    extra: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    _names: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _places: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        extra, removed = _checked("extra", self.extra), _checked("removed", self.removed)
        for pattern in removed:
            if pattern not in PATTERNS:
                raise BadArgument(
                    f"removed secret name {pattern!r} is not a built-in pattern",
                    hint=f"built in: {', '.join(PATTERNS)}",
                )
        patterns = [pattern for pattern in (*PATTERNS, *extra) if pattern not in removed]
        object.__setattr__(self, "extra", extra)
        object.__setattr__(self, "removed", removed)
        object.__setattr__(self, "_names", _compiled(patterns))
        object.__setattr__(self, "_places", _compiled_places(patterns))

    def match(self, path: str) -> bool:
        """Return True if the file called `path` is secret."""
        return any(self._names.search(form) is not None for form in _forms(path))

    def holds(self, path: str) -> bool:
        """Return True if `path` is itself a directory below which files are secret."""
        return any(self._places.search(form + "/") is not None for form in _forms(path))


def is_secret_name(path: str, names: SecretNames | None = None) -> bool:
    """Return True if `path`, as given, names a secret file. Call it for the resolved path too."""
    return (names or BUILT_IN).match(path)


def fold(text: str) -> str:
    """Return the one form of all spellings of a path that look or open alike."""
    if not text.isascii():
        text = ignored.sub("", unicodedata.normalize("NFKC", text))
        text = unicodedata.normalize("NFKC", text.casefold())
        text = ignored.sub("", text)
    text = text.casefold()
    return "/".join(_fold_part(part) for part in text.split("/"))


def _fold_part(part: str) -> str:
    # `name:stream` is the file `name` on some file systems, and they drop dots and blanks at the end.
    colon = part.find(":", 1)
    if colon > 0:
        part = part[:colon]
    if part in (".", ".."):
        return part
    return part.rstrip(". \t\u3000")


@lru_cache(maxsize=256)
def _forms(path: str) -> tuple[str, ...]:
    folded = fold(path).rstrip("/")
    while folded.endswith("/."):
        folded = folded[:-2].rstrip("/")
    # As given without empty parts, and with `..` taken lexically: neither spelling may hide a name.
    given = "/" + "/".join(part for part in folded.split("/") if part not in ("", "."))
    return tuple({given, posixpath.normpath(given)})


def _checked(kind: str, patterns: Iterable[str]) -> tuple[str, ...]:
    if isinstance(patterns, str) or not isinstance(patterns, Iterable):
        raise BadArgument(f"{kind} secret names must be a list of patterns, not {patterns!r}")
    checked = []
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern.strip("/ "):
            raise BadArgument(
                f"{kind} secret name {pattern!r} is not a pattern", hint="such as '*.vault' or 'private/'"
            )
        if len(pattern) > _LONGEST_PATTERN or pattern.count("*") > 8:
            raise BadArgument(f"{kind} secret name {pattern[:40]!r} is too long or has more than 8 stars")
        checked.append(pattern if pattern in PATTERNS else _fold_pattern(pattern))
    if len(checked) > _MOST_PATTERNS:
        raise BadArgument(f"{len(checked)} {kind} secret names are too many", hint=f"at most {_MOST_PATTERNS}")
    return tuple(checked)


def _fold_pattern(pattern: str) -> str:
    return fold(pattern.lstrip("/"))


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(_expression(pattern) for pattern in patterns) or "(?!)", re.DOTALL)


def _compiled_places(patterns: Iterable[str]) -> re.Pattern[str]:
    places = [_glob(pattern.rstrip("/")) for pattern in patterns if pattern.endswith("/")]
    return re.compile(rf"/(?:{'|'.join(places)})/\Z" if places else "(?!)", re.DOTALL)


def _expression(pattern: str) -> str:
    if pattern.endswith("/"):
        return rf"/{_glob(pattern.rstrip('/'))}/.+(?<!{re.escape(PUBLIC)})\Z"
    end = "".join(f"(?<!{re.escape(example)})" for example in EXAMPLES) if pattern in _ENVIRONMENT else ""
    return rf"/{_glob(pattern)}{end}\Z"


def _glob(pattern: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(sign) or re.escape(sign) for sign in pattern)


BUILT_IN = SecretNames()
