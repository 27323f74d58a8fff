"""The class: its sessions, its options, the life of a session, and what can be asked about the machine."""

import os
import platform

import pytest
from tests.kit.server import until
from tests.kit.workbench import environment, quick, temporary_places
from tests.sources.doors import Doors, like
from tests.sources.source_003 import DOCUMENT

from fourhands import FourhandsError, Terminals
from fourhands.workbench.terminals.shell import detection as machine
from fourhands.workbench.terminals.terminal import Terminal


async def shell(doors: Doors, **options: object) -> Terminal:
    """A new shell of the person's that waits for its first line."""
    made = await doors.person("openspace.terminal.create", options)
    terminal = doors.app.terminals.get(made["terminalId"])
    await until(lambda: terminal.look() == "prompt")
    return terminal


@DOCUMENT.works(
    "class createSession, lifecycle Creating→Active, R4",
    "createSession({ cwd, shell, cols, rows, env })",
    "HTTP: openspace.terminal.create, the shell as shellPath; Python: `await terminals.create(…)`.",
)
async def create(doors: Doors) -> None:
    (doors.root / "app").mkdir(exist_ok=True)
    options = {"cwd": "app", "shellPath": "/bin/bash", "cols": 90, "rows": 30, "env": {"GREETING": "hi"}}
    terminal = await shell(doors, **options)
    done = await terminal.run("echo $GREETING; stty size; pwd")
    assert done.output == f"hi\n30 90\n{doors.root}/app\n"
    same = await doors.app.terminals.create(cwd="app", shell="/bin/bash", cols=90, rows=30, env={"GREETING": "hi"})
    assert (same.size, same.started_in) == ((90, 30), f"{doors.root}/app")
    await same.close()
    await terminal.close()


@DOCUMENT.differs(
    "class createSession, lifecycle Creating→Failed",
    "createSession(…) → null",
    because="Why it failed is worth knowing.",
    answer="an error: bad-cwd, denied for a shell that is not allowed, limit, bad-argument for a size.",
)
async def create_failed(doors: Doors) -> None:
    for args, code in (
        ({"cwd": "nowhere"}, "bad-cwd"),
        ({"shellPath": "/bin/nosuch"}, "denied"),
        ({"cols": 0}, "bad-argument"),
    ):
        refused = await doors.refusal("openspace.terminal.create", args)
        assert refused["code"] == code
        assert refused["error"]


@DOCUMENT.works(
    "class write, lifecycle Active→Active", "write(sessionId, data): boolean", "HTTP: success; typed as is."
)
async def write(doors: Doors) -> None:
    terminal = await shell(doors)
    sent = await doors.person("openspace.terminal.send", {"terminalId": terminal.id, "text": "echo $((6*7))\n"})
    assert sent["success"] is True
    await terminal.wait(pattern="^42$", position=0)
    await terminal.close()


@DOCUMENT.differs(
    "class write, class getSession, class getScrollback, resize unknown, kill unknown",
    "write · resize · killSession · getSession · getScrollback of an unknown id → false, undefined, null",
    because="A wrong id is a mistake, and is reported as one.",
    answer="success false with the code not-found, and a hint that lists the terminals that are there.",
)
async def unknown(doors: Doors) -> None:
    for command, more in (("send", {"text": "x"}), ("resize", {"cols": 80, "rows": 24}), ("kill", {}), ("replay", {})):
        refused = await doors.refusal(f"openspace.terminal.{command}", {"terminalId": "nobody", **more})
        assert (refused["success"], refused["code"]) == (False, "not-found")
        assert refused["hint"].startswith("terminals here:")
    with pytest.raises(FourhandsError, match="no terminal 'nobody'"):
        doors.app.terminals.get("nobody")


@DOCUMENT.works("class getSession", "getSession(sessionId)", "Python: `terminals.get(id)`, also by its title.")
async def get(doors: Doors) -> None:
    terminal = await shell(doors, title="found")
    assert doors.app.terminals.get(terminal.id) is doors.app.terminals.get("found") is terminal
    await terminal.close()


@DOCUMENT.works(
    "class getAllSessions, class getSessionCount",
    "getAllSessions(): SessionInfo[] · getSessionCount(): number",
    "HTTP: openspace.terminal.list, and count of openspace.terminal.limit; Python: `terminals.list()`, `.count`.",
)
async def all_of_them(doors: Doors) -> None:
    terminals = [await shell(doors), await shell(doors)]
    listed = (await doors.person("openspace.terminal.list"))["terminals"]
    assert {terminal.id for terminal in terminals} <= {one["id"] for one in listed}
    assert doors.app.terminals.count == len(doors.app.terminals.list()) == len(listed)
    assert (await doors.person("openspace.terminal.limit"))["count"] == len(listed)
    for terminal in terminals:
        await terminal.close()


