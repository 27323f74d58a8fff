"""An agent of your own with Anthropic's SDK; its words are printed as they come.

    ANTHROPIC_API_KEY=… python examples/agent_anthropic.py "Make the tests pass"

ANTHROPIC_BASE_URL names another endpoint, ANTHROPIC_MODEL another model. It works in the current directory.
"""

import asyncio
import os
import sys

from anthropic import AsyncAnthropic
from anthropic.types import MessageParam, ToolResultBlockParam

from fourhands import Toolset

MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5")
SYSTEM = (
    "You work in a directory, with tools. Look before you change anything, test what you did, and then say what it was."
)


async def work(task: str) -> None:
    async with (
        AsyncAnthropic() as model,
        Toolset(".", name="anthropic-agent", allow=("see", "arrange", "write", "run"), ask="stdin") as tools,
    ):
        print("Look on at", await tools.page_link())
        messages: list[MessageParam] = [{"role": "user", "content": task}]
        for _ in range(50):
            async with model.messages.stream(
                model=MODEL, max_tokens=32_000, system=SYSTEM, messages=messages, tools=tools.anthropic()
            ) as stream:
                async for text in stream.text_stream:
                    print(text, end="", flush=True)
                print()
                answer = await stream.get_final_message()
            messages.append({"role": "assistant", "content": answer.content})
            if answer.stop_reason != "tool_use":
                return
            results: list[ToolResultBlockParam] = []
            for block in answer.content:  # in the model's order: a later one may need what an earlier one did
                if block.type == "tool_use":
                    print(f"> {block.name} {block.input}")
                    done = await tools.call(block.name, block.input)
                    print(done.text)
                    results.append(
                        {"type": "tool_result", "tool_use_id": block.id, "content": done.text, "is_error": not done.ok}
                    )
            messages.append({"role": "user", "content": results})
        print("It stopped after 50 rounds.")


if __name__ == "__main__":
    asyncio.run(work(" ".join(sys.argv[1:]) or "Look around, and say what this directory is."))
