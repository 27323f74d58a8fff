"""A real workbench whose terminals are only told about, for tests of what models are told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, cast

from msgspec import Meta, Struct

from fourhands.commands import help as help_module
from fourhands.core.call import Call, Result
from fourhands.core.call_events import CallFinished
from fourhands.core.consent import Consent, MemoryConsentStore
from fourhands.core.errors import NotFound
from fourhands.core.event import EventBus
from fourhands.core.question import Questions
from fourhands.core.quote import Given
from fourhands.core.registry import Contribution, Registry
from fourhands.settings import Settings
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench


class Open(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    path: Annotated[str, Meta(description="Path of a file.")]
    line: Annotated[int, Meta(ge=1, description="Line, from 1.")] | None = None


class Mark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    path: str
    ranges: tuple[dict[str, int], ...]
    highlight_id: str | None = None


class Read(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    path: str
    start_line: int | None = None
    end_line: int | None = None


class Content(Struct, frozen=True, kw_only=True):
    content: str


editor = Contribution("openspace.editor")


@editor.add("open", example={"path": "src/index.ts", "line": 42})
async def open_editor(bench: object, args: Open) -> None:
    """Open a file in an editor. It scrolls too."""


@editor.add("highlight")
async def highlight(bench: object, args: Mark) -> None:
    """Mark lines."""


@editor.add("read", read_only=True)
async def read(bench: object, args: Read) -> Content:
    """Read a file."""
    return Content(content="")


@editor.add("save", actors=("person",))
async def save(bench: object) -> None:
    """Save what was typed."""


@dataclass
class FakeTerminal:
    """As much of a terminal as a list of terminals shows."""

    title: str
    head: int = 0
    id: str = ""
    owner: str = ""
    exited: bool = False
    created: float = 0.0
    marked: bool = True
    shell_state: str = "prompt"
    last_exit: int | None = None
    finished_commands: int = 0
    cwd: str = "/etc"
    size: tuple[int, int] = (80, 24)
    isolation: str = "none"
    provider: str = "local"
    uptime_s: float = 1.0
    pid: int = 1
    paused: bool = False
    secret: bool = False
    fault: str = ""
    slow_start: str = ""
    command: str = "bash"
    exit: Any = None

    def __post_init__(self) -> None:
        self.id = self.id or f"term_{self.title}"

    @property
    def log(self) -> Any:
        return SimpleNamespace(head=self.head)

    @property
    def commands(self) -> Any:
        last = None if self.last_exit is None else SimpleNamespace(exit_code=self.last_exit)
        return SimpleNamespace(state=self.shell_state, cwd=self.cwd, last=last)

    def catch_up(self) -> Any:
        return self.commands

    def look(self) -> str:
        return self.shell_state

    def modes(self) -> tuple[bool, bool]:
        return (not self.secret, True)


@dataclass
class FakeTerminals:
    root: str
    all: list[FakeTerminal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.env: dict[str, str] = {"DEPLOY_TOKEN": "hunter2hunter2"}
        self.places = SimpleNamespace(workspace=self.root, state=self.root)
        self.on_change: Any = None
        self.max_terminals = 100

    def list(self) -> "list[FakeTerminal]":
        return list(self.all)

    def get(self, name: str, owner: str = "") -> FakeTerminal:
        for terminal in self.all:
            if name in (terminal.id, terminal.title):
                return terminal
        raise NotFound.of("terminal", name, [])


class FakeGate:
    """Holds no calls."""

    def __init__(self) -> None:
        self.is_paused = False
        self.waiting = 0
        self.given = Given()
        self.consent = Consent(Questions(EventBus()), MemoryConsentStore(), lambda session, state, scopes: None)

    def paused(self, session: str) -> bool:
        return self.is_paused

    def pending(self, session: str) -> int:
        return self.waiting


class World:
    """A workbench and what a test needs beside it."""

    def __init__(self, root: Path) -> None:
        self.events = EventBus()
        self.registry = Registry()
        self.registry.include(editor)
        self.registry.include(help_module.commands)
        self.terminals = FakeTerminals(str(root))
        self.gate = FakeGate()
        self.bench = Workbench(
            settings=Settings(),
            terminals=cast(Any, self.terminals),
            events=self.events,
            questions=Questions(self.events),
            journal=cast(Any, None),
            registry=self.registry,
        )
        self.bench.gate = cast(Any, self.gate)

    def session(self, name: str = "Ada") -> Session:
        return self.bench.begin_session(name, "test", id=f"session_{name}")

    def finish(self, session: Session, command: str, number: int = 1, **more: Any) -> None:
        """As the gate does when a block has run: record, then tell."""
        record(self.bench, session, command, number, **more)
        self.events.emit(
            CallFinished(
                session=session.id,
                command=command,
                number=number,
                ok=True,
                code="",
                error="",
                severity="info",
                duration_ms=1.0,
            )
        )


def record(
    bench: Workbench,
    session: Session,
    command: str,
    number: int = 1,
    args: dict[str, object] | None = None,
    error: str = "",
    ms: float = 1.0,
    data: dict[str, object] | None = None,
) -> None:
    call = Call(command=command, args=args or {}, actor=session.actor, origin="block")
    bench.sessions.record(call, Result(success=not error, error=error, number=number, duration_ms=ms, data=data or {}))


@contextmanager
def world(root: Path) -> Iterator[World]:
    made = World(root)
    try:
        yield made
    finally:
        made.bench.stop_saving()


def no_briefing(session_id: str, *, tools: bool = False) -> str:
    """As `Hub.briefing`, for a connector of which only the rest matters."""
    return ""
