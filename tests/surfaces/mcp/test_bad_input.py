"""What MCP's core tools make of wrong types, huge edits, files that changed, and a host that is killed in mid-call."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from tests.kit.agree import agreeable_person
from tests.kit.mcp_client import Mode, both, connected, text, until
from tests.kit.mcp_tasks import Held, Sleeper, Utility
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.settings import AgentDefaults, Settings

WRONG: dict[str, list[dict[str, object]]] = {
    "bash": [
        {},
        {"command": None},
        {"command": 5},
        {"command": ["ls", "-l"]},
        {"command": {"line": "ls"}},
        {"command": ""},
        {"command": "ls\0"},
        {"command": "ls", "timeoutSeconds": "soon"},
        {"command": "ls", "timeoutSeconds": -1},
        {"command": "ls", "timeoutSeconds": 1e30},
        {"command": "ls", "background": "perhaps"},
        {"command": "ls", "cwd": "/"},
    ],
    "terminal_start": [{}, {"command": 5}, {"command": "cat", "stdin": ["x"]}, {"command": "cat", "title": "x"}],
    "terminal_continue": [{}, {"sessionId": 5}, {"sessionId": "none"}, {"sessionId": None, "stdin": "x"}],
    "terminal_stop": [{}, {"sessionId": ["a"]}, {"sessionId": "none"}, {"sessionId": "x" * 100_000}],
    "terminal_list": [{"all": True}],
    "read": [{}, {"path": 5}, {"path": ["a.txt"]}, {"path": "a.txt", "from": "start"}, {"path": "a.txt", "from": 1.5}],
    "write": [
        {"path": "a.txt"},
        {"content": "x"},
        {"path": "a.txt", "content": None},
        {"path": "a.txt", "content": {"text": "x"}},
        {"path": "a.txt", "content": ["x"]},
        {"path": {"name": "a.txt"}, "content": "x"},
        {"path": "a.txt", "content": "x", "mode": 7},
        {"path": "a\0.txt", "content": "x"},
    ],
    "edit": [
        {"path": "a.txt"},
        {"path": "a.txt", "edits": {}},
        {"path": "a.txt", "edits": "one -> two"},
        {"path": "a.txt", "edits": [{"old": "one"}]},
        {"path": "a.txt", "edits": [{"old": 1, "new": 2}]},
        {"path": "a.txt", "edits": [["one", "two"]]},
        {"path": "a.txt", "edits": [{"old": "one", "new": "two"}, None]},
        {"path": "a.txt", "edits": [{"old": "one", "new": "two"}] * 101},
        {"path": "a.txt", "edits": [{"old": "one", "new": "two", "all": "yes, please"}]},
    ],
    "search": [{}, {"query": ["one"]}, {"query": "one", "limit": "many"}, {"query": "(", "regex": True}],
    "show": [{}, {"path": 5}, {"path": "a.txt", "line": "last"}, {"path": "a.txt", "highlight": True}],
}
"""Arguments of each core tool that are not of its form, or name what is not there."""


@both
async def test_wrong_arguments_of_every_core_tool_are_errors_that_a_model_can_act_on(app: App, mode: Mode) -> None:
    file = Path(app.bench.root, "a.txt")
    file.write_text("one\n")
    with agreeable_person(app):
        async with connected(app, mode) as client:
            assert WRONG.keys() == {tool.name for tool in (await client.list_tools()).tools}
            for name, every in WRONG.items():
                for args in every:
                    done = await client.call_tool(name, args)
                    said = text(done)
                    assert done.is_error, (name, args, said)
                    assert said.startswith("error: "), (name, args, said)
                    code, hint = said.rpartition("\ncode: ")[2].partition("\n")[::2]
                    assert code in ("bad-argument", "bad-path", "not-found"), (name, args, said)
                    assert hint.startswith("hint: ") or code == "bad-argument", (name, args, said)
                    assert len(said) < 2000, (name, args, said[:500])
            assert text(await client.call_tool("read", {"path": "a.txt"})) == "one\n1 line"
    assert os.listdir(app.bench.root) == ["a.txt"]


@both
async def test_huge_and_late_edits_lose_nothing(app: App, mode: Mode) -> None:
    file = Path(app.bench.root, "a.txt")
    file.write_text("one\ntwo\n")
    edit: dict[str, Any] = {"path": "a.txt", "edits": [{"old": "one", "new": "1"}]}
    async with connected(app, mode) as client:

        async def refused(name: str, args: dict[str, Any], code: str, kept: str) -> None:
            done = await client.call_tool(name, args)
            assert (done.is_error, f"\ncode: {code}\n" in f"{text(done)}\n") == (True, True), text(done)[:500]
            assert file.read_text() == kept

        await client.call_tool("read", {"path": "a.txt"})
        huge = [{"old": "two", "new": "2"}, {"old": "one", "new": "x" * 11_000_000}]
        await refused("edit", {"path": "a.txt", "edits": huge}, "too-large", "one\ntwo\n")
        await refused("write", {"path": "a.txt", "content": "x" * 70_000_000}, "too-large", "one\ntwo\n")
        twice = [{"old": "one", "new": "two"}, {"old": "two", "new": "three"}]
        await refused("edit", {"path": "a.txt", "edits": twice}, "many-matches", "one\ntwo\n")
        file.write_text("one\nthe person's\n")
        await refused("edit", edit, "conflict", "one\nthe person's\n")
        await refused("write", {"path": "a.txt", "content": "mine\n"}, "conflict", "one\nthe person's\n")
        await app.call("openspace.editor.open", {"path": "a.txt"})
        await app.call("openspace.editor.set_draft", {"path": "a.txt", "text": "not saved\n"})
        await client.call_tool("read", {"path": "a.txt"})
        done = await client.call_tool("edit", edit)
        assert (file.read_text(), done.is_error) == ("1\nthe person's\n", False), text(done)
        draft = (await app.call("openspace.editor.list")).data
        assert "not saved" in str(draft) or "dirty" in str(draft)
        file.unlink()
        await client.call_tool("read", {"path": "a.txt"})
        gone = await client.call_tool("edit", edit)
        assert gone.is_error
        assert not file.exists()


async def test_a_killed_host_ends_what_is_in_a_sandbox_with_a_clear_error_and_the_next_call_works() -> None:
    walled = Settings(agent_defaults=AgentDefaults(provider="bubblewrap"))
    async with open_app(walled) as app, connected(app) as client:
        sleeper = Sleeper(app)
        with agreeable_person(app):
            started = text(await client.call_tool("terminal_start", {"command": "cat"}))
            id = started.partition("ID: ")[2].split()[0]
            async with asyncio.TaskGroup() as group:
                call = group.create_task(client.call_tool("bash", sleeper.args))
                task = await Utility(client).create("bash", {"command": "sleep 1000"})
                await sleeper.running()
                os.kill(app.terminals.host_pid, signal.SIGKILL)
            clear = "error: it was ended with its sandbox: the host is gone; run it again in a new one"
            # Or its start was not answered any more.
            lost = "error: lost the connection to the terminal host\ncode: host-lost\nhint: try again"
            assert text(call.result()).startswith((f"early\n{clear}", lost))
            assert text(await Utility(client).result(task.task_id)).startswith((clear, lost))
            assert text(await client.call_tool("bash", {"command": "echo on"})).startswith("on\nexit 0")
            seen = text(await client.call_tool("terminal_continue", {"sessionId": id}))
            assert "\nComplete: true\nNote: the program was ended, not by itself: its host is gone; start it" in seen
            typed = await client.call_tool("terminal_continue", {"sessionId": id, "stdin": "x\n"})
            assert "code: exited\nhint: create a new one" in text(typed)
            again = text(await client.call_tool("terminal_start", {"command": "echo new; cat"}))
            assert again.endswith("\nOutput:\nnew\n")


async def test_without_a_sandbox_a_killed_host_takes_terminals_along_and_no_call(app: App) -> None:
    held = Held(app)
    with agreeable_person(app):
        async with connected(app, tools=["all"]) as client:
            started = text(await client.call_tool("terminal_start", {"command": "cat"}))
            id = started.partition("ID: ")[2].split()[0]
            wait = {"terminalId": id, "pattern": "never", "deadlineSeconds": 3600}
            async with asyncio.TaskGroup() as group:
                bash = group.create_task(client.call_tool("bash", held.args))
                waiting = group.create_task(client.call_tool("openspace_terminal_wait", wait))
                await until(lambda: app.gate.pending(next(iter(app.bench.sessions)).id) == 2, app)
                os.kill(app.terminals.host_pid, signal.SIGKILL)
                ended = await waiting
                await held.let_go()
            assert '"reason":"exit"' in text(ended)
            assert text(bash.result()).startswith("late\nexit 0")
            assert "its host is gone" in text(await client.call_tool("terminal_continue", {"sessionId": id}))
            assert text(await client.call_tool("bash", {"command": "echo on"})).startswith("on\nexit 0")
