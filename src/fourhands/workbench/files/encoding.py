"""A file's bytes as text and back, so that a file which is opened and saved unchanged stays the same bytes."""

import codecs

from msgspec import Struct

from fourhands.core.errors import BadArgument

# With a mark at the start, which is not part of the text; UTF-32 before UTF-16, whose mark is its beginning.
_MARKED = (
    ("utf-8-sig", codecs.BOM_UTF8, "utf-8"),
    ("utf-32-le", codecs.BOM_UTF32_LE, "utf-32-le"),
    ("utf-32-be", codecs.BOM_UTF32_BE, "utf-32-be"),
    ("utf-16-le", codecs.BOM_UTF16_LE, "utf-16-le"),
    ("utf-16-be", codecs.BOM_UTF16_BE, "utf-16-be"),
)
ENCODINGS = ("utf-8", *(name for name, _, _ in _MARKED), "latin-1")
_LOOKED_AT = 8192


class FileText(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file's text and what is needed to write it back; a binary file has no text."""

    path: str
    text: str
    version: str
    encoding: str
    binary: bool
    size: int


def decoded(data: bytes, *, path: str, version: str) -> FileText:
    """Find out what the bytes are: text in one of `ENCODINGS`, or binary."""
    text, encoding = _decode(data)
    return FileText(
        path=path,
        text=text or "",
        version=version,
        encoding=encoding,
        binary=text is None,
        size=len(data),
    )


def begins_as(data: bytes) -> tuple[bytes, str]:
    """Return a file's mark, if it has one, and its encoding or "binary", from its first bytes."""
    for name, mark, _ in _MARKED:
        if data.startswith(mark):
            return mark, name
    return b"", "binary" if b"\0" in data[:_LOOKED_AT] else "utf-8"


def _decode(data: bytes) -> tuple[str | None, str]:
    for name, mark, codec in _MARKED:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(codec), name
            except UnicodeDecodeError:
                break
    if b"\0" in data[:_LOOKED_AT]:
        return None, "binary"
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        # Every byte is a character there, so whatever it really was comes back the same.
        return (None, "binary") if b"\0" in data else (data.decode("latin-1"), "latin-1")


def encoded(text: str, encoding: str, *, marked: bool = True) -> bytes:
    """Return the bytes of a text in one of `ENCODINGS`, with its mark unless they go behind what has it."""
    if not isinstance(text, str):
        raise BadArgument(f"content must be text, not {type(text).__name__}")
    if encoding not in ENCODINGS:
        raise BadArgument(f"unknown encoding {encoding!r}", hint=f"encodings here: {', '.join(ENCODINGS)}")
    mark, codec = next(((mark, codec) for name, mark, codec in _MARKED if name == encoding), (b"", encoding))
    try:
        return (mark if marked else b"") + text.encode(codec)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise BadArgument(
            f"the character U+{ord(bad):04X} at {error.start} cannot be written as {encoding}",
            hint="leave it out" if 0xD800 <= ord(bad) <= 0xDFFF else "write the file as utf-8",
        ) from error
