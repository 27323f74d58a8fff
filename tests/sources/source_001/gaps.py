"""Source 001, section 10: the gaps that its audit found, and what was added because of them."""

import asyncio
import logging
import os

from tests.kit.person import Person
from tests.kit.server import until
from tests.sources.contract import Document
from tests.sources.doors import Doors, Refused, like, open_doors, settings_of
from tests.sources.source_001.commands import TWENTY
from tests.sources.source_001.hub import ROOT
from tests.sources.source_001.looks import highlights, logged, panes, terminal, tidy, upstream
from tests.sources.source_001.stories import CREATE, HIGHLIGHT, LIST, OPEN

PART = Document(
    "001",
    "Gaps",
    ids=(
        *(f"NFR-3.6.{number}" for number in range(1, 5)),
        *("NFR-3.7.1", "NFR-3.7.2", "NFR-3.8.1", "NFR-3.8.2"),
        *(f"GAP-{number}" for number in range(1, 16)),
    ),
)


@PART.works(
    "NFR-3.6.1, GAP-1",
    "symlinks",
    "HTTP: a link out of the workspace is refused with `outside-workspace`, to read, write and list; one that stays "
    "inside is followed.",
)
async def symlinks(doors: Doors) -> None:
    doors.write("real/inside.txt", "inside\n")
    links = doors.root / "links"
    links.mkdir()
    for name, target in (("out", "/etc"), ("secret", "/etc/passwd"), ("in", "../real/inside.txt")):
        (links / name).symlink_to(target)
    for command, args in (
        ("read", {"path": "links/secret"}),
        ("read", {"path": "links/out/passwd"}),
        ("write", {"path": "links/out/new.txt", "content": "x"}),
        ("list", {"path": "links/out"}),
    ):
        refused = await doors.refusal(f"openspace.file.{command}", args, agent=True)
        assert refused["code"] == "outside-workspace"
    like(await doors.agent("openspace.file.read", {"path": "links/in"}), {"content": "inside\n"})


FENCED = {
    "fence": f"```\n{LIST}\n```",
    "fence with a language": f"```json\n{LIST}\n```",
    "tildes": f"~~~\n{LIST}\n~~~",
    "in a quotation": f"> ```\n> {LIST}\n> ```",
    "behind text": f"see ```\n{LIST}\n```",
    "inline": f"write `{LIST}` here",
    "indented": f"like this:\n\n    {LIST}\n\nand so on",
}


@PART.works(
    "NFR-3.6.2, GAP-2",
    "```\n%%OS{…}%%\n```",
    "Model's stream: a block in a fence, however it is written, in inline code and in indented code is shown and never "
    "run; one after it runs.",
)
async def fences(doors: Doors) -> None:
    for name, text in FENCED.items():
        said = await doors.says(f"{text}\n\nNow really: {LIST}")
        assert said.visible == f"{text}\n\nNow really: ", name
        assert len(said.results) == 1, name


DANGEROUS = ("rm -rf build", "sudo ls", "chmod 777 .", "dd if=/dev/zero of=x", ":(){ :|:& };:")


@PART.works(
    "NFR-3.6.3, GAP-8",
    "rm -rf, sudo, chmod 777, dd if=, :(){ :|:& };:",
    "Each is asked about before it is typed; who refuses is obeyed, and the agent is told. Further patterns are the "
    "setting `safety.dangerousCommands`.",
)
async def dangerous_commands(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.agent("openspace.terminal.create", {"title": "careful"}))["terminalId"]
    for line in DANGEROUS:
        asked, answer = await doors.asked(
            "openspace.terminal.send", {"terminalId": id, "text": f"{line}\n"}, choice="deny"
        )
        assert [one["level"] for one in asked] == ["dangerous"], line
        like(answer, {"success": False, "code": "denied"})
    assert settings_of('[safety]\ndangerousCommands = ["^make deploy"]').safety.dangerous_commands == ("^make deploy",)


SECRET = (
    *(".env", ".env.local", ".git/config", "id_rsa", "id_dsa", "server.pem", "server.key"),
    *("credentials.json", "secrets.yaml"),
)


