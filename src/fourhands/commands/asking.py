"""The decision to ask a person about a line: the table of `safety.asking`, applied to the place where it would run.

In a sandbox unknown lines run unasked, and dangerous ones as far as the person has chosen. A line that does its work
outside (docker, a push, the system's packages) is asked about and then runs outside, as the person. Without a sandbox
everything that is not plainly safe is asked about, and routine tasks too when an agent has changed what they load.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from fourhands.core.approval import Assessment
from fourhands.core.call import Call
from fourhands.core.text import one_line
from fourhands.providers.base import Isolation
from fourhands.safety.asking import AskOutcome, Ground, outcome_of
from fourhands.safety.shell import Verdict, visible
from fourhands.safety.shell.effects import MADE_BY_TOOLS, LineEffects, is_covered
from fourhands.safety.shell.kinds import RiskKind
from fourhands.workbench.checkpoints.scan import MOST_NAMED, LeftOut
from fourhands.workbench.terminals.handle import TerminalHandle
from fourhands.workbench.workbench import Workbench

_ROUTINE = "C6.6"
_NAMED = 3
_LET_THROUGH = (AskOutcome.RUN, AskOutcome.ASK_OUTSIDE)
_UNASKED = "runs in a {}"


@dataclass(frozen=True, slots=True)
class LinePlace:
    """The place where a line would run, by default on this machine as the person."""

    isolation: str = str(Isolation.NONE)
    cwd: str = ""
    terminal: str = ""  # the id of the one that it is typed into
    title: str = ""
    shared_network: bool = False  # everything that the person reaches can be reached
    open_network: bool = False  # all public hosts can be reached, unasked
    weaker: bool = False  # files that run by themselves can be written
    leaves: bool = False  # the call can run outside instead
    outside: bool = False  # it asks for that

    @property
    def walled(self) -> bool:
        """True if what runs there cannot reach what is the person's."""
        return self.isolation != Isolation.NONE and not self.shared_network


