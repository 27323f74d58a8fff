"""Fourhands: a workbench that a person and an AI agent drive together.

This is the public Python API and nothing else. It is lazy (PEP 562): the host process lives in this package
too and must not load the whole server with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0.dev0"

_WHERE: dict[str, str] = {
    "Actor": "fourhands.core.call",
    "Answer": "fourhands.core.question",
    "App": "fourhands.app",
    "Call": "fourhands.core.call",
    "Contribution": "fourhands.core.registry",
    "FourhandsError": "fourhands.core.errors",
    "Interceptor": "fourhands.agents.blocks.interceptor",
    "Isolation": "fourhands.providers.base",
    "Launch": "fourhands.providers.base",
    "Output": "fourhands.providers.base",
    "Probe": "fourhands.providers.base",
    "Provider": "fourhands.providers.base",
    "Question": "fourhands.core.question",
    "Registry": "fourhands.core.registry",
    "Result": "fourhands.core.call",
    "Rules": "fourhands.safety.shell",
    "Sanitizer": "fourhands.safety.sanitizer.sanitizer",
    "Settings": "fourhands.settings",
    "Stream": "fourhands.providers.base",
    "StreamProvider": "fourhands.providers.base",
    "Terminal": "fourhands.workbench.terminals.terminal",
    "Terminals": "fourhands.workbench.terminals.terminals",
    "ToolOutcome": "fourhands.app.toolset",
    "Toolset": "fourhands.app.toolset",
    "Unavailable": "fourhands.core.errors",
    "Workspace": "fourhands.workbench.files.workspace",
    "classify": "fourhands.safety.shell",
    "parse": "fourhands.safety.shell",
    "sanitize": "fourhands.safety.sanitizer.sanitizer",
}

__all__ = [
    "Actor",
    "Answer",
    "App",
    "Call",
    "Contribution",
    "FourhandsError",
    "Interceptor",
    "Isolation",
    "Launch",
    "Output",
    "Probe",
    "Provider",
    "Question",
    "Registry",
    "Result",
    "Rules",
    "Sanitizer",
    "Settings",
    "Stream",
    "StreamProvider",
    "Terminal",
    "Terminals",
    "ToolOutcome",
    "Toolset",
    "Unavailable",
    "Workspace",
    "__version__",
    "classify",
    "parse",
    "sanitize",
    "sync",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name == "sync":
        return import_module("fourhands.sync")
    if name not in _WHERE:
        raise AttributeError(f"module 'fourhands' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from fourhands import sync as sync
    from fourhands.agents.blocks.interceptor import Interceptor as Interceptor
    from fourhands.app import App as App
    from fourhands.app.toolset import ToolOutcome as ToolOutcome
    from fourhands.app.toolset import Toolset as Toolset
    from fourhands.core.call import Actor as Actor
    from fourhands.core.call import Call as Call
    from fourhands.core.call import Result as Result
    from fourhands.core.errors import FourhandsError as FourhandsError
    from fourhands.core.errors import Unavailable as Unavailable
    from fourhands.core.question import Answer as Answer
    from fourhands.core.question import Question as Question
    from fourhands.core.registry import Contribution as Contribution
    from fourhands.core.registry import Registry as Registry
    from fourhands.providers.base import Isolation as Isolation
    from fourhands.providers.base import Launch as Launch
    from fourhands.providers.base import Output as Output
    from fourhands.providers.base import Probe as Probe
    from fourhands.providers.base import Provider as Provider
    from fourhands.providers.base import Stream as Stream
    from fourhands.providers.base import StreamProvider as StreamProvider
    from fourhands.safety.sanitizer.sanitizer import Sanitizer as Sanitizer
    from fourhands.safety.sanitizer.sanitizer import sanitize as sanitize
    from fourhands.safety.shell import Rules as Rules
    from fourhands.safety.shell import classify as classify
    from fourhands.safety.shell import parse as parse
    from fourhands.settings import Settings as Settings
    from fourhands.workbench.files.workspace import Workspace as Workspace
    from fourhands.workbench.terminals.terminal import Terminal as Terminal
    from fourhands.workbench.terminals.terminals import Terminals as Terminals
