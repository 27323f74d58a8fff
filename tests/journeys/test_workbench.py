"""Panes, editors, files and the palette in a real browser."""

import subprocess

from playwright.sync_api import Page, expect
from tests.kit.browser import Served, Visit, save, until


def open_file(page: Page, path: str) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type(path)
    expect(page.locator(".palette li", has_text=path).first).to_be_visible()
    page.locator(".palette li", has_text=path).first.click()
    until(page, "path => window.__fh.editors[path]?.code?.hasFocus()", path)


def test_a_file_is_opened_changed_and_saved(page: Page, served: Served) -> None:
    page.get_by_role("treeitem", name="README.md").click()
    until(page, "() => window.__fh.editors['README.md']?.code?.hasFocus()")
    page.keyboard.type("New. ")
    save(page)
    assert (served.workspace / "README.md").read_text().startswith("New. # Notes")


def test_the_first_page_says_what_to_type_to_connect_an_agent(page: Page, served: Served) -> None:
    program = page.evaluate("() => window.__fh.model.program")
    assert program.strip("'").endswith("fourhands")
    expect(page.locator(".start code")).to_have_text(f"{program} . --agent claude")
    with page.context.browser.new_context() as another:  # type: ignore[union-attr]
        stranger = another.new_page()
        stranger.goto(served.running.address.url)
        expect(stranger.locator(".gone")).to_contain_text(".venv/bin/fourhands open")


def test_a_line_is_revealed_where_it_can_be_seen(page: Page, served: Served) -> None:
    served.call("openspace.editor.open", {"path": "src/app.py", "line": 120})
    until(
        page,
        "() => { const c = window.__fh.editors['src/app.py']?.code; if (!c) return false;"
        " const [a, b] = c.visibleLines(); return a > 1 && a < 120 && b > 120; }",
    )


def test_highlights_have_their_colours_and_escape_clears_mine_first(page: Page, served: Served) -> None:
    agent = served.agent()
    open_file(page, "src/app.py")
    agent.call(
        "openspace.editor.highlight",
        {"path": "src/app.py", "ranges": [{"startLine": 2, "endLine": 3}], "label": "look"},
    )
    page.evaluate(
        "() => window.__fh.desk.run('openspace.editor.highlight',"
        " {path: 'src/app.py', ranges: [{startLine: 6, endLine: 6}], highlightId: 'mine'})"
    )
    until(page, "() => window.__fh.editors['src/app.py'].code.marks().length === 2")
    expect(page.locator(".fh-label").first).to_contain_text("Ada: look")
    page.get_by_role("button", name="Highlights (2)").click()
    expect(page.get_by_role("list", name="Highlights").get_by_role("button", name="You: mine")).to_be_visible()
    page.keyboard.press("Escape")  # closes the list and clears nothing
    expect(page.get_by_role("list", name="Highlights")).to_be_hidden()
    page.evaluate("() => window.__fh.editors['src/app.py'].code.focus()")
    page.keyboard.press("Escape")
    until(page, "() => window.__fh.model.highlights.size === 1 && !window.__fh.model.highlights.has('mine')")
    page.keyboard.press("Escape")
    until(page, "() => window.__fh.editors['src/app.py'].code.marks().length === 0")


def test_what_the_agent_writes_appears_in_the_open_editor(page: Page, served: Served) -> None:
    open_file(page, "src/store.py")
    agent = served.agent()
    assert agent.call("openspace.file.write", {"path": "src/store.py", "content": "class Shop:\n    pass\n"}).success
    until(page, "() => window.__fh.editors['src/store.py'].code.text().startsWith('class Shop')")
    page.keyboard.press("Control+Alt+z")
    until(page, "() => window.__fh.editors['src/store.py'].code.text().startsWith('class Store')")


def test_a_conflict_keeps_both_and_lets_the_person_choose(page: Page, served: Served) -> None:
    open_file(page, "src/store.py")
    page.keyboard.type("# mine\n")
    until(page, "() => window.__fh.model.editors.get('src/store.py').dirty")
    (served.workspace / "src/store.py").write_text("# theirs\n")
    page.keyboard.press("Control+s")
    note = page.locator(".editornote")
    expect(note).to_contain_text("changed on disk")
    assert (served.workspace / "src/store.py").read_text() == "# theirs\n"
    # One that is closed before the difference is found leaves no error behind.
    page.evaluate(
        "() => { const { code } = window.__fh.editors['src/store.py']; code.compare('x'); code.compare(null); }"
    )
    note.get_by_role("button", name="Compare").click()
    expect(page.locator(".monaco-diff-editor")).to_be_visible()
    note.get_by_role("button", name="Keep mine").click()
    expect(note).to_be_hidden()
    assert (served.workspace / "src/store.py").read_text().startswith("# mine\nclass Store")


