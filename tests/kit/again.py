"""A pytest plugin: a test that failed beside others is run again alone, once, before the run is called failed.

If it passes then, it is printed as `flaky: ID` with what it said at first, and the run goes on. It is for runs with
workers (-n): whoever runs a test by itself wants to know at once. Many failures are no accident, and -x stops a run.
"""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator

import pytest

MOST = 10
"""More tests than this have not failed by accident, and are not run again."""

LIMIT_S = 600


class Again:
    """What has failed so far in the whole run, and what came of trying it again."""

    def __init__(self, config: pytest.Config) -> None:
        self.failed: dict[str, list[pytest.TestReport]] = defaultdict(list)
        self.flaky: dict[str, list[pytest.TestReport]] = {}
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed."""
        if report.failed:
            self.failed[report.nodeid].append(report)

    @pytest.hookimpl(wrapper=True, trylast=True)  # so what it adds comes before coverage is put together
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Try again what failed, when all the others are done."""
        result = yield
        if len(self.failed) > MOST:
            self._say(f"{len(self.failed)} tests failed: too many to try them again")
            return result
        for id, reports in self.failed.items():
            # One of a group may need the others: alone it might prove nothing.
            if self._passes(id.partition("::")[0] if "xdist_group" in reports[0].keywords else id):
                self.flaky[id] = reports
                session.testsfailed -= len(reports)
        self._forgive()
        return result

    def _passes(self, target: str) -> bool:
        words = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-n", "0", target]
        words += ["--timeout", str(self._config.getoption("timeout") or LIMIT_S)]
        try:
            done = subprocess.run(
                words, cwd=self._config.rootpath, capture_output=True, text=True, errors="replace", timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            self._say(f"failed again, alone: {target} (no end within {LIMIT_S} s)")
            return False
        if done.returncode != 0:
            self._say(f"failed again, alone: {target}\n{done.stdout[-5000:]}{done.stderr[-2000:]}")
        return done.returncode == 0

    def _forgive(self) -> None:
        """In the summary they are no failures."""
        stats = self._reporter.stats
        for kind in ("failed", "error"):
            kept = [report for report in stats.get(kind, ()) if getattr(report, "nodeid", "") not in self.flaky]
            stats.pop(kind, None)
            if kept:
                stats[kind] = kept
        if self.flaky:
            stats["flaky"] = [reports[0] for reports in self.flaky.values()]

    def pytest_terminal_summary(self) -> None:
        """Say which they were, and what they said when they failed."""
        for id, reports in self.flaky.items():
            for report in reports:
                self._reporter.section(f"failed beside others: {id} ({report.when})")
                self._reporter.line(report.longreprtext)
        for id in self.flaky:
            self._say(f"flaky: {id}")

    @property
    def _reporter(self) -> pytest.TerminalReporter:
        found = self._config.pluginmanager.get_plugin("terminalreporter")
        assert isinstance(found, pytest.TerminalReporter)
        return found

    def _say(self, text: str) -> None:
        self._reporter.ensure_newline()
        self._reporter.write_line(text)


def pytest_configure(config: pytest.Config) -> None:
    """Only where tests run beside others, and only in the process that sees all of them."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Again(config), "again")
