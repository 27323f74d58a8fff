"""A real shell with marks on a real PTY, for tests: type, wait for the prompt, see exactly what was recorded."""

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import termios
import time
from pathlib import Path

from fourhands.workbench.terminals.shell.history import ShellCommand, ShellHistory
from fourhands.workbench.terminals.shell.integration import encode_input, integrate
from fourhands.workbench.terminals.shell.marks import MarkScanner

NONCE = "0123456789abcdef"


class MarkedShell:
    """One shell, its whole output, and the records made from it."""

    def __init__(
        self,
        shell: str,
        home: Path,
        *,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        bare: tuple[str, ...] | None = None,
    ) -> None:
        """Start it; `bare` are the arguments of one without our integration."""
        path = shutil.which(shell)
        assert path is not None, f"{shell} is not installed"
        base = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            **(env or {}),
        }
        started = integrate(path, NONCE, env=base) if bare is None else None
        argv = list(started.argv) if started else [path, *(bare or ())]
        if started:
            base |= started.env
        self.shell = shell
        self.output = bytearray()
        self.scanner = MarkScanner(NONCE)
        self.commands = ShellHistory()
        self.exit_status: int | None = None
        self.fd, slave = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        name = os.ttyname(slave)
        self.pid = os.posix_spawnp(
            "env",
            ["env", "-C", str(cwd or home), *argv],
            base,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ],
            setsid=True,
        )
        os.close(slave)

    def read(self, timeout_s: float = 40) -> bool:
        """Take one burst of output; False at the end of the terminal."""
        if not select.select([self.fd], [], [], timeout_s)[0]:
            raise TimeoutError(
                f"silent for {timeout_s} s in state {self.commands.state}: {bytes(self.output[-600:])!r}"
            )
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            self.exit_status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            return False
        self.output += data
        for mark in self.scanner.feed(data):
            self.commands.apply(mark)
        return True

    def until(self, needle: bytes, timeout_s: float = 40) -> None:
        """Read until the output holds `needle`."""
        end = time.monotonic() + timeout_s
        while needle not in self.output:
            assert self.read(max(0.01, end - time.monotonic())), f"ended before {needle!r}: {bytes(self.output)!r}"

    def start(self) -> "MarkedShell":
        """Wait for the first prompt."""
        while not self.commands.ready:
            assert self.read(), f"the shell ended: {bytes(self.output)!r}"
        return self

    def send(self, data: bytes) -> None:
        """Type bytes as they are, reading meanwhile so that neither side blocks."""
        while data:
            ready = select.select([self.fd], [self.fd], [], 10)
            if ready[0]:
                self.read()
            if ready[1]:
                data = data[os.write(self.fd, data[:512]) :]

    def run(self, text: str) -> list[ShellCommand]:
        """Type `text` as one entry and give the records it made once the prompt is back."""
        shown = self.commands.shown
        self.send(encode_input(text, self.commands.bracketed, shell=self.commands.shell or self.shell))
        while not self.commands.settled(shown):
            if not self.read():
                break
        return self.commands.at(shown)

    def seen(self, records: list[ShellCommand]) -> bytes:
        """What the recorded commands printed, all bounds being known."""
        assert all(record.bounded for record in records), records
        return b"".join(bytes(self.output[record.start : record.end]) for record in records)

    def close(self) -> None:
        """End the shell and what it started."""
        if self.exit_status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
