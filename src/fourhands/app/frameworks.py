"""The tools of a `Toolset` as agent frameworks take them: LangChain and pydantic-ai.

Neither is a package of ours: they are imported when a program that has one asks for its form. What a model reads of a
call is the same text everywhere. `call` is that of the toolset, or of its synchronous form; the tools wait as it does.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from fourhands.core.errors import Unavailable

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from pydantic_ai import AbstractToolset

    from fourhands.app.toolset import ToolOutcome, ToolSchema

_Awaited: TypeAlias = "Callable[[str, Mapping[str, object] | str], Awaitable[ToolOutcome]]"
_Waited: TypeAlias = "Callable[[str, Mapping[str, object] | str], ToolOutcome]"


def langchain_tools(schemas: "Sequence[ToolSchema]", call: "_Awaited | _Waited") -> "list[BaseTool]":
    """Return tools for LangChain and LangGraph."""
    try:
        from langchain_core.tools import BaseTool, ToolException
    except ImportError as error:
        raise Unavailable(f"LangChain cannot be imported: {error}", hint="install it: pip install langchain") from error
    awaited, waited = _both(call)

    def content(done: "ToolOutcome") -> tuple[str, object]:
        if not done.ok:
            raise ToolException(done.text)  # the text becomes the result, marked as an error
        return done.text, dict(done.data)

    class WorkbenchTool(BaseTool):
        """One tool. `self` is positional only, since a model chooses the names of the arguments."""

        def _run(self, /, **args: object) -> tuple[str, object]:
            return content(waited(self.name, args))

        async def _arun(self, /, **args: object) -> tuple[str, object]:
            return content(await awaited(self.name, args))

    return [
        WorkbenchTool(
            name=one["name"],
            description=one["description"],
            args_schema=one["parameters"],
            response_format="content_and_artifact",
            handle_tool_error=True,
        )
        for one in schemas
    ]


def pydantic_ai_toolset(schemas: "Sequence[ToolSchema]", call: "_Awaited | _Waited") -> "AbstractToolset[object]":
    """Return a toolset for pydantic-ai."""
    try:
        from pydantic_ai import AbstractToolset, RunContext, ToolDefinition
        from pydantic_ai.toolsets import ToolsetTool
    except ImportError as error:
        hint = "install it: pip install pydantic-ai-slim"
        raise Unavailable(f"pydantic-ai cannot be imported: {error}", hint=hint) from error
    awaited, _ = _both(call)

    class WorkbenchToolset(AbstractToolset[object]):
        """The tools. What fails is returned: pydantic-ai ends a run in which it has to raise the same twice."""

        @property
        def id(self) -> None:
            return None  # several may be in one agent, each under a prefix of its own

        async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
            defined = [
                ToolDefinition(
                    name=one["name"], description=one["description"], parameters_json_schema=one["parameters"]
                )
                for one in schemas
            ]
            return {
                one.name: ToolsetTool(toolset=self, tool_def=one, max_retries=1, args_validator=_AsWritten())
                for one in defined
            }

        async def call_tool(
            self, name: str, tool_args: dict[str, object], ctx: RunContext[object], tool: ToolsetTool[object]
        ) -> str:
            unread = tool_args.get(_UNREAD)
            return (await awaited(name, unread if isinstance(unread, str) else tool_args)).text

    return WorkbenchToolset()


_UNREAD = "(no object)"


class _AsWritten:
    """Takes whatever a model wrote as arguments: what is wrong with them is told by the call."""

    def validate_json(self, input: str | bytes | bytearray, **_: object) -> dict[str, object]:
        """Return the object in the JSON, or else the text itself under a name of its own."""
        text = input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")
        try:
            return self.validate_python(json.loads(text))
        except (ValueError, RecursionError):
            return {_UNREAD: text}

    def validate_python(self, input: object, **_: object) -> dict[str, object]:
        """Return the object; anything else as JSON, under a name of its own."""
        return input if isinstance(input, dict) else {_UNREAD: json.dumps(input)}


def _both(call: "_Awaited | _Waited") -> "tuple[_Awaited, _Waited]":
    """Return the form that is awaited and the form that waits."""
    if inspect.iscoroutinefunction(call):

        def refused(name: str, args: Mapping[str, object] | str) -> "ToolOutcome":
            hint = "use ainvoke or astream, or the tools of fourhands.sync.Toolset"
            raise Unavailable(f"{name} has to be awaited", hint=hint)

        return call, refused
    waited = cast("_Waited", call)

    async def awaited(name: str, args: Mapping[str, object] | str) -> "ToolOutcome":
        return await asyncio.to_thread(waited, name, args)

    return awaited, waited
