"""Common parts of the command line: JSON output, the workspace, the running server.

Most commands should start at once, so heavy things are imported where they are used: `asyncio` for commands that need
a loop, and the standard library's HTTP client instead of a better one.
"""

import functools
import json
import os
import shlex
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import click
import msgspec

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.core.invocation import typed
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.console import DirectoryType, told
from fourhands.surfaces.discovery import ServerAddress, find_server

P = ParamSpec("P")
R = TypeVar("R")


def workspace_option(function: Callable[P, R]) -> Callable[P, R]:
    """`--workspace DIR`, this directory unless told otherwise."""
    option = click.option(
        "--workspace",
        "-w",
        default=".",
        type=DirectoryType(),
        help="The workspace's directory.  [default: this one]",
    )
    return option(function)


def json_option(function: Callable[P, R]) -> Callable[P, R]:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs to read.")(function)


def run_async(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """Return a command that runs a coroutine and prints its errors."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio

        return asyncio.run(function(*args, **kwargs))

    return told(run)


def show(value: object, *, as_json: bool) -> None:
    """Print a value as JSON: in one line of UTF-8 for programs, wherever it goes, or indented for people."""
    plain = msgspec.to_builtins(value, enc_hook=str)
    if as_json:
        # A path may have bytes that are no text; they must not hide the rest.
        click.echo(json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace"))
    else:
        click.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def one_line(text: str) -> str:
    """Return a text for a line of a table without anything that moves the cursor: agents may have written it."""
    from fourhands.safety.sanitizer.sanitizer import sanitize

    return sanitize(text.encode("utf-8", "replace")).replace("\n", " ")


class ServerClient:
    """Calls to the workspace's running server, as a program of the person's."""

    def __init__(self, workspace: str) -> None:
        self.places = WorkspaceDirs.of(workspace)
        address = find_server(self.places.state)
        if address is None:
            raise Unavailable(
                f"no Fourhands is running for {self.places.workspace}",
                hint=f"start one: {typed()} {shlex.quote(os.path.relpath(self.places.workspace))}",
            )
        self.address: ServerAddress = address
        try:
            self._token = (Path(self.places.state) / "token").read_text().strip()
        except OSError as error:
            raise Unavailable(f"cannot read the server's token: {error}") from error

    @property
    def headers(self) -> dict[str, str]:
        """The headers that authenticate this program."""
        return {"Authorization": f"Bearer {self._token}"}

    def call(self, command: str, args: Mapping[str, object]) -> dict[str, Any]:
        """Make a call; what came of it as on the wire."""
        return self.post(f"/api/commands/{quote(command, safe='')}", args)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """POST an object and get one."""
        return _object(*self._request("POST", path, msgspec.json.encode(body or {})))

    def link(self) -> str:
        """Return a fresh one-time link to the page."""
        answer = self.post("/api/code")
        if not answer.get("success"):
            raise FourhandsError(str(answer.get("error")), hint=str(answer.get("hint", "")))
        return f"{self.address.url}/#code={answer['code']}"

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
        headers = {**self.headers, "Content-Type": "application/json"}
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
