# ruff: noqa: SIM117 - first a terminal, then those who look at it
import asyncio
import contextlib
import hashlib
import json
import random
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import resident
from tests.kit.server import LIMIT_S, Served, Viewer, serve_app, until
from websockets.exceptions import ConnectionClosed

from fourhands.core.tasks import Tasks
from fourhands.host.log import GRAIN
from fourhands.settings import Settings, TerminalSettings
from fourhands.surfaces.http.viewer import REPLY_LIMIT, ViewerLimits
from fourhands.surfaces.server import ServerLimits
from fourhands.surfaces.transport import Frames
from fourhands.workbench.terminals.terminal import Terminal

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNT = "i=0; while [ $i -lt {n} ]; do echo line $i; i=$((i+1)); done; read x"
RAW = "import tty,sys,os; tty.setraw(0); print('ready', flush=True); "


class Plain(Frames):
    """A connection that does not offer to carry viewers: they go by plain ASGI."""

    async def run_asgi(self) -> None:
        await super(Frames, self).run_asgi()


@pytest.fixture(scope="module", params=[pytest.param(Frames, id="frames"), pytest.param(Plain, id="asgi")])
def carrier(request: pytest.FixtureRequest) -> type[Frames]:
    """Everything is true of our own frames and of the plain way."""
    carrier: type[Frames] = request.param
    return carrier


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(carrier: type[Frames]) -> AsyncIterator[Served]:
    """One server for all tests by one carrier: each cleans up what would disturb the next."""
    async with serve_app(websockets=carrier) as running:
        yield running


def limited(carrier: type[Frames], **limits: int) -> contextlib.AbstractAsyncContextManager[Served]:
    return serve_app(limits=ServerLimits(viewer=ViewerLimits(**limits)), websockets=carrier)


@contextlib.asynccontextmanager
async def program(served: Served, *argv: str, **more: Any) -> AsyncIterator[Terminal]:
    terminal = await served.terminal(*argv, **more)
    try:
        yield terminal
    finally:
        with contextlib.suppress(LookupError):
            await served.app.terminals.get(terminal.id).close()


def sh(served: Served, script: str) -> contextlib.AbstractAsyncContextManager[Terminal]:
    return program(served, "/bin/sh", "-c", script)


def python(served: Served, code: str) -> contextlib.AbstractAsyncContextManager[Terminal]:
    return program(served, sys.executable, "-u", "-c", code)


def all_output(terminal: Terminal) -> bytes:
    parts, at = [], 0
    while (chunk := terminal.log.read(at)).data:
        parts.append(chunk.data)
        at = chunk.end
    return b"".join(parts)


async def settled(terminal: Terminal, text: bytes) -> None:
    """Wait until the output has a text."""
    news = asyncio.Event()
    with terminal.listening(news.set):
        async with asyncio.timeout(LIMIT_S):
            while text not in all_output(terminal):
                news.clear()
                await news.wait()


# -- what is sent ----------------------------------------------------------------------------------------------------


async def test_output_comes_with_positions_that_follow_each_other(served: Served) -> None:
    async with sh(served, COUNT.format(n=2000)) as terminal, served.viewer(terminal, "?from=0") as viewer:
        await viewer.until(b"line 1999\r\n")
        assert viewer.start == 0
        assert bytes(viewer.data) == all_output(terminal)


async def test_a_newcomer_gets_the_screen_and_then_the_exact_rest(served: Served) -> None:
    async with sh(served, "printf 'before\\n'; read x; printf 'after\\n'; read x") as terminal:
        await settled(terminal, b"before\r\n")  # all that comes before somebody types
        async with served.viewer(terminal) as viewer:
            screen = await viewer.word("screen")
            assert "before" in screen["data"]
            assert screen["position"] == terminal.log.head
            assert (screen["cols"], screen["rows"]) == terminal.size
            await terminal.type("\n")
            await viewer.until(b"after")
            assert b"before" not in viewer.data
            assert bytes(viewer.data) == all_output(terminal)[screen["position"] :][: len(viewer.data)]


