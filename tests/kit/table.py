"""Tables of cases that are checked in one test, with one report."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])


def table(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Check a test for every row, as `pytest.mark.parametrize` does, without a test's set-up for each.

    All rows are checked whatever fails, and the report names every row that failed. It can be stacked. For tests whose
    fixtures, if any, are left as they were found: a row gets those that the rows before it have used.
    """
    keys = (names,) if isinstance(names, str) else names
    cases = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    assert cases, "a table without rows checks nothing"

    def decorate(test: Test) -> Test:
        def checked(**fixtures: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for case in cases:
                try:
                    test(**fixtures, **dict(zip(keys, case, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # it is reported below
                    failed.append((", ".join(map(_short, case)), error))
            if failed:
                lines = [f"{row}: {type(error).__name__}: {error}" for row, error in failed]
                report = f"{len(failed)} of {len(cases)} rows failed\n" + "\n".join(lines)
                raise AssertionError(report) from failed[0][1]

        parameters = inspect.signature(test).parameters.values()
        kept = [parameter for parameter in parameters if parameter.name not in keys]
        checked.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]  # where pytest looks for fixtures
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "pytestmark"):
            if hasattr(test, name):
                setattr(checked, name, getattr(test, name))
        return checked  # type: ignore[return-value]  # the same test, with fewer arguments

    return decorate


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 200 else f"{text[:150]}…{text[-40:]}"
