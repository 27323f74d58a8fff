"""ACP's messages as the official schema has them, and golden files of those that we send.

A golden file is one message per line, with what differs from run to run named instead: paths, ids, versions, tokens.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from acp import schema
from pydantic import TypeAdapter

import fourhands

GOLDEN = Path(__file__).parent.parent / "golden" / "acp"
Message = dict[str, Any]

REQUESTS: dict[str, Any] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/list": schema.ListSessionsRequest,
    "session/close": schema.CloseSessionRequest,
    "session/delete": schema.DeleteSessionRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest
    | schema.SetSessionConfigOptionBooleanRequest,
    "session/request_permission": schema.RequestPermissionRequest,
    "$/cancel_request": schema.CancelRequestNotification,
}
RESULTS: dict[str, Any] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/close": schema.CloseSessionResponse,
    "session/request_permission": schema.RequestPermissionResponse,
    "elicitation/create": schema.AcceptElicitationResponse
    | schema.DeclineElicitationResponse
    | schema.CancelElicitationResponse,
    "fs/read_text_file": schema.ReadTextFileResponse,
    "fs/write_text_file": schema.WriteTextFileResponse,
    "terminal/create": schema.CreateTerminalResponse,
    "terminal/output": schema.TerminalOutputResponse,
    "terminal/wait_for_exit": schema.WaitForTerminalExitResponse,
    "terminal/kill": schema.KillTerminalResponse,
    "terminal/release": schema.ReleaseTerminalResponse,
}
_ULID = re.compile(r"\b([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}\b")


def check(message: Message, asked: Mapping[object, str]) -> None:
    """Hold a message that we sent to the schema; `asked` has the methods of the other side's requests, by id."""
    assert message["jsonrpc"] == "2.0"
    assert len({"method", "result", "error"} & set(message)) == 1, message
    if "method" in message:
        _validate(REQUESTS[message["method"]], message["params"])
        assert ("id" in message) is (message["method"] not in ("session/cancel", "$/cancel_request"))
    elif "error" in message:
        schema.Error.model_validate(message["error"])
    elif message["result"] is not None:
        _validate(RESULTS[asked[message["id"]]], message["result"])


def _validate(model: Any, value: object) -> None:
    TypeAdapter(model).validate_python(value)


def same_as_golden(name: str, messages: Iterable[Message], names: Mapping[str, str]) -> None:
    """Compare messages with a golden file; `names` says what stands there for a text. A missing file is written."""
    lines = [json.dumps(_lasting(message), ensure_ascii=False, sort_keys=True) for message in messages]
    text = "\n".join(lines) + "\n"
    for found, shown in {**names, fourhands.__version__: "VERSION"}.items():
        text = text.replace(found, shown)
    text = _ULID.sub(r"\1_ULID", text)
    path = GOLDEN / f"{name}.jsonl"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        raise AssertionError(f"{path.name} was not there; it is written now: read it")
    assert text.splitlines() == path.read_text().splitlines()


def _lasting(message: Message) -> Message:
    """A message without the words of its error: those are for people, and may get better."""
    if "error" not in message:
        return message
    told = message["error"]
    return {**message, "error": {"code": told["code"], "data": {"code": (told.get("data") or {}).get("code")}}}
