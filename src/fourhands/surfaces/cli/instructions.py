"""`fourhands instructions --try`: how well a model of the person's own understands what it is told."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from fourhands import __version__
from fourhands.agents.briefing.budget import tokens
from fourhands.agents.connectors.endpoint import Endpoint
from fourhands.agents.connectors.trial import Judged, Trial, shown
from fourhands.agents.connectors.trial_tasks import TASKS, Scratch
from fourhands.core.errors import BadArgument
from fourhands.surfaces.cli.base import one_line, show
from fourhands.surfaces.console import FAILED, INTERRUPTED

OUTPUT = "instructions-try.json"
_EXCERPT = 1500


def attempt(
    model: str,
    scratch: Callable[[], AbstractAsyncContextManager[Scratch]],
    key_variable: str,
    output: str,
    at_least: int,
    *,
    as_json: bool,
) -> None:
    """Try the instructions with a model; the report is written even if it is interrupted."""
    endpoint = Endpoint.of(model, os.environ, key_variable)
    file = _writable(Path(output))
    report = Report(endpoint)
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)  # blocks that are dropped are in the report
    code = 0
    try:
        asyncio.run(report.fill(scratch, quiet=as_json))
    except KeyboardInterrupt:
        code = INTERRUPTED
    if report.judged:
        file.write_bytes(report.as_json())
        file.with_suffix(".md").write_bytes(report.as_text())
    if as_json:
        show(report.summary(), as_json=True)
    elif report.judged:
        click.echo(f"\n{report.right} of {len(TASKS)} right{'' if report.whole else ', interrupted'}")
        click.echo(f"Written: {file} and {file.with_suffix('.md').name}")
    if not code and report.right < at_least:
        code = FAILED
    sys.exit(code)


class Report:
    """The results of the tasks so far."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.judged: list[Judged] = []
        self.tokens = 0

    @property
    def right(self) -> int:
        """The number of tasks with a right answer."""
        return sum(one.right for one in self.judged)

    @property
    def whole(self) -> bool:
        """True if every task was asked."""
        return len(self.judged) == len(TASKS)

    async def fill(self, scratch: Callable[[], AbstractAsyncContextManager[Scratch]], *, quiet: bool) -> None:
        """Ask every task; a line is printed for each unless `quiet`."""
        async with scratch() as here:
            self.tokens = tokens(here.instructions)
            async for one in Trial(self.endpoint, here, os.environ).run():
                self.judged.append(one)
                if not quiet:
                    click.echo(self._line(len(self.judged), one))

    def summary(self) -> dict[str, object]:
        """Return the report; it does not contain the key."""
        return {
            "success": True,
            "endpoint": shown(self.endpoint),
            "model": self.endpoint.model,
            "interface": self.endpoint.kind,
            "fourhands": __version__,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "instructionsTokens": self.tokens,
            "right": self.right,
            "total": len(TASKS),
            "interrupted": not self.whole,
            "tasks": msgspec.to_builtins(self.judged),
        }

    def as_json(self) -> bytes:
        """Return the report for programs."""
        return json.dumps(self.summary(), indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"

    def as_text(self) -> bytes:
        """Return the report for people."""
        told = self.summary()
        lines = [
            f"# Instructions of Fourhands {__version__}, tried with {self.endpoint.model}",
            "",
            f"{self.right} of {len(TASKS)} tasks right{'' if self.whole else ' (interrupted)'}; "
            f"{told['endpoint']}, {told['date']}, about {self.tokens} tokens of instructions.",
            "",
            "| task | | seconds | |",
            "|---|---|---|---|",
        ]
        for one in self.judged:
            reason = one_line(one.reason).replace("|", "\\|")
            lines.append(f"| {one.name} | {'right' if one.right else 'wrong'} | {one.seconds:g} | {reason} |")
        for one in self.judged:
            if not one.right:
                answer = [f"    {line}" for line in one.answer[:_EXCERPT].split("\n")] if one.answer else ["Nothing."]
                lines += ["", f"## {one.name}: {one_line(one.reason)}", "", *answer]
        return "\n".join(lines).encode("utf-8", "backslashreplace") + b"\n"

    def _line(self, number: int, one: Judged) -> str:
        word = click.style("right", fg="green") if one.right else click.style("wrong", fg="red")
        return f"{number:3} {word}  {one.name:24}{one_line(one.reason)[:200]}".rstrip()


def _writable(file: Path) -> Path:
    """Return the file if it can be written; checked first, because after twenty answers it would be late."""
    if file.suffix == ".md":
        raise BadArgument(f"{file} is where the readable report would go too", hint="name the JSON file")
    try:
        with open(file, "ab"):
            pass
        if file.stat().st_size == 0:
            file.unlink()
    except OSError as error:
        raise BadArgument(f"{file} cannot be written: {error.strerror}", hint="name another with --output") from None
    return file