@DOCUMENT.works(
    "session id, session cwd, session createdAt, session shell",
    "TerminalSession { id, cwd, createdAt, shell }",
    "HTTP: id, cwd, created (seconds since 1970) and command in openspace.terminal.list.",
)
async def session(doors: Doors) -> None:
    terminal = await shell(doors, shellPath="/bin/bash")
    listed = (await doors.person("openspace.terminal.list"))["terminals"]
    [info] = [one for one in listed if one["id"] == terminal.id]
    like(info, {"id": terminal.id, "cwd": ".", "created": float, "command": str, "pid": terminal.pid})
    assert "bash" in info["command"]
    await terminal.close()


@DOCUMENT.differs(
    "session pty, session outputBuffer",
    "TerminalSession { pty, outputBuffer, flushTimeout, resizeInProgress, resizeDebounceTimeout }",
    because="The PTY belongs to a process of its own, so that terminals outlive the server; there are no such buffers.",
    answer="the process id, the size, and every byte by its position.",
)
async def insides(doors: Doors) -> None:
    terminal = await shell(doors, cols=100, rows=30)
    assert os.path.exists(f"/proc/{terminal.pid}")
    assert terminal.size == (100, 30)
    assert terminal.since(0).end == terminal.log.head > 0
    await terminal.close()


# -- options ---------------------------------------------------------------------------------------------------------


@DOCUMENT.works("options cwd, options shell", "{ cwd, shell }", "HTTP: a directory of the workspace, an allowed shell.")
async def where(doors: Doors) -> None:
    (doors.root / "lib").mkdir(exist_ok=True)
    made = await doors.person("openspace.terminal.create", {"cwd": "lib", "shellPath": "sh"})
    terminal = doors.app.terminals.get(made["terminalId"])
    assert (terminal.program, terminal.started_in) == ("sh", f"{doors.root}/lib")
    await terminal.close()


@DOCUMENT.works(
    "options cols, options rows",
    "{ cols, rows } left out: 80×24",
    "WebSocket and Python: 80×24 where the caller names none; the page names its own.",
)
async def default_size(doors: Doors) -> None:
    async with doors.served.dial("/ws/terminals") as socket:
        await socket.send('{"type": "create", "args": {"title": "sized"}}')
        await until(lambda: any(one.title == "sized" for one in doors.app.terminals.list()))
    terminal = doors.app.terminals.get("sized")
    assert terminal.size == (80, 24)
    await terminal.close()


@DOCUMENT.works("options env", "{ env: { NAME: 'value' } }", "HTTP: openspace.terminal.create has env; null removes.")
async def variables(doors: Doors) -> None:
    terminal = await shell(doors, env={"NAME": "value", "LANG": None})
    assert (await terminal.run("echo $NAME ${LANG-none}")).output == "value none\n"
    await terminal.close()


@DOCUMENT.differs(
    "options env",
    "{ env: { LD_PRELOAD: 'x.so' } } by an agent",
    because="Such variables change what programs run: they count like an assignment in front of the command.",
    answer="a question to the person, without a time limit; denied if they say no.",
)
async def dangerous_variables(doors: Doors) -> None:
    args = {"env": {"LD_PRELOAD": "x.so"}}
    questions, refused = await doors.asked("openspace.terminal.create", args, choice="deny")
    assert [question["level"] for question in questions] == ["dangerous"]
    assert refused["code"] == "denied"
    refused = await doors.refusal("openspace.terminal.create", {"env": {"1A": "x"}})
    assert refused["code"] == "bad-env"


# -- how many --------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "class getMaxSessions",
    "getMaxSessions(): number",
    "HTTP: openspace.terminal.limit; Python: `terminals.max_terminals`.",
)
async def limit(doors: Doors) -> None:
    there = doors.app.terminals
    like(
        await doors.person("openspace.terminal.limit", {}), {"maxTerminals": there.max_terminals, "count": there.count}
    )


@DOCUMENT.works(
    "class setMaxSessions",
    "setMaxSessions(limit)",
    "HTTP: openspace.terminal.set_limit, by the person; Python: `terminals.max_terminals = limit`.",
)
async def set_limit(doors: Doors) -> None:
    before = doors.app.terminals.max_terminals
    await doors.person("openspace.terminal.set_limit", {"maxTerminals": 7})
    assert doors.app.terminals.max_terminals == 7
    doors.app.terminals.max_terminals = before
    like(await doors.person("openspace.terminal.limit", {}), {"maxTerminals": before})


@DOCUMENT.works(
    "session limits",
    "createSession() beyond getMaxSessions()",
    "HTTP: refused with the code limit and what to do about it.",
)
async def too_many(doors: Doors) -> None:
    terminals = doors.app.terminals
    terminal, before = await shell(doors), terminals.max_terminals
    terminals.max_terminals = len(terminals.list())
    try:
        refused = await doors.refusal("openspace.terminal.create", {})
    finally:
        terminals.max_terminals = before
    assert refused["code"] == "limit"
    assert refused["hint"].startswith("close one")
    await terminal.close()


