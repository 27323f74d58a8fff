"""The README's first command on a machine where nothing was set up, as a plain user, with the system's own Python."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pexpect
import pytest
from tests.kit.stranger import ROOT, Stranger, stranger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("stranger")]

QUIETLY = "ARGS=--no-open --port 0"


@pytest.fixture(scope="module")
def somebody(pytestconfig: pytest.Config) -> Iterator[Stranger]:
    with stranger(pytestconfig.cache.mkdir("wheels")) as found:
        yield found


@dataclass
class Visit:
    """A browser's way in: the link, then a cookie and a key."""

    url: str
    client: httpx.Client
    first: dict[str, Any]

    def call(self, command: str, **args: object) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.post(f"/api/commands/openspace.{command}", json=args).json()
        assert answer["success"], answer
        return answer


@pytest.fixture(scope="module")
def program(somebody: Stranger) -> Iterator["pexpect.spawn[str]"]:
    """`make run`, from nothing, in a terminal."""
    first = re.search(r"^```\n(make \w+)", (ROOT / "README.md").read_text(), re.M)
    assert first is not None, "the README begins with a command"
    assert first[1] == "make run"
    running = somebody.spawn(*first[1].split(), QUIETLY)
    yield running
    running.close(force=True)


@pytest.fixture(scope="module")
def visit(program: "pexpect.spawn[str]") -> Iterator[Visit]:
    program.expect(r"(http://[\w.:]+)/#code=([\w-]+)")
    assert program.match
    url, code = program.match.groups()
    with httpx.Client(base_url=url, trust_env=False, timeout=60, headers={"origin": url}) as client:
        signed_in = client.post("/api/browser", json={"code": code}).json()
        client.headers["x-fourhands-key"] = signed_in["key"]
        yield Visit(url, client, signed_in["first"])


def test_the_first_command_serves_the_page(visit: Visit, program: "pexpect.spawn[str]") -> None:
    page = visit.client.get("/")
    assert page.status_code == 200
    [script, *_] = re.findall(r'src="(/assets/[^"]+\.js)"', page.text)
    assert visit.client.get(script).headers["content-type"].startswith("text/javascript")
    said = str(program.before)
    assert "Fetching Python packages" in said  # whoever waits sees why
    assert "Traceback" not in said
    assert "WARNING" not in said


def test_a_terminal_runs_a_line(visit: Visit) -> None:
    terminal = visit.call("terminal.create")["terminalId"]
    sent = visit.call("terminal.send", terminalId=terminal, text="echo it-$((40+2)); (exit 3)\n")
    waited = visit.call("terminal.wait", terminalId=terminal, finished=True, deadlineSeconds=100)
    assert (waited["reason"], waited["exitCode"]) == ("finished", 3)
    read = visit.call("terminal.read_output", terminalId=terminal, since=sent["position"])
    assert "it-42" in read["output"]


def test_what_people_are_told_to_type_works_as_typed(visit: Visit, somebody: Stranger) -> None:
    told = visit.first["state"]["program"]
    assert told == ".venv/bin/fourhands"
    joined = somebody.run(f"{told} . --agent tour --no-open")
    assert (joined.returncode, joined.stderr) == (0, "")
    assert [agent["connector"] for agent in visit.call("agent.list")["agents"]] == ["tour", "tour"]
    ran = somebody.run(f"{told} terminal run 'echo it-$((40+2)); (exit 3)'")
    assert (ran.returncode, ran.stdout) == (3, "it-42\n")


def test_ctrl_c_ends_it_and_the_next_time_it_starts_at_once(
    visit: Visit, somebody: Stranger, program: "pexpect.spawn[str]"
) -> None:
    program.sendintr()
    program.expect(pexpect.EOF)
    assert "Traceback" not in str(program.before)
    assert "***" not in str(program.before)  # make's own words for a failure
    again = somebody.spawn("make", "run", QUIETLY)
    again.expect("http://")
    assert str(again.before).strip().startswith("Fourhands for ")
    again.sendintr()
    again.expect(pexpect.EOF)
    assert "Ended" in somebody.run(".venv/bin/fourhands stop").stdout
