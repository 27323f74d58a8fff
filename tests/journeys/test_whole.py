"""The whole of it: the tour, what agents changed, a server that is killed, no mouse, and rules of accessibility."""

import contextlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.journeys.test_terminals import new_terminal
from tests.kit.browser import LIMIT_S, Served, Visit, keep_toasts, save, until, wait_for_screen
from tests.kit.npm_agents import missing
from tests.kit.workbench import MINIMAL

WEB = Path(__file__).parents[2] / "web"


def test_the_tour_opens_a_file_highlights_it_runs_a_command_and_fails_once(page: Page) -> None:
    page.get_by_role("button", name="Take the tour").click()
    page.get_by_role("button", name="Allow for this session").click()
    until(page, "() => window.__fh.editors['README.md']?.code?.marks().length === 1")
    wait_for_screen(page, "Two of us")
    expect(page.locator(".step.failed")).to_be_visible()
    assert "%%OS" not in page.locator(".chat").inner_text()


def test_what_an_agent_wrote_is_shown_and_reverted(page: Page, served: Served) -> None:
    agent = served.agent()
    before = (served.workspace / "src/store.py").read_text()
    assert agent.call("openspace.file.write", {"path": "src/store.py", "content": "class Shop:\n    pass\n"}).success
    assert agent.call("openspace.file.write", {"path": "new.txt", "content": "hello\n"}).success
    page.get_by_role("tab", name="Changes (2)").click()
    card = page.get_by_role("article", name="src/store.py")
    expect(card.locator(".diff .add")).to_have_text("+ class Shop:")
    expect(card.locator(".diff .del")).to_have_text("− class Store:")
    card.get_by_role("button", name="Take back").click()
    expect(card).to_be_hidden()
    assert (served.workspace / "src/store.py").read_text() == before
    page.get_by_role("article", name="new.txt").get_by_role("button", name="Keep").click()
    expect(page.locator(".changes .empty")).to_be_visible()
    assert (served.workspace / "new.txt").exists()


def test_hunks_are_kept_and_reverted_one_by_one(page: Page, served: Served) -> None:
    agent = served.agent()
    file = served.workspace / "src/app.py"
    before = file.read_text()
    changed = before.replace("return 3\n", "return 33\n").replace("return 30\n", "return 300\n")
    assert agent.call("openspace.file.write", {"path": "src/app.py", "content": changed}).success
    page.get_by_role("tab", name="Changes (1)").click()
    card = page.get_by_role("article", name="src/app.py")
    expect(card.locator(".hunk")).to_have_count(2)
    card.get_by_role("button", name="Open").click()
    expect(page.locator("dialog .monaco-diff-editor .line-insert").first).to_be_visible()
    page.keyboard.press("Escape")
    card.get_by_role("button", name="Take back the change at line 118").click()
    expect(card.locator(".hunk")).to_have_count(0)  # the one that is left is the file's
    assert file.read_text() == before.replace("return 3\n", "return 33\n")
    assert agent.call("openspace.file.read", {"path": "src/app.py"}).success
    edits = [{"old": "return 30\n", "new": "return 300\n"}]
    assert agent.call("openspace.file.edit", {"path": "src/app.py", "edits": edits}).success
    card.get_by_role("button", name="Keep the change at line 10").click()
    expect(card.locator(".hunk")).to_have_count(0)
    expect(card.locator(".diff .add")).to_have_text("+     return 300")
    assert file.read_text() == changed


def test_an_undo_that_would_lose_what_a_person_wrote_is_refused_with_the_difference(page: Page, served: Served) -> None:
    file = served.workspace / "src/store.py"
    assert served.agent().call("openspace.file.write", {"path": "src/store.py", "content": "class Shop:\n"}).success
    page.get_by_role("treeitem", name="src").click()
    page.get_by_role("treeitem", name="store.py").click()
    until(page, "() => window.__fh.editors['src/store.py']?.code?.hasFocus()")
    page.keyboard.press("Control+End")
    page.keyboard.type("    mine = 1")
    save(page)
    keep_toasts(page)
    assert file.read_text() == "class Shop:\n    mine = 1"
    page.get_by_role("button", name="Undo last agent action").click()
    page.get_by_role("button", name="Show the difference").click()
    expect(page.locator("dialog .diff .add")).to_contain_text("mine = 1")
    assert file.read_text() == "class Shop:\n    mine = 1"


