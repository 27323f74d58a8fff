"""Commands on an agent's own choices: modes, options, past chats, signing in. For people only."""

from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.agent import SessionId, SessionRef
from fourhands.commands.base import Nothing
from fourhands.core.errors import Unsupported
from fourhands.core.registry import Contribution
from fourhands.workbench.agent_options import AgentOptions, Described, PastChat
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.agent")


def _controls(bench: Workbench, name: str) -> AgentOptions:
    session = bench.sessions.get(name)
    found = bench.controls.get(session.id)
    if found is None:
        raise Unsupported(
            f"agent {session.name!r} has no configurable modes, options or chats",
            hint="agents that speak ACP have them: claude, gemini, 'opencode acp'",
        )
    return found


@commands.add("describe", label="Show agent options", actors=("person",), read_only=True)
async def describe(bench: Workbench, args: SessionRef) -> Described:
    """Show what an agent lets you choose: modes, options such as its model, ways to sign in, older chats."""
    return await _controls(bench, args.session_id).describe()


@commands.add("set_mode", label="Switch agent mode", actors=("person",), hand=True)
async def set_mode(
    bench: Workbench,
    *,
    session_id: SessionId,
    mode: Annotated[str, Meta(min_length=1, description="Id of one of the agent's modes.")],
) -> Nothing:
    """Switch an agent to one of its own modes: to plan only, say, or to edit without asking each time.

    Its commands here are classified as before, whatever its mode.
    """
    await _controls(bench, session_id).set_mode(mode)
    return Nothing()


@commands.add("set_option", label="Change agent option", actors=("person",), hand=True)
async def set_option(
    bench: Workbench,
    *,
    session_id: SessionId,
    option: Annotated[str, Meta(min_length=1, description="Id of one of the agent's options.")],
    value: Annotated[str, Meta(description="Id of the choice; yes or no for a switch.")],
) -> Nothing:
    """Change one of an agent's own options, such as its model."""
    await _controls(bench, session_id).set_option(option, value)
    return Nothing()


class PastChatList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The chats that an agent remembers."""

    chats: tuple[PastChat, ...]


@commands.add("list_chats", label="List past chats", actors=("person",), read_only=True)
async def list_chats(bench: Workbench, args: SessionRef) -> PastChatList:
    """List the chats that an agent remembers for this workspace."""
    return PastChatList(chats=await _controls(bench, args.session_id).chats())


@commands.add("load_chat", label="Resume past chat", actors=("person",))
async def load_chat(
    bench: Workbench,
    *,
    session_id: SessionId,
    chat: Annotated[str, Meta(min_length=1, description="Id of a chat that the agent remembers.")],
) -> Nothing:
    """Resume a chat that an agent remembers; its messages are shown again, and nothing in it runs again."""
    await _controls(bench, session_id).load_chat(chat)
    return Nothing()


@commands.add("delete_chat", label="Delete past chat", actors=("person",), destructive=True)
async def delete_chat(
    bench: Workbench,
    *,
    session_id: SessionId,
    chat: Annotated[str, Meta(min_length=1, description="Id of a chat that the agent remembers, but not of this one.")],
) -> Nothing:
    """Delete a chat that an agent remembers: the agent forgets it for good."""
    await _controls(bench, session_id).delete_chat(chat)
    return Nothing()


@commands.add("sign_in", label="Sign agent in", actors=("person",), hand=True)
async def sign_in(
    bench: Workbench,
    *,
    session_id: SessionId,
    method: Annotated[str, Meta(min_length=1, description="Id of one of the ways that the agent offers.")],
) -> Nothing:
    """Sign an agent in with its provider, by one of the methods it offers."""
    await _controls(bench, session_id).sign_in(method)
    return Nothing()
