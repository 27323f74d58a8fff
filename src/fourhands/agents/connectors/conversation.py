"""The conversation with a chat model: what of it fits, and how it is made smaller so that its beginning stays the same.

A prompt cache lasts as long as requests begin alike. So a conversation that has grown too large is made smaller once,
by a good part, and stays so; nothing is cut anew for each request. Older results are shortened first, then older
messages left out. A call and its result are never apart, and both the model and the person are told.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fourhands.agents.models.dialects.calls import ToolCall
from fourhands.agents.models.history import HistoryCall, HistoryMessage, size

SHORT = 600
"""Characters that are left of an older result."""

LEFT_OUT = "(Earlier messages of this conversation were left out here: they no longer fit into your context.)"
NOT_FINISHED = (
    "not finished: the agent was stopped or its server ended; it may have had effects, look before you repeat"
)

_LONG = 4 * SHORT
_KEPT = 0.6  # of the budget, once it is exceeded: so that it is not at once again


@dataclass(frozen=True, slots=True)
class Smaller:
    """The outcome of making a conversation smaller."""

    messages: list[HistoryMessage]
    shortened: int
    left_out: int

    def __str__(self) -> str:
        parts = [f"{self.shortened} older results were shortened"] if self.shortened else []
        parts += [f"{self.left_out} older messages were left out"] if self.left_out else []
        return " and ".join(parts)


def assistant(text: str, calls: Sequence[ToolCall], written: Sequence[str]) -> HistoryMessage:
    """Return an answer as a message; `written` are the arguments of its calls as JSON text."""
    message: HistoryMessage = {"role": "assistant", "content": text}
    if calls:
        pairs = zip(calls, written, strict=True)
        message["calls"] = [HistoryCall(id=call.id, name=call.name or "?", arguments=text) for call, text in pairs]
    return message


def result(call_id: str, text: str, *, failed: bool = False) -> HistoryMessage:
    """Return the result of a call as a message."""
    message: HistoryMessage = {"role": "tool", "content": text, "call": call_id}
    if failed:
        message["failed"] = True
    return message


def answered(history: Iterable[HistoryMessage]) -> list[HistoryMessage]:
    """Return a stored conversation with a result for each call, and none without one: servers refuse any other."""
    made: list[HistoryMessage] = []
    waiting: list[str] = []

    def close() -> None:
        made.extend(result(id, NOT_FINISHED, failed=True) for id in waiting)
        waiting.clear()

    for message in history:
        if message["role"] == "tool":
            if (id := message.get("call", "")) in waiting:
                waiting.remove(id)
                made.append(message)
            continue
        close()
        made.append(message)
        waiting += [call["id"] for call in message.get("calls", ())]
    close()
    return made


def characters(history: Iterable[HistoryMessage]) -> int:
    """Return the number of characters that a model has to read."""
    return sum(map(size, history))


def fit(history: list[HistoryMessage], budget: float) -> list[HistoryMessage]:
    """Return the newest messages of at most `budget` characters, from a message of the user on.

    Always the last one, with all that belongs to it: from the last message of the user on where nothing less is whole.
    """
    left = budget
    first = len(history)
    while first > 0 and (left := left - size(history[first - 1])) >= 0:
        first -= 1
    first = min(first, len(history) - 1)
    starts = [at for at, message in enumerate(history) if message["role"] == "user"]
    first = next((at for at in starts if at >= first), starts[-1] if starts else 0)
    return history[first:]


def smaller(history: list[HistoryMessage], budget: float) -> Smaller:
    """Make a conversation smaller than a budget in characters, by a good part; older parts go first."""
    budget -= len(LEFT_OUT) + 2
    target = budget * _KEPT
    messages, shortened = _shorten(history, target, len(history) - 2)
    kept = fit(messages, target) if characters(messages) > target else messages
    left_out = len(messages) - len(kept)
    if characters(kept) > budget:  # one long turn: its own older rounds go, then the newest results are cut too
        kept, gone = _within_turn(kept, target)
        left_out += gone
    if characters(kept) > budget:
        kept, more = _shorten(kept, target, len(kept))
        shortened += more
    if left_out and kept:
        kept = [_marked(kept[0]), *kept[1:]]
    return Smaller(kept, shortened, left_out)


def _shorten(history: list[HistoryMessage], target: float, last: int) -> tuple[list[HistoryMessage], int]:
    """Shorten long results and long messages of the user before `last`, the oldest first, until the target is met."""
    excess = characters(history) - target
    made, count = list(history), 0
    for at, message in enumerate(history[: max(last, 0)]):
        if excess <= 0:
            break
        text = message["content"]
        if message["role"] != "assistant" and len(text) > _LONG:
            made[at] = {**message, "content": _middle_out(text)}
            excess -= len(text) - len(made[at]["content"])
            count += 1
    return made, count


def _within_turn(history: list[HistoryMessage], target: float) -> tuple[list[HistoryMessage], int]:
    """Leave out the older rounds of a turn: its first message stays, and its last round."""
    rounds = [at for at, message in enumerate(history) if message["role"] == "assistant"]
    for at in rounds:
        kept = [history[0], *history[at:]]
        if at == rounds[-1] or characters(kept) <= target:
            return kept, len(history) - len(kept)
    return history, 0


def _middle_out(text: str) -> str:
    """Return the beginning and the end of a text: a person's words stand at the end of their message."""
    head, tail = SHORT // 2, SHORT
    gap = f"\n[… {len(text) - head - tail} characters left out here, to fit into your context …]\n"
    return text[:head] + gap + text[-tail:]


def _marked(message: HistoryMessage) -> HistoryMessage:
    if message["content"].startswith(LEFT_OUT):
        return message
    return {**message, "content": f"{LEFT_OUT}\n\n{message['content']}"}
