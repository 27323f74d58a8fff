"""`/metrics`: what the workbench does, in Prometheus' form."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from fourhands.core.call_events import CallFinished
from fourhands.core.event import Event
from fourhands.workbench.workbench import Workbench


class Metrics:
    """Counts calls by command, outcome and kind of actor; reads the rest when it is asked for."""

    content_type = CONTENT_TYPE_LATEST

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
        self.close = bench.events.published.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if isinstance(call := event.payload, CallFinished):
            known = call.command if call.command in self._bench.registry else "unknown"
            outcome = "ok" if call.ok else call.code
            self._calls.labels(known, event.actor.kind if event.actor else "", outcome).inc()
            self._seconds.labels(known).observe(call.duration_ms / 1000)
        elif event.kind.startswith("question."):
            self._questions.labels(event.kind.partition(".")[2]).inc()

    def text(self) -> bytes:
        """Everything now."""
        return generate_latest(self._registry)