@PART.works(
    "NFR-3.6.4, GAP-9",
    ".env, .env.*, .git/, id_rsa, id_dsa, *.pem, *.key, credentials.json, secrets.*",
    "HTTP: an agent's openspace.file.read of each is refused with `denied-path`, and so is openspace.editor.read_file. "
    "The settings `safety.secretNames` and `safety.notSecretNames` change the list.",
)
async def secret_files(doors: Doors) -> None:
    for path in SECRET:
        doors.write(f"private/{path}", "hush")
        for command in ("openspace.file.read", "openspace.editor.read_file"):
            refused = await doors.refusal(command, {"path": f"private/{path}"}, agent=True)
            assert refused["code"] == "denied-path", path
    changed = settings_of('[safety]\nsecretNames = ["*.private"]\nnotSecretNames = ["*.pem"]')
    async with open_doors(changed) as others:
        others.write("a.private", "hush")
        others.write("a.pem", "public\n")
        assert (await others.refusal("openspace.file.read", {"path": "a.private"}, agent=True))["code"] == "denied-path"
        like(await others.agent("openspace.file.read", {"path": "a.pem"}), {"content": "public\n"})


@PART.differs(
    "NFR-3.6.4",
    ".env.example is `.env.*` too",
    because="`.env.example`, `.sample`, `.template` and `.dist` are made to be read and hold no secrets.",
    answer="the file.",
)
async def env_example(doors: Doors) -> None:
    doors.write(".env.example", "KEY=\n")
    like(await doors.agent("openspace.file.read", {"path": ".env.example"}), {"content": "KEY=\n"})


@PART.works(
    "NFR-3.7.1, GAP-4",
    "session end or disconnect",
    "openspace.agent.end, or its connection's end: the terminals, highlights and panes that the agent made are gone, "
    "what ran in them too, but for what the person has pinned.",
)
async def cleanup(doors: Doors) -> None:
    await tidy(doors)
    kept = '%%OS{"cmd":"openspace.terminal.create","args":{"title":"kept"}}%%'
    split = '%%OS{"cmd":"openspace.pane.open","args":{"type":"editor","contentId":"src/auth.ts"}}%%'
    said = await doors.says(CREATE + kept + HIGHLIGHT + OPEN + split)
    pid = (await terminal(doors, said.data(0)["terminalId"]))["pid"]
    await doors.person("openspace.pane.pin", {"paneId": "kept"})
    await doors.person("openspace.agent.end", {"sessionId": said.session})
    left = (await doors.person("openspace.terminal.list"))["terminals"]
    assert [one["title"] for one in left] == ["kept"]
    assert await highlights(doors) == {}
    assert [tab["title"] for one in await panes(doors) for tab in one["tabs"]] == ["kept"]
    await until(lambda: not os.path.exists(f"/proc/{pid}"))


@PART.works(
    "NFR-3.7.2, GAP-6",
    "max 10 commands per response",
    "Of eleven blocks in one answer ten run; the last is ignored with a warning in the log, and the agent is told.",
)
async def per_answer(doors: Doors) -> None:
    with logged(logging.WARNING) as lines:
        said = await doors.says(LIST * 11)
    assert [one.success for one in said.results].count(True) == 10
    assert "more than 10 commands in one answer" in said.told
    assert any("is ignored, its answer has too many" in line for line in lines)


@PART.works(
    "NFR-3.8.1, GAP-3",
    "ERROR always, WARNING if enabled, INFO never",
    "`call.finished` on `/ws` has the severity: error for a file that is not there, warning for what was refused "
    "or a limit stopped, info for what succeeded. The page shows toasts by it; the setting is `notices.warnings`.",
)
async def toasts(doors: Doors) -> None:
    found = {}
    with doors.hearing("call.finished") as heard:
        for command, args in (
            ("openspace.pane.list", {}),
            ("openspace.file.read", {"path": "no such file"}),
            ("openspace.workbench.undo", {}),
        ):
            try:
                await doors.agent(command, args)
            except Refused as refused:
                found[command] = refused.result["code"]
        await until(lambda: len(heard) == 3)
    assert [event.data["severity"] for event in heard] == ["info", "error", "warning"]
    assert found == {"openspace.file.read": "not-found", "openspace.workbench.undo": "denied"}
    assert (await doors.person("openspace.workbench.snapshot"))["warnings"] is True
    async with open_doors(settings_of("[notices]\nwarnings = false")) as others:
        assert (await others.person("openspace.workbench.snapshot"))["warnings"] is False


@PART.differs(
    "NFR-3.8.2, GAP-5",
    "[ ] Don't show this again [Cancel] [Allow]",
    because="The dialog names the agent and what it wants, and each of these can be left out; consent is for an agent, "
    "not once for all.",
    answer="before its first command a question of kind `consent` with the choices session (Allow) and deny (Cancel), "
    "and always (Don't show this again) for an agent that Fourhands started itself; after a refusal it is `denied`.",
)
async def consent(doors: Doors) -> None:
    session, token = doors.served.agent("newcomer", consent=False)
    person = Person(doors.app)
    try:
        async with doors.served.client(token, verify=False) as client:
            calling = asyncio.gather(client.post("/api/commands/openspace.pane.list", json={}))
            question = await person.question()
            assert question.kind == "consent"
            assert question.session == session
            assert question.options == ("session", "deny")
            assert "newcomer" in question.text
            person.answer(question, "deny")
            [answer] = await calling
            like(answer.json(), {"success": False, "code": "denied"})
            again = (await client.post("/api/commands/openspace.pane.list", json={})).json()
            like(again, {"success": False, "code": "denied", "hint": str})
    finally:
        person.leave()


