"""Files as agents read them: secrets are taken out first, whatever part is asked for, and are never written back.

What an agent reads has `[redacted:KIND]` where a secret stands. The file keeps the secret: content that would put the
placeholder in its place is refused.
"""

import re

from msgspec import structs

from fourhands.core.call import Call
from fourhands.core.errors import BadArgument
from fourhands.safety.redaction.redactor import LONGEST_KEY
from fourhands.workbench.files.excerpt import FilePiece
from fourhands.workbench.files.search import FileMatch, FileSearchResult
from fourhands.workbench.files.workspace import Workspace
from fourhands.workbench.workbench import Workbench

_PLACEHOLDER = re.compile(rb"\[redacted:[a-z-]+\]")


def is_agents(call: Call) -> bool:
    """Return True if the caller reads what agents may read."""
    return call.session is not None


def text_for(bench: Workbench, call: Call, text: str) -> str:
    """Return a whole text as the caller may see it, with as many lines as it has."""
    return "\n".join(bench.redaction.lines(text.split("\n"))) if is_agents(call) else text


def piece_for(bench: Workbench, files: Workspace, call: Call, path: str, piece: FilePiece) -> str:
    """Return a piece of a file as the caller may see it; what stands around it says whether a secret is cut.

    A line that is cut by the piece's edge is given whole where it has a secret, since its halves would show it.
    """
    text = piece.text or ""
    if not is_agents(call) or not bench.redaction.enabled:
        return text
    start = max(0, piece.offset - 2 * LONGEST_KEY)
    size = piece.end - start + 2 * LONGEST_KEY
    around = files.read_piece(path, start, min(size, files.settings.read_limit_bytes))
    try:
        whole = around.data.decode("utf-8", "surrogateescape")
        low = len(around.data[: piece.offset - around.offset].decode("utf-8", "surrogateescape"))
        high = low + len(piece.data.decode("utf-8", "surrogateescape"))
    except UnicodeDecodeError:  # not a text that can be cut so
        return text_for(bench, call, text)
    if "\0" in whole:
        return text_for(bench, call, text)
    lines = whole.split("\n")
    out: list[str] = []
    at = 0
    for line, clean in zip(lines, bench.redaction.lines(lines), strict=True):
        end = at + len(line)
        if at < high and end > low:
            out.append(line[max(0, low - at) : high - at] if line == clean else clean)
        if low <= end < high:
            out.append("\n")
        at = end + 1
    return "".join(out).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def search_for(bench: Workbench, call: Call, query: str, found: FileSearchResult) -> FileSearchResult:
    """Return a search's result as the caller may see it: what matches in secrets only has not matched."""
    if not is_agents(call) or not bench.redaction.enabled:
        return found
    matches: list[FileMatch] = []
    dropped: set[str] = set()
    for match in found.matches:
        clean = bench.redaction.text(match.text)
        if clean == match.text:
            matches.append(match)
        elif query.lower() in clean.lower():
            matches.append(structs.replace(match, text=clean))
        else:
            dropped.add(match.path)
    kept = {match.path for match in matches}
    results = [path for path in found.results if path not in dropped - kept or query.lower() in path.lower()]
    return FileSearchResult(results=results, matches=matches, truncated=found.truncated, reason=found.reason)


def refuse_placeholders(call: Call, path: str, before: bytes | None, content: bytes) -> None:
    """Raise `BadArgument` if an agent would write a placeholder over the secret that it stands for."""
    if before is None or not is_agents(call):
        return
    if len(_PLACEHOLDER.findall(content)) > len(_PLACEHOLDER.findall(before)):
        raise BadArgument(
            f"{path!r} would get [redacted:…] in place of a secret that it holds",
            hint="change the other lines with openspace.file.edit; the secret stays as it is in the file",
        )
