"""Where a request goes, and with which key."""

import pytest

from fourhands.agents.models.upstream import Upstream, Upstreams
from fourhands.core.errors import NotFound, Unavailable
from fourhands.settings import UpstreamSettings

CHAT = b"/v1/chat/completions"


def remote(url: str, family: str = "openai", env: dict[str, str] | None = None, **more: str) -> Upstream:
    return Upstream("x", family, UpstreamSettings(url=url, **more), env or {})  # type: ignore[arg-type]  # only texts here


@pytest.mark.parametrize(
    ("url", "path", "target"),
    [
        ("https://api.openai.com", CHAT, CHAT),
        ("http://api.openai.com/", CHAT, CHAT),
        ("http://api.openai.com/v1", CHAT, CHAT),
        ("http://openrouter.ai/api/v1/", CHAT, b"/api/v1/chat/completions"),
        ("http://open.bigmodel.cn/api/paas/v4", CHAT, b"/api/paas/v4/chat/completions"),
        ("http://127.0.0.1:11434/ollama", CHAT, b"/ollama/v1/chat/completions"),
        ("http://x.test/v1beta", b"/v1beta/models/a:generateContent", b"/v1beta/models/a:generateContent"),
        ("http://x.test", b"/v1beta/models/a%2Fb:generateContent", b"/v1beta/models/a%2Fb:generateContent"),
    ],
)
def test_a_version_in_the_address_stands_for_ours(url, path, target):
    assert remote(url).target(path, b"") == target
    assert remote(url).target(path, b"alt=sse") == target + b"?alt=sse"


@pytest.mark.parametrize(
    ("family", "header"),
    [
        ("openai", (b"authorization", b"Bearer k")),
        ("anthropic", (b"x-api-key", b"k")),
        ("gemini", (b"x-goog-api-key", b"k")),
    ],
)
def test_the_key_comes_from_the_environment_as_the_interface_wants_it(family, header):
    assert remote("http://x.test", family, {"K": "k\n"}, key_variable="K").key() == [header]
    assert remote("http://x.test", family).key() == []


def test_another_header_may_carry_the_key():
    assert remote("http://x.test", env={"K": "k"}, key_variable="K", key_header="Api-Key").key() == [(b"api-key", b"k")]


def test_a_key_that_is_not_set_is_named():
    with pytest.raises(Unavailable, match=r"variable K of upstreams\.x is not set"):
        remote("http://x.test", key_variable="K").key()


@pytest.mark.parametrize("url", ["", "api.openai.com", "ftp://x.test", "unix:/x"])
def test_an_address_that_is_none_is_named(url):
    with pytest.raises(Unavailable, match="which is not an address"):
        remote(url)


async def test_a_dialect_may_have_a_server_of_its_own():
    settings = {"openai": UpstreamSettings(url="http://a.test"), "responses": UpstreamSettings(url="http://b.test")}
    upstreams = Upstreams(settings, {})
    assert upstreams.find("openai", "chat").name == "openai"
    assert upstreams.find("openai", "responses").name == "responses"
    assert upstreams.find("openai") is upstreams.find("openai", "chat")
    with pytest.raises(NotFound, match="no model server is configured for anthropic"):
        upstreams.find("anthropic", "anthropic")
    upstreams.close()
