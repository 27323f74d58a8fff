"""Secrets are taken out before an agent's pattern, query or range is applied: none of them is an oracle."""

import asyncio
from dataclasses import replace
from pathlib import Path

from tests.kit.person import let_in
from tests.kit.workbench import open_app

VALUE = "Zq7vKd02-Lm9xTw4"  # as the value of a variable that programs are not given
LINE = "password: hunter2pw"
READ, SEARCH, WRITE, EDIT = (f"openspace.file.{verb}" for verb in ("read", "search", "write", "edit"))


async def test_no_part_of_a_file_shows_an_agent_its_secrets() -> None:
    async with open_app() as app:
        text = f"first line of it\n{LINE}\nlast\n"
        path = Path(app.places.workspace, "config.yml")
        path.write_text(text)
        agent = let_in(app).actor
        whole = await app.call(READ, {"path": "config.yml"}, actor=agent)
        assert whole.data["content"] == "first line of it\npassword: [redacted:secret]\nlast\n"
        some = await app.call(READ, {"path": "config.yml", "startLine": 2, "endLine": 2}, actor=agent)
        assert some.data["content"] == "password: [redacted:secret]"
        for offset in range(len(text)):
            for limit in (1, 3, 7, 100):
                args: dict[str, object] = {"path": "config.yml", "offset": offset, "limit": limit}
                piece = await app.call(READ, args, actor=agent)
                assert not any(part in str(piece.data["content"]) for part in ("hun", "nter", "er2", "2pw")), args
        plain: dict[str, object] = {"path": "config.yml", "offset": 0, "limit": 5}
        assert (await app.call(READ, plain, actor=agent)).data["content"] == (await app.call(READ, plain)).data[
            "content"
        ]
        own = await app.call(READ, {"path": "config.yml"})
        assert own.data["content"] == text  # a person sees it all


async def test_a_search_does_not_tell_what_stands_in_a_secret() -> None:
    async with open_app() as app:
        Path(app.places.workspace, "config.yml").write_text(f"{LINE}\n")
        agent = let_in(app).actor
        for query in ("hunter2pw", "hunter", "h", "2pw"):
            found = await app.call(SEARCH, {"query": query}, actor=agent)
            assert "hunter" not in str(found.data)
            assert found.data["results"] == [], query
        named = await app.call(SEARCH, {"query": "password"}, actor=agent)
        assert named.data["results"] == ["config.yml"]
        assert "[redacted:secret]" in str(named.data["matches"])
        assert "hunter2pw" in str((await app.call(SEARCH, {"query": "hunter"})).data)


async def test_an_agent_does_not_write_a_placeholder_over_a_secret() -> None:
    async with open_app() as app:
        path = Path(app.places.workspace, "config.yml")
        path.write_text(f"{LINE}\nlimit: 1\n")
        agent = let_in(app).actor
        seen = str((await app.call(READ, {"path": "config.yml"}, actor=agent)).data["content"])
        written = await app.call(WRITE, {"path": "config.yml", "content": seen.replace("1", "2")}, actor=agent)
        assert not written.success
        assert "[redacted:" in str(written.error)
        edit: dict[str, object] = {"path": "config.yml", "edits": [{"old": "limit: 1", "new": "limit: 2"}]}
        assert (await app.call(EDIT, edit, actor=agent)).success
        assert path.read_text() == f"{LINE}\nlimit: 2\n"


async def test_a_wait_does_not_match_in_a_secret_even_while_it_is_being_printed() -> None:
    # A pipe tells it to go on: what is typed would be printed in the middle of the value.
    program = f"mkfifo go; printf 'begin {VALUE[:9]}'; read a < go; printf '{VALUE[9:]} end\\n'; read b"
    async with open_app() as app:
        app.bench.redaction = replace(app.bench.redaction, values=(VALUE,))
        await app.terminals.create(title="work", argv=["/bin/sh", "-c", program])
        agent = let_in(app).actor
        wait = "openspace.terminal.wait"

        async def waits(pattern: str, deadline: float) -> dict[str, object]:
            args: dict[str, object] = {
                "terminalId": "work",
                "pattern": pattern,
                "since": 0,
                "deadlineSeconds": deadline,
            }
            return dict((await app.call(wait, args, actor=agent)).data)

        async with asyncio.timeout(60):
            begun = await waits("begin", 30)
            assert begun["reason"] == "pattern"
            for guess in ("Zq7v", "begin Z", "vKd02"):
                assert (await waits(guess, 0.05))["reason"] == "deadline", guess
            assert VALUE[:5] not in str((await waits("begin.*", 30))["match"])
            read = await app.call("openspace.terminal.read_output", {"terminalId": "work", "since": 0}, actor=agent)
            assert VALUE[:5] not in str(read.data)
            await asyncio.to_thread(Path(app.places.workspace, "go").write_text, "\n")
            assert (await waits("end", 30))["reason"] == "pattern"
            for guess in (VALUE, "Zq7v", "xTw4"):
                assert (await waits(guess, 0.05))["reason"] == "deadline", guess
            assert "[redacted:" in str((await waits("begin.*end", 30))["match"])
