"""Programs start on a terminal of their own, with clean signals and limits, or say why they cannot."""

import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fourhands.host import pty

ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def spawn(
    *argv: str, program: str | None = None, cwd: str = "/", env: Mapping[str, str] = ENV, **more: object
) -> pty.Spawned:
    options: dict[str, object] = {"cols": 80, "rows": 24, **more}
    return pty.spawn(program or argv[0], argv, env, cwd, **options)  # type: ignore[arg-type]


def output(spawned: pty.Spawned) -> str:
    """Everything a program prints until it ends."""
    os.set_blocking(spawned.master, True)
    text, piece = b"", b"x"
    while piece:
        try:
            piece = os.read(spawned.master, 4096)
        except OSError as error:
            if not pty.is_hangup(error):
                raise
            piece = b""
        text += piece
    os.waitpid(spawned.pid, 0)
    os.close(spawned.master)
    return text.decode().replace("\r\n", "\n")


def zombie() -> int | None:
    """A child that has ended and was not waited for; it stays one, since it may be somebody else's."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found and found.si_pid


def test_a_program_has_its_terminal_as_controlling_one_and_a_session_of_its_own() -> None:
    code = "import os; print(os.ttyname(0), os.ttyname(1), os.getsid(0) == os.getpid() == os.tcgetpgrp(0))"
    spawned = spawn(sys.executable, "-c", code)
    assert output(spawned) == f"{spawned.tty_path} {spawned.tty_path} True\n"


def test_a_program_sees_the_size() -> None:
    spawned = spawn("/bin/stty", "size", cols=132, rows=43)
    assert pty.get_size(spawned.master) == (132, 43)
    assert output(spawned) == "43 132\n"


@pytest.mark.parametrize(("cols", "rows"), [(0, 24), (80, 0), (-1, 24), (65536, 24), (80, 10**9)])
def test_a_size_that_no_terminal_has_is_refused(cols: int, rows: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ValueError, match="from 1 to 65535"):
        spawn("/bin/true", cols=cols, rows=rows)
    assert len(os.listdir("/proc/self/fd")) == before


def test_typing_erases_whole_characters_and_modes_are_seen() -> None:
    spawned = spawn("/bin/sh", "-c", "stty -a; stty -echo raw; echo now-raw; read x")
    try:
        os.set_blocking(spawned.master, True)
        text = b""
        while b"now-raw" not in text:
            text += os.read(spawned.master, 4096)
        assert b" iutf8" in text
        assert b"-iutf8" not in text
        assert pty.modes(spawned.master) == (False, False)
    finally:
        os.kill(spawned.pid, signal.SIGKILL)
        os.waitpid(spawned.pid, 0)
        os.close(spawned.master)


def test_ignored_and_blocked_signals_are_not_inherited() -> None:
    numbers = [signal.SIGINT, signal.SIGHUP, signal.SIGTSTP, signal.SIGUSR1]
    old = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        spawned = spawn("/bin/sh", "-c", "grep -E 'Sig(Ign|Blk)' /proc/self/status")
        blocked, ignored = (int(line.split()[1], 16) for line in output(spawned).splitlines())
        assert (blocked, ignored & 0x7FFFFFFF) == (0, 0)  # the C library ignores two signals of its own above
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})
        for number, handler in old.items():
            signal.signal(number, handler)


def test_a_program_is_given_the_descriptor_limit_that_we_had() -> None:
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (777, old[1]))
    try:
        limit = pty.raise_descriptor_limit()
        assert limit == (777, old[1])
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (old[1], old[1])
        many = [os.dup(0) for _ in range(800)]  # more than the child may have
        spawned = spawn("/bin/sh", "-c", "ulimit -Sn", descriptor_limit=limit)
        for fd in many:
            os.close(fd)
        assert output(spawned) == "777\n"
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (old[1], old[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, old)


@pytest.mark.parametrize(
    ("program", "cwd", "stage", "error"),
    [
        ("/nowhere/program", "/", "program", FileNotFoundError),
        ("/etc/passwd/x", "/", "program", NotADirectoryError),
        ("/etc", "/", "program", PermissionError),
        ("text", ".", "program", PermissionError),
        ("/bin/true", "/nowhere", "cwd", FileNotFoundError),
        ("/bin/true", "/etc/passwd", "cwd", NotADirectoryError),
    ],
)
def test_what_cannot_be_started_says_why(
    tmp_path: Path, program: str, cwd: str, stage: str, error: type[OSError]
) -> None:
    (tmp_path / "text").write_text("not a program")
    before, here, dead = len(os.listdir("/proc/self/fd")), os.getcwd(), zombie()
    with pytest.raises(pty.SpawnError) as caught:
        spawn("x", program=program, cwd=str(tmp_path) if cwd == "." else cwd)
    assert caught.value.stage == stage
    assert isinstance(caught.value.__cause__, error)
    assert caught.value.errno == caught.value.__cause__.errno
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.getcwd() == here
    assert zombie() == dead


@pytest.mark.parametrize("bad", [{"env": {"A=B": "x"}}, {"env": {"A": "\0"}}, {"cwd": "\0"}, {"program": "a\0b"}])
def test_names_that_the_system_cannot_take_are_refused(bad: dict[str, object]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ValueError, match=r"null|illegal"):
        spawn("/bin/true", **bad)  # type: ignore[arg-type]
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_was_typed_and_not_read_is_counted() -> None:
    spawned = spawn("/bin/sleep", "1000")
    try:
        reader = os.open(spawned.tty_path, os.O_RDONLY | os.O_NOCTTY)
        for _ in range(300):  # seen at once, although the kernel carries it over in its own time
            assert pty.unread(spawned.master) == 0
            os.write(spawned.master, b"four\n")
            assert pty.unread(spawned.master) == 5
            assert os.read(reader, 100) == b"four\n"
        os.close(reader)
        assert pty.unread(-1, "/nowhere") == 0
    finally:
        os.kill(spawned.pid, signal.SIGKILL)
        os.waitpid(spawned.pid, 0)
        os.close(spawned.master)
