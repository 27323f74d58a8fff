"""The tools of a workbench for an agent loop of your own, in Python: their schemas, and the way to call them.

A `Toolset` joins the workbench that runs for its directory, or runs one in this process, as an agent with a session of
its own: the person sees what it does, and what it may do is decided by the gate as for every other agent.
"""

import asyncio
import contextlib
import difflib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypedDict, cast, overload

import httpx
import msgspec

from fourhands.app import in_process
from fourhands.app.frameworks import langchain_tools, pydantic_ai_toolset
from fourhands.core.call import Scope
from fourhands.core.consent import SCOPES
from fourhands.core.errors import BadArgument, BadCwd, Unavailable
from fourhands.core.tasks import Tasks
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings
from fourhands.surfaces.discovery import find_server, held
from fourhands.surfaces.mcp.options import ClientOptions
from fourhands.surfaces.stdio import PATIENCE_S
from fourhands.surfaces.toolset.link import Ask, ToolsetLink, told
from fourhands.surfaces.toolset.messages import ToolDone
from fourhands.surfaces.toolset.prompt import ask_here

if TYPE_CHECKING:
    from anthropic.types import ToolParam
    from langchain_core.tools import BaseTool
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import FunctionToolParam
    from pydantic_ai import AbstractToolset

_POLL_S = 0.1


class ToolSchema(TypedDict):
    """One tool as a model is told of it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, object]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a call: `text` is for the model, success or failure; `data` has the fields."""

    text: str
    ok: bool = True
    data: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


