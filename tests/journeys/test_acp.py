"""An agent that speaks ACP, as a person at the page has it: its mode by the palette, its commands in a terminal."""

import json
import sys
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.journeys.test_asking import picture
from tests.journeys.test_whole import serious
from tests.kit.browser import LIMIT_S, Served, wait_for_screen

from fourhands.agents.acp.connector import AcpAgent
from fourhands.agents.acp.recipe import Recipe
from fourhands.core.event import Event

FAKE = str(Path(__file__).parent.parent / "kit" / "fake_acp_agent.py")


async def begin(served: Served, **can: object) -> AcpAgent:
    bench = served.app.bench
    session = bench.begin_session("fake", "acp")
    served.app.gate.consent.grant(session.id)
    options = json.dumps({"modes": ["ask", "code"], "capabilities": can})
    env = {**served.app.terminals.env, "FAKE_LOG": f"{served.home}/fake.log", "FAKE_OPTIONS": options}
    agent = AcpAgent(bench, session, Recipe(name="fake"), [sys.executable, FAKE], env=env)
    await agent.__aenter__()
    await agent.ready()
    return agent


async def listen(served: Served, kind: str) -> "Future[Mapping[str, object]]":
    """What the next event of this kind says."""
    heard: Future[Mapping[str, object]] = Future()

    def hear(event: Event) -> None:
        if event.kind == kind and not heard.done():
            heard.set_result(event.data)

    served.app.events.published.subscribe(hear)
    return heard


def test_a_mode_is_chosen_and_a_command_of_the_agent_is_answered_by_hand(page: Page, served: Served) -> None:
    agent = served.do(begin(served))
    page.keyboard.press("Control+k")
    page.keyboard.type(">switch an agent")
    expect(page.locator(".palette li").first).to_contain_text("Switch agent mode")
    page.keyboard.press("Enter")
    expect(page.locator(".palette li").first).to_contain_text("fake")
    page.keyboard.press("Enter")
    expect(page.locator(".palette li", has_text="ask")).to_contain_text("now")
    switched = served.do(listen(served, "agent.switched"))
    page.locator(".palette li", has_text="code").click()
    assert switched.result(LIMIT_S)["mode"] == "code"

    line = 'printf "your name? "; read name; echo "hello, $name"'
    create = ["call", "terminal/create", {"command": line}]
    waits = ["call", "terminal/wait_for_exit", {"terminalId": "$terminal"}]
    reads = ["call", "terminal/output", {"terminalId": "$terminal"}]
    titled = ["update", {"sessionUpdate": "session_info_update", "title": "A greeting"}]
    offered = {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "wave", "description": "Hi"}],
    }
    served.do(agent.prompt(json.dumps([titled, ["update", offered], create, waits, reads])))
    wait_for_screen(page, "your name?")
    page.locator(".xterm:visible").last.click()
    page.keyboard.type("Ann\n")
    wait_for_screen(page, "hello, Ann")
    served.do(agent.idle())
    expect(page.get_by_role("log")).to_contain_text("hello, Ann")
    expect(page.locator(".agentbar")).to_contain_text("A greeting")
    page.get_by_label("Message the agent").press_sequentially("/w")
    expect(page.get_by_role("option", name="/wave")).to_be_visible()
    served.do(agent.__aexit__(None, None, None))


def test_past_chats_are_listed_resumed_and_deleted(page: Page, served: Served) -> None:
    agent = served.do(begin(served, loadSession=True, sessionCapabilities={"list": {}, "delete": {}}))

    def listed() -> Locator:
        page.keyboard.press("Control+k")
        page.keyboard.type(">list past chats")
        expect(page.locator(".palette li").first).to_contain_text("List past chats")
        page.keyboard.press("Enter")
        expect(page.locator(".palette li").first).to_contain_text("fake")
        page.keyboard.press("Enter")
        return page.get_by_role("dialog", name="Past chats")

    chats = listed()
    expect(chats.get_by_role("listitem")).to_have_count(2)
    expect(chats.get_by_role("button", name="Resume: A chat")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(chats.get_by_role("button", name="Keep: A chat")).to_be_focused()
    assert serious(page) == []
    picture(page, "past-chats")
    page.keyboard.press("Enter")  # the way back
    expect(chats.get_by_role("button", name="Delete: A chat")).to_be_focused()
    page.keyboard.press("Enter")
    chats.get_by_role("button", name="Delete for good: A chat").click()
    expect(chats.get_by_role("listitem")).to_have_count(1)
    expect(chats.get_by_role("button", name="Resume: b")).to_be_focused()
    assert [one.id for one in served.do(agent.chats())] == ["b"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("old question")
    assert agent.acp.id == "b"
    expect(listed().get_by_role("listitem")).to_have_count(1)
    page.get_by_role("button", name="Delete: b").click()
    page.get_by_role("button", name="Delete for good: b").click()
    expect(page.locator(".toast")).to_contain_text("is in this chat")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Past chats")).to_be_hidden()
    served.do(agent.__aexit__(None, None, None))
