from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fourhands.workbench.layout.geometry import apportion, cut, fit, percentages, tenths

WEIGHTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


@given(WEIGHTS)
def test_shares_sum_to_the_whole_and_nobody_gets_nothing(weights):
    shares = apportion(1000, weights)
    assert sum(shares) == 1000
    assert min(shares) >= 1


def test_whole_shares_stay_as_they_are():
    assert apportion(1000, [250, 250, 500]) == [250, 250, 500]
    assert apportion(1000, [1, 1, 1]) == [334, 333, 333]


@given(WEIGHTS, st.data())
def test_floors_are_kept_when_they_can_be(weights, data):
    n = len(weights)
    floors = data.draw(st.lists(st.integers(1, 1000 // n), min_size=n, max_size=n))
    shares = fit(1000, weights, floors)
    assert sum(shares) == 1000
    assert all(share >= floor for share, floor in zip(shares, floors, strict=True))


def test_floors_that_ask_too_much_are_met_in_proportion():
    assert fit(1000, [1, 9], [900, 900]) == [500, 500]


@given(st.integers(0, 5000), st.integers(1, 5000), WEIGHTS)
def test_parts_touch_and_fill_the_stretch(start, length, weights):
    parts = cut(start, start + length, percentages(apportion(1000, weights)))
    assert parts[0][0] == start
    assert parts[-1][1] == start + length
    assert all(a[1] == b[0] for a, b in pairwise(parts))


def test_edges_are_rounded_to_the_nearest():
    assert cut(0, 19, (50.0, 50.0)) == [(0, 10), (10, 19)]
    assert cut(0, 9, (33.3, 33.3, 33.4)) == [(0, 3), (3, 6), (6, 9)]


def test_percentages_have_one_decimal_and_come_back():
    assert percentages([333, 667]) == (33.3, 66.7)
    assert tenths((33.3, 66.7)) == [333, 667]
