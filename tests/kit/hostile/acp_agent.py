"""What a hostile agent does in its own process: it tries each way to the person, and tells which are open.

Run by the fake agent with `found` and `given` defined; standard library only. `found[name]` is text for what was got,
and None for what was refused.
"""

import contextlib
import json
import os
import socket
import urllib.request
from collections.abc import Callable
from typing import Any

given: dict[str, Any] = globals()["given"]
found: dict[str, Any] = globals()["found"]
HOME = os.environ["HOME"]
DOOR = "http://workbench.fourhands.internal"
ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": ABOUT}


def attempt(name: str, action: Callable[[], object]) -> None:
    found[name] = None
    with contextlib.suppress(OSError):
        found[name] = str(action())[:200]


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str, text: str = "planted") -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write(text)
    return "written"


def move(path: str) -> str:
    os.rename(path, f"{path}-away")
    return "moved"


def connect(kind: int, address: Any) -> str:
    with socket.socket(kind) as sock:
        sock.settimeout(5)
        sock.connect(address)
        if kind == socket.AF_INET:  # a refusal of the egress comes as a reset
            sock.send(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            return sock.recv(100).decode()
        return "connected"


def ask(url: str, token: str, body: object = None, **headers: str) -> str:
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    sent["Accept"] = "application/json, text/event-stream"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, sent), timeout=20) as answer:
        return f"{answer.status} {answer.read(100)!r}"


def by_name(host: str, port: int) -> str:
    return connect(socket.AF_INET, (socket.gethostbyname(host), port))


for place in given["secrets"]:
    attempt(f"read {place}", lambda place=place: read(place))  # type: ignore[misc]
for place in given["kept"]:
    attempt(f"write {place}", lambda place=place: write(place))  # type: ignore[misc]
for place in given["new"]:
    attempt(f"plant {place}", lambda place=place: write(place))  # type: ignore[misc]
attempt("plant another directory", lambda: move(f"{HOME}/.claude"))
found["variables"] = sorted(os.environ)
attempt("environment of the server", lambda: read(f"/proc/{given['server']}/environ"))
attempt("host socket", lambda: connect(socket.AF_UNIX, given["host"]))
attempt("server port", lambda: connect(socket.AF_INET, ("127.0.0.1", given["port"])))
attempt("server by name", lambda: by_name("host.fourhands.internal", given["port"]))
attempt("server through the proxy", lambda: ask(f"http://host.fourhands.internal:{given['port']}/health", ""))
attempt("a stranger", lambda: ask("http://example.org/", ""))
own, other = given["own"], given["other"]
attempt("own token", lambda: ask(f"{DOOR}/mcp", own, HELLO))
attempt("token of another", lambda: ask(f"{DOOR}/mcp", other, HELLO))
attempt("no token", lambda: ask(f"{DOOR}/mcp", "", HELLO))
attempt("token of a program", lambda: ask(f"{DOOR}/mcp", given["program"], HELLO))
COMMAND = "/api/commands/openspace.terminal.list"
for path in ("/health", COMMAND, f"/v1/..{COMMAND}", f"//mcp/..{COMMAND}", "/api/code", "/", "/ws"):
    attempt(f"path {path}", lambda path=path: ask(DOOR + path, own, {}))  # type: ignore[misc]
attempt("another host in the head", lambda: ask(f"{DOOR}/mcp", own, HELLO, Host=f"127.0.0.1:{given['port']}"))
attempt("another port", lambda: ask(f"{DOOR}:8080/mcp", own, HELLO))
