"""Commands on skills: which there are, and what their files say."""

import base64
import mimetypes
from typing import Annotated

from msgspec import Meta, Struct, structs

from fourhands.commands.file_redaction import text_for
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument
from fourhands.core.registry import Contribution
from fourhands.workbench.project.skills import FILE, Skill, SkillProblem
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.skill", scope="see")

READ_AS = "skill:"
"""A path that begins so is a file of a skill, for `read`: skill:NAME, skill:NAME/PATH."""


class SkillList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The skills by name, and the folders that are none, with the reason."""

    skills: list[Skill]
    problems: list[SkillProblem]


@commands.add("list", label="List skills", read_only=True, example={})
async def list_skills(bench: Workbench, call: Call) -> SkillList:
    """List the skills of the workspace and the person: instructions for particular tasks, each by what it is for.

    They are folders with a SKILL.md in .agents/skills, .claude/skills, .opencode/skills or .github/skills of the
    workspace, and in `skills` beside the person's settings or in their ~/.agents/skills. `path` is read with `read`.
    """
    found = await bench.project.skills()
    skills = [found.skills[name].skill for name in sorted(found.skills)]
    known = [structs.replace(one, description=bench.shown(call, one.description)) for one in skills]
    return SkillList(skills=known, problems=list(found.problems))


class SkillFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file of a skill; encoding base64 means: the bytes of no text. `files` are those in the skill's folder."""

    name: str
    path: str
    content: str
    encoding: str
    mime_type: str
    folder: str
    files: list[str]


@commands.add(
    "read",
    label="Read a skill",
    read_only=True,
    uri="skill://{name}/{+path}",
    example={"name": "release-notes"},
)
async def read_skill(
    bench: Workbench,
    call: Call,
    *,
    name: Annotated[str, Meta(description="Name of the skill.")],
    path: Annotated[str, Meta(description="File in the skill's folder.")] = FILE,
    binary: Annotated[bool, Meta(description="Also a file that is no text, as base64.")] = False,
) -> SkillFile:
    """Read a skill before you use it: its SKILL.md, or another file of its folder. Nothing of it is run."""
    read = await bench.project.read_skill(name, path)
    if read.text.binary and not binary:
        raise BadArgument(f"{path!r} of skill {name} is a binary file of {read.text.size} bytes", hint="binary: true")
    skill = read.found.skill
    inside = skill.source == "workspace"
    return SkillFile(
        name=skill.name,
        path=path,
        content=base64.b64encode(read.data).decode() if read.text.binary else text_for(bench, call, read.text.text),
        encoding="base64" if read.text.binary else read.text.encoding,
        mime_type=_kind(path, binary=read.text.binary),
        folder=read.found.folder if inside else "",
        files=list(read.names),
    )


async def skill_text(bench: Workbench, call: Call, given: str) -> tuple[str, str]:
    """Return the text and encoding of a file of a skill, named as `read` names it."""
    name, _, path = given.removeprefix(READ_AS).partition("/")
    found = await read_skill(bench, call, name=name, path=path or FILE)
    return found.content, found.encoding


def _kind(path: str, *, binary: bool) -> str:
    if path.endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or ("application/octet-stream" if binary else "text/plain")
