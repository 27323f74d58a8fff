"""Tasks of an agent, each done with our tools and with those of DesktopCommander: what a model writes and reads for it.

A script stands for a model that knows its tools well and uses each as its description says; what it needs for the next
call it takes from what it has read. Every task has facts that must stand in what was read, or the answer is wrong.
"""

import fcntl
import re
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client
from tests.kit.mcp_client import text
from tests.kit.task_servers import WORKSPACE, commander, fourhands
from tests.kit.tokens import compact, counted

NO_OUTPUT = "(No output in requested range)"


@dataclass
class Model:
    """Who does a task: all that it writes and reads, for the tools of one server."""

    client: Client
    written: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    async def call(self, tool: str, **args: Any) -> str:
        """Call a tool, and return what a host gives to its model of the result: its text, and any fields."""
        done = await self.client.call_tool(tool, args)
        fields = "" if done.structured_content is None else compact(done.structured_content)
        self.written.append(f"{tool} {compact(args)}")
        self.read.append(text(done) + fields)
        return self.read[-1]


Script = Callable[[Model], Awaitable[None]]


@dataclass(frozen=True)
class Task:
    """What is to be done in a workspace with these files, and the most tokens that ours may cost.

    `facts` are what must have been read, with the patterns of it. `proven` looks at the workspace afterwards, from
    outside.
    """

    name: str
    files: Mapping[str, str]
    ours: Script
    theirs: Script
    facts: Mapping[str, str]
    most: int
    proven: Callable[[Path], bool] = lambda root: True

    def lay_out(self, root: Path) -> None:
        """Make the workspace as it is before the task."""
        for path in root.iterdir():
            if not path.name.startswith("."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)


@dataclass(frozen=True)
class Spent:
    """What a task has cost, in tokens and calls, and what was wrong with its answer."""

    task: str
    tokens: int
    calls: int
    wrong: tuple[str, ...]


async def spent(tasks: Sequence[Task], client: Client, root: Path, *, theirs: bool = False) -> list[Spent]:
    """Do the tasks one after the other with the tools of a client's server, and count."""
    models: list[Model] = []
    wrong: list[tuple[str, ...]] = []
    for task in tasks:
        task.lay_out(root)
        model = Model(client)
        await (task.theirs if theirs else task.ours)(model)
        seen = "\n".join(model.read)
        unread = [f"never read {fact}" for fact, pattern in task.facts.items() if not re.search(pattern, seen)]
        wrong.append((*unread, *([] if task.proven(root) else ["the workspace shows something else"])))
        models.append(model)
    sizes = iter(counted([part for model in models for part in (*model.written, *model.read)]))
    return [
        Spent(task.name, sum(next(sizes) for _ in range(2 * len(model.read))), len(model.read), bad)
        for task, model, bad in zip(tasks, models, wrong, strict=True)
    ]


async def compared(rounds: int) -> list[tuple[Spent, Spent]]:
    """What each task costs with our tools and with theirs, in turn: our dearest round, and their cheapest right one.

    How much they lose of what programs print, and how often they must be asked, depends on the machine.
    """
    ours: list[list[Spent]] = []
    theirs: list[list[Spent]] = []
    for _ in range(rounds):
        async with fourhands() as side:
            ours.append(await spent(all_tasks(), side.client, side.root))
        async with commander() as side:
            theirs.append(await spent(all_tasks(), side.client, side.root, theirs=True))

    def order(one: Spent) -> tuple[bool, int]:
        return bool(one.wrong), one.tokens

    best = [min(one, key=order) for one in zip(*theirs, strict=True)]
    return list(zip((max(one, key=order) for one in zip(*ours, strict=True)), best, strict=True))


def found(pattern: str, said: str) -> str:
    """What a model takes from what it has read."""
    match = re.search(pattern, said)
    assert match, f"no {pattern} in {said[:500]!r}"
    return match[1]


def terminal(said: str) -> str:
    """The id of our terminal."""
    return found(r"(term_[0-9A-Z]{4})", said)


def process(said: str) -> int:
    """The id of their process."""
    return int(found(r"PID (\d+)", said))


async def their_run(model: Model, command: str) -> str:
    """Run a command to its end.

    They hear of the end of a program before its last output, at times, and lose that: then it is run once more.
    """
    said = await model.call("start_process", command=command, timeout_ms=30000)
    if not found(r"Initial output:\n([^⏳]*)", said).strip():
        said = await their_output(model, process(said))
    if NO_OUTPUT in said:
        said = await model.call("start_process", command=f"{command}; sleep 1", timeout_ms=30000)
    return said


