"""The commands of a shell, as its marks tell of them, and what the shell does now.

Where marks are missing or contradict each other the bounds of a command are None ("boundaries unknown"); nothing here
is a guess. Positions are absolute byte offsets.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import Literal

from fourhands.workbench.terminals.shell.marks import ShellMark


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
        """True if it is known exactly which bytes the command printed."""
        return self.start is not None and self.end is not None


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The outcome of all that was entered at one prompt: the place of its output, and its end.

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
        """True once the present prompt's own mark has come: bash's line editor is there a moment before it."""
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
        """True while the shell reads a new line: zsh switches bracketed paste on only after its prompt."""
        return self.state == "prompt" and (self.bracketed or not self._pastes)

    @property
    def ending(self) -> bool:
        """True while a command is over and the next prompt is still to come."""
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
        """Return the outcome of what was entered at prompt number `shown`, or of the newest command."""
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
        """Return True if what was typed at prompt number `shown` is over and the shell waits again."""
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
