"""Commands on the workbench as a whole: its state, the machine, undo and redo, questions, the journal."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Nothing
from fourhands.core.call import Call, Scope
from fourhands.core.form import FieldValue
from fourhands.core.invocation import NAME, typed
from fourhands.core.question import Answer, Choice, Question, Review
from fourhands.core.registry import Contribution
from fourhands.workbench import sandbox
from fourhands.workbench.events import ActionRedone, ActionUndone
from fourhands.workbench.layout.snapshot import Snapshot
from fourhands.workbench.layout.undo import Action
from fourhands.workbench.sandbox import SandboxInfo
from fourhands.workbench.sessions import SessionInfo
from fourhands.workbench.terminals.info import TerminalInfo
from fourhands.workbench.terminals.shell.detection import PlatformInformation
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.workbench")


class Everything(Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole state, as a page that has just connected needs it."""

    workspace: str
    program: str
    """The words that call this program in the workspace."""
    state: Snapshot
    terminals: tuple[TerminalInfo, ...]
    agents: tuple[SessionInfo, ...]
    questions: tuple[Question, ...]
    actions: tuple[Action, ...]
    manifest_version: str
    sandbox: SandboxInfo | None = None  # None while it is being found out
    warnings: bool = True  # whether a page shows messages that are warnings


@commands.add("snapshot", label="Show workbench state", read_only=True, example={})
async def snapshot(bench: Workbench, call: Call) -> Everything:
    """Return everything at one revision: panes, editors, highlights, terminals, agents, open questions."""
    person = call.session is None
    return Everything(
        workspace=bench.root if person else ".",
        program=typed(bench.root) if person else NAME,
        state=bench.state.snapshot(drafts=person),
        terminals=tuple(bench.describe(terminal) for terminal in bench.terminals.list()),
        agents=tuple(bench.describe_session(session) for session in bench.sessions),
        questions=tuple(bench.questions.open()) if person else (),
        actions=bench.undo.actions(),
        manifest_version=bench.registry.version,
        sandbox=sandbox.current(bench.settings, bench.terminals.providers),
        warnings=bench.settings.notices.warnings,
    )


@commands.add("platform", label="Show platform", read_only=True, example={})
async def platform(bench: Workbench) -> PlatformInformation:
    """Describe the machine this runs on: system, release, processor, whether inside Windows (WSL), and its shells."""
    return await asyncio.to_thread(bench.terminals.platform)


class ActionsUndone(Struct, frozen=True, kw_only=True, rename="camel"):
    """The action that was undone or redone, and newer actions that cannot be."""

    action: Action
    passed: tuple[Action, ...] = ()


@commands.add("undo", label="Undo agent action", actors=("person",), key="Ctrl Alt Z")
async def undo(
    bench: Workbench,
    *,
    call_id: Annotated[str | None, Meta(description="Which action; default: the agents' last one.")] = None,
) -> ActionsUndone:
    """Undo the last action of an agent: layout, opened files, highlights, written files.

    Refused if you have changed the same thing since; of a file, a diff shows what would be lost. What was typed into a
    terminal cannot be taken back and says so.
    """
    turned = await bench.undo.undo(call_id)
    bench.events.emit(ActionUndone(call_id=turned.action.call_id, description=turned.action.description))
    return ActionsUndone(action=turned.action, passed=turned.passed)


@commands.add("redo", label="Redo agent action", actors=("person",), key="Ctrl Alt Shift Z")
async def redo(bench: Workbench) -> ActionsUndone:
    """Redo the action that was undone last."""
    turned = await bench.undo.redo()
    bench.events.emit(ActionRedone(call_id=turned.action.call_id, description=turned.action.description))
    return ActionsUndone(action=turned.action, passed=turned.passed)


class Actions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The actions of agents, newest first."""

    actions: tuple[Action, ...]


@commands.add("actions", label="List agent actions", read_only=True, example={})
async def actions(bench: Workbench) -> Actions:
    """List the agents' actions and whether each can be undone."""
    return Actions(actions=bench.undo.actions())


@commands.add("answer", label="Answer question", actors=("person",), hand=True, conceals=("values",))
async def answer(
    bench: Workbench,
    call: Call,
    *,
    question_id: str,
    choice: Choice,
    text: Annotated[str | None, Meta(description="With edit: the changed line.")] = None,
    args: Annotated[dict[str, object] | None, Meta(description="With edit: the changed arguments.")] = None,
    reason: Annotated[str, Meta(max_length=2000, description="With deny: why, for the agent to read.")] = "",
    scopes: Annotated[
        tuple[Scope, ...] | None,
        Meta(description="Of a consent: what the agent may do. Default: all that is asked for."),
    ] = None,
    values: Annotated[
        dict[str, FieldValue] | None,
        Meta(description="Of a form, with once: the values by the names of its fields. They go to its agent alone."),
    ] = None,
) -> Nothing:
    """Answer an agent's question; the first answer counts."""
    given = Answer(choice=choice, text=text, args=args, reason=reason, scopes=scopes, values=values)
    bench.questions.answer(question_id, given, call.actor)
    return Nothing()


@commands.add("review", label="Classify edited command", actors=("person",), read_only=True)
async def review(
    bench: Workbench,
    *,
    question_id: str,
    text: Annotated[str, Meta(max_length=100_000, description="The line that you would let run instead.")],
) -> Review:
    """Classify a line that you would let run instead of the one you are asked about, with what it touches.

    Nothing is run; answer the question with edit to run it.
    """
    return await bench.questions.review(question_id, text)


class QuestionList(Struct, frozen=True, kw_only=True, rename="camel"):
    """Open questions, the oldest first."""

    questions: tuple[Question, ...]


@commands.add("questions", label="List open questions", actors=("person",), read_only=True)
async def questions(bench: Workbench) -> QuestionList:
    """List the questions that wait for your answer."""
    return QuestionList(questions=tuple(bench.questions.open()))
