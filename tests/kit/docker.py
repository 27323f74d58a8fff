"""A docker daemon of the tests' own: private socket and storage, no bridge and no firewall rules, gone at the end."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.isolation import IMAGE, image

START_S = 30.0


@contextlib.contextmanager
def docker_daemon() -> Iterator[str]:
    """Start a daemon that has the tests' image, and give its address; skips where none can run."""
    daemon = shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if daemon is None or os.getuid() != 0:
        pytest.skip("a docker daemon of our own needs dockerd (Debian: docker.io) and root")
    if image() != IMAGE:
        pytest.skip(image())
    place = Path(tempfile.mkdtemp(prefix="fh-docker-", dir="/tmp"))  # a socket's path must be short
    address = f"unix://{place}/sock"
    with open(place / "log", "wb") as log:
        process = subprocess.Popen(
            [
                *(daemon, "--host", address, "--data-root", str(place / "root"), "--exec-root", str(place / "exec")),
                *("--pidfile", str(place / "pid"), "--storage-driver", "vfs", "--bridge", "none"),
                *("--iptables=false", "--ip6tables=false", "--exec-opt", "native.cgroupdriver=cgroupfs"),
            ],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        _wait_for(process, address, place / "log")
        saved = place / "image.tar"
        subprocess.run(["podman", "save", "--quiet", "--output", str(saved), IMAGE], check=True, capture_output=True)
        docker(address, "load", "--input", str(saved)).check_returncode()
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_S)
        shutil.rmtree(place, ignore_errors=True)


def docker(address: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Call docker on a daemon's address."""
    return subprocess.run(["docker", "--host", address, *arguments], capture_output=True, check=False)


def _wait_for(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while docker(address, "version").returncode != 0:
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.skip(f"dockerd does not run here: {log.read_text(errors='replace')[-300:]}")
        time.sleep(0.2)
