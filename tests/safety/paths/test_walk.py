"""Every way that was thought of to leave the workspace, or to reach what is closed in it."""

import contextlib
import errno
import os
import socket
import sys
import threading
from pathlib import Path

import pytest
from tests.kit.table import table

from fourhands.core.errors import BadArgument, Denied, FourhandsError, Unavailable
from fourhands.safety.paths.errors import (
    BadPath,
    Changed,
    DeniedPath,
    NoSpace,
    NoSuchFile,
    NotRegular,
    OutsideWorkspace,
    reported,
)
from fourhands.safety.paths.policy import PathPolicy, Purpose, is_git_name, is_packages_name
from fourhands.safety.paths.walk import KEPT_OPEN, MOST_LINKS, PathWalk, Root

AGENT, PERSON = PathPolicy(), PathPolicy(open=True)
READ, WRITE, LIST, LOOK, REMOVE = Purpose.READ, Purpose.WRITE, Purpose.LIST, Purpose.LOOK, Purpose.REMOVE


FILES = [
    "outside/canary.txt", "outside/dir/x.txt", "ws-evil/x.txt", "ws/a.txt", "ws/dir/b.txt", "ws/dir/sub/c.txt",
    "ws/.env", "ws/.env.example", "ws/.gitignore", "ws/.github/ci.yml", "ws/x.git/f.txt", "ws/.git/config",
    "ws/.git/link/here.txt", "ws/mod/.git", "ws/deep/er/.git/HEAD", "ws/node_modules/p/index.js",
    "ws/pkg/node_modules/q/index.js", "ws/.ssh/config", "ws/.ssh/id.pub", "ws/~/home.txt", "ws/$HOME/v.txt",
    "ws/%2e%2e/p.txt", "ws/*/star.txt", "ws/secrets.py", "ws/key.pem", "ws/ü/é.txt", "ws/keys.py", "ws/a:b",
    "ws/...ok/t.txt", "ws/.a/..b/c..txt",
]  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A workspace `ws` full of traps, beside things that nobody may reach."""
    base = Path(os.path.realpath(tmp_path_factory.mktemp("base")))
    for name in FILES:
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("CANARY" if name.startswith(("outside", "ws-evil")) else name)
    ws = base / "ws"
    (base / "alias").symlink_to("ws")
    (ws / "empty").mkdir()
    os.mkfifo(ws / "pipe")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as sock:
        here = os.open(ws, os.O_RDONLY)
        try:
            sock.bind(f"/proc/self/fd/{here}/sock" if sys.platform == "linux" else str(ws / "sock"))
        finally:
            os.close(here)
    links = {
        "in_file": "a.txt",
        "in_dir": "dir",
        "in_dir_slash": "dir/",
        "abs_in": f"{ws}/a.txt",
        "abs_in_dots": f"{ws}/./dir//b.txt",
        "abs_alias": f"{base}/alias/a.txt",
        "root_link": f"{ws}",
        "dot": ".",
        "up_in": "dir/sub/..",
        "dir/sub/top": "../..",
        "dir/up_file": "../a.txt",
        "file_slash": "a.txt/",
        "out_file": "../outside/canary.txt",
        "out_abs": f"{base}/outside/canary.txt",
        "out_dir": "../outside",
        "out_dir_abs": f"{base}/outside",
        "out_root": "/",
        "out_proc": "/proc/self/root",
        "out_etc": "/etc/passwd",
        "out_prefix": f"{base}/ws-evil",
        "detour": "../ws/a.txt",
        "detour_abs": f"{base}/outside/../ws/a.txt",
        "detour_below": f"{ws}/../ws/a.txt",
        "detour_far": "dir/../../ws/a.txt",
        "dangling": "nothing.txt",
        "dangling_out": "../outside/new.txt",
        "dangling_dir": "nowhere/new.txt",
        "self": "self",
        "loop1": "loop2",
        "loop2": "loop1",
        "to_git": ".git",
        "to_git_file": ".git/config",
        "through_git": ".git/link/../../a.txt",
        "to_env": ".env",
        "to_packages": "node_modules",
        "to_ssh": ".ssh",
        "to_pipe": "pipe",
        "to_null": "/dev/null",
        "hop0": "out_file",
        "hop1": "hop0",
        "dir/sub/far": "../../../outside/canary.txt",
    }
    for number in range(MOST_LINKS + 1):
        links[f"chain{number + 1}"] = f"chain{number}" if number else "a.txt"
    for name, target in links.items():
        (ws / name).symlink_to(target)
    return base


ALL = (READ, WRITE, LIST, LOOK, REMOVE)
FILE = (READ, WRITE, REMOVE)

FORMS = [
    "", "\0", "a\0b", "a\nb", "a\tb", "a\rb", "\x1b[0m", "a\x7f", "a\x85b", "a\x9fb", "dir\\b.txt", "..\\outside",
    "\\\\host\\share", "C:", "C:/a.txt", "c:a.txt", "Z:\\x", "file:///etc/passwd", "http://x/y", "ssh+git://h/p",
    "x" * 256, "é" * 128, "dir/" + "x" * 256, "a/" * 2048, "dir/" * 1024 + "b", "a\ud800", "\udcff",
]  # fmt: skip
OUTSIDE = [
    "..", "../", "../a.txt", "../outside/canary.txt", "../ws/a.txt", "dir/../../ws/a.txt", "dir/../..", "./..",
    ".//..//x", "dir/sub/../../../outside/canary.txt", "/", "//", "/etc/passwd", "/etc", "/..", "/../etc/passwd",
    "/proc/self/environ", "/dev/null", "{base}", "{base}/outside/canary.txt", "{base}/ws-evil/x.txt",
    "{base}/ws/../outside/canary.txt", "{base}/ws/../ws/a.txt", "{base}/outside/../ws/a.txt", "{base}/wsx",
    "{base}/w", "//{base}/outside", "{base}/./ws/..", "{base}/alias/../outside/dir/x.txt", "out_dir/canary.txt",
    "out_dir/dir/x.txt", "out_dir/new.txt", "out_dir/../ws/a.txt", "out_dir_abs/canary.txt",
    "out_dir_abs/new/er.txt", "out_root/etc/passwd", "out_proc/etc/passwd", "out_prefix/x.txt",
    "in_dir/../../outside/canary.txt", "in_dir/sub/../../..", "dir/sub/top/../outside/canary.txt", "dir/sub/top/..",
    "root_link/..", "root_link/../outside/canary.txt", "dot/../outside/canary.txt", "up_in/../../x",
    "empty/../../outside/canary.txt", "dir/sub/far/x", "out_file/x", "out_file/../a.txt",
    "dir/../dir/../dir/../../ws-evil/x.txt", "in_dir/../out_dir/canary.txt", "dir/sub/top/out_dir/canary.txt",
]  # fmt: skip
# At the end of a path: `list` and the others take the last name differently.
OUTSIDE_AT_THE_END = [
    "out_file", "out_abs", "out_dir", "out_dir_abs", "out_root", "out_proc", "out_etc", "out_prefix", "detour",
    "detour_abs", "detour_below", "detour_far", "dangling_out", "to_null", "hop0", "hop1", "dir/sub/far",
    "root_link/out_file", "dot/dot/hop1", "in_dir/sub/far",
]  # fmt: skip
GIT = [
    ".git", ".git/config", ".git/new", ".git/hooks/pre-commit", ".GIT/config", ".Git", ".gIt/x", ".git./config",
    ".git /config", ".git. . /x", ".git::$INDEX_ALLOCATION/config", ".git:x", "git~1/config", "GIT~1",
    ".g\u200bit/config", "\u200d.git", ".gi\u00adt", ".git\ufeff", "．git/config", "．ｇｉｔ", ".ｇｉｔ/x",
    "\u2024git", ".\u2060git", ".git\u202e/x", "mod/.git", "mod/.git/x", "deep/er/.git/HEAD", "deep/.GIT/x",
    "a/b/c/.git/d", "./.git/config", "dir/../.git/config", "{base}/ws/.git/config", "to_git/config",
    "to_git/hooks/x", "dot/.git/config", "root_link/.git/config", ".git/../a.txt", ".git/link/../../a.txt",
    "through_git", "to_git_file", "x／.git", "node_modules/p/.git/config", ".git\u3000",
    ".git\ufe0f/config",
]  # fmt: skip
ORDINARY = {
    "a.txt": "a.txt", "./a.txt": "a.txt", ".//a.txt": "a.txt", "dir/b.txt": "dir/b.txt", "dir//b.txt": "dir/b.txt",
    "dir/./b.txt": "dir/b.txt", "dir/../a.txt": "a.txt", "dir/sub/../b.txt": "dir/b.txt",
    "dir/sub/../../a.txt": "a.txt", "{base}/ws/a.txt": "a.txt", "{base}/ws/dir/../a.txt": "a.txt",
    "/{base}/ws/a.txt": "a.txt", "{base}/./ws//a.txt": "a.txt", "in_file": "a.txt", "in_dir/b.txt": "dir/b.txt",
    "in_dir_slash/b.txt": "dir/b.txt", "abs_in": "a.txt", "abs_in_dots": "dir/b.txt", "root_link/a.txt": "a.txt",
    "root_link/root_link/in_file": "a.txt", "dot/dot/a.txt": "a.txt", "up_in/b.txt": "dir/b.txt",
    "dir/sub/top/a.txt": "a.txt", "dir/up_file": "a.txt", "in_dir/sub/top/dir/b.txt": "dir/b.txt",
    "in_dir/../a.txt": "a.txt", "up_in/../a.txt": "a.txt", f"chain{MOST_LINKS}": "a.txt",
    ".gitignore": ".gitignore", ".github/ci.yml": ".github/ci.yml", "x.git/f.txt": "x.git/f.txt",
    ".env.example": ".env.example", "keys.py": "keys.py", "~/home.txt": "~/home.txt", "$HOME/v.txt": "$HOME/v.txt",
    "%2e%2e/p.txt": "%2e%2e/p.txt", "*/star.txt": "*/star.txt", "ü/é.txt": "ü/é.txt", ".ssh/id.pub": ".ssh/id.pub",
    "...ok/t.txt": "...ok/t.txt", ".a/..b/c..txt": ".a/..b/c..txt", "empty/../a.txt": "a.txt",
}  # fmt: skip
SECRET = [
    ".env", "./.env", ".ENV", ".env.", ".env ", ".e\u200bnv", ".env:x", "dir/../.env", "to_env", "in_dir/../.env",
    "key.pem", "KEY.PEM", "secrets.py", ".ssh/config", "to_ssh/config", "{base}/ws/.env", "root_link/.env",
    ".env.local", "dir/new.env", "id_rsa", "．env",
]  # fmt: skip
PACKAGES = [
    "node_modules/x", "node_modules/p/index.js", "pkg/node_modules/q/new.js", "Node_Modules/x", "node_modules./x",
    "NODE_M~1/x", "node\u200b_modules/x", "to_packages/p/index.js", "to_packages/new.js",
    "root_link/node_modules/x", "node_modules", "a/b/node_modules/c", "ｎode_modules/x", "node_modules:x/y",
    "{base}/ws/node_modules/x", "node_modules/../a.txt",
]  # fmt: skip
OWN = [
    ".fourhands/settings.toml", ".FOURHANDS/settings.toml", "dir/.fourhands/new", ".fourhands",
    "{base}/ws/.fourhands/x", ".four\u200bhands/x", "root_link/.fourhands/x", "FOURHA~1/x", "．fourhands/x",
]  # fmt: skip
NO_FILE = [
    "dir", "empty", ".", "./.", "in_dir", "root_link", "dot", "pipe", "sock", "to_pipe", "{base}/ws", "dir/..",
    "dir/sub/top",
]  # fmt: skip


def follow(base, path, purpose, rules=AGENT, root="ws"):
    with PathWalk(Root(base / root), path.replace("{base}", str(base)), purpose, rules) as place:
        if purpose is not LIST:
            place.check_regular()
        return place.path


def snapshot(folder):
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_ino) for path in folder.rglob("*"))


@pytest.fixture(scope="module", autouse=True)
def nothing_outside_is_touched(base):
    before = snapshot(base / "outside"), snapshot(base / "ws-evil"), snapshot(base / "ws")
    yield
    assert (snapshot(base / "outside"), snapshot(base / "ws-evil"), snapshot(base / "ws")) == before


@pytest.fixture(params=[AGENT, PERSON], ids=["agent", "person"])
def anybody(request):
    return request.param


@table("path", FORMS)
@table("purpose", ALL)
def test_a_path_of_another_form_is_refused(base, path, purpose, anybody):
    with pytest.raises(BadPath, match="cannot be used") as caught:
        follow(base, path, purpose, anybody)
    assert len(caught.value.message) < 500
    caught.value.message.encode()


@table("path", OUTSIDE)
@table("purpose", ALL)
def test_a_path_that_leaves_the_workspace_is_refused(base, path, purpose, anybody):
    # A trailing slash is already a wrong form for a file.
    expected = (OutsideWorkspace, BadPath) if purpose in FILE and path.endswith("/") else OutsideWorkspace
    with pytest.raises(expected) as caught:
        follow(base, path, purpose, anybody)
    assert "CANARY" not in str(caught.value)
    assert "canary.txt" not in str(caught.value) or "canary.txt" in path


@table("path", OUTSIDE_AT_THE_END)
@table("purpose", ALL)
def test_a_link_to_the_outside_is_refused(base, path, purpose, anybody):
    with pytest.raises(OutsideWorkspace) as caught:
        follow(base, path, purpose, anybody)
    assert str(base) not in str(caught.value)


@table("path", GIT)
@table("purpose", ALL)
def test_nothing_of_git_is_reached_by_an_agent(base, path, purpose):
    with pytest.raises(DeniedPath):
        follow(base, path, purpose)


@table("path", SECRET)
@table("purpose", FILE)
def test_a_secret_file_is_neither_read_nor_written_by_an_agent(base, path, purpose):
    with pytest.raises(DeniedPath, match="secret"):
        follow(base, path, purpose)


def test_an_agent_does_not_touch_an_unfinished_write(base):
    for purpose in FILE:
        with pytest.raises(DeniedPath, match="unfinished write"):
            follow(base, "dir/.fourhands-0a1b2c.tmp", purpose)


@table("path", PACKAGES)
def test_an_agent_does_not_write_into_packages(base, path):
    with pytest.raises(DeniedPath, match="node_modules"):
        follow(base, path, WRITE)


@table("path", OWN)
def test_an_agent_does_not_change_our_settings(base, path):
    with pytest.raises(DeniedPath, match="settings of Fourhands"):
        follow(base, path, WRITE)
    with pytest.raises(DeniedPath, match="settings of Fourhands"):
        follow(base, path, REMOVE)


@pytest.mark.parametrize("path", ["node_modules/p/index.js", "pkg/node_modules/q/index.js", "to_packages/p/index.js"])
def test_an_agent_reads_packages(base, path):
    assert follow(base, path, READ).endswith("index.js")


@table(("path", "resolved"), ORDINARY.items())
@table("purpose", FILE)
def test_an_ordinary_path_is_followed_to_its_file(base, path, resolved, purpose, anybody):
    assert follow(base, path, purpose, anybody) == resolved


@table("path", NO_FILE)
@table("purpose", FILE)
def test_only_regular_files_are_read_and_written(base, path, purpose, anybody):
    with pytest.raises(NotRegular):
        follow(base, path, purpose, anybody)


@table("path", ["dir/", "a.txt/", "in_dir/", "new/"])
@table("purpose", FILE)
def test_a_trailing_slash_is_no_file(base, path, purpose, anybody):
    with pytest.raises(BadPath, match="slash"):
        follow(base, path, purpose, anybody)


@table("path", ["a.txt/x", "a.txt/.", "a.txt/..", "a.txt/../dir/b.txt", "in_file/x", "file_slash", "pipe/x"])
@table("purpose", ALL)
def test_a_file_is_not_a_directory_on_the_way(base, path, purpose, anybody):
    with pytest.raises(NotRegular, match="not a directory"):
        follow(base, path, purpose, anybody)


@table("path", ["self", "loop1", "self/x", "loop2/x/y", f"chain{MOST_LINKS + 1}", "dot/" * 41 + "a.txt"])
@table("purpose", ALL)
def test_too_many_links_are_refused(base, path, purpose, anybody):
    with pytest.raises(BadPath, match="40 links"):
        follow(base, path, purpose, anybody)


@table("path", [".git/config", "to_git_file", ".env", "to_env", "node_modules/p/index.js", "key.pem", ".ssh/config"])
@table("purpose", FILE)
def test_a_person_reaches_what_is_closed_to_agents(base, path, purpose):
    assert follow(base, path, purpose, PERSON)


@pytest.mark.parametrize("path", [".env", ".ssh/config", "key.pem"])
def test_an_agent_may_see_that_a_secret_file_is_there(base, path):
    assert follow(base, path, LOOK) == path
    assert follow(base, ".ssh", LIST) == ".ssh"


@table("path", ["nothing", "dir/nothing", "nowhere/x", "dangling", "dangling_dir", "nowhere/../a.txt"])
@table("purpose", [READ, LOOK, REMOVE, LIST])
def test_what_is_not_there_is_said_so(base, path, purpose, anybody):
    with pytest.raises(NoSuchFile, match="no file or directory"):
        follow(base, path, purpose, anybody)


def test_a_missing_file_is_answered_with_the_nearest_names(base):
    with pytest.raises(NoSuchFile) as caught:
        follow(base, "dir/sub/cc.txt", READ)
    assert "did you mean 'dir/sub/c.txt'?" in caught.value.hint
    assert isinstance(caught.value, FileNotFoundError)


def test_a_directory_is_not_made_below_a_missing_one_that_is_left_again(base):
    with pytest.raises(NoSuchFile):
        follow(base, "nowhere/../new.txt", WRITE)
    assert not (base / "ws/nowhere").exists()


@pytest.mark.parametrize("path", ["{base}/alias/a.txt", "{base}/ws/a.txt", "a.txt", "abs_alias", "abs_in"])
def test_both_the_given_and_the_resolved_root_may_stand_in_front(base, path):
    assert follow(base, path, READ, root="alias") == "a.txt"


def test_the_spelling_through_a_link_counts_only_for_the_root_that_was_given_so(base):
    with pytest.raises(OutsideWorkspace):
        follow(base, "{base}/alias/a.txt", READ)
    with pytest.raises(OutsideWorkspace):
        follow(base, "abs_alias", READ)


@pytest.mark.parametrize("root", ["{base}/nothing", "{base}/outside/canary.txt", "", "\0", 7, None])
def test_a_workspace_is_a_directory_that_exists(base, root):
    with pytest.raises(BadArgument):
        Root(root.replace("{base}", str(base)) if isinstance(root, str) else root)


@pytest.mark.parametrize("path", [None, 7, b"a.txt", ["a.txt"], True])
def test_a_path_is_text(base, path):
    with pytest.raises(BadPath, match="must be text"), PathWalk(Root(base / "ws"), path, READ, AGENT):
        pass


def test_a_path_object_is_taken(base):
    with PathWalk(Root(base / "ws"), Path("dir/b.txt"), READ, AGENT) as place:  # type: ignore[arg-type]
        assert place.path == "dir/b.txt"


def test_the_whole_disk_can_be_a_workspace(base):
    with PathWalk(Root("/"), str(base / "ws/a.txt"), READ, AGENT) as place:
        assert place.path == str(base / "ws/a.txt").lstrip("/")
    with pytest.raises(OutsideWorkspace), PathWalk(Root("/"), "/..", LOOK, AGENT):
        pass


def test_secrets_are_judged_with_the_workspace_in_front(tmp_path):
    home = tmp_path / ".aws"
    home.mkdir()
    (home / "config").write_text("x")
    with pytest.raises(DeniedPath), PathWalk(Root(home), "config", READ, AGENT):
        pass


@table("name", ["a\u202eb", "a\u200b", "\u2066x", "\u00ad", "x\ufeffy", "a\u200db", "tag\U000e0041", "a\u2028b"])
@table("path", ["{}", "dir/{}", "{}/new.txt", "new/{}/x"])
def test_no_deceiving_name_is_created(base, name, path, anybody):
    with pytest.raises(BadPath, match="invisible character"):
        follow(base, path.format(name), WRITE, anybody)
    assert not (base / "ws/new").exists()


@table(
    "name",
    [".gitignore", ".github", "x.git", "git", ".gitt", ".git-x", "git~x", "..git", "agit~1", ".gitmodules", "._git"],
)
def test_names_like_git_are_ordinary(name):
    assert not is_git_name(name)
    assert not is_packages_name(name)


@pytest.fixture
def deep(tmp_path):
    """A directory with 1,500 others inside each other, removed from the top: pytest goes down by recursion."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    yield tmp_path
    while (tmp_path / "d/d").exists():
        (tmp_path / "d/d").rename(tmp_path / "rest")
        (tmp_path / "d").rmdir()
        (tmp_path / "rest").rename(tmp_path / "d")


