"""The HTTP part as OpenAPI 3.1: one path per command, made from the registry, and the few paths beside them.

Left out is what has a standard of its own: WebSockets, `/mcp`, and the models' interfaces behind `/v1` and `/v1beta`.
"""

from fourhands import __version__
from fourhands.agents.briefing.external import PostedManifest, PostedResult, PostedState
from fourhands.core import schema
from fourhands.core.registry import Command, Registry
from fourhands.core.schema import JsonSchema

_SCHEMAS = "/components/schemas"
_TEXT: JsonSchema = {"type": "string"}

_FAILURE: JsonSchema = {
    "type": "object",
    "required": ["success", "error", "code", "hint"],
    "properties": {
        "success": {"const": False},
        "error": {"type": "string"},
        "code": {"type": "string"},
        "hint": {"type": "string"},
        "data": {"type": "object"},
    },
}


def openapi(registry: Registry) -> JsonSchema:
    """Return the document."""
    types = [kind for command in registry for kind in (command.args_type, command.result_type) if kind is not None]
    references, parts = schema.components([*types, PostedManifest, PostedState, PostedResult], _SCHEMAS)
    paths: JsonSchema = {f"/api/commands/{command.id}": {"post": _command(command, references)} for command in registry}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fourhands", "version": __version__},
        "security": [{"bearer": []}],
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {**parts, "Failure": _FAILURE},
        },
        "paths": paths | _others(references),
    }


def _others(references: dict[type, JsonSchema]) -> JsonSchema:
    health = _operation(
        "health",
        "Whether the server and the host of its terminals are up; 503 with the same body where the host is not.",
        _json(_object(status=_TEXT, version=_TEXT, host=_TEXT)),
    )
    browser = _operation(
        "browser", "Exchange a one-time code for a browser's cookie and key.", _json(_success(key=_TEXT)),
        body=_object(code=_TEXT),
    )  # fmt: skip
    name: JsonSchema = {"type": "string", "minLength": 1, "maxLength": 60}
    agent: JsonSchema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": name,
            "forms": {"type": "boolean", "default": False},
            "cwd": {"type": ["string", "null"], "default": None},
        },
        "additionalProperties": False,
    }
    wait: JsonSchema = {"type": "integer", "minimum": 0, "maximum": 60, "default": 0}
    return {
        "/health": {"get": {**health, "security": []}},
        "/metrics": {"get": _operation("metrics", "What the server does, in Prometheus' form.", _text("text/plain"))},
        "/api/openapi.json": {"get": _operation("document", "This document.", _json({"type": "object"}))},
        "/api/browser": {"post": {**browser, "security": []}},
        "/api/code": {"post": _operation("code", "A fresh one-time code.", _json(_success(code=_TEXT)))},
        "/api/agents": {
            "post": _operation(
                "agents",
                "Begin an agent's session and return its token.",
                _json(_success(sessionId=_TEXT, token=_TEXT)),
                body=agent,
            )
        },
        "/openspace/manifest": {
            "get": _operation("manifest", "Every command with its argument schema.", _json({"type": "object"})),
            "post": _posted("manifest", "Announce commands of a part outside the server.", references[PostedManifest]),
            "delete": {
                **_operation(
                    "take-back",
                    "Take announced commands back: those that `id` names, or all.",
                    _json(_success(commands={"type": "array", "items": _TEXT})),
                ),
                "parameters": [{"name": "id", "in": "query", "schema": {"type": "array", "items": _TEXT}}],
            },
        },
        "/openspace/command-requests": {
            "get": {
                **_operation(
                    "command-requests",
                    "The calls of announced commands that wait for their answers; waits for one where there is none.",
                    _json(_success(requests={"type": "array", "items": {"type": "object"}})),
                ),
                "parameters": [{"name": "waitSeconds", "in": "query", "schema": wait}],
            }
        },
        "/openspace/state": {
            "post": _posted("state", "Tell the panes of a part outside the server.", references[PostedState])
        },
        "/openspace/command-results": {
            "post": _posted(
                "results", "Answer a call, or tell what came of a command outside.", references[PostedResult]
            )
        },
        "/openspace/instructions": {
            "get": {
                **_operation(
                    "instructions",
                    "What a model is told: commands, state, examples, recent results.",
                    _text("text/markdown"),
                ),
                "parameters": [{"name": "sessionId", "in": "query", "schema": _TEXT}],
            }
        },
        "/openspace/chats": {
            "get": _operation("chats", "Each agent's chat, as the events that made it.", _json({"type": "object"}))
        },
        "/openspace/first": {"get": _operation("first", "What a page shows first.", _json({"type": "object"}))},
    }


def _command(command: Command, references: dict[type, JsonSchema]) -> JsonSchema:
    result = [references[command.result_type]] if command.result_type is not None else []
    return {
        **_operation(command.id, command.label, _json({"allOf": [_success(), *result]})),
        "description": command.description,
        "tags": [command.category],
        "requestBody": {
            "required": command.args_type is not None,
            "content": {
                "application/json": {
                    "schema": schema.schema(None) if command.args_type is None else references[command.args_type]
                }
            },
        },
    }


def _posted(name: str, summary: str, body: JsonSchema) -> JsonSchema:
    return _operation(f"post-{name}", summary, _json(_success()), body=body)


def _operation(name: str, summary: str, answer: JsonSchema, *, body: JsonSchema | None = None) -> JsonSchema:
    operation: JsonSchema = {"operationId": name, "summary": summary}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return {**operation, "responses": {"200": {"description": "What came of it.", **answer}, **_refusals()}}


def _refusals() -> JsonSchema:
    words = {
        "400": "The body is not a JSON object, or the arguments are wrong.",
        "401": "No valid token.",
        "403": "Refused by access control, by policy or by a person.",
        "404": "There is no such command, or what it names does not exist.",
        "408": "The body did not come in time.",
        "409": "Someone else changed or holds it, it was stopped, or a name is ambiguous.",
        "413": "Too large.",
        "421": "Unknown host.",
        "429": "A limit is reached.",
        "499": "The client had gone.",
        "500": "A fault of ours; the log has the details.",
        "501": "It cannot be done here as things are set up: trying again is no use.",
        "502": "The program outside that runs this command says that it failed.",
        "503": "Something that it needs is not available at the moment, or no one answered.",
        "504": "A deadline passed.",
    }
    failure = _json({"$ref": f"#{_SCHEMAS}/Failure"})
    return {status: {"description": text, **failure} for status, text in words.items()}


def _success(**members: JsonSchema) -> JsonSchema:
    return _object(success={"const": True}, **members)


def _object(**members: JsonSchema) -> JsonSchema:
    return {"type": "object", "required": list(members), "properties": members}


def _json(body: JsonSchema) -> JsonSchema:
    return {"content": {"application/json": {"schema": body}}}


def _text(kind: str) -> JsonSchema:
    return {"content": {kind: {"schema": _TEXT}}}
