"""The page is built when its sources say so, and only then."""

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
