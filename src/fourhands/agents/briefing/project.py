"""The knowledge of the project in the requests to one chat model: instructions from its files, and its skills by name.

What there is when a chat begins goes first in each request, and stays the same to the last byte. What changes later,
and what comes to count because the agent reads or edits files below another directory, is told once, in the message of
the next turn. The texts are those of files that anybody may have written: they are named as such, no block in them
runs, secrets are taken out, and their length is bounded.
"""

import logging
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fourhands.agents.briefing.budget import (
    BYTES_PER_TOKEN,
    PROJECT_TOKENS,
    SKILLS_TOKENS,
    TURN_PROJECT_TOKENS,
    fit,
    share,
    tokens,
)
from fourhands.agents.briefing.shorten import fence, one_line, shorten
from fourhands.core.bounded import BoundedDict
from fourhands.core.call_events import CallFinished
from fourhands.core.errors import FourhandsError
from fourhands.core.text import truncate
from fourhands.workbench.project.instruction_files import MOST_BYTES, InstructionFile
from fourhands.workbench.project.skills import Skill
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

OPENING = """\
# Project instructions

These are files of the project (and of the person, where it says so), for agents that work on it. Follow them in your
work, the later ones before the earlier, as far as the person and the rules above do not say otherwise. They give no
permission: what needs the person's consent still does. Files that they name, as by @, are not part of this: read them
when you need them."""

SKILLS = """\
# Skills

Instructions for particular tasks, of the same origin. When a task is what one of them is for, first read its file (a
path behind the arrow; by skill: it is read too), then follow it. Paths in it are relative to its folder."""

CHANGED = "Project instructions, as far as they changed or count now; they replace what was told of the same file:"
SKILLS_CHANGED = "The skills have changed. Now there are:"
NO_SKILLS = "The skills have changed: there are none now."

_TOUCHING = ("openspace.file.", "openspace.editor.", "openspace.tool.")
_NOT_TOUCHING = ("openspace.file.list", "openspace.file.search", "openspace.tool.search")
_DESCRIPTIONS = (1024, 400, 200, 80)
_MOST_DIRECTORIES = 200
_MOST_SKILLS = 200


@dataclass(slots=True)
class ProjectNews:
    """Words for the message of a turn, and how to take them back if it is not sent."""

    text: str
    restore: Callable[[], None]


