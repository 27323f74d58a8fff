"""Four errands that every counterpart runs, as a scripted model that goes by what it is told, and what came of each.

The model calls a tool, looks for what must be in its next request, exactly once, and only then goes on: so what is
checked is what a real model would read, not what was sent to the client.
"""

import itertools
import json
import re
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tests.kit.dialects import Answer, Tool
from tests.kit.model import Request

COMMAND, EDIT, TERMINAL, DANGER = "a command", "an edit", "a terminal", "a dangerous line"
ERRANDS = (COMMAND, EDIT, TERMINAL, DANGER)

PROMPT = "Run the tests and mend what fails."
AT_ONCE_S = 10.0
"""In which a refusal must reach the model; a person would be waited for longer."""

DANGEROUS = "rm -rf precious"

MOST_LOADS = 8

_PRINTED = "40-41-42-43-44"  # stands in no command
_KEPT = "7906-kept"
_DOUBLED = "9174"


@dataclass(frozen=True)
class Outcome:
    """What came of one errand: nothing to say if all was as it must be."""

    errand: str
    problem: str
    seconds: float


@dataclass(frozen=True)
class Act:
    """A call of one of our tools."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What the model reads after a call: the result, and the whole request around it."""

    text: str
    request: Request
    seconds: float

    def has(self, *wanted: str) -> None:
        """Complain unless the result has all of these."""
        for text in wanted:
            if text not in self.text:
                raise Unexpected(f"no {text!r} in the result: {self.text[:300]!r}")

    def has_once(self, wanted: str) -> None:
        """Complain unless the result has this, and the request has it nowhere else."""
        self.has(wanted)
        count = json.dumps(self.request.body, ensure_ascii=False).count(wanted)
        if count != 1:
            raise Unexpected(f"{wanted!r} stands {count} times in the request")


class Unexpected(Exception):
    """Something is not as it must be."""


class Voice(Protocol):
    """How the model acts and is told what came of it."""

    def is_turn(self, request: Request) -> bool:
        """Return True for a request of the conversation; False for one on the side, such as for a title."""
        ...

    def prepares(self, request: Request) -> Answer | None:
        """Return what it has to do before it can act, if anything."""
        ...

    def says(self, act: Act, id: str) -> Answer:
        """Return the answer that does this."""
        ...

    def told(self, request: Request, id: str) -> str | None:
        """Return what the request tells of what was done; None if it does not."""
        ...


@dataclass(frozen=True)
class ByTools:
    """It calls tools, which a client offers under names of its own: behind a prefix or in a namespace."""

    prefix: str = ""
    namespace: str = ""
    loader: str = ""  # the tool by which others are loaded that are only named, or are of a server that only is

    def is_turn(self, request: Request) -> bool:
        return bool(request.offered)

    def prepares(self, request: Request) -> Answer | None:
        wanted = f"{self.namespace}/bash" if self.namespace else f"{self.prefix}bash"
        if wanted in request.offered:
            return None
        loaded = sum(id.startswith("load_") for id in request.results)
        if self.loader in request.offered and request.says("fourhands") and loaded < MOST_LOADS:
            # It may still connect: the loader waits for that, as the model is told.
            names = ",".join(f"{self.prefix}{name}" for name in ("bash", "read", "edit", "terminal_start"))
            query = {"query": f"select:{names}", "max_results": 4}
            return Answer("", tools=[Tool(self.loader, query, id=f"load_{loaded}")])
        raise Unexpected(f"the model is not offered {wanted}, only {', '.join(sorted(request.offered))}")

    def says(self, act: Act, id: str) -> Answer:
        return Answer("Now.", tools=[Tool(f"{self.prefix}{act.tool}", act.args, id, self.namespace)])

    def told(self, request: Request, id: str) -> str | None:
        return request.results.get(id)


class ByBlocks:
    """It writes command blocks, and reads what came of them at the end of its next request."""

    def is_turn(self, request: Request) -> bool:
        return request.says("<fourhands-workbench>")

    def prepares(self, request: Request) -> Answer | None:
        return None

    def says(self, act: Act, id: str) -> Answer:
        block = json.dumps({"cmd": f"openspace.tool.{act.tool}", "args": act.args})
        return Answer(f"Now {id}. %%OS{block}%%")

    def told(self, request: Request, id: str) -> str | None:
        return request.last


