"""The safety verdict: a judge says what a call would do, and a person confirms what is not plainly safe.

The judge itself is the app's; here is what follows from its word. What a person approved is what runs: the call is
judged again after the answer, and if the line has become another one meanwhile, it is asked about anew. A text that the
person edited is judged by its own class, for the journal, and not asked about a second time: it is their own.
"""

import asyncio
import dataclasses
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from fourhands.core import schema
from fourhands.core.call import Call, Decision, RiskLevel
from fourhands.core.consent import AllowRules
from fourhands.core.context import CallContext
from fourhands.core.errors import Conflict, Denied, NoAnswer
from fourhands.core.question import Answered, AssessedPart, Choice, Question, Questions, Review
from fourhands.core.registry import Command

log = logging.getLogger(__name__)
_ROUNDS = 5
_GLANCE_S = 1.0
_WORDED = 4000


@dataclass(frozen=True, slots=True)
class Assessment:
    """A judge's view of one call: what would run, how bad that is, and what a person could do about it."""

    level: RiskLevel
    shown: str
    reason: str = ""
    parts: Sequence[AssessedPart] = ()
    rule_key: str | None = None  # of a narrow rule for the session; never used for a dangerous call
    rule_text: str = ""
    unasked: str = ""  # why an unknown call may run unasked, e.g. in a sandbox
    edit: Callable[[str], dict[str, object]] | None = None  # the arguments for an edited text
    glance: Callable[[], Awaitable[dict[str, object]]] | None = (
        None  # its effect; looked up only when a person is asked
    )


class Policy(Protocol):
    """Decides what a call would do; quick and without effect, since it is asked again after each answer.

    It may raise `Denied`. Whatever else it raises, the call does not run.
    """

    def __call__(self, call: Call, command: Command, args: Struct | None) -> Assessment | None:
        """Return the judgement, or None where there is nothing to judge."""


