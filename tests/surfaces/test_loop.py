"""Nothing reads a file on the event loop: while one caller's large file is read, everybody else is served."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.kit.loopfiles import opened_on_this_thread
from tests.kit.server import Served, serve_app, until

from fourhands.workbench.files.workspace import Workspace

pytestmark = pytest.mark.timeout(120)

MAY = {
    "core/child.py:__init__": "pipes to a program that is being started; nothing is read from a disk",
    "host/log.py:__init__": "opens a terminal's log; pieces of bounded size are read from it by position",
    **{
        f"providers/cgroups.py:{name}": "the kernel's control groups of a sandbox, in memory: no disk"
        for name in ("words", "write", "sweep", "_remove")
    },
    "surfaces/http/static.py:response": "the page's own first file, some kilobytes, once after it was built",
    "workbench/terminals/authorship.py:_load": "who typed before a restart: a bounded file, once for each terminal",
    "workbench/terminals/authorship.py:_write": "who typed: one line is appended to a file of our own",
}
"""What may open a file on the loop, and why that holds nobody up."""


async def play(served: Served) -> set[str]:
    """Use every command by HTTP, as the person and as an agent; gives the ids of those that were used."""
    played: set[str] = set()
    root = Path(served.app.bench.root)
    (root / "src").mkdir()
    for name in ("README.md", "src/app.py", "gone.txt"):
        (root / name).write_text("one\ntwo\nthree\n")
    (root / "run.sh").write_text("echo from a script\n")
    (root / ".agents/skills/pdf").mkdir(parents=True)
    (root / ".agents/skills/pdf/SKILL.md").write_text("---\nname: pdf\ndescription: Reads PDFs.\n---\n")
    (root / "AGENTS.md").write_text("be kind\n")
    session, token = served.agent()

    async with served.client() as person, served.client(token) as agent:

        async def call(verb: str, client: httpx.AsyncClient = person, **args: object) -> dict[str, Any]:
            played.add(f"openspace.{verb}")
            body: dict[str, Any] = (await client.post(f"/api/commands/openspace.{verb}", json=args)).json()
            return await served.by_hand(f"openspace.{verb}", args, body)

        for client in (person, agent):
            mine = await call("terminal.create", client, title=f"mine {client is agent}")
            name = mine["terminalId"]
            await call("terminal.send", client, terminalId=name, text="echo hello; false\n")
            await call("terminal.wait", client, terminalId=name, pattern="hello", deadlineSeconds=20)
            await call("terminal.run", client, terminalId=name, line="echo ran")
            for verb in ("screen", "authors", "show", "interrupt"):
                await call(f"terminal.{verb}", client, terminalId=name)
            await call("terminal.read_output", client, terminalId=name)
            await call("terminal.read_output", client, terminalId=name, since=0)
            await call("terminal.search", client, terminalId=name, pattern="hel+o")
            await call("terminal.list", client)
            await call("terminal.rename", client, terminalId=name, title=f"renamed {client is agent}")
            ran = await call("terminal.exec", client, command="echo", args=["x"])
            await call("terminal.kill", client, terminalId=ran["terminalId"])
            await call("terminal.close", client, terminalId=ran["terminalId"])
            await call("terminal.run_outside", client, command="true")
            await call("tool.bash", client, command="cat README.md")
            await call("tool.bash", client, command="./run.sh && bash run.sh; python3 src/app.py; make")
            cut = await call("tool.bash", client, command="printf 'x%.0s' {1..20000}")
            await call("tool.read_output", client, outputId=str(cut.get("outputId")))
            await call("tool.execute_command", client, command="cat", args=["README.md"])
            await call("tool.run_script", client, script="cat README.md\n")
            started = await call("tool.terminal_start", client, command="cat README.md")
            await call("tool.terminal_continue", client, sessionId=str(started.get("sessionId")))
            await call("tool.terminal_list", client)
            await call("tool.terminal_stop", client, sessionId=str(started.get("sessionId")))
            await call("editor.open", client, path="src/app.py", line=2, highlight=True)
            await call("editor.scroll_to", client, path="src/app.py", line=1)
            await call(
                "editor.highlight",
                client,
                path="src/app.py",
                ranges=[{"startLine": 1, "endLine": 1}],
                highlightId="mark",
            )
            await call("editor.clear_highlight", client, highlightId="mark")
            await call("editor.clear_highlights", client)
            await call("editor.list", client)
            await call("editor.read_file", client, path="src/app.py")
            await call("file.read", client, path="README.md")
            await call("file.list", client)
            await call("file.search", client, query="two")
            await call("file.write", client, path="README.md", content=f"written {client is agent}\n")
            await call("file.edit", client, path="README.md", edits=[{"old": "written", "new": "edited"}])
            await call("tool.read", client, path="README.md")
            await call("tool.write", client, path="README.md", content=f"written {client is agent}\n")
            await call("tool.edit", client, path="README.md", edits=[{"old": "written", "new": "edited"}])
            await call("tool.search", client, query="edited")
            await call("tool.show", client, path="README.md", line=1, highlight=True)
            await call("pane.open", client, type="editor", contentId="README.md", splitDirection="vertical")
            await call("pane.focus", client, paneId="README.md")
            panes = await call("pane.list", client)
            await call("pane.resize", client, paneId="README.md", width=30)
            await call("pane.move", client, paneId="README.md", target=panes["panes"][0]["id"])
            await call("pane.close", client, paneId="README.md")
            await call("terminal.limit", client)
            await call("workbench.platform", client)
            await call("project.instructions", client, directory="src")
            await call("skill.list", client)
            await call("skill.read", client, name="pdf")
            await call("agent.list", client)
            await call("agent.help", client, command="openspace.file.read")
            await call("agent.configure", client, sessionId=session)
            await call("workbench.snapshot", client)
            await call("workbench.actions", client)
            await call("editor.close", client, path="src/app.py")

        name = mine["terminalId"]
        for verb in ("take_over", "hand_back", "replay"):
            await call(f"terminal.{verb}", terminalId=name)
        await call("terminal.set_limit", maxTerminals=50)
        await call("network.allow", host="example.org")
        await call("network.list")
        await call("network.forget", host="example.org")
        await call("network.ports")
        await call("network.hosts", sessionId=session)
        await call("safety.judge", command="ls")
        await call("safety.sandbox")
        await call("safety.asking")
        await call("safety.set_asking", ask="irreversible")
        await call("safety.set_asking", ask="dangerous")
        for verb in ("attach", "detach"):
            await call(f"agent.{verb}", sessionId=session, terminalId=name)
        await call("terminal.resize", terminalId=name, cols=90, rows=20)
        await call("pane.pin", paneId=name)
        await call("pane.set_sizes", split="none", sizes=[50, 50])
        await call("editor.open", path="src/app.py")
        await call("editor.set_draft", path="src/app.py", text="typed")
        await call("editor.discard", path="src/app.py")
        await call("editor.save", path="src/app.py", text="saved", expectedVersion="any")
        await call("editor.escape")
        await call("file.remove", path="gone.txt")
        for _ in range(2):
            listed = await call("change.list")
            assert [change["path"] for change in listed["changes"]] == ["README.md"], listed
            await call("workbench.undo")
            await call("workbench.redo")
        await call("change.keep", path="README.md")
        await call("file.write", agent, path="README.md", content="once more\n")
        await call("change.revert", path="README.md")
        [*_, turn] = (await call("turn.list"))["turns"]
        for verb in ("undo", "redo", "keep"):
            await call(f"turn.{verb}", turn=turn["id"])
        [taken, *_] = (await call("checkpoint.list"))["checkpoints"]
        await call("checkpoint.compare", before=taken["id"])
        await call("checkpoint.restore", checkpoint=taken["id"])
        leave = served.app.questions.attend()
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(call("tool.bash", agent, command="rm -rf README.md"))
            await until(served.app.questions.open)
            question = served.app.questions.open()[0].id
            await call("rehearsal.check", questionId=question)
            for verb in ("stop", "read", "discard", "apply"):
                begun = await call("rehearsal.start", questionId=question)
                if known := served.app.bench.rehearsals.of(question):
                    await served.app.bench.rehearsals.ended(known)
                await call(f"rehearsal.{verb}", id=str(begun.get("id")))
            if not asked.done():  # where nothing can be rehearsed
                await call("workbench.answer", questionId=question, choice="deny")
        leave()
        await call("workbench.questions")
        await call("workbench.answer", questionId="none", choice="deny")
        await call("workbench.review", questionId="none", text="ls")
        for verb in ("pause", "resume", "rules", "describe", "list_chats"):
            await call(f"agent.{verb}", sessionId=session)
        await call("agent.drop_rule", sessionId=session, key="none")
        await call("agent.prompt", sessionId=session, text="hello")
        await call("agent.set_mode", sessionId=session, mode="none")
        await call("agent.set_option", sessionId=session, option="none", value="none")
        await call("agent.load_chat", sessionId=session, chat="none")
        await call("agent.delete_chat", sessionId=session, chat="none")
        await call("agent.sign_in", sessionId=session, method="none")
        await call("agent.consent", sessionId=session, allow=True)
        await call("agent.start", agent="tour")
        await call("agent.models", endpoint="http://127.0.0.1:9/v1")
        await call("agent.stop", sessionId=session)
        await call("agent.reset", sessionId=session)
        await call("agent.end", sessionId=session)
        async with served.viewer(served.app.terminals.get(name)) as viewer, served.caller() as caller:
            await viewer.step()
            await caller.call("openspace.workbench.snapshot", {})
        for path in ("/", "/health", "/metrics", "/api/manifest", "/openapi.json"):
            await person.get(path)
    return played


async def test_no_command_opens_a_file_on_the_loop() -> None:
    async with serve_app() as served:
        with opened_on_this_thread() as found:
            played = await play(served)
        assert played == {command.id for command in served.app.registry}
    assert {place: files for place, files in found.items() if place not in MAY} == {}
    assert not any(str(served.places.workspace) in file for files in found.values() for file in files)


async def test_a_file_that_is_opened_on_the_loop_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x")
    with opened_on_this_thread() as found:
        Workspace(tmp_path, person=True).version("a.txt")
        await asyncio.to_thread(Workspace(tmp_path, person=True).read, "a.txt")
    assert {place.partition(":")[0] for place in found} == {"safety/paths/walk.py"}
