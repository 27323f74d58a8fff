"""What commands return as MCP's content: text, pictures, sound, embedded resources, messages.

A command that has more to show than data returns a `content` that is a list in MCP's own form; a prompt's returns
`messages`. Everything else is data.
"""

from mcp_types import ContentBlock, PromptMessage
from pydantic import TypeAdapter, ValidationError

from fourhands.core.errors import FourhandsError

_BLOCKS: TypeAdapter[list[ContentBlock]] = TypeAdapter(list[ContentBlock])
_MESSAGES: TypeAdapter[list[PromptMessage]] = TypeAdapter(list[PromptMessage])


def blocks(value: object) -> list[ContentBlock] | None:
    """A `content` in MCP's form, or None where it is data like any other."""
    if not isinstance(value, list) or not value:
        return None
    try:
        return _BLOCKS.validate_python(value)
    except ValidationError:
        return None


def messages(value: object) -> list[PromptMessage]:
    """The `messages` of a prompt."""
    try:
        return _MESSAGES.validate_python(value)
    except ValidationError as error:
        raise FourhandsError(f"the prompt's command returned no messages of MCP's form: {error}") from error