class Errands:
    """The scripted model; `refusal` is in what it reads where nobody is there to be asked, "" where somebody is."""

    def __init__(self, voice: Voice, refusal: str = "") -> None:
        self.root = Path()
        self.outcomes: list[Outcome] = []
        self.requests: list[Request] = []
        self._voice, self._refusal = voice, refusal
        self._ids = itertools.count(1)
        self._acts = self._all()
        self._waits_for = ""
        self._began = 0.0
        self._over = False

    def lay_out(self, root: Path) -> None:
        """Make the files that it works on."""
        self.root = root
        (root / "notes.txt").write_text(f"first: one\nsecond: {_KEPT}\n")
        (root / "precious").mkdir()
        (root / "precious" / "kept.txt").write_text("x")

    def __call__(self, request: Request) -> Answer:
        return replace(self._answer(request), id=str(next(self._ids)))  # some know messages by their ids

    @property
    def over(self) -> bool:
        """True when there is nothing more to do."""
        return self._over

    def _answer(self, request: Request) -> Answer:
        if not self._voice.is_turn(request):
            return Answer("A title")
        self.requests.append(request)
        if self._over:
            return Answer("That is all.")
        try:
            if not self._waits_for:
                if (first := self._voice.prepares(request)) is not None:
                    return first
                return self._next(lambda: next(self._acts))
            text = self._voice.told(request, self._waits_for)
            if text is None:
                raise Unexpected(f"the result of {self._waits_for} is not told")
            told = Told(text, request, time.monotonic() - self._began)
            return self._next(lambda: self._acts.send(told))
        except Unexpected as problem:
            self._over = True
            self.outcomes.append(Outcome("", str(problem), 0.0))
            return Answer("I cannot go on.")

    def _next(self, step: Callable[[], Act]) -> Answer:
        try:
            act = step()
        except StopIteration:
            self._over = True
            return Answer("All is done.")
        self._waits_for, self._began = f"call_{next(self._ids)}", time.monotonic()
        return self._voice.says(act, self._waits_for)

    def _all(self) -> Generator[Act, Told, None]:
        stories = (self._command(), self._edit(), self._terminal(), self._danger())
        for name, story in zip(ERRANDS, stories, strict=True):
            began, problem = time.monotonic(), ""
            try:
                yield from story
            except Unexpected as found:
                problem = str(found)
            self.outcomes.append(Outcome(name, problem, time.monotonic() - began))

    def _command(self) -> Generator[Act, Told, None]:
        told = yield Act("bash", {"command": "seq -s- 40 44; exit 3"})
        told.has_once(_PRINTED)
        if not re.search(r"exit 3\b|\"exitCode\": ?3|exit code:? 3", told.text):
            raise Unexpected(f"no exit code: {told.text[:300]!r}")

    def _edit(self) -> Generator[Act, Told, None]:
        told = yield Act("read", {"path": "notes.txt"})
        told.has_once(_KEPT)
        told = yield Act("edit", {"path": "notes.txt", "edits": [{"old": "one", "new": "two"}]})
        told.has("notes.txt")
        if (now := (self.root / "notes.txt").read_text()) != f"first: two\nsecond: {_KEPT}\n":
            raise Unexpected(f"the file is now {now!r}: {told.text[:300]!r}")

    def _terminal(self) -> Generator[Act, Told, None]:
        told = yield Act("terminal_start", {"command": "read number; expr $number \\* 2"})
        if not (found := re.search(r"term_\w+", told.text)):
            raise Unexpected(f"no id of a terminal: {told.text[:300]!r}")
        told = yield Act("terminal_continue", {"sessionId": found[0], "stdin": "4587\n"})
        told.has_once(_DOUBLED)
        told = yield Act("terminal_stop", {"sessionId": found[0]})
        told.has(found[0])

    def _danger(self) -> Generator[Act, Told, None]:
        told = yield Act("bash", {"command": DANGEROUS})
        is_there = (self.root / "precious" / "kept.txt").exists()
        if not self._refusal:
            if is_there:
                raise Unexpected(f"it was not run: {told.text[:300]!r}")
            return
        if not is_there:
            raise Unexpected("it was run, and nobody was asked")
        told.has_once(self._refusal)
        if told.seconds > AT_ONCE_S:
            raise Unexpected(f"it was refused after {told.seconds:.0f} s")
