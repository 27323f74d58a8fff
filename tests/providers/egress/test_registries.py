"""The registries that a person's own tools are set up for, and nothing that a workspace brings."""

import os
import shutil
from pathlib import Path

from fourhands.providers.egress.registries import find_registries


def tool(directory: Path, name: str, script: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


async def test_hosts_are_asked_of_the_tools(tmp_path: Path) -> None:
    tools, home = tmp_path / "bin", tmp_path / "home"
    tool(tools, "npm", "echo https://npm.example/")
    tool(tools, "go", "echo https://go.example,direct; echo sum.example")
    tool(tools, "python3", "printf \"global.index-url='https://pip.example:8443/simple'\\n\"")
    (home / ".cargo").mkdir(parents=True)
    (home / ".cargo" / "config.toml").write_text('[source.mirror]\nregistry = "sparse+https://crates.example/"\n')
    env = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(home)}
    found = {str(one) for one in await find_registries(env, str(tmp_path / "work"))}
    assert found == {"npm.example:443", "go.example:443", "sum.example:443", "pip.example:8443", "crates.example:443"}


async def test_programs_and_files_of_the_workspace_extend_nothing(tmp_path: Path) -> None:
    work = tmp_path / "work"
    tool(work / "bin", "npm", "echo https://evil.example/")
    (work / ".npmrc").write_text("registry=https://evil.example/\n")
    env = {"PATH": f"{work}/bin:relative:{os.environ['PATH']}", "HOME": str(tmp_path)}
    found = [str(one) for one in await find_registries(env, str(work))]
    assert not [one for one in found if "evil" in one]
    assert (shutil.which("npm") is None) or found


async def test_a_tool_that_fails_or_prints_nonsense_has_none(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tool(tools, "npm", "exit 3")
    tool(tools, "go", "printf '\\377\\0//[[::1'")
    tool(tools, "python3", "exec yes nonsense | head -c 200000")
    assert await find_registries({"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path)}, "/nowhere") == ()
