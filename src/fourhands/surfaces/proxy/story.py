"""A client's history made true again: blocks back in the model's answers, what we told back in the turns before them.

Each text stands where it stood when it was first sent, and is the same to the last byte. So the model sees one story,
and of two requests of one conversation the common beginning ends in the last turn. What is not known stays as the
client sends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fourhands.agents.models.dialects.conversation import ClientMessage, Shape
from fourhands.agents.models.dialects.framed import framed
from fourhands.surfaces.proxy.record import AnswerRecord, Book, digest, squeezed

FORGOTTEN = framed(
    "What you were told before this point, and the commands in your earlier answers, are no longer kept: ask again for "
    "what you need."
)


@dataclass(slots=True)
class Story:
    """A request's conversation as the model is to see it."""

    shape: Shape
    book: Book
    messages: list[ClientMessage] = field(default_factory=list)
    records: list[AnswerRecord] = field(default_factory=list)
    """The answers in it that are known, in order."""
    turn: str = ""
    """The digest of what is said since the last answer."""
    parent: str = ""
    """The last answer that is known."""
    complete: bool = True
    """The last answer in the request is known, or there is none."""
    place: int = -1
    """The index of the message that can tell something in the last turn."""
    changed: bool = False

    @property
    def open(self) -> bool:
        """True if the last turn is not the model's, so that something can be told in it."""
        return self.place >= 0

    def state(self) -> dict[str, str]:
        """Return the state of the workbench as this conversation was last told."""
        told: dict[str, str] = {}
        for record in self.records:
            told |= record.state
        return told

    def body(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request with this conversation instead of the client's."""
        return self.shape.with_messages(body, self.messages) if self.changed else body

    def siblings(self) -> list[AnswerRecord]:
        """Return earlier attempts at this turn, the newest first: the answer is made again, or the message edited."""
        return [one for one in self.book.children(self.parent) if self.parent or one.turn == self.turn]

    def tell(self, text: str, record: AnswerRecord | None = None) -> None:
        """Put a text into the last turn: that of a record, or of an exchange that begins."""
        before = record.parent if record is not None else self.parent
        if before and (before != self.parent or self.book.gone(before)):
            text = f"{FORGOTTEN}\n\n{text}" if text else FORGOTTEN
        if text and self.open:
            self.changed = True
            self.messages[self.place : self.place + 1] = self.shape.told(self.messages[self.place], text)


def read(shape: Shape, messages: Sequence[ClientMessage], book: Book, start: AnswerRecord | None = None) -> Story:
    """Return the story of these messages; `start` is the last answer that the model's server has kept itself."""
    story = Story(shape, book)
    if start is not None:
        story.records, story.parent = book.line(start), start.id
    turn: list[str] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        side = shape.side(message)
        if side == "model":
            end = position
            while end < len(messages) and shape.side(messages[end]) == "model":
                end += 1
            _answer(story, turn, list(messages[position:end]))
            turn, position = [], end
            continue
        if side == "person":
            if turn and (silent := book.blocks_alone(story.parent, _digest(turn))):
                _known(story, silent)  # the client had nothing to show of it, and has left it out
                story.changed = True
                story.messages += [shape.spoken("".join(raw for raw, _ in silent.texts))]
                turn = []
            turn.append(f"{shape.results(message)}:{squeezed(''.join(shape.texts(message)))}")
            story.messages.append(message)
            story.place = len(story.messages) - 1
        else:
            story.messages.append(message)
        position += 1
    story.turn = _digest(turn)
    return story


def _digest(turn: Sequence[str]) -> str:
    return digest("\n".join(turn)) if turn else ""


def _answer(story: Story, turn: Sequence[str], said: list[ClientMessage]) -> None:
    texts = [text for message in said for text in story.shape.texts(message)]
    record = story.book.find(story.parent, _digest(turn), texts)
    story.complete = record is not None
    if record is not None:
        _known(story, record)
        restored = _restored(story.shape, said, record)
        story.changed = story.changed or restored is not said
        said = restored
    story.messages += said
    story.place = -1


def _known(story: Story, record: AnswerRecord) -> None:
    """Put back what was told before an answer that is known."""
    story.tell(record.told, record)
    story.records.append(record)
    story.parent = record.id
    story.place = -1


def _restored(shape: Shape, said: list[ClientMessage], record: AnswerRecord) -> list[ClientMessage]:
    """Return the messages of an answer with its blocks."""
    if all(raw == shown for raw, shown in record.texts):
        return said
    texts = [text for message in said for text in shape.texts(message)]
    made = aligned(record.texts, texts) if texts else []
    if not any(made):
        spoken = "".join(raw for raw, _ in record.texts)
        if not texts:
            return shape.led(said, spoken)
        made[0] = spoken
    left = iter(made)
    return [shape.reworded(message, [next(left) for _ in shape.texts(message)]) for message in said]


def aligned(told: Sequence[tuple[str, str]], texts: Sequence[str]) -> list[str]:
    """Divide an answer as it came among the texts of a client, which may have cut, joined or trimmed what was shown.

    Where both sides end together, all that came since the last such place stands in the first text there. What a client
    has beyond the answer stays, behind it; of an answer that broke off it may have less.
    """
    made = [""] * len(texts)
    ours, first, raws = 0, -1, list[str]()
    heard = seen = 0  # signs since both sides ended together
    for place, text in enumerate(texts):
        size = len(squeezed(text))
        if not size:
            continue
        first = place if first < 0 else first
        seen += size
        while ours < len(told) and (heard < seen or not squeezed(told[ours][1])) and heard <= seen:
            if heard == seen and heard and not squeezed(told[ours][1]):
                break  # it begins what comes next
            heard += len(squeezed(told[ours][1]))
            raws.append(told[ours][0])
            ours += 1
        if heard == seen:
            made[first] = "".join(raws)
            first, raws, heard, seen = -1, [], 0, 0
        elif heard < seen and ours == len(told):
            made[first] = "".join(raws) + (_behind(text, size - (seen - heard)) if raws or heard else text)
            first, raws, heard, seen = -1, [], 0, 0
    raws += [raw for raw, _ in told[ours:]]
    if first >= 0:
        made[first] = "".join(raws)
    elif raws:
        last = max((place for place, text in enumerate(made) if text), default=0)
        made[last] += "".join(raws)
    return made


def _behind(text: str, signs: int) -> str:
    """Return what stands behind so many signs that are not white."""
    for place, sign in enumerate(text):
        if signs <= 0:
            return text[place:]
        signs -= not sign.isspace()
    return ""
