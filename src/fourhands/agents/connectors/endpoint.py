"""The endpoint of a chat model: where it is, what its interface is, and what it may be sent."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx

from fourhands.agents.connectors.base import ROUNDS
from fourhands.agents.models.dialects import ANTHROPIC, CHAT, ChatDialect
from fourhands.core.errors import BadArgument
from fourhands.providers.upstream_proxy import certificates, proxy_to
from fourhands.settings.models import ModelPrice, ModelSettings, ToolMode

CHARACTERS_PER_TOKEN = 3.5
"""A cautious guess that needs no tokenizer."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The place of a model: its interface, address, name and key."""

    url: str
    model: str
    kind: Literal["openai", "anthropic"] = "openai"
    key: str = field(default="", repr=False)
    max_tokens: int = 4096
    budget_tokens: int = 100_000
    rounds: int = ROUNDS
    retries: int = 4
    timeout_s: float = 120.0
    mode: ToolMode = "auto"
    price: ModelPrice | None = None

    def __post_init__(self) -> None:
        check_address(self.url)
        if not self.model:
            raise BadArgument("no model is named", hint="give it as URL#MODEL, e.g. http://127.0.0.1:11434/v1#llama3")

    @classmethod
    def of(cls, spec: str, env: Mapping[str, str], key_variable: str = "") -> "Endpoint":
        """Read `URL#MODEL` or `anthropic:URL#MODEL`; the key is in a variable that is named, or in one of the usual."""
        anthropic = spec.startswith("anthropic:")
        url, _, model = spec.removeprefix("anthropic:").partition("#")
        usual = ("FOURHANDS_MODEL_KEY", "ANTHROPIC_API_KEY" if anthropic else "OPENAI_API_KEY")
        key = next((env[name] for name in ([key_variable] if key_variable else usual) if env.get(name)), "")
        if key_variable and not key:
            raise BadArgument(f"the environment variable {key_variable} is not set", hint="it is to hold the key")
        return cls(url=url, model=model, kind="anthropic" if anthropic else "openai", key=key)

    def configured(self, chosen: Iterable[ModelSettings]) -> "Endpoint":
        """Return the endpoint with these settings over its own; of several, a later one wins."""
        endpoint = self
        for one in chosen:
            told = {
                "mode": one.mode,
                "max_tokens": one.max_tokens,
                "budget_tokens": one.context_tokens,
                "price": one.price,
            }
            changes: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
            endpoint = replace(endpoint, **changes)
        return endpoint

    @property
    def dialect(self) -> ChatDialect:
        """The way to write its requests and to read its answers."""
        return ANTHROPIC if self.kind == "anthropic" else CHAT

    @property
    def name(self) -> str:
        """The name by which what is known of it is remembered; the key is no part of it."""
        return f"{self.url.rstrip('/')}#{self.model}"


def check_address(url: str) -> None:
    """Refuse what is no address of a model."""
    if not url.startswith(("http://", "https://")):
        raise BadArgument(f"a model's address begins with http:// or https://, not {url[:60]!r}")


@contextlib.asynccontextmanager
async def connected(
    endpoint: Endpoint, env: Mapping[str, str], tls: ssl.SSLContext | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client for an endpoint, through the proxy that the environment names, if any."""
    url = httpx.URL(endpoint.url)
    way = proxy_to(url, env)
    verify = (tls or certificates(env)) if url.scheme == "https" else False
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(endpoint.timeout_s, connect=10),
        trust_env=False,
        verify=verify,
        proxy=way.url if way else None,
    ) as client:
        yield client
