"""An object whose loop runs in another thread, and its methods in the form that waits.

Methods are made of those of the asynchronous class, so that names, arguments, defaults and words cannot differ.
"""

import contextlib
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeVar

from fourhands.core.errors import Unavailable
from fourhands.core.event import Dispose
from fourhands.core.loop_thread import LoopThread

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Remote(Generic[_T_co]):
    """The form in which an object over there stands here; two that stand for the same one are equal."""

    def __init__(self, there: _T_co, thread: LoopThread[object]) -> None:
        self._there = there
        self._thread = thread

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and other._there is self._there

    def __hash__(self) -> int:
        return id(self._there)

    def __repr__(self) -> str:
        return repr(self._there)

    def _read(self, getter: Callable[[_T_co], _R]) -> _R:
        """Return a property of the object over there, read in its loop's thread."""
        return self._thread.read(lambda: getter(self._there))


def waits(
    function: Callable[Concatenate[_T, _P], Coroutine[object, object, _R]],
) -> Callable[Concatenate[Remote[_T], _P], _R]:
    """Return the form of an asynchronous method that waits for its result."""

    @wraps(function)
    def method(self: Remote[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self._thread.wait(lambda: function(self._there, *args, **kwargs), f"{function.__name__}()")

    return method


def reads(function: Callable[Concatenate[_T, _P], _R]) -> Callable[Concatenate[Remote[_T], _P], _R]:
    """Return the form of a method that waits for nothing: it is called in the thread of its loop."""

    @wraps(function)
    def method(self: Remote[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self._thread.read(lambda: function(self._there, *args, **kwargs))

    return method


def subscribes(function: Callable[Concatenate[_T, _P], Dispose]) -> Callable[Concatenate[Remote[_T], _P], Dispose]:
    """Return the form of a method that begins a subscription; its callbacks run in the thread of the loop."""

    @wraps(function)
    def method(self: Remote[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> Dispose:
        return ending(self._thread, self._thread.read(lambda: function(self._there, *args, **kwargs)))

    return method


def ending(thread: LoopThread[object], stop: Dispose) -> Dispose:
    """Return what ends a subscription from any thread; there is none left where all is closed."""

    def end() -> None:
        with contextlib.suppress(Unavailable):
            thread.read(stop)

    return end
