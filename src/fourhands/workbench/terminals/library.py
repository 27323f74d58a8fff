# ruff: noqa: SLF001 - the one file that reads what pyghostty keeps to itself, as of 0.1.3
"""Access to libghostty-vt that pyghostty does not offer: the C handle of a terminal, and a copy of one."""

import weakref
from typing import Any

from pyghostty import GhosttyError, Terminal, ffi, lib


def handle(terminal: Terminal) -> Any:
    """Return what the library's own functions take for a terminal."""
    return terminal._t[0]


def copy_of(terminal: Terminal) -> Terminal:
    """Return another terminal in the same state, without its scrollback."""
    size = ffi.new("size_t*")
    lib.ghostty_snapshot_encode_buf(handle(terminal), ffi.NULL, 0, size)
    buffer = ffi.new("uint8_t[]", size[0])
    check(lib.ghostty_snapshot_encode_buf(handle(terminal), buffer, size[0], size))
    decoder = ffi.new("GhosttySnapshotDecoder*")
    check(lib.ghostty_snapshot_decoder_new_buf(ffi.NULL, decoder, buffer, size[0]))
    try:
        copy: Any = Terminal.__new__(Terminal)
        copy._t, copy._cb_err = ffi.new("GhosttyTerminal*"), None
        check(lib.ghostty_snapshot_decoder_ready(decoder[0], copy._t))
        copy._free = weakref.finalize(copy, lib.ghostty_terminal_free, copy._t[0])
    finally:
        lib.ghostty_snapshot_decoder_free(decoder[0])
    return copy


def check(code: int) -> None:
    """Raise GhosttyError if the library could not do what it was asked for."""
    if code:
        raise GhosttyError(f"cannot read the screen ({code})")
