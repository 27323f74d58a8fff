"""An agent of your own with OpenAI's SDK: chat completions, so any compatible endpoint will do.

    OPENAI_API_KEY=… python examples/agent_openai.py "Make the tests pass"

OPENAI_BASE_URL names another endpoint, OPENAI_MODEL another model. It works in the current directory.
"""

import asyncio
import os
import sys
from typing import Any

from openai import AsyncOpenAI

from fourhands import Toolset

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.5")
SYSTEM = (
    "You work in a directory, with tools. Look before you change anything, test what you did, and then say what it was."
)


async def work(task: str) -> None:
    async with (
        AsyncOpenAI() as model,
        Toolset(".", name="openai-agent", allow=("see", "arrange", "write", "run"), ask="stdin") as tools,
    ):
        print("Look on at", await tools.page_link())
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
        for _ in range(50):
            answer = await model.chat.completions.create(model=MODEL, messages=messages, tools=tools.openai())
            message = answer.choices[0].message
            messages.append(message)
            if message.content:
                print(message.content)
            if not message.tool_calls:
                return
            for call in message.tool_calls:  # in the model's order: a later one may need what an earlier one did
                if call.type == "function":
                    print(f"> {call.function.name} {call.function.arguments}")
                    done = await tools.call(call.function.name, call.function.arguments)
                    print(done.text)
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": done.text})
        print("It stopped after 50 rounds.")


if __name__ == "__main__":
    asyncio.run(work(" ".join(sys.argv[1:]) or "Look around, and say what this directory is."))
