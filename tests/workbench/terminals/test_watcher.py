"""What becomes of a terminal by itself is told by events, once per change."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.kit.workbench import environment, open_app, quick, temporary_places

from fourhands.app import App
from fourhands.core.event import Event
from fourhands.workbench.terminals import watcher
from fourhands.workbench.terminals.terminal import RESIZE_EVERY_S, Terminal
from fourhands.workbench.terminals.terminals import Terminals

LIMIT_S = 40


class Told:
    """The events of terminals, in order."""

    def __init__(self, app: App) -> None:
        self.events: list[Event] = []
        self._news = asyncio.Event()
        app.events.published.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if event.kind.startswith("terminal."):
            self.events.append(event)
            self._news.set()

    def infos(self, kind: str) -> list[Any]:
        return [event.data["terminal"] for event in self.events if event.kind == f"terminal.{kind}"]

    async def until(self, kind: str, condition: Callable[[Any], object]) -> Any:
        async with asyncio.timeout(LIMIT_S):
            while True:
                for info in self.infos(kind):
                    if condition(info):
                        return info
                self._news.clear()
                await self._news.wait()


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        yield app


@pytest.fixture
def told(app: App) -> Told:
    return Told(app)


async def _shell(app: App, told: Told) -> Terminal:
    """A shell at its prompt, and the events up to there taken off the list."""
    made = await app.call("openspace.terminal.create", {"title": "work", "shellPath": "/bin/bash"})
    terminal = app.terminals.get(str(made.data["terminalId"]))
    # On a busy machine the prompt is there before anybody looks for the first time: then nothing has changed since.
    if told.infos("created")[0]["shellState"] != "prompt":
        await told.until("changed", lambda info: info["shellState"] == "prompt")
    told.events.clear()
    return terminal


async def test_a_shell_that_goes_on_is_told_without_anybody_asking(app: App, told: Told) -> None:
    terminal = await _shell(app, told)
    await terminal.type("read LINE; false\n")
    await told.until("changed", lambda info: info["shellState"] == "running")
    await terminal.type("go\n")
    done = await told.until("changed", lambda info: info["shellState"] == "prompt")
    assert done["lastExitCode"] == 1
    told.events.clear()
    await terminal.type("echo 'half\n")
    await told.until("changed", lambda info: info["shellState"] == "incomplete")
    await terminal.type("a line'\n")
    await told.until("changed", lambda info: info["lastExitCode"] == 0)
    await terminal.type("cd /; exit 3\n")
    ended = await told.until("exited", lambda info: info["status"] == "exited")
    assert ended["exitCode"] == 3


async def test_a_secret_that_is_wanted_is_told(app: App, told: Told) -> None:
    terminal = await _shell(app, told)
    await terminal.type("read -sp 'Password: ' X\n")
    await told.until("changed", lambda info: info["lease"]["secret"])
    await terminal.type("x\n")
    await told.until("changed", lambda info: info["shellState"] == "prompt" and not info["lease"]["secret"])


async def test_each_change_is_told_once_and_a_storm_of_commands_is_few(app: App, told: Told) -> None:
    terminal = await _shell(app, told)
    begun = time.monotonic()
    await terminal.type("for n in $(seq 300); do echo $n; done\n" + "true\n" * 100 + "cd /\n")
    await told.until("changed", lambda info: info["cwd"] == "/" and info["shellState"] == "prompt")
    assert len(told.infos("changed")) <= (time.monotonic() - begun) / watcher.LOOK_S + 1
    told.events.clear()
    await terminal.type("\x0c" * 20)  # redraws the prompt: output, but no change
    await terminal.wait(quiet_s=4 * watcher.LOOK_S)
    assert told.infos("changed") == []


class Fake:
    """A terminal whose output and time are the test's."""

    def __init__(self) -> None:
        self.log = SimpleNamespace(head=0)
        self.exited = False
        self.listener: Callable[[], None] | None = None
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        self.listener = callback
        return lambda: setattr(self, "listener", None)

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        self.timers.append((delay_s, action))

    def listening(self) -> bool:
        return self.listener is not None

    def print(self, size: int) -> None:
        self.log.head += size
        if self.listener is not None:
            self.listener()

    def look_at_size(self) -> None:
        pass

    def pass_time(self, delay_s: float) -> None:
        """Run the timer of this length."""
        (timer,) = [timer for timer in self.timers if timer[0] == delay_s]
        self.timers.remove(timer)
        timer[1]()


