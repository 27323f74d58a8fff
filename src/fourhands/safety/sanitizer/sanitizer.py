"""Terminal output as the text a person would see, line by line (safety-policy.md S).

`Sanitizer` takes output in pieces, `sanitize` takes it whole; the result does not depend on how the bytes were cut.
A state machine that follows each line's cursor defines what comes out. Most lines have nothing but colours in them:
those are found with one search and cleaned in bulk, many at a time, with the same result.

Memory is bounded whatever comes: what is unfinished is at most a line's beginning (`SanitizerLimits.pending`
characters, then the row, see `row`), or the few parameters of a control sequence; strings such as OSC are swallowed as
they come.
"""

import codecs
import re
from dataclasses import dataclass
from enum import Enum, auto

from fourhands.core.errors import BadArgument
from fourhands.safety.sanitizer.row import JOINERS, LONGEST, SELECTORS, Row
from fourhands.safety.unicode import BIDI, INVISIBLE

# Parameters of a control sequence; one with more has no effect.
LONGEST_PARAMETERS = 256
LARGEST_COUNT = 4096

_NEW_LINES = "\n\x0b\x0c\x84\x85\u2028\u2029"
_DECEIVING = f"{BIDI}{INVISIBLE}\ufff9-\ufffb"
_surrogates = re.compile("[\ud800-\udfff]")
# Joiners are printed: only the whole line tells whether they stay.
_printed = re.compile(f"(?:[^\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\u2028\u2029{_DECEIVING}]++|[{JOINERS}]++)++")
_control_sequence = re.compile(r"\[([0-?]{0,64}+)([ -/]?+)([@-~])")
_parameters = re.compile(r"[ -?]*")
_intermediates = re.compile(r"[ -/]+")
# Controls that do nothing and characters that are removed.
_nothing = re.compile(
    f"(?:[\\x00-\\x07\\x0e-\\x1a\\x1c-\\x1f\\x7f-\\x83\\x86-\\x8f\\x91-\\x97\\x99\\x9a\\x9c]|(?![{JOINERS}])[{_DECEIVING}])+"
)
_numbers = re.compile(r"[0-9;]*")
_attributes = re.compile(r"[0-9;:]*")
_string_end = re.compile("[\x18\x1a\x1b\x9c]")
_osc_end = re.compile("[\x07\x18\x1a\x1b\x9c]")

# A colour parameter that cannot mean conceal; the groups are atomic, or `38;5;38;5;8` could be read in two ways.
_COLOUR = r"(?>[345]8;(?:5;[0-9]{1,3}|2(?:;[0-9]{1,3}){3})|[1-79][0-9]{0,2}|8[0-9]{1,2}|0)"
_COLOURS = rf"\[(?:{_COLOUR}(?:;{_COLOUR})*+)?+m"
_colours = re.compile(r"\x1b\[[0-9;]*m")
# What the bulk way cannot do. It begins with a set of characters, for which the search is much faster.
_EASY_ESCAPES = rf"(?<=\x1b)(?!{_COLOURS})|(?<=\r)(?!\n)"
_hard_ascii = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f](?:(?<![\x1b\r])|{_EASY_ESCAPES})")
_hard = re.compile(
    rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_DECEIVING}{SELECTORS}]"
    rf"(?:(?<![\x1b\r{SELECTORS}])|{_EASY_ESCAPES}|(?<=[{SELECTORS}])(?=[{SELECTORS}]))"
)


@dataclass(frozen=True, slots=True)
class SanitizerLimits:
    """Bounds of a sanitizer's memory, in characters."""

    # The beginning of a line is kept as it came, so that the bulk way can take it once its end is there.
    pending: int = 1 << 16
    row: int = LONGEST


DEFAULT_LIMITS = SanitizerLimits()


class _State(Enum):
    GROUND = auto()
    ESCAPE = auto()
    INTERMEDIATE = auto()
    CONTROL = auto()
    STRING = auto()
    OSC = auto()


_C1_STATES = {
    "\x90": _State.STRING,
    "\x98": _State.STRING,
    "\x9b": _State.CONTROL,
    "\x9d": _State.OSC,
    "\x9e": _State.STRING,
    "\x9f": _State.STRING,
}
_ESCAPE_STATES = {chr(ord(c1) - 0x40): state for c1, state in _C1_STATES.items()}


