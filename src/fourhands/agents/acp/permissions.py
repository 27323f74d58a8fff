"""An agent's session/request_permission as a question to the person, and the answer in the agent's own options.

A line that would run unasked by every other door is not asked about here either. A line that the person allowed here is
not asked about again when the agent runs it by terminal/create, nor is a call of our own MCP server when it comes. A
cancelled turn answers every open request with "cancelled", as the protocol demands.
"""

import asyncio
import contextlib
import os
import shlex
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fourhands.agents.acp.approvals import Approvals
from fourhands.agents.acp.errors import decode_params
from fourhands.agents.connectors.own_calls import OwnCalls
from fourhands.agents.connectors.own_lines import OwnLines
from fourhands.core.approval import Assessment
from fourhands.core.call import Call, Decision, JournalEntry, Result
from fourhands.core.errors import Denied, FourhandsError, NoAnswer
from fourhands.core.ids import new_id
from fourhands.core.question import Answered, Choice, Question
from fourhands.core.tasks import Tasks
from fourhands.safety.shell import visible
from fourhands.workbench.sessions import CommandResult, Session
from fourhands.workbench.workbench import Workbench

REQUEST = "session/request_permission"
_LONGEST = 20_000

# What each kind of option means here, and the other way round: the narrower one first.
_CHOICES: dict[str, Choice] = {"allow_once": "once", "allow_always": "session"}
_REFUSALS = ("reject_once", "reject_always")
_CANCELLED = {"outcome": {"outcome": "cancelled"}}


class PermissionOption(Struct, frozen=True, rename="camel"):
    """One of the answers that an agent accepts."""

    option_id: str
    name: str = ""
    kind: str = ""


class PermissionRequest(Struct, frozen=True, rename="camel"):
    """Params of session/request_permission."""

    session_id: str
    tool_call: dict[str, Any]
    options: list[Any]  # what is no option is passed over, as the protocol wants
    title: str | None = None  # of the request itself, in version 2 of the protocol
    description: str | None = None


