"""A scripted agent that needs no model: shows a newcomer the workbench in a minute.

It does everything by blocks in its text, through the same interceptor and the same gate as any other agent, so what is
seen is what a real one would cause. It opens a file and highlights it, arranges panes, runs a command in a terminal
that both see, fails once on purpose and corrects itself from the result.
"""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

from fourhands.agents.connectors.base import Connector, StreamedMessage
from fourhands.agents.connectors.launcher import Launcher
from fourhands.core.invocation import typed
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

_PREFERRED = ("README.md", "readme.md", "README.rst", "pyproject.toml", "package.json", "Makefile")


def block(command: str, **args: object) -> str:
    """Return a command as an agent writes it."""
    return "%%OS" + json.dumps({"cmd": f"openspace.{command}", "args": args}, ensure_ascii=False) + "%%"


class Tour(Connector):
    """Answers every message with the tour, or says how to connect a real agent."""

    def __init__(
        self,
        bench: Workbench,
        session: Session,
        *,
        sleep: Callable[[float], Any] = asyncio.sleep,
        pace_s: float = 0.02,
    ) -> None:
        super().__init__(bench, session)
        self._sleep = sleep
        self._pace_s = pace_s

    async def turn(self, text: str) -> None:
        """Play the tour: a few answers with a pause between them, as a model would send them."""
        file = await asyncio.to_thread(self._some_file)
        program = typed(self.bench.root)
        await self._answer(
            "Hello! I am the tour: a script, no model behind me. What you see now, any agent can do here, "
            "and you can do all of it yourself: the same commands for both of us.\n\n"
            + (f"First I open `{file}` and mark its first lines. " if file else "Your workspace has no files yet. ")
            + (block("editor.open", path=file, line=1) if file else "")
            + (
                block(
                    "editor.highlight",
                    path=file,
                    ranges=[{"startLine": 1, "endLine": 5}],
                    highlightId="tour",
                    label="this is what I am talking about",
                )
                if file
                else ""
            )
            + "Press Escape and the mark is gone.\n"
        )
        await self._answer(
            "Now a terminal. We share it: type into it whenever you like, the keyboard is yours at once. "
            + block("terminal.create", title="tour")
            + block("terminal.send", terminalId="tour", text='echo "Two of us, one terminal" && ls | head -5\n')
            + "The blue and orange bars beside the lines say who typed.\n"
        )
        await self._answer(
            "Agents make mistakes. I open a file that does not exist: " + block("editor.open", path="no-such-file.txt")
        )
        failed = [result for result in self.session.tell() if not result.success]
        why = failed[0].error if failed else "it worked, to my surprise"
        await self._answer(
            f"The workbench told me: *{why}*. A real agent reads that in its next turn and corrects itself, like this: "
            + block("file.list", path=".")
            + "\n\nWhat I did is in the list on the left. **Undo last agent action** takes back the last of it, "
            "**Stop** stops me, and before I could delete anything you would be asked.\n\n"
            "To work with a real agent, choose one on the page, or type in this directory, now or later:\n\n"
            f"```\n{program} . --agent opencode\n{program} . --agent claude\n"
            f"{program} . --agent http://127.0.0.1:11434/v1#llama3\n```\n"
        )

    async def _answer(self, text: str) -> None:
        """One answer, streamed in small pieces."""
        await self.unpaused()
        speech = StreamedMessage(self)
        for start in range(0, len(text), 12):
            speech.hear(text[start : start + 12])
            await self._sleep(self._pace_s)
        speech.end()
        await self.runner.finished()

    def _some_file(self) -> str | None:
        root = self.bench.root
        for name in _PREFERRED:
            if os.path.isfile(os.path.join(root, name)):
                return name
        for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
            if (
                entry.is_file(follow_symlinks=False)
                and not entry.name.startswith(".")
                and entry.stat().st_size < 200_000
            ):
                return entry.name
        return None


def register(launcher: Launcher) -> None:
    """Let `--agent tour` start the tour."""
    launcher.kinds["tour"] = lambda launcher, session, spec: Tour(launcher.bench, session)