@contextlib.contextmanager
def unwritable(journal: Path) -> Iterator[None]:
    """A journal that another program has damaged, for the length of the block."""
    with contextlib.closing(sqlite3.connect(journal)) as other:
        other.execute("ALTER TABLE call RENAME TO away")
        try:
            yield
        finally:
            other.execute("ALTER TABLE away RENAME TO call")


def test_what_the_journal_could_not_keep_is_marked_until_it_can_again(page: Page, served: Served) -> None:
    bar = page.get_by_text("Not recorded: the journal cannot be written")
    with unwritable(served.app.journal.path):
        assert served.call("openspace.editor.open", {"path": "README.md"}).success
        expect(page.locator(".activity .deed", has_text="README.md").locator(".unrecorded")).to_be_visible()
        expect(bar).to_be_visible()
    served.call("openspace.editor.open", {"path": "src/app.py"})
    expect(bar).to_be_hidden()
    expect(page.locator(".activity .unrecorded")).to_have_count(1)


def test_a_deed_gets_a_key_of_its_own(page: Page, served: Served) -> None:
    keep_toasts(page)
    page.get_by_role("treeitem", name="README.md").click()
    until(page, "() => window.__fh.editors['README.md']?.code?.hasFocus()")
    page.keyboard.press("F1")
    page.keyboard.type("my last action")
    expect(page.locator(".palette li").first).to_contain_text("Show my last action")
    page.keyboard.press("Enter")
    expect(page.locator(".activity .more pre")).to_contain_text('"openspace.editor.open"')
    page.get_by_role("button", name="Bind to a key").click()
    page.keyboard.press("Control+Alt+KeyY")
    expect(page.locator(".toast")).to_contain_text("Ctrl Alt Y does this from now on")
    served.call("openspace.editor.close", {"path": "README.md"})
    until(page, "() => window.__fh.model.editors.size === 0")
    page.reload()
    until(page, "() => window.__fh?.model.commands.size > 0")
    page.keyboard.press("Control+Alt+KeyY")
    until(page, "() => window.__fh.model.editors.has('README.md')")


def test_screen_readers_and_high_contrast_are_served(visit: Visit, served: Served) -> None:
    page = visit(forced_colors="active", reduced_motion="reduce")
    terminal = new_terminal(page)
    page.keyboard.press("F1")
    page.keyboard.type("screen reader mode")
    expect(page.locator(".palette li").first).to_contain_text("Screen reader mode")
    page.keyboard.press("Enter")
    expect(page.locator(".xterm-accessibility")).to_have_count(1)
    page.evaluate("() => window.__fh.desk.theme.set('contrast')")
    served.call("openspace.editor.open", {"path": "README.md"})
    expect(page.locator(".monaco-editor.hc-black").first).to_be_visible()
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type("echo heard\n")
    wait_for_screen(page, "heard", terminal)
    expect(page.locator(".gutter i.person").first).to_have_css("background-color", "rgb(111, 195, 255)")
    assert page.evaluate("id => window.__fh.terminals[id].term.options.cursorBlink", terminal) is False


def test_everything_is_reached_without_a_mouse(page: Page, served: Served) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("new terminal")
    expect(page.locator(".palette li").first).to_contain_text("New terminal")
    page.keyboard.press("Enter")
    wait_for_screen(page, "demo")
    expect(page.locator(".xterm-helper-textarea")).to_be_focused()
    page.keyboard.type("echo by-keys-$((1+2))\n")
    wait_for_screen(page, "by-keys-3")
    page.keyboard.press("F1")
    page.keyboard.type("README")
    expect(page.locator(".palette li").first).to_contain_text("README.md")
    page.keyboard.press("Enter")
    until(page, "() => window.__fh.editors['README.md']?.code?.hasFocus()")
    page.keyboard.press("Control+Shift+Backquote")
    until(page, "() => Object.keys(window.__fh.terminals).length === 2")


