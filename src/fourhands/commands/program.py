"""What the commands that start programs for a caller share: whose they are, their settings, titles and excerpts."""

import msgspec

from fourhands.commands.base import owner_of
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument
from fourhands.settings import AgentDefaults
from fourhands.workbench.pane import tabs
from fourhands.workbench.terminal import Terminal
from fourhands.workbench.workbench import Workbench


def is_agent(call: Call) -> bool:
    """Whether an agent calls."""
    return call.actor.kind == "agent"


def is_mine(terminal: Terminal, call: Call) -> bool:
    """Whether a terminal was started by this caller."""
    return terminal.owner == (owner_of(call) if is_agent(call) else "")


def settings_of(bench: Workbench, call: Call) -> AgentDefaults:
    """The caller's settings over the defaults; a person's own programs run where they sit."""
    session = bench.session(call)
    if session is None:
        return msgspec.structs.replace(bench.settings.agent_defaults, provider="local")
    return session.state.over(bench.settings.agent_defaults)


def check_line(text: str) -> None:
    """Refuse what no shell can be given."""
    if "\0" in text or not text.strip():
        raise BadArgument("a command must be text with something in it, without NUL bytes", hint='such as "npm test"')


def short(text: str, limit: int = 60) -> str:
    """A text as one printable line, not too long."""
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "?" for character in line)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def cropped(text: str, limit: int, total: str, rest: str) -> str:
    """Head and tail of a text that is too long, and between them what is missing and how to get it."""
    if len(text) <= limit:
        return text
    front = limit // 2
    back = len(text) - (limit - front)
    return f"{text[:front]}\n[… {back - front} {total} left out; {rest} …]\n{text[back:]}"


def free_title(bench: Workbench, command: str) -> str:
    """A title for a command's terminal that no other has."""
    taken = {terminal.title for terminal in bench.terminals.list()}
    name = short(command, 40)
    return next(t for n in range(1, len(taken) + 2) if (t := name if n == 1 else f"{name} {n}") not in taken)


async def tidy(bench: Workbench, call: Call, kept: int) -> None:
    """Close an agent's oldest terminals whose programs have ended, so that they do not fill the limit."""
    if not is_agent(call):
        return
    pinned = {tab.content for _, tab in tabs(bench.state.layout.root) if tab.pinned}
    ended = [t for t in bench.terminals.list() if t.exited and is_mine(t, call) and t.id not in pinned]
    for terminal in ended[: max(0, len(ended) - kept)]:
        await terminal.close()
