"""A terminal of the workbench in the terminal of a command line: keys one way, output the other, by `/ws/terminals`."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import termios
import tty
from collections.abc import Iterator
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.surfaces.cli.base import ServerClient

DETACH = b"\x1d"
KEYS_AT_ONCE = 64 * 1024
MOST_KEYS = 256
"""Pieces of that size that wait for a program which does not read; large, for behind them no detaching is noticed."""

LAST_KEYS_S = 1.0
"""Seconds that keys typed before detaching may take to be sent."""

_POSITION = 8  # bytes in front of each piece of output
# What a terminal answers by itself: where the cursor is, what it can do, its colours and modes, and its focus. With a
# modifier F3 looks like a cursor in the first row; those are taken for keys.
_REPLY = re.compile(
    rb"\x1b\[(?!1;(?:[2-9]|1[0-6])R)\d+;\d+R|\x1b\[[?>=][\d;]*c|\x1b\[\?[\d;]*\$y|\x1b\[[IO]"
    rb"|\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)"
)


def split_keys(data: bytes) -> Iterator[bytes | str]:
    """Tell what a terminal answers by itself (text) from what a person types (bytes), in order."""
    at = 0
    for reply in _REPLY.finditer(data):
        if reply.start() > at:
            yield data[at : reply.start()]
        yield json.dumps({"type": "reply", "data": reply[0].decode("utf-8", "replace")})
        at = reply.end()
    if at < len(data):
        yield data[at:]


async def attached(client: ServerClient, terminal_id: str) -> dict[str, Any] | None:
    """Use a terminal until it ends or the person detaches; return how it ended, None if it goes on."""
    url = f"{client.address.url.replace('http', 'ws', 1)}/ws/terminals/{terminal_id}"
    options: dict[str, Any] = {"max_size": None, "compression": None, "proxy": None, "close_timeout": 2}
    try:
        async with connect(url, additional_headers=client.headers, **options) as socket:
            first = json.loads(await socket.recv())
            if first["type"] == "refused":
                raise FourhandsError(str(first["error"]))
            with _raw():
                return await _Attached(socket).go(first)
    except ConnectionClosed as error:
        raise Unavailable(
            "lost the connection to the server", hint="attach again: the terminal keeps running"
        ) from error
    except (OSError, InvalidStatus) as error:
        raise Unavailable(f"cannot attach: {error}") from error


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    before = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSADRAIN)  # what was typed ahead is not thrown away
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        # Leave modes that the program may have switched on: alternate screen, mouse, bracketed paste, hidden cursor.
        os.write(1, b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m")


class _Attached:
    """One attachment: our own terminal, and the socket of the other one."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[bytes | str] = asyncio.Queue()
        self._detached = asyncio.Event()

    async def go(self, first: dict[str, Any]) -> dict[str, Any] | None:
        _write(str(first.get("data", "")).encode())
        self._loop.add_reader(0, self._read_keys)
        self._loop.add_signal_handler(signal.SIGWINCH, self._resized)
        self._resized()
        try:
            async with asyncio.TaskGroup() as group:
                end, sending = group.create_task(self._show()), group.create_task(self._send())
                leaving = group.create_task(self._detached.wait())
                await asyncio.wait({end, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not end.done():
                    await self._sent()
                for task in (end, sending, leaving):
                    task.cancel()
        finally:
            self._loop.remove_reader(0)
            self._loop.remove_signal_handler(signal.SIGWINCH)
        if end.cancelled():
            return None
        if (word := end.result()) is None:
            raise Unavailable("lost the connection to the server", hint="attach again: the terminal keeps running")
        return word

    def _read_keys(self) -> None:
        try:
            data = os.read(0, KEYS_AT_ONCE)
        except OSError:  # our own terminal has been closed
            data = b""
        before, found, _ = data.partition(DETACH)
        for piece in split_keys(before):
            self._waiting.put_nowait(piece)
        if found or not data:
            self._loop.remove_reader(0)
            self._detached.set()
        elif self._waiting.qsize() >= MOST_KEYS:  # the program is slow: a person who pastes waits too
            self._loop.remove_reader(0)

    def _resized(self) -> None:
        cols, rows = shutil.get_terminal_size()
        self._waiting.put_nowait(json.dumps({"type": "resize", "cols": cols, "rows": rows}))

    async def _send(self) -> None:
        while True:
            piece = await self._waiting.get()
            with contextlib.suppress(ConnectionClosed):  # it has ended, or is lost: the reader tells which
                await self._socket.send(piece)
            self._waiting.task_done()
            if self._waiting.qsize() == MOST_KEYS // 2 and not self._detached.is_set():
                self._loop.add_reader(0, self._read_keys)

    async def _sent(self) -> None:
        """Wait until the keys before Ctrl-] are sent; a program that does not read is not waited for."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_KEYS_S):
                await self._waiting.join()

    async def _show(self) -> dict[str, Any] | None:
        """Write what is printed until the terminal has ended, and return how; None if the connection is lost."""
        with contextlib.suppress(ConnectionClosed):
            async for message in self._socket:
                if isinstance(message, bytes):
                    _write(message[_POSITION:])
                    continue
                word: dict[str, Any] = json.loads(message)
                if word["type"] == "exit":
                    return word
                if word["type"] == "screen":
                    _write(str(word["data"]).encode())
        return None


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(1, view) :]
        except BlockingIOError:
            continue
