"""Who has a terminal's keyboard, on real terminals."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.kit.fifo import let_through, opened_for
from tests.kit.workbench import open_terminals

from fourhands.core.errors import Conflict
from fourhands.workbench.terminals.lease import Lease, LeaseTimings
from fourhands.workbench.terminals.shell.tracker import program_name
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals


@pytest.fixture
async def terminals() -> AsyncIterator[Terminals]:
    async with open_terminals() as terminals:
        yield terminals


class Board:
    """A terminal, its lease, and what was told of it."""

    def __init__(
        self,
        terminal: Terminal,
        timings: LeaseTimings = LeaseTimings(),  # noqa: B008 - it is frozen
        program: Callable[[int], str] = program_name,
    ) -> None:
        self.terminal = terminal
        self.told: list[str] = []
        self.news = asyncio.Event()
        self.lease = Lease(terminal, self._tell, timings=timings, program=program)

    def _tell(self, changed: Terminal) -> None:
        self.told.append(self.lease.info().kind)
        self.news.set()


async def board(terminals: Terminals, shell: str = "bash", **timings: float) -> Board:
    terminal = await terminals.create(shell=shell)
    await terminal.wait(input_wanted=True, deadline_s=40)
    return Board(terminal, LeaseTimings(**timings))


async def dark(one: Board) -> None:
    """Start a program that wants a secret."""
    await one.terminal.type("read -s secret; echo got\n")
    seen = await one.terminal.wait(input_wanted=True, deadline_s=40)
    while seen.input != "secret":
        seen = await one.terminal.wait(input_wanted=True, deadline_s=40)


async def test_a_person_takes_over_at_once_and_the_keyboard_is_free_again_later(terminals: Terminals) -> None:
    one = await board(terminals, linger_s=0.05)
    await one.lease.agent_types("agent1", "echo")
    assert (one.lease.info().holder, one.lease.info().kind) == ("agent1", "agent")
    one.lease.person_typed("person", b"\r")
    assert one.lease.info().kind == "person"
    one.news.clear()
    async with asyncio.timeout(40):
        await one.news.wait()
    assert one.lease.info().kind == ""


async def test_an_agent_waits_for_a_half_typed_line(terminals: Terminals) -> None:
    one = await board(terminals)
    one.lease.person_typed("person", b"git comm")
    assert one.lease.info().half_typed
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(one.lease.agent_types("agent1", "ls\n"))
        await asyncio.sleep(0)
        assert not waiting.done()
        one.lease.person_typed("person", b"it\r")
        async with asyncio.timeout(40):
            await waiting
    assert one.lease.info().kind == "agent"


async def test_an_agent_that_waited_for_a_line_waits_for_what_it_runs_too(terminals: Terminals) -> None:
    one = await board(terminals, return_s=40.0)
    await one.terminal.run("mkfifo gate")
    await one.terminal.type("read _ <gate")
    one.lease.person_typed("person", b"read _ <gate")
    one.lease.note("c1")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(one.lease.agent_types("agent1", "ls\n", "c1"))
        await asyncio.sleep(0)
        await one.terminal.type("\r")
        one.lease.person_typed("person", b"\r")
        gate = await opened_for(Path(terminals.places.workspace, "gate"))  # it runs
        assert not waiting.done()
        os.write(gate, b"on\n")
        os.close(gate)
        async with asyncio.timeout(40):
            await waiting
    assert one.terminal.catch_up().state == "prompt"


async def between_prompts(terminals: Terminals, **timings: float) -> Board:
    """A shell whose command is over and whose prompt waits at a gate."""
    one = await board(terminals, "bash", **timings)
    await one.terminal.run("PROMPT_COMMAND='[ -p gate ] && read _ <gate'")
    await one.terminal.type("mkfifo gate\n")
    assert (await one.terminal.wait(finished=True, deadline_s=40)).reason == "finished"
    return one


async def test_an_agent_that_saw_a_command_end_types_at_the_prompt_that_follows(terminals: Terminals) -> None:
    one = await between_prompts(terminals, prompt_s=40)
    assert one.terminal.catch_up().state == "running"
    assert one.lease.note("call1").place == "prompt"
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(one.lease.agent_types("agent1", "ls\n", "call1"))
        await asyncio.sleep(0)  # it begins to wait
        assert not waiting.done()
        await let_through(Path(one.terminal.cwd, "gate"))
    assert one.terminal.catch_up().state == "prompt"


async def test_an_agent_types_behind_the_first_prompt_so_that_its_line_shows_once(
    terminals: Terminals, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    tmp_path.joinpath(".bash_profile").write_text(f"read _ <{gate}\n")
    terminal = await terminals.create(shell="bash", env={"HOME": str(tmp_path)})
    one = Board(terminal, LeaseTimings(prompt_s=40, fresh_s=60))
    assert one.lease.note("call1").place == "prompt"
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(one.lease.agent_types("agent1", "echo o''nce\n", "call1"))
        await asyncio.sleep(0)  # it begins to wait
        assert not waiting.done()
        await let_through(gate)
    await one.terminal.type("echo o''nce\n")
    await one.terminal.wait(finished=True, deadline_s=40)
    assert sum("echo o''nce" in line for line in one.terminal.lines()) == 1


async def test_a_prompt_that_does_not_come_is_not_waited_for_for_long(terminals: Terminals) -> None:
    one = await between_prompts(terminals, prompt_s=0.05)
    async with asyncio.timeout(40):
        await one.lease.agent_types("agent1", "ls\n")
    assert one.terminal.catch_up().state == "running"
    await let_through(Path(one.terminal.cwd, "gate"))


async def test_an_agent_waits_until_an_interrupt_has_settled(terminals: Terminals) -> None:
    one = await board(terminals, "dash")  # no marks tell when that is
    began = asyncio.get_running_loop().time()
    one.lease.person_typed("person", b"git comm\x03")
    assert not one.lease.info().half_typed
    await one.lease.agent_types("agent1", "ls\n")  # sooner, and the shell would have thrown a part of it away
    assert asyncio.get_running_loop().time() - began >= LeaseTimings().interrupt_s * 0.9


async def test_a_new_prompt_tells_that_an_interrupt_has_settled(terminals: Terminals) -> None:
    one = await board(terminals, interrupt_s=10_000.0)
    shown = one.terminal.catch_up().shown
    one.lease.person_typed("person", b"git comm\x03")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(one.lease.agent_types("agent1", "echo li''ne\n", patience_s=60))
        await asyncio.sleep(0)  # it begins to wait
        assert not waiting.done()
        await one.terminal.type("git comm\x03")
        async with asyncio.timeout(40):
            await waiting
    assert one.terminal.catch_up().shown > shown
    typed = await one.terminal.type("echo li''ne\n")
    assert (await one.terminal.wait(pattern="line", deadline_s=40, position=typed)).reason == "pattern"


async def test_patience_ends_with_a_clear_error(terminals: Terminals) -> None:
    one = await board(terminals)
    one.lease.person_typed("person", b"half")
    with pytest.raises(Conflict, match="not finished"):
        await one.lease.agent_types("agent1", "ls\n", patience_s=0.01)


@pytest.mark.parametrize(
    ("keys", "half"),
    [
        (b"", False),
        (b"ls", True),
        (b"ls\r", False),
        (b"ls\n", False),
        (b"ls\x03", False),
        (b"ls\x15", False),
        (b"ls\x1b[D\x15", True),  # the cursor stands before the last letter
        (b"ls\x1b[D\x15\r", False),
        (b"\x1b[A", True),  # an old line is there again
        (b"\x04", False),
        (b"ls\x04", True),
        (b"ls\x16\r", True),  # Ctrl-V Enter is text
    ],
)
async def test_what_counts_as_half_typed(terminals: Terminals, keys: bytes, half: bool) -> None:
    terminal = await terminals.create(argv=["cat"])
    lease = Lease(terminal, lambda changed: None)
    for byte in keys:
        lease.person_typed("person", bytes([byte]))
    assert lease.info().half_typed is half
    whole = Lease(terminal, lambda changed: None)
    whole.person_typed("person", keys)
    assert whole.info().half_typed is half


async def test_a_person_who_keeps_the_keyboard_is_not_waited_for(terminals: Terminals) -> None:
    one = await board(terminals)
    one.lease.take_over("person")
    with pytest.raises(Conflict, match="has the keyboard"):
        await one.lease.agent_types("agent1", "ls\n")
    one.lease.person_typed("person", b"\r")
    assert one.lease.info().kept
    one.lease.hand_back()
    await one.lease.agent_types("agent1", "ls\n")
    one.lease.release("somebody else")
    assert one.lease.info().kind == "agent"
    one.lease.release("agent1")
    assert one.lease.info().kind == ""


async def test_a_line_that_is_handed_back_half_typed_is_nobodys_to_judge(terminals: Terminals) -> None:
    one = await board(terminals)
    one.lease.note("call1")
    one.lease.person_typed("person", b"rm -rf ")
    one.lease.hand_back()
    with pytest.raises(Conflict, match="changed since this was judged"):
        await one.lease.agent_types("agent1", "x\n", "call1")
    assert one.lease.standing().line.hidden


async def test_keys_are_refused_when_they_would_meet_something_else(terminals: Terminals) -> None:
    one = await board(terminals)
    one.lease.note("call1")
    one.lease.note("call2")
    await one.lease.agent_types("agent1", "r", "call1")
    with pytest.raises(Conflict, match="its line is another one"):
        await one.lease.agent_types("agent1", "m -rf x\n", "call2")  # judged when the r was not there
    one.lease.note("call3")
    await one.terminal.type("\x15cat\n")
    await one.terminal.wait(input_wanted=True, deadline_s=40)
    while one.terminal.catch_up().state != "running":
        await one.terminal.wait(input_wanted=True, deadline_s=40)
    with pytest.raises(Conflict, match=r"runs there"):
        await one.lease.agent_types("agent1", "ls\n", "call3")
    one.lease.note("call4")
    await one.terminal.type("\x03")
    await one.lease.agent_types("agent1", "\x03", "call4")  # what only takes away is always allowed


async def test_a_secret_is_the_persons_and_agents_are_blind_until_the_echo_returns(terminals: Terminals) -> None:
    one = await board(terminals)
    await dark(one)
    with pytest.raises(Conflict, match="asks for a secret"):
        await one.lease.agent_types("agent1", "guess\n")
    info = one.lease.info()
    assert (info.kind, info.secret) == ("person", True)
    start = one.terminal.log.head
    one.lease.person_typed("person", b"hunter2\r")
    await one.terminal.type("hunter2\r")
    await one.terminal.wait(pattern="got", deadline_s=40, position=start)
    one.lease.look()
    assert not one.lease.asks_secret()
    head = one.terminal.log.head
    visible = one.lease.visible(0, head)
    assert visible[-1][1] == head  # what came with the echo is seen
    assert b"hunter2" not in one.terminal.log.read(0).data
    await one.lease.agent_types("agent1", "ls\n")


@pytest.mark.parametrize("keys", [b"hunter2\r", b"huntre\x7f\x7fer2\r", b"wrong\x15hunter2\n"])
async def test_a_secret_that_is_printed_just_before_the_echo_returns_is_hidden(
    terminals: Terminals, keys: bytes
) -> None:
    script = 'stty -echo; printf "word: "; read -r x; echo "is $x!"; stty echo; echo built; read -r y'
    one = Board(await terminals.create(argv=["bash", "-c", script]))
    while (await one.terminal.wait(input_wanted=True, deadline_s=40)).input != "secret":
        pass
    one.lease.look()
    one.lease.person_typed("person", keys)
    one.terminal.type_now(keys)
    while b"built" not in one.terminal.log.read(0).data:
        time.sleep(0.001)  # noqa: ASYNC251 - nothing may be looked at in between
    one.lease.look()
    data = one.terminal.log.read(0).data
    seen = b"".join(data[low:high] for low, high in one.lease.visible(0, len(data)))
    assert b"is hunter2!" in data
    assert b"hunter2" not in seen
    assert b"built" in seen


async def test_the_keyboard_of_a_terminal_that_was_let_go_is_left_alone(terminals: Terminals) -> None:
    one = await board(terminals, linger_s=0.01)
    one.lease.person_typed("person", b"l")
    one.terminal.dispose()
    failed: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
    await asyncio.sleep(0.05)  # longer than it lingers
    assert failed == []


async def test_blindness_begins_when_somebody_looks_and_is_told(terminals: Terminals) -> None:
    one = await board(terminals)
    await dark(one)
    one.told.clear()
    one.lease.look()
    assert one.told[-1] == "person"
    head = one.terminal.log.head
    assert one.lease.visible(head, head + 100) == []
    one.lease.forget()


async def test_a_prompt_behind_ssh_that_looks_like_one_for_a_secret_counts(terminals: Terminals) -> None:
    script = "stty raw -echo; printf 'root@host password: '; cat >/dev/null"
    terminal = await terminals.create(argv=["sh", "-c", script])
    await terminal.wait(pattern="password", deadline_s=40, position=0)
    local, ssh, bash = (
        Board(terminal),
        Board(terminal, program=lambda _: "ssh"),
        Board(terminal, program=lambda _: "bash"),
    )
    assert not local.lease.asks_secret()  # a raw program of this machine
    assert ssh.lease.asks_secret()
    assert not bash.lease.asks_secret()
    terminal.meta["isolation"] = "container"
    assert bash.lease.asks_secret()


async def test_a_shell_that_has_become_ssh_is_behind_it_too(terminals: Terminals) -> None:
    one = Board((await board(terminals)).terminal, program=lambda _: "ssh")
    await one.terminal.type("exec sh -c \"stty raw -echo; printf 'pass''word: '; cat >/dev/null\"\n")
    assert (await one.terminal.wait(pattern="password:", deadline_s=40)).reason == "pattern"
    assert one.terminal.foreground_group() == one.terminal.pid
    assert one.lease.asks_secret()


async def test_who_typed_is_kept_by_position(terminals: Terminals) -> None:
    one = await board(terminals)
    one.lease.person_typed("person", b"\r")
    first = one.terminal.log.head
    await one.terminal.type("\r")
    await one.terminal.wait(finished=True, quiet_s=0.2, deadline_s=40)
    await one.lease.agent_types("agent1", "true\n")
    assert [mark.actor for mark in one.lease.ink] == ["person", "agent1"]
    author = one.lease.author(first)
    assert author is not None
    assert author.kind == "person"
    assert "true" not in repr(one.lease.ink)


async def test_a_long_unfinished_command_is_not_kept_for_ever(terminals: Terminals) -> None:
    one = await board(terminals, "sh")
    await one.lease.agent_types("agent1", "echo '" + "x\n" * 60_000)
    assert one.lease.standing().before == ()
    assert one.lease.standing().line.hidden


async def test_keys_for_a_pager_are_no_line_at_the_prompt(terminals: Terminals) -> None:
    one = await board(terminals)
    await one.terminal.type("less /etc/services\r")
    seen = await one.terminal.wait(input_wanted=True, deadline_s=40)
    while seen.input != "keys":
        seen = await one.terminal.wait(input_wanted=True, deadline_s=40)
    one.lease.person_typed("person", b"jjq")
    assert one.lease.info().half_typed
    await one.terminal.type("jjq")
    while one.terminal.catch_up().state != "prompt":
        await one.terminal.wait(finished=True, quiet_s=0.1, deadline_s=40)
    await one.terminal.wait(input_wanted=True, deadline_s=40)
    assert [one.lease.info().half_typed] == [False]
    await one.lease.agent_types("agent1", "ls\n", patience_s=0)


async def test_an_ended_terminal_wants_no_secret(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["true"])
    await terminal.wait(exit=True, deadline_s=40)
    lease = Lease(terminal, lambda changed: None)
    assert not lease.asks_secret()
    assert lease.standing().group == 0
