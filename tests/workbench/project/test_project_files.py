"""What a project tells agents, from real directories: which files count, which folders are skills, what is refused."""

import itertools
import os
import time
from pathlib import Path

import pytest

from fourhands.core.errors import BadArgument, FourhandsError, NotFound
from fourhands.core.event import Event, EventBus
from fourhands.settings import ProjectSettings
from fourhands.workbench.files.workspace import FileSettings, Workspace
from fourhands.workbench.project.instruction_files import MOST_BYTES
from fourhands.workbench.project.knowledge import ProjectKnowledge
from fourhands.workbench.project.skills import FOLDERS, MOST_SKILLS, SkillPlace, find_skills


class Project:
    """A workspace, a home, and what is read of them."""

    def __init__(self, path: Path) -> None:
        self.work, self.home = path / "work", path / "home"
        self.work.mkdir()
        self.home.mkdir()
        self.events = EventBus()
        self.said: list[Event] = []
        self.events.published.subscribe(self.said.append)
        self.knowledge = self.with_settings(ProjectSettings())

    def with_settings(self, settings: ProjectSettings) -> ProjectKnowledge:
        env = {"HOME": str(self.home)}
        return ProjectKnowledge(str(self.work), FileSettings(), settings, env, self.events)

    def write(self, path: str, text: str | bytes, *, own: bool = False) -> Path:
        file = (self.home if own else self.work) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def skill(
        self, folder: str, name: str, about: str = "Does it.", body: str = "# Do it\n", *, own: bool = False
    ) -> Path:
        return self.write(f"{folder}/SKILL.md", f"---\nname: {name}\ndescription: {about}\n---\n{body}", own=own)

    async def files(self, directory: str = ".") -> dict[str, str]:
        return {one.shown: one.problem or one.text for one in await self.knowledge.instructions(directory)}

    async def names(self) -> dict[str, str]:
        return {name: one.skill.path for name, one in (await self.knowledge.skills()).skills.items()}

    async def problems(self) -> dict[str, str]:
        return {one.path: one.problem for one in (await self.knowledge.skills()).problems}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def test_the_nearest_instructions_come_last_and_claude_md_counts_where_there_is_no_other(
    project: Project,
) -> None:
    assert await project.files() == {}
    project.write("AGENTS.md", "root")
    project.write("CLAUDE.md", "not this one")
    project.write("a/CLAUDE.md", "a, by the other name")
    project.write("a/b/AGENTS.md", "b")
    project.write("other/AGENTS.md", "not on the way")
    project.write(".config/fourhands/AGENTS.md", "mine", own=True)
    mine = {"AGENTS.md of your settings": "mine"}
    assert await project.files() == {**mine, "AGENTS.md": "root"}
    deep = await project.files("a/b/c")
    assert deep == {**mine, "AGENTS.md": "root", "a/CLAUDE.md": "a, by the other name", "a/b/AGENTS.md": "b"}
    assert list(deep) == ["AGENTS.md of your settings", "AGENTS.md", "a/CLAUDE.md", "a/b/AGENTS.md"]
    for outside in ("..", "../work/a", "/", "~/x", "a/../../home", "nothing/here", "AGENTS.md"):
        assert await project.files(outside) == {**mine, "AGENTS.md": "root"}, outside


