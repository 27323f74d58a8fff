"""The modes, options and past chats that an agent offers.

Agents that speak ACP have such things; the workbench knows them by `Workbench.controls`, by session. What an agent
says of itself comes from outside and is taken apart here: whatever has not the expected form is left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

_LONGEST = 500
_MOST = 200


class Choosable(Struct, frozen=True, kw_only=True, rename="camel"):
    """One of several things to choose from."""

    id: str
    name: str
    description: str = ""


class AgentOption(Struct, frozen=True, kw_only=True, rename="camel"):
    """A setting of the agent's own, such as its model."""

    id: str
    name: str
    kind: Literal["select", "boolean"]
    value: str | bool
    description: str = ""
    category: str = ""  # such as model, mode, thought_level; for clients that have a place for it
    choices: tuple[Choosable, ...] = ()


class PastChat(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation that the agent remembers."""

    id: str
    title: str = ""
    updated: str = ""


class ListedModel(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A model that an endpoint has."""

    id: str
    name: str = ""
    context_tokens: int | None = None


class LeftChat(Struct, frozen=True, kw_only=True, rename="camel"):
    """The chat of an agent that was here, by the id of its session: an agent can go on with it."""

    session: str
    title: str = ""
    cwd: str = ""  # relative to the workspace; empty is its root
    updated: float = 0.0  # seconds since the epoch


class Described(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent as it describes itself: its modes, options and ways to sign in."""

    program: str = ""
    title: str = ""
    mode: str = ""
    modes: tuple[Choosable, ...] = ()
    options: tuple[AgentOption, ...] = ()
    sign_in: tuple[Choosable, ...] = ()
    chats: bool = False  # whether it can go on with an older one
    trouble: str = ""  # why it could not begin: it wants the person to sign in


class AgentOptions(Protocol):
    """An agent of which something can be chosen."""

    async def describe(self) -> Described:
        """Return the available options, and the chosen ones."""
        ...

    async def set_mode(self, mode_id: str) -> None:
        """Switch it to one of its modes."""
        ...

    async def set_option(self, option_id: str, value: str) -> None:
        """Change one of its options: the id of a choice, or yes or no."""
        ...

    async def chats(self) -> tuple[PastChat, ...]:
        """Return the conversations that the agent remembers for this workspace."""
        ...

    async def load_chat(self, chat_id: str) -> None:
        """Go on with one of them."""
        ...

    async def delete_chat(self, chat_id: str) -> None:
        """Let it forget one of them for good."""
        ...

    async def sign_in(self, method_id: str) -> None:
        """Sign in by one of the ways it offers."""
        ...


def choosables(listed: object, key: str = "id") -> tuple[Choosable, ...]:
    """Things to choose from, out of what an agent lists; groups of them are laid flat."""
    found: list[Choosable] = []
    for one in _mappings(listed):
        if isinstance(one.get("options"), list):
            found += choosables(one["options"], key)
        elif id := _text(one.get(key)):
            about = _text(one.get("description"))
            found.append(Choosable(id=id, name=_text(one.get("name")) or id, description=about))
    return tuple(found)


def options(listed: object) -> tuple[AgentOption, ...]:
    """Read an agent's options from its list; unknown kinds are left out."""
    found: list[AgentOption] = []
    for one in _mappings(listed):
        id, value = _text(one.get("id")), one.get("currentValue")
        boolean = isinstance(value, bool)
        if not id or one.get("type", "select") != ("boolean" if boolean else "select"):
            continue
        if not isinstance(value, str | bool):
            continue
        found.append(
            AgentOption(
                id=id,
                name=_text(one.get("name")) or id,
                kind="boolean" if boolean else "select",
                value=value,
                description=_text(one.get("description")),
                category=_text(one.get("category")),
                choices=() if boolean else choosables(one.get("options"), "value"),
            )
        )
    return tuple(found)


def chats(listed: object) -> tuple[PastChat, ...]:
    """Conversations, out of what an agent lists."""
    return tuple(
        PastChat(id=id, title=_text(one.get("title")), updated=_text(one.get("updatedAt")))
        for one in _mappings(listed)
        if (id := _text(one.get("sessionId")))
    )


def _mappings(listed: object) -> Iterable[Mapping[str, Any]]:
    return [one for one in listed[:_MOST] if isinstance(one, dict)] if isinstance(listed, list) else []


def _text(value: object) -> str:
    return value[:_LONGEST] if isinstance(value, str) else ""
