"""Whatever people and agents do at the same time: never two blocks of a session at once, never out of order."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.gate import PERSON, World

from fourhands.core.call import Actor, Call, CallOrigin, Result
from fourhands.core.question import Answer, Choice

DEPTH, PER_ANSWER = 3, 4
SESSIONS = ("s1", "s2")

sessions = st.sampled_from(SESSIONS)
texts = st.sampled_from(["safe", "what", "rm", "slow", "slow", "fail", "bad"])
steps = st.one_of(
    st.tuples(st.just("block"), sessions, texts, st.sampled_from(["r1", "r2", "r3", "r4"])),
    st.tuples(st.just("block"), sessions, texts, st.sampled_from(["r1", "r2", "r3", "r4"])),
    st.tuples(st.just("call"), sessions, texts),
    st.tuples(st.just("person"), st.just("person"), st.sampled_from(["safe", "rm", "fail"])),
    st.tuples(st.just("answer"), st.sampled_from(["once", "edit", "session", "deny"])),
    st.tuples(st.just("expire")),
    st.tuples(st.just("release")),
    st.tuples(st.sampled_from(["pause", "resume", "stop"]), sessions),
    st.tuples(st.just("cancel"), st.integers(0, 30)),
)


@dataclass
class Play:
    """One random play, and what must hold all the time."""

    world: World
    group: asyncio.TaskGroup
    calls: list[Call] = field(default_factory=list)
    tasks: "dict[str, asyncio.Task[Result]]" = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)

    async def settle(self) -> None:
        """Let everything happen that can happen without another step."""
        for _ in range(60):
            await asyncio.sleep(0)

    def send(self, actor: Actor, origin: CallOrigin, text: str, answer_id: str | None) -> None:
        number = len(self.calls)
        args: dict[str, object] = {"text": f"{text} {number}"}
        if text == "slow":
            args = {"text": f"safe {number}", "waitFor": f"lock {number}"}
        if text == "bad":
            args = {"txt": "x"}
        command = "openspace.thing.fail" if text == "fail" else "openspace.thing.do"
        call = Call(
            command=command, args={} if text == "fail" else args, actor=actor, origin=origin, answer_id=answer_id
        )
        full = self.world.gate.pending(actor.id) >= DEPTH
        self.calls.append(call)
        self.tasks[call.id] = self.group.create_task(self.world.gate.run(call))
        if full and text != "bad":
            self.tasks[call.id].add_done_callback(_must_be_refused)

    async def step(self, what: str, *rest: str | int) -> None:
        world = self.world
        if what == "block":
            self.send(Actor.agent(str(rest[0])), "block", str(rest[1]), str(rest[2]))
        elif what == "call":
            self.send(Actor.agent(str(rest[0])), "mcp", str(rest[1]), None)
        elif what == "person":
            self.send(PERSON, "socket", str(rest[1]), None)
            await self.settle()
            assert self.tasks[self.calls[-1].id].done(), "a person waited behind an agent"
        elif what == "answer":
            self.answer(cast(Choice, rest[0]))
        elif what == "expire":
            world.timers.advance(10)
        elif what == "release":
            for name in list(world.bench.locks)[:1]:
                world.bench.locks.pop(name).set()
        elif what == "cancel" and self.calls:
            call = self.calls[int(rest[0]) % len(self.calls)]
            self.tasks[call.id].cancel()
        elif what in ("pause", "resume", "stop"):
            getattr(world.gate, what)(str(rest[0]))
        await self.settle()
        self.check()

    def answer(self, choice: Choice) -> None:
        questions = self.world.questions.open()
        if questions and choice in questions[0].options:
            answer = Answer(choice=choice, text="safe edited" if choice == "edit" else None)
            self.world.questions.answer(questions[0].id, answer, PERSON)
            if choice != "deny":
                self.allowed.add(questions[0].shown)

    def check(self) -> None:
        bench, gate = self.world.bench, self.world.gate
        assert bench.most_blocks <= 1
        order = [call.id for call in self.calls]
        for session in SESSIONS:
            assert gate.pending(session) <= DEPTH
            places = [order.index(c.id) for c in bench.started if c.session == session and c.origin == "block"]
            assert places == sorted(places), "blocks out of order"
        for call in bench.started:
            text = str(call.args["text"])
            if call.actor.kind == "agent" and text.startswith(("rm", "what")):
                assert text in self.allowed, "something ran unasked"

    async def finish(self) -> None:
        """Answer, release and resume until nothing is left."""
        for session in SESSIONS:
            self.world.gate.resume(session)
        while not all(task.done() for task in self.tasks.values()):
            self.answer("deny")
            for lock in self.world.bench.locks.values():
                lock.set()
            await self.settle()
            self.check()


def _must_be_refused(task: "asyncio.Task[Result]") -> None:
    if not task.cancelled():
        assert task.result().code in ("limit", "cancelled")


def _agent(call: Call) -> bool:
    return call.actor.kind == "agent"


class Still(asyncio.SelectorEventLoop):
    """A loop whose clock stands still: on a busy machine the gap between two blocks would pass by itself."""

    def time(self) -> float:
        return 1.0


async def play(moves: list[tuple[str | int, ...]]) -> None:
    world = World(depth=DEPTH, per_answer=PER_ANSWER)
    world.questions.attend()
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    async with asyncio.timeout(40), asyncio.TaskGroup() as group:
        game = Play(world, group)
        for what, *rest in moves:
            await game.step(str(what), *rest)
        await game.finish()
    assert not problems
    assert all(world.gate.pending(session) == 0 for session in SESSIONS)
    assert world.bench.running == []
    assert world.questions.open() == []
    finished = [entry.call.id for entry in [*world.journal.recorded, *world.journal.noted] if entry.result]
    begun = {call.id for call in game.calls if not _unstarted(game, call)}
    assert set(finished) == begun
    assert len(world.results) == sum(_agent(call) for call in game.calls if call.id in begun)
    for session in SESSIONS:
        numbers = [
            game.tasks[call.id].result().number
            for call in game.calls
            if call.session == session and not game.tasks[call.id].cancelled()
        ]
        assert numbers == sorted(set(numbers))
        blocks = [c for c in world.bench.started if c.session == session and c.origin == "block"]
        assert len(blocks) <= 1 + len(world.slept), "no gap between two blocks"
        for answer_id in ("r1", "r2", "r3", "r4"):
            assert sum(call.answer_id == answer_id for call in blocks) <= PER_ANSWER


def _unstarted(game: Play, call: Call) -> bool:
    """A task cancelled before its first step never reached the gate."""
    return game.tasks[call.id].cancelled() and call.id not in {
        entry.call.id for entry in [*game.world.journal.noted, *game.world.journal.recorded]
    }


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=40))
def test_any_mix_keeps_order_depth_and_permission(moves: list[tuple[str | int, ...]]):
    with asyncio.Runner(loop_factory=Still) as runner:  # each example gets a loop of its own
        runner.run(play(moves))
