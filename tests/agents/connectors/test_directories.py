"""The directories of an agent besides the workspace: shown, named, read, and refused where they must not be."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.agents.connectors.test_sandbox import rungs, staged
from tests.kit.acp_stage import open_stage
from tests.kit.workbench import open_app

from fourhands.agents.connectors.directories import named_directories, own_directories
from fourhands.core.errors import BadArgument
from fourhands.settings import AgentSettings, SandboxSettings, Settings

pytestmark = pytest.mark.timeout(120)

CAN: dict[str, Any] = {"sessionCapabilities": {"additionalDirectories": {}}}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A directory of the person's, with a link by which they call it, and a secret in it."""
    place = tmp_path / "library"
    (place / "src").mkdir(parents=True)
    (place / "src" / "lib.py").write_text("one\ntwo\nAPI_KEY = 'sk-proj-abcdefghij0123456789ABCDEFGHIJ'\n")
    (place / ".env").write_text("PASSWORD=hunter2hunter2\n")
    (place / "picture").write_bytes(b"\0\1")
    (tmp_path / "outside.txt").write_text("not of the library\n")
    (place / "way-out").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "by-link").symlink_to(place)
    return tmp_path / "by-link"


def sent(stage: Any, method: str) -> list[dict[str, Any]]:
    return [message["params"] for message in stage.sent() if message.get("method") == method]


@rungs
async def test_a_directory_of_the_settings_is_shown_read_only_and_named(provider: str, library: Path) -> None:
    real = os.path.realpath(library)
    look = f"""
import os
place = {real!r}
found["text"] = open(place + "/src/lib.py").read()[:4]
for name in (place + "/src/lib.py", place + "/new"):
    try:
        open(name, "a").close()
        found["written"] = name
    except OSError as error:
        found[name.rpartition("/")[2]] = type(error).__name__
"""
    async with staged(provider, directories=(str(library), "/no/such"), capabilities=CAN) as stage:
        (found,) = await stage.turn(["python", look])
        assert found["text"] == "one\n"
        assert "written" not in found
        assert not (library / "new").exists()
        assert "does not get the directory /no/such" in stage.of("agent.noted")[0]["text"]
        if provider == "bubblewrap":  # what it runs in terminals sees it too
            argv = ["cat", f"{real}/src/lib.py"]
            terminal = await stage.served.app.terminals.create(provider=provider, cell=stage.session.id, argv=argv)
            await terminal.wait(exit=True, deadline_s=40)
            assert terminal.exit is not None
            assert terminal.exit.code == 0
        lines = stage.log.read_text()
        assert f'"additionalDirectories": ["{real}"]' in lines


async def test_it_is_written_where_the_sandbox_s_settings_say_so(library: Path) -> None:
    real = os.path.realpath(library)
    code = f"open({real!r} + '/new', 'w').write('x'); found['done'] = True"
    writable = SandboxSettings(writable=(real,))
    async with staged("bubblewrap", directories=(str(library),), sandbox=writable) as stage:
        assert await stage.turn(["python", code]) == [{"done": True}]
        assert (library / "new").read_text() == "x"


async def test_an_agent_that_does_not_take_directories_is_named_none_and_others_the_same_again(library: Path) -> None:
    settings = Settings(agents={"fake": AgentSettings(additional_directories=(str(library),))})
    for capabilities, named in (({}, None), ({**CAN, "loadSession": True}, [os.path.realpath(library)])):
        async with open_stage(settings=settings, capabilities=capabilities) as stage:
            await stage.turn(["exit", 3])
            await stage.turn(["say", "back"])
            begun = [*sent(stage, "session/new"), *sent(stage, "session/load")]
            assert [one.get("additionalDirectories") for one in begun] == [named] * len(begun)
            assert len(begun) == 2


async def test_files_of_it_are_read_by_the_rules_for_agents_and_not_written(library: Path) -> None:
    settings = Settings(agents={"fake": AgentSettings(additional_directories=(str(library),))})

    def read(name: str, **more: object) -> list[object]:
        return ["call", "fs/read_text_file", {"path": f"{library}/{name}", **more}]

    async with open_stage(settings=settings) as stage:
        whole, part, *refused, written = await stage.turn(
            read("src/lib.py"),
            read("src/lib.py", line=2, limit=1),
            read(".env"),
            read("way-out"),
            read("picture"),
            read("missing"),
            read("../outside.txt"),
            ["call", "fs/write_text_file", {"path": f"{library}/src/lib.py", "content": "three"}],
        )
        assert whole["result"]["content"].startswith("one\ntwo\nAPI_KEY = '[redacted:")
        assert part == {"result": {"content": "two\n"}}
        words = ["secret", "outside", "binary", "missing", "outside"]
        for answer, word in zip(refused, words, strict=True):
            assert word in str(answer["error"]).lower(), answer
        assert written["error"]["data"]["code"] == "outside-workspace"
        assert "two" in (library / "src" / "lib.py").read_text()
        entries = await stage.app.journal.query(command="openspace.file.read")
        assert (entries[0].call.args, entries[0].result and entries[0].result.success) == (
            {"path": f"{library}/src/lib.py"},
            True,
        )
    async with open_stage(settings=settings, consent=False) as stage:
        await stage.prompt(read("src/lib.py"))
        question = await stage.person.question()
        assert question.kind == "consent"
        stage.person.answer(question, "deny")
        await stage.agent.idle()
        assert "error" in stage.said()


async def test_what_shows_too_much_or_is_for_secrets_is_not_given(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in ("work", ".ssh", ".local/state/fourhands/x", "fine"):
        (home / name).mkdir(parents=True)
    cases = {
        "/": "the workspace is in it",
        str(tmp_path): "your home directory is in it",
        str(home): "your home directory is in it",
        str(home / ".ssh"): "it is for secrets",
        str(home / ".local/state/fourhands/x"): "it is for secrets",
        str(home / "nowhere"): "there is no such directory",
        "/etc/passwd": "there is no such directory",
    }
    settings = Settings(agents={"fake": AgentSettings(additional_directories=(*cases, str(home / "fine")))})
    async with open_app(settings, env={"HOME": str(home)}) as app:
        session = app.bench.begin_session("fake", "acp")
        found, wrong = own_directories(app.bench, session)
        assert found == (str(home / "fine"),)
        assert [line.rpartition(": ")[2] for line in wrong] == list(cases.values())
        above = Settings(agents={"fake": AgentSettings(additional_directories=(os.path.dirname(app.bench.root),))})
        app.bench.settings = above
        assert "the workspace is in it" in own_directories(app.bench, session)[1][0]


async def test_an_editor_names_directories_of_the_workspace_and_of_the_settings_only(library: Path) -> None:
    settings = Settings(agents={"fake": AgentSettings(additional_directories=(str(library),))})
    async with open_app(settings) as app:
        session, root = app.bench.begin_session("fake", "acp"), Path(app.bench.root)
        (root / "part").mkdir()
        (root / "way-out").symlink_to(library.parent)
        real = os.path.realpath(library)
        inside = [f"{root}/part", str(library / "src"), f"{root}/part/", str(root)]
        assert named_directories(app.bench, session, inside) == (f"{root}/part", f"{real}/src")
        for path, words in (
            (str(library.parent), "is not in the workspace"),
            (f"{root}/way-out", "is not in the workspace"),
            (f"{root}/../other", "is not in the workspace"),
            ("part", "absolute"),
            ("", "absolute"),
            (f"{root}/a\0b", "absolute"),
            (f"{root}/none", "there is no directory"),
        ):
            with pytest.raises(BadArgument, match=words):
                named_directories(app.bench, session, [path])