async def test_what_is_no_readable_text_of_the_workspace_is_named_with_its_problem(
    project: Project, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    (project.work / "AGENTS.md").symlink_to(secret)
    assert "outside the workspace" in (await project.files())["AGENTS.md"]
    (project.work / "AGENTS.md").unlink()
    project.write(".env", "KEY=1")
    (project.work / "AGENTS.md").symlink_to(".env")
    assert "secret" in (await project.files())["AGENTS.md"]
    (project.work / "AGENTS.md").unlink()
    os.mkfifo(project.work / "AGENTS.md")
    assert "not a regular file" in (await project.files())["AGENTS.md"]
    (project.work / "AGENTS.md").unlink()
    (project.work / "AGENTS.md").symlink_to("AGENTS.md")
    assert "links" in (await project.files())["AGENTS.md"]
    (project.work / "AGENTS.md").unlink()
    project.write("AGENTS.md", b"\x00\x01binary")
    assert await project.files() == {"AGENTS.md": "it is no text"}
    project.write("AGENTS.md", b"caf\xe9 \xff")
    assert "caf" in (await project.files())["AGENTS.md"]
    project.write("AGENTS.md", " \n\n")
    assert await project.files() == {}
    (project.work / "AGENTS.md").unlink()
    (project.work / "AGENTS.md").mkdir()
    project.write("CLAUDE.md", "in its place")
    assert await project.files() == {"CLAUDE.md": "in its place"}


async def test_a_link_inside_the_workspace_and_one_of_your_own_are_followed_and_a_huge_file_is_cut(
    project: Project, tmp_path: Path
) -> None:
    project.write("docs/guide.md", "the guide")
    (project.work / "AGENTS.md").symlink_to("docs/guide.md")
    project.write("x", "", own=True)
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "agents").write_text("kept elsewhere")
    (project.home / ".config/fourhands").mkdir(parents=True)
    (project.home / ".config/fourhands/AGENTS.md").symlink_to(dotfiles / "agents")
    assert await project.files() == {"AGENTS.md of your settings": "kept elsewhere", "AGENTS.md": "the guide"}
    project.write("docs/guide.md", b"x" * (300 * 1024 * 1024 // 100))
    [_, huge] = await project.knowledge.instructions()
    assert len(huge.text) == MOST_BYTES
    assert huge.cut


async def test_skills_are_found_in_the_usual_places_and_your_own_come_first(project: Project) -> None:
    project.skill(".agents/skills/pdf", "pdf", "Reads PDFs.")
    project.skill(".claude/skills/notes", "notes")
    project.skill(".opencode/skills/deploy", "deploy")
    project.skill(".github/skills/review", "review")
    project.skill("skills/not-a-place", "not-a-place")
    project.skill(".agents/skills/group/inner", "inner")
    project.skill(".config/fourhands/skills/deploy", "deploy", "Mine.", own=True)
    project.skill(".agents/skills/mail", "mail", own=True)
    project.write(".agents/skills/README.md", "no skill")
    (project.work / ".claude/skills/pdf").symlink_to("../../.agents/skills/pdf")
    assert await project.names() == {
        "deploy": "skill:deploy/SKILL.md",
        "mail": "skill:mail/SKILL.md",
        "pdf": ".agents/skills/pdf/SKILL.md",
        "notes": ".claude/skills/notes/SKILL.md",
        "review": ".github/skills/review/SKILL.md",
    }
    assert await project.problems() == {
        ".opencode/skills/deploy/SKILL.md": "the name deploy is that of skill:deploy/SKILL.md, which counts"
    }


BAD: list[tuple[str, str | bytes, str]] = [
    ("no-front", "# Just text\n", "does not begin with"),
    ("no-end", "---\nname: x\n", "no end"),
    ("no-yaml", "---\n{{{\n---\n", "line 2"),
    ("no-description", "---\nname: no-description\n---\n", "no description"),
    ("list-description", "---\nname: a\ndescription: [a, b]\n---\n", "no description"),
    ("empty-description", "---\nname: a\ndescription: ''\n---\n", "no description"),
    ("binary", b"---\nname: a\0\n---\n", "no text"),
    ("far-end", "---\nname: a\n" + "#\n" * 20_000 + "---\n", "no end"),
    ("Upper Case", "---\ndescription: x\n---\n", "a-z"),
    ("bad\x1b[31mname", "---\nname: Bad\ndescription: x\n---\n", "control character"),
    ("x" * 65, "---\ndescription: x\n---\n", "up to 64"),
]


async def test_what_is_no_skill_is_named_with_the_reason(project: Project, tmp_path: Path) -> None:
    for folder, text, _ in BAD:
        project.write(f".agents/skills/{folder}/SKILL.md", text)
    project.write("elsewhere", "")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: outside\ndescription: x\n---\n")
    (project.work / ".agents/skills/linked").symlink_to(outside)
    problems = await project.problems()
    assert await project.names() == {}
    for folder, _, reason in BAD:
        [problem] = [said for path, said in problems.items() if f"/{folder}/" in path]
        assert reason in problem, folder
    assert "outside the workspace" in problems[".agents/skills/linked/SKILL.md"]


async def test_a_folders_name_stands_in_and_descriptions_are_one_plain_line(project: Project) -> None:
    project.write(".agents/skills/by-folder/SKILL.md", "---\nname: Not A Name\ndescription: x\n---\n")
    project.write(".agents/skills/any/SKILL.md", "---\nname: by-name\ndescription: |\n  two\n  \x1b[31mlines\n---\n")
    found = (await project.knowledge.skills()).skills
    assert {name: one.skill.description for name, one in found.items()} == {
        "by-folder": "x",
        "by-name": "two [31mlines",
    }
    project.skill(".agents/skills/long", "long", "x" * 9000)
    assert len((await project.knowledge.skills()).skills["long"].skill.description) == 1024


async def test_many_skills_are_bounded_in_number_and_time_and_the_rest_is_said(project: Project) -> None:
    for number in range(MOST_SKILLS + 50):
        project.skill(f".agents/skills/s{number:04}", f"s{number:04}")
    begun = time.monotonic()
    assert len(await project.names()) == MOST_SKILLS
    print(f"{MOST_SKILLS} skills: {time.monotonic() - begun:.3f} s")
    begun = time.monotonic()
    [(path, problem)] = (await project.problems()).items()
    print(f"again: {time.monotonic() - begun:.3f} s")
    assert (path, problem.partition(":")[0]) == (
        f".agents/skills/s{MOST_SKILLS:04}/SKILL.md",
        "more than 200 are there",
    )
    times = itertools.count(step=1.0)
    found, _ = find_skills(
        [SkillPlace(Workspace(project.work), FOLDERS[0], "workspace")], {}, clock=lambda: next(times)
    )
    assert list(found.skills) == ["s0000", "s0001", "s0002"]
    assert "took more than" in found.problems[0].problem


async def test_files_of_a_skill_are_read_from_its_folder_only(project: Project) -> None:
    project.skill(".agents/skills/pdf", "pdf", body="# Use it\n")
    project.write(".agents/skills/pdf/scripts/run.py", "print()")
    project.write(".agents/skills/pdf/logo.png", b"\x89PNG\0")
    project.write(".agents/skills/pdf/.env", "KEY=secret")
    project.write(".agents/skills/pdf/big.txt", b"x" * (1024 * 1024 + 1))
    (project.work / ".agents/skills/pdf/away").symlink_to("/etc/passwd")
    project.skill(".agents/skills/mail", "mail", own=True)
    (project.home / ".agents/skills/mail/away").symlink_to(project.work / "x")
    read = await project.knowledge.read_skill("pdf")
    assert read.text.text.endswith("# Use it\n")
    assert {"SKILL.md", "scripts/run.py", "logo.png"} <= set(read.names)
    assert "away" not in read.names
    assert (await project.knowledge.read_skill("pdf", "scripts/run.py")).text.text == "print()"
    assert (await project.knowledge.read_skill("pdf", "logo.png")).text.binary
    assert (await project.knowledge.read_skill("mail")).names == ("SKILL.md",)
    for name, path in [
        ("pdf", "../../../x"),
        ("pdf", "/etc/passwd"),
        ("pdf", "~/x"),
        ("pdf", "a/../../y"),
        ("pdf", "away"),
        ("pdf", ".env"),
        ("pdf", "big.txt"),
        ("pdf", "scripts"),
        ("pdf", ""),
        ("pdf", "nul\0"),
        ("mail", "away"),
        ("mail", "../../.ssh/id_rsa"),
    ]:
        with pytest.raises(FourhandsError) as told:
            await project.knowledge.read_skill(name, path)
        assert "secret" not in told.value.message.replace("secret files", ""), path
    with pytest.raises(NotFound) as missing:
        await project.knowledge.read_skill("pfd\x1b" * 100)
    assert "mail, pdf" in missing.value.hint
    with pytest.raises(BadArgument, match="leads out"):
        await project.knowledge.read_skill("pdf", "..")


async def test_a_change_is_told_once_to_all_who_listen_and_a_setting_switches_it_off(project: Project) -> None:
    project.skill(".agents/skills/pdf", "pdf")
    await project.knowledge.look()
    await project.knowledge.look()
    assert project.said == []
    project.skill(".agents/skills/pdf", "pdf", "Now it does more.")
    project.write("AGENTS.md", "new")
    await project.knowledge.look()
    await project.knowledge.look()
    [told] = project.said
    assert (told.kind, told.data) == ("project.changed", {"instructions": ("AGENTS.md",), "skills": ("pdf",)})
    off = project.with_settings(ProjectSettings(instructions=False, skills=False))
    assert await off.instructions() == []
    assert (await off.skills()).skills == {}
    with pytest.raises(NotFound) as missing:
        await off.read_skill("pdf")
    assert "switched off" in missing.value.hint
