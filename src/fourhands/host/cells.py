"""Cells: sandboxes that the host has started, each with a spawner inside that starts programs for it (`spawner.py`).

The host is trusted, the spawner is not: whatever runs in its sandbox may have taken it over. So its frames are
bounded, it is answered to nothing that was not asked, and of descriptors only two kinds are taken from it: the
directory of its terminals, once, and one of each process that it was asked to start, which must stem from this very
sandbox. Terminals and pipes are made by the host. Nothing here waits: every request has a deadline, and a spawner that
misses it is ended with its sandbox. A cell ends with the host at the latest.
"""

import contextlib
import errno
import fcntl
import os
import select
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fourhands.host import processes, pty, spawner
from fourhands.host.connection import IN, OUT
from fourhands.host.hosted import note
from fourhands.host.protocol import Message, MessageSocket, WireError

if TYPE_CHECKING:
    from fourhands.host.host import Host

START_S = 10.0
"""Seconds that a sandbox may take until its spawner is ready."""

ANSWER_S = 8.0
"""Seconds that a spawner may take to start a program."""

REPORT_S = 2.0
"""Seconds that the exit status of a process may come after its end; then it stays unknown."""

GONE_S = 3.0
"""Seconds that killed processes may take to be gone; then who waits for that is told all the same."""

LOOK_S = 0.02

FRAME_LARGEST = 64 * 1024
"""Bytes of a message of a spawner."""

WORDS_LARGEST = 4096
"""Bytes that are kept of what the builder of a sandbox says."""

MOST_CELLS = 256

_MOST_FDS = 4
_SOURCE = Path(spawner.__file__).read_bytes()  # of this host's own version, even after an update

Done = Callable[[Message, int], None]
"""Takes the answer to a start: nothing or an `error`, and the process."""


class CellError(Exception):
    """A sandbox that could not be started, or is not there."""


class CellProcess:
    """A program that was started in a cell; `status` is as `waitpid` has it, None while it is not known."""

    def __init__(self, pid: int, handle: int, on_exit: Callable[[int | None], None]) -> None:
        self.pid = pid
        self.handle = handle
        self.on_exit = on_exit
        self.status: int | None = None
        self.ended = False


class HostedCell:
    """One sandbox: its builder, a child of the host, and the way to the spawner inside."""

    def __init__(self, name: str, pid: int, wire: MessageSocket, words: int, meta: Message) -> None:
        self.name = name
        self.pid = pid
        self.wire = wire
        self.meta = meta
        self.ready = False
        self.gone = ""  # why, once it is
        self.terminals = -1
        self.words = b""
        self.words_fd = words
        self.number = 0
        self.asked: dict[int, tuple[Done, Callable[[int | None], None]]] = {}
        self.processes: dict[int, CellProcess] = {}
        self.waiters: list[Callable[[str], None]] = []  # told "" when it is ready, or else why not

    def said(self) -> str:
        """Return the last lines of its builder."""
        lines = self.words.decode("utf-8", "replace").strip().splitlines()
        return "; ".join(line.strip() for line in lines[-3:])[-500:]


