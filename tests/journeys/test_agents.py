"""What a person sees of an agent, and what they can do about it."""

from playwright.sync_api import Page, expect
from tests.journeys.test_terminals import new_terminal
from tests.kit.browser import LIMIT_S, Served, Visit, keep_toasts, until, wait_for_screen

from fourhands.agents.connectors.events import AgentAsked


def test_consent_is_asked_and_given_in_part_for_the_session_and_changed_later(page: Page, served: Served) -> None:
    agent = served.agent(consent=False)
    waiting = agent.start("openspace.editor.open", {"path": "README.md"})
    card = page.get_by_role("alertdialog")
    expect(card).to_contain_text("Allow Ada to work here?")
    expect(page).to_have_title("● Question — demo")
    expect(card.get_by_role("checkbox", checked=True)).to_have_count(4)
    card.get_by_role("checkbox", name="type in terminals").uncheck()
    card.get_by_role("button", name="Allow for this session").click()
    assert waiting.result(LIMIT_S).success
    expect(card).to_be_hidden()
    assert agent.call("openspace.editor.open", {"path": "src/app.py"}).success
    refused = agent.call("openspace.terminal.create", {})
    assert (refused.code, refused.data["scope"]) == ("denied", "run")
    page.get_by_role("button", name="3 of 4 permissions").click()
    page.get_by_role("dialog").get_by_role("checkbox", name="type in terminals").check()
    page.get_by_role("dialog").get_by_role("button", name="Allow").click()
    expect(page.get_by_role("button", name="Acts by itself, asks before danger")).to_be_visible()
    assert agent.call("openspace.terminal.create", {}).success


def test_consent_can_be_refused(page: Page, served: Served) -> None:
    waiting = served.agent(consent=False).start("openspace.editor.open", {"path": "README.md"})
    page.get_by_role("button", name="Not now").click()
    assert waiting.result(LIMIT_S).code == "denied"