def test_a_very_deep_path_needs_few_descriptors(deep):
    root = Root(deep)
    with PathWalk(root, "/".join(["d"] * 1_500), LIST, AGENT) as place:
        assert len(place.names) == 1_500
        assert 0 < place.open_directories <= KEPT_OPEN
    with PathWalk(root, "d/" * 500 + "../" * 499 + "d", LIST, AGENT) as place:
        assert place.path == "d/d"
    with pytest.raises(OutsideWorkspace), PathWalk(root, "d/" * 400 + "../" * 401, LIST, AGENT):
        pass


def test_descriptors_are_closed_whatever_happens(base):
    def count():
        return len(os.listdir("/dev/fd"))

    before = count()
    for path in [*OUTSIDE, *OUTSIDE_AT_THE_END, *ORDINARY, *GIT, *NO_FILE, "nothing", "self"]:
        for purpose in ALL:
            if path == "nowhere/new.txt":
                continue
            with contextlib.suppress(FourhandsError):
                follow(base, path, purpose)
    assert count() == before


def test_made_directories_go_again_if_the_walk_fails(tmp_path):
    with pytest.raises(BadPath), PathWalk(Root(tmp_path), "new/er/est/a\u202eb", WRITE, AGENT):
        pass
    assert os.listdir(tmp_path) == []


