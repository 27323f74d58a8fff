from hypothesis import given, settings
from hypothesis import strategies as st

from fourhands.agents.briefing.budget import fit, share, tokens


def test_tokens_are_counted_by_bytes_so_that_other_scripts_are_not_cheap():
    assert tokens("") == 0
    assert tokens("abcd") == 2
    assert tokens("日本語") == 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=40), st.integers(20, 200))
def test_fit_keeps_lines_from_the_beginning_and_counts_the_rest(lines, limit):
    kept = fit(lines, limit, lambda count: f"and {count} more")
    assert tokens("\n".join(kept)) <= limit
    if kept != lines:
        assert kept[:-1] == lines[: len(kept) - 1]
        assert kept[-1] == f"and {len(lines) - len(kept) + 1} more"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 1000), max_size=20), st.integers(-5, 3000), st.integers(0, 500))
def test_share_gives_small_wishes_all_and_never_more_than_there_is(sizes, total, most):
    shares = share(sizes, total, most)
    assert len(shares) == len(sizes)
    assert sum(shares) <= max(total, 0)
    assert all(0 <= given <= min(size, most) for given, size in zip(shares, sizes, strict=True))
    if sum(min(size, most) for size in sizes) <= total:
        assert shares == [min(size, most) for size in sizes]
