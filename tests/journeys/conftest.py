"""A real workbench behind a real server, and a real browser that looks at it."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from scripts.page import JOURNEYS
from tests.kit.browser import LIMIT_S, Served, Visit

CHROMIUM = next(
    (p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome") if Path(p).exists()), ""
)

expect.set_options(timeout=LIMIT_S * 1000)  # five seconds are too few on a machine that is busy with something else


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(5 * LIMIT_S))
            item.add_marker(pytest.mark.xdist_group("browser"))


def missing() -> str:
    if not CHROMIUM:
        return "chromium is not installed (make tools)"
    if not (JOURNEYS.static / "index.html").is_file():
        return "the page for journeys is not built (make web-journeys)"
    return ""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each file: while it is there, playwright's event loop is in the way of other files' async tests."""
    if reason := missing():
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def served() -> Iterator[Served]:
    """On a workspace with a short name: a prompt with pytest's own directories would break the line that is typed."""
    with (
        tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as directory,
        Served(Path(directory)) as running,
    ):
        yield running


@pytest.fixture
def visit(served: Served, browser: Browser) -> Iterator[Visit]:
    """A way to open the page; what the browser's console complains of fails the test."""
    with Visit(served, browser) as visitor:
        yield visitor


@pytest.fixture
def page(visit: Visit) -> Page:
    """The page, open and connected."""
    return visit()
