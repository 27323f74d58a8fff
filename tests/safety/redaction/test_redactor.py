"""Redaction: safety-policy.md R."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.table import table

import fourhands
from fourhands.core.errors import BadArgument
from fourhands.safety.redaction.redactor import (
    DEFAULT_LIMITS,
    LONGEST_KEY,
    Redactor,
    RedactorLimits,
    redact,
    redact_lines,
)

LONGEST = DEFAULT_LIMITS.line
SMALL = RedactorLimits(line=128, key=100)
BODY = "".join(f"{'MIIEpAIBAAKCAQEAx7Zq9v+/k3Jd0' * 2}{number:06d}\n" for number in range(24))
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}a1==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
MIX = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7kL9nP"  # not a secret of anybody

# Put together here, so that no scanner takes this file for a leak.
TOKENS = {
    "github-token": ["ghp_" + MIX[:36], "gho_" + MIX[:36], "ghs_" + MIX[:36], "github_pat_" + MIX[:22] + "_" + MIX],
    "gitlab-token": ["glpat-" + MIX[:20], "glrt-" + MIX[:20]],
    "aws-key": ["AKIA" + "ABCDEFGH23456789", "ASIA" + "ABCDEFGH23456789"],
    "slack-token": ["xoxb-1234567890-" + MIX[:24], "xapp-1-A0123-" + MIX[:20]],
    "stripe-key": ["sk_live_" + MIX[:24], "rk_test_" + MIX[:24], "whsec_" + MIX[:32]],
    "anthropic-key": ["sk-ant-api03-" + MIX],
    "openai-key": ["sk-" + MIX, "sk-proj-" + MIX],
    "google-key": ["AIza" + MIX[:35], "GOCSPX-" + MIX[:28]],
    "google-token": ["ya29." + MIX],
    "npm-token": ["npm_" + MIX[:36]],
    "pypi-token": ["pypi-AgEIcHlwaS5vcmc" + MIX],
    "huggingface-token": ["hf_" + MIX[:34]],
    "sendgrid-key": ["SG." + MIX[:22] + "." + MIX[:43]],
    "telegram-token": ["123456789:AA" + MIX[:33]],
    "jwt": [JWT],
}


@table(("kind", "token"), [(kind, token) for kind, tokens in TOKENS.items() for token in tokens])
@table("frame", ["{}", "got {} here", '"{}"', "x: {},\n", "https://host/?q={}&r=1", "({})"])
def test_tokens_of_vendors_are_replaced(kind, token, frame):
    assert redact(frame.format(token)) == frame.format(f"[redacted:{kind}]")


@table(
    ("text", "seen"),
    [
        ("API_KEY=abc123\n", "API_KEY=[redacted:secret]\n"),
        ("export DB_PASSWORD='two words' X=1", "export DB_PASSWORD='[redacted:secret]' X=1"),
        ("DB_PASSWORD=two words\nnext", "DB_PASSWORD=[redacted:secret]\nnext"),
        ("$ GITHUB_TOKEN=abcdef make all", "$ GITHUB_TOKEN=[redacted:secret] make all"),
        ('docker run -e "DB_PASS=abcd" image', 'docker run -e "DB_PASS=[redacted:secret]" image'),
        ("SENTRY_DSN=https://abc@sentry.io/1", "SENTRY_DSN=[redacted:secret]"),
        ("mysql --password=hunter2 db", "mysql --password=[redacted:secret] db"),
        ("tool --api-key=a1b2c3d4", "tool --api-key=[redacted:secret]"),
        ("password=swordfish\n", "password=[redacted:secret]\n"),
        ("db.password=swordfish", "db.password=swordfish"),
        ('connect(password="hunter2", port=1)', 'connect(password="[redacted:secret]", port=1)'),
        ('token="abc123"', 'token="[redacted:secret]"'),
        ('{"password": "swordfish", "a": 1}', '{"password": "[redacted:secret]", "a": 1}'),
        ("{'clientSecret': 'ab12cd'}", "{'clientSecret': '[redacted:secret]'}"),
        ('PASSWORD="open', 'PASSWORD="[redacted:secret]'),
        ("postgres://ada:p@ss@host/db", "postgres://ada:[redacted:password]@host/db"),
        ("redis://:hunter2@cache:6379", "redis://:[redacted:password]@cache:6379"),
        ("Authorization: Bearer abc.def\nnext", "Authorization: [redacted:authorization]\nnext"),
        ("Authorization: swordfish", "Authorization: [redacted:authorization]"),
        ("> authorization: Basic dXNlcjpwYXNz", "> authorization: [redacted:authorization]"),
        ("curl -H 'Authorization: token abcd' url", "curl -H 'Authorization: [redacted:authorization]' url"),
        ('{"Authorization": "Bearer abcd"}', '{"Authorization": "[redacted:authorization]"}'),
        ("authorization: 0123456789abcdef", "authorization: [redacted:authorization]"),
        ("Proxy-Authorization: Basic abcd", "Proxy-Authorization: [redacted:authorization]"),
        ("x-api-key: swordfish\n", "x-api-key: [redacted:authorization]\n"),
        ("Cookie: sid=abc; theme=dark\n", "Cookie: [redacted:cookie]\n"),
        ("< set-cookie: sid=abc; HttpOnly", "< set-cookie: [redacted:cookie]"),
        (f"before {KEY} after", "before [redacted:private-key] after"),
        (f"{KEY}\n{KEY}\n", "[redacted:private-key]\n[redacted:private-key]\n"),
        ("-----BEGIN PRIVATE KEY-----\nMIIa\n-----END PRIVATE KEY-----", "[redacted:private-key]"),
        ('{"k": "' + KEY.replace("\n", "\\n") + '"}', '{"k": "[redacted:private-key]"}'),
        (KEY.replace("RSA ", "OPENSSH "), "[redacted:private-key]"),
        (KEY.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "[redacted:private-key]"),
        (KEY.partition("a1==")[0] + "$ ls -l file.txt\n", "[redacted:private-key]$ ls -l file.txt\n"),
    ],
)
def test_secrets_are_replaced(text, seen):
    assert redact(text) == seen
    assert redact(seen) == seen


ORDINARY = [
    "token = get_token()",
    "token=get_token()",
    "token=self.token",
    "token=token1, password=password",
    'token="Bearer"',
    "key=lambda row: row.id",
    "primary_key=True",
    "max_tokens=100",
    "session=requests.Session()",
    "API_KEY=os.environ['API_KEY']",
    "API_KEY=$API_KEY",
    "API_KEY=${{ secrets.API_KEY }}",
    "PASSWORD=<your password>",
    "PASSWORD=",
    'PASSWORD=""',
    "PASSWORD=****",
    "TOKEN_TYPE=bearer",
    "KEY_FILE=/etc/ssl/host.key",
    "SSH_AUTH_SOCK=/tmp/ssh-abc/agent.12",
    "XDG_SESSION_TYPE=wayland",
    "if TOKEN==other:",
    "password: string;",
    '"token": "string"',
    '"password": "must not be empty"',
    "authorization: string;",
    '"Authorization": f"Bearer {token}"',
    'headers["Authorization"] = "Bearer " + token',
    "-H 'Authorization: Bearer $TOKEN'",
    "the cookie: a biscuit",
    "https://host:8080/path@2",
    "http://${USER}:${PASS}@proxy",
    "http://user:<password>@host",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 30,
    "sk-folding-cube-animation-name",
    "task-abc1234567890abcdefghijk",
    "eyJ is how JSON starts",
    'BEGIN = "-----BEGIN RSA PRIVATE KEY-----"\nprint(BEGIN)\nEND = "-----END RSA PRIVATE KEY-----"\n',
    'starts = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")',
    "-----BEGIN PRIVATE KEY-----",
    KEY.replace("PRIVATE", "PUBLIC"),
    KEY.replace("RSA PRIVATE KEY", "CERTIFICATE"),
]


@table("text", ORDINARY)
def test_ordinary_text_stays(text):
    assert redact(text) == text
    assert redact(f"first\n    {text}\nlast\n") == f"first\n    {text}\nlast\n"


def test_this_programs_own_source_stays():
    root = Path(fourhands.__file__).parent
    changed = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text()
        if redact(text) != text:
            changed.append(path.name)
    assert changed == []


@pytest.mark.parametrize("place", ["{}", "a{}b", "x={}\n", "{}{}"])
def test_known_values_are_replaced_wherever_they_are(place):
    assert redact(place.replace("{}", "corr-horse"), ["corr-horse"]) == place.replace("{}", "[redacted:environment]")


def test_known_values_of_several_lines_are_found_line_by_line():
    value = "-----BEGIN X-----\nfirst-line\nsecond-line\nshort"
    assert redact("a first-line b\nsecond-line\nshort", [value]) == (
        "a [redacted:environment] b\n[redacted:environment]\nshort"
    )


def test_short_values_and_the_mark_itself_are_left():
    assert redact("1234567 redacted production", ["1234567", "redacted", ""]) == "1234567 redacted production"


def test_of_two_values_the_longer_one_goes_first():
    assert redact("password12", ["password", "password12"]) == "[redacted:environment]"


PIECES = [
    *("\n", " ", '"', "'", "=", "a", "word ", "x1", ".", ":", "@", "\r\n", "é"),
    *("API_KEY=", "token=", "password=", "Authorization: ", "Bearer ", "Cookie: a=b", "://u:pw1@h", "corr-horse"),
    *(
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        BODY[:65].replace("M", "N"),
        BODY[1:30],
        "ghp_" + MIX[:36],
        JWT,
    ),
    *('"token": "abc123"', "sk-", MIX, "export ", "line\n"),
]
noise = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def cut(text, places, limits=DEFAULT_LIMITS):
    """Feed a text in pieces that end at the given places."""
    redactor = Redactor(["corr-horse"], limits=limits)
    out, last = [], 0
    for place in sorted({place % (len(text) + 1) for place in places}):
        out.append(redactor.feed(text[last:place]))
        last = place
    return "".join([*out, redactor.feed(text[last:]), redactor.close()])


@settings(max_examples=300, deadline=None)
@given(noise, st.lists(st.integers(0, 2000), max_size=8))
def test_any_cut_gives_the_same(text, places):
    assert cut(text, places) == redact(text, ["corr-horse"])


@settings(max_examples=300, deadline=None)
@given(noise, st.lists(st.integers(0, 2000), max_size=8))
def test_any_cut_gives_the_same_where_lines_are_too_long_to_hold(text, places):
    assert cut(text, places, SMALL) == redact(text, ["corr-horse"], SMALL)


# None of them is among the pieces of noise.
OTHERS = ["gho_" + MIX[:36], JWT.replace("doz", "zod"), KEY, "corr-horse"]


@settings(max_examples=200, deadline=None)
@given(noise, st.sampled_from(OTHERS), st.lists(st.integers(0, 5000), max_size=8))
def test_a_secret_never_comes_through(text, secret, places):
    seen = cut(f"{text}\n{secret}\n", places)
    for part in secret.splitlines():
        assert len(part) < 8 or "PRIVATE KEY" in part or part not in seen


def test_lines_are_given_when_their_end_is_there():
    redactor = Redactor()
    assert redactor.feed("one\nAPI_KEY=ab") == "one\n"
    assert redactor.feed("c\ntwo") == "API_KEY=[redacted:secret]\n"
    assert redactor.close() == "two"
    assert redactor.feed("three\n") == "three\n"


def test_what_follows_a_key_on_its_line_is_not_the_start_of_a_line():
    assert redact(f"{KEY}API_KEY=abcd12 efgh") == "[redacted:private-key]API_KEY=[redacted:secret] efgh"
    assert redact("API_KEY=abcd12 efgh") == "API_KEY=[redacted:secret]"


def test_a_key_without_end_holds_nothing_back_for_long():
    redactor = Redactor()
    given_text = redactor.feed(f"-----BEGIN PRIVATE KEY-----\n{BODY}") + redactor.feed("$ echo it's over\n$ ")
    assert given_text == "[redacted:private-key]$ echo it's over\n"


def test_a_key_that_never_ends_is_swallowed():
    text = "-----BEGIN PRIVATE KEY-----\n" + "A1b2" * LONGEST_KEY
    assert cut(text, range(0, len(text), 1000)) == redact(text) == "[redacted:private-key]"
    assert redact(text + "\nnext\n") == "[redacted:private-key]\nnext\n"


@pytest.mark.parametrize("sign", [" ", ",", "", "é"])
def test_a_very_long_line_comes_through_whole(sign):
    text = (sign + "abcdefgh") * (LONGEST // 2)
    assert cut(text, range(0, len(text), 7777)) == text


@pytest.mark.parametrize("sign", [" ", ",", "|"])
def test_no_secret_is_cut_apart_in_a_very_long_line(sign):
    token = "ghp_" + MIX[:36]
    for shift in range(0, 50, 7):
        text = "x" * shift + (sign + token) * (3 * LONGEST // 41)
        assert set(re.findall(r"[A-Z]\w{6,}", redact(text))) == set()


def test_a_secret_too_long_to_hold_is_swallowed():
    text = "a API_KEY=" + "s3cret" * LONGEST + " after\n"
    assert cut(text, range(0, len(text), 5000)) == redact(text) == "a API_KEY=[redacted:secret] after\n"


def test_what_is_held_back_is_bounded():
    for filling in (
        "x",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "API_KEY=a ",
        "ghp_",
        "\\n",
        "A1" * 40,
    ):
        redactor = Redactor()
        for _ in range(30):
            redactor.feed(filling * (8192 // len(filling)))
            assert redactor.held <= LONGEST


@pytest.mark.parametrize("values", ["text", None, 7, [7], [b"x"]])
def test_values_must_be_a_list_of_texts(values):
    with pytest.raises(BadArgument):
        Redactor(values)


@pytest.mark.parametrize("text", [None, b"x", 7])
def test_only_text_can_be_redacted(text):
    with pytest.raises(BadArgument, match=type(text).__name__):
        redact(text)


def test_lines_stay_as_many_as_they_were() -> None:
    key = KEY.split("\n")
    found = redact_lines(["$ cat key", *key, "TOKEN=abcdefgh12345", "", "plain"])
    assert found == [
        "$ cat key",
        *["[redacted:private-key]"] * len(key),
        redact("TOKEN=abcdefgh12345"),
        "",
        "plain",
    ]
    assert redact_lines([]) == []
    assert redact_lines(["", ""]) == ["", ""]
