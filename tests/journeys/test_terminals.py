"""Terminals in a real browser: typing, floods, reloads, two browsers, who has the keyboard."""

from playwright.sync_api import Page, expect
from tests.kit.browser import LIMIT_S, Served, Visit, screen, until, wait_for_screen

SIZE = "id => { const { cols, rows } = window.__fh.terminals[id].term; return `${cols} ${rows}`; }"


def new_terminal(page: Page) -> str:
    """A terminal at its prompt, with the keyboard."""
    page.get_by_role("button", name="New terminal").first.click()
    until(page, "() => Object.keys(window.__fh.terminals).length === 1")
    wait_for_screen(page, "demo")
    expect(page.locator(".xterm-helper-textarea")).to_be_focused()
    return str(page.evaluate("() => Object.keys(window.__fh.terminals)[0]"))


def at_prompt(page: Page, served: Served, terminal: str) -> None:
    """Wait until the shell has its prompt: what is typed before that is input for a program.

    It may still be the last one: the output of what was run must have been seen before.
    """

    async def state() -> str:
        shell = served.app.terminals.get(terminal)
        await shell.wait_for_prompt(LIMIT_S)
        return shell.shell_state

    assert served.do(state()) == "prompt"


def fits(page: Page, terminal: str) -> None:
    """Wait until a terminal has the size that this browser has room for."""
    until(
        page,
        "id => { const { term, mine } = window.__fh.terminals[id];"
        " return mine && mine.rows === term.rows && mine.cols === term.cols; }",
        terminal,
    )


def test_the_empty_start_offers_three_ways_and_a_terminal_runs_what_is_typed(page: Page) -> None:
    expect(page.get_by_role("button", name="Open a file")).to_be_visible()
    expect(page.locator(".card.agent")).to_contain_text("Connect an agent")
    new_terminal(page)
    page.keyboard.type("echo $((40+2))-answer\n")
    wait_for_screen(page, "42-answer")


def test_the_page_leaves_no_code_in_its_address(page: Page) -> None:
    assert "code" not in page.url
    assert page.evaluate("() => localStorage.getItem('fourhands.key').length") > 20


def test_the_program_has_the_size_that_the_browser_shows(page: Page) -> None:
    terminal = new_terminal(page)
    fits(page, terminal)
    page.keyboard.type("stty size\n")
    cols, rows = page.evaluate(SIZE, terminal).split()
    wait_for_screen(page, f"{rows} {cols}")


def test_a_reload_shows_the_same_terminal_without_doubling_also_if_it_has_grown(visit: Visit) -> None:
    page = visit(viewport={"width": 1280, "height": 400})
    terminal = new_terminal(page)
    page.keyboard.type("seq -f row-%g 1 540; echo once-$((1+1))\n")
    wait_for_screen(page, "once-2")
    page.set_viewport_size({"width": 1280, "height": 1000})
    until(page, "id => window.__fh.model.terminals.get(id).rows > 30", terminal)
    page.reload()
    until(page, "() => window.__fh?.model.rev >= 0")
    wait_for_screen(page, "once-2", terminal)
    shown = screen(page, terminal).splitlines()
    assert [line for line in shown if line.startswith("row-")] == [f"row-{n}" for n in range(1, 541)]
    assert shown.count("once-2") == 1


def test_a_lost_connection_goes_on_from_the_exact_position(page: Page) -> None:
    terminal = new_terminal(page)
    page.keyboard.type("for i in $(seq 1 40); do echo line-$i; sleep 0.05; done\n")
    wait_for_screen(page, "line-5")
    page.evaluate("id => { const s = window.__fh.terminals[id].stream.socket; s.close(); }", terminal)
    wait_for_screen(page, "line-40", terminal)
    shown = screen(page, terminal).splitlines()
    assert [line for line in shown if line.startswith("line-")] == [f"line-{n}" for n in range(1, 41)]


