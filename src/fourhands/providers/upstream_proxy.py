"""The way from here to a model's server: which proxy the environment names for it, and whose certificates count.

The variables are those that other programs heed too: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in either case,
the lower one first; and SSL_CERT_FILE and SSL_CERT_DIR for a company's own authority. This machine is never reached by
a proxy: it would look for the server on itself.
"""

import base64
import ipaddress
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fourhands.core.errors import Unavailable

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")


class Destination(Protocol):
    """The parts of an address that decide about the way to it, as an `httpx.URL` has them."""

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        ...

    @property
    def host(self) -> str:
        """Its name or number, that of IPv6 without brackets."""
        ...

    @property
    def port(self) -> int | None:
        """Its port, if it is not the usual one."""
        ...


@dataclass(frozen=True, slots=True)
class WebProxy:
    """A proxy that speaks HTTP; `authorization` is the value of the header that it wants, or empty."""

    variable: str
    host: str
    port: int
    authorization: bytes = field(default=b"", repr=False)
    url: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"the proxy {self.host}:{self.port} (of {self.variable})"


def proxy_to(url: Destination, env: Mapping[str, str]) -> WebProxy | None:
    """Return the proxy for this address; None for a direct connection."""
    port = url.port or (443 if url.scheme == "https" else 80)
    if _is_here(url.host) or _is_excepted(url.host, port, _value(env, "NO_PROXY")[1]):
        return None
    for name in (f"{url.scheme.upper()}_PROXY", "ALL_PROXY"):
        variable, value = _value(env, name)
        if value:
            return _proxy(variable, value)
    return None


def certificates(env: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that trusts the well-known authorities, the system's, and those the environment names."""
    import httpx  # late, here and below: most workbenches never go that way, and it is slow to load

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()  # a company's own authority is in the system's store
    context.set_alpn_protocols(["http/1.1"])
    for variable, kind in (("SSL_CERT_FILE", "cafile"), ("SSL_CERT_DIR", "capath")):
        if place := env.get(variable, ""):
            try:
                context.load_verify_locations(**{kind: place})
            except OSError as error:  # those of the library for certificates too
                raise Unavailable(
                    f"the environment variable {variable} names {place!r}, which holds no certificates: "
                    f"{error.strerror or error}",
                    hint="correct it before Fourhands is started",
                ) from error
    return context


def _value(env: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the name of the variable that is set, lower case first, and its value."""
    found = next((each for each in (name.lower(), name) if env.get(each, "").strip()), name)
    return found, env.get(found, "").strip()


def _proxy(variable: str, value: str) -> WebProxy:
    import httpx

    whole = value if _SCHEME.match(value) else f"http://{value}"
    try:
        url = httpx.URL(whole)
    except httpx.InvalidURL as error:
        raise Unavailable(f"the environment variable {variable} names no proxy: {error}") from None
    if url.scheme != "http" or not url.host:
        shown = url.copy_with(userinfo=b"") if url.userinfo else url
        raise Unavailable(
            f"the environment variable {variable} is {str(shown)!r:.200}, which is not a usable proxy",
            hint="give one as http://host:port, or name the model's server in NO_PROXY",
        )
    name = f"{url.username}:{url.password}".encode() if url.userinfo else b""
    authorization = b"Basic " + base64.b64encode(name) if name else b""
    return WebProxy(variable, url.raw_host.decode("ascii"), url.port or 80, authorization, whole)


def _is_here(host: str) -> bool:
    address = _address(host)
    if address is not None:
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


def _is_excepted(host: str, port: int, exceptions: str) -> bool:
    """Return True if NO_PROXY names this server: itself, a domain that it is in, a network, or everything."""
    address = _address(host)
    for entry in re.split(r"[,\s]+", exceptions.lower()):
        if entry == "*":
            return True
        name, colon, number = entry.rpartition(":")
        if colon and number.isdigit() and (name.endswith("]") or ":" not in name):
            if int(number) != port:
                continue
            entry = name
        entry = entry.strip("[]").removeprefix("*").lstrip(".")
        if not entry:
            continue
        if address is None:
            if host == entry or host.endswith(f".{entry}"):
                return True
        elif address in _network(entry):
            return True
    return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | tuple[()]:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return ()
