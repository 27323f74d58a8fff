"""Shell integration: how shells are started so that they mark their commands, and how the marks are read.

A mark is OSC 133 with a secret of this terminal, so that no program's output can pass for one by accident.
`MarkScanner` finds marks in the byte stream, `ShellHistory` turns them into records. Where marks are missing or
contradict each other the bounds of a command are None ("boundaries unknown"); nothing here is a guess. Positions are
absolute byte offsets.

A shell started inside the shell (`bash`, ssh) does not know the secret: its commands are part of the one that started
it. `exec` of a shell that we know, in a plain form, hands the secret on; after any other no more marks come.
"""

import os
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

from fourhands.core.errors import BadArgument

SCRIPTS = Path(__file__).parent / "scripts"
"""The one directory that holds every integration script; a sandbox binds it where `integrate` is told."""

_DATA_DIRS = "/usr/local/share:/usr/share"  # what the XDG rules say where the variable is not set

EXPANDING_SHELLS = ("bash", "zsh")
"""Shells in which, unless it is switched off, `!` stands for an earlier command; they know `$'...'` too."""

_NONCE = re.compile(r"[0-9A-Za-z_-]{8,128}")


@dataclass(frozen=True, slots=True)
class Integration:
    """How to start a shell that marks its commands: its arguments, and what to add to its environment."""

    argv: tuple[str, ...]
    env: dict[str, str]


def integrate(
    shell: str, nonce: str, *, directory: Path = SCRIPTS, env: Mapping[str, str] | None = None
) -> Integration | None:
    """Give the start of a login `shell` with marks, or None for a shell that has none (ksh, others).

    `directory` is where the shell finds the scripts; `env` is the environment it would have had, so that the values we
    must borrow (ENV, ZDOTDIR, XDG_DATA_DIRS) are given back. The nonce is for one terminal and must not be used again.
    """
    if not _NONCE.fullmatch(nonce):
        raise BadArgument(f"bad nonce {nonce!r}", hint="8 to 128 letters, digits, '-' or '_'")
    before = env or {}
    match os.path.basename(shell):
        case "bash":
            add = {"FOURHANDS_NONCE": nonce, "ENV": str(directory / "fourhands.bash")}
            if "ENV" in before:
                add["FOURHANDS_ENV"] = before["ENV"]
            # A login bash ignores --rcfile; in posix mode it reads $ENV and nothing else.
            return Integration((shell, "--posix", "--login"), add)
        case "zsh":
            add = {"FOURHANDS_NONCE": nonce, "ZDOTDIR": str(directory)}
            if "ZDOTDIR" in before:
                add["FOURHANDS_ZDOTDIR"] = before["ZDOTDIR"]
            return Integration((shell, "--login"), add)
        case "fish":
            dirs = before.get("XDG_DATA_DIRS")
            add = {"FOURHANDS_NONCE": nonce, "XDG_DATA_DIRS": f"{directory}:{dirs or _DATA_DIRS}"}
            if dirs is not None:
                add["FOURHANDS_DATA_DIRS"] = dirs
            return Integration((shell, "--login"), add)
        case "sh" | "dash" | "ash":
            add = {"FOURHANDS_NONCE": nonce, "ENV": str(directory / "fourhands.sh")}
            if "ENV" in before:
                add["FOURHANDS_ENV"] = before["ENV"]
            return Integration((shell,), add)
    return None


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
        """Where a shell marks no beginning, a command begins behind the echo of the Enter that sent it."""
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
    """Where a cut-off beginning of a mark starts at the end of the data, or its length."""
    at = data.rfind(b"\x1b", max(0, len(data) - len(_PASTE)))
    rest = data[at:] if at >= 0 else b""
    return at if rest and (_OSC.startswith(rest) or _PASTE.startswith(rest)) else len(data)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of the shell, with the bounds [start, end) of its output.

    A bound is None while it is not there, or when no mark tells it. `ran` is False for a line that the shell took
    without running anything: empty, a comment, a syntax error, Ctrl-C; such a record has no id, and `exit_code` is the
    shell's `$?` after it. `prompt` is the number of the prompt it was entered at: lines pasted together share it.
    `statuses` are the shell's PIPESTATUS, `cwd` is where the shell was afterwards. `sure` is False when the user's own
    prompt code ran before the end was reported, so that its output may be included.
    """

    id: int | None
    prompt: int
    state: Literal["running", "finished"]
    start: int | None = None
    end: int | None = None
    exit_code: int | None = None
    statuses: tuple[int, ...] = ()
    cwd: str | None = None
    ran: bool = True
    sure: bool = True

    @property
    def bounded(self) -> bool:
        """Whether it is known exactly which bytes the command printed."""
        return self.start is not None and self.end is not None


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What came of all that was entered at one prompt: where its output is, and how it ended.

    `began` is False where no mark told that something was run: an empty line, a syntax error, a line that the shell
    refused; nothing is `sure` then.
    """

    start: int | None
    end: int | None
    exit_code: int | None
    statuses: tuple[int, ...]
    began: bool
    sure: bool


