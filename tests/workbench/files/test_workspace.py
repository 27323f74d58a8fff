"""Reading, writing, listing and removing the files of a workspace."""

import contextlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading

import msgspec
import pytest
from tests.kit.system import System

from fourhands.core.errors import BadArgument, Conflict, Denied, FourhandsError
from fourhands.safety.paths.errors import (
    BadPath,
    DeniedPath,
    FileTooLarge,
    NoSpace,
    NoSuchFile,
    NotRegular,
    OutsideWorkspace,
)
from fourhands.workbench.files.replacement import ABSENT, REPLACING, keep_owner_and_mode, version_of
from fourhands.workbench.files.workspace import DirectoryEntry, FileSettings, Workspace

SMALL = FileSettings(read_limit_bytes=100, write_limit_bytes=200, list_limit=5)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "ws"
    (folder / "dir/sub").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"hello\n")
    (folder / "dir/b.txt").write_bytes(b"0123456789")
    (folder / ".env").write_bytes(b"TOKEN=1")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_bytes(b"[core]")
    return folder


@pytest.fixture
def workspace(root):
    return Workspace(root)


def names(root):
    return sorted(
        os.path.relpath(os.path.join(where, name), root) for where, _, files in os.walk(root) for name in files
    )


class TestReading:
    def test_the_whole_file(self, workspace):
        assert workspace.read("a.txt") == b"hello\n"

    @pytest.mark.parametrize(
        ("offset", "limit", "expected"),
        [
            (0, 3, b"012"),
            (3, 4, b"3456"),
            (8, 50, b"89"),
            (10, 5, b""),
            (99, 5, b""),
            (4, None, b"456789"),
            (0, 0, b""),
        ],
    )
    def test_a_range(self, workspace, offset, limit, expected):
        assert workspace.read("dir/b.txt", offset=offset, limit=limit) == expected

    @pytest.mark.parametrize("wrong", [-1, 1.5, "3", True, None])
    def test_a_range_is_made_of_numbers(self, workspace, wrong):
        with pytest.raises(BadArgument, match="offset"):
            workspace.read("a.txt", offset=wrong)
        if wrong is not None:
            with pytest.raises(BadArgument, match="limit"):
                workspace.read("a.txt", limit=wrong)

    def test_a_file_beyond_the_limit_names_size_limit_and_way_out(self, root):
        (root / "big").write_bytes(b"x" * 101)
        workspace = Workspace(root, settings=SMALL)
        with pytest.raises(FileTooLarge, match="101 bytes; at most 100") as caught:
            workspace.read("big")
        assert "offset and limit" in caught.value.hint
        assert caught.value.data["size"] == 101
        assert workspace.read("big", offset=1) == b"x" * 100
        assert workspace.read("big", limit=100) == b"x" * 100
        with pytest.raises(FileTooLarge):
            workspace.read("big", limit=101)
        with pytest.raises(FileTooLarge):
            workspace.read_text("big")
        assert workspace.version("big") == version_of(b"x" * 101)

    def test_a_huge_sparse_file_is_read_by_range(self, workspace, root):
        with open(root / "huge", "wb") as file:
            file.truncate(1 << 40)
            file.seek((1 << 40) - 3)
            file.write(b"end")
        assert workspace.read("huge", offset=(1 << 40) - 3) == b"end"
        with pytest.raises(FileTooLarge, match=str(1 << 40)):
            workspace.read("huge")

    def test_a_file_that_grows_meanwhile_stays_within_the_limit(self, root):
        def growing(fd, size, offset):
            with open(root / "a.txt", "ab") as file:
                file.write(b"x" * 60)
            return os.pread(fd, size, offset)

        workspace = Workspace(root, settings=SMALL, system=System(pread=growing))
        with pytest.raises(FileTooLarge):
            workspace.read("a.txt")

    @pytest.mark.parametrize(
        ("data", "encoding", "text"),
        [
            (b"plain\n", "utf-8", "plain\n"),
            (b"", "utf-8", ""),
            ("grün €".encode(), "utf-8", "grün €"),
            (b"\xef\xbb\xbfmarked", "utf-8-sig", "marked"),
            (b"\xff\xfea\0b\0", "utf-16-le", "ab"),
            (b"\xfe\xff\0a\0b", "utf-16-be", "ab"),
            (b"\xff\xfe\0\0a\0\0\0", "utf-32-le", "a"),
            (b"gr\xfcn\r\n", "latin-1", "grün\r\n"),
            (b"a\r\nb\rc", "utf-8", "a\r\nb\rc"),
        ],
    )
    def test_text_comes_back_as_the_same_bytes(self, workspace, root, data, encoding, text):
        (root / "t").write_bytes(data)
        read = workspace.read_text("t")
        assert (read.text, read.encoding, read.binary, read.size, read.path) == (text, encoding, False, len(data), "t")
        assert read.version == version_of(data) == workspace.version("t")
        workspace.write_text("t", read.text, encoding=read.encoding, expected_version=read.version)
        assert (root / "t").read_bytes() == data

    @pytest.mark.parametrize("data", [b"\0", b"\x7fELF\0\0", b"text\0", b"x" * 9000 + b"\xff\0", b"\xff\xfea"])
    def test_a_binary_file_has_no_text_and_says_so(self, workspace, root, data):
        (root / "bin").write_bytes(data)
        read = workspace.read_text("bin")
        if data == b"\xff\xfea":  # half a character: not UTF-16 after all
            assert read.encoding == "latin-1"
        else:
            assert (read.binary, read.text) == (True, "")

    def test_a_missing_file_is_answered_with_what_is_there(self, workspace):
        with pytest.raises(NoSuchFile, match=r"no file or directory 'dir/bb\.txt'") as caught:
            workspace.read("dir/bb.txt")
        assert "dir/b.txt" in caught.value.hint
        assert workspace.version("dir/bb.txt") == ABSENT


