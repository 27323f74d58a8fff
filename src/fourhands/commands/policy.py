"""The policy of this workbench: it turns a call into the equivalent shell line and classifies that.

A command names the reading that it needs (`safety=` where it is declared): "typing" and "stdin" for text into a
terminal, "interrupt" for Ctrl-C, "line" for a shell line in the argument `command`, "launch" for a program with
arguments, "script" for a script, "exec" for either in a terminal, "create" for a shell. Text that an agent types is
classified as the line that the shell will get, together with the text that is already on it. Variables and input of a
call count like assignments in front of it and a here-document behind it.
"""

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct

from fourhands.commands.asking import LineAsking, LinePlace
from fourhands.commands.edited import LineEditor, as_launch, as_variables, assignments, retype
from fourhands.commands.exec import as_line
from fourhands.commands.program_input import ProgramInput
from fourhands.commands.tool import is_line
from fourhands.core.approval import Assessment
from fourhands.core.call import Actor, Call
from fourhands.core.question import AssessedPart
from fourhands.core.registry import Command
from fourhands.providers.base import Isolation
from fourhands.safety.environment import check_variables
from fourhands.safety.redaction.file_names import SecretNames
from fourhands.safety.shell import ClassifierRules, Verdict, classify, visible
from fourhands.safety.shell.history import recalls
from fourhands.safety.shell.verdict import at_least_unknown, worst_of
from fourhands.safety.variables import changes_execution, guides_shell
from fourhands.settings import user_file
from fourhands.workbench.files import deletion_preview
from fourhands.workbench.terminals.handle import TerminalHandle
from fourhands.workbench.terminals.launch import spelled_cwd
from fourhands.workbench.terminals.prompt import PromptState
from fourhands.workbench.terminals.shell.input_line import EMPTY, Keystrokes, only_takes_away, typed
from fourhands.workbench.workbench import Workbench


def rules_of(bench: Workbench) -> ClassifierRules:
    """Return the classifier's rules from the person's settings."""
    safety = bench.settings.safety
    names = None
    if safety.secret_names or safety.not_secret_names:
        names = SecretNames(extra=safety.secret_names, removed=safety.not_secret_names)
    return ClassifierRules(
        safe_commands=safety.safe_commands,
        dangerous_commands=safety.dangerous_commands,
        secret_names=names,
        workspace=bench.root,
        own_directories=own_directories(bench),
    )


def own_directories(bench: Workbench) -> tuple[str, ...]:
    """Return the directories of Fourhands itself, wherever the environment has put them: runtime, state, settings."""
    places = bench.terminals.places
    config = os.path.dirname(user_file(bench.terminals.env))
    return tuple(dict.fromkeys((os.path.dirname(places.runtime), os.path.dirname(places.state), config)))


