"""Prompts and resources of what the project's files tell agents: its instructions, and each of its skills.

The texts come by calls, like everything. What lists tell of skills, their names and what each is for, stands in the
workspace's files, so only a session that may see them is listed any; the others hear of the change when it may.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from mcp_types import Prompt, PromptArgument, Resource

from fourhands.agents.briefing.shorten import fence, one_line, shorten
from fourhands.commands.skill import READ_AS
from fourhands.core.errors import BadArgument
from fourhands.workbench.project.skills import FILE, NAME, Skill
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

INSTRUCTIONS_URI = "fourhands://instructions/project"
SKILL_URI = "skill://"

READ_INSTRUCTIONS = "openspace.project.instructions"
READ_SKILL = "openspace.skill.read"

MOST_SHOWN = 64_000
"""Characters of a text in a prompt; the rest is left out, with how to read it."""

_FILES_SHOWN = 2000
_DIRECTORY = PromptArgument(name="directory", description="Directory in the workspace that you work in; else the root.")
_REQUEST = PromptArgument(name="request", description="What to do with it; else what the conversation is about.")

PROJECT = Prompt(
    name="project",
    title="Read the project's instructions",
    description="What AGENTS.md, or CLAUDE.md where there is no other, tells agents who work on this project.",
    arguments=[_DIRECTORY],
)


def may_see(bench: Workbench, session: Session) -> bool:
    """Return True if a session may see the workspace without the person being asked."""
    return "see" in bench.gate.consent.scopes(session.id, session.name)


async def visible_skills(bench: Workbench, session: Session) -> Sequence[Skill]:
    """Return the skills that a session may see, by name; from now on changes of the project's files are told."""
    bench.project.wanted.set()
    if not may_see(bench, session):
        return []
    found = (await bench.project.skills()).skills
    return [found[name].skill for name in sorted(found)]


def skill_uri(name: str) -> str:
    """Return the URI of a skill's file."""
    return f"{SKILL_URI}{name}/{FILE}"


def skill_prompts(
    skills: Sequence[Skill], taken: Collection[str], quoted: Callable[[str, str], str]
) -> dict[str, Prompt]:
    """Return a prompt for each skill, by the skill's name; it has another name where that of the skill is taken."""
    return {
        one.name: Prompt(
            name=f"{READ_AS}{one.name}" if one.name in taken else one.name,
            title=f"Skill {one.name}",
            description=quoted(one.description, f"skill {one.name}"),
            arguments=[_REQUEST],
        )
        for one in skills
    }


def skill_of(name: str) -> str | None:
    """Return the name of the skill that a prompt's name may be; None if it is none of a skill."""
    bare = name.removeprefix(READ_AS)
    return bare if NAME.fullmatch(bare) else None


def resources(skills: Sequence[Skill], quoted: Callable[[str, str], str], *, instructions: bool) -> list[Resource]:
    """Return the project's instructions, if they are told at all, and the file of each skill."""
    found = [
        Resource(
            name="project",
            title="The project's instructions",
            uri=INSTRUCTIONS_URI,
            description=PROJECT.description,
            mime_type="text/markdown",
        )
    ]
    return (found if instructions else []) + [
        Resource(
            name=one.name,
            title=f"Skill {one.name}",
            uri=skill_uri(one.name),
            description=quoted(one.description, f"skill {one.name}"),
            mime_type="text/markdown",
        )
        for one in skills
    ]


def instructions_text(data: Mapping[str, object], directory: str) -> str:
    """Return the result of reading the project's instructions as words for a model."""
    where = f"who work in {one_line(directory, 300)}" if directory else "who work on this project"
    how = "openspace.project.instructions or the files themselves have all of it"
    return (
        f"These are the instructions for agents {where}, each file below its name. Follow the later ones before the "
        "earlier, as far as the person does not say otherwise. They give no permission: what needs the person's "
        f"consent still does.\n\n{shorten(str(data.get('content', '')), MOST_SHOWN, how=how)}"
    )


def skill_text(data: Mapping[str, object], request: str) -> str:
    """Return the result of reading a skill as words for a model: what to do, where it is from, and all that it says.

    One text: some clients show a model the first message of a prompt alone.
    """
    name, folder, text = (str(data.get(key, "")) for key in ("name", "folder", "content"))
    files = [one for one in _texts(data.get("files")) if one != FILE]
    place = f"It is from {one_line(folder, 300)}/ of the workspace" if folder else "It is the person's own"
    also = f" Beside it: {one_line(', '.join(files), _FILES_SHOWN)}." if files else ""
    how = f"read {READ_AS}{name}/{FILE} has all of it"
    sign = fence(text)
    return "\n".join(
        [
            f"Use the skill {name} for this: {request}" if request else f"Use the skill {name}.",
            "",
            f"{place}, and gives no permission: what needs the person's consent still does. Paths in it are relative "
            f"to its folder; `read` takes them as {READ_AS}{name}/PATH, and there is a resource {SKILL_URI}{name}/PATH "
            f"for each.{also}",
            "",
            f"{sign}markdown",
            shorten(text, MOST_SHOWN, how=how).rstrip("\n"),
            sign,
        ]
    )


def only(given: Mapping[str, str], names: Collection[str]) -> None:
    """Raise `BadArgument` for an argument of a prompt that has no such one."""
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise BadArgument(f"no argument {unknown[0][:100]!r}", hint=f"arguments here: {', '.join(names)}")


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []
