import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.core.bounded import BoundedDict


def test_the_oldest_entries_make_room() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept.update(a=1, b=2, c=3)
    assert dict(kept) == {"b": 2, "c": 3}
    assert len(kept) == kept.total == 2


def test_a_key_that_is_set_again_or_touched_is_the_newest_and_one_that_is_read_is_not() -> None:
    kept: BoundedDict[str, int] = BoundedDict(3)
    kept.update(a=1, b=2, c=3)
    kept["a"] = 4
    kept.touch("b")
    assert kept["c"] == 3
    assert list(kept) == ["c", "a", "b"]
    assert list(reversed(kept)) == ["b", "a", "c"]
    kept["d"] = 5
    assert "c" not in kept
    with pytest.raises(KeyError):
        kept.touch("c")


def test_each_entry_that_had_to_go_is_reported_once_it_has_gone() -> None:
    gone: list[tuple[str, int, bool]] = []
    kept: BoundedDict[str, int] = BoundedDict(2, lambda key, value: gone.append((key, value, key in kept)))
    kept["a"] = 1
    kept["a"] = 2
    kept["b"] = 3
    del kept["b"]
    kept["c"] = 4
    assert gone == []
    kept["d"] = 5
    assert gone == [("a", 2, False)]


def test_sizes_are_counted_and_the_newest_entry_stays_whatever_its_size() -> None:
    kept: BoundedDict[str, str] = BoundedDict(10, size=lambda key, value: len(value))
    kept["a"] = "12345"
    kept["b"] = "12345"
    assert kept.total == 10
    kept["c"] = "1"
    assert list(kept) == ["b", "c"]
    kept["d"] = "x" * 100
    assert dict(kept) == {"d": "x" * 100}
    kept["e"] = "y"
    assert dict(kept) == {"e": "y"}
    kept["e"] = "yyy"
    assert kept.total == 3
    kept.clear()
    assert kept.total == 0


def test_a_number_of_entries_can_be_set_beside_their_size() -> None:
    kept: BoundedDict[int, str] = BoundedDict(100, size=lambda key, value: len(value), most=3)
    for number in range(5):
        kept[number] = "x"
    assert list(kept) == [2, 3, 4]


@pytest.mark.parametrize(("limit", "most"), [(0, None), (-1, None), (5, 0), (5, -1)])
def test_a_bound_below_one_is_refused(limit: int, most: int | None) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        BoundedDict[str, int](limit, most=most)


@given(st.lists(st.tuples(st.sampled_from(["set", "del", "get"]), st.integers(0, 5), st.integers(0, 6))))
def test_the_bound_holds_after_any_operations(operations: list[tuple[str, int, int]]) -> None:
    kept: BoundedDict[int, int] = BoundedDict(8, size=lambda key, value: value)
    there: dict[int, int] = {}
    for operation, key, value in operations:
        if operation == "set":
            kept[key] = value
            there.pop(key, None)
            there[key] = value
            while sum(there.values()) > 8 and len(there) > 1:
                del there[next(iter(there))]
        elif operation == "del":
            assert kept.pop(key, None) == there.pop(key, None)
        else:
            assert kept.get(key) == there.get(key)
        assert list(kept.items()) == list(there.items())
        assert kept.total == sum(there.values())
