"""The registry of commands: contributions included by the app or by a plugin.

The registry knows no command and no workbench. A command is one typed function; its schema, palette entry, HTTP route,
MCP tool, command-line verb, instructions and reference all come from it. Including returns its own disposer, and
`changed` fires after each change, so that the manifest can be published again.
"""

import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from fourhands.core import schema
from fourhands.core.call import ActorKind, Call, Result, Scope
from fourhands.core.effects import Effects
from fourhands.core.errors import Conflict, NotFound
from fourhands.core.event import Dispose, Signal

NAMESPACE = "openspace."

CommandHandler = Callable[..., Awaitable[object]]
Manifest = dict[str, object]
ResultText = Callable[[Result], str]
_H = TypeVar("_H", bound=CommandHandler)
_ID = re.compile(r"openspace(\.[a-z][a-z0-9_]*){2,}")


@dataclass(frozen=True, slots=True)
class Announcement:
    """The declaration of a command that a program outside runs, in that program's words."""

    arguments_schema: schema.JsonSchema
    handler: str


@dataclass(frozen=True, slots=True)
class Command:
    """One ability: its actors, its arguments and its handler."""

    id: str
    label: str
    description: str
    category: str
    handler: CommandHandler
    args_type: type[Struct] | None = None
    result_type: type[Struct] | None = None
    actors: tuple[ActorKind, ...] = ("person", "agent")
    read_only: bool = False
    destructive: bool = False
    undoable: bool = False
    safety: str | None = None  # the word by which the policy chooses how to assess it
    scope: Scope = "run"  # what a person must have allowed an agent
    hand: bool | tuple[str, ...] = False  # only a person's own hand may use it, or give it these arguments
    conceals: tuple[str, ...] = ()  # arguments that may be secrets when a person gives them: never kept, never told
    key: str | None = None
    instructs: bool = False  # what it returns is ours, for a model to use as it stands: blocks in it are no data
    uri: str | None = None  # the resource that it reads, as a URI template over its arguments
    example: Mapping[str, object] | None = None
    extras: tuple[type[Call] | type[Effects], ...] = field(default=())
    spread: bool = False  # the handler takes its arguments as keywords; the struct was derived from them
    core: bool = False  # one of the few tools that a model is given unless it is given others
    lasting: bool = False  # it may take minutes: a client that can may take it as a task, and come for its result
    text: ResultText | None = None  # a result in the words that a model reads; without it, its data as JSON
    announced: Announcement | None = None  # it runs outside: a built-in one takes its place, and its effect is unknown

    async def invoke(self, bench: object, args: Struct | None, call: Call, effects: Effects) -> object:
        """Run the handler with exactly the parameters that it declares."""
        given: list[object] = [bench] if self.args_type is None or self.spread else [bench, args]
        given += [call if extra is Call else effects for extra in self.extras]
        keywords = msgspec.structs.asdict(args) if self.spread and args is not None else {}
        return await self.handler(*given, **keywords)

    def describe(self) -> dict[str, object]:
        """Return the command's entry in the manifest."""
        return {
            "id": self.id,
            "name": self.label,
            "label": self.label,
            "description": self.description,
            "category": self.category,
            "arguments_schema": self.announced.arguments_schema if self.announced else schema.schema(self.args_type),
            "handler": self.announced.handler if self.announced else _name(self.handler),
            "key": self.key,
            "danger": self.destructive,
            "scope": self.scope,
            "actors": list(self.actors),
            "hand": list(self.hand) if isinstance(self.hand, tuple) else self.hand,
            "readOnly": self.read_only,
            "undoable": self.undoable,
            "example": None if self.example is None else dict(self.example),
            "announced": self.announced is not None,
        }


