"""What a model sees through the proxy, request by request: one true story, whole, in order, once, not rewritten."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit.model import Answer, Model, Request, Tool
from tests.kit.stage import Stage, stage
from tests.kit.story import block
from tests.kit.talker import PATHS, Talker, numbers, system, together, view, words
from tests.kit.workbench import temporary_places

DIALECTS = list(PATHS)
TURNS = 30


def script(turn: int, name: str) -> Answer:
    """What the model says in a turn: reads, failures, tools of its own, nothing but blocks, or nothing to run."""
    read = block("file.read", path=f"{name}-{turn}.txt")
    lost = block("file.read", path=f"missing-{name}-{turn}.txt")
    says: dict[int, str | list[str]] = {
        0: f"Reading.\n\n{read}\n\nThen more.",
        1: [f"Two of {turn}: {read[:9]}", f"{read[9:]}\n", f"{lost} and the end"],
        2: f"Nothing to run in {turn}.",
        3: f"\n{read}\n",
        4: f"Failing. {lost}",
        5: block("editor.open", path=f"{name}-{turn}.txt") + f"\nOpened {turn}.",
    }
    said = says[turn % 6]
    tools = [Tool("own", {}, f"call_{name}_{turn}"), Tool("own", {}, f"call2_{name}_{turn}")][: turn // 6 % 3]
    return Answer(said, tools=tools if turn % 6 in (1, 3, 4) else [], id=f"{name}{turn}")


def runs(turn: int) -> int:
    """The number of blocks in that answer."""
    return {1: 2, 2: 0}.get(turn % 6, 1)


class Watch:
    """The requests of one conversation, each held against the one before."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.answers: list[Answer] = []
        self.bodies: list[dict[str, Any]] = []

    def take(self, request: Request) -> Answer:
        self.bodies.append(request.body)
        self.answers.append(script(len(self.answers), self.name))
        return self.answers[-1]

    def check(self, turn: int) -> None:
        """The request of this turn has the whole story until then."""
        body = self.bodies[turn]
        sent, text = view(body), words(view(body))
        if turn:
            before = self.bodies[turn - 1]
            assert sent[: len(view(before))] == view(before), f"{self.name}: the past was rewritten in turn {turn}"
            assert system(body) == system(before)
        for number, answer in enumerate(self.answers[:turn]):
            for piece in answer.pieces if isinstance(answer.text, str) else [answer.whole]:
                assert text.count(piece) == 1, (
                    f"{self.name}: answer {number} stands {text.count(piece)} times in {turn}"
                )
            shown = f"content of {self.name} {number}\n"
            assert text.count(shown) == (number % 6 in (0, 1, 3)), f"{self.name}: result {number} in turn {turn}"
        told = numbers(text)
        assert len(told) == len(set(told)) == sum(map(runs, range(turn)))
        places = [text.index(answer.whole) for answer in self.answers[:turn]]
        assert places == sorted(places)


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_in_thirty_turns_of_four_conversations_each_model_sees_one_story_also_over_a_restart():
    watches = {name: Watch(name) for name in DIALECTS}
    with temporary_places() as places:
        for name in DIALECTS:
            for turn in range(TURNS):
                Path(places.workspace, f"{name}-{turn}.txt").write_text(f"content of {name} {turn}\n")
        async with Model(lambda request: watches[request.dialect].take(request)) as model:
            talkers: dict[str, Talker] = {}
            for turns in (range(TURNS // 2), range(TURNS // 2, TURNS)):
                async with stage(upstream=model.url, places=places) as s, s.raw() as http:
                    for name in DIALECTS:
                        known = talkers.get(name)
                        history, calls = (known.history, known.calls) if known else ([], [])
                        talkers[name] = Talker(name, http, parts=name == "anthropic", history=history, calls=calls)
                    for turn in turns:
                        for name, talker in talkers.items():
                            shown = await talker.ask(f"go {name} {turn}")
                            assert "%%OS" not in shown
                            await s.journal()
                            watches[name].check(turn)
            briefings = {json.dumps(system(body)) for body in watches["chat"].bodies}
            assert len(briefings) == 1
            assert "# Fourhands workbench" in briefings.pop()
            cached = watches["anthropic"].bodies[-1]["system"][0]
            assert cached["cache_control"] == {"type": "ephemeral"}, "the client's own marks are left alone"


def reading(name: str, said: str = "") -> str:
    """An answer with a block that reads a file which is not there."""
    return said + block("file.read", path=name)


async def chat(s: Stage, http: Any, *answers: str, dialect: str = "chat") -> Talker:
    """A conversation in which the model has said these, and its commands have run."""
    talker = Talker(dialect, http)
    for number in range(len(answers)):
        await talker.ask(f"turn {number}")
        await s.journal()
    return talker


def seen(s: Stage) -> str:
    """The conversation of the last request."""
    return words(view(s.model.requests[-1].body))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_answer_made_again_and_an_edited_message_keep_what_was_told_and_tell_what_ran(dialect: str):
    answers = [reading("a", "First. "), reading("b", "Second. "), reading("c", "Again. "), "Edited.", "After.", "Back."]
    async with stage([Answer(text) for text in answers]) as s, s.raw() as http:
        talker = await chat(s, http, *answers[:2], dialect=dialect)
        back = talker.fork()
        before = s.model.requests[-1].body
        talker.undo()
        await talker.again()
        await s.journal()
        again = words(view(s.model.requests[-1].body))
        assert again.startswith(words(view(before))[: again.index("#1 ")])
        assert "First. %%OS" in again
        assert numbers(again) == [1, 2]
        assert "does not stand in this conversation" in again, "the answer that was thrown away has run all the same"
        talker.edit("another question")
        await talker.again()
        assert numbers(seen(s)) == [1, 2, 3]
        assert "another question" in seen(s)
        assert "Second." not in seen(s)
        await talker.ask("go on")
        assert numbers(seen(s)) == [1, 2, 3]
        assert view(s.model.requests[-1].body)[:3] == view(s.model.requests[-2].body)
        await back.ask("the first branch again")
        assert numbers(seen(s)) == [1, 2], "told elsewhere is not told here"
        assert "Second. %%OS" in seen(s)


async def test_several_conversations_of_one_session_are_told_their_own_also_at_once():
    def answer(request: Request) -> Answer:
        name = next(name for name in ("ada", "bob") if request.says(f"turn of {name}"))
        return Answer(reading(name, f"I am {name}. "))

    async with stage(answer) as s, s.raw() as http:
        talkers = {"ada": Talker("chat", http), "bob": Talker("chat", http)}
        for turn in range(3):
            await together(*(talker.ask(f"turn of {name} {turn}") for name, talker in talkers.items()))
            await s.journal()
        for request in s.model.requests[-2:]:
            mine, other = ("ada", "bob") if request.says("turn of ada") else ("bob", "ada")
            assert words(view(request.body)).count("#") >= 2
            assert len(numbers(words(view(request.body)))) == 2
            assert request.says(f"I am {mine}. %%OS")
            assert not request.says(f"'{other}'")
