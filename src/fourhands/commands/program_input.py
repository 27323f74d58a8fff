"""Text that an agent types into a program which is no integrated shell, judged by what reads it.

A shell in it, or the shell behind it when it leaves the input unread, would take it for a line: what is dangerous there
is dangerous here too. A rule of the session covers what is not dangerous, for as long as that program runs.
"""

import re
from dataclasses import replace
from typing import Any

from fourhands.commands.asking import LineAsking
from fourhands.commands.edited import with_enter
from fourhands.core.approval import Assessment
from fourhands.core.call import Call
from fourhands.core.question import AssessedPart
from fourhands.safety.input import KEYED, ReaderKind, TypedInput, classify_input, goes_on_behind
from fourhands.safety.shell import ClassifierRules, Verdict, classify, visible
from fourhands.safety.shell.verdict import at_least_unknown, worst_of
from fourhands.workbench.terminals.handle import TerminalHandle, is_shell_name
from fourhands.workbench.terminals.prompt import PromptState, leads_to_a_shell
from fourhands.workbench.terminals.shell.input_line import EMPTY, leave, typed

_HARMLESS_KEYS = str.maketrans("", "", "\x0c")  # a fresh screen
_INTERRUPT = "\x03"
_END_OF_INPUT = "\x04"
_CONTROL = re.compile(r"[\x00-\x03\x05-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_RULES = {
    ReaderKind.CODE: "type code into {} that is not dangerous",
    ReaderKind.STATEMENTS: "type statements into {} that are not dangerous",
    ReaderKind.DEBUGGER: "type commands into {} that are not dangerous",
}
_ANY_RULE = "type into {} what is not dangerous"


class ProgramInput:
    """Assesses what is typed into programs."""

    def __init__(self, asking: LineAsking, rules: ClassifierRules) -> None:
        self._asking = asking
        self._rules = rules

    def assess(
        self,
        call: Call,
        terminal: TerminalHandle,
        standing: PromptState,
        text: str,
        argument: str,
        *,
        leaving: str,
        cwd: str,
    ) -> Assessment | None:
        """Assess the text of an argument; `leaving`: why the terminal is not the place of this agent's programs."""
        program = standing.program or "the program"
        place = self._asking.terminal(terminal, cwd)
        rule = ""
        if leads_to_a_shell(program):
            # A rule for all that is typed into another shell would approve lines that no person has read.
            shown, verdict = text, self._for_a_shell(terminal, standing, text)
        else:
            given, shown = _given(standing, text)
            verdict = classify_input(given, standing.reader, self._rules, cwd=cwd)
            if not leaving and verdict.level != "dangerous" and _waits_for_enter(standing, given):
                return None
            if standing.program and not leaving and not goes_on_behind(given, standing.reader):
                rule = _RULES.get(standing.reader.kind, _ANY_RULE).format(program)
        verdict = at_least_unknown(verdict, leaving) if leaving else verdict
        first = "\x15" if shown != text else ""  # clears what stands on the line
        found = Assessment(
            level=verdict.level,
            shown=visible(shown),
            reason=verdict.reason,
            parts=[AssessedPart(visible(part.text), part.level, part.reason) for part in verdict.parts],
            rule_key=f"input:{terminal.id}:{standing.group}:{program}" if rule else None,
            rule_text=f"{rule}, in terminal {terminal.title}, as long as it runs" if rule else "",
            edit=lambda fresh: {**call.args, argument: first + with_enter(fresh, text)},
            terminal=terminal.id,
        )
        return self._asking.apply(call, found, verdict, place)

    def _for_a_shell(self, terminal: TerminalHandle, standing: PromptState, text: str) -> Verdict:
        """Classify a line for a shell without marks, or for a program that leads to one: what it does is not known."""
        program = standing.program
        lines, rest = leave(standing.line, text)
        alone = "\n".join([*lines, rest.text])
        readings = ("\n".join([*standing.before, alone]), alone)
        verdict = worst_of(classify(reading, self._rules, interactive=True) for reading in readings)
        reason = f"input for {program}, which runs in {terminal.title}"
        if is_shell_name(program) and verdict.level != "dangerous":
            keys = typed(standing.line, text, pastes=True)
            if keys.hidden:
                reason = f"control key for {program} makes its command line unpredictable"
                return replace(verdict, level="dangerous", reason=reason)
        if verdict.level == "dangerous":
            return replace(verdict, reason=f"{reason}: {verdict.reason}")
        return replace(verdict, level="unknown", reason=reason)


def _given(standing: PromptState, text: str) -> tuple[TypedInput, str]:
    """Return what the reader of a program gets, and what of it a person is shown."""
    unread = () if standing.prompt else standing.before
    state: dict[str, Any] = {"unread": unread, "prompt": standing.prompt, "ended": standing.ended}
    if standing.reader.kind in KEYED or not standing.reader.repl:
        return TypedInput(standing.keys + text, **state), text
    lines, hidden, completed = _line(standing.keys + text)
    if _INTERRUPT in text:  # some programs end by that
        state["ended"] = True
    if completed:
        state["prompt"] = ""  # Tab may have put more there
    shown = lines if standing.keys and not hidden else text
    return TypedInput(lines, before=standing.statement, hidden=hidden, **state), shown


def _line(keys: str) -> tuple[str, str, bool]:
    """Return the lines that keys make, what hides them if something does, and whether Tab may have completed one."""
    keys = keys.translate(_HARMLESS_KEYS)
    if _END_OF_INPUT in keys:
        other = _CONTROL.search(keys)
        return keys, f"control key U+{ord(other.group()):04X}" if other else "", "\t" in keys
    played = typed(EMPTY, keys)
    hidden = f"control key {played.hidden}" if played.hidden else ""
    return "\n".join([*played.lines, played.line.text]), hidden, played.completed


def _waits_for_enter(standing: PromptState, given: TypedInput) -> bool:
    """Return True if a text does nothing yet: an Enter is to come, with which the whole line is judged."""
    reads_lines = bool(standing.prompt) and standing.reader.repl and standing.reader.kind not in KEYED
    return reads_lines and "\n" not in given.text and _END_OF_INPUT not in given.text
