"""`fourhands call`, `instructions` and `open`: what a running server is asked for."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from fourhands.core.errors import BadArgument
from fourhands.safety.paths.errors import IN_PIECES
from fourhands.surfaces.cli.base import ServerClient, json_option, show, workspace_option
from fourhands.surfaces.cli.browser import show_page
from fourhands.surfaces.console import FAILED, told

STDIN_LIMIT = 1024 * 1024
"""Bytes of arguments from standard input; the server takes no more in one message."""


@click.command()
@click.argument("command")
@click.argument("words", nargs=-1, metavar="[JSON | NAME=VALUE | -]...")
@click.option("--args", "raw", metavar="JSON", help="The arguments as a JSON object; - reads it from standard input.")
@workspace_option
@json_option
@told
def call(command: str, words: tuple[str, ...], raw: str | None, workspace: str, as_json: bool) -> None:
    """Call COMMAND of the running workbench, e.g. openspace.pane.list.

    It is called as the program that this is: what needs your own hand, such as an answer, is done on the page.

    Its arguments come as a JSON object, by --args or as they are; from standard input (-); or as NAME=VALUE, where a
    VALUE is taken as it is if the command wants a text, and read as JSON if it wants something else.

    \b
      fourhands call openspace.file.read --args '{"path": "a.txt"}'
      fourhands call openspace.file.read '{"path": "a.txt"}'
      fourhands call openspace.file.read path=a.txt startLine=3
      echo '{"path": "a.txt"}' | fourhands call openspace.file.read -

    Ends with 1 if the call fails. `fourhands instructions` and docs/commands.md list the commands.
    """
    args: dict[str, object] = {}
    pairs = []
    for word in (*words, *(() if raw is None else (raw,))):
        if word is raw or word == "-" or word.lstrip().startswith("{"):
            _add(args, _object(_standard_input() if word == "-" else word))
        else:
            pairs.append(word)
    client = ServerClient(workspace)
    if pairs:
        _add(args, _from_pairs(pairs, _properties(client, command)))
    result = client.call(command, args)
    show(result, as_json=as_json)
    diff = (result.get("data") or {}).get("diff")
    if isinstance(diff, str) and not as_json:
        click.echo(diff, err=True)  # in JSON it is one long line
    sys.exit(0 if result.get("success") else FAILED)


def _object(raw: str | bytes) -> dict[str, object]:
    try:
        args = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadArgument(
            f"the arguments are not JSON: {error}", hint="""for example '{"path": "README.md"}', or path=README.md"""
        ) from error
    if not isinstance(args, dict):
        raise BadArgument(f"the arguments must be a JSON object, not {type(args).__name__}")
    return args


def _standard_input() -> bytes:
    text = sys.stdin.buffer.read(STDIN_LIMIT + 1)
    if len(text) > STDIN_LIMIT:
        raise BadArgument(f"more than {STDIN_LIMIT} bytes on standard input", hint=IN_PIECES)
    return text


def _add(args: dict[str, object], more: Mapping[str, object]) -> None:
    for name, value in more.items():
        if name in args:
            raise BadArgument(f"{name!r} is given twice")
        args[name] = value


def _properties(client: ServerClient, command: str) -> Mapping[str, Any]:
    """Return the argument schemas of a command; none if it is unknown: the server's error is better."""
    for known in client.get("/openspace/manifest").get("commands", ()):
        if known["id"] == command:
            properties: Mapping[str, Any] = known.get("arguments_schema", {}).get("properties", {})
            return properties
    return {}


def _from_pairs(pairs: Sequence[str], properties: Mapping[str, Any]) -> dict[str, object]:
    args: dict[str, object] = {}
    for pair in pairs:
        name, found, value = pair.partition("=")
        if not found or not name:
            raise BadArgument(f"{pair[:100]!r} is neither a JSON object nor of the form NAME=VALUE")
        _add(args, {name: value if wants_text(properties.get(name)) else _value(name, value)})
    return args


def wants_text(schema: Any) -> bool:
    """Return True if an argument accepts text; also if nothing is known of it."""
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
        raise BadArgument(f"{name} takes a value in JSON, not {text[:100]!r}") from error
    return value


def tell_instructions(workspace: str, session: str | None, *, as_json: bool) -> None:
    """Print what the running server tells a model."""
    text = ServerClient(workspace).text("/openspace/instructions", **({"sessionId": session} if session else {}))
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
    link = ServerClient(workspace).link()
    if as_json:
        show({"link": link}, as_json=True)
    elif print_only or not show_page(link):
        click.echo(link)
