"""Tasks in the forms of both generations: a utility of the older one, an extension of the newer one.

They differ in more than names: in the older one a tool's error is a failed task, and results are fetched by a request
of their own; in the newer one only an error of the protocol would be, and the result stands in the task.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import (
    HEADER_MISMATCH,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    RequestParams,
    ServerTasksCapability,
    ServerTasksRequestsCapability,
    Task,
    TasksCallCapability,
    TasksCancelCapability,
    TasksListCapability,
    TasksToolsCapability,
)
from mcp_types import methods as spec
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from fourhands.surfaces.mcp.elicitation import elicitation
from fourhands.surfaces.mcp.kept_tasks import UTILITY_VERSION, KeptTask, Payload
from fourhands.surfaces.mcp.sdk import Context

EXTENSION = "io.modelcontextprotocol/tasks"
"""The name of the extension in the newer generation."""

RELATED = "io.modelcontextprotocol/related-task"
"""The member of `_meta` by which messages of the older generation name their task."""

IMMEDIATE = "io.modelcontextprotocol/model-immediate-response"
"""The member of `_meta` with what a model may be told at once."""

CAPABILITY = ServerTasksCapability(
    list=TasksListCapability(),
    cancel=TasksCancelCapability(),
    requests=ServerTasksRequestsCapability(tools=TasksToolsCapability(call=TasksCallCapability())),
)


class TaskParams(RequestParams):
    """Parameters of a request about one task."""

    task_id: str


class TaskUpdateParams(TaskParams):
    """Answers to what a task asks, by the ids of the questions; those of others are passed over."""

    input_responses: dict[str, Any]


def is_modern(context: Context) -> bool:
    """Return True for a request of the newer generation."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def has_utility(context: Context) -> bool:
    """Return True for a request of the revision that has tasks as a utility."""
    return context.protocol_version == UTILITY_VERSION


def has_extension(context: Context) -> bool:
    """Return True if the client of a request takes tasks in the newer generation, which it says each time."""
    known = context.session.client_capabilities
    return is_modern(context) and known is not None and EXTENSION in (known.extensions or {})


def require_extension(context: Context) -> None:
    """Raise the protocol's error for a client that has not said it takes tasks."""
    if not has_extension(context):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            "Missing required client capability",
            {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
        )


def check_header(context: Context, id: str) -> None:
    """Raise the protocol's error where a request over HTTP is routed by another task than it is about."""
    if context.request is None:
        return
    given = context.request.headers.get(MCP_NAME_HEADER)
    if decode_header_value(given) != id:
        told = "is missing" if given is None else f"{given[:100]!r} is not the taskId of the body"
        raise MCPError(HEADER_MISMATCH, f"Header mismatch: Mcp-Name {told}")


def related(id: str) -> dict[str, Any]:
    """Return the `_meta` of a message that is about a task."""
    return {RELATED: {"taskId": id}}


def utility_task(task: KeptTask) -> Task:
    """Return a task in the form of the older generation."""
    return Task(
        task_id=task.id,
        status=task.state,
        status_message=task.said or None,
        created_at=_time(task.created),
        last_updated_at=_time(task.updated),
        ttl=round(task.ttl_s * 1000),
        poll_interval=None if task.final else round(task.poll_s * 1000),
    )


def extension_task(task: KeptTask) -> dict[str, Any]:
    """Return a task in the form of the newer generation, as it is told without its contents."""
    state = "completed" if task.state == "failed" else task.state
    if state == "input_required" and not task.open:
        state = "working"  # the person is asked, but not by this client
    said = task.said if state != "completed" else ""
    return {
        "taskId": task.id,
        "status": state,
        **({"statusMessage": said} if said else {}),
        "createdAt": _time(task.created),
        "lastUpdatedAt": _time(task.updated),
        "ttlMs": round(task.ttl_s * 1000),
        **({} if task.final else {"pollIntervalMs": round(task.poll_s * 1000)}),
    }


def detailed(task: KeptTask, version: str) -> dict[str, Any]:
    """Return a task in the form of the newer generation with what it asks, or with its result."""
    told = extension_task(task)
    if told["status"] == "input_required":
        asked = {id: elicitation(question) for id, question in task.open.items()}
        told["inputRequests"] = {
            id: one.model_dump(by_alias=True, mode="json", exclude_none=True) for id, one in asked.items()
        }
    elif told["status"] == "completed" and task.payload is not None:
        told["result"] = as_sent(task.payload, version)
    return told


def as_sent(payload: Mapping[str, object], version: str) -> Payload:
    """Return a tool's result exactly as the call itself would have been answered in a revision of the protocol."""
    return spec.serialize_server_result("tools/call", version, payload)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
