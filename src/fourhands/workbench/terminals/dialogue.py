"""The dialogue of agents with the program in front: what they typed into it, and whether its prompt stands there.

Only for the program that has the terminal; what was typed into the last one is forgotten with it.
"""

from collections.abc import Callable
from dataclasses import replace

from fourhands.safety.input import PromptSeen, Reader, leaves, prompt_of, reader_of
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals.prompt import PromptState
from fourhands.workbench.terminals.shell.input_line import unsubmitted
from fourhands.workbench.terminals.shell.tracker import program_words
from fourhands.workbench.terminals.terminal import Terminal

_LOOKED_AT = 2048  # bytes of output in which a prompt is looked for
_INTERRUPT = "\x03"
_MOST_LINES = 1000  # of one statement


class Dialogue:
    """The keys and lines that agents have typed into the program in front of one terminal."""

    def __init__(self, terminal: Terminal, words: Callable[[int], tuple[str, ...]] = program_words) -> None:
        self._terminal = terminal
        self._words = words
        self._group = 0
        self._keys = ""
        self._statement: tuple[str, ...] = ()
        self._ended = False
        self._entered_at = -1  # the position of the output when somebody last pressed Enter

    def describe(self, standing: PromptState) -> PromptState:
        """Return the state of a program with what is known of the dialogue with it."""
        reader = reader_of(standing.program, self._words(standing.group))
        if standing.group != self._group:
            return replace(standing, reader=reader, prompt=self._prompt(reader, ""))
        prompt = self._prompt(reader, self._keys)
        statement = self._statement if prompt == "more" else ()
        ended = self._ended and not prompt  # its prompt shows that it goes on
        return replace(standing, reader=reader, prompt=prompt, keys=self._keys, statement=statement, ended=ended)

    def agent_types(self, standing: PromptState, text: str, lines: tuple[str, ...]) -> None:
        """Note what an agent types into a program, and the lines that it submits."""
        if standing.group != self._group:
            self._group, self._keys, self._ended = standing.group, "", False
        if lines:
            before = standing.statement if standing.prompt == "more" else ()
            self._statement = (*before, *lines)[-_MOST_LINES:] if standing.prompt else ()
        if lines or _INTERRUPT in text:
            self._entered_at = self._terminal.log.head
        self._ended = standing.ended or leaves(standing.reader, self._keys + text)
        self._keys = unsubmitted(self._keys, text)

    def person_types(self, *, enter: bool) -> None:
        """Note that a person typed: what stands on the line then, and what they enter, is not known."""
        self._keys = ""
        if enter:
            self._statement, self._entered_at = (), self._terminal.log.head

    def _prompt(self, reader: Reader, keys: str) -> PromptSeen:
        """Return the prompt that stands at the end of the output, if it came after the last Enter."""
        if not reader.rules.ready:
            return ""
        log = self._terminal.log
        start = max(log.floor, log.head - _LOOKED_AT, self._entered_at)
        data = log.read(start, _LOOKED_AT).data
        if start == self._entered_at and b"\n" not in data:
            return ""  # the echo of that Enter has not come yet
        return prompt_of(reader, sanitize(data).rpartition("\n")[2], keys)
