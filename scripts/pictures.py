"""Makes the manual's pictures of the page: `make pictures` writes docs/pictures, each screen in dark and in light.

Each picture is a scene: a workbench of its own on a small project, a browser that shows it, and a script that plays
the agent by calling what an agent calls. Nothing is painted: what is seen is the page.
"""

import argparse
import base64
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.journeys.conftest import CHROMIUM, missing
from tests.kit.browser import Agent, Served, Visit, until, wait_for_screen

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
QUALITY = 80  # of WebP: letters stay sharp, all of it together stays below 3 MB
THEMES = ("dark", "light")
WIDE = (1280, 800)

LIMITS = '''\
"""How often a caller may call."""

import time
from collections import deque


class Limiter:
    """Lets through so many calls in so many seconds."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.seconds = calls, seconds
        self.seen: deque[float] = deque()

    def allow(self) -> bool:
        """Say whether one more call may pass now."""
        now = time.monotonic()
        while self.seen and now - self.seen[0] > self.seconds:
            self.seen.popleft()
        if len(self.seen) > self.calls:
            return False
        self.seen.append(now)
        return True
'''

SAMPLE = {
    "README.md": "# Parcel\n\nA small service that counts parcels.\n\n    make test\n",
    "Makefile": "test:\n\t@python3 -m unittest\n",
    "parcel/__init__.py": "",
    "parcel/limits.py": LIMITS,
    "parcel/store.py": 'class Store:\n    """Keeps parcels."""\n\n    rows: dict[str, int] = {}\n',
    "tests/__init__.py": "",
    "tests/test_limits.py": (
        "import unittest\n\nfrom parcel.limits import Limiter\n\n\nclass LimiterTest(unittest.TestCase):\n"
        "    def test_one_too_many(self):\n        limiter = Limiter(calls=3, seconds=60)\n"
        "        self.assertEqual([limiter.allow() for _ in range(4)], [True, True, True, False])\n"
    ),
    "build/parcel.tar": "x" * 48_000,
    "build/notes/old.txt": "old\n",
    ".gitignore": "build/\n",
}
PROMPT = "PS1='\\[\\e[1;34m\\]\\W\\[\\e[0m\\] $ '\n"
FIX = LIMITS.replace("if len(self.seen) > self.calls", "if len(self.seen) >= self.calls")


@dataclass
class Scene:
    """The parts that a scene works with."""

    served: Served
    visit: Visit
    theme: str

    def page(self, width: int = WIDE[0], height: int = WIDE[1]) -> Page:
        """Open the page in a browser, without motion, so that no picture shows a transition."""
        return self.visit(viewport={"width": width, "height": height}, color_scheme=self.theme, reduced_motion="reduce")

    def terminal(self, page: Page, title: str, agent: Agent | None = None) -> str:
        """Start a terminal of the person or of an agent, and wait for its prompt."""
        call = agent.call if agent else self.served.call
        terminal = str(call("openspace.terminal.create", {"title": title}).data["terminalId"])
        wait_for_screen(page, "demo $", terminal)
        return terminal

    def work(self, agent: Agent, terminal: str) -> None:
        """Let the agent open a file, mark what is wrong, and run the tests."""
        ask(agent, "The fourth call should be refused. Why does it pass?")
        agent.call("openspace.editor.open", {"path": "parcel/limits.py", "line": 18})
        marks = [{"startLine": 19, "endLine": 20}]
        agent.call(
            "openspace.editor.highlight",
            {"path": "parcel/limits.py", "ranges": marks, "label": "one too many", "highlightId": "found"},
        )
        agent.call("openspace.terminal.send", {"terminalId": terminal, "text": "make test 2>&1 | tail -7\n"})
        agent.say(
            "Found it: `allow` compares with `>`, so one call **more** than the limit passes.\n\n"
            "The test says the same. I would change one line:\n\n"
            "```python\nif len(self.seen) >= self.calls:\n    return False\n```\n",
            done=True,
        )


def ask(agent: Agent, text: str) -> None:
    """Something that the person said to the agent."""
    agent.served.emit("agent.asked", {"session": agent.session.id, "text": text, "messageId": f"p{len(text)}"})


def shown(page: Page, path: str, marks: int = 0) -> None:
    """Wait for an editor with its colours and highlights."""
    until(page, "([path, n]) => window.__fh.editors[path]?.code?.marks().length === n", [path, marks])
    expect(page.locator(".view-line").first).to_be_visible()


