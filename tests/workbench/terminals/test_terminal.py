"""One terminal, with real programs: typing, sizes, exits, views, subscriptions, bad input."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from tests.kit.clock import let_pass
from tests.kit.fifo import let_through
from tests.kit.workbench import open_terminals

from fourhands.core.errors import BadArgument
from fourhands.host.log import Chunk
from fourhands.workbench.terminals.handle import Exited
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.terminals import Terminals
from fourhands.workbench.terminals.timings import TerminalTimings


async def test_a_program_sees_the_size_it_was_created_with_and_every_new_one(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["bash", "--norc", "-c", "stty size; read; stty size"], cols=90, rows=30)
    await terminal.wait(pattern="30 90", position=0)
    terminal.resize(132, 43)
    await terminal.type("\n")
    assert (await terminal.wait(exit=True)).reason == "exit"
    assert [line for line in terminal.lines() if line] == ["30 90", "43 132"]
    assert terminal.size == (132, 43)


@pytest.mark.parametrize(
    "size", [(0, 10), (10, 0), (-1, 5), (1001, 10), (10, 1001), (80.5, 24), ("80", 24), (True, 24)]
)
async def test_nonsense_sizes_are_refused_and_change_nothing(terminals: Terminals, size) -> None:
    terminal = await terminals.create(argv=["cat"])
    before = terminal.size
    with pytest.raises(BadArgument):
        terminal.resize(*size)
    assert terminal.size == before
    with pytest.raises(BadArgument):
        await terminals.create(argv=["cat"], cols=size[0], rows=size[1])


async def test_of_a_storm_of_sizes_the_last_one_wins(terminals: Terminals) -> None:
    terminal = await terminals.create(
        argv=["bash", "--norc", "-c", "trap 'stty size' WINCH; echo trapped; while :; do read -t 1; done"]
    )
    await terminal.wait(pattern="trapped", position=0, deadline_s=40)
    for cols in range(20, 120):
        terminal.resize(cols, 33)
    seen = await terminal.wait(pattern="33 119", position=0, deadline_s=40)
    assert seen.reason == "pattern"
    assert terminal.size == (119, 33)


@pytest.mark.parametrize(
    ("script", "code", "signal"),
    [("exit 0", 0, None), ("exit 7", 7, None), ("kill -9 $$", None, "SIGKILL"), ("kill -TERM $$", None, "SIGTERM")],
)
async def test_exit_codes_and_signals_are_told(terminals: Terminals, script: str, code: int, signal: str) -> None:
    terminal = await terminals.create(argv=["dash", "-c", script])
    await terminal.wait(exit=True)
    assert terminal.exit is not None
    assert (terminal.exit.code, terminal.exit.signal) == (code, signal)


async def test_output_after_the_last_write_is_complete_at_exit(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["seq", "1", "20000"])
    await terminal.wait(exit=True)
    last = [str(number) for number in range(10_001, 20_001)]
    assert terminal.lines(10_000) == terminal.lines(20_000) == terminal.lines(2**53) == last


async def test_typing_into_a_dead_terminal_says_how_it_ended(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["true"], title="short")
    await terminal.wait(exit=True)
    with pytest.raises(Exited, match=r"short.*exit code 0"):
        await terminal.type("x")
    with pytest.raises(Exited):
        terminal.resize(80, 24)


async def test_a_program_that_never_reads_makes_only_its_own_writer_wait(terminals: Terminals) -> None:
    deaf = await terminals.create(argv=["bash", "--norc", "-c", "stty raw -echo; echo deaf; exec sleep 60"])
    await deaf.wait(pattern="deaf", position=0)
    writer = asyncio.get_running_loop().create_task(deaf.type(b"x" * 1_000_000))
    other = await terminals.create(argv=["cat"])
    await other.type("hello\n")
    assert (await other.wait(pattern="hello\nhello", position=0)).reason == "pattern"
    assert not writer.done()
    await deaf.kill()
    with pytest.raises(Exited):
        await writer


async def test_interrupt_reaches_a_program_that_does_not_read(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["sleep", "60"])
    await terminal.interrupt()
    await terminal.wait(exit=True)
    assert terminal.exit is not None
    assert terminal.exit.signal == "SIGINT"


async def test_characters_are_never_destroyed_at_the_edge_of_a_read(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["bash", "--norc", "-c", "stty raw -echo; echo go; cat"])
    await terminal.wait(pattern="go", position=0)
    text = "naïve 日本 🎹 \x1b[31mred\x1b[0m done"
    position, seen = terminal.log.head, ""
    for byte in text.encode():
        await terminal.type(bytes([byte]))
        await terminal.wait(pattern="never", quiet_s=0.0, deadline_s=0.01)
        piece = terminal.since(position)
        seen, position = seen + piece.text, piece.end
        assert "�" not in seen
    await terminal.wait(pattern="done", position=0)
    assert (seen + terminal.since(position).text).removeprefix("\n") == "naïve 日本 🎹 red done"


async def test_binary_garbage_and_a_line_of_ten_megabytes_are_taken(terminals: Terminals) -> None:
    terminal = await terminals.create(
        argv=[
            "bash",
            "--norc",
            "-c",
            "head -c 300000 /dev/urandom; head -c 10000000 /dev/zero | tr '\\0' a; echo; echo end",
        ]
    )
    await terminal.wait(exit=True, deadline_s=40)
    assert terminal.lines(1) == ["end"]
    assert terminal.tail(1000).truncated
    assert terminal.log.head > 10_000_000


async def test_a_reader_below_the_window_is_told_of_the_gap(terminals: Terminals) -> None:
    terminal = await terminals.create(
        argv=["bash", "--norc", "-c", "yes $(head -c 60000 /dev/zero | tr '\\0' x) | head -c 24000000"]
    )
    await terminal.wait(exit=True, deadline_s=40)
    piece = terminal.since(0)
    assert piece.gap is not None
    assert piece.gap[0] == 0
    assert piece.start == piece.gap[1] == terminal.log.floor
    assert piece.text.strip("\n").startswith("x")
    with pytest.raises(BadArgument, match="positions here go from"):
        terminal.since(terminal.log.head + 1)


async def test_views_agree_on_one_stream(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["seq", "1", "5000"])
    await terminal.wait(exit=True)
    everything = terminal.since(0).text
    assert everything == "".join(f"{number}\n" for number in range(1, 5001))
    assert terminal.lines(3) == ["4998", "4999", "5000"]
    assert terminal.tail(10).text == "4999\n5000\n"
    assert [match.line for match in terminal.search("^4?99$")] == ["99", "499"]
    at = terminal.search("^1234$")[0].position
    assert terminal.since(at).text.startswith("1234\n")
    assert terminal.scrollback().data.decode().endswith("5000\r\n")
    assert len(terminal.scrollback(100).data) <= 100


@pytest.mark.parametrize("count", [0, -1, -(2**53)])
async def test_a_wrong_number_of_lines_is_an_error(terminals: Terminals, count: int) -> None:
    terminal = await terminals.create(argv=["true"])
    with pytest.raises(BadArgument, match="a whole number from 1"):
        terminal.lines(count)


async def test_subscriptions_deliver_every_byte_once_and_can_be_ended(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["bash", "--norc", "-c", "read; seq 1 3000"])
    got: list[Chunk] = []
    exits: list[int | None] = []
    stop = terminal.on_data(got.append, 0)
    terminal.on_exit(lambda end: exits.append(end.code))
    await terminal.type("\n")
    await terminal.wait(exit=True)
    stop()
    data = b"".join(chunk.data for chunk in got)
    assert data == terminal.log.read(0, 1_000_000).data
    assert [chunk.start for chunk in got] == [sum(len(c.data) for c in got[:i]) for i in range(len(got))]
    assert exits == [0]
    terminal.on_exit(lambda end: exits.append(end.code))
    assert exits == [0, 0], "a late subscriber learns of the exit at once"


async def test_vim_shows_its_screen_and_leaves_it_again(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["vim", "-u", "NONE", "-N", "notes.txt"], cols=60, rows=12)
    while not terminal.screen().alternate:
        await terminal.wait(input_wanted=True, deadline_s=40)
    await terminal.type("ihello from vim\x1b")
    while terminal.screen().rows[0] != "hello from vim":
        await terminal.wait(stable_s=0.1)
    await terminal.wait(stable_s=0.2)
    before = terminal.screen().revision
    await terminal.type("x")
    while terminal.screen().rows[0] != "hello from vi":
        await terminal.wait(stable_s=0.1)
    assert [row for row, _ in terminal.screen().changed_since(before)] in ([0], [0, 11])
    await terminal.type(":wq\r")
    await terminal.wait(exit=True)
    assert not terminal.screen().alternate
    assert Path(terminals.places.workspace, "notes.txt").read_text() == "hello from vi\n"


async def test_a_newcomer_gets_the_screen_and_then_the_exact_rest(terminals: Terminals) -> None:
    terminal = await terminals.create(
        argv=["bash", "--norc", "-c", "printf 'one\\ntwo \\e[31mred'; printf '\\e[c'; read; printf ' more\\n'"]
    )
    await terminal.wait(input_wanted=True, deadline_s=40)
    data, position = terminal.restore()
    assert b"\x1b[c" not in data, "queries are never replayed"
    assert b"one" in data
    await terminal.type("\n")
    await terminal.wait(exit=True)
    assert terminal.log.read(position, 100).data == b"\r\n more\r\n"


async def test_a_redrawn_prompt_is_hidden_from_replay_and_kept_in_the_log() -> None:
    timings = HostTimings(terminal=TerminalTimings(redraw_s=20.0))
    async with open_terminals(timings=timings) as terminals:
        terminal = await terminals.create(shell="bash")
        await terminal.run("echo before", timeout_s=40)
        await terminal.wait(input_wanted=True, deadline_s=40)  # until it reads, it redraws nothing
        head = terminal.log.head
        terminal.resize(100, 30)
        terminal.resize(70, 30)
        while terminal.size != (70, 30) or terminal.log.head == head:
            await terminal.wait(quiet_s=0.1)
        let_pass(20)
        await asyncio.sleep(0.01)  # the timers that are due now run, and they are older than this one
        assert terminal.redraws
        redrawn = terminal.log.read(head).data
        assert redrawn
        assert redrawn not in terminal.scrollback().data
        done = await terminal.run("echo after", timeout_s=40)
        replay = terminal.scrollback().data
        assert b"before" in replay
        assert b"after" in replay
        assert terminal.since(done.start).text.startswith("after\n")


async def test_what_runs_right_after_a_resize_is_in_the_replay(terminals: Terminals) -> None:
    terminal = await terminals.create(shell="bash")
    await terminal.run("echo before", timeout_s=40)
    for n in range(12):  # two sizes each time, so that their redraws overlap, and a command shorter than a redraw
        terminal.resize(80 + n, 30)
        terminal.resize(100 + n, 31)
        await terminal.run(f"echo out-of-$(({n}))", timeout_s=40)
    while terminal.size != (111, 31):
        await terminal.wait(quiet_s=0.1)
    await terminal.wait(quiet_s=2 * TerminalTimings().redraw_s)
    replay = terminal.scrollback().data
    for n in range(12):
        assert b"out-of-%d\r\n" % n in replay


async def test_what_is_printed_after_enter_is_in_the_replay_though_its_command_has_not_begun(tmp_path: Path) -> None:
    """A line may be on its way for long, and hooks of the user's print before the shell marks its beginning."""
    gates = [tmp_path / "one", tmp_path / "two"]
    for gate in gates:
        os.mkfifo(gate)
    hook = "PS0='$(echo first >/dev/tty; read -r < {}; echo second >/dev/tty; read -r < {})'".format(*gates)
    timings = HostTimings(terminal=TerminalTimings(redraw_s=20.0))
    async with open_terminals(timings=timings) as terminals:
        terminal = await terminals.create(shell="bash")
        await terminal.run(hook, timeout_s=40)
        await terminal.type("true\n")
        await terminal.wait(pattern="^first$", position=0, deadline_s=40)
        terminal.resize(100, 30)
        await let_through(gates[0])
        await terminal.wait(pattern="^second$", position=0, deadline_s=40)
        let_pass(20)
        await asyncio.sleep(0.01)  # the timers that are due now run, and they are older than this one
        assert terminal.catch_up().state == "prompt"
        assert terminal.redraws == []
        assert b"second" in terminal.scrollback().data
        await let_through(gates[1])


