"""The events of an agent's chat as session/update of ACP: the same that the page shows, whatever the connector.

One `SessionUpdates` follows one session for one editor. It is given events in their order, live or out of a transcript,
and returns the updates that come of each. The terminals of the workbench mean nothing to an editor: what stands in one
is told as text.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from fourhands.commands.toolset import result_text, tool_name
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Result
from fourhands.core.errors import FourhandsError
from fourhands.core.event import Event
from fourhands.core.registry import Command
from fourhands.surfaces.acp_agent.choices import options_on_wire
from fourhands.workbench.agent_options import options
from fourhands.workbench.sessions import CommandResult, Session
from fourhands.workbench.workbench import Workbench

Update = dict[str, Any]

KINDS: Final = frozenset(
    ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
)
LONGEST_OUTPUT = 32_000
"""Characters of a terminal's or a command's output in an update, from its end."""

_STEPS = 1000
_DIFFED = 1 << 20
_SHOWN_ORIGINS = ("block", "model")  # by another door the agent tells of its own step
_STATUS = {
    "pending": "pending",
    "running": "in_progress",
    "in_progress": "in_progress",
    "completed": "completed",
    "done": "completed",
    "failed": "failed",
    "error": "failed",
    "cancelled": "failed",
}
_WORDS = (
    ("execute", ("bash", "exec", "terminal", "shell", "command", "send", "run")),
    ("edit", ("edit", "write", "patch", "create")),
    ("delete", ("delete", "remove", "trash")),
    ("move", ("move", "rename")),
    ("search", ("search", "grep", "glob", "find")),
    ("read", ("read", "list", "show", "open", "view")),
    ("fetch", ("fetch", "web")),
    ("think", ("think", "plan", "todo")),
)
_WRITERS = ("openspace.file.write", "openspace.file.edit", "openspace.tool.write", "openspace.tool.edit")


class SessionUpdates:
    """The view that an editor has of a session. `terminal_text` gives what stands in a terminal; None: it is gone."""

    def __init__(self, bench: Workbench, session: Session, terminal_text: Callable[[str], str | None]) -> None:
        self._bench = bench
        self._session = session
        self._terminal_text = terminal_text
        self.mine = False
        """Set while a message of this editor is handed on, which knows it."""
        self._steps: BoundedDict[str, Update] = BoundedDict(_STEPS)
        self._terminals: BoundedDict[str, list[Any]] = BoundedDict(_STEPS)  # contents with terminals, by step
        self._before: BoundedDict[str, tuple[str, str | None]] = BoundedDict(50)  # path and text, by call
        self._takers: dict[str, Callable[[Mapping[str, Any]], list[Update]]] = {
            "agent.asked": self._asked,
            "agent.said": lambda data: _chunk("agent_message_chunk", data),
            "agent.thought": lambda data: _chunk("agent_thought_chunk", data),
            "agent.noted": lambda data: _aside(str(data.get("text", ""))),
            "agent.exited": lambda data: _aside(_sentence(data)),
            "agent.step": self._step,
            "agent.planned": _plan,
            "agent.offered": _offered,
            "agent.used": _used,
            "agent.switched": _switched,
            "agent.configured": lambda data: [
                {
                    "sessionUpdate": "config_option_update",
                    "configOptions": options_on_wire(options(data.get("options"))),
                }
            ],
            "agent.titled": lambda data: [{"sessionUpdate": "session_info_update", "title": data.get("title")}],
            "call.started": self._call_started,
            "call.finished": self._call_finished,
        }

    def of(self, event: Event) -> list[Update]:
        """Return what comes of one event of this session."""
        taker = self._takers.get(event.kind)
        return taker(event.data) if taker is not None else []

    def terminals(self) -> dict[str, list[str]]:
        """Return the terminals of steps that have not ended, by step."""
        return {
            step: [str(one["terminalId"]) for one in content if one.get("type") == "terminal"]
            for step, content in self._terminals.items()
            if self._steps.get(step, {}).get("status") not in ("completed", "failed")
        }

    def renewed(self, step: str) -> list[Update]:
        """Return the step's content as it is now, because something has happened in its terminal."""
        content = self._terminals.get(step)
        return self._changed(step, {"content": self._plain(content)}) if content is not None else []

    # -- messages ---------------------------------------------------------------------------------------------------

    def _asked(self, data: Mapping[str, Any]) -> list[Update]:
        return [] if self.mine else _chunk("user_message_chunk", data)

    # -- steps of the agent's own -----------------------------------------------------------------------------------

    def _step(self, data: Mapping[str, Any]) -> list[Update]:
        id, tool = str(data.get("stepId", "")), str(data.get("tool") or "")
        said: Update = {
            "title": str(data.get("title") or tool or "tool"),
            "kind": tool if tool in KINDS else kind_of(tool),
            "status": _STATUS.get(str(data.get("status")), "pending"),
        }
        content = [one for one in _list(data.get("content")) if _is_content(one)]
        if any(one["type"] == "terminal" for one in content):
            self._terminals[id] = content
        if not content and isinstance(output := data.get("output"), str) and output:
            content = [_text_content(output[-LONGEST_OUTPUT:])]
        if content:
            said["content"] = self._plain(content)
        if locations := [_location(one) for one in _list(data.get("locations")) if _is_location(one)]:
            said["locations"] = locations
        for ours, theirs in (("input", "rawInput"), ("output", "rawOutput")):
            if data.get(ours) is not None:
                said[theirs] = data[ours]
        return self._changed(id, said)

    def _changed(self, id: str, said: Update) -> list[Update]:
        before = self._steps.get(id)
        new = {name: value for name, value in said.items() if before is None or before.get(name) != value}
        self._steps[id] = {**(before or {}), **said}
        if not new:
            return []
        kind = "tool_call" if before is None else "tool_call_update"
        return [{"sessionUpdate": kind, "toolCallId": id, **new}]

    def _plain(self, content: list[Any]) -> list[Update]:
        """Return contents with what stands in a terminal as text."""
        told = []
        for one in content:
            if one["type"] != "terminal":
                told.append(one)
            elif (text := self._terminal_text(str(one.get("terminalId")))) is not None:
                told.append(_text_content(fenced(text)))
        return told

    # -- commands of the workbench ----------------------------------------------------------------------------------

    def _call_started(self, data: Mapping[str, Any]) -> list[Update]:
        id = str(data.get("callId") or "")
        if data.get("origin") not in _SHOWN_ORIGINS or not id:
            return []
        path = self._path(data)
        if path and data.get("command") in _WRITERS:
            self._before[id] = path, self._file_text(path)
        return self._changed(id, {**self._about(data), "status": "in_progress"})

    def _call_finished(self, data: Mapping[str, Any]) -> list[Update]:
        if data.get("origin", "block") not in _SHOWN_ORIGINS:  # a block that could not be read never was a call
            return []
        id = str(data.get("callId") or f"unread-{len(self._steps)}")
        said = {**self._about(data), "status": "completed" if data.get("ok") else "failed"}
        path, before = self._before.pop(id, ("", None))
        if data.get("ok") and path and (after := self._file_text(path)) is not None:
            said["content"] = [{"type": "diff", "path": path, "oldText": before, "newText": after}]
        elif text := self._outcome(data):
            said["content"] = [_text_content(fenced(text[-LONGEST_OUTPUT:]))]
        return self._changed(id, said)

    def _about(self, data: Mapping[str, Any]) -> Update:
        id = str(data.get("command", ""))
        args = data.get("args") if isinstance(data.get("args"), dict) else {}
        command, name = self._command(id), tool_name(id)
        about: Update = {"title": _title(command, name, args or {}), "kind": kind_of(name), "rawInput": args}
        if path := self._path(data):
            about["locations"] = [{"path": path}]
        return about

    def _command(self, id: str) -> Command | None:
        return self._bench.registry.get(id) if id in self._bench.registry else None

    def _path(self, data: Mapping[str, Any]) -> str:
        args = data.get("args")
        path = args.get("path") if isinstance(args, dict) else None
        return os.path.normpath(os.path.join(self._bench.root, path)) if isinstance(path, str) and path else ""

    def _file_text(self, path: str) -> str | None:
        """Return a small file's text, for a diff; None where there is none to show."""
        files = self._bench.files(self._session.actor)
        try:
            data = files.held(path) if files.stat(path).size <= _DIFFED else None
            return data.decode() if data is not None else None
        except (FourhandsError, OSError, UnicodeDecodeError):
            return None

    def _outcome(self, data: Mapping[str, Any]) -> str:
        """Return the text that the agent reads of it, as far as it is still known."""
        found = next((one for one in reversed(self._session.results) if one.call_id == data.get("callId")), None)
        if not data.get("ok"):
            return str(data.get("error") or (found.error if found else "") or "")
        return _words_of(self._command(str(data.get("command", ""))), found) if found is not None else ""


