"""Transactions of Java clients from 0.11 to 4.3, and Kafka's tools for them, each on brokers of its release."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from broker_sim.threaded_cluster import ThreadedCluster
from tests.interop.kafka_release import clients_folder
from tests.interop.old_clients_jvm import OldClientsJvm, old_clients_jvm

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS: Final = ("0.11.0.3", "2.8.2", "3.7.2", "4.3.1")
TOPIC: Final = "written"
PARTITIONS: Final = 3
RECORDS: Final = 30
ABORTS_SOON: Final = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
COMMITTED: Final = ("committed", "committed again", "successor")
FENCED: Final = "ProducerFencedException"
AFTER_TIME_OUT: Final = {"4.3.1": "InvalidTxnStateException"}
"""Transaction version 2 takes a late commit for a repeated one, of a transaction that has been aborted."""
NOT_COMMITTED: Final = ("aborted", "aborted again", "fenced", "timed out")


@pytest.fixture(scope="module")
def jvm() -> Iterator[OldClientsJvm]:
    clients_folder(*CLIENTS)
    with old_clients_jvm() as started:
        yield started


def expected(*names: str) -> Counter[str]:
    return Counter(f"{name} {number}" for name in names for number in range(RECORDS))


def check_transactions(release: str, lines: list[str]) -> None:
    """Check what OldTransactions has printed."""
    for isolation, names in (("read_committed", COMMITTED), ("read_uncommitted", COMMITTED + NOT_COMMITTED)):
        prefix = f"{isolation} "
        assert Counter(line.removeprefix(prefix) for line in lines if line.startswith(prefix)) == expected(*names)
    zombie, timed_out, offset = (line for line in lines if not line.startswith("read_"))
    assert zombie.startswith(f"zombie! {FENCED}: ")
    assert timed_out.startswith(f"timed out! {AFTER_TIME_OUT.get(release, FENCED)}: ")
    assert offset == "offset: 20"


@pytest.mark.parametrize("release", CLIENTS)
def test_java_producers_commit_abort_and_are_fenced(jvm: OldClientsJvm, release: str) -> None:
    topics = [f"{TOPIC}:{PARTITIONS}:3"]
    with ThreadedCluster(brokers=3, release=release, topics=topics, config=ABORTS_SOON, quick_groups=True) as cluster:
        arguments = (cluster.bootstrap_servers, TOPIC, str(PARTITIONS), "members")
        check_transactions(release, jvm.run(release, "OldTransactions", *arguments))
