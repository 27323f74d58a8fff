"""The way to a model's server: proxies and certificates that the environment names."""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest
import uvloop
from tests.kit.answering import Proxy, certified, listening, saying

from fourhands.agents.models.pool import UpstreamPool
from fourhands.agents.models.upstream import Upstream
from fourhands.core.errors import Unavailable
from fourhands.providers.upstream_proxy import certificates, proxy_to
from fourhands.settings import UpstreamSettings

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
VIA = {"HTTPS_PROXY": "http://proxy.test:3128", "http_proxy": "plain.test"}


@pytest.mark.parametrize(
    ("url", "env", "expected"),
    [
        ("https://api.test/v1", VIA, "the proxy proxy.test:3128 (of HTTPS_PROXY)"),
        ("http://api.test/v1", VIA, "the proxy plain.test:80 (of http_proxy)"),
        ("http://api.test", {"ALL_PROXY": "http://[::1]:8080"}, "the proxy ::1:8080 (of ALL_PROXY)"),
        ("https://api.test", {"https_proxy": "a:1", "HTTPS_PROXY": "b:2"}, "the proxy a:1 (of https_proxy)"),
        ("https://api.test", {"HTTPS_PROXY": " "}, None),
        ("https://api.test", {"HTTP_PROXY": "http://a.test"}, None),
        ("https://api.test", {}, None),
    ],
)
def test_the_environment_names_the_proxy(url: str, env: Mapping[str, str], expected: str | None) -> None:
    found = proxy_to(httpx.URL(url), env)
    assert (str(found) if found else None) == expected


@pytest.mark.parametrize(
    ("url", "exceptions", "direct"),
    [
        ("https://api.test", "*", True),
        ("https://api.test", "api.test", True),
        ("https://API.test", "other.test, Api.Test", True),
        ("https://a.api.test", "api.test", True),
        ("https://a.api.test", ".api.test", True),
        ("https://a.api.test", "*.api.test", True),
        ("https://myapi.test", "api.test", False),
        ("https://api.test", "a.api.test", False),
        ("https://api.test", ",, ", False),
        ("https://api.test", "api.test:443", True),
        ("https://api.test:8443", "api.test:443", False),
        ("http://10.1.2.3", "10.0.0.0/8", True),
        ("http://11.1.2.3", "10.0.0.0/8 api.test", False),
        ("http://10.1.2.3", "10.1.2.3", True),
        ("http://10.1.2.3:81", "10.1.2.3:80", False),
        ("http://[fd00::7]", "fd00::/8", True),
        ("http://[fd00::7]:81", "[fd00::7]:81", True),
        ("http://[fd00::7]", "[fd00::7]", True),
        ("http://[fd00::7]", "10.0.0.0/8", False),
    ],
)
def test_exceptions_name_servers_domains_and_networks(url: str, exceptions: str, direct: bool) -> None:
    env = {"ALL_PROXY": "http://proxy.test", "NO_PROXY": exceptions}
    assert (proxy_to(httpx.URL(url), env) is None) is direct


@pytest.mark.parametrize("host", ["localhost", "model.localhost", "127.0.0.1", "127.8.8.8", "[::1]", "0.0.0.0"])
def test_this_machine_is_never_reached_by_a_proxy(host: str) -> None:
    assert proxy_to(httpx.URL(f"http://{host}:11434/v1"), {"ALL_PROXY": "http://proxy.test"}) is None


