"""How long until the page can be used: until a terminal shows its prompt, against a page with nothing but xterm.js.

Both are opened by the same browser in turn, once as a stranger to it (nothing cached, the one-time code to exchange)
and once by a reload of the page at rest. Both are looked at in the same way: from inside, before each frame, from the
first one on. Both servers are processes of their own: in this one, they would wait for what drives the browser.

The bare page is the strictest there is: the same xterm.js, but no addons, no shell and no socket to wait for.
"""

import contextlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from tests.journeys.conftest import CHROMIUM, missing

from bench.rows import Row
from bench.targets import ours

XTERM = Path(__file__).parent.parent / "web" / "node_modules" / "@xterm" / "xterm"
BARE = """<!doctype html><link rel="icon" href="data:,"><link rel="stylesheet" href="xterm.css"><div id="t"></div>
<script src="xterm.js"></script><script>
const term = new Terminal(); term.open(document.getElementById("t"));
window.__fh = { terminals: { bare: { term } } };
term.write("demo $ ");
</script>"""
LOOK = """(() => {
    const look = () => {
        const view = Object.values(window.__fh?.terminals ?? {})[0];
        const line = view?.term.buffer.active.getLine(0)?.translateToString(true) ?? "";
        if (/\\S/.test(line)) window.__usable = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})()"""
USABLE = """async () => {
    while (!window.__usable) {
        if (performance.now() > 30_000) throw new Error("no terminal with a prompt within 30 s");
        await new Promise(resolve => setTimeout(resolve, 5));
    }
    return window.__usable;
}"""
CALM_MS = 1000
"""How long a browser is busy with itself after it was given a new window, which each stranger is, or a new page."""

TURNS = 3
"""Visits to each page for one round of the other rows: single ones differ by more than the pages do."""


@contextlib.contextmanager
def bare_page() -> Iterator[str]:
    """The address of a page that has one terminal and nothing else."""
    with tempfile.TemporaryDirectory() as home:
        shutil.copy(XTERM / "lib" / "xterm.js", home)
        shutil.copy(XTERM / "css" / "xterm.css", home)
        Path(home, "index.html").write_text(BARE)
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", home, "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        try:
            told = re.search(r"http://[^)]+", process.stdout.readline())
            assert told is not None
            yield told[0]
        finally:
            process.terminate()
            process.wait(10)


def _opened(page: Page, address: str) -> tuple[float, float]:
    """Milliseconds to a usable page: the first time, and by a reload."""
    page.goto(address, wait_until="commit")
    first = float(page.evaluate(USABLE))
    page.wait_for_timeout(CALM_MS)
    page.reload(wait_until="commit")
    return first, float(page.evaluate(USABLE))


def _measure(browser: Browser, link: Callable[[], str], bare: str, rounds: int) -> list[Row]:
    mine: list[tuple[float, float]] = []
    peer: list[tuple[float, float]] = []
    turns = [(mine, link), (peer, lambda: bare)]
    for number in range(rounds + 1):
        for times, address in turns if number % 2 else reversed(turns):
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_init_script(LOOK)
            page = context.new_page()
            page.wait_for_timeout(CALM_MS)
            times.append(_opened(page, address()))
            context.close()
        if number == 0:  # the browser itself was cold
            mine.clear()
            peer.clear()
    rows = []
    for which, what in enumerate(("opened for the first time", "reloaded")):
        took, theirs = (statistics.median(pair[which] for pair in times) for times in (mine, peer))
        name = f"page {what}, until usable, × a bare xterm page"
        rows.append(Row(name, took / theirs, "≤ 1.5", f"{took:.0f} against {theirs:.0f} ms"))
    return rows


def page_rows(rounds: int) -> list[Row]:
    """The page's rows; none where there is no browser or the page is not built."""
    if reason := missing():
        print(f"The page is not measured: {reason}.")
        return []
    with ours() as served, bare_page() as bare, sync_playwright() as playwright:
        served.new_terminal()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            return _measure(browser, served.link, bare, TURNS * rounds)
        finally:
            browser.close()