@pytest.mark.parametrize(
    ("first", "rest", "shown"),
    [
        ("hello \\033[3", "1mred", "hello \x1b[31mred"),
        ("hello \\346\\274", "\\242", "hello 漢"),
        ("hello \\033]0;ti", "tle\\007", "hello \x1b]0;title\a"),
    ],
)
async def test_a_newcomer_in_the_middle_of_a_sequence_gets_all_of_it(
    served: Served, first: str, rest: str, shown: str
) -> None:
    async with sh(served, f"stty -echo; printf '{first}'; read x; printf '{rest}'; read x") as terminal:
        await settled(terminal, first.encode().decode("unicode_escape").encode("latin-1")[-3:])
        async with served.viewer(terminal) as viewer:
            screen = await viewer.word("screen")
            assert "hello" in screen["data"]
            assert screen["position"] == len("hello ")
            await terminal.type("\n")
            await viewer.until(shown.encode()[len("hello ") :])


async def test_a_position_beyond_the_end_waits_for_what_comes(served: Served) -> None:
    async with sh(served, "read x; echo later; read x") as terminal:
        async with served.viewer(terminal, "?from=1000000") as viewer:
            await viewer.word("size")
            await terminal.type("\n")
            await viewer.until(b"later")


async def test_two_viewers_see_the_same(served: Served) -> None:
    async with sh(served, f"read x; {COUNT.format(n=3000)}") as terminal:
        async with served.viewer(terminal, "?from=0") as one, served.viewer(terminal, "?from=0&ack=1") as two:
            await two.socket.send(b"\n")
            await one.until(b"line 2999\r\n")
            await two.until(b"line 2999\r\n")
            assert bytes(one.data) == bytes(two.data) == all_output(terminal)


async def test_what_is_no_longer_kept_is_an_announced_gap(carrier: type[Frames]) -> None:
    settings = Settings(terminal=TerminalSettings(capacity=128 * 1024))
    async with serve_app(settings, websockets=carrier) as served:
        async with python(served, "for i in range(40000): print('row', i)\ninput()") as terminal:
            await settled(terminal, b"row 39999")
            floor = terminal.log.floor
            assert floor > 0
            async with served.viewer(terminal, "?from=10") as viewer:
                gap = await viewer.word("gap")
                assert gap == {"type": "gap", "from": 10, "to": floor}
                await viewer.until(b"row 39999")
                rows = [int(row) for row in re.findall(rb"row (\d+)\r", bytes(viewer.data))]
                assert rows == list(range(rows[0], 40000))


# -- coming back -----------------------------------------------------------------------------------------------------


async def reconnect(served: Served, times: int, lines: int) -> None:
    """Break and come back in mid-output; each time from the exact position."""
    chance = random.Random(7)
    code = (
        f"import time\nfor i in range({lines}):\n print('line', i, 'x' * (i % 97))\n"
        " i % 50 or time.sleep(0.001)\ninput()"
    )
    async with python(served, code) as terminal:
        got = bytearray()
        last = f"line {lines - 1} ".encode()
        for _ in range(times):
            async with served.viewer(terminal, f"?from={len(got)}{chance.choice(['', '&ack=1'])}") as viewer:
                for _ in range(chance.randint(1, 3)):
                    if last in got + viewer.data:
                        break
                    await viewer.step()
            got += viewer.data
        async with served.viewer(terminal, f"?from={len(got)}") as viewer:
            if last not in got:
                await viewer.until(last)
        got += viewer.data
        assert bytes(got) == all_output(terminal)[: len(got)]
        assert last in got


async def test_fifty_reconnects_in_mid_output_lose_and_double_nothing(served: Served) -> None:
    await reconnect(served, 50, 5000)


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_a_thousand_reconnects_in_mid_output_lose_and_double_nothing(served: Served) -> None:
    await reconnect(served, 1000, 100_000)


# -- slow viewers ----------------------------------------------------------------------------------------------------


async def test_who_does_not_acknowledge_is_sent_no_more_than_the_window(carrier: type[Frames]) -> None:
    code = "print('x' * 999_000)\nprint('end')\ninput()"
    async with limited(carrier, window=100_000) as served, python(served, code) as terminal:
        async with served.viewer(terminal, "?from=0&ack=1") as slow, served.viewer(terminal, "?from=0") as quick:
            await quick.until(b"end\r\n")  # others are not held up
            while slow.position < 100_000:
                await slow.step()
            assert slow.position < 100_000 + GRAIN
            await _nothing_more(slow)
            while b"end\r\n" not in slow.data:
                await slow.tell(type="ack", position=slow.position)
                await slow.step()
            assert bytes(slow.data) == bytes(quick.data)