@pytest.mark.parametrize("value", ["socks5://ann:hidden@proxy.test", "https://proxy.test", "http://", "http://a:b:c"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(value: str) -> None:
    with pytest.raises(Unavailable, match="environment variable HTTPS_PROXY") as caught:
        proxy_to(httpx.URL("https://api.test"), {"HTTPS_PROXY": value})
    assert "hidden" not in str(caught.value)


def test_no_password_is_shown() -> None:
    assert "hidden" not in repr(proxy_to(httpx.URL("http://api.test"), {"HTTP_PROXY": "http://ann:hidden@proxy.test"}))


@contextlib.asynccontextmanager
async def behind(url: str, proxy: Proxy, env: Mapping[str, str]) -> AsyncIterator[Upstream]:
    """A model's server that the environment has a proxy for."""
    async with listening(proxy.serve) as port:
        given = {**env, "ALL_PROXY": f"http://ann:p%40ss@127.0.0.1:{port}"}
        remote = Upstream("x", "openai", UpstreamSettings(url=url, connect_s=15.0, silence_s=15.0), given)
        try:
            yield remote
        finally:
            remote.close()


async def ask(remote: Upstream) -> bytes:
    response = await remote.send("POST", b"/v1/x", [(b"x-secret", b"s")], b"{}")
    data = b""
    while piece := await response.read():
        data += piece
    response.close()
    return data


async def test_a_proxy_is_told_the_whole_address_in_the_clear() -> None:
    async with listening(saying(OK)) as port:
        proxy = Proxy(port)
        async with behind("http://api.test:8080/v1", proxy, {}) as remote:
            for _ in range(2):
                assert await ask(remote) == b"ok"
    (head,) = proxy.heads
    assert head.startswith(b"POST http://api.test:8080/v1/x HTTP/1.1\r\nhost: api.test:8080\r\n")
    assert b"proxy-authorization: Basic " + base64.b64encode(b"ann:p@ss") in head


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_proxy_connects_to_a_server_by_tls_and_sees_nothing_of_it(run, tmp_path) -> None:
    async def main() -> Proxy:
        cert, context = await certified(tmp_path)
        async with listening(saying(OK), context) as port:
            proxy = Proxy(port)
            # The proxy leads the name to the right machine, so it is none that we could look up ourselves.
            async with behind("https://api.test/v1", proxy, {"SSL_CERT_FILE": cert}) as remote:
                for _ in range(2):
                    assert await ask(remote) == b"ok"
        return proxy

    heads = run(main()).heads
    assert len(heads) == 1
    assert heads[0].startswith(b"CONNECT api.test:443 HTTP/1.1\r\nhost: api.test:443\r\nproxy-authorization: Basic ")
    assert b"secret" not in heads[0]


async def test_a_server_behind_a_proxy_that_nobody_vouches_for_is_refused(tmp_path) -> None:
    _, context = await certified(tmp_path)
    async with listening(saying(OK), context) as port, behind("https://api.test/v1", Proxy(port), {}) as remote:
        with pytest.raises(ssl.SSLCertVerificationError):
            await ask(remote)
        assert remote.pool.stats().open == 0


async def test_a_proxy_that_refuses_or_is_not_there_is_named(tmp_path) -> None:
    proxy = Proxy(9, b"HTTP/1.1 407 Who are you\r\ncontent-length: 3\r\n\r\nno!")
    async with behind("https://api.test/v1", proxy, {}) as remote:
        with pytest.raises(
            ConnectionError, match=r"the proxy 127.0.0.1:\d+ \(of ALL_PROXY\) refused the connection: status 407"
        ):
            await ask(remote)
        assert remote.pool.stats().open == 0
    far = UpstreamPool(
        httpx.URL("https://api.test"),
        certificates({}),
        connect_s=5.0,
        silence_s=5.0,
        proxy=proxy_to(httpx.URL("https://api.test"), {"ALL_PROXY": "127.0.0.1:9"}),
    )
    with pytest.raises(ConnectionError, match=r"the proxy 127.0.0.1:9 \(of ALL_PROXY\) cannot be reached"):
        await far.send("GET", b"/", [], b"")


@pytest.mark.parametrize(("variable", "text"), [("SSL_CERT_FILE", "none"), ("SSL_CERT_FILE", "empty")])
def test_certificates_that_cannot_be_read_are_named(variable, text, tmp_path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(Unavailable, match=f"environment variable {variable} names .*{text}"):
        certificates({variable: str(tmp_path / text)})
