"""The effects that a handler reports besides its result: its undo, contents from before, its isolation."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Inverse = Callable[[], Awaitable[None]]
KeepBefore = Callable[[str, bytes | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Undo:
    """One inverse; running it puts back what the call changed, or raises `Conflict` if someone changed it since."""

    description: str
    inverse: Inverse


class Effects:
    """Call-scoped; a handler gets one by a parameter annotated `Effects`."""

    def __init__(self, keep: KeepBefore) -> None:
        self._keep = keep
        self.undos: list[Undo] = []
        self.isolation: str | None = None
        self.outside = False  # approved to run outside the sandbox of its caller
        self.edge = False  # it may have failed because something lies outside

    def undo(self, description: str, inverse: Inverse) -> None:
        """Add an inverse; they are run last first. Added before a failure they still count."""
        self.undos.append(Undo(description, inverse))

    async def before(self, path: str, content: bytes | None) -> None:
        """Store what a file held (None: it did not exist); returns once it would survive a crash, so write after it."""
        await self._keep(path, content)