class Meddled:
    """The system, in which something else happens beside each call."""

    def __init__(self, opened=None, made=None):
        self.opened, self.made = opened, made

    def open(self, path, flags, *, dir_fd=None):
        fd = os.open(path, flags, dir_fd=dir_fd)
        if self.opened:
            self.opened(path)
        return fd

    def fsync(self, fd):
        os.fsync(fd)

    def mkdir(self, path, *, dir_fd=None):
        if self.made:
            self.made(path, dir_fd)
        os.mkdir(path, dir_fd=dir_fd)


def test_a_directory_that_is_moved_while_it_is_left_again_is_noticed(tmp_path):
    names = [f"d{number}" for number in range(KEPT_OPEN + 4)]
    (tmp_path / "/".join(names)).mkdir(parents=True)
    (tmp_path / "gone").mkdir()

    def opened(part):
        if part == names[-1]:
            (tmp_path / "d0").rename(tmp_path / "moved")
            (tmp_path / "d0").symlink_to("gone")

    path = "/".join([*names, *[".."] * (KEPT_OPEN + 2), "x"])
    with pytest.raises(Changed), PathWalk(Root(tmp_path), path, LOOK, AGENT, system=Meddled(opened)):
        pass


def test_a_directory_that_somebody_else_makes_at_the_same_time_is_used_and_kept(tmp_path):
    rival = Meddled(made=lambda path, dir_fd: os.mkdir(path, dir_fd=dir_fd))
    with PathWalk(Root(tmp_path), "new/file", WRITE, AGENT, system=rival) as place:
        assert place.path == "new/file"
        place.unmake()
    assert (tmp_path / "new").is_dir()


