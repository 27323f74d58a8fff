"""A served workbench in a thread of its own, so that a test can drive the browser and be the agent at the same time."""

import asyncio
import concurrent.futures
import shutil
import tempfile
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import uvloop
from playwright.sync_api import Browser, ConsoleMessage, Page, expect
from scripts.page import JOURNEYS
from tests.kit.workbench import MINIMAL, quick

from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.app import App
from fourhands.app.connectors import register_all
from fourhands.core.call import Actor, Result
from fourhands.core.event import Event
from fourhands.core.question import Answer, Question
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.server import Running, serving
from fourhands.workbench.sessions import Session

_T = TypeVar("_T")

LIMIT_S = 60  # for whatever is waited for: it is there for hangs, a busy machine must not reach it

FILES = {
    "README.md": "# Notes\n\nA small service.\n",
    "src/app.py": "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(1, 60)),
    "src/store.py": "class Store:\n    pass\n",
    "tests/test_app.py": "def test_ok():\n    assert True\n",
}


class Served:
    """An App and its server on a temporary workspace, until the block ends."""

    def __init__(self, directory: Path) -> None:
        self.workspace = directory / "demo"
        self.app: App
        self.running: Running
        self.admits = True
        self._restarting = False
        # A socket's path ends at 107 bytes: pytest's own directories are too deep for it.
        self._places = Path(tempfile.mkdtemp(prefix="fh-"))
        self.home = self._places / "home"
        self._loop = uvloop.new_event_loop()
        self._ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, name="served")
        self._stop: asyncio.Event

    def __enter__(self) -> "Served":
        for name, text in FILES.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._thread.start()
        self._ready.result(LIMIT_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        shutil.rmtree(self._places, ignore_errors=True)

    def end(self) -> None:
        """Stop serving; whoever still looks has lost the connection."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(LIMIT_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        env = {"XDG_RUNTIME_DIR": str(self._places / "r"), "XDG_STATE_HOME": str(self._places / "s")}
        for place in (*env.values(), str(self.home)):
            Path(place).mkdir(parents=True, mode=0o700)
        try:
            places = WorkspaceDirs.of(self.workspace, env)
            await self._serve_once(places, 0)
            while self._restarting:
                self._restarting = False
                self._stop.clear()
                await self._serve_once(places, self.running.address.port)
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            raise

    async def _serve_once(self, places: WorkspaceDirs, port: int) -> None:
        async with App(self.workspace, quick(), places=places, env={**MINIMAL, "HOME": str(self.home)}) as app:
            async with serving(app.bench, app.tasks, port=port, static=JOURNEYS.static) as running:
                self.app, self.running = app, running
                app.events.published.subscribe(self._admit)
                wiring = LaunchContext(
                    briefing=running.hub.briefing,
                    issue_token=lambda session: running.tokens.issue(session.actor),
                    url=running.address.url,
                    env={},
                )
                register_all(Launcher(app.bench, app.tasks, wiring))
                self._ready.set_result(None)
                await self._stop.wait()
            for terminal in [] if self._restarting else app.terminals.list():
                await terminal.close()

    def restart(self) -> None:
        """Stop the server and start another, at the same address; terminals and their host go on."""
        self._ready = concurrent.futures.Future()
        self._restarting = True
        self._loop.call_soon_threadsafe(self._stop.set)
        self._ready.result(LIMIT_S)

    def _admit(self, event: Event) -> None:
        """Allow further browsers at once, unless the test is about that."""
        if self.admits and isinstance(question := event.payload, Question) and question.kind == "browser":
            answer = Answer(choice="once")
            self._loop.call_soon(lambda: self.app.questions.answer(question.id, answer, Actor.person()))

    def do(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run something in the server's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)

    def start(self, work: Coroutine[Any, Any, _T]) -> "concurrent.futures.Future[_T]":
        """Run something in the server's loop and do not wait."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def agent(self, name: str = "Ada", *, consent: bool = True, terminal: str = "") -> "Agent":
        """An agent comes to the workbench; `terminal` is its own: what it types there is not asked about."""

        async def begin() -> Session:
            session = self.app.bench.begin_session(name, "test")
            if consent:
                self.app.gate.consent.grant(session.id)
            if terminal:
                await self.app.terminals.get(terminal).describe(owner=session.id)
            return session

        return Agent(self, self.do(begin()))

    def call(self, command: str, args: dict[str, object] | None = None) -> Result:
        """Call a command as the person, from outside the browser."""
        return self.do(self.app.call(command, args))

    def emit(self, kind: str, data: dict[str, object]) -> None:
        """Publish an event, as a connector does."""

        async def publish() -> None:
            self.app.events.publish(Event(kind=kind, data=data))

        self.do(publish())


class Agent:
    """Somebody who calls commands as an agent's session."""

    def __init__(self, served: Served, session: Session) -> None:
        self.served = served
        self.session = session

    @property
    def actor(self) -> Actor:
        return self.session.actor

    def call(self, command: str, args: dict[str, object] | None = None) -> Result:
        return self.served.do(self.served.app.call(command, args, actor=self.actor))

    def start(self, command: str, args: dict[str, object] | None = None) -> "concurrent.futures.Future[Result]":
        return self.served.start(self.served.app.call(command, args, actor=self.actor))

    def say(self, text: str, message: str = "m1", *, done: bool = False) -> None:
        self.served.emit("agent.said", {"session": self.session.id, "text": text, "messageId": message, "done": done})


class Visit:
    """Opens the page, each time as another browser would."""

    def __init__(self, served: Served, browser: Browser) -> None:
        self._served = served
        self._browser = browser
        self._contexts: list[Any] = []
        self.complaints: list[str] = []

    def __enter__(self) -> "Visit":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for context in self._contexts:
            context.close()
        if self.complaints:
            raise AssertionError(f"the browser complained: {self.complaints}")

    def __call__(self, *, query: str = "?renderer=dom", **options: Any) -> Page:
        page = self.open(query=query, **options)
        until(page, "() => window.__fh?.model.rev >= 0 && window.__fh.model.commands.size > 0")
        return page

    def open(self, *, query: str = "?renderer=dom", **options: Any) -> Page:
        """Open the page in a browser of its own, and wait for nothing."""
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(LIMIT_S * 1000)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        code = self._served.running.tokens.browsers.new_code()
        page.goto(f"{self._served.running.address.url}/{query}#code={code}")
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")


def until(page: Page, condition: str, arg: Any = None) -> None:
    """Wait until a function in the page is true; playwright's own way needs eval, which the page's policy forbids."""
    page.evaluate(
        """async ([arg, deadline]) => {
            const condition = CONDITION;
            while (!condition(arg)) {
                if (performance.now() > deadline) throw new Error("not within time: " + condition);
                await new Promise(resolve => setTimeout(resolve, 15));
            }
        }""".replace("CONDITION", condition),
        [arg, page.evaluate("() => performance.now()") + LIMIT_S * 1000],
    )


def save(page: Page) -> None:
    """Save what was typed in the editor, as soon as the page has noticed that there is something to save."""
    expect(page.locator(".tab .dot.unsaved")).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.locator(".tab .dot.unsaved")).to_be_hidden()


