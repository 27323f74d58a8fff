"""What people and their tools see of a host that is swept out of sight, stopped or killed under a running server."""

import asyncio
import json
import os
import shutil
import signal
from typing import Any

import pytest
from tests.kit.hosts import is_alive, wait_gone
from tests.kit.program import LIMIT_S, Server, new_home
from tests.kit.server import Served, serve_app

from fourhands.host.client import ClientTimings
from fourhands.workbench.terminals.host_terminals import HostTimings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


async def test_a_swept_runtime_directory_hides_neither_server_nor_host_and_stop_ends_both() -> None:
    async with new_home() as home:
        async with Server(home) as server:
            made = await home.call("terminal.create", {"title": "job"})
            assert (await home.call("terminal.list"))["terminals"][0]["pid"]
            shutil.rmtree(home.env["XDG_RUNTIME_DIR"])
            second, _, complaint = await home.run("serve", str(home.work), "--no-open", "--port", "0")
            assert (second, home.address.url in complaint) == (3, True)
            [listed] = json.loads((await home.run("terminal", "list", "--json"))[1])
            assert (listed["id"], listed["exitCode"], listed["signal"]) == (made["terminalId"], None, None)
            server.process.kill()
            await server.rest()
        shutil.rmtree(home.env["XDG_RUNTIME_DIR"], ignore_errors=True)
        async with Server(home) as server:
            [job] = (await home.call("terminal.list"))["terminals"]
            assert (job["id"], job["status"]) == (made["terminalId"], "running")
            shutil.rmtree(home.env["XDG_RUNTIME_DIR"])
            assert json.loads((await home.run("stop", "--json"))[1]) == {"ended": ["server", "host and terminals"]}
            await server.rest()
        assert not is_alive(job["pid"])


async def health(served: Served) -> tuple[int, str, str]:
    async with served.client("") as client:
        answer = await client.get("/health")
    found: dict[str, Any] = answer.json()
    return answer.status_code, found["status"], found["host"]


async def test_health_page_and_agents_hear_of_a_host_that_stops_or_dies() -> None:
    # Long enough for a loaded machine, and short enough to wait for a host that does not answer.
    async with serve_app(host_timings=HostTimings(awake_s=1.0, client=ClientTimings(answer_s=4.0))) as served:
        session, token = served.agent("Ada")
        terminals = served.app.terminals
        async with served.caller() as person, served.caller(token=token) as agent:
            job = (await agent.call("openspace.terminal.create", {"title": "hers"}))["terminalId"]
            assert await health(served) == (200, "ok", "running")
            host = terminals.host_pid
            os.kill(host, signal.SIGSTOP)
            try:
                assert await health(served) == (503, "degraded", "silent")
                silent = await person.call("openspace.terminal.exec", {"command": "true"})
                assert (silent["code"], silent["hint"]) == ("host-silent", f"resume it: kill -CONT {host}")
            finally:
                os.kill(host, signal.SIGCONT)
            async with asyncio.timeout(LIMIT_S):
                while (await health(served))[1] != "ok":
                    pass
            os.kill(host, signal.SIGKILL)
            told = (await person.event("host.replaced"))["data"]
            assert (told["terminals"], "'hers'" in told["text"]) == ([job], True)
            assert (await agent.event("host.replaced"))["data"] == told
            assert await health(served) == (200, "ok", "running")
            done = await person.call("openspace.terminal.exec", {"command": "echo works"})
            assert done["success"], done
            await served.app.terminals.get(done["terminalId"]).wait(pattern="works", position=0, deadline_s=LIMIT_S)
            assert terminals.host_pid != host
            [lost] = [one for one in (await person.call("openspace.terminal.list"))["terminals"] if one["id"] == job]
            assert lost["status"] == "lost"
            assert (await person.call("openspace.terminal.read_output", {"terminalId": job}))["success"]
            assert (await agent.call("openspace.terminal.close", {"terminalId": job}))["success"]
        known = served.app.bench.sessions.get(session)
        assert [(one.command_id, one.success) for one in known.tell()] == [("host.replaced", False)]


async def test_doctor_says_how_the_host_is() -> None:
    async with new_home() as home:

        async def seen() -> tuple[str, str]:
            [found] = [one for one in json.loads((await home.run("doctor", "--json"))[1]) if one["subject"] == "host"]
            return found["level"], found["text"]

        assert await seen() == ("ok", "not running")
        await home.run("terminal", "run", "true", "--keep")
        level, text = await seen()
        assert (level, text.endswith(", with 1 terminals")) == ("ok", True)
        host = int(text.split("process ")[1].split(")")[0])
        os.kill(host, signal.SIGSTOP)
        try:
            level, text = await seen()
            assert (level, f"kill -CONT {host}" in text) == ("problem", True)
        finally:
            os.kill(host, signal.SIGKILL)
        assert await asyncio.to_thread(wait_gone, host)
        assert await seen() == ("ok", "not running")
