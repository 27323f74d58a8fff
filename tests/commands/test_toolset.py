"""The commands as tools of a model: which, under what names, what they do, and what it reads of their results."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.kit.agree import agreeable_person
from tests.kit.person import let_in
from tests.kit.workbench import open_app

from fourhands.app import CONTRIBUTIONS, App
from fourhands.commands.cropping import MOST_CHARACTERS, cropped
from fourhands.commands.toolset import command_of, result_text, tool_name, toolset
from fourhands.core.call import Result
from fourhands.core.errors import NotFound
from fourhands.core.ids import short_id
from fourhands.core.registry import Registry
from fourhands.settings import SafetySettings, Settings
from fourhands.workbench.sessions import Session

pytestmark = pytest.mark.asyncio(loop_scope="module")

TERMINALS = {"terminal_start", "terminal_continue", "terminal_stop", "terminal_list"}
CORE = {"bash", *TERMINALS, "read", "write", "edit", "search", "show"}
FAST = {"min_interval": 0.05, "settle_interval": 40.0, "max_interval": 60.0}  # what is waited for comes before
EASY = Settings(safety=SafetySettings(safe_commands=("seq", "cat", "sleep", "sh")))


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = Registry()
    for contribution in CONTRIBUTIONS:
        registry.include(contribution)
    return registry


class Model:
    """A model with the core set in a workspace of its own: it calls tools, and reads what they return."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.session: Session = let_in(app, f"model{len(app.bench.sessions)}", crop_output=400, **FAST)
        self.root = Path(app.bench.root, self.session.id)
        self.root.mkdir()

    def file(self, name: str, text: str | bytes = "") -> str:
        """Make a file behind the agent's back; return its path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return f"{self.session.id}/{name}"

    def text(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()

    async def result(self, tool: str, /, **args: object) -> Result:
        with agreeable_person(self.app):
            return await self.app.call(command_of(self.app.registry, tool), args, actor=self.session.actor)

    async def __call__(self, tool: str, /, **args: object) -> str:
        done = await self.result(tool, **args)
        return result_text(self.app.registry.get(command_of(self.app.registry, tool)), done)

    async def code(self, tool: str, /, **args: object) -> str:
        """The code of a call that fails."""
        done = await self.result(tool, **args)
        assert not done.success, done
        return done.code


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app() -> AsyncIterator[App]:
    async with open_app(EASY) as app:
        yield app


@pytest_asyncio.fixture(loop_scope="module")
async def model(app: App) -> Model:
    return Model(app)


# -- which, and under what names -------------------------------------------------------------------------------------


async def test_the_core_set_comes_first_and_each_tool_once(registry: Registry) -> None:
    core = [spec.name for spec in toolset(registry)]
    every = [spec.name for spec in toolset(registry, ["all"])]
    assert set(core) == CORE
    assert every[: len(core)] == core
    assert sorted(every) == sorted(
        {tool_name(one.id) for one in registry if "agent" in one.actors and ".prompt." not in one.id}
    )
    mixed = [spec.name for spec in toolset(registry, ["openspace.pane.list", "bash", "core", "bash"])]
    assert mixed == [*core, "openspace_pane_list"]
    assert toolset(registry, []) == []


@pytest.mark.parametrize(("wanted", "near"), [("bahs", "'bash'"), ("openspace_pane_lst", "openspace_pane_list")])
async def test_an_unknown_tool_is_told_with_the_nearest(registry: Registry, wanted: str, near: str) -> None:
    for ask in (lambda: toolset(registry, [wanted]), lambda: command_of(registry, wanted)):
        with pytest.raises(NotFound) as caught:
            ask()
        assert near in caught.value.hint
    with pytest.raises(NotFound):
        toolset(registry, ["openspace_file_remove"])  # a person's


async def test_a_tools_name_leads_to_its_command(registry: Registry) -> None:
    for spec in toolset(registry, ["all"]):
        assert command_of(registry, spec.name) == command_of(registry, spec.command) == spec.command
        shape: Any = spec.parameters
        assert shape["type"] == "object"
        assert "$defs" not in shape or spec.name not in CORE  # some models' APIs follow no references
    assert command_of(registry, "openspace_file_remove") == "openspace.file.remove"  # the gate refuses it


async def test_what_a_tool_may_destroy_is_said_and_needs_its_scope(registry: Registry) -> None:
    told = {spec.name: (spec.read_only, spec.destructive) for spec in toolset(registry)}
    scopes = {spec.name: registry.get(spec.command).scope for spec in toolset(registry)}
    assert {name for name, (read_only, _) in told.items() if read_only} == {"read", "search", "terminal_list"}
    assert {name for name, (_, destructive) in told.items() if destructive} == {
        "bash",
        "terminal_start",
        "terminal_continue",
    }
    assert {name: scopes[name] for name in ("read", "search", "show", "write", "edit", "bash", "terminal_stop")} == {
        **dict.fromkeys(("read", "search"), "see"),
        "show": "arrange",
        **dict.fromkeys(("write", "edit"), "write"),
        **dict.fromkeys(("bash", "terminal_stop"), "run"),
    }
    undoable = {spec.name for spec in toolset(registry) if registry.get(spec.command).undoable}
    assert undoable == {"write", "edit", "show"}


async def test_a_failure_is_its_sentence_its_code_and_what_to_do(registry: Registry) -> None:
    failed = Result.failure(NotFound("no file 'a'", hint="files here: b"))
    assert result_text(None, failed) == "error: no file 'a'\ncode: not-found\nhint: files here: b"
    done = Result(success=True, data={"files": ["ä"]})
    assert result_text(registry.get("openspace.file.list"), done) == '{"success":true,"files":["ä"]}'


# -- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hi", "hi\nexit 0"),
        ("true", "exit 0"),
        ("printf abc; exit 3", "abc\nexit 3"),
        ("echo oops >&2; exit 1", "oops\nexit 1"),
        ("sh -c 'kill -9 $$'", "killed by SIGKILL"),
    ],
)
async def test_an_output_is_followed_by_one_line_of_facts(model: Model, command: str, text: str) -> None:
    said = await model("bash", command=command)
    assert said.removesuffix(" · 1.0 s") == text or "Killed" in said


async def test_a_timeout_is_told_with_what_was_printed_until_then(model: Model) -> None:
    said = await model("bash", command="echo early; sleep 1000", timeoutSeconds=1.1)
    assert said.startswith("early\nthe command did not finish within 1.1 s and was ended · 1.")
    for bad in (0, -1, "soon", 1e9):
        assert await model.code("bash", command="echo", timeoutSeconds=bad) == "bad-argument"


async def test_a_command_in_the_background_is_a_terminal_at_once(model: Model) -> None:
    done = await model.result("bash", command="echo up; cat", background=True, timeoutSeconds=0.01)
    id = str(done.data["sessionId"])
    text = result_text(model.app.registry.get("openspace.tool.bash"), done)
    assert text == f"running in terminal {short_id(id)}: terminal_continue reads it, terminal_stop ends it"
    assert (await model("terminal_continue", sessionId=id)).endswith("\nComplete: false\n\nOutput:\nup\n")
    assert (await model("terminal_continue", sessionId=id, stdin="more\n")).endswith("Output:\nmore\n")
    await model("terminal_stop", sessionId=id)


async def test_a_long_output_keeps_whole_lines_and_names_the_rest(model: Model) -> None:
    for tool in ("bash", "terminal_start"):
        said = await model(tool, command="seq 1 3000")
        head, _, rest = said.partition("[… lines ")
        first, _, rest = rest.partition("–")
        last, _, rest = rest.partition(" of 3000 left out: read ")
        name, _, tail = rest.partition(f" from {first} …]\n")
        assert head.endswith(f"\n{int(first) - 1}\n"), said
        assert tail.startswith(f"{int(last) + 1}\n"), said
        wanted = {"from": int(first), "limit": int(last) - int(first) + 1}
        middle = await model("read", path=name, **wanted)
        lines = "".join(f"{n}\n" for n in range(int(first), int(last) + 1))
        assert middle == f"{lines}lines {first}–{last} of 3000 (more: read from {int(last) + 1})"
    assert said.endswith("\n3000\n")
    assert (await model("bash", command="seq 1 3000")).endswith("\n3000\nexit 0 · 3000 lines")


async def test_a_line_without_end_is_cut_within() -> None:
    text = "x" * 1000
    assert cropped(text, 100, "output:1") == (
        f"{'x' * 50}\n[… 900 characters left out: read output:1 from 1 column 51 …]\n{'x' * 50}"
    )
    assert cropped(text, 1000, "output:1") == text
    assert cropped("a\nb\n", 0, "output:1") == "[… lines 1–2 of 2 left out: read output:1 from 1 …]\n"


# -- reading ---------------------------------------------------------------------------------------------------------


async def test_lines_are_read_with_exact_totals(model: Model) -> None:
    ten = model.file("ten.txt", "".join(f"line {n}\n" for n in range(1, 11)))
    open_end = model.file("open.txt", "a\nb")
    for args, text in (
        ({"path": ten, "from": 9}, "line 9\nline 10\nlines 9–10 of 10"),
        ({"path": ten, "limit": 2}, "line 1\nline 2\nlines 1–2 of 10 (more: read from 3)"),
        ({"path": ten, "from": 3, "limit": 8}, "".join(f"line {n}\n" for n in range(3, 11)) + "lines 3–10 of 10"),
        ({"path": open_end}, "a\nb\n2 lines · no line end at the end"),
        ({"path": open_end, "from": 2, "limit": 1}, "b\nlines 2–2 of 2 · no line end at the end"),
        ({"path": open_end, "limit": 1}, "a\nlines 1–1 of 2 (more: read from 2)"),
        ({"path": model.file("empty.txt")}, "0 lines"),
        ({"path": model.file("one.txt", "\n")}, "\n1 line"),
        ({"path": model.file("old.txt", b"caf\xe9\n")}, "café\n1 line · latin-1"),
    ):
        assert await model("read", **args) == text, args


async def test_an_answer_has_a_bound_and_says_how_to_go_on(model: Model) -> None:
    wide = model.file("wide.txt", "".join(f"{n:>99}\n" for n in range(1000)))
    done = (await model.result("read", path=wide)).data
    assert (done["to"], done["next"], done["lines"]) == (MOST_CHARACTERS // 100, MOST_CHARACTERS // 100 + 1, 1000)
    long = model.file("long.txt", "start\n" + "x" * 100_000 + "y\nend\n")
    said = await model("read", path=long)
    assert f"[… {100_001 - 2000} more characters: from 2 column 2001]\nend\n3 lines" in said
    seen = "x" * 2000
    at: dict[str, Any] = {"from": 2, "column": 2001, "limit": 1}
    while len(seen) < 100_001:
        piece = str((await model.result("read", path=long, **at)).data["content"]).rstrip("\n").partition(" [… ")[0]
        seen, at = seen + piece, {**at, "column": at["column"] + len(piece)}
    assert seen == "x" * 100_000 + "y"


async def test_bad_reads_say_what_is_wrong(model: Model) -> None:
    path = model.file("app.py", "one\n")
    for args, code, words in (
        ({"path": f"{model.session.id}/ap.py"}, "not-found", "app.py"),
        ({"path": path, "from": 3}, "bad-argument", "has 1 lines, none from 3 on"),
        ({"path": path, "from": 0}, "bad-argument", "from"),
        ({"path": path, "column": 9}, "bad-argument", "has 3 characters, no column 9"),
        ({"path": path, "limit": 0}, "bad-argument", "limit"),
        ({"path": model.file("x.bin", b"\0\1\2" * 50)}, "bad-argument", "is a binary file of 150 bytes"),
        ({"path": model.session.id}, "not-regular", "is a directory"),
        ({"path": "../outside"}, "outside-workspace", "outside"),
        ({"path": "output:999"}, "not-found", "no output 'output:999'"),
        ({"path": ["a"]}, "bad-argument", "path"),
        ({}, "bad-argument", "path"),
    ):
        done = await model.result("read", **args)
        assert (done.success, words in f"{done.error} {done.hint}") == (False, True), (args, done)
        assert done.code == code, (args, done)


async def test_a_secret_is_read_as_a_placeholder_and_stays_in_the_file(model: Model) -> None:
    secret = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    path = model.file("env.txt", f"a=1\n{secret}\n")
    said = await model("read", path=path)
    assert "[redacted:" in said
    assert "wJalrXUtnFEMI" not in said + await model("search", query="wJalrXUtnFEMI")
    assert await model.code("write", path=path, content=said) == "bad-argument"
    assert await model("edit", path=path, edits=[{"old": "a=1", "new": "a=2"}]) == f"edited {path} · line 1"
    assert model.text("env.txt") == f"a=2\n{secret}\n"


# -- writing ---------------------------------------------------------------------------------------------------------


async def test_files_are_written_and_edited_and_that_is_undone(model: Model) -> None:
    path = f"{model.session.id}/made/a.txt"
    assert await model("write", path=path, content="one\ntwo\n") == f"created {path} · 2 lines"
    assert await model("write", path=f"./{path}", content="one\ntwo\nthree\n") == f"wrote {path} · 3 lines"
    edits = [{"old": "two\n", "new": "2\n2b\n"}, {"old": "three", "new": "drei"}, {"old": "e", "new": "E", "all": True}]
    assert await model("edit", path=path, edits=edits) == f"edited {path} · line 2–3; 4; 1, 4"
    assert model.text("made/a.txt") == "onE\n2\n2b\ndrEi\n"
    for text in ("one\ntwo\nthree\n", "one\ntwo\n", None):
        assert (await model.app.call("openspace.workbench.undo")).success
        assert text == (model.text("made/a.txt") if text is not None else None)
    assert not (model.root / "made/a.txt").exists()


async def test_what_an_agent_wrote_stands_for_review(model: Model) -> None:
    path = model.file("review.txt", "before\n")
    await model("edit", path=path, edits=[{"old": "before", "new": "after"}])
    changes = (await model.app.call("openspace.change.list")).data["changes"]
    mine = [one for one in changes if one["path"] == path]  # type: ignore[attr-defined]  # a list of objects
    assert [(one["before"], one["after"]) for one in mine] == [("before\n", "after\n")]


async def test_edits_are_all_or_nothing(model: Model) -> None:
    path = model.file("b.txt", "aa aa\nb\n")
    good = {"old": "b", "new": "c"}
    for edits, code, words in (
        ([good, {"old": "aa", "new": "x"}], "many-matches", "found 2 times"),
        ([good, {"old": "zz", "new": "x"}], "no-match", "its old text is not in"),
        ([good, {"old": "b", "new": "x"}], "no-match", "before the earlier edits of this call changed it"),
        ([good, {"old": "", "new": "x"}], "bad-argument", "empty old text"),
        ([good, {"old": "c", "new": "c"}], "bad-argument", "changes nothing"),
        ([{**good, "odd": 1}], "bad-argument", "odd"),
        ([{"old": "b"}], "bad-argument", "new"),
        ([], "bad-argument", "edits"),
        ("b to c", "bad-argument", "edits"),
        ([good] * 101, "bad-argument", "100"),
        ([{"old": "b", "new": "x" * 60_000_000}], "too-large", "characters long"),
    ):
        done = await model.result("edit", path=path, edits=edits)
        assert (done.code, words in f"{done.error} {done.hint}") == (code, True), done
        assert model.text("b.txt") == "aa aa\nb\n"
    binary = model.file("b.bin", b"b\0\1")
    assert await model.code("edit", path=binary, edits=[good]) == "bad-argument"
    assert await model.code("edit", path="none.txt", edits=[good]) == "not-found"


async def test_a_file_that_changed_since_it_was_read_is_a_conflict_and_nothing_is_lost(model: Model) -> None:
    path = model.file("c.txt", "one\n")
    await model("read", path=path)
    model.file("c.txt", "one\nthe person's\n")
    assert await model.code("edit", path=path, edits=[{"old": "one", "new": "1"}]) == "conflict"
    assert await model.code("write", path=path, content="1\n") == "conflict"
    assert model.text("c.txt") == "one\nthe person's\n"
    await model("read", path=path)
    assert await model("edit", path=path, edits=[{"old": "one", "new": "1"}]) == f"edited {path} · line 1"


# -- searching and showing -------------------------------------------------------------------------------------------


async def test_a_search_finds_lines_and_names(model: Model) -> None:
    model.file("src/alpha.py", "def alpha():\n    return beta\n")
    model.file("src/gamma.py", "alpha()\n")
    model.file("beta-notes.md", "nothing\n")
    inside = model.session.id
    assert await model("search", query="alpha", path=inside) == (
        f"{inside}/src/alpha.py:\n1: def alpha():\n{inside}/src/gamma.py:\n1: alpha()\n2 lines in 2 files"
    )
    assert await model("search", query="beta", path=inside) == (
        f"{inside}/src/alpha.py:\n2:     return beta\nnames:\n{inside}/beta-notes.md\n1 line in 1 file · 1 name"
    )
    assert await model("search", query="^alpha", path=inside, regex=True, include="*.py") == (
        f"{inside}/src/gamma.py:\n1: alpha()\n1 line in 1 file"
    )
    assert await model("search", query="gama", path=inside) == (f"names like it:\n{inside}/src/gamma.py\n1 name")
    assert await model("search", query="nowhere at all", path=inside) == "nothing found"


async def test_a_large_search_says_how_much_there_is(model: Model) -> None:
    path = model.file("many.txt", "needle\n" * 90 + "x" * 300 + "needle" + "y" * 600)
    said = await model("search", query="needle", path=model.session.id, limit=3)
    assert said == f"{path}:\n1: needle\n2: needle\n3: needle\n91 lines in 1 file · the first 3"
    last = (await model("search", query="needle", path=model.session.id, limit=500)).split("\n")[-2]
    assert last.startswith("91: …xxx")
    assert len(last) < 220
    assert "needle" in last


async def test_bad_searches_say_what_is_wrong(model: Model) -> None:
    bad: list[dict[str, Any]] = [{}, {"query": ""}, {"query": "a\nb"}, {"query": "(", "regex": True}, {"query": 5}]
    for args in (*bad, {"query": "a", "x": 1}, {"query": "a", "limit": 0}):
        assert await model.code("search", **args) == "bad-argument", args
    assert await model.code("search", query="a", path="none") == "not-found"


async def test_a_file_is_shown_to_the_person(model: Model) -> None:
    path = model.file("shown.py", "line\n" * 30)
    assert await model("show", path=path) == f"the person sees {path}"
    assert await model("show", path=path, line=3) == f"the person sees {path} at line 3"
    said = await model("show", path=path, line=12, endLine=20, highlight=True)
    assert said == f"the person sees {path} at lines 12–20, highlighted"
    await model("show", path=path, line=5, highlight=True)
    [mark] = [one for one in model.app.bench.state.highlights() if one.path == path]
    assert [(one.start_line, one.end_line) for one in mark.ranges] == [(5, 5)]  # it moved
    editor = model.app.bench.state.editor(path)
    assert editor.line == 5
    for args in ({"highlight": True}, {"endLine": 3}, {"line": 5, "endLine": 2}, {"line": 0}):
        assert await model.code("show", path=path, **args) == "bad-argument", args
    assert await model.code("show", path="none.py") == "not-found"
