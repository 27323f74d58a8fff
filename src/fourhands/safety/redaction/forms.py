"""Secrets in forms that are no assignment: `name: value` in settings, command lines, netrc, XML (safety-policy.md R).

Programs and documents are full of lines that look alike (`password: str`, `token = read()`), so a value counts only if
it is a literal: quoted, or one word with a digit.
"""

import re
from collections.abc import Callable

_NAME = (
    r"[\w.-]{0,60}?(?:passw(?:or)?d|passphrase|secret|token|credentials?|(?:api|access|private|secret|account)[_-]?key)"
)
_QUOTED = r"\"[^\"\n]{4,256}\"|'[^'\n]{4,256}'"
# Not behind a quotation mark: that is a member of an object, which has a form of its own.
_setting = re.compile(
    rf"(?<![\w.$\"'-])({_NAME})((?<![ \t])[ \t]{{0,4}}:[ \t]{{1,8}}|[ \t]{{1,8}}=[ \t]{{1,8}})"
    rf"({_QUOTED}|[^\s\"'`,;(){{}}\[\]<>=|]{{6,256}})(?=[\s,;]|$)",
    re.IGNORECASE,
)
# In quotation marks as a whole: echo "password: x".
_quoted_whole = re.compile(
    rf"((?<=[\"'])(?:[\w ,.-]{{0,40}}[ \t])?({_NAME})[ \t]{{0,4}}[:=][ \t]{{1,8}})"
    r"([^\s\"'`,;(){}\[\]<>=|]{6,256})(?=[\"'])",
    re.IGNORECASE,
)
_flag = re.compile(
    rf"((?<![\w-])--?(?:{_NAME}|pass)[ \t]{{1,4}})({_QUOTED}|[^\s\"'`-][^\s\"'`]{{5,255}})(?=\s|$)", re.IGNORECASE
)
_short_flag = re.compile(
    r"(\b(?:(?:mysql|mariadb)[\w-]{0,12}(?=[ \t])[^\n|;&]{0,200}?[ \t]-p|sshpass[ \t]{1,4}-p[ \t]{0,4}"
    r"|(?:docker|podman)[ \t]{1,4}login(?=[ \t])[^\n|;&]{0,200}?[ \t]-p[ \t]{1,4}"
    r"|redis-cli(?=[ \t])[^\n|;&]{0,200}?[ \t]-a[ \t]{1,4}|(?:^|(?<=\n))[ \t]*(?:requirepass|masterauth)[ \t]{1,4}))"
    rf"({_QUOTED}|[^\s\"'`$-][^\s\"'`]{{3,255}})"
)
_user = re.compile(
    r"(\b(?:curl|wget|https?|xh)(?=[ \t])[^\n|;&]{0,300}?[ \t](?:-u[ \t]{0,4}|--user[= \t]{1,4})[\"']?"
    r"[^\s:\"'$]{1,64}:)([^\s\"'@]{3,256})"
)
_netrc = re.compile(
    r"((?:\b(?:login|account)[ \t]+\S{1,64}[ \t]+|^[ \t]*)password[ \t]+)(\S{4,256})(?=[ \t]*$|[ \t]+\w+[ \t])",
    re.M,
)
_element = re.compile(rf"(<({_NAME})(?:[ \t][^<>\n]{{0,200}})?>)([^<>\n]{{4,256}})(?=</)", re.IGNORECASE)
_define = re.compile(rf"(\bdefine\([ \t]{{0,4}}[\"']{_NAME}[\"'][ \t]{{0,4}},[ \t]{{0,4}})({_QUOTED})", re.IGNORECASE)
_attributes = re.compile(rf"(\b(?:key|name)=\"{_NAME}\"[ \t]{{1,4}}value=\")([^\"\n]{{4,256}})(?=\")", re.IGNORECASE)

SIGNS = (
    r"(?i:(?:passw|passphrase|secret|token|credential|key)[\w-]*(?:\s*[:=]\s|\s|>))",
    r"(?:mysql|mariadb|redis-cli)\S*\s.*-[pa]",
    r"sshpass\s",
    r"(?:docker|podman)\s+login\s.*-p",
    r"(?:requirepass|masterauth)\s",
    r"define\(\s*[\"'][^\"'\n]*(?i:passw|secret|token|key|credential)",
    r"(?:curl|wget|https?|xh)\s(?:.*\s)?(?:-u|--user)",
    r"(?i:key|name)=\"[^\"]*\"\s+value=\"",
)
"""Parts that a line with one of these forms has."""


def without_forms(text: str, is_no_secret: Callable[[str], bool], instead: str) -> str:
    """Return a line in which the values of these forms are replaced."""

    def setting(found: re.Match[str]) -> str:
        name, between, value = found.groups()
        inner, quote = _inner(value)
        if not _counts(inner, quoted=bool(quote), word=bool(re.search("pass", name, re.IGNORECASE))) or is_no_secret(
            inner
        ):
            return found[0]
        return f"{name}{between}{quote}{instead}{quote}"

    def whole(found: re.Match[str]) -> str:
        known = is_no_secret(found[3]) or not _counts(found[3], quoted=False, word=True)
        return found[0] if known else f"{found[1]}{instead}"

    def behind(found: re.Match[str]) -> str:
        inner, quote = _inner(found[2])
        if is_no_secret(inner) or not _counts(inner, quoted=bool(quote), word=True):
            return found[0]
        return f"{found[1]}{quote}{instead}{quote}"

    def any_value(found: re.Match[str]) -> str:
        inner, quote = _inner(found[found.lastindex or 2])
        return found[0] if is_no_secret(inner) else f"{found[1]}{quote}{instead}{quote}"

    lower = text.lower()
    if any(word in lower for word in ("passw", "passphrase", "secret", "token", "credential", "key")):
        text = _element.sub(any_value, text)
        text = _attributes.sub(any_value, text)
        text = _netrc.sub(behind, text)
        text = _define.sub(behind, text)
        text = _setting.sub(setting, text)
        text = _quoted_whole.sub(whole, text)
        text = _flag.sub(behind, text)
    if " -" in text or "requirepass" in lower or "masterauth" in lower:
        text = _user.sub(any_value, _short_flag.sub(any_value, text))
    return text


def _inner(value: str) -> tuple[str, str]:
    quote = value[0] if value[:1] in ('"', "'") else ""
    return (value[1:-1], quote) if quote else (value, "")


def _counts(value: str, *, quoted: bool, word: bool) -> bool:
    """Return True if a value is a literal and no word about one."""
    if any(char.isspace() for char in value):
        return False
    return any(char.isdigit() for char in value) or (quoted and word)
