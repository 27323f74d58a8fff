"""The built front end, from memory: names with a hash never change and are packed once, the rest is asked for again."""

import asyncio
import base64
import gzip
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles

from fourhands.surfaces.http.access import SCRIPT

FOR_EVER = "public, max-age=31536000, immutable"

_SMALL = 1024
_PACKED_TYPES = ("text/", "application/javascript", "application/json", "image/svg", "font/ttf")
_INSIDE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class Page(StaticFiles):
    """The page's files. Packing one takes longer than sending it, so it is kept packed: a few megabytes."""

    def __init__(self, directory: Path, compress: Callable[[bytes, int], bytes] = gzip.compress) -> None:
        super().__init__(directory=directory, html=True)
        self._compress = compress
        self._start = _Start(directory / "index.html")
        self._packed: dict[str, tuple[bytes, dict[str, str]]] = {}

    async def get_response(self, path: str, scope: Any) -> Response:
        """One file."""
        asked = Headers(scope=scope)
        if path in (".", "index.html"):
            response = self._start.response()
            scope.setdefault("state", {})[SCRIPT] = self._start.digest
            return _unless_known(response, asked)
        may_pack = "gzip" in asked.get("accept-encoding", "") and "range" not in asked
        if may_pack and path in self._packed:
            return self._from_memory(path, asked)
        response = await super().get_response(path, scope)
        fixed = path.startswith("assets/") and response.status_code == 200
        response.headers["cache-control"] = FOR_EVER if fixed else "no-cache"
        if not may_pack or not fixed or not isinstance(response, FileResponse) or not _worth_packing(response):
            return response
        packed = await asyncio.to_thread(lambda: self._compress(Path(response.path).read_bytes(), 9))
        headers = {name: value for name, value in response.headers.items() if name != "content-length"}
        self._packed[path] = packed, {**headers, "content-encoding": "gzip", "vary": "accept-encoding"}
        return self._from_memory(path, asked)

    def _from_memory(self, path: str, asked: Headers) -> Response:
        body, headers = self._packed[path]
        return _unless_known(Response(body, headers=headers), asked)


class _Start:
    """The file that a visit begins with, read again when it was built anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._body = b""
        self.digest = b""
        """Of the script that is written into it, as the policy names it."""

    def response(self) -> Response:
        """Return the file as it is now."""
        stat = self._path.stat()
        if self._seen != (stat.st_mtime_ns, stat.st_size):
            self._body = self._path.read_bytes()
            self._seen = stat.st_mtime_ns, stat.st_size
            inside = _INSIDE.search(self._body)
            self.digest = _digest(inside[1]) if inside else b""
        headers = {"cache-control": "no-cache", "etag": f'"{hashlib.sha256(self._body).hexdigest()[:32]}"'}
        return Response(self._body, media_type="text/html", headers=headers)


def _digest(script: bytes) -> bytes:
    return b"sha256-" + base64.b64encode(hashlib.sha256(script).digest())


def _unless_known(response: Response, asked: Headers) -> Response:
    known = asked.get("if-none-match", "")
    return NotModifiedResponse(response.headers) if response.headers["etag"] in known else response


def _worth_packing(response: FileResponse) -> bool:
    return int(response.headers.get("content-length", "0")) >= _SMALL and response.headers.get(
        "content-type", ""
    ).startswith(_PACKED_TYPES)
