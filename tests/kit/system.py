"""The operating system, with some of its calls replaced: for faults and moments that cannot be had otherwise."""

import os
from collections.abc import Callable
from typing import Any


class System:
    """`System(fsync=fail)`: everything else is as `os` has it."""

    def __init__(self, **replaced: Callable[..., Any]) -> None:
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced[name] if name in self._replaced else getattr(os, name)
