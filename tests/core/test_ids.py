import threading
import time

from fourhands.core.ids import IdSource, is_id, new_id, short_id, ulid


def test_ids_rise_strictly_even_within_a_millisecond():
    made = [ulid() for _ in range(5000)]
    assert made == sorted(set(made))
    assert {len(one) for one in made} == {26}
    assert set("".join(made)) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def test_the_time_can_be_read_back():
    before = time.time_ns() // 1_000_000
    text = ulid()[:10]
    value = 0
    for sign in text:
        value = value * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(sign)
    assert before <= value <= before + 60_000


def test_a_clock_that_is_set_back_makes_no_smaller_id():
    times = iter([time.time_ns(), 1, 1])
    source = IdSource(lambda: next(times))
    made = [source.ulid() for _ in range(3)]
    assert made == sorted(set(made))


def test_threads_never_share_an_id():
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.extend([ulid() for _ in range(500)])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 4000


def test_an_id_carries_its_prefix():
    assert new_id("term").startswith("term_0")


def test_short_forms_differ_and_are_taken_for_ids():
    made = []
    for _ in range(1000):
        last = ulid()  # those of the same millisecond count on from here
        taken = [f"term_{last[:-1]}{sign}" for sign in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" if sign > last[-1]]
        made.append(new_id("term", taken))
        assert short_id(made[-1]) not in {short_id(one) for one in taken}
    assert short_id("term_01M7S8FGMFT75ZA6TXSCS3Y0MA") == "term_Y0MA"
    assert all(is_id(one) and is_id(short_id(one)) for one in made[:10])
    assert not any(
        is_id(one) for one in ("term_Y0M", "term_y0ma", "term-Y0MA", "pane_Y0MA", "term_Y0MAX", "build", "Y0MA")
    )
