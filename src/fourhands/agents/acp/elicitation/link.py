"""The address that an agent asks the person to open: what it is, and what is odd about it.

Python and browsers differ in how they read odd addresses. One that they could read differently is refused, so that the
host which is shown is the host that the browser goes to.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from fourhands.core.errors import BadArgument
from fourhands.core.form import OfferedLink

LONGEST: Final = 8192
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.IGNORECASE)
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)\.?", re.IGNORECASE)
_OWN = ("localhost", ".localhost")
_NEAR = (".local", ".internal", ".home.arpa", ".lan")

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def read_link(url: object) -> OfferedLink:
    """Return the link of an elicitation; raises `BadArgument` for an address that is not safe to offer."""
    if not isinstance(url, str) or not url:
        raise BadArgument(f"url is a text, not {url!r:.100}")
    if len(url) > LONGEST:
        raise BadArgument(f"the url has {len(url):,} characters", hint=f"at most {LONGEST:,}")
    if not url.isascii() or re.search(r"[\x00-\x20\x7f\\\"<>]", url):
        raise BadArgument(f"the url {url!r:.200} has signs that do not belong in one", hint="encode them by %")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadArgument(f"the url {url!r:.200} cannot be read: {error}") from None
    if parts.scheme not in ("https", "http"):
        raise BadArgument(f"the url {url!r:.200} begins with {parts.scheme!r:.20}", hint="https: and http: are opened")
    if "@" in parts.netloc:
        raise BadArgument(f"the url {url!r:.200} has a user name before its host", hint="leave it out")
    number = _number(host)
    if number is None and not (_NAME.fullmatch(host) and not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2])):
        raise BadArgument(f"the url {url!r:.200} has no host that could be shown", hint="such as https://example.org/")
    shown = f"[{host}]" if ":" in host else host
    return OfferedLink(
        url=url,
        host=shown if port is None else f"{shown}:{port}",
        warnings=tuple(_warnings(parts.scheme, host.rstrip("."), number)),
    )


def _warnings(scheme: str, host: str, number: _Address | None) -> list[str]:
    own = host in _OWN or host.endswith(_OWN[1]) or (number is not None and number.is_loopback)
    found = []
    if own:
        found.append("It leads to a program on your own machine.")
    elif host.endswith(_NEAR) or "." not in host or (number is not None and number.is_private):
        found.append("It leads to a machine of your own network.")
    elif number is not None:
        found.append("Its host is a number, not a name.")
    if any(label.startswith("xn--") for label in host.split(".")):
        found.append("Its host has letters that may look like others (Punycode).")
    if scheme == "http" and not own:
        found.append("It is not encrypted: others on the way can read what you enter there.")
    return found


def _number(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host) if "%" not in host else None
    except ValueError:
        return None
