"""`fourhands mcp` with options as a program: unattended, joined, killed, two at once, and what it leaves behind."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from tests.kit.mcp_client import Form, chosen, data, text
from tests.kit.program import MAIN, Home, Server, new_home

UNATTENDED = ("--allow", "see,arrange,write,run", "--provider", "local", "--ask-by", "never")
CI = ("--name", "ci", *UNATTENDED)


@contextlib.asynccontextmanager
async def client(home: Home, *words: str, env: dict[str, str] | None = None, **more: Any) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=MAIN[0], args=[*MAIN[1:], "mcp", str(home.work), *words], env=home.env | (env or {})
    )
    async with asyncio.timeout(30), Client(command, mode="legacy", cache=None, **more) as one:
        yield one


async def me(one: Client) -> dict[str, Any]:
    agents = data(await one.call_tool("openspace_agent_list"))["agents"]
    return next(agent for agent in agents if agent["pending"])


async def terminals(one: Client) -> dict[str, dict[str, Any]]:
    return {each["title"]: each for each in data(await one.call_tool("openspace_terminal_list"))["terminals"]}


async def until_gone(home: Home, name: str) -> None:
    while name in [agent["name"] for agent in (await home.call("agent.list"))["agents"]]:  # noqa: ASYNC110 - over HTTP
        await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_unattended_it_works_and_refuses_at_once_and_the_journal_says_who_allowed_it() -> None:
    async with new_home() as home:
        async with client(home, *CI) as one:
            assert text(await one.call_tool("bash", {"command": "echo hi"})).startswith("hi\n")
            data(await one.call_tool("openspace_file_write", {"path": "new.txt", "content": "x"}))
            begun = time.monotonic()
            refused = await one.call_tool("bash", {"command": "some-unknown-tool"})
            assert time.monotonic() - begun < 5
            assert "needs approval; no one is asked in this session (--ask-by never)" in text(refused)
            assert (await me(one))["state"]["provider"] == "local"
        _, told, _ = await home.run("journal")
        words = "allowed by the client's configuration (--allow see,arrange,write,run)"
        assert f"openspace.agent.consent            ok  ci: {words}" in told


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_your_settings_file_allows_and_a_workspaces_own_may_not() -> None:
    async with new_home() as home:
        allow = '[agents.ci]\nallow = ["see", "run"]\naskBy = "never"\nprovider = "local"\n'
        own = home.root / "home/.config/fourhands/settings.toml"
        own.parent.mkdir(parents=True)
        own.write_text(allow)
        async with client(home, "--name", "ci") as one:
            assert (await me(one))["allowedBy"] == "allowed by your settings file (agents.ci.allow see,run)"
            assert text(await one.call_tool("bash", {"command": "echo hi"})).startswith("hi\n")
        async with client(home, client_info=None) as one:  # it has no name, whatever it calls itself
            assert "no one is available" in text(await one.call_tool("bash", {"command": "echo hi"}))
        own.write_text("")
        theirs = home.work / ".fourhands/settings.toml"
        theirs.parent.mkdir()
        theirs.write_text(allow)
        code, _, told = await home.run("mcp", ".", "--name", "ci")
        assert (code, "may not set agents.ci" in told) == (1, True), told


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_joining_a_workbench_it_is_told_on_the_page_and_stays_within_what_the_person_chose() -> None:
    async with new_home() as home:
        own = home.root / "home/.config/fourhands/settings.toml"
        own.parent.mkdir(parents=True)
        own.write_text('[agentDefaults]\nprovider = "bubblewrap"\n')
        async with Server(home):
            code, _, told = await home.run("mcp", ".", *CI)
            assert (code, "--provider local isolates less than 'bubblewrap'" in told) == (1, True), told
            code, _, told = await home.run("mcp", ".", "--provider", "bubblewrp")
            assert (code, "did you mean 'bubblewrap'?" in told) == (1, True), told
            code, _, told = await home.run("mcp", ".", *CI, env={"FOURHANDS_TOKEN": "session_1.x"})
            assert (code, "an agent of Fourhands starts this" in told) == (1, True), told
            async with home.page() as page:
                allow = ("--name", "ci", "--allow", "see", "--ask-by", "never")
                async with client(home, *allow) as one:
                    assert (await me(one))["scopes"] == ["see"]
                    while '"agent.noted"' not in (message := str(await page.recv())):
                        pass
                    assert "Allowed by the client's configuration (--allow see)." in message
                    assert "ci may not type in terminals" in text(await one.call_tool("bash", {"command": "echo hi"}))
                    await home.call("agent.consent", {"sessionId": "ci", "allow": False})
                    assert "ci may not look" in text(await one.call_tool("openspace_agent_list"))
                await until_gone(home, "ci")
                async with client(home, *allow) as one:  # what a person revoked stays revoked
                    assert "ci may not look" in text(await one.call_tool("openspace_agent_list"))


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_what_is_kept_is_there_for_the_next_of_that_name_and_otherwise_goes() -> None:
    async with new_home() as home:
        async with client(home, *CI, "--keep") as one:
            data(await one.call_tool("openspace_terminal_create", {"title": "server"}))
            data(await one.call_tool("openspace_terminal_send", {"terminalId": "server", "text": "x=kept\n"}))
            first = await me(one)
        async with client(home, "--name", "other", *UNATTENDED) as one:  # another name takes nothing over
            assert (await terminals(one))["server"]["owner"] == first["id"]
            assert (await me(one))["id"] != first["id"]
        async with client(home, *CI) as one:
            assert (await me(one))["id"] == first["id"]
            data(await one.call_tool("openspace_terminal_send", {"terminalId": "server", "text": "echo is-$x\n"}))
            seen = {"terminalId": "server", "pattern": "^is-kept"}
            assert "is-kept" in text(await one.call_tool("openspace_terminal_wait", seen))
        async with client(home, *CI) as one:  # this one was not told to keep it
            assert await terminals(one) == {}


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_two_at_once_and_the_first_killed_lose_nothing_that_is_kept() -> None:
    async with new_home() as home:
        process = await asyncio.create_subprocess_exec(
            *MAIN, "mcp", str(home.work), *CI, "--keep", env=home.env, stdin=-1, stdout=-1, limit=2**24
        )
        assert process.stdin is not None
        assert process.stdout is not None
        hello = b"""{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
            "capabilities":{},"clientInfo":{"name":"x","version":"1"}}}""".replace(b"\n", b"")
        create = b"""{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"openspace_terminal_create",
            "arguments":{"title":"first"}}}""".replace(b"\n", b"")
        process.stdin.write(hello + b'\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + create + b"\n")
        async with asyncio.timeout(100):
            while b'"id":2' not in await process.stdout.readline():
                pass
        with contextlib.suppress(MCPError, ExceptionGroup):  # its workbench is killed under it
            async with client(home, *CI, "--keep") as second:
                assert (await me(second))["name"] == "ci"
                data(await second.call_tool("openspace_terminal_create", {"title": "second"}))
                process.send_signal(signal.SIGKILL)
                await process.wait()
                await second.call_tool("openspace_terminal_list")
        async with client(home, *CI, "--keep") as third, client(home, *CI) as fourth:
            assert {"first", "second"} <= (await terminals(third)).keys()
            owners = {each["owner"] for each in (await terminals(third)).values()}
            assert owners == {(await me(third))["id"], (await me(fourth))["id"]}
        async with Server(home):  # and for a person who comes later
            names = [each["title"] for each in (await home.call("terminal.list"))["terminals"]]
            assert len(names) == 1  # the one of the session that was not told to keep it has gone


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_attended_by_forms_or_by_the_page_alone() -> None:
    async with new_home() as home, Server(home), home.page():
        person = Form(chosen("session"))
        async with client(home, "--name", "a", "--ask-by", "forms", elicitation_callback=person) as one:
            data(await one.call_tool("openspace_agent_list"))
            assert (await home.call("agent.list"))["agents"][-1]["askBy"] == "forms"
        assert len(person.asked) == 1
        async with client(home, "--name", "b", "--ask-by", "forms") as one:
            assert "this client shows no forms" in text(await one.call_tool("openspace_agent_list"))
        person = Form(chosen("session"))
        async with client(home, "--name", "c", "--ask-by", "page", elicitation_callback=person) as one:
            async with asyncio.TaskGroup() as group:
                call = group.create_task(one.call_tool("openspace_agent_list"))
                while not (asked := (await home.call("workbench.questions"))["questions"]):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                answer = {"questionId": asked[0]["id"], "choice": "session"}
                await home.call("workbench.answer", answer, f"{asked[0]['text']}\n{asked[0]['shown']}")
            data(call.result())
        assert person.asked == []