def test_unsaved_text_survives_a_reload(page: Page) -> None:
    open_file(page, "README.md")
    page.keyboard.type("draft ")
    # All of it: a slow hand's first letters are sent before the rest.
    page.evaluate(
        """async () => {
            const kept = async () => (await window.__fh.link.call("openspace.workbench.snapshot", {})).state.drafts;
            while (!(await kept()).some(draft => draft.text.startsWith("draft ")))
                await new Promise(resolve => setTimeout(resolve, 15));
        }"""
    )
    page.reload()
    until(page, "() => window.__fh?.editors['README.md']?.code?.text().startsWith('draft ')")


def test_a_binary_file_says_what_it_is(page: Page, served: Served) -> None:
    (served.workspace / "blob.bin").write_bytes(bytes(range(256)) * 10)
    served.call("openspace.editor.open", {"path": "blob.bin"})
    expect(page.locator(".unreadable")).to_contain_text("binary file")


def test_a_sash_is_dragged_and_moved_by_keys_in_both_browsers(visit: Visit, served: Served) -> None:
    first, second = visit(), visit()
    served.call("openspace.editor.open", {"path": "README.md"})
    served.call("openspace.pane.open", {"type": "editor", "contentId": "src/app.py", "splitDirection": "vertical"})
    sash = first.locator(".sash.vertical")
    expect(sash).to_be_visible()
    box = sash.bounding_box()
    assert box is not None
    first.mouse.move(box["x"] + 3, box["y"] + 100)
    first.mouse.down()
    first.mouse.move(box["x"] + 103, box["y"] + 100, steps=5)
    first.mouse.up()
    until(second, "() => window.__fh.model.layout.root.sizes[0] > 58")
    before = second.evaluate("() => window.__fh.model.layout.root.sizes[0]")
    sash.focus()
    first.keyboard.press("ArrowLeft")
    until(second, "before => window.__fh.model.layout.root.sizes[0] < before", before)


def test_a_tab_is_dragged_to_a_side_of_its_pane(page: Page, served: Served) -> None:
    served.call("openspace.editor.open", {"path": "README.md"})
    served.call("openspace.editor.open", {"path": "src/app.py"})
    tab = page.get_by_role("tab", name="README.md")
    expect(tab).to_be_visible()
    expect(page.get_by_role("tab", name="app.py")).to_have_attribute("aria-selected", "true")
    host = page.locator(".host").bounding_box()
    tab.hover()
    page.mouse.down()
    assert host is not None
    page.mouse.move(host["x"] + host["width"] - 20, host["y"] + host["height"] / 2, steps=8)
    expect(page.locator(".dropmark")).to_be_visible()
    page.mouse.up()
    until(page, "() => window.__fh.model.layout.root.kind === 'split'")


def test_the_palette_asks_for_arguments_one_by_one(page: Page, served: Served) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("scroll to")
    expect(page.locator(".palette li").first).to_contain_text("Scroll to line")
    page.keyboard.press("Escape")
    served.call("openspace.editor.open", {"path": "src/app.py"})
    until(page, "() => window.__fh.editors['src/app.py']?.code")
    page.keyboard.press("F1")
    page.keyboard.type("scroll to line")
    expect(page.locator(".palette li").first).to_contain_text("Scroll to line")
    page.keyboard.press("Enter")
    expect(page.locator(".palette .crumbs")).to_contain_text("Scroll to line")
    expect(page.locator(".palette li").first).to_contain_text("src/app.py")
    page.keyboard.press("Enter")
    expect(page.locator(".palette .crumbs")).to_contain_text("path: src/app.py")
    page.keyboard.type("abc")
    page.keyboard.press("Enter")
    expect(page.locator(".palette .hint.bad")).to_contain_text("number")
    page.locator(".palette input").fill("200")
    page.keyboard.press("Enter")
    until(page, "() => window.__fh.model.editors.get('src/app.py').line === 200")


