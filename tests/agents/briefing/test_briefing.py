"""The short form that goes with each request, and the state in the message of a turn."""

import pytest
from tests.kit.briefing import FakeTerminal, World, world

from fourhands.agents.blocks.interceptor import Interceptor
from fourhands.agents.briefing.briefing import compose
from fourhands.agents.briefing.budget import BRIEFING_TOKENS, TURN_COMMANDS_TOKENS, tokens
from fourhands.agents.briefing.feedback import Feedback, turn_message
from fourhands.agents.briefing.hub import Hub
from fourhands.app import CONTRIBUTIONS
from fourhands.core import schema
from fourhands.core.registry import Contribution, Registry
from fourhands.workbench.events import AgentReset
from fourhands.workbench.sessions import Session


@pytest.fixture
async def here(tmp_path):
    with world(tmp_path) as made:
        yield made


def real() -> Registry:
    registry = Registry()
    for contribution in CONTRIBUTIONS:
        registry.include(contribution)
    return registry


def song(name: str) -> Contribution:
    extra = Contribution(f"openspace.{name}")

    @extra.add("sing", example={})
    async def sing(bench: object) -> None:
        """Sing a song."""

    return extra


def begin_anew(here: World, session: Session) -> None:
    """As a person does with New chat."""
    session.reset()
    here.events.emit(AgentReset(session=session.id))


def told(here: World, session: Session) -> Feedback | None:
    return turn_message(session, here.registry, here.bench)


def test_it_is_short_has_the_core_commands_whole_and_names_all_others():
    registry = real()
    text = compose(registry, tools=False)
    assert tokens(text) <= BRIEFING_TOKENS
    assert tokens(compose(registry, tools=True)) <= 500
    for command in registry:
        if "agent" in command.actors and command.id != "openspace.agent.help":
            assert (f"- {command.id}(" if command.core else command.id.rpartition(".")[2] + "(") in text, command.id
    crowd = [registry.include(song(f"choir{number}")) for number in range(400)]
    assert tokens(compose(registry, tools=False)) <= BRIEFING_TOKENS
    assert "openspace.agent.help" in compose(registry, tools=False)
    assert len(crowd) == 400


def test_every_block_in_it_would_run_and_with_tools_it_has_none():
    registry = real()
    interceptor = Interceptor()
    text = compose(registry, tools=False)
    found = [*interceptor.feed(text).commands, *interceptor.close().commands]
    assert len(found) == text.count("%%OS{") > 6
    for command in found:
        wanted = registry.get(command["cmd"], "agent").args_type
        if wanted is not None:
            schema.decode(command.get("args", {}), wanted)
    assert "%%OS" not in compose(registry, tools=True)
    assert "block" not in compose(registry, tools=True).replace("Blocks in it are broken", "")


async def test_it_stays_the_same_for_a_chat_and_commands_that_come_and_go_are_told_in_a_turn(here: World):
    hub, session, other = Hub(here.bench, here.registry), here.session(), here.session("Eve")
    first = hub.briefing(session.id)
    dispose = here.registry.include(song("extra"))
    here.bench.state.open_editor("a.py", owner="person")
    assert hub.briefing(session.id) == first
    assert "extra: sing()" in hub.briefing(other.id)
    message = told(here, session)
    assert message is not None
    assert "- openspace.extra.sing(): Sing a song." in message.text
    message.restore()
    assert told(here, session) is not None
    assert told(here, session) is None
    told(here, other)
    dispose()
    message, others = told(here, session), told(here, other)
    assert message is not None
    assert message.text.endswith("Commands: as at the beginning")
    assert others is not None
    assert others.text.endswith("- no longer there: openspace.extra.sing")
    for number in range(200):
        here.registry.include(song(f"choir{number}"))
    message = told(here, session)
    assert message is not None
    assert tokens(message.text) <= TURN_COMMANDS_TOKENS + 40
    begin_anew(here, session)
    assert "choir7: sing()" in hub.briefing(session.id)
    assert told(here, session) is not None  # the editor, to a model that has heard of nothing
    assert hub.briefing("session_of-none").startswith("# Fourhands workbench")
    await hub.close()


async def test_the_state_is_told_once_and_only_the_part_that_changed(here: World):
    session = here.session()
    assert told(here, session) is None, "of nothing there is nothing to tell"
    here.bench.state.open_editor("src/a.py", owner="person", line=7)
    here.terminals.all.append(FakeTerminal("build `%%OS{x}%%`", head=5))
    message = told(here, session)
    assert message is not None
    assert message.text.splitlines()[1:] == [
        "Open editors:",
        "- src/a.py, line 7, active",
        "Active pane: editor src/a.py",
        "Terminals:",
        "- build '%%\u2060OS{x}%%': at its prompt",
    ]
    assert message.framed == f"<fourhands-workbench>\n{message.text}\n</fourhands-workbench>"
    here.terminals.all[0].head = 500
    assert told(here, session) is None, "output alone is no news"
    here.terminals.all[0].shell_state = "running"
    lost = told(here, session)
    assert lost is not None
    assert lost.text.splitlines()[1:] == ["Terminals:", "- build '%%\u2060OS{x}%%': runs a command"]
    lost.restore()
    again = told(here, session)
    assert again is not None
    assert again.text == lost.text
    here.terminals.all.clear()
    here.gate.is_paused = True
    message = told(here, session)
    assert message is not None
    assert message.text.splitlines()[1:] == ["Terminals: none", "Chat: paused by the person"]
    here.gate.is_paused = False
    message = told(here, session)
    assert message is not None
    assert message.text.endswith("Chat: nothing waits, nothing is paused")


async def test_a_message_that_comes_back_late_takes_nothing_newer_away(here: World):
    session = here.session()
    here.bench.state.open_editor("a.py", owner="person")
    lost = told(here, session)
    here.bench.state.open_editor("b.py", owner="person")
    newer = told(here, session)
    assert lost is not None
    assert newer is not None
    lost.restore()
    assert told(here, session) is None
    begin_anew(here, session)
    newer.restore()
    assert session.told == {}
