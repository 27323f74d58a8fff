"""Turns of agents as the person sees and undoes them, with real shells and real git."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

from tests.kit.person import Person
from tests.kit.workbench import open_app, temporary_places

from fourhands.core.call import Actor
from fourhands.settings import CheckpointSettings, Settings

AGENT = Actor.agent("s1", "Ada")
ROOMY = Settings(checkpoints=CheckpointSettings(budget_s=60.0))


async def call(app, command, args=None, actor=None) -> Any:
    return await app.call(command, args, actor=actor)


def heard(app, kind):
    """An event that is set once one of this kind has been emitted."""
    over = asyncio.Event()

    def listen(event):
        if event.kind == kind:
            over.set()

    app.events.published.subscribe(listen)
    return over


def begin(app):
    app.bench.begin_session("Ada", "test", id="s1")
    app.gate.consent.grant("s1")


async def shell(root, line):
    """What a program does in the turn."""
    await asyncio.to_thread(subprocess.run, ["bash", "-c", line], cwd=root, check=True)


async def finished(app):
    app.bench.turns.end("s1")
    await app.bench.turns.ended("s1")


async def changes(app):
    result = await call(app, "openspace.change.list")
    assert result.success, result
    return result.data


async def write(app, path, content):
    result = await call(app, "openspace.file.write", {"path": path, "content": content}, actor=AGENT)
    assert result.success, result


async def test_what_a_shell_changed_is_listed_with_its_turn_and_undone_as_a_whole():
    async with open_app(ROOMY) as app:
        begin(app)
        root = Path(app.bench.root)
        (root / "a.txt").write_text("one\n")
        (root / "b.txt").write_text("b\n")
        await write(app, "edited.txt", "by command\n")
        await shell(root, "echo two > a.txt; rm b.txt; echo new > new.txt; echo x > .envrc")
        await finished(app)
        listed = await changes(app)
        found = {change["path"]: change for change in listed["changes"]}
        assert {path: change["by"] for path, change in found.items()} == {
            "edited.txt": "command", "a.txt": "shell", "b.txt": "shell", "new.txt": "shell", ".envrc": "shell",
        }  # fmt: skip
        assert (found["a.txt"]["before"], found["a.txt"]["after"]) == ("one\n", "two\n")
        assert (found["b.txt"]["before"], found["b.txt"]["after"]) == ("b\n", None)
        assert [path for path, change in found.items() if change["runsByItself"]] == [".envrc"]
        [turn] = listed["turns"]
        assert {change["turn"] for change in found.values()} == {turn["id"]}

        row = (await app.journal.query(command="openspace.file.write"))[-1]
        assert (row.turn, row.checkpoint_before, row.checkpoint_after) == (turn["id"], turn["before"], turn["after"])

        preview = await call(app, "openspace.turn.undo", {"turn": turn["id"], "preview": True})
        assert sorted(preview.data["files"]) == sorted(found)
        assert (root / "a.txt").read_text() == "two\n"
        undone = await call(app, "openspace.turn.undo", {"turn": turn["id"]})
        assert undone.success, undone
        assert not undone.data["conflicts"]
        assert {path.name: path.read_text() for path in root.iterdir()} == {"a.txt": "one\n", "b.txt": "b\n"}
        assert not (await changes(app))["changes"]

        redone = await call(app, "openspace.turn.redo", {"turn": turn["id"]})
        assert redone.success, redone
        assert (root / "a.txt").read_text() == "two\n"
        assert not (root / "b.txt").exists()


async def test_a_conflict_is_shown_with_three_versions_and_nothing_is_lost():
    async with open_app(ROOMY) as app:
        begin(app)
        path = Path(app.bench.root, "a.txt")
        path.write_text("before\n")
        await write(app, "a.txt", "agent\n")
        await finished(app)
        path.write_text("mine\n")
        [turn] = app.bench.turns.list()
        undone = await call(app, "openspace.turn.undo", {"turn": turn.id})
        [conflict] = undone.data["conflicts"]
        assert (conflict["wanted"], conflict["left"], conflict["now"]) == ("before\n", "agent\n", "mine\n")
        assert path.read_text() == "mine\n"


async def test_one_file_that_a_shell_changed_is_kept_or_taken_back():
    async with open_app(ROOMY) as app:
        begin(app)
        root = Path(app.bench.root)
        (root / "a").write_text("a\n")
        (root / "b").write_text("b\n")
        await write(app, "c", "c\n")
        await shell(root, "rm a; ln -s /etc/passwd a; chmod +x b; echo k > kept")
        await finished(app)
        found = {change["path"]: change for change in (await changes(app))["changes"]}
        assert (found["a"]["note"], found["b"]["note"]) == ("link", "mode")
        for path in ("a", "b"):
            args = {"path": path, "version": found[path]["version"]}
            assert (await call(app, "openspace.change.revert", args)).success
        assert (await call(app, "openspace.change.keep", {"path": "kept"})).success
        assert [change["path"] for change in (await changes(app))["changes"]] == ["c"]
        assert (root / "a").read_text() == "a\n"
        assert not (root / "a").is_symlink()
        assert not (root / "b").stat().st_mode & 0o100
        [turn] = app.bench.turns.list()
        assert (await call(app, "openspace.turn.keep", {"turn": turn.id})).success
        stale = await call(app, "openspace.change.revert", {"path": "c", "version": "other"})
        assert stale.code == "conflict"


async def test_a_turn_without_a_checkpoint_says_why():
    off = Settings(checkpoints=CheckpointSettings(enabled=False))
    async with open_app(off) as app:
        begin(app)
        await write(app, "c", "c\n")
        await finished(app)
        [turn] = app.bench.turns.list()
        assert turn.missing == "no checkpoint: switched off in the settings (checkpoints.enabled)"
        refused = await call(app, "openspace.turn.undo", {"turn": turn.id})
        assert refused.code == "no-checkpoint"
        assert (await changes(app))["unavailable"]


async def test_an_open_editor_is_told_of_what_an_undo_puts_back():
    async with open_app(ROOMY) as app:
        begin(app)
        path = Path(app.bench.root, "a.txt")
        path.write_text("before\n")
        assert (await call(app, "openspace.editor.open", {"path": "a.txt"})).success
        await write(app, "a.txt", "agent\n")
        await finished(app)
        told = []
        app.events.published.subscribe(lambda event: told.append(event.payload))
        [turn] = app.bench.turns.list()
        assert (await call(app, "openspace.turn.undo", {"turn": turn.id})).success
        assert "a.txt" in [getattr(payload, "path", "") for payload in told]
        [editor] = app.bench.state.editors()
        assert editor.version == app.bench.files(Actor.person()).version("a.txt")


async def test_checkpoints_are_listed_compared_and_restored_by_the_person_only():
    async with open_app(ROOMY) as app:
        begin(app)
        root = Path(app.bench.root)
        (root / "a").write_text("one\n")
        await write(app, "b", "b\n")
        await finished(app)
        (root / "a").write_text("mine\n")
        listed = (await call(app, "openspace.checkpoint.list")).data["checkpoints"]
        assert len(listed) == 2
        compared = (await call(app, "openspace.checkpoint.compare", {"before": listed[0]["id"]})).data["paths"]
        assert [one["path"] for one in compared] == ["a", "b"]
        both = {"before": listed[0]["id"], "after": listed[1]["id"]}
        assert [one["path"] for one in (await call(app, "openspace.checkpoint.compare", both)).data["paths"]] == ["b"]
        restored = await call(app, "openspace.checkpoint.restore", {"checkpoint": listed[0]["id"]})
        assert {path.name: path.read_text() for path in root.iterdir()} == {"a": "one\n"}
        again = await call(app, "openspace.checkpoint.restore", {"checkpoint": restored.data["before"]})
        assert again.success, again
        assert (root / "a").read_text() == "mine\n"
        for command in ("turn.list", "turn.undo", "checkpoint.list", "checkpoint.restore"):
            assert (await call(app, f"openspace.{command}", {}, actor=AGENT)).code in ("denied", "bad-argument")
        assert (await call(app, "openspace.checkpoint.compare", {"before": "../x"})).code == "not-found"


async def test_the_turn_of_an_agent_that_only_calls_ends_when_it_is_quiet():
    async with open_app(ROOMY) as app:
        begin(app)
        app.bench.turns.quiet_s = 0.05
        over = heard(app, "turn.finished")
        await write(app, "a", "1")
        async with asyncio.timeout(40):
            await over.wait()
        await write(app, "a", "2")
        assert [bool(turn.after) for turn in app.bench.turns.list()] == [True, False]
        assert (await call(app, "openspace.file.read", {"path": "a"}, actor=AGENT)).success


async def test_turns_are_there_after_a_restart():
    with temporary_places() as places:
        async with open_app(ROOMY, places) as app:
            begin(app)
            await write(app, "a", "1")
            await finished(app)
            await write(app, "a", "2")
        async with open_app(ROOMY, places) as app:
            one, other = app.bench.turns.list()
            assert one.after
            assert other.missing == "no checkpoint: the server ended during the turn"
            assert (await call(app, "openspace.turn.undo", {"turn": one.id})).data["conflicts"]


async def test_a_turn_lists_the_hosts_that_its_programs_spoke_to():
    with temporary_places() as places:
        async with open_app(ROOMY, places) as app:
            begin(app)
            log = app.bench.network.gatekeeper.log
            log.add("s1", "before.example", connections=1, up=1)
            await write(app, "a", "1")
            log.carry("s1", "open.example", "once").sent(70)
            log.add("s1", "shut.example", refused=2)
            log.add("s2", "other.example", connections=1)
            [turn] = (await changes(app))["turns"]
            found = {host["host"]: (host["connections"], host["refused"], host["up"]) for host in turn["hosts"]}
            assert found == {"open.example": (1, 0, 70), "shut.example": (0, 2, 0)}
            await finished(app)
            assert (await call(app, "openspace.turn.keep", {"turn": turn["id"]})).success
            assert (await call(app, "openspace.change.keep", {"path": "a"})).success
            assert (await changes(app))["turns"] == ()
            for host, by in (("sent.example", "session"), ("model.example", "agent")):
                app.bench.turns.begin("s1", "Ada", host)
                log.add("s1", host, connections=1, up=9, by=by)
                await finished(app)
            app.bench.turns.begin("s1", "Ada", "the last one")
            log.add("s1", "late.example", refused=1)
            await app.bench.end_session("s1")
            await app.bench.turns.ended("s1")
        async with open_app(ROOMY, places) as app:
            # It changed no file. One that spoke to its own model only, or was refused, is not listed.
            [turn] = (await changes(app))["turns"]
            assert [(host["host"], host["up"], host["by"]) for host in turn["hosts"]] == [
                ("sent.example", 9, "session")
            ]
            told = [[host.host for host in turn.hosts] for turn in app.bench.turns.list()]
            assert told[1:] == [["sent.example"], ["model.example"], ["late.example"]]


async def test_a_turn_that_is_being_answered_is_not_undone():
    async with open_app(ROOMY) as app:
        begin(app)
        app.bench.turns.begin("s1", "Ada", "Make the test\npass")
        await write(app, "a", "1")
        [turn] = app.bench.turns.list()
        assert turn.title.startswith("Make the test")
        assert (await call(app, "openspace.turn.undo", {"turn": turn.id})).code == "conflict"
        assert Path(app.bench.root, "a").exists()


async def test_a_dangerous_line_that_runs_has_a_checkpoint_of_its_own():
    async with open_app(ROOMY) as app:
        begin(app)
        await write(app, "a", "1")
        person = Person(app)
        work = app.tasks.start(call(app, "openspace.tool.bash", {"command": "rm -rf a"}, AGENT), "a call")
        async with asyncio.timeout(40):
            person.answer(await person.question(), "once")
            assert (await work).success
        await finished(app)
        [row] = await app.journal.query(command="openspace.tool.bash")
        [turn] = app.bench.turns.list()
        assert row.turn == turn.id
        assert row.checkpoint_before not in ("", turn.before, turn.after)
        restored = await call(app, "openspace.checkpoint.restore", {"checkpoint": row.checkpoint_before})
        assert restored.success, restored
        assert Path(app.bench.root, "a").read_text() == "1"
