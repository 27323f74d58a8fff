"""A line that a person is asked about, rehearsed over a real overlay: shown, applied, discarded, or run for real."""

import asyncio
import os
import stat
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.isolation import refuse, until
from tests.kit.person import Person, let_in
from tests.kit.workbench import open_app, temporary_places

from fourhands.app import App
from fourhands.core.call import Actor, Result
from fourhands.core.errors import Unsupported
from fourhands.core.question import Question
from fourhands.providers.bubblewrap import SandboxTools
from fourhands.providers.overlay import OverlaySandbox
from fourhands.settings import SafetySettings, Settings
from fourhands.workbench.rehearsal.difference import DifferenceLimits
from fourhands.workbench.rehearsal.rehearsals import Rehearsal, RehearsalLimits, Rehearsals, RehearsedProgram
from fourhands.workbench.terminals.terminal import Terminal

pytestmark = pytest.mark.timeout(120)

WAIT = "until [ -e /tmp/go ]; do sleep 0.02; done"


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with open_app() as app:
        if reason := await app.bench.rehearsals.impossible():
            refuse(f"no overlay here: {reason}")
        yield app


class Asked:
    """An agent's line that waits for the person, who rehearses it."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.root = Path(app.bench.root)
        self.person = Person(app)
        self.session = let_in(app)
        self.running: asyncio.Task[Result]
        self.question: Question
        self.id = ""

    async def ask(self, line: str, command: str = "openspace.tool.bash", **args: object) -> "Asked":
        named = {"command": line} if command != "openspace.tool.run_script" else {"script": line}
        call = self.app.call(command, {**named, **args}, actor=self.session.actor)
        self.running = self.app.tasks.start(call, line)
        self.question = await self.person.question()
        return self

    async def do(self, verb: str, **args: object) -> Any:
        """What a command of the person's returns."""
        result = await self.app.call(f"openspace.rehearsal.{verb}", args or {"id": self.id})
        assert result.success, result
        return result.data

    async def begin(self) -> None:
        self.id = (await self.do("start", questionId=self.question.id))["id"]

    async def rehearse(self) -> Any:
        """Rehearse it, and return what is shown then."""
        await self.begin()
        await self.ended()
        return await self.do("read")

    @property
    def rehearsal(self) -> Rehearsal:
        return self.app.bench.rehearsals.get(self.id)

    @property
    def upper(self) -> Path:
        return Path(self.rehearsal.dirs.upper)

    def go_on(self) -> None:
        """Let a line that waits go on."""
        Path(self.rehearsal.dirs.tmp, "go").touch()

    async def ended(self) -> None:
        async with asyncio.timeout(60):
            await self.app.bench.rehearsals.ended(self.rehearsal)

    async def answered(self) -> Result:
        async with asyncio.timeout(40):
            return await self.running


@pytest.fixture
async def asked(app: App) -> Asked:
    return Asked(app)


def tree(root: Path) -> dict[str, object]:
    """All that is in a directory: contents, links, executable bits, and times, by which a write would show."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        what: object = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "directory"
        found[str(path.relative_to(root))] = (what, stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return found


async def program(*words: object, cwd: Path | None = None, code: int = 0) -> None:
    """Run a program of the test's own."""
    ended = await asyncio.to_thread(subprocess.run, list(map(str, words)), cwd=cwd, stdout=subprocess.DEVNULL)
    assert ended.returncode == code


def contents(root: Path) -> dict[str, object]:
    return {path: one[:2] for path, one in tree(root).items()}  # type: ignore[index]


