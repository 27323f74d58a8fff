"""What a person is asked about where agents' programs run in a sandbox, in a real browser."""

import os

import pytest
from playwright.sync_api import Page, expect
from tests.kit.browser import Served, Visit


def picture(page: Page, name: str) -> None:
    """Keep a picture where somebody asked for them."""
    if folder := os.environ.get("FOURHANDS_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_person_is_told_where_a_line_runs_asks_for_less_and_runs_one_outside(
    served: Served, visit: Visit, theme: str
) -> None:
    page = visit(color_scheme=theme, reduced_motion="reduce")
    ada = served.agent()
    served.call("openspace.agent.configure", {"sessionId": ada.session.id, "provider": "bubblewrap"})
    made = ada.call("openspace.tool.bash", {"command": "touch a b && ./no-such-program"})
    assert (made.success, made.isolation) == (True, "sandbox"), made
    # a dangerous line that can be undone
    removing = ada.start("openspace.tool.bash", {"command": "rm a"})
    card = page.get_by_role("alertdialog", name="Ada wants to run a command")
    expect(card).to_contain_text("Runs in the sandbox · Can be undone: a checkpoint is taken before")
    picture(page, f"asking-undo-{theme}")
    card.get_by_role("button", name="only ask about what cannot be undone").click()
    expect(card).to_contain_text("You are now asked only about what cannot be undone")
    card.get_by_role("button", name="Run once").click()
    assert removing.result(40).success
    expect(card).to_be_hidden()
    assert ada.call("openspace.tool.bash", {"command": "rm b"}).success  # nobody was asked
    # a line outside
    leaving = ada.start("openspace.tool.bash", {"command": "docker run --rm x"})
    expect(card).to_contain_text("Runs outside the sandbox, as you: docker works there")
    expect(card).not_to_contain_text("Can be undone")
    picture(page, f"asking-outside-{theme}")
    card.get_by_role("button", name="Deny").click()
    assert leaving.result(40).code == "denied"
    # a line that fails at the edge, which the person then runs outside
    met = ada.call("openspace.tool.bash", {"command": "echo 'Read-only file system'; false"})
    assert "run_outside" in str(met.data["note"])
    page.get_by_role("button", name="Run outside").click()
    shown = page.locator(".tab", has_text="Read-only")
    expect(shown.first).to_be_visible()
    picture(page, f"asking-ran-outside-{theme}")
    served.call("openspace.safety.set_asking", {"ask": "dangerous"})


def test_a_person_reads_what_code_for_a_program_does_and_where(served: Served, visit: Visit) -> None:
    page = visit(reduced_motion="reduce")
    ada = served.agent()
    made = ada.call("openspace.terminal.create", {"title": "repl"})
    typing = {"terminalId": made.data["terminalId"]}
    assert ada.call("openspace.terminal.wait", {**typing, "inputWanted": True}).success
    served.call("openspace.terminal.send", {**typing, "text": "python3 -q\n"})
    assert ada.call("openspace.terminal.wait", {**typing, "pattern": "(?m)^>>> $"}).success
    asked = ada.start("openspace.terminal.send", {**typing, "text": "import os; os.system('touch made')\n"})
    card = page.get_by_role("alertdialog", name="Ada wants to run a command")
    expect(card).to_contain_text("Ada wants to run this in repl")
    expect(card).to_contain_text("Python code: calls os.system")
    expect(card).to_contain_text("In terminal repl")
    expect(card.get_by_role("button", name="Always in this session")).to_have_count(0)
    picture(page, "asking-input")
    card.get_by_role("button", name="Deny").click()
    assert asked.result(40).code == "denied"
