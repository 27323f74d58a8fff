"""What a sandbox shows of the person's files to an agent's own process, and what that leaves in their home."""

import os
from pathlib import Path

from tests.kit.isolation import new_yard

from fourhands.providers.base import AgentNeeds, ShownPath
from fourhands.providers.view import Access, build_view, furnish_home
from fourhands.settings import SandboxSettings


def shown(path: Path | str, outside: Path | str = "") -> ShownPath:
    return ShownPath(str(path), str(outside or path))


async def test_an_agents_files_make_no_mount_points_in_a_home_that_is_the_workspace() -> None:
    async with new_yard() as yard:
        home = yard.workspace
        (home / ".agent").mkdir()
        elsewhere = yard.root / "elsewhere"
        elsewhere.mkdir()
        needs = AgentNeeds(writable=(shown(home / ".agent"), shown(home / ".other", elsewhere)))
        view = build_view(str(home), {**yard.env, "HOME": str(home)}, SandboxSettings(), needs=needs)
        paths = {entry.path for entry in view.entries}
        assert str(home / ".agent") in paths
        assert str(home / ".other") not in paths


async def test_an_agents_own_secrets_are_shown_to_it_and_those_beside_them_are_not() -> None:
    async with new_yard() as yard:
        place = Path(yard.env["HOME"], ".agent")
        place.mkdir()
        for name in ("auth.json", "id_rsa", "settings.json"):
            (place / name).touch()
        needs = AgentNeeds(
            readable=(shown(place / "settings.json"), shown("/usr/bin/env")), writable=(shown(place / "auth.json"),)
        )
        view = build_view(str(yard.workspace), yard.env, SandboxSettings(), needs=needs)
        found = {entry.path: entry.access for entry in view.entries if entry.path.startswith(str(place))}
        assert found == {f"{place}/auth.json": Access.WRITE, f"{place}/settings.json": Access.READ}
        assert "/usr/bin/env" not in {entry.path for entry in view.entries}  # the system's are there already


def test_a_home_is_made_ready_for_an_agent_without_following_links(tmp_path: Path) -> None:
    home, place, theirs = tmp_path / "home", tmp_path / "cell", tmp_path / "theirs"
    for path in (home, place, theirs):
        path.mkdir()
    (home / "list.json").write_text("new")
    (theirs / "kept").touch()
    (place / ".agent").symlink_to(theirs)  # as a program of an earlier cell may have left it
    needs = AgentNeeds(
        copied=(shown(home / "list.json"), shown(home / ".agent/kept", home / "list.json")),
        places=(str(home / ".agent"), str(home), "/etc"),
    )
    furnish_home(needs, str(home), str(place))
    assert (theirs / "kept").read_text() == ""
    assert not (place / ".agent").is_symlink()
    assert (place / ".agent" / "kept").read_text() == "new"
    assert (place / "list.json").read_text() == "new"
    (place / "list.json").unlink()
    (place / "list.json").symlink_to(theirs / "kept")
    furnish_home(needs, str(home), str(place))
    assert (theirs / "kept").read_text() == ""
    (place / "list.json").write_text("its own, newer")
    (place / ".agent" / "settings.json").touch()  # a mount has left it
    os.utime(home / "list.json", (1, 1))
    furnish_home(needs, str(home), str(place))
    assert (place / "list.json").read_text() == "its own, newer"
    assert not (place / ".agent" / "settings.json").exists()
