"""What the commands of the command line share: errors, JSON, the workspace, the running server.

Most commands should start at once, so heavy things are imported where they are used: `asyncio` for commands that need
a loop, and the standard library's HTTP client instead of a better one.
"""

import functools
import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import click
import msgspec

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.host.places import PlaceError, Places
from fourhands.surfaces.address import Address, find_server

FAILED, USAGE, MISSING = 1, 2, 3

P = ParamSpec("P")
R = TypeVar("R")


def workspace_option(function: Callable[P, R]) -> Callable[P, R]:
    """`--workspace DIR`, this directory unless told otherwise."""
    option = click.option(
        "--workspace",
        "-w",
        default=".",
        type=click.Path(exists=True, file_okay=False),
        help="The workspace's directory.  [default: this one]",
    )
    return option(function)


def json_option(function: Callable[P, R]) -> Callable[P, R]:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs to read.")(function)


def told(function: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors of ours become a line on stderr, or JSON, and an exit code."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except FourhandsError as error:
            fail(error, as_json=bool(kwargs.get("as_json")))
        except PlaceError as error:
            fail(Unavailable(str(error)), as_json=bool(kwargs.get("as_json")))
        except KeyboardInterrupt:
            sys.exit(130)

    return run


def run_async(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """A command that is a coroutine, with its errors told."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio

        return asyncio.run(function(*args, **kwargs))

    return told(run)


def fail(error: FourhandsError, *, as_json: bool = False) -> NoReturn:
    """Say what went wrong and what to do, and end."""
    if as_json:
        body = {"success": False, "error": error.message, "code": error.code, "hint": error.hint}
        click.echo(json.dumps(body))
    else:
        click.secho(f"fourhands: {error.message}", fg="red", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
    sys.exit(MISSING if isinstance(error, Unavailable) else FAILED)


def show(value: object, *, as_json: bool) -> None:
    """Print a value for people or for programs."""
    text = msgspec.json.encode(value, enc_hook=str)
    click.echo(text.decode() if as_json else msgspec.json.format(text, indent=2).decode())


class Client:
    """Calls to the workspace's running server, as the person."""

    def __init__(self, workspace: str) -> None:
        self.places = Places.of(workspace)
        address = find_server(self.places.runtime)
        if address is None:
            raise Unavailable(
                f"no Fourhands is running for {self.places.workspace}",
                hint=f"start one: fourhands {os.path.relpath(self.places.workspace)}",
            )
        self.address: Address = address
        try:
            self._token = (Path(self.places.runtime) / "token").read_text().strip()
        except OSError as error:
            raise Unavailable(f"the server's token cannot be read: {error}") from error

    def call(self, command: str, args: Mapping[str, object]) -> dict[str, Any]:
        """Make a call; what came of it as on the wire."""
        return self.post(f"/api/commands/{quote(command, safe='')}", args)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """POST an object and get one."""
        return _object(*self._request("POST", path, msgspec.json.encode(body or {})))

    def get(self, path: str) -> dict[str, Any]:
        """GET an object."""
        return _object(*self._request("GET", path))

    def text(self, path: str, **params: str) -> str:
        """GET a text; an answer that is none is an error."""
        status, body = self._request("GET", f"{path}?{urlencode(params)}" if params else path)
        if status != 200:
            found = _object(status, body)
            raise FourhandsError(str(found.get("error", status)), hint=str(found.get("hint", "")))
        return body.decode("utf-8", "replace")

    def _request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        import http.client

        where = urlsplit(self.address.url)
        assert where.hostname is not None
        connection = http.client.HTTPConnection(where.hostname, where.port)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"the server at {self.address.url} did not answer: {error}") from error
        finally:
            connection.close()


def _object(status: int, body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise Unavailable(f"the server answered {status} and no JSON") from error
    return value if isinstance(value, dict) else {"value": value}
