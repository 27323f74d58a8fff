"""An agent's commands and the person who is asked about them, end to end through a whole workbench."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.clock import let_pass
from tests.kit.person import Person, let_in
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Result
from fourhands.settings import SafetySettings, Settings
from fourhands.workbench.files.deletion_preview import PreviewLimits
from fourhands.workbench.sessions import Session

HASTY = Settings(safety=SafetySettings(unknown_answer_s=20))


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        yield app


def bash(app: App, session: Session, command: str) -> "asyncio.Task[Result]":
    return app.tasks.start(app.call("openspace.tool.bash", {"command": command}, actor=session.actor), command)


def built(app: App) -> Path:
    build = Path(app.bench.root, "build")
    (build / "tmp").mkdir(parents=True)
    (build / "tmp" / "a.o").write_bytes(b"x" * 100)
    (build / "keep").write_text("kept")
    return build


async def test_a_dangerous_command_waits_and_runs_as_the_person_edited_it(app: App) -> None:
    person, session, build = Person(app), let_in(app), built(app)
    running = bash(app, session, "rm -rf build")
    question = await person.question()
    assert (question.level, question.shown, question.limit_s) == ("dangerous", "rm -rf build", None)
    assert "session" not in question.options
    assert build.exists()
    assert not running.done()
    person.answer(question, "edit", text="rm -r build/tmp")
    result = await running
    assert result.data["ok"], result
    assert result.data["editedArgs"] == {"command": "rm -r build/tmp"}
    assert not (build / "tmp").exists()
    assert (build / "keep").exists()
    [entry] = await app.journal.query(command="openspace.tool.bash")
    assert entry.call.args == {"command": "rm -r build/tmp"}
    assert entry.verdict.original == {"command": "rm -rf build"}
    assert (entry.verdict.level, entry.verdict.choice) == ("dangerous", "edit")


async def test_the_card_says_what_would_be_deleted(app: App) -> None:
    app.policy.preview_limits = PreviewLimits(seconds=40.0)
    app.gate.approval.preview_s = 40.0
    person, session = Person(app), let_in(app)
    built(app)
    running = bash(app, session, "rm -rf build")
    question = await person.question()
    assert question.detail["files"] == 2
    assert question.detail["folders"] == 2
    assert question.detail["bytes"] == 104
    assert question.detail["paths"] == ["build"]
    person.answer(question, "deny")
    await running


async def test_a_refusal_reaches_the_agent_with_its_reason(app: App) -> None:
    person, session, build = Person(app), let_in(app), built(app)
    running = bash(app, session, "rm -rf build")
    person.answer(await person.question(), "deny", reason="I still need it")
    result = await running
    assert (result.success, result.code) == (False, "denied")
    assert "I still need it" in result.error
    assert build.exists()


async def test_no_answer_to_an_unknown_command_is_a_clear_error() -> None:
    async with open_app(HASTY) as app:
        person, session = Person(app), let_in(app)
        running = bash(app, session, "./deploy.sh")
        question = await person.question()
        assert (question.level, question.limit_s) == ("unknown", 20)
        let_pass(20)
        result = await running
        assert (result.success, result.code) == (False, "no-answer")
        assert "no answer within 20 s" in result.error
        assert "nothing was run" in result.hint
        assert [event.kind for event in person.ended] == ["question.expired"]


async def test_a_dangerous_question_has_no_time_limit() -> None:
    async with open_app(HASTY) as app:
        person, session, build = Person(app), let_in(app), built(app)
        dangerous, unknown = bash(app, session, "rm -rf build"), bash(app, session, "./deploy.sh")
        questions = {question.level: question for question in (await person.question(), await person.question())}
        let_pass(20)
        assert (await unknown).code == "no-answer"
        assert not dangerous.done()
        person.answer(questions["dangerous"], "once")
        assert (await dangerous).data["ok"]
        assert not build.exists()


async def test_approving_one_line_approves_nothing_else(app: App) -> None:
    person, session = Person(app), let_in(app)
    built(app)
    for command in ("rm -r build/tmp", "rm -r build/tmp ", "rm -r build"):
        running = bash(app, session, command)
        question = await person.question()
        assert question.shown == command
        person.answer(question, "once")
        await running


async def test_a_session_rule_covers_the_same_words_only(app: App) -> None:
    person, session = Person(app), let_in(app)
    script = Path(app.bench.root, "check.sh")
    script.write_text("#!/bin/sh\necho checked $1\n")
    script.chmod(0o755)
    first = bash(app, session, "./check.sh one")
    question = await person.question()
    assert question.rule == "run exactly: ./check.sh one"
    person.answer(question, "session")
    assert (await first).data["output"] == "checked one\n"
    assert (await bash(app, session, "./check.sh  'one'")).data["output"] == "checked one\n"
    assert not person.was_asked
    others = [
        "./check.sh two",
        "./check.sh one two",
        "./check.sh one > out",
        "X=1 ./check.sh one",
        "cd . && ./check.sh one",
    ]
    for other in others:
        running = bash(app, session, other)
        person.answer(await person.question(), "deny")
        assert (await running).code == "denied", other
    another = let_in(app, "another")
    running = bash(app, another, "./check.sh one")
    person.answer(await person.question(), "deny")
    assert (await running).code == "denied"


async def test_there_is_no_session_rule_for_a_dangerous_command(app: App) -> None:
    person, session = Person(app), let_in(app)
    built(app)
    running = bash(app, session, "rm -r build/tmp")
    question = await person.question()
    with pytest.raises(Exception, match="no answer 'session'"):
        person.answer(question, "session")
    person.answer(question, "deny")
    await running


async def test_with_nobody_there_the_call_fails_at_once(app: App) -> None:
    session, build = let_in(app), built(app)
    result = await bash(app, session, "rm -rf build")
    assert (result.success, result.code) == (False, "no-answer")
    assert "no one is available" in result.error
    assert build.exists()
    assert (await bash(app, session, "ls")).data["output"] == "build\n"  # what is safe needs nobody


async def test_two_questions_at_once_are_answered_each_on_its_own(app: App) -> None:
    person, session, build = Person(app), let_in(app), built(app)
    first, second = bash(app, session, "rm build/keep"), bash(app, session, "rm -r build/tmp")
    questions = {question.shown: question for question in (await person.question(), await person.question())}
    person.answer(questions["rm -r build/tmp"], "deny")
    assert (await second).code == "denied"
    assert not first.done()
    person.answer(questions["rm build/keep"], "once")
    assert (await first).success
    assert [one.name for one in build.iterdir()] == ["tmp"]


async def test_stopping_the_agent_takes_its_question_back(app: App) -> None:
    person, session, build = Person(app), let_in(app), built(app)
    running = bash(app, session, "rm -rf build")
    question = await person.question()
    stopped = await app.call("openspace.agent.stop", {"sessionId": session.id})
    assert stopped.data["count"] == 1
    result = await running
    assert not result.success
    assert app.questions.open() == []
    assert [event.kind for event in person.ended] == ["question.withdrawn"]
    with pytest.raises(Exception, match=r"closed|no longer"):
        person.answer(question, "once")
    assert build.exists()


async def test_a_safe_command_asks_nobody(app: App) -> None:
    person, session = Person(app), let_in(app)
    assert (await bash(app, session, "echo hello")).data["output"] == "hello\n"
    assert not person.was_asked


async def test_a_line_typed_in_pieces_is_edited_as_a_whole(app: App) -> None:
    person, session, build = Person(app), let_in(app), built(app)
    made = await app.call("openspace.terminal.create", {"title": "work"}, actor=session.actor)
    terminal = app.terminals.get(str(made.data["terminalId"]))
    await terminal.wait(input_wanted=True, deadline_s=40)

    def send(text: str) -> "asyncio.Task[Result]":
        args: dict[str, object] = {"terminalId": "work", "text": text}
        return app.tasks.start(app.call("openspace.terminal.send", args, actor=session.actor), "typing")

    assert (await send("r")).success
    assert (await send("m")).success
    assert not person.was_asked
    running = send(" -rf build\n")
    question = await person.question()
    assert question.shown.rstrip("\n") == "rm -rf build"
    finished = terminal.finished_commands
    person.answer(question, "edit", text="rm -r build/tmp")
    assert (await running).success
    if terminal.finished_commands == finished:
        await terminal.wait(finished=True, deadline_s=40)
    assert not (build / "tmp").exists()
    assert (build / "keep").exists()
