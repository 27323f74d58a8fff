"""A lean HTTP client against servers that answer with chosen bytes, on both event loops."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest
import uvloop
from tests.kit.answering import Serve, certified, listening, once, request_of, saying

from fourhands.agents.models import connection
from fourhands.agents.models.connection import Response
from fourhands.agents.models.pool import DEFAULT, Resolve, UpstreamLimits, UpstreamPool, UpstreamStats, resolve
from fourhands.core.errors import LimitReached


@contextlib.asynccontextmanager
async def served(
    serve: Serve, *, silence_s: float = 10.0, limits: UpstreamLimits = DEFAULT, resolve: Resolve = resolve
) -> AsyncIterator[UpstreamPool]:
    """An origin with such a server behind it."""
    async with listening(serve) as port:
        url = httpx.URL(f"http://127.0.0.1:{port}")
        reached = UpstreamPool(url, connect_s=5.0, silence_s=silence_s, limits=limits, resolve=resolve)
        try:
            yield reached
        finally:
            reached.close()


async def post(reached: UpstreamPool, content: bytes = b"{}", method: str = "POST") -> Response:
    return await reached.send(method, b"/v1/x?a=b", [(b"x-key", b"k")], content)


async def whole(response: Response) -> bytes:
    parts = []
    while data := await response.read():
        parts.append(data)
    response.close()
    return b"".join(parts)


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
HINT = b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n"
ANSWERS = {
    "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello"),
    "chunks": (CHUNKED + b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", 200, b"hello"),
    "trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nx-late: 1\r\n\r\n", 200, b"hello"),
    "empty": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "nothing": (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, b""),
    "signs of life": (HINT + b"HTTP/1.1 429 Busy\r\ncontent-length: 2\r\n\r\nno", 429, b"no"),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_an_answer_is_read_to_its_end_and_the_connection_used_again(name, run):
    answer, status, body = ANSWERS[name]
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await saying(answer)(reader, writer)

    async def main() -> None:
        async with served(serve) as reached:
            for _ in range(3):
                response = await post(reached)
                assert (response.status, response.is_success) == (status, status < 300)
                assert response.header(b"x-late") == response.header(b"link") == ""
                assert await whole(response) == body
                response.close()  # a second time is harmless

    run(main())
    assert connections == 1


@pytest.mark.parametrize("size", range(1, 60, 7))
async def test_an_answer_may_be_cut_anywhere(size):
    answer = CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        for start in range(0, len(answer), size):
            writer.write(answer[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)

    async with served(serve) as reached:
        assert await whole(await post(reached)) == b"hello"


async def test_the_request_is_sent_as_asked():
    heads: list[tuple[bytes, bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            heads.append(await request_of(reader))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    async with served(serve) as reached:
        await whole(await post(reached, b"body"))
        await whole(await post(reached, b""))
        await whole(await post(reached, b"", "GET"))
    port = heads[0][0].split(b"\r\n")[1].rpartition(b":")[2]
    head = b" /v1/x?a=b HTTP/1.1\r\nhost: 127.0.0.1:%s\r\nx-key: k\r\n" % port
    assert heads == [
        (b"POST" + head + b"content-length: 4\r\n\r\n", b"body"),
        (b"POST" + head + b"content-length: 0\r\n\r\n", b""),
        (b"GET" + head + b"\r\n", b""),
    ]


async def test_a_body_without_a_length_ends_with_the_connection():
    async with served(once(b"HTTP/1.1 200 OK\r\n\r\nall of it")) as reached:
        assert await whole(await post(reached)) == b"all of it"


async def test_a_head_alone_has_no_body():
    async with served(once(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n")) as reached:
        assert await whole(await post(reached, b"", "HEAD")) == b""


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"", "without an answer"),
        (b"HTTP/1.1 200 O", "without an answer"),
        (b"SSH-2.0-OpenSSH\r\n", "not understood"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhi", "not understood"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 400_000, "head of its answer is longer"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 70_000, "head of its answer is longer"),
        (HINT * 10_000, "head of its answer is longer"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello", "not understood"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello", "not understood"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nhello", "not understood"),
        (b"HTTP/1.1 200 OK\r\nx: a\rset-cookie: b\r\n\r\n", "not understood"),
        (b"HTTP/1.1 200 OK\r\nx\0y: a\r\n\r\n", "not understood"),
    ],
    ids=[
        *("none", "half", "another protocol", "upgrade", "a long header", "many headers", "many hints"),
        *("a negative length", "two lengths", "length and chunks", "a lone CR", "a NUL"),
    ],
)
async def test_an_answer_that_is_none_is_named(answer, text):
    async with served(once(answer)) as reached:
        with pytest.raises(ConnectionError, match=text):
            await post(reached)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"5\r\nhello\r\nxx",
        CHUNKED + b"5\r\nhello\r\n-1\r\n",
        CHUNKED + b"5\r\nhello\r\nffffffffffffffffff\r\n",
        CHUNKED + b"5\r\nhelloXX\r\n0\r\n\r\n",
    ],
    ids=["length", "chunks", "nonsense", "a negative chunk", "a chunk beyond measure", "more than it says"],
)
async def test_what_came_before_a_break_is_given_first(answer):
    async with served(once(answer)) as reached:
        response = await post(reached)
        assert await response.read() == b"hello"
        with pytest.raises(ConnectionError):
            await response.read()
        response.close()


async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request_of(reader)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello")
    await reader.read()


async def test_a_server_that_says_nothing_is_given_up():
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with served(mute, silence_s=0.01) as reached:
        with pytest.raises(TimeoutError, match=r"no data received for 0\.01 s"):
            await post(reached)
    async with served(quiet) as reached:
        response = await post(reached)
        assert await response.read() == b"hello"
        assert await response.read(0.001) is None
        response.silence_s = 0.01  # only now, or a busy machine would seem to be a silent server
        with pytest.raises(TimeoutError):
            await response.read(5.0)
        response.close()


async def test_a_pause_is_told_and_ends_nothing():
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na")
        await go_on.wait()
        writer.write(b"b")

    async with served(serve) as reached:
        response = await post(reached)
        assert await response.read() == b"a"
        assert await response.read(0.001) is None
        go_on.set()
        assert await whole(response) == b"b"


async def test_what_comes_unasked_is_not_taken_for_the_next_answer():
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n"
    async with served(saying(answer + b"a" + answer + b"b")) as reached:
        for _ in range(3):
            assert await whole(await post(reached)) == b"a"


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_an_answer_that_nobody_reads_is_not_heaped_up(run):
    size = 20_000_000
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(b"x" * 100_000)
            sent += 100_000
            await writer.drain()

    async def main() -> None:
        async with served(serve) as reached:
            response = await post(reached)
            while not response.connection.paused:  # noqa: ASYNC110  # there is no event for what does not happen
                await asyncio.sleep(0.001)
            assert response.unread < 2 * connection.MOST_UNREAD + 1_000_000
            assert sent < size
            assert len(await whole(response)) == size

    run(main())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_large_request_goes_out_whole(run):
    content = bytes(range(256)) * 80_000

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, body = await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n" + (b"y" if body == content else b"n"))

    async def main() -> None:
        async with served(serve) as reached:
            assert await whole(await post(reached, content)) == b"y"

    run(main())


async def test_a_server_that_takes_nothing_is_given_up():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()

    done = asyncio.Event()
    async with served(serve, silence_s=0.2) as reached:
        with pytest.raises(TimeoutError):
            await post(reached, b"x" * 30_000_000)
        done.set()


async def test_a_cancelled_request_closes_its_connection():
    gone, asked = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        asked.set()
        with contextlib.suppress(OSError):
            await reader.read()
        gone.set()

    async with served(serve) as reached, asyncio.TaskGroup() as group:
        task = group.create_task(post(reached))
        await asked.wait()
        task.cancel()
        await gone.wait()


async def test_no_more_than_so_many_requests_at_once():
    answer = saying(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx")
    async with served(answer, limits=UpstreamLimits(most=2)) as reached:
        both = [await post(reached), await post(reached)]
        with pytest.raises(LimitReached, match="2 requests to 127"):
            await post(reached)
        for response in both:
            await whole(response)
        await whole(await post(reached))


async def test_connections_are_kept_for_a_while_and_not_too_many():
    closed = asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await saying(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx")(reader, writer)
        finally:
            closed.release()

    async with served(serve, limits=UpstreamLimits(idle=1, idle_s=0.01)) as reached:
        both = [await post(reached), await post(reached)]
        for response in both:
            await whole(response)
        for _ in both:  # one at once, the other after its time
            await closed.acquire()
        assert reached.stats() == UpstreamStats(open=0, idle=0)
        await whole(await post(reached))


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("size", [2, 3 * connection.PIECE])
async def test_a_kept_connection_that_ends_under_a_request_is_replaced_once(size, reset):
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = not requests
        requests.append((await request_of(reader))[1])
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx")
        if first:
            await reader.readexactly(1)  # of the next request, when it is too late for that to know
            if reset:
                writer.transport.abort()

    async with served(serve) as reached:
        await whole(await post(reached))
        assert await whole(await post(reached, b"y" * size)) == b"x"
        assert requests == [b"{}", b"y" * size]


async def test_a_fresh_connection_that_ends_without_an_answer_is_not_tried_again():
    requests = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await request_of(reader)
        requests += 1

    async with served(serve) as reached:
        with pytest.raises(ConnectionError, match="without an answer"):
            await post(reached)
    assert requests == 1


async def test_a_kept_connection_that_ends_within_its_answer_is_not_tried_again():
    requests = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        for answer in (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", b"HTTP/1.1 2"):
            await request_of(reader)
            requests += 1
            writer.write(answer)

    async with served(serve) as reached:
        await whole(await post(reached))
        with pytest.raises(ConnectionError, match="without an answer"):
            await post(reached)
    assert requests == 2


async def test_nobody_there_is_an_error_of_the_system():
    reached = UpstreamPool(httpx.URL("http://127.0.0.1:9"), connect_s=5.0, silence_s=1.0)
    with pytest.raises(ConnectionRefusedError):
        await post(reached)


async def test_another_address_of_the_same_name_is_tried():
    async def several(host: str, port: int) -> list[str]:
        return ["127.255.255.254", "127.0.0.1"]

    answer = saying(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx")
    async with served(answer, resolve=several) as reached:
        assert await whole(await post(reached)) == b"x"


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path):
    cert, context = await certified(tmp_path)
    async with listening(saying(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret"), context) as port:
        url = httpx.URL(f"https://localhost:{port}")
        strict = UpstreamPool(url, ssl.create_default_context(), connect_s=5.0, silence_s=5.0)
        with pytest.raises(ssl.SSLCertVerificationError):
            await post(strict)
        trusting = UpstreamPool(url, ssl.create_default_context(cafile=cert), connect_s=5.0, silence_s=5.0)
        for _ in range(2):
            assert await whole(await post(trusting)) == b"secret"
        trusting.close()
