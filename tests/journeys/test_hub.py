"""What comes from outside, at the page: commands that a program announces, and more agents than the bar can show."""

import concurrent.futures
import urllib.request
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page, expect
from tests.kit.browser import LIMIT_S, Served, Visit, until


def send(served: Served, method: str, path: str, body: object = None) -> Any:
    """Ask the server as a program outside does."""
    request = urllib.request.Request(
        served.running.address.url + path,
        method=method,
        data=None if body is None else msgspec.json.encode(body),
        headers={"authorization": f"Bearer {served.running.tokens.file.read_text()}"},
    )
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        return msgspec.json.decode(answer.read())


def answer_one(served: Served) -> dict[str, Any]:
    """Take the next call of an announced command and answer it, in the source's words."""
    [asked] = send(served, "GET", "/openspace/command-requests?waitSeconds=60")["requests"]
    result = {"success": True, "output": "a deck of three", "executionTime": 5}
    body = {"sessionId": asked["sessionId"], "commandId": asked["commandId"], "result": result, "timestamp": "now"}
    send(served, "POST", "/openspace/command-results", body)
    return dict(asked)


def test_a_manifest_of_the_sources_form_leaves_the_palette_whole_and_adds_to_it(page: Page, served: Served) -> None:
    before = page.evaluate("() => window.__fh.model.commands.size")
    properties = {"path": {"type": "string", "description": "Where the deck goes."}}
    command = {
        "id": "openspace.presentation.create",
        "name": "Create Presentation",
        "description": "Create a presentation.",
        "arguments_schema": {"type": "object", "properties": properties, "required": ["path"]},
    }
    manifest = {"version": "1.0.0", "commands": [command], "lastUpdated": "2026-02-17T10:00:00Z"}
    assert send(served, "POST", "/openspace/manifest", manifest) == {"success": True}
    until(page, "count => window.__fh.model.commands.size === count", before + 1)
    page.keyboard.press("Control+k")
    expect(page.locator(".palette li", has_text="New terminal")).to_be_visible()
    page.keyboard.type("create presentation")
    first = page.locator(".palette li").first
    expect(first).to_contain_text("Create Presentation")
    expect(first).to_contain_text("runs outside")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answering = pool.submit(answer_one, served)
        page.keyboard.press("Enter")
        expect(page.locator(".palette .hint")).to_contain_text("Where the deck goes.")
        page.keyboard.type("talk.deck")
        page.keyboard.press("Enter")
        asked = answering.result(LIMIT_S)
    assert asked["args"] == {"path": "talk.deck"}
    assert asked["sessionId"].startswith("person")
    expect(page.locator("dialog pre.json")).to_contain_text("a deck of three")
    page.keyboard.press("Escape")
    send(served, "DELETE", "/openspace/manifest")
    until(page, "count => window.__fh.model.commands.size === count", before)


@pytest.mark.parametrize("width", [1280, 900, 700])
def test_with_sixteen_agents_the_bar_at_the_top_fits_and_all_are_reached_by_keys(
    visit: Visit, served: Served, width: int
) -> None:
    names = [f"{name} of the long name" for name in "ABCDEFGHIJKLMNOP"]
    agents = [served.agent(name) for name in names]
    others = [] if width > 700 else [visit(), visit()]  # where they are counted, more room is needed
    page = visit(viewport={"width": width, "height": 700})
    until(
        page, "count => window.__fh.model.agents.size === 16 && window.__fh.model.browsers === count", 1 + len(others)
    )
    more = page.locator(".presence .more")
    expect(more).to_be_visible()
    shown = page.locator(".pills > .pill.agent").count()
    expect(more).to_have_text(f"+{16 - shown}" if shown else "16 agents")
    fits = """() => {
        const bar = document.querySelector('header.top');
        const inside = [...bar.children].filter(one => one.offsetParent).every(one => {
            const box = one.getBoundingClientRect();
            return box.left >= 0 && box.right <= innerWidth + 0.5;
        });
        return inside && bar.scrollWidth <= bar.clientWidth && document.documentElement.scrollWidth <= innerWidth;
    }"""
    assert page.evaluate(fits)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    more.focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu", name="Agents")
    expect(menu.get_by_role("menuitemradio")).to_have_count(16)
    expect(menu.get_by_role("menuitemradio").first).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    expect(menu.get_by_role("menuitemradio").nth(14)).to_be_focused()
    box = menu.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.keyboard.press("Enter")
    expect(menu).to_be_hidden()
    expect(more).to_be_focused()
    until(page, "id => window.__fh.desk.agent() === id", agents[14].session.id)
    if width == 1280:
        expect(page.locator(".pills > .pill.agent", has_text=names[14])).to_be_visible()
    assert page.evaluate(fits)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    if width == 1280:
        for agent in agents[3:]:
            served.do(served.app.bench.end_session(agent.session.id))
        until(page, "() => window.__fh.model.agents.size === 3")
        expect(page.locator(".pills > .pill.agent")).to_have_count(3)
        expect(more).to_be_hidden()
