"""Commands on the limit of terminals: every caller may read it, a person may change it while the server runs."""

from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args
from fourhands.core.registry import Contribution
from fourhands.settings import MOST_TERMINALS
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.terminal")


class TerminalLimit(Struct, frozen=True, kw_only=True, rename="camel"):
    """The limit, the number of terminals, and the limit of the settings, which holds after a restart."""

    max_terminals: int
    count: int
    setting: int


def _limit(bench: Workbench) -> TerminalLimit:
    terminals = bench.terminals
    return TerminalLimit(
        max_terminals=terminals.max_terminals,
        count=terminals.count,
        setting=bench.settings.terminal.max_terminals,
    )


@commands.add("limit", label="Show terminal limit", read_only=True, example={})
async def limit(bench: Workbench) -> TerminalLimit:
    """Return the limit of terminals and how many there are; one that has ended counts until it is closed."""
    return _limit(bench)


class SetTerminalLimit(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.set_limit`."""

    max_terminals: Annotated[int, Meta(ge=1, le=MOST_TERMINALS, description="The new limit.")]


@commands.add("set_limit", label="Set terminal limit", actors=("person",), hand=True)
async def set_limit(bench: Workbench, args: SetTerminalLimit) -> TerminalLimit:
    """Set the limit of terminals until the server stops; then `terminal.maxTerminals` holds again.

    If there are more already, none is closed: no new one is started until there are fewer.
    """
    bench.terminals.max_terminals = args.max_terminals
    return _limit(bench)
