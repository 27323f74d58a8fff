"""Asking how a command line would be judged, without running anything."""

from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args
from fourhands.commands.judge import rules_of
from fourhands.core.registry import Contribution
from fourhands.safety.shell import classify
from fourhands.safety.shell.levels import Level
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.safety", scope="see")


class Judge(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.safety.judge`."""

    command: Annotated[str, Meta(max_length=1_000_000, description="A shell line; it is not run.")]


class JudgedPart(Struct, frozen=True, kw_only=True, rename="camel"):
    """One simple command of a line; `words` are what the shell would make of it, as far as that can be said."""

    text: str
    level: Level
    reason: str
    words: tuple[str, ...]


class JudgedLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a line is judged, why, and the commands that it consists of."""

    level: Level
    reason: str
    commands: tuple[JudgedPart, ...]


@commands.add(
    "judge",
    label="Judge a command line",
    actors=("person",),
    read_only=True,
    example={"command": "git add . && git commit -m test"},
)
async def judge(bench: Workbench, args: Judge) -> JudgedLine:
    """Say how a shell line is judged by your settings (safe, unknown, dangerous), why, and what commands it has."""
    verdict = classify(args.command, rules_of(bench))
    parts = (JudgedPart(text=p.text, level=p.level, reason=p.reason, words=p.words) for p in verdict.parts)
    return JudgedLine(level=verdict.level, reason=verdict.reason, commands=tuple(parts))
