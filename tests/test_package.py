"""What is shipped is whole: wheel and source package hold everything, and work without Node and without the sources."""

import asyncio
import contextlib
import email
import json
import os
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import trove_classifiers
from tests.kit.program import Home
from tests.kit.search_path import NODE, path_without
from tests.kit.wheels import stock_python, wheelhouse
from websockets.asyncio.client import connect

from fourhands import __version__

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fourhands"
LIMIT_S = 200

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("package")]


def hatch(where: Path, kind: str, out: Path, path: str | None = None) -> Path:
    """Build one; `path` replaces the search path for programs."""
    env = dict(os.environ) | ({"PATH": path} if path is not None else {})
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    done = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = out.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hatch(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    there = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    assert names(wheel) == {name for name in there if "__pycache__" not in name}
    for one in (
        "static/index.html",
        "workbench/terminals/shell/scripts/.zshenv",
        "agents/acp/catalogue/claude.toml",
        "py.typed",
    ):
        assert f"fourhands/{one}" in names(wheel)


def test_the_source_package_gives_the_same_wheel_without_node(wheel: Path, tmp_path: Path) -> None:
    packed = hatch(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    [source] = (tmp_path / "source").iterdir()
    assert not list(source.rglob("node_modules"))
    assert packed.stat().st_size < 8_000_000
    built = hatch(source, "wheel", tmp_path / "again", path="/nonexistent")
    assert names(built) == names(wheel)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The program in a clean environment of the system's own Python, with what its metadata ask for, no more."""
    place, python = tmp_path_factory.mktemp("venv"), stock_python()
    house = wheelhouse(pytestconfig.cache.mkdir("wheels"))
    pip = [python, "-m", "pip", "--python", str(place), "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-compile", "--no-index", "--find-links", str(house), "-c", str(ROOT / "constraints.txt"), str(wheel)]
    for command in ([python, "-m", "venv", "--without-pip", str(place)], pip):
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stdout + done.stderr
    return place / "bin" / "fourhands"


@contextlib.asynccontextmanager
async def begun(program: Path, home: Home, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The program as somebody without Node starts it."""
    bare = home.root / "bin"
    path = str(bare) if bare.exists() else path_without(bare, NODE)
    process = await asyncio.create_subprocess_exec(
        program, *words, cwd=home.work, env=home.env | {"PATH": path}, stdout=-1, stderr=-2, stdin=-3
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def said(program: Path, home: Home, *words: str) -> str:
    async with begun(program, home, *words) as process, asyncio.timeout(LIMIT_S):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


async def test_an_installed_wheel_works_by_itself(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = Home(str(tmp_path_factory.mktemp("home")))
    where = await said(installed.parent / "python", home, "-c", "import fourhands; print(fourhands.__file__)")
    assert str(installed.parent.parent) in where, "the sources must not stand in for the wheel"
    assert __version__ in await said(installed, home, "--version")
    findings = json.loads(await said(installed, home, "doctor", "--json"))
    assert not [finding for finding in findings if finding["level"] == "problem"]

    (home.work / "README.md").write_text("# A workspace\n")
    async with begun(installed, home, ".", "--agent", "tour", "--port", "0", "--no-open") as server:
        assert server.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            while b"Open" not in await server.stdout.readline():
                assert server.returncode is None
        async with home.client() as client:
            page = await client.get("/")
            assert page.status_code == 200
            [script, *_] = [part.split('"')[0] for part in page.text.split('src="')[1:]]
            assert (await client.get(script)).status_code == httpx.codes.OK
        # The shell's integration is a file of the package: without it there would be no exit code of one command.
        assert (await said(installed, home, "terminal", "run", "echo it-$((40+2))")).strip() == "it-42"
        async with asyncio.timeout(LIMIT_S):
            assert await toured(home) == {
                "openspace.editor.open": False,  # on purpose, and the second time
                "openspace.editor.highlight": True,
                "openspace.terminal.create": True,
                "openspace.terminal.send": True,
                "openspace.file.list": True,
            }
            shown = await home.call("terminal.wait", {"terminalId": "tour", "pattern": "Two of us, one terminal"})
        assert shown["reason"] == "pattern"
    await said(installed, home, "stop")


async def toured(home: Home) -> dict[str, bool]:
    """Take the tour to its end; what it called and whether that worked."""
    [agent] = (await home.call("agent.list"))["agents"]
    headers = {"Authorization": (home.client().headers["authorization"])}
    async with connect(home.address.url.replace("http", "ws") + "/ws", additional_headers=headers) as socket:
        await socket.recv()  # hello: from here on nothing is missed
        assert (await home.call("agent.consent", {"sessionId": agent["id"], "allow": True}))["success"]
        assert (await home.call("agent.prompt", {"sessionId": agent["id"], "text": "Show me around"}))["success"]
        called: dict[str, bool] = {}
        async for message in socket:
            event = json.loads(message).get("event", {"kind": ""})
            if event["kind"] == "call.finished" and event["actor"]["kind"] == "agent":
                called[event["data"]["command"]] = event["data"]["ok"]
            if event["kind"] == "agent.changed" and event["data"]["status"] == "idle":
                return called
    raise AssertionError("it went away in the middle of the tour")


def test_the_metadata_are_fit_for_a_package_index(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = email.message_from_bytes(archive.read(name))
    assert set(told.get_all("Classifier", [])) <= trove_classifiers.classifiers
    assert (told["License-Expression"], told["Requires-Python"]) == ("MIT", ">=3.11")
    assert set(told.get_all("Provides-Extra", [])) == {"mcp", "dev", "sandbox"}
    assert told["Description-Content-Type"].startswith("text/markdown")
    text = str(told.get_payload())
    assert "make run" in text
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)|<picture|<img", text) == [], (
        "leads nowhere without the files beside it"
    )


def test_links_of_the_description_lead_to_the_repository_once_there_is_one() -> None:
    described = runpy.run_path(str(ROOT / "hatch_build.py"))["described"]
    text = (
        "# A\n\n<picture>\n<img src='b.webp'>\n</picture>\n\nSee [B](docs/b.md#c), [D](#d) and [E](https://e.example)."
    )
    assert described(text, None) == "# A\n\nSee B, [D](#d) and [E](https://e.example)."
    there = described(text, "https://r.example/f/")
    assert "[B](https://r.example/f/blob/HEAD/docs/b.md#c)" in there