class Approval:
    """Lets a judged call through, or raises what stands in its way."""

    def __init__(self, judge: Policy, questions: Questions, rules: AllowRules) -> None:
        self._judge = judge
        self._questions = questions
        self._rules = rules

    async def require(self, passage: CallContext, unknown_s: float) -> None:
        """Return when this call may run; its verdict, and arguments that a person edited, are then in the passage."""
        judgement = self._look(passage)
        for _ in range(_ROUNDS):
            if judgement is None or judgement.level == "safe" or self._passes(passage, judgement):
                return
            approved = judgement
            answered = await self._ask(passage, approved, unknown_s)
            if answered.answer.choice == "edit":
                self._edit(passage, approved, answered)
                return
            if answered.answer.choice == "session" and approved.rule_key is not None:
                self._rules.add(passage.call.actor.id, approved.rule_key, approved.rule_text)
            verdict, judgement = passage.verdict, self._look(passage)
            if judgement is None or (judgement.shown, judgement.level) == (approved.shown, approved.level):
                passage.verdict = verdict
                return
        raise Conflict("what would run changed each time the person was asked", hint="send it again when things rest")

    def _look(self, passage: CallContext) -> Assessment | None:
        assert passage.command is not None
        judgement = self._judge(passage.call, passage.command, passage.args)
        if passage.stood and not passage.command.read_only:
            judgement = _repeated(passage, judgement)
        passage.verdict = Decision() if judgement is None else Decision(level=judgement.level, reason=judgement.reason)
        return judgement

    def _passes(self, passage: CallContext, judgement: Assessment) -> bool:
        if judgement.level != "unknown":
            return False
        if judgement.unasked:
            passage.verdict = replace(passage.verdict, choice="unasked", by=judgement.unasked)
        elif self._rules.allows(passage.call.actor.id, judgement.rule_key):
            passage.verdict = replace(passage.verdict, choice="rule", by=judgement.rule_key or "")
        else:
            return False
        return True

    async def _ask(self, passage: CallContext, judgement: Assessment, unknown_s: float) -> Answered:
        call = passage.call
        dangerous = judgement.level == "dangerous"
        choices: list[Choice] = ["once"]
        if judgement.edit is not None:
            choices.append("edit")
        if judgement.rule_key is not None and not dangerous:
            choices.append("session")
        question = Question(
            kind="confirmation",
            session=call.actor.id,
            text=f"{call.actor.name} wants to run {'something dangerous' if dangerous else 'this'}: {judgement.reason}",
            options=(*choices, "deny"),
            command=call.command,
            terminal=str(call.args.get("terminalId") or ""),
            shown=judgement.shown,
            level=judgement.level,
            reason=judgement.reason,
            parts=tuple(judgement.parts),
            rule=judgement.rule_text if "session" in choices else "",
            detail=await _glance(judgement),
            actor=call.actor,
            limit_s=None if dangerous else unknown_s,
        )

        async def review(text: str) -> Review:
            return await self._review(passage, judgement, text)

        try:
            answered = await self._questions.ask(question, review if "edit" in choices else None)
        except NoAnswer:
            passage.verdict = replace(passage.verdict, choice="no-answer")
            raise
        passage.verdict = replace(passage.verdict, choice=answered.answer.choice, by=answered.by.id)
        if answered.answer.choice == "deny":
            reason = answered.answer.reason
            hint = "do not try it in other words; ask the person what they would like"
            raise Denied(f"the person refused{': ' if reason else ''}{reason}", hint=hint, reason=reason)
        return answered

    async def _review(self, passage: CallContext, judgement: Assessment, text: str) -> Review:
        """What would be said of an edited text; nothing of it stays, the answer is looked at again."""
        assert passage.command is not None
        assert judgement.edit is not None
        args = judgement.edit(text)
        args_type = passage.command.args_type
        decoded = schema.decode(args, args_type) if args_type is not None else None
        found = self._judge(replace(passage.call, args=args), passage.command, decoded)
        if found is None:
            return Review(level="safe", reason="nothing would be run")
        return Review(
            level=found.level,
            reason=found.reason,
            shown=found.shown,
            parts=tuple(found.parts),
            detail=await _glance(found),
        )

    def _edit(self, passage: CallContext, judgement: Assessment, answered: Answered) -> None:
        assert passage.command is not None
        answer, verdict, args_type = answered.answer, passage.verdict, passage.command.args_type
        args = answer.args
        if args is None:
            assert judgement.edit is not None
            args = judgement.edit(answer.text or "")
        if args_type is not None:
            passage.args = schema.decode(args, args_type)
        original = passage.call.args
        passage.call = replace(passage.call, args=args)
        passage.noted = {"editedArgs": args}
        self._look(passage)
        passage.verdict = replace(passage.verdict, choice=verdict.choice, by=verdict.by, original=original)


def _repeated(passage: CallContext, judgement: Assessment | None) -> Assessment:
    """The judgement of a block that stood in what the agent read: never safe, and covered by no rule or sandbox."""
    reason = f"the same block stands in {passage.stood}, which it has read; did you ask for this?"
    if judgement is None:
        return Assessment("unknown", _worded(passage.call), reason)
    if judgement.reason and judgement.level != "safe":
        reason = f"{reason} ({judgement.reason})"
    level: RiskLevel = "unknown" if judgement.level == "safe" else judgement.level
    return dataclasses.replace(judgement, level=level, reason=reason, rule_key=None, rule_text="", unasked="")


def _worded(call: Call) -> str:
    """A call on one line, with nothing hidden in it."""
    text = f"{call.command} {json.dumps(call.args, ensure_ascii=False, default=repr)}"
    shown = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text[:_WORDED])
    return shown if len(text) <= _WORDED else f"{shown}… ({len(text)} characters in all)"


async def _glance(judgement: Assessment) -> dict[str, object]:
    """Look up a call's effect, shortly: a card without it is better than one that comes late."""
    if judgement.glance is None:
        return {}
    try:
        async with asyncio.timeout(_GLANCE_S):
            return await judgement.glance()
    except Exception:
        log.exception("no glance at %r", judgement.shown[:200])
        return {}