def test_directories_above_one_that_somebody_else_made_stay_too(tmp_path):
    def made(path, dir_fd):
        if path == "er":
            os.mkdir(path, dir_fd=dir_fd)

    with PathWalk(Root(tmp_path), "new/er/file", WRITE, AGENT, system=Meddled(made=made)) as place:
        place.unmake()
    assert (tmp_path / "new/er").is_dir()


def test_a_hint_has_no_escape_sequences(tmp_path):
    (tmp_path / "x\x1b[31m").touch()
    (tmp_path / "xy").touch()
    with pytest.raises(NoSuchFile) as caught, PathWalk(Root(tmp_path), "x", READ, AGENT):
        pass
    assert "xy" in caught.value.hint
    assert "\x1b" not in caught.value.hint


def test_a_walk_that_follows_no_links_refuses_those_inside_the_workspace_too(base):
    for path in ("in_file", "in_dir/b.txt"):
        assert follow(base, path, READ)
        with pytest.raises(OutsideWorkspace), PathWalk(Root(base / "ws"), path, READ, AGENT, follow=False):
            pass


@table(
    ("code", "expected"),
    [
        ("EACCES", Denied),
        ("EROFS", Denied),
        ("ENOSPC", NoSpace),
        ("EDQUOT", NoSpace),
        ("EFBIG", NoSpace),
        ("ENAMETOOLONG", BadPath),
        ("EISDIR", NotRegular),
        ("ELOOP", NotRegular),
        ("ENOENT", NoSuchFile),
        ("EIO", Unavailable),
        ("EMFILE", Unavailable),
    ],
)
def test_what_the_system_says_becomes_an_error_of_ours(code, expected):
    number = getattr(errno, code)
    with pytest.raises(expected, match="'a/b'"), reported("a/b"):
        raise OSError(number, os.strerror(number))


