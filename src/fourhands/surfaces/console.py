"""Common parts of all commands of the command line: errors as text or JSON, the directory argument."""

import errno
import functools
import json
import os
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import click

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.host.paths import DirsError

FAILED, MISSING, INTERRUPTED = 1, 3, 130
"""Exit codes; 2 is the command line's own, for wrong usage."""

P = ParamSpec("P")
R = TypeVar("R")


def told(function: Callable[P, R]) -> Callable[P, R]:
    """Return a command whose errors become a line on stderr, or JSON with `--json`, and an exit code."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        as_json = bool(kwargs.get("as_json"))
        try:
            return function(*args, **kwargs)
        except FourhandsError as error:
            fail(error, as_json=as_json)
        except DirsError as error:
            fail(Unavailable(str(error)), as_json=as_json)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # The reader has gone: click ends silently.
            # In words, always: it may be the output itself that cannot be written.
            fail(Unavailable(_of_the_system(error)))
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    return run


def _of_the_system(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


def fail(error: FourhandsError, *, as_json: bool = False) -> NoReturn:
    """Print an error and its hint, and exit."""
    if as_json:
        body = {"success": False, "error": error.message, "code": error.code, "hint": error.hint}
        click.echo(json.dumps(body))
    else:
        click.secho(f"fourhands: {error.message}", fg="red", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
    sys.exit(MISSING if isinstance(error, Unavailable) else FAILED)


class DirectoryType(click.Path):
    """An existing directory; the current one may have been removed."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the directory as it was given."""
        found = super().convert(value, param, ctx)
        try:
            os.path.abspath(found)
        except FileNotFoundError:
            self.fail("this directory has been removed; change to another one.", param, ctx)
        return found