def test_a_dangerous_command_is_shown_denied_by_default_and_can_be_edited(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    page.evaluate("() => { window.__fh.desk.typedAt = 0; }")
    agent = served.agent(terminal=terminal)
    (served.workspace / "build").mkdir()
    (served.workspace / "build" / "out.txt").write_text("x" * 1000)
    waiting = agent.start("openspace.terminal.send", {"terminalId": terminal, "text": "rm -rf build/\n"})
    card = page.get_by_role("alertdialog")
    expect(card).to_contain_text("wants to run this in shell 1")
    expect(card).to_contain_text("rm -rf build/")
    expect(card.locator(".glance")).to_contain_text("1 file · ")
    expect(card.get_by_role("button", name="Deny")).to_be_focused()
    expect(card.get_by_role("button", name="Always")).to_have_count(0)
    card.get_by_role("button", name="Edit").click()
    box = card.get_by_role("textbox", name="Changed command")
    box.fill("rm -rf build/ src")
    expect(card.locator(".glance")).to_contain_text("3 files · ")
    box.fill("echo edited-$((5+6))")
    expect(card).to_contain_text("Safe")
    expect(card.locator(".glance")).to_have_count(0)
    card.get_by_role("button", name="Run edited").click()
    assert waiting.result(LIMIT_S).success
    wait_for_screen(page, "edited-11")
    assert (served.workspace / "build").exists()


def test_enter_in_the_first_moment_approves_nothing(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    # The page's clock stands still until then: the first moment is over for no machine.
    page.evaluate(
        """() => {
            const moment = performance.now();
            performance.now = () => moment;
            new MutationObserver((_, observer) => {
                const once = [...document.querySelectorAll('.ask button')].find(b => b.textContent === 'Run once');
                if (!once) return;
                observer.disconnect();
                once.click();
                delete performance.now;
                window.clicked = true;
            }).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    waiting = served.agent().start("openspace.terminal.send", {"terminalId": terminal, "text": "rm -rf build/\n"})
    expect(page.get_by_role("alertdialog")).to_be_visible()
    until(page, "() => window.clicked === true")
    page.get_by_role("button", name="Deny").click()
    assert waiting.result(LIMIT_S).code == "denied"


def test_words_stream_as_markdown_and_nothing_of_it_is_html(page: Page, served: Served) -> None:
    agent = served.agent()
    agent.say("Look at **this")
    agent.say("** and `that`\n\n<img src=x onerror=alert(1)> [bad](javascript:alert(1)) [ok](https://example.com)")
    bubble = page.locator(".bubble.said")
    expect(bubble.locator("strong")).to_have_text("this")
    expect(bubble.locator("code")).to_have_text("that")
    expect(bubble).to_contain_text("<img src=x onerror=alert(1)>")
    assert bubble.locator("img").count() == 0
    assert bubble.locator("a").evaluate_all("all => all.map(a => a.href)") == ["https://example.com/"]


def test_steps_name_what_was_done_and_failures_say_why_once(page: Page, served: Served) -> None:
    agent = served.agent()
    keep_toasts(page)
    assert agent.call("openspace.editor.open", {"path": "src/app.py", "line": 18}).success
    expect(page.locator(".step", has_text="opened src/app.py:18")).to_be_visible()
    for _ in range(3):
        agent.call("openspace.editor.open", {"path": "docs/limits.md"})
    expect(page.locator(".step.failed").first).to_contain_text("no file or directory")
    expect(page.locator(".toast")).to_have_count(1)
    expect(page.locator(".toast .count")).to_have_text("×3")
    page.get_by_role("button", name="Create it").click()
    until(page, "() => window.__fh.editors['docs/limits.md']?.code")
    assert (served.workspace / "docs/limits.md").exists()


def test_a_step_of_the_list_is_run_again(page: Page, served: Served) -> None:
    agent = served.agent()
    agent.call("openspace.editor.open", {"path": "README.md"})
    until(page, "() => window.__fh.model.editors.size === 1")
    served.call("openspace.editor.close", {"path": "README.md"})
    until(page, "() => window.__fh.model.editors.size === 0")
    page.locator(".deed.agent", has_text="opened README.md").click()
    expect(page.locator(".activity .more pre")).to_contain_text('"openspace.editor.open"')
    page.get_by_role("button", name="Run again").click()
    until(page, "() => window.__fh.model.editors.has('README.md')")


def test_what_the_agent_opens_does_not_take_the_keyboard(page: Page, served: Served) -> None:
    new_terminal(page)
    agent = served.agent()
    page.keyboard.type("echo half")
    page.evaluate("() => { window.__fh.desk.typedAt = Infinity; }")  # they type on, however slow all else is
    assert agent.call("openspace.terminal.create", {"title": "other"}).success
    assert agent.call("openspace.editor.open", {"path": "README.md"}).success
    until(page, "() => window.__fh.editors['README.md']?.code")
    page.keyboard.type("-whole\n")
    wait_for_screen(page, "half-whole")
    expect(page.get_by_role("tab", name="shell 1")).to_have_attribute("aria-selected", "true")


def test_pause_and_stop_hold_and_end_what_the_agent_does(page: Page, served: Served) -> None:
    agent = served.agent()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    waiting = agent.start("openspace.editor.open", {"path": "README.md"})
    page.get_by_role("button", name="Resume", exact=True).click()
    assert waiting.result(LIMIT_S).success
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    held = agent.start("openspace.editor.open", {"path": "src/app.py"})
    page.get_by_role("button", name="Stop", exact=True).click()
    assert held.result(LIMIT_S).code == "stopped"


def test_a_message_reaches_the_agent_and_every_browser(page: Page, served: Served) -> None:
    agent = served.agent()
    heard: list[str] = []

    async def hear(text: str) -> str:
        heard.append(text)
        served.app.events.emit(AgentAsked(session=agent.session.id, text=text, message_id="m1"))
        return "m1"

    served.app.bench.prompters[agent.session.id] = hear
    page.get_by_label("Message the agent").fill("Add a limit")
    page.keyboard.press("Enter")
    expect(page.locator(".bubble.you")).to_contain_text("Add a limit")
    assert heard == ["Add a limit"]


def test_what_an_agent_offers_is_chosen_by_keys_and_mouse_and_its_title_is_shown(page: Page, served: Served) -> None:
    agent = served.agent()
    commands = [
        {"name": "plan", "description": "Think first", "input": {"hint": "what to plan"}},
        {"name": "test", "description": "Run the tests"},
        {"name": "tidy", "description": "Tidy up"},
    ]
    served.emit("agent.offered", {"session": agent.session.id, "commands": commands})
    served.emit("agent.titled", {"session": agent.session.id, "title": "Limits of notes"})
    served.emit("agent.switched", {"session": agent.session.id, "mode": "careful"})
    box, offered = page.get_by_label("Message the agent"), page.get_by_role("listbox", name="Commands of the agent")
    for again in (False, True):
        expect(page.locator(".agentbar")).to_contain_text("Limits of notes")
        expect(page.locator(".notice")).to_have_text("Mode: careful")
        box.focus()
        page.keyboard.type("/t")
        expect(offered.get_by_role("option")).to_have_count(3)  # that it begins with, or that says so
        page.keyboard.press("Escape")
        expect(offered).to_be_hidden()
        page.keyboard.press("Backspace")
        page.keyboard.type("t")
        if again:
            offered.get_by_role("option", name="/tidy").click()
        else:
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
        expect(box).to_have_value("/tidy ")
        expect(offered).to_be_hidden()
        if not again:
            page.reload()


def test_the_conversation_is_there_after_a_reload_and_in_another_browser(
    page: Page, served: Served, visit: Visit
) -> None:
    agent = served.agent()
    agent.say("Remember ")
    assert agent.call("openspace.editor.open", {"path": "README.md"}).success
    agent.say("**this**", done=True)
    expect(page.locator(".bubble.said")).to_contain_text("Remember this")
    page.reload()
    for shown in (page, visit()):
        expect(shown.locator(".bubble.said")).to_have_text("Remember this")
        expect(shown.locator(".chat .step", has_text="opened README.md")).to_have_count(1)
