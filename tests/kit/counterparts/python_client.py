"""A small agent with the official MCP client: `python python_client.py RECIPE.py` has a model use a server's tools.

RECIPE is Python out of the manual that names the server; MODEL_URL is the model's address.
"""

import asyncio
import json
import os
import runpy
import sys
from typing import Any

import httpx
from mcp import Client
from mcp_types import TextContent


async def main(recipe: str) -> None:
    """Let the model call tools until it has no more to do."""
    server = runpy.run_path(recipe)["fourhands"]
    async with Client(server) as client, httpx.AsyncClient(base_url=os.environ["MODEL_URL"], trust_env=False) as model:
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
            for tool in (await client.list_tools()).tools
        ]
        functions = [{"type": "function", "function": tool} for tool in tools]
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Run the tests and mend what fails."}]
        while True:
            asked = {"model": "fake", "messages": messages, "tools": functions}
            answer = (await model.post("/v1/chat/completions", json=asked, timeout=60)).json()["choices"][0]["message"]
            messages.append(answer)
            if not answer.get("tool_calls"):
                break
            for call in answer["tool_calls"]:
                done = await client.call_tool(call["function"]["name"], json.loads(call["function"]["arguments"]))
                said = "".join(part.text for part in done.content if isinstance(part, TextContent))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
