"""Resources: the instructions, and what commands with a URI read.

A command's URI is a template over its arguments (`fourhands://terminal/{terminalId}{?since,lines}`); one without any is
a resource of its own. Reading is a call like every other.
"""

import functools
import mimetypes
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from mcp.shared.uri_template import UriTemplate
from mcp_types import BlobResourceContents, ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from fourhands.core import schema
from fourhands.core.call import Actor, Result
from fourhands.core.errors import FourhandsError, NotFound
from fourhands.core.quote import broken
from fourhands.core.registry import Command, Registry
from fourhands.surfaces.mcp.formats import json_text, plain
from fourhands.workbench.workbench import Workbench

INSTRUCTIONS = "fourhands://instructions"
PLAIN = "text/plain"
BINARY = "application/octet-stream"
BYTES = "binary"
"""The argument of a reading command that makes it take what is no text."""


def terminal_uri(name: str) -> str:
    """Return the URI of a terminal's output, by its title or id."""
    return f"fourhands://terminal/{quote(name, safe='')}"


def file_uri(path: str) -> str:
    """Return the URI of a file of the workspace."""
    return f"fourhands://file/{quote(path)}"


def listed(bench: Workbench, reader: Actor, project: Iterable[Resource] = ()) -> list[Resource]:
    """Return the current resources: instructions, those of plugins, terminals, open files that agents may read.

    Behind the instructions come those of the project.
    """
    found = [
        Resource(
            name="instructions",
            title="The workbench now",
            uri=INSTRUCTIONS,
            description="How to work here, and what is open now.",
            mime_type="text/markdown",
        ),
        *project,
    ]
    found += [
        Resource(name=command.id, title=command.label, uri=uri, description=command.description)
        for command, uri in _readable(bench.registry)
        if not template(uri).variables
    ]
    found += [
        Resource(
            name=broken(terminal.title),
            title=broken(f"Terminal {terminal.title}"),
            uri=terminal_uri(terminal.id),
            description=broken(f"What terminal {terminal.title} printed; ?since=POSITION goes on from a position."),
            mime_type=PLAIN,
        )
        for terminal in bench.terminals.list()
    ]
    for editor in bench.state.editors():
        try:
            bench.files(reader).read(editor.path, limit=1)
            size = bench.files(reader).stat(editor.path).size
        except FourhandsError:
            continue  # gone, or not for agents
        found.append(
            Resource(
                name=broken(editor.path),
                uri=file_uri(editor.path),
                description="A file that is open in an editor, as it is on disk.",
                mime_type=_kind(editor.path),
                size=size,
            )
        )
    return found


def templates(registry: Registry) -> list[ResourceTemplate]:
    """Return the templates of resources that are read by name."""
    return [
        ResourceTemplate(name=command.id, title=command.label, uri_template=uri, description=command.description)
        for command, uri in _readable(registry)
        if template(uri).variables
    ]


def reading(registry: Registry, uri: str) -> tuple[str, dict[str, object]]:
    """Return the command that reads a resource, with its arguments; `NotFound` if there is none."""
    for command, pattern in _readable(registry):
        found = template(pattern).match(uri)
        if found is not None and all(isinstance(value, str) for value in found.values()):
            args = {name: _argument(command, name, str(value)) for name, value in found.items()}
            # A resource may be anything, so who can read files that are no text is asked to.
            return command.id, args | ({BYTES: True} if BYTES in _members(command) else {})
    known = [INSTRUCTIONS, *(pattern for _, pattern in _readable(registry))]
    raise NotFound(f"no resource {uri[:200]!r}", hint=f"there are {', '.join(known)}")


def read(uri: str, result: Result) -> ReadResourceResult:
    """Return a result as the resource: its `content`, `blob` or `output`; the other members become its `_meta`."""
    data = plain(result.data)
    kind = str(data.pop("mimeType", "") or _kind(uri))
    content, blob, lines = (data.pop(name, None) for name in ("content", "blob", "output"))
    if data.get("encoding") == "base64":
        blob, kind = content, BINARY if kind == PLAIN else kind
    meta = {f"fourhands/{key}": value for key, value in data.items()}
    if isinstance(blob, str):
        return ReadResourceResult(contents=[BlobResourceContents(uri=uri, blob=blob, mime_type=kind, _meta=meta)])
    if content is None:
        content = lines if isinstance(lines, str) else None
    if content is None:
        content = "\n".join(map(str, lines)) if isinstance(lines, list) else json_text(data)
    return contents(uri, str(content), kind, meta)


def contents(uri: str, text: str, mime_type: str, meta: dict[str, object] | None = None) -> ReadResourceResult:
    """Return a text as a resource."""
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=mime_type, _meta=meta)])


@functools.lru_cache(maxsize=256)
def template(uri: str) -> UriTemplate:
    """Return a command's URI, parsed."""
    return UriTemplate.parse(uri)


def _readable(registry: Registry) -> Iterator[tuple[Command, str]]:
    for command in registry:
        if command.uri is not None and "agent" in command.actors:
            yield command, command.uri


def _members(command: Command) -> dict[str, object]:
    members = schema.schema(command.args_type).get("properties", {})
    return members if isinstance(members, dict) else {}


def _argument(command: Command, name: str, text: str) -> object:
    """Return a part of a URI as an argument; text that is not a number stays text, which the gate refuses."""
    wanted = json_text(_members(command).get(name))
    number = '"integer"' in wanted and text.isascii() and text.isdigit() and len(text) < 20
    return int(text) if number else text


def _kind(name: str) -> str:
    return mimetypes.guess_type(name)[0] or PLAIN if name.startswith("fourhands://file/") or ":" not in name else PLAIN
