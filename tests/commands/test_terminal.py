"""The terminal commands through a whole workbench: variables, sizes, the limit, long output."""

from collections.abc import AsyncIterator

import pytest
from tests.kit.person import Person, let_in
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Actor, Result
from fourhands.core.question import Choice
from fourhands.settings import Settings, TerminalSettings


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        yield app


async def test_an_agent_s_variables_reach_its_shell_and_dangerous_ones_the_person_first(app: App) -> None:
    person, session = Person(app), let_in(app)

    async def printed(result: Result, line: str) -> str:
        assert result.success, result
        terminal = app.terminals.get(str(result.data["terminalId"]))
        return (await terminal.run(line, timeout_s=40)).output

    async def create(**args: object) -> Result:
        return await app.call("openspace.terminal.create", args, actor=session.actor)

    made = await create(env={"NODE_ENV": "test", "ODD": "a 'b'\n$HOME", "LANG": None})
    assert await printed(made, 'echo "$NODE_ENV/$ODD/${LANG-none}"') == "test/a 'b'\n$HOME/none\n"
    assert not person.was_asked
    choices: tuple[Choice, ...] = ("deny", "once")
    for choice in choices:
        waiting = app.tasks.start(create(env={"PYTHONPATH": "/evil"}), "a dangerous variable")
        question = await person.question()
        assert (question.level, question.shown) == ("dangerous", "PYTHONPATH=/evil")
        assert "PYTHONPATH" in question.reason
        person.answer(question, choice)
        result: Result = await waiting
        assert result.code == ("denied" if choice == "deny" else "")
    assert await printed(result, "echo $PYTHONPATH") == "/evil\n"
    mine = await app.call("openspace.terminal.create", {"env": {"EDITOR": "ed"}})  # a person is not asked
    assert await printed(mine, "echo $EDITOR") == "ed\n"
    before = len(app.terminals.list())
    for env, name in (({"A=B": "1"}, "A=B"), ({"A": "x\0"}, "A"), ({"": "1"}, "''")):
        for actor in (Actor.person(), session.actor):
            refused = await app.call("openspace.terminal.create", {"env": env}, actor=actor)
            assert (refused.code, name in refused.error) == ("bad-env", True)
    mistakes: tuple[object, ...] = ({"A": 1}, ["A=1"], "A=1", {"A": ["x"]})
    for wrong in mistakes:
        assert (await create(env=wrong)).code == "bad-argument"
    assert len(app.terminals.list()) == before


async def test_the_limit_is_told_and_set_and_closes_nothing(app: App) -> None:
    agent = let_in(app).actor

    async def told(verb: str, actor: Actor | None = None, **args: object) -> dict[str, object]:
        return (await app.call(f"openspace.terminal.{verb}", args, actor=actor)).to_wire()

    for actor in (None, agent):
        assert await told("limit", actor) == {"success": True, "maxTerminals": 100, "count": 0, "setting": 100}
    first, *_ = [(await told("create", agent))["terminalId"] for _ in range(2)]
    assert await told("set_limit", maxTerminals=1) == {"success": True, "maxTerminals": 1, "count": 2, "setting": 100}
    assert [terminal.exited for terminal in app.terminals.list()] == [False, False]
    for verb, args in (("create", {}), ("exec", {"command": "true"})):
        refused = await told(verb, agent, **args)
        assert (refused["code"], "the limit is 1" in str(refused["error"])) == ("limit", True)
    await told("close", terminalId=first)
    assert (await told("create", agent))["code"] == "limit"
    await told("set_limit", maxTerminals=2)
    assert (await told("create", agent))["success"]
    assert (await told("limit", agent))["count"] == 2
    assert (await told("set_limit", agent, maxTerminals=100))["code"] == "denied"
    wrong: tuple[object, ...] = (0, -1, 10_001, 2**53, 1.5, "many", True, None)
    for limit in wrong:
        assert (await told("set_limit", maxTerminals=limit))["code"] == "bad-argument", limit
    assert (await told("set_limit"))["code"] == "bad-argument"
    assert app.terminals.max_terminals == 2


async def test_who_names_no_size_gets_the_usual_one(app: App) -> None:
    agent = let_in(app).actor

    async def size(actor: Actor | None = None, **args: object) -> tuple[int, int]:
        made = await app.call("openspace.terminal.create", args, actor=actor)
        return app.terminals.get(str(made.data["terminalId"])).size

    assert (await size(), await size(cols=100), await size(rows=50)) == ((80, 24), (100, 24), (80, 50))
    assert (await size(agent), await size(agent, cols=80, rows=24)) == ((120, 40), (80, 24))
    assert (await app.terminals.create(argv=["cat"])).size == (80, 24)
    async with open_app(Settings(terminal=TerminalSettings(cols=91))) as other:
        assert (await other.terminals.create(argv=["cat"])).size == (91, 24)
        assert (await other.terminals.create(argv=["cat"], agent=True)).size == (91, 40)


async def test_more_lines_than_come_at_once_give_the_last_ones_and_say_so(app: App) -> None:
    terminal = await app.terminals.create(argv=["seq", "1", "20000"], title="long")
    short = await app.terminals.create(argv=["seq", "1", "10000"], title="just")
    for one in (terminal, short):
        await one.wait(exit=True, deadline_s=40)
    for actor in (Actor.person(), let_in(app).actor):

        async def read(title: str, lines: int, actor: Actor = actor) -> dict[str, object]:
            result = await app.call(
                "openspace.terminal.read_output", {"terminalId": title, "lines": lines}, actor=actor
            )
            assert result.success or result.code == "bad-argument", result
            return result.to_wire()

        for lines in (20_000, 10_001, 2**53, 2**64):
            found = await read("long", lines)
            assert found["output"] == [str(number) for number in range(10_001, 20_001)]
            assert (found["truncated"], "last 10000 lines" in str(found["note"])) == (True, True)
        for title, lines, count in (("long", 10_000, 10_000), ("long", 3, 3), ("just", 20_000, 10_000)):
            found = await read(title, lines)
            assert (len(found["output"]), found["truncated"], found["note"]) == (count, False, "")  # type: ignore[arg-type]
        for lines in (0, -1, -(2**53)):
            assert (await read("long", lines))["code"] == "bad-argument"
