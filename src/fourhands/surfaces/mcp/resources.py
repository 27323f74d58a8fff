"""What MCP clients can read without a tool: the instructions, terminals by position, files of the workspace."""

from urllib.parse import parse_qs, quote, unquote, urlsplit

from mcp_types import (
    GetPromptResult,
    Prompt,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from fourhands.core.call import Result
from fourhands.core.errors import BadArgument, NotFound
from fourhands.workbench.workbench import Workbench

INSTRUCTIONS = "fourhands://instructions"

TEMPLATES = [
    ResourceTemplate(
        name="file",
        title="A file of the workspace",
        uri_template="fourhands://file/{+path}",
        description="The text of a file, by its path in the workspace.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        name="terminal",
        title="A terminal's output",
        uri_template="fourhands://terminal/{id}{?since,lines}",
        description="What a terminal printed: its last lines, or everything since a position. "
        "The answer's _meta has the position where the next read goes on.",
        mime_type="text/plain",
    ),
]

PROMPT = Prompt(
    name="workbench",
    title="Work with the shared workbench",
    description="How to work here, and what is open now: panes, editors, terminals, commands.",
)


def listed(bench: Workbench) -> list[Resource]:
    """What is there now."""
    found = [
        Resource(
            name="instructions",
            title="The workbench now",
            uri=INSTRUCTIONS,
            description=PROMPT.description,
            mime_type="text/markdown",
        )
    ]
    for terminal in bench.terminals.list():
        uri = f"fourhands://terminal/{quote(terminal.id, safe='')}"
        found.append(Resource(name=terminal.title, title=f"Terminal {terminal.title}", uri=uri, mime_type="text/plain"))
    return found


def reading(uri: str) -> tuple[str, dict[str, object]]:
    """The command that reads a resource, with its arguments."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise BadArgument(f"{uri[:200]!r} is not a URI") from error
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme == "fourhands" and name and parts.netloc == "file":
        return "openspace.file.read", {"path": name}
    if parts.scheme == "fourhands" and name and parts.netloc == "terminal":
        query = parse_qs(parts.query, keep_blank_values=True)
        numbers: dict[str, object] = {key: _number(key, query[key][-1]) for key in ("since", "lines") if key in query}
        return "openspace.terminal.read_output", {"terminalId": name, **numbers}
    raise NotFound(
        f"no resource {uri[:200]!r}",
        hint=f"there are {INSTRUCTIONS}, fourhands://file/PATH and fourhands://terminal/ID?since=POSITION",
    )


def read(uri: str, result: Result) -> ReadResourceResult:
    """A reading command's result as the resource."""
    data = dict(result.data)
    content = data.pop("content", None)
    if content is None:
        lines = data.pop("output", ())
        content = "\n".join(str(line) for line in lines) if isinstance(lines, list | tuple) else str(lines)
    return contents(uri, str(content), "text/plain", {f"fourhands/{key}": value for key, value in data.items()})


def contents(uri: str, text: str, mime_type: str, meta: dict[str, object] | None = None) -> ReadResourceResult:
    """A text as a resource."""
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=mime_type, _meta=meta)])


def prompt(instructions: str) -> GetPromptResult:
    """The instructions as a prompt."""
    message = PromptMessage(role="user", content=TextContent(text=instructions))
    return GetPromptResult(description=PROMPT.description, messages=[message])


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise BadArgument(f"{name} must be a whole number from 0 on, not {text[:50]!r}")
    return int(text)