def keep_toasts(page: Page) -> None:
    """Let messages stay until somebody has dealt with them, however long that takes."""
    page.evaluate(
        "() => { for (const kind in window.__fh.desk.toasts.life) window.__fh.desk.toasts.life[kind] = 1e9; }"
    )


def screen(page: Page, terminal: str | None = None) -> str:
    """What a terminal shows, read from its buffer."""
    return str(
        page.evaluate(
            """id => {
                const all = window.__fh.terminals;
                const view = id ? all[id] : Object.values(all)[0];
                if (!view) return "";
                const buffer = view.term.buffer.active, lines = [];
                for (let i = 0; i < buffer.length; i++) lines.push(buffer.getLine(i).translateToString(true));
                return lines.join("\\n").trimEnd();
            }""",
            terminal,
        )
    )


def wait_for_screen(page: Page, text: str, terminal: str | None = None) -> None:
    """Wait until a terminal shows a text."""
    until(
        page,
        """([id, text]) => {
            const all = window.__fh.terminals;
            const view = id ? all[id] : Object.values(all)[0];
            if (!view) return false;
            const buffer = view.term.buffer.active;
            for (let i = buffer.length - 1; i >= 0; i--)
                if (buffer.getLine(i).translateToString(true).includes(text)) return true;
            return false;
        }""",
        [terminal, text],
    )
