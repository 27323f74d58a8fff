"""What clients ask, rightly and wrongly: errors stay with the sender, and the host goes on."""

import asyncio
import json
import os
import select
import shutil
import socket
import stat
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hosts import House, Term, need

from fourhands.core.errors import BadCwd, CommandNotFound, ExecDenied, FourhandsError, NotFound, Unavailable
from fourhands.host.handlers import META_LARGEST
from fourhands.host.keeping import secret_file, shown_secret
from fourhands.host.protocol import LARGEST, PROTOCOL


async def raw(house: House) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    await house.link()
    return await asyncio.open_unix_connection(house.places.socket)


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return struct.pack("!I", len(body)) + body


async def answer(reader: asyncio.StreamReader) -> dict[str, Any]:
    (size,) = struct.unpack("!I", await reader.readexactly(4))
    found: dict[str, Any] = json.loads(await reader.readexactly(size))
    return found


async def works(house: House) -> bool:
    """Whether the host still does its work for others."""
    term = await house.sh("exit 9")
    return bool((await term.exit())["code"] == 9)


@pytest.mark.parametrize(
    "stream",
    [
        b"\xff\xff\xff\xff garbage",
        struct.pack("!I", LARGEST + 1),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        struct.pack("!I", 3) + b"{{{",
        struct.pack("!I", 2) + b"[]",
        framed({"fds": 3}),
        struct.pack("!I", 200_000) + b"[" * 200_000,
    ],
    ids=lambda stream: repr(stream[:12]),
)
async def test_garbage_closes_its_own_connection_only(house: House, stream: bytes) -> None:
    reader, writer = await raw(house)
    writer.write(stream)
    async with asyncio.timeout(40):
        assert await reader.read() == b""
    writer.close()
    assert await works(house)


def shown(house: House) -> dict[str, object]:
    """What a client shows that may come in."""
    return {"secret": shown_secret(house.places.state)}


async def test_half_a_message_and_a_hang_up_do_no_harm(house: House) -> None:
    for cut in (1, 3, 4, 6):
        _, writer = await raw(house)
        writer.write(framed({"id": 1, "do": "list"})[:cut])
        writer.close()
        await writer.wait_closed()
    assert await works(house)


async def test_who_has_not_said_hello_is_told_nothing(house: House) -> None:
    reader, writer = await raw(house)
    writer.write(
        framed({"id": 7, "do": "list"}) + framed({"id": 8, "do": "hello", "protocol": PROTOCOL + 1, **shown(house)})
    )
    first, second = await answer(reader), await answer(reader)
    assert first == {"id": 7, "error": {"kind": "request", "message": "no such request: 'list'"}}
    assert second["error"]["kind"] == "protocol"
    assert str(PROTOCOL + 1) in second["error"]["message"]
    writer.close()


async def test_a_client_of_another_version_can_still_stop_the_host(house: House) -> None:
    link = await house.link()
    reader, writer = await raw(house)
    writer.write(framed({"id": 1, "do": "stop", **shown(house)}))
    assert await answer(reader) == {"id": 1, "pid": link.host_pid}
    async with asyncio.timeout(40):
        await house.events.lost.wait()
    writer.close()


async def test_who_does_not_read_is_dropped_and_nobody_else(house: House) -> None:
    await house.link()
    await house.create("cat", meta={"x": "y" * 30_000})
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(house.places.socket)
        sock.sendall(framed({"id": 0, "do": "hello", "protocol": PROTOCOL, **shown(house)}))
        sock.sendall(b"".join(framed({"id": n, "do": "list"}) for n in range(1000)))  # 30 MB of answers
        poller = select.poll()
        poller.register(sock, select.POLLRDHUP)
        assert await asyncio.to_thread(poller.poll, 40_000)  # it hung up, though we have read nothing
    assert "peer is not reading" in Path(house.places.state, "host.log").read_text()
    assert await works(house)


BAD: list[dict[str, object]] = [
    {},
    {"do": None},
    {"do": ["list"]},
    {"do": "__init__"},
    {"do": "create"},
    {"do": "create", "terminal": "term_x", "argv": 5, "env": {}, "cwd": "/", "cols": 1, "rows": 1, "program": "x"},
    {"do": "create", "terminal": "term_x", "argv": ["x"], "env": [], "cwd": "/", "cols": 1, "rows": 1, "program": "x"},
    {"do": "create", "terminal": "../x", "argv": ["x"], "env": {}, "cwd": "/", "cols": 1, "rows": 1, "program": "x"},
    {"do": "end", "terminal": None},
    {"do": "end", "terminal": {"a": 1}},
    {"do": "attach", "terminal": "term_none"},
    {"do": "signal", "terminal": "term_none", "signal": "SIGKILL"},
    {"do": "meta", "terminal": "term_none", "meta": 5},
]


