"""Enclosures: images, sounds and files that come with a person's message besides its text.

Not every agent takes them. `words` is what an agent reads that does not: the text of a text, and of everything else
what it is, so that it can say that it has not seen it.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

_LONGEST_NAME = 1000


class Enclosed(Struct, frozen=True, kw_only=True, rename="camel"):
    """One of them. `data` is base64, of an image, a sound or a file that is no text."""

    kind: Literal["image", "audio", "text", "blob"]
    uri: str = ""
    mime_type: str = ""
    text: str = ""
    data: str = ""

    @property
    def title(self) -> str:
        """Its kind and name, in a few words."""
        about = self.mime_type or self.kind
        return f"{about}: {self.uri}"[:_LONGEST_NAME] if self.uri else f"{about}, {self.size:,} bytes"

    @property
    def size(self) -> int:
        """Its size in bytes."""
        if self.kind == "text":
            return len(self.text.encode("utf-8", "replace"))
        return len(self.data) * 3 // 4 - self.data[-2:].count("=")

    def words(self) -> str:
        """Return it as text, for an agent that takes nothing else."""
        if self.kind == "text":
            return f'<attached uri="{self.uri}">\n{self.text}\n</attached>'
        return f"(attached, but not passed on, since this agent takes text only: {self.title})"

    def content(self) -> bytes:
        """Return the bytes of an image, a sound or a file; `ValueError` where they are not base64."""
        try:
            return base64.b64decode(self.data, validate=True)
        except binascii.Error as error:
            raise ValueError(f"not base64: {error}") from None


def in_words(text: str, enclosed: Sequence[Enclosed]) -> str:
    """Return a message with all that comes with it, as text."""
    return "\n\n".join([text, *(one.words() for one in enclosed)])
