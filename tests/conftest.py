"""What holds for every test: how hypothesis looks for examples, how long it may take, which coverage data counts."""

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings
from tests.support.halves import remove_halves

# A machine that is busy with something else must fail nobody, so there are no limits of time. Where a change is only
# to be let in or not, the same examples are tried each time; everywhere else new ones, which is how faults are found.
settings.register_profile(
    "fourhands",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("fourhands")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where a run says how long a test may take, as on a busy machine, no test's own limit is stricter."""
    least = config.getoption("timeout") or 0.0
    for item in items:
        own = item.get_closest_marker("timeout")
        if own is not None and own.args and own.args[0] < least:
            item.add_marker(pytest.mark.timeout(least), append=False)


@pytest.hookimpl(wrapper=True, trylast=True)  # so what follows comes before coverage puts its files together
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Leave out what processes wrote that were killed while they wrote it: one such file would end the whole run."""
    result = yield
    if session.config.pluginmanager.hasplugin("_cov") and not hasattr(session.config, "workerinput"):
        for name in remove_halves(session.config.rootpath):
            print(f"\nleft out, since its process was killed while it wrote: {name}")
    return result
