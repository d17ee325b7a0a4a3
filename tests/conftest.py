"""Settings of all tests: Hypothesis without deadlines, the order of the files, and the garbage collector.

The duration of an example depends on the load of the machine, so deadlines are off. A test that needs more than thirty
examples has settings of its own. The check of a commit (`CI` is set) draws the same examples each time, so that its
result depends on the commit alone; other runs draw new examples.

`make test` distributes whole files, in the order of collection, to four processes: two cores are busy while the others
wait for a timeout, a server or a JVM. The longest files come first, so that no process runs alone at the end. The files
of one folder share a JVM, in one process. Only the process that runs a file imports it and collects its tests.

Permanent objects (modules, collected tests, generated codecs, cached strategies) are frozen when a file begins, so that
a full collection visits only the objects of the current file.

A file whose tests leave a Kafka client alive fails the first test of the next file: such a client connects again and
again, logs, and opens sockets in the middle of tests that count them.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.whole_files import WholeFile, collect_files, fail_without_tests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.certificate_authority import Certificates

LONGEST: Final = (
    "test_ours.py",
    "test_real_4_3.py",
    "test_real_3_7.py",
    "test_spark_cluster.py",
    "test_demo.py",
    "test_producer_restarts.py",
    "test_our_consumer_streams.py",
    "test_foreign_bugs.py",
    "test_message_readers.py",
    "test_catalog_on_real_kafka.py",
    "test_documents.py",
    "test_sweep.py",
    "test_mutated_frames.py",
    "test_replication_machine.py",
    "test_reference.py",
    "test_conversations.py",
    "test_every_release.py",
    "test_soak.py",
    "test_scale.py",
    "test_check.py",
    "test_rules.py",
    "test_messages.py",
    "test_serve.py",
    "test_catalog.py",
    "test_scenario_pages.py",
    "test_language.py",
    "test_design_pages.py",
    "test_tree.py",
    "test_rooms.py",
    "test_imports.py",
)
TOGETHER: Final = "tests/scenarios/spark/"
FROZEN_FOR: Final = pytest.StashKey[Path]()
CLIENTS: Final = pytest.StashKey[frozenset[str]]()
LEFT: Final = pytest.StashKey[str]()
CLIENT_THREADS: Final = ("kafka-", "rdk:")
"""The names of the network threads of broker_client and of librdkafka begin with them."""

settings.register_profile("developer", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("developer"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")

# A shell without job control starts its background jobs with SIGINT ignored, and so would be the servers of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def signal_handlers() -> Iterator[None]:
    """A test that leaves a handler would let later ones of its process wait for an interruption that has no effect."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    left = [signal.getsignal(number) for number in numbers]
    if left != before:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        pytest.fail(f"the test has left handlers of SIGINT and SIGTERM: {left}")


def pytest_collection(session: pytest.Session) -> bool | None:
    return collect_files(session) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler.loadfile import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER if nodeid.startswith(TOGETHER) else super()._split_scope(nodeid)

    # At the end of a line it prints how many percent have run: of the files, the only number that is known in advance.
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reporter._get_progress_information_message = lambda: f" {len(reporter.stats.get('passed', ()))}"
    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if isinstance(item, WholeFile):
        item.run_tests(nextitem)
        return True
    stash = item.config.stash
    before = stash.get(FROZEN_FOR, None)
    if before != item.path:
        stash[FROZEN_FOR] = item.path
        gc.collect()
        gc.freeze()
        clients = threads_of_clients()
        none: frozenset[str] = frozenset()
        if new := clients - stash.get(CLIENTS, none):
            stash[LEFT] = f"{before} has left clients alive: {', '.join(sorted(new))}"
        stash[CLIENTS] = clients
    return None


def pytest_sessionfinish(session: pytest.Session) -> None:
    fail_without_tests(session)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if left := item.config.stash.get(LEFT, ""):
        del item.config.stash[LEFT]
        pytest.fail(left)


def threads_of_clients() -> frozenset[str]:
    """Return the threads of Kafka clients, each with its number: those of Python, and of C as Linux lists them."""
    found = {f"{each.name} ({each.native_id})" for each in threading.enumerate()}
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):
            found.add(f"{(task / 'comm').read_text().strip()} ({task.name})")
    return frozenset(name for name in found if name.startswith(CLIENT_THREADS))


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    from tests.certificate_authority import certificates_in

    return certificates_in(tmp_path_factory.mktemp("certificates"))
