"""Reading files for commands: text, some lines, or some bytes, with the version of the whole."""

import asyncio
import base64
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args, From1
from fourhands.commands.file_redaction import piece_for, text_for
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument
from fourhands.safety.paths.errors import FileTooLarge
from fourhands.workbench.files.excerpt import PIECE_BYTES
from fourhands.workbench.workbench import Workbench

BLOB_LIMIT = 1024 * 1024
"""Bytes of a binary file that are given out at once."""


class ReadFile(Args, frozen=True, kw_only=True):
    """Arguments of the reading commands."""

    path: Annotated[str, Meta(description="Path of a file in the workspace.")]
    start_line: Annotated[From1 | None, Meta(description="First line, from 1; default: the beginning.")] = None
    end_line: Annotated[From1 | None, Meta(description="Last line; default: the end.")] = None


class FileContent(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file's text, or a part of it, and the version of the whole; encoding base64 means: the bytes of no text.

    Of a part that was asked for in bytes, `offset` is where it begins, `next` where the next one does (null: that was
    the end), and `lines` is 0: they are not counted.
    """

    content: str
    version: str
    lines: int
    encoding: str = "utf-8"
    offset: int | None = None
    next: int | None = None
    size: int | None = None


async def read_content(bench: Workbench, args: ReadFile, call: Call, *, binary: bool = False) -> FileContent:
    """Read a file for `file.read` and `editor.read_file`; with `binary`, also one that is not text."""
    files = bench.files(call.actor)
    some = args.start_line is not None or args.end_line is not None
    try:
        read = await asyncio.to_thread(files.read_text, args.path)
    except FileTooLarge:
        if not some:
            raise
        piece = await asyncio.to_thread(files.read_lines, args.path, args.start_line or 1, args.end_line)
        note_seen(bench, call, piece.path, piece.version)
        content = text_for(bench, call, piece.text or "")
        return FileContent(content=content, version=piece.version, lines=piece.lines, encoding=piece.encoding)
    if read.binary:
        if not binary or read.size > BLOB_LIMIT:
            raise _no_text(args.path, read.size, most=binary)
        data = await asyncio.to_thread(files.read, args.path, limit=BLOB_LIMIT)
        return FileContent(content=base64.b64encode(data).decode(), version=read.version, lines=0, encoding="base64")
    note_seen(bench, call, read.path, read.version)
    text = await asyncio.to_thread(text_for, bench, call, read.text)
    lines = text.split("\n")
    if some:
        text = "\n".join(lines[(args.start_line or 1) - 1 : args.end_line])
    total = len(lines) - (not lines[-1])
    return FileContent(content=text, version=read.version, lines=total, encoding=read.encoding)


async def read_piece(
    bench: Workbench, call: Call, path: str, *, offset: int, limit: int | None, binary: bool
) -> FileContent:
    """Read some bytes of a file, however large it is; without a limit, as many as are given out at once."""
    most = BLOB_LIMIT if binary else PIECE_BYTES
    files = bench.files(call.actor)
    piece = await asyncio.to_thread(files.read_piece, path, offset, limit or most)
    if piece.text is None and not binary:
        raise _no_text(path, piece.size, most=False)
    if piece.text is not None:
        note_seen(bench, call, piece.path, piece.version)
        text = await asyncio.to_thread(piece_for, bench, files, call, path, piece)
    return FileContent(
        content=base64.b64encode(piece.data).decode() if piece.text is None else text,
        version=piece.version,
        lines=0,
        encoding="base64" if piece.text is None else piece.encoding,
        offset=piece.offset,
        next=piece.end if piece.end < piece.size else None,
        size=piece.size,
    )


def note_seen(bench: Workbench, call: Call, path: str, version: str) -> None:
    """Remember the version that an agent has read: it may replace that one, and none that came after."""
    session = bench.session(call)
    if session is not None:
        session.seen[path] = version


def _no_text(path: str, size: int, *, most: bool) -> BadArgument:
    if most:
        return BadArgument(
            f"{path!r} is a binary file of {size} bytes, and at most {BLOB_LIMIT} are given at once",
            hint=f"openspace.file.read gives it in pieces: offset 0, limit {BLOB_LIMIT}, then from `next` on",
        )
    return BadArgument(
        f"{path!r} is a binary file of {size} bytes",
        hint="use a program in a terminal to look into it, such as file or xxd; openspace.file.read takes binary: true",
    )
