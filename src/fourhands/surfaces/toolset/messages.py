"""The messages between a `Toolset` and the workbench: JSON, one to a WebSocket message, tagged by `type`.

The options are in the address (`surfaces/mcp/options.py`). The workbench begins with `ready`; calls run side by side.
"""

import msgspec
from msgspec import Struct, field

from fourhands.commands.toolset import ToolSpec
from fourhands.core.call import Scope
from fourhands.core.question import Answer, Question

PATH = "/toolset"

OWN = "x-fourhands-own"
"""The header with which the program that runs a workbench in itself shows that it does."""


class CallTool(Struct, frozen=True, tag="call"):
    """Call a tool; the number is the caller's own, for the answer."""

    number: int
    tool: str
    args: dict[str, object]


class CancelTool(Struct, frozen=True, tag="cancel"):
    """A call is given up."""

    number: int


class AnswerTool(Struct, frozen=True, tag="answer"):
    """The answer of the embedding program, whose call the question is about."""

    number: int
    question: str
    answer: Answer


FromToolset = CallTool | CancelTool | AnswerTool


class ToolsReady(Struct, frozen=True, tag="ready"):
    """The session has begun: its tools, what it may do unasked, and why it may not do all that was allowed to it."""

    session: str
    name: str
    tools: list[ToolSpec]
    allowed: tuple[Scope, ...] = ()
    withheld: str = ""


class ToolDone(Struct, frozen=True, tag="done"):
    """A call has ended: what a model reads, and the fields."""

    number: int
    ok: bool
    text: str
    data: dict[str, object] = field(default_factory=dict)


class ToolAsks(Struct, frozen=True, tag="asks"):
    """A call needs an answer before it goes on."""

    number: int
    question: Question


ToToolset = ToolsReady | ToolDone | ToolAsks

from_toolset = msgspec.json.Decoder(FromToolset)
to_toolset: msgspec.json.Decoder[ToToolset] = msgspec.json.Decoder(ToToolset)