def start(scene: Scene) -> Page:
    """Show a workspace in which nothing is open."""
    page = scene.page()
    expect(page.get_by_role("treeitem", name="README.md")).to_be_visible()
    return page


def consent(scene: Scene) -> Page:
    """Show the question before an agent's first command."""
    page = scene.page()
    scene.served.agent(consent=False).start("openspace.editor.open", {"path": "README.md"})
    expect(page.get_by_role("alertdialog")).to_be_visible()
    return page


def workbench(scene: Scene) -> Page:
    """Show a file, a terminal and a chat."""
    page = scene.page()
    terminal = scene.terminal(page, "tests")
    scene.work(scene.served.agent(), terminal)
    wait_for_screen(page, "FAILED", terminal)
    shown(page, "parcel/limits.py", 1)
    expect(page.locator(".bubble.said code").first).to_be_visible()
    return page


def danger(scene: Scene) -> Page:
    """Show a dangerous command and what it would affect."""
    page = scene.page()
    terminal = scene.terminal(page, "tests")
    scene.served.agent().start("openspace.terminal.send", {"terminalId": terminal, "text": "rm -rf build/\n"})
    expect(page.locator(".glance")).to_contain_text("files")
    return page


def edit(scene: Scene) -> Page:
    """Show the same question, answered with a better command."""
    page = danger(scene)
    card = page.get_by_role("alertdialog")
    card.get_by_role("button", name="Edit").click()
    card.get_by_role("textbox", name="Changed command").fill("rm -rf build/notes")
    return page


def palette(scene: Scene) -> Page:
    """Files and every command in one list."""
    page = start(scene)
    page.keyboard.press("Control+k")
    page.keyboard.type("term")
    expect(page.locator(".palette li").first).to_contain_text("terminal")
    return page


def argument(scene: Scene) -> Page:
    """Show the palette asking for a command's arguments, one by one."""
    page = scene.page()
    scene.served.call("openspace.editor.open", {"path": "parcel/limits.py"})
    shown(page, "parcel/limits.py")
    page.keyboard.press("F1")
    page.keyboard.type("scroll to line")
    expect(page.locator(".palette li").first).to_contain_text("Scroll to line")
    page.keyboard.press("Enter")
    expect(page.locator(".palette li").first).to_contain_text("limits.py")
    return page


def changes(scene: Scene) -> Page:
    """Show the agent's changes, to keep or to revert."""
    page = scene.page()
    agent = scene.served.agent()
    agent.call("openspace.file.write", {"path": "parcel/limits.py", "content": FIX})
    agent.call("openspace.file.write", {"path": "NOTES.md", "content": "The limit was off by one.\n"})
    agent.call("openspace.editor.open", {"path": "parcel/limits.py", "line": 18})
    shown(page, "parcel/limits.py")
    page.get_by_role("tab", name="Changes (2)").click()
    expect(page.locator(".diff").first).to_be_visible()
    return page


def activity(scene: Scene) -> Page:
    """Show the activity log, with one entry open."""
    page = workbench(scene)
    page.locator(".deed.agent").first.click()
    expect(page.locator(".activity .more").first).to_be_visible()
    return page


def keyboard(scene: Scene) -> Page:
    """Two terminals; the strip says who has the keyboard."""
    page = scene.page()
    agent = scene.served.agent()
    first = scene.terminal(page, "mine")
    scene.served.call("openspace.terminal.send", {"terminalId": first, "text": "ls; cat README.md\n"})
    wait_for_screen(page, "make test", first)
    second = scene.terminal(page, "tests", agent)
    scene.served.call("openspace.pane.move", {"paneId": "tests", "target": "mine", "side": "right"})
    agent.call("openspace.terminal.send", {"terminalId": second, "text": "make test 2>&1 | tail -5\n"})
    wait_for_screen(page, "FAILED", second)
    expect(page.locator(".lease.agent")).to_be_visible()
    return page


def secret(scene: Scene) -> Page:
    """Show a password prompt: the keyboard is the person's, and the terminal is hidden from the agent."""
    page = scene.page()
    terminal = scene.terminal(page, "deploy")
    agent = scene.served.agent()
    agent.call("openspace.editor.open", {"path": "README.md"})
    shown(page, "README.md")
    text = "read -rsp 'Password for parcel: ' x\n"
    scene.served.call("openspace.terminal.send", {"terminalId": terminal, "text": text})
    expect(page.locator(".lease.secret")).to_be_visible()
    return page


