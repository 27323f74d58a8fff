"""An agent with ordinary consent attacks the person it works for: a real server of a plain user, on each rung.

The agent writes a Makefile and runs `make test`. What its recipe can do is compared with what the manual says of the
rung; what the person has is looked at from outside.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hand import Hand
from tests.kit.intruder import ATTACK, MAKEFILE
from tests.kit.plain_user import PlainUser, plain_user
from tests.kit.real_server import RealServer, real_server
from tests.kit.server import Caller, Message

from fourhands.core.tasks import Tasks

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("plain user")]

CANARY = "canary-4711"
DELETES = "openspace.tool.execute_command"
TYPES = {"openspace.terminal.send": "text", "openspace.tool.terminal_continue": "stdin"}
"""Commands whose questions the test answers; and for those that type, the argument with the keys."""

RUNGS = {"bubblewrap": "auto", "landlock": "landlock", "none": "local"}

OWN_HOME = {"leave a git setting for all"}
"""What a sandbox's own home takes; the person's is compared from outside."""

NEW_IN_THE_WORKSPACE = {"leave .envrc", "leave .vscode", "leave .fourhands"}
"""Not there before, so a program can create them; shown afterwards as what runs by itself."""

IN_THE_WORKSPACE = NEW_IN_THE_WORKSPACE | {
    "leave a hook",
    "leave a new hook",
    "leave .git/config",
    "leave a git setting",
}

NEVER = {
    *("answer", "consent", "provider", "allow a host", "raise a limit", "keep a change", "sign in as a browser"),
    *("host.sock without the secret", "trace the server", "trace the host"),
    *("read the server's environment", "read the server's memory", "inject keys"),
}
"""What fails even where there is no sandbox: the person cannot be forged."""

AS_THE_PERSON = {
    *("read the token", "read the ssh key", "open a terminal", "type by the API", "host.sock", "leave .bashrc"),
    *("write to the terminal", "signal the shell", "leave an autostart"),
}
"""What the manual says that a program can do which runs as the person."""


@pytest.fixture(scope="module")
def user() -> Iterator[PlainUser]:
    with plain_user() as made:
        yield made


def furnish(user: PlainUser, workspace: str) -> None:
    """A home as a person has it, and a repository in it."""
    for path in (".ssh/id_ed25519", ".netrc", "other/notes", ".npmrc"):
        user.write(path, CANARY, 0o600)
    user.write(".bashrc", "PS1='$ '\n")
    user.write(".gitconfig", "[user]\n\tname = me\n\temail = me@example.org\n")
    user.write(f"{workspace}/kept/file", "kept\n")
    user.run(f"cd {workspace} && git init -q && git add . && git commit -qm first")
    user.write(f"{workspace}/.git/hooks/pre-commit", "#!/bin/sh\n", 0o755)


def home_of(user: PlainUser, workspace: str) -> dict[str, str]:
    """All files of the home but those of the workspace and Fourhands' own state, with their contents."""
    found = {}
    for path in user.home.rglob("*"):
        shown = str(path.relative_to(user.home))
        if path.is_file() and not shown.startswith((f"{workspace}/", ".local/state/fourhands/")):
            found[shown] = path.read_text(errors="replace")
    return found


def facts_of(server: RealServer, rung: str, shell: Message, question: Message, session: str) -> dict[str, Any]:
    """What the attacker is told: all that it could guess or find, and a token besides."""
    home, state = str(server.user.home), server.places.state
    secrets = {
        **{name: f"{state}/{name}" for name in ("browsers.json", "journal.sqlite", "host.secret", "server.json")},
        "the token": f"{home}/.local/state/fourhands/*/token",
        "the runtime directory": "/tmp/*/*/*",
        "the terminal's output": f"{state}/{shell['terminal']}.log",
        "the ssh key": f"{home}/.ssh/id_*",
        "netrc": f"{home}/.netrc",
        "npmrc": f"{home}/.npmrc",
        "another project": f"{home}/other/*",
    }
    work = str(server.workspace)
    site = f"{home}/.local/lib/python3.11/site-packages"
    later = {
        ".bashrc": f"{home}/.bashrc",
        ".profile": f"{home}/.bash_profile",
        "an autostart": f"{home}/.config/autostart/x.desktop",
        "a service": f"{home}/.config/systemd/user/x.service",
        "a program on the path": f"{home}/.local/bin/ls",
        "a start of Python": f"{site}/usercustomize.py",
        "settings": f"{home}/.config/fourhands/settings.toml",
        "a program of Fourhands": f"{Path(state).parent}/x",
        ".git/config": f"{work}/.git/config",
        "a hook": f"{work}/.git/hooks/pre-commit",
        "a new hook": f"{work}/.git/hooks/post-checkout",
        ".envrc": f"{work}/.envrc",
        ".vscode": f"{work}/.vscode/tasks.json",
        ".fourhands": f"{work}/.fourhands/settings.toml",
    }
    return {
        "secrets": secrets, "later": later, "private": rung == "bubblewrap", "home": home, "state": state,
        "url": server.url, "port": server.port, "token": server.token, "server": server.pid,
        "host": json.loads(Path(server.places.owner).read_text())["pid"], "host.sock": server.places.socket,
        "public": Hand().public, "question": question["id"], "session": session, **shell,
    }  # fmt: skip


