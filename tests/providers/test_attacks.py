"""Every way out of a sandbox, tried by an agent's own Makefile: on both rungs, as root and as a plain user."""

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.isolation import refuse

ROOT = Path(__file__).parent.parent.parent

# Rules of Landlock only allow: what lies in the workspace can be written, and is shown at the end of the turn.
IN_THE_WORKSPACE = {
    *("write .git/config", "write hook", "write a new hook", "write .envrc", "rename .git", "rename .git/hooks"),
    "remove .git/config",
}


@pytest.fixture(scope="module")
def user() -> Iterator[str]:
    """A plain user, made for these tests."""
    adding = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin")
    if os.geteuid() != 0 or adding is None:
        refuse("a plain user can be made by root only, and with useradd (make tools)")
        return
    name = f"fha{os.getpid()}"
    subprocess.run([adding, "--no-create-home", "--shell", "/bin/bash", name], check=True, capture_output=True)
    try:
        yield name
    finally:
        subprocess.run([adding.replace("useradd", "userdel"), name], check=True, capture_output=True)


@contextlib.contextmanager
def place(owner: str) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="fh-attack-", dir="/var/tmp"))
    root.chmod(0o755)
    shutil.chown(root, owner)
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def attacked(rung: str, name: str) -> dict[str, object]:
    """What the attack reports when it was run as that user, with the system's Python: ours may lie in root's home."""
    path = f"{ROOT / 'src'}:{ROOT}:{sysconfig.get_paths()['purelib']}"
    plain = pwd.getpwnam(name)
    become = [f"--reuid={plain.pw_uid}", f"--regid={plain.pw_gid}", "--clear-groups", "--inh-caps=-all"]
    become = [] if name == "root" else become
    python = sys.executable if name == "root" else "/usr/bin/python3"
    with place(name) as root:
        done = subprocess.run(
            ["/usr/bin/setpriv", *become, python, "-m", "tests.kit.attacker", rung, str(root)],
            cwd="/", env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "HOME": str(root)},
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    if not told["done"] and str(told["out"]).startswith("PROBE"):
        refuse(str(told["out"]))
    assert told["done"], told["out"]
    return told


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("who", ["root", "plain"])
@pytest.mark.timeout(120)
def test_an_agents_makefile_finds_every_way_out_shut(rung: str, who: str, user: str) -> None:
    told = attacked(rung, "root" if who == "root" else user)
    assert (told["uid"] == 0) is (who == "root")
    opened = told["open"]
    assert isinstance(opened, list)
    if rung == "bubblewrap":
        assert (opened, told["changed"]) == ([], [])
    else:
        assert set(opened) == IN_THE_WORKSPACE
        assert told["changed"] == [".envrc", "a new hook", "hook"]  # the configuration is removed in the end
