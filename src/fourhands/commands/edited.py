"""Edited texts: what a person made of the line that a question shows, as the arguments of the call that then runs."""

import shlex
from collections.abc import Callable, Mapping

from fourhands.core.call import Call
from fourhands.core.errors import BadArgument
from fourhands.workbench.terminals.prompt import PromptState

LineEditor = Callable[[str], dict[str, object]]

_OPERATORS = frozenset("();<>|&")


def assignments(env: Mapping[str, str | None] | None) -> list[str]:
    """Return variables as the assignments in front of a line."""
    return [f"{name}={shlex.quote(value)}" for name, value in (env or {}).items() if value is not None]


def as_launch(text: str, env: Mapping[str, str | None] | None) -> dict[str, object]:
    """Return a line that a person edited as a program with arguments. Raises `BadArgument` if it needs a shell."""
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        operators = [token for token in lexer if token and set(token) <= _OPERATORS]
        words = shlex.split(text)
    except ValueError as error:
        raise BadArgument(f"the edited text cannot be read: {error}") from None
    if operators or "\n" in text.strip():
        raise BadArgument(
            f"the edited text needs a shell: {' '.join(operators) or 'several lines'}",
            hint="this command starts one program; refuse it and ask for openspace.tool.bash",
        )
    variables: dict[str, str | None] = {name: None for name, value in (env or {}).items() if value is None}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    if not words:
        raise BadArgument("the edited text names no program")
    return {"command": words[0], "args": words[1:], "env": variables}


def as_variables(text: str) -> dict[str, str | None]:
    """Return assignments that a person edited, and the names behind `unset`, as variables."""
    found: dict[str, str | None] = {}
    removing = False
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadArgument(f"the edited text cannot be read: {error}") from None
    for word in words:
        name, sign, value = word.partition("=")
        if sign:
            found[name], removing = value, False
        elif word == "unset":
            removing = True
        elif removing:
            found[name] = None
        else:
            hint = "this command starts a shell with variables; NAME=value sets one, unset NAME removes one"
            raise BadArgument(f"the edited text is not only variables: {word[:100]!r}", hint=hint)
    return found


def retype(call: Call, argument: str, standing: PromptState, text: str) -> LineEditor:
    """Return the editor of a typed line: it clears the text on the line first, and keeps a final Enter."""
    first = "\x03" if standing.before else "\x15" if standing.line.text else ""
    return lambda fresh: {**call.args, argument: first + with_enter(fresh, text)}


def with_enter(fresh: str, text: str) -> str:
    """Return an edited text, with the final Enter that the original had."""
    enter = text[-1:] if text[-1:] in ("\r", "\n") else ""
    return fresh if fresh.endswith(("\r", "\n")) else fresh + enter
