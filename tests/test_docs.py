"""What the manual says is so: links lead somewhere, code runs, settings load, commands and make targets exist."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import click
import msgspec
import pytest
from scripts.pictures import SCENES, THEMES

from fourhands.app import program
from fourhands.settings import Settings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "web/README.md")),
    *DOCS.glob("*.md"),
]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """A page without its code, in which nothing is a link."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.M | re.S))


def links(page: Path) -> list[str]:
    text = prose(page)
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(page: Path) -> set[str]:
    """The places of a page as GitHub names them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, place = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        assert target.exists(), f"{name(page)} links to {link}, which is not there"
        assert target.is_relative_to(ROOT), f"{name(page)} links to {link}, outside of the repository"
        if place:
            assert place in anchors(target), f"{name(page)} links to {link}: no such heading there"


def test_every_page_is_linked_from_the_readme() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}
    assert {page for page in DOCS.glob("*.md") if page.resolve() not in linked} == set()


def test_every_scene_has_its_pictures_and_the_manual_shows_it() -> None:
    text = (DOCS / "page.md").read_text()
    wanted = {f"{scene.__name__}-{theme}.webp" for scene in SCENES for theme in THEMES}
    there = {path.name for path in (DOCS / "pictures").iterdir()}
    assert there == wanted, "run make pictures"
    assert [scene.__name__ for scene in SCENES if f"pictures/{scene.__name__}-" not in text] == []
    assert sum(path.stat().st_size for path in (DOCS / "pictures").iterdir()) < 3_000_000


class Block(NamedTuple):
    """A piece of code in a page."""

    page: str
    line: int
    kind: str
    text: str


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text()
        for found in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, flags=re.M | re.S):
            yield Block(name(page), text.count("\n", 0, found.start()) + 1, found[2], found[3])


def of(*kinds: str) -> pytest.MarkDecorator:
    chosen = [block for block in blocks() if block.kind in kinds]
    # By its number on the page: a line would change the test's name whenever something above it does.
    numbers: dict[str, int] = {}
    names = []
    for block in chosen:
        numbers[block.page] = numbers.get(block.page, 0) + 1
        names.append(f"{block.page}-{numbers[block.page]}")
    return pytest.mark.parametrize("block", chosen, ids=names)


@pytest.mark.timeout(90)
@of("python")
def test_python_in_the_manual_runs(block: Block) -> None:
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as home:
        Path(home, "README.md").write_text("# A workspace\n")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # our program lies beside Python's
        env = {"PATH": path, "HOME": home, "XDG_RUNTIME_DIR": home, "XDG_STATE_HOME": home}
        code = [sys.executable, "-c", block.text]
        done = subprocess.run(code, cwd=home, env=env, capture_output=True, text=True, timeout=80)
    assert done.returncode == 0, f"{block.page}:{block.line}\n{done.stderr}"


@of("json")
def test_json_in_the_manual_is_json(block: Block) -> None:
    try:
        json.loads(block.text)
    except ValueError:  # then one message per line
        assert [json.loads(line) for line in block.text.splitlines()]


@of("toml")
def test_settings_in_the_manual_load(block: Block) -> None:
    settings = tomllib.loads(block.text)
    if "mcp_servers" not in settings:  # those are of Codex
        msgspec.convert(settings, Settings)


def shell_lines() -> list[tuple[str, str]]:
    """Lines that somebody would type: in fences without a language or with that of a shell."""
    fenced = [(b.page, line) for b in blocks() if b.kind in ("", "sh") for line in b.text.splitlines()]
    inline = [(name(page), code) for page in PAGES for code in re.findall(r"`([^`\n]+)`", page.read_text())]
    return [(page, line.strip()) for page, line in [*fenced, *inline]]


def test_every_make_target_in_the_manual_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for page, line in shell_lines():
        if found := re.match(r"(?:CI=true )?make ([a-z]+)\b", line):
            assert found[1] in targets, f"{page}: {line}"


def chosen_by(group: click.Group, words: list[str]) -> Iterator[tuple[click.Command, list[str]]]:
    """The commands that a line names, each with the rest of its words; `a | b` names several."""
    known = set(group.list_commands(click.Context(group)))
    if not words or words[0] not in known:
        words = ["serve", *words]  # `fourhands DIR` is short for it
    command = group.get_command(click.Context(group), words[0])
    assert command is not None
    if isinstance(command, click.Group):
        alternatives = "|" in words
        for word in [word for word in words[1:] if word != "|"] if alternatives else words[1:2]:
            found = command.get_command(click.Context(command), word)
            assert found is not None, f"no {words[0]} {word}"
            yield found, [] if alternatives else words[2:]
    else:
        yield command, words[1:]


def words_of(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # prose with an apostrophe
        return line.split()


def test_every_command_line_in_the_manual_exists() -> None:
    seen = set()
    for page, line in shell_lines():
        words = words_of(re.split(r"  +| # ", line)[0])
        if words and words[0] in ("fourhands", ".venv/bin/fourhands"):
            for command, rest in chosen_by(program(), words[1:]):
                options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
                for word in rest:
                    if word.startswith("--") and word not in ("--help", "--version", "--"):
                        assert word.partition("=")[0] in options, f"{page}: {line}: there is no {word}"
                seen.add(command.name)
    assert {"serve", "open", "stop", "doctor", "classify", "mcp", "acp", "attach", "run"} <= seen


def session(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a block and what they print."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


@pytest.mark.timeout(120)
@of("console")
def test_a_session_in_the_manual_goes_as_it_is_shown(block: Block) -> None:
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as home:
        env = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": home, "LANG": "C.UTF-8"}
        env |= {"XDG_RUNTIME_DIR": home, "XDG_STATE_HOME": home, "SHELL": "/bin/bash"}
        try:
            for command, printed in session(block):
                done = subprocess.run(command, shell=True, cwd=home, env=env, capture_output=True, text=True)
                assert done.stdout == printed, f"{block.page}: {command}\n{done.stderr}"
        finally:
            subprocess.run(["fourhands", "stop"], cwd=home, env=env, capture_output=True)
