"""A conversation with a model, in a form of our own that both dialects are written from.

A message of the role `tool` answers one call of the assistant's message before it. Arguments are always the JSON text
of an object: servers read them again, and some fall over text that is none.
"""

from typing import Required, TypedDict

from msgspec import Struct

NO_TEXT = "(no text)"


class HistoryCall(TypedDict):
    """A tool call of the assistant, with its arguments as JSON text."""

    id: str
    name: str
    arguments: str


class HistoryMessage(TypedDict, total=False):
    """One message: of the user, of the assistant, or the result of a tool."""

    role: Required[str]
    content: Required[str]
    calls: list[HistoryCall]  # of the assistant
    call: str  # of a result: the id of the call that it answers
    failed: bool  # of a result


class ToolFunction(Struct, frozen=True):
    """A tool as a model is told of it: its name, what it does, and the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, object]


class ModelRequest(Struct, frozen=True):
    """All that one request to a model says, whatever the dialect."""

    model: str
    system: str
    messages: list[HistoryMessage]
    tools: tuple[ToolFunction, ...] = ()
    max_tokens: int = 4096
    usage: bool = True
    """Ask for the tokens that were used, where they are not told unasked."""
    newer_limit: bool = False
    """Name the limit of tokens as OpenAI's newer models want it."""


def size(message: HistoryMessage) -> int:
    """Return the number of characters of a message that a model has to read."""
    calls = message.get("calls", ())
    return len(message["content"]) + sum(len(call["name"]) + len(call["arguments"]) for call in calls)


def without_tools(messages: list[HistoryMessage]) -> list[HistoryMessage]:
    """Return the conversation for a server that knows no tools: calls and results as text."""
    plain: list[HistoryMessage] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "tool":
            content = f"Result of {message.get('call', 'a call')}:\n{content}"
            role = "user"
        else:
            calls = [
                f"(called {call['name']} {call['arguments']} as {call['id']})" for call in message.get("calls", ())
            ]
            content = "\n".join(filter(None, [content, *calls]))
        if plain and plain[-1]["role"] == role == "user":
            plain[-1] = {"role": role, "content": f"{plain[-1]['content']}\n\n{content}"}
        else:
            plain.append({"role": role, "content": content})
    return plain
