"""Headers on both ways through the proxy: what names a person or a connection stays here, the rest is passed on.

The expected names are spelt out here, not taken from the proxy: a name that is lost from its list must fail a test.
"""

import asyncio
import json

import pytest
from tests.kit.answering import listening, request_of
from tests.kit.stage import KEY, Stage, stage

pytestmark = pytest.mark.timeout(60)

ANSWER = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'

# Sent by an agent or a page; none of it concerns a model's server.
PRIVATE = {
    "cookie": "session=of-the-page",
    "referer": "http://127.0.0.1:1/private-place",
    "x-api-key": "an-old-key",
    "x-goog-api-key": "another-key",
    "x-fourhands-key": "a-third-key",
    "proxy-authorization": "Basic c2VjcmV0",
    "te": "trailers",
    "expect": "the-unexpected",
    "upgrade": "h2c",
    "connection": "keep-alive, x-only-here",
    "x-only-here": "for-one-connection",
}
PRIVATE_VALUES = [
    *("session=of-the-page", "private-place", "old-key", "another-key", "third-key", "c2VjcmV0", "h2c"),
    *("trailers", "the-unexpected", "for-one-connection"),
]
PUBLIC = {"x-stainless-lang": "python", "anthropic-beta": "tools", "user-agent": "robo/1", "x-own": "kept"}

# Said by a model's server; a browser would take it as said by this origin.
FOREIGN = {
    "set-cookie": "a=b; Path=/",
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "alt-svc": 'h3=":443"',
    "content-security-policy": "default-src *",
    "access-control-allow-origin": "*",
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "x-request-id",
    "proxy-authenticate": "Basic",
    "trailer": "x-late",
    "connection": "close, X-One-Way",
    "x-one-way": "for-one-connection",
}
OWN = {"x-request-id": "r1", "retry-after": "7", "openai-processing-ms": "12", "x-ratelimit-remaining": "3"}


async def exchanged(
    status: int = 200, path: str = "/v1/chat/completions", query: str = "", key_header: str = ""
) -> tuple[str, list[str]]:
    """The head that the model's server got, and the header lines that the agent got, both with names in lower case."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await request_of(reader)
        heads.append(head)
        lines = [f"{name}: {value}" for name, value in {**FOREIGN, **OWN}.items()]
        writer.write(f"HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n".encode())
        writer.write("\r\n".join(lines).encode() + b"\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER)

    async with listening(serve) as port, stage(upstream=f"http://127.0.0.1:{port}", key_header=key_header) as s:
        answer = await _sent(s, path + query)
    told = answer.partition(b"\r\n\r\n")[0].decode("latin-1").lower().split("\r\n")
    assert told[0].split()[1] == str(status)
    return heads[0].decode("latin-1"), told[1:]


async def _sent(s: Stage, target: str) -> bytes:
    """The answer to a request with all the headers above, on a connection of its own: no library adds or mends any."""
    reader, writer = await asyncio.open_connection("127.0.0.1", s.server.address.port)
    body = json.dumps({"messages": []}).encode()
    here = f"127.0.0.1:{s.server.address.port}"
    lines = [f"host: {here}", f"origin: http://{here}", f"authorization: Bearer {s.token}"]
    lines += [f"{name}: {value}" for name, value in {**PRIVATE, **PUBLIC}.items()]
    lines += ["content-type: application/json", f"content-length: {len(body)}"]
    writer.write(f"POST {target} HTTP/1.1\r\n".encode() + "\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return head


async def test_nothing_that_names_a_person_or_a_connection_reaches_the_models_server() -> None:
    head, _ = await exchanged()
    names = [line.partition(":")[0].lower() for line in head.split("\r\n")[1:] if line]
    for value in PRIVATE_VALUES:
        assert value not in head, value
    assert set(names) & {*PRIVATE, "origin"} == set()
    assert names.count("authorization") == 1
    assert f"authorization: Bearer {KEY}" in head
    for name, value in PUBLIC.items():
        assert f"{name}: {value}" in head
    assert "accept-encoding: identity" in head


async def test_the_agents_token_goes_no_further_where_the_key_has_another_header() -> None:
    head, _ = await exchanged(path="/v1/messages")
    names = [line.partition(":")[0].lower() for line in head.split("\r\n")[1:] if line]
    assert "authorization" not in names
    assert f"x-api-key: {KEY}" in head
    assert names.count("x-api-key") == 1


async def test_what_an_agent_sends_in_the_header_of_the_key_is_replaced_by_the_key() -> None:
    head, _ = await exchanged(key_header="X-Own")
    assert [line for line in head.split("\r\n") if line.lower().startswith("x-own:")] == [f"x-own: {KEY}"]


@pytest.mark.parametrize("status", [200, 429])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models"])
async def test_nothing_that_a_browser_would_take_as_said_by_us_comes_back(status: int, path: str) -> None:
    _, lines = await exchanged(status, path)
    told = {line.partition(":")[0]: line.partition(": ")[2] for line in lines}
    assert {f"{name}: {value}".lower() for name, value in FOREIGN.items()} & set(lines) == set()
    ours = {"content-security-policy", "connection"}  # with other values
    assert (told.keys() & FOREIGN.keys()) - ours == set()
    assert "x-one-way" not in told.get("connection", "")
    assert OWN.items() <= told.items()


async def test_a_key_in_the_query_stays_here_however_it_is_spelt() -> None:
    head, _ = await exchanged(path="/v1/models", query="?a=1&key=key-of-mine&k%65y=key-of-yours&keyed=2")
    target = head.split()[1]
    assert target.endswith("/models?a=1&keyed=2")
    assert "key-of" not in head
