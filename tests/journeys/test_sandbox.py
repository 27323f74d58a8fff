"""The sandbox on the page: the line in the status bar, why it is no stronger one, and the shield on each terminal."""

import os

import pytest
from playwright.sync_api import Page, expect
from tests.kit.browser import Served, Visit, wait_for_screen
from tests.kit.isolation import refuse

WEAKER = {
    "provider": "auto",
    "rung": "landlock",
    "isolation": "sandbox",
    "line": "Agents run in a weaker sandbox: files that run by themselves later are not protected",
    "reason": "bubblewrap is not installed",
    "remedy": "sudo apt install bubblewrap",
    "rungs": [
        {"name": "bubblewrap", "works": False, "detail": "", "reason": "bubblewrap is not installed",
         "remedy": "sudo apt install bubblewrap"},
        {"name": "landlock", "works": True, "detail": "Landlock 7", "reason": "", "remedy": ""},
    ],
}  # fmt: skip


def picture(page: Page, name: str) -> None:
    """Keep a picture where somebody asked for them."""
    if folder := os.environ.get("FOURHANDS_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_page_says_which_sandbox_agents_run_in(served: Served, visit: Visit, theme: str) -> None:
    page = visit(color_scheme=theme, reduced_motion="reduce")
    bar = page.locator(".status .sandbox")
    ada = served.agent()
    own = str(served.call("openspace.terminal.create", {"title": "mine"}).data["terminalId"])
    wait_for_screen(page, "demo", own)
    expect(page.locator(".shield")).to_have_count(0)  # a person's own shell shows nothing
    words = []
    for provider in ("bubblewrap", "landlock", "local"):
        served.call("openspace.agent.configure", {"sessionId": ada.session.id, "provider": provider})
        made = ada.call("openspace.terminal.create", {"title": provider, "shellPath": "/bin/bash"})
        if not made.success:
            refuse(f"{provider}: {made.error}")
        served.call("openspace.pane.focus", {"paneId": made.data["paneId"]})
        shield = page.locator(".shield:visible")
        expect(shield).to_have_count(1)
        words.append(shield.inner_text().strip())
        picture(page, f"shield-{provider}-{theme}")
    assert words == ["sandbox", "sandbox (weaker)", "not isolated"]
    served.emit("sandbox.changed", {"sandbox": WEAKER})
    expect(bar).to_have_text("Agents run in a weaker sandbox")
    bar.click()
    dialog = page.get_by_role("dialog", name="Sandbox")
    expect(dialog).to_contain_text("No bubblewrap: bubblewrap is not installed")
    expect(dialog.locator("pre")).to_have_text("sudo apt install bubblewrap")
    picture(page, f"sandbox-{theme}")
    dialog.get_by_role("button", name="Close").click()
    bare = {**WEAKER, "rung": "none", "isolation": "none", "line": "No sandbox here: agents' programs run as you."}
    served.emit("sandbox.changed", {"sandbox": bare})
    expect(bar).to_have_text("No sandbox here")
    expect(bar).to_have_class("sandbox warn")
    picture(page, f"none-{theme}")
