"""Everyday tools in a cell, unchanged and without settings for a proxy, against registries on loopback."""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import os
import pwd
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.internet import BWRAP, Net, network, serving
from tests.kit.isolation import refuse

from fourhands.core import child

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

HOST = "packages.example"
SOURCE = Path(__file__).parents[3] / "src"
WORDS = "/usr/local/bin:/usr/bin:/bin"


@contextlib.asynccontextmanager
async def files(root: Path) -> AsyncIterator[Net]:
    """A host that serves the files of a directory, by a name that is allowed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            target = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode().partition("?")[0]
            path = root / target.strip("/").replace("%2f", "/")
            path = path / "index.html" if path.is_dir() else path
            body = path.read_bytes() if path.is_file() else b""
            kind = {".html": "text/html", ".json": "application/json"}.get(path.suffix, "application/octet-stream")
            status = "200 OK" if path.is_file() else "404 Not Found"
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        writer.close()

    async with serving(serve) as place, network(allowed=(HOST,)) as net:
        net.internet.add(HOST, 80, place)
        yield net


def inner(command: list[str], work: Path, identity: list[str], *more_readable: str) -> list[str]:
    """A sandbox as the provider builds it, but for the network, which it must not unshare."""
    readable = [
        "/usr",
        "/etc",
        *(path for path in ("/bin", "/lib", "/lib64", "/sbin") if Path(path).exists()),
        *more_readable,
    ]
    mounts = [word for path in readable for word in ("--ro-bind", path, path)]
    options = ["--die-with-parent", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc"]
    more = ["--unshare-uts", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    return [
        BWRAP,
        *options,
        *identity,
        *more,
        *mounts,
        "--bind",
        str(work),
        str(work),
        "--chdir",
        str(work),
        "--",
        *command,
    ]


async def run(net: Net, line: str, work: Path, *readable: str, **env: str) -> child.Finished:
    enclosure = await net.egress.open("session_a", BWRAP)
    command = enclosure.enclose(inner(["/bin/sh", "-c", line], work, enclosure.identity, *readable))
    return await child.run(command, env={"PATH": WORDS, "HOME": str(work), **env}, timeout_s=120)


@pytest.fixture
def work() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="fh-tools-", dir="/var/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


async def test_git_clones_by_http(tmp_path: Path, work: Path) -> None:
    script = (
        "git init -q one && cd one && git -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m first && "
        "cd .. && git clone -q --bare one one.git && git -C one.git update-server-info"
    )
    made = await child.run(
        ["sh", "-c", script], cwd=str(tmp_path), env={"PATH": WORDS, "HOME": str(tmp_path)}, timeout_s=60
    )
    assert made.code == 0, made
    async with files(tmp_path) as net:
        done = await run(net, f"git clone -q http://{HOST}/one.git && git -C one log --format=%s", work)
        assert done.out == "first\n", done
        refused = await run(net, "git clone -q http://other.example/one.git", work)
        assert refused.code != 0


async def test_pip_installs_from_an_index(tmp_path: Path, work: Path) -> None:
    wheel = tmp_path / "frob-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("frob.py", "answer = 42\n")
        archive.writestr("frob-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: frob\nVersion: 1.0\n")
        archive.writestr("frob-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("frob-1.0.dist-info/RECORD", "")
    (tmp_path / "simple" / "frob").mkdir(parents=True)
    (tmp_path / "simple" / "frob" / "index.html").write_text(f'<a href="/{wheel.name}">{wheel.name}</a>')
    if not any(Path("/usr/lib/python3").glob("dist-packages/pip")):
        refuse("the system's Python has no pip (make tools)")
    async with files(tmp_path) as net:
        options = f"--index-url http://{HOST}/simple --trusted-host {HOST} --no-cache-dir --target lib"
        done = await run(net, f"/usr/bin/python3 -m pip install -q {options} frob && cat lib/frob.py", work)
        assert "answer = 42" in done.out, done


async def test_npm_installs_from_a_registry(tmp_path: Path, work: Path) -> None:
    if shutil.which("npm", path=WORDS) is None:
        refuse("npm is not there")
    data = json.dumps({"name": "frob", "version": "1.0.0", "main": "i.js"}).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, body in (("package/package.json", data), ("package/i.js", b"module.exports = 42")):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    (tmp_path / "frob-1.0.0.tgz").write_bytes(packed.getvalue())
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    dist = {"tarball": f"http://{HOST}/frob-1.0.0.tgz", "integrity": integrity}
    versions = {"1.0.0": {"name": "frob", "version": "1.0.0", "main": "i.js", "dist": dist}}
    (tmp_path / "frob").write_text(json.dumps({"name": "frob", "dist-tags": {"latest": "1.0.0"}, "versions": versions}))
    async with files(tmp_path) as net:
        line = f"npm install --no-audit --no-fund --registry http://{HOST}/ frob >&2 && node -p 'require(\"frob\")'"
        done = await run(net, line, work)
        assert done.out == "42\n", done


async def test_cargo_fetches_from_a_registry(tmp_path: Path, work: Path) -> None:
    rustup = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup", "toolchains")
    found = sorted(rustup.glob("*/bin/cargo")) if os.geteuid() == 0 and rustup.exists() else []
    if not found:  # the system's own may be too old for such a registry; tests/whole/test_everyday.py has that one
        pytest.skip("rustup has no toolchain here")
    packed = io.BytesIO()
    manifest = b'[package]\nname = "frob"\nversion = "1.0.0"\nedition = "2021"\n'
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, body in (("frob-1.0.0/Cargo.toml", manifest), ("frob-1.0.0/src/lib.rs", b"pub fn f() {}\n")):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    (tmp_path / "dl").write_bytes(packed.getvalue())
    (tmp_path / "config.json").write_text(json.dumps({"dl": f"http://{HOST}/dl?{{crate}}"}))
    (tmp_path / "fr" / "ob").mkdir(parents=True)
    sum_ = hashlib.sha256(packed.getvalue()).hexdigest()
    entry = {"name": "frob", "vers": "1.0.0", "deps": [], "cksum": sum_, "features": {}, "yanked": False}
    (tmp_path / "fr" / "ob" / "frob").write_text(json.dumps(entry) + "\n")
    (work / ".cargo").mkdir()
    (work / ".cargo" / "config.toml").write_text(f'[registries.here]\nindex = "sparse+http://{HOST}/"\n')
    (work / "src").mkdir()
    (work / "src" / "lib.rs").write_text("")
    (work / "Cargo.toml").write_text(
        manifest.decode().replace("frob", "user") + '[dependencies]\nfrob = { version = "1", registry = "here" }\n'
    )
    async with files(tmp_path) as net:
        done = await run(
            net,
            f"PATH={found[0].parent}:$PATH cargo fetch && ls .cargo/registry/cache/*/",
            work,
            str(rustup),
            CARGO_HOME=str(work / ".cargo"),
        )
        assert "frob-1.0.0.crate" in done.out, done


@pytest.fixture
def user() -> Iterator[pwd.struct_passwd]:
    if os.geteuid() != 0 or shutil.which("useradd", path="/usr/sbin:/sbin") is None:
        refuse("a plain user can be made by root only, and with useradd (make tools)")
    name = f"fhn{os.getpid()}"
    subprocess.run(["/usr/sbin/useradd", "--no-create-home", "--shell", "/bin/sh", name], check=True)
    yield pwd.getpwnam(name)
    subprocess.run(["/usr/sbin/userdel", name], check=True)


async def test_a_plain_user_has_the_same_network(tmp_path: Path, work: Path, user: pwd.struct_passwd) -> None:
    (tmp_path / "index.html").write_text("hello")
    unneeded = shutil.ignore_patterns("static", "__pycache__")
    shutil.copytree(SOURCE / "fourhands", work / "src" / "fourhands", ignore=unneeded)
    async with files(tmp_path) as net:
        made = await net.egress.open("session_a", BWRAP)
        os.chown(work, user.pw_uid, user.pw_gid)
        for path in (net.directory, Path(made.directory), Path(made.directory).parent):
            path.chmod(0o755)
        os.chown(made.socket, user.pw_uid, user.pw_gid)
        enclosure = replace(made, python="/usr/bin/python3", source=str(work / "src"))
        line = (
            f"id -u; curl -sS -m 20 http://{HOST}/; echo; grep Cap /proc/self/status; "
            "curl -sS -m 5 http://93.184.216.34/ || echo shut"
        )
        become = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--inh-caps=-all"]
        whole = list(enclosure.enclose(inner(["/bin/sh", "-c", line], work, [])))
        for option in ("--uid", "--gid"):  # which are for root, and this process is
            place = whole.index(option)
            del whole[place : place + 2]
        done = await child.run(
            ["/usr/bin/setpriv", *become, *whole], env={"PATH": WORDS, "HOME": str(work)}, timeout_s=60
        )
    lines = done.out.splitlines()
    assert lines[:2] == [str(user.pw_uid), "hello"], done
    assert {one.split()[1] for one in lines[2:7]} == {"0" * 16}
    assert lines[7] == "shut"


def test_the_program_inside_needs_the_standard_library_only() -> None:
    load = "import fourhands.providers.egress.inside"
    code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {load}; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {"msgspec", "httpx", "asyncio"} & set(done.stdout.replace("'", "").strip("[]\n").split(", "))