class ShellHistory:
    """Turns marks into records of commands and tells what the shell is doing.

    `state`: "unknown" (no mark yet), "prompt" (waits for a command), "incomplete" (waits for the rest of one, PS2),
    "running". `shown` counts the prompts; what is typed now belongs to prompt `shown`, and `settled` says when that is
    over. `ended` counts the commands that have ended, `edited` how often a line editor took over, the one of a shell
    inside this shell too. A shell that takes this one's place (`exec`) and has its secret counts its commands anew.
    """

    def __init__(self, keep: int = 1000) -> None:
        self.state: Literal["unknown", "prompt", "incomplete", "running"] = "unknown"
        self.bracketed = False
        self.cwd: str | None = None
        self.shell = ""  # what has shown the last prompt, once that is known
        self.shown = self.ended = self.edited = 0
        self.records: deque[ShellCommand] = deque(maxlen=keep)
        self._prompt: int | None = None  # the shell's own number of the prompt, where it counts them
        self.announced = False
        """Whether the present prompt's own mark has come: bash's line editor is there a moment before it."""
        self._number = 0  # the shell's number of the last command that it told of
        self._began = False  # a command began at this prompt
        self._ending = False  # an end was reported, so the next prompt is near
        self._pastes = False  # bracketed paste is still to come after the prompt
        self._let_go: int | None = None  # where the line editor let go of the line typed at this prompt
        self._taken: ShellMark | None = None  # when a line editor last took over since the command began
        self._silent = False  # the prompt that comes next has no mark of its own
        self._ended: int | None = None  # the first end reported since the line was typed
        self._status: int | None = None

    @property
    def ready(self) -> bool:
        """Whether the shell reads a new line now: zsh switches bracketed paste on only after its prompt."""
        return self.state == "prompt" and (self.bracketed or not self._pastes)

    @property
    def ending(self) -> bool:
        """Whether a command is over and the next prompt is still to come."""
        return self._ending and self.state == "running"

    @property
    def last(self) -> ShellCommand | None:
        """The newest record."""
        return self.records[-1] if self.records else None

    def at(self, shown: int) -> list[ShellCommand]:
        """Everything that was entered at prompt number `shown`, in order."""
        found: list[ShellCommand] = []
        for record in reversed(self.records):  # their numbers only grow
            if record.prompt < shown:
                break
            if record.prompt == shown:
                found.append(record)
        return found[::-1]

    def outcome(self, shown: int) -> CommandOutcome | None:
        """What came of what was entered at prompt number `shown`; of the newest command where that is not known."""
        records = self.at(shown) or ([self.last] if self.last is not None else [])
        if not records:
            return None
        last = records[-1]
        return CommandOutcome(
            start=next((record.start for record in records if record.start is not None), None),
            end=last.end,
            exit_code=last.exit_code,
            statuses=last.statuses,
            began=all(record.ran for record in records),
            sure=all(record.ran and record.bounded and record.sure for record in records),
        )

    def settled(self, shown: int) -> bool:
        """Whether what was typed at prompt number `shown` is over and the shell waits again."""
        return self.shown > shown and self.ready

    def apply(self, mark: ShellMark) -> None:
        """Take the next mark."""
        match mark.kind:
            case "paste-on":
                self.bracketed, self._taken = True, mark
                self.edited += 1
                # bash does this just before its prompt, whose own mark may be missing.
                if self._ending:
                    self._show(None)
            case "paste-off":
                self.bracketed = False
                if self.state in ("prompt", "incomplete"):
                    self._let_go, self._ended = mark.end, None
            case "prompt":
                if self._ending or self._began or not self.shown:
                    self._show(mark.prompt)
                elif self._prompt is None and self._let_go is None:
                    self._prompt = mark.prompt
                elif self._prompt != mark.prompt:
                    self._show(mark.prompt)
                self._pastes, self.announced, self.shell = mark.pastes, True, mark.shell or self.shell
            case "input":
                self.state = "prompt"
            case "more":
                self.state = "incomplete"
            case "begin":
                self._begin(mark)
            case "end":
                self._end(mark)

    def _show(self, number: int | None) -> None:
        if not self._began and self.shown:
            self.records.append(
                ShellCommand(
                    None, self.shown, "finished", self._let_go, self._ended, self._status, cwd=self.cwd, ran=False
                )
            )
        self._give_up()
        self.shown += 1
        self.state = "prompt"
        self._prompt = number
        self._began = self._ending = self._pastes = False
        self.announced = self._silent
        self._let_go = self._ended = None

    def _give_up(self) -> None:
        """Close a command whose end was never reported: its bounds stay unknown."""
        if (last := self.last) and last.state == "running":
            self.records[-1] = replace(last, state="finished")

    def _begin(self, mark: ShellMark) -> None:
        self._give_up()
        self._number = mark.number or 0
        self.records.append(ShellCommand(mark.number, self.shown, "running", mark.end))
        self.state = "running"
        self._began, self._ending, self._taken = True, False, None

    def _end(self, mark: ShellMark) -> None:
        number = self._number if mark.number is None else mark.number
        self._status = mark.exit_code
        self.cwd = mark.cwd or self.cwd
        self.shell = mark.shell or self.shell
        if self._ended is None:
            self._ended = mark.start
        if mark.origin in ("hook", "late-hook"):
            self._silent = mark.silent
        last = self.last
        if last and last.id == number and last.state == "running":
            end: int | None = mark.start
            sure = mark.origin not in ("prompt-only", "late-hook")
            if mark.origin == "begin" and (self._taken or self._let_go is None):
                end = None  # exact between lines of one paste only; else a prompt without marks has been
            elif self._taken and self._taken.end == mark.start:
                end = self._taken.start  # bash's line editor comes before the prompt
            elif self._taken and mark.origin == "prompt-alone":
                end, sure = self._taken.start, False  # it has printed something of its own first, such as its mode
            self.ended += 1
            self.records[-1] = replace(
                last,
                state="finished",
                end=end,
                exit_code=mark.exit_code,
                statuses=mark.statuses,
                cwd=mark.cwd,
                sure=sure,
            )
        elif last and last.id == number:
            if not (last.statuses and last.cwd):
                self.records[-1] = replace(last, statuses=last.statuses or mark.statuses, cwd=last.cwd or mark.cwd)
        elif number > self._number:
            # It began before our time, or its beginning was lost.
            self._give_up()
            self.ended += 1
            known = mark.start if mark.origin in ("hook", "eol") else None
            self.records.append(
                ShellCommand(number, self.shown, "finished", None, known, mark.exit_code, mark.statuses, mark.cwd)
            )
            self._began = True
        self._number = max(self._number, number)
        # A prompt that is drawn again repeats its end; these alone mean that a new prompt is near.
        if mark.origin in ("hook", "late-hook", "eol") or (
            mark.origin in ("prompt-only", "prompt-alone") and self.state == "running"
        ):
            self._ending = True


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CLEAR_FISH = b"\x1b[4404~"  # bound by our script to nothing but that
_EXPANDED = re.compile(r"![^\s=]|^\^", re.MULTILINE)  # quotes do not count: the shells disagree about them
_LINE_LIMIT = 4095  # what a terminal in canonical mode takes as one line


