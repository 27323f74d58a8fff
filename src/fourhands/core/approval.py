"""Approval: a policy assesses what a call would do, and a person confirms what is not plainly safe.

The policy itself is the app's; this module carries out what follows from it. What a person approved is what runs: the
call is assessed again after the answer, and if the line has become another one meanwhile, the person is asked anew. A
text that the person edited is assessed for the journal and not asked about a second time: it is their own.

A call may be asked about before it comes, when its agent asks at a door of its own. What the person allows there is a
permit: for the very same call of the same session, once, for a short while, and only if it is still assessed alike.
"""

import asyncio
import dataclasses
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fourhands.core import schema
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Actor, Call, Decision, RiskLevel
from fourhands.core.consent import AllowRules
from fourhands.core.context import CallContext
from fourhands.core.errors import Conflict, Denied, NoAnswer
from fourhands.core.question import Answered, AssessedPart, Choice, Question, Questions, Review
from fourhands.core.registry import Command
from fourhands.core.text import quote

log = logging.getLogger(__name__)
PREVIEW_S = 1.0
"""The longest wait for the preview of a call's effect."""

PERMIT_S = 60.0
"""Seconds for which a permit waits for its call."""

_ROUNDS = 5
_WORDED = 4000
_PERMITS = 200


@dataclass(frozen=True, slots=True)
class Assessment:
    """A policy's view of one call: what would run, how risky it is, and what a person could do about it."""

    level: RiskLevel
    shown: str
    reason: str = ""
    parts: Sequence[AssessedPart] = ()
    rule_key: str | None = None  # of a narrow rule for the session; never used for a dangerous call
    rule_text: str = ""
    unasked: str = ""  # why this call may run without a question, also a dangerous one, e.g. in a sandbox
    secure: Callable[[], Awaitable[str]] | None = None  # awaited before it does; returns why it must be asked after all
    outside: bool = False  # it is to run outside the sandbox of its caller
    terminal: str = ""  # the id of the one that it is typed into
    facts: Sequence[str] = ()  # what a person should know besides the reason, in plain words
    on_allowed: Callable[[], None] | None = None  # called when a person has allowed it
    edit: Callable[[str], dict[str, object]] | None = None  # the arguments for an edited text
    preview: Callable[[], Awaitable[dict[str, object]]] | None = None  # its effect; run only when a person is asked


class Policy(Protocol):
    """Assesses what a call would do. Quick and without effect, since it is called again after each answer.

    It may raise `Denied`. Whatever it raises, the call does not run.
    """

    def __call__(self, call: Call, command: Command, args: Struct | None) -> Assessment | None:
        """Return the assessment, or None for a call that has nothing to assess."""


@dataclass(frozen=True, slots=True)
class Permit:
    """A call that a person has allowed before it came: until when, who did, and what they were shown."""

    until: float
    by: Actor
    shown: Assessment


