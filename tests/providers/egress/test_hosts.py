"""Host names in one form: what is written differently is the same, and an address is never a name."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.table import table

from fourhands.core.errors import BadArgument
from fourhands.providers.egress.hosts import HostPattern, host_name, reach
from fourhands.providers.egress.registries import host_of

LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=2, max_size=5).map(".".join)


@table(
    ("text", "name"),
    [
        ("Example.ORG", "example.org"),
        ("example.org.", "example.org"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("a_b.example", "a_b.example"),
        ("localhost", "localhost"),
    ],
)
def test_a_name_has_one_form(text: str, name: str) -> None:
    assert host_name(text) == name


@table(
    "text",
    [
        "",
        ".",
        "a..b",
        "example.org..",
        "-a.example",
        "a b",
        "a\nb",
        "a/b",
        "user@example.org",
        "example.org:80",
        "[::1]",
        "::1",
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "2130706433",
        "1.2.3.4.",
        "１２７.0.0.1",
        "a.0x7f",
        "x" * 64,
        "a." * 130,
        "a\0b",
        "a%00b",
        "*",
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        host_name(text)


@given(st.text(max_size=60))
def test_a_name_in_its_form_stays_and_is_no_address(text: str) -> None:
    try:
        name = host_name(text)
    except BadArgument:
        return
    assert host_name(name) == name == name.lower()
    assert name.isascii()
    with pytest.raises(ValueError, match="does not appear"):
        ipaddress.ip_address(name)


@given(NAME, NAME, st.integers(1, 65_535))
def test_a_wildcard_means_names_below_and_no_others(name: str, other: str, port: int) -> None:
    pattern = HostPattern.parse(f"*.{name}")
    assert pattern.matches(f"{other}.{name}", port)
    assert not pattern.matches(name, port)
    assert not pattern.matches(f"evil{name}", port)
    assert not pattern.matches(f"{name}.evil.example", port)
    exact = HostPattern.parse(f"{name.upper()}.:{port}")
    assert exact.matches(name, port)
    assert not exact.matches(name, port % 65_535 + 1)
    assert HostPattern.parse(str(exact)) == exact


@table(
    "text", ["*", "*.", "*.org", "*.*.org", "a.*.org", "a.example:0", "a.example:99999", "a.example:x", "a.example:"]
)
def test_a_pattern_that_means_too_much_or_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        HostPattern.parse(text)


@table(
    ("address", "whose"),
    [
        ("93.184.216.34", "public"),
        ("2606:2800:220:1::1", "public"),
        ("10.0.0.1", "private"),
        ("172.31.0.1", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("fd00::1", "private"),
        ("::ffff:10.0.0.1", "private"),
        ("64:ff9b::a00:1", "private"),
        ("127.0.0.1", "closed"),
        ("127.9.9.9", "closed"),
        ("0.0.0.0", "closed"),
        ("169.254.169.254", "closed"),
        ("224.0.0.1", "closed"),
        ("255.255.255.255", "closed"),
        ("198.18.0.1", "closed"),
        ("::1", "closed"),
        ("::", "closed"),
        ("fe80::1%eth0", "closed"),
        ("::ffff:127.0.0.1", "closed"),
        ("64:ff9b::7f00:1", "closed"),
        ("2002:7f00:1::", "closed"),
        ("example.org", "closed"),
    ],
)
def test_every_address_is_public_private_or_closed(address: str, whose: str) -> None:
    assert reach(address) == whose


@table(
    ("word", "host"),
    [
        ("https://packages.example/simple/", "packages.example:443"),
        ("http://user:pass@packages.example:8080/x", "packages.example:8080"),
        ("sparse+https://crates.example/index/", "crates.example:443"),
        ("sum.example", "sum.example:443"),
        ("direct", None),
        ("off", None),
        ("file:///srv/index", None),
        ("http://10.0.0.7/simple", None),
        ("https://[::1]/", None),
    ],
)
def test_the_host_of_a_registry_is_read_from_its_address(word: str, host: str | None) -> None:
    found = host_of(word)
    assert (None if found is None else str(found)) == host
