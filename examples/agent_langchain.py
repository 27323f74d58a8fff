"""An agent of your own with LangChain: the tools of a workbench in `create_agent`.

    OPENAI_API_KEY=… python examples/agent_langchain.py "Make the tests pass"

LANGCHAIN_MODEL names another model, such as anthropic:claude-sonnet-5-5, if the package for it is installed; its usual
variables hold its key and endpoint. It works in the current directory.
"""

import asyncio
import os
import sys

from langchain.agents import create_agent

from fourhands import Toolset

MODEL = os.environ.get("LANGCHAIN_MODEL", "openai:gpt-5.5")
SYSTEM = (
    "You work in a directory, with tools. Look before you change anything, test what you did, and then say what it was."
)


async def work(task: str) -> None:
    async with Toolset(".", name="langchain-agent", allow=("see", "arrange", "write", "run"), ask="stdin") as tools:
        print("Look on at", await tools.page_link())
        agent = create_agent(MODEL, tools.langchain(), system_prompt=SYSTEM)
        async for step in agent.astream({"messages": [{"role": "user", "content": task}]}, stream_mode="updates"):
            for update in step.values():
                for message in update["messages"]:
                    message.pretty_print()


if __name__ == "__main__":
    asyncio.run(work(" ".join(sys.argv[1:]) or "Look around, and say what this directory is."))
