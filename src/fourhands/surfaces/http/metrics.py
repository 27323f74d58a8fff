"""`/metrics`: what the workbench does, in Prometheus' form. Its library is loaded when somebody asks for it."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from fourhands.core.call_events import CallFinished
from fourhands.core.event import Event
from fourhands.workbench.workbench import Workbench

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""The upper ends by which the times of calls are counted, as Prometheus' clients have them."""


class Durations:
    """The times of the calls of one command."""

    def __init__(self) -> None:
        self.sum = 0.0
        self._counts = [0] * (len(SECONDS) + 1)

    def add(self, seconds: float) -> None:
        """Count one."""
        self.sum += seconds
        self._counts[bisect_left(SECONDS, seconds)] += 1

    def buckets(self) -> list[tuple[str, int]]:
        """Return how many took at most so long, for each end and for all."""
        found, below = [], 0
        for end, count in zip((*map(str, SECONDS), "+Inf"), self._counts, strict=True):
            below += count
            found.append((end, below))
        return found


class Metrics:
    """Counts calls by command, outcome and kind of actor; reads the rest when it is asked for."""

    content_type = "text/plain; version=1.0.0; charset=utf-8"

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._seconds: defaultdict[str, Durations] = defaultdict(Durations)
        self._questions: Counter[str] = Counter()
        self.close = bench.events.published.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if isinstance(call := event.payload, CallFinished):
            known = call.command if call.command in self._bench.registry else "unknown"
            outcome = "ok" if call.ok else call.code
            self._calls[known, event.actor.kind if event.actor else "", outcome] += 1
            self._seconds[known].add(call.duration_ms / 1000)
        elif event.kind.startswith("question."):
            self._questions[event.kind.partition(".")[2]] += 1

    def text(self) -> bytes:
        """Everything now."""
        from prometheus_client import generate_latest

        text: bytes = generate_latest(self)
        return text

    def collect(self) -> Iterator[Any]:
        """Yield everything, in the library's terms."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        labels = ("command", "actor", "outcome")
        calls = CounterMetricFamily("fourhands_calls", "Calls that passed the gate.", labels=labels)
        for call, count in self._calls.items():
            calls.add_metric(call, count)
        yield calls
        seconds = HistogramMetricFamily("fourhands_call_seconds", "Time in the handler.", labels=("command",))
        for command, times in self._seconds.items():
            seconds.add_metric((command,), times.buckets(), times.sum)
        yield seconds
        questions = CounterMetricFamily("fourhands_questions", "Questions to a person.", labels=("outcome",))
        for outcome, count in self._questions.items():
            questions.add_metric((outcome,), count)
        yield questions
        bench = self._bench
        yield GaugeMetricFamily("fourhands_terminals", "Terminals that are open.", value=len(bench.terminals.list()))
        yield GaugeMetricFamily("fourhands_agents", "Agent sessions.", value=len(bench.sessions))
        waiting = len(bench.questions.open())
        yield GaugeMetricFamily("fourhands_open_questions", "Questions that wait.", value=waiting)
        yield GaugeMetricFamily("fourhands_revision", "Revision of the workbench state.", value=bench.state.rev)