class TestWriting:
    def test_a_new_file_with_its_directories(self, workspace, root):
        written = workspace.write("x/y/z.txt", b"new")
        assert (root / "x/y/z.txt").read_bytes() == b"new"
        assert (written.created, written.version, written.path) == (True, version_of(b"new"), "x/y/z.txt")

    def test_replacing_keeps_mode_and_owner(self, workspace, root):
        path = root / "a.txt"
        path.chmod(0o751)
        if os.geteuid() == 0:
            os.chown(path, 12345, 23456)
        before = path.stat()
        written = workspace.write("a.txt", b"other")
        after = path.stat()
        assert not written.created
        assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o751, before.st_uid, before.st_gid)
        assert path.read_bytes() == b"other"

    def test_set_uid_does_not_survive_new_content(self, workspace, root):
        (root / "a.txt").chmod(0o6755)
        workspace.write("a.txt", b"#!/bin/sh")
        assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o755

    def test_a_new_file_has_the_mode_that_the_umask_leaves(self, workspace, root):
        old = os.umask(0o027)
        try:
            workspace.write("n/new", b"")
        finally:
            os.umask(old)
        assert stat.S_IMODE((root / "n/new").stat().st_mode) == 0o640
        assert stat.S_IMODE((root / "n").stat().st_mode) == 0o750

    def test_hard_linked_content_elsewhere_does_not_change(self, workspace, root, tmp_path):
        (tmp_path / "twin").write_bytes(b"before")
        os.link(tmp_path / "twin", root / "linked")
        workspace.write("linked", b"after")
        assert (tmp_path / "twin").read_bytes() == b"before"
        assert (root / "linked").read_bytes() == b"after"

    def test_a_link_stays_a_link(self, workspace, root):
        (root / "link").symlink_to("dir/b.txt")
        written = workspace.write("link", b"through")
        assert (root / "link").is_symlink()
        assert (root / "dir/b.txt").read_bytes() == b"through"
        assert written.path == "dir/b.txt"

    def test_a_dangling_link_inside_makes_its_target(self, workspace, root):
        (root / "link").symlink_to("far/away.txt")
        assert workspace.write("link", b"x").path == "far/away.txt"

    @pytest.mark.parametrize("wrong", ["text", None, 7, ["x"]])
    def test_content_is_bytes(self, workspace, wrong):
        with pytest.raises(BadArgument, match="must be bytes"):
            workspace.write("a.txt", wrong)

    def test_a_version_is_text(self, workspace):
        with pytest.raises(BadArgument, match="expected version"):
            workspace.write("a.txt", b"", expected_version=3)

    @pytest.mark.parametrize(
        ("text", "encoding", "complaint"),
        [
            ("a\ud800", "utf-8", "U\\+D800"),
            ("€", "latin-1", "U\\+20AC"),
            ("a", "klingon", "unknown encoding"),
            (b"", "utf-8", "text"),
        ],
    )
    def test_text_that_cannot_be_written_is_refused(self, workspace, text, encoding, complaint):
        with pytest.raises(BadArgument, match=complaint):
            workspace.write_text("a.txt", text, encoding=encoding)
        assert workspace.read("a.txt") == b"hello\n"

    def test_too_much_is_refused_before_anything_is_touched(self, root):
        with pytest.raises(FileTooLarge, match="201 bytes"):
            Workspace(root, settings=SMALL).write("new/file", b"x" * 201)
        assert not (root / "new").exists()

    def test_versions_protect_what_somebody_else_wrote(self, workspace, root):
        version = workspace.version("a.txt")
        (root / "a.txt").write_bytes(b"person")
        with pytest.raises(Conflict, match="has changed") as caught:
            workspace.write("a.txt", b"agent", expected_version=version)
        assert caught.value.data["version"] == version_of(b"person")
        assert (root / "a.txt").read_bytes() == b"person"
        workspace.write("a.txt", b"agent", expected_version=version_of(b"person"))
        assert names(root) == [".env", ".git/config", "a.txt", "dir/b.txt"]

    def test_a_file_that_is_to_be_new_does_not_replace_one(self, workspace, root):
        with pytest.raises(Conflict, match="exists already"):
            workspace.write("a.txt", b"x", expected_version=ABSENT)
        workspace.write("new", b"x", expected_version=ABSENT)
        (root / "new").unlink()
        with pytest.raises(Conflict, match="is gone"):
            workspace.write("new", b"y", expected_version=version_of(b"x"))

    def test_of_many_writers_with_one_version_exactly_one_wins(self, root):
        person, agent = Workspace(root, person=True), Workspace(root)
        for turn in range(30):
            version = agent.version("a.txt")
            won: list[int] = []
            ready = threading.Barrier(4)

            def write(number, view, turn=turn, version=version, won=won, ready=ready):
                ready.wait()
                with contextlib.suppress(Conflict):
                    view.write("a.txt", f"{turn} {number}".encode(), expected_version=version)
                    won.append(number)

            writers = [threading.Thread(target=write, args=(n, person if n % 2 else agent)) for n in range(4)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            assert [f"{turn} {number}".encode() for number in won] == [(root / "a.txt").read_bytes()]

    def test_counting_by_several_hands_loses_nothing(self, root):
        (root / "count").write_bytes(b"0")

        def count(view):
            for _ in range(25):
                while True:
                    read = view.read_text("count")
                    try:
                        view.write("count", str(int(read.text) + 1).encode(), expected_version=read.version)
                        break
                    except Conflict:
                        continue

        hands = [threading.Thread(target=count, args=(Workspace(root, person=bool(n)),)) for n in range(2)]
        for hand in hands:
            hand.start()
        for hand in hands:
            hand.join()
        assert (root / "count").read_bytes() == b"50"

    def test_a_reader_sees_the_old_or_the_new_content_and_nothing_between(self, workspace):
        old, new = b"o" * 300_000, b"n" * 200_000
        workspace.write("f", old)
        done = threading.Event()

        def swap():
            for turn in range(60):
                workspace.write("f", new if turn % 2 else old)
            done.set()

        writer = threading.Thread(target=swap)
        writer.start()
        while not done.is_set():
            assert workspace.read("f") in (old, new)
        writer.join()

    def test_a_file_that_may_not_be_written_is_not_replaced(self, root):
        workspace = Workspace(root, system=System(access=lambda *_, **__: False))
        with pytest.raises(Denied, match="read-only"):
            workspace.write("a.txt", b"x")
        assert workspace.read("a.txt") == b"hello\n"

    def test_an_owner_that_cannot_be_given_does_not_stop_a_write(self, root):
        status = os.stat(root / "a.txt")
        asked = []

        def refuse(fd, uid, gid):
            asked.append((uid, gid))
            raise PermissionError

        foreign = os.stat_result([*status[:4], status.st_uid + 1, status.st_gid + 1, *status[6:]])
        with open(root / "a.txt") as file:
            keep_owner_and_mode(file.fileno(), foreign, System(fchown=refuse))
        assert asked == [(status.st_uid + 1, status.st_gid + 1), (-1, status.st_gid + 1)]

    def test_a_directory_in_the_way_at_the_last_moment_is_refused(self, root):
        def late(*args, **kwargs):
            (root / "new").mkdir()
            os.rename(*args, **kwargs)

        workspace = Workspace(root, system=System(rename=late))
        with pytest.raises(NotRegular):
            workspace.write("new", b"x")
        assert os.listdir(root / "new") == []
        assert not [name for name in os.listdir(root) if name.startswith(".fourhands")]


class TestFailure:
    def test_a_power_failure_finds_the_content_and_then_its_name_on_disk(self, root):
        done = []

        def synced(fd):
            done.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "content")
            os.fsync(fd)

        def renamed(*args, **more):
            done.append("name" if REPLACING.locked() else "name without the lock")
            os.rename(*args, **more)

        def unlinked(*args, **more):
            done.append("gone" if REPLACING.locked() else "gone without the lock")
            os.unlink(*args, **more)

        workspace = Workspace(root, system=System(fsync=synced, rename=renamed, unlink=unlinked))
        written = workspace.write("a.txt", b"new")
        assert done == ["content", "name", "directory"]
        done.clear()
        workspace.remove("a.txt", expected_version=written.version)
        assert done == ["gone", "directory"]

    def test_new_content_is_closed_until_it_has_the_old_mode(self, root):
        seen = []

        os.chmod(root / "a.txt", 0o644)
        status = os.stat(root / "a.txt")

        def fchmod(fd, mode):
            seen.append((stat.S_IMODE(os.fstat(fd).st_mode), mode))
            os.fchmod(fd, mode)

        workspace = Workspace(root, system=System(fchmod=fchmod))
        before = os.umask(0)
        try:
            workspace.write("a.txt", b"new")
        finally:
            os.umask(before)
        assert seen == [(0o600, 0o644)]
        assert os.stat(root / "a.txt").st_mode == status.st_mode

    def test_no_hint_carries_a_files_escape_sequences(self, workspace, root):
        (root / "x\x1b]0;owned\x07").write_bytes(b"")
        with pytest.raises(NoSuchFile) as caught:
            workspace.read("nothing")
        assert "a.txt" in caught.value.hint
        assert caught.value.hint.isprintable()

    def test_an_interrupted_write_leaves_no_litter(self, root):
        def interrupted(fd):
            raise KeyboardInterrupt

        before = names(root)
        workspace = Workspace(root, system=System(fsync=interrupted))
        with pytest.raises(KeyboardInterrupt):
            workspace.write("a.txt", b"x")
        assert names(root) == before
        assert workspace.read("a.txt") == b"hello\n"

    def test_the_largest_file_size_leaves_the_old_file_and_no_litter(self, root):
        # In a child: the limit holds for a whole process.
        before = names(root)
        script = (
            "import sys, resource, signal\n"
            "from fourhands.workbench.files.workspace import Workspace\n"
            "from fourhands.safety.paths.errors import NoSpace\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "workspace = Workspace(sys.argv[1])\n"
            "for path in ('a.txt', 'new/er/file'):\n"
            "    try: workspace.write(path, b'x' * 10000)\n"
            "    except NoSpace as error: print(error.code)\n"
        )
        done = subprocess.run([sys.executable, "-c", script, root], capture_output=True, text=True, timeout=40)
        assert done.stdout.split() == ["no-space", "no-space"], done.stderr
        assert names(root) == before
        assert not (root / "new").exists()
        assert (root / "a.txt").read_bytes() == b"hello\n"

    def test_a_full_disk_leaves_the_old_file_and_no_litter(self, tmp_path):
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = shutil.which("mount")
        made = mount and os.geteuid() == 0 and subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True
        ).returncode == 0  # fmt: skip
        if not made:
            pytest.skip("a small file system can be mounted by root only")
        try:
            workspace = Workspace(disk)
            workspace.write("old", b"old" * 1000)
            for path in ("old", "new", "deep/er/new"):
                with pytest.raises(NoSpace, match="No space"):
                    workspace.write(path, b"x" * 100_000)
            assert os.listdir(disk) == ["old"]
            assert workspace.read("old") == b"old" * 1000
            workspace.write("old", b"fits again")
        finally:
            subprocess.run(["umount", disk], check=True)

    @pytest.mark.parametrize("attempt", range(6))
    def test_a_killed_writer_leaves_the_old_or_the_new_content(self, root, attempt):
        old, new = b"o" * 2_000_000, b"n" * 2_000_000
        (root / "f").write_bytes(old)
        script = (
            "import sys\n"
            "from fourhands.workbench.files.workspace import Workspace\n"
            "workspace = Workspace(sys.argv[1])\n"
            "print('ready', flush=True)\n"
            "for turn in range(10**6):\n"
            "    workspace.write('f', (b'n' if turn % 2 == 0 else b'o') * 2000000)\n"
            "    print(turn, flush=True)\n"
        )
        with subprocess.Popen([sys.executable, "-c", script, root], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            for _ in range(attempt):  # killed at another moment each time, in the middle of the next write
                child.stdout.readline()
            os.kill(child.pid, signal.SIGKILL)
        assert (root / "f").read_bytes() in (old, new)
        # What a killed writer was at is shown to nobody.
        view = Workspace(root)
        assert not [entry for entry in view.list(".") if "fourhands" in entry.name]
        for left in (name for name in os.listdir(root) if name.startswith(".fourhands")):
            with pytest.raises(DeniedPath):
                view.read(left)

    def test_descriptors_are_given_back(self, workspace):
        before = len(os.listdir("/dev/fd"))
        for _ in range(50):
            workspace.write("x/y", b"1")
            workspace.read_text("x/y")
            workspace.list("x")
            workspace.stat("x/y")
            for path in ("..", "nothing", "x", ".env", "a\0"):
                for call in (workspace.read, workspace.list, workspace.remove):
                    with contextlib.suppress(FourhandsError):
                        call(path)
            workspace.remove("x/y")
        assert len(os.listdir("/dev/fd")) == before

    def test_too_few_descriptors_are_an_error_and_no_damage(self, workspace):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 8, hard))
        try:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(os.open("/dev/null", os.O_RDONLY))
            os.close(taken.pop())
            with pytest.raises(FourhandsError) as caught:
                workspace.write("dir/sub/new", b"x")
        finally:
            for fd in taken:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert caught.value.code == "unavailable"