class Contribution:
    """Commands of one noun; inert until a registry includes them.

    `scope` is what a person must have allowed before an agent may use them, those that only read excepted: they need
    "see". A plugin that names none needs the widest, "run".
    """

    def __init__(self, prefix: str, *, scope: Scope = "run") -> None:
        self.prefix = prefix.rstrip(".")
        self.scope: Scope = scope
        self.commands: list[Command] = []

    def add(
        self,
        verb: str,
        *,
        label: str | None = None,
        category: str | None = None,
        actors: Sequence[ActorKind] = ("person", "agent"),
        read_only: bool = False,
        destructive: bool = False,
        undoable: bool = False,
        safety: str | None = None,
        scope: Scope | None = None,
        hand: bool | Sequence[str] = False,
        conceals: Sequence[str] = (),
        key: str | None = None,
        instructs: bool = False,
        uri: str | None = None,
        example: Mapping[str, object] | None = None,
        core: bool = False,
        lasting: bool = False,
        text: ResultText | None = None,
    ) -> Callable[[_H], _H]:
        """Make `async def f(bench, *, path: str, line: int = 1) -> Struct | None` the command `prefix.verb`.

        Keyword-only parameters are the command's arguments, in camelCase on the wire; `Annotated[…, Meta(…)]` describes
        and limits them. Where several commands share their arguments, or one needs other names, `args: Struct` after
        the bench takes them as one. Parameters annotated `Call` or `Effects` are given theirs. The docstring becomes
        the description that people and models read. `hand` keeps a command, or the arguments that it names (as on the
        wire), to a person who signs the call in a browser: it is for what answers, consents or loosens. `core` makes
        it one of the few tools that a model is always given, `lasting` one that clients may run as a task; `text` puts
        its result into words for a model. Mistakes in the declaration are errors at once.
        """
        id = f"{self.prefix}.{verb}"
        if not _ID.fullmatch(id):
            raise ValueError(f"command id {id!r} is not of the form openspace.noun.verb (lower case, digits, _)")
        noun = self.prefix.rpartition(".")[2]

        def decorate(handler: _H) -> _H:
            description = inspect.getdoc(handler)
            if not description:
                raise ValueError(f"{id}: the handler needs a docstring, it is the command's description")
            args_type, result_type, extras, spread = _signature(id, handler)
            schema.schema(args_type)  # a type that has none fails here, not when the manifest is asked for
            if example is not None:
                schema.decode(example, args_type) if args_type else _no_arguments(id, example)
            command = Command(
                id=id,
                label=label or f"{noun.capitalize()}: {verb.replace('_', ' ')}",
                description=description,
                category=category or noun,
                handler=handler,
                args_type=args_type,
                result_type=result_type,
                actors=tuple(actors),
                read_only=read_only,
                destructive=destructive,
                undoable=undoable,
                safety=safety,
                scope=scope or ("see" if read_only else self.scope),
                hand=_hand(id, hand, args_type),
                conceals=tuple(conceals),
                key=key,
                instructs=instructs,
                uri=uri,
                example=example,
                core=core,
                lasting=lasting,
                text=text,
                extras=extras,
                spread=spread,
            )
            self.commands.append(command)
            return handler

        return decorate


class Registry:
    """The commands in force, in the order of their ids."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.changed: Signal[Registry] = Signal()
        self._now = now
        self._commands: dict[str, Command] = {}
        self._manifest: Manifest | None = None
        self._updated = now()

    def add(self, command: Command) -> Dispose:
        """Add one command; call what is returned to take it away again."""
        return self._include([command])

    def include(self, contribution: Contribution) -> Dispose:
        """Add all commands of a contribution or, if one of their ids is taken, none; what was announced yields."""
        return self._include(contribution.commands)

    def get(self, id: str, reader: str = "system") -> Command:
        """Return the command of that id; `NotFound` names the nearest of those that its reader may use."""
        try:
            return self._commands[id]
        except KeyError:
            usable = (one.id for one in self if reader == "system" or reader in one.actors)
            raise NotFound.of("command", id[:200], usable) from None

    def manifest(self) -> Manifest:
        """Return `{version, commands, lastUpdated}`; the version is a digest, so equal sets have equal versions."""
        if self._manifest is None:
            commands = [command.describe() for command in self]
            digest = hashlib.sha256(msgspec.json.encode(commands)).hexdigest()[:16]
            self._manifest = {"version": digest, "commands": commands, "lastUpdated": self._updated.isoformat()}
        return self._manifest

    @property
    def version(self) -> str:
        """The manifest's version: another one whenever the set of commands is another."""
        return str(self.manifest()["version"])

    def _include(self, commands: Sequence[Command]) -> Dispose:
        added = {command.id: command for command in commands}
        taken = sorted(id for id in added if id in self._commands and not self._commands[id].announced)
        if taken or len(added) < len(commands):
            twice = taken or sorted({c.id for c in commands if sum(c.id == other.id for other in commands) > 1})
            raise Conflict(f"command {', '.join(twice)} exists already", hint="choose another name or load one of them")
        self._commands = dict(sorted({**self._commands, **added}.items()))
        self._touch()

        def dispose() -> None:
            mine = {id for id, command in added.items() if self._commands.get(id) is command}
            if mine:
                self._commands = {id: command for id, command in self._commands.items() if id not in mine}
                self._touch()

        return dispose

    def _touch(self) -> None:
        self._manifest = None
        self._updated = self._now()
        self.changed.fire(self)

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands.values())

    def __len__(self) -> int:
        return len(self._commands)

    def __contains__(self, id: object) -> bool:
        return id in self._commands


