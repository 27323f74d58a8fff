"""The page is built when its sources say so, and only then."""

import gzip
import json
import re
from pathlib import Path

import pytest
from scripts import page, steps
from scripts.page import Build

STATIC = Build().static


@pytest.fixture
def build(tmp_path: Path) -> Build:
    web, static = tmp_path / "web", tmp_path / "static"
    (web / "src").mkdir(parents=True)
    (web / "src" / "main.ts").write_text("1")
    (web / "package-lock.json").write_text("{}")
    static.mkdir()
    return Build(web, static)


def test_a_page_is_fresh_until_a_source_changes(build: Build) -> None:
    assert not build.fresh()
    (build.static / "index.html").write_text("x")
    assert not build.fresh()
    build.stamp_file.write_text(build.stamp())
    assert build.fresh()
    (build.web / "src" / "main.ts").write_text("2")
    assert not build.fresh()


def test_a_package_without_sources_is_used_as_it_is(tmp_path: Path) -> None:
    build = Build(tmp_path / "nowhere", tmp_path)
    with pytest.raises(steps.Failed, match="missing"):
        build.build()
    (tmp_path / "index.html").write_text("x")
    build.build()


def test_node_is_new_enough_where_the_bundler_says_so() -> None:
    """Of what the lock's packages ask, in the forms that they use: `^20.19.0 || >=22.12.0`, `>=18`."""
    lock = json.loads((page.ROOT / "web" / "package-lock.json").read_text())
    asked = {package.get("engines", {}).get("node", "") for package in lock["packages"].values()} - {""}
    assert any("||" in rule for rule in asked)

    def runs(version: tuple[int, int], rule: str) -> bool:
        for one in rule.split("||"):
            sign, major, minor = re.match(r"\s*(\^|>=|)\s*v?(\d+)(?:\.(\d+))?", one).groups(default="0")  # type: ignore[union-attr]
            least = int(major), int(minor)
            if version >= least and (sign == ">=" or version[0] == least[0]):
                return True
        return False

    for version in ((18, 20), (20, 18), (20, 19), (20, 20), (21, 7), (22, 11), (22, 12), (23, 0), (24, 1), (26, 0)):
        assert page.new_enough(*version) == all(runs(version, rule) for rule in asked), version


def packed(path: Path) -> int:
    """Bytes on the wire."""
    return len(gzip.compress(path.read_bytes(), 6))


def needed_at_once(static: Path) -> set[Path]:
    """The files that a browser fetches before anything is seen: those the page names, and what they import at once."""
    # `import("./x.js")` is fetched later and so is not matched; `import{a}from"./x.js"` and `import"./x.js"` are.
    imported = re.compile(r"""\b(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
    html = (static / "index.html").read_text()
    waiting = [static / name for name in re.findall(r'(?:src|href)="/(assets/[^"]+)"', html)]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            if path.suffix == ".js":
                waiting += [path.parent / name for name in imported.findall(path.read_text())]
    return found


@pytest.mark.skipif(not (STATIC / "index.html").is_file(), reason="the page is not built: make web")
def test_the_page_keeps_its_budget() -> None:
    first = needed_at_once(STATIC)
    everything = [path for path in (STATIC / "assets").iterdir() if path.is_file()]
    assert not [path.name for path in first if path.name.startswith("monaco")], "Monaco must come later"
    assert sum(map(packed, first)) < 250_000
    assert sum(map(packed, everything)) < 1_500_000


def test_what_is_needed_at_once_follows_imports_but_not_later_ones(tmp_path: Path) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text('<script src="/assets/a.js"></script><link href="/assets/a.css">')
    (assets / "a.css").write_text("")
    (assets / "a.js").write_text('import{x as y}from"./b.js";import"./c.js";import("./late.js")')
    (assets / "b.js").write_text('import"./a.js";export{z}from"./d.js"')
    for name in ("c.js", "d.js", "late.js"):
        (assets / name).write_text("")
    assert {path.name for path in needed_at_once(tmp_path)} == {"a.css", "a.js", "b.js", "c.js", "d.js"}
