"""The start of agents, the models that there are, and the chats that agents have left: a launcher provides them."""

from collections.abc import Sequence
from typing import Protocol

from fourhands.core.errors import Unsupported
from fourhands.workbench.agent_options import LeftChat, ListedModel
from fourhands.workbench.sessions import Session


class Connect(Protocol):
    """The function that starts an agent."""

    async def __call__(
        self,
        spec: str,
        *,
        cwd: str | None = None,
        id: str | None = None,
        fresh: bool = False,
        servers: Sequence[dict[str, object]] = (),
        directories: Sequence[str] = (),
    ) -> Session:
        """Start the agent that `spec` names, its programs in `cwd`, and return its session.

        It goes on with the session `id`, or with one that an earlier run left; `fresh`, with none. `servers` are
        further MCP servers that it may use, `directories` further ones that it may work in.
        """
        ...


class ListModels(Protocol):
    """The function that lists the models of an endpoint."""

    async def __call__(self, spec: str) -> tuple[ListedModel, ...]:
        """Return the models of the endpoint that `spec` names, with a model or without."""
        ...


class LeftChats(Protocol):
    """The chats that agents have left, and can go on with."""

    def left(self, spec: str) -> list[LeftChat]:
        """Return those of agents that were started with these words, the newest first."""
        ...

    def drop(self, session: str) -> bool:
        """Forget one; False where it is not known."""
        ...


async def unconnected(spec: str, **_: object) -> Session:
    """Refuse to start an agent: no launcher is here."""
    raise Unsupported(f"no agent can be started here: {spec!r}", hint="start the server with: fourhands")


async def unlisted(spec: str) -> tuple[ListedModel, ...]:
    """Refuse to list models: no launcher is here."""
    raise Unsupported(f"no models can be listed here: {spec!r}", hint="start the server with: fourhands")
