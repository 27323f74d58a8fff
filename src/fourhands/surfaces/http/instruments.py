"""The counters behind `/metrics`, with the library that is loaded only to count."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from fourhands.core.call_events import CallFinished
from fourhands.core.event import Event
from fourhands.workbench.workbench import Workbench

CONTENT_TYPE: str = CONTENT_TYPE_LATEST


class Instruments:
    """Counts calls by command, outcome and kind of actor; reads the rest when it is asked for."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._registry = CollectorRegistry()
        labels = ("command", "actor", "outcome")
        self._calls = Counter("fourhands_calls", "Calls that passed the gate.", labels, registry=self._registry)
        self._seconds = Histogram(
            "fourhands_call_seconds", "Time in the handler.", ("command",), registry=self._registry
        )
        self._questions = Counter(
            "fourhands_questions", "Questions to a person.", ("outcome",), registry=self._registry
        )
        gauges = {
            "fourhands_terminals": ("Terminals that are open.", lambda: len(bench.terminals.list())),
            "fourhands_agents": ("Agent sessions.", lambda: len(bench.sessions)),
            "fourhands_open_questions": ("Questions that wait.", lambda: len(bench.questions.open())),
            "fourhands_revision": ("Revision of the workbench state.", lambda: bench.state.rev),
        }
        for name, (text, read) in gauges.items():
            Gauge(name, text, registry=self._registry).set_function(read)

    def call(self, event: Event, call: CallFinished) -> None:
        """Count a call."""
        known = call.command if call.command in self._bench.registry else "unknown"
        outcome = "ok" if call.ok else call.code
        self._calls.labels(known, event.actor.kind if event.actor else "", outcome).inc()
        self._seconds.labels(known).observe(call.duration_ms / 1000)

    def question(self, outcome: str) -> None:
        """Count what became of a question."""
        self._questions.labels(outcome).inc()

    def text(self) -> bytes:
        """Return everything as it is now."""
        text: bytes = generate_latest(self._registry)
        return text