async def their_answer(model: Model, id: int, line: str) -> str:
    """Type a line into a program that prints something then."""
    said = await model.call("interact_with_process", pid=id, input=line, timeout_ms=2000)
    return await their_output(model, id) if "No output produced" in said else said


async def their_output(model: Model, id: int) -> str:
    """Read what a process has printed."""
    return await model.call("read_process_output", pid=id)


# -- build: it fails after some hundred lines ------------------------------------------------------------------------

ROUTES = [f"route_{number:03}" for number in range(1, 221)]
BUILD = {f"src/{name}.sh": f"greet() {{\n  echo {name}\n}}\n" for name in ROUTES} | {
    "src/route_207.sh": "greet() {\n  if true; then\n    echo route_207\n}\n",
    "Makefile": "all: $(patsubst src/%,out/%,$(sort $(wildcard src/*.sh)))\n\n"
    "out/%.sh: src/%.sh\n\t@mkdir -p out\n\tsh -n $<\n\tcp $< $@\n",
}


async def our_build(model: Model) -> None:
    await model.call("bash", command="make")


async def their_build(model: Model) -> None:
    # It tells no exit code at once: this is cheaper than to ask for it by another call.
    await their_run(model, 'make; echo "exit $?"')


# -- prompt: a program asks twice ------------------------------------------------------------------------------------

RELEASE = """\
name = input("Version to release: ")
if input(f"Publish {name} to staging? [y/N] ") == "y":
    print(f"{name} is on staging")
"""


async def our_prompt(model: Model) -> None:
    id = terminal(await model.call("terminal_start", command="python3 release.py"))
    await model.call("terminal_continue", sessionId=id, stdin="2.1.0\n")
    await model.call("terminal_continue", sessionId=id, stdin="y\n")


async def their_prompt(model: Model) -> None:
    id = process(await model.call("start_process", command="python3 release.py", timeout_ms=3000))
    for line in ("2.1.0", "y"):
        await their_answer(model, id, line)


# -- REPL: three evaluations -----------------------------------------------------------------------------------------

LINES = ("import statistics as s; days = [3, 1, 4, 1, 5, 9, 2, 6]", "s.median(days)", "round(s.stdev(days), 3)")


async def our_repl(model: Model) -> None:
    id = terminal(await model.call("terminal_start", command="python3"))
    for line in LINES:
        await model.call("terminal_continue", sessionId=id, stdin=f"{line}\n")
    await model.call("terminal_stop", sessionId=id)


async def their_repl(model: Model) -> None:
    id = process(await model.call("start_process", command="python3 -i", timeout_ms=5000))
    for line in LINES:
        await model.call("interact_with_process", pid=id, input=line)
    await model.call("force_terminate", pid=id)


# -- kill: a server is started, seen to be up, ended, and seen to be gone --------------------------------------------

SERVE = """\
import fcntl, http.server
lock = open("serving.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
server = http.server.HTTPServer(("127.0.0.1", PORT), http.server.SimpleHTTPRequestHandler)
print("serving on http://127.0.0.1:PORT", flush=True)
server.serve_forever()
"""
HEALTH = """\
import urllib.request
try:
    print(urllib.request.urlopen("http://127.0.0.1:PORT", timeout=5).status, "OK")
except OSError as error:
    print("down:", error)
"""
DEV = "echo starting the shop\npython3 serve.py\necho the shop has ended\n"


