"""The one family of errors: a stable code, what went wrong, and what to do next.

The reader is often a model that will try again, so a message names the bad value, and the hint names the
accepted ones. Each surface translates `FourhandsError` once; no code matches on message text.
"""

import difflib
from collections.abc import Iterable
from typing import ClassVar

from fourhands.core.text import truncate

_LONGEST_NAME = 300
"""Characters of a name that are repeated to whoever gave it."""


class FourhandsError(Exception):
    """Root of every error this program raises on purpose."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", **data: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class BadArgument(FourhandsError, ValueError):
    """An argument has the wrong type, form or value."""

    code = "bad-argument"


class NotFound(FourhandsError, LookupError):
    """Something named does not exist; the hint lists what does."""

    code = "not-found"

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> "NotFound":
        """Return the error for a `kind` that is not there, with those that are and the nearest match."""
        names, name = sorted(known), truncate(name, _LONGEST_NAME)
        near = difflib.get_close_matches(name, names, n=20)
        # Of many, the first ones in the alphabet would not help.
        listed = near if near and len(names) > 20 else names[:20]
        there = ", ".join(listed) or "none"
        more = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
        guess = f"did you mean {near[0]!r}? " if near else ""
        return cls(f"no {kind} {name!r}", hint=f"{guess}{kind}s here: {there}{more}", kind=kind, name=name)


class Ambiguous(FourhandsError, LookupError):
    """A file's name without its path is that of several open editors; the path is needed."""

    code = "ambiguous"


class Conflict(FourhandsError):
    """Another actor changed or holds what this call wanted to change."""

    code = "conflict"


class Denied(FourhandsError, PermissionError):
    """Policy, or a person, refused."""

    code = "denied"


class HandNeeded(Denied):
    """A person has to do this in a browser that they signed in, whose key signs it; a program's token is not enough."""

    code = "hand-needed"

    @classmethod
    def of(cls, command: str, kind: str) -> "HandNeeded":
        """Return the error for a command that an actor of this kind called without a person's signature."""
        what = "a program's token cannot do it" if kind == "program" else "this call is not signed by a browser's key"
        return cls(
            f"{command} needs the person's own hand: {what}",
            hint="let the person do it on the page; `fourhands open` shows it",
            command=command,
        )


class NoAnswer(FourhandsError, TimeoutError):
    """A person was asked and did not answer; that is neither yes nor no."""

    code = "no-answer"


class LimitReached(FourhandsError):
    """A configured limit is in the way; the hint says which and how to change it."""

    code = "limit"


class TimedOut(FourhandsError, TimeoutError):
    """A deadline passed; what was there by then is in the data."""

    code = "timeout"


class Unavailable(FourhandsError):
    """Something this call needs is not there at the moment: a host, an agent, a model. It may work later."""

    code = "unavailable"


class Unsupported(Unavailable):
    """This server or agent cannot do it as it is: not installed, not set up, not built in. Trying again is no use."""

    code = "unsupported"


class BadCwd(BadArgument):
    """The working directory is missing, not a directory, or outside the allowed root."""

    code = "bad-cwd"


class BadEnv(BadArgument):
    """An environment variable's name or value cannot be used."""

    code = "bad-env"


class CommandNotFound(NotFound):
    """No program of that name can be found."""

    code = "command-not-found"


class ExecDenied(Denied):
    """The program exists and may not be executed."""

    code = "permission-denied"
