"""`fourhands call`, `instructions` and `open`: what a running server is asked for."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.surfaces.cli.base import FAILED, Client, json_option, show, told, workspace_option
from fourhands.surfaces.cli.browser import show_page


@click.command()
@click.argument("command")
@click.argument("pairs", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--args", "raw", default="{}", help="The arguments as a JSON object.")
@workspace_option
@json_option
@told
def call(command: str, pairs: tuple[str, ...], raw: str, workspace: str, as_json: bool) -> None:
    """Call COMMAND of the running workbench, e.g. openspace.pane.list, as you.

    Arguments come as a JSON object (--args) or as NAME=VALUE: a VALUE is taken as it is where the command wants a
    text, and read as JSON where it wants something else.
    """
    args = _arguments(raw)
    client = Client(workspace)
    if pairs:
        args |= _from_pairs(pairs, _properties(client, command))
    result = client.call(command, args)
    show(result, as_json=as_json)
    diff = (result.get("data") or {}).get("diff")
    if isinstance(diff, str) and not as_json:
        click.echo(diff, err=True)  # in JSON it is one long line
    sys.exit(0 if result.get("success") else FAILED)


def _arguments(raw: str) -> dict[str, object]:
    try:
        args = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadArgument(
            f"--args is not JSON: {error}", hint="""for example --args '{"path": "README.md"}'"""
        ) from error
    if not isinstance(args, dict):
        raise BadArgument(f"--args must be a JSON object, not {type(args).__name__}")
    return args


def _properties(client: Client, command: str) -> Mapping[str, Any]:
    """The argument schemas of a command; none where it is not known, which the server says better."""
    for known in client.get("/openspace/manifest").get("commands", ()):
        if known["id"] == command:
            properties: Mapping[str, Any] = known.get("arguments_schema", {}).get("properties", {})
            return properties
    return {}


def _from_pairs(pairs: tuple[str, ...], properties: Mapping[str, Any]) -> dict[str, object]:
    args: dict[str, object] = {}
    for pair in pairs:
        name, found, value = pair.partition("=")
        if not found or not name:
            raise BadArgument(f"{pair!r} is not of the form NAME=VALUE")
        if name in args:
            raise BadArgument(f"{name!r} is given twice")
        args[name] = value if wants_text(properties.get(name)) else _value(name, value)
    return args


def wants_text(schema: Any) -> bool:
    """Whether a text is accepted for an argument; of what is not known nothing else can be said."""
    if not isinstance(schema, Mapping):
        return True
    if "enum" in schema:
        return any(isinstance(value, str) for value in schema["enum"])
    if "anyOf" in schema:
        return any(wants_text(option) for option in schema["anyOf"])
    kind = schema.get("type", "object" if "$ref" in schema else "string")
    return "string" in kind if isinstance(kind, list) else kind == "string"


def _value(name: str, text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadArgument(f"{name} wants a value in JSON, not {text[:100]!r}") from error
    return value


@click.command()
@click.option("--session", help="For this agent session.")
@workspace_option
@json_option
@told
def instructions(session: str | None, workspace: str, as_json: bool) -> None:
    """Print what a model is told: commands, state, examples, recent results."""
    text = Client(workspace).text("/openspace/instructions", **({"sessionId": session} if session else {}))
    if as_json:
        show({"instructions": text}, as_json=True)
    else:
        click.echo(text)


@click.command("open")
@click.option("--print", "print_only", is_flag=True, help="Print the link instead of opening a browser.")
@workspace_option
@json_option
@told
def open_page(print_only: bool, workspace: str, as_json: bool) -> None:
    """Open the running workbench in a browser with a fresh one-time link."""
    client = Client(workspace)
    answer = client.post("/api/code")
    if not answer.get("success"):
        raise FourhandsError(str(answer.get("error")), hint=str(answer.get("hint", "")))
    link = f"{client.address.url}/#code={answer['code']}"
    if as_json:
        show({"link": link}, as_json=True)
    elif print_only or not show_page(link):
        click.echo(link)
