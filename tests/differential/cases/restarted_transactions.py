"""Brokers that start again while a transaction is open, or its marker is not replicated. Clusters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import CreateTopicsRequest
from tests.differential.case import case
from tests.differential.cases.cluster import placed
from tests.differential.cases.create_topics import new
from tests.differential.cases.dead_brokers import SOON as DEAD_SOON
from tests.differential.cases.dead_brokers import START_SECONDS
from tests.differential.cases.describe_producers import describe as describe_producers
from tests.differential.cases.init_producer_id import await_transactions
from tests.differential.group_requests import NO_DELAY
from tests.differential.probe import attempts
from tests.differential.requests import fetch, fill, list_offsets, metadata, produce, timed, wanted
from tests.differential.transaction_requests import STATE_TOPIC, Transactions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

LEADER, FOLLOWER = 2, 3
DEBUGGER: Final = -2
"""The replica id that lists the end of a log instead of its high watermark."""


def _own(number: int) -> tuple[tuple[str, str], ...]:
    return (
        *NO_DELAY,
        *DEAD_SOON,
        ("replica.high.watermark.checkpoint.interval.ms", "50"),
        ("transaction.max.timeout.ms", f"{920_000 + number}"),
    )


def _read(probe: Probe, topic: str, broker: int, note: str) -> None:
    connection = probe.connect(broker)
    for level in (0, 1):
        probe.exchange(fetch(topic, wanted(), isolation_level=level), 12, on=connection, note=f"{note}, {level}")
        for stamp in (-1, -3):
            request = list_offsets(topic, stamp, isolation_level=level)
            probe.exchange(request, 7, on=connection, note=f"{note}, {level} {stamp}")
    probe.exchange(list_offsets(topic, -1, replica_id=DEBUGGER), 5, on=connection, note=f"{note}, the log's end")
    probe.exchange(describe_producers((topic, (0,))), 0, on=connection, note=note)


def _await(probe: Probe, topic: str, broker: int, offset: int, *, replica_id: int = -1) -> None:
    """Wait until a broker leads the topic and has this high watermark, or for DEBUGGER this end of its log."""
    connection = probe.connect(broker)
    for _ in attempts(f"{offset} at broker {broker}", seconds=START_SECONDS):
        listed: Any = probe.quiet(list_offsets(topic, -1, replica_id=replica_id), 5, on=connection)
        found = listed.topics[0].partitions[0]
        if found.error_code == 0 and found.offset == offset:
            return


def _restarted(probe: Probe, *, cleanly: bool) -> None:
    """Restart a leader whose log has a marker that its follower, which is dead, does not have."""
    state = new(STATE_TOPIC, -1, -1, assigned=[(index, [1]) for index in range(3)], cleanup_policy="compact")
    created: Any = probe.quiet(CreateTopicsRequest(topics=[state], timeout_ms=10_000), 5)
    assert created.topics[0].error_code == 0, created
    topic, _ = placed(probe, "t", [LEADER, FOLLOWER], min_insync_replicas="2")
    probe.await_topic(STATE_TOPIC, 3)
    await_transactions(probe)
    transactions = Transactions(probe)
    transactions.begin()
    probe.exchange(transactions.add((topic, 0)), 3)
    connection = probe.connect(LEADER)
    probe.exchange(produce(topic, timed(1, 2)), 9, on=connection)
    request = produce(topic, transactions.records(topic, 0, b"a", b"b"), transactional_id=transactions.id)
    probe.exchange(request, 9, on=connection)
    _await(probe, topic, LEADER, 4)
    probe.nodes.kill(FOLLOWER)
    probe.exchange(transactions.end(commit=False), 3)
    _await(probe, topic, LEADER, 5, replica_id=DEBUGGER)
    _read(probe, topic, LEADER, "not replicated")
    _await_isr(probe, topic, [LEADER])
    _read(probe, topic, LEADER, "alone")
    if cleanly:
        probe.nodes.shut_down(LEADER)
    else:
        probe.nodes.kill(LEADER)
    probe.nodes.restart(LEADER)
    _await_leader(probe, topic)
    _read(probe, topic, LEADER, "again")
    probe.nodes.restart(FOLLOWER)
    _await_isr(probe, topic, [LEADER, FOLLOWER])
    transactions.await_state("CompleteAbort")
    transactions.describe()


def _await_leader(probe: Probe, topic: str) -> None:
    """Wait until the broker leads again; its high watermark stays below its first offset."""
    connection = probe.connect(LEADER)
    for _ in attempts("the broker to lead again", seconds=START_SECONDS):
        listed: Any = probe.quiet(list_offsets(topic, -1), 5, on=connection)
        if listed.topics[0].partitions[0].error_code == ErrorCode.OFFSET_NOT_AVAILABLE:
            return


def _await_isr(probe: Probe, topic: str, replicas: list[int]) -> None:
    """Wait until the first broker sees these replicas in sync."""
    for _ in attempts(f"{replicas} in sync", seconds=START_SECONDS):
        described: Any = probe.quiet(metadata(topic), 12)
        if sorted(described.topics[0].partitions[0].isr_nodes) == replicas:
            return


@case(brokers=3, settings=_own(1))
def a_marker_that_is_not_replicated_by_a_restart(probe: Probe) -> None:
    _restarted(probe, cleanly=True)


@case(brokers=3, settings=_own(3), releases=("3.7.2",))
def a_marker_that_is_not_replicated_by_a_crash(probe: Probe) -> None:
    """4.3 elects no leader after a crash of the last replica in sync (KIP-966)."""
    _restarted(probe, cleanly=False)


def _only_broker(probe: Probe, *, cleanly: bool) -> None:
    topic = probe.topic(partitions=2)
    await_transactions(probe)
    opened, aborted = Transactions(probe, "open"), Transactions(probe, "aborted")
    opened.started((topic, 0))
    aborted.started((topic, 0))
    aborted.ended(commit=False)
    fill(probe, topic, timed(5, 6))
    _read(probe, topic, 1, "before")
    if cleanly:
        probe.nodes.shut_down(1)
    else:
        probe.nodes.kill(1)
    probe.nodes.restart(1)
    probe.connect(1)
    probe.use(1)
    _await(probe, topic, 1, 5)
    await_transactions(probe)
    _read(probe, topic, 1, "again")
    opened.describe("again")
    for version in (9, 10) if probe.release == "3.7.2" else (9, 11):
        records = opened.records(topic)
        probe.exchange(produce(topic, records, transactional_id=opened.id), version, note="goes on")
    probe.exchange(produce(topic, timed(7)), 9, note="plain")
    probe.exchange(opened.end(commit=True), 3)
    opened.await_state("CompleteCommit")
    _read(probe, topic, 1, "ended")


@case(settings=_own(2))
def the_only_broker_in_a_transaction(probe: Probe) -> None:
    _only_broker(probe, cleanly=True)


@case(settings=_own(4))
def the_only_broker_that_crashes_in_a_transaction(probe: Probe) -> None:
    _only_broker(probe, cleanly=False)
