"""A command that the person is asked about, rehearsed on the page: what it would change, and the ways to go on."""

from playwright.sync_api import expect
from tests.kit.browser import Served, Visit
from tests.kit.isolation import refuse

LINE = "rm -rf src && echo more >> README.md && echo rehearsed"


def rehearse(served: Served, visit: Visit, line: str = LINE):
    page = visit(reduced_motion="reduce")
    agent = served.agent()
    running = agent.start("openspace.tool.bash", {"command": line})
    button = page.get_by_role("alertdialog").get_by_role("button", name="Rehearse")
    expect(button).to_be_visible()
    if button.get_attribute("aria-disabled") == "true":
        refuse(str(button.get_attribute("title")))
    button.click()
    dialog = page.get_by_role("dialog", name="Rehearsal")
    expect(dialog.get_by_role("button", name="Discard")).to_be_focused()
    return page, dialog, running


def test_a_rehearsal_shows_what_a_command_would_do_and_applies_it(served: Served, visit: Visit) -> None:
    page, dialog, running = rehearse(served, visit)
    expect(dialog.locator(".output")).to_contain_text("exit 0")
    expect(dialog.locator(".output pre")).to_contain_text("rehearsed")
    rows = dialog.locator(".rehearsed .path")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("src/deleted2 files")
    rows.nth(0).click()
    expect(dialog.locator(".diff .add")).to_have_text("+ more")
    expect(dialog).to_contain_text("Anything on the network")
    assert (served.workspace / "src/app.py").exists()

    page.keyboard.press("Escape")  # it waits
    expect(dialog).to_have_count(0)
    page.get_by_role("alertdialog").get_by_role("button", name="Show rehearsal").click()
    dialog.get_by_role("button", name="Apply to files").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    result = running.result(60)
    assert (result.success, result.code) == (False, "denied")
    assert "rehearsal" in result.error
    assert not (served.workspace / "src").exists()
    assert (served.workspace / "README.md").read_text().endswith("more\n")


def test_a_rehearsal_is_discarded_or_the_command_runs_for_real(served: Served, visit: Visit) -> None:
    page, dialog, running = rehearse(served, visit)
    dialog.get_by_role("button", name="Discard").click()
    expect(dialog).to_have_count(0)
    assert (served.workspace / "src/app.py").exists()
    page.get_by_role("alertdialog").get_by_role("button", name="Rehearse", exact=True).click()
    dialog.get_by_role("button", name="Run for real").click()
    expect(dialog).to_have_count(0)
    assert running.result(60).data["output"] == "rehearsed\n"
    assert not (served.workspace / "src").exists()


def test_a_long_one_is_stopped_and_what_cannot_be_applied_says_why(served: Served, visit: Visit) -> None:
    page = visit(reduced_motion="reduce")
    agent = served.agent()
    card, dialog = page.get_by_role("alertdialog"), page.get_by_role("dialog", name="Rehearsal")
    for line, told in (("rm -rf src; sleep 600", "it was stopped"), ("rm -rf src; git init -q", "git's own files")):
        running = agent.start("openspace.tool.bash", {"command": line})
        card.get_by_role("button", name="Rehearse").click()
        if "sleep" in line:
            dialog.get_by_role("button", name="Stop").click()
        expect(dialog.get_by_role("button", name="Discard")).to_be_focused()
        expect(dialog).to_contain_text(told)
        if "git" in line:
            expect(dialog.get_by_role("button", name="Apply to files")).to_be_disabled()
        page.keyboard.press("Enter")
        expect(dialog).to_have_count(0)
        card.get_by_role("button", name="Deny").click()
        assert not running.result(60).success
    assert (served.workspace / "src/app.py").exists()
