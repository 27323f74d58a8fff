"""Where a workspace's running server is found by other programs of the same user."""

import os
import socket
from pathlib import Path

import msgspec


class Address(msgspec.Struct, frozen=True):
    """Where a server listens."""

    host: str
    port: int
    pid: int

    @property
    def url(self) -> str:
        """Its address for browsers and clients."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def address_file(runtime: str) -> Path:
    """Where a running server says its address."""
    return Path(runtime) / "server.json"


def find_server(runtime: str) -> Address | None:
    """The address of the workspace's running server, if there is one."""
    try:
        address = msgspec.json.decode(address_file(runtime).read_bytes(), type=Address)
        os.kill(address.pid, 0)
        with socket.create_connection((address.host, address.port), timeout=1):
            return address
    except (OSError, msgspec.DecodeError):
        return None
