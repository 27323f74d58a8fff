"""A fake ACP agent: real JSON-RPC on stdio, doing what the last text of each prompt says, a JSON list of actions.

    ["say", text] ["update", {…}] ["call", method, params] ["ask", {…}] ["background", method, params]
    ["hang"] ["exit", code] ["python", code] ["linger", seconds] ["noise", text] ["half", text] ["long", megabytes]
    ["stop", reason]

In params "$session" and "$terminal" stand for the session and the last terminal. What came of each call is said as
text, `RESULT {…}`. Everything received is appended to the file FAKE_LOG, and as {"asked": …} what it asks itself.
With version 2 it speaks the draft of that version, where prompts are only acknowledged, and ["batch", [message, …]]
sends several messages at once. FAKE_OPTIONS is JSON: capabilities, info, version, auth, modes, stderr, exit, silent,
stubborn, forgetful, deaf (to the end of its input and to SIGTERM), mute (methods that it never answers), elicits
(params of an elicitation, by the method of ours during which it asks; "$id" is the id of our request).
"""

import json
import os
import queue
import signal
import sys
import threading
import time
from typing import Any

OPTIONS: dict[str, Any] = json.loads(os.environ.get("FAKE_OPTIONS", "{}"))
CONFIG: list[dict[str, Any]] = [
    {
        "type": "select",
        "id": "model",
        "name": "Model",
        "currentValue": "small",
        "options": [
            {"value": "small", "name": "Small"},
            {"group": "g", "name": "Group", "options": [{"value": "big", "name": "Big", "description": "slow"}]},
        ],
    },
    {"type": "boolean", "id": "fast", "name": "Fast", "currentValue": False},
    {"type": "from_the_future", "id": "odd", "name": "Odd", "currentValue": {}},
]
CONFIG2: list[dict[str, Any]] = [
    {
        "type": "select",
        "configId": "mode",
        "category": "mode",
        "name": "Mode",
        "currentValue": "ask",
        "options": [{"groupId": "g", "name": "All", "options": [{"value": "ask", "name": "Ask"}]}],
    }
]
TWO = OPTIONS.get("version") == 2
incoming: "queue.Queue[dict[str, Any] | None]" = queue.Queue()
answers: dict[int, "queue.Queue[dict[str, Any]]"] = {}
cancelled = threading.Event()
state: dict[str, Any] = {"session": "", "terminal": "", "signed_in": not OPTIONS.get("auth"), "deleted": []}
lock = threading.Lock()
numbers = iter(range(1000, 10**9))


def send(message: dict[str, Any]) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def record(entry: Any) -> None:
    with lock, open(os.environ["FAKE_LOG"], "a") as log:
        log.write(json.dumps(entry) + "\n")


def update(**members: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": state["session"], "update": members}})


def say(text: str) -> None:
    named = {"messageId": state.get("message", "m0")} if TWO else {}
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **named)


