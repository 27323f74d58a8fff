"""A terminal attached to an agent's chat, and a tab's menu, as a person uses them."""

from playwright.sync_api import Page, expect
from tests.journeys.test_terminals import new_terminal
from tests.kit.browser import Served, until


def test_a_terminal_is_attached_from_its_tab_shown_in_the_chat_and_detached(page: Page, served: Served) -> None:
    agent = served.agent()
    terminal = new_terminal(page)
    tab = page.get_by_role("tab", name="shell 1")
    tab.click(button="right")
    page.get_by_role("menuitem", name="Attach to Ada's chat").click()
    chips = page.get_by_role("list", name="Attached terminals").get_by_role("listitem")
    expect(chips).to_have_text(["shell 1×"])
    assert list(agent.session.attached) == [terminal]
    page.reload()
    expect(chips).to_have_text(["shell 1×"])
    served.call("openspace.terminal.rename", {"terminalId": terminal, "title": "build"})
    expect(chips).to_have_text(["build×"])
    page.get_by_role("button", name="Detach build").click()
    expect(chips).to_have_count(0)
    assert agent.session.attached == {}
    page.get_by_role("tab", name="build").focus()
    page.keyboard.press("Shift+F10")
    expect(page.get_by_role("menuitem", name="Attach to Ada's chat")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Rename …")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(chips).to_have_text(["build×"])
    expect(page.get_by_role("menu")).to_have_count(0)
    served.call("openspace.terminal.kill", {"terminalId": terminal})
    expect(chips).to_have_count(0)
    expect(page.get_by_role("log")).to_contain_text("no longer attached: the terminal has ended")


def test_it_is_attached_from_the_palette_and_a_directory_is_shown(page: Page, served: Served) -> None:
    agent = served.agent()
    new_terminal(page)
    page.get_by_role("tab", name="shell 1").focus()
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search commands and files")
    box.fill("attach terminal")
    box.press("Enter")
    expect(page.locator(".crumbs")).to_have_text("Attach terminal to chat")
    page.locator(".palette li", has_text="Ada").click()
    page.locator(".palette li", has_text="shell 1").click()
    expect(page.get_by_role("button", name="Detach shell 1")).to_be_visible()
    served.call("openspace.agent.configure", {"sessionId": agent.session.id, "cwd": "src"})
    expect(page.locator(".agentbar .cwd")).to_have_text("in src")
    page.reload()
    expect(page.locator(".agentbar .cwd")).to_have_text("in src")


def test_a_tab_is_split_off_by_its_menu_or_says_why_not(page: Page, served: Served) -> None:
    new_terminal(page)
    tab = page.get_by_role("tab", name="shell 1")
    tab.click(button="right")
    page.get_by_role("menuitem", name="Split right").click()
    expect(page.get_by_text("nothing to split it from")).to_be_visible()
    served.call("openspace.editor.open", {"path": "README.md"})
    tab.click(button="right")
    page.get_by_role("menuitem", name="Split right").click()
    expect(page.locator(".strip:not([hidden])")).to_have_count(2)
    until(page, "() => document.querySelector('.tab[aria-label=\"shell 1\"]').closest('.strip').style.left === '50%'")
    tab.click(button="right")
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
