"""What comes out: batches, scrollback, sizes, events, and the way back after a lost connection."""

import json

from tests.kit.server import until
from tests.sources.doors import Doors, like
from tests.sources.source_003 import DOCUMENT
from tests.sources.source_003.service import shell

from fourhands.host.log import Chunk
from fourhands.workbench.terminals.handle import Exit
from fourhands.workbench.terminals.output import SCROLLBACK
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.timings import TerminalTimings


@DOCUMENT.differs(
    "output OUTPUT_THROTTLE_MS, output OUTPUT_BATCH_SIZE",
    "OUTPUT_THROTTLE_MS = 4 · OUTPUT_BATCH_SIZE = 4096",
    because="Measured: a frame is made when the client can take it, of all that is there by then, at most 64 KiB.",
    answer="fewer and larger frames, each with its position; a single key's echo at once.",
)
async def batches(doors: Doors) -> None:
    terminal = await doors.served.terminal("bash", "-c", "read x; seq 1 100000; echo done-$((6*7)); read x")
    frames = []
    await terminal.type("\n")
    await terminal.wait(pattern="^done-42$", position=0)  # all is there before a frame is made
    async with doors.served.viewer(terminal, "?from=0") as viewer:
        while b"done-42" not in viewer.data:
            if isinstance(frame := await viewer.step(), bytes):
                frames.append(len(frame))
    assert max(frames) <= 64 * 1024
    assert len(frames) < len(viewer.data) / (32 * 1024)
    await terminal.close()


@DOCUMENT.works("output flush", "dataToSend in order, nothing lost", "WebSocket: every byte, in order, by positions.")
async def in_order(doors: Doors) -> None:
    terminal = await doors.served.terminal("bash", "-c", "read x; seq 1 20000; echo done-$((6*7)); read x")
    async with doors.served.viewer(terminal, "?from=0") as viewer:
        await terminal.type("\n")
        await viewer.until(b"done-42\r\n")
    numbers = bytes(viewer.data).decode().split("\r\n")
    at = numbers.index("1")
    assert numbers[at : at + 20_000] == [str(number) for number in range(1, 20_001)]
    await terminal.close()


@DOCUMENT.works(
    "output MAX_SCROLLBACK_SIZE, output scrollback, session scrollbackBuffer, class getScrollback",
    "MAX_SCROLLBACK_SIZE = 50000",
    "Python: `terminal.scrollback()`, the last 50,000 characters as they were printed.",
)
async def scrollback(doors: Doors) -> None:
    assert SCROLLBACK == 50_000
    terminal = await doors.served.terminal("bash", "-c", "seq 1 30000; printf '\\033[1mbold\\033[0m\\n'; read x")
    await terminal.wait(pattern="bold", position=0)
    kept = terminal.scrollback().data.decode()
    assert 49_000 < len(kept) <= 50_000
    assert kept.endswith("\r\n\x1b[1mbold\x1b[0m\r\n")
    await terminal.close()


# -- sizes -----------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "class resize, resize size",
    "resize(sessionId, cols, rows): boolean",
    "HTTP: openspace.terminal.resize; WebSocket: a word of type resize.",
)
async def resize(doors: Doors) -> None:
    terminal = await shell(doors)
    args = {"terminalId": terminal.id, "cols": 101, "rows": 31}
    assert (await doors.person("openspace.terminal.resize", args))["success"] is True
    await until(lambda: terminal.size == (101, 31))
    assert (await terminal.run("stty size")).output == "31 101\n"
    async with doors.served.viewer(terminal, "?from=0") as viewer:
        await viewer.tell(type="resize", cols=77, rows=22)
        await until(lambda: terminal.size == (77, 22))
    await terminal.close()


@DOCUMENT.works(
    "resize 150ms, resize suppressOutput",
    "suppressOutput: boolean = true, cleared after 150 ms",
    "HTTP: hideRedraw, true by default: the prompt that a new size draws again is not replayed.",
)
async def hidden_redraw(doors: Doors) -> None:
    assert TerminalTimings().redraw_s == 0.15
    for hide in (True, False):
        terminal = await shell(doors, env={"PS1": "prompt> "})
        args = {"terminalId": terminal.id, "cols": 60, "rows": 20, "hideRedraw": hide}
        await doors.person("openspace.terminal.resize", args)
        await terminal.wait(quiet_s=0.5, deadline_s=5)
        assert (terminal.size, bool(terminal.redraws)) == ((60, 20), hide)
        await terminal.close()


@DOCUMENT.differs(
    "resize suppressOutput",
    "resizeInProgress: output is thrown away",
    because="What a program prints in that moment would be lost.",
    answer="all output; only a prompt that was drawn again, with nothing run meanwhile, is left out of the replay.",
)
async def nothing_lost(doors: Doors) -> None:
    terminal = await shell(doors)
    await terminal.type("sleep 0.05; for n in 1 2 3; do echo kept-$n; sleep 0.05; done\n")
    for cols in (60, 70, 80):
        args = {"terminalId": terminal.id, "cols": cols, "rows": 20}
        await doors.person("openspace.terminal.resize", args)
    await terminal.wait(pattern="^kept-3$", position=0)
    kept = terminal.scrollback().data.decode()
    assert all(f"kept-{number}" in kept for number in (1, 2, 3))  # its line may not be ended yet
    await terminal.close()


# -- events ----------------------------------------------------------------------------------------------------------


