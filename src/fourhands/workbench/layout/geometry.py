"""The arithmetic of shares: percentages with one decimal that sum to exactly 100.

Sizes stand in the tree as floats with one decimal, for the page; here they are whole tenths, so that sums are
exact. Places in the workbench are whole hundredths of a percent: the edges of neighbours are the same number.
"""

from collections.abc import Sequence
from itertools import pairwise

WHOLE = 1000  # tenths of a percent in a split
AREA = 10_000  # hundredths of a percent along each side of the workbench
LEAST = 400  # no pane is made narrower or lower than this
COMFORT = 1000  # a pane is halved only while both halves keep this; below it, the whole split is shared evenly


def tenths(sizes: Sequence[float]) -> list[int]:
    """Turn percentages into whole tenths."""
    return [round(size * 10) for size in sizes]


def percentages(shares: Sequence[int]) -> tuple[float, ...]:
    """Turn whole tenths into percentages with one decimal."""
    return tuple(share / 10 for share in shares)


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Divide `total` in proportion to the weights, by largest remainder; no share is less than one."""
    spare = total - len(weights)
    scale = sum(weights)
    exact = [total * weight / scale for weight in weights]
    shares = [max(1, int(part)) for part in exact]
    order = sorted(range(len(exact)), key=lambda i: shares[i] - exact[i])
    missing = total - sum(shares)
    for i in order[: max(missing, 0)]:
        shares[i] += 1
    while missing < 0 <= spare:  # those lifted to one are paid for by the largest
        shares[max(range(len(shares)), key=shares.__getitem__)] -= 1
        missing += 1
    return shares


def fit(total: int, weights: Sequence[float], floors: Sequence[int]) -> list[int]:
    """Divide `total` in proportion to the weights, but give each at least its floor.

    Floors that cannot all be met are met in proportion: then there is nothing left to choose.
    """
    if sum(floors) >= total:
        return apportion(total, floors)
    at_floor: set[int] = set()
    while True:
        free = [i for i in range(len(weights)) if i not in at_floor]
        room = total - sum(floors[i] for i in at_floor)
        parts = dict(zip(free, apportion(room, [weights[i] for i in free]), strict=True))
        low = {i for i, part in parts.items() if part < floors[i]}
        if not low:
            return [parts.get(i, floors[i]) for i in range(len(weights))]
        at_floor |= low


def cut(start: int, end: int, sizes: Sequence[float]) -> list[tuple[int, int]]:
    """Divide the stretch from `start` to `end`: each part begins exactly where the one before it ends."""
    edges, done = [start], 0
    for share in tenths(sizes):
        done += share
        edges.append(start + ((end - start) * done + WHOLE // 2) // WHOLE)
    return list(pairwise(edges))