class Toolset:
    """The tools of one workbench as one agent may use them: `async with Toolset(".") as tools`.

    `allow` has the scopes that its owner, who writes this program, gives it: see, arrange, write, run. `ask` decides
    what needs approval all the same, such as a dangerous line: a function that is given the question and returns one of
    its `options`, or an `Answer` with a reason; "page" for the person at the page; "stdin" for the one who started this
    program, in its terminal; "never" to refuse it. `tools` has "core", "all" or names.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        *,
        name: str = "agent",
        allow: Sequence[Scope] = (),
        ask: Ask | Literal["page", "stdin", "never"] = "page",
        tools: Sequence[str] = ("core",),
        provider: str = "",
        keep: bool = False,
        settings: Settings | None = None,
        places: WorkspaceDirs | None = None,
    ) -> None:
        if ask not in ("page", "stdin", "never") and not callable(ask):
            raise BadArgument(f"ask={ask!r} is none", hint='give a function, "page", "stdin" or "never"')
        self._ask: Ask | None = ask_here if ask == "stdin" else ask if callable(ask) else None
        _check("allow", allow, tuple(SCOPES))
        _check("tools", tools)
        self._options = ClientOptions(
            name=name,
            allow=tuple(allow),
            provider=provider,
            ask_by=ask if ask == "page" or ask == "never" else "forms",
            tools=tuple(tools),
            keep=keep,
        )
        self._options.check()
        self._places = places or WorkspaceDirs.of(workspace)
        self._settings = settings
        self._link: ToolsetLink | None = None
        self._address: tuple[str, str] = ("", "")
        self._opened = False
        self._stack = contextlib.AsyncExitStack()

    # -- life ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._opened:
            raise Unavailable("this Toolset was used before", hint="make a new one")
        if not os.path.isdir(self._places.workspace):
            raise BadCwd(f"the workspace {self._places.workspace!r} is not a directory")
        self._opened = True
        async with contextlib.AsyncExitStack() as stack:
            url, own = await self._workbench(stack)
            token = (Path(self._places.state) / "token").read_text().strip()
            self._address = url, token
            tasks = await stack.enter_async_context(Tasks())
            self._link = await ToolsetLink.open(url, token, own, self._options, tasks, self._ask)
            stack.push_async_callback(self._link.close)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._link = None
        await self._stack.__aexit__(kind, error, trace)

    async def _workbench(self, stack: contextlib.AsyncExitStack) -> tuple[str, str]:
        """Return the address of the workbench, and the secret of its owner where it runs in this process."""
        state, deadline = self._places.state, time.monotonic() + PATIENCE_S
        while True:
            here = in_process.join(self._places)
            if here is None:
                if (address := find_server(state)) is not None:
                    return address.url, ""
                if not held(state):
                    try:
                        here = await asyncio.to_thread(in_process.start, self._places, self._settings)
                    except Unavailable:
                        if not held(state):
                            raise  # Another process that was faster is not the reason.
            if here is not None:
                stack.push_async_callback(asyncio.to_thread, here.close)
                return here.url, here.own
            if time.monotonic() > deadline:
                raise Unavailable("a server holds this workspace but published no address", hint="try: fourhands stop")
            await asyncio.sleep(_POLL_S)  # Another process is starting it; only its files show when it is ready.

    # -- the tools -------------------------------------------------------------------------------------------------

    @property
    def session(self) -> str:
        """The id of the agent's session."""
        return self._there.ready.session

    @property
    def allowed(self) -> tuple[Scope, ...]:
        """The scopes that it has by `allow`: fewer than asked for where a workbench that runs already gives no more."""
        return self._there.ready.allowed

    @property
    def withheld(self) -> str:
        """The reason why `allowed` has less than was asked for; empty where nothing is missing."""
        return self._there.ready.withheld

    async def page_link(self) -> str:
        """Return a link for one browser, good for ten minutes: to the page on which a person sees all and steps in."""
        _, (url, token) = self._there, self._address
        try:
            async with httpx.AsyncClient(trust_env=False) as client:
                answer = await client.post(f"{url}/api/code", headers={"Authorization": f"Bearer {token}"})
                return f"{url}/#code={answer.raise_for_status().json()['code']}"
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise Unavailable(f"the workbench at {url} gives no link to its page: {error}") from error

    def schemas(self) -> list[ToolSchema]:
        """Return the tools: their names, descriptions and parameters."""
        return [
            {"name": one.name, "description": one.description, "parameters": dict(one.parameters)}
            for one in self._there.ready.tools
        ]

    @overload
    def openai(self, *, responses: Literal[False] = False) -> "list[ChatCompletionFunctionToolParam]": ...
    @overload
    def openai(self, *, responses: Literal[True]) -> "list[FunctionToolParam]": ...
    def openai(self, *, responses: bool = False) -> "list[ChatCompletionFunctionToolParam] | list[FunctionToolParam]":
        """Return the tools as OpenAI's `tools`: for chat completions, or for the responses API."""
        if responses:
            flat = [{"type": "function", **one, "strict": False} for one in self.schemas()]
            return cast("list[FunctionToolParam]", flat)
        return cast(
            "list[ChatCompletionFunctionToolParam]",
            [{"type": "function", "function": {**one}} for one in self.schemas()],
        )

    def anthropic(self) -> "list[ToolParam]":
        """Return the tools as Anthropic's `tools`."""
        return [
            {"name": one["name"], "description": one["description"], "input_schema": one["parameters"]}
            for one in self.schemas()
        ]

    def langchain(self) -> "list[BaseTool]":
        """Return the tools for LangChain and LangGraph: what fails has `status="error"`, and `data` is the artifact."""
        return langchain_tools(self.schemas(), self.call)

    def pydantic_ai(self) -> "AbstractToolset[object]":
        """Return the tools for pydantic-ai, as one of an agent's or a run's `toolsets`."""
        return pydantic_ai_toolset(self.schemas(), self.call)

    async def call(self, name: str, args: Mapping[str, object] | str | None = None) -> ToolOutcome:
        """Call a tool with the arguments that a model gave: an object, or the JSON text of one.

        What the model did wrong is a result whose text says so. Raises what the program did wrong, and `Unavailable`
        where there is no workbench any more.
        """
        link = self._there
        if not isinstance(name, str):
            raise BadArgument(f"a tool's name is a text, not {type(name).__name__}")
        given = _decoded(args) if isinstance(args, str | bytes) else _arguments(args)
        done = given if isinstance(given, ToolDone) else await link.call(name, given)
        return ToolOutcome(done.text, done.ok, done.data)

    @property
    def _there(self) -> ToolsetLink:
        if self._link is None:
            opened = "is closed" if self._opened else "is not open"
            raise Unavailable(f"this Toolset {opened}", hint="use it inside of its `async with` block")
        return self._link


_FORM = "send one JSON object with the tool's parameters"


def _decoded(text: str | bytes) -> dict[str, object] | ToolDone:
    """Return the arguments in a model's JSON, or what is wrong with it; nothing at all is what some write for none."""
    if not text.strip():
        return {}
    try:
        found: object = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return told(0, BadArgument(f"the arguments are not JSON: {error}", hint=_FORM))
    if not isinstance(found, dict):
        return told(0, BadArgument(f"the arguments are {_kind(found)}, not an object", hint=_FORM))
    return found


def _kind(value: object) -> str:
    names: dict[type, str] = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _arguments(args: Mapping[str, object] | str | None) -> dict[str, object]:
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise BadArgument(f"arguments are a dict or JSON text, not {type(args).__name__}")
    return dict(args)


def _check(what: str, given: Sequence[str], known: tuple[str, ...] = ()) -> None:
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise BadArgument(f"{what} is a sequence of texts, not {given!r}", hint=f'for example {what}=("see",)')
    for one in given if known else ():
        if one not in known:
            near = difflib.get_close_matches(one, known, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise BadArgument(f"{what} has {one!r}", hint=f"{guess}there are: {', '.join(known)}")