def is_gone(root: Path) -> bool:
    """Whether no server runs any more in this workspace, where one did."""
    with open(root / "serving.lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def our_kill(command: str) -> Script:
    async def script(model: Model) -> None:
        id = terminal(await model.call("terminal_start", command=command))
        await model.call("bash", command="python3 health.py")
        await model.call("terminal_stop", sessionId=id)
        await model.call("bash", command="python3 health.py")

    return script


def their_kill(command: str) -> Script:
    async def script(model: Model) -> None:
        id = process(await model.call("start_process", command=command, timeout_ms=3000))
        await their_run(model, "python3 health.py")
        await model.call("force_terminate", pid=id)
        if "200 OK" in await their_run(model, "python3 health.py"):  # what its shell started goes on
            await model.call("start_process", command="pkill -f serve.py", timeout_ms=30000)
            await their_run(model, "python3 health.py")

    return script


# -- search: a text, and names, in a tree ----------------------------------------------------------------------------

TREE = {
    f"src/{area}/{name}.py": "".join(
        f"def {name}_{number}(order):\n    return order.{area}\n\n\n" for number in range(9)
    )
    for area in ("cart", "billing", "stock", "mail", "users", "report")
    for name in (
        "models",
        "views",
        "tasks",
        "client",
        "errors",
        "invoice" if area in ("billing", "mail") else "signals",
    )
} | {"src/billing/invoice_numbers.py": "FIRST = 1000\n", "docs/invoices.md": "# How bills are numbered\n"}
PLACES = [
    (f"src/{area}/{name}.py", 37) for area, name in (("billing", "client"), ("mail", "tasks"), ("stock", "client"))
]
for _path, _ in PLACES:
    TREE[_path] += "retry_limit = 5\n"
NAMES = sorted(name for name in TREE if "invoice" in name)


async def our_search(model: Model) -> None:
    await model.call("search", query="retry_limit")
    await model.call("search", query="invoice")


async def their_search(model: Model) -> None:
    for pattern, kind in (("retry_limit", "content"), ("invoice", "files")):
        less = {"contextLines": 0} if kind == "content" else {}
        said = await model.call("start_search", path=WORKSPACE, pattern=pattern, searchType=kind, **less)
        id = found(r"session: (\S+)", said)
        while "Search completed" not in said:
            said = await model.call("get_more_search_results", sessionId=id)


# -- 3,000 lines, and one of the middle ------------------------------------------------------------------------------


async def our_lines(model: Model) -> None:
    said = await model.call("bash", command="seq 1 3000")
    output = found(r"read (output:\d+) from", said)
    await model.call("read", **{"path": output, "from": 1500, "limit": 10})


async def their_lines(model: Model) -> None:
    await their_run(model, "seq 1 3000")  # it gives all of them at once


# -- edit: two places of a file --------------------------------------------------------------------------------------

CART = "".join(f"def step_{number}(cart):\n    return cart.add({number})\n\n\n" for number in range(1, 13))
EDITS = (("return cart.add(3)", "return cart.add(30)"), ("def step_9(cart):", "def step_nine(cart):"))


def is_edited(root: Path) -> bool:
    """Whether both places are changed, and nothing else."""
    wanted = CART
    for old, new in EDITS:
        wanted = wanted.replace(old, new)
    return (root / "src/cart.py").read_text() == wanted


async def our_edit(model: Model) -> None:
    await model.call("read", path="src/cart.py")
    await model.call("edit", path="src/cart.py", edits=[{"old": old, "new": new} for old, new in EDITS])


async def their_edit(model: Model) -> None:
    path = f"{WORKSPACE}/src/cart.py"
    await model.call("read_file", path=path)
    for old, new in EDITS:
        await model.call("edit_block", file_path=path, old_string=old, new_string=new)


def free_port() -> int:
    """A port on which nobody serves."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def kill(name: str, command: str) -> Task:
    """The task to start and to end a server, on a port that is free."""
    port = str(free_port())
    files = {"serve.py": SERVE, "health.py": HEALTH, "dev.sh": DEV}
    files = {name: content.replace("PORT", port) for name, content in files.items()}
    facts = {
        "that it serves": rf"serving on http://127\.0\.0\.1:{port}",
        "that it is up": "200 OK",
        "that it is gone": "down: .*refused",
    }
    return Task(name, files, our_kill(command), their_kill(command), facts, 140, is_gone)


def all_tasks() -> list[Task]:
    """The tasks; those of servers with ports that are free."""
    broken = {
        "the error": r"route_207\.sh: (line )?\d+: [Ss]yntax error",
        "what failed": r"make: \*\*\* .*route_207\.sh\] Error 2",
        "the exit code": r"exit 2\b",
    }
    texts = {f"{path} line {line}": rf"{re.escape(path)}:\n?{line}\b.*retry_limit" for path, line in PLACES}
    names = {name: re.escape(name) for name in NAMES}
    lines = {f"line {line}": rf"(^|\n){line}\n" for line in (1, 1500, 3000)}
    values = {"the median": r"\b3\.5\b", "the deviation": r"\b2\.748\b"}
    end = {"the last step": r"cart\.add\(12\)"}
    asked = {
        "the release": "Version to release",
        "the question": r"Publish 2\.1\.0",
        "the end": r"2\.1\.0 is on staging",
    }
    return [
        Task("build", BUILD, our_build, their_build, broken, 4_100),
        Task("prompt", {"release.py": RELEASE}, our_prompt, their_prompt, asked, 155),
        Task("REPL", {}, our_repl, their_repl, values, 290),
        kill("kill", "python3 serve.py"),
        kill("kill what a script started", "sh dev.sh"),
        Task("search", TREE, our_search, their_search, texts | names, 250),
        Task("3,000 lines", {}, our_lines, their_lines, lines, 5_800),
        Task("edit", {"src/cart.py": CART}, our_edit, their_edit, end, 240, is_edited),
    ]