def encode_input(text: str, bracketed: bool, *, shell: str = "bash", expands: bool = False) -> bytes:
    """Give the bytes that type `text` so that the shell takes it as one entry, Enter included.

    With bracketed paste on, the text is pasted as it is: newlines, tabs and here-documents arrive untouched, and no key
    binding or completion sees them. Without it one line is typed as it is; several lines (or tabs) cannot be, so the
    shells that we know get them as one line, by `eval`, and others refuse. Where the shell `expands` history, a text in
    which it would put earlier commands goes that way too: it means what it means in a script. Control characters are
    refused everywhere: the terminal or the line editor would act on them, and an escape could end the paste.
    """
    text = text.replace("\r\n", "\n").rstrip("\n")
    if control := _CONTROL.search(text):
        raise BadArgument(
            f"control character {control.group()!r} at {control.start()} cannot be typed into a shell",
            hint=f"write it as an escape of the shell, such as $'\\x{ord(control.group()):02x}'",
        )
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise BadArgument(f"text cannot be written as UTF-8: {error.reason} at {error.start}") from error
    if not data:
        return b"\r"
    name = os.path.basename(shell)
    if expands and name in EXPANDING_SHELLS and _EXPANDED.search(text):
        data = b"eval $'" + text.translate(_QUOTED).encode() + b"'"
    if bracketed:
        clear = _CLEAR_FISH if name == "fish" else b""
        return clear + b"\x1b[200~" + data + b"\x1b[201~\r"
    if b"\n" in data or b"\t" in data:
        match name:
            case "bash" | "zsh":
                data = b"eval $'" + text.translate(_QUOTED).encode() + b"'"
            case "sh" | "dash" | "ash":
                data = b"eval \"$(printf %b '" + text.translate(_PRINTED).encode() + b"')\""
            case _:
                raise BadArgument(
                    f"{name} without bracketed paste takes no text of several lines",
                    hint="type one line at a time, or put the text into a file and source it",
                )
    if len(data) > _LINE_LIMIT:
        raise BadArgument(
            f"a line of {len(data)} bytes is too long without bracketed paste",
            hint=f"at most {_LINE_LIMIT} bytes, or put the text into a file and source it",
        )
    return data + b"\r"


# The exclamation mark too, or bash would look for it in its history.
_QUOTED = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "!": "\\x21"})
_PRINTED = str.maketrans({"\\": "\\\\", "'": "'\\''", "\n": "\\n", "\t": "\\t"})
