import pytest
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

from fourhands.host.log import GRAIN, Chunk
from fourhands.surfaces.frames import header


@pytest.mark.parametrize("size", [0, 1, 117, 118, 65527, 65528, GRAIN, 1_000_000])
def test_a_frame_is_what_a_foreign_parser_takes(size: int) -> None:
    chunk = Chunk(2**40 + 7, bytes(size))
    client = Protocol(Side.CLIENT, state=State.OPEN, max_size=None)
    client.receive_data(header(chunk) + chunk.data)
    (event,) = client.events_received()
    assert isinstance(event, Frame)
    assert (event.opcode, event.fin) == (Opcode.BINARY, True)
    assert bytes(event.data) == chunk.start.to_bytes(8, "big") + chunk.data
    assert client.parser_exc is None