def _name(handler: CommandHandler) -> str:
    return f"{handler.__module__}.{handler.__qualname__}"


def _hand(id: str, hand: bool | Sequence[str], args_type: type[Struct] | None) -> bool | tuple[str, ...]:
    if isinstance(hand, bool):
        return hand
    known = args_type.__struct_encode_fields__ if args_type is not None else ()
    for name in hand:
        if name not in known:
            raise ValueError(f"{id}: there is no argument {name!r} that could be kept to the person's hand")
    return tuple(hand)


def _no_arguments(id: str, example: Mapping[str, object]) -> None:
    if example:
        raise ValueError(f"{id}: the example has arguments, the command takes none")


def _signature(
    id: str, handler: CommandHandler
) -> tuple[type[Struct] | None, type[Struct] | None, tuple[type[Call] | type[Effects], ...], bool]:
    """Return the types of a handler's arguments and result, its extras, and True if the arguments are keywords.

    The bench's type may be unknown here and is not read.
    """
    if not inspect.iscoroutinefunction(handler):
        raise TypeError(f"{id}: the handler must be an async function")
    signature = inspect.signature(handler)
    parameters = list(signature.parameters.values())
    if not parameters:
        raise TypeError(f"{id}: the handler's first parameter is the bench")
    args_type: type[Struct] | None = None
    extras: list[type[Call] | type[Effects]] = []
    keywords = [parameter for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    for place, parameter in enumerate(parameters[1 : len(parameters) - len(keywords)]):
        declared = _evaluate(parameter.annotation, handler)
        if declared is Call or declared is Effects:
            extras.append(declared)
        elif place == 0 and isinstance(declared, type) and issubclass(declared, Struct):
            args_type = declared
            if not declared.__struct_config__.forbid_unknown_fields:
                raise TypeError(f"{id}: {declared.__name__} must forbid unknown fields")
        else:
            raise TypeError(f"{id}: cannot give parameter {parameter.name!r}; after the bench come args, Call, Effects")
    declared = _evaluate(signature.return_annotation, handler)
    result_type = declared if isinstance(declared, type) and issubclass(declared, Struct) else None
    if not keywords:
        return args_type, result_type, tuple(extras), False
    if args_type is not None:
        raise TypeError(f"{id}: declare the arguments as a struct or as keywords, not as both")
    return _derived(id, handler, keywords), result_type, tuple(extras), True


def _derived(id: str, handler: CommandHandler, keywords: Sequence[inspect.Parameter]) -> type[Struct]:
    """Return the struct of arguments that are declared as keyword-only parameters."""
    members: list[tuple[str, object] | tuple[str, object, object]] = []
    for parameter in keywords:
        if parameter.annotation is inspect.Parameter.empty:
            raise TypeError(f"{id}: argument {parameter.name!r} needs a type")
        declared = _evaluate(parameter.annotation, handler)
        required = parameter.default is inspect.Parameter.empty
        members.append((parameter.name, declared) if required else (parameter.name, declared, parameter.default))
    return msgspec.defstruct(
        "".join(word.capitalize() for word in re.split(r"[._]", id.removeprefix(NAMESPACE))) + "Args",
        cast("list[tuple[str, type]]", members),
        module=handler.__module__,
        namespace={"__doc__": f"Arguments of `{id}`."},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        rename="camel",
    )


def _evaluate(annotation: object, handler: CommandHandler) -> object:
    # Annotations are text where the module, or the parameter, is written with quotes.
    if not isinstance(annotation, str):
        return annotation
    scope = cast("dict[str, object]", getattr(handler, "__globals__", {}))
    try:
        return eval(annotation, dict(scope))
    except NameError as error:
        raise TypeError(f"{handler.__qualname__}: annotation {annotation!r} cannot be read here: {error}") from None
