"""The clients that show forms to the person."""

from collections import Counter


class Forms:
    """The sessions whose clients speak for the person, and the number of a session's calls with such a client.

    One for all transports of a server: two clients of one session may come over different ones.
    """

    def __init__(self) -> None:
        self._speaking: set[str] = set()
        self._open: Counter[str] = Counter()

    def allow(self, session: str) -> None:
        """Let clients with this session's token speak for the person, who said so when the token was made."""
        self._speaking.add(session)

    def allowed(self, session: str) -> bool:
        """Return True if clients with this session's token speak for the person."""
        return session in self._speaking

    def opened(self, session: str) -> None:
        """Count a call whose client shows forms."""
        self._open[session] += 1

    def closed(self, session: str) -> None:
        """Count it no longer."""
        self._open[session] -= 1
        if not self._open[session]:
            del self._open[session]

    def count(self, session: str) -> int:
        """Return how many calls of a session have a client that shows forms."""
        return self._open[session]
