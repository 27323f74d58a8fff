from pathlib import Path

import pytest

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.errors import BadArgument, LimitReached
from fourhands.workbench.sessions import Sessions, SessionSettings


async def after_a_crash(before: Sessions, path: Path) -> Sessions:
    """The sessions that the next server knows when this one has gone without an end."""
    await before.close()
    return Sessions(AtomicFile(path))


async def test_an_agent_comes_back_by_its_name_and_connector_with_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    before = Sessions(AtomicFile(path))
    ada, bob = before.add("ada", "mcp"), before.add("bob", "acp")
    ada.state = SessionSettings(timeout_s=7.0)
    before.save()
    after = await after_a_crash(before, path)
    assert after.absent == [ada.id, bob.id]
    stranger = after.add("ada", "acp")
    assert stranger.id not in (ada.id, bob.id)
    back = after.add("ada", "mcp")
    assert (back.id, back.state.timeout_s, back.created) == (ada.id, 7.0, ada.created)
    assert after.add("ada", "mcp").id != ada.id  # another one of the same name
    assert after.absent == [bob.id]


async def test_a_session_that_was_ended_or_given_up_never_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    before = Sessions(AtomicFile(path))
    ended, left = before.add("ended", "mcp"), before.add("left", "mcp")
    before.remove(ended.id)
    before.save()
    after = await after_a_crash(before, path)
    assert after.back(ended.id) is None
    assert after.back(left.id) == ("left", "mcp")
    after.give_up(left.id)
    after.save()
    assert (await after_a_crash(after, path)).absent == []


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"id": "x"}]', "\0" * 50])
async def test_a_file_that_says_nothing_leaves_nobody_absent(tmp_path: Path, content: str) -> None:
    path = tmp_path / "sessions.json"
    path.write_text(content)
    assert Sessions(AtomicFile(path)).absent == []


async def test_one_session_too_many_is_refused_and_none_is_ended_for_it() -> None:
    sessions = Sessions(most=2)
    first, second = sessions.add("one", "mcp"), sessions.add("two", "mcp")
    second.status = "busy"
    with pytest.raises(LimitReached, match="2 agents' sessions, the limit is 2") as refused:
        sessions.add("three", "mcp")
    assert f"one ({first.id})" in refused.value.hint
    assert "maxSessions" in refused.value.hint
    assert list(sessions) == [first, second]
    sessions.remove(first.id)
    sessions.add("three", "mcp")
    with pytest.raises(BadArgument):
        sessions.add("again", "mcp", id=second.id)
