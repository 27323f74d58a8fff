"""The judge of this workbench: reads a call as the shell line that it comes to, and says how bad that is.

Which reading a command needs is its own word (`safety=` where it is declared): "typing" for text into a terminal,
"line" for a shell line in the argument `command`, "launch" for a program with arguments. What an agent types is
judged as the line that the shell will get, with what already stands on it.
"""

import shlex

from msgspec import Struct

from fourhands.core.call import Call
from fourhands.core.judge import Judgement
from fourhands.core.question import Part
from fourhands.core.registry import Command
from fourhands.safety.shell import Rules, Verdict, classify, visible
from fourhands.workbench.workbench import Workbench

_CONTROLS_ALLOWED = {"\x03", "\x15"}  # Ctrl-C and Ctrl-U only take away


class LineJudge:
    """Judges calls that run something."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        safety = bench.settings.safety
        self._rules = Rules(safe_commands=safety.safe_commands, dangerous_commands=safety.dangerous_commands)

    def __call__(self, call: Call, command: Command, args: Struct | None) -> Judgement | None:
        """The judgement of a call, or None where nothing is run."""
        if args is None or command.safety is None:
            return None
        reading = getattr(self, f"_{command.safety}", None)
        return reading(call, args) if reading is not None else None

    def _line(self, call: Call, args: Struct) -> Judgement:
        line: str = args.command  # type: ignore[attr-defined]  # every "line" command has it
        return self._judged(line, classify(line, self._rules), call, lambda text: {**call.args, "command": text})

    def _typing(self, call: Call, args: Struct) -> Judgement | None:
        text: str = args.text  # type: ignore[attr-defined]  # so has every "typing" command
        terminal = self._bench.terminal(args.terminal_id)  # type: ignore[attr-defined]
        rest = "".join(character for character in text if character not in _CONTROLS_ALLOWED)
        if not rest:
            return None
        line = self._bench.typed_line(terminal, text)
        if line is None:
            return self._program_input(call, text, terminal.title)
        return self._judged(line, classify(line, self._rules), call, lambda fresh: {**call.args, "text": fresh})

    def _program_input(self, call: Call, text: str, title: str) -> Judgement:
        """Input for a program that is not a shell: nobody can say what it will do with it."""
        return Judgement(
            level="unknown",
            shown=visible(text),
            reason=f"input for the program that runs in {title}",
            rule_key=f"input:{title}",
            rule_text=f"let it type into the program in terminal {title}",
            unasked=self._unasked(),
            edit=lambda fresh: {**call.args, "text": fresh},
        )

    def _unasked(self) -> str:
        return ""

    def _judged(self, line: str, verdict: Verdict, call: Call, edit: object) -> Judgement:
        simple = [part for part in verdict.parts if part.level == "unknown"]
        words = shlex.join(simple[0].words) if len(simple) == 1 and simple[0].words else ""
        return Judgement(
            level=verdict.level,
            shown=visible(line),
            reason=verdict.reason,
            parts=[Part(part.text, part.level, part.reason) for part in verdict.parts],
            rule_key=f"words:{words}" if words else None,
            rule_text=f"run exactly: {words}" if words else "",
            edit=edit,  # type: ignore[arg-type]
        )


