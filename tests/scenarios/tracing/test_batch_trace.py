"""A batch's timeline, line by line: what goes well, what is retried, what is split, what a journal adds."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from broker_scenarios.tracing.batch_lives import lives_of
from broker_scenarios.tracing.batch_trace import trace_batch
from broker_scenarios.tracing.broker_side import BrokerSide
from broker_scenarios.tracing.timeline_html import render_timeline
from broker_scenarios.tracing.timeline_text import timeline_lines
from broker_sim.control.events import BrokerKilled, LeaderElected
from tests.scenarios.tracing.traced_batches import EPOCH_US, batch, event, journal_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.core.producer.trace import BatchEvent
    from broker_sim.control.events import Event

ALONE = BrokerSide([])


def text(events: Sequence[BatchEvent], number: int = 0, journal: BrokerSide = ALONE, record: int | None = None) -> str:
    life = next(each for each in lives_of(events, journal) if each.number == number)
    return "\n".join(timeline_lines(trace_batch(life, journal, record)))


def moments(events: Sequence[BatchEvent], number: int = 0, journal: BrokerSide = ALONE) -> list[str]:
    return [line.split("  ", 2)[2] for line in text(events, number, journal).splitlines() if line.startswith("  +")]


def test_a_batch_passes_through_the_producers_parts() -> None:
    shown = text(batch(0, offset=60, producer_id=4000, producer_epoch=0, base_sequence=9))
    assert shown == golden(
        """
        batch 0 of p for orders-2: 3 records, 100 bytes
        producer id 4000, epoch 0, sequences 9 to 11, sent once, acknowledged

          RecordAccumulator  filling         5.000 ms  ██████████████████████████████████
                             ready           0.000 ms                                    ▏
          BufferPool         memory          7.000 ms  ████████████████████████████████████████████████
          Sender             drained         0.000 ms                                    ▏
          Selector           writing         0.100 ms                                    █
          NetworkClient      in flight       2.000 ms                                    ██████████████
                             total           7.000 ms

          +0.000 ms  batch 0 is created: the BufferPool allocates 16,384 bytes, 100 left
          +0.000 ms  record 1 is appended
          +2.000 ms  records 2 to 3 are appended
          +5.000 ms  ready: linger.ms is over
          +5.000 ms  the Sender drains it for node 1
          +5.000 ms  the NetworkClient sends it to node 1: correlation id 7
          +5.100 ms  the Selector has written it: Produce v13 is in flight
          +7.000 ms  acknowledged: offsets 60 to 62
          +7.000 ms  the BufferPool deallocates 16,384 bytes
        """
    )


def golden(shown: str) -> str:
    return dedent(shown).strip("\n")


def test_a_journal_adds_what_the_broker_did_with_its_request_and_with_its_partition() -> None:
    assert text(batch(0, offset=60), 0, BrokerSide(journal_of())) == golden(
        """
        batch 0 of p for orders-2: 3 records, 100 bytes
        sent once, acknowledged

          RecordAccumulator  filling         5.000 ms  ██████████████████████████████████
                             ready           0.000 ms                                    ▏
          BufferPool         memory          7.000 ms  ████████████████████████████████████████████████
          Sender             drained         0.000 ms                                    ▏
          Selector           writing         0.100 ms                                    █
          NetworkClient      in flight       2.000 ms                                    ██████████████
          broker 1           handler         0.000 ms                                       ▏
                             purgatory       1.000 ms                                       ███████
                             total           7.000 ms

          +0.000 ms  batch 0 is created: the BufferPool allocates 16,384 bytes, 100 left
          +0.000 ms  record 1 is appended
          +2.000 ms  records 2 to 3 are appended
          +5.000 ms  ready: linger.ms is over
          +5.000 ms  the Sender drains it for node 1
          +5.000 ms  the NetworkClient sends it to node 1: correlation id 7
          +5.100 ms  the Selector has written it: Produce v13 is in flight
          +5.500 ms  broker 1: Processor 0 has read it
          +5.500 ms  broker 1: appended to orders-2: offsets 60 to 62, 100 bytes, leader epoch 0
          +6.500 ms  broker 1: the response of 99 bytes is written
          +7.000 ms  acknowledged: offsets 60 to 62
          +7.000 ms  the BufferPool deallocates 16,384 bytes
        """
    )


def test_a_record_has_its_own_append_and_its_batchs_way() -> None:
    lines = text(batch(0, offset=60), record=2).splitlines()
    assert lines[0] == "record orders-2@62: record 3 of 3 in batch 0 of p"
    assert [line for line in lines if "appended" in line] == ["  +2.000 ms  record 3 is appended"]


def test_a_retry_has_its_reason_and_the_journal_the_events_in_between() -> None:
    events = [
        *batch(0)[:6],
        event("retried", 6, error="NETWORK_EXCEPTION", detail="disconnected from node 1", backoff_ms=90, attempts=1),
        event("ready", 96, detail="backed off", attempts=1),
        event("drained", 120, node=2, attempts=1),
        event("sent", 120, node=2, correlation_id=8, attempts=1),
        event("in flight", 120, node=2, correlation_id=8, attempts=1, detail="Produce v13"),
        event("acknowledged", 122, base_offset=60, attempts=1),
        event("freed", 122, detail="16,384 bytes"),
    ]
    cluster: list[tuple[int, Event]] = [
        (1, BrokerKilled(time_us=EPOCH_US + 5_500, broker_id=1)),
        (
            2,
            LeaderElected(
                time_us=EPOCH_US + 110_000, broker_id=2, topic="orders", partition=2, previous_leader=1, leader_epoch=1,
                isr=(2,), unclean=False,
            ),
        ),
        (3, BrokerKilled(time_us=EPOCH_US + 500_000, broker_id=3)),
    ]  # fmt: skip
    shown = text(events, 0, BrokerSide(cluster))
    assert shown.splitlines()[1] == "sent 2 times, acknowledged"
    assert [line.split()[:2] for line in shown.splitlines()[3:6]] == [
        ["RecordAccumulator", "filling"],
        ["ready", "0.000"],
        ["back-off", "90.000"],
    ]
    texts = moments(events, 0, BrokerSide(cluster))
    assert texts[6:13] == [
        "broker 1 never gets that request",
        "the Selector has written it: Produce v13 is in flight",
        "(meanwhile) broker 1 is killed",
        "NETWORK_EXCEPTION, disconnected from node 1: back into the RecordAccumulator for 90 ms",
        "ready: its back-off is over, or its partition has another leader",
        "(meanwhile) broker 2 is elected leader of orders-2",
        "the Sender drains it for node 2",
    ]


def test_a_part_shows_the_batch_that_it_was_cut_from_first() -> None:
    whole = [*batch(0)[:6], event("split", 7, error="MESSAGE_TOO_LARGE"), event("freed", 7, detail="16,384 bytes")]
    part = [
        event("created", 7, 1, part_of=0, records=2),
        event("created", 7, 2, part_of=0, first_record=2, records=1),
        event("ready", 7, 2, detail="full", records=1),
        event("drained", 8, 2, node=1, records=1),
        event("sent", 8, 2, node=1, correlation_id=8, records=1),
        event("acknowledged", 9, 2, base_offset=62, records=1),
    ]
    shown = text([*whole, *part], 2, record=0)
    lines = shown.splitlines()
    assert lines[:2] == [
        "record orders-2@62: record 1 of 1 in batch 2 of p",
        "cut from batch 0, sent once, acknowledged",
    ]
    assert [line for line in lines if "appended" in line] == ["  +2.000 ms  record 3 is appended"]
    assert [line.strip() for line in lines[-6:]] == [
        "+7.000 ms  the BufferPool deallocates 16,384 bytes",
        "+7.000 ms  batch 2 is cut from batch 0: its record 3",
        "+7.000 ms  ready: it is full",
        "+8.000 ms  the Sender drains it for node 1",
        "+8.000 ms  the NetworkClient sends it to node 1: correlation id 8",
        "+9.000 ms  acknowledged: offset 62",
    ]
    assert "+7.000 ms  MESSAGE_TOO_LARGE: it is split into batches 1 and 2" in shown


def test_every_other_end_is_shown() -> None:
    begun = batch(0)[:2]
    expired = event("expired", 9, error="BatchExpired", detail="expiring 3 record(s)")
    failed = event("failed", 9, error="TOPIC_AUTHORIZATION_FAILED", detail="not authorized")
    assert moments([*begun, expired])[-1] == "expired: BatchExpired: expiring 3 record(s)"
    assert moments([*begun, failed])[-1] == "failed: TOPIC_AUTHORIZATION_FAILED: not authorized"
    assert moments(begun)[-1] == "the trace ends before the batch does"
    assert "acknowledged, without an offset" in moments(batch(0))
    assert "total" not in text(begun)
    assert text(begun).splitlines()[1] == "never sent, open"


def test_many_appends_are_cut_short() -> None:
    appends = tuple((EPOCH_US + 100 * step, 1) for step in range(50))
    created, ready = batch(0, records=50)[:2]
    texts = moments([created, event("appended", 5, appends=appends, records=50), ready])
    assert texts[12:14] == ["record 12 is appended", "and so on: the other 38 records, the last at +4.900 ms"]


def test_the_page_draws_each_part_in_a_row_and_escapes_names() -> None:
    life = lives_of(batch(0, client_id="<b>"))[0]
    page = render_timeline(trace_batch(life, ALONE))
    for lane in ("RecordAccumulator", "BufferPool", "Sender", "Selector", "NetworkClient"):
        assert page.count(f'text-anchor="end">{lane}</text>') == 1
    assert all(f">{name}</text>" in page for name in ("filling", "ready", "memory", "drained", "writing", "in flight"))
    assert [f">{at} ms</text>" in page for at in ("0", "2", "4", "6")] == [True] * 4
    assert "<b>" not in page