def test_every_command_of_a_person_is_in_the_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    missing = page.evaluate(
        """async () => {
            const input = document.querySelector('.palette input'), missing = [];
            for (const command of window.__fh.model.commands.values()) {
                if (!command.actors.includes('person')) continue;
                input.value = '>' + command.id.replace('openspace.', '');
                input.dispatchEvent(new Event('input'));
                const there = () => [...document.querySelectorAll('.palette .note')]
                    .some(note => note.textContent === command.id.replace('openspace.', ''));
                for (let i = 0; i < 2000 && !there(); i++) await new Promise(r => setTimeout(r, 10));
                if (!there()) missing.push(command.id);
            }
            return missing;
        }"""
    )
    assert missing == []


def test_colours_follow_the_system_and_a_choice(visit: Visit) -> None:
    page = visit(color_scheme="light")
    theme = "() => document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "light"
    page.emulate_media(color_scheme="dark")
    until(page, "() => document.documentElement.dataset.theme === 'dark'")
    page.keyboard.press("Control+k")
    page.keyboard.type("colours: light")
    expect(page.locator(".palette li").first).to_contain_text("Colours: light")
    page.keyboard.press("Enter")
    until(page, "() => document.documentElement.dataset.theme === 'light'")
    page.reload()
    until(page, "() => document.documentElement.dataset.theme === 'light'")


def test_a_small_screen_shows_one_thing_at_a_time_and_stop_stays(visit: Visit, served: Served) -> None:
    served.agent()
    page = visit(viewport={"width": 390, "height": 780})
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.get_by_role("tab", name="Files").click()
    page.get_by_role("treeitem", name="README.md").click()
    expect(page.locator(".monaco-editor").first).to_be_visible()
    expect(page.get_by_role("tree")).to_be_hidden()
    served.agent("Bob", consent=False).start("openspace.editor.open", {"path": "src/app.py"})
    expect(page.locator("dialog.floating")).to_contain_text("Allow Bob to work here?")
    page.get_by_role("tab", name="Agent", exact=True).last.click()
    expect(page.get_by_label("Message the agent")).to_be_visible()
    expect(page.locator("dialog.floating")).to_be_hidden()
    page.locator(".questions").get_by_role("button", name="Not now").click()


