"""What parts outside the server have posted to the hub: commands that they announce, their state, their results.

Checked by type and bounded in size and number, since it is kept in memory and shown to models. A posted command is
only an announcement: nothing in the registry changes, and calling it through the gate fails as any unknown one does.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from fourhands.core import schema
from fourhands.core.errors import BadArgument, LimitReached
from fourhands.workbench.session import KEPT_RESULTS, CommandResult

MOST_COMMANDS = 200
MOST_PANES = 200
MOST_SESSIONS = 32
MOST_BYTES = 256 * 1024
"""The size of a posted manifest or state as JSON."""

MOST_RESULT_BYTES = 64 * 1024
"""The size of a posted result as JSON."""

_B = TypeVar("_B", bound=Struct)

Id = Annotated[
    str, Meta(pattern=r"^openspace(\.[a-z][a-z0-9_]*){2,}\Z", max_length=200, description="openspace.noun.verb")
]
Short = Annotated[str, Meta(max_length=200)]
Long = Annotated[str, Meta(max_length=4000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class PostedCommand(Struct, frozen=True, kw_only=True):
    """One announced command; `name` and `label` are the same text, one of them is enough."""

    id: Id
    name: Short = ""
    label: Short = ""
    description: Long = ""
    category: Short | None = None
    arguments_schema: dict[str, object] | None = None
    handler: Short | None = None

    def describe(self) -> dict[str, object]:
        """Return the command's entry in the manifest."""
        label = self.label or self.name or self.id
        entry: dict[str, object] = {"id": self.id, "name": label, "label": label, "description": self.description}
        optional = {"category": self.category, "arguments_schema": self.arguments_schema, "handler": self.handler}
        return entry | {name: value for name, value in optional.items() if value is not None}


class PostedManifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """A manifest from outside."""

    commands: Annotated[tuple[PostedCommand, ...], Meta(max_length=MOST_COMMANDS)]
    version: Short = ""
    last_updated: Short = ""


class PostedState(Struct, frozen=True, kw_only=True, rename="camel"):
    """The panes of another part."""

    panes: Annotated[tuple[dict[str, object], ...], Meta(max_length=MOST_PANES)]
    active_pane: Short | None = None
    timestamp: str | float | None = None


class Outcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of a command that ran outside."""

    success: bool
    output: str | None = None
    error: str | None = None
    data: object = None
    execution_time: Annotated[float, Meta(ge=0, description="Milliseconds.")] | None = None


class PostedResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A result from outside; the timestamp is in milliseconds, or a text."""

    session_id: Name
    command_id: Id
    result: Outcome
    timestamp: str | float | None = None

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


class Posted:
    """Everything posted; `revision` rises when what GET shows of it changes."""

    def __init__(self) -> None:
        self.commands: dict[str, PostedCommand] = {}
        self.state: PostedState | None = None
        self.results: OrderedDict[str, deque[CommandResult]] = OrderedDict()
        self.revision = 0

    def add_manifest(self, manifest: PostedManifest) -> bool:
        """Add commands, or replace those posted before under the same ids; say whether anything is different."""
        fresh = {**self.commands, **{command.id: command for command in manifest.commands}}
        if len(fresh) > MOST_COMMANDS:
            raise LimitReached(
                f"{len(fresh)} commands would be posted from outside", hint=f"at most {MOST_COMMANDS} are kept"
            )
        if fresh == self.commands:
            return False
        self.commands = dict(sorted(fresh.items()))
        self.revision += 1
        return True

    def set_state(self, state: PostedState) -> None:
        """Keep the newest state."""
        self.state = state
        self.revision += 1

    def keep(self, session_id: str, result: CommandResult) -> None:
        """Keep a result of a session that lives outside: its last ones, of the sessions heard of last."""
        ring = self.results.setdefault(session_id, deque(maxlen=KEPT_RESULTS))
        ring.append(result)
        self.results.move_to_end(session_id)
        while len(self.results) > MOST_SESSIONS:
            self.results.popitem(last=False)


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


def _wrapped(data: object) -> dict[str, object] | None:
    return None if data is None else {"value": data}
