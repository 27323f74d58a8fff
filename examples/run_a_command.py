"""Run commands in a persistent shell and get exactly their output and exit code."""

import asyncio

from fourhands import Terminals


async def main() -> None:
    async with Terminals(workspace=".") as terminals:
        shell = await terminals.create(title="example")
        await shell.run("cd / && GREETING=hello")
        done = await shell.run("echo $GREETING from $PWD; false | true")
        print(done.output, end="")
        print("exit code", done.exit_code, "statuses", done.statuses)


if __name__ == "__main__":
    asyncio.run(main())
