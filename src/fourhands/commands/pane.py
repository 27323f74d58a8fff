"""Commands on panes: the arrangement of editors and terminals that every open browser shows."""

import asyncio
from typing import Annotated, Literal

from msgspec import Meta, Struct

from fourhands.commands.base import Args, Nothing, owner_of, record_step
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.registry import Contribution
from fourhands.workbench.layout.panes import Pane, PaneInfo, arrangement, find_content, openable
from fourhands.workbench.layout.snapshot import Transition
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.pane", scope="arrange")

PaneId = Annotated[
    str, Meta(description="Id of a pane, or what it shows: a path, a terminal's id or title (yours first).")
]
BaseRev = Annotated[int | None, Meta(description="The revision you saw; refused if panes changed since.")]


class PaneOpened(Struct, frozen=True, kw_only=True, rename="camel"):
    """The pane that shows it; `moved` if it was open elsewhere, `note` if it was to be split and could not be."""

    pane_id: str
    moved: bool = False
    note: str = ""


@commands.add(
    "open",
    label="Open in pane",
    undoable=True,
    example={"type": "editor", "contentId": "src/auth.ts", "splitDirection": "vertical"},
)
async def open_pane(
    bench: Workbench,
    call: Call,
    effects: Effects,
    *,
    type: Annotated[
        Literal["editor", "terminal", "presentation", "whiteboard"], Meta(description="What kind of content.")
    ],
    content_id: Annotated[str, Meta(description="A path in the workspace, or the id or title of an open terminal.")],
    split_direction: Annotated[
        Literal["vertical", "horizontal"] | None,
        Meta(description="vertical: a new pane to the right; horizontal: below; none: a tab beside the active one."),
    ] = None,
) -> PaneOpened:
    """Show a file or a terminal in a pane, as a tab beside the active one or in a new pane.

    What is already open is brought forward; with splitDirection it is moved into a new pane (moved: true).
    """
    openable(type)
    version = title = None
    content = content_id
    if type == "terminal":
        terminal = bench.terminal(content, call)
        content, title = terminal.id, terminal.title
    else:
        files = bench.files(call.actor)
        content = await asyncio.to_thread(lambda: files.stat(content_id).path)
        version = await asyncio.to_thread(files.version, content)
    step = (
        bench.state.open("terminal", content, owner=owner_of(call), split_direction=split_direction, title=title)
        if type == "terminal"
        else bench.state.open_editor(content, owner=owner_of(call), version=version, split_direction=split_direction)
    )
    record_step(bench, effects, f"opened {content_id}", step)
    before, after = step.before.layout, step.after.layout
    moved = find_content(before, type, content) is not None and arrangement(before.root) != arrangement(after.root)
    return PaneOpened(pane_id=step.pane_id or "", moved=moved, note=_unsplit(step) if split_direction else "")


def _unsplit(step: Transition) -> str:
    """Return why nothing was split, or nothing."""
    before, after = step.before.layout.root, step.after.layout.root
    if arrangement(before) != arrangement(after):
        return ""
    if isinstance(after, Pane):
        return "it is all that is open: there is nothing to split it from"
    return "it has a pane of its own on that side already"


class PaneRef(Args, frozen=True, kw_only=True):
    """A pane."""

    pane_id: PaneId


@commands.add("close", label="Close pane", undoable=True, example={"paneId": "src/auth.ts"})
async def close_pane(bench: Workbench, args: PaneRef, call: Call, effects: Effects) -> Nothing:
    """Close a pane with its tabs, or one tab if you name what it shows. Unsaved text of the person is never discarded.

    Terminals keep running; close them with openspace.terminal.close.
    """
    record_step(bench, effects, f"closed {args.pane_id}", bench.state.close(bench.locate(args.pane_id, call)))
    return Nothing()


@commands.add("focus", label="Focus pane", undoable=True, example={"paneId": "src/auth.ts"})
async def focus_pane(bench: Workbench, args: PaneRef, call: Call, effects: Effects) -> Nothing:
    """Make a pane the active one. The keyboard follows only if the person has not typed for 5 seconds."""
    record_step(bench, effects, f"focused {args.pane_id}", bench.state.focus(bench.locate(args.pane_id, call)))
    return Nothing()


class PaneList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All panes."""

    panes: tuple[PaneInfo, ...]
    active_pane: str | None
    revision: int


@commands.add("list", label="List panes", read_only=True, example={})
async def list_panes(bench: Workbench) -> PaneList:
    """List the panes: id, type, content, tabs, active tab, and where each one is, in percent of the workbench."""
    return PaneList(panes=bench.state.panes(), active_pane=bench.state.layout.active_pane, revision=bench.state.rev)


@commands.add("resize", label="Resize pane", undoable=True, example={"paneId": "src/auth.ts", "width": 60})
async def resize_pane(
    bench: Workbench,
    call: Call,
    effects: Effects,
    *,
    pane_id: PaneId,
    width: Annotated[float | None, Meta(description="Percent of the workbench's width.")] = None,
    height: Annotated[float | None, Meta(description="Percent of the workbench's height.")] = None,
) -> Nothing:
    """Resize a pane to this part of the workbench, in percent; its neighbours give way."""
    step = bench.state.resize(bench.locate(pane_id, call), width, height)
    record_step(bench, effects, f"resized {pane_id}", step)
    return Nothing()


@commands.add("move", label="Move pane", undoable=True, example={"paneId": "README.md", "target": "src/auth.ts"})
async def move_pane(
    bench: Workbench,
    call: Call,
    effects: Effects,
    *,
    pane_id: PaneId,
    target: Annotated[str, Meta(description="The pane to move it to.")],
    side: Annotated[
        Literal["left", "right", "top", "bottom", "center"],
        Meta(description="On which side of the target; center: among its tabs."),
    ] = "center",
    index: Annotated[int | None, Meta(description="Place among the tabs, from 0.")] = None,
    base_rev: BaseRev = None,
) -> Nothing:
    """Move a pane or a tab to a side of another pane, or among its tabs."""
    what, onto = bench.locate(pane_id, call), bench.locate(target, call)
    step = bench.state.move(what, onto, side, base_rev, index=index)
    record_step(bench, effects, f"moved {pane_id}", step)
    return Nothing()


@commands.add("set_sizes", label="Set split sizes", undoable=True, actors=("person",))
async def set_sizes(
    bench: Workbench,
    effects: Effects,
    *,
    split: Annotated[str, Meta(description="Id of a split.")],
    sizes: Annotated[tuple[float, ...], Meta(description="Percent of the split for each of its parts.")],
    base_rev: BaseRev = None,
) -> Nothing:
    """Set the sizes of all parts of a split, as the drag of a sash does."""
    record_step(bench, effects, "resized panes", bench.state.set_sizes(split, sizes, base_rev))
    return Nothing()


@commands.add("pin", label="Pin pane", actors=("person",))
async def pin_pane(
    bench: Workbench,
    call: Call,
    *,
    pane_id: PaneId,
    pinned: Annotated[bool, Meta(description="False lets it go again.")] = True,
) -> Nothing:
    """Keep a pane, and a terminal in it, when the agent session that opened it ends."""
    bench.state.pin(bench.locate(pane_id, call), pinned)
    return Nothing()
