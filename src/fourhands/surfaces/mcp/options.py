"""The options of `fourhands mcp`: what the owner of a client's configuration says of it, once and in the open.

They are checked where they are given and again where they arrive: at the workbench, which is in this process or at the
other end of the WebSocket `/mcp/socket`.
"""

import difflib
import urllib.parse
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from fourhands.core.ask_by import AskBy
from fourhands.core.call import Scope
from fourhands.core.errors import BadArgument

NAME_LENGTH = 60
QUERY = "options"
"""The parameter of the WebSocket's address that carries them, as JSON."""

ECHO = b"fourhands-options"
"""The header by which a workbench says that it takes options; one of an older version would not obey them."""

SCOPES: tuple[Scope, ...] = ("see", "arrange", "write", "run")
"""As in `core/consent.py`, which is not loaded to read a command line."""


class ClientOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The options; what is left out is as the settings say, and otherwise as without options."""

    name: str = ""
    allow: tuple[Scope, ...] | None = None
    provider: str = ""
    ask_by: AskBy | None = None
    tools: tuple[str, ...] | None = None
    keep: bool = False

    @property
    def personal(self) -> bool:
        """True if they say more than which tools are shown: who it is, what it may do, where, and who is asked."""
        return self != ClientOptions(tools=self.tools)

    def check(self) -> None:
        """Raise `BadArgument` for a name that cannot be one, or options that do not fit together."""
        for kind, name in (("name", self.name), ("provider", self.provider)):
            if name != name.strip() or not name.isprintable() or len(name) > NAME_LENGTH:
                raise BadArgument(
                    f"{name[:100]!r} is not a valid {kind}", hint=f"give 1 to {NAME_LENGTH} printable characters"
                )
        if self.tools is not None and not all(self.tools):
            raise BadArgument("a tool has an empty name", hint="core, all, or names with commas between")
        if self.keep and not self.name:
            raise BadArgument(
                "--keep needs --name: the next session of that name finds the terminals again",
                hint="add --name NAME",
            )

    def query(self) -> str:
        """Return them as they are sent; empty if there are none."""
        if self == ClientOptions():
            return ""
        return urllib.parse.urlencode({QUERY: msgspec.json.encode(self)})

    @classmethod
    def of_query(cls, text: str | None) -> "ClientOptions":
        """Return the options that were sent; raises `BadArgument` for what cannot be one."""
        if not text:
            return cls()
        try:
            found = msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise BadArgument(f"these options of fourhands mcp cannot be taken: {error}") from error
        found.check()
        return found


def words(text: str, what: str, known: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the words of a list with commas, each once; raises `BadArgument` for an empty or unknown one."""
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    if "" in found:
        raise BadArgument(f"{text!r} is no list of {what}", hint=f"give names with commas between, such as {what}")
    names = None if known is None else tuple(known)
    for word in found:
        if names is not None and word not in names:
            near = difflib.get_close_matches(word, names, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise BadArgument(f"no {what} {word[:200]!r}", hint=f"{guess}there are: {', '.join(names)}")
    return found
