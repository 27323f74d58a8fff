"""What holds for every test: its event loop, how hypothesis looks for examples, how long it may take, which coverage
data counts."""

import asyncio
import os
from collections.abc import Callable, Generator, Iterator

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings
from tests.kit.clock import Loop
from tests.kit.halves import remove_halves
from xdist.remote import Producer  # type: ignore[import-untyped]  # it ships no types
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

pytest_plugins = ["tests.kit.again"]

# A machine that is busy with something else must fail nobody, so there are no limits of time. Where a change is only
# to be let in or not, the same examples are tried each time; everywhere else new ones, which is how faults are found.
settings.register_profile(
    "fourhands",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
    # Where a guard is broken on purpose, it is enough that a test fails: no need for its smallest example.
    phases=[Phase.explicit, Phase.generate] if os.environ.get("FOURHANDS_MUTANT") else list(Phase),
)
settings.load_profile("fourhands")

# What programs use that import fourhands, on whichever loop they have: these files are run on asyncio's as well.
BOTH_LOOPS = (
    "core/test_child.py",
    "host/test_last_words.py",
    "host/test_client.py",
    "workbench/terminals/test_run.py",
    "workbench/terminals/test_terminal.py",
    "workbench/terminals/test_terminals.py",
    "workbench/terminals/test_wait.py",
)

# Files that take longest: a worker that began with one of them at the end would leave the other without work.
LONG = (
    "/tests/surfaces/mcp/test_conformance.py",
    "/tests/test_package.py",
    "/tests/surfaces/test_agree.py",
    "/tests/providers/test_contract.py",
)

# Folders whose tests start other programs of ours only because something needs them.
OWN_PROCESS = ("agents", "commands", "providers", "workbench")

Loops = dict[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(item: pytest.Item) -> Loops:
    """Tests run on the server's loop, and where it counts on asyncio's own too."""
    loops: Loops = {"uvloop": Loop}
    if item.path.as_posix().endswith(tuple(f"/tests/{name}" for name in BOTH_LOOPS)):
        loops["asyncio"] = asyncio.new_event_loop
    return loops


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where a run says how long a test may take, as on a busy machine, no test's own limit is stricter.

    What hypothesis tries hundreds of times counts for no coverage: watched, it takes three times as long, and shows
    nothing that the plain tests do not. Long files come first, or one worker would end with one while the other waits.
    """
    least = config.getoption("timeout") or 0.0
    watched = config.pluginmanager.hasplugin("_cov")
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONG))
    for item in items:
        if watched and is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("no_cover")
        own = item.get_closest_marker("timeout")
        if own is not None and own.args and own.args[0] < least:
            item.add_marker(pytest.mark.timeout(least), append=False)


@pytest.fixture(scope="module", autouse=True)
def unwatched_children(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where the tests are about this process, only this process is watched by coverage, not the hosts that it starts.

    To be watched costs a host 0.2 s at its start, and its data must be put together at the end; there are hundreds.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.relative_to(request.config.rootpath / "tests").parts[0] in OWN_PROCESS:
            patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Of the workers, one gets the whole of a file: what its tests share is made once.

    With this pytest, xdist's own groups are without effect: it ignores the name that xdist puts behind a test's id.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # in our order: many tests are not a long time
    return LoadFileScheduling(config, log)


@pytest.hookimpl(wrapper=True, trylast=True)  # so what follows comes before coverage puts its files together
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Leave out what processes wrote that were killed while they wrote it: one such file would end the whole run."""
    result = yield
    if session.config.pluginmanager.hasplugin("_cov") and not hasattr(session.config, "workerinput"):
        for name in remove_halves(session.config.rootpath):
            print(f"\nleft out, since its process was killed while it wrote: {name}")
    return result