async def test_nonsense_is_answered_with_an_error(house: House) -> None:
    reader, writer = await raw(house)
    writer.write(framed({"id": 0, "do": "hello", "protocol": PROTOCOL, **shown(house)}))
    await answer(reader)
    for number, request in enumerate(BAD, 1):
        writer.write(framed({**request, "id": number}))
    for number in range(1, len(BAD) + 1):
        found = await answer(reader)
        assert found["id"] == number
        assert found["error"]["message"], BAD[number - 1]
    writer.close()
    assert await works(house)


@pytest.mark.parametrize(
    "bad",
    [
        {"cols": 10**9},
        {"cols": float("inf")},
        {"cols": "wide"},
        {"rows": None},
        {"rows": -1},
        {"env": {"a": "\0"}},
        {"argv": ["\0"]},
        {"argv": []},
        {"terminal": "term_"},
        {"terminal": "term_" + "x" * 65},
        {"terminal": "term_a/b"},
        {"terminal": "term_a\n"},
        {"capacity": "all"},
        {"meta": {"x": "y" * META_LARGEST}},
        {"meta": ["x"]},
    ],
    ids=repr,
)
async def test_a_create_with_a_bad_value_is_refused(house: House, bad: dict[str, object]) -> None:
    link = await house.link()
    with pytest.raises(FourhandsError):
        await link.request("create", **(house.request("/bin/true") | bad))
    assert (await link.request("list")).body["terminals"] == []
    assert [name for name in os.listdir(house.places.state) if name.startswith("term_")] == []


async def test_what_cannot_be_started_has_its_own_error(house: House) -> None:
    link = await house.link()
    text = f"{house.root}/text"
    Path(text).write_text("no program")
    for bad, error in [
        ({"program": "/nowhere/x"}, CommandNotFound),
        ({"program": text}, ExecDenied),
        ({"program": "/"}, ExecDenied),
        ({"cwd": "/nowhere"}, BadCwd),
        ({"cwd": text}, BadCwd),
    ]:
        with pytest.raises(error):
            await link.request("create", **(house.request("x", program="/bin/true") | bad))
    assert not house.events.lost.is_set()  # an error is an answer, not the end of the link
    assert await works(house)


async def test_an_id_is_used_once(house: House) -> None:
    link = await house.link()
    term = await house.create("cat")
    request = house.request("cat") | {"terminal": term.id}
    with pytest.raises(Unavailable, match="used before"):
        await link.request("create", **request)
    await term.end(forget=True)
    with pytest.raises(Unavailable, match="used before"):  # its log is still on the shelf
        await link.request("create", **request)


async def test_unknown_terminals_are_named(house: House) -> None:
    link = await house.link()
    for do in ("attach", "end", "probe", "members", "meta", "signal"):
        with pytest.raises(NotFound, match="no terminal 'term_none'"):
            await link.request(do, terminal="term_none")


async def test_signals_reach_the_main_or_the_foreground_group(house: House) -> None:
    term = await house.create("bash", "--norc", "-i")
    await term.until(rb"\$ ")
    term.type(b"echo job-$((1+1)); sleep 1000; echo status $?\n")
    await term.until(rb"job-2")
    while (await term.ask("probe"))["names"] != ["sleep"]:
        pass
    await term.ask("signal", signal="SIGTERM", foreground=True)
    await term.until(rb"status 143")
    with pytest.raises(FourhandsError, match="SIGNONE"):
        await term.ask("signal", signal="SIGNONE")
    await term.ask("signal", signal="SIGKILL")
    assert (await term.exit())["signal"] == "SIGKILL"
    await term.ask("signal", signal="SIGKILL")  # gone: nothing to do


async def test_meta_is_kept_told_and_bounded(house: House) -> None:
    link = await house.link()
    term = await house.create("cat", meta={"title": "one", "n": 1})
    await term.ask("meta", meta={"title": "two"})
    event = await house.events.until("changed", term.id)
    assert event["meta"] == {"title": "two", "n": 1}
    with pytest.raises(Unavailable, match="at most"):
        await term.ask("meta", meta={"more": "x" * META_LARGEST})
    other = await house.join(start=False)
    assert other.found[0]["meta"] == {"title": "two", "n": 1}
    assert (await link.request("list")).body["terminals"][0]["meta"] == {"title": "two", "n": 1}


async def test_a_long_command_line_is_clipped_in_lists(house: House) -> None:
    term = await house.create("/bin/sh", "-c", ": " + "x" * 100_000, "more", "words")
    assert sum(map(len, term.body["argv"])) <= 4096
    assert term.body["argv"][:2] == ["/bin/sh", "-c"]


async def until_probe(term: Term, **expected: object) -> dict[str, Any]:
    """Ask until the kernel shows what is expected."""
    async with asyncio.timeout(40):
        while True:
            found = await term.ask("probe")
            if all(found.get(key) == value for key, value in expected.items()):
                return found


