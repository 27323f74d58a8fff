"""Pieces of files that are too large to be read at once: some lines, or some bytes as text, in bounded memory."""

import codecs
import hashlib
import os
from collections.abc import Iterator

from msgspec import Struct

from fourhands.core.errors import BadArgument
from fourhands.safety.paths.errors import FileTooLarge, shown
from fourhands.workbench.files.encoding import begins_as

CHUNK = 1 << 20

PIECES_BYTES = 2 << 30
"""Bytes of a file that is read in pieces: each piece comes with the version of the whole, which must be read for it."""

_LEAST = 8  # a mark and one character in the widest encoding: a piece that brings nothing would be asked for forever

PIECE_BYTES = 256 * 1024
"""Bytes of a piece whose length was not given."""


class FilePiece(Struct, frozen=True, kw_only=True):
    """A part of a file: its text (None: it is not text), its beginning and end in bytes, and facts of the whole file.

    `lines` counts those of the whole file; where only bytes were wanted it is 0.
    """

    path: str
    text: str | None
    data: bytes
    encoding: str
    version: str
    size: int
    offset: int
    end: int
    lines: int = 0


def read_lines(
    fd: int, path: str, given: str, first: int, last: int | None, most: int, *, chunk_bytes: int = CHUNK
) -> FilePiece:
    """Read the lines from `first` to `last`, and count all of them, in one pass over the file."""
    _, encoding = begins_as(os.pread(fd, 8192, 0))
    if encoding not in ("utf-8", "utf-8-sig"):
        raise BadArgument(
            f"{shown(given)} is {encoding} and too large to be read by lines",
            hint=f"openspace.file.read takes offset and limit{', and binary' if encoding == 'binary' else ''}",
        )
    digest, size, line = hashlib.blake2b(digest_size=16), 0, 1
    kept = bytearray()
    begin: int | None = None
    ended = True
    for chunk in _chunks(fd, chunk_bytes):
        digest.update(chunk)
        at, seen = 0, line
        line += chunk.count(b"\n")
        if line >= first and (last is None or seen <= last):
            at = _skip(chunk, first - seen)
            stop = len(chunk) if last is None or line <= last else _skip(chunk, last + 1 - seen)
            if stop > at or seen >= first:
                begin = size + at if begin is None else begin
            kept += chunk[at:stop]
            if len(kept) > most:
                raise FileTooLarge(
                    f"lines {first} to {last or 'the end'} of {shown(given)} have more than {most} bytes",
                    hint="ask for fewer lines with startLine and endLine, or for bytes with offset and limit",
                    path=given,
                )
        size += len(chunk)
        ended = chunk.endswith(b"\n")
    data = bytes(kept)
    if last is not None and data.count(b"\n") == last - first + 1:
        data = data[:-1]  # lines are what is between line feeds, as in a file that is read whole
    begin = size if begin is None else begin
    text, encoding = _text(data, at_start=begin == 0)
    return FilePiece(
        path=path,
        text=text,
        data=data,
        encoding=encoding,
        version=digest.hexdigest(),
        size=size,
        offset=begin,
        end=begin + len(data),
        lines=line - 1 if ended else line,
    )


def read_bytes(fd: int, path: str, given: str, offset: int, limit: int) -> FilePiece:
    """Read `limit` bytes from `offset` on, as text where they are; a character that is cut is left for the next."""
    mark, encoding = begins_as(os.pread(fd, 8192, 0))
    limit = limit if encoding == "binary" else max(limit, _LEAST)
    digest, size = hashlib.blake2b(digest_size=16), 0
    kept = bytearray()
    for chunk in _chunks(fd):
        digest.update(chunk)
        kept += chunk[max(offset - size, 0) : max(offset + limit - size, 0)]
        size += len(chunk)
    if offset > size:
        raise BadArgument(f"offset {offset} is past the end of {shown(given)}", hint=f"it has {size} bytes")
    data = bytes(kept)
    if encoding != "binary":
        # A piece that would begin in the middle of a character begins with the next one.
        skipped = len(mark) if offset == 0 else _inside(data, offset, encoding)
        data, offset = data[skipped:], offset + skipped
    text, encoding, used = _decode(data, encoding, final=offset + len(data) >= size)
    return FilePiece(
        path=path,
        text=text,
        data=data[:used],
        encoding=encoding,
        version=digest.hexdigest(),
        size=size,
        offset=offset,
        end=offset + used,
    )


def _chunks(fd: int, most: int = CHUNK) -> Iterator[bytes]:
    offset = 0
    while chunk := os.pread(fd, most, offset):
        yield chunk
        offset += len(chunk)


def _skip(chunk: bytes, lines: int) -> int:
    """Return the position that is so many line feeds further on."""
    at = 0
    for _ in range(max(lines, 0)):
        found = chunk.find(b"\n", at)
        if found < 0:
            return len(chunk)
        at = found + 1
    return at


def _text(data: bytes, *, at_start: bool) -> tuple[str | None, str]:
    mark, encoding = begins_as(data) if at_start else (b"", "utf-8")
    text, encoding, _ = _decode(data[len(mark) :], encoding, final=True)
    return text, encoding


def _inside(data: bytes, offset: int, encoding: str) -> int:
    """Return how many bytes at the beginning belong to a character that began before."""
    if encoding.startswith("utf-8"):
        return next((n for n, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    unit = 4 if encoding.startswith("utf-32") else 2 if encoding.startswith("utf-16") else 1
    return -offset % unit


def _decode(data: bytes, encoding: str, *, final: bool) -> tuple[str | None, str, int]:
    """Return the text (None if it is not text), its encoding, and how many bytes it took."""
    if encoding == "binary":
        return None, encoding, len(data)
    decoder = codecs.getincrementaldecoder("utf-8" if encoding == "utf-8-sig" else encoding)()
    try:
        text = decoder.decode(data, final)
    except UnicodeDecodeError:
        return (None, "binary", len(data)) if b"\0" in data else (data.decode("latin-1"), "latin-1", len(data))
    return text, encoding, len(data) - len(decoder.getstate()[0])
