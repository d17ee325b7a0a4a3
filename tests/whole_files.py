"""Test files as the units of work of pytest-xdist: each is imported and collected once, by the worker that runs it.

Without this, each of the workers imports all test files and collects all tests before the first test starts, and the
controller looks up each test in a list of all: a tenth of the CPU time of `make test`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


class WholeFile(pytest.Item):
    """Stands for all tests of its parent, a file, until they are collected and run."""

    tests: tuple[pytest.Item, ...] = ()
    running: pytest.Item | None = None

    @property
    def nodeid(self) -> str:
        """The id of the test that runs, if one does: for pytest-xdist each report belongs to the item it started."""
        return super().nodeid if self.running is None else self.running.nodeid

    def runtest(self) -> None:
        raise NotImplementedError("a file is run by run_tests()")

    def run_tests(self, nextitem: pytest.Item | None) -> None:
        """Collect the tests, and run those that the options of the command line select."""
        assert self.parent is not None
        session, hook = self.session, self.config.hook
        tests = [*session.genitems(self.parent)]
        hook.pytest_collection_modifyitems(session=session, config=self.config, items=tests)
        self.tests = tuple(tests)
        for test, following in pairwise([*tests, nextitem]):
            if session.shouldfail or session.shouldstop:
                break
            self.running = test
            hook.pytest_runtest_protocol(item=test, nextitem=following)
        self.running = None
        # A file without selected tests was the next one of the last test, whose folders are still set up.
        session._setupstate.teardown_exact(nextitem)


def collect_files(session: pytest.Session) -> bool:
    """Collect a `WholeFile` per test file; returns False if the session is no worker or its command line names tests.

    The options -k and -m select tests, so they have no effect on files.
    """
    config: Any = session.config
    if not hasattr(config, "workerinput") or any("::" in argument for argument in config.args):
        return False
    keyword, mark = config.option.keyword, config.option.markexpr
    config.option.keyword = config.option.markexpr = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "genitems", lambda node: _files_below(session, node))
        session.perform_collect()
    config.option.keyword, config.option.markexpr = keyword, mark
    return True


def selected_tests(session: pytest.Session) -> Iterator[pytest.Item]:
    """Iterate over the tests of a session that are collected, in a worker too."""
    for item in session.items:
        yield from item.tests if isinstance(item, WholeFile) else (item,)


def fail_without_tests(session: pytest.Session) -> None:
    """Let a run of workers without any test end as one in a single process does, although it has collected files."""
    if session.exitstatus == pytest.ExitCode.OK and session.config.pluginmanager.hasplugin("dsession"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and not any(reporter.stats.get(outcome) for outcome in ("passed", "skipped")):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def _files_below(session: pytest.Session, node: Any) -> Iterator[pytest.Item]:
    if isinstance(node, pytest.File):
        yield WholeFile.from_parent(node, name="*")
        return
    report, _ = session._collect_one_node(node)
    for below in report.result if report.passed else ():
        yield from _files_below(session, below)
    if not report.passed:
        node.ihook.pytest_collectreport(report=report)
