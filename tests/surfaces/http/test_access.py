import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from starlette.routing import Route, WebSocketRoute
from tests.kit.server import LIMIT_S, Raw, Served, serve_app
from websockets.exceptions import InvalidStatus

from fourhands.core.call import Actor
from fourhands.core.errors import BadArgument, Denied, Unavailable
from fourhands.settings import ServerSettings, Settings
from fourhands.surfaces.auth import TokenLimits, Tokens
from fourhands.surfaces.discovery import ServerAddress
from fourhands.surfaces.http import access
from fourhands.surfaces.http.access import SCRIPT, SECURITY_HEADERS, AccessControl, AccessLimits, BoundedBody
from fourhands.surfaces.server import TRIES, ServerLimits, host_names, listen
from fourhands.surfaces.transport import HEAD_LIMIT, ServerTimeouts

pytestmark = pytest.mark.asyncio(loop_scope="module")

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
OPEN = {("GET", "/health"), ("HEAD", "/health"), ("POST", "/api/browser"), ("GET", "/"), ("HEAD", "/")}
WRONG = "x" * 43
LIMITS = AccessLimits()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hurried() -> AsyncIterator[Served]:
    """A server that waits for nothing for long."""
    timeouts = ServerTimeouts(open_s=0.3, ping_s=0.1)
    async with serve_app(limits=ServerLimits(access=AccessLimits(body_s=0.2), timeouts=timeouts)) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def narrow() -> AsyncIterator[Served]:
    """A server that lets a token have two of everything."""
    async with serve_app(limits=ServerLimits(access=AccessLimits(sockets=2, requests=2))) as running:
        yield running


def paths(served: Served) -> list[str]:
    """Every route of HTTP, its parameters filled in."""
    found = {route.path for route in served.routes() if isinstance(route, Route)} | {"/", "/assets/x.js", "/nothing"}
    assert {"/mcp", "/api/agents", "/v1/{rest:path}", "/api/commands/{id}"} <= found
    return sorted(path.replace("{id}", "openspace.pane.list").replace("{rest:path}", "models") for path in found)


def upgrades(served: Served) -> list[str]:
    found = [route.path for route in served.routes() if isinstance(route, WebSocketRoute)]
    assert {"/ws", "/mcp/socket"} <= set(found)
    return [path.replace("{terminal:path}", "none") for path in found] + ["/nothing", "/health"]