def kind_of(tool: str) -> str:
    """Return ACP's kind of a tool by its name."""
    words = tool.lower().replace("openspace", "")
    return next((kind for kind, parts in _WORDS if any(part in words for part in parts)), "other")


def fenced(text: str) -> str:
    """Return output as a code block of Markdown, whatever stands in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _words_of(command: Command | None, found: CommandResult) -> str:
    return result_text(command, Result(success=True, data=found.data or {})) if found.data else ""


def _title(command: Command | None, name: str, args: Mapping[str, Any]) -> str:
    about = next((args[key] for key in ("command", "text", "path", "query", "title") if args.get(key)), "")
    label = command.label if command is not None and command.label else name
    return f"{label}: {str(about).strip()[:200]}" if about else label


def _chunk(kind: str, data: Mapping[str, Any]) -> list[Update]:
    text = data.get("text")
    if not isinstance(text, str) or not text:
        return []
    told: Update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    if id := data.get("messageId"):
        told["messageId"] = str(id)
    return [told]


def _aside(text: str) -> list[Update]:
    return _chunk("agent_message_chunk", {"text": f"\n*{text}*\n"}) if text else []


def _sentence(data: Mapping[str, Any]) -> str:
    return " ".join(str(data[name]) for name in ("error", "hint") if data.get(name))


def _plan(data: Mapping[str, Any]) -> list[Update]:
    entries = [
        {
            "content": str(one.get("content", "")),
            "priority": _one_of(one.get("priority"), ("high", "medium", "low"), "medium"),
            "status": _one_of(one.get("status"), ("pending", "in_progress", "completed"), "pending"),
        }
        for one in _list(data.get("entries"))
    ]
    return [{"sessionUpdate": "plan", "entries": entries}]


def _offered(data: Mapping[str, Any]) -> list[Update]:
    commands = [
        {
            "name": one["name"],
            "description": str(one.get("description") or ""),
            **({"input": {"hint": one["input"]["hint"]}} if _has_hint(one.get("input")) else {}),
        }
        for one in _list(data.get("commands"))
        if isinstance(one.get("name"), str)
    ]
    return [{"sessionUpdate": "available_commands_update", "availableCommands": commands}]


def _has_hint(given: object) -> bool:
    return isinstance(given, dict) and isinstance(given.get("hint"), str)


def _used(data: Mapping[str, Any]) -> list[Update]:
    used, size, cost = data.get("used"), data.get("size"), data.get("cost")
    if not _is_count(used) or not _is_count(size):
        return []
    told: Update = {"sessionUpdate": "usage_update", "used": used, "size": size}
    if isinstance(cost, dict) and isinstance(cost.get("amount"), int | float) and cost.get("currency"):
        told["cost"] = {"amount": cost["amount"], "currency": str(cost["currency"])}
    return [told]


def _switched(data: Mapping[str, Any]) -> list[Update]:
    mode = data.get("mode")
    return [{"sessionUpdate": "current_mode_update", "currentModeId": mode}] if isinstance(mode, str) and mode else []


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _one_of(value: object, known: tuple[str, ...], otherwise: str) -> str:
    return value if isinstance(value, str) and value in known else otherwise


def _list(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _is_content(one: Mapping[str, Any]) -> bool:
    match one.get("type"):
        case "content":
            return isinstance(one.get("content"), dict)
        case "diff":
            return isinstance(one.get("path"), str) and isinstance(one.get("newText"), str)
        case kind:
            return kind == "terminal"


def _is_location(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("path"), str) and bool(one["path"])


def _location(one: Mapping[str, Any]) -> Update:
    line = one.get("line")
    return {"path": one["path"], **({"line": line} if _is_count(line) else {})}


def _text_content(text: str) -> Update:
    return {"type": "content", "content": {"type": "text", "text": text}}
