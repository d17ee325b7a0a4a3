"""The trace of a transactional id, from its events."""

from __future__ import annotations

from typing import Any

import pytest

from broker_scenarios.errors import ScenarioError
from broker_scenarios.tracing.timeline_html import render_timeline
from broker_scenarios.tracing.timeline_text import timeline_lines
from broker_scenarios.tracing.transaction_trace import trace_transaction, transaction_list
from broker_sim.control.events import (
    BatchAppended,
    BrokerKilled,
    CoordinatorLoaded,
    CoordinatorUnloaded,
    Event,
    HighWatermarkAdvanced,
    LeaderElected,
    RuleFired,
    TopicCreated,
    TransactionMarkerWritten,
    TransactionRequestRefused,
    TransactionStateChanged,
)
from broker_sim.control.transaction_events import BEGUN, CONTINUED, ENDED, EXPIRED, FENCED, TIMED_OUT
from broker_sim.coordinators.internal_partitions import partition_for


def changed(
    at_ms: int,
    previous: str,
    state: str,
    epoch: int = 0,
    partitions: str = "",
    reason: str = "",
    client: str = "",
    **of: Any,
) -> TransactionStateChanged:
    return TransactionStateChanged(
        time_us=at_ms * 1000, broker_id=1, transactional_id=of.get("transactional_id", "pay"),
        producer_id=of.get("producer_id", 7), producer_epoch=epoch, previous=previous, state=state,
        partitions=partitions, reason=reason, client_id=client,
    )  # fmt: skip


def marker(at_ms: int, partition: int, epoch: int = 0, *, committed: bool = True, error: str = "NONE") -> Event:
    return TransactionMarkerWritten(
        time_us=at_ms * 1000, broker_id=2, producer_id=7, producer_epoch=epoch, topic="orders", partition=partition,
        committed=committed, coordinator_epoch=0, error=error, client_id="broker-1",
    )  # fmt: skip


def moved(at_ms: int, partition: int, high_watermark: int, last_stable_offset: int) -> HighWatermarkAdvanced:
    return HighWatermarkAdvanced(
        time_us=at_ms * 1000, broker_id=2, topic="orders", partition=partition, high_watermark=high_watermark,
        leader_epoch=0, last_stable_offset=last_stable_offset,
    )  # fmt: skip


def appended(at_ms: int, partition: int, offset: int, producer_id: int = 7) -> BatchAppended:
    return BatchAppended(
        time_us=at_ms * 1000, broker_id=2, topic="orders", partition=partition, base_offset=offset, last_offset=offset,
        leader_epoch=0, records=1, size=70, producer_id=producer_id, producer_epoch=0,
    )  # fmt: skip


def refused(at_ms: int, error: str = "PRODUCER_FENCED") -> TransactionRequestRefused:
    return TransactionRequestRefused(
        time_us=at_ms * 1000, broker_id=1, transactional_id="pay", producer_id=7, producer_epoch=0, api="EndTxn",
        error=error, client_id="a",
    )  # fmt: skip


def lanes(timeline: Any) -> dict[str, list[tuple[str, float, float]]]:
    return {
        lane: [(stage.name, stage.start_us / 1000, stage.end_us / 1000) for stage in stages]
        for lane, stages in timeline.lanes.items()
    }


def trace(*events: Event, transactional_id: str = "pay") -> Any:
    return trace_transaction(list(enumerate(events, 1)), transactional_id)


BOTH = "orders-0, orders-1"
EVENTS = [
    changed(10, "Empty", "Empty", reason=BEGUN, client="a"),
    changed(20, "Empty", "Ongoing", partitions="orders-0"),
    moved(21, 0, high_watermark=6, last_stable_offset=5),
    appended(21, 0, 5),
    changed(25, "Ongoing", "Ongoing", partitions=BOTH),
    moved(30, 0, high_watermark=7, last_stable_offset=5),
    changed(40, "Ongoing", "PrepareCommit", partitions=BOTH, reason=ENDED),
    RuleFired(time_us=41_000, broker_id=2, rule="late", act="hold", phase="before_append", api="WriteTxnMarkers"),
    moved(45, 0, high_watermark=8, last_stable_offset=8),
    marker(46, 0),
    marker(50, 1, error="NOT_LEADER_OR_FOLLOWER"),
    BrokerKilled(time_us=55_000, broker_id=3),
]


def test_a_partition_waits_for_its_marker():
    timeline = trace(*EVENTS)
    assert timeline.title == "transactional id pay: 1 transactions, 0 committed, 0 aborted"
    assert timeline.source == "6 events, the last state is PrepareCommit; without marker: orders-1"
    assert lanes(timeline) == {
        "transaction": [("Empty", 0, 10), ("Ongoing", 10, 30), ("PrepareCommit", 30, 45)],
        "a": [("producer", 0, 45)],
        "orders-0": [("in transaction", 10, 30), ("without marker", 30, 36)],
        "orders-0 LSO": [("LSO held back", 11, 35)],
        "orders-1": [("in transaction", 15, 30), ("without marker", 30, 45)],
    }
    assert timeline.lane_notes == {
        "transaction": "PrepareCommit",
        "a": "producer 7 epoch 0",
        "orders-0": "committed",
        "orders-0 LSO": "at 5 for 24.000 ms: this id",
        "orders-1": "without marker",
    }


