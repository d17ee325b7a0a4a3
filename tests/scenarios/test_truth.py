from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from broker_scenarios.truth import read_truth
from broker_sim.control.events import LogTruncated, TailLost
from broker_sim.quotas.quota_managers import Throttles
from broker_sim.topic_partition import TopicPartition
from tests.scenarios.small_cluster import ORDERS, Log, SmallCluster, batch, marker

if TYPE_CHECKING:
    from broker_scenarios.truth import Truth
    from broker_sim.control.events import Event
    from broker_sim.log.stored_batch import StoredBatch


def truth_of(cluster: SmallCluster, **given: Any) -> Truth:
    simulated: Any = cluster
    return read_truth(simulated, **given)


def of_batches(*batches: StoredBatch) -> Truth:
    log = Log(*batches)
    return truth_of(SmallCluster(log, Log(*batches), Log(*batches)))


def in_transaction(offset: int, *values: int, producer: int = 7) -> StoredBatch:
    return batch(offset, *values, producer=producer, transactional=True)


def damaged(whole: StoredBatch) -> StoredBatch:
    return replace(whole, data=whole.data[:-1] + bytes([whole.data[-1] ^ 1]))


def test_the_records_of_the_leaders_log_are_stored() -> None:
    truth = of_batches(batch(0, 5, 6), batch(2, 7))
    assert [record[:4] for record in truth.stored] == [("orders", 0, 0, 5), ("orders", 0, 1, 6), ("orders", 0, 2, 7)]
    assert (truth.uncommitted, truth.caveats, truth.divergences) == ([], (), [])
    assert truth.log_starts == {("orders", 0): 0}


@pytest.mark.parametrize(
    ("end", "stored", "uncommitted"),
    [
        (marker(4, 7), [5, 6, 7, 8], []),
        (marker(4, 7, commit=False), [5, 8], [(6, 1, "aborted"), (7, 2, "aborted")]),
        (marker(4, 9), [5, 8], [(6, 1, "open"), (7, 2, "open")]),
        (batch(4, 9), [5, 8, 9], [(6, 1, "open"), (7, 2, "open")]),
    ],
)
def test_a_record_of_a_transaction_is_stored_once_it_is_committed(
    end: StoredBatch, stored: list[int], uncommitted: list[tuple[int, int, str]]
) -> None:
    truth = of_batches(batch(0, 5), in_transaction(1, 6), in_transaction(2, 7), batch(3, 8, producer=9), end)
    assert [record.value_id for record in truth.stored] == stored
    assert [(each.value_id, each.offset, each.state) for each in truth.uncommitted] == uncommitted


def test_transactions_of_several_producers_end_by_themselves() -> None:
    truth = of_batches(
        in_transaction(0, 1),
        in_transaction(1, 2, producer=8),
        marker(2, 8),
        marker(3, 7, commit=False),
        in_transaction(4, 3),
        marker(5, 7),
    )
    assert [(record.value_id, record.offset) for record in truth.stored] == [(2, 1), (3, 4)]
    assert [(each.value_id, each.state) for each in truth.uncommitted] == [(1, "aborted")]


def test_a_damaged_batch_is_a_caveat_and_a_damaged_marker_commits_nothing() -> None:
    truth = of_batches(batch(0, 5), damaged(batch(1, 6)), in_transaction(2, 7), damaged(marker(3, 7)))
    assert [record.value_id for record in truth.stored] == [5]
    assert [(each.value_id, each.state) for each in truth.uncommitted] == [(7, "aborted")]
    assert [caveat.partition(" is damaged: ")[0] for caveat in truth.caveats] == [
        "orders-0: the batch at offset 1",
        "orders-0: the batch at offset 3",
    ]


@pytest.mark.parametrize(
    ("high_watermark", "caveats"), [(2, ()), (1, ("orders-0: 1 records above the high watermark at the end",))]
)
def test_records_above_the_high_watermark_are_a_caveat(high_watermark: int, caveats: tuple[str, ...]) -> None:
    log = Log(batch(0, 5), batch(1, 6), high_watermark=high_watermark)
    assert truth_of(SmallCluster(log, log, log)).caveats == caveats


