"""A compressed body, read as what it was before: gzip or deflate, in pieces of a bounded size."""

import zlib
from collections.abc import Awaitable
from typing import Protocol

PIECE = 1024 * 1024
"""The most that is given at once: a few bytes may stand for a thousand times as many."""

ENCODINGS = ("gzip", "x-gzip", "deflate")

_EITHER = 32 + zlib.MAX_WBITS  # gzip or zlib, told by the header
_RAW = -zlib.MAX_WBITS


class ByteSource(Protocol):
    """A source of bytes: b"" is the end, None a pause."""

    def read(self, within_s: float | None = None) -> Awaitable[bytes | None]:
        """Return what has come."""


class Inflated:
    """A source of uncompressed bytes around one of compressed bytes; what cannot be read is an `OSError`."""

    def __init__(self, source: ByteSource, *, piece: int = PIECE) -> None:
        self._source = source
        self._piece = piece
        self._inflate = zlib.decompressobj(_EITHER)
        self._rest = b""
        self._begun = False

    async def read(self, within_s: float | None = None) -> bytes | None:
        """Return the next piece; b"" at the end, None if nothing came within this time."""
        while True:
            # The header that tells one form from the others has two bytes.
            if len(self._rest) < (1 if self._begun else 2):
                data = await self._source.read(within_s)
                if not data:
                    if data is not None and (self._rest or (self._begun and not self._inflate.eof)):
                        raise ConnectionError("its compressed answer ends in the middle")
                    return data
                self._rest += data
                continue
            if given := self._next():
                return given

    def _next(self) -> bytes:
        if self._inflate.eof:  # gzip may be several, one behind the other
            self._inflate = zlib.decompressobj(_EITHER)
        try:
            given = self._inflate.decompress(self._rest, self._piece)
        except zlib.error as error:
            if self._begun:
                raise ConnectionError(f"its compressed answer cannot be read: {error}") from error
            # Some servers send deflate without zlib's header.
            self._begun, self._inflate = True, zlib.decompressobj(_RAW)
            return self._next()
        self._begun = True
        self._rest = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        return given
