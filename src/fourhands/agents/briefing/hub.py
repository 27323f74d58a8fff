"""The hub: the five functions behind `/openspace/*`, and the publishing of state and manifest.

Parts inside the process call the same functions directly. What is posted from outside is checked and kept apart
(`posted.py`); it adds to what is there and replaces nothing of ours. Announced commands are commands of the registry,
whose calls are answered from outside (`announced.py`).
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from fourhands.agents.briefing.announced import ANSWER_S, CommandRequested, OutsideRequests
from fourhands.agents.briefing.briefing import Briefings
from fourhands.agents.briefing.external import (
    MOST_RESULT_BYTES,
    ExternalPosts,
    PostedCommand,
    PostedManifest,
    PostedResult,
    PostedState,
    check,
)
from fourhands.agents.briefing.instructions import Instructions
from fourhands.core.errors import BadArgument, NotFound
from fourhands.core.event import Event, EventData
from fourhands.core.registry import Command, Contribution, Manifest, Registry
from fourhands.core.timing import Later, Throttle, call_later
from fourhands.workbench.sessions import CommandResult
from fourhands.workbench.workbench import Workbench


class WorkbenchPublished(EventData, frozen=True, kw_only=True):
    """The panes as they are after some changes."""

    event = "workbench.published"
    panes: list[dict[str, object]]
    timestamp: str
    active_pane: str | UnsetType = UNSET


class ManifestChanged(EventData, frozen=True, kw_only=True):
    """The set of commands is another."""

    event = "manifest.changed"
    version: str
    last_updated: str


PUBLISHED = WorkbenchPublished.event
INTERVAL_S = 1.0
"""State is published at most this often."""

ACCEPTED: dict[str, object] = {"success": True}

log = logging.getLogger(__name__)


class Hub:
    """The functions by which programs and models ask a workbench about itself."""

    def __init__(
        self,
        bench: Workbench,
        registry: Registry,
        *,
        interval_s: float = INTERVAL_S,
        answer_s: float = ANSWER_S,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        later: Later = call_later,
    ) -> None:
        self._bench = bench
        self._registry = registry
        self._now = now
        self._posted = ExternalPosts(Path(bench.terminals.places.state) / "announced.json")
        self._requests = OutsideRequests(bench.events, answer_s=answer_s, now=now)
        self._made: dict[str, tuple[PostedCommand, Command]] = {}
        self._withdraw: Callable[[], None] = lambda: None
        self._including = False
        self._instructions = Instructions(bench, self._posted)
        self._briefings = Briefings(bench)
        self._throttle = Throttle(self._publish, interval_s, clock=clock, later=later)
        self._disposers = [
            bench.events.published.subscribe(self._happened),
            registry.changed.subscribe(lambda _: self._registry_changed()),
        ]
        if self._posted.commands:
            self._include()

    def leave(self) -> None:
        """Let go of programs that wait for calls: the server is being stopped."""
        self._requests.leave()

    async def close(self) -> None:
        """Publish what is due and stop listening; return when everything is stored."""
        self._throttle.flush()
        self._including = True  # a registry that outlives us forgets what we cannot run any more
        self._withdraw()
        for dispose in self._disposers:
            dispose()
        self._instructions.close()
        self._briefings.close()
        await self._posted.close()

    def manifest(self) -> Manifest:
        """Return `{version, commands, lastUpdated}`: every command, those announced from outside too."""
        return self._registry.manifest()

    def post_manifest(self, body: object) -> dict[str, object]:
        """Add commands announced from outside; those that would take a name of ours are passed over and named."""
        manifest = check(body, PostedManifest)
        ours = _names(command.id for command in self._registry if not command.announced)
        fresh = {command.id: command for command in manifest.commands if _free(command.id, ours)}
        passed = sorted({command.id for command in manifest.commands} - set(fresh))
        made = {id: self._command(command) for id, command in fresh.items()}  # all, or an error and none
        if self._posted.add(fresh.values()):
            self._made |= {id: (fresh[id], command) for id, command in made.items()}
            self._include()
        return {**ACCEPTED, "passedOver": passed} if passed else dict(ACCEPTED)

    def take_back(self, ids: Collection[str] = ()) -> dict[str, object]:
        """Forget announced commands: these, or all where none is named."""
        known = self._posted.commands
        for id in ids:
            if id not in known:
                raise NotFound.of("announced command", id[:200], known)
        gone = sorted(ids or known)
        if gone:
            self._posted.remove(gone)
            self._made = {id: made for id, made in self._made.items() if id not in gone}
            self._include()
        return {**ACCEPTED, "commands": gone}

    async def requests(self, within_s: float = 0.0) -> list[CommandRequested]:
        """Return the calls of announced commands that wait for an answer; wait for one where there is none."""
        return await self._requests.wait(within_s)

    def post_state(self, body: object) -> dict[str, object]:
        """Keep the panes of a part outside; models are told of them beside our own."""
        self._posted.set_state(check(body, PostedState))
        return dict(ACCEPTED)

    def post_result(self, body: object) -> dict[str, object]:
        """Take what came of a command that ran outside: the answer to a call that waits for it, or news.

        News is kept for its session; one that is here tells its model in the next turn.
        """
        posted = check(body, PostedResult, MOST_RESULT_BYTES)
        if answered := self._requests.answer(posted):
            return {**ACCEPTED, "callId": answered}
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

    def briefing(self, session_id: str, *, tools: bool = False) -> str:
        """Return the short form of the instructions, which stays the same as long as a session's chat lasts."""
        return self._briefings.text(session_id, tools=tools)

    def state(self) -> dict[str, object]:
        """Return `{panes, activePane?, timestamp}` of now."""
        state = self._bench.state
        panes = [msgspec.to_builtins(pane) for pane in state.panes()]
        shown: dict[str, object] = {"panes": panes, "timestamp": _iso(self._now())}
        if state.layout.active_pane is not None:
            shown["activePane"] = state.layout.active_pane
        return shown

    def _quoted(self, session_id: str, result: CommandResult) -> CommandResult:
        """Quote a result from outside for a model, as the gate does with the results of its own calls."""
        texts = (result.output, result.error, result.data)
        where = f"what another program reports of {result.command_id}"
        try:
            output, error, data = self._bench.gate.given.quote(session_id, texts, where)
        except RecursionError:
            raise BadArgument("the result's data is nested too deep") from None
        return msgspec.structs.replace(result, output=output, error=error, data=data)

    def _command(self, posted: PostedCommand) -> Command:
        known = self._made.get(posted.id)
        return known[1] if known is not None and known[0] == posted else self._requests.command(posted)

    def _include(self) -> None:
        """Make the registry have what is announced, as far as the names are free, and say so once."""
        self._including = True
        try:
            self._withdraw()
            taken = _names(command.id for command in self._registry)
            announced = Contribution("openspace")
            for id, posted in self._posted.commands.items():
                if _free(id, taken):
                    taken |= _names([id])
                    try:
                        self._made[id] = (posted, self._command(posted))
                    except BadArgument as error:  # kept by another version, which could read it
                        log.warning("%s", error)
                        continue
                    announced.commands.append(self._made[id][1])
            self._withdraw = self._registry.include(announced)
        finally:
            self._including = False
        self._manifest_changed()

    def _registry_changed(self) -> None:
        if self._including:
            return
        if self._posted.commands:
            self._include()  # a name may have been taken, or be free again
        else:
            self._manifest_changed()

    def _happened(self, event: Event) -> None:
        if event.revision is not None:  # every change of panes and editors has one
            self._throttle.request()

    def _publish(self) -> None:
        self._bench.events.emit(msgspec.convert(self.state(), WorkbenchPublished))

    def _manifest_changed(self) -> None:
        manifest = self.manifest()
        told = ManifestChanged(version=str(manifest["version"]), last_updated=str(manifest["lastUpdated"]))
        self._bench.events.emit(told)


TOOL = "openspace.tool."
"""Commands that agents know as tools by their last name alone, such as `bash`: not to be announced from outside."""


def _names(ids: Iterable[str]) -> set[str]:
    """Return the tool names of these ids. They have no dots, so two ids may have the same name."""
    return {id.replace(".", "_") for id in ids}


def _free(id: str, taken: set[str]) -> bool:
    return not id.startswith(TOOL) and id.replace(".", "_") not in taken


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
