"""Patterns of secrets inside a line of text (safety-policy.md R): tokens, headers, addresses, assignments.

Every pattern has a sign that is always part of it. One automaton searches for all signs at once, and only lines in
which it finds one are examined: ordinary output costs one pass.
"""

import re

import re2

from fourhands.safety.redaction.forms import SIGNS, without_forms
from fourhands.safety.variables import is_harmless_value, is_secret_variable


def placeholder(kind: str) -> str:
    """Return the text that replaces a secret."""
    return f"[redacted:{kind}]"


# Kind, the text that is always there, the form. Runs are possessive: nothing is tried twice.
_TOKENS: tuple[tuple[str, str, str], ...] = (
    *(("github-token", f"gh{sort}_", rf"gh{sort}_[A-Za-z0-9]{{20,}}+") for sort in "pousr"),
    ("github-token", "github_pat_", r"github_pat_\w{20,}+"),
    ("gitlab-token", "gl", r"gl(?:pat|dt|ptt|rt|cbt|ft|imt|agent|soat|oas)-[\w-]{16,}+(?:\.[\w-]++)*+"),
    ("aws-key", "AKIA", r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("aws-key", "ASIA", r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("slack-token", "xox", r"xox[abceoprs]-[\w-]{10,}+"),
    ("slack-token", "xapp-", r"xapp-\d-[\w-]{10,}+"),
    ("slack-token", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,}+"),
    ("stripe-key", "k_live_", r"[sr]k_live_[A-Za-z0-9]{10,}+"),
    ("stripe-key", "k_test_", r"[sr]k_test_[A-Za-z0-9]{10,}+"),
    ("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}+"),
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{16,}+"),
    # A name in a style sheet can look like this too, but has no digits.
    ("openai-key", "sk-", r"sk-(?=[A-Za-z_-]{0,200}+\d)[\w-]{20,}+"),
    ("google-key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    ("google-token", "ya29.", r"ya29\.[\w-]{20,}+"),
    ("google-key", "GOCSPX-", r"GOCSPX-[\w-]{20,}+"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}+"),
    ("pypi-token", "pypi-", r"pypi-[\w-]{50,}+"),
    ("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}+"),
    ("docker-token", "dckr_", r"dckr_[po]at_[\w-]{20,}+"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{40,}+"),
    ("sendgrid-key", "SG.", r"SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    ("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}+"),
    ("telegram-token", ":AA", r"\d{8,10}+:AA[\w-]{33}(?![\w-])"),
    ("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+"),
    ("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}+"),
    ("vault-token", "hv", r"hv[sbr]\.[\w-]{24,}+"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,}+"),
    ("replicate-token", "r8_", r"r8_[A-Za-z0-9]{30,}+"),
    ("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}+"),
    ("supabase-token", "sbp_", r"sbp_[a-f0-9]{40,}+"),
    ("grafana-token", "glsa_", r"glsa_\w{32,}+"),
    ("sentry-token", "sntry", r"sntry[su]_[\w+/=.-]{32,}+"),
    ("figma-token", "figd_", r"figd_[\w-]{32,}+"),
    ("atlassian-token", "ATATT3", r"ATATT3[\w=-]{50,}+"),
    ("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{40,}+"),
    ("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+"),
    ("jwt", "eyJ", r"eyJ[\w-]{8,}+\.(?:eyJ[\w-]{6,}+\.[\w-]*+|[\w-]*+(?:\.[\w-]++){3})"),
)
_tokens = tuple(
    (sign, re.compile(rf"(?<![A-Za-z0-9_-]){form}", re.ASCII), placeholder(kind)) for kind, sign, form in _TOKENS
)

# What stands where a secret would, in code and documentation: references, placeholders, words for yes and no.
_stand_in = re.compile(
    r"[=>(`]|\[redacted:|\\?\$[A-Za-z_({]|%[sdvr(]|%\w+%|\{[^{}]*\}?|\{\{|<[^<>]*>?[.,;)]*$|\*+$|\.{3}|x+$|-+$"
    r"|(?:true|false|yes|no|on|off|none|null|nil|undefined|required|optional|enabled|disabled|string|str|text"
    r"|pass|passwd|password|token|secret|(?:your|my|the)[_-][\w-]+)[?.,;)]*$"
    r"|\d{1,5}[,;)]*$",
    re.IGNORECASE,
)
_address = re.compile(r"(?<=://)([^/\s:@\"']{0,256}+:)(?!\[redacted:)([^/\s\"'<>]{1,512})@")
_SCHEMES = "basic|bearer|token|digest|negotiate|ntlm|apikey|api-key|oauth|hawk|signature|aws4-hmac-sha256|key"
_authorization = re.compile(
    r"(?<![\w.])((?:proxy-)?authorization[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?)(?:"
    # A scheme and what follows it, or one long word with a digit.
    rf"(?:{_SCHEMES})[ \t]++(?![+&])([^\s\"';]++)[^\"'\n]*+"
    r"|(?=[^\s\"']*\d)([^\s\"'\[][^\s\"']{7,}+)(?=[\"'\s]|$))",
    re.IGNORECASE,
)
_plain_header = re.compile(r"^([ \t<>*+-]*+(?:Proxy-)?Authorization:[ \t]*+)([^\s\"']++)([^\"'\n]*+)", re.MULTILINE)
_cookie = re.compile(
    r"(?<![\w.])((?:set-)?cookie[\"']?[ \t]{0,8}:[ \t]{0,8}[\"']?)(?=[^\s=;:,\"'(){}]{1,256}+=[^=>])[^\"'\n]*+",
    re.IGNORECASE,
)
_key_header = re.compile(
    r"(?<![\w.])(x-(?:[a-z]{1,20}-)?(?:api-key|auth-token|access-token|security-token|token|secret)"
    # A quoted name with a value that is not quoted is a program's source, not a header.
    r"(?:[\"'][ \t]{0,8}:[ \t]{0,8}[\"']|[ \t]{0,8}:[ \t]{0,8}))(?![$<{%\[])[^\s\"']{6,}+",
    re.IGNORECASE,
)

# NAME=value. What `env` prints, and a line of an .env file, is a value up to the end of the line, blanks and all.
_variable_line = re.compile(
    r"^([ \t]*+(?:export |declare -x |setenv |set |\+ )?)([A-Z][A-Z0-9_]{1,99}+)=(?![\"'\s])([^\n]++)", re.MULTILINE
)
_assignment = re.compile(r"(?<!\w)([A-Za-z_][\w-]{1,99}+)=(\"(?:[^\"\\\n]|\\.)*+\"?|'[^'\n]*+'?|[^\s\"'`]++)", re.ASCII)
_next = re.compile(r"([;&])(?=[A-Za-z_])")
_member = re.compile(r"([\"'])([\w-]{2,99}+)\1[ \t]{0,8}:[ \t]{0,8}(\"[^\"\n]{4,}+\"|'[^'\n]{4,}+')")
_assignment_words = (
    *("pass", "secret", "token", "key", "credential", "auth", "session", "cookie", "private", "dsn", "_pwd"),
    *("database_url", "connection_string"),
)
# A variable that says something about a secret, and not the secret.
_about = re.compile(
    r".*_(?:TYPE|NAME|TTL|TIMEOUT|EXPIRY|EXPIRES|EXPIRES_IN|LENGTH|SIZE|COUNT|LIMIT|ENABLED|ALGORITHM|FILE|PATH|DIR|URI"
    r"|HOST|PORT|ENDPOINT|(?<!DATABASE_)URL)"
)
_program_name = re.compile(
    r".*(?:passw(?:or)?d|passphrase|secret|token|credentials?|(?:api|access|private|secret|account)[_-]?key)",
    re.IGNORECASE,
)
_password_name = re.compile(r".*(?:passw(?:or)?d|passphrase)", re.IGNORECASE)
_call = re.compile(r"[A-Za-z_]\w*+(?:(?:\.\w++)++[(\[]|\[\w*+\]|\(.*\)?[,;)]*$)", re.ASCII)
_path = re.compile(r"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++[,;)]*$", re.ASCII)
_identifier = re.compile(r"[a-z_]*(?:token|secret|key|passw|cred)[a-z0-9_]*[,;)]*", re.IGNORECASE)


def _automaton(*signs: str) -> "re2._Regexp":
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    # Bytes as they are: every sign is ASCII.
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile("|".join(signs).encode(), options)


_token_signs = tuple(sorted({re2.escape(sign) for sign, _, _ in _tokens}))
_has_token = _automaton(*_token_signs)
_suspicious = _automaton(
    *_token_signs,
    r"://[^/\s:@]*:[^/\s]*@",
    r"(?i:authorization[\"']?\s*[:=])",
    r"(?i:cookie[\"']?\s*:)",
    r"(?i:x-[a-z-]*(?:key|token|secret)[\"']?\s*:)",
    rf"(?i:(?:{'|'.join(_assignment_words)})[\w-]*(?:=|[\"']\s*:))",
    *SIGNS,
)


def without_secrets(text: str) -> str:
    """Replace the secrets in lines of text."""
    data = text.encode(errors="replace")
    found = _suspicious.search(data)
    if found is None:
        return text
    lines = text.split("\n")
    number = at = 0
    while found is not None:
        number += data.count(b"\n", at, found.start())
        lines[number] = _line_without_secrets(lines[number])
        end = data.find(b"\n", found.start())
        if end < 0:
            break
        number += 1
        at = end + 1
        found = _suspicious.search(data, at)
    return "\n".join(lines)


def _line_without_secrets(text: str) -> str:
    if _has_token.search(text.encode(errors="replace")):
        for sign, form, instead in _tokens:
            if sign in text:
                text = form.sub(instead, text)
    if "://" in text:
        text = _address.sub(_in_address, text)
    lower = text.lower()
    if "authorization" in lower:
        text = _plain_header.sub(_in_header, _authorization.sub(_in_authorization, text))
    if "cookie" in lower:
        text = _cookie.sub(rf"\1{placeholder('cookie')}", text)
    if "x-" in lower:
        text = _key_header.sub(rf"\1{placeholder('authorization')}", text)
    if any(word in lower for word in _assignment_words):
        if "=" in text:
            text = _assignment.sub(_in_assignment, _variable_line.sub(_in_variable_line, text))
        text = _member.sub(_in_member, text)
    return without_forms(text, _is_stand_in, placeholder("secret"))


def _in_authorization(found: re.Match[str]) -> str:
    if _stand_in.match(found[2] or found[3]):
        return found[0]
    return found[1] + placeholder("authorization")


def _in_header(found: re.Match[str]) -> str:
    # A scheme with a stand-in was left alone above.
    if _stand_in.match(found[2]) or _stand_in.match(found[3].strip()):
        return found[0]
    return found[1] + placeholder("authorization")


def _in_address(found: re.Match[str]) -> str:
    if _stand_in.match(found[2]):
        return found[0]
    return f"{found[1]}{placeholder('password')}@"


def _in_variable_line(found: re.Match[str]) -> str:
    before, name, value = found.groups()
    if not _is_variable(name) or _is_no_secret(value):
        return found[0]
    return f"{before}{name}={placeholder('secret')}"


def _in_assignment(found: re.Match[str]) -> str:
    name, value = found.groups()
    quote = value[0] if value[0] in "\"'" else ""
    inner = value.strip(quote) if quote else value
    if not inner or _is_no_secret(inner):
        return found[0]
    secret = _is_variable(name) or (
        _program_name.fullmatch(name) is not None
        and (_is_literal(name, inner) if quote else _is_literal_word(found, name, inner))
    )
    if not secret:
        if quote or _next.search(value) is None:
            return found[0]
        parts = _next.split(value)  # Server=x;Password=y, user=x&password=y
        return f"{name}={''.join(_assignment.sub(_in_assignment, part) for part in parts)}"
    closing = quote if len(value) > 1 and value.endswith(quote) else ""
    return f"{name}={quote}{placeholder('secret')}{closing}"


def _in_member(found: re.Match[str]) -> str:
    _, name, value = found.groups()
    inner = value[1:-1]
    known = _is_variable(name) or _program_name.fullmatch(name) is not None
    if not known or _is_no_secret(inner) or not _is_literal(name, inner):
        return found[0]
    return f"{found[0][: -len(inner) - 1]}{placeholder('secret')}{value[0]}"


def _is_variable(name: str) -> bool:
    return (
        name.isupper()
        and is_secret_variable(name.replace("-", "_"))
        and not is_harmless_value(name)
        and not _about.fullmatch(name)
    )


def _is_no_secret(value: str) -> bool:
    return _stand_in.match(value) is not None or _call.match(value) is not None


def _is_stand_in(value: str) -> bool:
    return _is_no_secret(value) or _path.fullmatch(value) is not None or _identifier.fullmatch(value) is not None


def _is_literal(name: str, value: str) -> bool:
    """Return True if a quoted text in a program or document is itself a secret, not a word about one."""
    if any(char.isspace() for char in value):
        return False
    return len(value) >= 4 and (_password_name.fullmatch(name) is not None or any(char.isdigit() for char in value))


def _is_literal_word(found: re.Match[str], name: str, value: str) -> bool:
    """Return True if a bare word is itself a secret, not the name of a variable that holds one."""
    if _path.fullmatch(value) or _identifier.fullmatch(value):
        return False
    if len(value) >= 6 and any(char.isdigit() for char in value):
        return True
    # Alone on its line it is a setting and not an argument.
    text = found.string
    start = text.rfind("\n", 0, found.start()) + 1
    alone = not text[start : found.start()].strip() and (found.end() == len(text) or text[found.end()] in "\r\n")
    return alone and len(value) >= 4 and value[-1] not in ",;)" and _password_name.fullmatch(name) is not None