# -- the end ---------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "class killSession, kill SIGTERM, lifecycle Killing→Exited",
    "killSession(sessionId): SIGTERM first",
    "HTTP: openspace.terminal.kill; a program that hears SIGTERM ends in its own way.",
)
async def kill(doors: Doors) -> None:
    terminal = await doors.app.terminals.create(
        argv=["bash", "-c", "trap 'echo bye; exit 3' TERM; echo up; sleep 60 & wait"]
    )
    await terminal.wait(pattern="up", position=0)
    like(await doors.person("openspace.terminal.kill", {"terminalId": terminal.id}), {"success": True})
    assert terminal.exit is not None
    assert terminal.exit.code == 3
    assert "bye" in terminal.lines()
    await terminal.close()


@DOCUMENT.works("kill SIGKILL", "SIGKILL after 1000 ms", "HTTP: who does not hear is killed after a second.")
async def kill_hard(doors: Doors) -> None:
    terminal = await doors.app.terminals.create(
        argv=["bash", "-c", "trap '' TERM HUP; echo up; while :; do sleep 1; done"]
    )
    await terminal.wait(pattern="up", position=0)
    await doors.person("openspace.terminal.kill", {"terminalId": terminal.id})
    assert terminal.exit is not None
    assert terminal.exit.signal == "SIGKILL"
    await terminal.close()


@DOCUMENT.works("kill group", "killPtyProcess(pty, signal)", "HTTP: the whole tree, also what left its process group.")
async def kill_group(doors: Doors) -> None:
    terminal = await doors.app.terminals.create(argv=["bash", "-c", "setsid sleep 60 & echo $!; exec sleep 60"])
    await terminal.wait(pattern=r"\d+", position=0)
    child = int(terminal.lines()[0])
    await doors.person("openspace.terminal.kill", {"terminalId": terminal.id})
    assert not os.path.exists(f"/proc/{child}")
    await terminal.close()


@DOCUMENT.works("lifecycle Active→Exited", "process exit", "HTTP: listed with its exit code until it is closed.")
async def exits(doors: Doors) -> None:
    terminal = await shell(doors)
    await doors.person("openspace.terminal.send", {"terminalId": terminal.id, "text": "exit 3\n"})
    await until(lambda: terminal.exited)
    listed = (await doors.person("openspace.terminal.list"))["terminals"]
    like(next(one for one in listed if one["id"] == terminal.id), {"status": "exited", "exitCode": 3})
    await terminal.close()


@DOCUMENT.works("class cleanup", "cleanup(): void", "Python: leaving the block, or `await terminals.stop()`.")
async def cleanup(doors: Doors) -> None:
    with temporary_places() as places:
        async with Terminals(places.workspace, quick(), places=places, env=environment(places)) as terminals:
            pids = [(await terminals.create(argv=["sleep", "60"])).pid for _ in range(2)]
        await until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))


@DOCUMENT.differs(
    "singleton",
    "getTerminalService(): TerminalService",
    because="An embedding program opens a block for each workspace, and tests have many at once.",
    answer="the same terminals from every block of one workspace: all join its one host.",
)
async def singleton(doors: Doors) -> None:
    terminal = await shell(doors)
    terminals = doors.app.terminals
    async with Terminals(doors.root, quick(), places=doors.served.places, env=dict(terminals.env)) as others:
        assert others is not terminals
        assert others.host_pid == terminals.host_pid
        assert others.get(terminal.id).pid == terminal.pid
    await terminal.close()


# -- the machine -----------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "class getPlatformInfo",
    "getPlatformInfo(): PlatformInfo",
    "HTTP: openspace.workbench.platform: system, release, machine, WSL, shells; Python: `terminals.platform()`.",
)
async def information(doors: Doors) -> None:
    found = await doors.person("openspace.workbench.platform", {})
    assert doors.app.terminals.platform().system == found["system"]
    like(found, {"system": platform.system(), "release": str, "machine": str, "wsl": bool, "shells": [str]})
    assert found["defaultShell"] == "/bin/bash"


@DOCUMENT.works("class isWSL", "isWSL(): boolean", "Python and HTTP: by /proc/version, WSL_DISTRO_NAME and WSLENV.")
async def wsl(doors: Doors) -> None:
    found = await doors.person("openspace.workbench.platform", {})
    assert found["wsl"] is machine.is_wsl({})
    assert machine.is_wsl({"WSL_DISTRO_NAME": "Debian"}) is True
    assert machine.is_wsl({"WSLENV": "PATH/l"}) is True


DOCUMENT.not_here(
    "class isWindows", "isWindows = os.platform() === 'win32'", because="Linux and macOS; WSL on Windows."
)
