import asyncio

import msgspec
import pytest
from msgspec import UNSET

from fourhands.core.call import Actor
from fourhands.core.event import MISSED, Event, EventBus, EventData, Signal


async def test_every_subscriber_sees_every_event_in_order():
    events = EventBus()
    one, two = events.subscribe(), events.subscribe()
    for number in range(3):
        events.publish(Event(kind="pane.opened", data={"n": number}, revision=number, actor=Actor.person()))
    for subscription in (one, two):
        seen = [await anext(subscription) for _ in range(3)]
        assert [event.data["n"] for event in seen] == [0, 1, 2]
        assert [event.revision for event in seen] == [0, 1, 2]


async def test_a_subscriber_gets_only_the_kinds_it_asked_for():
    events = EventBus()
    with events.subscribe(kinds=["pane.closed"]) as subscription:
        events.publish(Event(kind="pane.opened", data={}))
        events.publish(Event(kind="pane.closed", data={}))
        assert (await anext(subscription)).kind == "pane.closed"


async def test_a_slow_subscriber_gets_one_marker_and_what_came_later():
    events = EventBus()
    slow, quick = events.subscribe(limit_bytes=2000), events.subscribe()
    for number in range(1000):
        events.publish(Event(kind="pane.resized", data={"n": number}))
    first = await anext(slow)
    assert first.kind == MISSED
    rest = [(await anext(slow)).data["n"] for _ in range(1000 - int(str(first.data["count"])))]
    assert rest == list(range(1000 - len(rest), 1000))
    assert MISSED not in [(await anext(quick)).kind for _ in range(1000)]


async def test_all_that_happened_by_now_is_taken_without_waiting():
    events = EventBus()
    subscription = events.subscribe(limit_bytes=2000)
    assert subscription.take() == []
    for number in range(100):
        events.publish(Event(kind="pane.resized", data={"n": number}))
    assert await subscription.ready()
    first, *rest = subscription.take()
    assert first.data == {"count": 100 - len(rest)}
    assert [event.data["n"] for event in rest] == list(range(100 - len(rest), 100))
    assert subscription.take() == []
    subscription.close()
    assert not await subscription.ready()


async def test_an_event_larger_than_the_limit_is_missed_too():
    events = EventBus()
    subscription = events.subscribe(limit_bytes=100)
    events.publish(Event(kind="file.changed", data={"text": "x" * 1000}))
    events.publish(Event(kind="file.changed", data={"text": "x" * 1000}))
    assert (await anext(subscription)).data == {"count": 2}


async def test_a_waiting_reader_is_woken_and_closing_ends_it():
    events = EventBus()
    subscription = events.subscribe()
    seen: list[str] = []
    woken = asyncio.Event()

    async def read() -> None:
        async for event in subscription:
            seen.append(event.kind)
            woken.set()

    async with asyncio.timeout(40), asyncio.TaskGroup() as group:
        group.create_task(read())
        await asyncio.sleep(0)
        events.publish(Event(kind="pane.opened", data={}))
        await woken.wait()
        subscription.close()
        subscription.close()
    assert seen == ["pane.opened"]
    events.publish(Event(kind="pane.opened", data={}))  # nobody is there: nothing is kept


async def test_what_has_no_json_form_does_not_break_the_bus():
    events = EventBus()
    subscription = events.subscribe()
    events.publish(Event(kind="odd.happened", data={"text": "\ud800", "big": 10**40, "thing": object()}))
    assert (await anext(subscription)).kind == "odd.happened"


def test_a_failing_listener_harms_nobody(caplog: pytest.LogCaptureFixture):
    signal: Signal[int] = Signal()
    seen: list[int] = []

    def broken(value: int) -> None:
        raise RuntimeError("oops")

    dispose = signal.subscribe(broken)
    signal.subscribe(seen.append)
    signal.fire(1)
    assert seen == [1]
    assert "a listener failed" in caplog.text
    dispose()
    dispose()
    caplog.clear()
    signal.fire(2)
    assert seen == [1, 2]
    assert not caplog.text


async def test_a_listener_may_leave_while_it_is_told():
    events = EventBus()
    seen: list[Event] = []

    def once(event: Event) -> None:
        seen.append(event)
        dispose()

    dispose = events.published.subscribe(once)
    events.publish(Event(kind="a.happened", data={}))
    events.publish(Event(kind="b.happened", data={}))
    assert [event.kind for event in seen] == ["a.happened"]


async def test_what_was_read_makes_room_for_more():
    events = EventBus()
    subscription = events.subscribe(limit_bytes=400)
    events.publish(Event(kind="pane.resized", data={"n": 0}))
    for number in range(50):
        events.publish(Event(kind="pane.resized", data={"n": number + 1}))
        assert (await anext(subscription)).data == {"n": number}


class _ThingHappened(EventData, frozen=True, kw_only=True):
    """A thing happened."""

    event = ""
    a_name: str
    thing: object = UNSET


async def test_data_goes_by_its_names_on_the_wire_and_a_strange_value_as_text():
    events = EventBus()
    subscription = events.subscribe()
    events.emit(_ThingHappened(a_name="x"), revision=3, actor=Actor.person())
    events.emit(_ThingHappened(a_name="y", thing=[complex(1, 2)]))
    first, second = subscription.take()
    assert (first.data, first.revision, first.actor) == ({"aName": "x"}, 3, Actor.person())
    assert second.data == {"aName": "y", "thing": ["(1+2j)"]}


async def test_a_listener_gets_the_struct_and_a_client_its_json_form():
    events = EventBus()
    heard: list[Event] = []
    events.published.subscribe(heard.append)
    happened = _ThingHappened(a_name="x")
    with events.subscribe() as subscription:
        events.emit(happened)
        told = await anext(subscription)
    assert heard[0].payload is happened
    assert told.payload is happened
    members = {"kind": "", "data": {"aName": "x"}, "revision": None, "actor": None, "time": told.time}
    assert msgspec.json.decode(msgspec.json.encode(told)) == members


def test_an_event_of_plain_or_changed_data_has_no_struct():
    assert Event(kind="pane.moved", data={"aName": "x"}).payload is None
    event = Event.of(_ThingHappened(a_name="x"))
    assert msgspec.structs.replace(event, data={"aName": "y"}).payload is None, "it would be that of x"
