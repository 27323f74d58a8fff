"""The JSON-RPC peer against well-behaved and broken partners, on real sockets and real processes."""

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourhands.agents.acp.jsonrpc import CANCELLED, PeerFailed, PeerGone, RpcConnection, RpcError
from fourhands.agents.connectors.process import ChildStarter, launch
from fourhands.core.errors import BadArgument, CommandNotFound, ExecDenied
from fourhands.core.lines import LineSplitter
from fourhands.core.tasks import Tasks


class Wire:
    """The other end, by hand: lines in and out."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def send(self, *messages):
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.writer.write(data + b"\n")

    async def receive(self):
        async with asyncio.timeout(40):
            return json.loads(await self.reader.readline())


@contextlib.asynccontextmanager
async def connected(**options):
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
    wire = Wire(*await asyncio.open_connection(sock=theirs, limit=200 << 20))
    async with Tasks() as tasks:
        peer = RpcConnection(reader, writer, tasks, **options)
        running = tasks.start(peer.run(), "peer")
        try:
            yield peer, wire
        finally:
            wire.writer.close()
            async with asyncio.timeout(40):
                await running
                await wire.writer.wait_closed()
                await writer.wait_closed()


async def echo(params):
    return params


def asked(id, method="echo", **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


async def test_a_request_is_answered_with_its_id():
    async with connected(methods={"echo": echo}) as (_, wire):
        wire.send(asked("a", x=1), asked(7, x=2))
        assert await wire.receive() == {"jsonrpc": "2.0", "id": "a", "result": {"x": 1}}
        assert await wire.receive() == {"jsonrpc": "2.0", "id": 7, "result": {"x": 2}}


async def test_true_is_not_the_number_one():
    async with connected(methods={"echo": echo}) as (peer, wire):
        request = asyncio.gather(peer.request("ask"))
        assert (await wire.receive())["id"] == 1
        wire.send({"jsonrpc": "2.0", "id": True, "result": "wrong"}, asked(True))
        refused = await wire.receive()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        wire.send({"jsonrpc": "2.0", "id": 1, "result": "right"})
        (answer,) = await request
        assert answer == "right"


async def test_a_request_that_waits_holds_up_nobody():
    free = asyncio.Event()

    async def slow(params):
        await free.wait()
        return {"slow": True}

    async with connected(methods={"echo": echo, "slow": slow}) as (_, wire):
        wire.send(asked(1, "slow"), asked(2))
        assert (await wire.receive())["id"] == 2
        free.set()
        assert (await wire.receive())["id"] == 1


async def test_notifications_and_answers_keep_their_order():
    seen = []
    async with connected(notifications={"tell": lambda params: seen.append(params["n"])}) as (peer, wire):
        request = asyncio.gather(peer.request("ask"))
        await wire.receive()
        wire.send(*({"jsonrpc": "2.0", "method": "tell", "params": {"n": n}} for n in range(100)))
        wire.send({"jsonrpc": "2.0", "id": 1, "result": "ok"})
        assert list(await request) == ["ok"]
        assert seen == list(range(100))


async def test_their_cancel_ends_the_handler_and_answers_cancelled():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(params):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connected(methods={"slow": slow}) as (_, wire):
        wire.send(asked(1, "slow"))
        await begun.wait()
        wire.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}})
        answer = await wire.receive()
        assert answer["id"] == 1
        assert answer["error"]["code"] == CANCELLED
        assert ended.is_set()


async def test_a_cancel_in_the_same_breath_is_answered_too():
    async def slow(params):
        await asyncio.Event().wait()

    async with connected(methods={"slow": slow}) as (_, wire):
        wire.send(asked(1, "slow"), {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}})
        assert (await wire.receive())["error"]["code"] == CANCELLED


async def test_a_cancel_for_an_unknown_request_is_ignored():
    async with connected(methods={"echo": echo}) as (_, wire):
        for id in (99, None, [1], {"a": 1}):
            wire.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}})
        wire.send(asked(1))
        assert (await wire.receive())["id"] == 1


async def test_cancelling_our_request_tells_them_and_forgets_the_answer(caplog):
    async with connected(methods={"echo": echo}) as (peer, wire):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await peer.request("ask")
        assert (await wire.receive())["method"] == "ask"
        cancel = await wire.receive()
        assert (cancel["method"], cancel["params"]) == ("$/cancel_request", {"requestId": 1})
        wire.send({"jsonrpc": "2.0", "id": 1, "result": 5}, asked(2))
        await wire.receive()
    assert "was not asked" not in caplog.text


async def test_errors_of_theirs_are_raised_with_their_number():
    async with connected() as (peer, wire):
        for error, number in (
            ({"code": -32000, "message": "auth"}, -32000),
            ("odd", -32603),
            ({"code": "x"}, -32603),
        ):
            request = asyncio.gather(peer.request("ask"), return_exceptions=True)
            id = (await wire.receive())["id"]
            wire.send({"jsonrpc": "2.0", "id": id, "error": error})
            (failed,) = await request
            assert isinstance(failed, PeerFailed)
            assert failed.number == number


async def test_each_kind_of_failure_has_its_own_answer():
    async def rpc(params):
        raise RpcError(-32002, "gone", {"code": "not-found"})

    async def ours(params):
        raise BadArgument("bad x", hint="give y")

    async def bug(params):
        raise ZeroDivisionError

    methods = {"rpc": rpc, "ours": ours, "bug": bug, "echo": echo}
    async with connected(methods=methods) as (_, wire):
        wire.send(asked(1, "rpc"), asked(2, "ours"), asked(3, "bug"), asked(4, "nope"))
        wire.send({"jsonrpc": "2.0", "id": 5, "method": "echo", "params": [1]}, {**asked(6), "id": 1.5})
        answers = {}
        for _ in range(6):
            answer = await wire.receive()
            answers[answer["id"]] = answer["error"]
    assert answers[1] == {"code": -32002, "message": "gone", "data": {"code": "not-found"}}
    assert (answers[2]["code"], answers[2]["data"]) == (-32603, {"code": "bad-argument"})
    assert answers[3]["data"] == {"code": "internal"}
    assert answers[4]["code"] == -32601
    assert answers[5]["code"] == -32602
    assert answers[None]["code"] == -32600


async def test_noise_is_survived_and_logged(caplog):
    noise = [
        b"Debugger listening on ws://x",
        b"",
        b"   ",
        b"\xff\xfe",
        b"[1,2]",
        b'"text"',
        b"null",
        b"{}",
        b"{" * 5000,
    ]
    async with connected(methods={"echo": echo}) as (_, wire):
        wire.send(*noise, {"jsonrpc": "2.0", "id": 77, "result": 1}, {"id": True, "result": 1}, asked(1))
        assert (await wire.receive())["id"] == 1
    assert "Debugger listening" in caplog.text
    assert "'77', which was not asked" in caplog.text


async def test_a_server_answers_noise_with_errors():
    async with connected(methods={"echo": echo}, answer_noise=True) as (_, wire):
        wire.send(b"what?", b"[]", {"jsonrpc": "2.0", "id": 4})
        codes = [((answer := await wire.receive())["id"], answer["error"]["code"]) for _ in range(3)]
        assert codes == [(None, -32700), (None, -32600), (4, -32600)]


async def test_a_line_of_many_megabytes_is_one_message():
    async with connected(methods={"echo": echo}) as (_, wire):
        text = "ä" * (4 << 20)
        wire.send(asked(1, text=text))
        assert (await wire.receive())["result"] == {"text": text}


async def test_a_line_beyond_the_limit_is_skipped(caplog):
    async with connected(methods={"echo": echo}, largest_line=1000) as (_, wire):
        wire.send(asked(1, text="x" * 5_000_000), asked(2))
        assert (await wire.receive())["id"] == 2
    assert "too long" in caplog.text


async def test_the_end_in_mid_message_fails_what_is_open(caplog):
    ended = asyncio.Event()

    async def slow(params):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connected(methods={"slow": slow}) as (peer, wire):
        request = asyncio.gather(peer.request("ask"), return_exceptions=True)
        await wire.receive()
        wire.send(asked(1, "slow"))
        wire.writer.write(b'{"jsonrpc": "2.0", "id": 1, "resu')
        wire.writer.write_eof()
        (failed,) = await request
        assert isinstance(failed, PeerGone)
        await ended.wait()
        with pytest.raises(PeerGone):
            await peer.request("ask")
        peer.notify("tell")
        peer.close()
    assert "middle of a message" in caplog.text


async def test_what_was_asked_before_the_end_can_still_be_answered():
    async with connected(methods={"echo": echo}, finish_s=5) as (_, wire):
        wire.send(asked(1, x=1))
        wire.writer.write_eof()
        assert (await wire.receive())["result"] == {"x": 1}


async def test_a_listener_that_fails_harms_nobody(caplog):
    def broken(params):
        raise ZeroDivisionError

    async with connected(methods={"echo": echo}, notifications={"tell": broken}) as (_, wire):
        wire.send({"method": "tell"}, {"method": "tell", "params": [1]}, {"method": "unheard"}, {"method": "_x"})
        wire.send(asked(1))
        assert (await wire.receive())["id"] == 1
    assert "tell could not be taken" in caplog.text


async def test_the_same_id_twice_at_once_is_refused():
    free = asyncio.Event()

    async def slow(params):
        await free.wait()

    async with connected(methods={"slow": slow}) as (_, wire):
        wire.send(asked(1, "slow"), asked("1", "slow"), asked(1, "slow"))
        answer = await wire.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32600)
        free.set()
        assert {(await wire.receive())["id"], (await wire.receive())["id"]} == {1, "1"}


async def test_half_characters_do_not_break_the_line():
    async def odd(params):
        return {"names": ["a\ud800b"], "n": (1, None)}

    async with connected(methods={"odd": odd}) as (_, wire):
        wire.send(asked(1, "odd"))
        assert (await wire.receive())["result"] == {"names": ["a?b"], "n": [1, None]}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")), max_size=6), st.data())
def test_any_split_of_the_stream_gives_the_same_lines(lines, data):
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter: LineSplitter[bytes] = LineSplitter(10)
    found: list[bytes | None] = []
    for low, high in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += [line if isinstance(line, bytes) else None for line in splitter.feed(stream[low:high])]
    assert found == [line if len(line) <= 10 else None for line in lines]
    assert splitter.unfinished == 0


# -- processes -------------------------------------------------------------------------------------------------------


async def start(code, tasks, **env):
    return await launch(ChildStarter([sys.executable, "-c", code], cwd="/", env={**os.environ, **env}), tasks, "agent")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_stderr_is_drained_to_the_log(caplog):
    caplog.set_level(logging.INFO)
    code = "import sys; sys.stderr.write('x' * 3_000_000 + '\\nlast words\\nand more'); print('done')"
    async with Tasks() as tasks, asyncio.timeout(40):
        process = await start(code, tasks)
        assert await process.reader.readline() == b"done\n"
        await process.end(30)
        await tasks.idle()
    assert list(process.last_words)[-2:] == ["last words", "and more"]
    assert "agent: 'last words'" in caplog.text
    assert process.exit_code == 0


async def test_an_agent_that_ignores_the_end_is_ended_with_its_children():
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "print(child.pid, flush=True)\n"
        "while True: time.sleep(1000)\n"
    )
    async with Tasks() as tasks, asyncio.timeout(40):
        process = await start(code, tasks)
        child = int(await process.reader.readline())
        await process.end(0.1)
        assert process.exit_code == -9
        while alive(child):  # noqa: ASYNC110 - not our child: there is no event to wait for
            await asyncio.sleep(0.01)
        await tasks.idle()


async def test_an_agent_that_leaves_on_eof_is_not_killed():
    async with Tasks() as tasks, asyncio.timeout(40):
        process = await start("import sys; sys.stdin.read(); sys.exit(7)", tasks)
        await process.end(30)  # it has to start first
        assert process.exit_code == 7
        assert process.pid > 0
        await tasks.idle()


async def test_what_cannot_be_started_says_why(tmp_path):
    (tmp_path / "plain").write_text("x")
    async with Tasks() as tasks:
        with pytest.raises(CommandNotFound):
            await launch(ChildStarter(["no-such-agent"], cwd="/", env={"PATH": "/bin"}), tasks, "x")
        with pytest.raises(ExecDenied):
            await launch(ChildStarter([str(tmp_path / "plain")], cwd="/", env={}), tasks, "x")
