"""Notice, without guessing from text, that a program waits for an answer, and give it."""

import asyncio

from fourhands import Terminals

PROGRAM = "name = input('What is your name? '); print('Nice to meet you,', name)"


async def main() -> None:
    async with Terminals(workspace=".") as terminals:
        program = await terminals.create(argv=["python3", "-c", PROGRAM])
        seen = await program.wait(input_wanted=True, deadline_s=30)
        print("it wants:", seen.input)
        position = await program.type("Ada\n")
        await program.wait(exit=True, deadline_s=30)
        print(program.since(position).text.splitlines()[-1])


if __name__ == "__main__":
    asyncio.run(main())
