"""The lock of the page's packages is whole: `npm ci` passes on every platform, and names no registry."""

import json
from pathlib import Path
from typing import Any

WEB = Path(__file__).parent.parent / "web"


def lock() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((WEB / "package-lock.json").read_text())
    return found


def test_every_optional_dependency_has_an_entry() -> None:
    packages = lock()["packages"]
    for path, package in packages.items():
        for name in package.get("optionalDependencies", {}):
            places = (f"{path}/node_modules/{name}", f"node_modules/{name}")
            assert any(place in packages for place in places), f"{path or 'the page'} misses {name}"


def test_the_lock_names_no_registry() -> None:
    assert not [path for path, package in lock()["packages"].items() if "resolved" in package]


def test_versions_are_exact() -> None:
    manifest = json.loads((WEB / "package.json").read_text())
    wanted = {**manifest.get("dependencies", {}), **manifest["devDependencies"], **manifest["overrides"]}
    assert not [name for name, version in wanted.items() if not version[0].isdigit()]
