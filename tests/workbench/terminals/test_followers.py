"""Following all terminals at once: present ones from now on, new ones from their first byte."""

from fourhands.host.log import Chunk
from fourhands.workbench.terminals.handle import Exit
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals


async def test_all_output_and_every_end_are_handed_over_once(terminals: Terminals) -> None:
    said: dict[str, bytes] = {}
    ended: list[tuple[str, int | None]] = []

    def hear(terminal: Terminal, chunk: Chunk) -> None:
        said[terminal.title] = said.get(terminal.title, b"") + chunk.data

    def end(terminal: Terminal, exit: Exit) -> None:
        ended.append((terminal.title, exit.code))

    before = await terminals.create(argv=["dash", "-c", "echo early; read x; echo late"], title="before")
    gone = await terminals.create(argv=["dash", "-c", "exit 4"], title="gone")
    await gone.wait(exit=True, deadline_s=40)
    await before.wait(pattern="early", position=0, deadline_s=40)
    stop_data, stop_exit = terminals.on_data(hear), terminals.on_exit(end)
    quick = await terminals.create(argv=["dash", "-c", "seq 1 2000; exit 3"], title="quick")
    await quick.wait(exit=True, deadline_s=40)
    await before.type("\n")
    await before.wait(exit=True, deadline_s=40)
    assert said["quick"] == b"".join(b"%d\r\n" % number for number in range(1, 2001))
    assert (b"early" in said["before"], said["before"].endswith(b"late\r\n"), "gone" in said) == (False, True, False)
    assert ended == [("quick", 3), ("before", 0)]
    cat = await terminals.create(argv=["cat"], title="cat")
    await cat.kill()
    await cat.wait(exit=True, deadline_s=40)
    await cat.close()
    assert ended[2] == ("cat", None)
    stop_data()
    stop_data()
    stop_exit()
    told = len(said), len(ended)
    late = await terminals.create(argv=["echo", "unheard"], title="late")
    await late.wait(exit=True, deadline_s=40)
    assert (len(said), len(ended)) == told
