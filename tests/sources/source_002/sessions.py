"""Persistent sessions: how long output is collected, their life, and who cleans up."""

import os
import time

from tests.kit.server import until
from tests.kit.workbench import environment, quick, temporary_places
from tests.sources.doors import Doors, like
from tests.sources.source_002 import DOCUMENT
from tests.sources.source_002.tools import quit_all

from fourhands import Terminals


def alive(pid: int) -> bool:
    """Whether there is such a process."""
    return os.path.exists(f"/proc/{pid}")


async def started(doors: Doors, command: str, **intervals: float) -> tuple[dict[str, object], float]:
    """Start a program with intervals of its own: the answer, and how long it took."""
    await doors.agent("openspace.agent.configure", intervals)
    began = time.monotonic()
    answer = await doors.agent("openspace.tool.terminal_start", {"command": command})
    return answer, time.monotonic() - began


@DOCUMENT.works(
    "persistent minInterval", "minInterval", "HTTP: before that, silence is not taken for the end of the output."
)
async def least(doors: Doors) -> None:
    newcomer = doors.another("patient")
    answer, took = await started(newcomer, "sleep 60", minInterval=0.6, settleInterval=0.05, maxInterval=20)
    assert answer["reason"] == "settled"
    assert took >= 0.6
    await quit_all(newcomer)


@DOCUMENT.differs(
    "persistent minInterval",
    "minInterval of a program that ends or asks at once",
    because="It is known when a program has ended or waits for input: there is no need to wait then.",
    answer="the same result sooner; `reason` says exited or input.",
)
async def sooner(doors: Doors) -> None:
    newcomer = doors.another("quick")
    answer, _ = await started(newcomer, "echo done", minInterval=25, settleInterval=25, maxInterval=30)
    like(answer, {"reason": "exited", "complete": True, "output": "done\n"})
    await quit_all(newcomer)


@DOCUMENT.works("persistent settleInterval", "settleInterval", "HTTP: answered when nothing was printed for so long.")
async def settled(doors: Doors) -> None:
    newcomer = doors.another("settler")
    answer, took = await started(newcomer, "echo a; sleep 60", minInterval=0, settleInterval=0.4, maxInterval=30)
    like(answer, {"reason": "settled", "output": "a\n"})
    assert 0.4 <= took < 25
    await quit_all(newcomer)


@DOCUMENT.works("persistent maxInterval", "maxInterval", "HTTP: answered then, however much goes on being printed.")
async def most(doors: Doors) -> None:
    newcomer = doors.another("chatty")
    line = "while :; do echo x; sleep 0.05; done"
    answer, took = await started(newcomer, line, minInterval=0, settleInterval=20, maxInterval=0.5)
    like(answer, {"reason": "maxInterval", "complete": False})
    assert 0.5 <= took < 15
    await quit_all(newcomer)


@DOCUMENT.works(
    "lifecycle start", "terminal_start twice: ID, position", "HTTP: each has its own; terminal_list shows both."
)
async def start(doors: Doors) -> None:
    one = await doors.agent("openspace.tool.terminal_start", {"command": "cat"})
    two = await doors.agent("openspace.tool.terminal_start", {"command": "cat", "stdin": "x\n"})
    assert one["id"] != two["id"]
    listed = (await doors.agent("openspace.tool.terminal_list"))["sessions"]
    positions = {one["sessionId"]: one["position"] for one in listed}
    assert positions[two["id"]] == two["position"] > 0
    await quit_all(doors)


@DOCUMENT.works("lifecycle continue", "terminal_continue: complete", "HTTP: `complete`, and its exit code.")
async def go_on(doors: Doors) -> None:
    answer = await doors.agent("openspace.tool.terminal_start", {"command": "read x; exit 4"})
    assert answer["complete"] is False
    done = await doors.agent("openspace.tool.terminal_continue", {"sessionId": answer["id"], "stdin": "y\n"})
    like(done, {"complete": True, "exitCode": 4, "reason": "exited"})
    await quit_all(doors)


