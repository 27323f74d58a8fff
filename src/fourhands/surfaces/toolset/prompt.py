"""Questions in the terminal in which the embedding program itself runs: on its standard output, answered on its input.

Its event loop goes on meanwhile. A question that is no longer wanted takes no line that is typed after it, and reading
ends at the line's end, since the program may have uses of its own for the rest.
"""

import asyncio
import os
import sys
import threading

from fourhands.core.question import Answer, Question
from fourhands.safety.sanitizer.sanitizer import sanitize

LONGEST = 65536
"""Bytes of a line; what is longer is cut."""

_FORMS = {"edit": "edit LINE", "deny": "deny [REASON]"}
_POLL_S = 0.1
_turn = threading.Lock()  # one question at a time, whatever toolset and thread it comes from


async def ask_here(question: Question) -> Answer:
    """Print a question and return what is typed: an option or its first letter, then a reason or the new line."""
    while not _turn.acquire(blocking=False):  # noqa: ASYNC110 - the loop of another thread may hold it
        await asyncio.sleep(_POLL_S)
    try:
        print(_words(question), flush=True)
        while True:
            print(f"[{' | '.join(_FORMS.get(one, one) for one in question.options)}] ", end="", flush=True)
            line = await _line()
            if line is None:
                print("deny: there is no more input", flush=True)
                return Answer(choice="deny", reason="no one is at the program's standard input to approve this")
            if (answer := _answer(question, line)) is not None:
                return answer
    finally:
        _turn.release()


def _words(question: Question) -> str:
    """Return all that a person has to know; agents wrote some of it."""
    reason = question.reason if question.reason not in question.text else ""
    lines = [question.text, *(f"    {line}" for line in question.shown.splitlines()), reason, *question.facts]
    return sanitize("\n".join(("", *filter(None, lines))).encode("utf-8", "replace"))


def _answer(question: Question, line: str) -> Answer | None:
    """Return what a line means; None if nothing does, and it is asked again."""
    word, _, rest = line.strip().partition(" ")
    word, rest = word.lower(), rest.strip()
    for choice in question.options:
        if word not in (choice, choice[0]):
            continue
        if choice == "edit":
            return Answer(choice="edit", text=rest) if rest else None
        if choice == "deny":
            return Answer(choice="deny", reason=rest)
        return None if rest else Answer(choice=choice)  # what it was meant to say is not known
    return None


async def _line() -> str | None:
    """Return a line of standard input; None at its end, or where there is none."""
    try:
        source = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    loop, taken = asyncio.get_running_loop(), bytearray()
    ready: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        try:
            byte = os.read(source, 1)
        except OSError:
            byte = b""
        if byte and byte != b"\n":
            taken.extend(byte[: LONGEST - len(taken)])
        elif not ready.done():
            ready.set_result(None)
            taken.extend(byte)

    try:
        loop.add_reader(source, read)
    except PermissionError:  # a file, which never waits
        while not ready.done():
            read()
    else:
        try:
            await ready
        finally:
            loop.remove_reader(source)
    return taken.decode("utf-8", "replace") if taken else None
