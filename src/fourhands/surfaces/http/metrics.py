"""`/metrics`: what the workbench does, in Prometheus' form. Its library is loaded when there is something to count."""

from functools import cached_property
from typing import TYPE_CHECKING

from fourhands.core.call_events import CallFinished
from fourhands.core.event import Event
from fourhands.workbench.workbench import Workbench

if TYPE_CHECKING:
    from fourhands.surfaces.http.instruments import Instruments


class Metrics:
    """Listens to events until it is closed, and counts them."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.close = bench.events.published.subscribe(self._note)

    @cached_property
    def _instruments(self) -> "Instruments":
        from fourhands.surfaces.http.instruments import Instruments

        return Instruments(self._bench)

    @property
    def content_type(self) -> str:
        """The form of `text`."""
        from fourhands.surfaces.http.instruments import CONTENT_TYPE

        return CONTENT_TYPE

    def _note(self, event: Event) -> None:
        if isinstance(call := event.payload, CallFinished):
            self._instruments.call(event, call)
        elif event.kind.startswith("question."):
            self._instruments.question(event.kind.partition(".")[2])

    def text(self) -> bytes:
        """Everything now."""
        return self._instruments.text()
