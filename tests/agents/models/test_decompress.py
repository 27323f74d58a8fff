"""Compressed bodies, whole, cut and broken."""

import gzip
import zlib

import pytest

from fourhands.agents.models.decompress import Inflated

TEXT = b"a text of which there is enough " * 5000


class Pieces:
    """A source that gives these."""

    def __init__(self, *pieces: bytes | None) -> None:
        self.pieces = [*pieces]

    async def read(self, within_s: float | None = None) -> bytes | None:
        return self.pieces.pop(0) if self.pieces else b""


def raw(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


async def whole(source: Inflated) -> bytes:
    parts = []
    while data := await source.read():
        parts.append(data)
    return b"".join(parts)


@pytest.mark.parametrize("squeeze", [gzip.compress, zlib.compress, raw])
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_it_is_read_however_it_is_cut(squeeze, size):
    data = squeeze(TEXT)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert await whole(Inflated(Pieces(*pieces))) == TEXT


async def test_several_one_behind_the_other_are_one():
    assert await whole(Inflated(Pieces(gzip.compress(b"one ") + gzip.compress(b"two")))) == b"one two"


async def test_a_few_bytes_never_become_a_flood():
    source = Inflated(Pieces(gzip.compress(bytes(100_000))), piece=1000)
    sizes = []
    while data := await source.read():
        sizes.append(len(data))
    assert (max(sizes), sum(sizes)) == (1000, 100_000)


async def test_a_pause_is_passed_on_and_nothing_is_nothing():
    data = gzip.compress(b"text")
    source = Inflated(Pieces(data[:5], None, data[5:]))
    assert [await source.read(), await source.read(), await source.read()] == [None, b"text", b""]
    assert await Inflated(Pieces()).read() == b""


@pytest.mark.parametrize(
    "data", [gzip.compress(TEXT)[:50], b"this is not compressed at all", raw(TEXT)[:20]], ids=["cut", "plain", "raw"]
)
async def test_what_cannot_be_read_is_an_error(data):
    with pytest.raises(ConnectionError, match="compressed answer"):
        await whole(Inflated(Pieces(data)))