@DOCUMENT.works(
    "class onData, events data",
    "const unsubscribe = onData((sessionId, data) => …)",
    "Python: `terminals.on_data(callback)`, of one terminal `terminal.on_data`; calling what it returns ends it.",
)
async def on_data(doors: Doors) -> None:
    sent: list[dict[str, str]] = []

    def tell(terminal: Terminal, chunk: Chunk) -> None:
        sent.append({"type": "terminal:data", "sessionId": terminal.id, "data": chunk.data.decode()})

    unsubscribe = doors.app.terminals.on_data(tell)
    terminal = await doors.served.terminal("cat")
    await terminal.type("one\n")
    await until(lambda: "one\r\none\r\n" in "".join(one["data"] for one in sent if one["sessionId"] == terminal.id))
    unsubscribe()
    count = len(sent)
    await terminal.type("two\n")
    await terminal.wait(pattern="two\ntwo", position=0, quiet_s=0.5)
    assert len(sent) == count
    await terminal.close()


@DOCUMENT.works(
    "class onExit, events exit",
    "onExit((sessionId, exitCode) => …)",
    "Python: `terminals.on_exit(callback)`, of one terminal `terminal.on_exit`; it returns what ends it.",
)
async def on_exit(doors: Doors) -> None:
    heard: list[tuple[str, int | None]] = []
    unheard: list[Exit] = []
    stop = doors.app.terminals.on_exit(lambda terminal, end: heard.append((terminal.id, end.code)))
    terminal = await doors.served.terminal("bash", "-c", "read x; exit 3")
    terminal.on_exit(unheard.append)()
    await terminal.type("\n")
    await until(lambda: heard)
    stop()
    assert (heard, unheard) == ([(terminal.id, 3)], [])
    await terminal.close()


@DOCUMENT.differs(
    "events terminal:data",
    "ws: { type: 'terminal:data', sessionId, data }",
    because="Output is bytes: as text, a character that is cut would be spoilt; and each frame says where it stands.",
    answer="binary frames at /ws/terminals/ID: 8 bytes of position, then output. Other first words are refused with "
    "the form that is meant.",
)
async def data_frames(doors: Doors) -> None:
    terminal = await doors.served.terminal("cat")
    async with doors.served.viewer(terminal, "?from=0") as viewer:
        await viewer.socket.send(b"hello\n")
        await viewer.until(b"hello\r\nhello\r\n")
        assert viewer.start == 0
    async with doors.served.dial("/ws/terminals") as socket:
        await socket.send(json.dumps({"type": "terminal:data", "sessionId": terminal.id, "data": "x"}))
        refused = json.loads(await socket.recv())
    like(refused, {"type": "refused", "code": "bad-argument"})
    assert '{"type": "attach", "terminalId"' in refused["error"]
    await terminal.close()


@DOCUMENT.differs(
    "events terminal:exit",
    "ws: { type: 'terminal:exit', sessionId, exitCode }",
    because="A socket shows one terminal, and a program may end by a signal.",
    answer="{ type: 'exit', code, signal, position } at its socket; terminal.exited with the whole terminal at /ws.",
)
async def exit_word(doors: Doors) -> None:
    async with doors.served.caller() as caller:
        terminal = await doors.served.terminal("bash", "-c", "read x; exit 3")
        async with doors.served.viewer(terminal, "?from=0") as viewer:
            await terminal.type("\n")
            like(await viewer.word("exit"), {"type": "exit", "code": 3, "signal": None, "position": int})
        event = await caller.event("terminal.exited")
        like(event["data"]["terminal"], {"id": terminal.id, "exitCode": 3})
    await terminal.close()


@DOCUMENT.works(
    "reconnect",
    "getScrollbackAndClearPending(sessionId)",
    "WebSocket: `from` goes on where the client was, without duplicates and gaps; without it the screen comes first.",
)
async def reconnect(doors: Doors) -> None:
    terminal = await doors.served.terminal("bash", "-c", "while read x; do echo got-$x; done")
    await terminal.type("one\n")
    async with doors.served.viewer(terminal, "?from=0") as viewer:
        await viewer.until(b"got-one\r\n")
    await terminal.type("two\n")
    async with doors.served.viewer(terminal, f"?from={viewer.position}") as again:
        await again.until(b"got-two\r\n")
    whole = (viewer.data + again.data).decode()
    assert whole.count("got-one") == whole.count("got-two") == 1
    assert again.start == viewer.position
    async with doors.served.viewer(terminal) as fresh:
        screen = await fresh.word("screen")
    assert screen["data"].count("got-two") == 1
    await terminal.close()


@DOCUMENT.works(
    "reconnect",
    "return scrollbackBuffer || null",
    "HTTP: openspace.terminal.replay: the past, the screen, the position.",
)
async def replay(doors: Doors) -> None:
    terminal = await shell(doors)
    await terminal.run("seq 1 200")
    replayed = await doors.person("openspace.terminal.replay", {"terminalId": terminal.id})
    like(replayed, {"past": list, "screen": str, "position": int, "cols": int, "rows": int})
    text = "".join(str(piece) for piece in replayed["past"]) + replayed["screen"]
    assert "200" in text
    await terminal.close()


# -- Windows ---------------------------------------------------------------------------------------------------------

DOCUMENT.not_here("kill windows", "ptyProcess.kill() without a signal", because="Linux and macOS have signals.")
DOCUMENT.not_here("conpty useConpty", "useConpty = false", because="Windows only; a PTY here is the kernel's own.")
DOCUMENT.not_here("conpty fallback", "'AttachConsole failed' → winpty", because="Windows only.")
