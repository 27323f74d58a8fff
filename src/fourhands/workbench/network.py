"""The network of agents' programs, built for a workbench: rules, questions, log and the way out."""

from pathlib import Path

from fourhands.core.call_events import CallFinished, CallStarted
from fourhands.core.event import Event
from fourhands.core.text import truncate
from fourhands.providers.egress.egress import Egress
from fourhands.providers.egress.gatekeeper import Gatekeeper, Wanting
from fourhands.providers.egress.network_log import NetworkLog
from fourhands.providers.egress.registries import find_registries
from fourhands.providers.egress.rules import NetworkRules
from fourhands.providers.view import cell_name
from fourhands.workbench.turns import TurnStarted
from fourhands.workbench.workbench import Workbench

FILE = "network.json"
_LINE = 300
_LINES = ("command", "text", "stdin", "script", "program")
_TERMINALS = ("terminalId", "sessionId")


class RunningLines:
    """The call that each session runs now, as far as it is a line of a terminal or a program."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._calls: dict[str, dict[str, dict[str, object]]] = {}
        self._last: dict[str, dict[str, object]] = {}
        bench.events.published.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        data = event.payload
        if isinstance(data, CallStarted) and data.session and any(name in data.args for name in _LINES):
            self._calls.setdefault(data.session, {})[data.call_id] = data.args
            self._last[data.session] = data.args  # what it started may run for longer than the call
        elif isinstance(data, CallFinished) and data.session in self._calls and isinstance(data.call_id, str):
            self._calls[data.session].pop(data.call_id, None)

    def describe(self, session: str) -> Wanting:
        """Return who wants a connection, and the line that probably causes it: one that runs, else the last."""
        found = self._bench.sessions.find(session)
        running = list(self._calls.get(session, {}).values())
        args = running[-1] if running else self._last.get(session, {})
        line = next((value for name in _LINES if isinstance(value := args.get(name), str)), "")
        terminal = next((value for name in _TERMINALS if isinstance(value := args.get(name), str)), "")
        return Wanting(None if found is None else found.actor, terminal, truncate(line.strip(), _LINE))

    def end(self, session: str) -> None:
        """Forget a session."""
        self._calls.pop(session, None)
        self._last.pop(session, None)


def take_notes(bench: Workbench, session: str) -> list[str]:
    """Return the refusals that an agent has not been told of, without secrets: a program may put one into a name."""
    notes = bench.network.gatekeeper.take_notes(cell_name(bench.settings.sandbox, session))
    return list(map(bench.redact, notes))


def build_network(bench: Workbench) -> Egress:
    """Return the way out for the cells of a workbench; `async with` makes it work."""
    settings, places = bench.settings.sandbox, bench.terminals.places
    lines = RunningLines(bench)
    log = NetworkLog()
    own: set[int] = set()
    gatekeeper = Gatekeeper(
        NetworkRules(Path(places.state) / FILE, settings.allowed_hosts),
        bench.questions,
        bench.events,
        log,
        mode=settings.network,
        describe=lines.describe,
        own_ports=lambda: frozenset(own),
    )
    bench.on_session_end.append(lambda session: lines.end(session.id))

    def begin(event: Event) -> None:
        if isinstance(event.payload, TurnStarted):
            log.begin_turn(cell_name(settings, event.payload.session))

    bench.events.published.subscribe(begin)
    bench.turns.traffic = lambda session: log.turn(cell_name(settings, session))
    env = bench.terminals.env
    return Egress(
        f"{places.runtime}/e",
        gatekeeper,
        bench.events,
        env=env,
        own_ports=own,
        registries=lambda: find_registries(env, places.workspace),
    )
