"""Programs on pipes: the same on every loop, whatever the program does with what it was given."""

import asyncio
import os
import signal
import threading

import pytest

from fourhands.core.child import Child, Finished, into, run, signal_name

ENV = {"PATH": os.environ["PATH"]}


async def script(text: str, timeout_s: float = 100) -> Finished:
    return await run(["bash", "-c", text], env=ENV, timeout_s=timeout_s)


async def test_a_program_can_open_its_streams_by_name() -> None:
    done = await script("echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin; exit 3")
    assert done == Finished(3, "out\n", "err\n")


async def test_a_program_gets_three_descriptors_and_nothing_else_of_ours() -> None:
    spare = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(spare, True)
    try:
        done = await script("ls /proc/self/fd | tr '\\n' ' '")
    finally:
        os.close(spare)
    assert done.out == "0 1 2 3 "  # the last one is the directory that is read


async def test_what_goes_on_in_the_background_is_not_waited_for() -> None:
    done = await script("sleep 300 >/dev/null 2>&1 & sleep 300 & echo $!; kill %1")
    os.kill(int(done.out), signal.SIGKILL)  # it had our pipes to the end
    assert done.code == 0


async def test_everything_that_was_printed_before_the_exit_is_there() -> None:
    done = await script("seq 200000 & wait; seq 10 >&2")
    assert done.out.splitlines() == [str(n) for n in range(1, 200_001)]
    assert len(done.err.splitlines()) == 10


async def test_one_that_takes_too_long_is_killed() -> None:
    with pytest.raises(TimeoutError):
        await script("exec sleep 300", timeout_s=0.05)


async def test_a_cancelled_run_is_killed() -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(script("exec sleep 300"))
        await asyncio.sleep(0)
        running.cancel()
    assert running.cancelled()


async def test_the_exit_is_noticed_where_there_are_no_process_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert await script("echo here; kill -TERM $$") == Finished(-signal.SIGTERM, "here\n", "")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("exit of ") and thread.is_alive()]


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
async def test_input_arrives_whole_and_has_an_end(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    heard = bytearray()
    child = Child(["cat"], cwd=None, env=ENV, out=heard.extend, err=None, with_input=True)
    child.give(data)
    async with asyncio.timeout(40):
        await child.out.ended
        await child.ended
    child.close()
    assert (child.code, bytes(heard) == data) == (0, True)


async def test_a_program_need_not_read_its_input() -> None:
    child = Child(["true"], cwd=None, env=ENV, out=bytearray().extend, err=None, with_input=True)
    child.give(b"x" * 1_000_000)
    async with asyncio.timeout(40):
        await child.ended
    child.close()
    assert child.code == 0


async def test_a_writer_waits_for_a_program_that_does_not_read_yet_and_a_reader_holds_it_up() -> None:
    reader = asyncio.StreamReader(limit=1000)
    child = Child(["cat"], cwd=None, env=ENV, out=into(reader), err=None, with_input=True)
    reader.set_transport(child.out)
    writer = child.writer()
    sent = b"0123456789" * 100_000

    async def send() -> None:
        for start in range(0, len(sent), 5000):
            writer.write(sent[start : start + 5000])
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with asyncio.timeout(40), asyncio.TaskGroup() as group:
        sending = group.create_task(send())
        while child.out.is_reading():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.001)
        assert not sending.done()
        assert await reader.read(-1) == sent
    await child.ended
    child.close()


async def test_writing_to_one_that_has_gone_is_told_by_the_next_drain() -> None:
    child = Child(["true"], cwd=None, env=ENV, out=bytearray().extend, err=None, with_input=True)
    writer = child.writer()
    await child.ended
    writer.write(b"anybody?")
    await asyncio.sleep(0)
    with pytest.raises(ConnectionError):
        await writer.drain()
    writer.write(b"no")
    child.close()


async def test_whoever_waits_for_one_to_read_learns_that_it_has_gone() -> None:
    child = Child(["sleep", "300"], cwd=None, env=ENV, out=bytearray().extend, err=None, with_input=True)
    writer = child.writer()
    writer.write(b"x" * 1_000_000)
    async with asyncio.timeout(40):
        asyncio.get_running_loop().call_soon(child.kill)
        with pytest.raises(ConnectionError):
            await writer.drain()
        await child.ended
    child.close()


async def test_one_that_cannot_be_started_says_why() -> None:
    with pytest.raises(FileNotFoundError):
        await run(["no-such-program"], env=ENV, timeout_s=1)
    with pytest.raises(PermissionError):
        await run(["/etc/passwd"], env=ENV, timeout_s=1)


@pytest.mark.parametrize(("code", "name"), [(None, None), (0, None), (1, None), (-9, "SIGKILL"), (-40, "SIG40")])
def test_a_signal_has_a_name(code: int | None, name: str | None) -> None:
    assert signal_name(code) == name
