"""A person's message as the content blocks of session/prompt: what an agent takes as it is, the rest in words."""

from collections.abc import Callable, Iterable

from fourhands.workbench.enclosures import Enclosed

_NEEDED = {"image": "image", "audio": "audio", "text": "embeddedContext", "blob": "embeddedContext"}


def text_block(text: str) -> dict[str, object]:
    """Return a text as a block."""
    return {"type": "text", "text": text}


def blocks_of(enclosed: Iterable[Enclosed], can: Callable[..., bool]) -> list[dict[str, object]]:
    """Return what comes with a message as blocks; `can` says what the agent has announced."""
    return [
        _block(one) if can("promptCapabilities", _NEEDED[one.kind]) else text_block(one.words()) for one in enclosed
    ]


def _block(one: Enclosed) -> dict[str, object]:
    about: dict[str, object] = {"mimeType": one.mime_type} if one.mime_type else {}
    if one.kind in ("image", "audio"):
        place = {"uri": one.uri} if one.uri and one.kind == "image" else {}
        return {"type": one.kind, "data": one.data, **about, **place}
    content = {"text": one.text} if one.kind == "text" else {"blob": one.data}
    return {"type": "resource", "resource": {"uri": one.uri, **about, **content}}