class HostCells:
    """The cells of a host."""

    def __init__(self, host: "Host") -> None:
        self._host = host
        self.by_name: dict[str, HostedCell] = {}
        self._ending: dict[int, list[Callable[[], None]]] = {}  # by the process of the builder
        self._dying: dict[int, list[processes.Process]] = {}  # the same: what was killed with it
        self._wires: dict[int, HostedCell] = {}
        self._words: dict[int, HostedCell] = {}
        self._handles: dict[int, tuple[HostedCell, int]] = {}

    # -- life ------------------------------------------------------------------------------------------------------

    def start(
        self,
        name: str,
        program: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        meta: Message,
        done: Callable[[str], None],
    ) -> None:
        """Start a sandbox; `done` is told when its spawner is ready, or why it is not. One that is there is kept."""
        known = self.by_name.get(name)
        if known is not None:
            if known.ready:
                done("")
            else:
                known.waiters.append(done)
            return
        if len(self.by_name) >= MOST_CELLS:
            raise CellError(f"there are {MOST_CELLS} sandboxes already")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        reading, writing = os.pipe()
        source = _offered(_SOURCE)
        try:
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, spawner.SOURCE_FD + 1) for fd in (theirs.fileno(), source)]
            try:
                actions = [
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDWR, 0),
                    (os.POSIX_SPAWN_DUP2, writing, 1),
                    (os.POSIX_SPAWN_DUP2, writing, 2),
                    (os.POSIX_SPAWN_DUP2, high[0], spawner.CONTROL_FD),
                    (os.POSIX_SPAWN_DUP2, high[1], spawner.SOURCE_FD),
                ]
                pid = spawner.start(program, argv, env, cwd, actions, self._host.descriptor_limit)
            finally:
                for fd in high:
                    os.close(fd)
        except BaseException:
            ours.close()
            os.close(reading)
            raise
        finally:
            theirs.close()
            os.close(source)
            os.close(writing)
        os.set_blocking(reading, False)
        cell = HostedCell(name, pid, MessageSocket(ours, largest=FRAME_LARGEST, most_fds=_MOST_FDS), reading, meta)
        cell.waiters.append(done)
        self.by_name[name] = self._wires[ours.fileno()] = self._words[reading] = cell
        self._host.poll.register(ours.fileno(), IN)
        self._host.poll.register(reading, IN)
        self._host.later(START_S, lambda: None if cell.ready else self._lose(cell, f"not ready after {START_S:g} s"))

    def described(self) -> list[Message]:
        """Return the cells that are ready, as clients see them."""
        return [{"name": cell.name, "pid": cell.pid, "meta": cell.meta} for cell in self.by_name.values() if cell.ready]

    def get(self, name: str) -> HostedCell:
        """Return a cell that is ready."""
        cell = self.by_name.get(name)
        if cell is None or not cell.ready:
            raise CellError(f"no sandbox {name!r}")
        return cell

    def end(self, name: str, done: Callable[[], None]) -> None:
        """End a cell with all that is in it; `done` is called when that is gone. Unknown ones are no error."""
        cell = self.by_name.get(name)
        if cell is None:
            done()
            return
        self._ending.setdefault(cell.pid, []).append(done)
        self._lose(cell, "the sandbox was ended")

    def reaped(self, pid: int) -> None:
        """Take note that a child of the host is gone, which may be the builder of a cell."""
        for cell in [cell for cell in self.by_name.values() if cell.pid == pid]:
            self._hear_words(cell)
            self._lose(cell, cell.said() or "the sandbox ended")
        self._gone(self._dying.pop(pid, []), self._ending.pop(pid, []), GONE_S)

    def _gone(self, dying: list[processes.Process], waiting: list[Callable[[], None]], left_s: float) -> None:
        """Call those that wait for the end of a cell when nothing lives of what was in it."""
        if waiting and left_s > 0 and any(map(processes.lives, dying)):
            self._host.later(LOOK_S, lambda: self._gone(dying, waiting, left_s - LOOK_S))
            return
        for done in waiting:
            done()

    def close(self) -> None:
        """End all cells."""
        for cell in list(self.by_name.values()):
            self._lose(cell, "the host leaves")

    def _lose(self, cell: HostedCell, why: str) -> None:
        """Have a cell no more: kill what is in it and tell those that wait."""
        if cell.gone:
            return
        cell.gone = why
        self.by_name.pop(cell.name, None)
        if cell.ready and why != "the sandbox was ended":
            note(f"sandbox {cell.name}: {why}")
        # Before its socket closes: a spawner that hears of that ends by itself, and what it started is found no more.
        killed = processes.kill_trees([cell.pid, *(process.pid for process in cell.processes.values())])
        self._dying[cell.pid] = [process for process in killed if process.pid != cell.pid]
        self._host.poll.unregister(cell.wire.fileno())
        del self._wires[cell.wire.fileno()]
        cell.wire.close()
        self._close_words(cell)
        if cell.terminals >= 0:
            os.close(cell.terminals)
        for done, _ in cell.asked.values():
            done({"error": {"kind": "cell", "message": why}}, 0)
        cell.asked.clear()
        for number in list(cell.processes):
            self._look(cell, number)
        for waiter in cell.waiters:
            waiter(why)
        cell.waiters.clear()
        if cell.ready:
            self._host.requests.tell({"event": "cell-ended", "cell": cell.name, "reason": why})

    # -- programs --------------------------------------------------------------------------------------------------

    def run(
        self,
        cell: HostedCell,
        launch: Message,
        done: Done,
        on_exit: Callable[[int | None], None],
        *,
        tty: str = "",
        pipes: Sequence[int] = (),
    ) -> None:
        """Have a program started, on the terminal or the pipes; `on_exit` gets its status, None for an unknown one."""
        cell.number += 1
        number = cell.number
        message: Message = {
            "id": number,
            "program": str(launch["program"]),
            "argv": [str(word) for word in launch["argv"]],
            "env": {str(name): str(value) for name, value in launch["env"].items()},
            "cwd": str(launch["cwd"]),
        }
        if tty:
            message["tty"] = tty
        cell.asked[number] = (done, on_exit)
        self._send(cell, message, list(pipes))
        late = f"the sandbox did not start a program within {ANSWER_S:g} s"
        self._host.later(ANSWER_S, lambda: self._lose(cell, late) if number in cell.asked else None)

    def _send(self, cell: HostedCell, message: Message, fds: list[int] | None = None) -> None:
        if cell.gone:
            return
        try:
            more = cell.wire.send(message, fds)
            self._host.poll.modify(cell.wire.fileno(), IN | OUT if more else IN)
        except (WireError, OSError) as error:
            self._lose(cell, f"the sandbox does not listen: {error}")

    def attend(self, fd: int, mask: int) -> bool:
        """Serve a descriptor that is ready, if it belongs to a cell."""
        if fd in self._handles:
            self._look(*self._handles[fd])
        elif fd in self._wires:
            self._hear(self._wires[fd], mask)
        elif fd in self._words:
            self._hear_words(self._words[fd])
        else:
            return False
        return True

    def _close_words(self, cell: HostedCell) -> None:
        if cell.words_fd >= 0:
            self._host.poll.unregister(cell.words_fd)
            del self._words[cell.words_fd]
            os.close(cell.words_fd)
            cell.words_fd = -1

    def _hear_words(self, cell: HostedCell) -> None:
        if cell.words_fd < 0:
            return
        try:
            data = os.read(cell.words_fd, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close_words(cell)  # a closed pipe is always ready
            return
        cell.words = (cell.words + data)[-WORDS_LARGEST:]

    def _hear(self, cell: HostedCell, mask: int) -> None:
        try:
            if mask & OUT and not cell.wire.flush():
                self._host.poll.modify(cell.wire.fileno(), IN)
            messages = cell.wire.receive() if mask & ~OUT else []
        except (WireError, OSError) as error:
            self._lose(cell, f"its first process speaks nonsense: {error}")
            return
        if messages is None:
            self._hear_words(cell)
            self._lose(cell, cell.said() or "its first process ended")
            return
        for message, fds in messages:
            try:
                if not cell.gone:
                    self._take(cell, message, fds)
            except (WireError, KeyError, TypeError, ValueError) as error:
                self._lose(cell, f"its first process speaks nonsense: {error}")
            finally:
                for fd in fds:
                    os.close(fd)

    def _take(self, cell: HostedCell, message: Message, fds: list[int]) -> None:
        """Take one message; descriptors that stay in `fds` are closed."""
        if "exit" in message:
            number, status = message["exit"], message["status"]
            known = type(status) is int and 0 <= status <= 0xFFFF and (os.WIFEXITED(status) or os.WIFSIGNALED(status))
            if not known:
                raise WireError(f"an exit status {status!r:.20}")
            process = cell.processes.get(number)
            if process is None or process.status is not None:
                raise WireError("an exit of what does not run")
            process.status = status
            self._look(cell, number)
            return
        if not cell.ready:
            if "ready" not in message or len(fds) != 1 or not pty.holds_terminals(fds[0]):
                raise WireError("no directory of terminals")
            cell.terminals, cell.ready = fds.pop(), True
            waiters, cell.waiters = cell.waiters, []
            for waiter in waiters:
                waiter("")
            return
        number = message["id"]
        if number not in cell.asked:
            raise WireError("an answer to nothing")
        if "error" in message:
            stage, code, text = message["error"]
            if stage not in ("cwd", "program") or type(code) is not int:
                raise WireError("an error of no kind")
            done, _ = cell.asked.pop(number)
            words = {"kind": stage, "errno": errno.errorcode.get(code, ""), "message": str(text)[:500]}
            done({"error": words}, 0)
            return
        if len(fds) != 1:
            raise WireError(f"{len(fds)} descriptors for a process")
        pid = process_of(fds[0])
        if not processes.stems_from(pid, cell.pid):
            raise WireError("a process of another place")
        done, on_exit = cell.asked.pop(number)
        process = cell.processes[number] = CellProcess(pid, fds.pop(), on_exit)
        self._handles[process.handle] = (cell, number)
        self._host.poll.register(process.handle, IN)
        with contextlib.suppress(OSError):  # when memory runs out, a program goes before the spawner
            fd = os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(fd, b"300")
            finally:
                os.close(fd)
        self._send(cell, {"id": number, "seen": True})
        done({}, pid)

    # -- exits -----------------------------------------------------------------------------------------------------

    def _look(self, cell: HostedCell, number: int) -> None:
        """Report an exit when the process has ended, which its descriptor tells, and its status is known or overdue."""
        process = cell.processes[number]
        if not process.ended:
            ready = select.poll()
            ready.register(process.handle, select.POLLIN)
            if not ready.poll(0):
                return
            process.ended = True
            self._host.poll.unregister(process.handle)
            del self._handles[process.handle]
            os.close(process.handle)
            if process.status is None and not cell.gone:
                self._host.later(REPORT_S, lambda: self._report(cell, number))
        if process.status is not None or cell.gone:
            self._report(cell, number)

    def _report(self, cell: HostedCell, number: int) -> None:
        process = cell.processes.pop(number, None)
        if process is not None:
            process.on_exit(process.status)

    def spawners(self) -> list[int]:
        """Return the builders' processes: what stems from them has terminals of its own."""
        return [cell.pid for cell in self.by_name.values()]

    def idle(self, cell: HostedCell) -> bool:
        """Return True if no program that was started runs in it."""
        return not cell.processes and not cell.asked


def process_of(fd: int) -> int:
    """Return the process that a descriptor stands for, as this process sees its number; -1 when it has been reaped."""
    if not os.readlink(f"/proc/self/fd/{fd}").startswith(("anon_inode:[pidfd]", "pidfd:")):
        raise WireError("a descriptor that is no process")
    with open(f"/proc/self/fdinfo/{fd}") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == "Pid":
                return int(value)
    raise WireError("a descriptor that is no process")


def _offered(source: bytes) -> int:
    """Return a descriptor of a file without a name that holds this text."""
    fd = os.memfd_create("spawner", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, source)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd
