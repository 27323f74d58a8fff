"""A server that fails again and again is left alone, and tried again by one request."""

import pytest

from fourhands.agents.models.breaker import Breaker, Resting


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def opened(clock: Clock) -> Breaker:
    breaker = Breaker("the server", failures=3, window_s=60, rest_s=15, now=clock)
    for _ in range(3):
        breaker.admit().failed("status 500")
    return breaker


def test_failures_in_a_row_open_it_and_it_says_why_and_how_long():
    clock = Clock()
    breaker = opened(clock)
    assert breaker.open
    clock.time += 5
    with pytest.raises(Resting, match="status 500") as caught:
        breaker.admit()
    assert caught.value.wait_s == 10
    assert "10 s" in caught.value.hint


def test_a_success_between_failures_keeps_it_closed():
    breaker = Breaker("the server", failures=3, now=Clock())
    for _ in range(5):
        breaker.admit().failed("x")
        breaker.admit().failed("x")
        breaker.admit().succeeded()
    assert not breaker.open


def test_failures_spread_over_a_longer_time_do_not_open_it():
    clock = Clock()
    breaker = Breaker("the server", failures=3, window_s=60, now=clock)
    for _ in range(10):
        breaker.admit().failed("x")
        clock.time += 40
    assert not breaker.open


def test_after_its_rest_one_request_tries_and_the_others_wait():
    clock = Clock()
    breaker = opened(clock)
    clock.time += 15
    trial = breaker.admit()
    with pytest.raises(Resting):
        breaker.admit()
    trial.succeeded()
    assert not breaker.open
    breaker.admit().failed("one failure is not enough")
    assert not breaker.open


def test_a_failed_try_means_another_rest():
    clock = Clock()
    breaker = opened(clock)
    clock.time += 15
    breaker.admit().failed("still down")
    with pytest.raises(Resting, match="still down"):
        breaker.admit()
    clock.time += 15
    breaker.admit().succeeded()
    assert not breaker.open


def test_an_abandoned_try_lets_the_next_one_try():
    clock = Clock()
    breaker = opened(clock)
    clock.time += 15
    trial = breaker.admit()
    trial.abandoned()
    trial.succeeded()  # too late to count
    assert breaker.open
    breaker.admit().succeeded()
    assert not breaker.open


def test_late_failures_of_requests_let_through_before_do_not_lengthen_the_rest():
    clock = Clock()
    breaker = Breaker("the server", failures=2, rest_s=15, now=clock)
    late = breaker.admit()
    breaker.admit().failed("x")
    breaker.admit().failed("x")
    clock.time += 14
    late.failed("x")
    clock.time += 1
    breaker.admit().succeeded()
    assert not breaker.open
