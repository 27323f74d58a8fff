"""Errors of the proxy itself, in the form of the interface that the agent speaks, and marked as ours.

An agent, and the person who reads its log, must be able to tell whether the model's server refused or we did.
"""

import json
import math

KIND = "fourhands_proxy_error"
MARK = (b"x-fourhands", b"proxy")

_GEMINI = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class ProxyError(Exception):
    """We refuse, or could not reach the model's server."""

    def __init__(self, status: int, message: str, hint: str = "", *, wait_s: float = 0.0) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.status = status
        self.wait_s = wait_s

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of the answer."""
        headers = [(b"content-type", b"application/json"), MARK]
        if self.wait_s:
            headers.append((b"retry-after", str(math.ceil(self.wait_s)).encode()))
        return headers

    def body(self, family: str) -> bytes:
        """Return the answer's body for this family of interfaces."""
        text = f"Fourhands: {self}"
        error: dict[str, object]
        if family == "anthropic":
            error = {"type": "error", "error": {"type": KIND, "message": text}}
        elif family == "gemini":
            status = _GEMINI.get(self.status, "INTERNAL")
            error = {"error": {"code": self.status, "message": text, "status": status, "type": KIND}}
        else:
            error = {"error": {"message": text, "type": KIND, "param": None, "code": KIND}}
        return json.dumps(error, ensure_ascii=False).encode("utf-8", "replace")