class TestListing:
    def test_kinds_sizes_and_order(self, workspace, root):
        (root / "link").symlink_to("/etc")
        os.mkfifo(root / "pipe")
        listed = workspace.list(".")
        assert [(entry.name, entry.kind) for entry in listed] == [
            (".git", "directory"),
            ("dir", "directory"),
            (".env", "file"),
            ("a.txt", "file"),
            ("link", "link"),
            ("pipe", "other"),
        ]
        found = next(entry for entry in listed if entry.name == "a.txt")
        assert found.size == 6
        assert found.modified == pytest.approx((root / "a.txt").stat().st_mtime)
        assert [entry.path for entry in workspace.list("dir/")] == ["dir/sub", "dir/b.txt"]

    @pytest.mark.parametrize(
        ("path", "error"), [("a.txt", NotRegular), ("..", OutsideWorkspace), (".git", DeniedPath), ("none", NoSuchFile)]
    )
    def test_only_open_directories_are_listed(self, workspace, path, error):
        with pytest.raises(error):
            workspace.list(path)

    def test_a_link_is_followed_inside_only(self, workspace, root):
        (root / "in").symlink_to("dir")
        (root / "out").symlink_to("/etc")
        assert [entry.path for entry in workspace.list("in")] == ["dir/sub", "dir/b.txt"]
        with pytest.raises(OutsideWorkspace):
            workspace.list("out")

    def test_a_directory_beyond_the_limit_says_so(self, root):
        for number in range(6):
            (root / f"dir/sub/{number}").touch()
        with pytest.raises(FileTooLarge, match="more than 5 entries"):
            Workspace(root, settings=SMALL).list("dir/sub")

    def test_a_name_that_is_not_utf8_can_be_sent(self, workspace, root):
        try:
            os.close(os.open(os.fsencode(root) + b"/dir/sub/\xff\xfe", os.O_CREAT | os.O_WRONLY))
        except OSError:
            pytest.skip("this file system takes UTF-8 names only")
        (entry,) = workspace.list("dir/sub")
        assert entry.name == "\ufffd\ufffd"
        assert msgspec.json.decode(msgspec.json.encode(entry), type=DirectoryEntry) == entry
        with pytest.raises(BadPath):
            workspace.read("dir/sub/\udcff\udcfe")

    def test_a_name_that_goes_away_meanwhile_is_left_out(self, root):
        @contextlib.contextmanager
        def vanishing(fd):
            with os.scandir(fd) as entries:
                found = list(entries)
                (root / "a.txt").unlink()
                yield found

        workspace = Workspace(root, system=System(scandir=vanishing))
        assert "a.txt" not in [entry.name for entry in workspace.list(".")]

    def test_stat_follows_links_and_gives_the_one_path(self, workspace, root):
        (root / "in").symlink_to("dir")
        assert workspace.stat("in/b.txt").path == "dir/b.txt"
        assert workspace.stat("in").kind == "directory"
        assert workspace.stat(".").path == "."
        assert workspace.stat(str(root)).kind == "directory"
        with pytest.raises(NoSuchFile):
            workspace.stat("nothing")


