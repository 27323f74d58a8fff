"""What a hostile agent writes: a Makefile whose `test` tries every way out, and prints those that are open.

`run` is called in a process of its own, as root or as a plain user: it makes a home with secrets, a workspace, sockets
and listeners, runs `make test` behind a provider there, and returns what was open and what was changed.
"""

import asyncio
import contextlib
import ctypes
import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

from tests.kit.cells import in_cell

from fourhands.providers.base import Launch, Provider
from fourhands.providers.bubblewrap import Bubblewrap
from fourhands.providers.landlock import Landlock
from fourhands.settings import BubblewrapSettings

ATTACK = r"""
import ctypes, json, os, socket, sys
facts = json.load(open("facts.json"))
def attempt(name, action):
    try:
        action()
    except (OSError, ValueError):
        return
    print("OPEN", name)
def reading(path):
    if not open(path, "rb").read(4096):
        raise OSError("nothing is in it")
def connect(family, kind, address, protocol=0):
    with socket.socket(family, kind, protocol) as door:
        door.settimeout(2)
        door.connect(address)
        if kind == socket.SOCK_DGRAM:
            door.send(b"x")
            door.recv(1)
def append(path):
    with open(path, "a") as file:
        file.write("echo OWNED\n")
def fast_open(address):
    with socket.socket(socket.AF_INET) as door:
        door.settimeout(2)
        door.sendto(b"x", socket.MSG_FASTOPEN, address)
def shared():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(facts["shm"], 1, 0) < 0:
        raise OSError("none")
for name, path in facts["secrets"].items():
    attempt("read " + name, lambda: reading(path))
for name, path in facts["closed"].items():
    attempt("write " + name, lambda: append(path))
try:
    append(facts["home"] + "/.bash_profile")  # the sandbox's own home takes it; the person's must not have it
except OSError:
    pass
attempt("remove a file at home", lambda: os.unlink(facts["home"] + "/.netrc"))
attempt("host.sock", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, facts["host.sock"]))
attempt("abstract socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + facts["abstract"]))
for where in ("127.0.0.1", facts["address"]):
    attempt("tcp " + where, lambda: connect(socket.AF_INET, socket.SOCK_STREAM, (where, facts["tcp"])))
attempt("tcp by sending", lambda: fast_open(("127.0.0.1", facts["tcp"])))
attempt("mptcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", facts["tcp"]), 262))
attempt("udp", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", facts["udp"])))
attempt("signal", lambda: os.kill(facts["pid"], 0))
attempt("terminal", lambda: os.close(os.open(facts["pts"], os.O_RDWR | os.O_NOCTTY)))
attempt("shared memory", shared)
attempt("rename .git", lambda: (os.rename(".git", "x"), os.rename("x", ".git")))
attempt("rename .git/hooks", lambda: (os.rename(".git/hooks", ".git/x"), os.rename(".git/x", ".git/hooks")))
attempt("remove .git/config", lambda: os.unlink(".git/config"))
if facts["own"]:
    attempt("own package", lambda: append("src/fourhands/__init__.py"))
    attempt("beside own package", lambda: append("src/mcp.py"))
    attempt("rename src", lambda: (os.rename("src", "x"), os.rename("x", "src")))
print("DONE")
"""


def run(rung: str, root: Path) -> dict[str, object]:
    """Run the attack behind a provider of that name, below a directory that belongs to the user."""
    home, work, state, runtime = root / "home", root / "work", root / "state", root / "run"
    for place in (home / ".ssh", work, state / "fourhands", runtime):
        place.mkdir(parents=True)
    own = (str(work / "src/fourhands"),) if rung == "bubblewrap" else ()
    secrets = {
        "token": state / "fourhands/token",
        "journal": state / "fourhands/journal.sqlite",
        "ssh key": home / ".ssh/id_ed25519",
        "netrc": home / ".netrc",
        "credentials": home / ".git-credentials",
    }
    closed = {".bashrc": home / ".bashrc", "token": secrets["token"]}
    for path in (*secrets.values(), *closed.values()):
        path.write_text("canary")
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    for path in (work / ".git/hooks/pre-commit", work / ".envrc", work / "src/fourhands/__init__.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("canary")
    (work / "src/fourhands/__main__.py").write_text("")
    closed |= {".git/config": work / ".git/config", "hook": work / ".git/hooks/pre-commit", ".envrc": work / ".envrc"}
    closed |= {"a new hook": work / ".git/hooks/post-checkout"}
    watched = {**closed, ".bash_profile": home / ".bash_profile"}
    (work / "Makefile").write_text("test:\n\t@/usr/bin/python3 attack.py\n")
    (work / "attack.py").write_text(ATTACK)
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        abstract = f"fh-attack-{os.getpid()}"
        for name in (f"{runtime}/host.sock", f"\0{abstract}"):
            door = stack.enter_context(socket.socket(socket.AF_UNIX))
            door.bind(name)
            door.listen()
        master, slave = pty.openpty()
        key = 0x46480000 + os.getpid() % 0xFFFF
        libc = ctypes.CDLL(None)
        segment = libc.shmget(key, 4096, 0o1600)
        stack.callback(libc.shmctl, segment, 0, None)
        secrets["environ"] = Path(f"/proc/{os.getpid()}/environ")
        facts = {
            "secrets": {name: str(path) for name, path in secrets.items()},
            "closed": {name: str(path) for name, path in closed.items()},
            "home": str(home), "host.sock": f"{runtime}/host.sock", "abstract": abstract, "pid": os.getpid(),
            "tcp": listening.getsockname()[1], "udp": datagrams.getsockname()[1], "address": "127.0.0.2",
            "pts": os.ttyname(slave), "own": bool(own), "shm": key,
        }  # fmt: skip
        (work / "facts.json").write_text(json.dumps(facts))
        env = {
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
            "XDG_STATE_HOME": str(state),
            "XDG_RUNTIME_DIR": str(runtime),
        }
        before = {name: path.read_text() for name, path in closed.items() if path.exists()}
        out = asyncio.run(_behind(rung, str(work), env, own))
        changed = sorted(
            name for name, path in watched.items() if path.exists() and before.get(name) != path.read_text()
        )
        os.close(master)
        os.close(slave)
    opened = [line.removeprefix("OPEN ") for line in out.splitlines() if line.startswith("OPEN ")]
    return {"open": opened, "changed": changed, "done": "DONE" in out, "out": out, "uid": os.getuid()}


async def _behind(rung: str, work: str, env: dict[str, str], own: tuple[str, ...]) -> str:
    lax = BubblewrapSettings(require_limits=False)
    provider: Provider = Landlock(env=env, own=()) if rung == "landlock" else Bubblewrap(lax, env=env, own=own)
    probe = await provider.probe()
    if not probe.works:
        return f"PROBE {probe.detail}"
    await provider.prepare(work, ())
    wrapped = in_cell(provider, Launch("/usr/bin/make", ("make", "test"), work, env), Path(env["XDG_STATE_HOME"]))
    done = await asyncio.to_thread(
        subprocess.run, wrapped.argv, executable=wrapped.program, env=dict(wrapped.env), cwd=wrapped.cwd,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    await provider.end("run_test")
    await provider.clean_up()
    return done.stdout + done.stderr


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2]))))
