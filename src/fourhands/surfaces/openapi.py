"""The HTTP part as OpenAPI 3.1, made from the registry: one path per command."""

from fourhands import __version__
from fourhands.core import schema
from fourhands.core.registry import Command, Registry

_FAILURE: dict[str, object] = {
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


def openapi(registry: Registry) -> dict[str, object]:
    """The document."""
    paths: dict[str, object] = {f"/api/commands/{command.id}": {"post": _operation(command)} for command in registry}
    paths["/health"] = {
        "get": {
            "operationId": "health",
            "security": [],
            "responses": {"200": _json("The server is up.", {"type": "object"})},
        }
    }
    paths["/openspace/manifest"] = {"get": _get("manifest", "Every command with its argument schema.")}
    markdown: dict[str, object] = {"content": {"text/markdown": {"schema": {"type": "string"}}}, "description": "Text."}
    paths["/openspace/instructions"] = {
        "get": {
            "operationId": "instructions",
            "summary": "What a model is told: commands, state, examples, recent results.",
            "parameters": [{"name": "sessionId", "in": "query", "schema": {"type": "string"}}],
            "responses": _refusals() | {"200": markdown},
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fourhands", "version": __version__},
        "security": [{"bearer": []}],
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _operation(command: Command) -> dict[str, object]:
    return {
        "operationId": command.id,
        "summary": command.label,
        "description": command.description,
        "tags": [command.category],
        "requestBody": {
            "required": command.args_type is not None,
            "content": {"application/json": {"schema": schema.schema(command.args_type)}},
        },
        "responses": {
            "200": _json("What came of it.", {"type": "object", "required": ["success"]}),
            **_refusals(),
        },
    }


def _get(name: str, summary: str) -> dict[str, object]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": _json(summary, {"type": "object"}), **_refusals()},
    }


def _refusals() -> dict[str, object]:
    words = {
        "400": "The body is not a JSON object, or the arguments are wrong.",
        "401": "No valid token.",
        "403": "Refused, by the door, by policy or by a person.",
        "404": "There is no such command, or what it names does not exist.",
        "408": "The body did not come in time.",
        "409": "Somebody else changed or holds it, it was stopped, or a name is ambiguous.",
        "413": "Too large.",
        "421": "This server is not called that.",
        "429": "A limit is reached.",
        "499": "The client had gone.",
        "500": "A fault of ours; the log has the details.",
        "503": "Something that it needs is not there, or nobody answered.",
        "504": "A deadline passed.",
    }
    return {status: _json(text, _FAILURE) for status, text in words.items()}


def _json(description: str, body: dict[str, object]) -> dict[str, object]:
    return {"description": description, "content": {"application/json": {"schema": body}}}