async def _nothing_more(viewer: Viewer) -> None:
    """A refusal is answered in order: if it is the next frame, nothing else was on its way."""
    await viewer.tell(type="resize", cols=0, rows=0)
    frame = await viewer.step()
    assert isinstance(frame, dict)
    assert frame["type"] == "refused"


async def test_acknowledging_what_was_never_sent_gains_nothing(carrier: type[Frames]) -> None:
    code, window = "print('x' * 999_000)\nprint('end')\ninput()", 70_000
    async with limited(carrier, window=window) as served, python(served, code) as terminal:
        await settled(terminal, b"end")
        async with served.viewer(terminal, "?from=0&ack=1") as viewer:
            while viewer.position < window:
                await viewer.step()
            before = viewer.position
            for position in (-5, 0, 10**30):
                await viewer.tell(type="ack", position=position)
            await viewer.step()  # the last one counts as everything that was sent
            while viewer.position - before < window:
                await viewer.step()
            assert viewer.position - before < window + GRAIN
            await _nothing_more(viewer)


async def test_who_has_fallen_too_far_behind_gets_the_present_screen(carrier: type[Frames]) -> None:
    code = "input()\nfor i in range(60000): print('number', i)\nprint('last')\ninput()"
    async with limited(carrier, window=70_000, backlog=300_000) as served, python(served, code) as terminal:
        async with served.viewer(terminal, "?ack=1") as viewer:
            await viewer.word("screen")
            await viewer.socket.send(b"\r")
            await settled(terminal, b"last\r\n")
            while not [word for word in viewer.words if word["type"] == "screen"]:
                await viewer.tell(type="ack", position=viewer.position)
                await viewer.step()
            gap = await viewer.word("gap")
            screen = await viewer.word("screen")
            assert gap["to"] == screen["position"] > gap["from"]
            assert "last" in screen["data"]
            await viewer.socket.send(b"\r")
            exit = await viewer.word("exit")
            assert exit["position"] == viewer.position


async def beside_a_stuck_viewer(served: Served, size: int, seconds: float) -> None:
    """One viewer stops reading, without acknowledgements: then the connection itself is the window."""
    flood = "input()\nwhile True: print('filler', 'y' * 80)"
    async with (
        python(served, flood) as terminal,
        program(served, "cat") as neighbour,
        served.viewer(neighbour, "?from=0") as person,
        served.viewer(terminal, "?from=0", max_queue=1, ping_interval=None) as stuck,
        served.viewer(terminal, "?from=0") as quick,
    ):
        await stuck.step()
        before = resident()
        await terminal.type("\r")
        begun = asyncio.get_running_loop().time()
        number = 0
        while quick.position < size or asyncio.get_running_loop().time() - begun < seconds:
            await quick.step()
            if len(quick.data) > 1_000_000:
                quick.start, quick.data = quick.position, bytearray()
                number += 1
                await person.socket.send(b"echo %d\r" % number)
                await person.until(b"echo %d\r\n" % number)
        assert number > 0
        assert resident() - before < 12_000_000
        assert stuck.position < size < quick.position
        await terminal.kill()
        await quick.word("exit")


async def test_a_viewer_that_stops_reading_costs_little_and_harms_nobody(served: Served) -> None:
    await beside_a_stuck_viewer(served, 3_000_000, 0)


@pytest.mark.soak
@pytest.mark.timeout(180)
async def test_a_viewer_that_stops_reading_for_a_minute_costs_little_and_harms_nobody(served: Served) -> None:
    await beside_a_stuck_viewer(served, 30_000_000, 60)


