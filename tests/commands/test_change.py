"""What agents wrote, as the person looks it through."""

from pathlib import Path

from tests.kit.workbench import open_app

from fourhands.core.call import Actor

AGENT = Actor.agent("s1", "Ada")


async def changes(app):
    result = await app.call("openspace.change.list")
    assert result.success, result
    return {change["path"]: change for change in result.data["changes"]}


async def write(app, path, content):
    result = await app.call("openspace.file.write", {"path": path, "content": content}, actor=AGENT)
    assert result.success, result


async def test_what_an_agent_wrote_is_listed_against_what_was_there_first():
    async with open_app() as app:
        app.bench.begin_session("Ada", "test", id="s1")
        app.gate.consent.grant("s1")
        Path(app.bench.root, "a.txt").write_text("one\ntwo\n")
        await write(app, "a.txt", "one\n2\n")
        await write(app, "a.txt", "one\n2\nthree\n")
        await write(app, "b.txt", "new\n")
        found = await changes(app)
        assert list(found) == ["a.txt", "b.txt"]
        assert (found["a.txt"]["before"], found["a.txt"]["after"]) == ("one\ntwo\n", "one\n2\nthree\n")
        assert (found["a.txt"]["added"], found["a.txt"]["removed"]) == (2, 1)
        assert found["b.txt"]["before"] is None
        assert found["a.txt"]["agent"] == "Ada"


async def test_keeping_and_reverting_take_it_off_the_list():
    async with open_app() as app:
        app.bench.begin_session("Ada", "test", id="s1")
        app.gate.consent.grant("s1")
        root = Path(app.bench.root)
        (root / "a.txt").write_text("one\n")
        for path in ("a.txt", "b.txt", "c.txt"):
            await write(app, path, "changed\n")
        assert (await app.call("openspace.change.keep", {"path": "c.txt"})).success
        assert (await app.call("openspace.change.revert", {"path": "a.txt"})).success
        assert (await app.call("openspace.change.revert", {"path": "b.txt"})).success
        assert await changes(app) == {}
        assert (root / "a.txt").read_text() == "one\n"
        assert not (root / "b.txt").exists()
        assert (root / "c.txt").read_text() == "changed\n"
        await write(app, "c.txt", "again\n")
        assert (await changes(app))["c.txt"]["before"] == "changed\n"


async def test_a_revert_does_not_overwrite_what_came_after_the_look():
    async with open_app() as app:
        app.bench.begin_session("Ada", "test", id="s1")
        app.gate.consent.grant("s1")
        root = Path(app.bench.root)
        await write(app, "a.txt", "changed\n")
        version = (await changes(app))["a.txt"]["version"]
        (root / "a.txt").write_text("mine\n")
        refused = await app.call("openspace.change.revert", {"path": "a.txt", "version": version})
        assert refused.code == "conflict"
        assert (root / "a.txt").read_text() == "mine\n"


async def test_binary_and_unknown_files_are_not_shown():
    async with open_app() as app:
        app.bench.begin_session("Ada", "test", id="s1")
        app.gate.consent.grant("s1")
        Path(app.bench.root, "a.bin").write_bytes(bytes(range(256)))
        await write(app, "a.bin", "text\n")
        assert (await changes(app))["a.bin"]["shown"] is False
        assert (await app.call("openspace.change.keep", {"path": "no.txt"})).code == "not-found"
        assert (await app.call("openspace.change.list", actor=AGENT)).code == "denied"


LINES = [f"line {n}" for n in range(20)]


def text(**exchanged):
    return "\n".join(exchanged.get(line.replace(" ", "_"), line) for line in LINES) + "\n"


async def test_a_hunk_is_kept_or_reverted_by_itself():
    async with open_app() as app:
        app.bench.begin_session("Ada", "test", id="s1")
        app.gate.consent.grant("s1")
        file = Path(app.bench.root, "a.txt")
        file.write_text(text())
        await write(app, "a.txt", text(line_2="two", line_10="ten", line_18="eighteen"))
        change = (await changes(app))["a.txt"]
        hunk = {"beforeStart": 10, "beforeLines": 1, "afterStart": 10, "afterLines": 1}
        assert change["hunks"][1] == hunk
        args = {"path": "a.txt", "version": change["version"]}
        assert (await app.call("openspace.change.revert", {**args, "hunk": 1})).success
        assert file.read_text() == text(line_2="two", line_18="eighteen")
        stale = await app.call("openspace.change.keep", {**args, "hunk": 0})
        assert stale.code == "conflict"
        args["version"] = (await changes(app))["a.txt"]["version"]
        assert (await app.call("openspace.change.keep", {**args, "hunk": 0})).success
        assert file.read_text() == text(line_2="two", line_18="eighteen")
        change = (await changes(app))["a.txt"]
        assert change["before"] == text(line_2="two")
        assert [hunk["afterStart"] for hunk in change["hunks"]] == [18]
        assert (await app.call("openspace.change.revert", {"path": "a.txt"})).success
        assert file.read_text() == text(line_2="two")
        assert await changes(app) == {}


async def test_lines_that_were_added_at_the_end_or_taken_away_are_hunks_too():
    async with open_app() as app:
        app.bench.begin_session("Ada", "test", id="s1")
        app.gate.consent.grant("s1")
        file = Path(app.bench.root, "a.txt")
        file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")  # marked, with other line ends and no last one
        await write(app, "a.txt", "\ufefftwo\r\nthree\r\nfour\r\n")
        for _ in range(5):
            change = (await changes(app)).get("a.txt")
            if change is None:
                break
            args = {"path": "a.txt", "version": change["version"], "hunk": len(change["hunks"]) - 1}
            assert (await app.call("openspace.change.revert", args)).success
        assert file.read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\nthree"


async def test_a_hunk_that_cannot_be_is_refused():
    async with open_app() as app:
        app.bench.begin_session("Ada", "test", id="s1")
        app.gate.consent.grant("s1")
        Path(app.bench.root, "a.txt").write_text("one\n")
        await write(app, "a.txt", "two\n")
        await write(app, "new.txt", "two\n")
        version = (await changes(app))["a.txt"]["version"]
        for args, code in (
            ({"path": "a.txt", "hunk": 0}, "bad-argument"),
            ({"path": "a.txt", "hunk": -1, "version": version}, "bad-argument"),
            ({"path": "a.txt", "hunk": 7, "version": version}, "not-found"),
            ({"path": "new.txt", "hunk": 0, "version": version}, "bad-argument"),
        ):
            for command in ("openspace.change.keep", "openspace.change.revert"):
                assert (await app.call(command, args)).code == code, args
