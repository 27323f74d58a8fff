"""The place of the data in a call's result, in a person's words: a file, a terminal, the output of a command."""

from fourhands.core.call import Call
from fourhands.core.errors import FourhandsError
from fourhands.workbench.workbench import Workbench


def source(bench: Workbench, call: Call) -> str:
    """Name the place that a call reads from."""
    for name in ("terminalId", "sessionId"):
        terminal = call.args.get(name)
        if isinstance(terminal, str) and terminal:
            try:
                return f"terminal {bench.terminal(terminal).title}"
            except FourhandsError:  # closed meanwhile, or it never was one
                return f"terminal {terminal}"
    path, line = call.args.get("path"), call.args.get("command") or call.args.get("script")
    if isinstance(path, str) and path:
        return f"file {bench.relative(path)}"
    if isinstance(line, str) and line:
        return f"the output of {line}"
    return f"what {call.command} returned"