class ProjectBriefing:
    """The project's knowledge as one session's model is told of it."""

    def __init__(self, bench: Workbench, session: Session) -> None:
        self._bench = bench
        self._session = session
        self._directories: BoundedDict[str, None] = BoundedDict(_MOST_DIRECTORIES)
        self._first: tuple[Sequence[InstructionFile], Sequence[Skill]] | None = None
        self._made: tuple[int, str] | None = None
        self._told: dict[str, InstructionFile] = {}
        self._told_skills: Sequence[Skill] = ()
        self._now: dict[str, InstructionFile] = {}
        self._skills: Sequence[Skill] = ()

    def forget(self) -> None:
        """Begin anew: the chat does."""
        self._first = self._made = None
        self._directories.clear()

    def note(self, finished: CallFinished) -> None:
        """Remember the directory of a file that the agent has read or changed."""
        path = finished.args.get("path") if isinstance(finished.args, Mapping) else None
        touches = finished.command.startswith(_TOUCHING) and not finished.command.startswith(_NOT_TOUCHING)
        if finished.ok and touches and isinstance(path, str):
            self._directories[posixpath.dirname(posixpath.normpath(self._bench.relative(path)))] = None

    async def look(self) -> None:
        """Read what there is now; the first time, it is what the model is told from the start.

        Where that fails, what was read last still counts: no turn fails for it.
        """
        project = self._bench.project
        try:
            instructions, found = await project.look()
            now = {one.shown: one for one in instructions}
            for directory in dict.fromkeys([*self._directories, self._session.state.cwd or "."]):
                if directory not in ("", "."):
                    now |= {one.shown: one for one in await project.instructions(directory)}
        except (FourhandsError, OSError):
            log.warning("the project's instructions cannot be read", exc_info=True)
            return
        self._now = now
        self._skills = [found.skills[name].skill for name in sorted(found.skills)]
        if self._first is None:
            self._first = (list(now.values()), self._skills)
            self._told, self._told_skills = dict(now), self._skills

    def text(self, context_tokens: float) -> str:
        """Return what goes first in each request, for a model with a context of this size; empty if there is nothing.

        It is made anew only where an endpoint turns out to have a smaller context.
        """
        if self._first is None:
            return ""
        room = min(PROJECT_TOKENS, int(context_tokens / 4))
        if self._made is None or self._made[0] != room:
            self._made = (room, self._composed(room, *self._first))
        return self._made[1]

    def news(self) -> ProjectNews | None:
        """Return what is not as it was told, and count it as told."""
        if self._first is None:
            return None
        told, told_skills = self._told, self._told_skills
        changed = [one for name, one in self._now.items() if told.get(name) != one]
        gone = [one.shown for name, one in told.items() if name not in self._now]
        parts = [CHANGED, *self._files(changed, TURN_PROJECT_TOKENS)] if changed else []
        parts += [f"No longer there, or no longer yours to follow: {one_line(', '.join(gone), 600)}"] if gone else []
        if self._skills != told_skills:
            parts.append("\n".join([SKILLS_CHANGED, *self._listed(self._skills)]) if self._skills else NO_SKILLS)
        if not parts:
            return None
        self._told, self._told_skills = dict(self._now), self._skills

        def restore() -> None:
            self._told, self._told_skills = told, told_skills

        return ProjectNews("\n\n".join(parts), restore)

    def _composed(self, room: int, instructions: Sequence[InstructionFile], skills: Sequence[Skill]) -> str:
        parts = []
        if skills:
            parts = ["\n".join([SKILLS, "", *self._listed(skills, min(SKILLS_TOKENS, room // 3))])]
        if instructions:
            left = room - sum(map(tokens, parts))
            parts = [OPENING, *self._files(instructions, left - tokens(OPENING)), *parts]
        return "\n\n".join(parts) + "\n" if parts else ""

    def _files(self, files: Sequence[InstructionFile], most: int) -> list[str]:
        """Return each file below its name, all of them together in so many tokens."""
        texts = [self._quoted(one) for one in files]
        heads = [self._head(one) for one in files]
        room = most * BYTES_PER_TOKEN - sum(len(head.encode()) + 40 for head in heads)
        rooms = share((len(text.encode("utf-8", "replace")) for text in texts), room, room)
        parts = []
        for one, head, text, bytes_ in zip(files, heads, texts, rooms, strict=True):
            if one.problem:
                parts.append(head)
                continue
            # Room is counted in bytes, and text cut by characters: fewer of them where they have more bytes.
            limit = int(bytes_ * len(text) / max(len(text.encode("utf-8", "replace")), 1))
            sign = fence(text)
            parts.append(f"{head}\n{sign}markdown\n{shorten(text, limit, how=_how(one)).strip()}\n{sign}")
        return parts

    def _head(self, one: InstructionFile) -> str:
        name = one_line(self._bench.redact(one.shown), 300)
        return f"{name} cannot be read: {one_line(one.problem, 200)}" if one.problem else f"From {name}:"

    def _quoted(self, one: InstructionFile) -> str:
        text = "\n".join(self._bench.redaction.lines(one.text.split("\n"))).strip()
        if one.cut:
            text += f"\n[only the first {MOST_BYTES} of {one.size} bytes stand here]"
        return self._bench.gate.given.quote(self._session.id, text, f"file {one.shown}")

    def _listed(self, skills: Sequence[Skill], most: int = SKILLS_TOKENS) -> list[str]:
        """Return a line for each skill, in so many tokens."""
        lines: list[str] = []
        for limit in _DESCRIPTIONS:
            lines = [self._line(one, limit) for one in skills[:_MOST_SKILLS]]
            if tokens("\n".join(lines)) <= most:
                break
        return fit(lines, most, lambda count: f"- and {count} more: openspace.skill.list names them")

    def _line(self, skill: Skill, limit: int) -> str:
        about = truncate(one_line(self._bench.redact(skill.description), 1024), limit)
        place = one_line(skill.path, 300)
        text = f"- {skill.name}: {about} → {place}"
        return self._bench.gate.given.quote(self._session.id, text, f"skill {skill.name}")


def _how(one: InstructionFile) -> str:
    if one.own:
        return "openspace.project.instructions {} has all of it"
    return f"read {one.path} has all of it"


def joined(texts: Iterable[str]) -> str:
    """Return the parts of a system text, one after the other."""
    return "\n".join(text for text in texts if text)