class AcpPermissions:
    """The open permission requests of one agent. `known` gives what was said of a tool call before."""

    def __init__(
        self,
        bench: Workbench,
        session: Session,
        allowed: Approvals,
        known: Callable[[str], Mapping[str, Any]],
        tasks: Tasks,
    ) -> None:
        self._bench = bench
        self._session = session
        self._tasks = tasks
        self._allowed = allowed
        self._known = known
        self._open: set[str] = set()
        self._deciding: set[asyncio.Task[FourhandsError | None]] = set()
        self._lines = OwnLines(bench, session)
        self._calls = OwnCalls(bench, session)

    async def ask(self, params: dict[str, Any]) -> dict[str, object]:
        """Ask the person and answer with one of the agent's options; no answer is "cancelled"."""
        request = decode_params(params, PermissionRequest)
        known = self._known(str(request.tool_call.get("toolCallId")))
        step = {**known, **request.tool_call}
        if not request.tool_call.get("rawInput") and known.get("rawInput"):
            step["rawInput"] = known["rawInput"]  # OpenCode tells it once
        by_kind = {option.kind: option for option in reversed(_options(request.options))}
        call = self._calls.of_step(step) if "allow_once" in by_kind else None
        if call is not None:
            return await self._permit(call, by_kind)
        line = line_of(step)
        found = self._lines.assess(line) if line else None
        question = self._question(request, step, line, by_kind, found)
        asked = time.time()
        # Where a tool calls itself something else, its command may be for another machine, or no line at all.
        runs = found is not None and step.get("kind") == "execute" and not self._runs_elsewhere(step)
        if found is not None and runs and "allow_once" in by_kind and await self._lines.run_unasked(found):
            verdict = Decision(level=found.level, reason=found.reason, choice="unasked", by=found.unasked)
            await self._record(question, asked, Result(success=True), verdict)
            return _outcome(by_kind["allow_once"])
        self._open.add(question.id)
        try:
            answered = await self._bench.questions.ask(question)
        except NoAnswer as error:
            verdict = Decision(level=question.level, reason=question.reason)
            await self._record(question, asked, Result.failure(error), verdict)
            return dict(_CANCELLED)
        finally:
            self._open.discard(question.id)
        choice = answered.answer.choice
        if choice == "deny":
            chosen = _refusal(by_kind)
        else:
            chosen = next((by_kind[kind] for kind, meant in _CHOICES.items() if meant == choice), None)
            if runs:
                self._allowed.add(self._session, line, answered.by)
        verdict = Decision(level=question.level, reason=question.reason, choice=choice, by=answered.by.id)
        await self._record(question, asked, _result(answered), verdict)
        return _outcome(chosen)

    async def _permit(self, call: Call, by_kind: Mapping[str, PermissionOption]) -> dict[str, object]:
        """Answer about a call of our own server: the gate's question is the only one, and its rules are kept here."""
        task = self._tasks.start(self._decided(call), f"a permission for {call.command}")
        self._deciding.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._deciding.discard(task)
            task.cancel()
        if task.cancelled():
            return dict(_CANCELLED)
        error = task.result()
        if error is None or _nobody_is_there(error):  # then the gate refuses it, in words that reach the model
            return _outcome(by_kind["allow_once"])
        refused = await self._bench.gate.record(call, Result.failure(error))
        if isinstance(error, Denied) and error.data.get(
            "reason"
        ):  # of a refusal the agent reads only that it was one; here is why
            self._session.untold.append(CommandResult.of(call, refused))
        return _outcome(_refusal(by_kind) if isinstance(error, Denied) else None)

    async def _decided(self, call: Call) -> FourhandsError | None:
        asked = time.time()
        try:
            verdict = await self._calls.permit(call)
        except FourhandsError as error:
            return error
        await self._note(call.args, asked, Result(success=True), verdict)
        return None

    async def _record(self, question: Question, asked: float, result: Result, verdict: Decision) -> None:
        await self._note({"shown": question.shown}, asked, result, verdict)

    async def _note(self, args: dict[str, object], asked: float, result: Result, verdict: Decision) -> None:
        """Keep in the journal what was asked and what was decided: what follows may run where no gate is."""
        call = Call(command=REQUEST, args=args, actor=self._session.actor, origin="acp")
        await self._bench.journal.record(
            JournalEntry(call=call, verdict=verdict, result=result, asked=asked, finished=time.time())
        )

    def cancel(self) -> None:
        """Take all questions back; each request is answered with "cancelled"."""
        for task in self._deciding:
            task.cancel()
        for id in list(self._open):
            with contextlib.suppress(FourhandsError):
                self._bench.questions.withdraw(id, "the turn was cancelled")

    def _runs_elsewhere(self, step: Mapping[str, Any]) -> bool:
        """Return True if a line is said to run outside the workspace: what it would do there is not known."""
        given = step.get("rawInput")
        cwd = given.get("cwd") if isinstance(given, dict) else None
        if not isinstance(cwd, str) or "\0" in cwd:
            return cwd is not None
        root = os.path.realpath(self._bench.root)
        return os.path.commonpath((root, os.path.realpath(os.path.join(root, cwd)))) != root

    def _question(
        self,
        request: PermissionRequest,
        step: Mapping[str, Any],
        line: str,
        by_kind: Mapping[str, PermissionOption],
        found: Assessment | None,
    ) -> Question:
        title = str(request.title or step.get("title") or step.get("kind") or "use a tool")[:500]
        if request.description:
            title += f" ({request.description[:500]})"
        level, reason = ("unknown", "") if found is None else (found.level, found.reason)
        choices = [choice for kind, choice in _CHOICES.items() if kind in by_kind]
        if level == "dangerous" and len(choices) > 1:
            choices.remove("session")  # what is dangerous is asked about each time
        always = by_kind.get("allow_always")
        return Question(
            id=new_id("question"),
            kind="confirmation",
            session=self._session.id,
            text=f"{self._session.name} asks for permission: {title}",
            options=(*choices, "deny"),
            command=REQUEST,
            shown=visible(line or title)[:_LONGEST],
            level=level,
            reason=reason,
            parts=() if found is None else tuple(found.parts),
            facts=() if found is None else tuple(found.facts),
            rule=f"{always.name} (kept by the agent)" if always is not None and "session" in choices else "",
            detail={"toolCall": shortened(dict(step))},
            actor=self._session.actor,
        )


def _options(listed: list[Any]) -> list[PermissionOption]:
    found = []
    for one in listed:
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(one, PermissionOption))
    return found


def _nobody_is_there(error: FourhandsError) -> bool:
    return isinstance(error, NoAnswer) and error.data.get("reason") == "nobody"


def _refusal(by_kind: Mapping[str, PermissionOption]) -> PermissionOption | None:
    return next((by_kind[kind] for kind in _REFUSALS if kind in by_kind), None)


def _outcome(chosen: PermissionOption | None) -> dict[str, object]:
    """Return the answer to a request; without an option that says it, "cancelled"."""
    if chosen is None:
        return dict(_CANCELLED)
    return {"outcome": {"outcome": "selected", "optionId": chosen.option_id}}


def _result(answered: Answered) -> Result:
    if answered.answer.choice != "deny":
        return Result(success=True)
    reason = answered.answer.reason
    return Result.failure(Denied(f"the person refused: {reason}" if reason else "the person refused"))


def line_of(step: Mapping[str, Any]) -> str:
    """Return the shell line that a tool call would run; empty where it names none."""
    given = step.get("rawInput")
    command = given.get("command") if isinstance(given, dict) else None
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return command if isinstance(command, str) else ""


def shortened(value: Any, longest: int = _LONGEST, depth: int = 12) -> Any:
    """Limit a value from outside for use in events: long texts are cut, deep nesting is left out."""
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[:longest]}… ({len(value)} characters)"
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {str(key)[:200]: shortened(item, longest, depth - 1) for key, item in list(value.items())[:500]}
    if isinstance(value, list):
        return [shortened(item, longest, depth - 1) for item in value[:500]]
    return value
