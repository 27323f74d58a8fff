"""Context limits: every limit on instructions, briefing and results, in one place for the code and the manual.

Tokens are counted without a model's tokenizer: one for every 3 bytes of UTF-8. The usual rule of thumb, 4 characters of
English, is too kind to JSON, paths and other scripts; this one rather counts too many than too few.
"""

import math
from collections.abc import Callable, Iterable, Sequence

BYTES_PER_TOKEN = 3

INSTRUCTIONS_TOKENS = 10_000
"""The whole of the instructions."""

BRIEFING_TOKENS = 2_000
"""The briefing: the short form of the instructions that goes with each request to a model, and never changes."""

TURN_EDITORS_TOKENS = 200
"""Open editors and highlights in the message of one turn, where they changed."""

TURN_TERMINALS_TOKENS = 200
"""Terminals in that message, where they changed."""

TURN_COMMANDS_TOKENS = 300
"""Commands in that message that came or went since the briefing."""

PROJECT_TOKENS = 6_000
"""Instructions from the project's files that go first in each request to a chat model; a quarter of a small context."""

SKILLS_TOKENS = 1_500
"""The list of skills there: descriptions are shortened first, then skills left out."""

TURN_PROJECT_TOKENS = 3_000
"""Instructions from the project's files in the message of one turn, where they changed or came to count."""

TERMINALS_TOKENS = 200
"""The digest of terminals in the instructions."""

STATE_TOKENS = 1_000
"""All of the current state in the instructions, the digest of terminals included."""

RECENT_TOKENS = 1_200
"""Recent failures and slow commands in the instructions."""

SLOW_MS = 500
"""A command that took longer is mentioned in the instructions."""

ATTACHED_TOKENS = 400
"""Terminals attached to the chat, and the last lines that are new in them, in the instructions."""

OUTSIDE_TOKENS = 900
"""Commands announced by programs outside the server, in the instructions."""

TURN_CHARS = 40_000
"""All results in the message of one turn, in characters."""

RESULT_CHARS = 10_000
"""The data of one result in that message, in characters."""

ATTACHED_CHARS = 4_000
"""New output of one terminal attached to the chat, in the message of one turn, in characters."""

ATTACHED_TURN_CHARS = 12_000
"""New output of all of them in that message, in characters."""

HEAD_CHARS = 600
"""The line of one result in that message: its number, command, arguments, and error or small values."""

ARGS_CHARS = 120
"""The arguments repeated in that line."""


def tokens(text: str) -> int:
    """Count a text's tokens, rather too many than too few."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def fit(lines: Sequence[str], limit: int, rest: Callable[[int], str]) -> list[str]:
    """Keep as many lines as `limit` tokens hold; if some are left out, `rest(count)` says so as the last line."""
    if tokens("\n".join(lines)) <= limit:
        return list(lines)
    room = limit * BYTES_PER_TOKEN - len(rest(len(lines)).encode("utf-8", "replace"))
    kept: list[str] = []
    for line in lines:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        kept.append(line)
    return [*kept, rest(len(lines) - len(kept))]


def share(sizes: Iterable[int], total: int, most: int) -> list[int]:
    """Divide `total` among wishes: small ones are fulfilled, large ones get equal parts, none more than `most`."""
    wishes = [min(size, most) for size in sizes]
    shares = [0] * len(wishes)
    left = max(total, 0)
    for done, index in enumerate(sorted(range(len(wishes)), key=wishes.__getitem__)):
        shares[index] = min(wishes[index], left // (len(wishes) - done))
        left -= shares[index]
    return shares
