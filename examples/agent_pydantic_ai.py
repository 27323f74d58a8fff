"""An agent of your own with pydantic-ai: the tools of a workbench as one of its toolsets.

    OPENAI_API_KEY=… python examples/agent_pydantic_ai.py "Make the tests pass"

PYDANTIC_AI_MODEL names another model, such as anthropic:claude-sonnet-5-5; the model's usual variables hold its key and
endpoint. It works in the current directory.
"""

import asyncio
import os
import sys

from pydantic_ai import Agent, FunctionToolCallEvent, FunctionToolResultEvent, PartEndEvent, TextPart

from fourhands import Toolset

SYSTEM = (
    "You work in a directory, with tools. Look before you change anything, test what you did, and then say what it was."
)
agent = Agent(os.environ.get("PYDANTIC_AI_MODEL", "openai:gpt-5.5"), instructions=SYSTEM, defer_model_check=True)


async def work(task: str) -> None:
    async with Toolset(".", name="pydantic-agent", allow=("see", "arrange", "write", "run"), ask="stdin") as tools:
        print("Look on at", await tools.page_link())
        async with agent.run_stream_events(task, toolsets=[tools.pydantic_ai()]) as events:
            async for event in events:
                if isinstance(event, PartEndEvent) and isinstance(event.part, TextPart):
                    print(event.part.content)
                elif isinstance(event, FunctionToolCallEvent):
                    print(f"> {event.part.tool_name} {event.part.args}")
                elif isinstance(event, FunctionToolResultEvent):
                    print(event.part.content)


if __name__ == "__main__":
    asyncio.run(work(" ".join(sys.argv[1:]) or "Look around, and say what this directory is."))