def conflict(scene: Scene) -> Page:
    """Show both texts of a file that changed on disk meanwhile."""
    page = scene.page()
    scene.served.call("openspace.editor.open", {"path": "parcel/store.py"})
    shown(page, "parcel/store.py")
    page.locator(".monaco-editor").first.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# mine\n")
    until(page, "() => window.__fh.model.editors.get('parcel/store.py').dirty")
    (scene.served.workspace / "parcel/store.py").write_text("# theirs\n" + SAMPLE["parcel/store.py"])
    page.keyboard.press("Control+s")
    page.locator(".editornote").get_by_role("button", name="Compare").click()
    expect(page.locator(".monaco-diff-editor .view-line").first).to_be_visible()
    return page


def toast(scene: Scene) -> Page:
    """Show a failed action of an agent, with what may be done about it."""
    page = workbench(scene)
    scene.served.agent("Bob").call("openspace.editor.open", {"path": "docs/limits.md"})
    expect(page.locator(".toast").first).to_be_visible()
    return page


def help(scene: Scene) -> Page:  # the picture is called so
    """Keys, and what the agent may do."""
    page = start(scene)
    page.get_by_role("button", name="Help").click()
    expect(page.get_by_role("heading", name="Help")).to_be_visible()
    return page


def lost(scene: Scene) -> Page:
    """Show the page while the server is lost: it keeps its contents and waits."""
    page = workbench(scene)
    scene.visit.complaints = Deaf()
    scene.served.end()
    expect(page.locator(".lostbar")).to_be_visible()
    return page


def narrow(scene: Scene) -> Page:
    """Half a screen."""
    page = scene.page(700, 800)
    terminal = scene.terminal(page, "tests")
    scene.work(scene.served.agent(), terminal)
    wait_for_screen(page, "FAILED", terminal)
    shown(page, "parcel/limits.py", 1)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    return page


def phone(scene: Scene) -> Page:
    """Show the page on a phone: one region at a time, with Stop always visible."""
    page = scene.page(390, 780)
    scene.work(scene.served.agent(), scene.terminal(page, "tests"))
    page.get_by_role("tab", name="Agent", exact=True).last.click()
    expect(page.get_by_label("Message the agent")).to_be_visible()
    return page


class Deaf(list[str]):
    """Takes no complaints: a browser that cannot reach its server has every reason."""

    def append(self, _complaint: str) -> None:
        """Forget it."""


SCENES: tuple[Callable[[Scene], Page], ...] = (
    workbench,
    start,
    consent,
    danger,
    edit,
    keyboard,
    secret,
    changes,
    activity,
    palette,
    argument,
    conflict,
    toast,
    help,
    lost,
    narrow,
    phone,
)


@contextlib.contextmanager
def stage(browser: Browser, theme: str) -> Iterator[Scene]:
    """Serve a workbench on the sample project."""
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as root, Served(Path(root)) as served:
        for old in ("src/app.py", "src/store.py", "tests/test_app.py"):
            (served.workspace / old).unlink()
        (served.workspace / "src").rmdir()
        for name, text in SAMPLE.items():
            path = served.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (served.home / ".bash_profile").write_text(PROMPT)
        with Visit(served, browser) as visit:
            yield Scene(served, visit, theme)
            for question in served.app.questions.open():  # each caller waits for an answer
                served.call("openspace.workbench.answer", {"questionId": question.id, "choice": "deny"})


def shoot(page: Page, path: Path) -> None:
    """Write what a page shows; the kind of picture is that of the name."""
    page.evaluate("() => document.fonts.ready")
    page.mouse.move(0, 0)
    if path.suffix != ".webp":
        page.screenshot(path=path)
        return
    # Playwright writes PNG and JPEG only; the browser itself can do better.
    taken = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    path.write_bytes(base64.b64decode(taken["data"]))


def main() -> None:
    """Make all pictures, or those that are named."""
    known = {scene.__name__: scene for scene in SCENES}
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; none: all")
    parser.add_argument("--out", type=Path, default=PICTURES)
    parser.add_argument("--kind", choices=("webp", "png"), default="webp")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(known):
        parser.error(f"no scene {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if reason := missing():
        parser.error(reason)
    # The page says how its program is typed: in a picture by its name, not by where it lies on this machine.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    chosen.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for name in chosen.names or known:
            for theme in THEMES:
                with stage(browser, theme) as scene:
                    path = chosen.out / f"{name}-{theme}.{chosen.kind}"
                    shoot(known[name](scene), path)
                    print(f"{path.name:<24} {path.stat().st_size // 1000:>5} kB", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
