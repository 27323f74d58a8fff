"""The start of a program that keeps running, in a terminal that agent and person see."""

import contextlib
from typing import Annotated

from msgspec import Meta

from fourhands.commands import outside
from fourhands.commands.programs import (
    ProgramStarted,
    check_line,
    free_title,
    settings_of,
    short,
    starting,
    tidy,
)
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.workbench.terminals.handle import Exited, is_shell_name
from fourhands.workbench.workbench import Workbench

COMPLETED_KEPT = 10
"""Number of an agent's terminals that stay on screen after their programs have ended, beside those that run."""

_LONGEST_LINE = 1_000_000
ShellText = Annotated[str, Meta(min_length=1, max_length=_LONGEST_LINE)]


async def launch(
    bench: Workbench, call: Call, effects: Effects, command: str, stdin: str | None = None
) -> ProgramStarted:
    """Start a shell line in a terminal of the caller's, and type `stdin` into it; a shell's name starts that shell."""
    check_line(command)
    mine = settings_of(bench, call)
    await tidy(bench, call, COMPLETED_KEPT)
    word = command.strip()
    shells = (await bench.terminals.provider(mine.provider)).shells
    bash_there = shells is None or any(path.endswith("/bash") for path in shells)
    shell = is_shell_name(word)
    async with starting(
        bench,
        call,
        title=free_title(bench, word),
        shell=word if shell else None,
        cwd=bench.cwd(call),
        argv=None if shell else ["bash" if bash_there else "sh", "-c", command],
        provider=outside.PROVIDER if effects.outside else mine.provider,
        env=outside.variables(bench, {}, mine.provider) if effects.outside else None,
        outside=effects.outside,
        interactive=True,
        meta={"command": short(word, 500)},
    ) as started:
        if stdin:
            with contextlib.suppress(Exited):  # it has run to its end: its output says more than an error
                await bench.seat(call.actor, started.terminal).type(stdin)
    effects.isolation = started.terminal.isolation
    bench.irreversible(call, f"started {short(word)}", "close the terminal instead")
    return started