def test_half_a_screen_has_room_for_the_work_and_a_drawer_of_files(visit: Visit, served: Served) -> None:
    served.agent()
    page = visit(viewport={"width": 700, "height": 800})
    expect(page.get_by_role("tree")).to_be_hidden()
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_role("treeitem", name="README.md").click()
    expect(page.get_by_role("tree")).to_be_hidden()
    until(page, "() => window.__fh.editors['README.md']?.code?.hasFocus()")
    page.keyboard.press("Control+b")
    expect(page.get_by_role("tree")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("tree")).to_be_hidden()
    for name in ("Stop", "Help", "Send", "New chat"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 700


def test_what_a_program_does_to_an_open_file_appears_and_never_over_what_is_typed(page: Page, served: Served) -> None:
    file = served.workspace / "src/store.py"
    open_file(page, "src/store.py")
    page.keyboard.press("Control+End")
    file.write_text("class Store:\n    size = 1\n")
    until(page, "() => window.__fh.editors['src/store.py'].code.text().includes('size = 1')")
    expect(page.locator(".status")).to_contain_text("Ln 3, Col 1")
    page.keyboard.type("# mine")
    file.write_text("# theirs\n")
    note = page.locator(".editornote")
    expect(note).to_contain_text("changed on disk while you were typing")
    assert page.evaluate("() => window.__fh.editors['src/store.py'].code.text()").endswith("# mine")
    note.get_by_role("button", name="Compare").click()
    expect(page.locator(".monaco-diff-editor")).to_be_visible()
    note.get_by_role("button", name="Take theirs").click()
    until(page, "() => window.__fh.editors['src/store.py'].code.text() === '# theirs\\n'")
    expect(note).to_be_hidden()


def test_huge_files_say_what_can_be_done_with_them_and_leave_the_page_usable(page: Page, served: Served) -> None:
    (served.workspace / "large.txt").write_text("a line of some words\n" * 60_000)
    with (served.workspace / "huge.log").open("wb") as file:
        file.truncate(50_000_000)
        file.write(b"text")
    open_file(page, "large.txt")
    expect(page.locator(".editornote")).to_contain_text("Read only")
    page.keyboard.type("not taken")
    page.keyboard.press("Control+s")
    page.evaluate("() => { window.__fh.desk.typedAt = 0; }")  # else the new tab stays behind what is typed in
    served.call("openspace.editor.open", {"path": "huge.log"})
    expect(page.locator(".unreadable")).to_contain_text("50000000 bytes")
    page.locator(".unreadable").get_by_role("button", name="Look at it in a terminal").click()
    until(page, "() => Object.keys(window.__fh.terminals).length === 1")
    assert page.evaluate("() => window.__fh.link.status.kind") == "open"
    assert (served.workspace / "large.txt").stat().st_size == 21 * 60_000


def test_scrolling_away_pauses_following_until_it_is_resumed(page: Page, served: Served) -> None:
    agent = served.agent()
    agent.call("openspace.editor.open", {"path": "src/app.py", "line": 20})
    until(page, "() => window.__fh.editors['src/app.py']?.code")
    page.locator(".editor").hover()
    page.mouse.wheel(0, 400)
    expect(page.get_by_role("button", name="Paused following")).to_be_visible()
    agent.call("openspace.editor.open", {"path": "README.md"})
    expect(page.get_by_role("tab", name="README.md").locator(".dot")).to_be_visible()
    expect(page.get_by_role("tab", name="app.py")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Paused following").click()
    expect(page.get_by_role("tab", name="README.md")).to_have_attribute("aria-selected", "true")


def test_two_browsers_share_unsaved_text(visit: Visit) -> None:
    first, second = visit(), visit()
    open_file(first, "README.md")
    until(second, "() => window.__fh.editors['README.md']?.code")
    first.keyboard.type("shared ")
    until(second, "() => window.__fh.editors['README.md'].code.text().startsWith('shared ')")
    first.keyboard.press("Control+s")
    until(second, "() => !window.__fh.model.editors.get('README.md').dirty")


def test_a_turn_shows_the_hosts_that_its_programs_spoke_to(page: Page, served: Served) -> None:
    agent = served.agent()

    async def turn() -> None:
        served.app.bench.turns.begin(agent.session.id, "Ada", "Send it")
        log = served.app.bench.network.gatekeeper.log
        log.add(agent.session.id, "paste.example", connections=2, up=12_300, down=45, by="once")
        log.add(agent.session.id, "evil.example", refused=1)
        served.app.bench.turns.end(agent.session.id)
        await served.app.bench.turns.ended(agent.session.id)

    served.do(turn())
    page.get_by_role("tab", name="Changes").click()
    hosts = page.get_by_role("region", name="Send it").get_by_role("list", name="Hosts it spoke to")
    expect(hosts.get_by_role("listitem")).to_have_text(
        ["evil.example refused", "paste.example sent 12 kB, received 45 B"]
    )
    page.get_by_role("button", name="Seen").click()
    expect(page.get_by_text("No changes to review")).to_be_visible()


def test_a_turn_is_undone_with_what_its_programs_changed(page: Page, served: Served) -> None:
    agent = served.agent()
    assert agent.call("openspace.file.write", {"path": "src/limits.py", "content": "MAX_BODY = 10_000\n"}).success
    line = "rm tests/test_app.py; echo 'use flake' > .envrc; printf 'class Store:\\n    size = 0\\n' > src/store.py"
    subprocess.run(["bash", "-c", line], cwd=served.workspace, check=True)  # as a program of the turn

    async def finish() -> None:
        served.app.bench.turns.end(agent.session.id)
        await served.app.bench.turns.ended(agent.session.id)

    served.do(finish())
    page.get_by_role("tab", name="Changes (4)").click()
    expect(page.get_by_role("group", name="Runs by itself")).to_contain_text(".envrc")
    expect(page.get_by_role("article", name="src/store.py")).to_contain_text("by a command")
    (served.workspace / "src/store.py").write_text("mine\n")
    page.get_by_role("button", name="Undo turn").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("src/store.py: it was changed since")
    dialog.get_by_role("button", name="Undo turn").click()
    expect(page.get_by_role("dialog")).to_contain_text("left as they are")
    assert (served.workspace / "src/store.py").read_text() == "mine\n"
    assert (served.workspace / "tests/test_app.py").exists()
    assert not (served.workspace / ".envrc").exists()
    assert not (served.workspace / "src/limits.py").exists()
