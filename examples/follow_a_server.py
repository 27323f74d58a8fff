"""Start a server, wait until it listens, read its log from a position, end it with everything it started."""

import asyncio

from fourhands import Terminals


async def main() -> None:
    async with Terminals(workspace=".") as terminals:
        server = await terminals.create(
            title="web", argv=["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
        )
        seen = await server.wait(port=True, deadline_s=30)
        print("listening:", seen.reason == "port")
        done = await terminals.execute(
            "python3", ["-c", f"import urllib.request as u; u.urlopen('http://127.0.0.1:{seen.port}')"]
        )
        print("fetched:", done.ok)
        await server.wait(pattern="GET /", position=0, deadline_s=30)
        print("logged:", len(server.search("GET /")) == 1)
        await server.close()


if __name__ == "__main__":
    asyncio.run(main())