class WorkbenchPolicy:
    """Assesses the calls that run something."""

    def __init__(self, bench: Workbench) -> None:
        self.preview_limits = deletion_preview.PreviewLimits()
        self._bench = bench
        self._rules = rules_of(bench)
        self._asking = LineAsking(bench)
        self._programs = ProgramInput(self._asking, self._rules)
        self._readings: dict[str, Callable[[Call, Any], Assessment | None]] = {
            "line": self._line,
            "launch": self._launch,
            "script": self._script,
            "exec": self._exec,
            "outside": lambda call, args: self._exec(call, args, outside=True),
            "create": self._create,
            "typing": lambda call, args: self._keys(call, args.terminal_id, args.text, "text"),
            "stdin": self._stdin,
            "interrupt": lambda call, args: self._interruption(
                call, self._bench.judged_terminal(args.terminal_id, call)
            ),
        }

    def __call__(self, call: Call, command: Command, args: Struct | None) -> Assessment | None:
        """Return the assessment of a call, or None if it runs nothing."""
        if command.announced is not None:
            return _outside(call, command)
        reading = self._readings.get(command.safety or "")
        return reading(call, args) if reading is not None and args is not None else None

    def own_line(self, actor: Actor, line: str) -> Assessment:
        """Assess a line that an agent runs in a process of its own, which is where its other programs run."""
        call = Call(command="openspace.tool.bash", args={"command": line}, actor=actor)
        place = self._asking.place(call, self._cwd(call))
        verdict = classify(line, self._rules, cwd=place.cwd)
        return self._judged(call, line, verdict, lambda fresh: {"command": fresh}, place)

    # -- programs and lines that a call runs -----------------------------------------------------------------------

    def _line(self, call: Call, args: Any) -> Assessment:
        """Assess `bash` and `terminal_start`: a line, and the input that its program reads first, if any."""
        line: str = args.command
        stdin: str | None = getattr(args, "stdin", None)
        place = self._asking.place(call, self._cwd(call), leaves=True)
        verdict = self._with_input(line, stdin, place)

        def edit(fresh: str) -> dict[str, object]:
            return {**call.args, "command": fresh}

        return self._judged(call, line, verdict, edit, place, input=stdin)

    def _launch(self, call: Call, args: Any) -> Assessment:
        """Assess a program with arguments as the line that would start it; without arguments it may be a shell line."""
        check_variables(args.env or {})
        if is_line(args.command, args.args):
            return self._shell_lines(call, args, "command")
        line = " ".join([*assignments(args.env), shlex.join([args.command, *args.args])])

        def edit(fresh: str) -> dict[str, object]:
            return {**call.args, **as_launch(fresh, args.env)}

        place = self._asking.place(call, self._cwd(call, args.working_directory), leaves=True)
        verdict = self._with_input(line, args.input, place)
        return self._judged(call, line, verdict, edit, place, input=args.input)

    def _script(self, call: Call, args: Any) -> Assessment:
        """Assess a script, with its variables exported in front."""
        check_variables(args.env or {})
        return self._shell_lines(call, args, "script")

    def _shell_lines(self, call: Call, args: Any, argument: str) -> Assessment:
        """Assess the shell lines in one argument."""
        exports = "".join(f"export {assignment}\n" for assignment in assignments(args.env))
        line = exports + getattr(args, argument)

        def edit(fresh: str) -> dict[str, object]:
            removed = {name: None for name, value in (args.env or {}).items() if value is None}
            theirs = {} if fresh.startswith(exports) else {"env": removed}  # edited exports are in the text
            own: object = fresh.removeprefix(exports)
            if argument == "command" and not is_line(str(own), ()):
                own = as_launch(str(own), None)["command"]  # without blanks it is a program's name
            return {**call.args, argument: own, **theirs}

        place = self._asking.place(call, self._cwd(call, args.working_directory), leaves=True)
        verdict = self._with_input(line, args.input, place)
        return self._judged(call, line, verdict, edit, place, input=args.input)

    def _exec(self, call: Call, args: Any, *, outside: bool = False) -> Assessment:
        """Assess a program in a terminal of its own: a launch with arguments, without them a line for the shell."""
        check_variables(args.env)
        place = self._asking.place(call, self._cwd(call, args.cwd), leaves=True, outside=outside)
        line = as_line(args.command, args.args, args.env)

        def edit(fresh: str) -> dict[str, object]:
            # An edited text is always a line for the shell, with its assignments in it.
            removed = {name: None for name, value in args.env.items() if value is None}
            return {**call.args, "command": fresh, "args": [], "env": removed}

        return self._judged(call, line, classify(line, self._rules, cwd=place.cwd), edit, place)

    def _create(self, call: Call, args: Any) -> Assessment | None:
        """Assess a new shell: its variables count like assignments, and like the start-up files that they name."""
        env: Mapping[str, str | None] = args.env
        if not env:
            return None
        check_variables(env)
        removed = [name for name, value in env.items() if value is None]
        line = " ".join(assignments(env)) + "".join(f"\nunset {name}" for name in removed)
        verdict = classify(line.strip(), self._rules)
        for name, value in env.items():
            if guides_shell(name) or (value is None and changes_execution(name)):
                reason = f"{'removes' if value is None else 'sets'} {name}: changes what a new shell runs"
                verdict = replace(verdict, level="dangerous", reason=reason)
        verdict = replace(verdict, reason=f"a new shell with variables: {verdict.reason}")

        def edit(fresh: str) -> dict[str, object]:
            return {**call.args, "env": as_variables(fresh)}

        place = self._asking.place(call, self._cwd(call, args.cwd))
        return self._judged(call, line.strip(), verdict, edit, place, rule=False)

    def _with_input(self, line: str, text: str | None, place: LinePlace) -> Verdict:
        if not text:
            return classify(line, self._rules, cwd=place.cwd)
        mark = "INPUT"
        while mark in text or mark in line:
            mark += "_"
        return classify(f"{{\n{line}\n}} <<'{mark}'\n{text}\n{mark}", self._rules, cwd=place.cwd)

    def _cwd(self, call: Call, given: str | None = None) -> str:
        """Return the directory that this call or its session names, or an empty text for the workspace's root."""
        if given:
            return spelled_cwd(given, self._bench.root)
        session = self._bench.session(call)
        return (session.state.cwd if session is not None else None) or ""

    # -- text that is typed ----------------------------------------------------------------------------------------

    def _stdin(self, call: Call, args: Any) -> Assessment | None:
        return self._keys(call, args.session_id, args.stdin, "stdin") if args.stdin else None

    def _keys(self, call: Call, name: str, text: str, argument: str) -> Assessment | None:
        terminal = self._bench.judged_terminal(name, call)
        seat = self._bench.agent_seat(call.actor, terminal)
        standing = seat.preview(call.id)
        if not text:
            return None
        if only_takes_away(text):
            return self._interruption(call, terminal)
        if standing.place == "program":
            leaving = self._leaving(call, terminal)
            return self._programs.assess(call, terminal, standing, text, argument, leaving=leaving, cwd=seat.cwd)
        keys = typed(standing.line, text, pastes=standing.pastes)
        whole = "\n".join([*standing.before, *keys.lines, keys.line.text])
        edit = retype(call, argument, standing, text)
        hidden = self._unknowable(standing, keys)
        if hidden:
            shown = visible(whole if keys.lines else text)
            place = self._asking.terminal(terminal, seat.cwd)
            return Assessment(
                level="dangerous",
                shown=shown,
                reason=hidden,
                edit=edit,
                terminal=terminal.id,
                facts=self._asking.where(place),
            )
        verdict = self._typed_verdict(standing, keys, text, seat.cwd)
        # History expansion is off in an agent's own shells; in others a person may have switched it on.
        expands = terminal.expands_history or not terminal.meta.get("agent")
        if expands and recalls("\n".join([*keys.lines, keys.line.text]), terminal.program):
            reason = "history expansion (! or ^) may insert earlier commands"
            verdict = replace(verdict, level="dangerous", reason=reason)
        elif any(_lets_recall(part.words) for part in verdict.parts):
            reason = "switches history expansion on: later lines may run other commands than were typed"
            verdict = replace(verdict, level="dangerous", reason=reason)
        leaving = self._leaving(call, terminal)
        if leaving:
            verdict = at_least_unknown(verdict, leaving)
        if not keys.lines and verdict.level != "dangerous":
            return None  # text without Enter: an unknown line is assessed when Enter comes
        if keys.lines and (keys.completed or standing.place == "shell"):
            reason = "Tab may complete it" if keys.completed else "shell integration is not active"
            verdict = at_least_unknown(verdict, reason)
        narrow = standing.place == "prompt" and standing.settled and not keys.completed and not leaving
        place = self._asking.terminal(terminal, seat.cwd)
        return self._judged(call, whole, verdict, edit, place, rule=narrow)

    def _interruption(self, call: Call, terminal: TerminalHandle) -> Assessment | None:
        """Assess Ctrl-C and the like: an agent may always interrupt its own programs, but not those of others."""
        if terminal.owner == call.actor.id:
            return None
        return Assessment(
            level="unknown",
            shown=f"Ctrl-C in terminal {visible(terminal.title)}",
            reason="interrupts what another one started or typed",
            terminal=terminal.id,
            facts=self._asking.where(self._asking.terminal(terminal, "")),
        )

    def _leaving(self, call: Call, terminal: TerminalHandle) -> str:
        """Return why typing into a terminal leaves the place where this agent's own programs run; empty if not.

        A person is asked about each such line: what it starts is neither kept in by a sandbox nor the agent's own.
        """
        if terminal.isolation != Isolation.NONE:
            return ""
        if terminal.owner != call.actor.id:
            return f"terminal {visible(terminal.title)} is not the agent's own and not isolated"
        walled = self._asking.place(call).isolation != Isolation.NONE
        return f"terminal {visible(terminal.title)} is not isolated" if walled else ""

    def _unknowable(self, standing: PromptState, keys: Keystrokes) -> str:
        """Return why the resulting line cannot be known, or an empty text if it can."""
        if keys.hidden:
            what = f"control key {keys.hidden}" if keys.hidden.startswith("U+") else keys.hidden
            return f"{what} makes the resulting command line unpredictable"
        if standing.place == "incomplete" and not standing.before:
            return "continues a command typed by someone else"
        return ""

    def _typed_verdict(self, standing: PromptState, keys: Keystrokes, text: str, cwd: str) -> Verdict:
        """Return the worst verdict of all lines that the shell may get: several, if its state is not certain."""
        fresh = [*keys.lines, keys.line.text]
        readings = ["\n".join([*standing.before, *fresh])]
        if standing.before and not standing.settled:
            readings.append("\n".join(fresh))
        if standing.line.completed:  # the text on the line may be longer, or gone
            alone = typed(EMPTY, text, pastes=standing.pastes)
            readings.append("\n".join([*alone.lines, alone.line.text]))
        verdicts = [classify(reading.rstrip("\n"), self._rules, cwd=cwd) for reading in readings]
        if keys.lines and keys.line.text:
            # The text behind the last Enter is assessed again with its own; now it counts only if it is dangerous.
            verdicts = [verdict for verdict in verdicts if verdict.level == "dangerous"]
            verdicts.append(classify("\n".join([*standing.before, *keys.lines]), self._rules, cwd=cwd))
        return worst_of(verdicts)

    # -- the assessment --------------------------------------------------------------------------------------------

    def _judged(
        self,
        call: Call,
        line: str,
        verdict: Verdict,
        edit: LineEditor,
        place: LinePlace,
        *,
        input: str | None = None,
        rule: bool = True,
    ) -> Assessment:
        if verdict.level == "safe" and "git" in line and _is_bare_repository(self._bench.root):
            verdict = at_least_unknown(verdict, "git obeys a repository that the workspace itself has become")
        words = _plain_words(line, verdict) if rule and not input else ""
        commands = [part.words for part in verdict.parts]
        parts = [AssessedPart(visible(part.text), part.level, part.reason) for part in verdict.parts]
        if input:
            parts.append(AssessedPart(visible(input), verdict.level, "its standard input"))
        found = Assessment(
            level=verdict.level,
            shown=visible(line),
            reason=verdict.reason,
            parts=parts,
            rule_key=f"words:{place.isolation}:{place.cwd}:{words}" if words else None,
            rule_text=f"run exactly: {visible(words)}" if words else "",
            edit=edit,
            terminal=place.terminal,
            preview=deletion_preview.of(commands, self._bench.root, place.cwd, self.preview_limits)
            if deletion_preview.worth(commands)
            else None,
        )
        return self._asking.apply(call, found, verdict, place)


