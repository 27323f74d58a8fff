"""The knowledge of a project: what its files tell agents, as it is now, for all who hand it on.

State is what was read last, and belongs to the event loop; reading is done in a thread, values in and values out.
Whoever looks learns of a change, and so does everybody who listens to `project.changed`.
"""

import asyncio
import os
from collections.abc import Mapping

from msgspec import Struct

from fourhands.core.errors import BadArgument, NotFound
from fourhands.core.event import EventBus, EventData
from fourhands.settings import ProjectSettings, user_file
from fourhands.workbench.files.encoding import FileText, decoded
from fourhands.workbench.files.workspace import FileSettings, Workspace
from fourhands.workbench.project.instruction_files import InstructionFile, instruction_files
from fourhands.workbench.project.skills import FILE, FOLDERS, FoundSkill, FoundSkills, Heads, SkillPlace, find_skills

MOST_FILE = 1024 * 1024
"""Bytes of one file of a skill that are read."""

MOST_LISTED = 100
"""Files of a skill's folder that are named."""

_DEEP = 4


class ProjectChanged(EventData, frozen=True, kw_only=True):
    """The workspace's instructions for agents, or its skills, are others than when somebody looked before."""

    event = "project.changed"
    instructions: tuple[str, ...]
    skills: tuple[str, ...]


class SkillContent(Struct, frozen=True):
    """A file of a skill, and the names of all files in its folder, as far as they are listed."""

    found: FoundSkill
    path: str
    text: FileText
    data: bytes
    names: tuple[str, ...]


class ProjectKnowledge:
    """Reads what a workspace, and a person's own directory, tell agents."""

    def __init__(
        self, root: str, limits: FileSettings, settings: ProjectSettings, env: Mapping[str, str], events: EventBus
    ) -> None:
        self.settings = settings
        self.wanted = asyncio.Event()
        """Set as soon as somebody wants to know of changes."""
        self._root = root
        self._limits = limits
        self._events = events
        self._own = os.path.dirname(user_file(env))
        home = env.get("HOME") or os.path.expanduser("~")
        self._own_skills = (os.path.join(self._own, "skills"), os.path.join(home, ".agents", "skills"))
        self._looking = asyncio.Lock()
        self._heads: Heads = {}
        self._last: tuple[list[InstructionFile], FoundSkills] | None = None

    async def instructions(self, directory: str = ".") -> list[InstructionFile]:
        """Return the files of instructions that count in a directory of the workspace, the nearest last."""
        if not self.settings.instructions:
            return []
        return await asyncio.to_thread(lambda: instruction_files(self._files(), directory, self._own))

    async def skills(self) -> FoundSkills:
        """Return all skills."""
        return (await self.look())[1]

    async def look(self) -> tuple[list[InstructionFile], FoundSkills]:
        """Return the workspace's own instructions and all skills as they are now; a change is an event."""
        async with self._looking:  # who looks later must not be told of an earlier state as the newest
            instructions = await self.instructions()
            found = FoundSkills()
            if self.settings.skills:
                before = self._heads
                found, self._heads = await asyncio.to_thread(lambda: find_skills(self._places(), before))
            now, last = (instructions, found), self._last
            self._last = now
        if last is not None and _facts(last) != _facts(now):
            told = ProjectChanged(
                instructions=tuple(one.shown for one in instructions), skills=tuple(sorted(found.skills))
            )
            self._events.emit(told)
        return now

    async def read_skill(self, name: str, path: str = FILE) -> SkillContent:
        """Read a file of a skill, by its path from the skill's folder. Raises `NotFound` with the skills there are."""
        known = (await self.skills()).skills
        if name not in known:
            hint = "skills are switched off in the settings" if not self.settings.skills else ""
            missing = NotFound.of("skill", name[:100], known)
            missing.hint = hint or missing.hint
            raise missing
        parts = path.split("/")
        if path.startswith(("/", "~")) or ".." in parts:
            raise BadArgument(
                f"path {path[:200]!r} leads out of the skill's folder", hint=f"such as {FILE!r} or 'scripts/run.py'"
            )
        return await asyncio.to_thread(lambda: _content(known[name], path))

    def _files(self) -> Workspace:
        return Workspace(self._root, settings=self._limits)

    def _places(self) -> list[SkillPlace]:
        mine = [SkillPlace(Workspace(one), ".", "own") for one in self._own_skills if os.path.isdir(one)]
        files = self._files()
        return [*mine, *(SkillPlace(files, folder, "workspace") for folder in FOLDERS)]


def _facts(seen: tuple[list[InstructionFile], FoundSkills]) -> object:
    instructions, found = seen
    return instructions, [(one.skill, one.stamp) for one in found.skills.values()]


def _content(found: FoundSkill, path: str) -> SkillContent:
    prefix = "" if found.folder == "." else f"{found.folder}/"
    data = found.files.read(prefix + path, limit=MOST_FILE + 1)
    if len(data) > MOST_FILE:
        raise BadArgument(
            f"{path!r} of skill {found.skill.name} is larger than {MOST_FILE} bytes",
            hint="let a program take what is needed of it, where it lies in the workspace",
        )
    return SkillContent(found, path, decoded(data, path=path, version=""), data, tuple(_names(found, prefix)))


def _names(found: FoundSkill, prefix: str) -> list[str]:
    """List the files of a skill's folder, links left out; not deep, not many."""
    names: list[str] = []
    left = [("", 0)]
    while left and len(names) < MOST_LISTED:
        below, depth = left.pop(0)
        for one in found.files.list(f"{prefix}{below}".rstrip("/") or "."):
            if one.kind == "file" and len(names) < MOST_LISTED:
                names.append(f"{below}{one.name}")
            elif one.kind == "directory" and depth < _DEEP and not one.name.startswith("."):
                left.append((f"{below}{one.name}/", depth + 1))
    return names
