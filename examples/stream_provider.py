"""A provider that is no program here: a cloud that gives a stream of bytes for each command.

The cloud of this example is a coroutine with a few words of its own. Put your service's interface in its place.
"""

import asyncio
import tempfile

from fourhands import App, Isolation, Launch, Output, Probe, Stream


class Cloud:
    """Runs programs far away. What it cannot do it refuses with `fourhands.Unavailable`."""

    isolation = Isolation.CONTAINER
    shells = ("/bin/sh",)  # its programs are its own, not this machine's
    shares_files = False  # and it does not see the workspace

    async def probe(self) -> Probe:
        """Report whether it can be reached."""
        return Probe(True, "the sky is clear")

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Sign in, start a machine, copy the workspace there."""

    async def open(self, launch: Launch, size: tuple[int, int] | None) -> Stream:
        """Start a program; with a size on a terminal, without one on pipes."""
        return FarAway(launch.argv, size)

    async def clean_up(self) -> None:
        """Return the machine."""


class FarAway:
    """One program in the cloud: `sh -c LINE` prints its line, any other one repeats what it reads until it reads q."""

    def __init__(self, argv: tuple[str, ...], size: tuple[int, int] | None) -> None:
        self._output: asyncio.Queue[Output | None] = asyncio.Queue()
        self._print(f"cloud {size[0]}x{size[1]}\r\n" if size else "")
        if "-c" in argv:
            self._print(f"ran {argv[-1]}\n")
            self._output.put_nowait(None)

    def _print(self, text: str) -> None:
        self._output.put_nowait(Output(text.encode()))

    async def read(self) -> Output | None:
        """Return the next piece of output; None at its end."""
        return await self._output.get()

    async def write(self, data: bytes) -> None:
        """Take input."""
        self._print(data.decode().replace("\r", "\r\n"))
        if b"q" in data:
            self._output.put_nowait(None)

    async def resize(self, cols: int, rows: int) -> None:
        """Take another size."""
        self._print(f"now {cols}x{rows}\r\n")

    async def wait(self) -> int:
        """Return the exit code."""
        return 7

    async def close(self) -> None:
        """End what still runs."""


async def main() -> None:
    """Register the cloud with a running workbench, run something there, and use a terminal there."""
    with tempfile.TemporaryDirectory() as workspace:
        async with App(workspace) as app:
            app.providers.register("cloud", Cloud())
            done = await app.terminals.run_script("uname -a", provider="cloud")
            print("one command:", done.stdout.strip(), "exit code", done.exit_code, "in a", done.isolation)

            terminal = await app.terminals.create(argv=["repeat"], provider="cloud", cols=90, rows=20)
            await terminal.wait(pattern="cloud 90x20", position=0, deadline_s=30)
            terminal.resize(100, 30)
            await terminal.wait(pattern="now 100x30", position=0, deadline_s=30)
            await terminal.type("hello\rq")
            await terminal.wait(exit=True, deadline_s=30)
            print("a terminal:", terminal.lines(), "exit code", terminal.exit.code if terminal.exit else None)
            await app.terminals.stop()


if __name__ == "__main__":
    asyncio.run(main())
