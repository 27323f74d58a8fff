"""Tables of cases: none is left out, and every one that fails is named."""

import pytest
from tests.kit.table import table


def test_every_row_is_checked_and_every_failing_one_is_named() -> None:
    seen: list[tuple[int, str]] = []

    @table(("number", "text"), [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    def check(number: int, text: str) -> None:
        seen.append((number, text))
        assert number % 2, "even"

    with pytest.raises(AssertionError) as caught:
        check()  # type: ignore[call-arg]  # the table gives them
    assert seen == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    report = str(caught.value)
    assert report.startswith("2 of 4 rows failed")
    assert "2, 'b': AssertionError: even" in report
    assert "4, 'd': AssertionError: even" in report
    assert "'a'" not in report
    assert "'c'" not in report


def test_an_exception_that_was_not_raised_is_a_failure_too() -> None:
    @table("value", [1])
    def check(value: int) -> None:
        with pytest.raises(ValueError, match="never"):
            pass

    with pytest.raises(AssertionError, match="1 of 1 rows failed\n1: Failed"):
        check()  # type: ignore[call-arg]  # the table gives it


@table("left", ["a", "b"])
@table("right", [1, 2, 3])
def test_tables_can_be_stacked_and_leave_fixtures_alone(
    left: str, right: int, record_property: object, request: pytest.FixtureRequest
) -> None:
    seen = request.node.stash.setdefault(SEEN, [])
    seen.append((left, right))
    assert len(set(seen)) == len(seen) <= 6
    assert callable(record_property)


SEEN = pytest.StashKey[list[tuple[str, int]]]()


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="checks nothing"):
        table("value", [])
