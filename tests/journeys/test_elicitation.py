"""What an agent asks a person to fill in or to open, on the page: by keyboard, dark and light."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.journeys.test_acp import begin
from tests.journeys.test_asking import picture
from tests.journeys.test_whole import serious
from tests.kit.browser import Served, Visit

from fourhands.agents.acp.connector import AcpAgent

MANY = [f"region {n}" for n in range(9)]
SCHEMA = {
    "type": "object",
    "properties": {
        "strategy": {
            "type": "string",
            "title": "Strategy",
            "oneOf": [
                {"const": "careful", "title": "Careful", "description": "Small steps, tests after each."},
                {"const": "fast", "title": "Fast"},
            ],
            "default": "careful",
        },
        "parts": {
            "type": "array",
            "title": "Parts to change",
            "items": {"type": "string", "enum": ["server", "page", "docs"]},
            "minItems": 1,
            "maxItems": 2,
        },
        "region": {"type": "string", "title": "Region", "enum": MANY},
        "mail": {"type": "string", "title": "Write to", "format": "email", "description": "For the report."},
        "times": {"type": "integer", "title": "Tries", "minimum": 1, "maximum": 9, "default": 3},
        "day": {"type": "string", "title": "Not before", "format": "date"},
        "dry": {"type": "boolean", "title": "Only pretend", "default": True},
        "token": {"type": "string", "title": "Access token"},
    },
    "required": ["strategy", "parts", "mail"],
}
MESSAGE = "Before I go on with the refactoring:\nhow shall I do it?"


def ask(served: Served, agent: AcpAgent, **params: object) -> None:
    served.do(agent.prompt(json.dumps([["call", "elicitation/create", {"message": MESSAGE, **params}]])))


def answered(served: Served, agent: AcpAgent) -> object:
    """What the agent got last."""
    served.do(agent.idle())
    lines = [json.loads(line) for line in Path(f"{served.home}/fake.log").read_text().splitlines()]
    return [line["result"] for line in lines if "result" in line][-1]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_form_is_filled_in_by_keyboard_and_a_link_is_opened_by_the_person(
    served: Served, visit: Visit, theme: str
) -> None:
    page = visit(color_scheme=theme, reduced_motion="reduce", viewport={"width": 1280, "height": 1000})
    agent = served.do(begin(served))
    ask(served, agent, mode="form", requestedSchema=SCHEMA)
    card = page.get_by_role("dialog", name="fake asks you")
    expect(card).to_contain_text("how shall I do it?")
    expect(card.get_by_label("Careful")).to_be_focused()
    expect(card).to_contain_text("no safe place")  # for the token
    assert serious(page) == []
    picture(page, f"form-{theme}")
    # What is missing is said where it is missing; the form stays.
    card.get_by_role("button", name="Send").click()
    expect(card.get_by_role("alert").filter(has_text="Write to has to be filled in")).to_be_visible()
    expect(card.get_by_label("Write to")).to_be_focused()
    page.keyboard.type("nobody")
    expect(card.get_by_text("Write to has to be filled in")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(card.get_by_role("alert").filter(has_text="Parts to change needs at least 1 choice")).to_be_visible()
    expect(card.get_by_label("server")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    card.get_by_label("Fast").focus()
    page.keyboard.press("Space")
    card.get_by_role("button", name="Send").click()
    expect(card.get_by_role("alert").filter(has_text="Write to is an address such as")).to_be_visible()
    assert serious(page) == []
    picture(page, f"form-wrong-{theme}")
    expect(card.get_by_label("Write to")).to_be_focused()
    page.keyboard.type("@example.org")
    card.get_by_label("Region").select_option("region 4")
    card.get_by_label("Tries").fill("12")
    page.keyboard.press("Enter")
    expect(card.get_by_role("alert").filter(has_text="Tries is at most 9")).to_be_visible()
    card.get_by_label("Tries").fill("5")
    card.get_by_label("Not before").fill("2026-01-31")
    card.get_by_label("Only pretend").uncheck()
    card.get_by_label("Access token").fill("tr0ub4dor&3")
    page.keyboard.press("Enter")
    expect(card).to_be_hidden()
    assert answered(served, agent) == {
        "action": "accept",
        "content": {
            "strategy": "fast",
            "parts": ["server", "page"],
            "region": "region 4",
            "mail": "nobody@example.org",
            "times": 5,
            "day": "2026-01-31",
            "dry": False,
            "token": "tr0ub4dor&3",
        },
    }
    url = f"{served.running.address.url}/health?from=agent"
    page.evaluate("() => (window.__fh.desk.typedAt = 0)")  # the keyboard is not taken from one who is typing
    ask(served, agent, mode="url", elicitationId="e1", url=url)
    link = page.get_by_role("alertdialog", name="fake asks you to open a page")
    expect(link.get_by_label("Address")).to_have_text(url)
    expect(link).to_contain_text("It leads to a program on your own machine.")
    expect(link.get_by_role("button", name="Decline")).to_be_focused()
    assert serious(page) == []
    picture(page, f"link-{theme}")
    with page.context.expect_page() as opening:
        link.get_by_role("link", name="Open 127.0.0.1").click()
    opened = opening.value
    assert (opened.url, opened.evaluate("() => [window.opener, document.referrer]")) == (url, [None, ""])
    opened.close()
    assert answered(served, agent) == {"action": "accept"}
    for button, action in (("Decline", "decline"), ("Cancel", "cancel")):
        ask(served, agent, mode="form", requestedSchema={})
        card.get_by_role("button", name=button).click()
        expect(card).to_be_hidden()
        assert answered(served, agent) == {"action": action}
    served.do(agent.__aexit__(None, None, None))
