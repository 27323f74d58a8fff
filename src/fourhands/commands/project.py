"""Commands on a project: what its files tell agents."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.file_redaction import text_for
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument
from fourhands.core.registry import Contribution
from fourhands.workbench.project.instruction_files import MOST_BYTES
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.project", scope="see")

NONE = "There are no instructions for agents here: no AGENTS.md and no CLAUDE.md."


class ProjectInstructions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The instructions as one text, each file below its name, the nearest last; and the files, in this order."""

    content: str
    paths: list[str]
    mime_type: str = "text/markdown"


@commands.add(
    "instructions",
    label="Read the project's instructions",
    read_only=True,
    uri="fourhands://instructions/project{?directory}",
    example={"directory": "src"},
)
async def instructions(
    bench: Workbench,
    call: Call,
    *,
    directory: Annotated[str, Meta(description="Directory in the workspace in which you work.")] = ".",
) -> ProjectInstructions:
    """Read what the project tells agents who work in a directory: AGENTS.md, or CLAUDE.md where there is no other.

    The person's own come first, then the workspace's, then those on the way to the directory: nearer ones count more.
    """
    where = await asyncio.to_thread(bench.files(call.actor).stat, directory)
    if where.kind != "directory":
        raise BadArgument(f"{directory!r:.200} is not a directory", hint="give the directory in which you work")
    found = await bench.project.instructions(where.path)
    parts = []
    for one in found:
        if one.problem:
            parts.append(f"# {one.shown}\n\nIt cannot be read: {one.problem}")
            continue
        cut = f"\n\n[only the first {MOST_BYTES} of {one.size} bytes stand here]" if one.cut else ""
        parts.append(f"# {one.shown}\n\n{text_for(bench, call, one.text).strip()}{cut}")
    return ProjectInstructions(content="\n\n".join(parts) or NONE, paths=[one.shown for one in found])
