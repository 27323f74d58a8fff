import asyncio
import gzip
import json
import logging
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.parser import text_string_to_metric_families
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.routing import Route
from tests.kit.program import Home, Server, new_home
from tests.kit.server import LIMIT_S, Raw, Served, until
from websockets.asyncio.client import connect

from fourhands import __version__
from fourhands.core import errors
from fourhands.core.quote import broken
from fourhands.surfaces.discovery import ServerAddress, claimed, find_server, held, publish
from fourhands.surfaces.http.answers import status_of
from fourhands.workbench.layout.state import WorkbenchState

pytestmark = pytest.mark.asyncio(loop_scope="module")


# -- answers ---------------------------------------------------------------------------------------------------------


async def test_health_is_for_everybody_and_says_little(served: Served) -> None:
    async with served.client("") as client:
        response = await client.get("/health")
        assert response.json() == {"status": "ok", "name": "fourhands", "version": __version__, "host": "running"}
        head = await client.head("/health")
        assert (head.status_code, head.content) == (200, b"")


async def test_a_path_or_method_that_is_not_there_is_answered_in_json(served: Served) -> None:
    async with served.client() as client:
        for method, path, status in (
            ("GET", "/nothing", 404),
            ("GET", "/health/", 404),
            ("GET", "/api/commands/", 404),
            ("GET", "/api/commands/openspace.pane.list", 405),
            ("PUT", "/api/code", 405),
            ("OPTIONS", "/api/code", 405),
            ("TRACE", "/metrics", 405),
        ):
            response = await client.request(method, path)
            assert (response.status_code, response.json()["success"]) == (status, False), (method, path)
            assert "location" not in response.headers


