"""The tools of a workbench for a loop that waits for each call: `fourhands.Toolset` for scripts and notebooks."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, overload

from fourhands.app.frameworks import langchain_tools, pydantic_ai_toolset
from fourhands.app.toolset import Toolset
from fourhands.core.call import Scope
from fourhands.core.loop_thread import LoopThread
from fourhands.core.question import Answer, Choice, Question
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings
from fourhands.sync.remote import Remote, reads, waits

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import FunctionToolParam
    from pydantic_ai import AbstractToolset

SyncAsk: TypeAlias = Callable[[Question], Choice | Answer]
"""The embedding program's answer to a question; it is called in a thread of its own, and may wait for a person."""


class SyncToolset(Remote[Toolset]):
    """The tools of one workbench as one agent may use them: `with fourhands.sync.Toolset(".") as tools`.

    What the arguments mean stands at `fourhands.Toolset`.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        *,
        name: str = "agent",
        allow: Sequence[Scope] = (),
        ask: SyncAsk | Literal["page", "stdin", "never"] = "page",
        tools: Sequence[str] = ("core",),
        provider: str = "",
        keep: bool = False,
        settings: Settings | None = None,
        places: WorkspaceDirs | None = None,
    ) -> None:
        there = Toolset(
            workspace,
            name=name,
            allow=allow,
            ask=_in_a_thread(ask) if callable(ask) else ask,
            tools=tools,
            provider=provider,
            keep=keep,
            settings=settings,
            places=places,
        )
        super().__init__(there, LoopThread(there, "Toolset"))

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> Self:
        """Join the workbench or start one, as the beginning of a `with` block does."""
        self._thread.open()
        return self

    def close(self) -> None:
        """Do what the end of a `with` block does; the end of the program does it as well. Twice is once."""
        self._thread.close()

    @property
    def session(self) -> str:
        """The id of the agent's session."""
        return self._read(lambda there: there.session)

    @property
    def allowed(self) -> tuple[Scope, ...]:
        """The scopes that it has by `allow`: fewer than asked for where a workbench that runs already gives no more."""
        return self._read(lambda there: there.allowed)

    @property
    def withheld(self) -> str:
        """The reason why `allowed` has less than was asked for; empty where nothing is missing."""
        return self._read(lambda there: there.withheld)

    schemas = reads(Toolset.schemas)

    @overload
    def openai(self, *, responses: Literal[False] = False) -> "list[ChatCompletionFunctionToolParam]": ...
    @overload
    def openai(self, *, responses: Literal[True]) -> "list[FunctionToolParam]": ...
    def openai(self, *, responses: bool = False) -> "list[ChatCompletionFunctionToolParam] | list[FunctionToolParam]":
        """Return the tools as OpenAI's `tools`: for chat completions, or for the responses API."""
        return self._read(lambda there: there.openai(responses=True) if responses else there.openai())

    anthropic = reads(Toolset.anthropic)

    def langchain(self) -> "list[BaseTool]":
        """Return the tools for LangChain and LangGraph: what fails has `status="error"`, and `data` is the artifact."""
        return langchain_tools(self.schemas(), self.call)

    def pydantic_ai(self) -> "AbstractToolset[object]":
        """Return the tools for pydantic-ai, as one of an agent's or a run's `toolsets`."""
        return pydantic_ai_toolset(self.schemas(), self.call)

    page_link = waits(Toolset.page_link)
    call = waits(Toolset.call)


def _in_a_thread(ask: SyncAsk) -> Callable[[Question], Awaitable[Choice | Answer]]:
    return lambda question: asyncio.to_thread(ask, question)
