"""Listening programs, as the kernel lists them: by netlink, and by its text tables where it does not answer."""

import socket
from collections.abc import Iterator

import pytest

from fourhands.providers.egress import listening

TABLES = (("/proc/net/tcp", "127.0.0.1"), ("/proc/net/tcp6", "::1"))


@pytest.fixture
def listeners() -> Iterator[dict[str, int]]:
    made = {}
    sockets = []
    for address in ("127.0.0.1", "0.0.0.0", "::1", "::"):
        one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        one.bind((address, 0))
        one.listen()
        sockets.append(one)
        made[address] = one.getsockname()[1]
    connected = socket.create_connection(("127.0.0.1", made["127.0.0.1"]))
    yield made
    for each in (*sockets, connected):
        each.close()


def test_both_ways_find_what_listens_and_how_it_is_reached(listeners: dict[str, int]) -> None:
    for found in (listening.ports(()), dict(listening.read_tables(TABLES))):
        for address, port in listeners.items():
            assert found[port] == ("::1" if ":" in address else "127.0.0.1")
    assert set(listening.ports(listeners.values())) & set(listeners.values()) == set()
    assert min(listening.ports(())) >= 1024