async def test_keys_that_were_typed_just_before_a_resize_are_in_the_replay() -> None:
    timings = HostTimings(terminal=TerminalTimings(redraw_s=20.0))
    async with open_terminals(timings=timings) as terminals:
        terminal = await terminals.create(shell="bash")
        await terminal.wait(input_wanted=True, deadline_s=40)
        os.kill(terminal.pid, signal.SIGSTOP)  # it draws them when it comes to it
        await terminal.type("half-typed")
        terminal.resize(100, 30)
        os.kill(terminal.pid, signal.SIGCONT)
        await terminal.wait(pattern="half-typed", position=0, deadline_s=40)
        let_pass(20)
        await asyncio.sleep(0.01)
        assert terminal.redraws == []


async def test_an_excerpt_has_head_and_tail_and_true_totals(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["seq", "1", "9999"])
    await terminal.wait(exit=True)
    cropped = terminal.excerpt(0, terminal.log.head, 200)
    assert cropped.text.startswith("1\n2\n3\n")
    assert cropped.text.endswith("9998\n9999\n")
    assert (cropped.characters, cropped.lines, cropped.omitted) == (48_888, 9999, 48_688)
    assert "48688 of 48888 characters left out, 9999 lines in all" in cropped.text
    whole = terminal.excerpt(0, terminal.log.head, 50_000)
    assert (whole.omitted, whole.text) == (0, terminal.since(0).text)
    for start, end in ((-1, 3), (5, 4), (0, 10**9)):
        with pytest.raises(BadArgument):
            terminal.excerpt(start, end)
