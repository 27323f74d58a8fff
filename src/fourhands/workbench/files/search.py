"""Searches for files of a workspace by name and by text, through ripgrep.

ripgrep lists what .gitignore leaves, names are ranked here, and ripgrep looks into the files that the deny-lists
leave. It walks by path, so a directory swapped for a link at the right moment could lead it outside.
Therefore nothing that it reports is believed: each result is opened again by a walk without links, and a line is
shown only if it stands in what was read that way.
"""

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.safety.paths.errors import shown
from fourhands.safety.paths.policy import PathPolicy, Purpose, is_packages_name, plain
from fourhands.safety.paths.walk import PathWalk, Root
from fourhands.safety.unicode import controls
from fourhands.workbench.files.encoding import decoded
from fourhands.workbench.files.ranking import rank
from fourhands.workbench.files.ripgrep import Deadline, Hit, Ripgrep

LONGEST_QUERY = 1000
MOST_RESULTS = 10_000
_LONGEST_TEXT = 400
_MOST_PER_FILE = 100
# The first batch is small, so that a frequent word is answered at once; a rare one soon goes by thousands.
_FIRST_BATCH = 64
_BATCH_BYTES = 512 * 1024  # well below what any system takes as arguments
_PATTERN_SIGNS = frozenset("*?[")


