"""What programs outside do to open files."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.event import Event
from fourhands.core.tasks import Tasks
from fourhands.workbench.files.replacement import ABSENT
from fourhands.workbench.files.watch import Watch, WatchedFiles
from fourhands.workbench.files.workspace import DirectoryEntry


def watch(app: App, files: WatchedFiles | None = None) -> tuple[Watch, list[tuple[str, str]]]:
    told: list[tuple[str, str]] = []

    def tell(path: str, version: str) -> None:
        told.append((path, version))
        app.bench.state.set_version(path, version)

    bench = app.bench
    return Watch(files or bench.files(Actor.person()), bench.state.editors, bench.writes, app.events, tell), told


async def test_a_change_from_outside_is_told_once() -> None:
    async with open_app() as app:
        file = Path(app.bench.root, "a.txt")
        file.write_text("one")
        assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
        looking, told = watch(app)
        await looking.look()
        assert told == []
        file.write_text("one and two")
        await looking.look()
        await looking.look()
        assert [path for path, _ in told] == ["a.txt"]
        file.unlink()
        await looking.look()
        assert told[1:] == [("a.txt", ABSENT)]
        file.write_text("again")
        await looking.look()
        assert len(told) == 3


async def test_own_writes_touches_and_closed_files_are_no_news() -> None:
    async with open_app() as app:
        file, closed = Path(app.bench.root, "a.txt"), Path(app.bench.root, "b.txt")
        file.write_text("one")
        closed.write_text("one")
        assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
        looking, told = watch(app)
        await looking.look()
        assert (await app.call("openspace.file.write", {"path": "a.txt", "content": "two and more"})).success
        closed.write_text("other")
        await looking.look()
        os.utime(file, (1, 1))
        await looking.look()
        assert (await app.call("openspace.editor.close", {"path": "a.txt"})).success
        file.write_text("after")
        await looking.look()
        assert told == []


async def test_what_changed_while_no_server_ran_is_seen_at_the_first_look() -> None:
    async with open_app() as app:
        file = Path(app.bench.root, "a.txt")
        file.write_text("one")
        assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
        file.write_text("two")
        looking, told = watch(app)
        await looking.look()
        assert [path for path, _ in told] == ["a.txt"]


async def test_an_open_file_that_becomes_a_directory_or_a_pipe_harms_nobody() -> None:
    async with open_app() as app:
        file = Path(app.bench.root, "a.txt")
        file.write_text("one")
        assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
        looking, told = watch(app)
        file.unlink()
        os.mkfifo(file)
        await looking.look()
        file.unlink()
        file.mkdir()
        await looking.look()
        assert told == []


async def test_a_write_that_is_under_way_is_no_news_to_the_watch() -> None:
    async with open_app() as app:
        file = Path(app.bench.root, "a.txt")
        file.write_text("one")
        assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
        looking, told = watch(app)
        with app.bench.writes:  # a command has written, and its editor does not know yet
            file.write_text("two")
            await looking.look()
        assert told == []
        app.bench.state.set_version("a.txt", app.bench.files(Actor.person()).version("a.txt"))
        await looking.look()
        assert told == []


async def test_what_was_read_before_a_write_is_not_told_after_it() -> None:
    async with open_app() as app:
        file = Path(app.bench.root, "a.txt")
        file.write_text("one")
        assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
        real = app.bench.files(Actor.person())

        class Late:
            """Files of which one is written by a command right after it was read."""

            written = False

            def stat(self, path: str) -> DirectoryEntry:
                return real.stat(path)

            def version(self, path: str) -> str:
                version = real.version(path)
                if not self.written:
                    self.written = True
                    with app.bench.writes:
                        file.write_text("two")
                        app.bench.state.set_version("a.txt", real.version("a.txt"))
                return version

        looking, told = watch(app, Late())
        await looking.look()
        assert told == []
        file.write_text("three")  # from outside
        await looking.look()
        assert [path for path, _ in told] == ["a.txt"]


async def test_the_longer_nothing_happens_the_rarer_it_looks_and_without_open_files_never() -> None:
    async with open_app() as app:
        Path(app.bench.root, "a.txt").write_text("one")
        looks = asyncio.Queue[float]()

        class Counted(Watch):
            async def look(self) -> None:
                looks.put_nowait(self.pause_s)

        bench = app.bench
        files = bench.files(Actor.person())
        looking = Counted(files, bench.state.editors, bench.writes, app.events, lambda *_: None, every_s=0.01)
        async with Tasks() as tasks, asyncio.timeout(15):
            tasks.start(looking.run(), "the watch")
            assert await looks.get() == 0.01
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(looks.get(), 0.1)
            assert (await app.call("openspace.editor.open", {"path": "a.txt"})).success
            while await looks.get() < 0.1:
                pass
            assert await looks.get() == pytest.approx(0.1)
            app.events.publish(Event(kind="terminal.changed", data={}))
            while await looks.get() != 0.01:
                pass