class Approval:
    """Asks a person where an assessment requires it."""

    def __init__(
        self,
        policy: Policy,
        questions: Questions,
        rules: AllowRules,
        *,
        preview_s: float = PREVIEW_S,
        permit_s: float = PERMIT_S,
    ) -> None:
        self._policy = policy
        self.preview_s = preview_s
        self._questions = questions
        self._rules = rules
        self._permit_s = permit_s
        self._permits: BoundedDict[tuple[str, str, bytes], Permit] = BoundedDict(_PERMITS)

    async def require(self, context: CallContext, unknown_s: float) -> None:
        """Return when this call may run; the context then has its verdict, and arguments that a person edited.

        Raises `Denied`, `NoAnswer`, or `Conflict` where the call keeps changing.
        """
        assessment = self._assess(context)
        for _ in range(_ROUNDS):
            if assessment is None or assessment.level == "safe" or await self._passes(context, assessment):
                return
            approved = assessment
            answered = await self._ask(context, approved, unknown_s)
            if answered.answer.choice == "edit":
                self._edit(context, approved, answered)
                return
            if answered.answer.choice == "session" and approved.rule_key is not None:
                self._rules.add(context.call.actor.id, approved.rule_key, approved.rule_text)
            verdict, assessment = context.verdict, self._assess(context)
            if assessment is None or _same(assessment, approved):
                context.verdict = verdict
                if approved.on_allowed is not None:
                    approved.on_allowed()
                return
        raise Conflict("the command kept changing during review", hint="try again")

    async def permit(self, context: CallContext) -> None:
        """Return when this call may run once it comes; asks a person as `require` would, but not for other arguments.

        Raises `Denied` or `NoAnswer`.
        """
        assessment = self._assess(context)
        if assessment is None or assessment.level == "safe" or await self._passes(context, assessment):
            return
        answered = await self._ask(context, dataclasses.replace(assessment, edit=None), None)
        if answered.answer.choice == "session" and assessment.rule_key is not None:
            self._rules.add(context.call.actor.id, assessment.rule_key, assessment.rule_text)
        self._permits[_key(context.call)] = Permit(time.monotonic() + self._permit_s, answered.by, assessment)

    def _permitted(self, context: CallContext, assessment: Assessment) -> bool:
        """Use up the permit of this call, if there is one; return True if it covers what is assessed now."""
        permit = self._permits.pop(_key(context.call), None)
        if permit is None or time.monotonic() > permit.until or not _same(permit.shown, assessment):
            return False
        context.verdict = replace(context.verdict, choice="once", by=permit.by.id)
        if assessment.on_allowed is not None:
            assessment.on_allowed()
        return True

    def _assess(self, context: CallContext) -> Assessment | None:
        assert context.command is not None
        assessment = self._policy(context.call, context.command, context.args)
        if context.stood and not context.command.read_only:
            assessment = _repeated(context, assessment)
        context.verdict = (
            Decision() if assessment is None else Decision(level=assessment.level, reason=assessment.reason)
        )
        context.effects.outside = assessment is not None and assessment.outside
        return assessment

    async def _passes(self, context: CallContext, assessment: Assessment) -> bool:
        if assessment.unasked and (assessment.secure is None or not await assessment.secure()):
            context.verdict = replace(context.verdict, choice="unasked", by=assessment.unasked)
        elif assessment.level == "unknown" and self._rules.allows(context.call.actor.id, assessment.rule_key):
            context.verdict = replace(context.verdict, choice="rule", by=assessment.rule_key or "")
        else:
            return self._permitted(context, assessment)
        return True

    async def _ask(self, context: CallContext, assessment: Assessment, unknown_s: float | None) -> Answered:
        call = context.call
        dangerous = assessment.level == "dangerous"
        try:
            about = "outside" if assessment.outside and not dangerous else assessment.level
            text = f"{assessment.reason}: {quote(assessment.shown, 200)}"
            self._questions.require_asking(call.actor.id, about, text)
        except Denied:
            context.verdict = replace(context.verdict, choice="refused", by="configuration")
            raise
        choices: list[Choice] = ["once"]
        if assessment.edit is not None:
            choices.append("edit")
        if assessment.rule_key is not None and not dangerous:
            choices.append("session")
        what = "something dangerous" if dangerous else "this"
        what += " outside the sandbox" if assessment.outside else ""
        question = Question(
            kind="confirmation",
            session=call.actor.id,
            text=f"{call.actor.name} wants to run {what}: {assessment.reason}",
            options=(*choices, "deny"),
            command=call.command,
            terminal=assessment.terminal or str(call.args.get("terminalId") or ""),
            shown=assessment.shown,
            level=assessment.level,
            reason=assessment.reason,
            parts=tuple(assessment.parts),
            rule=assessment.rule_text if "session" in choices else "",
            facts=tuple(assessment.facts),
            detail=await self._preview(assessment),
            actor=call.actor,
            limit_s=None if dangerous else unknown_s,
        )

        async def review(text: str) -> Review:
            return await self._review(context, assessment, text)

        try:
            answered = await self._questions.ask(question, review if "edit" in choices else None)
        except NoAnswer:
            context.verdict = replace(context.verdict, choice="no-answer")
            raise
        context.verdict = replace(context.verdict, choice=answered.answer.choice, by=answered.by.id)
        if answered.answer.choice == "deny":
            reason = answered.answer.reason
            hint = "do not try it in other words; ask the person what they would like"
            raise Denied(f"the person refused{': ' if reason else ''}{reason}", hint=hint, reason=reason)
        return answered

    async def _review(self, context: CallContext, assessment: Assessment, text: str) -> Review:
        """Return the classification of an edited text; the answer itself is assessed again."""
        assert context.command is not None
        assert assessment.edit is not None
        args = assessment.edit(text)
        args_type = context.command.args_type
        decoded = schema.decode(args, args_type) if args_type is not None else None
        found = self._policy(replace(context.call, args=args), context.command, decoded)
        if found is None:
            return Review(level="safe", reason="nothing would run")
        return Review(
            level=found.level,
            reason=found.reason,
            shown=found.shown,
            parts=tuple(found.parts),
            facts=tuple(found.facts),
            detail=await self._preview(found),
        )

    async def _preview(self, assessment: Assessment) -> dict[str, object]:
        """Return a call's effect. A question without it is better than one that comes late."""
        if assessment.preview is None:
            return {}
        try:
            async with asyncio.timeout(self.preview_s):
                return await assessment.preview()
        except Exception:
            log.exception("no preview of %s", quote(assessment.shown, 200))
            return {}

    def _edit(self, context: CallContext, assessment: Assessment, answered: Answered) -> None:
        assert context.command is not None
        answer, verdict, args_type = answered.answer, context.verdict, context.command.args_type
        args = answer.args
        if args is None:
            assert assessment.edit is not None
            args = assessment.edit(answer.text or "")
        if args_type is not None:
            context.args = schema.decode(args, args_type)
        original = context.call.args
        context.call = replace(context.call, args=args)
        context.noted = {"editedArgs": args}
        self._assess(context)
        context.verdict = replace(context.verdict, choice=verdict.choice, by=verdict.by, original=original)


def _key(call: Call) -> tuple[str, str, bytes]:
    """Return what tells a call from every other of its session: its command and its arguments, in any order."""
    return call.actor.id, call.command, msgspec.json.encode(call.args, order="deterministic", enc_hook=repr)


def _same(one: Assessment, other: Assessment) -> bool:
    """Return True if both are about the same line, for the same reason, in the same place."""
    return (one.shown, one.level, one.reason, one.outside) == (other.shown, other.level, other.reason, other.outside)


def _repeated(context: CallContext, assessment: Assessment | None) -> Assessment:
    """Return the assessment of a block that stood in what the agent read: never safe, covered by no rule or sandbox."""
    reason = f"the same block stands in {context.stood}, which it has read; did you ask for this?"
    if assessment is None:
        return Assessment("unknown", _worded(context.call), reason)
    if assessment.reason and assessment.level != "safe":
        reason = f"{reason} ({assessment.reason})"
    level: RiskLevel = "unknown" if assessment.level == "safe" else assessment.level
    return dataclasses.replace(assessment, level=level, reason=reason, rule_key=None, rule_text="", unasked="")


def _worded(call: Call) -> str:
    """Return a call as one line with nothing hidden in it."""
    text = f"{call.command} {json.dumps(call.args, ensure_ascii=False, default=repr)}"
    shown = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text[:_WORDED])
    return shown if len(text) <= _WORDED else f"{shown}… ({len(text)} characters in all)"
