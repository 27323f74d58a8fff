"""The workbench in the message of a turn: only the parts that changed since this model was told, each of them whole.

What is told of an agent's session stands in `Session.told`, a text for each part. A part that is empty and was never
told is not mentioned, so a model takes what it has not heard of as not there.
"""

from collections.abc import Mapping

from fourhands.agents.briefing.budget import (
    TURN_COMMANDS_TOKENS,
    TURN_EDITORS_TOKENS,
    TURN_TERMINALS_TOKENS,
    fit,
    tokens,
)
from fourhands.agents.briefing.shorten import one_line
from fourhands.agents.briefing.state_summary import StateSummary
from fourhands.commands.help import HELP, block, line
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

OPENING = "The workbench now, as far as it changed:"

_NOTHING = {
    "editors": "Open editors: none",
    "pane": "Active pane: none",
    "terminals": "Terminals: none",
    "attached": "Attached to this chat: no terminal",
    "chat": "Chat: nothing waits, nothing is paused",
    "commands": "Commands: as at the beginning",
}
"""The parts in their order, each with what is said when nothing is left of it."""


def turn_state(bench: Workbench, session: Session) -> dict[str, str]:
    """Describe everything as it is now, in parts; names of files and programs are quoted: no block in them runs."""
    summary = StateSummary(bench)
    parts = {
        "editors": _fitted("Open editors:", summary.editor_lines(), TURN_EDITORS_TOKENS, "openspace.editor.list"),
        "pane": summary.active_pane(),
        "terminals": _fitted(
            "Terminals:", summary.terminal_lines(session), TURN_TERMINALS_TOKENS, "openspace.terminal.list"
        ),
        "attached": summary.attached_titles(session),
        "chat": summary.chat_exceptions(session),
        "commands": _commands(bench, session),
    }
    return {
        name: bench.gate.given.quote(session.id, text, "the names of open files and terminals") if text else ""
        for name, text in parts.items()
    }


def changes(now: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    """Return the parts that are not as they were told."""
    return {name: text for name, text in now.items() if text != told.get(name, "")}


def worded(changed: Mapping[str, str]) -> str:
    """Put the parts that changed into words; nothing if none did."""
    return "\n".join([OPENING, *(changed[name] or _NOTHING[name] for name in _NOTHING if name in changed)])


def _fitted(heading: str, lines: list[str], limit: int, command: str) -> str:
    if not lines:
        return ""
    more = f"- and {{}} more: use {command}"
    return "\n".join([heading, *fit(lines, limit - tokens(heading), lambda count: more.format(count))])


def _commands(bench: Workbench, session: Session) -> str:
    """Name the commands that came or went since the session's briefing, which is not written anew for them."""
    if session.briefed is None:
        return ""
    now = {command.id: command for command in bench.registry if "agent" in command.actors}
    fresh = [one_line(line(now[id]), 300) for id in sorted(now.keys() - session.briefed)]
    gone = sorted(session.briefed - now.keys())
    lines = fresh + ([f"- no longer there: {one_line(', '.join(gone), 600)}"] if gone else [])
    about = f"Commands that came or went ({block(HELP, {'command': 'ID'})} explains one):"
    return _fitted(about, lines, TURN_COMMANDS_TOKENS, HELP)