def test_a_flood_leaves_the_page_usable_and_arrives_whole(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    page.keyboard.type("while [ ! -e enough ]; do seq 1 100000; done; echo done-$((2+3))\n")
    wait_for_screen(page, "1000")
    # The page must answer while it runs: it ends only afterwards.
    page.get_by_role("button", name="Help").click()
    expect(page.get_by_role("heading", name="Help")).to_be_visible()
    page.keyboard.press("Escape")
    (served.workspace / "enough").touch()
    until(
        page,
        """id => {
            const b = window.__fh.terminals[id].term.buffer.active;
            for (let i = b.length - 1; i >= Math.max(0, b.length - 50); i--)
                if (b.getLine(i).translateToString(true).includes('done-5')) return true;
            return false;
        }""",
        terminal,
    )


def test_two_browsers_show_the_same_terminal_and_layout(visit: Visit) -> None:
    first, second = visit(), visit(viewport={"width": 1000, "height": 700})
    terminal = new_terminal(first)
    first.keyboard.type("echo both-$((3+4))\n")
    wait_for_screen(second, "both-7", terminal)
    until(second, "() => window.__fh.model.browsers === 2")
    fits(first, terminal)
    until(second, f"([id, size]) => ({SIZE})(id) === size", [terminal, first.evaluate(SIZE, terminal)])
    expect(second.locator(".sizenote")).to_be_visible()


def test_the_strip_says_who_has_the_keyboard_and_a_person_takes_over(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    at_prompt(page, served, terminal)
    agent = served.agent(terminal=terminal)
    assert agent.call("openspace.terminal.send", {"terminalId": terminal, "text": "echo from-agent\n"}).success
    wait_for_screen(page, "from-agent")
    expect(page.locator(".lease.agent")).to_contain_text("Ada has the keyboard")
    page.get_by_role("button", name="Take over").click()
    expect(page.locator(".lease.person")).to_contain_text("You have the keyboard")
    refused = agent.call("openspace.terminal.send", {"terminalId": terminal, "text": "echo no\n"})
    assert refused.code == "conflict"
    page.get_by_role("button", name="Hand back").click()
    expect(page.locator(".lease.person")).to_be_hidden()


MARKS = """id => {
    const row = document.querySelector(".xterm-screen").offsetHeight / window.__fh.terminals[id].term.rows;
    const bars = [...document.querySelectorAll(".gutter i")];
    return bars.map(bar => `${bar.className} ${Math.floor(parseFloat(bar.style.top) / row)}`).join(", ");
}"""


def test_author_marks_tell_the_person_from_the_agent(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    page.keyboard.type("echo mine-$((1+1))\n")
    wait_for_screen(page, "mine-2")
    expect(page.locator(".gutter i.person").first).to_be_visible()
    at_prompt(page, served, terminal)
    agent = served.agent(terminal=terminal)
    assert agent.call("openspace.terminal.send", {"terminalId": terminal, "text": "echo theirs-$((1+1))\n"}).success
    wait_for_screen(page, "theirs-2")
    at_prompt(page, served, terminal)
    until(page, f"id => ({MARKS})(id) === 'person 0, agent 2'", terminal)
    page.reload()
    until(page, f"id => !!window.__fh?.terminals[id] && ({MARKS})(id) === 'person 0, agent 2'", terminal)


def test_a_programs_question_is_answered_without_taking_the_keyboard(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    agent = served.agent(terminal=terminal)
    line = f"printf '\\033[6n'; IFS= read -rs -d R -t {LIMIT_S} x; echo \"got-$((${{#x}}>0))\"\n"
    served.call("openspace.terminal.send", {"terminalId": terminal, "text": line})
    wait_for_screen(page, "got-1")
    at_prompt(page, served, terminal)
    assert agent.call("openspace.terminal.send", {"terminalId": terminal, "text": "echo free\n"}).success


def test_search_finds_a_line(page: Page) -> None:
    new_terminal(page)
    page.keyboard.type("seq 1 50; echo all-$((1+1))\n")
    wait_for_screen(page, "all-2")
    page.keyboard.press("Control+Shift+F")
    page.keyboard.type("37")
    page.keyboard.press("Enter")
    expect(page.locator(".find .count")).to_contain_text("of 1")


def test_a_wanted_secret_is_the_persons_to_type(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    agent = served.agent()
    page.keyboard.type("read -rs secret; echo; echo len-${#secret}\n")
    expect(page.locator(".lease.secret")).to_contain_text("Password prompt")
    assert agent.call("openspace.terminal.screen", {"terminalId": terminal}).code == "denied"
    page.keyboard.type("hunter22\n")
    wait_for_screen(page, "len-8")
    expect(page.locator(".lease.secret")).to_be_hidden()
    assert "hunter22" not in screen(page, terminal)


def test_an_agent_waits_for_a_half_typed_line_until_it_may_go(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    agent = served.agent(terminal=terminal)
    page.keyboard.type("echo mine")
    wait_for_screen(page, "echo mine")
    waiting = agent.start("openspace.terminal.send", {"terminalId": terminal, "text": "echo theirs-$((1+1))\n"})
    expect(page.locator(".lease.person")).to_contain_text("Ada waits until your line is finished")
    assert not waiting.done()
    page.keyboard.press("Enter")
    assert waiting.result(LIMIT_S).success
    wait_for_screen(page, "theirs-2")
    assert "mineecho" not in screen(page, terminal)
    at_prompt(page, served, terminal)
    page.keyboard.type("echo given-up")
    wait_for_screen(page, "echo given-up")
    waiting = agent.start("openspace.terminal.send", {"terminalId": terminal, "text": "echo second-$((1+1))\n"})
    page.get_by_role("button", name="Clear my line").click()
    assert waiting.result(LIMIT_S).success
    wait_for_screen(page, "second-2")
    assert "given-up" not in screen(page, terminal)


PASTE = """([id, text]) => {
    const data = new DataTransfer();
    data.setData('text/plain', text);
    const box = window.__fh.terminals[id].term.textarea;
    box.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
}"""


def test_a_paste_of_many_lines_arrives_whole(page: Page) -> None:
    terminal = new_terminal(page)
    page.keyboard.type("echo ready-$((1+1)); cat > pasted.txt\n")
    wait_for_screen(page, "ready-2")
    page.evaluate(PASTE, [terminal, "".join(f"row {n}\n" for n in range(500))])
    wait_for_screen(page, "row 499")
    page.keyboard.press("Control+d")
    page.keyboard.type("wc -l pasted.txt\n")
    wait_for_screen(page, "500 pasted.txt")


def test_a_paste_at_a_prompt_waits_for_enter_and_a_selection_is_copied(visit: Visit, served: Served) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    terminal = new_terminal(page)
    at_prompt(page, served, terminal)
    page.evaluate(PASTE, [terminal, "echo pasted-$((1+1))\necho again-$((1+2))\n"])
    wait_for_screen(page, "again-$")
    assert "pasted-2" not in screen(page, terminal)
    page.keyboard.press("Enter")
    wait_for_screen(page, "again-3")
    assert "pasted-2" in screen(page, terminal)
    page.evaluate("id => window.__fh.terminals[id].term.selectAll()", terminal)
    page.keyboard.press("Control+Shift+C")
    page.evaluate(
        """async () => { while (!(await navigator.clipboard.readText()).includes('again-3'))
            await new Promise(r => setTimeout(r, 20)); }"""
    )


def test_an_address_in_a_terminal_opens_in_a_page_of_its_own(page: Page, served: Served) -> None:
    new_terminal(page)
    url = f"{served.running.address.url}/health"
    page.keyboard.type(f"clear; echo {url}; echo shown-$((1+1))\n")
    # On the screen itself: what was typed, which has the address too, is gone by then.
    expect(page.locator(".xterm-rows > div", has_text="shown-2")).to_be_visible()
    row = page.locator(".xterm-rows > div", has_text=url).last
    box = row.bounding_box()
    assert box is not None
    with page.context.expect_page() as opened:
        for _ in range(LIMIT_S * 20):  # xterm looks for links when the pointer comes to a row
            page.mouse.move(box["x"] + 40, box["y"] + box["height"] / 2)
            page.mouse.move(box["x"] + 60, box["y"] + box["height"] / 2)
            if page.locator(".xterm-cursor-pointer").count():
                break
            page.evaluate("() => new Promise(resolve => setTimeout(resolve, 50))")
        page.mouse.click(box["x"] + 60, box["y"] + box["height"] / 2)
    assert opened.value.url in (url, "about:blank")
    assert opened.value.evaluate("() => window.opener") is None


def test_terminals_that_nobody_looks_at_let_their_connection_go(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    page.keyboard.type("echo first-$((1+1))\n")
    wait_for_screen(page, "first-2", terminal)
    for n in range(16):
        assert served.call("openspace.terminal.create", {"title": f"t{n}"}).success
    until(page, "() => Object.keys(window.__fh.terminals).length === 17")
    until(page, "() => Object.values(window.__fh.terminals).filter(view => view.stream.open).length <= 13")
    served.call("openspace.terminal.send", {"terminalId": terminal, "text": "echo unseen-$((2+2))\n"})
    page.evaluate("id => window.__fh.desk.run('openspace.terminal.show', {terminalId: id})", terminal)
    wait_for_screen(page, "unseen-4", terminal)
    assert screen(page, terminal).splitlines().count("first-2") == 1


PASTE = """([id, text]) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const target = window.__fh.terminals[id].element.querySelector("textarea");
  target.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""

# Takes keys one by one, but none before it is told to; what it has read by the end mark is in a file.
SLOW = """
import os, sys, time, tty
tty.setraw(0)
print("read" + "y", flush=True)
while not os.path.exists("go"): time.sleep(0.02)
data = b""
while not data.endswith(b"#END#"): data += os.read(0, 65536)
open("pasted", "wb").write(data)
print("don" + "e", flush=True)
"""


def test_a_large_paste_shows_how_far_it_is_and_arrives_whole(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    workspace = served.workspace
    (workspace / "slow.py").write_text(SLOW)
    page.keyboard.type("python3 slow.py\n")
    wait_for_screen(page, "ready")
    text = "".join(f"line {n} é漢👍\n" for n in range(150_000)) + "#END#"
    assert len(text.encode()) > 3 * 1024 * 1024
    page.evaluate(PASTE, [terminal, text])
    strip = page.locator(".pasting")
    expect(strip).to_contain_text(f"of {len(text.encode()) / 1e6:.1f} MB")
    expect(strip.get_by_role("button", name="Cancel")).to_be_visible()
    (workspace / "go").touch()
    wait_for_screen(page, "done")
    expect(strip).to_be_hidden()
    assert (workspace / "pasted").read_bytes() == text.replace("\n", "\r").encode()


def test_a_paste_is_cancelled_by_escape_and_the_next_keys_are_typed(page: Page, served: Served) -> None:
    terminal = new_terminal(page)
    workspace = served.workspace
    (workspace / "slow.py").write_text(SLOW)
    page.keyboard.type("python3 slow.py\n")
    wait_for_screen(page, "ready")
    page.evaluate(PASTE, [terminal, "x" * 2_000_000])
    strip = page.locator(".pasting")
    expect(strip).to_be_visible()
    page.keyboard.press("Escape")
    expect(strip).to_be_hidden()
    expect(page.get_by_text("The paste was cancelled")).to_be_visible()
    page.keyboard.type("#END#")
    (workspace / "go").touch()
    wait_for_screen(page, "done")
    assert len((workspace / "pasted").read_bytes()) < 500_000


def test_a_page_that_comes_in_the_middle_of_a_sequence_shows_no_garbage(page: Page) -> None:
    terminal = new_terminal(page)
    first, then, last = "hel''lo \\033[3", "1mred \\346\\274", "\\242\\n"
    page.keyboard.type(f"stty -echo; printf '{first}'; read x; printf '{then}'; read x; printf '{last}'; stty echo\n")
    wait_for_screen(page, "hello")
    for shown in ("red", "漢"):
        page.reload()
        until(page, "() => window.__fh?.model.rev >= 0")
        wait_for_screen(page, "hello", terminal)
        page.locator(".xterm-helper-textarea").focus()
        page.keyboard.type("\n")
        wait_for_screen(page, shown, terminal)
    assert "hello red 漢" in screen(page, terminal)
