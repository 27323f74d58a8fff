"""A host that has gone: it is noticed on every loop, also behind what it said last."""

import asyncio
import socket

import pytest
from tests.kit.hosts import House

from fourhands.host.client import HostLost


async def test_the_end_of_a_host_that_left_something_unread_is_noticed_behind_its_last_words(house: House) -> None:
    link = await house.link()
    link.close()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    link.adopt(ours)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        asking = group.create_task(noticed(link.request("list")))
        await asyncio.sleep(0.01)  # it has been sent, and waits for its answer
        theirs.sendall(b'\0\0\0\x0a{"id":999}')
        theirs.close()
    assert asking.result()


async def noticed(request: object) -> bool:
    with pytest.raises(HostLost):
        await request  # type: ignore[misc]
    return True
