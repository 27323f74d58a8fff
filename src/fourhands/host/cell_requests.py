"""The requests that concern cells: a sandbox's start and end, terminals in it, and programs on pipes in it."""

import contextlib
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from fourhands.host import processes as tree
from fourhands.host import pty
from fourhands.host.cells import HostedCell
from fourhands.host.connection import HostConnection
from fourhands.host.hosted import HostedProgram, HostedTerminal
from fourhands.host.protocol import Message

if TYPE_CHECKING:
    from fourhands.host.host import Host

_NAME = re.compile(r"[0-9A-Za-z_.-]{1,100}", re.ASCII)
_PROGRAM = re.compile(r"run_[0-9A-Za-z_-]{1,64}", re.ASCII)

Reply = Callable[..., None]


class CellRequests:
    """The part of `RequestHandlers` for cells."""

    host: "Host"

    def __init__(self) -> None:
        self.programs: dict[str, HostedProgram] = {}
        self.starting: dict[str, list[Callable[[], None]]] = {}  # terminals in cells, and what to do when they run

    def _send_to(self, client: HostConnection, event: Message) -> None:
        raise NotImplementedError

    def _created(self, terminal: HostedTerminal, reply: Reply) -> None:
        raise NotImplementedError

    def _do_cell(self, client: HostConnection, message: Message, reply: Reply) -> None:
        """Start a sandbox, unless one of that name is there; the reply comes when programs can be started in it."""
        name = str(message["cell"])
        if not _NAME.fullmatch(name) or self.host.stopping:
            raise ValueError(f"cannot start a sandbox {name!r}")

        def done(problem: str) -> None:
            reply({"error": {"kind": "cell", "message": problem}} if problem else {"cell": name})

        words = [str(word) for word in message["argv"]]
        env = {str(key): str(value) for key, value in message["env"].items()}
        meta = dict(message.get("meta") or {})
        self.host.cells.start(name, str(message["program"]), words, env, str(message["cwd"]), meta, done)

    def _do_cells(self, client: HostConnection, message: Message, reply: Reply) -> None:
        reply({"cells": self.host.cells.described()})

    def _do_end_cell(self, client: HostConnection, message: Message, reply: Reply) -> None:
        """End a sandbox with all programs in it; `idle`: only if none was started there."""
        cell = self.host.cells.by_name.get(str(message["cell"]))
        if cell is not None and message.get("idle") and not self.host.cells.idle(cell):
            raise ValueError("programs are running")
        self.host.cells.end(str(message["cell"]), lambda: reply({}))

    def _create_in(
        self, cell: HostedCell, terminal: HostedTerminal, message: Message, reply: Reply, undo: contextlib.ExitStack
    ) -> None:
        """Start a terminal's program in a cell; `undo` takes back what was made for it, if that fails."""
        opened = pty.open_in(cell.terminals, int(message["cols"]), int(message["rows"]))
        undo.callback(os.close, opened.master)
        terminal.cell = cell.name
        terminal.record["cell"] = cell.name
        kept = undo.pop_all()
        self.starting[terminal.id] = []

        def done(answer: Message, pid: int) -> None:
            waiting = self.starting.pop(terminal.id)
            if answer:
                kept.close()
                reply(answer)
            else:
                kept.pop_all()
                terminal.pid, terminal.master = pid, opened.master
                terminal.tty, terminal.tty_path = opened.tty, opened.tty_path
                self._created(terminal, reply)
            for action in waiting:
                action()

        def ended(status: int | None) -> None:
            if status is None:
                terminal.lost = cell.gone or "how it ended is unknown"
            self.host.reaped(terminal, status or 0)

        env = {**message["env"], tree.MARK: terminal.id}
        self.host.cells.run(cell, {**message, "env": env}, done, ended, tty=opened.tty_path)

    def _do_spawn(self, client: HostConnection, message: Message, reply: Reply) -> None:
        """Start a program on pipes in a cell, for this client alone: it ends when the client goes."""
        name = str(message["run"])
        if not _PROGRAM.fullmatch(name) or name in self.programs:
            raise ValueError(f"cannot start a program {name!r}")
        cell = self.host.cells.get(str(message["cell"]))
        program = self.programs[name] = HostedProgram(name, client, cell.name)
        with contextlib.ExitStack() as stack:
            stdin, ours_in = _pipe(stack) if message.get("input") else (_null(stack), -1)
            ours_out, stdout = _pipe(stack)
            ours_err, stderr = _pipe(stack)
            ours = [fd for fd in (ours_in, ours_out, ours_err) if fd >= 0]
            kept = [os.dup(fd) for fd in ours]  # until the answer comes; the others go to the spawner now

            def done(answer: Message, pid: int) -> None:
                program.pid = pid
                reply(answer or {"run": name, "pid": pid}, None if answer else kept)
                for fd in kept:
                    os.close(fd)
                if answer:
                    self.programs.pop(name, None)
                elif program.abandoned:
                    self._end_program(program, lambda _: None)

            def ended(status: int | None) -> None:
                program.reaped = status or 0
                self._send_to(client, {"event": "run-ended", "run": name, "status": status, "reason": cell.gone})
                if program.ending is None:
                    self.programs.pop(name, None)
                else:
                    self.host.reaper.step(program)

            env = {**message["env"], tree.MARK: name}
            self.host.cells.run(cell, {**message, "env": env}, done, ended, pipes=[stdin, stdout, stderr])

    def _do_end_run(self, client: HostConnection, message: Message, reply: Reply) -> None:
        """End a program on pipes with all that it has started, also after its own exit."""
        program = self.programs.get(str(message["run"]))
        if program is None:  # it has exited; what it left has its tag
            program = HostedProgram(str(message["run"]), client, "")
            program.pid = int(message.get("pid") or 0)
            program.reaped = 0
        self._end_program(program, lambda left: reply({"left": left}))

    def _end_program(self, program: HostedProgram, done: Callable[[list[int]], None]) -> None:
        if program.pid <= 0:
            program.abandoned = True  # it is being started: then it is ended
            done([])
            return

        def gone(left: list[int]) -> None:
            self.programs.pop(program.id, None)
            done(left)

        self.host.reaper.end(program, gone)

    def abandon(self, client: HostConnection) -> None:
        """End the programs of a client that has gone."""
        for program in [one for one in self.programs.values() if one.client is client]:
            self._end_program(program, lambda _: None)


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    """Return the ends of a pipe, for reading and for writing, that the block closes."""
    ends = os.pipe()
    for fd in ends:
        stack.callback(os.close, fd)
    return ends


def _null(stack: contextlib.ExitStack) -> int:
    fd = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, fd)
    return fd
