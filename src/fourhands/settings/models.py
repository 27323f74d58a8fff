"""The settings of one agent that only a chat model has: tool calls, limits of tokens, prices."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

ToolMode: TypeAlias = Literal["auto", "tools", "blocks"]
"""By what a chat model acts: tool calls of its endpoint, blocks in its text, or the first where the endpoint has it."""

Price = Annotated[float, Meta(ge=0, le=1_000_000)]


class ModelPrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The price of a million tokens, in any currency: of input, of output, and of input that came from a cache."""

    input: Price
    output: Price
    cached: Price | None = None


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The way a chat model acts, the length of its answers and its conversation, and its price."""

    mode: ToolMode | None = None
    max_tokens: Annotated[int, Meta(ge=16, le=10_000_000)] | None = None
    context_tokens: Annotated[int, Meta(ge=1024, le=100_000_000)] | None = None
    price: ModelPrice | None = None
