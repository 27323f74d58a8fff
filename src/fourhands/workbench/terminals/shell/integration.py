"""Shell integration: how shells are started so that they mark their commands, and how lines are typed into them.

A mark is OSC 133 with a secret of this terminal, so that no program's output can pass for one by accident.

A shell started inside the shell (`bash`, ssh) does not know the secret: its commands are part of the one that started
it. `exec` of a shell that we know, in a plain form, hands the secret on; after any other no more marks come.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fourhands.core.errors import BadArgument

SCRIPTS = Path(__file__).parent / "scripts"
"""The one directory that holds every integration script; a sandbox binds it where `integrate` is told."""

_DATA_DIRS = "/usr/local/share:/usr/share"  # what the XDG rules say where the variable is not set

EXPANDING_SHELLS = ("bash", "zsh")
"""Shells in which, unless it is switched off, `!` stands for an earlier command; they know `$'...'` too."""

_NONCE = re.compile(r"[0-9A-Za-z_-]{8,128}")


@dataclass(frozen=True, slots=True)
class Integration:
    """The start of a shell that marks its commands: its arguments, and what to add to its environment."""

    argv: tuple[str, ...]
    env: dict[str, str]


def integrate(
    shell: str, nonce: str, *, directory: Path = SCRIPTS, env: Mapping[str, str] | None = None
) -> Integration | None:
    """Return the start of a login `shell` with marks, or None for a shell that has none (ksh, others).

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


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CLEAR_FISH = b"\x1b[4404~"  # bound by our script to nothing but that
_EXPANDED = re.compile(r"![^\s=]|^\^", re.MULTILINE)  # quotes do not count: the shells disagree about them
_LINE_LIMIT = 4095  # what a terminal in canonical mode takes as one line


def encode_input(text: str, bracketed: bool, *, shell: str = "bash", expands: bool = False) -> bytes:
    """Return the bytes that type `text` so that the shell takes it as one entry, Enter included.

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
