"""The events on the wire: one struct for each kind, and the JSON that clients know."""

import json
from pathlib import Path

import msgspec
import pytest
from scripts.event_types import event_types

from fourhands.core.event import Event

GOLDEN: dict[str, list[dict[str, object]]] = json.loads((Path(__file__).parent / "golden" / "events.json").read_text())


def test_every_kind_has_a_golden_form_and_no_other():
    assert sorted(event_types()) == sorted(GOLDEN)


@pytest.mark.parametrize("kind", sorted(GOLDEN))
def test_an_event_is_on_the_wire_as_in_the_golden_file(kind):
    struct = event_types()[kind]
    for data in GOLDEN[kind]:
        event = Event.of(msgspec.convert(data, struct))
        assert event.kind == kind
        assert json.loads(msgspec.json.encode(event.data)) == data
