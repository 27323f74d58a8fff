"""One hostile story through every door: what must be hidden from agents is really there, and no agent sees it.

Each story is told through each agent's door on one server. The oracle is the same for all: what the person's doors
show has the secret in it (so that "not seen" proves something), what the agent was given has not; what a person is
asked shows deceptive characters by name; a question of one session comes to no other, and no other can answer it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest
import pytest_asyncio
from tests.kit.agree import agreeable_person
from tests.kit.hostile import DOORS, Door, Puppet, Stage, as_text, seen_by_person
from tests.kit.person import PERSON, let_in
from tests.kit.server import LIMIT_S, serve_app, until

from fourhands.core.call import Call
from fourhands.core.event import Event
from fourhands.core.question import Answer
from fourhands.settings import Settings, UpstreamSettings

pytestmark = [
    # The newest revision has no levels of logging, and the client says so.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.slow,
    pytest.mark.timeout(180),
]

HARMLESS = "harmless-line"
TOKEN = "ghp_" + "Ab1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uVwXyZ"
KEY_LINES = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj{number:03}AgEAAoIBAQC7VJTUt9U" for number in range(96)]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"])
PASSWORD = "correct-horse-77"
BIDI = "\u202e"

KNOWN: dict[tuple[str, str], str] = {}
"""Leaks that are known and not mended yet: (story, door), and why. One that is mended must be taken off."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with Puppet() as model:
        remote = UpstreamSettings(url=model.url, connect_s=40.0)
        settings = msgspec.structs.replace(Settings(), upstreams=dict.fromkeys(("openai",), remote))
        async with serve_app(settings) as served:
            yield Stage(served, model)


# -- stories: each returns what went wrong, in words -----------------------------------------------------------------


async def printed(stage: Stage, door: Door, text: str, needles: list[str], *patterns: str, screen: bool) -> list[str]:
    """A program prints a text; the person sees the needles in it, the agent does not."""
    name = f"print-{len(door.seen)}-{door.name}.sh"
    (stage.root / f"{name}.txt").write_text(f"{text}\n{HARMLESS}\n")
    (stage.root / name).write_text(f"cat {name}.txt\n")
    with agreeable_person(stage.app):
        await door.run(name)
    mine = [one for one in stage.app.terminals.list() if one.title == f"sh {name}"]
    for terminal in mine:
        await terminal.wait(exit=True, deadline_s=LIMIT_S)
    before = len(door.seen)
    await (door.screen(name) if screen else door.look(name, HARMLESS, *patterns))
    wrong = [f"the agent sees {found}" for needle in needles for found in door.sees(needle, before)]
    if not door.sees(HARMLESS, before):
        wrong.append("the agent did not look")
    for terminal in mine:
        shown = await seen_by_person(stage, "terminal.read_output", terminalId=terminal.id, lines=10_000)
        for by, all in shown.items():
            wrong += [f"the person does not see {needle} by {by}" for needle in needles if needle not in all]
        await terminal.close()
    return wrong


async def a_token_printed(stage: Stage, door: Door) -> list[str]:
    return await printed(stage, door, f"export GITHUB_TOKEN={TOKEN}\n", [TOKEN], "ghp_", screen=False)


async def a_token_on_the_screen(stage: Stage, door: Door) -> list[str]:
    return await printed(stage, door, f"export GITHUB_TOKEN={TOKEN}\n", [TOKEN], screen=True)


async def a_key_across_the_limit(stage: Stage, door: Door) -> list[str]:
    return await printed(stage, door, KEY, KEY_LINES, "BEGIN", "MIIE", screen=False)


async def a_key_that_begins_above_the_screen(stage: Stage, door: Door) -> list[str]:
    return await printed(stage, door, KEY, KEY_LINES, screen=True)


async def a_password_while_echo_is_off(stage: Stage, door: Door) -> list[str]:
    name = f"ask-{len(door.seen)}.sh"
    script = (
        f"echo {HARMLESS}; stty -echo; printf 'Password: '; read x; echo \"typed $x\"; read y; stty echo; echo over\n"
    )
    (stage.root / name).write_text(script)
    with agreeable_person(stage.app):
        await door.run(name)
    mine = [one for one in stage.app.terminals.list() if one.title == f"sh {name}"]
    wrong = []
    for terminal in mine:
        await terminal.wait(pattern="Password: ", position=0, deadline_s=LIMIT_S)
    await door.look(name, HARMLESS)
    for terminal in mine:
        await stage.person("terminal.send", terminalId=terminal.id, text=f"{PASSWORD}\n")
        await terminal.wait(pattern="typed", position=0, deadline_s=LIMIT_S)
    await door.look(name, HARMLESS, "typed")
    for terminal in mine:
        await stage.person("terminal.send", terminalId=terminal.id, text="\n")
        await terminal.wait(exit=True, deadline_s=LIMIT_S)
    await door.look(name, HARMLESS, "typed")
    await door.screen(name)
    for terminal in mine:
        shown = await seen_by_person(stage, "terminal.read_output", terminalId=terminal.id, lines=1000)
        wrong += [f"the person does not see it by {by}" for by, all in shown.items() if PASSWORD not in all]
        await terminal.close()
    wrong += [f"the agent sees {found}" for found in door.sees(PASSWORD)]
    if HARMLESS not in door.all:
        wrong.append("the agent did not look")
    return wrong