class FileMatch(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line that has the query. `line` and `column` count from 1, the column in characters."""

    path: str
    line: int
    column: int
    text: str


class FileSearchResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """Paths: matching names first, then files whose text matches. `reason` tells what cut it short, if anything."""

    results: list[str]
    matches: list[FileMatch]
    truncated: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of one search: results, bytes of one file, and seconds."""

    results: int
    file_bytes: int
    timeout_s: float


@dataclass(slots=True)
class _Collected:
    matches: list[FileMatch] = field(default_factory=list)
    reason: str = ""


class FileSearch:
    """Searches in one workspace, under one set of rules."""

    def __init__(self, root: Root, rules: PathPolicy, limits: SearchLimits, ripgrep: Ripgrep) -> None:
        if (
            isinstance(limits.results, bool)
            or not isinstance(limits.results, int)
            or not 0 < limits.results <= MOST_RESULTS
        ):
            raise BadArgument(f"limit must be a number from 1 to {MOST_RESULTS}, not {shown(limits.results)}")
        self._root = root
        self._rules = rules
        self._limits = limits
        self._ripgrep = ripgrep

    def run(
        self,
        query: str,
        include: str | Sequence[str] | None,
        exclude: str | Sequence[str] | None,
        *,
        below: Sequence[str],
        regex: bool,
    ) -> FileSearchResult:
        """Search below the directory `below`, whose names are resolved."""
        including, excluding = _patterns("include", include), _patterns("exclude", exclude)
        _check_query(query, including)
        deadline = self._ripgrep.deadline(self._limits.timeout_s)
        files = self._files(including, excluding, below, deadline)
        most = self._limits.results
        names = [] if regex else self._regular(self._by_name(query, files), most + 1)
        collected = self._by_text(query, files, regex, deadline) if query else _Collected()
        results = list(dict.fromkeys([*names, *(match.path for match in collected.matches)]))
        reason = "time" if deadline.passed else collected.reason or ("limit" if len(results) > most else "")
        return FileSearchResult(
            results=results[:most], matches=collected.matches[:most], truncated=bool(reason), reason=reason
        )

    def _files(
        self, include: Sequence[str], exclude: Sequence[str], below: Sequence[str], deadline: Deadline
    ) -> list[str]:
        """List the files that may be searched, in a stable order."""
        prefix = "".join(f"{name}/" for name in below)
        packages = any(is_packages_name(name) for name in below)
        # From the root, because .gitignore files above `below` count too; but packages are themselves ignored.
        start = prefix if packages else "."
        listed: Iterable[str] = self._ripgrep.list_files(self._root.path, start, exclude, packages, deadline)
        if prefix:
            listed = [path for path in listed if path.startswith(prefix)]
        if include:
            # Asked for separately: to ripgrep an include pattern is stronger than .gitignore.
            wanted = set(self._ripgrep.list_files(self._root.path, prefix or ".", exclude, packages, deadline, include))
            listed = [path for path in listed if path in wanted]
        root = self._root.path
        return sorted(path for path in listed if self._rules.allows(path.split("/"), f"{root}/{path}", Purpose.READ))

    def _by_name(self, query: str, files: Sequence[str]) -> list[str]:
        if not query:
            return list(files)
        if _PATTERN_SIGNS.isdisjoint(query):
            return rank(query, files)
        pattern = query if "/" in query else f"*/{query}"
        return [path for path in files if fnmatch.fnmatchcase(f"/{path}" if "/" not in query else path, pattern)]

    def _regular(self, paths: Iterable[str], most: int) -> list[str]:
        """Keep the paths that really lead to a regular file inside, without any link."""
        kept: list[str] = []
        for path in paths:
            if len(kept) >= most:
                break
            if self._is_regular(path):
                kept.append(plain(path))
        return kept

    def _is_regular(self, path: str) -> bool:
        try:
            with PathWalk(self._root, path, Purpose.READ, self._rules, follow=False) as place:
                return place.status is not None and stat.S_ISREG(place.status.st_mode)
        except FourhandsError:
            return False  # moved, replaced or refused since it was listed: then it is not a result

    def _by_text(self, query: str, files: Sequence[str], regex: bool, deadline: Deadline) -> _Collected:
        collected = _Collected()
        most = self._limits.results
        for batch in self._batches(files):
            hits = self._ripgrep.find_text(self._root.path, query, batch, regex, _MOST_PER_FILE + 1, deadline)
            order = {path: number for number, path in enumerate(batch)}
            for path in sorted(hits, key=lambda path: order.get(path, -1)):
                if path in order:
                    found = hits[path]
                    if len(found) > _MOST_PER_FILE:
                        collected.reason = "limit"
                    collected.matches += self._confirmed(path, found[:_MOST_PER_FILE])
                if len(collected.matches) > most:
                    collected.reason = "limit"
                    return collected
            if deadline.passed:
                break
        return collected

    def _batches(self, files: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size, most = 0, _FIRST_BATCH
        for path in files:
            try:
                status = os.lstat(f"{self._root.path}/{path}")
            except OSError:
                continue
            # Not the check (that is `_confirmed`): it keeps ripgrep from pipes and from huge files.
            if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= self._limits.file_bytes:
                continue
            batch.append(path)
            size += len(path.encode(errors="surrogateescape")) + 10
            if len(batch) >= most or size >= _BATCH_BYTES:
                yield batch
                batch, size, most = [], 0, most * 4
        if batch:
            yield batch

    def _confirmed(self, path: str, hits: Sequence[Hit]) -> list[FileMatch]:
        """Read the file without following any link, and keep the hits that are in what was read."""
        try:
            data = self._read(path)
        except (FourhandsError, OSError):
            return []
        file = decoded(data, path=path, version="")
        if file.binary:
            return []
        lines = file.text.split("\n")
        matches: list[FileMatch] = []
        for hit in hits:
            if hit.line > len(lines):
                continue
            line = lines[hit.line - 1]
            # ripgrep shows bytes that are not UTF-8 as they are; here they were taken for another encoding.
            raw = line.encode("latin-1") if file.encoding == "latin-1" else line.encode(errors="replace")
            if raw != hit.text.rstrip(b"\n"):
                continue
            column = len(raw[: hit.start].decode("latin-1" if file.encoding == "latin-1" else "utf-8", "replace"))
            matches.append(
                FileMatch(
                    path=plain(path), line=hit.line, column=column + 1, text=_shortened(line.rstrip("\r"), column)
                )
            )
        return matches

    def _read(self, path: str) -> bytes:
        with PathWalk(self._root, path, Purpose.READ, self._rules, follow=False) as place:
            fd = place.open_file()
            with open(fd, "rb") as file:
                return file.read(self._limits.file_bytes)


def _shortened(line: str, column: int) -> str:
    """Cut a long line around its match: a minified file is one line of megabytes."""
    if len(line) <= _LONGEST_TEXT:
        return line
    start = max(0, min(column - _LONGEST_TEXT // 4, len(line) - _LONGEST_TEXT))
    return line[start : start + _LONGEST_TEXT]


def _check_query(query: object, include: Sequence[str]) -> None:
    if not isinstance(query, str):
        raise BadArgument(f"query must be text, not {shown(query)}")
    if not query and not include:
        raise BadArgument("query is empty", hint="pass what to look for, or an include pattern such as '*.py'")
    if len(query) > LONGEST_QUERY:
        raise BadArgument(f"query has {len(query)} characters, at most {LONGEST_QUERY} are possible")
    if controls.search(query) or "\n" in query or "\r" in query:
        raise BadArgument(f"query {shown(query)} has control characters or several lines", hint="search for one line")
    _check_text("query", query)


def _patterns(kind: str, given: object) -> list[str]:
    if given is None or given == "":
        return []
    patterns = [given] if isinstance(given, str) else given
    if not isinstance(patterns, Sequence) or not all(isinstance(pattern, str) for pattern in patterns):
        raise BadArgument(f"{kind} must be a pattern or a list of patterns, not {shown(given)}")
    checked: list[str] = []
    for pattern in patterns:
        if not pattern.strip() or pattern.startswith("!") or len(pattern) > LONGEST_QUERY or "\0" in pattern:
            raise BadArgument(
                f"{kind} pattern {shown(pattern)} cannot be used",
                hint="such as '*.py' or 'src/**'; it has no leading '!'",
            )
        _check_text(kind, pattern)
        checked.append(pattern.removeprefix("./"))
    return checked


def _check_text(kind: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadArgument(f"{kind} {shown(text)} is not valid Unicode text") from error
