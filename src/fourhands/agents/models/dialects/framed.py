"""The frame of our instructions inside an agent's own system prompt: clearly ours, from start to end."""

OPENING = "<fourhands-workbench>"
CLOSING = "</fourhands-workbench>"


def framed(instructions: str) -> str:
    """Return the instructions between their marks."""
    return f"{OPENING}\n{instructions.strip()}\n{CLOSING}"
