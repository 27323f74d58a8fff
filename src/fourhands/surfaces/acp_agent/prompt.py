"""The content of a session/prompt as a message: text in the order in which it stood, and what comes with it.

A reference stays where it was, as a link in the text; what it refers to, and images, are enclosed with the message.
"""

from typing import Any

from fourhands.agents.acp.jsonrpc import INVALID_PARAMS, RpcError
from fourhands.workbench.enclosures import Enclosed

MOST_BLOCKS = 1000


def read_prompt(blocks: object) -> tuple[str, tuple[Enclosed, ...]]:
    """Return the text of a prompt and its enclosures; `RpcError` where a block is none that we announced."""
    if not isinstance(blocks, list) or not blocks:
        raise _bad("prompt must be a list of content blocks with at least one in it")
    if len(blocks) > MOST_BLOCKS:
        raise _bad(f"a prompt has at most {MOST_BLOCKS} content blocks, not {len(blocks)}")
    text, before = "", ""
    enclosed: list[Enclosed] = []
    for number, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        match kind:
            case "text":
                said, more = _text(block, "text", number), None
                text += "\n" if before == "text" and text and not text.endswith("\n") else ""
            case "resource_link":
                said, more = _link(str(block.get("name") or ""), _text(block, "uri", number)), None
            case "resource":
                said, more = _resource(block.get("resource"), number)
            case "image" | "audio":
                said, more = _media(kind, block, number)
            case _:
                raise _bad(f"content block {number} has the type {kind!r:.50}; text, links, files and images are taken")
        apart = kind != "text" or (before != "text" and said[:1].isalnum())
        text += f" {said}" if apart and text and not text[-1].isspace() else said
        before = str(kind)
        if more is not None:
            enclosed.append(more)
    if not text.strip():
        raise _bad("the prompt is empty")
    return text, tuple(enclosed)


def _link(name: str, uri: str) -> str:
    return f"[@{name or uri.rstrip('/').rpartition('/')[2] or uri}]({uri})"


def _resource(resource: object, number: int) -> tuple[str, Enclosed]:
    if not isinstance(resource, dict):
        raise _bad(f"content block {number} has no resource")
    uri, mime_type = _text(resource, "uri", number), str(resource.get("mimeType") or "")
    if isinstance(text := resource.get("text"), str):
        return _link("", uri), Enclosed(kind="text", uri=uri, mime_type=mime_type, text=text)
    blob = Enclosed(kind="blob", uri=uri, mime_type=mime_type, data=_base64(resource, "blob", number))
    return _link("", uri), blob


def _media(kind: Any, block: dict[str, Any], number: int) -> tuple[str, Enclosed]:
    mime_type = _text(block, "mimeType", number)
    one = Enclosed(kind=kind, uri=str(block.get("uri") or ""), mime_type=mime_type, data=_base64(block, "data", number))
    return f"[{kind}: {one.title}]", one


def _text(block: dict[str, Any], member: str, number: int) -> str:
    value = block.get(member)
    if not isinstance(value, str) or not (value or member == "text"):
        raise _bad(f"content block {number} has no {member}")
    return value


def _base64(block: dict[str, Any], member: str, number: int) -> str:
    data = _text(block, member, number)
    try:
        Enclosed(kind="blob", data=data).content()
    except ValueError as error:
        raise _bad(f"the {member} of content block {number} is {error}") from None
    return data


def _bad(problem: str) -> RpcError:
    return RpcError(INVALID_PARAMS, problem, {"code": "bad-argument"})