@PART.works(
    "GAP-7",
    "Undo Last Agent Action",
    "openspace.workbench.undo, Ctrl Alt Z: takes back what an agent wrote, opened, arranged or marked last; redo is "
    "there.",
)
async def undo(doors: Doors) -> None:
    doors.write("undo.txt", "before\n")
    await doors.agent("openspace.file.read", {"path": "undo.txt"})
    await doors.agent("openspace.file.write", {"path": "undo.txt", "content": "after\n"})
    await doors.person("openspace.workbench.undo")
    assert (doors.root / "undo.txt").read_text() == "before\n"
    await doors.person("openspace.workbench.redo")
    assert (doors.root / "undo.txt").read_text() == "after\n"


@PART.works(
    "GAP-10",
    "Prometheus metrics",
    "GET /metrics: calls by command, actor and outcome, and the time they took.",
)
async def metrics(doors: Doors) -> None:
    await doors.agent("openspace.pane.list")
    text = await doors.get("/metrics")
    assert 'fourhands_calls_total{actor="agent",command="openspace.pane.list",outcome="ok"}' in text
    assert 'fourhands_call_seconds_bucket{command="openspace.pane.list"' in text


@PART.works(
    "GAP-11",
    "90-day retention",
    "The journal: every call with its arguments, verdict and result, `fourhands journal` reads it; kept for the "
    "setting `journal.keepDays`, 90.",
)
async def audit(doors: Doors) -> None:
    await doors.agent("openspace.file.list", {"path": "src"})
    [newest] = await doors.app.bench.journal.query(command="openspace.file.list", limit=1)
    assert newest.call.args == {"path": "src"}
    assert newest.result is not None
    assert settings_of("").journal.keep_days == 90


@PART.works(
    "GAP-12",
    "help",
    "openspace.agent.help explains every command in the words of its own declaration; docs/ has a manual for people.",
)
async def help_pages(doors: Doors) -> None:
    for id in TWENTY:
        assert f"#### {id}" in (await doors.person("openspace.agent.help", {"command": id}))["text"]
    pages = (ROOT / "docs/commands.md").read_text()
    assert [id for id in TWENTY if f"`{id}`" not in pages] == []


@PART.differs(
    "GAP-13",
    "fall back to a cached manifest if the Hub is unreachable",
    because="The hub is in the server's own process and cannot be unreachable. What can be is a model's server.",
    answer="after five failures in a row of a model's server requests are refused at once, with the time after which "
    "it is tried again.",
)
async def breaker(doors: Doors) -> None:
    async with open_doors(upstream("http://127.0.0.1:9")) as others:
        _, token = others.served.agent("proxied")
        async with others.served.client(token, verify=False) as client:
            for number in range(6):
                answer = await client.post("/v1/chat/completions", json={"model": "fake", "messages": []})
                assert answer.status_code >= 500
                assert ("again and again" in answer.text) is (number == 5)
            assert "tried again in" in answer.text


@PART.works(
    "GAP-14",
    "redact secrets in terminal output",
    "An agent's openspace.terminal.read_output has `[redacted:…]` for tokens, keys and passwords; the person's "
    "terminal shows them. The setting is `safety.redact`.",
)
async def redaction(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.person("openspace.terminal.create", {"title": "secrets"}))["terminalId"]
    token = "ghp_" + "a1B2" * 9
    await doors.person("openspace.terminal.send", {"terminalId": id, "text": f"echo {token}\n"})
    await doors.person("openspace.terminal.wait", {"terminalId": id, "finished": True})
    seen = "\n".join((await doors.agent("openspace.terminal.read_output", {"terminalId": id}))["output"])
    assert token not in seen
    assert "[redacted:" in seen
    shown = "\n".join((await doors.person("openspace.terminal.read_output", {"terminalId": id}))["output"])
    assert token in shown


@PART.works("GAP-15", "ToS/EULA", "docs/terms.md: the terms for letting an agent work; linked from README.md.")
async def terms(doors: Doors) -> None:
    assert "agent" in (ROOT / "docs/terms.md").read_text()
    assert "docs/terms.md" in (ROOT / "README.md").read_text()
