"""Posts of programs outside the server to the hub: commands that they announce, their state, their results.

Checked by type and bounded in size and number, since it is kept in memory and shown to models. The announced commands
are kept in a file too: the program that announced them need not know when this one was started again.
"""

import logging
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from fourhands.core import schema
from fourhands.core.atomic_file import AtomicFile
from fourhands.core.bounded import BoundedDict
from fourhands.core.errors import BadArgument, FourhandsError, LimitReached
from fourhands.workbench.sessions import KEPT_RESULTS, CommandResult

MOST_COMMANDS = 200
MOST_PANES = 200
MOST_SESSIONS = 32
MOST_BYTES = 256 * 1024
"""The size of a posted manifest or state as JSON, and of all announced commands together."""

MOST_RESULT_BYTES = 64 * 1024
"""The size of a posted result as JSON."""

log = logging.getLogger(__name__)

_B = TypeVar("_B", bound=Struct)

Id = Annotated[
    str, Meta(pattern=r"^openspace(\.[a-z][a-z0-9_]*){2,}\Z", max_length=200, description="openspace.noun.verb")
]
Short = Annotated[str, Meta(max_length=200)]
Long = Annotated[str, Meta(max_length=4000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class PostedCommand(Struct, frozen=True, kw_only=True):
    """One announced command; `name` and `label` are the same text, one of them is enough.

    Members that it has beyond these are passed over: `readOnly` for one, since it could not be held to that.
    """

    id: Id
    name: Short = ""
    label: Short = ""
    description: Long = ""
    category: Short | None = None
    arguments_schema: dict[str, object] | None = None
    handler: Short | None = None
    actors: Annotated[tuple[Literal["person", "agent"], ...], Meta(min_length=1, max_length=2)] = ("person", "agent")
    danger: bool = False

    @property
    def title(self) -> str:
        """The name that people see."""
        return self.label or self.name or self.id


class PostedManifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A manifest from outside."""

    commands: Annotated[tuple[PostedCommand, ...], Meta(max_length=MOST_COMMANDS)]
    version: Short = ""
    last_updated: Short = ""


class PostedState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The panes of another part."""

    panes: Annotated[tuple[dict[str, object], ...], Meta(max_length=MOST_PANES)]
    active_pane: Short | None = None
    timestamp: str | float | None = None


class ExternalOutcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a command that ran outside."""

    success: bool
    output: str | None = None
    error: str | None = None
    data: object = None
    execution_time: Annotated[float, Meta(ge=0, description="Milliseconds.")] | None = None


class PostedResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A result from outside; the timestamp is in milliseconds, or a text. `callId` names the call that it answers."""

    session_id: Name
    command_id: Id
    result: ExternalOutcome
    timestamp: str | float | None = None
    call_id: Name | None = None

    def to_result(self) -> CommandResult:
        """Return it as the sessions keep results; it has no number, since the gate did not count it."""
        outcome, data = self.result, self.result.data
        return CommandResult(
            number=0,
            command_id=self.command_id,
            args={},
            success=outcome.success,
            output=outcome.output,
            error=None if outcome.success else outcome.error or outcome.output or "no reason given",
            data={str(name): value for name, value in data.items()} if isinstance(data, dict) else _wrapped(data),
            execution_time=outcome.execution_time or 0.0,
            timestamp=self.timestamp / 1000 if isinstance(self.timestamp, int | float) else time.time(),
        )


class ExternalPosts:
    """Everything posted; the commands are in `file` too, and are there again after a restart."""

    def __init__(self, file: Path | None = None) -> None:
        self.commands: dict[str, PostedCommand] = {}
        self.state: PostedState | None = None
        self.results: BoundedDict[str, deque[CommandResult]] = BoundedDict(MOST_SESSIONS)
        self._saved = None if file is None else AtomicFile(file)
        if file is not None:
            self._load(file)

    async def close(self) -> None:
        """Return when everything is stored."""
        if self._saved is not None:
            await self._saved.close()

    def add(self, commands: Iterable[PostedCommand]) -> bool:
        """Add commands, or replace those posted before under the same ids; say whether anything is different."""
        fresh = {**self.commands, **{command.id: command for command in commands}}
        if len(fresh) > MOST_COMMANDS:
            raise LimitReached(
                f"{len(fresh)} commands would be posted from outside",
                hint=f"at most {MOST_COMMANDS} are kept; DELETE /openspace/manifest takes back what is not needed",
            )
        if fresh == self.commands:
            return False
        size = len(_encoded(fresh))
        if size > MOST_BYTES:
            raise LimitReached(
                f"the commands posted from outside would have {size} bytes", hint=f"at most {MOST_BYTES} are kept"
            )
        self._keep(fresh)
        return True

    def remove(self, ids: Collection[str]) -> None:
        """Forget these commands."""
        self._keep({id: command for id, command in self.commands.items() if id not in ids})

    def _keep(self, commands: dict[str, PostedCommand]) -> None:
        self.commands = dict(sorted(commands.items()))
        if self._saved is not None:
            self._saved.write_soon(_encoded(self.commands))

    def _load(self, file: Path) -> None:
        try:
            manifest = check(msgspec.json.decode(file.read_bytes()), PostedManifest, 2 * MOST_BYTES)
            self.commands = {command.id: command for command in manifest.commands}
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, FourhandsError) as error:
            log.warning("announced commands in %s cannot be read and must be posted again: %s", file, error)

    def set_state(self, state: PostedState) -> None:
        """Keep the newest state."""
        self.state = state

    def keep(self, session_id: str, result: CommandResult) -> None:
        """Keep a result of a session that lives outside: its last ones, of the sessions heard of last."""
        ring = self.results.setdefault(session_id, deque(maxlen=KEPT_RESULTS))
        ring.append(result)
        self.results.touch(session_id)


def check(body: object, type_: type[_B], most_bytes: int = MOST_BYTES) -> _B:
    """Check a decoded body against its type and the limit on its size."""
    if not isinstance(body, Mapping):
        raise BadArgument(f"the body must be a JSON object, not {schema.show(body)}")
    try:
        size = len(msgspec.json.encode(body))
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as error:
        raise BadArgument(f"the body is not JSON: {error}") from None
    if size > most_bytes:
        raise LimitReached(f"the body has {size} bytes", hint=f"at most {most_bytes} are accepted")
    return schema.decode(body, type_)


def _encoded(commands: Mapping[str, PostedCommand]) -> bytes:
    return msgspec.json.encode(PostedManifest(commands=tuple(commands.values())))


def _wrapped(data: object) -> dict[str, object] | None:
    return None if data is None else {"value": data}