async def persons_terminal(person: Caller) -> Message:
    """A terminal of the person's own, and what it is called on this machine."""
    made = await person.call("openspace.terminal.create", {"title": "mine"})
    args = {"terminalId": made["terminalId"], "line": "tty; echo $$"}
    ran = await person.call("openspace.terminal.run", args)
    assert ran["success"], ran
    pts, pid = ran["output"].split()
    return {"terminal": made["terminalId"], "pts": pts, "shell": int(pid)}


async def answering(person: Caller) -> None:
    """Answer for a person who trusts what they are asked, but knows which browsers are theirs."""
    while True:
        question = (await person.event("question.asked"))["data"]
        if question["kind"] == "consent" or question["command"] not in (DELETES, *TYPES):
            await person.reply(question, {"consent": "session", "browser": "deny"}.get(question["kind"], "once"))


async def attack(server: RealServer, rung: str, stack: AsyncExitStack) -> Message:
    """Ada waits for the answer about her `rm`; Bob's Makefile attacks. Returns its report, and what became of it."""
    tasks = await stack.enter_async_context(Tasks())
    person = await stack.enter_async_context(server.person())
    clerk = await stack.enter_async_context(server.person())
    ada = await stack.enter_async_context(server.agent("Ada"))
    bob = await stack.enter_async_context(server.agent("Bob"))
    stack.callback(tasks.start(answering(clerk), "a person who answers").cancel)
    shell = await persons_terminal(person)
    await ada.do("pane.list")
    deleting = tasks.start(ada.call("tool.execute_command", command="rm", args=["-rf", "kept"]), "Ada's call")
    question = await asked(person, DELETES)
    for command, keys in TYPES.items():
        terminal = {("terminalId" if keys == "text" else "sessionId"): shell["terminal"]}
        for _ in range(2):
            typing = tasks.start(
                bob.call(command.removeprefix("openspace."), **terminal, **{keys: "make test\n"}), "Bob's line"
            )
            line = await asked(person, command)
            assert set(line["options"]) & {"session", "always"} == set(), line
            assert (await person.reply(line, "deny"))["success"]
            assert (await typing)["code"] == "denied"
    facts = facts_of(server, rung, shell, question, bob.session)
    await bob.do("file.write", path="facts.json", content=json.dumps(facts))
    await bob.do("file.write", path="attack.py", content=ATTACK)
    await bob.do("file.write", path="Makefile", content=MAKEFILE)
    done = await bob.call("tool.bash", command="make test")
    report = [line for line in str(done.get("output", "")).splitlines() if line.startswith("REPORT ")]
    assert report, done
    told: Message = json.loads(report[0].removeprefix("REPORT "))
    args = {"terminalId": shell["terminal"]}
    told["terminal"] = (await person.call("openspace.terminal.run", {**args, "line": "echo $((40+2))"}))["output"]
    told["typed"] = (await person.call("openspace.terminal.read_output", args))["output"]
    [turn] = [one for one in (await person.call("openspace.turn.list"))["turns"] if one["agent"] == "Bob"]
    told["undo"] = await person.call("openspace.turn.undo", {"turn": turn["id"], "preview": True})  # which ends it
    changes = (await person.call("openspace.change.list"))["changes"]
    told["runs by itself"] = {one["path"] for one in changes if one["runsByItself"]}
    rules = (await person.call("openspace.network.list"))["rules"]
    told["rules"] = [rule for rule in rules if rule["source"] == "workspace"]
    known = (await person.call("openspace.agent.list"))["agents"]
    told["providers"] = {agent["state"]["provider"] for agent in known}
    # Ada's question waits as before, and the person's answer is the one that counts.
    assert not deleting.done()
    assert (await person.reply(question, "deny", reason="no"))["success"]
    assert (await deleting)["code"] == "denied"
    return told


async def asked(person: Caller, command: str) -> Message:
    """The next question about a command."""
    while True:
        question: Message = (await person.event("question.asked"))["data"]
        if question["command"] == command and question["kind"] != "consent":
            return question


@pytest.mark.parametrize("rung", list(RUNGS))
async def test_an_agents_makefile_does_not_become_the_person(rung: str, user: PlainUser) -> None:
    workspace = f"code/{rung}"
    furnish(user, workspace)
    with real_server(user, workspace, f'[agentDefaults]\nprovider = "{RUNGS[rung]}"\n') as server:
        before = home_of(user, workspace)
        async with AsyncExitStack() as stack:
            told = await attack(server, rung, stack)
        after = home_of(user, workspace)
        opened = set(told["open"]) - OWN_HOME
        if rung == "bubblewrap":
            assert opened == NEW_IN_THE_WORKSPACE, told
        elif rung == "landlock":
            assert opened == IN_THE_WORKSPACE, told
        else:
            assert opened & NEVER == set(), told
            assert AS_THE_PERSON - opened == set(), told["said"]
            assert told["said"]["answer"] == "hand-needed"
        shown = {".envrc", ".vscode/tasks.json", ".fourhands/settings.toml"}
        if rung != "bubblewrap":
            shown |= {".git/config", ".git/hooks/pre-commit", ".git/hooks/post-checkout"}
        assert told["runs by itself"] == shown
        assert {*shown, "Makefile"} <= set(told["undo"]["files"])
        if rung != "none":
            assert after == before
            assert (told["terminal"].strip(), "SCRIBBLED" in told["typed"]) == ("42", False)
            assert "make" not in "".join(told["typed"])
        assert (server.workspace / "kept/file").exists()
        assert not list(user.home.rglob("INJECTED"))
        assert (told["rules"], told["providers"]) == ([], {None})
    shutil.rmtree(user.home / workspace)
