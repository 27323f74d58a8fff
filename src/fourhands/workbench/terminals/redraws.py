"""Ranges of output that were nothing but a prompt drawn again after a resize."""

from fourhands.host.log import Chunk

_MOST = 100


class Redraws:
    """The newest such ranges of one terminal; a replay leaves them out."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> None:
        """Add the newest range. Of two sizes in a row the redraws are one range."""
        if self.ranges and self.ranges[-1][1] > start:
            start = self.ranges.pop()[0]
        self.ranges.append((start, end))
        del self.ranges[:-_MOST]

    def without(self, chunk: Chunk) -> Chunk:
        """Return output without the ranges that lie in it whole."""
        data = bytearray(chunk.data)
        for low, high in reversed(self.ranges):
            if low >= chunk.start:
                del data[low - chunk.start : high - chunk.start]
        return Chunk(chunk.start, bytes(data))