def test_a_partition_without_a_leader_or_its_log_is_a_caveat() -> None:
    cluster = SmallCluster(None, Log(batch(0, 5)), None)
    truth = truth_of(cluster)
    assert (truth.caveats, truth.stored, truth.log_starts) == (("orders-0 is not at its leader 0 yet",), [], {})
    cluster.registrations[ORDERS] = replace(cluster.registrations[ORDERS], leader=-1)
    assert truth_of(cluster).caveats == ("orders-0 has no leader at the end",)


def test_only_the_topics_of_clients_are_read() -> None:
    cluster = SmallCluster(Log(batch(0, 5)))
    registration = replace(cluster.registrations[ORDERS], replicas=(0,), isr=(0,))
    for number, topic in enumerate(("orders", "other", "__consumer_offsets")):
        name = TopicPartition(topic, 0)
        cluster.topics[topic] = SimpleNamespace(topic_id=b"", partitions={0: None})
        cluster.registrations[name] = registration
        cluster.brokers[0].logs[name] = Log(batch(0, number), place=name, start=number)
    assert [record[:4] for record in truth_of(cluster).stored] == [("orders", 0, 0, 0), ("other", 0, 0, 1)]
    truth = truth_of(cluster, topics=["other"], value_of=lambda record: f"at {record.offset}")
    assert [record[:4] for record in truth.stored] == [("other", 0, 0, "at 0")]
    assert truth.log_starts == {("other", 0): 1}


def test_the_throttled_requests_of_all_brokers_are_added_up() -> None:
    cluster = SmallCluster(Log(batch(0, 5)), Log(batch(0, 5)))
    for broker, total_ms in zip(cluster.brokers.values(), (200, 50), strict=True):
        broker.throttles["app"] = Throttles(2, total_ms)
    assert truth_of(cluster).throttles == {"app": Throttles(4, 250)}


def test_the_replicas_of_a_partition_are_compared() -> None:
    truth = truth_of(SmallCluster(Log(batch(0, 5)), Log(batch(0, 6)), Log(batch(0, 5))))
    assert [finding.offset for finding in truth.divergences] == [0]


def cut(
    kind: type[LogTruncated | TailLost], begin: int, end: int, *batches: StoredBatch, topic: str = "orders"
) -> Event:
    given: dict[str, Any] = {
        "time_us": 9, "broker_id": 2, "topic": topic, "partition": 0, "from_offset": begin, "to_offset": end,
        "batches": batches,
    }  # fmt: skip
    if kind is LogTruncated:
        given |= {"leader_epoch": 3, "leader_id": 0, "records": 1, "high_watermark": 0, "reason": "divergence"}
    return kind(**given)


@pytest.mark.parametrize(("begin", "end", "values"), [(0, 3, [5, 6, 7]), (1, 3, [6, 7]), (0, 2, [5, 6]), (1, 2, [6])])
def test_the_records_of_a_cut_are_those_between_its_offsets(begin: int, end: int, values: list[int]) -> None:
    cluster = SmallCluster(Log())
    cluster.journal.append(cut(LogTruncated, begin, end, batch(0, 5, 6, 7)))
    assert [each.value_id for each in truth_of(cluster).truncated] == values


def test_a_cut_is_known_by_its_topic_its_epoch_and_its_broker() -> None:
    cluster = SmallCluster(Log())
    cluster.journal.append(cut(TailLost, 0, 1, batch(0, 5, epoch=4)))
    cluster.journal.append(cut(LogTruncated, 0, 1, batch(0, 6, epoch=4), topic="other"))
    cluster.journal.append(cut(LogTruncated, 0, 1, batch(0, 7, epoch=4)))
    found = truth_of(cluster).truncated
    assert [(each.value_id, each.leader_epoch, each.topic) for each in found] == [
        (6, 3, "other"),
        (7, 3, "orders"),
        (5, 4, "orders"),
    ]
    assert {(each.broker, each.time_us, each.offset) for each in found} == {(2, 9, 0)}
    assert [each.value_id for each in truth_of(cluster, topics=["orders"]).truncated] == [7, 5]


def test_events_that_the_journal_has_dropped_are_a_caveat() -> None:
    cluster = SmallCluster(Log(), limit_events=1)
    cluster.journal.append(cut(LogTruncated, 0, 1))
    assert truth_of(cluster).caveats == ()
    cluster.journal.append(cut(LogTruncated, 0, 1))
    assert truth_of(cluster).caveats == ("the journal has dropped 1 events: its limit_events is 1",)
