"""The synchronous form of the Python API, for scripts and notebooks: the same names, methods and errors, no `await`.

It is as lazy as `fourhands` itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

_WHERE: dict[str, tuple[str, str]] = {
    "Terminal": ("fourhands.sync.terminal", "SyncTerminal"),
    "Terminals": ("fourhands.sync.terminals", "SyncTerminals"),
    "Toolset": ("fourhands.sync.toolset", "SyncToolset"),
}

__all__ = ["Terminal", "Terminals", "Toolset"]


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in _WHERE:
        raise AttributeError(f"module 'fourhands.sync' has no attribute {name!r}; it has {', '.join(__all__)}")
    module, called = _WHERE[name]
    return getattr(import_module(module), called)


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from fourhands.sync.terminal import SyncTerminal as Terminal
    from fourhands.sync.terminals import SyncTerminals as Terminals
    from fourhands.sync.toolset import SyncToolset as Toolset