def _outside(call: Call, command: Command) -> Assessment:
    """Assess a command that an external program runs: its effect is unknown, even if it is announced as harmless."""
    args = json.dumps(call.args, ensure_ascii=False, default=repr)
    return Assessment(
        level="dangerous" if command.destructive else "unknown",
        shown=visible(f"{command.id} {args}"),
        reason="an external program runs it" + (" and declares it destructive" if command.destructive else ""),
        rule_key=f"outside:{command.id}",
        rule_text=f"call {command.id} with any arguments",
    )


def _is_bare_repository(root: str) -> bool:
    """Return True if git takes a directory without `.git` for a repository, whose configuration it then obeys."""
    if os.path.lexists(os.path.join(root, ".git")) or not os.path.lexists(os.path.join(root, "HEAD")):
        return False
    return all(os.path.isdir(os.path.join(root, name)) for name in ("objects", "refs"))


def _lets_recall(words: Sequence[str]) -> bool:
    """Return True if a command switches history expansion on, or changes its characters."""
    if not words or words[0] not in ("set", "setopt", "unsetopt", "options", "emulate"):
        return any(word.lower().startswith("histchars=") for word in words)
    names = {word.lower().replace("_", "") for word in words[1:]}
    short = any(word[:1] in "-+" and ("H" in word or "K" in word) for word in words[1:])
    return short or not names.isdisjoint({"histexpand", "banghist", "nobanghist"}) or words[0] == "emulate"


def _plain_words(line: str, verdict: Verdict) -> str:
    """Return the words of a line that is one simple command, which a rule then covers; empty for any other line."""
    if len(verdict.parts) != 1:
        return ""
    words = verdict.parts[0].words
    try:
        same = tuple(shlex.split(line)) == words
    except ValueError:
        return ""
    return shlex.join(words) if same and words else ""
