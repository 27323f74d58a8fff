"""Package registries on loopback, for pip, npm, cargo and go; each of them has `frob`."""

import base64
import contextlib
import functools
import hashlib
import http.server
import io
import json
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.kit.isolation import refuse
from tests.kit.wheels import stock_python

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "init.defaultBranch=main")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def registries(root: Path, name: str) -> Iterator[str]:
    """Serve them from a directory on a free port of 127.0.0.1; `name` is what clients call this machine."""
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://{name}:{server.server_port}"
        _pip(root)
        _npm(root, url)
        _cargo(root, url)
        _go(root)
        thread = threading.Thread(target=server.serve_forever, name="registries")
        thread.start()
        try:
            yield url
        finally:
            server.shutdown()
            thread.join()


def add_wheels(root: Path, *wanted: str) -> None:
    """Add real packages to the index for pip, fetched with the settings of whoever runs the tests."""
    pip = [stock_python(), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    done = subprocess.run([*pip, "-d", str(root / "wheels"), *wanted], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        refuse(f"the packages cannot be fetched: {done.stderr[-500:]}")
    for wheel in (root / "wheels").glob("*.whl"):
        _list(root, wheel)


def _list(root: Path, wheel: Path) -> None:
    folder = root / "simple" / wheel.name.partition("-")[0].lower().replace("_", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(f'<a href="/wheels/{wheel.name}">{wheel.name}</a>')


def _pip(root: Path) -> None:
    wheel = root / "wheels" / "frob-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("frob.py", "answer = 42\n")
        archive.writestr("frob-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: frob\nVersion: 1.0\n")
        archive.writestr("frob-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("frob-1.0.dist-info/RECORD", "")
    _list(root, wheel)


def _packed(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def _npm(root: Path, url: str) -> None:
    data = {"name": "frob", "version": "1.0.0", "main": "i.js"}
    packed = _packed({"package/package.json": json.dumps(data), "package/i.js": "module.exports = 42"})
    place = root / "npm"
    place.mkdir()
    (place / "frob-1.0.0.tgz").write_bytes(packed)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    version = {**data, "dist": {"tarball": f"{url}/npm/frob-1.0.0.tgz", "integrity": integrity}}
    whole = {"name": "frob", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    (place / "frob").write_text(json.dumps(whole))


def _cargo(root: Path, url: str) -> None:
    manifest = '[package]\nname = "frob"\nversion = "1.0.0"\nedition = "2021"\n'
    packed = _packed({"frob-1.0.0/Cargo.toml": manifest, "frob-1.0.0/src/lib.rs": "pub fn answer() -> u8 { 42 }\n"})
    (root / "crates").mkdir()
    (root / "crates" / "frob-1.0.0.crate").write_bytes(packed)
    index = root / "crates-index"
    (index / "fr" / "ob").mkdir(parents=True)
    sum_ = hashlib.sha256(packed).hexdigest()
    entry = {"name": "frob", "vers": "1.0.0", "deps": [], "cksum": sum_, "features": {}, "yanked": False}
    (index / "fr" / "ob" / "frob").write_text(json.dumps(entry) + "\n")
    (index / "config.json").write_text(json.dumps({"dl": f"{url}/crates/{{crate}}-{{version}}.crate"}))
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "index"), ("update-server-info",)):
        subprocess.run([*GIT, *words], cwd=index, check=True)


def _go(root: Path) -> None:
    place = root / "go" / "frob.example" / "frob" / "@v"
    place.mkdir(parents=True)
    (place / "list").write_text("v1.0.0\n")
    (place / "v1.0.0.info").write_text('{"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}')
    (place / "v1.0.0.mod").write_text("module frob.example/frob\n")
    with zipfile.ZipFile(place / "v1.0.0.zip", "w") as archive:
        archive.writestr("frob.example/frob@v1.0.0/go.mod", "module frob.example/frob\n")
        archive.writestr("frob.example/frob@v1.0.0/frob.go", "package frob\n\nfunc Answer() int { return 42 }\n")
