"""The hub: the five functions behind `/openspace/*`, and the publishing of state and manifest.

Parts inside the process call the same functions directly. What is posted from outside is checked and kept apart
(`posted.py`); it adds to what is shown and replaces nothing of ours.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from fourhands.agents.instructions import Instructions
from fourhands.agents.posted import (
    MOST_RESULT_BYTES,
    Posted,
    PostedManifest,
    PostedResult,
    PostedState,
    check,
)
from fourhands.core.errors import BadArgument, NotFound
from fourhands.core.event import Event
from fourhands.core.registry import Manifest, Registry
from fourhands.workbench.session import CommandResult
from fourhands.workbench.workbench import Workbench

PUBLISHED = "workbench.published"
MANIFEST_CHANGED = "manifest.changed"
INTERVAL_S = 1.0
"""State is published at most this often."""

ACCEPTED: dict[str, object] = {"success": True}

log = logging.getLogger(__name__)


class Timer(Protocol):
    """Something that was put off and can be called off."""

    def cancel(self) -> None:
        """Call it off."""


Later = Callable[[float, Callable[[], None]], Timer]


def _on_the_loop(delay_s: float, action: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(delay_s, action)


class Throttle:
    """Runs an action at most once per interval; the last request is never lost, only late."""

    def __init__(
        self,
        action: Callable[[], None],
        interval_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        later: Later = _on_the_loop,
    ) -> None:
        self._action = action
        self._interval_s = interval_s
        self._clock = clock
        self._later = later
        self._last = float("-inf")
        self._timer: Timer | None = None

    def request(self) -> None:
        """Run the action now, or when the interval has passed."""
        if self._timer is not None:
            return
        wait_s = self._last + self._interval_s - self._clock()
        if wait_s <= 0:
            self._run()
        else:
            self._timer = self._later(wait_s, self._run)

    def flush(self) -> None:
        """Run at once what was put off."""
        if self._timer is not None:
            self._timer.cancel()
            self._run()

    def cancel(self) -> None:
        """Forget what was put off."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._timer = None
        self._last = self._clock()
        self._action()


class Hub:
    """What programs and models can ask of a workbench about itself."""

    def __init__(
        self,
        bench: Workbench,
        registry: Registry,
        *,
        interval_s: float = INTERVAL_S,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        later: Later = _on_the_loop,
    ) -> None:
        self._bench = bench
        self._registry = registry
        self._now = now
        self._posted = Posted()
        self._posted_at = 0.0
        self._instructions = Instructions(bench, self._posted)
        self._manifest: tuple[object, Manifest] | None = None
        self._throttle = Throttle(self._publish, interval_s, clock=clock, later=later)
        self._disposers = [
            bench.events.published.subscribe(self._happened),
            registry.changed.subscribe(lambda _: self._manifest_changed()),
        ]

    def close(self) -> None:
        """Publish what is due and listen no longer."""
        self._throttle.flush()
        for dispose in self._disposers:
            dispose()
        self._instructions.close()

    def manifest(self) -> Manifest:
        """Return `{version, commands, lastUpdated}`: the registry's commands, then those announced from outside."""
        ours = self._registry.manifest()
        key = (ours["version"], self._posted.revision)
        if self._manifest is None or self._manifest[0] != key:
            self._manifest = (key, self._merged(ours))
        return self._manifest[1]

    def post_manifest(self, body: object) -> dict[str, object]:
        """Add commands announced from outside; those with an id of the registry are passed over."""
        manifest = check(body, PostedManifest)
        taken = [command.id for command in manifest.commands if command.id in self._registry]
        if taken:
            log.info("posted commands that exist here are passed over: %s", ", ".join(taken[:20]))
        fresh = tuple(command for command in manifest.commands if command.id not in self._registry)
        if self._posted.add_manifest(msgspec.structs.replace(manifest, commands=fresh)):
            self._posted_at = self._now()
            self._manifest_changed()
        return dict(ACCEPTED)

    def post_state(self, body: object) -> dict[str, object]:
        """Keep the panes of a part outside; models are told of them beside our own."""
        self._posted.set_state(check(body, PostedState))
        return dict(ACCEPTED)

    def post_result(self, body: object) -> dict[str, object]:
        """Keep what came of a command that ran outside; a session that is here tells its model in the next turn."""
        posted = check(body, PostedResult, MOST_RESULT_BYTES)
        result = self._quoted(posted.session_id, posted.to_result())
        session = self._bench.sessions.find(posted.session_id)
        if session is None:
            self._posted.keep(posted.session_id, result)
        else:
            session.results.append(result)
            session.untold.append(result)
        return dict(ACCEPTED)

    def instructions(self, session_id: str | None = None) -> str:
        """Return the instructions as markdown; reading them changes nothing."""
        known = session_id is None or self._bench.sessions.find(session_id) or session_id in self._posted.results
        if not known:
            raise NotFound.of("session", str(session_id)[:200], [session.id for session in self._bench.sessions])
        return self._instructions.text(session_id)

    def state(self) -> dict[str, object]:
        """Return `{panes, activePane?, timestamp}` of now."""
        state = self._bench.state
        panes = [msgspec.to_builtins(pane) for pane in state.panes()]
        shown: dict[str, object] = {"panes": panes, "timestamp": _iso(self._now())}
        if state.layout.active_pane is not None:
            shown["activePane"] = state.layout.active_pane
        return shown

    def _quoted(self, session_id: str, result: CommandResult) -> CommandResult:
        """A result from outside as a model may see it: what the gate does with those of its own calls."""
        texts = (result.output, result.error, result.data)
        where = f"what another program reports of {result.command_id}"
        try:
            output, error, data = self._bench.gate.given.quote(session_id, texts, where)
        except RecursionError:
            raise BadArgument("the result's data is nested too deep") from None
        return msgspec.structs.replace(result, output=output, error=error, data=data)

    def _merged(self, ours: Manifest) -> Manifest:
        added = [command.describe() for command in self._posted.commands.values() if command.id not in self._registry]
        if not added:
            return ours
        known = ours["commands"]
        assert isinstance(known, list)
        digest = hashlib.sha256(str(ours["version"]).encode() + msgspec.json.encode(added)).hexdigest()[:16]
        updated = max(str(ours["lastUpdated"]), _iso(self._posted_at))
        return {"version": digest, "commands": [*known, *added], "lastUpdated": updated}

    def _happened(self, event: Event) -> None:
        if event.revision is not None:  # every change of panes and editors has one
            self._throttle.request()

    def _publish(self) -> None:
        self._bench.events.emit(PUBLISHED, self.state())

    def _manifest_changed(self) -> None:
        manifest = self.manifest()
        told = {"version": manifest["version"], "lastUpdated": manifest["lastUpdated"]}
        self._bench.events.emit(MANIFEST_CHANGED, told)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