def fill(root: Path) -> None:
    for name in ("build/obj/a.o", "build/obj/b.o", "build/keep", "src/app.py", "old.txt", "run.sh"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")
    (root / "link").symlink_to("old.txt")


LINE = (
    "rm -rf build; echo two >> src/app.py; mv old.txt new.txt; mkdir -p empty deep/er; echo x > deep/er/f; "
    "ln -sfn src/app.py link; chmod +x run.sh; rm -rf src2; mkdir src2; rm run.sh.bak 2>/dev/null; echo done; exit 3"
)


async def test_a_rehearsal_leaves_the_files_alone_and_applied_it_is_as_if_the_line_had_run(asked: Asked) -> None:
    fill(asked.root)
    before = tree(asked.root)
    await asked.ask(LINE)
    seen = await asked.rehearse()
    assert tree(asked.root) == before
    assert (seen["exitCode"], seen["output"], seen["state"], seen["blocked"]) == (3, "done\n", "ended", "")
    rows = {row["path"]: row for row in seen["changes"]}
    assert {path: (row["kind"], row["files"]) for path, row in rows.items()} == {
        "build": ("deleted", 3),
        "src/app.py": ("changed", 1),
        "old.txt": ("deleted", 1),
        "new.txt": ("created", 1),
        "empty": ("created", 0),
        "deep/er/f": ("created", 1),
        "link": ("changed", 1),
        "run.sh": ("changed", 1),
        "src2": ("created", 0),
    }
    assert "+two" in rows["src/app.py"]["diff"]
    assert (rows["run.sh"]["note"], rows["link"]["note"]) == ("mode", "link")
    assert seen["counts"] == {"created": 2, "changed": 3, "deleted": 4}
    assert "no network" not in seen["output"]
    assert any("network" in words for words in seen["cannotShow"])

    twin = asked.root.parent / "twin"
    await program("cp", "-a", asked.root, twin)
    await program("bash", "-c", LINE, cwd=twin, code=3)
    applied = await asked.do("apply")
    assert not applied["conflicts"]
    assert not applied["missing"]
    assert contents(asked.root) == contents(twin)
    result = await asked.answered()
    assert (result.success, result.code) == (False, "denied")
    assert "as a rehearsal" in result.error
    assert "Exit code 3" in result.error
    assert "done" in result.error

    back = await asked.app.call("openspace.checkpoint.restore", {"checkpoint": applied["checkpoint"]})
    assert back.success, back
    assert (asked.root / "build/keep").read_text() == "build/keep\n"


async def test_what_others_have_changed_meanwhile_is_a_conflict_and_stays(asked: Asked) -> None:
    fill(asked.root)
    await asked.ask(
        f"rm -rf build; echo 2 >> src/app.py; echo n > new; mkdir d; echo d > d/f; {WAIT}; rm -f run.sh old.txt"
    )
    await asked.begin()
    await until(lambda: (asked.upper / "d/f").exists())
    (asked.root / "old.txt").write_text("mine, while it runs\n")
    asked.go_on()
    await asked.ended()
    (asked.root / "build/obj/a.o").write_text("mine\n")
    (asked.root / "src/app.py").unlink()
    (asked.root / "new").symlink_to("/etc/passwd")
    outside = asked.root.parent / "outside"
    outside.mkdir()
    (asked.root / "d").symlink_to(outside)
    applied = await asked.do("apply")
    assert {one["path"] for one in applied["conflicts"]} == {
        "build/obj/a.o",
        "src/app.py",
        "new",
        "d",
        "d/f",
        "old.txt",
    }
    assert (asked.root / "build/obj/a.o").read_text() == "mine\n"
    assert (asked.root / "old.txt").read_text() == "mine, while it runs\n"
    assert not (asked.root / "src/app.py").exists()
    assert os.readlink(asked.root / "new") == "/etc/passwd"
    assert list(outside.iterdir()) == []
    assert not (asked.root / "build/obj/b.o").exists()
    assert not (asked.root / "run.sh").exists()
    assert "src/app.py" in (await asked.answered()).error


HOSTILE = """
echo x >> .envrc; echo x >> .git/config; echo x > .git/hooks/post-checkout; rm -rf .git 2>/dev/null
echo x > "$OUT/f"; rm -rf "$OUT"; echo x >> /etc/hostname; echo x > ~/.bashrc; mkdir -p /tmp/deep
ln -s "$OUT" way; ln -s /etc/passwd passwd; ln way/nothing hard; mkfifo pipe; mknod zero c 1 5; mknod gone c 0 0
python3 - <<'E'
import os, socket
socket.socket(socket.AF_UNIX).bind("socket")
for name in ("user.overlay.opaque", "user.overlay.whiteout", "trusted.overlay.opaque"):
    try: os.setxattr("src", name, b"y")
    except OSError: pass
try: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2); print("CONNECTED")
except OSError: pass
E
chmod 4755 run.sh; mkdir closed; echo x > closed/f; chmod 0 closed; mkdir .vscode; echo x > .vscode/tasks.json
dd if=/dev/zero of=huge bs=1M count=64 2>/dev/null; echo "size $(stat -c %s huge)"
late() { (trap '' HUP TERM; setsid sh -c 'while :; do echo late >> late; sleep 0.01; done' >/dev/null 2>&1 &) ; }
late; late; late
echo "key $SECRET_KEY"; printf '\\033[31mred\\033[0m\\n'
"""


async def test_a_hostile_line_leaves_nothing_behind_and_reaches_nothing_outside(asked: Asked) -> None:
    root = asked.root
    fill(root)
    await program("git", "init", "-q", root)
    (root / ".envrc").write_text("mine\n")
    out = root.parent / "out"
    out.mkdir()
    (out / "kept").write_text("kept\n")
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    asked.app.bench.rehearsals.limits = RehearsalLimits(file_bytes=16 << 20)
    before = tree(root), tree(out)
    await asked.ask(f"export OUT={out} PORT={port}\n{HOSTILE}\nrm -rf src/none")
    seen = await asked.rehearse()
    server.close()
    assert (tree(root), tree(out)) == before
    assert "CONNECTED" not in seen["output"]
    assert "size 16777216" in seen["output"]
    assert "red" in seen["output"]
    assert "\x1b" not in seen["output"]
    late = asked.upper / "late"
    size = late.stat().st_size
    rows = {row["path"]: row for row in seen["changes"]}
    assert ".envrc" not in rows
    assert not any(".git" in path for path in rows)
    assert {path for path, row in rows.items() if row["conflict"]} >= {"pipe", "socket"}
    assert rows[".vscode/tasks.json"]["runsByItself"]
    assert rows["closed/f"]["kind"] == "created"
    assert seen["blocked"], "git's own files cannot be applied from pieces"
    refused = await asked.app.call("openspace.rehearsal.apply", {"id": asked.id})
    assert (refused.success, refused.code) == (False, "conflict")
    assert late.stat().st_size == size, "something of it still runs"
    assert (tree(root), tree(out)) == before
    await asked.do("discard")
    await until(lambda: not os.listdir(Path(asked.app.places.state, "rehearsals")))
    asked.person.answer(asked.question, "deny")
    assert not (await asked.answered()).success


async def test_applied_links_and_modes_are_those_shown_and_what_is_no_file_is_left(asked: Asked) -> None:
    fill(asked.root)
    await asked.ask(
        "rm -rf build; mkfifo pipe; ln -s /etc/passwd passwd; chmod 4755 run.sh; touch src/app.py; "
        "mkdir a; echo x > a/b"
    )
    seen = await asked.rehearse()
    assert [row["path"] for row in seen["changes"]] == ["a/b", "build", "passwd", "pipe", "run.sh"]
    applied = await asked.do("apply")
    assert [one["path"] for one in applied["conflicts"]] == ["pipe"]
    assert os.readlink(asked.root / "passwd") == "/etc/passwd"
    assert stat.S_IMODE((asked.root / "run.sh").stat().st_mode) == 0o755
    assert not (asked.root / "build").exists()
    await asked.answered()


@pytest.mark.parametrize(
    ("line", "limits", "why"),
    [
        ("rm -rf build; sleep 60", RehearsalLimits(time_s=0.5), "stopped after 0.5 s"),
        (
            "rm -rf build; head -c 4000000 /dev/zero > f; sleep 60",
            RehearsalLimits(bytes=1 << 20),
            "wrote more than 1 MB",
        ),
        ("rm -rf build; mkdir d; touch d/{1..200}; sleep 60", RehearsalLimits(entries=100), "made more than 100 files"),
    ],
)
async def test_a_rehearsal_is_bounded_and_shows_what_it_did_until_then(
    asked: Asked, line: str, limits: RehearsalLimits, why: str
) -> None:
    fill(asked.root)
    asked.app.bench.rehearsals.limits = limits
    await asked.ask(line)
    seen = await asked.rehearse()
    assert why in seen["stopped"]
    assert seen["exitCode"] is None
    assert "build" in [row["path"] for row in seen["changes"]]
    asked.person.answer(asked.question, "deny")
    await asked.answered()


async def test_the_person_stops_it_and_what_is_too_much_to_compare_is_not_applied(asked: Asked) -> None:
    fill(asked.root)
    asked.app.bench.rehearsals.limits = RehearsalLimits(difference=DifferenceLimits(entries=2))
    await asked.ask(f"rm -rf build; echo begun; touch here; {WAIT}")
    await asked.begin()
    assert (await asked.do("read"))["state"] == "running"
    await until(lambda: (asked.upper / "here").exists())
    seen = await asked.do("stop")
    assert (seen["stopped"], seen["output"]) == ("it was stopped", "begun\n")
    assert "more than 2 files" in seen["blocked"]
    again = await asked.do("start", questionId=asked.question.id)
    with pytest.raises(LookupError):
        asked.app.bench.rehearsals.get(asked.id)
    assert (await asked.do("check", questionId=asked.question.id))["rehearsal"] == again["id"]
    asked.person.answer(asked.question, "deny")
    await asked.answered()


async def test_it_ends_with_its_question_and_run_for_real_is_an_answer(asked: Asked) -> None:
    fill(asked.root)
    place = Path(asked.app.places.state, "rehearsals")
    await asked.ask("rm -rf build; echo for real")
    await asked.rehearse()
    asked.person.answer(asked.question, "once")
    assert (await asked.answered()).data["output"] == "for real\n"
    assert not (asked.root / "build").exists()
    await until(lambda: not os.listdir(place))
    gone = await asked.app.call("openspace.rehearsal.apply", {"id": asked.id})
    assert gone.code == "not-found"

    await asked.ask(f"rm -rf src; {WAIT}")
    await asked.begin()
    await until(lambda: asked.rehearsal.began > 0)
    await asked.app.bench.end_session(asked.session.id)
    assert not (await asked.answered()).success
    await until(lambda: not os.listdir(place))
    assert (asked.root / "src/app.py").exists()


async def test_a_question_that_is_rehearsed_has_no_time_limit() -> None:
    hasty = Settings(safety=SafetySettings(unknown_answer_s=1.0))
    async with open_app(hasty) as app:
        if reason := await app.bench.rehearsals.impossible():
            refuse(f"no overlay here: {reason}")
        asked = await Asked(app).ask("./unheard-of; true")
        await asked.rehearse()
        [held] = app.questions.open()
        assert (held.deadline, held.limit_s) == (None, None)
        assert asked.person.ended[0].kind == "question.held"
        asked.person.answer(held, "deny")
        await asked.answered()


async def test_programs_scripts_input_and_directories_are_the_calls_own(asked: Asked) -> None:
    fill(asked.root)
    given = {"input": "in", "env": {"X": "v"}, "workingDirectory": "src"}
    cases: list[tuple[str, str, dict[str, Any], str]] = [
        ("openspace.tool.run_script", "pwd; cat; echo $X; rm -rf x", given, f"{asked.root}/src\ninv\n"),
        ("openspace.tool.execute_command", "rm", {"args": ["-rfv", "old.txt"]}, "removed 'old.txt'\n"),
        ("openspace.terminal.exec", "rm -rf build; pwd", {"cwd": "src"}, f"{asked.root}/src\n"),
        ("openspace.tool.terminal_start", "rm -rf build; echo started", {}, "started\n"),
    ]
    for command, line, args, output in cases:
        await asked.ask(line, command, **args)
        seen = await asked.rehearse()
        assert seen["output"] == output
        asked.person.answer(asked.question, "deny")
        assert (await asked.answered()).code == "denied"
    assert (asked.root / "old.txt").exists()


async def type_into(asked: Asked, text: str) -> None:
    call = asked.app.call("openspace.terminal.send", {"terminalId": "mine", "text": text}, actor=asked.session.actor)
    asked.running = asked.app.tasks.start(call, "typing")
    asked.question = await asked.person.question()


async def test_a_line_typed_at_a_prompt_is_rehearsed_but_not_what_a_program_is_told(asked: Asked) -> None:
    fill(asked.root)
    made = await asked.app.call("openspace.terminal.create", {"title": "mine", "cwd": "src"}, actor=asked.session.actor)
    assert made.success, made
    terminal = asked.app.bench.terminal("mine", None)
    assert isinstance(terminal, Terminal)
    await terminal.run("cd ..", timeout_s=40)
    await type_into(asked, "rm -rf build\n")
    seen = await asked.rehearse()
    assert (seen["line"].strip(), seen["cwd"]) == ("rm -rf build", ".")
    assert [row["path"] for row in seen["changes"]] == ["build"]
    assert any("shell in the terminal" in words for words in seen["cannotShow"])
    asked.person.answer(asked.question, "once")
    assert (await asked.answered()).success
    await until(lambda: not (asked.root / "build").exists())

    await terminal.type("python3\n")
    await until(lambda: ">>>" in "\n".join(terminal.lines(10)))
    await type_into(asked, "rm -rf src\n")
    offer = await asked.do("check", questionId=asked.question.id)
    assert (offer["possible"], offer["concerned"]) == (False, False)
    assert "a program that runs" in offer["reason"]
    refused = await asked.app.call("openspace.rehearsal.start", {"questionId": asked.question.id})
    assert refused.code == "unsupported"
    asked.person.answer(asked.question, "deny")
    await asked.answered()


async def test_only_the_persons_hand_applies(asked: Asked) -> None:
    fill(asked.root)
    await asked.ask("rm -rf build")
    await asked.rehearse()
    for actor in (Actor.program(), asked.session.actor):
        refused = await asked.app.call("openspace.rehearsal.apply", {"id": asked.id}, actor=actor)
        assert not refused.success
        assert refused.code in ("hand-needed", "denied")
    assert (asked.root / "build").exists()
    asked.person.answer(asked.question, "deny")
    await asked.answered()


async def test_a_start_removes_what_a_server_that_was_killed_has_left() -> None:
    with temporary_places() as places:
        places.prepare()
        left = Path(places.state, "rehearsals", "rehearsal_x", "upper", "closed")
        left.mkdir(parents=True)
        left.chmod(0)
        async with open_app(places=places):
            assert not left.parent.parent.exists()


async def test_two_calls_that_look_alike_but_differ_are_not_confused(asked: Asked) -> None:
    fill(asked.root)
    running = []
    for place in ("src", "build"):
        await asked.ask("rm -rf build", "openspace.tool.run_script", workingDirectory=place)
        running.append((asked.question, asked.running))
    offer = await asked.do("check", questionId=asked.question.id)
    assert (offer["possible"], offer["concerned"]) == (False, False)
    first, ended = running[0]
    asked.person.answer(first, "deny")
    await ended
    assert (await asked.do("check", questionId=asked.question.id))["possible"]
    asked.person.answer(asked.question, "deny")
    await asked.answered()


async def test_a_machine_without_overlays_says_why(app: App) -> None:
    sandbox = OverlaySandbox(env={"PATH": ""}, tools=SandboxTools(search_path="/nowhere", find_wheel=lambda: None))
    rehearsals = Rehearsals(app.places, {}, app.settings, app.events, app.questions, sandbox=sandbox)
    assert (await rehearsals.impossible()).startswith("bubblewrap is not installed")
    question = Question(kind="confirmation", session="s", text="?", options=("once", "deny"))
    program = RehearsedProgram("/bin/true", ("true",), app.bench.root, {}, "true")
    with pytest.raises(Unsupported, match="bubblewrap is not installed"):
        await rehearsals.start(question, program)
    rehearsals.pending.close()


async def test_a_directory_that_replaces_another_hides_what_was_in_it(asked: Asked) -> None:
    fill(asked.root)
    line = (
        "mv build b && mkdir build && cp b/keep build/keep && mkdir build/obj && echo n > build/obj/n && rm -rf b src"
    )
    line += " && echo file > src && rm old.txt && mkdir old.txt && echo f > old.txt/f"
    await asked.ask(line)
    seen = await asked.rehearse()
    assert {(row["path"], row["kind"]) for row in seen["changes"]} == {
        ("build/obj/a.o", "deleted"), ("build/obj/b.o", "deleted"), ("build/obj/n", "created"),
        ("src", "deleted"), ("src", "created"), ("old.txt", "deleted"), ("old.txt/f", "created"),
    }  # fmt: skip
    twin = asked.root.parent / "twin"
    await program("cp", "-a", asked.root, twin)
    await program("bash", "-c", line, cwd=twin)
    assert not (await asked.do("apply"))["conflicts"]
    assert contents(asked.root) == contents(twin)
    await asked.answered()
