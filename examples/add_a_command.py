"""Add a command: it is at once in the manifest, the instructions, HTTP, the palette and the command line."""

import asyncio
import tempfile
from typing import Annotated

from msgspec import Meta, Struct

from fourhands import App, Contribution
from fourhands.host.paths import WorkspaceDirs

commands = Contribution("openspace.greeting")


class Say(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Arguments of the command."""

    name: Annotated[str, Meta(description="Whom to greet.")]


class Said(Struct, frozen=True, rename="camel"):
    """The result of the command."""

    text: str


@commands.add("say", example={"name": "Ada"})
async def say(bench: object, args: Say) -> Said:
    """Greet a person by name."""
    return Said(f"Hello, {args.name}!")


async def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        places = WorkspaceDirs(root, f"{root}/.run", f"{root}/.state")
        async with App(root, places=places) as app:
            app.registry.include(commands)
            print((await app.call("openspace.greeting.say", {"name": "Ada"})).to_wire())
            print((await app.call("openspace.greeting.say", {"nme": "Ada"})).to_wire()["hint"])
            await app.terminals.stop()


if __name__ == "__main__":
    asyncio.run(main())
