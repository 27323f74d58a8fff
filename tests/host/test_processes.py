"""What the kernel tells of processes, read while they come and go."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fourhands.host import processes


def test_a_process_is_described_whatever_its_name(tmp_path: Path) -> None:
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sleep")
    child = subprocess.Popen([program, "1000"], start_new_session=True)
    try:
        found = processes.look(child.pid)
        assert found is not None
        assert (found.name, found.parent, found.session) == (program.name, os.getpid(), child.pid)
        assert processes.scan()[child.pid].started == found.started
    finally:
        child.kill()
        child.wait()
    assert processes.look(child.pid) is None
    assert processes.look(-1) is None


def test_zombies_are_left_out_of_a_scan() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    found = processes.look(child.pid)
    assert found is not None
    assert found.state == "Z"
    assert child.pid not in processes.scan()
    child.wait()


def test_half_a_line_of_a_vanishing_process_is_no_process() -> None:
    assert processes.parse(1, b"1 (half") is None
    assert processes.parse(1, b"") is None


@pytest.mark.parametrize("way", ["held", "no pidfd", "none left"])
def test_a_signal_reaches_exactly_the_process_that_was_seen(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "no pidfd":
        monkeypatch.delattr(os, "pidfd_open")
    elif way == "none left":

        def refuse(pid: int) -> int:
            raise OSError(24, "too many open files")

        monkeypatch.setattr(os, "pidfd_open", refuse)
    child = subprocess.Popen(["sleep", "1000"])
    try:
        found = processes.look(child.pid)
        assert found is not None
        older = processes.Process(found.pid, 0, 0, 0, 0, "S", found.started - 1, "")
        processes.send_signals(older, [signal.SIGKILL])  # the number is somebody else's by now
        assert child.poll() is None
        processes.send_signals(found, [signal.SIGUSR1])
        assert child.wait(40) == -signal.SIGUSR1
    finally:
        child.kill()
        child.wait()
    processes.send_signals(found, [signal.SIGKILL])  # gone: nothing happens


def test_listening_ports_are_found_with_their_process() -> None:
    code = "import socket,sys; s=[]\nfor h,f in (('127.0.0.1',socket.AF_INET),('::1',socket.AF_INET6)):\n"
    code += " x=socket.socket(f); x.bind((h,0)); x.listen(); s.append(x)\n"
    code += "print(*(x.getsockname()[1] for x in s), flush=True); sys.stdin.read()"
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        ports = [int(word) for word in child.stdout.readline().split()]
        process = processes.look(child.pid)
        gone = processes.Process(2**22 - 1, 0, 0, 0, 0, "S", 0, "")
        assert process is not None
        assert processes.listening([gone, process]) == dict.fromkeys(ports, child.pid)
        assert child.stdin is not None
        child.stdin.close()


def test_marks_are_read_once_in_a_process_life() -> None:
    child = subprocess.Popen(["sleep", "1000"], env={processes.MARK: "term_x", "PATH": os.environ["PATH"]})
    try:
        marks = processes.TagIndex()
        first = processes.Table(processes.scan(), os.getpid())
        assert marks.carriers(first, "term_x") == [child.pid]
        assert marks.carriers(first, "term_y") == []
        assert {p.pid for p in first.members(main=0, tty=0, terminal="term_x", alive=False, marks=marks)} == {child.pid}
    finally:
        child.kill()
        child.wait()
    assert marks.carriers(processes.Table(processes.scan(), os.getpid()), "term_x") == []
    assert processes.tag_of(child.pid) == ""


def test_a_group_is_found_near_its_terminal_and_otherwise_anywhere() -> None:
    child = subprocess.Popen(["sh", "-c", "sleep 1000 & sleep 1000"], start_new_session=True)
    try:
        names: list[str] = []
        while names != ["sh", "sleep", "sleep"]:
            found = processes.group_of(child.pid, child.pid)
            names = sorted(p.name for p in found)
        assert {p.pid for p in processes.group_of(2**22 - 1, child.pid)} == {p.pid for p in found}
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_who_cannot_be_looked_into_is_said_to_be_unreadable() -> None:
    assert processes.waits_for_terminal(processes.Process(2**22 - 1, 0, 0, 0, 0, "S", 0, ""), 5) == "unreadable"
    assert processes.waits_for_terminal(processes.Process(2**22 - 1, 0, 0, 0, 0, "R", 0, ""), 5) == ""


def test_without_proc_there_is_nobody() -> None:
    assert processes.scan(have_proc=False) == {}
