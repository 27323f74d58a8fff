"""The program that a pending call would run, as its rehearsal runs it: the call's own words, directory and variables.

It is made of the call's arguments, never of the text that is shown: in that, invisible characters are written out.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from fourhands.commands.programs import settings_of
from fourhands.commands.tool import is_line
from fourhands.core.call import Call
from fourhands.core.errors import Unsupported
from fourhands.core.question import Question
from fourhands.providers.base import Isolation
from fourhands.safety.shell import visible
from fourhands.workbench.rehearsal.pending import AssessedCall
from fourhands.workbench.rehearsal.rehearsals import RehearsedProgram
from fourhands.workbench.terminals.handle import is_shell_name
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.terminals.oneshot import find_program
from fourhands.workbench.terminals.shell.input_line import typed
from fourhands.workbench.workbench import Workbench

_NO_TERMINAL = "What it does on a terminal: it had none here."
_OUTSIDE = "What it does outside of the sandbox: here it ran in one, and without a terminal."
_SHELL_STATE = "Variables, functions and options of the shell in the terminal: here a fresh shell ran the line."


class WantedProgram(Struct, frozen=True):
    """A call's command: with `args` a program, without a line for the shell."""

    command: str
    args: list[str] | None = None
    env: dict[str, str | None] | None = None
    input: str | None = None
    cwd: str | None = None
    shell: str = ""
    note: str = ""  # what of the call its rehearsal cannot show


def pending_call(bench: Workbench, question: Question) -> AssessedCall:
    """Return the call that waits for the answer to a question."""
    found = bench.rehearsals.pending.of(question) if question.kind == "confirmation" else None
    if found is None:
        raise Unsupported("this question is not about a command that can be rehearsed", hint="answer it as it is")
    return found


def program_of(bench: Workbench, pending: AssessedCall) -> RehearsedProgram:
    """Return what a call would run, with its directory and variables, as the agent's call would run it."""
    call = pending.call
    provider = bench.terminals.providers.get(settings_of(bench, call).provider)
    if provider is not None and (provider.isolation == Isolation.CONTAINER or provider.shells is not None):
        raise Unsupported("its programs run in a container, with files of their own")
    readings: Mapping[str, Callable[[Any], WantedProgram]] = {
        "line": _of_line,
        "launch": _of_launch,
        "script": lambda args: WantedProgram(args.script, env=args.env, input=args.input, cwd=args.working_directory),
        "exec": lambda args: _of_exec(args, _NO_TERMINAL),
        "outside": lambda args: _of_exec(args, _OUTSIDE),
        "typing": lambda args: _of_keys(bench, pending, args.terminal_id, args.text),
        "stdin": lambda args: _of_keys(bench, pending, args.session_id, args.stdin or ""),
    }
    reading = readings.get(pending.command.safety or "")
    if reading is None:
        raise Unsupported("it runs nothing that could be rehearsed")
    return _program(bench, call, pending.shown, reading(pending.args))


def _program(bench: Workbench, call: Call, shown: str, wanted: WantedProgram) -> RehearsedProgram:
    cwd = resolve_cwd(bench.cwd(call, wanted.cwd), bench.root, bench.settings.terminal.allowed_root)
    variables = bench.terminals.variables(wanted.env, agent=call.session is not None)
    shell = wanted.shell or ("bash" if os.path.exists("/bin/bash") else "sh")
    words = [shell, "-c", wanted.command] if wanted.args is None else [wanted.command, *wanted.args]
    return RehearsedProgram(
        program=find_program(words[0], variables.get("PATH", os.defpath), cwd),
        argv=tuple(words),
        cwd=cwd,
        env=variables,
        shown=shown,
        input=None if wanted.input is None else wanted.input.encode("utf-8", "surrogatepass"),
        notes=(wanted.note,) if wanted.note else (),
    )


def _of_line(args: Any) -> WantedProgram:
    """Return the line of `bash` or `terminal_start`; what the latter types is its input."""
    if not hasattr(args, "stdin"):
        return WantedProgram(args.command)
    if is_shell_name(args.command.strip()):
        raise Unsupported("it starts a shell, which waits for what is typed")
    return WantedProgram(args.command, input=args.stdin, note=_NO_TERMINAL)


def _of_launch(args: Any) -> WantedProgram:
    """Return the program of `execute_command`, or its line."""
    words = None if is_line(args.command, args.args) else args.args
    return WantedProgram(args.command, words, env=args.env, input=args.input, cwd=args.working_directory)


def _of_exec(args: Any, note: str) -> WantedProgram:
    """Return the program or the line of `exec` and its like."""
    return WantedProgram(args.command, args.args or None, env=args.env, cwd=args.cwd, note=note)


def _of_keys(bench: Workbench, pending: AssessedCall, name: str, text: str) -> WantedProgram:
    """Return the whole lines that are typed at an empty prompt; anything else goes to a program that runs."""
    terminal = bench.terminal(name, pending.call)
    refusal = Unsupported("what is typed into a program that runs cannot be rehearsed")
    if terminal.isolation == Isolation.CONTAINER:
        raise refusal
    seat = bench.agent_seat(pending.call.actor, terminal)
    standing = seat.standing()
    if standing.place != "prompt" or standing.before or standing.line.text or not standing.settled:
        raise refusal
    keys = typed(standing.line, text, pastes=standing.pastes)
    line = "\n".join(keys.lines)
    if keys.hidden or keys.completed or keys.line.text or visible(line) != pending.shown.rstrip("\n"):
        raise refusal
    shell = str(terminal.meta.get("shell") or "")
    return WantedProgram(line, cwd=seat.cwd, shell=shell, note=_SHELL_STATE)