@dataclass
class Followed:
    """A pulse on a fake terminal."""

    fake: Fake = field(default_factory=Fake)
    state: str = "prompt"
    then: str = ""
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        fake = cast(Terminal, self.fake)
        watcher.Watcher(fake, self.state, see=self.see, facts=lambda seen: seen, tell=self.told.append)

    def see(self) -> str:
        """How it is now; it goes on at once, as real programs do."""
        seen, self.state = self.state, self.then or self.state
        self.then = ""
        return seen


async def test_a_flood_is_neither_read_nor_woken_by_before_it_is_over() -> None:
    one = Followed()
    fake = one.fake
    fake.print(10)
    one.state = "running"
    fake.print(10)
    assert not fake.listening()  # one wake-up is enough
    fake.pass_time(watcher.LOOK_S)
    assert one.told == ["running"]
    fake.print(watcher.FLOOD + 1)
    one.state = "prompt"
    fake.pass_time(watcher.LOOK_S)
    for _ in range(3):
        fake.print(watcher.FLOOD + 1)
        fake.pass_time(watcher.FLOOD_S)
        assert not fake.listening()
    assert one.told == ["running"]
    fake.pass_time(watcher.FLOOD_S)
    assert one.told == ["running", "prompt"]
    fake.exited = True
    assert fake.listening()
    fake.print(1)
    assert [delay_s for delay_s, _ in fake.timers] == [watcher.ONCE_MORE_S]


async def test_what_changes_between_looking_and_telling_is_told_once() -> None:
    one = Followed()
    one.state, one.then = "running", "prompt"
    one.fake.print(10)
    one.fake.pass_time(watcher.LOOK_S)
    assert one.told == ["running"]
    one.fake.print(10)
    one.fake.pass_time(watcher.LOOK_S)
    one.fake.print(10)
    one.fake.pass_time(watcher.LOOK_S)
    assert one.told == ["running", "prompt"]


async def test_what_changes_a_moment_after_the_last_output_is_seen_too() -> None:
    one = Followed()
    one.fake.print(10)
    one.fake.pass_time(watcher.LOOK_S)
    one.fake.print(10)
    one.fake.pass_time(watcher.LOOK_S)
    one.state = "secret"
    one.fake.pass_time(watcher.ONCE_MORE_S)  # that of the first look: there was a second one since
    assert one.told == []
    one.fake.pass_time(watcher.ONCE_MORE_S)
    assert one.told == ["secret"]
    assert one.fake.timers == []


async def test_a_new_size_is_told_once_and_of_a_storm_the_last_is(app: App, told: Told) -> None:
    terminal = await _shell(app, told)
    begun = time.monotonic()
    for cols in range(50, 150):
        assert (await app.call("openspace.terminal.resize", {"terminalId": "work", "cols": cols, "rows": 20})).success
    last = await told.until("resized", lambda info: info["cols"] == 149)
    assert last["rows"] == 20
    assert len(told.infos("resized")) <= (time.monotonic() - begun) / RESIZE_EVERY_S + 2
    told.events.clear()
    assert (await app.call("openspace.terminal.resize", {"terminalId": "work", "cols": 149, "rows": 20})).success
    assert terminal.size == (149, 20)
    assert told.infos("resized") == []


async def test_a_size_that_another_process_gave_is_noticed(app: App, told: Told) -> None:
    terminal = await _shell(app, told)
    places = app.places
    async with Terminals(places.workspace, quick(), places=places, env=environment(places), keep=True) as attached:
        attached.get("work").resize(77, 22)
        await terminal.type("true\n")  # a shell that is not yet reading does not draw its prompt anew
        seen = await told.until("resized", lambda info: info["cols"] == 77)
    assert (seen["rows"], terminal.size) == (22, (77, 22))
    assert len(terminal.screen().rows) == 22


async def test_a_terminal_from_before_a_restart_is_followed_too() -> None:
    with temporary_places() as places:
        env = environment(places)
        async with App(places.workspace, quick(), places=places, env=env) as first:
            terminal = await _shell(first, Told(first))
        async with App(places.workspace, quick(), places=places, env=env) as second:
            told = Told(second)
            again = second.terminals.get(terminal.id)
            await again.type("false\n")
            await told.until("changed", lambda info: info["lastExitCode"] == 1)
            await second.terminals.stop()
