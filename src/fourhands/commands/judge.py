"""The judge of this workbench: reads a call as the shell line that it comes to, and says how bad that is.

Which reading a command needs is its own word (`safety=` where it is declared): "typing" for text into a terminal,
"line" for a shell line in the argument `command`, "launch" for a program with arguments. What an agent types is
judged as the line that the shell will get, with what already stands on it.
"""

import shlex
from collections.abc import Callable
from dataclasses import replace

from msgspec import Struct

from fourhands.core.call import Call
from fourhands.core.judge import Judgement
from fourhands.core.question import Part
from fourhands.core.registry import Command
from fourhands.safety.shell import Rules, Verdict, classify, visible
from fourhands.workbench.typed import typed
from fourhands.workbench.workbench import Workbench


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
        if not text.strip("\x03\x15"):
            return None  # Ctrl-C and Ctrl-U only take away
        if terminal.marked and terminal.shell_state == "running":
            return self._program_input(call, text, terminal.title)
        lease = self._bench.lease(terminal)
        keys = typed(lease.pending, text)

        def edit(fresh: str) -> dict[str, object]:
            return {**call.args, "text": fresh}

        if keys.hidden:
            reason = f"the control key {keys.hidden} at a prompt: nobody can say what the line will be"
            return Judgement(level="dangerous", shown=visible(text), reason=reason, edit=edit)
        submitted = "\n".join([*lease.continued, *keys.lines]) if keys.lines else ""
        if submitted:
            verdict = classify(submitted, self._rules)
            if keys.completed or not terminal.marked:
                verdict = at_least_unknown(verdict, "Tab may complete it" if keys.completed else "not a marked shell")
            return self._judged(submitted, verdict, call, edit)
        # A piece without Enter: what is dangerous is asked about at once, what is unknown waits for its Enter.
        standing = classify("\n".join([*lease.continued, keys.rest]), self._rules)
        if standing.level == "dangerous":
            return self._judged(keys.rest, standing, call, edit)
        return None

    def _program_input(self, call: Call, text: str, title: str) -> Judgement:
        """Input for a program that is not a shell: nobody can say what it will do with it."""
        return Judgement(
            level="unknown",
            shown=visible(text),
            reason=f"input for the program that runs in {title}",
            rule_key=f"input:{title}",
            rule_text=f"let it type into the program in terminal {title}",
            edit=lambda fresh: {**call.args, "text": fresh},
        )

    def _judged(self, line: str, verdict: Verdict, call: Call, edit: Callable[[str], dict[str, object]]) -> Judgement:
        simple = [part for part in verdict.parts if part.level == "unknown"]
        words = shlex.join(simple[0].words) if len(simple) == 1 and simple[0].words else ""
        return Judgement(
            level=verdict.level,
            shown=visible(line),
            reason=verdict.reason,
            parts=[Part(part.text, part.level, part.reason) for part in verdict.parts],
            rule_key=f"words:{words}" if words else None,
            rule_text=f"run exactly: {words}" if words else "",
            edit=edit,
        )


def at_least_unknown(verdict: Verdict, reason: str) -> Verdict:
    """The same verdict, but not safe."""
    if verdict.level != "safe":
        return verdict
    return replace(verdict, level="unknown", reason=reason)
