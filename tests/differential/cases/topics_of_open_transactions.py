"""Topics that change while a transaction has them: deleted, made again, grown, with small limits, compacted."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from tests.differential.case import case
from tests.differential.cases.describe_producers import describe
from tests.differential.config_requests import SET, TOPIC, await_value, incremental
from tests.differential.probe import attempts
from tests.differential.requests import list_offsets, metadata, produce
from tests.differential.transaction_requests import Transactions, list_stable, markers, read

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def _delete(probe: Probe, topic: str) -> None:
    probe.exchange(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    for _ in attempts(f"{topic} to be gone"):
        described: Any = probe.quiet(metadata(topic), 12)
        if described.topics[0].error_code:
            return


def _by_id(response: Any) -> Any:
    """Order the producers of each partition: a broker lists them by the hashes of their ids, which differ."""
    for topic in response["topics"]:
        for partition in topic["partitions"]:
            partition["activeProducers"].sort(key=itemgetter("producerId"))
    return response


@case()
def a_topic_that_is_made_again(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    for commit in (True, False):
        transactions = Transactions(probe, f"{commit}")
        transactions.started((topic, 0), (topic, 1), (other, 0))
        _delete(probe, topic)
        probe.exchange(transactions.add((topic, 0)), 3, note="gone, but added already")
        probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 9, note="gone")
        probe.topic(partitions=1)
        transactions.describe("made again")
        probe.exchange(describe((topic, (0, 1)), (other, (0,))), 0, note="made again", only=_by_id)
        list_stable(probe, topic, -1)
        records = transactions.records(topic)
        probe.exchange(produce(topic, records, transactional_id=transactions.id), 9, note="the next sequence")
        transactions.sequences.pop((topic, 0))
        records = transactions.records(topic)
        probe.exchange(produce(topic, records, transactional_id=transactions.id), 9, note="the first sequence")
        list_stable(probe, topic, -1)
        probe.exchange(transactions.end(commit=commit), 3)
        transactions.await_state("CompleteCommit", "CompleteAbort")
        transactions.describe()
        for committed in (True, False):
            read(probe, topic, committed=committed)
            read(probe, other, committed=committed)
        probe.exchange(describe((topic, (0, 1)), (other, (0,))), 0, note="ended", only=_by_id)
        probe.topic(f"t-{commit}")
        _delete(probe, topic)
        probe.topic(partitions=2)


@case()
def a_topic_that_grows(probe: Probe) -> None:
    topic = probe.topic()
    transactions = Transactions(probe)
    transactions.started((topic, 0))
    probe.exchange(transactions.add((topic, 1)), 3, note="not there yet")
    grown = CreatePartitionsTopic(name=topic, count=3, assignments=None)
    probe.exchange(CreatePartitionsRequest(topics=[grown], timeout_ms=5_000), 3)
    probe.await_topic(topic, 3)
    probe.exchange(produce(topic, transactions.records(topic, 1), partition=1, transactional_id=transactions.id), 9)
    transactions.sequences.clear()
    probe.exchange(transactions.add((topic, 0), (topic, 1), (topic, 2)), 3)
    probe.exchange(produce(topic, transactions.records(topic, 1), partition=1, transactional_id=transactions.id), 9)
    transactions.describe()
    probe.exchange(transactions.end(commit=False), 3)
    transactions.await_state("CompleteAbort")
    for partition in range(3):
        probe.exchange(describe((topic, (partition,))), 0)
    transactions.write_log()


@case()
def every_topic_is_deleted(probe: Probe) -> None:
    topics = [probe.topic(suffix) for suffix in ("t", "u")]
    for commit in (True, False):
        transactions = Transactions(probe, f"{commit}")
        transactions.started(*((topic, 0) for topic in topics))
        for topic in topics:
            _delete(probe, topic)
        probe.exchange(transactions.init(), 4) if not commit else probe.exchange(transactions.end(commit=True), 3)
        transactions.await_state("CompleteCommit", "CompleteAbort")
        transactions.describe()
        transactions.write_log()
        topics = [probe.topic(suffix) for suffix in ("v", "w")]


@case()
def a_topic_that_is_deleted_before_it_is_written(probe: Probe) -> None:
    topic, other = probe.topic(), probe.topic("u")
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add((topic, 0), (other, 0)), 3)
    _delete(probe, topic)
    probe.exchange(transactions.add((topic, 0), (other, 0)), 3, note="one is gone")
    probe.exchange(transactions.add((other, 0)), 3)
    probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 9, note="gone")
    transactions.describe()
    probe.exchange(transactions.end(commit=True), 3)
    transactions.await_state("CompleteCommit")
    transactions.describe()
    read(probe, other)


@case()
def markers_of_topics_with_small_limits(probe: Probe) -> None:
    """Such a transaction stays prepared: the coordinator does not send its markers again."""
    topic, other = probe.topic(partitions=4), probe.topic("u")
    transactions, beside = Transactions(probe), Transactions(probe, "beside")
    transactions.started(*((topic, index) for index in range(4)), (other, 0))
    probe.exchange(incremental((TOPIC, topic, [("max.message.bytes", SET, "60")])), 1)
    await_value(probe, TOPIC, topic, "max.message.bytes", "60")
    probe.exchange(produce(topic, transactions.records(topic), transactional_id=transactions.id), 9, note="too large")
    probe.exchange(transactions.end(commit=True), 3)
    for _ in attempts("the marker of the other topic"):
        found: Any = probe.quiet(list_offsets(other, -1, isolation_level=1), 5)
        if found.topics[0].partitions[0].offset == 2:
            break
    transactions.describe()
    probe.exchange(describe((topic, (0, 1)), (other, (0,))), 0)
    list_stable(probe, topic, -1)
    for request in (transactions.init(), transactions.end(commit=True), transactions.end(commit=False)):
        probe.exchange(request, 3)
    probe.exchange(transactions.add((topic, 0)), 3)
    beside.started((other, 0))
    beside.ended(commit=False)
    transactions.describe()
    probe.exchange(markers((transactions.producer_id, transactions.epoch, True, {topic: [0]}, 0)), 1)
    probe.exchange(incremental((TOPIC, topic, [("max.message.bytes", SET, "1000")])), 1)
    await_value(probe, TOPIC, topic, "max.message.bytes", "1000")
    probe.exchange(markers((transactions.producer_id, transactions.epoch, True, {topic: [0]}, 0)), 1)
    list_stable(probe, topic, -1)


@case(releases=("3.7.2",))
def markers_larger_than_a_segment(probe: Probe) -> None:
    topic = probe.topic(segment_bytes="70")
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add((topic, 0)), 3)
    for values in ((b"v",), (b"v" * 100,)):
        records = transactions.records(topic, 0, *values)
        transactions.sequences.clear()
        probe.exchange(produce(topic, records, transactional_id=transactions.id), 9, note=f"{len(values[0])} bytes")
    probe.exchange(transactions.end(commit=True), 3)
    transactions.describe()


@case()
def markers_of_topics_of_every_cleanup_policy(probe: Probe) -> None:
    configs: tuple[dict[str, str], ...] = (
        {"cleanup_policy": "compact"},
        {"cleanup_policy": "compact,delete"},
        {"message_timestamp_type": "LogAppendTime"},
        {"compression_type": "gzip"},
        {"compression_type": "uncompressed"},
        {"message_timestamp_before_max_ms": "60000"}
        if probe.release == "4.3.1"
        else {"message_timestamp_after_max_ms": "60000"},
        {"segment_bytes": "1048576"} if probe.release == "4.3.1" else {"segment_bytes": "200"},
        {"retention_bytes": "100000"},
    )
    for number, config in enumerate(configs):
        topic = probe.topic(f"t{number}", **config)
        transactions = Transactions(probe, f"x{number}")
        transactions.begin()
        probe.exchange(transactions.add((topic, 0)), 3)
        probe.exchange(
            produce(topic, transactions.records(topic), transactional_id=transactions.id), 9, note=str(config)
        )
        transactions.ended(commit=number % 2 == 0)
        read(probe, topic, note=str(config))
        read(probe, topic, committed=False, note=str(config))
