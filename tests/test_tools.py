"""A missing program is said plainly, and is a failure where nothing may be skipped."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "install-test-tools"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A search path on which there is nearly nothing."""
    for name in ("bash", "id"):
        (tmp_path / name).symlink_to(Path("/usr/bin") / name)
    return tmp_path


def install(path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", SCRIPT], env={"PATH": str(path), **env}, capture_output=True, text=True, timeout=40
    )


def test_what_cannot_be_installed_is_named(bare: Path) -> None:
    done = install(bare)
    assert done.returncode == 0
    assert "zsh" in done.stdout
    assert "no apt-get here" in done.stdout
    assert "skipped" in done.stdout


def test_where_nothing_may_be_skipped_it_fails(bare: Path) -> None:
    done = install(bare, CI="true")
    assert done.returncode == 1
    assert "With CI=true every test must be able to run" in done.stderr


def test_an_apt_get_that_fails_is_no_success(bare: Path) -> None:
    (bare / "sudo").write_text('#!/bin/bash\nshift; exec "$@"\n')
    (bare / "true").write_text("#!/bin/bash\n")
    (bare / "apt-get").write_text('#!/bin/bash\necho "E: no network" >&2; exit 100\n')
    for name in ("sudo", "true", "apt-get"):
        (bare / name).chmod(0o755)
    done = install(bare, CI="true")
    assert done.returncode == 1
    assert "E: no network" in done.stderr
    assert "did not bring them" in done.stderr