async def test_who_does_not_read_answers_is_not_heard_for_ever(served: Served) -> None:
    flood = "input()\nimport sys; sys.stdout.write(('y' * 99 + '\\n') * 120_000); print('end'); input()"
    async with python(served, flood) as terminal, served.viewer(terminal, "?from=0", max_queue=1) as stuck:
        await stuck.step()
        (there,) = served.running.viewers.of(terminal.id)
        await terminal.type("\r")
        await settled_head(terminal, 12_000_000)
        for _ in range(300):  # what has come already is heard
            await stuck.socket.send("{")
        await until(lambda: there.crowded)
        for _ in range(2000):
            await stuck.socket.send("{")
        async with served.viewer(terminal, "?from=x") as other:
            await other.word("refused")  # so the server had its turns
        assert there.waiting[0] <= 300
        refused = 0
        while refused < 2300:
            frame = await stuck.step()
            refused += isinstance(frame, dict) and frame["type"] == "refused"
            if len(stuck.data) > 1_000_000:
                stuck.start, stuck.data = stuck.position, bytearray()


async def settled_head(terminal: Terminal, position: int) -> None:
    news = asyncio.Event()
    with terminal.listening(news.set):
        async with asyncio.timeout(LIMIT_S):
            while terminal.log.head < position:
                news.clear()
                await news.wait()


# -- keys ------------------------------------------------------------------------------------------------------------


async def test_keys_reach_the_program_in_order(served: Served) -> None:
    code = (
        RAW
        + "d = b''\nwhile len(d) < 30000: d += os.read(0, 4096)\n"
        + "import hashlib; print(hashlib.sha1(d).hexdigest()); input()"
    )
    async with python(served, code) as terminal, served.viewer(terminal, "?from=0") as viewer:
        await viewer.until(b"ready")
        sent = b""
        chance = random.Random(3)
        while len(sent) < 30000:
            keys = chance.randbytes(min(chance.choice([1, 1, 3, 700, 9000]), 30000 - len(sent)))
            sent += keys
            await viewer.socket.send(keys)
        await viewer.until(hashlib.sha1(sent).hexdigest().encode())


async def test_an_agent_sees_no_raw_terminal(served: Served) -> None:
    _, token = served.agent()
    async with sh(served, "echo secret; read x") as terminal, served.viewer(terminal, token=token) as viewer:
        refused = await viewer.word("refused")
        assert refused["code"] == "denied"
        assert "read_output" in refused["error"]
        with pytest.raises(ConnectionClosed):
            await viewer.step()


# Says when it is ready, reads all of so many bytes when it is told to, and says what they were.
READER = RAW.replace(
    "print(", "import hashlib, signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); print("
) + (
    "signal.sigwait([signal.SIGUSR1])\n"
    "left, seen = {size}, hashlib.sha1()\n"
    "while left:\n"
    "    data = os.read(0, min(left, 65536)); seen.update(data); left -= len(data)\n"
    "print('got', seen.hexdigest(), flush=True); os.read(0, 1)"
)


