from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.conftest import Replicas


def gauges(made: Replicas, name: str, broker: int = 1) -> dict[str, Any]:
    return {
        dict(each.tags)["delayedOperation"]: each.value for each in made.cluster.metrics().find(name, broker=broker)
    }


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("3.3", ["Produce", "Fetch", "DeleteRecords", "ElectLeader"]),
        ("3.7", ["Produce", "Fetch", "DeleteRecords", "RemoteFetch", "ElectLeader"]),
        ("4.3.1", ["Produce", "Fetch", "DeleteRecords", "RemoteFetch", "RemoteListOffsets", "ShareFetch"]),
    ],
)
def test_a_broker_of_kraft_has_the_purgatories_of_its_release_and_waits_for_no_election(
    replicas: Callable[..., Replicas], release: str, names: list[str]
) -> None:
    found = gauges(replicas(release=release), "NumDelayedOperations")
    assert list(found) == names
    assert found.get("ElectLeader", 0) == 0


def test_a_produce_that_waits_is_counted_until_its_response(replicas: Callable[..., Replicas]) -> None:
    made = replicas()
    made.hold_fetches(2, 3)
    made.run(ms=600)
    responses = made.send(1, timeout_ms=1_000)
    made.run(ms=10)
    assert gauges(made, "NumDelayedOperations")["Produce"] == 1
    assert gauges(made, "PurgatorySize")["Produce"] == 1
    made.release_fetches(2, 3)
    made.run(ms=100)
    assert responses
    assert gauges(made, "NumDelayedOperations")["Produce"] == 0
    read = made.cluster.metrics().find("PurgatorySize", broker=1, delayedOperation="Produce")
    assert [each.mbean for each in read] == [
        "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Produce"
    ]


def test_fetches_of_followers_wait_at_their_leader(replicas: Callable[..., Replicas]) -> None:
    made = replicas(partitions=4)
    made.run(ms=100)
    assert gauges(made, "NumDelayedOperations")["Fetch"] == 2
    assert gauges(made, "PurgatorySize")["Fetch"] == 4