@pytest.fixture
def refusals(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What the door logged."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    access.log.addHandler(handler)
    yield messages
    access.log.removeHandler(handler)


# -- the matrix ------------------------------------------------------------------------------------------------------


async def _strangers(served: Served) -> dict[str, dict[str, str]]:
    """Headers that must open nothing."""
    cookie, key = await served.browser()
    other_cookie, other_key = await served.browser()
    host = f"127.0.0.1:{served.port}"
    good = {"authorization": f"Bearer {served.token}"}
    return {
        "nothing": {},
        "a wrong token": {"authorization": f"Bearer {WRONG}"},
        "an empty token": {"authorization": "Bearer"},
        "another scheme": {"authorization": f"Basic {served.token}"},
        "the token without a scheme": {"authorization": served.token},
        "half a token": {"authorization": f"Bearer {served.token[:-1]}"},
        "a token too long": {"authorization": f"Bearer {served.token}x"},
        "a cookie alone": {"cookie": cookie, "origin": f"http://{host}"},
        "a key alone": {"x-fourhands-key": key, "origin": f"http://{host}"},
        "a cookie with another's key": {"cookie": cookie, "x-fourhands-key": other_key, "origin": f"http://{host}"},
        "a cookie as key": {"cookie": cookie, "x-fourhands-key": cookie, "origin": f"http://{host}"},
        "the token as cookie": {"cookie": f"{served.running.tokens.cookie}={served.token}", "x-fourhands-key": "a"},
        "another origin": {**good, "origin": "http://evil.example"},
        "another port's origin": {**good, "origin": "http://127.0.0.1:1"},
        "our own host by TLS, which it does not speak": {**good, "origin": f"https://{host}"},
        "our other name": {**good, "origin": f"http://localhost:{served.port}"},
        "the null origin": {**good, "origin": "null"},
        "an empty origin": {**good, "origin": ""},
        "an origin with a path": {**good, "origin": f"http://{host}/"},
        "an origin in capitals": {**good, "origin": f"HTTP://{host}"},
        "an origin that begins right": {**good, "origin": f"http://{host}.evil.example"},
        "another host": {**good, "host": "evil.example"},
        "another port": {**good, "host": "127.0.0.1:1"},
        "no port": {**good, "host": "127.0.0.1"},
        "a host in capitals": {**good, "host": f"LOCALHOST:{served.port}"},
        "a host with a dot": {**good, "host": f"localhost.:{served.port}"},
        "a host with a user": {**good, "host": f"x@{host}"},
        "a name for loopback": {**good, "host": f"127.1:{served.port}"},
        "an empty host": {**good, "host": ""},
        "a wrong token beside a good cookie": {
            "authorization": f"Bearer {WRONG}",
            "cookie": other_cookie,
            "x-fourhands-key": other_key,
            "origin": f"http://{host}",
        },
    }


@pytest.mark.parametrize("part", range(6))  # 3,900 requests are too many for one test's time limit
async def test_no_route_lets_a_stranger_in_and_each_refusal_is_logged(
    served: Served, refusals: list[str], part: int
) -> None:
    let_in, unlogged, bare = [], [], []
    async with served.client("") as client:
        for name, headers in list((await _strangers(served)).items())[part::6]:
            # Whoever only lacks a token may have what is open to all.
            may = OPEN | {("GET", "/assets/x.js"), ("HEAD", "/assets/x.js")} if _token_only(headers, served) else set()
            for path in paths(served):
                for method in METHODS:
                    refusals.clear()
                    response = await client.request(method, path, headers=headers)
                    missing = [header for header, _ in SECURITY_HEADERS if header.decode() not in response.headers]
                    if missing:
                        bare.append((name, method, path))
                    if response.status_code in (400, 401, 403, 421):
                        if not refusals and (method, path) not in may:
                            unlogged.append((name, method, path))
                    elif (method, path) not in may:
                        let_in.append((name, method, path, response.status_code))
    assert let_in == []
    assert unlogged == []
    assert bare == []


@pytest.mark.parametrize("site", ["none", "same-origin", "same-site", "cross-site", "NONE", "", "none, none", None])
async def test_a_window_that_a_page_may_hold_is_taken_from_it(served: Served, site: str | None) -> None:
    headers = {} if site is None else {"sec-fetch-site": site}
    policy = None if site in ("none", "same-origin") else "same-origin"
    async with served.client("") as client:
        for path in ("/", "/health", "/openspace/first"):
            answered = (await client.get(path, headers=headers)).headers
            assert answered.get("cross-origin-opener-policy") == policy, path
            missing = [name for name, _ in SECURITY_HEADERS if name.decode() not in answered]
            assert missing == ([] if policy else [b"cross-origin-opener-policy"]), path


def _token_only(headers: dict[str, str], served: Served) -> bool:
    return "host" not in headers and headers.get("origin", f"http://127.0.0.1:{served.port}").endswith(
        f"//127.0.0.1:{served.port}"
    )


async def test_no_upgrade_lets_a_stranger_in(
    served: Served, refusals: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for name, headers in (await _strangers(served)).items():
        if headers.get("host") == "":
            continue
        for path in upgrades(served):
            refusals.clear()
            status, body = await _upgrade(served, path, headers)
            assert status in (401, 403, 421), (name, path, status, body)
            assert refusals, (name, path)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def _upgrade(served: Served, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
    lines = {"host": f"127.0.0.1:{served.port}", **headers}
    lines |= {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13"}
    lines["sec-websocket-key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    async with await Raw.open(served.port) as raw:
        await raw.send(f"GET {path} HTTP/1.1\r\n{text}\r\n".encode())
        head = await raw.head()
        return int(head.split()[1]), head


async def test_every_stranger_gets_a_reason_in_json(served: Served) -> None:
    async with served.client("") as client:
        wrong = await client.post("/api/commands/openspace.pane.list", headers={"authorization": f"Bearer {WRONG}"})
        nothing = await client.get("/metrics")
        page = await client.post("/api/commands/openspace.pane.list")
    assert (wrong.status_code, wrong.json()["code"]) == (401, "bad-token")
    assert "fourhands doctor" in wrong.json()["hint"]
    assert (nothing.status_code, nothing.json()["code"]) == (401, "no-token")
    assert "fourhands open" in nothing.json()["hint"]
    assert (page.status_code, page.json()["code"]) == (401, "no-token")
    assert wrong.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert {one.headers["www-authenticate"] for one in (nothing, page)} == {'Bearer realm="fourhands"'}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1beta/models/x:generateContent"])
@pytest.mark.parametrize("name", ["authorization", "x-api-key", "x-goog-api-key", "key"])
async def test_a_wrong_key_of_a_models_client_is_a_wrong_token(
    served: Served, name: str, path: str, method: str
) -> None:
    headers = {"authorization": {"authorization": f"Bearer {WRONG}"}, "key": {}}.get(name, {name: WRONG})
    async with served.client("", headers=headers) as client:
        response = await client.request(method, f"{path}?key={WRONG}" if name == "key" else path)
    assert (response.status_code, response.json()["code"]) == (401, "bad-token")


async def test_a_refusal_cannot_forge_lines_of_the_log(served: Served, refusals: list[str]) -> None:
    async with served.client("") as client:
        await client.get("/x%0aWARNING%20all%20is%20well")
    assert refusals
    assert "\n" not in refusals[0]


async def test_a_refusal_names_who_really_asked(served: Served, refusals: list[str]) -> None:
    async with served.client("", headers={"x-forwarded-for": "192.0.2.7", "forwarded": "for=192.0.2.7"}) as client:
        await client.get("/metrics")
    assert "from 127.0.0.1" in refusals[0]


HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


async def test_every_answer_has_these_headers(served: Served) -> None:
    async with served.client() as client:
        for path in ("/health", "/metrics", "/nothing", "/openspace/manifest"):
            found = (await client.get(path)).headers
            assert {name: found.get(name) for name in HEADERS} == HEADERS, path
    assert {name.decode(): value.decode() for name, value in SECURITY_HEADERS} == HEADERS


# -- who is let in ---------------------------------------------------------------------------------------------------


async def test_the_persons_token_opens_everything(served: Served) -> None:
    async with served.client() as client:
        for path in ("/openspace/manifest", "/openspace/instructions", "/metrics", "/api/openapi.json"):
            assert (await client.get(path)).status_code == 200, path
        assert (await client.post("/api/commands/openspace.pane.list")).json()["success"]
        assert (await client.post("/api/code")).json()["code"]


async def test_a_token_may_come_from_our_own_origin(served: Served) -> None:
    async with served.client(headers={"origin": f"http://127.0.0.1:{served.port}"}) as client:
        assert (await client.post("/api/commands/openspace.pane.list")).status_code == 200
        own = f"localhost:{served.port}"
        headers = {"host": own, "origin": f"http://{own}"}
        assert (await client.get("/metrics", headers=headers)).status_code == 200


async def test_cookie_and_key_together_open(served: Served) -> None:
    cookie, key = await served.browser()
    origin = f"http://127.0.0.1:{served.port}"
    noise = f"a=b; other[x]=1; ,,=; {cookie}; last={{json}}"  # what other ports' programs leave in the same jar
    async with served.client("", headers={"cookie": noise, "x-fourhands-key": key}) as client:
        assert (await client.get("/metrics")).status_code == 200
        called = await client.post("/api/commands/openspace.pane.list", headers={"origin": origin})
        assert called.status_code == 200
        assert (await client.post("/api/commands/openspace.pane.list")).status_code == 403  # a browser says its origin


async def test_a_browsers_socket_brings_its_key_as_a_subprotocol(served: Served) -> None:
    cookie, key = await served.browser()
    headers = {"cookie": cookie, "origin": f"http://127.0.0.1:{served.port}"}
    protocols = ["fourhands", f"fourhands.key.{key}"]
    async with served.dial("/ws", token="", headers=headers, subprotocols=protocols) as socket:
        assert socket.subprotocol == "fourhands"
        assert '"hello"' in str(await socket.recv())
    for wrong in (["fourhands"], ["fourhands", "fourhands.key."], ["fourhands", f"fourhands.key.{WRONG}"]):
        with pytest.raises(InvalidStatus) as caught:
            async with served.dial("/ws", token="", headers=headers, subprotocols=wrong):
                pass
        assert caught.value.response.status_code == 401


async def test_a_browsers_socket_without_origin_is_refused(served: Served) -> None:
    cookie, key = await served.browser()
    protocols = ["fourhands", f"fourhands.key.{key}"]
    with pytest.raises(InvalidStatus) as caught:
        async with served.dial("/ws", token="", headers={"cookie": cookie}, subprotocols=protocols):
            pass
    assert caught.value.response.status_code == 403


async def test_an_agent_cannot_use_what_is_the_persons(served: Served) -> None:
    _, token = served.agent()
    async with served.client(token) as client:
        assert (await client.get("/metrics")).status_code == 403
        posts: dict[str, dict[str, object]] = {
            "/api/code": {},
            "/openspace/manifest": {},
            "/openspace/state": {},
            "/openspace/command-results": {},
            "/api/commands/openspace.workbench.answer": {"questionId": "q", "choice": "once"},
            "/api/commands/openspace.file.remove": {"path": "x"},
            "/api/commands/openspace.agent.consent": {"sessionId": "Ada", "allow": True},
        }
        for path, body in posts.items():
            response = await client.post(path, json=body)
            assert response.status_code == 403, (path, response.text)
        assert (await client.delete("/openspace/manifest")).status_code == 403
        assert (await client.get("/openspace/command-requests")).status_code == 403
        assert (await client.get("/openspace/chats")).status_code == 403
        assert (await client.get("/openspace/instructions")).status_code == 200
        assert (await client.get("/openspace/manifest")).status_code == 200


async def test_an_agents_token_ends_with_its_session(served: Served) -> None:
    session, token = served.agent()
    async with served.client(token) as client:
        assert (await client.get("/openspace/manifest")).status_code == 200
        await served.app.bench.end_session(session)
        assert (await client.get("/openspace/manifest")).status_code == 401


async def test_other_origins_preflights_are_refused(served: Served) -> None:
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    async with served.client("") as client:
        response = await client.options("/api/commands/openspace.pane.list", headers=asked)
        assert response.status_code == 403
        own = await client.options("/api/browser", headers={"origin": f"http://127.0.0.1:{served.port}"})
        assert own.status_code == 401
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization", "Content-Length"])
async def test_a_header_that_decides_may_come_only_once(served: Served, name: str) -> None:
    values = {"Host": f"127.0.0.1:{served.port}", "Authorization": f"Bearer {served.token}", "Content-Length": "2"}
    values["Origin"] = f"http://127.0.0.1:{served.port}"
    lines = [f"{key}: {value}\r\n" for key, value in values.items()] + [f"{name}: {values[name]}\r\n"]
    async with await Raw.open(served.port) as raw:
        request = f"POST /api/commands/openspace.pane.list HTTP/1.1\r\n{''.join(lines)}Connection: close\r\n\r\n{{}}"
        await raw.send(request.encode())
        answer = await raw.rest()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"nosniff" in answer


# -- codes -----------------------------------------------------------------------------------------------------------


async def test_a_code_opens_once(served: Served) -> None:
    code = served.running.tokens.browsers.new_code()
    async with served.client("", headers={"origin": f"http://127.0.0.1:{served.port}"}) as client:
        first = await client.post("/api/browser", json={"code": code})
        second = await client.post("/api/browser", json={"code": code})
        guess = await client.post("/api/browser", json={"code": "guess"})
        odd = await client.post("/api/browser", json={"code": {"a": 1}})
    assert first.status_code == 200
    flags = first.headers["set-cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags
    assert "secure" not in flags
    assert first.json()["key"] not in flags
    assert [response.status_code for response in (second, guess, odd)] == [403] * 3
    assert "set-cookie" not in second.headers


async def test_a_cookie_that_came_by_tls_goes_back_by_tls_only() -> None:
    async with serve_app(Settings(server=ServerSettings(allowed_hosts=("bench.example",)))) as served:
        code, headers = (
            served.running.tokens.browsers.new_code(),
            {"host": "bench.example", "origin": "https://bench.example"},
        )
        async with served.client("", headers=headers) as client:
            given = await client.post("/api/browser", json={"code": code})
        assert "secure" in given.headers["set-cookie"].lower()


async def test_a_code_from_another_origin_or_without_one_is_not_looked_at(served: Served) -> None:
    code = served.running.tokens.browsers.new_code()
    async with served.client("") as client:
        assert (await client.post("/api/browser", json={"code": code})).status_code == 403
        evil = await client.post("/api/browser", json={"code": code}, headers={"origin": "http://evil.example"})
        assert evil.status_code == 403
    served.running.tokens.browsers.take_code(code)  # it is still good


async def test_codes_and_browsers_grow_old(tmp_path: Path) -> None:
    now = 1_000_000.0

    def server() -> Tokens:
        return Tokens(tmp_path, tmp_path, seal=b"the host's", clock=lambda: now)

    known = server()
    code, old = known.browsers.new_code(), known.browsers.new_code()
    known.browsers.take_code(code)
    given = await known.browsers.sign_in("Firefox", "")
    pair = given.cookie, given.key
    assert known.check_browser(*pair) is not None
    now += known.limits.code_s + 1
    for bad in (old, code):
        with pytest.raises(Denied):
            known.browsers.take_code(bad)
    again = server()
    assert again.check_browser(*pair) is not None  # a restart signs nobody out
    now += known.limits.browser_s
    assert again.check_browser(*pair) is None
    assert server().check_browser(*pair) is None


async def test_the_first_of_too_many_browsers_is_signed_out(tmp_path: Path) -> None:
    known = Tokens(tmp_path, tmp_path, limits=TokenLimits(browsers=2))
    given = [await known.browsers.sign_in("Firefox", "") for _ in range(3)]
    assert [known.check_browser(one.cookie, one.key) is not None for one in given] == [False, True, True]


async def test_workspaces_do_not_share_a_cookie(tmp_path: Path) -> None:
    made = [tmp_path / "a", tmp_path / "b"]
    for place in made:
        place.mkdir()
    assert len({Tokens(place, place).cookie for place in made}) == 2


# -- the token file and the secret -----------------------------------------------------------------------------------


async def test_the_token_file_is_the_users_alone_and_stays(tmp_path: Path) -> None:
    known = Tokens(tmp_path, tmp_path)
    assert known.file.stat().st_mode & 0o777 == 0o600
    text = known.file.read_text()
    assert len(text) >= 32
    assert Tokens(tmp_path, tmp_path).check(text) is not None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601])
async def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    Tokens(tmp_path, tmp_path).file.chmod(mode)
    with pytest.raises(Unavailable, match="readable by other users"):
        Tokens(tmp_path, tmp_path)


async def test_a_damaged_token_or_list_of_browsers_is_replaced(tmp_path: Path) -> None:
    known = Tokens(tmp_path, tmp_path)
    known.file.write_text("short")
    (tmp_path / "browsers.json").write_text("{")
    assert len(Tokens(tmp_path, tmp_path).file.read_text()) >= 32


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
async def test_nothing_listens_beyond_loopback_without_a_secret(host: str) -> None:
    with pytest.raises(BadArgument, match="open terminals to the network") as caught:
        listen(host, 0)
    assert "FOURHANDS_SECRET" in caught.value.hint


async def test_the_secret_is_the_persons_token(served: Served) -> None:
    secret = "a-secret-of-my-own-that-is-long-enough"
    async with serve_app(host="0.0.0.0", secret=secret) as wide:
        assert wide.url.startswith("http://127.0.0.1:")
        for token, status in ((secret, 200), (secret[:-1], 401), ("", 401)):
            async with wide.client(token) as client:
                assert (await client.get("/metrics")).status_code == status
        async with wide.client(secret, headers={"host": f"0.0.0.0:{wide.port}"}) as client:
            assert (await client.get("/health")).status_code == 421
    async with served.client(secret) as client:
        assert (await client.get("/metrics")).status_code == 401


@pytest.mark.parametrize("secret", ["short", "x" * 31, "with a blank in it, which is long enough", "ä" * 40, "\n" * 40])
async def test_a_secret_that_could_be_guessed_is_refused(tmp_path: Path, secret: str) -> None:
    with pytest.raises(BadArgument, match="FOURHANDS_SECRET"):
        Tokens(tmp_path, tmp_path, secret)


@pytest.mark.parametrize("host", ["", "nonsense", "evil.example", "127.0.0.1:80"])
async def test_a_bad_address_is_named(host: str) -> None:
    with pytest.raises(BadArgument, match="is not an address"):
        listen(host, 0)


async def test_a_bad_port_and_an_address_that_is_not_ours_are_named() -> None:
    with pytest.raises(BadArgument, match="70000"):
        listen("127.0.0.1", 70000)
    with pytest.raises(Unavailable, match=r"cannot listen on 192\.0\.2\.1"):
        listen("192.0.2.1", 0, secret="x" * 32)


async def test_a_port_that_is_taken_gives_the_next_free_one() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with contextlib.closing(listen("127.0.0.1", port)) as second:
            assert port < second.getsockname()[1] < port + TRIES
        with pytest.raises(Unavailable, match=f"no free port between {port} and {port}"):
            listen("127.0.0.1", port, tries=1)


async def test_hosts_are_named_with_their_port() -> None:
    assert "127.0.0.2:4404" in host_names(ServerAddress("127.0.0.2", 4404, 1), ())
    assert "0.0.0.0:4404" not in host_names(ServerAddress("0.0.0.0", 4404, 1), ())
    assert "[fd00::1]:4404" in host_names(ServerAddress("fd00::1", 4404, 1), ())
    assert host_names(ServerAddress("127.0.0.1", 80, 1), ["my.example"]) >= {"localhost", "localhost:80", "my.example"}


# -- limits ----------------------------------------------------------------------------------------------------------


async def test_a_body_too_large_is_refused_by_its_length(served: Served) -> None:
    async with await Raw.open(served.port) as raw:
        head = _post(served, "/api/commands/openspace.pane.list", f"Content-Length: {LIMITS.body + 1}")
        await raw.send(head)  # not a byte of the body: the answer comes all the same
        answer = await raw.rest()
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"too-large" in answer
    assert b"openspace.file.write" in answer  # in pieces


async def test_a_body_too_large_is_refused_while_it_comes(served: Served) -> None:
    async with await Raw.open(served.port) as raw:
        await raw.send(_post(served, "/api/commands/openspace.pane.list", "Transfer-Encoding: chunked"))
        for _ in range(LIMITS.body // 65536 + 1):
            await raw.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        head = await raw.head()
    assert head.startswith(b"HTTP/1.1 413")


async def test_a_body_of_the_largest_size_is_taken(served: Served) -> None:
    async with served.client() as client:
        response = await client.post("/api/commands/openspace.pane.list", content=b" " * LIMITS.body)
    assert response.status_code == 200


async def test_a_body_that_does_not_come_is_given_up(hurried: Served) -> None:
    async with await Raw.open(hurried.port) as raw:
        await raw.send(_post(hurried, "/api/commands/openspace.pane.list", "Content-Length: 10") + b"{")
        answer = await raw.rest()
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"nosniff" in answer


def _post(served: Served, path: str, *headers: str) -> bytes:
    lines = (f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}", *headers)
    return f"POST {path} HTTP/1.1\r\n{''.join(f'{line}' + chr(13) + chr(10) for line in lines)}\r\n".encode()


@pytest.mark.parametrize("begun", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: 127", b"\r\n\r\n"])
async def test_a_connection_that_asks_for_nothing_is_closed(hurried: Served, begun: bytes) -> None:
    async with await Raw.open(hurried.port) as raw:
        await raw.send(begun)
        assert await raw.rest() == b""


async def test_bytes_that_drip_do_not_keep_a_connection(hurried: Served) -> None:
    async with await Raw.open(hurried.port) as raw:
        await raw.send(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{hurried.port}\r\n\r\n".encode())
        assert (await raw.head()).startswith(b"HTTP/1.1 200")
        await raw.send(b"GET /health HTTP/1.1\r\nX: ")
        closed = asyncio.ensure_future(raw.rest())  # noqa: TID251 - reads beside the dripping
        while not closed.done():
            await raw.send(b"x")
            await asyncio.wait([closed], timeout=0.05)
        await closed


async def test_endless_headers_are_refused(served: Served) -> None:
    async with await Raw.open(served.port) as raw:
        await raw.send(b"GET /health HTTP/1.1\r\nX: " + b"x" * (HEAD_LIMIT + 1))
        answer = await raw.rest()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"content-security-policy" in answer


@pytest.mark.parametrize("upgrade", ["", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"])
async def test_long_headers_that_come_whole_are_refused(served: Served, upgrade: str) -> None:
    head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n{upgrade}".encode()
    async with await Raw.open(served.port) as raw:
        await raw.send(head + b"X: " + b"x" * (HEAD_LIMIT + 1) + b"\r\n\r\n")
        answer = await raw.rest()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"nosniff" in answer


@pytest.mark.parametrize("junk", [b"\x16\x03\x01\x02\x00\x01\x00", b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"\x00" * 100])
async def test_what_is_no_http_is_answered_and_closed(served: Served, junk: bytes) -> None:
    async with await Raw.open(served.port) as raw:
        await raw.send(junk)
        answer = await raw.rest()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"nosniff" in answer


@pytest.mark.parametrize(
    ("method", "extra"),
    [
        ("POST", ""),
        ("GET", ""),
        ("GET", "Sec-WebSocket-Version: 12\r\nSec-WebSocket-Key: x\r\n"),
        ("PUT", "X: y\r\n"),
        ("GET", f"X: {'y' * 9000}\r\n"),
        ("GET", "X: y\r\n" * 200),
    ],
)
async def test_half_an_upgrade_is_refused_without_an_accident(
    served: Served, caplog: pytest.LogCaptureFixture, method: str, extra: str
) -> None:
    head = f"{method} /ws HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    async with await Raw.open(served.port) as raw:
        await raw.send(f"{head}{extra}\r\n".encode())
        answer = await raw.rest()
    assert answer.startswith(b"HTTP/1.1 4"), answer
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_token_has_only_so_many_sockets(narrow: Served) -> None:
    _, token = narrow.agent()
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            last = await stack.enter_async_context(narrow.dial("/ws", token=token))
        with pytest.raises(InvalidStatus) as caught:
            async with narrow.dial("/ws", token=token):
                pass
        assert caught.value.response.status_code == 429
        async with narrow.dial("/ws"):  # somebody else's are counted apart
            pass
        await last.close()

        async def let_in() -> bool:
            with contextlib.suppress(InvalidStatus):
                async with narrow.dial("/ws", token=token):
                    return True
            return False

        async with asyncio.timeout(LIMIT_S):
            while not await let_in():  # the server hears of the end a moment later
                pass


async def test_a_token_has_only_so_many_requests_at_once(narrow: Served) -> None:
    _, token = narrow.agent()
    wait = _post(narrow, "/api/commands/openspace.pane.list", "Content-Length: 2").replace(
        narrow.token.encode(), token.encode()
    )
    async with narrow.client(token) as client, contextlib.AsyncExitStack() as stack:
        waiting = [await stack.enter_async_context(await Raw.open(narrow.port)) for _ in range(2)]
        for raw in waiting:
            await raw.send(wait)  # the body is still to come

        async def refused() -> bool:
            return (await client.get("/openspace/manifest")).status_code == 429

        async with asyncio.timeout(LIMIT_S):
            while not await refused():  # the server hears of them a moment later
                pass
        async with narrow.client() as other:
            assert (await other.get("/openspace/manifest")).status_code == 200
        await waiting[0].send(b"{}")
        assert (await waiting[0].head()).startswith(b"HTTP/1.1 200")
        async with asyncio.timeout(LIMIT_S):
            while await refused():
                pass


@pytest.mark.parametrize("path", ["/ws", "/ws/terminals/quiet?from=0"])
async def test_a_socket_whose_other_end_is_gone_is_closed(hurried: Served, path: str) -> None:
    await hurried.terminal("sleep", "30", title="quiet")
    headers = {"authorization": f"Bearer {hurried.token}", "upgrade": "websocket", "connection": "Upgrade"}
    headers |= {"sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    async with await Raw.open(hurried.port) as raw:
        await raw.send(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{hurried.port}\r\n{lines}\r\n".encode())
        assert (await raw.head()).startswith(b"HTTP/1.1 101")
        await raw.rest()  # it never answers a ping, and the server hangs up
    for terminal in hurried.app.terminals.list():
        await terminal.close()


# -- the door alone ----------------------------------------------------------------------------------------------------


async def test_a_server_without_the_extension_closes_a_refused_upgrade(tmp_path: Path) -> None:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        sent.append(scope["type"])

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    known = Tokens(tmp_path, tmp_path)
    known.issue(Actor.agent("s"))
    guard = AccessControl(app, known, hosts=["h"])
    await guard({"type": "websocket", "path": "/ws", "headers": [(b"host", b"h")]}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
    await guard({"type": "lifespan"}, receive, send)
    assert sent[-1] == "lifespan"


async def test_a_length_that_is_no_number_is_refused(tmp_path: Path) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def nothing(*_: Any) -> Any:
        raise AssertionError("nobody may come here")

    for length in ("²", "-1", "1" * 5000, "0x10"):
        scope = {"type": "http", "method": "POST", "path": "/api/browser"}
        headers = [(b"host", b"h"), (b"origin", b"http://h"), (b"content-length", length.encode("latin-1"))]
        await AccessControl(nothing, Tokens(tmp_path, tmp_path), hosts=["h"])(
            {**scope, "headers": headers}, nothing, send
        )
        assert sent[-2]["status"] == 413


async def test_a_script_inside_is_let_run_only_by_the_answer_that_has_it(tmp_path: Path) -> None:
    sent: list[Any] = []

    async def page(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/":
            scope["state"][SCRIPT] = b"sha256-abc="
        # What the application says of its own is no policy of ours.
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-script", b"sha256-evil=")]})

    async def send(message: Any) -> None:
        sent.append(dict(message["headers"])[b"content-security-policy"])

    async def receive() -> Any:
        raise AssertionError("there is no body")

    guard = AccessControl(page, Tokens(tmp_path, tmp_path), hosts=["h"], public=["/", "/icon.svg"])
    for path in ("/", "/icon.svg"):
        await guard({"type": "http", "method": "GET", "path": path, "headers": [(b"host", b"h")]}, receive, send)
    assert b"script-src 'self' 'sha256-abc=';" in sent[0]
    assert b"script-src 'self';" in sent[1]
    assert sent[0].replace(b" 'sha256-abc='", b"") == sent[1]


async def test_loopback_is_what_this_machine_says() -> None:
    with contextlib.closing(listen("localhost", 0)) as sock:
        assert sock.family == socket.AF_INET
        assert os.get_inheritable(sock.fileno()) is False


# -- the door alone --------------------------------------------------------------------------------------------------


async def _knock(
    known: Tokens, path: str, headers: dict[str, str] | None = None, *, upgrade: bool = False
) -> tuple[bool, list[Any]]:
    """Whether a request came in, and what was answered."""
    came, sent = [], []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        came.append(scope["path"])

    async def receive() -> Any:
        return {"type": "websocket.connect"} if upgrade else {"type": "http.request", "body": b"12", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    pairs = [(name.encode(), value.encode()) for name, value in {"host": "here", **(headers or {})}.items()]
    scope = {"type": "websocket" if upgrade else "http", "path": path, "query_string": query.encode(), "headers": pairs}
    await AccessControl(app, known, hosts=["here"], public=["/"])({**scope, "method": "GET"}, receive, send)
    return bool(came), sent


async def test_what_anybody_may_get_is_no_way_to_a_socket(tmp_path: Path) -> None:
    known = Tokens(tmp_path, tmp_path)
    for path in ("/", "/health", "/assets/x.js"):
        assert (await _knock(known, path))[0]
        assert not (await _knock(known, path, {"origin": "http://here"}, upgrade=True))[0]


async def test_a_token_as_an_api_key_or_in_the_address_opens_the_proxy_alone(tmp_path: Path) -> None:
    known = Tokens(tmp_path, tmp_path)
    token = known.file.read_text()
    for path, opens in (("/v1/models", True), ("/v1beta/models", True), ("/openspace/first", False), ("/v1", False)):
        for name in ("x-api-key", "x-goog-api-key"):
            assert (await _knock(known, path, {name: token}))[0] == opens
        assert (await _knock(known, f"{path}?key={token}"))[0] == opens


async def test_a_refused_request_with_a_body_ends_its_connection(tmp_path: Path) -> None:
    known = Tokens(tmp_path, tmp_path)
    for name, closes in (("accept", False), ("content-length", True), ("transfer-encoding", True)):
        _, sent = await _knock(known, "/openspace/first", {name: "9"})
        assert ((b"connection", b"close") in sent[0]["headers"]) == closes


async def test_what_the_application_says_behind_a_refusal_is_dropped() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"12", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    body = BoundedBody(receive, send, 1, 40)
    assert await body.receive() == {"type": "http.disconnect"}
    told = list(sent)
    assert told[0]["status"] == 413
    await body.send({"type": "http.response.start", "status": 200, "headers": []})
    assert sent == told