@DOCUMENT.works("lifecycle stop", "terminal_stop: the process", "HTTP: with all that it started.")
async def stop(doors: Doors) -> None:
    line = "sleep 60 & echo $!; wait"
    answer = await doors.agent("openspace.tool.terminal_start", {"command": line})
    child = int(answer["output"])
    await doors.agent("openspace.tool.terminal_stop", {"sessionId": answer["id"]})
    assert not alive(child)


@DOCUMENT.works("lifecycle list", "terminal_list: command, position, uptime", "HTTP: as data, and as a table.")
async def listing(doors: Doors) -> None:
    answer = await doors.agent("openspace.tool.terminal_start", {"command": "cat"})
    listed = await doors.agent("openspace.tool.terminal_list", {})
    [mine] = [one for one in listed["sessions"] if one["sessionId"] == answer["id"]]
    like(mine, {"command": "cat", "position": int, "running": True, "uptimeSeconds": float})
    await quit_all(doors)


@DOCUMENT.works("cleanup 1", "agent reset: chat", "HTTP: openspace.agent.reset ends them; pinned ones stay.")
async def reset(doors: Doors) -> None:
    newcomer = doors.another("restarted")
    answer = await newcomer.agent("openspace.tool.terminal_start", {"command": "cat"})
    pid = doors.app.terminals.get(answer["id"]).pid
    await doors.person("openspace.agent.reset", {"sessionId": newcomer.session})
    assert not alive(pid)


@DOCUMENT.works("cleanup 1", "agent reset: full", "HTTP: openspace.agent.end ends them too.")
async def end(doors: Doors) -> None:
    newcomer = doors.another("ended")
    answer = await newcomer.agent("openspace.tool.terminal_start", {"command": "cat"})
    pid = doors.app.terminals.get(answer["id"]).pid
    await doors.person("openspace.agent.end", {"sessionId": newcomer.session})
    assert not alive(pid)


@DOCUMENT.differs(
    "cleanup 2",
    "terminal_list after a process has completed",
    because="How a program ended is worth reading: the last ten of an agent stay, and older ones are closed.",
    answer="them in the list with Running No; terminal_continue says complete true and the exit code.",
)
async def completed(doors: Doors) -> None:
    newcomer = doors.another("finisher")
    answer = await newcomer.agent("openspace.tool.terminal_start", {"command": "exit 5"})
    listed = (await newcomer.agent("openspace.tool.terminal_list"))["sessions"]
    assert [one["running"] for one in listed if one["sessionId"] == answer["id"]] == [False]
    again = await newcomer.agent("openspace.tool.terminal_continue", {"sessionId": answer["id"]})
    like(again, {"complete": True, "exitCode": 5})
    await quit_all(newcomer)


@DOCUMENT.works("cleanup 3", "orphaned processes at shutdown", "Python: leaving the block leaves nothing.")
async def shutdown(doors: Doors) -> None:
    with temporary_places() as places:
        async with Terminals(places.workspace, quick(), places=places, env=environment(places)) as terminals:
            terminal = await terminals.create(argv=["bash", "-c", "setsid sleep 60 & echo $!; exec sleep 60"])
            await terminal.wait(pattern=r"\d+", position=0)
            pids = [terminal.pid, int(terminal.lines()[0])]
        await until(lambda: not any(alive(pid) for pid in pids))


@DOCUMENT.differs(
    "cleanup 3",
    "sessions at the shutdown of the server",
    because="An update or a crash of the server must not end what a person runs: terminals outlive it.",
    answer="them again in the next server; `fourhands stop` ends them, an agent's that is not back in a minute too.",
)
async def outlived(doors: Doors) -> None:
    with temporary_places() as places:
        env = environment(places)
        async with Terminals(places.workspace, quick(), places=places, env=env, keep=True) as terminals:
            terminal = await terminals.create(argv=["sleep", "60"])
        assert alive(terminal.pid)
        async with Terminals(places.workspace, quick(), places=places, env=env) as terminals:
            assert terminals.get(terminal.id).pid == terminal.pid
            await terminals.stop()
        await until(lambda: not alive(terminal.pid))