def sanitize(data: bytes | str, limits: SanitizerLimits = DEFAULT_LIMITS) -> str:
    """Return the text that a person would see after a program has printed `data`."""
    sanitizer = Sanitizer(limits)
    return sanitizer.feed(data) + sanitizer.close()


class Sanitizer:
    """Sanitizing of a stream: feed pieces of any size, then close."""

    def __init__(self, limits: SanitizerLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._out: list[str] = []
        self._row = Row(self._out, limits.row)
        self._state = _State.GROUND
        self._taken = ""  # parameters of the control sequence so far
        self._concealed = False
        self._pending: list[str] = []
        self._pending_size = 0

    @property
    def held(self) -> int:
        """The number of characters and cells in memory; bounded whatever was fed."""
        return self._pending_size + len(self._taken) + self._row.held

    def feed(self, data: bytes | str) -> str:
        """Take more output and return the lines that are now complete, and parts of very long ones."""
        self._take(self._decode(data))
        return self._released()

    def close(self) -> str:
        """Return the last line, if it had no end, and start anew."""
        self._take(self._decoder.decode(b"", final=True))
        self._run_pending()
        self._row.end()
        self._state = _State.GROUND
        self._concealed = False
        return self._released()

    def _decode(self, data: bytes | str) -> str:
        if isinstance(data, str):
            # Bytes before it that are not a whole character will not become one.
            text = self._decoder.decode(b"", final=True) + data
            return text if text.isascii() else _surrogates.sub("\ufffd", text)
        if not isinstance(data, bytes | bytearray | memoryview):
            raise BadArgument(f"terminal output must be bytes or text, not {type(data).__name__}")
        return self._decoder.decode(data)

    def _released(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    @property
    def _fresh(self) -> bool:
        return self._state is _State.GROUND and not self._concealed and self._row.empty

    def _take(self, text: str) -> None:
        at = 0 if self._fresh else self._run(text, 0)
        end = text.rfind("\n", at) + 1
        if end > at:
            self._pending.append(text[at:end])
            lines = "".join(self._pending)
            self._pending.clear()
            self._pending_size = 0
            self._lines(lines)
            at = end if self._fresh else self._run(text, end)
        if at < len(text):
            self._pending.append(text[at:])
            self._pending_size += len(text) - at
            if self._pending_size > self._limits.pending:
                self._run_pending()

    def _run_pending(self) -> None:
        text = "".join(self._pending)
        self._pending.clear()
        self._pending_size = 0
        at = 0
        while at < len(text):
            at = self._run(text, at)

    def _lines(self, text: str) -> None:
        """Take whole lines, from the start of a line on."""
        hard = _hard_ascii if text.isascii() else _hard
        at = 0
        while at < len(text):
            found = hard.search(text, at)
            if found is None:
                self._bulk(text[at:])
                return
            start = max(at, text.rfind("\n", at, found.start()) + 1)
            if start > at:
                self._bulk(text[at:start])
            at = self._run(text, start)

    def _bulk(self, text: str) -> None:
        if "\x1b" in text:
            text = _colours.sub("", text)
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        if " \n" in text:
            text = "\n".join([line.rstrip(" ") for line in text.split("\n")])
        self._out.append(text)

    def _run(self, text: str, at: int) -> int:
        """Take characters one by one; return the offset behind the line end after which the bulk way can continue."""
        while at < len(text):
            state = self._state
            match state:
                case _State.GROUND:
                    found = _printed.match(text, at)
                    if found:
                        self._print(found.group())
                        at = found.end()
                        continue
                    found = _nothing.match(text, at)
                    if found:
                        at = found.end()
                        continue
                    at += 1
                    self._control(text[at - 1])
                    if self._state is _State.ESCAPE:
                        at = self._whole_sequence(text, at)
                    elif text[at - 1] in _NEW_LINES and self._fresh:
                        return at
                case _State.STRING | _State.OSC:
                    end = (_osc_end if state is _State.OSC else _string_end).search(text, at)
                    if end is None:
                        return len(text)
                    at = end.end()
                    # ESC \ is itself a sequence that disappears, so any ESC may start anew.
                    self._state = _State.ESCAPE if end.group() == "\x1b" else _State.GROUND
                case _State.CONTROL:
                    at = self._collect(text, at)
                case _:
                    at = self._escape(text, at)
        return at

    def _print(self, text: str) -> None:
        if self._concealed:
            self._row.conceal(text)
        else:
            self._row.write(text)

    def _control(self, char: str) -> None:
        """Carry out a C0 or C1 control; characters that are to be removed end here too."""
        if char in _NEW_LINES:
            self._row.end()
            self._out.append("\n")
        elif char == "\r":
            self._row.home()
        elif char == "\b":
            self._row.left(1)
        elif char == "\x1b":
            self._state = _State.ESCAPE
        else:
            self._state = _C1_STATES.get(char, self._state)
        self._taken = ""

    def _whole_sequence(self, text: str, at: int) -> int:
        """Take a control sequence that lies whole in the text, behind its ESC, as nearly all do."""
        found = _control_sequence.match(text, at)
        if found is None:
            return at
        self._state = _State.GROUND
        parameters, intermediate, final = found.groups()
        if not intermediate:
            self._act(parameters, final)
        return found.end()

    def _escape(self, text: str, at: int) -> int:
        """Continue behind an ESC, or behind an ESC and intermediates."""
        found = _intermediates.match(text, at)
        if found:
            self._state = _State.INTERMEDIATE
            return found.end()
        char = text[at]
        state, self._state = self._state, _State.GROUND
        if not "0" <= char <= "~":
            return at  # not a sequence: what has come of it is dropped, this character counts
        if state is _State.ESCAPE:
            if char in "DE":
                self._control("\n")
            self._taken = ""
            self._state = _ESCAPE_STATES.get(char, _State.GROUND)
        return at + 1

    def _collect(self, text: str, at: int) -> int:
        """Continue inside a control sequence."""
        found = _parameters.match(text, at)
        if found and found.group():
            # One character over the limit is enough to know that it has no effect.
            self._taken = (self._taken + found.group()[: LONGEST_PARAMETERS + 1])[: LONGEST_PARAMETERS + 1]
            return found.end()
        char = text[at]
        if "@" <= char <= "~":
            self._state = _State.GROUND
            if len(self._taken) <= LONGEST_PARAMETERS:
                self._act(self._taken, char)
        elif char == "\t":
            self._print(char)
        elif char in "\x18\x1a":
            self._state = _State.GROUND
        elif char == "\x1b":
            self._state = _State.ESCAPE
        elif char < " ":
            taken = self._taken
            self._control(char)
            self._taken = taken
        elif char != "\x7f":
            self._state = _State.GROUND
            return at
        return at + 1

    def _act(self, parameters: str, final: str) -> None:
        """Carry out a control sequence that acts within the line; all others have no effect."""
        if final == "m":
            if "8" in parameters or self._concealed:
                self._conceal(parameters)
            return
        if final not in "KCDG`P@X" or not _numbers.fullmatch(parameters):
            return
        digits = parameters.partition(";")[0].lstrip("0")
        # Without the comparison a long run of digits would be converted in quadratic time.
        count = 0 if not digits else LARGEST_COUNT if len(digits) > 4 else min(int(digits), LARGEST_COUNT)
        row = self._row
        match final:
            case "K":
                if count <= 2:
                    row.erase_line(count)
            case "C":
                row.right(count or 1)
            case "D":
                row.left(count or 1)
            case "G" | "`":
                row.column((count or 1) - 1)
            case "P":
                row.delete(count or 1)
            case "@":
                row.insert(count or 1)
            case _:
                row.erase(count or 1)

    def _conceal(self, parameters: str) -> None:
        """Follow SGR 8 (conceal) and what ends it; numbers inside a colour are not attributes."""
        if not _attributes.fullmatch(parameters):
            return
        codes = iter(parameters.split(";"))
        for code in codes:
            number = code.lstrip("0")
            if number in ("38", "48", "58"):
                kind = next(codes, "").lstrip("0")
                for _ in range({"5": 1, "2": 3}.get(kind, 0)):
                    next(codes, "")
            elif number == "8":
                self._concealed = True
            elif number in ("", "28"):
                self._concealed = False
