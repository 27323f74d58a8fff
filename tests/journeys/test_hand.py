"""The person's hand in a real browser: its key answers, over reloads and a restart; nothing else does."""

from pathlib import Path

from playwright.sync_api import Page, expect
from scripts.page import Build
from tests.kit.browser import Served, Visit, until

ASK = ".ask[role=alertdialog]"


def answered(served: Served) -> list[tuple[str, str, bool]]:
    """Who answered what, as the journal has it: the signature, the choice, and if it counted."""
    rows = served.do(served.app.journal.query(command="openspace.workbench.answer"))
    return [(row.verdict.by, str(row.call.args["choice"]), bool(row.result and row.result.success)) for row in rows]


def test_a_browser_answers_with_its_key_over_a_reload_and_a_restart(served: Served, visit: Visit, page: Page) -> None:
    served.call("openspace.terminal.create", {"title": "kept"})  # it keeps the host, which keeps the key of the seal
    for number, step in enumerate(("as it is", "reload", "restart")):
        if step == "restart":
            served.restart()
        if step != "as it is":
            page.reload()
            until(page, "() => window.__fh?.model.rev >= 0 && window.__fh.model.commands.size > 0")
        agent = served.agent(f"Ada {number}", consent=False)
        asked = agent.start("openspace.pane.list")
        page.locator(ASK).get_by_role("button", name="Allow for this session").click()
        assert asked.result(60).success
    rows = answered(served)
    assert [(choice, ok) for _, choice, ok in rows] == [("session", True)] * 3
    assert len({signed for signed, _, _ in rows}) == 1
    assert rows[0][0].startswith("Chrome on Linux (")
    [browser] = served.running.tokens.browsers
    assert browser.told == rows[0][0]
    visit.complaints.clear()  # of the connection that was lost


def test_the_key_cannot_be_read_out_of_the_page(page: Page) -> None:
    found = page.evaluate(
        """async () => {
            const open = indexedDB.open("fourhands", 1);
            const database = await new Promise(resolve => { open.onsuccess = () => resolve(open.result); });
            const got = database.transaction("hand").objectStore("hand").get("key");
            const pair = await new Promise(resolve => { got.onsuccess = () => resolve(got.result); });
            try {
                await crypto.subtle.exportKey("pkcs8", pair.privateKey);
                return "exported";
            } catch (error) {
                return pair.privateKey.extractable ? "extractable" : error.name;
            }
        }"""
    )
    assert found == "InvalidAccessError"


def test_what_the_page_may_do_needs_no_signature_and_what_loosens_has_one(served: Served, page: Page) -> None:
    agent = served.agent()
    served.app.gate.pause(agent.session.id)
    done = page.evaluate("id => window.__fh.desk.run('openspace.agent.resume', { sessionId: id })", agent.session.id)
    assert done["success"], done
    [row] = served.do(served.app.journal.query(command="openspace.agent.resume"))
    assert row.verdict.by.startswith("Chrome on Linux (")
    assert page.evaluate("() => window.__fh.desk.run('openspace.pane.list', {})")["success"]
    [row] = served.do(served.app.journal.query(command="openspace.pane.list"))
    assert row.verdict.by == ""


def test_a_further_browser_has_to_be_allowed_by_one_that_is_signed_in(served: Served, visit: Visit, page: Page) -> None:
    served.admits = False
    second = visit.open()
    expect(second.get_by_role("heading", name="Allow this browser")).to_be_visible()
    page.locator(ASK).get_by_role("button", name="Deny").click()
    expect(second.get_by_role("heading", name="This browser is not signed in")).to_be_visible()
    third = visit.open()
    page.locator(ASK).get_by_role("button", name="Allow this browser").click()
    until(third, "() => window.__fh?.model.rev >= 0")
    rows = served.do(served.app.journal.query(command="openspace.browser.sign_in"))
    assert [row.result is not None and row.result.success for row in rows] == [True, False, True]
    assert [choice for _, choice, _ in answered(served)] == ["deny", "once"]
    visit.complaints.clear()  # of the refusal, which browsers tell as an error


def test_what_people_get_has_no_way_in_for_tests() -> None:
    built = Build().static
    assert (built / "index.html").is_file()
    for path in built.rglob("*"):
        if path.is_file():
            assert b"__fh" not in path.read_bytes(), Path(path).name
