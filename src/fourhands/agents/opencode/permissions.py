"""OpenCode's requests for permission, as questions to the person at the workbench; their answers go back to it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from fourhands.agents.connectors.own_lines import OwnLines
from fourhands.core.errors import NoAnswer
from fourhands.core.question import Choice, Question
from fourhands.core.tasks import Tasks
from fourhands.safety.shell import visible
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

_REPLIES = {"once": "once", "session": "always", "always": "always"}

PermissionReply = Callable[[str, dict[str, str]], Awaitable[None]]


class OpenCodePermissions:
    """Those of one session that are not decided yet."""

    def __init__(self, bench: Workbench, session: Session, tasks: Tasks, reply: PermissionReply) -> None:
        self._bench = bench
        self._session = session
        self._tasks = tasks
        self._reply = reply
        self._lines = OwnLines(bench, session)
        self._asking: dict[str, asyncio.Task[None]] = {}

    def asked(self, told: dict[str, Any]) -> None:
        """OpenCode asks; it may say so several times."""
        id = str(told.get("id", ""))
        if id and id not in self._asking:
            task = self._tasks.start(self._ask(id, told), f"a permission of {self._session.name}")
            self._asking[id] = task
            task.add_done_callback(lambda _: self._asking.pop(id, None))

    def replied(self, id: str) -> None:
        """Withdraw a question that was answered there."""
        if (task := self._asking.pop(id, None)) is not None:
            task.cancel()

    def cancel(self) -> None:
        """Withdraw all questions: the turn has ended."""
        for task in list(self._asking.values()):
            task.cancel()

    async def _ask(self, id: str, told: dict[str, Any]) -> None:
        reply, reason = "reject", "no one answered; nothing was run"
        with contextlib.suppress(NoAnswer):
            reply, reason = await self._answered(told)
        self._asking.pop(id, None)  # from here on our own reply must not cancel us
        await self._reply(id, {"reply": reply, "message": reason} if reply == "reject" and reason else {"reply": reply})

    async def _answered(self, told: dict[str, Any]) -> tuple[str, str]:
        kind = str(told.get("permission", "something"))
        metadata = told.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        command = metadata.get("command")
        shown, level, why = ", ".join(_texts(told.get("patterns"))), "unknown", f"OpenCode asks before {kind}"
        facts: tuple[str, ...] = ()
        if kind == "bash" and isinstance(command, str):
            found = self._lines.assess(command)
            shown, level, why, facts = visible(command), found.level, found.reason, tuple(found.facts)
            if await self._lines.run_unasked(found):
                return "once", ""
        dangerous = level == "dangerous"
        options: tuple[Choice, ...] = ("once", "deny") if dangerous else ("once", "session", "deny")
        question = Question(
            kind="confirmation",
            session=self._session.id,
            text=f"{self._session.name} wants to {'run' if kind == 'bash' else kind}: {shown[:200]}",
            options=options,
            shown=shown,
            level=level,
            reason=why,
            rule="" if dangerous else ", ".join(_texts(told.get("always"))),
            facts=facts,
            detail={"permission": kind, **{name: value for name, value in metadata.items() if name != "command"}},
            actor=self._session.actor,
            limit_s=None,
        )
        answered = await self._bench.questions.ask(question)
        return _REPLIES.get(answered.answer.choice, "reject"), answered.answer.reason


def _texts(listed: object) -> list[str]:
    return [str(one) for one in listed] if isinstance(listed, list) else []
