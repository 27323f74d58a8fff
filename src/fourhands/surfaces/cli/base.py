"""What the commands of the command line share: errors, JSON, the workspace, the running server."""

import asyncio
import functools
import json
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import click
import httpx
import msgspec

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.host.places import Places
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


def run_async(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """A command that is a coroutine; errors of ours become a line on stderr and an exit code."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return asyncio.run(function(*args, **kwargs))
        except FourhandsError as error:
            fail(error, as_json=bool(kwargs.get("as_json")))
        except KeyboardInterrupt:
            sys.exit(130)

    return run


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
        token = (Path(self.places.runtime) / "token").read_text().strip()
        self._headers = {"authorization": f"Bearer {token}"}

    def client(self) -> httpx.AsyncClient:
        """An HTTP client that is let in."""
        return httpx.AsyncClient(base_url=self.address.url, headers=self._headers, timeout=None, trust_env=False)

    async def call(self, command: str, args: dict[str, object]) -> dict[str, Any]:
        """Make a call; what came of it as on the wire."""
        async with self.client() as client:
            response = await client.post(f"/api/commands/{command}", json=args)
            return _object(response)

    async def post(self, path: str) -> dict[str, Any]:
        """POST without a body."""
        async with self.client() as client:
            return _object(await client.post(path))

    async def text(self, path: str, **params: str) -> str:
        """GET a text."""
        async with self.client() as client:
            response = await client.get(path, params=params)
            response.raise_for_status()
            return response.text


def _object(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError as error:
        raise Unavailable(f"the server answered {response.status_code} and no JSON") from error
    return body if isinstance(body, dict) else {"value": body}