class TestRemoving:
    def test_a_created_file_is_undone(self, workspace, root):
        written = workspace.write("new", b"x")
        workspace.remove("new", expected_version=written.version)
        assert not (root / "new").exists()

    def test_what_somebody_has_edited_stays(self, workspace, root):
        written = workspace.write("new", b"x")
        (root / "new").write_bytes(b"y")
        with pytest.raises(Conflict):
            workspace.remove("new", expected_version=written.version)
        assert (root / "new").read_bytes() == b"y"

    @pytest.mark.parametrize(("path", "error"), [("dir", NotRegular), ("none/x", NoSuchFile), (".env", DeniedPath)])
    def test_only_files_that_are_there_and_open(self, workspace, root, path, error):
        with pytest.raises(error):
            workspace.remove(path)
        assert not (root / "none").exists()


class TestPerson:
    def test_a_person_edits_what_is_closed_to_agents(self, root):
        person = Workspace(root, person=True)
        assert person.read(".env") == b"TOKEN=1"
        person.write(".env", b"TOKEN=2")
        person.write("node_modules/x.js", b"")
        assert person.read(".git/config") == b"[core]"
        assert [entry.name for entry in person.list(".git")] == ["config"]

    @pytest.mark.parametrize("path", ["../x", "/etc/passwd", "out/x", "out"])
    def test_a_person_stays_inside_too(self, root, path):
        (root / "out").symlink_to("..")
        person = Workspace(root, person=True)
        for call in (
            person.read,
            person.list,
            person.stat,
            person.remove,
            person.version,
            lambda p: person.write(p, b""),
        ):
            with pytest.raises(OutsideWorkspace):
                call(path)

    def test_the_list_of_secrets_can_be_changed(self, root):
        (root / "plan.vault").write_bytes(b"x")
        settings = FileSettings(secret_names_extra=("*.vault",), secret_names_removed=(".env", "*.env"))
        agent = Workspace(root, settings=settings)
        assert agent.read(".env") == b"TOKEN=1"
        with pytest.raises(DeniedPath):
            agent.read("plan.vault")
        assert agent.root == str(root)
