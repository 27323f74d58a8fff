"""The page is built when its sources say so, and only then."""

import gzip
import re
from pathlib import Path

import pytest
from scripts import page


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    web, static = tmp_path / "web", tmp_path / "static"
    (web / "src").mkdir(parents=True)
    (web / "src" / "main.ts").write_text("1")
    (web / "package-lock.json").write_text("{}")
    static.mkdir()
    for name, value in {"WEB": web, "STATIC": static, "STAMP": static / ".stamp"}.items():
        monkeypatch.setattr(page, name, value)
    return tmp_path


def test_a_page_is_fresh_until_a_source_changes(tree: Path) -> None:
    assert not page.fresh()
    (tree / "static" / "index.html").write_text("x")
    assert not page.fresh()
    page.STAMP.write_text(page.stamp())
    assert page.fresh()
    (tree / "web" / "src" / "main.ts").write_text("2")
    assert not page.fresh()


def test_a_package_without_sources_is_used_as_it_is(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "WEB", tree / "nowhere")
    with pytest.raises(RuntimeError, match="missing"):
        page.build()
    (tree / "static" / "index.html").write_text("x")
    page.build()


def test_a_missing_npm_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(RuntimeError, match="npm is not there"):
        page.build()


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


@pytest.mark.skipif(not (page.STATIC / "index.html").is_file(), reason="the page is not built: make web")
def test_the_page_keeps_its_budget() -> None:
    first = needed_at_once(page.STATIC)
    everything = [path for path in (page.STATIC / "assets").iterdir() if path.is_file()]
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
