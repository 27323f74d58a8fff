"""Results of the core tools in the words that a model reads: the output, then one line of facts.

A model pays for each word, in this request and in all that follow: nothing is told twice, and what goes without saying
is left out.
"""

from typing import Any

from fourhands.core.call import Result
from fourhands.core.ids import short_id

_WORTH_TELLING_MS = 1000.0


def told(output: str, *facts: str, note: str = "") -> str:
    """Return an output and its line of facts, those that are empty left out; a note gets a line of its own."""
    body = output if not output or output.endswith("\n") else f"{output}\n"
    lines = [" · ".join(fact for fact in facts if fact)]
    if note:
        lines.append(f"note: {note}")
    return body + "\n".join(line for line in lines if line)


def counted(number: int, noun: str) -> str:
    """Return a number and its noun: 1 line, 2 lines."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('ch') else 's'}"


def ran(result: Result) -> str:
    """Put the outcome of a command into words."""
    data: dict[str, Any] = result.data
    if data.get("sessionId"):
        id = short_id(data["sessionId"])
        return f"running in terminal {id}: terminal_continue reads it, terminal_stop ends it"
    code, signal, error = data.get("exitCode"), data.get("signal"), data.get("error")
    end = f"exit {code}" if code is not None else f"killed by {signal}" if signal else ""
    if data.get("code") == "timeout":
        end = str(error)
    elif error:
        end = f"error: {error}"
    seconds = f"{result.duration_ms / 1000:.1f} s" if result.duration_ms >= _WORTH_TELLING_MS else ""
    lines = counted(data.get("lines", 0), "line") if data.get("truncated") else ""
    holders = data.get("heldOpenBy") or ()
    held = f"its output is still open in process {', '.join(map(str, holders))}" if holders else ""
    return told(str(data.get("output", "")), end, seconds, lines, held, note=str(data.get("note") or ""))


def read(result: Result) -> str:
    """Put lines of a file into words."""
    data: dict[str, Any] = result.data
    first, last, total = data["from"], data["to"], data["lines"]
    which = counted(total, "line") if (first, last) == (1, total) or not total else f"lines {first}–{last} of {total}"
    more = f" (more: read from {last + 1})" if last < total else ""
    encoding = "" if data["encoding"] == "utf-8" else data["encoding"]
    end = "" if data["ended"] or last < total or not total else "no line end at the end"
    return told(data["content"], which + more, encoding, end)


def wrote(result: Result) -> str:
    """Put a written file into words."""
    data: dict[str, Any] = result.data
    return f"{'created' if data['created'] else 'wrote'} {data['path']} · {counted(data['lines'], 'line')}"


def edited(result: Result) -> str:
    """Put an edited file into words: how often each edit found its text, and the lines as they are numbered now."""
    data: dict[str, Any] = result.data
    places: list[str] = []
    for edit in data["edits"]:
        ranges = [
            f"{one['startLine']}" if one["startLine"] == one["endLine"] else f"{one['startLine']}–{one['endLine']}"
            for one in edit["ranges"]
        ]
        more = f" and {edit['count'] - len(ranges)} more" if edit["count"] > len(ranges) else ""
        places.append(", ".join(ranges) + more)
    return f"{'created' if data['created'] else 'edited'} {data['path']} · line {'; '.join(places)}"


def found(result: Result) -> str:
    """Put what a search found into words: the lines by file, then the names, then how much it was."""
    data: dict[str, Any] = result.data
    matches, names = data["matches"], data["names"]
    blocks: list[str] = []
    path = ""
    for match in matches:
        if match["path"] != path:
            path = match["path"]
            blocks.append(f"{path}:")
        blocks.append(f"{match['line']}: {match['text']}")
    if names:
        blocks.append(f"{'names like it' if data['near'] else 'names'}:")
        blocks += names
    total, some = data["lines"], "+" if data["truncated"] else ""
    if not total and not data["named"]:
        return told("\n".join(blocks), "nothing found" + (f" within the {data['reason']}" if data["reason"] else ""))
    lines = f"{total}{some} {'line' if total == 1 and not some else 'lines'} in {counted(data['files'], 'file')}"
    more = f"the first {len(matches)}" if total > len(matches) else ""
    named = f"{counted(data['named'], 'name')}" + (f", the first {len(names)}" if data["named"] > len(names) else "")
    short = f"cut short by the {data['reason']}" if data["reason"] else ""
    return told("\n".join(blocks), lines if total else "", more, named if data["named"] else "", short)


def shown(result: Result) -> str:
    """Put an opened file into words."""
    data: dict[str, Any] = result.data
    line, end = data.get("line"), data.get("endLine")
    place = "" if line is None else f" at line {line}" if end in (None, line) else f" at lines {line}–{end}"
    return f"the person sees {data['path']}{place}" + (", highlighted" if data.get("highlightId") else "")
