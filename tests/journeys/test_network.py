"""A host that an agent's program wants, and the port of one, in a real browser."""

import pytest
from playwright.sync_api import Page, expect
from tests.kit.browser import Served

from fourhands.core.errors import Denied


def test_a_person_decides_about_a_host_on_its_card(page: Page, served: Served) -> None:
    keeper = served.app.bench.network.gatekeeper
    session = served.agent().session.id
    card = page.get_by_role("alertdialog", name="Ada wants to connect to example.org:443")
    held = served.start(keeper.require(session, "example.org", 443))
    expect(card).to_contain_text("example.org:443")
    card.get_by_role("button", name="Allow for this session").click()
    assert held.result(40) == "session"
    expect(card).to_be_hidden()
    refused = served.start(keeper.require(session, "example.com", 443))
    page.get_by_role("alertdialog", name="example.com:443").get_by_role("button", name="Never").click()
    with pytest.raises(Denied):
        refused.result(40)
    assert ("example.com", False) in {(rule.host, rule.allowed) for rule in keeper.rules.list()}


def test_an_open_port_is_a_link_for_as_long_as_it_is_open(page: Page, served: Served) -> None:
    link = page.get_by_role("link", name="Open :3001")
    data: dict[str, object] = {"session": "session_x", "port": 3000, "outside": 3001}
    served.emit("port.opened", data)
    expect(link).to_have_attribute("href", "http://127.0.0.1:3001/")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(link).to_have_attribute("target", "_blank")
    served.emit("port.closed", data)
    expect(link).to_be_hidden()
