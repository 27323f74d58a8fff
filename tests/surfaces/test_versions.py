"""The two files that use the inside of a library were read beside the version that is installed."""

import importlib.metadata

from fourhands.surfaces import transport
from fourhands.surfaces.mcp import sdk


def test_the_transport_was_read_beside_this_uvicorn() -> None:
    assert importlib.metadata.version("uvicorn") == transport.READ_IN, "read transport.py again beside it"


def test_the_sdk_file_was_read_beside_this_mcp() -> None:
    assert importlib.metadata.version("mcp") == sdk.READ_IN, "read mcp/sdk.py again beside it"
