"""The recipe of an agent: the command that starts it, and what is odd about it."""

from typing import Literal

import msgspec
from msgspec import Struct

from fourhands.agents.connectors.profile import AgentProfile


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The way to start an agent that speaks ACP on its standard input and output."""

    name: str
    command: tuple[str, ...] = ()
    older: tuple[tuple[str, ...], ...] = ()  # what also starts it, where that is installed instead
    install: str = ""  # how to get it, for the error message
    env: dict[str, str] = msgspec.field(default_factory=dict)
    auth: str = ""  # the authentication method to choose when it asks for one
    start_seconds: float = 120.0  # how long it may take to begin a session, and to answer what is not a prompt
    acp_version: Literal[1, 2] = 1  # the newest version of the protocol to offer; 2 is a draft
    loads_chats: bool = True  # False: it says that it does, and loses the chat
    missing_file_is_empty: bool = False  # it takes an error for a missing file as the end of its write
    sandbox: AgentProfile = msgspec.field(default_factory=AgentProfile)
