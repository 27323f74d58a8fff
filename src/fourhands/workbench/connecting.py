"""The start of agents, and the chats that they have left: a launcher provides both."""

from collections.abc import Sequence
from typing import Protocol

from fourhands.core.errors import Unsupported
from fourhands.workbench.agent_options import LeftChat
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
    ) -> Session:
        """Start the agent that `spec` names, its programs in `cwd`, and return its session.

        It goes on with the session `id`, or with one that an earlier run left; `fresh`, with none. `servers` are
        further MCP servers that it may use.
        """
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
