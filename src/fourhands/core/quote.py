"""Quoted data: block markers in it are broken for models, so that it does not run, and mended in calls.

A model that repeats what it read, from a file, a terminal or a page, must not run the blocks in it. So each marker in
data on its way to a model has a word joiner (U+2060) behind its percent signs, which makes it ordinary text, and the
same sign is taken out of an agent's arguments, so that what it read and writes back is what it was. One sign is added
and one taken, whatever stood there before: nothing is lost even of a text that had such signs itself.

A model may still write the marker whole. So data with blocks in it is remembered per session, up to a bound: a block
that stood in it, to the letter, is asked about.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar, cast

from fourhands.core.bounded import BoundedDict
from fourhands.core.text import truncate

MARK = "%%OS{"
JOINER = "\u2060"

MOST_KEPT = 256 * 1024
"""Characters of data with blocks in it that are remembered for one session; the oldest go first."""

MOST_SESSIONS = 1000
"""Sessions for which such data is remembered; those that were given some last."""

_END = "}%%"
_NAME = 100
_TO_BREAK = re.compile(f"%%(?={JOINER}*OS{{)")
_TO_MEND = re.compile(f"%%{JOINER}(?={JOINER}*OS{{)")
_BROKEN = re.compile(f"%%{JOINER}+OS{{")
_T = TypeVar("_T")


def broken(value: _T) -> _T:
    """Return the same data with every marker in its texts broken, at any depth."""
    return cast(_T, _changed(value, _TO_BREAK, f"%%{JOINER}", "OS{"))


def mended(value: _T) -> _T:
    """Return the same data with the markers whole again that `broken` broke."""
    return cast(_T, _changed(value, _TO_MEND, "%%", JOINER))


class Given:
    """The data with blocks in it that each session was given, with the place it stood in."""

    def __init__(self, *, most_kept: int = MOST_KEPT, most_sessions: int = MOST_SESSIONS) -> None:
        self._most_kept = most_kept
        self._sessions: BoundedDict[str, BoundedDict[str, str]] = BoundedDict(most_sessions)

    def quote(self, session: str, value: _T, where: str) -> _T:
        """Remember data that a session is given, and return it as its model may see it."""
        for text, place in _texts(value, where):
            self._note(session, text, place)
        return broken(value)

    def note(self, session: str, value: object, where: str) -> None:
        """Remember data that a session was given with its markers broken; a whole marker is the author's own."""
        for text, place in _texts(value, where):
            if JOINER in text:
                self._note(session, text.replace(MARK, ""), place)

    def where(self, session: str, block: str) -> str:
        """Return the place in which this block stood in the session's data; an empty text if it did not."""
        kept = self._sessions.get(session)
        if not kept or not block:
            return ""
        plain = _plain(block)
        return next((kept[text] for text in reversed(kept) if plain in text), "")

    def end(self, session: str) -> None:
        """Drop what is remembered for a session."""
        self._sessions.pop(session, None)

    def _note(self, session: str, text: str, where: str) -> None:
        if "OS{" not in text:
            return
        plain = _plain(text)
        start, end = plain.find(MARK), plain.rfind(_END)
        if start < 0 or end < start:
            return
        plain = plain[start : min(end + len(_END), start + self._most_kept)]
        if session not in self._sessions:
            self._sessions[session] = BoundedDict(self._most_kept, size=lambda text, _: len(text))
        self._sessions.touch(session)
        self._sessions[session][plain] = _named(where)


def _changed(value: object, pattern: re.Pattern[str], by: str, hint: str) -> object:
    """Return the value with its texts changed, or the value itself where there is nothing to change."""
    if isinstance(value, str):
        return pattern.sub(by, value) if hint in value else value
    if isinstance(value, Mapping):
        pairs = [(_changed(k, pattern, by, hint), _changed(v, pattern, by, hint)) for k, v in value.items()]
        same = all(k is name and v is item for (k, v), (name, item) in zip(pairs, value.items(), strict=True))
        return value if same else dict(pairs)
    if isinstance(value, list | tuple):
        items = [_changed(item, pattern, by, hint) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _texts(value: object, where: str) -> Iterator[tuple[str, str]]:
    """Yield every text in some data with its place; data that names its own path stood in that file."""
    if isinstance(value, str):
        yield value, where
    elif isinstance(value, Mapping):
        path = value.get("path")
        place = f"file {path}" if isinstance(path, str) and path else where
        for name, item in value.items():
            yield from _texts(name, place)
            yield from _texts(item, place)
    elif isinstance(value, list | tuple):
        if value and all(isinstance(item, str) for item in value):
            yield "\n".join(value), where  # lines: a block may stand on several
        else:
            for item in value:
                yield from _texts(item, where)


def _plain(text: str) -> str:
    return _BROKEN.sub(MARK, text) if JOINER in text else text


def _named(where: str) -> str:
    """Return a place as a person may read it: names come from outside, so nothing in it is hidden or too long."""
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in where[: _NAME + 1])
    return truncate(shown, _NAME)