WAITING: dict[str, tuple[list[str], dict[str, object]]] = {
    "cat": (["cat"], {"waits": ["read"], "canonical": True, "echo": True}),
    "read -s": (["bash", "-c", "read -s x"], {"waits": ["read"], "canonical": True, "echo": False}),
    "input": ([sys.executable, "-c", "input('name? ')"], {"waits": ["read"], "canonical": True, "echo": True}),
    "getpass": (
        [sys.executable, "-c", "import getpass; getpass.getpass()"],
        {"waits": ["read"], "canonical": True, "echo": False},
    ),
    "vim": (["vim", "-u", "NONE", "-N"], {"waits": ["poll"], "canonical": False}),
    "python with readline": ([sys.executable, "-q"], {"canonical": False, "shell": True}),
    "bash": (["bash", "--norc", "-i"], {"canonical": False, "shell": True}),
    "zsh": (["zsh", "-f", "-i"], {"canonical": False, "shell": True}),
    "second of a pipe": (["bash", "-c", "set -m; sleep 1000 | cat </dev/tty"], {"waits": ["read"], "shell": False}),
}


@pytest.mark.parametrize("program", WAITING)
async def test_a_program_that_waits_for_input_is_seen_to(house: House, program: str) -> None:
    argv, expected = WAITING[program]
    need(shutil.which(argv[0]), f"no {argv[0]}", pytest.skip, pytest.fail)
    term = await house.create(*argv)
    found = await until_probe(term, **expected)
    while not found["waits"]:  # line editors wait in read or in a kind of select, as their version has it
        found = await until_probe(term, **expected)
    assert found["waits"] in (["poll"], ["read"])


async def test_a_program_that_sleeps_does_not_wait_for_input(house: House) -> None:
    term = await house.create("sleep", "1000")
    found = await until_probe(term, asleep=True, names=["sleep"])
    assert found["waits"] == []
    assert found["canonical"] is True


async def test_a_program_that_works_does_not_wait_for_input(house: House) -> None:
    term = await house.sh("echo on; while :; do :; done")
    await term.until(rb"on")
    found = await until_probe(term, asleep=False)
    assert found["waits"] == []


async def test_members_and_their_ports_are_listed(house: House) -> None:
    code = "import socket,os; s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen()\n"
    code += "print('port', s.getsockname()[1], os.getpid()); input()"
    term = await house.create("bash", "-c", f'{sys.executable} -u -c "$CODE"; true', env={"CODE": code})
    found = await term.until(rb"port (\d+) (\d+)")
    members = await term.ask("members")
    assert members["ports"] == {found[1].decode(): int(found[2])}
    assert {m["pid"] for m in members["members"]} == {term.pid, int(found[2])}


async def test_a_client_that_asks_without_end_does_not_keep_the_others_waiting(house: House) -> None:
    link = await house.link()
    reader, writer = await raw(house)
    writer.write(framed({"id": 0, "do": "hello", "protocol": PROTOCOL, **shown(house)}))
    await answer(reader)
    writer.write(b"".join(framed({"id": n, "do": "members", "terminal": "term_none"}) for n in range(1, 15_000)))
    await writer.drain()
    assert (await link.request("list")).body["terminals"] == []
    for n in range(1, 15_000):
        assert (await answer(reader))["id"] == n  # all are answered, in their order
    writer.close()


async def test_a_client_cannot_shrink_the_page_that_it_shares_with_the_host(house: House) -> None:
    await house.link()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(40)
        sock.connect(house.places.socket)
        sock.sendall(framed({"id": 0, "do": "hello", "protocol": PROTOCOL, **shown(house)}))
        _, fds, _, _ = socket.recv_fds(sock, 65536, 4)
        with pytest.raises(PermissionError):
            os.ftruncate(fds[0], 0)
        for fd in fds:
            os.close(fd)
    assert await works(house)


async def test_the_same_user_without_the_secret_is_refused_and_told_why(house: House) -> None:
    link = await house.link()
    reader, writer = await raw(house)
    wrong: list[dict[str, Any]] = [{}, {"secret": ""}, {"secret": "x" * 43}, {"secret": None}, {"secret": "é\ud800"}]
    for number, bad in enumerate(wrong):
        for do in ("hello", "stop"):
            writer.write(framed({"id": number, "do": do, "protocol": PROTOCOL, **bad}))
            refused = (await answer(reader))["error"]
            assert refused["kind"] == "secret"
            assert "host.secret" in refused["message"]
    writer.write(framed({"id": 9, "do": "list"}))
    assert "error" in await answer(reader)  # it was let in by none of them
    writer.close()
    assert link.alive
    assert stat.S_IMODE(os.stat(secret_file(house.places.state)).st_mode) == 0o600
    assert "does not show the host's secret" in Path(house.places.state, "host.log").read_text()


async def test_a_kept_secret_outlives_its_client_and_goes_to_one_client_at_a_time(house: House) -> None:
    link = await house.join()
    kept = await link.keep("browsers")
    assert await link.keep("browsers") == kept
    assert await link.keep("other") != kept
    second = await house.join()
    assert await second.keep("browsers") != kept  # as long as the first is there
    link.close()
    third = await house.join()
    assert await third.keep("browsers") == kept