def test_a_transaction_without_partitions_counts_and_partitions_come_by_number():
    many = "orders-10, orders-9"
    timeline = trace(
        changed(10, "Empty", "Empty", reason=BEGUN, client="a"),
        changed(20, "Empty", "Ongoing", partitions=many),
        changed(30, "Ongoing", "PrepareCommit", partitions=many, reason=ENDED),
        changed(31, "PrepareCommit", "CompleteCommit"),
        changed(40, "CompleteCommit", "PrepareAbort", reason=ENDED),
        changed(41, "PrepareAbort", "CompleteAbort"),
    )
    assert timeline.title == "transactional id pay: 2 transactions, 1 committed, 1 aborted"
    assert list(timeline.lanes) == ["transaction", "a", "orders-9", "orders-10"]


def test_each_event_is_a_sentence():
    timeline = trace(*EVENTS)
    assert [(moment.at_us // 1000, moment.text) for moment in timeline.moments] == [
        (0, "Empty > Empty, producer 7 epoch 0; InitProducerId (client a)"),
        (10, "Empty > Ongoing, producer 7 epoch 0, partitions: orders-0"),
        (15, "Ongoing > Ongoing, producer 7 epoch 0, partitions: orders-0, orders-1"),
        (30, "Ongoing > PrepareCommit, producer 7 epoch 0, partitions: orders-0, orders-1; EndTxn"),
        (31, "rule late fires: hold WriteTxnMarkers"),
        (35, "the last stable offset of orders-0 moves from 5 to 8, held back for 24.000 ms by this id"),
        (36, "orders-0 has the commit marker of producer 7 epoch 0"),
        (40, "orders-1 refuses the commit marker of producer 7 epoch 0: NOT_LEADER_OR_FOLLOWER"),
        (45, "broker 3 is killed"),
    ]
    assert [moment.at_us // 1000 for moment in timeline.moments if not moment.own] == [31, 45]


def test_it_can_be_printed_and_drawn():
    timeline = trace(*EVENTS)
    text = "\n".join(timeline_lines(timeline))
    assert "▒ without marker" in text
    assert "at 5 for 24.000 ms: this id" in text
    assert "PrepareCommit" in render_timeline(timeline)


def test_producers_fence_each_other():
    timeline = trace(
        changed(0, "Empty", "Empty", 0, reason=BEGUN, client="a"),
        changed(10, "Empty", "Empty", 1, reason=CONTINUED, client="a"),
        changed(20, "Empty", "Empty", 2, reason=BEGUN, client="b"),
        changed(30, "Empty", "Ongoing", 2, "orders-0"),
        changed(40, "Ongoing", "PrepareAbort", 3, "orders-0", reason=FENCED, client="b"),
        marker(45, 0, 3, committed=False),
        changed(50, "PrepareAbort", "CompleteAbort", 3),
        changed(60, "CompleteAbort", "Empty", 4, reason=BEGUN, client="b"),
        refused(65),
        changed(70, "Empty", "Ongoing", 4, "orders-0"),
        changed(80, "Ongoing", "PrepareAbort", 5, "orders-0", reason=TIMED_OUT),
        changed(90, "PrepareAbort", "CompleteAbort", 5),
        changed(95, "CompleteAbort", "Empty", 6, reason=CONTINUED, client="b"),
        changed(99, "Empty", "Dead", 6, reason=EXPIRED),
    )
    assert {lane: stages for lane, stages in lanes(timeline).items() if stages[0][0] == "producer"} == {
        "a": [("producer", 0, 20)],
        "b": [("producer", 20, 40)],
        "b #2": [("producer", 60, 80)],
        "b #3": [("producer", 95, 99)],
    }
    assert timeline.title == "transactional id pay: 2 transactions, 0 committed, 2 aborted"
    notes = {lane: note for lane, note in timeline.lane_notes.items() if lane[0] in "ab"}
    assert notes == {
        "a": "fenced by b",
        "b": "fenced by another b",
        "b #2": "fenced: the transaction has timed out",
        "b #3": "fenced: the transactional id has expired",
    }
    # No marker was seen, and yet the transaction is complete: the partition was deleted.
    assert timeline.lane_notes["orders-0"] == "complete"


OTHER = {"transactional_id": "ship", "producer_id": 8}


@pytest.mark.parametrize(
    ("producer_id", "events", "holder"),
    [
        (8, [changed(2, "Empty", "Ongoing", partitions="orders-0", **OTHER)], "ship"),
        (8, [changed(2, "CompleteAbort", "Empty", **OTHER)], "a hanging transaction of ship"),
        (9, [], "producer 9, which no coordinator knows"),
        (-1, [], "an unknown producer"),
    ],
)
def test_another_transaction_holds_back_the_last_stable_offset(producer_id, events, holder):
    timeline = trace(
        changed(0, "Empty", "Empty", reason=BEGUN, client="a"),
        *events,
        moved(3, 0, high_watermark=6, last_stable_offset=5),
        appended(3, 0, 5, producer_id),
        changed(4, "Empty", "Ongoing", partitions="orders-0"),
        moved(5, 0, high_watermark=7, last_stable_offset=5),
        moved(6, 1, high_watermark=1, last_stable_offset=0),
        changed(9, "Ongoing", "Ongoing", partitions="orders-0"),
    )
    assert lanes(timeline)["orders-0 LSO"] == [("LSO held back", 3, 9)]
    assert timeline.lane_notes["orders-0 LSO"] == f"still at 5, for 6.000 ms: {holder}"
    [text] = [moment.text for moment in timeline.moments if "stable" in moment.text]
    assert text == f"the last stable offset of orders-0 stays at 5, held back by {holder}"
    assert "orders-1 LSO" not in timeline.lanes


def test_the_longest_of_several_holds_is_noted():
    timeline = trace(
        changed(0, "Empty", "Ongoing", partitions="orders-0"),
        moved(1, 0, high_watermark=1, last_stable_offset=0),
        appended(1, 0, 0),
        moved(8, 0, high_watermark=3, last_stable_offset=2),
        appended(8, 0, 2),
        moved(9, 0, high_watermark=4, last_stable_offset=4),
    )
    assert lanes(timeline)["orders-0 LSO"] == [("LSO held back", 1, 8), ("LSO held back", 8, 9)]
    assert timeline.lane_notes["orders-0 LSO"] == "2 times up to 7.000 ms: this id"


def test_events_of_the_id_come_before_those_of_the_cluster():
    rules = [
        RuleFired(time_us=number, broker_id=1, rule="r", act="hold", phase="before_append", api="Fetch")
        for number in range(1, 400)
    ]
    timeline = trace(changed(0, "Empty", "Ongoing"), *rules, changed(1, "Ongoing", "PrepareCommit"))
    assert timeline.moments[-1].text == "Ongoing > PrepareCommit, producer 7 epoch 0"
    assert (len(timeline.moments), timeline.left_out) == (300, 101)


def test_the_coordinator_and_the_leaders_of_the_id_are_shown():
    def loaded(at_ms: int, topic: str, partition: int) -> CoordinatorLoaded:
        return CoordinatorLoaded(
            time_us=at_ms * 1000, broker_id=2, topic=topic, partition=partition, records=3, leader_epoch=1
        )

    own_partition = partition_for("pay", 50)
    timeline = trace(
        TopicCreated(time_us=0, broker_id=1, topic="__transaction_state", topic_id=bytes(16), partitions=50),
        changed(1, "Empty", "Ongoing", partitions="orders-0"),
        loaded(2, "__transaction_state", own_partition),
        loaded(3, "__transaction_state", (own_partition + 1) % 50),
        loaded(4, "__consumer_offsets", own_partition),
        *(
            LeaderElected(
                time_us=5000, broker_id=2, topic=topic, partition=0, previous_leader=1, leader_epoch=1, isr=(2,),
                unclean=False,
            )
            for topic in ("orders", "payments")
        ),
        CoordinatorUnloaded(time_us=6000, broker_id=2, topic="__transaction_state", partition=own_partition),
    )  # fmt: skip
    assert [moment.text for moment in timeline.moments if not moment.own] == [
        f"broker 2 coordinates __transaction_state-{own_partition} after a replay of 3 records",
        "broker 2 is elected leader of orders-0",
        f"broker 2 coordinates __transaction_state-{own_partition} no longer",
    ]


def test_ids_are_listed_and_a_wrong_one_gets_the_nearest():
    journal = list(enumerate([*EVENTS, changed(70, "Empty", "Empty", **OTHER)], 1))
    assert transaction_list(journal) == ["pay   6 events", "ship  1 events"]
    assert transaction_list([]) == ["no transactional id is used"]
    with pytest.raises(ScenarioError, match=r"no transactional id is 'shop' \(--transaction\); did you mean 'ship'"):
        trace_transaction(journal, "shop")
    with pytest.raises(ScenarioError, match="no transactional id is used"):
        trace_transaction([], "shop")


def test_an_id_whose_requests_are_all_refused_has_no_states():
    timeline = trace(refused(5, "INVALID_PRODUCER_ID_MAPPING"))
    assert timeline.stages == []
    assert timeline.source == "1 events, the last state is unknown"
