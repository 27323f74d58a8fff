"""Fourhands: a workbench that a person and an AI agent drive together.

This is the public Python API and nothing else. It is lazy (PEP 562): the host process lives in this package
too and must not load the whole server with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_WHERE: dict[str, str] = {
    "FourhandsError": "fourhands.core.errors",
}

__all__ = ["FourhandsError", "__version__"]


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in _WHERE:
        raise AttributeError(f"module 'fourhands' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from fourhands.core.errors import FourhandsError as FourhandsError
