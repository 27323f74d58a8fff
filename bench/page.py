"""How long until the page can be used: until a terminal shows its prompt, against a page with nothing but xterm.js.

Both are opened by the same browser in turn, once as a stranger to it (nothing cached, the one-time code to exchange)
and once by a reload. Both are looked at in the same way: from inside, before each frame, from the first one on.
"""

import contextlib
import functools
import http.server
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from tests.journeys.conftest import CHROMIUM, missing
from tests.journeys.served import Served

from bench.rows import Row

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
"""How long a browser is busy with itself after it was given a new window, which each stranger is."""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def bare_page() -> Iterator[str]:
    """The address of a page that has one terminal and nothing else."""
    with tempfile.TemporaryDirectory() as home:
        shutil.copy(XTERM / "lib" / "xterm.js", home)
        shutil.copy(XTERM / "css" / "xterm.css", home)
        Path(home, "index.html").write_text(BARE)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=home))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _opened(page: Page, address: str) -> tuple[float, float]:
    """Milliseconds to a usable page: the first time, and by a reload."""
    page.goto(address, wait_until="commit")
    first = float(page.evaluate(USABLE))
    page.reload(wait_until="commit")
    return first, float(page.evaluate(USABLE))


def _measure(browser: Browser, served: Served, bare: str, rounds: int) -> list[Row]:
    served.call("openspace.terminal.create", {"title": "bench"})
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        for times, address in ((ours, served.running.link()), (theirs, bare)):
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_init_script(LOOK)
            page = context.new_page()
            page.wait_for_timeout(CALM_MS)
            times.append(_opened(page, address))
            context.close()
        if number == 0:  # the browser itself was cold
            ours.clear()
            theirs.clear()
    rows = []
    for which, what in enumerate(("opened for the first time", "reloaded")):
        mine, peer = (statistics.median(pair[which] for pair in times) for times in (ours, theirs))
        name = f"page {what}, until usable, × a bare xterm page"
        rows.append(Row(name, mine / peer, "≤ 1.5", f"{mine:.0f} against {peer:.0f} ms"))
    return rows


def page_rows(rounds: int) -> list[Row]:
    """The page's rows; none where there is no browser or the page is not built."""
    if reason := missing():
        print(f"The page is not measured: {reason}.")
        return []
    with (
        tempfile.TemporaryDirectory(prefix="fh-") as home,
        Served(Path(home)) as served,
        bare_page() as bare,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            return _measure(browser, served, bare, rounds)
        finally:
            browser.close()
