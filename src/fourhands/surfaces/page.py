"""The built front end: names with a hash never change and are packed once, everything else is asked for again."""

import asyncio
import gzip
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

FOR_EVER = "public, max-age=31536000, immutable"

_SMALL = 1024
_PACKED_TYPES = ("text/", "application/javascript", "application/json", "image/svg", "font/ttf")


class Page(StaticFiles):
    """The page's files. Packing one takes longer than sending it, so it is kept packed: a few megabytes."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory, html=True)
        self._packed: dict[str, bytes] = {}

    async def get_response(self, path: str, scope: Any) -> Response:
        """One file."""
        response = await super().get_response(path, scope)
        fixed = path.startswith("assets/") and response.status_code == 200
        response.headers["cache-control"] = FOR_EVER if fixed else "no-cache"
        if not fixed or not isinstance(response, FileResponse) or not _may_be_packed(response, Headers(scope=scope)):
            return response
        if path not in self._packed:
            self._packed[path] = await asyncio.to_thread(lambda: gzip.compress(Path(response.path).read_bytes(), 9))
        headers = {name: value for name, value in response.headers.items() if name != "content-length"}
        return Response(self._packed[path], headers={**headers, "content-encoding": "gzip", "vary": "accept-encoding"})


def _may_be_packed(response: FileResponse, asked: Headers) -> bool:
    return (
        "gzip" in asked.get("accept-encoding", "")
        and "range" not in asked
        and int(response.headers.get("content-length", "0")) >= _SMALL
        and response.headers.get("content-type", "").startswith(_PACKED_TYPES)
    )