async def the_draft_of_a_refused_file(stage: Stage, door: Door) -> list[str]:
    disk, draft = f"disk-needle-{len(door.seen)}", f"draft-needle-{len(door.seen)}"
    (stage.root / ".env").write_text(f"SECRET={disk}\n")
    await stage.person("editor.open", path=".env")
    await stage.person("editor.set_draft", path=".env", text=f"SECRET={draft}\n")
    try:
        with agreeable_person(stage.app):
            await door.read(".env", "needle")
        shown = await seen_by_person(stage, "workbench.snapshot")
        shown |= {
            f"{by}, reading": text for by, text in (await seen_by_person(stage, "file.read", path=".env")).items()
        }
    finally:
        await stage.person("editor.discard", path=".env")
        await stage.person("editor.close", path=".env")
    wrong = [f"the person does not see it by {by}" for by, all in shown.items() if draft not in all and disk not in all]
    # What the agent itself searched for may come back to it in an error.
    wrong += [f"the agent sees {needle}" for needle in (disk, draft) if needle in door.all]
    return wrong


async def a_bidi_line_in_a_question(stage: Stage, door: Door) -> list[str]:
    asked: list[str] = []

    def hear(event: Event) -> None:
        if event.kind == "question.asked":
            asked.append(as_text(event.data))
            stage.app.tasks.start(deny(str(event.data["id"])), "a person")

    async def deny(id: str) -> None:
        await asyncio.sleep(0.3)  # the door's own person is asked too, and answers first where there is one
        if any(one.id == id for one in stage.app.questions.open()):
            stage.app.questions.answer(id, Answer(choice="deny"), PERSON)

    leave, stop = stage.app.questions.attend(), stage.app.events.published.subscribe(hear)
    before, door.choice = len(door.asked), "deny"
    try:
        await door.propose(f"rm -f a{BIDI}txt.exe")
    finally:
        door.choice = "once"
        stop()
        leave()
    told = asked + door.asked[before:]
    wrong = [] if asked else ["nobody was asked"]
    wrong += [f"a person is shown {text!r:.300}" for text in told if BIDI in text or "U+202E" not in text]
    return wrong


async def the_question_of_another_session(stage: Stage, door: Door) -> list[str]:
    other = let_in(stage.app, "other")
    needle = f"other-needle-{len(door.seen)}"
    leave = stage.app.questions.attend()
    before = len(door.asked)
    try:
        call = Call(command="openspace.terminal.exec", args={"command": f"rm -rf {needle}"}, actor=other.actor)
        asking = stage.app.tasks.start(stage.app.gate.run(call), "another agent")
        await until(lambda: [one for one in stage.app.questions.open() if one.session == other.id])
        [question] = [one for one in stage.app.questions.open() if one.session == other.id]
        await door.pry(question.id)
        shown = await seen_by_person(stage, "workbench.questions")
        wrong = [f"the person does not see it by {by}" for by, all in shown.items() if needle not in all]
        if question not in stage.app.questions.open() or asking.done():
            wrong.append("it was answered")
        else:
            stage.app.questions.answer(question.id, Answer(choice="deny"), PERSON)
            if (await asking).code != "denied":
                wrong.append("it was allowed")
    finally:
        leave()
        await stage.app.bench.end_session(other.id)
    if needle in door.all:
        wrong.append("the agent sees it")
    if needle in "".join(door.asked[before:]):
        wrong.append("the person at this door is asked")
    return wrong


async def hostile_headers_and_queries(stage: Stage, door: Door) -> list[str]:
    return [f"let in: {name}" for name in await door.attack()]


STORIES: dict[str, Callable[[Stage, Door], Awaitable[list[str]]]] = {
    "a token printed": a_token_printed,
    "a token on the screen": a_token_on_the_screen,
    "a key across the limit": a_key_across_the_limit,
    "a key that begins above the screen": a_key_that_begins_above_the_screen,
    "a password while echo is off": a_password_while_echo_is_off,
    "the draft of a refused file": the_draft_of_a_refused_file,
    "a bidi line in a question": a_bidi_line_in_a_question,
    "the question of another session": the_question_of_another_session,
    "hostile headers and queries": hostile_headers_and_queries,
}


@pytest.mark.parametrize("door", DOORS)
async def test_the_story_through_every_door(stage: Stage, door: str) -> None:
    found: dict[str, list[str]] = {}
    async with DOORS[door](stage) as opened:
        for name, tell in STORIES.items():
            found[name] = await tell(stage, opened)
    wrong = {name: words for name, words in found.items() if words and (name, door) not in KNOWN}
    mended = [name for name in STORIES if (name, door) in KNOWN and not found[name]]
    assert not wrong, "\n".join(f"{name}: {words[:4]}" for name, words in wrong.items())
    assert mended == [], "no longer leaks: take it off the list"
