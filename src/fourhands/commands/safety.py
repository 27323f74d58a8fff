"""Commands about safety: how a line is classified, and which sandbox agents' programs run in."""

from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.policy import rules_of
from fourhands.core.call import RiskLevel
from fourhands.core.registry import Contribution
from fourhands.safety.asking import AskSetting
from fourhands.safety.input import classify_input, reader_of_command
from fourhands.safety.shell import classify
from fourhands.workbench import sandbox
from fourhands.workbench.sandbox import SandboxInfo
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.safety", scope="see")


class ClassifiedPart(Struct, frozen=True, kw_only=True, rename="camel"):
    """One simple command of a line; `words` are what the shell would make of it, as far as that can be said."""

    text: str
    level: RiskLevel
    reason: str
    words: tuple[str, ...]


class LineClassified(Struct, frozen=True, kw_only=True, rename="camel"):
    """The level of a line, the reason, and the commands that it consists of."""

    level: RiskLevel
    reason: str
    commands: tuple[ClassifiedPart, ...]


@commands.add(
    "judge",
    label="Classify command line",
    actors=("person",),
    read_only=True,
    example={"command": "git add . && git commit -m test"},
)
async def judge(
    bench: Workbench,
    *,
    command: Annotated[str, Meta(max_length=1_000_000, description="A shell line; it is not run.")],
    program: Annotated[
        str,
        Meta(max_length=1_000, description="What reads it instead of a shell, as it is started: python3, psql app."),
    ] = "",
) -> LineClassified:
    """Classify a shell line by your settings (safe, unknown, dangerous), with the reason and the commands in it.

    With `program`, as input that is typed at that program's own prompt.
    """
    rules = rules_of(bench)
    verdict = classify_input(command, reader_of_command(program), rules) if program else classify(command, rules)
    parts = (ClassifiedPart(text=p.text, level=p.level, reason=p.reason, words=p.words) for p in verdict.parts)
    return LineClassified(level=verdict.level, reason=verdict.reason, commands=tuple(parts))


class AskingInForce(Struct, frozen=True, kw_only=True, rename="camel"):
    """The lines that a person is asked about: every `dangerous` one, or only what cannot be undone."""

    ask: AskSetting


@commands.add("asking", label="Show what you are asked about", read_only=True, example={})
async def show_asking(bench: Workbench) -> AskingInForce:
    """Show whether the person is asked about every dangerous line, or only about what cannot be undone."""
    return AskingInForce(ask=bench.asking.setting)


@commands.add(
    "set_asking",
    label="Choose what you are asked about",
    actors=("person",),
    hand=True,
    example={"ask": "irreversible"},
)
async def set_asking(
    bench: Workbench,
    *,
    ask: Annotated[AskSetting, Meta(description="dangerous: every dangerous line; irreversible: only those for good.")],
) -> AskingInForce:
    """Choose what agents in a sandbox ask about in this workspace, from now on: dangerous or irreversible lines."""
    await bench.asking.choose(ask)
    return AskingInForce(ask=bench.asking.setting)


@commands.add("sandbox", label="Show sandbox", read_only=True, example={})
async def show_sandbox(bench: Workbench) -> SandboxInfo:
    """Show which sandbox agents' programs run in, why it is not a stronger one, and what mends that."""
    return await sandbox.decided(bench.settings, bench.terminals.providers)
