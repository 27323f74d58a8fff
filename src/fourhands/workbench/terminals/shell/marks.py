"""Shell marks: OSC 133 sequences with a secret of their terminal, found in its byte stream.

Positions are absolute byte offsets.
"""

import os
import re
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

MarkKind = Literal["prompt", "input", "more", "begin", "end", "paste-on", "paste-off"]

_KINDS: dict[str, MarkKind] = {"A": "prompt", "B": "input", "P": "more", "C": "begin", "D": "end"}


class ShellMark(NamedTuple):
    """One mark, or one switch of bracketed paste, with the bounds of its escape sequence.

    `number` counts the shell's commands (an end without one is that of the last), `prompt` its prompts. `origin` says
    which part of the shell reported an end: "hook" or "eol" (right after the command), "late-hook" (after code of the
    user's, whose output may be included), "begin" (just before the next command), "prompt" (with the prompt, after the
    hook), "prompt-alone" (with the prompt, and no code of the user's ran before it), "prompt-only" (some may have, so
    its output may be included). `pastes`: bracketed paste comes on after this prompt. `silent`: no mark is to be
    expected with the prompt that follows this end. `line`: a command begins where the line typed at this prompt ends.
    `shell`: what has shown this prompt, since one shell may have taken another's place.
    """

    kind: MarkKind
    start: int
    end: int
    number: int | None = None
    prompt: int | None = None
    exit_code: int | None = None
    statuses: tuple[int, ...] = ()
    cwd: str | None = None
    origin: str = ""
    pastes: bool = False
    silent: bool = False
    line: bool = False
    shell: str = ""


_ORIGINS = {
    "h": "hook",
    "i": "late-hook",
    "e": "eol",
    "0": "begin",
    "1": "prompt-alone",
    "10": "prompt",
    "11": "prompt-only",
}
_OSC = b"\x1b]133;"
_PASTE = b"\x1b[?2004"
_END = re.compile(rb"[\x07\x1b]")
_LIMIT = 32768  # a path of 4096 bytes, each as %XX, and the other fields


class MarkScanner:
    """Finds the marks of one terminal in its output; any cutting of the bytes gives the same marks."""

    def __init__(self, nonce: str, position: int = 0) -> None:
        self._secret = f"fh={nonce}"
        self._position = position  # of the first byte of _held
        self._held = b""  # the beginning of a sequence whose end has not come
        self._searched = 0  # bytes of _held known to hold no end
        self._line: ShellMark | None = None  # the prompt at which a line is typed, in a shell that marks no beginning

    @property
    def position(self) -> int:
        """The absolute position up to which the output was fed."""
        return self._position + len(self._held)

    @property
    def complete(self) -> int:
        """The absolute position up to which every sequence has come to its end."""
        return self._position

    def feed(self, data: bytes) -> list[ShellMark]:
        """Take the next output and give the marks that it completes."""
        if self._held:
            data = self._held + data
        elif b"\x1b" not in data and self._line is None:
            self._position += len(data)
            return []
        marks: list[ShellMark] = []
        at = 0
        osc, paste = data.find(_OSC), data.find(_PASTE)
        while True:
            first = osc if paste < 0 or 0 <= osc < paste else paste
            if self._line is not None:
                self._enter(data, at, first if first >= 0 else len(data), marks)
            if first < 0:
                at = max(at, _tail(data))
                self._searched = 0
                break
            end = self._osc(data, osc, marks) if first == osc else self._paste(data, paste, marks)
            if end < 0:
                at = first  # unfinished: everything from here on waits for more bytes
                break
            at, self._searched = end, 0
            if 0 <= osc < at:
                osc = data.find(_OSC, at)
            if 0 <= paste < at:
                paste = data.find(_PASTE, at)
        self._held = data[at:]
        self._position += at
        return marks

    def _enter(self, data: bytes, at: int, stop: int, marks: list[ShellMark]) -> None:
        """Begin a command without a mark of its beginning behind the echo of the Enter that sent it."""
        found = data.find(b"\n", at, stop) + 1
        if found and self._line is not None:
            begin = self._position + found
            marks.append(ShellMark("begin", begin, begin, self._line.number))
            self._line = None

    def _paste(self, data: bytes, at: int, marks: list[ShellMark]) -> int:
        end = at + len(_PASTE)
        if end == len(data):
            return -1
        if (final := data[end]) in b"hl":
            kind: MarkKind = "paste-on" if final == ord("h") else "paste-off"
            marks.append(ShellMark(kind, self._position + at, self._position + end + 1))
        return end

    def _osc(self, data: bytes, at: int, marks: list[ShellMark]) -> int:
        found = _END.search(data, max(at + len(_OSC), self._searched))
        if found is None:
            if len(data) - at - len(_OSC) > _LIMIT:
                return at + len(_OSC)
            self._searched = len(data) - at
            return -1
        stop = found.start()
        end = stop + 1
        if data[stop] == 0x1B:
            if end == len(data):
                self._searched = stop - at
                return -1
            if data[end] != ord("\\"):
                return stop  # an escape that is no terminator aborts the sequence
            end += 1
        body = data[at + len(_OSC) : stop]
        if len(body) <= _LIMIT and (mark := self._parse(body, self._position + at, self._position + end)):
            marks.append(mark)
            if mark.kind == "input":
                self._line = mark if mark.line else None
        return end

    def _parse(self, body: bytes, start: int, end: int) -> ShellMark | None:
        letter, _, rest = os.fsdecode(body).partition(";")
        kind = _KINDS.get(letter)
        # The path is the last field and may hold semicolons.
        rest, _, path = rest.partition(";d=")
        rest, _, quoted = rest.partition(";q=")
        parts = rest.split(";")
        if kind is None or self._secret not in parts:
            return None
        if kind == "more" and "k=i" in parts:
            kind = "prompt"
        fields = {part[0]: part[2:] for part in parts if part[1:2] == "="}
        try:
            number, prompt = fields.get("n"), fields.get("p")
            return ShellMark(
                kind,
                start,
                end,
                None if number is None else int(number),
                int(prompt) if prompt is not None else 0 if kind == "prompt" else None,
                int(parts[0]) if kind == "end" else None,
                tuple(map(int, fields["s"].split())) if "s" in fields else (),
                os.fsdecode(unquote_to_bytes(os.fsencode(path))) if path else _unquote(quoted) or None,
                _ORIGINS[fields["o"]] if kind == "end" else "",
                fields.get("b") == "1",
                fields.get("m") == "0",
                fields.get("l") == "1",
                fields.get("w", ""),
            )
        except (ValueError, KeyError):
            return None


_SHELL_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"v": b"\v", b"f": b"\f", b"E": b"\x1b"}


def _unquote(text: str) -> str:
    """Undo bash's own quoting (`${x@Q}`)."""
    if not text.startswith("$'"):
        return text.strip("'").replace("'\\''", "'")

    def plain(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8) & 255]) if code.isdigit() else _LETTERS.get(code, code)

    return os.fsdecode(_SHELL_ESCAPE.sub(plain, os.fsencode(text[2:-1])))


def _tail(data: bytes) -> int:
    """Return the index at which a cut-off beginning of a mark starts at the end of the data, or its length."""
    at = data.rfind(b"\x1b", max(0, len(data) - len(_PASTE)))
    rest = data[at:] if at >= 0 else b""
    return at if rest and (_OSC.startswith(rest) or _PASTE.startswith(rest)) else len(data)