def large(size: int) -> bytes:
    return b"".join(b"%015d\n" % n for n in range(size // 16))


@pytest.mark.parametrize("piece", [50_000, 9_000_000])
async def test_a_large_paste_arrives_whole_however_slow_the_program(served: Served, piece: int) -> None:
    keys = large(8_000_000)
    async with python(served, READER.format(size=len(keys))) as terminal:
        async with served.viewer(terminal, "?from=0&ack=1") as viewer, Tasks() as tasks:
            await viewer.until(b"ready")

            async def paste() -> None:
                for at in range(0, len(keys), piece):
                    await viewer.socket.send(keys[at : at + piece])

            pasting = tasks.start(paste(), "a paste")
            (there,) = served.running.viewers.of(terminal.id)
            await until(lambda: there.crowded)
            assert there.waiting[1] < 1_500_000 + piece
            await terminal.signal("SIGUSR1")
            await viewer.until(hashlib.sha1(keys).hexdigest().encode())
            await pasting
            assert not [word for word in viewer.words if word["type"] in ("refused", "gap")]
            typed = [word["bytes"] for word in viewer.words if word["type"] == "typed"]
            assert typed == sorted(typed)
            while typed[-1] < len(keys):
                typed.append((await viewer.word("typed"))["bytes"])


@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_a_hundred_megabytes_into_a_file_are_exact(served: Served, tmp_path: Path) -> None:
    keys = b"".join(b"%0999d\n" % n for n in range(100_000))
    file = tmp_path / "pasted"
    async with sh(served, f"stty -echo; echo ready; cat > {file}; echo done; read x") as terminal:
        async with served.viewer(terminal, "?from=0&ack=1") as viewer:
            await viewer.until(b"ready")
            typed = 0
            for at in range(0, len(keys), 50_000):
                await viewer.socket.send(keys[at : at + 50_000])
                while at - typed > 256 * 1024:  # as the page does: little more than what was typed
                    typed = (await viewer.word("typed"))["bytes"]
            await viewer.socket.send(b"\x04")
            async with asyncio.timeout(1000):
                while b"done" not in viewer.data:
                    await viewer.step()
    assert hashlib.sha1(file.read_bytes()).digest() == hashlib.sha1(keys).digest()


async def test_a_program_that_never_reads_holds_up_only_who_types_into_it(served: Served) -> None:
    code = RAW + "import time\nwhile True: print('tick', flush=True); time.sleep(0.05)"
    async with python(served, code) as terminal, sh(served, "read x; echo heard $x; read x") as other:
        async with (
            served.viewer(terminal, "?from=0&ack=1") as pasting,
            served.viewer(terminal, "?from=0") as looking,
            Tasks() as tasks,
        ):
            await pasting.until(b"ready")
            (there,) = (each for each in served.running.viewers.of(terminal.id) if each.acknowledged is not None)

            async def paste() -> None:
                while True:
                    await pasting.socket.send(b"k" * 100_000)

            stuck = tasks.start(paste(), "a paste without end")
            await until(lambda: there.crowded)
            waiting = there.waiting[1]
            # Others type, their output comes, and so does this terminal's, here and there.
            async with served.viewer(other, "?from=0") as typing, served.caller() as caller:
                await typing.socket.send(b"hello\n")
                await typing.until(b"heard hello")
                await caller.call("openspace.terminal.list", {})
            for viewer in (pasting, looking):
                seen = len(viewer.data)
                while viewer.data[seen:].count(b"tick") < 3:
                    await viewer.step()
            assert there.waiting[1] == waiting
            assert not stuck.done()
            await terminal.kill()
            assert (await looking.word("exit"))["signal"]
            assert (await pasting.word("exit"))["signal"]
            stuck.cancel()


async def test_keys_that_wait_can_be_cancelled_and_later_ones_are_typed(served: Served) -> None:
    code = (
        RAW.replace("print(", "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); print(")
        + "signal.sigwait([signal.SIGUSR1])\nd = b''\nwhile not d.endswith(b'!'): d += os.read(0, 65536)\n"
        + "print('got', len(d), d[-6:], flush=True); os.read(0, 1)"
    )
    async with python(served, code) as terminal, served.viewer(terminal, "?from=0&ack=1") as viewer:
        await viewer.until(b"ready")
        await viewer.socket.send(b"k" * 500_000)
        await viewer.tell(type="cancel")
        while (await viewer.word("typed"))["bytes"] < 500_000:
            pass
        await viewer.socket.send(b"after!")
        await terminal.signal("SIGUSR1")
        await viewer.until(b"b'after!'")
        found = re.search(rb"got (\d+)", bytes(viewer.data))
        assert found is not None
        assert int(found[1]) < 200_000  # what the kernel had taken, and no more


async def test_who_is_not_read_is_not_taken_for_dead_until_it_is(served: Served) -> None:
    async with python(served, RAW + "import time; time.sleep(1000)") as terminal:
        async with served.viewer(terminal, "?from=0&ack=1") as viewer:
            await viewer.until(b"ready")
            (there,) = served.running.viewers.of(terminal.id)
            state = served.running.server.server_state
            before = set(state.connections)
            await viewer.socket.send(b"k" * 2_000_000)
            await until(lambda: there.crowded)
            await viewer.socket.send(b"k")  # the plain way notices with the next one
            await until(lambda: any(isinstance(each, Frames) and each.read_paused for each in before))
            (connection,) = (each for each in before if isinstance(each, Frames) and each.read_paused)
            connection.send_keepalive_ping()
            connection.keepalive_timeout()  # its pong is not read
            assert not connection.transport.is_closing()
            viewer.socket.transport.abort()
            await until(lambda: connection.hung_up())
            connection.keepalive_timeout()
            await until(lambda: connection not in state.connections)


async def test_typing_after_the_end_is_refused(served: Served) -> None:
    async with sh(served, "exit 3") as terminal, served.viewer(terminal, "?from=0") as viewer:
        exit = await viewer.word("exit")
        assert (exit["code"], exit["lost"]) == (3, False)
        await viewer.socket.send(b"ls\r")
        assert "exit code 3" in (await viewer.word("refused"))["error"]


async def test_a_program_that_is_killed_says_by_what(served: Served) -> None:
    async with sh(served, "kill -9 $$") as terminal, served.viewer(terminal, "?from=0&ack=1") as viewer:
        exit = await viewer.word("exit")
        assert (exit["code"], exit["signal"]) == (None, "SIGKILL")


async def test_a_terminal_that_is_closed_ends_its_viewers_quietly(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    async with sh(served, "read x") as terminal:
        async with served.viewer(terminal, "?from=0") as one, served.viewer(terminal, "?ack=1") as two:
            await two.word("screen")
            await terminal.close()
            await one.word("exit")
            await two.word("exit")
            await one.socket.send(b"x")
            assert (await one.word("refused"))["code"]
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_reply_of_one_browser_only_reaches_the_program(served: Served) -> None:
    code = RAW + "\nwhile True: print(ascii(os.read(0, 100)), end='\\r\\n', flush=True)"
    async with python(served, code) as terminal:
        async with served.viewer(terminal, "?from=0") as first, served.viewer(terminal, "?from=0") as second:
            await first.until(b"ready")
            await second.tell(type="reply", data="\x1b[2;2R")  # not the one that answers
            await second.word("size")
            await second.tell(type="resize", cols=0, rows=0)
            await second.word("refused")  # so the reply has been read
            await first.tell(type="reply", data="\x1b[1;1R")
            await first.until(b"1;1R")
            assert b"2;2R" not in first.data
            await second.socket.send(b"typed")
            await second.until(b"typed")
            await second.tell(type="reply", data="\x1b[3;3R")
            await second.until(b"3;3R")
            await second.tell(type="reply", data="z" * (REPLY_LIMIT + 1))
            await second.socket.send(b"end")
            await second.until(b"end")
            assert b"zz" not in second.data


async def test_a_resize_is_told_to_everybody(served: Served) -> None:
    async with sh(served, "read x") as terminal:
        async with served.viewer(terminal, "?from=0") as one, served.viewer(terminal, "?from=0") as two:
            await one.tell(type="resize", cols=91, rows=31)
            for viewer in (one, two):
                while (await viewer.word("size"))["cols"] != 91:
                    pass
            assert terminal.size == (91, 31)
            await one.tell(type="resize", cols=100_000, rows=3)
            assert "cols" in (await one.word("refused"))["error"]


@pytest.mark.parametrize("query", ["?from=-1", "?from=x", "?from=1.5", "?from=²", "?from=" + "9" * 30, "?from="])
async def test_a_position_that_is_none_is_refused(served: Served, query: str) -> None:
    async with sh(served, "read x") as terminal, served.viewer(terminal, query) as viewer:
        assert (await viewer.word("refused"))["code"] == "bad-argument"


async def test_a_terminal_that_is_not_there_is_named(served: Served) -> None:
    async with served.dial("/ws/terminals/none%2Fsuch") as socket:
        word = json.loads(await socket.recv())
        assert word["type"] == "refused"
        assert word["code"] == "not-found"


_json = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
_nearly = st.fixed_dictionaries(
    {"type": st.sampled_from(["ack", "resize", "reply", "screen", ""])},
    optional={
        "position": st.integers() | st.text(max_size=3),
        "cols": st.integers(),
        "rows": st.none() | st.integers(),
        "data": st.text(max_size=9),
    },
)
_words = st.one_of(
    st.text(max_size=50),
    st.binary(max_size=50),
    _json.map(json.dumps),
    _nearly.map(json.dumps),
    st.just("[" * 100_000),
)


async def test_no_word_of_a_viewer_does_harm(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    messages: list[list[str | bytes]] = []

    @settings(max_examples=25, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(_words, max_size=6))
    def collect(found: list[str | bytes]) -> None:
        messages.append(found)

    collect()
    async with sh(served, "while read x; do :; done") as terminal:
        for some in messages:
            async with served.viewer(terminal, "?from=0&ack=1") as viewer:
                for message in some:
                    await viewer.socket.send(message)
                await viewer.tell(type="resize", cols=0, rows=0)
                while "cols" not in (await viewer.word("refused"))["error"]:
                    pass
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