def filled(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("$session", state["session"]).replace("$terminal", state["terminal"])
    if isinstance(value, dict):
        return {key: filled(item) for key, item in value.items()}
    return [filled(item) for item in value] if isinstance(value, list) else value


def begin(method: str, params: dict[str, Any]) -> "queue.Queue[dict[str, Any]]":
    number = next(numbers)
    answers[number] = queue.Queue()
    record({"asked": {"id": number, "method": method}})
    send({"id": number, "method": method, "params": {"sessionId": state["session"], **filled(params)}})
    return answers[number]


def call(method: str, params: dict[str, Any]) -> None:
    answer = begin(method, params).get()
    result = answer.get("result") or {}
    if isinstance(result, dict) and "terminalId" in result:
        state["terminal"] = result["terminalId"]
    say("RESULT " + json.dumps({key: answer[key] for key in ("result", "error") if key in answer}) + "\n")


def act(id: object, blocks: list[dict[str, Any]]) -> None:
    reason = "end_turn"
    if TWO:
        state["message"] = f"m{next(numbers)}"
        send({"id": id, "result": {}})
        update(sessionUpdate="user_message", messageId=f"u{next(numbers)}", content=blocks)
        update(sessionUpdate="state_update", state="running")
    try:
        actions = json.loads(blocks[-1]["text"])
    except ValueError:
        actions = [["say", "heard: " + blocks[-1]["text"]]]
    for name, *rest in actions:
        if name == "say":
            say(rest[0])
        elif name == "update":
            update(**filled(rest[0]))
        elif name == "call":
            call(rest[0], rest[1])
        elif name == "background":
            begin(rest[0], rest[1])
        elif name == "hang":
            while not (cancelled.is_set() and not OPTIONS.get("stubborn")):
                time.sleep(0.01)
            reason = "cancelled"
        elif name == "exit":
            sys.stdout.flush()
            os._exit(rest[0])
        elif name == "linger":
            with lock:  # its output ends; it itself only a while after its input has ended
                state["linger"] = rest[0]
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return
        elif name == "python":  # what it finds out, it puts into `found`
            found: dict[str, Any] = {}
            exec(rest[0], {"found": found})
            say("RESULT " + json.dumps(found) + "\n")
        elif name == "noise":
            with lock:
                sys.stdout.write(rest[0] + "\n")
        elif name == "half":
            with lock:
                sys.stdout.write(rest[0])
        elif name == "long":
            with lock:
                for _ in range(rest[0]):
                    sys.stdout.write("x" * 1_000_000)
                sys.stdout.write("\n")
        elif name == "stop":
            reason = rest[0]
        elif name == "batch":  # of messages, each with a method and params, or anything that is none
            with lock:
                sys.stdout.write(json.dumps([filled(one) for one in rest[0]]) + "\n")
                sys.stdout.flush()
    if TWO:
        update(sessionUpdate="state_update", state="idle", stopReason=reason)
        return
    send({"id": id, "result": {"stopReason": reason, "_meta": {}}})


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    if TWO:
        return {
            "protocolVersion": 2,
            "info": OPTIONS.get("info", {"name": "fake", "version": "1"}),
            "capabilities": {"session": OPTIONS.get("capabilities", {"mcp": {"stdio": {}}})},
            "authMethods": [{"type": "agent", "methodId": OPTIONS["auth"], "name": "Sign in"}]
            if OPTIONS.get("auth")
            else [],
        }
    return {
        "protocolVersion": OPTIONS.get("version", 1),
        "agentCapabilities": OPTIONS.get("capabilities", {}),
        **({"agentInfo": OPTIONS["info"]} if "info" in OPTIONS else {}),
        "authMethods": [{"id": OPTIONS["auth"], "name": "Sign in"}] if OPTIONS.get("auth") else [],
    }


def opened(params: dict[str, Any]) -> dict[str, Any]:
    state["session"] = params.get("sessionId") or f"fake-{os.getpid()}"
    found: dict[str, Any] = {"sessionId": state["session"]}
    if TWO:
        found["configOptions"] = CONFIG2
    elif OPTIONS.get("modes"):
        found["modes"] = {"currentModeId": "ask", "availableModes": [{"id": m, "name": m} for m in OPTIONS["modes"]]}
        found["configOptions"] = CONFIG
    return found


def elicit(message: dict[str, Any], params: dict[str, Any]) -> None:
    """Ask the person something first."""
    known = {name: message["id"] if value == "$id" else value for name, value in params.items()}
    begin("elicitation/create", {"sessionId": None, **known}).get()
    serve(message)


def serve(message: dict[str, Any]) -> None:
    method, params, id = message["method"], message.get("params") or {}, message.get("id")
    if method in OPTIONS.get("mute", ()):
        return
    if asked := OPTIONS.get("elicits", {}).pop(method, None):
        threading.Thread(target=elicit, args=(message, asked), daemon=True).start()
        return
    if method == "session/cancel":
        cancelled.set()
    elif method == "session/prompt":
        cancelled.clear()
        threading.Thread(target=act, args=(id, params["prompt"]), daemon=True).start()
    elif method in ("session/new", "session/load", "session/resume"):
        if not state["signed_in"]:
            send({"id": id, "error": {"code": -32000, "message": "Authentication required"}})
        elif method != "session/new" and OPTIONS.get("forgetful"):
            send({"id": id, "error": {"code": -32002, "message": "no such session"}})
        else:
            answer = opened(params)
            if TWO and params.get("replayFrom"):
                history = {
                    "sessionUpdate": "user_message",
                    "messageId": "u1",
                    "content": [{"type": "text", "text": "old question"}],
                }
                update(**history)
                text = 'old %%OS{"cmd": "openspace.file.list"}%%answer'
                update(sessionUpdate="agent_message", messageId="a1", content=[{"type": "text", "text": text}])
            if TWO and method == "session/resume":
                answer.pop("sessionId")
            if method == "session/load":
                update(sessionUpdate="user_message_chunk", content={"type": "text", "text": "old question"})
                say('old %%OS{"cmd": "openspace.file.list"}%%answer')
                answer.pop("sessionId")
            send({"id": id, "result": answer})
    elif method == "session/close":
        send({"id": id, "result": {}})
    elif method == "session/delete":
        state["deleted"].append(params["sessionId"])
        send({"id": id, "result": {}})
    elif method in ("authenticate", "auth/login"):
        state["signed_in"] = True
        send({"id": id, "result": {}})
    elif method == "session/list":
        first = {"sessionId": "a", "cwd": "/", "title": "A chat", "updatedAt": "2026-01-01T00:00:00Z"}
        page = [first] if "cursor" not in params else [{"sessionId": "b", "cwd": "/"}]
        page = [one for one in page if one["sessionId"] not in state["deleted"]]
        send({"id": id, "result": {"sessions": page, **({} if "cursor" in params else {"nextCursor": "more"})}})
    elif method in ("session/set_mode", "session/set_config_option"):
        send({"id": id, "result": {"configOptions": CONFIG2 if TWO else CONFIG} if "config" in method else {}})
    elif method == "initialize" and not OPTIONS.get("silent"):
        send({"id": id, "result": initialize(params)})


def main() -> None:
    if OPTIONS.get("stderr"):
        sys.stderr.write(OPTIONS["stderr"] + "\n")
        sys.stderr.flush()
    if OPTIONS.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "exit" in OPTIONS:
        sys.exit(OPTIONS["exit"])
    for line in sys.stdin:
        message = json.loads(line)
        record(message)
        if isinstance(message, list):
            say("RESULT " + json.dumps({"batch": message}) + "\n")
        elif "method" in message:
            serve(message)
        elif message.get("id") in answers:
            answers[message["id"]].put(message)
    time.sleep(state.get("linger", 0))
    while OPTIONS.get("deaf"):
        time.sleep(1)


if __name__ == "__main__":
    main()
