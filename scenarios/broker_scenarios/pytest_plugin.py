"""Pytest's fixtures for the verdict on a client under test.

`kafka_ledger(cluster, "orders")` makes a Ledger of a cluster's topics: hand in what the client sent and consumed, or
wrap the client, and end the test with `ledger.check()`. A ledger that a test has not checked fails the test. The report
of a failed test has the command that judges its history again.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from broker_scenarios.ledger import Ledger
    from broker_sim import ThreadedCluster

__all__ = ["LedgerFactory", "kafka_ledger", "pytest_runtest_makereport"]

HISTORIES: Final = "broker-sim-ledgers"
NAME_MAX: Final = 100
LEDGERS: Final[pytest.StashKey[list[Ledger]]] = pytest.StashKey()
FAILED: Final = pytest.StashKey[bool]()


class LedgerFactory(Protocol):
    """Makes ledgers: the type of the fixture `kafka_ledger`."""

    def __call__(
        self,
        cluster: ThreadedCluster,
        *topics: str,
        promises: Mapping[str, Any] | None = None,
        other_producers: bool = False,
    ) -> Ledger:
        """Make a ledger of some topics. Raises ScenarioError without a topic, or for an unknown promise."""


@pytest.fixture
def kafka_ledger(request: pytest.FixtureRequest) -> Iterator[LedgerFactory]:
    """Makes ledgers of a cluster's topics for one test, which calls `check` on each."""
    # Imported here, so that pytest starts as fast as without this plugin.
    from broker_scenarios.ledger import Ledger

    ledgers = request.node.stash.setdefault(LEDGERS, [])

    def make(cluster: ThreadedCluster, *topics: str, **options: Any) -> Ledger:
        __tracebackhide__ = True
        ledger = Ledger(cluster, *topics, **options)
        ledgers.append(ledger)
        return ledger

    yield make
    unchecked = [ledger for ledger in ledgers if not ledger.checked]
    if unchecked and not request.node.stash.get(FAILED, False):
        names = ", ".join(map(repr, unchecked))
        pytest.fail(f"never checked: {names}; end the test with ledger.check()", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test the command that judges each of its ledgers again."""
    report = yield
    if report.failed and report.when == "call":
        item.stash[FAILED] = True
        ledgers: list[Ledger] = item.stash.setdefault(LEDGERS, [])
        for number, ledger in enumerate(ledgers, 1):
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", item.nodeid)[-NAME_MAX:]
            folder = _folder(item.config) / f"{name}-ledger-{number}"
            report.sections.append(("kafka ledger", _written(ledger, folder)))
    return report


def _written(ledger: Ledger, folder: Path) -> str:
    try:
        return f"{ledger!r}: {ledger.verdict().write(folder)}"
    except Exception as error:  # noqa: BLE001 - the failure of the test matters more than its report
        return f"{ledger!r}: no history: {error}"


def _folder(config: pytest.Config) -> Path:
    """The directory of journals (`--kafka-journal`), else one for temporary files."""
    given = config.getoption("--kafka-journal", None) or config.getini("kafka_journal")
    return Path(given) if given else Path(tempfile.gettempdir()) / HISTORIES