class Swapper(threading.Thread):
    """Swaps a directory and a link to the outside for each other, as fast as it can, until told to stop."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.swaps = 0
        self.enough = threading.Event()

    def run(self):
        folder = self.folder
        while not self.enough.is_set():
            os.rename(folder / "d", folder / "d.real")
            os.rename(folder / "d.link", folder / "d")
            os.rename(folder / "d", folder / "d.link")
            os.rename(folder / "d.real", folder / "d")
            self.swaps += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        self.join()


def test_a_directory_swapped_for_a_link_never_leads_outside(tmp_path):
    root, outside = tmp_path / "ws", tmp_path / "outside"
    (root / "d").mkdir(parents=True)
    (root / "d/file").write_text("inside")
    outside.mkdir()
    (outside / "file").write_text("CANARY")
    (root / "d.link").symlink_to(outside)
    workspace = Root(root)
    seen = {"inside": 0, "refused": 0}
    before = snapshot(outside)
    with Swapper(root) as swapper:
        while swapper.swaps < 4000 and swapper.is_alive():
            for _ in range(20):
                try:
                    with PathWalk(workspace, "d/file", READ, AGENT) as place, reported("d/file"):
                        fd = place.open_file()
                        try:
                            assert os.read(fd, 100) == b"inside"
                        finally:
                            os.close(fd)
                        seen["inside"] += 1
                except FourhandsError:
                    seen["refused"] += 1
    assert seen["inside"]
    assert seen["refused"]
    assert snapshot(outside) == before


def test_a_file_swapped_for_a_link_or_a_pipe_never_leads_outside(tmp_path):
    root = tmp_path / "ws"
    root.mkdir()
    (root / "d").write_text("inside")
    (tmp_path / "secret").write_text("CANARY")
    (root / "d.link").symlink_to(tmp_path / "secret")
    workspace = Root(root)
    read = 0
    with Swapper(root) as swapper:
        while swapper.swaps < 2000 and swapper.is_alive():
            with contextlib.suppress(FourhandsError), PathWalk(workspace, "d", READ, AGENT) as place, reported("d"):
                fd = place.open_file()
                try:
                    assert os.read(fd, 100) == b"inside"
                finally:
                    os.close(fd)
                read += 1
    assert read
    # The moment that a thread rarely meets: between the look and the opening.
    with PathWalk(workspace, "d", READ, AGENT) as place, reported("d"):
        (root / "d").unlink()
        (root / "d").symlink_to(tmp_path / "secret")
        with pytest.raises(NotRegular), reported("d"):
            place.open_file()
    (root / "d").unlink()
    (root / "d").write_text("")
    with PathWalk(workspace, "d", READ, AGENT) as place:
        (root / "d").unlink()
        os.mkfifo(root / "d")
        with pytest.raises(NotRegular):
            place.open_file()