async def test_long_answers_are_compressed_for_those_who_can(served: Served) -> None:
    async with served.client() as client:
        packed = await client.get("/openspace/manifest", headers={"accept-encoding": "gzip"})
        plain = await client.get("/openspace/manifest", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert len(gzip.compress(plain.content)) < len(plain.content) / 3


async def test_metrics_count_calls_by_command_actor_and_outcome(served: Served) -> None:
    async with served.client() as client:
        await client.post("/api/commands/openspace.pane.list")
        await client.post("/api/commands/openspace.file.read", json={"path": "missing"})
        await client.post("/api/commands/invented-" + "x" * 50)
        answer = await client.get("/metrics")
    text = answer.text
    assert answer.headers["content-type"] == CONTENT_TYPE_LATEST
    counted = {one.name: one for one in text_string_to_metric_families(text)}
    assert [one.type for one in counted.values()].count("gauge") == 4
    times = {
        (one.name.rpartition("_")[2], one.labels.get("le")): one.value
        for one in counted["fourhands_call_seconds"].samples
        if one.labels["command"] == "openspace.pane.list"
    }
    assert times["bucket", "0.005"] <= times["bucket", "10.0"] <= times["bucket", "+Inf"] == times["count", None] >= 1
    assert 0 < times["sum", None] < 60
    assert 'fourhands_calls_total{actor="program",command="openspace.pane.list",outcome="ok"}' in text
    assert 'command="openspace.file.read",outcome="not-found"' in text
    assert "invented" not in text  # strangers' words would be labels without end
    assert "fourhands_terminals 0.0" in text


async def test_instructions_and_manifest_are_served(served: Served) -> None:
    session, token = served.agent("Reader")
    async with served.client() as client:
        text = await client.get("/openspace/instructions", params={"sessionId": session})
        assert text.headers["content-type"].startswith("text/markdown")
        assert text.text.startswith("# System Instructions")
        assert (await client.get("/openspace/instructions", params={"sessionId": "nobody"})).status_code == 404
        manifest = (await client.get("/openspace/manifest")).json()
        assert {command["id"] for command in manifest["commands"]} >= {command.id for command in served.app.registry}
    async with served.client(token) as client:
        other = await client.get("/openspace/instructions", params={"sessionId": "somebody else"})
        assert other.status_code == 200  # an agent gets its own, whatever it asks for


async def test_parts_outside_post_manifest_state_and_results(served: Served) -> None:
    command = {"id": "openspace.outside.do", "name": "Do", "label": "Do", "description": "Does."}
    manifest = {"version": "1", "commands": [command], "lastUpdated": "2026-01-01T00:00:00Z"}
    async with served.client() as client:
        assert (await client.post("/openspace/manifest", json=manifest)).json() == {"success": True}
        assert "openspace.outside.do" in (await client.get("/openspace/manifest")).text
        gone = {"success": True, "commands": ["openspace.outside.do"]}
        assert (await client.delete("/openspace/manifest")).json() == gone
        assert (await client.post("/openspace/state", json={"panes": "none"})).status_code == 400
        assert (await client.post("/openspace/command-results", json={"sessionId": 5})).status_code == 400


async def test_blocks_in_what_programs_announce_are_broken_for_agents_and_whole_for_a_person(served: Served) -> None:
    block = '%%OS{"cmd":"openspace.pane.list"}%%'
    command = {"id": "openspace.outside.odd", "name": "Do", "label": "Do", "description": f"Say {block}."}
    manifest = {"version": "1", "commands": [command], "lastUpdated": "2026-01-01T00:00:00Z"}
    found = {}
    for token in (served.token, served.agent()[1]):
        async with served.client(token) as client:
            if token == served.token:
                assert (await client.post("/openspace/manifest", json=manifest)).json() == {"success": True}
            listed = (await client.get("/openspace/manifest")).json()["commands"]
            found[token] = next(each["description"] for each in listed if each["id"] == command["id"])
    async with served.client() as client:
        await client.delete("/openspace/manifest")
    assert list(found.values()) == [f"Say {block}.", broken(f"Say {block}.")]


@pytest.mark.parametrize("body", [b"[]", b"{", b'"x"', b"\xff", b"[" * 100_000, b"nul", b'{"a": 1e999}'])
async def test_a_body_that_is_no_object_is_refused(served: Served, body: bytes) -> None:
    async with served.client() as client:
        response = await client.post("/api/commands/openspace.pane.list", content=body)
    assert response.status_code == 400, response.text
    assert response.json()["code"] == "bad-argument"


class Faulty(WorkbenchState):
    """A state that cannot say its revision, which is one of the metrics."""

    @property
    def rev(self) -> int:
        raise ZeroDivisionError("a secret detail")


async def test_a_fault_of_ours_is_told_without_its_details(served: Served) -> None:
    usual, served.app.bench.state = served.app.bench.state, Faulty()
    try:
        async with served.client() as client:
            response = await client.get("/metrics")
    finally:
        served.app.bench.state = usual
    assert response.status_code == 500
    assert response.json()["code"] == "internal"
    assert "secret" not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_an_agent_reads_its_own_instructions_whatever_it_names(served: Served) -> None:
    mine, token = served.agent("Ada")
    other, others = served.agent("Bob")
    async with served.client(token) as ada, served.client(others) as bob, served.client() as person:
        await bob.post("/api/commands/openspace.file.read", json={"path": "only-bob-asked-for-this"})
        named = {"sessionId": other}
        assert "only-bob-asked-for-this" in (await person.get("/openspace/instructions", params=named)).text
        assert "only-bob-asked-for-this" not in (await ada.get("/openspace/instructions", params=named)).text
    for session in (mine, other):
        await served.app.bench.end_session(session)


async def test_every_error_has_a_status_that_fits_its_kind() -> None:
    assert status_of("bad-cwd") == 400
    assert status_of("command-not-found") == 404
    assert status_of("permission-denied") == 403
    assert status_of("never-heard-of") == 400
    assert status_of(errors.NoAnswer.code) == 503
    assert status_of(errors.Unavailable.code) == 503


async def test_what_trying_again_cannot_mend_does_not_say_that_it_is_for_now(served: Served) -> None:
    session, _ = served.agent("Outside")
    cases = [
        ("pane.open", {"type": "presentation", "contentId": "deck"}, 501, "unsupported"),
        ("agent.prompt", {"sessionId": session, "text": "hello"}, 501, "unsupported"),
        ("agent.set_mode", {"sessionId": session, "mode": "plan"}, 403, "hand-needed"),
        ("agent.list_chats", {"sessionId": session}, 501, "unsupported"),
    ]
    async with served.client() as client:
        for command, args, status, code in cases:
            answer = await client.post(f"/api/commands/openspace.{command}", json=args)
            assert (answer.status_code, answer.json()["code"]) == (status, code), command
        document = (await client.get("/api/openapi.json")).json()
    told = document["paths"]["/api/commands/openspace.pane.open"]["post"]["responses"]
    assert {"409", "501", "503"} <= told.keys()


async def test_a_wait_ends_when_its_client_goes(served: Served) -> None:
    terminal = await served.terminal("/bin/sh", "-c", "read x")
    session, token = served.agent("Waiter")
    body = json.dumps({"terminalId": terminal.id, "pattern": "never", "deadlineSeconds": 600}).encode()
    head = (
        f"POST /api/commands/openspace.terminal.wait HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    async with await Raw.open(served.port) as raw:
        await raw.send(head.encode() + body)
        await until(lambda: served.app.gate.pending(session))
    await until(lambda: not served.app.gate.pending(session))
    await terminal.close()


async def test_a_long_wait_is_answered_when_its_client_stays(served: Served) -> None:
    terminal = await served.terminal("/bin/sh", "-c", "read x")
    async with served.client() as client:
        args = {"terminalId": terminal.id, "pattern": "never", "deadlineSeconds": 0.1}
        assert (await client.post("/api/commands/openspace.terminal.wait", json=args)).json()["reason"] == "deadline"
    await terminal.close()


async def test_connections_are_kept_or_closed_as_asked(served: Served) -> None:
    line = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n".encode()
    async with await Raw.open(served.port) as raw:
        await raw.send(line + b"\r\n" + line + b"Connection: close\r\n\r\n")  # two at once
        answer = await raw.rest()
    assert answer.count(b"HTTP/1.1 200") == 2
    assert b"connection: close" in answer


async def test_a_client_that_goes_in_mid_answer_is_no_accident(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread(Path(served.places.workspace, "big.txt").write_text, "x" * 900_000)
    body = b'{"path": "big.txt"}'
    head = f"POST /api/commands/openspace.file.read HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    head += f"Authorization: Bearer {served.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    for cut in (len(head) // 2, len(head), len(head) + 5, len(head) + len(body)):
        async with await Raw.open(served.port) as raw:
            await raw.send((head.encode() + body)[:cut])
            raw.writer.transport.abort()
    async with served.client() as client:
        assert (await client.get("/health")).status_code == 200
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


# -- the document ----------------------------------------------------------------------------------------------------

# What runs generated text as a program, waits for minutes or starts agents is tried elsewhere, with chosen arguments.
UNTRIED = (
    *("openspace.tool.", "openspace.agent.start", "openspace.terminal.wait", "openspace.terminal.create"),
    "command-requests",  # it waits
)


async def test_the_document_names_every_command(served: Served) -> None:
    async with served.client() as client:
        document = (await client.get("/api/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    assert {f"/api/commands/{command.id}" for command in served.app.registry} <= set(document["paths"])


# WebSockets are no part of such a document; the rest has a standard of its own.
UNDOCUMENTED = ("/v1/{rest:path}", "/v1beta/{rest:path}", "/mcp")


async def test_the_document_has_every_route_and_no_other(served: Served) -> None:
    async with served.client() as client:
        document = (await client.get("/api/openapi.json")).json()
    listed = {
        (path, method.upper())
        for path, methods in document["paths"].items()
        for method in methods
        if not path.startswith("/api/commands/")
    }
    there = {
        (route.path, method)
        for route in served.routes()
        if isinstance(route, Route) and route.path not in (*UNDOCUMENTED, "/api/commands/{id}")
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert listed == there
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


async def test_every_reference_of_the_document_leads_somewhere(served: Served) -> None:
    async with served.client() as client:
        text = (await client.get("/api/openapi.json")).text
    document = json.loads(text)
    references = set(re.findall(r'"\$ref": ?"([^"]+)"', text))
    assert len(references) > 50
    for reference in references:
        found = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_generated_requests_find_no_crash_and_nothing_undocumented(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token}"}
    tried = await asyncio.to_thread(_try_everything, served.url, headers)
    assert tried > 100
    served.running.hub.take_back()
    for terminal in served.app.terminals.list():
        await terminal.close()


def _try_everything(url: str, headers: dict[str, str]) -> int:
    schema = schemathesis.openapi.from_url(f"{url}/api/openapi.json", headers=headers)
    checks = [status_code_conformance, content_type_conformance, response_schema_conformance]
    count = 0
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # a document of ours that is wrong fails here
        if any(name in operation.path for name in UNTRIED):
            continue

        @settings(
            max_examples=4,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def try_one(case: Any) -> None:
            nonlocal count
            count += 1
            response = case.call(base_url=url, headers=headers)
            assert response.status_code != 500, (case, response.text)
            case.validate_response(response, checks=checks)

        try_one()
    return count


_args = st.dictionaries(
    st.text(max_size=8) | st.sampled_from(["path", "paneId", "terminalId", "line"]),
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.integers(), max_size=3),
    max_size=4,
)


async def test_wrong_arguments_are_never_our_fault(served: Served) -> None:
    bodies: list[dict[str, Any]] = []

    @settings(max_examples=15, database=None, suppress_health_check=list(HealthCheck))
    @given(_args)
    def collect(found: dict[str, Any]) -> None:
        bodies.append(found)

    collect()
    async with served.client() as client:
        for command in served.app.registry:
            if command.id.startswith(UNTRIED):
                continue
            for body in bodies[-2:]:
                response = await client.post(f"/api/commands/{command.id}", content=json.dumps(body))
                assert response.status_code != 500, (command.id, body, response.text)
                assert response.json()["success"] == (response.status_code == 200)


# -- one server, its end and its return ------------------------------------------------------------------------------


async def test_only_one_server_holds_a_workspace(tmp_path: Path) -> None:
    runtime = str(tmp_path)
    assert not held(runtime)
    publish(runtime, ServerAddress("127.0.0.1", 1, os.getpid()))
    assert find_server(runtime) is None  # a file that a killed server left is not believed
    with claimed(runtime, "/w"):
        assert held(runtime)
        publish(runtime, ServerAddress("127.0.0.1", 4404, os.getpid()))
        assert find_server(runtime) == ServerAddress("127.0.0.1", 4404, os.getpid())
        with pytest.raises(errors.Unavailable, match=r"at http://127\.0\.0\.1:4404"), claimed(runtime, "/w"):
            pass
    assert find_server(runtime) is None
    (tmp_path / "server.json").write_text("{")
    with claimed(runtime, "/w"):
        assert find_server(runtime) is None


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_a_server_that_is_stopped_keeps_terminals_and_layout_for_the_next() -> None:
    async with new_home() as home:
        (home.work / "a.txt").write_text("x")
        async with Server(home) as server:
            second, _, complaint = await home.run("serve", str(home.work), "--no-open", "--port", "0")
            assert second == 3
            assert home.address.url in complaint
            assert (await home.call("editor.open", {"path": "a.txt"}))["success"]
            made = await home.call("terminal.create", {"title": "kept"})
            panes = (await home.call("pane.list"))["panes"]
            server.process.send_signal(signal.SIGTERM)
            said = await server.rest()
            assert server.process.returncode == 0
            assert "Still running: kept." in said
        assert not held(home.places.state)
        async with Server(home):
            terminals = (await home.call("terminal.list"))["terminals"]
            assert [(one["id"], one["status"]) for one in terminals] == [(made["terminalId"], "running")]
            assert (await home.call("pane.list"))["panes"] == panes


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_after_kill_9_a_new_server_goes_on_at_the_position() -> None:
    lines = 20_000
    async with new_home() as home:
        got = bytearray()
        async with Server(home) as server:
            made = await home.call("terminal.create", {"title": "count"})
            text = f"for i in $(seq {lines}); do echo line $i; done; echo e''nd\n"
            await home.call("terminal.send", {"terminalId": "count", "text": text})
            await _watch(home, made["terminalId"], got, lambda: got.count(b"\n") > 500)
            server.process.kill()
            await server.process.wait()
        began = time.monotonic()
        async with Server(home):
            await _watch(home, made["terminalId"], got, lambda: b"\r\nend\r\n" in got)
            # The whole again, in one go: what was seen before the kill and after it must be just that.
            whole = bytearray()
            await _watch(home, made["terminalId"], whole, lambda: b"\r\nend\r\n" in whole)
        assert bytes(got) == bytes(whole)[: len(got)]
        rows = [int(number) for number in re.findall(rb"line (\d+)\r\n", bytes(got))]
        assert rows == list(range(1, lines + 1))
        assert time.monotonic() - began < LIMIT_S * 3


async def _watch(home: Home, terminal: str, got: bytearray, done: Any) -> None:
    token = (Path(home.places.state) / "token").read_text()
    url = home.address.url.replace("http", "ws", 1) + f"/ws/terminals/{terminal}?from={len(got)}"
    headers = {"authorization": f"Bearer {token}"}
    options: dict[str, Any] = {"compression": None, "max_size": None, "proxy": None, "open_timeout": LIMIT_S}
    async with connect(url, additional_headers=headers, **options) as socket:
        async with asyncio.timeout(LIMIT_S):
            while not done():
                frame = await socket.recv()
                if isinstance(frame, bytes):
                    assert int.from_bytes(frame[:8], "big") == len(got)
                    got += frame[8:]


@pytest.mark.slow
@pytest.mark.timeout(60)
async def test_the_secret_of_the_environment_reaches_no_terminal() -> None:
    secret = "a-secret-of-my-own-that-is-long-enough"
    async with new_home() as home, Server(home, "--host", "0.0.0.0", env={"FOURHANDS_SECRET": secret}):
        assert (await home.call("terminal.create", {"title": "t"}))["success"]
        await home.call("terminal.send", {"terminalId": "t", "text": 'echo "[${FOURHANDS_SECRET:-none}]"\n'})
        seen = await home.call("terminal.wait", {"terminalId": "t", "pattern": r"\[none\]", "since": 0})
        assert seen["reason"] == "pattern"
        async with home.client() as client:
            response = await client.get("/metrics", headers={"authorization": f"Bearer {secret}"})
            assert response.status_code == 200
