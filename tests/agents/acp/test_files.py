"""An ACP agent's files: read and written through the gate."""

from pathlib import Path

import pytest
from tests.kit.acp_stage import open_stage

from fourhands.agents.acp.catalogue import recipes

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent


async def test_files_are_read_and_written_through_the_gate(stage):
    root = Path(stage.bench.root)
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    path = str(root / "a.txt")
    answers = await stage.turn(
        ["call", "fs/read_text_file", {"path": path}],
        ["call", "fs/read_text_file", {"path": path, "line": 2}],
        ["call", "fs/read_text_file", {"path": path, "line": 2, "limit": 1}],
        ["call", "fs/read_text_file", {"path": path, "limit": 0}],
        ["call", "fs/write_text_file", {"path": str(root / "new" / "b.txt"), "content": "é\n"}],
        ["call", "fs/read_text_file", {"path": str(root / "missing")}],
        ["call", "fs/read_text_file", {"path": "a.txt"}],
        ["call", "fs/read_text_file", {"path": "/etc/passwd"}],
        ["call", "fs/read_text_file", {"path": path, "line": "x"}],
        ["call", "fs/write_text_file", {"path": path}],
        ["call", "fs/write_text_file", {"path": "/tmp/outside", "content": ""}],
    )
    assert [answer["result"]["content"] for answer in answers[:4]] == [
        "one\ntwo\nthree\n",
        "two\nthree\n",
        "two\n",
        "",
    ]
    assert answers[4]["result"] == {}
    assert (root / "new" / "b.txt").read_text() == "é\n"
    errors = [(answer["error"]["code"], answer["error"]["data"]["code"]) for answer in answers[5:]]
    assert errors == [
        (-32002, "not-found"),
        (-32602, "bad-path"),
        (-32602, "outside-workspace"),
        (-32602, "bad-argument"),
        (-32602, "bad-argument"),
        (-32602, "outside-workspace"),
    ]


async def test_lines_of_a_file_are_read_that_is_too_large_to_be_read_at_once(stage):
    path = Path(stage.bench.root, "large.txt")
    lines = [f"{n} {'x' * 1000}\n" for n in range(11_000)]
    path.write_text("".join(lines))
    answers = await stage.turn(
        ["call", "fs/read_text_file", {"path": str(path), "line": 10_000, "limit": 2}],
        ["call", "fs/read_text_file", {"path": str(path), "line": 10_999}],
        ["call", "fs/read_text_file", {"path": str(path), "limit": 0}],
        ["call", "fs/read_text_file", {"path": str(path)}],
    )
    assert [answer["result"]["content"] for answer in answers[:3]] == [
        "".join(lines[9999:10_001]),
        "".join(lines[-2:]),
        "",
    ]
    assert answers[3]["error"]["data"]["code"] == "too-large"


async def test_a_read_has_what_the_person_has_not_saved(stage):
    root = Path(stage.bench.root)
    (root / "a.txt").write_text("saved\n")
    opened = await stage.app.call("openspace.editor.open", {"path": "a.txt"})
    assert opened.success
    stage.bench.state.set_draft("a.txt", "unsaved\n", None)
    (answer,) = await stage.turn(["call", "fs/read_text_file", {"path": str(root / "a.txt")}])
    assert answer["result"] == {"content": "unsaved\n"}


async def test_the_unsaved_text_of_a_file_that_agents_may_not_read_is_not_read_either(stage):
    path = Path(stage.bench.root, ".env")
    path.write_text("KEY=on-disk\n")
    assert (await stage.app.call("openspace.editor.open", {"path": ".env"})).success
    stage.bench.state.set_draft(".env", "KEY=in-the-editor\n", None)
    answers = await stage.turn(
        ["call", "fs/read_text_file", {"path": str(path)}],
        ["call", "fs/read_text_file", {"path": str(path), "line": 1}],
    )
    assert ["error" in answer for answer in answers] == [True, True]
    assert "KEY=" not in str(answers)


async def test_another_spelling_of_the_workspace_is_inside_too(stage):
    root = Path(stage.bench.root)
    (root / "a.txt").write_text("here\n")
    link = root.parent / "link"
    link.symlink_to(root)
    answers = await stage.turn(
        ["call", "fs/read_text_file", {"path": str(link / "a.txt")}],
        ["call", "fs/write_text_file", {"path": str(link / "new" / "b.txt"), "content": "x"}],
        ["call", "fs/read_text_file", {"path": str(link / ".." / "state" / "journal.sqlite")}],
        ["call", "terminal/create", {"command": "pwd", "cwd": str(link)}],
    )
    assert answers[0]["result"] == {"content": "here\n"}
    assert (root / "new" / "b.txt").read_text() == "x"
    assert answers[2]["error"]["data"]["code"] == "outside-workspace"
    assert "terminalId" in answers[3]["result"]


async def test_for_gemini_a_missing_file_is_empty():
    async with open_stage(recipes()["gemini"]) as stage:
        path = str(Path(stage.bench.root, "new.txt"))
        answers = await stage.turn(
            ["call", "fs/read_text_file", {"path": path}],
            ["call", "fs/write_text_file", {"path": path, "content": "x"}],
        )
        assert [answer["result"] for answer in answers] == [{"content": ""}, {}]