def go(page: Page, place: str) -> None:
    """Go round the page's regions until the keyboard is in this one."""
    for _ in range(12):
        page.keyboard.press("Control+F6")
        if page.evaluate("place => document.activeElement?.closest(place) !== null", place):
            return
    raise AssertionError(f"the keyboard does not come to {place}")


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has the keyboard is called so, and can be seen to have it."""
    for _ in range(25):
        page.keyboard.press("Tab")
        label, outline = page.evaluate(
            """() => { const it = document.activeElement;
                const label = it.getAttribute('aria-label') || it.closest('label')?.textContent || it.textContent;
                return [label, getComputedStyle(it).outline]; }"""
        )
        if name in label:
            assert "2px" in outline, f"{name} has the keyboard and does not show it: {outline}"
            return
    raise AssertionError(f"Tab does not come to {name}")


def test_the_days_work_is_done_by_keyboard_alone(page: Page, served: Served) -> None:
    agent = served.agent(consent=False)
    expect(page.get_by_role("treeitem", name="README.md")).to_be_visible()
    go(page, ".side")
    for _ in range(2):  # two directories come first
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "() => window.__fh.editors['README.md']?.code?.hasFocus()")
    page.keyboard.type("By hand. ")
    save(page)
    assert (served.workspace / "README.md").read_text().startswith("By hand. #")

    waiting = agent.start("openspace.file.write", {"path": "new.txt", "content": "hello\n"})
    expect(page.get_by_role("alertdialog")).to_be_visible()
    go(page, ".ask")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("checkbox", name="type in terminals")).to_be_focused()
    page.keyboard.press("Space")
    tab_to(page, "Allow for this session")
    born = page.evaluate("() => performance.now()")
    until(page, "born => performance.now() > born + 400", born)  # the first moment approves nothing
    page.keyboard.press("Enter")
    assert waiting.result(LIMIT_S).success
    assert agent.call("openspace.terminal.create").code == "denied"

    page.keyboard.press("F1")
    page.keyboard.type("show the changes")
    expect(page.locator(".palette li").first).to_contain_text("Show the changes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article", name="new.txt")).to_be_visible()
    tab_to(page, "Keep")
    page.keyboard.press("Enter")
    expect(page.locator(".changes .empty")).to_be_visible()
    keep_toasts(page)
    page.keyboard.press("Control+Alt+z")
    expect(page.locator(".toast")).to_contain_text("Undone")
    go(page, ".toasts")
    expect(page.get_by_role("button", name="Redo")).to_be_focused()
    page.keyboard.press("Enter")
    until(page, "() => window.__fh.model.actions[0]?.status === 'done'")

    page.keyboard.press("Control+Shift+Backquote")
    wait_for_screen(page, "demo")
    expect(page.locator(".xterm-helper-textarea")).to_be_focused()
    go(page, ".side")
    tab_to(page, "Resize panes")
    before = page.evaluate("() => window.__fh.model.layout.root.sizes[0]")
    page.keyboard.press("ArrowUp")
    until(page, "before => window.__fh.model.layout.root.sizes[0] < before", before)
    page.keyboard.press("Control+Shift+.")
    expect(page.locator(".toast", has_text="Stopped.")).to_be_visible()


AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"


def serious(page: Page) -> list[str]:
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    return list(
        page.evaluate(
            """async () => (await axe.run({resultTypes: ['violations']})).violations
                .filter(v => ['serious', 'critical'].includes(v.impact))
                .flatMap(v => v.nodes.map(n => `${v.id}: ${n.target.join(' ')} ${n.any[0]?.message ?? ''}`))"""
        )
    )


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_no_screen_has_a_serious_fault_of_accessibility(visit: Visit, served: Served, theme: str) -> None:
    if not AXE.exists():
        missing("axe-core is not installed (npm ci in web/)")
    page = visit(color_scheme=theme, reduced_motion="reduce")  # half faded in, nothing has its contrast
    assert serious(page) == []
    terminal = new_terminal(page)
    agent = served.agent()
    agent.say("Some **words** and `code`", done=True)
    agent.call("openspace.editor.open", {"path": "src/app.py", "line": 18})
    ranges = [{"startLine": 18, "endLine": 21}]
    agent.call("openspace.editor.highlight", {"path": "src/app.py", "ranges": ranges, "label": "here"})
    agent.call("openspace.file.write", {"path": "src/store.py", "content": "class Shop: ...\n"})
    agent.start("openspace.terminal.send", {"terminalId": terminal, "text": "rm -rf src\n"})
    expect(page.get_by_role("alertdialog")).to_be_visible()
    until(page, "() => window.__fh.editors['src/app.py']?.code?.marks().length === 1")
    assert serious(page) == []
    page.get_by_role("button", name="Deny").click()
    page.get_by_role("tab", name="Changes").click()
    expect(page.locator(".diff").first).to_be_visible()
    assert serious(page) == []
    page.get_by_role("button", name="Search commands").click()
    expect(page.locator(".palette li").first).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Help").click()
    assert serious(page) == []


class Program:
    """`fourhands` as people start it, on one port, killed and started again at will."""

    def __init__(self, workspace: Path, places: Path) -> None:
        self.env = {
            **MINIMAL,
            "HOME": str(places),
            "XDG_RUNTIME_DIR": str(places / "r"),
            "XDG_STATE_HOME": str(places / "s"),
        }
        self.workspace = workspace
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[str]

    def start(self) -> str:
        command = [sys.executable, "-m", "fourhands", str(self.workspace), "--no-open", "--port", str(self.port)]
        if shutil.which("fourhands", path=str(Path(sys.executable).parent)):
            command[:3] = [str(Path(sys.executable).parent / "fourhands")]
        self.process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"http://\S+#code=\S+", line):
                return found[0]
        raise AssertionError("the program gave no link")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(LIMIT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> None:
        program = str(Path(sys.executable).parent / "fourhands")
        subprocess.run(
            [program, "stop", "--workspace", str(self.workspace)], env=self.env, capture_output=True, check=False
        )
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(LIMIT_S)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    places = Path(tempfile.mkdtemp(prefix="fh-"))
    for name in ("r", "s"):
        (places / name).mkdir(mode=0o700)
    workspace = tmp_path / "demo"
    workspace.mkdir()
    running = Program(workspace, places)
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(places, ignore_errors=True)


def test_a_killed_server_comes_back_with_the_terminal_intact(program: Program, browser: Browser) -> None:
    """With the page that people get, which lets nobody look inside."""
    link = program.start()
    page = browser.new_context(viewport={"width": 1280, "height": 1600}).new_page()
    page.set_default_timeout(LIMIT_S * 1000)
    expect.set_options(timeout=LIMIT_S * 1000)
    page.goto(link.replace("/#", "/?renderer=dom#"))
    page.get_by_role("button", name="Search commands").click()
    page.keyboard.type("new terminal")
    expect(page.locator(".palette li").first).to_contain_text("New terminal")  # it is there when the commands are
    page.keyboard.press("Enter")
    expect(page.locator(".xterm-helper-textarea")).to_be_focused()
    rows = page.locator(".xterm-rows")
    expect(rows).to_contain_text("demo")
    page.keyboard.type("for i in $(seq 1 60); do echo line-$i; sleep 0.05; done\n")
    expect(rows).to_contain_text("line-10")
    program.kill()
    expect(page.locator(".lostbar")).to_contain_text("Connection lost")
    expect(rows).to_contain_text("line-10")
    program.start()
    expect(page.locator(".lostbar")).to_be_hidden()
    expect(rows).to_contain_text("line-60")
    shown = [line.strip() for line in rows.locator("> div").all_inner_texts() if line.startswith("line-")]
    assert shown == [f"line-{n}" for n in range(1, 61)]
    assert page.evaluate("() => window.__fh === undefined")
    page.context.close()