class LineAsking:
    """Decides for one workbench; without effect until a person is asked or a line runs."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    # -- places ----------------------------------------------------------------------------------------------------

    def place(self, call: Call, cwd: str = "", *, leaves: bool = False, outside: bool = False) -> LinePlace:
        """Return the place of a caller's own programs; `leaves`: this call may run elsewhere."""
        session = self._bench.session(call)
        name = self._bench.agent_settings(session).provider if session else "local"
        provider = self._bench.terminals.providers.get(name)
        isolation = str(provider.isolation) if provider is not None else str(Isolation.NONE)
        return self._described(provider, isolation, cwd, leaves=leaves, outside=outside)

    def terminal(self, terminal: TerminalHandle, cwd: str) -> LinePlace:
        """Return the place of what is typed into a terminal whose shell is in this directory."""
        provider = self._bench.terminals.providers.get(str(terminal.meta.get("provider") or "local"))
        place = self._described(provider, terminal.isolation, cwd, leaves=False, outside=False)
        return replace(place, terminal=terminal.id, title=terminal.title)

    def _described(self, provider: Any, isolation: str, cwd: str, *, leaves: bool, outside: bool) -> LinePlace:
        return LinePlace(
            isolation=isolation,
            cwd=cwd,
            shared_network=bool(getattr(provider, "shares_network", True)),
            open_network=self._bench.settings.sandbox.network == "on",
            weaker=bool(getattr(provider, "weaker", False)),
            leaves=leaves and isolation != Isolation.NONE,
            outside=outside and isolation != Isolation.NONE,
        )

    # -- decisions -------------------------------------------------------------------------------------------------

    def apply(self, call: Call, found: Assessment, verdict: Verdict, place: LinePlace) -> Assessment:
        """Return the assessment of a line with what follows from its place."""
        outside = verdict.effects.outside if place.leaves else ()
        if place.outside or outside:
            return self._outside(found, verdict, place, outside)
        if not place.walled:
            return self._bare(call, found, verdict, place)
        if found.level == "safe":
            return found
        return self._inside(call, found, verdict, place)

    def _outside(self, found: Assessment, verdict: Verdict, place: LinePlace, tools: tuple[str, ...]) -> Assessment:
        named = " and ".join(tools[:_NAMED])
        works = "work" if len(tools) > 1 else "works"
        why = f"{named} {works} outside the sandbox" if tools else "the agent asks to run it outside the sandbox"
        looks = bool(tools) and found.level == "safe" and verdict.effects.only_reads and not place.weaker
        looks = looks and not any(part.rule == _ROUTINE for part in verdict.parts)
        fact = (
            f"Runs outside the sandbox, as you: {named} {works} there" if tools else "Runs outside the sandbox, as you"
        )
        return replace(
            found,
            level="unknown" if found.level == "safe" else found.level,
            reason=why if found.level == "safe" else f"{found.reason}; {why}",
            outside=True,
            rule_key=f"outside:{named}" if looks else None,
            rule_text=f"look at things by {named}, outside the sandbox" if looks else "",
            facts=(fact,),
        )

    def _bare(self, call: Call, found: Assessment, verdict: Verdict, place: LinePlace) -> Assessment:
        tasks = [part.words for part in verdict.parts if part.rule == _ROUTINE] if found.level == "safe" else []
        routine = self._bench.routine
        changed = list(dict.fromkeys(path for words in tasks for path in routine.changed(words, place.cwd)))
        if not changed:
            return found if found.level == "safe" else replace(found, facts=self.where(place))

        def allowed() -> None:
            for words in tasks:
                routine.allowed(words, place.cwd, call)

        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        named = ", ".join(one_line(visible(path), 80) for path in changed[-_NAMED:])
        return replace(
            found,
            level="unknown",
            reason=f"runs what agents have changed since you last allowed it: {named}{more}",
            rule_key=None,
            rule_text="",
            on_allowed=allowed,
            facts=self.where(place),
        )

    def _inside(self, call: Call, found: Assessment, verdict: Verdict, place: LinePlace) -> Assessment:
        effects, setting = verdict.effects, self._bench.asking.setting
        where = self.where(place)
        if found.level == "dangerous" and not effects.kinds:  # nobody knows what it would be
            return replace(found, facts=where)
        if place.open_network and RiskKind.REACHES in effects.kinds:
            return replace(found, facts=where)
        unasked = _UNASKED.format(place.isolation)
        if outcome_of(found.level, effects, Ground.CELL, setting) in _LET_THROUGH:
            return replace(found, unasked=unasked, rule_key=None)
        secure = self._secure(call, effects)
        if outcome_of(found.level, effects, Ground.COVERED, setting) in _LET_THROUGH:
            return replace(found, unasked=unasked, secure=secure, facts=where)
        undoable = RiskKind.DESTROYS in effects.kinds and self._covers(effects, ())
        return replace(found, facts=(*where, "Can be undone: a checkpoint is taken before") if undoable else where)

    def _secure(self, call: Call, effects: LineEffects) -> Callable[[], Awaitable[str]]:
        async def secure() -> str:
            taken = await self._bench.turns.secure(call)
            if taken is None:
                return "there is no checkpoint"
            return "" if self._covers(effects, taken.left_out) else "a checkpoint does not bring back all of it"

        return secure

    def _covers(self, effects: LineEffects, left_out: tuple[LeftOut, ...]) -> bool:
        if self._bench.turns.store.unavailable:
            return False
        paths = [one.path.rstrip("/") for one in left_out]
        unnamed = len(paths) >= MOST_NAMED

        def ignored(path: str) -> bool:
            above = any(path == one or path.startswith(f"{one}/") for one in paths)
            inside = (one for one in paths if one.startswith(f"{path}/"))
            return unnamed or above or not all(MADE_BY_TOOLS.intersection(one.split("/")) for one in inside)

        return is_covered(effects, self._bench.root, ignored)

    def where(self, place: LinePlace) -> tuple[str, ...]:
        """Return where a line would run, in plain words: terminal, directory, wall."""
        root = self._bench.root
        named = [f"in terminal {one_line(visible(place.title), 40)}"] if place.title else []
        inside = os.path.relpath(os.path.join(root, place.cwd), root)
        if inside != ".":
            named.append(f"in directory {one_line(visible(place.cwd if inside.startswith('..') else inside), 80)}")
        spot = (", ".join(named).replace("in ", "In ", 1),) if named else ()
        if place.isolation == Isolation.NONE:
            return (*spot, "Not isolated: runs as you")
        kind = "a container" if place.isolation == Isolation.CONTAINER else "the sandbox"
        return (*spot, f"Runs in {kind}, with your whole network" if place.shared_network else f"Runs in {kind}")
