"""Skills: folders with a `SKILL.md` that says what it is for, in the workspace and beside a person's settings.

Of each only the front matter is read until it is used. The person's own come first: a repository cannot take the place
of one by naming its own alike. Nothing of a skill is ever run here. The functions block: they are for a thread.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from fourhands.core.errors import FourhandsError
from fourhands.core.text import one_line
from fourhands.workbench.files.workspace import Workspace
from fourhands.workbench.project.front_matter import BadFrontMatter, front_matter
from fourhands.workbench.project.instruction_files import is_there

FILE = "SKILL.md"

FOLDERS = (".agents/skills", ".claude/skills", ".opencode/skills", ".github/skills")
"""The places of a workspace's skills, each in a folder of its own below one of these; the first of a name counts."""

MOST_SKILLS = 200
"""Skills of a workspace and a person together; folders beyond are not looked into."""

MOST_FOLDERS = 1000
"""Folders that are looked into, skills or not."""

MOST_HEAD = 16 * 1024
"""Bytes of a SKILL.md in which its front matter must end."""

MOST_DESCRIPTION = 1024
"""Characters of a description, as the format has it."""

MOST_PROBLEMS = 20

WITHIN_S = 3.0
"""Seconds after which no further folder is looked into."""

Source: TypeAlias = Literal["workspace", "own"]

NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
"""The form of a skill's name."""


class Skill(Struct, frozen=True, kw_only=True, rename="camel"):
    """One skill: its name, what it is for, and its file, by the path that `read` takes."""

    name: str
    description: str
    path: str
    source: Source


class SkillProblem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A folder that is no usable skill, and why."""

    path: str
    problem: str


class SkillPlace(Struct, frozen=True):
    """A directory whose folders are skills, as a path from the root of some files."""

    files: Workspace
    folder: str
    source: Source


class FoundSkill(Struct, frozen=True):
    """A skill and its folder, as a path from the root of its files; `stamp` is another whenever its file is."""

    skill: Skill
    files: Workspace
    folder: str
    stamp: tuple[int, float]


class FoundSkills(Struct, frozen=True):
    """All that is there, by name, and what is no skill."""

    skills: Mapping[str, FoundSkill] = {}
    problems: tuple[SkillProblem, ...] = ()


Head: TypeAlias = "tuple[str, str] | str"
"""The name and description in a file's front matter, or what is wrong with it."""

Heads: TypeAlias = "Mapping[tuple[str, int, float], Head]"
"""Heads that were read before, by the path, size and time of the file."""


def own_path(name: str, path: str = FILE) -> str:
    """Return the path by which a file of a person's own skill is read, which lies outside the workspace."""
    return f"skill:{name}/{path}"


def find_skills(
    places: Sequence[SkillPlace], before: Heads, *, clock: Callable[[], float] = time.monotonic
) -> tuple[FoundSkills, Heads]:
    """Return what is there, and what was read of it, for the next time."""
    found: dict[str, FoundSkill] = {}
    problems: list[SkillProblem] = []
    heads: dict[tuple[str, int, float], Head] = {}
    seen: set[str] = set()
    until = clock() + WITHIN_S
    for count, (place, path) in enumerate(_files(places, problems)):
        shown = path if place.source == "workspace" else f"{path} (your own)"
        if count >= MOST_FOLDERS or len(found) >= MOST_SKILLS:
            many = f"more than {MOST_SKILLS if len(found) >= MOST_SKILLS else MOST_FOLDERS} are there"
            problems.append(SkillProblem(path=shown, problem=f"{many}: this one and all further are left out"))
            break
        if clock() > until:
            late = f"looking took more than {WITHIN_S:g} s: this one and all further are left out"
            problems.append(SkillProblem(path=shown, problem=late))
            break
        try:
            entry = place.files.stat(path)
            key = (os.path.join(place.files.root, entry.path), entry.size, entry.modified)
            if key[0] in seen:  # the same file by another way, such as a link
                continue
            seen.add(key[0])
            head = before.get(key) or _head(place.files, path)
        except FourhandsError as error:
            problems.append(SkillProblem(path=shown, problem=one_line(error.message, 200)))
            continue
        heads[key] = head
        if isinstance(head, str):
            problems.append(SkillProblem(path=shown, problem=head))
            continue
        name, description = head[0] or path.split("/")[-2], head[1]
        if not NAME.fullmatch(name):
            wrong = "neither its name nor that of its folder is of the form a-z, 0-9 and single hyphens, up to 64"
            problems.append(SkillProblem(path=shown, problem=wrong))
        elif name in found:
            taken = found[name].skill.path
            problems.append(SkillProblem(path=shown, problem=f"the name {name} is that of {taken}, which counts"))
        else:
            given = path if place.source == "workspace" else own_path(name)
            skill = Skill(name=name, description=description, path=given, source=place.source)
            found[name] = FoundSkill(skill, place.files, path.rpartition("/")[0], (entry.size, entry.modified))
    return FoundSkills(found, tuple(problems[:MOST_PROBLEMS])), heads


def _files(places: Sequence[SkillPlace], problems: list[SkillProblem]) -> Iterator[tuple[SkillPlace, str]]:
    """Yield each SKILL.md, by the names of the folders."""
    for place in places:
        if not is_there(place.files, place.folder):
            continue
        try:
            folders = [one.name for one in place.files.list(place.folder) if one.kind in ("directory", "link")]
        except FourhandsError as error:
            problems.append(SkillProblem(path=place.folder, problem=one_line(error.message, 200)))
            continue
        for name in sorted(folders):
            path = f"{place.folder}/{name}/{FILE}" if place.folder != "." else f"{name}/{FILE}"
            if is_there(place.files, path):
                yield place, path


def _head(files: Workspace, path: str) -> Head:
    """Read a skill's front matter; a name that is not of the right form counts as none."""
    data = files.read(path, limit=MOST_HEAD)
    if b"\0" in data:
        return "it is no text"
    try:
        fields = front_matter(data.decode("utf-8", "replace"))
    except BadFrontMatter as error:
        return one_line(str(error), 200)
    description = one_line(fields.get("description", ""), MOST_DESCRIPTION, unprintable="")
    if not description:
        return "its front matter has no description"
    name = fields.get("name", "")
    return name if NAME.fullmatch(name) else "", description
