"""Tokens that nobody has issued open nothing, and bring nobody back."""

import os
import re
import stat
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.hand import Hand
from tests.kit.loopfiles import opened_on_this_thread

from fourhands.core.call import Actor
from fourhands.core.errors import Unavailable
from fourhands.surfaces.auth import Tokens
from fourhands.surfaces.browsers import browser_name

SESSION = "01J8ZQ5T9V0000000000000000"


def _after_a_crash(runtime: Path, asked: list[str]) -> Tokens:
    """A server that knows no agent yet and would take each back whose token is right."""
    tokens = Tokens(runtime, runtime)

    def resume(session: str) -> Actor:
        asked.append(session)
        return Actor.agent(session)

    tokens.resume = resume
    return tokens


def test_the_token_of_a_session_is_good_for_the_next_server_and_for_no_other_workspace(tmp_path: Path) -> None:
    token = Tokens(tmp_path, tmp_path).issue(Actor.agent(SESSION))
    asked: list[str] = []
    back = _after_a_crash(tmp_path, asked).check(token)
    assert back is not None
    assert (back.actor.id, asked) == (SESSION, [SESSION])
    other = tmp_path / "other"
    other.mkdir()
    assert _after_a_crash(other, asked).check(token) is None
    assert asked == [SESSION]


@pytest.mark.parametrize("live", [False, True], ids=["after a crash", "while the session is there"])
def test_a_forged_token_opens_nothing_and_asks_for_nobody(tmp_path: Path, live: bool) -> None:
    before = Tokens(tmp_path, tmp_path)
    token, others = before.issue(Actor.agent(SESSION)), before.issue(Actor.agent("another"))
    signature, foreign = token.rpartition(".")[2], others.rpartition(".")[2]
    asked: list[str] = []
    tokens = _after_a_crash(tmp_path, asked)
    if live:
        tokens.issue(Actor.agent(SESSION))
    forged = [
        "",
        ".",
        SESSION,
        f"{SESSION}.",
        f".{signature}",
        signature,
        f"{SESSION}.{foreign}",
        f"{token}=",
        f"{token}.",
    ]
    forged += [f"{SESSION}.{signature[:-1]}", f"{SESSION}.{signature.swapcase()}", f"{SESSION}x.{signature}"]
    forged += [f" {token}", f"{token}\n", f"{SESSION}\0.{signature}", f"{SESSION}..{signature}", token.lower()]
    assert [tokens.check(one) for one in forged] == [None] * len(forged)
    assert asked == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(signature=st.text(string.ascii_letters + string.digits + "-_.=\udcff", max_size=50))
def test_no_guess_is_let_in(tmp_path: Path, signature: str) -> None:
    asked: list[str] = []
    assert _after_a_crash(tmp_path, asked).check(f"{SESSION}.{signature}") is None
    assert asked == []


def test_the_token_file_of_another_user_is_refused(tmp_path: Path) -> None:
    Tokens(tmp_path, tmp_path)
    with pytest.raises(Unavailable, match="readable by other users"):
        Tokens(tmp_path, tmp_path, user=os.getuid() + 1)


async def test_only_the_owner_reads_what_is_stored(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        tokens = Tokens(tmp_path, tmp_path)
        await tokens.browsers.sign_in("Firefox", "")
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "token": 0o600,
        "browsers.json": 0o600,
    }


async def test_a_sign_in_waits_for_no_disk_on_the_event_loop(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path, tmp_path, seal=b"the host's")
    with opened_on_this_thread() as found:
        given = await tokens.browsers.sign_in("Firefox", "")
    assert found == {}
    again = Tokens(tmp_path, tmp_path, seal=b"the host's")
    assert again.check_browser(given.cookie, given.key) is not None


async def test_an_entry_that_another_program_wrote_or_altered_is_refused(tmp_path: Path) -> None:
    seal = b"kept in memory by the host"
    tokens = Tokens(tmp_path, tmp_path, seal=seal)
    mine, other = Hand(), Hand()
    given = [await tokens.browsers.sign_in(name, mine.public) for name in ("Firefox", "Chrome")]
    assert [one.name for one in tokens.browsers] == ["Chrome"]  # the same key comes again: it is the same browser
    file = tmp_path / "browsers.json"
    whole = file.read_text()
    assert given[1].cookie not in whole
    assert given[1].key not in whole
    cases = {
        "another public key": whole.replace(mine.public, other.public),
        "a longer life": whole.replace('"expires":', '"expires":9'),
        "another name": whole.replace("Chrome", "Edge"),
        "no mac": re.sub(r'"mac":"[0-9a-f]+"', '"mac":""', whole),
        "another mac": re.sub(r'"mac":"[0-9a-f]{8}', '"mac":"00000000', whole),
        "no list": "{}",
    }
    for what, text in cases.items():
        assert text != whole, what
        file.write_text(text)
        again = Tokens(tmp_path, tmp_path, seal=seal)
        assert again.check_browser(given[1].cookie, given[1].key) is None, what
        assert list(again.browsers) == [], what
        assert again.browsers.altered == (what != "no list"), what
    file.write_text(re.sub(r'"seal":"[0-9a-f]+"', '"seal":"00"', whole))
    outdated = Tokens(tmp_path, tmp_path, seal=seal)
    assert (list(outdated.browsers), outdated.browsers.altered) == ([], 0)  # of a host that has ended: no alarm
    file.write_text(whole)
    assert Tokens(tmp_path, tmp_path, seal=seal).check_browser(given[1].cookie, given[1].key) is not None
    assert Tokens(tmp_path, tmp_path, seal=b"of another host").check_browser(given[1].cookie, given[1].key) is None


def test_a_browser_is_named_by_what_it_says_of_itself() -> None:
    agents = {
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36": "Chrome on Linux",
        "Mozilla/5.0 (Windows NT 10.0; rv:130.0) Gecko/20100101 Firefox/130.0": "Firefox on Windows",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) Version/17.0 Safari/605.1.15": "Safari on Mac",
        "curl/8": "Browser",
        "": "Browser",
    }
    assert {text: browser_name(text) for text in agents} == agents
