"""The page's files as a browser gets them."""

import base64
import gzip
import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from fourhands.surfaces.http import access
from fourhands.surfaces.http.static import FOR_EVER, Page

SCRIPT = b"console.log('hello');\n" * 200


@pytest.fixture
def packed() -> list[bytes]:
    """What was packed so far."""
    return []


@pytest.fixture
def client(tmp_path: Path, packed: list[bytes]) -> httpx.AsyncClient:
    def compress(data: bytes, level: int) -> bytes:
        packed.append(data)
        return gzip.compress(data, level)

    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "assets" / "main-abc.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "small-abc.js").write_bytes(b"1")
    app = Starlette(routes=[Mount("/", Page(tmp_path, compress))])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page")


async def test_a_file_with_a_hash_is_packed_once_and_kept_for_ever(
    client: httpx.AsyncClient, packed: list[bytes]
) -> None:
    for _ in range(3):
        answer = await client.get("/assets/main-abc.js")
        assert (answer.content, answer.headers["content-encoding"]) == (SCRIPT, "gzip")
        assert (answer.headers["cache-control"], answer.headers["vary"]) == (FOR_EVER, "accept-encoding")
        assert "javascript" in answer.headers["content-type"]
    assert packed == [SCRIPT]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/assets/main-abc.js", {"accept-encoding": "identity"}),
        ("/assets/main-abc.js", {"range": "bytes=0-9"}),
        ("/assets/small-abc.js", {}),
        ("/", {}),
    ],
)
async def test_what_need_not_be_packed_is_sent_as_it_is(
    client: httpx.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    answer = await client.get(path, headers=headers)
    assert answer.status_code in (200, 206)
    assert "content-encoding" not in answer.headers
    assert path != "/" or answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/index.html", "/assets/main-abc.js", "/assets/small-abc.js"])
async def test_what_the_browser_has_is_not_sent_again(client: httpx.AsyncClient, path: str) -> None:
    first = await client.get(path)
    for _ in range(2):
        again = await client.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_a_page_that_was_built_anew_is_sent_by_a_server_that_runs(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    first = await client.get("/")
    (tmp_path / "index.html").write_text("<!doctype html><p>new")
    second = await client.get("/", headers={"if-none-match": first.headers["etag"]})
    assert (second.status_code, second.text) == (200, "<!doctype html><p>new")


async def test_the_digest_of_the_script_inside_is_left_for_the_policy(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<script>begin();</script><script src=/assets/a.js></script>")
    page = Page(tmp_path)
    for headers in ([], [(b"if-none-match", (await page.get_response(".", _scope([]))).headers["etag"].encode())]):
        scope = _scope(headers)
        await page.get_response(".", scope)
        digest = base64.b64encode(hashlib.sha256(b"begin();").digest())
        assert scope["state"] == {access.SCRIPT: b"sha256-" + digest}


def _scope(headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": "/", "headers": headers}
